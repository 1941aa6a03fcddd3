/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the allocate policies: a job's options, and fitting numbers to the machine. See
 * options.c.
 */
#ifndef SL_POLICY_MACHINE_ALLOCATE_OPTIONS_H
#define SL_POLICY_MACHINE_ALLOCATE_OPTIONS_H

#include "policy/policy.h"

/* ---- of one job ---- */

/* True if this number of I/O nodes divides the job's compute nodes; others would be unbalanced. */
static inline bool sl_alloc_divides(const struct sl_alloc_job *j, uint32_t ionodes,
				    const struct sl_alloc_machine *m)
{
	return m->uneven || j->nodes % ionodes == 0;
}

/* The point of its curve at exactly this number of I/O nodes; NULL: none. O(log points). */
const struct sl_curve_point *sl_alloc_point(const struct sl_alloc_job *j, uint32_t ionodes);

/* The largest option not above `ionodes`; without direct access at least 1. */
uint32_t sl_alloc_snap(const struct sl_alloc_job *j, uint32_t ionodes,
		       const struct sl_alloc_machine *m);

/*
 * The job's bandwidth by its curve under the decision, with `running` jobs on the machine;
 * negative: unknown. A job that shares a node is estimated at 1/running of the bandwidth it would
 * have there alone.
 */
double sl_alloc_bps(const struct sl_alloc_job *j, uint32_t running);

/* ---- of all jobs ---- */

/* Scratch memory for the functions below. */
size_t sl_alloc_size(const struct sl_policy_limits *limits);
void sl_alloc_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		   sl_time now);

/* True if jobs must share a node: there are more jobs than nodes, and no direct access. */
static inline bool sl_alloc_shares(uint32_t n, const struct sl_alloc_machine *m)
{
	return !m->direct && n > m->ionodes;
}
/* Number of I/O nodes that can be given to single jobs. */
static inline uint32_t sl_alloc_capacity(uint32_t n, const struct sl_alloc_machine *m)
{
	return m->ionodes - (m->ionodes && sl_alloc_shares(n, m));
}

/*
 * Take nodes back until the numbers fit the machine: from the job with most I/O nodes; among
 * equals, from the one with the fewest compute nodes, then from the last. keep: take from running
 * jobs only when other jobs have nothing left to give. O((n + taken) log n).
 */
void sl_alloc_fit(void *scratch, struct sl_alloc_job *jobs, uint32_t n,
		  const struct sl_alloc_machine *m, bool keep);

/* In proportion to compute nodes, rounded up, then fitted. keep: do not move running jobs. */
void sl_alloc_static(void *scratch, struct sl_alloc_job *jobs, uint32_t n,
		     const struct sl_alloc_machine *m, bool keep);

/* The same number for each job, then fitted. */
void sl_alloc_same(void *scratch, struct sl_alloc_job *jobs, uint32_t n,
		   const struct sl_alloc_machine *m, uint32_t ionodes);

/* A part of all I/O nodes by compute nodes or processes, rounded to nearest, then fitted. */
void sl_alloc_proportional(void *scratch, struct sl_alloc_job *jobs, uint32_t n,
			   const struct sl_alloc_machine *m, bool by_procs);

#endif
