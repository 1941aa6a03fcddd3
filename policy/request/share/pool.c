/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: all jobs without limits are one lane; between what remains, first come, first served.
 *
 * Source: AGIOS (Boito et al. 2015), §2. Its schedulers see the requests to a file, but not which
 * job sent them, and gain by merging across applications. The other share policies separate jobs,
 * so order merges only within a job. With pool the host puts every job that has no min, max or
 * grant into one lane, whose order policy sorts and merges their requests together. A job with
 * limits keeps its own lane, because its bytes must be counted.
 *
 * Example: jobs A and B write the even and the odd blocks of one file. With wfq the device gets
 * blocks 0 2 4 .. and 1 3 5 .., with pool and to-agg it gets 0-1-2-3-4-5 as one batch.
 *
 * The lanes are served as in fifo, with fifo's costs and bound. The pooled lane counts with its
 * oldest request, so it gains nothing from holding many jobs.
 */
#include "policy/request/share/fifo.h"

const struct sl_share_ops sl_share_pool = {
	.base = { .name = "pool",
		  .summary = "jobs without limits are merged as one, in order of arrival",
		  .source = "AGIOS (Boito et al. 2015), section 2",
		  .state_size = sl_fifo_state_size,
		  .init = sl_fifo_init },
	.pools = true,
	.enter = sl_fifo_enter,
	.leave = sl_fifo_leave,
	.update = sl_fifo_update,
	.forget = sl_fifo_forget,
	.pick = sl_fifo_pick,
	.charge = sl_fifo_charge,
};
