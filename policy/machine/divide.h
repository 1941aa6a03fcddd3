/* SPDX-License-Identifier: Apache-2.0 */
/* Divide one bandwidth among many who want some of it: see divide.c. */
#ifndef SL_POLICY_MACHINE_DIVIDE_H
#define SL_POLICY_MACHINE_DIVIDE_H

#include "policy/policy.h"

#define SL_ALL 1e300 /* more than anybody has: no limit, or as much as there is */

/* One who wants bandwidth: a job of the machine, or a part of a job at one I/O node. */
struct sl_divide_job {
	double min_bps;	    /* first of all; 0: none */
	double granted_bps; /* then this, by a grant policy; 0: none */
	double max_bps;	    /* never more; SL_ALL: no limit */
	double want_bps;    /* what it can use; 0: nothing; SL_ALL: as much as there is */
	double weight;	    /* in dividing what is left; above 0 */
	sl_time period_ns;  /* for sets: 0, not known */
	sl_time since;	    /* for sets: who came first is served first */
	double rate_bps;    /* the decision */
	struct sl_io_job scratch_;
};

/* How what is left after guarantees and grants is divided. */
struct sl_divide_how {
	/* NULL: by weight. Else one of each set of periods at a time, sets by priority, as grant
	 * policy set-10 decides: its state. */
	void *sets;
	struct sl_io_job **order; /* with sets: room for n pointers */
};

/*
 * Sets rate_bps of each. The sum is the capacity, unless all have reached their max or nobody wants
 * anything; 0 for those that want nothing.
 */
void sl_divide(struct sl_divide_job *jobs, uint32_t n, double capacity_bps,
	       const struct sl_divide_how *how, sl_time now);

#endif
