/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process: all I/O nodes, in proportion to the processes of the running jobs.
 *
 * GekkoFWD (Bez et al. 2021, section 3.2), PROCESS: round(F x s_a / sum of s), s the number of
 * processes. Otherwise like size.
 *
 * Example: 12 I/O nodes and jobs with 128 512 128 512 64 512 processes, 1856 in all, on 32 64 16 64
 * 32 64 compute nodes get round(.83) = 1, round(3.31) = 3, which snaps to 2, and round(.41) = 0: 1
 * 2 1 2 0 2.
 *
 * O((n + taken back) log n).
 */
#include "policy/machine/allocate/options.h"

static void pr_decide(void *state, struct sl_alloc_job *jobs, uint32_t n,
		      const struct sl_alloc_machine *m)
{
	sl_alloc_proportional(state, jobs, n, m, true);
}

const struct sl_allocate_ops sl_allocate_process = {
	.base = { .name = "process",
		  .summary = "all I/O nodes in proportion to the processes of the jobs",
		  .source = "GekkoFWD (Bez et al. 2021), section 3.2, PROCESS",
		  .state_size = sl_alloc_size,
		  .init = sl_alloc_init },
	.decide = pr_decide,
};
