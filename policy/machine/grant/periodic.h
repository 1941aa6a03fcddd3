/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A periodic plan. periodic-pack.c puts instances into one period, periodic-build.c makes a plan of
 * given length and order with it, periodic-plan.c searches for the best plan, and periodic.c
 * executes it.
 *
 * Times are whole nanoseconds, so adjacent windows meet exactly.
 */
#ifndef SL_POLICY_MACHINE_GRANT_PERIODIC_H
#define SL_POLICY_MACHINE_GRANT_PERIODIC_H

#include "base/ds/heap.h"
#include "policy/policy.h"

#define SL_PER_NONE	UINT32_MAX
#define SL_PER_ELITE	6	    /* attempts that the search keeps for improvement */
#define SL_PER_GUARD_NS 1000	    /* between windows of a job, on top of its computing */
#define SL_PER_MAX_NS	(1LL << 58) /* of a period: 9 years */

struct sl_per_job {
	uint64_t job;
	double procs, cap_bps, bytes, compute_s;
	double cycle_s;	    /* computing and I/O, alone on the machine */
	sl_time compute_ns; /* as planned: with slack and guard */
	sl_time cycle_ns;   /* likewise, at full rate */
	double always_bps;  /* constant rate, for a job that would need too many windows; else 0 */
	uint32_t rank;	    /* by worth per byte; 0: the most */
	uint32_t first, count; /* its windows in the plan, in the order of time */
	double instances;      /* in each period of the plan */
	/* In the current attempt: */
	double limit_bps;
	uint32_t head, tail, n;
};

/*
 * I/O from start to end at a constant rate, repeated every period. A job's first window starts in 0
 * .. period - 1, its others less than a period later.
 */
struct sl_per_window {
	sl_time start, end;
	double rate_bps;
	uint32_t job, next; /* next of the job, or SL_PER_NONE */
};

/* Free bandwidth from `at` to the next edge, or to the end of the period. */
struct sl_per_edge {
	sl_time at;
	double free_bps;
};

struct sl_per_pack {
	sl_time period_ns;
	struct sl_per_edge *edge;
	struct sl_per_window *window;
	uint32_t edges, max_edges, windows, max_windows;
	double eager;
	uint64_t steps; /* work of all attempts: edges visited or moved */
};

/* Parameter `rule`, and `spare`. */
enum { SL_PER_RULE_SEARCH, SL_PER_RULE_GREEDY, SL_PER_RULE_LITERAL };
enum { SL_PER_SPARE_NONE, SL_PER_SPARE_LATE, SL_PER_SPARE_ALL };

/* The order in which jobs get their next instance. */
enum sl_per_order {
	SL_PER_BALANCED, /* least n * cycle first */
	SL_PER_WORTHY,	 /* one each, then by rank; equal ranks balanced */
	SL_PER_READY,	 /* the job that ends computing first */
	SL_PER_LARGEST,	 /* largest n * cycle first: Gainaru et al.'s text */
	SL_PER_REVERSED, /* by rank, the least worth first: Gainaru et al.'s text */
};

/* How to make a plan. */
struct sl_per_try {
	sl_time period_ns;
	double stretch; /* transfers as slow as this dilation allows; 0: at full rate */
	uint32_t few;	/* slow down jobs with at most this many instances */
	double eager;
	enum sl_per_order order;
	double value;  /* the result: lower is better */
	float *offset; /* by job: where the search for its first window begins, in cycles */
};

struct sl_per {
	/* Parameters. */
	bool throughput;
	uint32_t rule, spare;
	double longest, growth, slack;
	uint64_t effort;
	/* The plan. */
	uint32_t lanes, jobs, windows;
	struct sl_per_job *job;
	struct sl_per_window *window; /* by job */
	uint32_t *by_id;
	uint64_t *id;		   /* of these, rising */
	sl_time period_ns, origin; /* period 0: there is no plan */
	double sys_efficiency, dilation;
	/* Making it. */
	double capacity_bps, procs;
	/* lower bounds of the dilation: of all jobs, and of the fast ones alone */
	double bound, fast;
	struct sl_per_pack pack;
	struct sl_heap heap;
	uint32_t *by_rank;
	struct sl_per_try now, elite[SL_PER_ELITE];
	uint32_t elites;
	double best;
	uint64_t random;
};

/* ---- periodic-pack.c ---- */

/* Time to transfer the bytes, in ns; rounded up, at least 1. */
sl_time sl_per_length(double bytes, double rate_bps);
void sl_per_pack_open(struct sl_per_pack *p, sl_time period_ns, double capacity_bps);
/*
 * Add an instance of the job after its last one, so that it ends as early as possible; the first
 * one starts at `offset` or later. Returns whether there was room.
 */
bool sl_per_pack_insert(struct sl_per_pack *p, struct sl_per_job *j, uint32_t number,
			sl_time offset);

/* ---- periodic-build.c ---- */

/*
 * Build s->now in s->pack and set its value. Returns 0, or -ENOSPC: too much work or too many
 * windows.
 */
int sl_per_build(struct sl_per *s);
/* Make the contents of s->pack the plan. */
void sl_per_keep(struct sl_per *s);
/* A fallback plan: each job once, in parallel as far as the bandwidth allows. */
int sl_per_shelves(struct sl_per *s);

/* ---- periodic-jobs.c ---- */

/* Returns 0, or a negative errno; then nothing has changed. */
int sl_per_take(struct sl_per *s, const struct sl_plan_job *jobs, uint32_t n, double capacity_bps);
/* Lower bound for a plan of this length. */
double sl_per_least_dilation(const struct sl_per *s, double period_ns);
double sl_per_most_efficiency(const struct sl_per *s, double period_ns);

/* ---- periodic-plan.c ---- */

int sl_per_plan(struct sl_per *s, const struct sl_plan_job *jobs, uint32_t n, double capacity_bps);

#endif
