/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle: each job's best option, as if the number of I/O nodes were unlimited. No machine can do
 * that; it is the upper bound for the other policies.
 *
 * GekkoFWD (Bez et al. 2021, section 3.2), ORACLE. Among options of equal bandwidth it takes the
 * one with fewer nodes. A job without a curve gets the number that static would give it.
 *
 * Example: 12 I/O nodes, and two jobs whose best option is 8: 8 8.
 *
 * O(points + (n + taken back) log n).
 */
#include "policy/machine/allocate/options.h"

static void or_decide(void *state, struct sl_alloc_job *jobs, uint32_t n,
		      const struct sl_alloc_machine *m)
{
	sl_alloc_static(state, jobs, n, m, false);
	for (uint32_t i = 0; i < n; i++) {
		struct sl_alloc_job *j = &jobs[i];
		const struct sl_curve_point *best = NULL;

		for (uint32_t k = 0; k < j->points; k++) {
			const struct sl_curve_point *p = &j->curve[k];
			bool option = p->ionodes ? sl_alloc_divides(j, p->ionodes, m) : m->direct;

			if (option && (!best || p->bps > best->bps))
				best = p;
		}
		if (!j->points)
			continue;
		j->ionodes = best ? best->ionodes : m->direct ? 0 : 1;
		j->shared = false;
	}
}

const struct sl_allocate_ops sl_allocate_oracle = {
	.base = { .name = "oracle",
		  .summary = "each job's best option, as if I/O nodes were unlimited",
		  .source = "GekkoFWD (Bez et al. 2021), section 3.2, ORACLE",
		  .state_size = sl_alloc_size,
		  .init = sl_alloc_init },
	.decide = or_decide,
};
