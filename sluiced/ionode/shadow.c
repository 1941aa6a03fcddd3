/* SPDX-License-Identifier: Apache-2.0 */
/* See shadow.h. */
#include "sluiced/ionode/shadow.h"

#include <math.h>

#define NOTHING 1.0 /* bytes: rounding, no queue */

static double weight_of(const struct shadow_job *j)
{
	return j->weight > 0 ? j->weight : 1;
}

static double wants(const struct shadow_job *j)
{
	return fmin(j->queue_bytes, j->room_bytes) - j->served_bytes;
}

/* Divide `bytes` by weight among those that want more. Returns what nobody wants. */
static double divide(struct shadow_job *const *job, size_t jobs, double bytes)
{
	while (bytes > NOTHING) {
		double weights = 0, given = 0;

		for (size_t i = 0; i < jobs; i++)
			weights += wants(job[i]) > NOTHING ? weight_of(job[i]) : 0;
		if (weights <= 0)
			break;
		for (size_t i = 0; i < jobs; i++) {
			double part = bytes * weight_of(job[i]) / weights;

			if (wants(job[i]) <= NOTHING)
				continue;
			part = fmin(part, wants(job[i]));
			job[i]->served_bytes += part;
			given += part;
		}
		bytes -= given;
		if (given < NOTHING)
			break;
	}
	return bytes;
}

static void arrive(struct shadow_job *j, double capacity_bps, double seconds)
{
	double fastest_bps = j->max_bps > 0 ? j->max_bps : INFINITY;

	if (capacity_bps > 0)
		fastest_bps = fmin(fastest_bps, capacity_bps);
	j->queue_bytes = fmin(j->queue_bytes + j->arrived_bytes, fastest_bps * SHADOW_MOST_S);
	j->arrived_bytes = 0;
	j->served_bytes = 0;
	j->room_bytes = j->max_bps > 0 ? j->max_bps * seconds : INFINITY;
}

void shadow_step(struct shadow_job *const *job, size_t jobs, double capacity_bps, double seconds)
{
	double bytes = capacity_bps > 0 ? capacity_bps * seconds : INFINITY;
	size_t queues = 0;

	for (size_t i = 0; i < jobs; i++) {
		arrive(job[i], capacity_bps, seconds);
		queues += job[i]->queue_bytes > NOTHING;
	}
	for (size_t i = 0; i < jobs;
	     i++) { /* guarantees fit into the capacity, or nobody gave them */
		double floor = fmin(fmin(wants(job[i]), job[i]->min_bps * seconds), bytes);

		job[i]->served_bytes += floor;
		bytes -= floor;
	}
	if (isinf(bytes))
		for (size_t i = 0; i < jobs; i++)
			job[i]->served_bytes = fmin(job[i]->queue_bytes, job[i]->room_bytes);
	else
		divide(job, jobs, bytes);
	for (size_t i = 0; i < jobs; i++) {
		struct shadow_job *j = job[i];

		j->queue_bytes -= j->served_bytes;
		if (j->queue_bytes <= NOTHING)
			continue;
		j->waited_s += seconds;
		if (j->served_bytes >= j->room_bytes - NOTHING)
			j->held_s += seconds;
		else if (queues > 1)
			j->contended_s += seconds;
	}
}
