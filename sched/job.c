/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: the limits and guarantee of each, and the rates of its lane that follow.
 *
 * cap = the smaller of max and, if grants are strict, the grant. floor = the smaller of min and
 * cap. Guarantees must fit the capacity: a min that does not fit is refused. If the capacity C
 * shrinks later, all are scaled by C / sum. Guarantees marked best_effort are not refused; they
 * share what the others leave of C. Example, C = 100: firm 60 + 30 are kept; best effort 40 becomes
 * 10.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/units.h"
#include "sched/sched.h"

#define EFFORT_MAX (UINT64_C(1) << 62) /* sum of all min with best_effort */

static uint64_t scale(uint64_t value, uint64_t num, uint64_t den)
{
	return (uint64_t)((unsigned __int128)value * num / den);
}

/* The guarantee of a job after scaling to the capacity. */
static uint64_t floor_in_force(const struct sl_sched *s, const struct sl_job_conf *c)
{
	uint64_t firm = s->firm_bps < s->capacity_bps ? s->firm_bps : s->capacity_bps;

	if (!c->min_bps)
		return 0;
	if (!c->best_effort)
		return scale(c->min_bps, firm, s->firm_bps);
	if (s->effort_bps <= s->capacity_bps - firm)
		return c->min_bps;
	return scale(c->min_bps, s->capacity_bps - firm, s->effort_bps);
}

/* Under auto it may merge at any time. */
static bool merges(const struct sl_lane *l)
{
	return l->choice || (l->flow.ops->add == sl_flow_add && l->flow.batch_requests > 1);
}

/* Pass the rates of a job's own lane to admit; true if the limit of its batches has changed. */
static bool lane_rates(struct sl_sched *s, struct sl_slot *slot, sl_time now)
{
	struct sl_lane *l = &slot->own;
	struct sl_rates rates = { .cap_bps = slot->conf.max_bps ? slot->conf.max_bps : UINT64_MAX,
				  .floor_bps = floor_in_force(s, &slot->conf),
				  .burst_bytes = slot->conf.burst_bytes,
				  .merges = merges(l) };
	uint64_t before = l->flow.batch_limit;

	if (s->strict_grants && slot->grant_bps < rates.cap_bps)
		rates.cap_bps = slot->grant_bps;
	if (rates.floor_bps > rates.cap_bps)
		rates.floor_bps = rates.cap_bps;
	slot->stats.min_bps = rates.floor_bps;
	slot->stats.max_bps = rates.cap_bps == UINT64_MAX ? 0 : rates.cap_bps;
	slot->stats.held = rates.cap_bps == 0;
	l->limited = rates.floor_bps || rates.cap_bps != UINT64_MAX;
	l->has_floor = rates.floor_bps != 0;
	s->admit->set(s->admit_state, l->index, &rates, now);
	l->flow.batch_limit = s->admit->batch(s->admit_state, l->index);
	return l->flow.batch_limit != before;
}

void sl_slot_rates(struct sl_sched *s, struct sl_slot *slot, sl_time now)
{
	struct sl_lane *l = &slot->own;

	sl_lane_class(s, l, slot->grant_bps == 0 ? SL_UNGRANTED : SL_GRANTED, now);
	sl_heap_remove(&s->floors, l->index);
	if (lane_rates(s, slot, now)) /* merge the waiting requests again */
		sl_lane_attach(s, l, sl_slot_order(s, slot), sl_lane_detach(l), now);
	if (!l->limited) {
		slot->stats.throttled_ns += sl_throttled_ns(l, now);
		l->throttled_since = -1;
	}
	sl_lane_update(s, l, now);
	/* It may have been ready before and after: then share was not updated. */
	if (l->ready && l->has_floor)
		sl_heap_set(&s->floors, l->index,
			    (uint64_t)s->admit->floor(s->admit_state, l->index));
}

/*
 * After a change of the capacity or of the sum of guarantees: update all jobs that scaling affects.
 */
static void all_rates(struct sl_sched *s, sl_time now)
{
	for (uint32_t i = 0; i < s->limits.jobs; i++)
		if (s->slots[i].lane && s->slots[i].conf.min_bps)
			sl_slot_rates(s, &s->slots[i], now);
}

static bool scaled(const struct sl_sched *s)
{
	return s->firm_bps + s->effort_bps > s->capacity_bps;
}

/* Add this job's guarantee to the sums, or subtract it. */
static void count_floor(struct sl_sched *s, const struct sl_job_conf *c, bool in)
{
	uint64_t *sum = c->best_effort ? &s->effort_bps : &s->firm_bps;

	*sum = in ? *sum + c->min_bps : *sum - c->min_bps;
}

