/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Change the policies of a running scheduler without losing a request.
 *
 * admit and share start with a fresh state, and all lanes are added to it again. For order, waiting
 * requests are taken out of the flow in arrival order and added again under the new policy.
 * Requests in flight stay, and the fence still covers them.
 *
 * Moving jobs between their own lane and the pool (a *remap*) is different: the fence of a lane
 * does not know the requests in flight of another. So a remap waits until nothing is in flight:
 * sl_next() returns nothing meanwhile, and the last sl_done() makes the move. Jobs that shared the
 * entry of a file in the pool need one entry each afterwards. If the table is full, requests are
 * *parked* in arrival order until entries become free, and no new request is taken before them.
 */
#include <errno.h>
#include <string.h>

#include "sched/sched.h"

const struct sl_spec *sl_slot_order(const struct sl_sched *s, const struct sl_slot *slot)
{
	return slot->order.policy ? &slot->order : &s->order_spec[s->order_now];
}

struct sl_request *sl_lane_detach(struct sl_lane *l)
{
	return l->flow.ops->drain(&l->flow);
}

void sl_lane_attach(struct sl_sched *s, struct sl_lane *l, const struct sl_spec *order,
		    struct sl_request *chain, sl_time now)
{
	sl_flow_policy(&l->flow, sl_lane_ops(l, order), order->values, now);
	while (chain) {
		struct sl_request *r = chain;

		chain = r->next;
		l->flow.ops->add(&l->flow, r, now);
	}
	sl_lane_changed(s, l, now);
}

/* ---- jobs and lanes ---- */

static struct sl_lane *right_lane(const struct sl_sched *s, struct sl_slot *slot)
{
	bool plain = !slot->conf.min_bps && !slot->conf.max_bps && slot->grant_bps == SL_GRANT_NONE;

	return s->pooling && plain ? &sl_pool_slot(s)->own : &slot->own;
}

/* A policy starts on zeroed memory, but its predecessor has used this memory. */
static void fresh_state(const struct sl_sched *s, const struct sl_spec *spec, void *state,
			sl_time now)
{
	memset(state, 0, sl_policy_size(spec->policy, &s->policy_limits));
	sl_policy_init(spec->policy, state, &s->policy_limits, spec->values, now);
}

static void set_share(struct sl_sched *s, const struct sl_spec *spec, sl_time now)
{
	s->share = (const struct sl_share_ops *)spec->policy;
	for (int i = 0; i < SL_CLASSES; i++)
		fresh_state(s, spec, s->share_state[i], now);
}

static void remap(struct sl_sched *s, sl_time now)
{
	struct sl_request *all = s->parked, *chain, *next;

	s->parked = NULL;
	for (uint32_t i = 0; i <= s->limits.jobs; i++) {
		struct sl_lane *l = &s->slots[i].own;

		sl_lane_leave(s, l, true, now);
		sl_heap_remove(&s->timers, i);
		for (chain = l->flow.ops->drain(&l->flow); chain; chain = next) {
			next = chain->next;
			chain->file_ = NULL;
			chain->next = all;
			all = chain;
		}
		sl_flow_forget_files(&l->flow);
	}
	if (s->share_spec.policy) {
		set_share(s, &s->share_spec, now);
		s->share_spec.policy = NULL;
	}
	for (uint32_t i = 0; i < s->limits.jobs; i++)
		if (s->slots[i].lane)
			s->slots[i].lane = right_lane(s, &s->slots[i]);
	s->remap = false;
	s->parked = sl_request_sort(all);
	sl_unpark(s, now);
}

void sl_unpark(struct sl_sched *s, sl_time now)
{
	while (s->parked) {
		struct sl_request *r = s->parked;
		struct sl_lane *l = s->slots[r->job_].lane;
		struct sl_file *file = sl_flow_file(&l->flow, r->file);

		if (!file)
			return;
		s->parked = r->next;
		r->file_ = file;
		sl_lane_add(s, l, r, now);
	}
}

void sl_remap_try(struct sl_sched *s, sl_time now)
{
	if (s->remap && s->inflight == 0)
		remap(s, now);
}

void sl_remap_check(struct sl_sched *s, struct sl_slot *slot, sl_time now)
{
	if (slot->lane == right_lane(s, slot))
		return;
	if (slot->requests == 0 && !s->remap) {
		slot->lane = right_lane(s, slot);
		return;
	}
	s->remap = true;
	sl_remap_try(s, now);
}

/* ---- policies of a stage ---- */

static void change_admit(struct sl_sched *s, const struct sl_spec *spec, sl_time now)
{
	s->admit = (const struct sl_admit_ops *)spec->policy;
	fresh_state(s, spec, s->admit_state, now);
	for (uint32_t i = 0; i < s->limits.jobs; i++)
		if (s->slots[i].lane)
			sl_slot_rates(s, &s->slots[i], now);
}

static void change_share(struct sl_sched *s, const struct sl_spec *spec, sl_time now)
{
	bool pools = ((const struct sl_share_ops *)spec->policy)->pools;

	if (s->remap || pools != s->pooling) {
		s->share_spec = *spec;
		s->pooling = pools;
		s->remap = true;
		sl_remap_try(s, now);
		return;
	}
	for (uint32_t i = 0; i <= s->limits.jobs; i++)
		sl_lane_leave(s, &s->slots[i].own, true, now);
	set_share(s, spec, now);
	for (uint32_t i = 0; i <= s->limits.jobs; i++)
		sl_lane_update(s, &s->slots[i].own, now);
}

static void change_order(struct sl_sched *s, const struct sl_spec *spec, sl_time now)
{
	struct sl_spec *stored = &s->order_spec[!s->order_now];

	*stored = *spec;
	s->order_now = !s->order_now;
	for (uint32_t i = 0; i <= s->limits.jobs; i++) {
		struct sl_lane *l = &s->slots[i].own;

		if (s->slots[i].order.policy)
			continue;
		sl_choice_begin(s, l, stored);
		sl_lane_attach(s, l, stored, sl_lane_detach(l), now);
		if (s->slots[i].lane) /* its rates depend on whether requests are merged */
			sl_slot_rates(s, &s->slots[i], now);
	}
}

int sl_policy_set(struct sl_sched *s, const char *stage, const char *policy, sl_time now)
{
	int which = sl_stage_find(stage);
	struct sl_spec spec;
	int rc;

	now = sl_clock(s, now);
	/* Grants are decided for the whole machine, not here. */
	if (which < 0 || which >= SL_NODE_STAGES)
		return sl_fail(s, -ENOENT,
			       "policy: no stage '%.32s'; there are admit, share, order", stage);
	if ((rc = sl_spec_parse((enum sl_stage)which, policy, &spec, s->message,
				sizeof(s->message))) ||
	    (which == SL_ORDER &&
	     (rc = sl_auto_prepare(s, policy, &spec, s->message, sizeof(s->message))))) {
		s->error = s->message;
		return rc;
	}
	if (which == SL_ADMIT)
		change_admit(s, &spec, now);
	else if (which == SL_SHARE)
		change_share(s, &spec, now);
	else
		change_order(s, &spec, now);
	return 0;
}
