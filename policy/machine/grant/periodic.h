/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A periodic plan: periodic-pack.c puts instances into one period, periodic-build.c makes a plan
 * of given length and order that way, periodic-plan.c searches the best one, and periodic.c
 * carries it out.
 *
 * Times are whole nanoseconds, so that a window that begins where another ends does so exactly.
 */
#ifndef SL_POLICY_MACHINE_GRANT_PERIODIC_H
#define SL_POLICY_MACHINE_GRANT_PERIODIC_H

#include "base/ds/heap.h"
#include "policy/policy.h"

#define SL_PER_NONE	UINT32_MAX
#define SL_PER_ELITE	6	    /* attempts that the search keeps to improve on */
#define SL_PER_GUARD_NS 1000	    /* between windows of a job, on top of its computing */
#define SL_PER_MAX_NS	(1LL << 58) /* of a period: 9 years */

struct sl_per_job {
	uint64_t job;
	double procs, cap_bps, bytes, compute_s;
	double cycle_s;	    /* computing and I/O, alone on the machine */
	sl_time compute_ns; /* as planned: with slack and guard */
	sl_time cycle_ns;   /* likewise, at full rate */
	double always_bps;  /* reserved all the time, because its windows would be too many; or 0 */
	uint32_t rank;	    /* 0: most worth for its bytes */
	uint32_t first, count; /* its windows in the plan, in the order of time */
	double instances;      /* in each period of the plan */
	/* In the attempt at hand: */
	double limit_bps;
	uint32_t head, tail, n;
};

/*
 * I/O from start to end at a constant rate, again every period. The first of a job starts in
 * 0 .. period - 1, the others less than a period later.
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
	uint64_t steps; /* work done, of all attempts: edges looked at or moved */
};

/* Parameter `rule`, and `spare`. */
enum { SL_PER_RULE_SEARCH, SL_PER_RULE_GREEDY, SL_PER_RULE_LITERAL };
enum { SL_PER_SPARE_NONE, SL_PER_SPARE_LATE, SL_PER_SPARE_ALL };

/* In which order jobs get their next instance. */
enum sl_per_order {
	SL_PER_BALANCED, /* least n * cycle first */
	SL_PER_WORTHY,	 /* one each, then by rank; equal ranks balanced */
	SL_PER_READY,	 /* who has computed first */
	SL_PER_LARGEST,	 /* largest n * cycle first: Gainaru et al.'s text */
	SL_PER_REVERSED, /* by rank, the least worth first: Gainaru et al.'s text */
};

/* How a plan is to be made. */
struct sl_per_try {
	sl_time period_ns;
	double stretch; /* transfers as slow as a dilation of this lets them be; 0: at full rate */
	uint32_t few; /* those of jobs with so few instances as slow as their number lets them be */
	double eager;
	enum sl_per_order order;
	double value;  /* what came out: lower is better */
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
	double bound, fast; /* least dilations: of all jobs, and of the fast ones alone */
	struct sl_per_pack pack;
	struct sl_heap heap;
	uint32_t *by_rank;
	struct sl_per_try now, elite[SL_PER_ELITE];
	uint32_t elites;
	double best;
	uint64_t random;
};

/* ---- periodic-pack.c ---- */

/* Nanoseconds that bytes take; rounded up, at least 1. */
sl_time sl_per_length(double bytes, double rate_bps);
void sl_per_pack_open(struct sl_per_pack *p, sl_time period_ns, double capacity_bps);
/*
 * One more instance of the job, after its last, so that it ends as early as possible; the first
 * one at `offset` or later. Whether there was room.
 */
bool sl_per_pack_insert(struct sl_per_pack *p, struct sl_per_job *j, uint32_t number,
			sl_time offset);

/* ---- periodic-build.c ---- */

/* Makes s->now in s->pack and sets its value; 0 or -ENOSPC: too much work, or too many windows. */
int sl_per_build(struct sl_per *s);
/* Makes the contents of s->pack the plan. */
void sl_per_keep(struct sl_per *s);
/* A plan that is always there: each job once, side by side while the bandwidth lasts. */
int sl_per_shelves(struct sl_per *s);

/* ---- periodic-jobs.c ---- */

/* 0; or a negative errno, and nothing has changed. */
int sl_per_take(struct sl_per *s, const struct sl_plan_job *jobs, uint32_t n, double capacity_bps);
/* No plan of this length is better. */
double sl_per_least_dilation(const struct sl_per *s, double period_ns);
double sl_per_most_efficiency(const struct sl_per *s, double period_ns);

/* ---- periodic-plan.c ---- */

int sl_per_plan(struct sl_per *s, const struct sl_plan_job *jobs, uint32_t n, double capacity_bps);

#endif
