/* SPDX-License-Identifier: Apache-2.0 */
/*
 * to: arrival order, one request at a time.
 *
 * Seed: AGIOS (Boito et al. 2015), §2.4, "TO". What a server without a scheduler does; it is the
 * base line, and right where neither merging nor reordering can gain.
 *
 * A plain list. Nothing waiting is ever overtaken, so the fence needs to look only at what is in
 * flight when the first of the list is to go; if it overlaps that, the flow waits for it.
 * Example: W[0,4K) W[4K,8K) W[0,4K): the first two may be in flight together, the third goes when
 * the first is done. Everything O(1) but that look, which is O(log n) in the batches in flight on
 * the file.
 */
#include "policy/request/order/flow.h"

struct to_state {
	struct sl_request *first, *last; /* by next and prev_ */
};

_Static_assert(sizeof(struct to_state) <= SL_FLOW_STATE, "policy part of a flow");

static struct to_state *to_state(const struct sl_flow *f)
{
	return (struct to_state *)(uintptr_t)f->state;
}

static void to_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		    sl_time now)
{
	(void)limits, (void)values, (void)now;
	*(struct to_state *)state = (struct to_state){ 0 };
}

static void to_add(struct sl_flow *f, struct sl_request *r, sl_time now)
{
	struct to_state *st = to_state(f);

	(void)now;
	sl_file_hold(r->file_);
	f->waiting++;
	r->next = NULL;
	r->prev_ = st->last;
	if (st->last)
		st->last->next = r;
	else
		st->first = r;
	st->last = r;
}

static void to_unlink(struct to_state *st, struct sl_request *r)
{
	if (r->prev_)
		r->prev_->next = r->next;
	else
		st->first = r->next;
	if (r->next)
		r->next->prev_ = r->prev_;
	else
		st->last = r->prev_;
}

static sl_time to_ready(const struct sl_flow *f, sl_time now)
{
	const struct sl_request *r = to_state(f)->first;

	(void)now;
	return r && !sl_flow_inflight_conflict(r) ? 0 : SL_NEVER;
}

static struct sl_run *to_next(struct sl_flow *f, sl_time now)
{
	struct to_state *st = to_state(f);
	struct sl_request *r = st->first;

	(void)now;
	to_unlink(st, r);
	return sl_flow_take_single(f, r);
}

static void to_done(struct sl_flow *f, struct sl_run *run, sl_time now)
{
	(void)now;
	sl_tree_remove(&run->file->inflight[run->batch.op], &run->range);
	f->inflight--;
	sl_file_release(run->file, run->batch.count);
}

static void to_cancel(struct sl_flow *f, struct sl_request *r, sl_time now)
{
	(void)now;
	to_unlink(to_state(f), r);
	f->waiting--;
	sl_file_release(r->file_, 1);
}

static struct sl_request *to_drain(struct sl_flow *f)
{
	struct to_state *st = to_state(f);
	struct sl_request *chain = st->first;

	*st = (struct to_state){ 0 };
	f->waiting = 0;
	for (struct sl_request *r = chain; r; r = r->next)
		sl_file_release(r->file_, 1);
	return chain;
}

static uint64_t to_oldest(const struct sl_flow *f)
{
	return to_state(f)->first->seq_;
}

const struct sl_order_ops sl_order_to = {
	.base = { .name = "to",
		  .summary = "arrival order, one request at a time",
		  .source = "AGIOS (Boito et al. 2015), section 2.4, TO",
		  .size = sizeof(struct to_state),
		  .init = to_init },
	.add = to_add,
	.ready = to_ready,
	.next = to_next,
	.done = to_done,
	.cancel = to_cancel,
	.drain = to_drain,
	.oldest = to_oldest,
};
