/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that the grant policies share: serving jobs in the order of a key, and sharing by
 * weight. Both are given the keys or weights where the rates will stand, in rate_bps, so that no
 * policy needs memory for each job.
 */
#ifndef SL_POLICY_MACHINE_GRANT_LIST_H
#define SL_POLICY_MACHINE_GRANT_LIST_H

#include "policy/policy.h"

/* State, or first member of the state, of a policy that serves jobs in order. */
struct sl_grant_list {
	bool priority;	      /* who has started goes before who has not */
	sl_time max_stall_ns; /* a job that lost this long in a phase goes first; 0: none does */
};

extern const char *const sl_grant_no_yes[];

#define SL_GRANT_MAX_STALL                                                                       \
	{                                                                                        \
		.name = "max_stall_ms",                                                          \
		.help = "A job that lost this long in an I/O phase goes first, until the phase " \
			"ends; 0: none does.",                                                   \
		.unit = SL_MS, .min = 0, .max = 86400000, .def = 0, .choices = NULL              \
	}
#define SL_GRANT_PRIORITY                                                                       \
	{                                                                                       \
		.name = "priority",                                                             \
		.help = "Jobs that have started their transfer go before those that have not.", \
		.unit = SL_CHOICE, .min = 0, .max = 1, .def = 0, .choices = sl_grant_no_yes     \
	}

/* The table of a policy with these two parameters only, and what goes with it. */
extern const struct sl_param sl_grant_list_params[];
size_t sl_grant_list_size(const struct sl_policy_limits *limits);
void sl_grant_list_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
			sl_time now);

/*
 * rate_bps: in, the key, no NAN; out, the rate. Lowest key first, then lowest job id: each gets
 * what it can use of what is left. Returns when the next job will have lost max_stall.
 */
sl_time sl_grant_in_order(const struct sl_grant_list *l, struct sl_io_job **jobs, uint32_t n,
			  double capacity_bps, sl_time now);

/* Its parts, for policies that do something else with what the late ones leave. */
uint32_t sl_grant_late(const struct sl_grant_list *l, struct sl_io_job **jobs, uint32_t n,
		       double *left_bps, sl_time now); /* serves them, in front; how many */
double sl_grant_serve(struct sl_io_job **jobs, uint32_t n, double left_bps); /* what is left */
sl_time sl_grant_wake(const struct sl_grant_list *l, struct sl_io_job **jobs, uint32_t n,
		      sl_time now); /* when the next of these will be late */

/*
 * rate_bps: in, the weight, more than 0; out, the rate: min(cap, level * weight) with the one
 * level at which all is given out, or every job has its cap.
 */
void sl_grant_by_weight(struct sl_io_job **jobs, uint32_t n, double capacity_bps);

/* The time that the job has lost in its present phase, compared with a transfer at full rate. */
double sl_grant_stall_ns(const struct sl_io_job *j, sl_time now);

/* ---- how much a job was delayed, and what its bytes are worth, in measure.c ---- */

/* Efficiency so far over the ideal one: 1 is a job that was never delayed. */
double sl_grant_ratio(const struct sl_io_job *j, sl_time now);

/* The value of a byte of bandwidth, in seconds of computing of a processor; learned. */
struct sl_grant_price {
	double price;	  /* now */
	double displaced; /* since the last decision: the best of what had to wait; 0: nothing */
	double drain_s;	  /* until all that is asked for now has come through */
	sl_time last;	  /* decision */
	double wanted_bps, capacity_bps; /* what all could use then, and what there was */
	double busy;			 /* part of the time in which the first was more; learned */
};

/* The length of its present instance when it runs alone. */
static inline double sl_grant_period_s(const struct sl_io_job *j)
{
	return j->compute_s + j->bytes / j->cap_bps;
}

void sl_grant_price_begin(struct sl_grant_price *p, struct sl_io_job *const *jobs, uint32_t n,
			  double capacity_bps, sl_time now);
/*
 * The key of a job whose instance is worth `value`: positive, low is good. Of equal ones, the one
 * with the lower ratio is better.
 */
double sl_grant_key(const struct sl_grant_price *p, const struct sl_io_job *j, double value,
		    double ratio);
#define SL_GRANT_KEY_BEHIND 0x1p400 /* times this, a key is behind every key and every ratio */
/*
 * rate_bps: keys, in and out. Those of jobs that keep step with another are raised, so that they
 * get out of it: step.c.
 */
void sl_grant_out_of_step(const struct sl_grant_price *p, struct sl_io_job *const *jobs,
			  uint32_t n);
/*
 * Begins, and gives each job its key in rate_bps: of an instance that is worth what its processors
 * compute, out of step with the others.
 */
void sl_grant_price_keys(struct sl_grant_price *p, struct sl_io_job *const *jobs, uint32_t n,
			 double capacity_bps, sl_time now);
/* When the rates are there. */
void sl_grant_price_end(struct sl_grant_price *p, struct sl_io_job *const *jobs, uint32_t n);

#endif
