/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sjf: the queue with the fewest waiting bytes first, in offset order, merged.
 *
 * Seed: AGIOS (Boito et al. 2015), §2.3. A queue is one file and one operation; its size is the
 * sum of its waiting requests. The paper goes through all queues to find the smallest, O(files);
 * here they stand in a tree by size: O(log files) to keep and to find.
 *
 * Example: file A has 4K + 4K waiting, file B 4K: B goes first, then A from where its last batch
 * ended, going around at the end of the file (the paper restarts at the lowest offset, which on
 * a busy file never gets to the high ones).
 *
 * Departure: the paper's version starves large queues for ever. Here a request that has waited
 * max_age_ms goes before all that came after it; so none waits longer than max_age_ms plus the
 * time to serve what was waiting in the flow when it came.
 */
#include "policy/request/order/flow.h"

struct sjf_state {
	struct sl_tree queues; /* by bytes */
};

_Static_assert(sizeof(struct sjf_state) <= SL_FLOW_STATE, "policy part of a flow");

static const struct sl_param params[] = { SL_BATCH_PARAMS, SL_AGE_PARAM, { .name = NULL } };

static void sjf_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		     sl_time now)
{
	(void)limits, (void)values, (void)now;
	*(struct sjf_state *)state = (struct sjf_state){ 0 };
}

static void sjf_place(struct sjf_state *st, struct sl_queue *q)
{
	if (!q->linked) {
		q->key.lo = q->bytes;
		q->key.hi = 0;
		sl_tree_insert(&st->queues, &q->key);
		q->linked = 1;
	} else if (q->bytes) {
		sl_tree_rekey(&st->queues, &q->key, q->bytes, 0);
	} else {
		sl_tree_remove(&st->queues, &q->key);
		q->linked = 0;
	}
}

static void sjf_changed(struct sl_flow *f, struct sl_queue *q, struct sl_run *joined, sl_time now)
{
	(void)joined, (void)now;
	sjf_place((struct sjf_state *)f->state, q);
}

static struct sl_run *sjf_next(struct sl_flow *f, sl_time now)
{
	struct sjf_state *st = (struct sjf_state *)f->state;
	struct sl_run *run = sl_flow_oldest_run(f);

	if (!sl_run_aged(f, run, now))
		run = sl_queue_head(sl_container(sl_tree_first(&st->queues), struct sl_queue, key));
	sl_flow_take(f, run);
	sjf_place(st, sl_run_queue(run));
	return run;
}

const struct sl_order_ops sl_order_sjf = {
	.base = { .name = "sjf",
		  .summary =
			  "the file with the fewest waiting bytes first, in offset order, merged",
		  .source = "AGIOS (Boito et al. 2015), section 2.3, SJF",
		  .params = params,
		  .size = sizeof(struct sjf_state),
		  .init = sjf_init },
	.add = sl_flow_add,
	.ready = sl_flow_ready,
	.next = sjf_next,
	.done = sl_flow_done,
	.cancel = sl_flow_cancel,
	.drain = sl_flow_drain,
	.oldest = sl_flow_oldest,
	.changed = sjf_changed,
};
