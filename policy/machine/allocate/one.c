/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one: one I/O node for each job, as long as there are any.
 *
 * GekkoFWD (Bez et al. 2021, section 3.2), ONE. The paper always has enough I/O nodes. Here, if
 * there are too few, the jobs with the fewest compute nodes get none, or share one (options.c).
 *
 * Example: jobs of 8, 64 and 16 compute nodes on 2 I/O nodes: 0 1 1, or without direct access:
 * shared, 1, shared.
 *
 * O(n log n).
 */
#include "policy/machine/allocate/options.h"

static void on_decide(void *state, struct sl_alloc_job *jobs, uint32_t n,
		      const struct sl_alloc_machine *m)
{
	sl_alloc_same(state, jobs, n, m, 1);
}

const struct sl_allocate_ops sl_allocate_one = {
	.base = { .name = "one",
		  .summary = "one I/O node for each job",
		  .source = "GekkoFWD (Bez et al. 2021), section 3.2, ONE",
		  .state_size = sl_alloc_size,
		  .init = sl_alloc_init },
	.decide = on_decide,
};
