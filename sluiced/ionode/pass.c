/* SPDX-License-Identifier: Apache-2.0 */
/* See pass.h. */
#include "sluiced/ionode/pass.h"

#include "base/log.h"
#include "sluiced/ionode/scheduler.h"
#include "sluiced/ionode/turn.h"

static const char *const stand_in[SL_NODE_STAGES] = { [SL_ADMIT] = "open", [SL_SHARE] = "fifo" };

const char *pass_configured(const struct node *n, enum sl_stage stage)
{
	const char *const given[] = { n->config->admit, n->config->share, n->config->order };

	return n->policy[stage] ? n->policy[stage] : given[stage];
}

bool pass_stands_in(const struct node *n, enum sl_stage stage)
{
	return n->passing && stand_in[stage];
}

const char *pass_mode(const struct node *n)
{
	return n->open ? "open" : n->observe ? "observe" : "schedule";
}

static void set_policies(struct node *n, sl_time now)
{
	for (int i = 0; i < SL_NODE_STAGES; i++) {
		enum sl_stage stage = (enum sl_stage)i;
		const char *spec = n->passing ? stand_in[i] : pass_configured(n, stage);

		if (!stand_in[i])
			continue;
		if (!spec)
			spec = sl_policy_at(stage, 0)->name;
		if (node_policy(n, sl_stage_name(stage), spec, now))
			log_warn("%s=%s: %s", sl_stage_name(stage), spec, sl_error(n->sched));
	}
}

static void update(struct node *n, sl_time now)
{
	bool passing = n->open || n->observe;

	if (passing == n->passing)
		return;
	n->passing = passing;
	set_policies(n, now);
	n->pace.at = 0;
	for (struct node_job *j = n->jobs; passing && j; j = j->next)
		node_job_rate(n, j, SL_GRANT_NONE, now, now);
	log_info("mode=%s", pass_mode(n));
}

void pass_open(struct node *n, bool open, sl_time now)
{
	n->open = open;
	update(n, now);
}

void pass_observe(struct node *n, bool observe, sl_time now)
{
	n->observe = observe;
	update(n, now);
}

void pass_start(struct node *n, sl_time now)
{
	update(n, now);
}
