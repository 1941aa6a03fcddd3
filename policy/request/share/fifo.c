/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fifo: serve the lane with the oldest waiting request.
 *
 * A file server without knowledge of jobs does this (IO-Sets, Barthélemy et al. 2024, §3.5:
 * BeeGFS's "first-come, first-served"). Ready lanes are in a heap, by the number of their oldest
 * request. Nothing is accounted: a job that sends more requests gets more.
 *
 * Example: requests 1 2 3 of job A, 4 of B, 5 of A, one request a batch: A A A B A. If A's order
 * policy merges 1 2 3 5 into one batch, then B is next.
 *
 * A lane that becomes ready again with old requests is first again, because the order is by arrival
 * of requests, not of lanes. So a request waits only for earlier requests and for the batches that
 * contain them: no job starves. Enter, leave and charge O(log lanes), pick O(1).
 */
#include "policy/request/share/fifo.h"

#include "base/ds/heap.h"

struct fifo {
	struct sl_heap ready; /* by number of the oldest request */
};

static size_t fifo_header(void)
{
	return (sizeof(struct fifo) + 15) & ~(size_t)15;
}

size_t sl_fifo_state_size(const struct sl_policy_limits *limits)
{
	return fifo_header() + sl_heap_size(limits->lanes);
}

void sl_fifo_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		  sl_time now)
{
	struct fifo *f = state;

	(void)values, (void)now;
	sl_heap_init(&f->ready, (char *)state + fifo_header(), limits->lanes);
}

void sl_fifo_enter(void *state, uint32_t lane, const struct sl_member *m, sl_time now)
{
	(void)now;
	sl_heap_set(&((struct fifo *)state)->ready, lane, m->oldest);
}

void sl_fifo_leave(void *state, uint32_t lane, bool idle, sl_time now)
{
	(void)idle, (void)now;
	sl_heap_remove(&((struct fifo *)state)->ready, lane);
}

void sl_fifo_update(void *state, uint32_t lane, const struct sl_member *m, sl_time now)
{
	struct sl_heap *ready = &((struct fifo *)state)->ready;

	(void)now;
	if (sl_heap_has(ready, lane))
		sl_heap_set(ready, lane, m->oldest);
}

void sl_fifo_forget(void *state, uint32_t lane)
{
	(void)state, (void)lane; /* no state is kept for a lane that is not ready */
}

int64_t sl_fifo_pick(void *state, sl_time now, sl_time *wake)
{
	const struct sl_heap_entry *top = sl_heap_top(&((struct fifo *)state)->ready);

	(void)now, (void)wake;
	return top ? (int64_t)top->id : -1;
}

void sl_fifo_charge(void *state, uint32_t lane, const struct sl_member *m, uint64_t bytes,
		    uint32_t requests, sl_time now)
{
	(void)bytes, (void)requests, (void)now;
	sl_heap_set(&((struct fifo *)state)->ready, lane, m->oldest);
}

const struct sl_share_ops sl_share_fifo = {
	.base = { .name = "fifo",
		  .summary = "in order of arrival, whichever job sent the request",
		  .source =
			  "IO-Sets (Barthélemy et al. 2024), section 3.5, first-come first-served",
		  .state_size = sl_fifo_state_size,
		  .init = sl_fifo_init },
	.enter = sl_fifo_enter,
	.leave = sl_fifo_leave,
	.update = sl_fifo_update,
	.forget = sl_fifo_forget,
	.pick = sl_fifo_pick,
	.charge = sl_fifo_charge,
};
