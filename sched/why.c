/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a job waits. The stages are checked in the order in which a request passes them; the first
 * one that holds the job's lane is the answer:
 *
 *	admit   the cap tag is after now         held, at its max, at its grant
 *	order   no batch is offered              waits for a better one, or for its own in flight
 *	grant   ready, but in the second class   others have a grant
 *	share   ready                            who goes first, if the policy can name somebody
 *
 * Example: share=io-sets; A and B of set 1 want to send, and A has the set. B waits for job A. A
 * job C of set 3, whose turn in this round is over, waits for set 1.
 *
 * O(1) plus the cost in the policies, O(sets).
 */
#include "sched/why.h"

#include <errno.h>

#include "sched/sched.h"

static enum sl_why_kind capped(const struct sl_slot *slot)
{
	if (slot->stats.held)
		return SL_WHY_HELD;
	return slot->conf.max_bps && slot->conf.max_bps <= slot->stats.max_bps ? SL_WHY_CAP
									       : SL_WHY_GRANT;
}

static void ahead(const struct sl_sched *s, const struct sl_lane *l, sl_time now,
		  struct sl_why *out)
{
	struct sl_ahead a = { .lane = -1 };

	out->kind = SL_WHY_TURN;
	if (l->class == SL_UNGRANTED) {
		out->kind = SL_WHY_RANK;
		return;
	}
	if (!s->share->ahead || !s->share->ahead(s->share_state[l->class], l->index, now, &a))
		return;
	if (a.lane >= 0 && s->slots[a.lane].lane) {
		out->kind = SL_WHY_JOB;
		out->job = s->slots[a.lane].job;
	} else if (a.lane < 0) {
		out->kind = SL_WHY_SET;
		out->set = a.set;
	}
}

int sl_job_why(const struct sl_sched *s, uint64_t job, sl_time now, struct sl_why *out)
{
	const struct sl_slot *slot = sl_slot_find(s, job);
	const struct sl_lane *l;
	sl_time at;

	*out = (struct sl_why){ .kind = SL_WHY_NOTHING };
	if (!slot)
		return -ENOENT;
	l = slot->lane;
	out->ungranted = l->class == SL_UNGRANTED;
	if (!slot->stats.queued_requests)
		return 0;
	out->behind = l->has_floor && s->admit->floor(s->admit_state, l->index) <= now;
	if (l->limited && s->admit->cap(s->admit_state, l->index) > now) {
		out->kind = capped(slot);
		return 0;
	}
	at = l->flow.ops->ready(&l->flow, now);
	if (at > now)
		out->kind = at == SL_NEVER ? SL_WHY_OWN : SL_WHY_ORDER;
	else
		ahead(s, l, now, out);
	return 0;
}
