/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size: all I/O nodes, in proportion to the compute nodes of the running jobs.
 *
 * GekkoFWD (Bez et al. 2021, section 3.2), SIZE: round(F x s_a / sum of s), s the compute nodes.
 * Unlike static, it uses all I/O nodes even if some compute nodes are idle, except for those left
 * over when numbers snap to options (options.c), and it moves running jobs.
 *
 * Example, Table 4 of the paper: 12 I/O nodes and jobs of 32 64 16 64 32 64 compute nodes, 272 in
 * all, get round(1.41) = 1, round(2.82) = 3, which snaps to 2, and round(.71) = 1: 1 2 1 2 1 2.
 *
 * O((n + taken back) log n).
 */
#include "policy/machine/allocate/options.h"

static void si_decide(void *state, struct sl_alloc_job *jobs, uint32_t n,
		      const struct sl_alloc_machine *m)
{
	sl_alloc_proportional(state, jobs, n, m, false);
}

const struct sl_allocate_ops sl_allocate_size = {
	.base = { .name = "size",
		  .summary = "all I/O nodes in proportion to the compute nodes of the jobs",
		  .source = "GekkoFWD (Bez et al. 2021), section 3.2, SIZE",
		  .state_size = sl_alloc_size,
		  .init = sl_alloc_init },
	.decide = si_decide,
};
