/* SPDX-License-Identifier: Apache-2.0 */
/*
 * to-agg: arrival order, but a contiguous neighbour joins the batch wherever it stands.
 *
 * Seed: AGIOS (Boito et al. 2015), §2.4, "TO-agg": the effect of merging alone, without
 * reordering. The paper searches the whole queue for a neighbour, O(N); here the trees of
 * flow.c find it in O(log N), and choosing is taking the head of the list of runs.
 *
 * Example: A[0,4K) B[0,4K) A[4K,8K) goes out as A[0,8K), B[0,4K).
 *
 * No starvation: a request is overtaken only by those that join runs older than its own, and a
 * run takes at most batch_bytes and batch_requests.
 */
#include "policy/request/order/flow.h"

static const struct sl_param params[] = { SL_BATCH_PARAMS, { .name = NULL } };

static struct sl_run *agg_next(struct sl_flow *f, sl_time now)
{
	struct sl_run *run = sl_flow_oldest_run(f);

	(void)now;
	sl_flow_take(f, run);
	return run;
}

const struct sl_order_ops sl_order_to_agg = {
	.base = { .name = "to-agg",
		  .summary = "arrival order, contiguous requests merged",
		  .source = "AGIOS (Boito et al. 2015), section 2.4, TO-agg",
		  .params = params },
	.add = sl_flow_add,
	.ready = sl_flow_ready,
	.next = agg_next,
	.done = sl_flow_done,
	.cancel = sl_flow_cancel,
	.drain = sl_flow_drain,
	.oldest = sl_flow_oldest,
};
