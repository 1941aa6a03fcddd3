/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that the grant policies share: serving jobs in the order of a key, and sharing by weight.
 * The caller passes keys or weights in rate_bps, where the result will be, so no policy needs
 * memory for each job.
 */
#ifndef SL_POLICY_MACHINE_GRANT_LIST_H
#define SL_POLICY_MACHINE_GRANT_LIST_H

#include "policy/policy.h"

/* The state of a policy that serves jobs in order, or the first member of that state. */
struct sl_grant_list {
	bool priority;	      /* jobs that have started go before others */
	sl_time max_stall_ns; /* a job that lost this much time in a phase goes first; 0: off */
};

#define SL_GRANT_MAX_STALL                                                                       \
	SL_PARAM_NUMBER("max_stall_ms", SL_MS, 0, 86400000, 0,                                   \
			"A job that lost this long in an I/O phase goes first, until the phase " \
			"ends; 0: none does.")
#define SL_GRANT_PRIORITY                                                                       \
	SL_PARAM_CHOICE("priority", 0,                                                          \
			"Jobs that have started their transfer go before those that have not.", \
			"no", "yes")

/* The parameters and functions of a policy that has only these two parameters. */
extern const struct sl_param sl_grant_list_params[];
void sl_grant_list_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
			sl_time now);

/*
 * rate_bps: in, the key, not NAN; out, the rate. Jobs are served by rising key, then rising job id;
 * each gets what it can use of what is left. Returns when the next job will become late.
 */
sl_time sl_grant_in_order(const struct sl_grant_list *l, struct sl_io_job **jobs, uint32_t n,
			  double capacity_bps, sl_time now);

/*
 * The parts of sl_grant_in_order(), for policies that divide what late jobs leave in another way.
 */
uint32_t sl_grant_late(const struct sl_grant_list *l, struct sl_io_job **jobs, uint32_t n,
		       double *left_bps, sl_time now); /* serves them at the front; their number */
double sl_grant_serve(struct sl_io_job **jobs, uint32_t n, double left_bps); /* what is left */
sl_time sl_grant_wake(const struct sl_grant_list *l, struct sl_io_job **jobs, uint32_t n,
		      sl_time now); /* when the next one will be late */

/*
 * rate_bps: in, the weight, above 0; out, the rate: min(cap, level * weight). The level is such
 * that all bandwidth is given out, or every job has its cap.
 */
void sl_grant_by_weight(struct sl_io_job **jobs, uint32_t n, double capacity_bps);

/* The stall: time that the job has lost in its present phase, against a transfer at full rate. */
double sl_grant_stall_ns(const struct sl_io_job *j, sl_time now);

/* ---- measure.c: how much a job was delayed, and what its bytes are worth ---- */

/* Efficiency so far divided by the ideal one; 1: the job was never delayed. */
double sl_grant_ratio(const struct sl_io_job *j, sl_time now);

/* The value of a byte of bandwidth, in seconds of computing of a processor; learned. */
struct sl_grant_price {
	double price; /* now */
	/* The best value per byte that had to wait since the last decision; 0: nothing waited. */
	double displaced;
	double drain_s;			 /* time to transfer all that is asked for now */
	sl_time last;			 /* decision */
	double wanted_bps, capacity_bps; /* what all jobs could use then, and the capacity */
	/* Part of the time in which wanted_bps exceeded the capacity; learned. */
	double busy;
};

/* The length of its present instance if it ran alone. */
static inline double sl_grant_period_s(const struct sl_io_job *j)
{
	return j->compute_s + j->bytes / j->cap_bps;
}

void sl_grant_price_begin(struct sl_grant_price *p, struct sl_io_job *const *jobs, uint32_t n,
			  double capacity_bps, sl_time now);
/*
 * The key of a job whose instance is worth `value`. Keys are positive, and the lowest goes first.
 * Between equal jobs, the one with the lower ratio gets the lower key.
 */
double sl_grant_key(const struct sl_grant_price *p, const struct sl_io_job *j, double value,
		    double ratio);
/* A key multiplied by this is larger than every other key and ratio. */
#define SL_GRANT_KEY_BEHIND 0x1p400
/*
 * rate_bps: keys, in and out. Raises the keys of jobs that keep step with another, to separate
 * them: step.c.
 */
void sl_grant_out_of_step(const struct sl_grant_price *p, struct sl_io_job *const *jobs,
			  uint32_t n);
/*
 * Begin a decision: set each job's key in rate_bps. An instance is worth what its processors
 * compute, and jobs that keep step are separated.
 */
void sl_grant_price_keys(struct sl_grant_price *p, struct sl_io_job *const *jobs, uint32_t n,
			 double capacity_bps, sl_time now);
/* End a decision: the rates are set. */
void sl_grant_price_end(struct sl_grant_price *p, struct sl_io_job *const *jobs, uint32_t n);

#endif
