/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static: I/O nodes in proportion to a job's compute nodes, as if compute nodes were wired to them.
 *
 * GekkoFWD (Bez et al. 2021, section 3.2), STATIC: of C compute nodes and F I/O nodes, a job with
 * C_a compute nodes gets ceil(C_a / (C / F)). The number snaps down to an option of the job; if
 * rounding up has given out too many nodes, some are taken back (options.c). The policy is called
 * when jobs start and end, but it does not move running jobs (section 5.3): they keep their nodes,
 * unless other jobs would get none or I/O nodes have failed.
 *
 * Example: C 96, F 12; a job of 32 compute nodes gets 4, one of 9 gets ceil(1.125) = 2, which does
 * not divide 9: 1.
 *
 * O((n + taken back) log n).
 */
#include "policy/machine/allocate/options.h"

static void st_decide(void *state, struct sl_alloc_job *jobs, uint32_t n,
		      const struct sl_alloc_machine *m)
{
	sl_alloc_static(state, jobs, n, m, true);
}

const struct sl_allocate_ops sl_allocate_static = {
	.base = { .name = "static",
		  .summary = "in proportion to compute nodes, as machines are wired",
		  .source = "GekkoFWD (Bez et al. 2021), section 3.2, STATIC",
		  .state_size = sl_alloc_size,
		  .init = sl_alloc_init },
	.decide = st_decide,
};
