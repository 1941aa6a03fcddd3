/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a job is as fast as it is, in a few words that people read in `sluice status --json`.
 *
 * There are two sources. For a waiting request, the scheduler tells what holds it (sched/why.h),
 * then the node: its capacity, its window, its workers. Most programs send one request after the
 * other, so a moment without a waiting request says little; then the last second is used: held by
 * max for half of it, or a rate within 5 % of a limit.
 *
 *	max 10M, now 9.9M, nothing waits just now     at max
 *	capacity 100M, all jobs 98M, this one 40M     capacity shared
 *	max_iops 100, held for .9 of the last second  held by limits on operations or calls
 *	nothing waits, 40M of 100M                    not held back
 *	grant 0, now 30M                              on spare bandwidth
 *
 * Nothing is counted per request for it, except what is counted anyway. O(1), and O(jobs) where a
 * name is to be found.
 */
#include <stdio.h>

#include "sched/why.h"
#include "sluiced/ionode/rules.h"
#include "sluiced/ionode/turn.h"

static bool near(uint64_t bps, uint64_t limit_bps)
{
	return limit_bps && bps >= limit_bps - limit_bps / 20;
}

/*
 * What a job with a grant of 0 still gets: its min, and what jobs with a grant leave unused. NULL:
 * it has a grant, or is idle.
 */
static const char *ungranted(const struct node_job *j, const struct sl_why *why)
{
	bool waits = why->kind != SL_WHY_NOTHING;

	if (!why->ungranted || (!j->rate_bps && !waits))
		return NULL;
	if (!j->rate_bps)
		return "granted 0";
	return j->min_here_bps && j->rate_bps <= j->min_here_bps + j->min_here_bps / 20
		       ? "at min"
		       : "on spare bandwidth";
}

/* The controller gives it its guarantee, and no more. */
static bool at_min(const struct node_job *j)
{
	return j->rate_bps && j->min_here_bps && j->grant_bps != SL_GRANT_NONE &&
	       j->grant_bps <= j->min_here_bps + j->min_here_bps / 20;
}

/* The origin of its limit: a rule, or the job's own request. */
static const char *at_max(const struct node *n, const struct node_job *j, char out[NODE_REASON])
{
	const char *rule = rules_name(n, j);

	if (!rule || (!j->bucket && j->rights.max_bps == j->asked.max_bps))
		return "at max";
	snprintf(out, NODE_REASON, "at max of rule %s", rule);
	return out;
}

/* The scheduler lets it go but it waits: find the reason in the node. */
static const char *in_line(const struct node *n, sl_time now)
{
	if (n->pace.at > now)
		return n->active > 1 ? "capacity shared" : "at capacity";
	if (ring_full(n) || turn_full(n))
		return "window full";
	return n->active > 1 ? "file system shared" : "file system busy";
}

static const char *waits(const struct node *n, const struct node_who *who, const struct node_job *j,
			 const struct sl_why *why, sl_time now, char out[NODE_REASON])
{
	const struct node_job *other;

	if (why->behind && j->rate_bps < j->min_here_bps - j->min_here_bps / 10)
		return "below min";
	switch (why->kind) {
	case SL_WHY_HELD:
	case SL_WHY_RANK:
		return ungranted(j, why);
	case SL_WHY_CAP:
		return at_max(n, j, out);
	case SL_WHY_GRANT:
		return "at its grant";
	case SL_WHY_ORDER:
		return "waiting for more to merge";
	case SL_WHY_JOB:
		other = node_job_find(n, why->job);
		if (!other)
			break;
		if (n->site && !who->admin && other->uid != who->uid)
			return "waiting for another user's job";
		snprintf(out, NODE_REASON, "waiting for job %s", other->name);
		return out;
	case SL_WHY_SET:
		snprintf(out, NODE_REASON, "waiting for set %d", why->set);
		return out;
	case SL_WHY_OWN: /* it waits only for its own requests */
	case SL_WHY_NOTHING:
		return NULL;
	case SL_WHY_TURN:
		break;
	}
	return at_min(j) ? "at min" : in_line(n, now);
}

const char *node_reason(const struct node *n, const struct node_who *who, const struct node_job *j,
			uint64_t all_bps, sl_time now, char out[NODE_REASON])
{
	struct sl_job_stats st;
	const char *words;
	struct sl_why why;

	if (sl_job_stats(n->sched, j->number, now, &st) ||
	    sl_job_why(n->sched, j->number, now, &why))
		return "ended";
	words = waits(n, who, j, &why, now, out);
	if (words)
		return words;
	if (j->throttled || near(j->rate_bps, st.max_bps))
		return j->rights.max_bps || j->bucket ? at_max(n, j, out) : "at its grant";
	if (j->ops_held && !n->passing)
		return "held by limits on operations or calls";
	if ((words = ungranted(j, &why)))
		return words;
	if (at_min(j))
		return "at min";
	if (j->rate_bps && !n->passing && near(all_bps, n->pace.bps))
		return n->active > 1 || all_bps > j->rate_bps ? "capacity shared" : "at capacity";
	if (j->rate_bps || j->inside)
		return "not held back";
	if (!j->moved[SL_READ] && !j->moved[SL_WRITE])
		return "idle";
	return j->clients ? "computing" : "ended";
}
