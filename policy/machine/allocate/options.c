/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that the allocate policies share (GekkoFWD, Bez et al. 2021, section 3).
 *
 * The *options* of a job are 0, where direct access is allowed, and every number of I/O nodes that
 * its curve has a bandwidth for and that divides its compute nodes, so that each I/O node serves
 * the same number of compute nodes. For a job without a curve, every divisor is an option. Where
 * direct access is not allowed, 1 is always an option, because a job cannot have none. An option
 * that was not measured counts as bandwidth 0.
 *
 * If a policy's number is not an option, it is lowered ("snaps down") to the next option. If the
 * sum exceeds the machine, nodes are taken back step by step from the job that has the most.
 *
 * Example: 8 I/O nodes, direct access, jobs of 64, 64 and 16 compute nodes with options 0 1 2 4 8
 * and the numbers 5, 5 and 1. These snap to 4, 4 and 1, one more than the machine has. The first
 * two jobs have most; of the two, the later one goes down: 4, 2, 1.
 *
 * With more jobs than I/O nodes and no direct access, the jobs that got no node share one, and the
 * other nodes are given to single jobs. In the example with 2 I/O nodes: 1, shared, shared.
 */
#include "policy/machine/allocate/options.h"

#include "base/ds/heap.h"

/* Index of the first point with more I/O nodes than that. */
static uint32_t al_above(const struct sl_alloc_job *j, uint32_t ionodes)
{
	uint32_t low = 0, high = j->points;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (j->curve[middle].ionodes > ionodes)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct sl_curve_point *sl_alloc_point(const struct sl_alloc_job *j, uint32_t ionodes)
{
	uint32_t i = al_above(j, ionodes);

	return i && j->curve[i - 1].ionodes == ionodes ? &j->curve[i - 1] : NULL;
}

uint32_t sl_alloc_snap(const struct sl_alloc_job *j, uint32_t ionodes,
		       const struct sl_alloc_machine *m)
{
	uint32_t least = m->direct ? 0 : 1;

	if (j->points) {
		for (uint32_t i = al_above(j, ionodes); i; i--) {
			uint32_t n = j->curve[i - 1].ionodes;

			if (n > least && sl_alloc_divides(j, n, m))
				return n;
		}
		return least;
	}
	if (ionodes > j->nodes && !m->uneven)
		ionodes = j->nodes;
	for (; ionodes > least; ionodes--)
		if (sl_alloc_divides(j, ionodes, m))
			return ionodes;
	return least;
}

double sl_alloc_bps(const struct sl_alloc_job *j, uint32_t running)
{
	const struct sl_curve_point *p = sl_alloc_point(j, j->ionodes);

	if (!p)
		return -1;
	return j->shared && running ? p->bps / running : p->bps;
}

size_t sl_alloc_size(const struct sl_policy_limits *limits)
{
	return sl_heap_size(limits->lanes);
}

void sl_alloc_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		   sl_time now)
{
	(void)state, (void)limits, (void)values, (void)now;
}

/*
 * Sort key for taking back, smallest first: jobs that may move, most I/O nodes, fewest compute
 * nodes.
 */
static uint64_t al_key(const struct sl_alloc_job *j, bool keep)
{
	uint32_t most = j->ionodes < INT32_MAX ? j->ionodes : INT32_MAX;

	return (uint64_t)(keep && j->running) << 63 | (uint64_t)(INT32_MAX - most) << 32 | j->nodes;
}

void sl_alloc_fit(void *scratch, struct sl_alloc_job *jobs, uint32_t n,
		  const struct sl_alloc_machine *m, bool keep)
{
	const bool shares = sl_alloc_shares(n, m);
	const uint32_t capacity = sl_alloc_capacity(n, m), least = m->direct ? 0 : 1;
	uint64_t sum = 0;
	struct sl_heap heap;

	for (uint32_t i = 0; i < n; i++) {
		jobs[i].shared = false;
		sum += jobs[i].ionodes;
	}
	if (sum <= capacity)
		return;
	sl_heap_init(&heap, scratch, n);
	for (uint32_t i = 0; i < n; i++)
		sl_heap_set(&heap, n - 1 - i, al_key(&jobs[i], keep));
	while (sum > capacity) {
		uint32_t id = sl_heap_top(&heap)->id;
		struct sl_alloc_job *j = &jobs[n - 1 - id];
		uint32_t before = j->ionodes;

		if (before > least) {
			j->ionodes = sl_alloc_snap(j, before - 1, m);
			sum -= before - j->ionodes;
			sl_heap_set(&heap, id, al_key(j, keep));
			continue;
		}
		sl_heap_remove(&heap, id);
		if (shares) {
			j->shared = m->ionodes > 0;
			j->ionodes = j->shared;
			sum--;
		}
	}
}

static uint32_t al_least(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

void sl_alloc_static(void *scratch, struct sl_alloc_job *jobs, uint32_t n,
		     const struct sl_alloc_machine *m, bool keep)
{
	uint64_t all = m->compute_nodes;

	for (uint32_t i = 0; !m->compute_nodes && i < n; i++)
		all += jobs[i].nodes;
	for (uint32_t i = 0; i < n; i++) {
		struct sl_alloc_job *j = &jobs[i];
		uint64_t want = ((uint64_t)j->nodes * m->ionodes + all - 1) / all;

		if (keep && j->running && (j->has || m->direct))
			j->ionodes = j->has;
		else
			j->ionodes = sl_alloc_snap(j, al_least(want, m->ionodes), m);
	}
	sl_alloc_fit(scratch, jobs, n, m, keep);
}

void sl_alloc_same(void *scratch, struct sl_alloc_job *jobs, uint32_t n,
		   const struct sl_alloc_machine *m, uint32_t ionodes)
{
	for (uint32_t i = 0; i < n; i++)
		jobs[i].ionodes = sl_alloc_snap(&jobs[i], al_least(ionodes, m->ionodes), m);
	sl_alloc_fit(scratch, jobs, n, m, false);
}

void sl_alloc_proportional(void *scratch, struct sl_alloc_job *jobs, uint32_t n,
			   const struct sl_alloc_machine *m, bool by_procs)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < n; i++)
		all += by_procs ? jobs[i].procs : jobs[i].nodes;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t size = by_procs ? jobs[i].procs : jobs[i].nodes;
		/* F x size / all + 1/2, rounded down. */
		uint64_t want = (size * m->ionodes + all / 2) / all;

		jobs[i].ionodes = sl_alloc_snap(&jobs[i], al_least(want, m->ionodes), m);
	}
	sl_alloc_fit(scratch, jobs, n, m, false);
}
