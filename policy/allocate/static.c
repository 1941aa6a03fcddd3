/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static: I/O nodes in proportion to a job's compute nodes, as machines are wired.
 *
 * Seed 001 (Bez et al. 2021, section 3.2), STATIC: of C compute nodes and F I/O nodes, a job with
 * C_a compute nodes gets ceil(C_a / (C / F)). The number is brought down to one that divides the
 * job's compute nodes, so that each of its I/O nodes serves as many of them as the others; and,
 * when rounding up gave out more than there are, what is too much is taken from those with the
 * most.
 *
 * Example: C 96, F 12; a job of 32 compute nodes gets 4, one of 9 gets ceil(1.125) = 2, which does
 * not divide 9: 1.
 *
 * O(n log n + taken back x n).
 */
#include "policy/policy.h"

static size_t st_size(const struct sl_policy_limits *limits)
{
	(void)limits;
	return 16; /* not used */
}

static void st_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		    sl_time now)
{
	(void)state, (void)limits, (void)values, (void)now;
}

static uint32_t st_snap(const struct sl_alloc_job *j, uint32_t n, bool direct)
{
	n = n > j->nodes ? j->nodes : n;
	while (n > 1 && j->nodes % n)
		n--;
	return n || direct ? n : 1;
}

static void st_decide(void *state, struct sl_alloc_job *jobs, uint32_t n,
		      const struct sl_alloc_machine *m)
{
	uint64_t all = m->compute_nodes, sum = 0;

	(void)state;
	for (uint32_t i = 0; !m->compute_nodes && i < n; i++)
		all += jobs[i].nodes;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t want = ((uint64_t)jobs[i].nodes * m->ionodes + all - 1) / all;

		jobs[i].shared = false;
		jobs[i].ionodes = st_snap(
			&jobs[i], (uint32_t)(want < m->ionodes ? want : m->ionodes), m->direct);
		sum += jobs[i].ionodes;
	}
	while (sum > m->ionodes) {
		struct sl_alloc_job *most = &jobs[0];
		uint32_t before;

		for (uint32_t i = 1; i < n; i++)
			if (jobs[i].ionodes > most->ionodes)
				most = &jobs[i];
		before = most->ionodes;
		if (before <= 1 && !m->direct) {
			/* More jobs than nodes, and none can do without: they share. */
			for (uint32_t i = 0; i < n; i++)
				jobs[i].shared = true;
			return;
		}
		most->ionodes = st_snap(most, before - 1, m->direct);
		sum -= before - most->ionodes;
	}
}

const struct sl_allocate_ops sl_allocate_static = {
	.base = { .name = "static",
		  .summary = "in proportion to compute nodes, as machines are wired",
		  .source = "GekkoFWD (Bez et al. 2021), section 3.2, STATIC",
		  .params = NULL,
		  .state_size = st_size,
		  .init = st_init },
	.decide = st_decide,
};
