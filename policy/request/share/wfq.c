/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wfq: bytes in proportion to weight, by start-time fair queueing.
 *
 * Goyal, Vin and Cheng, "Start-time fair queueing" (SIGCOMM 1996), with lanes in place of packet
 * flows; IO-Sets (Barthélemy et al. 2024, §1 and §3.5) names weighted fair queueing as a way to
 * share a file system. Each lane has a start tag; the lane with the smallest tag is next. Sending
 * advances the tag by bytes / weight. The virtual time V is the smallest start tag at the last
 * decision; it never decreases.
 *
 *	charge  S += bytes / weight
 *	enter   S = max(S, V): a lane gains nothing by having been idle
 *
 * Example: A has weight 3, B weight 1, all requests 3 MiB, tags in MiB:
 *
 *	S_A  0  1  1  2  3  4  ..       next: A, B, A, A, A, B, ..  (equal tags: the smaller lane)
 *	S_B  0  0  3  3  3  3  ..       three of A for one of B
 *
 * Bound: while lanes i and j are both ready, |S_i / w_i - S_j / w_j| <= L (1/w_i + 1/w_j), with S
 * the bytes sent since any moment in that time and L the largest batch (plus 2^-19, as tags are
 * whole numbers: 2 bytes at weight 10^6). So a ready lane is served again after at most L W / w_i +
 * n L bytes of the others, n their number and W the sum of their weights.
 *
 * A lane that left because its order policy waits keeps its tag, and catches up later. A lane that
 * sent more than its share, because of its guarantee, is ahead of V. Both differences are bounded:
 * a lane is at most slack_bytes (or one batch) of its own bytes away from V. So a job's share now
 * does not depend on how much its guarantee gave it in the past hours.
 *
 * Tags are integers, 2^-20 bytes at weight 1, with the remainder of the division by the weight kept
 * by each lane: shares are exact for ever, also at 10^6 : 1. They would overflow after 16 TiB at
 * weight 1; when V passes 2^62, all tags are moved back, O(lanes), and nothing else changes.
 *
 * anticipate_us: a client that waits for each answer is idle just after it was served. A policy
 * that never waits then alternates 1:1 between two such clients, whatever their weights (deceptive
 * idleness: Iyer and Druschel, SOSP 2001). With anticipate_us, if the lane served last became idle
 * less than that ago and would be next if it were ready, no lane is served until that time has
 * passed. A lane that its max holds looks idle, so the policy waits for it as well.
 *
 * Enter, leave, charge O(log lanes), pick O(1).
 */
#include "policy/policy.h"

#include "base/ds/heap.h"
#include "policy/request/share/sfq.h"

#define WFQ_LINE 64

enum { P_ANTICIPATE_US, P_SLACK_BYTES };

static const struct sl_param params[] = {
	SL_PARAM_NUMBER("anticipate_us", SL_US, 0, 1000000, 0,
			"How long to keep the device for a job that just became idle, if it would "
			"be next."),
	SL_PARAM_NUMBER("slack_bytes", SL_BYTES, 0, INT64_C(1) << 40, 16 << 20,
			"How far a job may get from its share by waiting or by its min, so that it "
			"is evened out."),
	{ 0 },
};

struct wfq {
	struct sl_heap ready; /* by start tag */
	struct sl_sfq *lane;
	uint64_t v;
	sl_time wait_until; /* for lane `last`; 0: do not */
	uint32_t last;	    /* served */
	uint32_t lanes;
	sl_time anticipate_ns;
	uint64_t slack_bytes;
};

_Static_assert(sizeof(struct sl_sfq) == 32, "two lanes in a cache line");

static size_t wfq_size(const struct sl_policy_limits *limits)
{
	return sizeof(struct wfq) + WFQ_LINE + limits->lanes * sizeof(struct sl_sfq) +
	       sl_heap_size(limits->lanes);
}