/* Check conf, which replaces `old` unless that is NULL, and fill in defaults for 0. */
static int conf_check(struct sl_sched *s, struct sl_job_conf *c, const struct sl_job_conf *old)
{
	uint64_t others = s->firm_bps - (old && !old->best_effort ? old->min_bps : 0);
	uint64_t effort = s->effort_bps - (old && old->best_effort ? old->min_bps : 0);
	char min[16], max[16], taken[16], whole[16];

	c->weight = c->weight ? c->weight : 1;
	if (c->weight > SL_MAX_WEIGHT)
		return sl_fail(s, -ERANGE, "job: weight %u is out of range; it must be 1 to %u",
			       c->weight, SL_MAX_WEIGHT);
	if (c->user_weight > SL_MAX_WEIGHT || c->account_weight > SL_MAX_WEIGHT)
		return sl_fail(s, -ERANGE, "job: the weight of a user or account must be 1 to %u",
			       SL_MAX_WEIGHT);
	if (c->min_bps > SL_MAX_RATE || c->max_bps > SL_MAX_RATE || c->burst_bytes > SL_MAX_LENGTH)
		return sl_fail(
			s, -ERANGE,
			"job: min and max must be at most 2^50 bytes/s, burst at most 2^40 bytes");
	if (c->best_effort > 1)
		return sl_fail(s, -ERANGE, "job: best_effort must be 0 or 1");
	if (c->period_ns < 0)
		return sl_fail(s, -ERANGE, "job: the period must not be negative");
	if (c->max_bps && c->min_bps > c->max_bps)
		return sl_fail(s, -EINVAL, "job: min %s is above max %s",
			       sl_format_rate(min, sizeof(min), c->min_bps),
			       sl_format_rate(max, sizeof(max), c->max_bps));
	if (c->best_effort && c->min_bps > EFFORT_MAX - effort)
		return sl_fail(s, -ERANGE,
			       "job: the sum of all best effort min exceeds 2^62 bytes/s");
	if (c->min_bps && !s->capacity_bps)
		return sl_fail(s, -EINVAL, "job: a min needs a known capacity; set it first");
	if (!c->best_effort && c->min_bps && others + c->min_bps > s->capacity_bps &&
	    !(old && !old->best_effort && c->min_bps <= old->min_bps))
		return sl_fail(s, -EDQUOT,
			       "job: min %s does not fit: %s of %s are promised to other jobs",
			       sl_format_rate(min, sizeof(min), c->min_bps),
			       sl_format_rate(taken, sizeof(taken), others),
			       sl_format_rate(whole, sizeof(whole), s->capacity_bps));
	return 0;
}

static void conf_apply(struct sl_sched *s, struct sl_slot *slot, const struct sl_job_conf *c,
		       sl_time now)
{
	bool floor_changed =
		slot->conf.min_bps != c->min_bps || slot->conf.best_effort != c->best_effort;
	bool was_scaled = scaled(s);

	count_floor(s, &slot->conf, false);
	count_floor(s, c, true);
	slot->conf = *c;
	slot->own.member.weight = c->weight;
	slot->own.member.period_ns = c->period_ns;
	slot->own.member.user = c->user;
	slot->own.member.account = c->account;
	slot->own.member.user_weight = c->user_weight;
	slot->own.member.account_weight = c->account_weight;
	slot->own.member.nodes = c->nodes;
	sl_slot_rates(s, slot, now);
	s->share->update(s->share_state[slot->own.class], slot->own.index, &slot->own.member, now);
	if (floor_changed && (was_scaled || scaled(s)))
		all_rates(s, now);
	sl_remap_check(s, slot, now);
}

static int no_job(struct sl_sched *s, uint64_t job)
{
	return sl_fail(s, -ENOENT, "job: no job %" PRIu64, job);
}

int sl_job_add(struct sl_sched *s, uint64_t job, const struct sl_job_conf *conf, sl_time now)
{
	struct sl_job_conf c = conf ? *conf : (struct sl_job_conf){ 0 };
	struct sl_slot *slot;
	int rc;

	now = sl_clock(s, now);
	if (sl_slot_find(s, job))
		return sl_fail(s, -EEXIST, "job: %" PRIu64 " exists already", job);
	if (s->jobs == s->limits.jobs)
		return sl_fail(s, -ENOSPC, "job: the limit of %u jobs is reached", s->limits.jobs);
	if ((rc = conf_check(s, &c, NULL)))
		return rc;
	slot = &s->slots[s->free_slot];
	s->free_slot = slot->next_free;
	s->jobs++;
	sl_hash_put(&s->by_job, job, 0, slot->own.index);
	slot->job = job;
	slot->lane = &slot->own;
	slot->own.member = (struct sl_member){ .job = job, .weight = 1 };
	slot->grant_bps = SL_GRANT_NONE;
	slot->conf = (struct sl_job_conf){ 0 };
	slot->stats = (struct sl_job_stats){ 0 };
	slot->inside_first = SL_NEVER;
	slot->watch = NULL;
	if (slot->own.choice) { /* the slot's previous job may have had another pattern */
		sl_choice_begin(s, &slot->own, sl_slot_order(s, slot));
		sl_lane_attach(s, &slot->own, sl_slot_order(s, slot), NULL, now);
	}
	/*
	 * The job has no request in any lane yet, so it can begin in the right one although others
	 * are in flight.
	 */
	if (s->pooling && !s->remap && !c.min_bps && !c.max_bps)
		slot->lane = &sl_pool_slot(s)->own;
	conf_apply(s, slot, &c, now);
	return 0;
}

