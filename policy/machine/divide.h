/* SPDX-License-Identifier: Apache-2.0 */
/* Divide one bandwidth among many jobs: see divide.c. */
#ifndef SL_POLICY_MACHINE_DIVIDE_H
#define SL_POLICY_MACHINE_DIVIDE_H

#include "policy/policy.h"

#define SL_ALL 1e300 /* no limit, or as much as possible */

#define SL_DIVIDE_LEVELS 2 /* levels of groups above the jobs */

/* A consumer of bandwidth: a job of the machine, or the part of a job at one I/O node. */
struct sl_divide_job {
	double min_bps;	    /* guarantee, served first; 0: none */
	double granted_bps; /* served next, ordered by a grant policy; 0: none */
	double max_bps;	    /* upper limit; SL_ALL: no limit */
	double want_bps;    /* what it can use; 0: nothing; SL_ALL: as much as possible */
	double weight;	    /* for dividing what is left; above 0 */
	sl_time period_ns;  /* for sets; 0: unknown */
	sl_time since;	    /* for sets: the earliest job is served first */
	/*
	 * For levels: the groups that the job belongs to, the outermost first, and their weights.
	 */
	uint64_t group[SL_DIVIDE_LEVELS];
	double group_weight[SL_DIVIDE_LEVELS];
	double rate_bps; /* the decision */
	struct sl_io_job scratch_;
};

/* How to divide what is left after guarantees and grants. */
struct sl_divide_how {
	/*
	 * NULL: divide by weight. Else the state of grant policy set-10, which serves one job of
	 * each set of periods at a time, and the sets by priority.
	 */
	void *sets;
	struct sl_io_job **order; /* with sets or levels: room for n pointers */
	/* Number of levels of groups, as in share=fair; 0: jobs only. */
	unsigned levels;
	struct sl_divide_job *room; /* with levels: for (1 + SL_DIVIDE_LEVELS) n */
};

/*
 * Sets rate_bps of each job: 0 for a job that wants nothing. The sum is the capacity, unless all
 * jobs have reached their max or no job wants anything.
 */
void sl_divide(struct sl_divide_job *jobs, uint32_t n, double capacity_bps,
	       const struct sl_divide_how *how, sl_time now);

#endif