static void wfq_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		     sl_time now)
{
	struct wfq *w = state;
	char *end = (char *)(w + 1);

	(void)now;
	w->lane = (struct sl_sfq *)(end + (-(uintptr_t)end & (WFQ_LINE - 1)));
	w->lanes = limits->lanes;
	w->last = UINT32_MAX;
	w->anticipate_ns = values[P_ANTICIPATE_US] * 1000;
	w->slack_bytes = (uint64_t)values[P_SLACK_BYTES];
	sl_heap_init(&w->ready, w->lane + limits->lanes, limits->lanes);
}

static void wfq_enter(void *state, uint32_t lane, const struct sl_member *m, sl_time now)
{
	struct wfq *w = state;
	struct sl_sfq *l = &w->lane[lane];

	(void)now;
	sl_sfq_weigh(l, w->slack_bytes, m->weight);
	sl_sfq_enter(l, w->v);
	if (lane == w->last)
		w->wait_until = 0;
	sl_heap_set(&w->ready, lane, l->tag);
}

static void wfq_leave(void *state, uint32_t lane, bool idle, sl_time now)
{
	struct wfq *w = state;

	sl_heap_remove(&w->ready, lane);
	w->lane[lane].kept = !idle;
	if (idle && lane == w->last && w->anticipate_ns)
		w->wait_until = now + w->anticipate_ns;
}

static void wfq_update(void *state, uint32_t lane, const struct sl_member *m, sl_time now)
{
	struct wfq *w = state;

	(void)now;
	sl_sfq_weigh(&w->lane[lane], w->slack_bytes, m->weight);
}

static void wfq_forget(void *state, uint32_t lane)
{
	struct wfq *w = state;

	w->lane[lane] = (struct sl_sfq){ 0 };
	if (lane == w->last)
		w->wait_until = 0;
}

static int64_t wfq_pick(void *state, sl_time now, sl_time *wake)
{
	const struct wfq *w = state;
	const struct sl_heap_entry *top = sl_heap_top(&w->ready);

	if (!top)
		return -1;
	if (now < w->wait_until && w->lane[w->last].tag <= top->key) {
		if (w->wait_until < *wake)
			*wake = w->wait_until;
		return -1;
	}
	return top->id;
}

/*
 * Move all tags back by the smallest of a ready lane. The ready ones keep their distances, so the
 * heap stays in order; a lane that is not ready and further behind loses the difference.
 */
static void wfq_move_back(struct wfq *w, uint64_t by)
{
	for (uint32_t i = 0; i < w->lanes; i++)
		sl_sfq_move_back(&w->lane[i], by);
	for (uint32_t i = 0; i < w->ready.count; i++)
		w->ready.entry[i].key -= by;
	w->v -= by;
}

static void wfq_charge(void *state, uint32_t lane, const struct sl_member *m, uint64_t bytes,
		       uint32_t requests, sl_time now)
{
	struct wfq *w = state;
	struct sl_sfq *l = &w->lane[lane];
	uint64_t first = sl_heap_top(&w->ready)->key;

	(void)m, (void)requests, (void)now;
	/* Do not take the tag of `lane`: a guarantee may have chosen one that is far ahead. */
	if (first > w->v)
		w->v = first;
	if (__builtin_expect(w->v > SL_SFQ_TURN, 0))
		wfq_move_back(w, first);
	sl_sfq_charge(l, w->v, bytes);
	w->last = lane;
	w->wait_until = 0;
	sl_heap_set(&w->ready, lane, l->tag);
}

const struct sl_share_ops sl_share_wfq = {
	.base = { .name = "wfq",
		  .summary = "bytes in proportion to the weights of the jobs",
		  .source = "Start-time fair queueing (Goyal et al. 1996)",
		  .params = params,
		  .state_size = wfq_size,
		  .init = wfq_init },
	.enter = wfq_enter,
	.leave = wfq_leave,
	.update = wfq_update,
	.forget = wfq_forget,
	.pick = wfq_pick,
	.charge = wfq_charge,
};
