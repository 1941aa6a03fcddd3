/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Observe mode: how long jobs would have waited under a capacity that is not enforced.
 *
 * Every job has a queue that exists only here. What the job has moved since the last step arrives
 * in it; the capacity serves the queues as the pacer and share=wfq would: first what jobs are
 * guaranteed (min), then in proportion to the weights, never above a job's max, and what one job
 * does not need goes to the others. A job whose queue is not empty after a step would have waited
 * for that step. If its own max was the reason, it would have been held by it; if another job had
 * something in its queue too, it would have waited for others.
 *
 *	capacity 100 MB/s, step .1 s       a (weight 4) moved 30 MB, b (weight 1) moved 1 MB
 *	served: b 1 MB, a 9 MB             a would have waited .1 s, behind b's queue; b not at all
 *
 * The queue of a job holds SHADOW_MOST_S seconds of service at most: under a real limit the program
 * would have been slowed down instead of sending more. A departure from the scheduler: bytes are
 * divided within a step as if they had arrived at its beginning.
 *
 * Pure. O(jobs) for each level of the division, of which there are at most as many as jobs.
 */
#ifndef SL_SLUICED_IONODE_SHADOW_H
#define SL_SLUICED_IONODE_SHADOW_H

#include <stdbool.h>
#include <stddef.h>

#define SHADOW_MOST_S 10.0

struct shadow_job {
	double weight, min_bps, max_bps; /* 0: 1, none, no limit */
	double arrived_bytes;		 /* since the last step */
	double queue_bytes;
	/* Sums. */
	double held_s, waited_s, contended_s;
	/* Of the step under way. */
	double room_bytes, served_bytes;
};

/* One step; capacity_bps 0: not known, only a job's max holds it. arrived_bytes are taken. */
void shadow_step(struct shadow_job *const *job, size_t jobs, double capacity_bps, double seconds);

#endif
