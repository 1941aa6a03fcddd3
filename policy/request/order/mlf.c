/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlf: queues in turn; a batch goes when its quantum has grown to its length.
 *
 * Seed: AGIOS (Boito et al. 2015), §2.2. Quanta and waits: see quantum.h. The queues of a flow
 * stand in a ring; the first whose next run in offset order has quantum enough sends it and goes
 * to the end of the ring, so small batches pass large ones, and choosing is O(1). Asynchronous:
 * any number of batches may be in flight.
 *
 * Example, quantum_bytes=64K: A has a run of 256K, B one of 64K. Visits: A (64K, not enough),
 * B (64K: goes), A (192K, not enough), A (448K: goes).
 *
 * Departures: a queue is left after one batch. One decision considers at most SL_QUANTUM_VISITS
 * queues. A request older than max_age_ms goes first, so none waits longer than max_age_ms +
 * wait_us plus the time to serve what was waiting in the flow when it came.
 */
#include "policy/request/order/quantum.h"

struct mlf_state {
	struct sl_list ring;	/* queues to consider, next one first */
	struct sl_list waiting; /* queues that wait for more, by q->until */
};

_Static_assert(sizeof(struct mlf_state) <= SL_FLOW_STATE, "policy part of a flow");

static const struct sl_param params[] = {
	SL_BATCH_PARAMS, SL_AGE_PARAM, SL_QUANTUM_PARAMS, { .name = NULL }
};

static size_t mlf_size(const struct sl_policy_limits *limits)
{
	(void)limits;
	return sizeof(struct mlf_state);
}

static void mlf_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		     sl_time now)
{
	struct mlf_state *st = state;

	(void)limits, (void)values, (void)now;
	sl_list_init(&st->ring);
	sl_list_init(&st->waiting);
}

static struct sl_queue *mlf_queue(struct sl_list *l)
{
	return sl_container(l, struct sl_queue, link);
}

/* To the end of the ring, or out of it when nothing waits in the queue. */
static void mlf_place(struct mlf_state *st, struct sl_queue *q)
{
	if (q->linked)
		sl_list_remove(&q->link);
	q->linked = !sl_tree_empty(&q->runs);
	q->waiting = 0;
	if (q->linked)
		sl_list_push_back(&st->ring, &q->link);
}

static void mlf_changed(struct sl_flow *f, struct sl_queue *q, struct sl_run *joined, sl_time now)
{
	struct mlf_state *st = (struct mlf_state *)f->state;

	(void)now;
	if (!q->linked || sl_tree_empty(&q->runs))
		mlf_place(st, q);
	else if (q->waiting && joined &&
		 (joined->batch.count >= q->expected || sl_run_full(f, joined))) {
		sl_queue_head(q)->waited = 1; /* what it waited for has come */
		mlf_place(st, q);
	}
}

static void mlf_expire(struct mlf_state *st, sl_time now)
{
	while (!sl_list_empty(&st->waiting) && mlf_queue(st->waiting.next)->until <= now) {
		struct sl_queue *q = mlf_queue(st->waiting.next);

		sl_queue_head(q)->waited = 1; /* it may be another one than when the wait began */
		mlf_place(st, q);
	}
}

static sl_time mlf_ready(const struct sl_flow *f, sl_time now)
{
	const struct mlf_state *st = (const struct mlf_state *)f->state;

	(void)now;
	if (!sl_list_empty(&st->ring))
		return 0;
	return sl_list_empty(&st->waiting) ? SL_NEVER : mlf_queue(st->waiting.next)->until;
}

static struct sl_run *mlf_choose(struct sl_flow *f, sl_time now)
{
	struct mlf_state *st = (struct mlf_state *)f->state;

	for (unsigned visits = 1; !sl_list_empty(&st->ring); visits++) {
		struct sl_queue *q = mlf_queue(st->ring.next);
		struct sl_run *run = sl_queue_head(q);

		if (!sl_quantum_visit(f, q, run) && visits < SL_QUANTUM_VISITS) {
			mlf_place(st, q);
			continue;
		}
		if (!sl_quantum_wait(f, q, run))
			return run;
		sl_list_remove(&q->link);
		q->waiting = 1;
		q->until = now + f->values[SL_P_WAIT_US] * 1000;
		sl_list_push_back(&st->waiting, &q->link);
	}
	return NULL;
}

static struct sl_run *mlf_next(struct sl_flow *f, sl_time now)
{
	struct mlf_state *st = (struct mlf_state *)f->state;
	struct sl_run *run = sl_flow_oldest_run(f);

	mlf_expire(st, now);
	if (!sl_run_aged(f, run, now))
		run = mlf_choose(f, now);
	if (run) {
		sl_flow_take(f, run);
		sl_quantum_used(sl_run_queue(run), run);
		mlf_place(st, sl_run_queue(run));
	}
	return run;
}

const struct sl_order_ops sl_order_mlf = {
	.base = { .name = "mlf",
		  .summary = "files in turn, growing quanta, small batches first, merged",
		  .source = "AGIOS (Boito et al. 2015), section 2.2, MLF",
		  .params = params,
		  .state_size = mlf_size,
		  .init = mlf_init },
	.add = sl_flow_add,
	.ready = mlf_ready,
	.next = mlf_next,
	.done = sl_flow_done,
	.cancel = sl_flow_cancel,
	.drain = sl_flow_drain,
	.oldest = sl_flow_oldest,
	.changed = mlf_changed,
};
