/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a scheduler, and the tables of the policies. */
#include <errno.h>

#include "sched/sched.h"
#include "sched/why.h"

int sl_job_stats(const struct sl_sched *s, uint64_t job, sl_time now, struct sl_job_stats *out)
{
	const struct sl_slot *slot = sl_slot_find(s, job);

	if (!slot)
		return -ENOENT;
	*out = slot->stats;
	out->throttled_ns += sl_throttled_ns(&slot->own, now);
	if (out->queued_requests && now > slot->waiting_since) {
		out->waiting_ns += now - slot->waiting_since;
		out->contended_ns += sl_several_ns(s, now) - slot->several_then;
	}
	return 0;
}

bool sl_job_inside(struct sl_sched *s, uint64_t job, sl_time now, sl_time *first, sl_time *last)
{
	struct sl_slot *slot = sl_slot_find(s, job);

	if (!slot || slot->inside_first == SL_NEVER)
		return false;
	*first = slot->inside_first;
	*last = slot->requests ? now : slot->inside_last;
	slot->inside_first = slot->requests ? now : SL_NEVER;
	return true;
}

sl_time sl_latency_percentile_ns(const struct sl_job_stats *st, unsigned ppm)
{
	uint64_t total = 0, seen = 0;

	if (ppm > 1000000)
		ppm = 1000000;
	for (unsigned i = 0; i < SL_LATENCY_BUCKETS; i++)
		total += st->latency[i];
	for (unsigned i = 0; i < SL_LATENCY_BUCKETS; i++) {
		seen += st->latency[i];
		if (seen && (unsigned __int128)seen * 1000000 >= (unsigned __int128)total * ppm)
			return sl_latency_bound_ns(i);
	}
	return 0;
}

void sl_sched_stats(const struct sl_sched *s, struct sl_sched_stats *out)
{
	const struct sl_policy *share =
		s->share_spec.policy ? s->share_spec.policy : &s->share->base;

	*out = (struct sl_sched_stats){
		.jobs = s->jobs,
		.files = s->env.files_busy,
		.requests = s->requests,
		.inflight_batches = s->inflight,
		.inflight_bytes = s->inflight_bytes,
		.decisions = s->decisions,
		.floors_bps = s->firm_bps + s->effort_bps,
		.capacity_bps = s->capacity_bps,
		.admit = s->admit->base.name,
		.share = share->name,
		.order = s->order_spec[s->order_now].policy->name,
	};
}

static bool plans(enum sl_stage stage, const struct sl_policy *p)
{
	return stage == SL_GRANT && ((const struct sl_grant_ops *)p)->plan;
}

int sl_policy_info(unsigned i, struct sl_policy_info *out)
{
	static const enum sl_stage path[SL_STAGES] = { SL_ALLOCATE, SL_GRANT, SL_ADMIT, SL_SHARE,
						       SL_ORDER };

	for (int s = 0; s < SL_STAGES; s++) {
		const struct sl_policy *p;

		for (unsigned k = 0; (p = sl_policy_at(path[s], k)); k++) {
			if (i--)
				continue;
			*out = (struct sl_policy_info){ .stage = sl_stage_name(path[s]),
							.name = p->name,
							.summary = p->summary,
							.source = p->source,
							.params = p->params,
							.simulator_only = plans(path[s], p) };
			return 0;
		}
	}
	return -ENOENT;
}

int sl_policy_default(const char *stage, const char **name)
{
	int which = sl_stage_find(stage);
	const struct sl_policy *p = which < 0 ? NULL : sl_policy_at((enum sl_stage)which, 0);

	if (!p)
		return -ENOENT;
	*name = p->name;
	return 0;
}
