/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static: I/O nodes in proportion to a job's compute nodes, as machines are wired.
 *
 * GekkoFWD (Bez et al. 2021, section 3.2), STATIC: of C compute nodes and F I/O nodes, a job with
 * C_a compute nodes gets ceil(C_a / (C / F)). The number snaps down to an option of the job, and
 * what rounding up gave out too much is taken back (options.c). It is invoked when jobs come and
 * go, but does not move those that run (section 5.3): they keep what they have, unless the others
 * could not be served at all or I/O nodes are gone.
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
		  .params = NULL,
		  .state_size = sl_alloc_size,
		  .init = sl_alloc_init },
	.decide = st_decide,
};
