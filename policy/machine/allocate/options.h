/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the allocate policies: a job's options, fitting numbers into the machine. options.c */
#ifndef SL_POLICY_MACHINE_ALLOCATE_OPTIONS_H
#define SL_POLICY_MACHINE_ALLOCATE_OPTIONS_H

#include "policy/policy.h"

/* ---- of one job ---- */

/* So many I/O nodes are no option for reasons of balance: they do not divide its compute nodes. */
static inline bool sl_alloc_divides(const struct sl_alloc_job *j, uint32_t ionodes,
				    const struct sl_alloc_machine *m)
{
	return m->uneven || j->nodes % ionodes == 0;
}

/* The point of its curve at exactly so many I/O nodes; NULL: there is none. O(log points). */
const struct sl_curve_point *sl_alloc_point(const struct sl_alloc_job *j, uint32_t ionodes);

/* The largest option not above `ionodes`; without direct access at least 1. */
uint32_t sl_alloc_snap(const struct sl_alloc_job *j, uint32_t ionodes,
		       const struct sl_alloc_machine *m);

/*
 * What the curve promises for the decision, with `running` jobs on the machine; negative: it does
 * not say. One that shares a node is estimated at 1/running of what the node gives it alone.
 */
double sl_alloc_bps(const struct sl_alloc_job *j, uint32_t running);

/* ---- of all jobs ---- */

size_t sl_alloc_size(const struct sl_policy_limits *limits); /* of the scratch for these */
void sl_alloc_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		   sl_time now);

/* More jobs than nodes, and none can do without: one node is shared. */
static inline bool sl_alloc_shares(uint32_t n, const struct sl_alloc_machine *m)
{
	return !m->direct && n > m->ionodes;
}
/* I/O nodes that can be given to single jobs. */
static inline uint32_t sl_alloc_capacity(uint32_t n, const struct sl_alloc_machine *m)
{
	return m->ionodes - (m->ionodes && sl_alloc_shares(n, m));
}

/*
 * Take back until the numbers fit into the machine: from the largest, of those from the one with
 * the fewest compute nodes, of those from the last. keep: from running jobs only when there is
 * nothing left to take from others. O((n + taken) log n).
 */
void sl_alloc_fit(void *scratch, struct sl_alloc_job *jobs, uint32_t n,
		  const struct sl_alloc_machine *m, bool keep);

/* In proportion to compute nodes, rounded up, fitted. keep: running jobs are not moved. */
void sl_alloc_static(void *scratch, struct sl_alloc_job *jobs, uint32_t n,
		     const struct sl_alloc_machine *m, bool keep);

/* The same number for each, fitted. */
void sl_alloc_same(void *scratch, struct sl_alloc_job *jobs, uint32_t n,
		   const struct sl_alloc_machine *m, uint32_t ionodes);

/* A part of all I/O nodes in proportion to compute nodes or processes, rounded to nearest, fitted. */
void sl_alloc_proportional(void *scratch, struct sl_alloc_job *jobs, uint32_t n,
			   const struct sl_alloc_machine *m, bool by_procs);

#endif
