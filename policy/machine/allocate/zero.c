/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zero: no I/O nodes. Every job accesses the file system itself. Where that is not allowed, each
 * job gets one node, or they share one (options.c).
 *
 * GekkoFWD (Bez et al. 2021, section 3.2), ZERO. A baseline: it shows what forwarding gains or
 * costs.
 *
 * Example: 3 jobs, direct access: 0 0 0. Without, on 4 I/O nodes: 1 1 1; on 2: 1, shared, shared.
 *
 * O(n), O(n log n) with sharing.
 */
#include "policy/machine/allocate/options.h"

static void ze_decide(void *state, struct sl_alloc_job *jobs, uint32_t n,
		      const struct sl_alloc_machine *m)
{
	sl_alloc_same(state, jobs, n, m, 0);
}

const struct sl_allocate_ops sl_allocate_zero = {
	.base = { .name = "zero",
		  .summary = "direct access for all jobs; where that is not allowed, one node each",
		  .source = "GekkoFWD (Bez et al. 2021), section 3.2, ZERO",
		  .state_size = sl_alloc_size,
		  .init = sl_alloc_init },
	.decide = ze_decide,
};
