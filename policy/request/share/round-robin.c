/* SPDX-License-Identifier: Apache-2.0 */
/*
 * round-robin: serve the ready lanes in turn, one batch each.
 *
 * The simplest policy that distinguishes jobs (IO-Sets, Barthélemy et al. 2024, §3.5, BeeGFS's
 * "per-user" queues). Turns are numbered. A lane takes the next number when it becomes ready and
 * after it was served, so it goes behind all others. The smallest number is served next.
 *
 * Example: A enters (1), B (2), C (3). A served: A 4. D enters: D 5. B served: B 6. The order is A
 * B C A D B ..: D waits for the three lanes that were there before.
 *
 * A ring of lanes would be O(1), but it could not keep a lane's place: with numbers, a lane that
 * leaves because its order policy waits keeps its number and its turn. In a ring, a lane that waits
 * a little before every batch would start at the end each time.
 *
 * A ready lane is served after at most one batch of each other lane: no job starves. Bytes are not
 * counted: jobs with large requests get more. Enter, leave, charge O(log lanes), pick O(1).
 */
#include "policy/policy.h"

#include "base/ds/heap.h"

struct rr {
	struct sl_heap ready; /* by turn */
	uint64_t *turn;	      /* by lane; 0: none */
	uint64_t last;
};

static size_t rr_align(size_t size)
{
	return (size + 15) & ~(size_t)15;
}

static size_t rr_size(const struct sl_policy_limits *limits)
{
	return rr_align(sizeof(struct rr)) + rr_align(limits->lanes * sizeof(uint64_t)) +
	       sl_heap_size(limits->lanes);
}

static void rr_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		    sl_time now)
{
	struct rr *r = state;

	(void)values, (void)now;
	r->turn = (uint64_t *)((char *)state + rr_align(sizeof(*r)));
	sl_heap_init(&r->ready, (char *)r->turn + rr_align(limits->lanes * sizeof(uint64_t)),
		     limits->lanes);
}

static void rr_enter(void *state, uint32_t lane, const struct sl_member *m, sl_time now)
{
	struct rr *r = state;

	(void)m, (void)now;
	if (!r->turn[lane])
		r->turn[lane] = ++r->last;
	sl_heap_set(&r->ready, lane, r->turn[lane]);
}

static void rr_leave(void *state, uint32_t lane, bool idle, sl_time now)
{
	struct rr *r = state;

	(void)now;
	sl_heap_remove(&r->ready, lane);
	if (idle)
		r->turn[lane] = 0;
}

static void rr_update(void *state, uint32_t lane, const struct sl_member *m, sl_time now)
{
	(void)state, (void)lane, (void)m, (void)now; /* weight and period do not matter */
}

static void rr_forget(void *state, uint32_t lane)
{
	((struct rr *)state)->turn[lane] = 0;
}

static int64_t rr_pick(void *state, sl_time now, sl_time *wake)
{
	const struct sl_heap_entry *top = sl_heap_top(&((struct rr *)state)->ready);

	(void)now, (void)wake;
	return top ? (int64_t)top->id : -1;
}

static void rr_charge(void *state, uint32_t lane, const struct sl_member *m, uint64_t bytes,
		      uint32_t requests, sl_time now)
{
	struct rr *r = state;

	(void)m, (void)bytes, (void)requests, (void)now;
	r->turn[lane] = ++r->last;
	sl_heap_set(&r->ready, lane, r->turn[lane]);
}

const struct sl_share_ops sl_share_round_robin = {
	.base = { .name = "round-robin",
		  .summary = "the jobs in turn, one batch each",
		  .source = "IO-Sets (Barthélemy et al. 2024), section 3.5, per-user queues",
		  .state_size = rr_size,
		  .init = rr_init },
	.enter = rr_enter,
	.leave = rr_leave,
	.update = rr_update,
	.forget = rr_forget,
	.pick = rr_pick,
	.charge = rr_charge,
};