int sl_job_get(const struct sl_sched *s, uint64_t job, struct sl_job_conf *conf)
{
	const struct sl_slot *slot = sl_slot_find(s, job);

	if (!slot)
		return -ENOENT;
	*conf = slot->conf;
	return 0;
}

int sl_job_set(struct sl_sched *s, uint64_t job, const struct sl_job_conf *conf, sl_time now)
{
	struct sl_slot *slot = sl_slot_find(s, job);
	struct sl_job_conf c = *conf;
	int rc;

	now = sl_clock(s, now);
	if (!slot)
		return no_job(s, job);
	if ((rc = conf_check(s, &c, &slot->conf)))
		return rc;
	conf_apply(s, slot, &c, now);
	return 0;
}

int sl_job_remove(struct sl_sched *s, uint64_t job, sl_time now)
{
	struct sl_slot *slot = sl_slot_find(s, job);
	struct sl_lane *l;

	now = sl_clock(s, now);
	if (!slot)
		return no_job(s, job);
	if (slot->requests)
		return sl_fail(s, -EBUSY, "job: %" PRIu64 " has %u requests waiting or in flight",
			       job, slot->requests);
	slot->grant_bps = SL_GRANT_NONE;
	sl_heap_remove(&s->leases, slot->own.index);
	conf_apply(s, slot, &(struct sl_job_conf){ .weight = 1 }, now);
	if (slot->order.policy) {
		slot->order.policy = NULL;
		sl_choice_begin(s, &slot->own, sl_slot_order(s, slot));
		sl_lane_attach(s, &slot->own, sl_slot_order(s, slot), NULL, now);
	}
	l = &slot->own;
	for (int i = 0; i < SL_CLASSES; i++)
		s->share->forget(s->share_state[i], l->index);
	sl_flow_forget_files(&l->flow);
	sl_hash_remove(&s->by_job, job, 0);
	slot->lane = NULL;
	slot->next_free = s->free_slot;
	s->free_slot = l->index;
	s->jobs--;
	return 0;
}

int sl_job_grant(struct sl_sched *s, uint64_t job, uint64_t rate_bps, sl_time until, sl_time now)
{
	struct sl_slot *slot = sl_slot_find(s, job);

	now = sl_clock(s, now);
	if (!slot)
		return no_job(s, job);
	if (rate_bps != SL_GRANT_NONE && rate_bps > SL_MAX_RATE)
		return sl_fail(s, -ERANGE, "grant: %" PRIu64 " bytes/s; it goes to 2^50", rate_bps);
	if (rate_bps == SL_GRANT_NONE || until <= now) {
		sl_grant_end(s, slot, now);
		return 0;
	}
	sl_heap_set(&s->leases, slot->own.index, (uint64_t)until);
	if (slot->grant_bps == rate_bps)
		return 0; /* renewed */
	slot->grant_bps = rate_bps;
	sl_slot_rates(s, slot, now);
	sl_remap_check(s, slot, now);
	return 0;
}

void sl_grant_end(struct sl_sched *s, struct sl_slot *slot, sl_time now)
{
	sl_heap_remove(&s->leases, slot->own.index);
	if (slot->grant_bps == SL_GRANT_NONE)
		return;
	slot->grant_bps = SL_GRANT_NONE;
	sl_slot_rates(s, slot, now);
	sl_remap_check(s, slot, now);
}

int sl_job_order(struct sl_sched *s, uint64_t job, const char *policy, sl_time now)
{
	struct sl_slot *slot = sl_slot_find(s, job);
	struct sl_spec spec = { .policy = NULL };
	struct sl_request *chain;
	int rc;

	now = sl_clock(s, now);
	if (!slot)
		return no_job(s, job);
	if (policy &&
	    ((rc = sl_spec_parse(SL_ORDER, policy, &spec, s->message, sizeof(s->message))) ||
	     (rc = sl_auto_prepare(s, policy, &spec, s->message, sizeof(s->message))))) {
		s->error = s->message;
		return rc;
	}
	chain = sl_lane_detach(&slot->own);
	slot->order = spec;
	sl_choice_begin(s, &slot->own, sl_slot_order(s, slot));
	sl_lane_attach(s, &slot->own, sl_slot_order(s, slot), chain, now);
	sl_slot_rates(s, slot, now);
	return 0;
}

int sl_capacity_set(struct sl_sched *s, uint64_t capacity_bps, sl_time now)
{
	now = sl_clock(s, now);
	if (capacity_bps > SL_MAX_RATE)
		return sl_fail(s, -ERANGE, "capacity: %" PRIu64 " bytes/s; it goes to 2^50",
			       capacity_bps);
	if (!capacity_bps && s->firm_bps + s->effort_bps)
		return sl_fail(s, -EBUSY, "capacity: it cannot be unknown while jobs have a min");
	s->capacity_bps = capacity_bps;
	all_rates(s, now);
	return 0;
}
