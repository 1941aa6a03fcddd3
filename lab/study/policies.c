/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies of a study: those of the command line, else those of the scenario, else all.
 *
 * A policy may be written as in 'sluice policy list', grant/fcfs, or as for 'sluice up',
 * grant=fcfs. Policies of other stages are for --requests.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "lab/study/sim.h"
#include "layer/check.h"
#include "policy/policy.h"
#include "sched/spec.h"

enum sl_stage sim_stage(const char *spec, const char **rest)
{
	for (enum sl_stage s = 0; s < SL_STAGES; s++) {
		size_t length = strlen(sl_stage_name(s));

		if (strncmp(spec, sl_stage_name(s), length) != 0 ||
		    (spec[length] != '/' && spec[length] != '='))
			continue;
		*rest = spec + length + 1;
		return s;
	}
	*rest = spec;
	return SL_STAGES;
}

static int sp_of_stage(const char *spec, enum sl_stage stage)
{
	return cli_usage(SIM_CMD, "'%.*s' is of %s; those of grant are compared here, %s.",
			 (int)strcspn(spec, ","), spec, sl_stage_name(stage),
			 stage == SL_ALLOCATE ? "those of allocate by 'sluice allocate'"
					      : "others with --requests");
}

static int sp_unknown(const char *spec, size_t length)
{
	const struct sl_policy *p;
	struct sl_guess guess = { 0 };
	char word[CHECK_TEXT];

	snprintf(word, sizeof(word), "%.*s", (int)(length < 64 ? length : 64), spec);
	for (enum sl_stage s = 0; s < SL_STAGES; s++)
		if (s != SL_GRANT && sl_policy_find(s, spec, length))
			return sp_of_stage(spec, s);
	guess.word = word;
	for (unsigned i = 0; (p = sl_policy_at(SL_GRANT, i)); i++)
		sl_consider(&guess, p->name);
	if (guess.best)
		return cli_unknown(SIM_CMD, "grant policy", &guess);
	return CLI_OK;
}

/* Find a policy in the place of a parameter: two policies in one word. */
static int sp_two(const char *spec)
{
	for (const char *c = strchr(spec, ','); c; c = strchr(c, ',')) {
		size_t length = strcspn(++c, ",=");

		if (sl_policy_find(SL_GRANT, c, length))
			return cli_usage(SIM_CMD,
					 "--policy '%s': '%.*s' is a policy of its own; give "
					 "--policy twice.",
					 spec, (int)length, c);
	}
	return CLI_OK;
}

static int sp_check(const char *spec)
{
	struct sl_spec parsed;
	char err[SIM_TEXT];
	size_t length = strcspn(spec, ",");
	int status;

	if (length && !sl_policy_find(SL_GRANT, spec, length) &&
	    (status = sp_unknown(spec, length)))
		return status;
	if ((status = sp_two(spec)))
		return status;
	if (sl_spec_parse(SL_GRANT, spec, &parsed, err, sizeof(err)))
		return cli_usage(SIM_CMD, "%s.", err);
	return CLI_OK;
}

static bool sp_has(const struct sim_study *s, const char *spec)
{
	for (uint32_t i = 0; i < s->n_policies; i++)
		if (!strcmp(s->policy[i].spec, spec))
			return true;
	return false;
}

static int sp_add(struct sim_study *s, const char *whole)
{
	const char *spec;
	enum sl_stage stage = sim_stage(whole, &spec);
	int status;

	if (stage != SL_STAGES && stage != SL_GRANT)
		return sp_of_stage(whole, stage);
	if ((status = sp_check(spec)))
		return status;
	if (!sp_has(s, spec))
		s->policy[s->n_policies++].spec = spec;
	return CLI_OK;
}

int sim_choose(struct sim_study *s, const char *const *asked, uint32_t n)
{
	const struct sl_policy *p;
	int status = CLI_OK;

	s->chosen = n || s->scenario.n_policies;
	if (!n && s->scenario.n_policies > SIM_MAX_POLICIES) {
		cli_fail(SIM_CMD, "%s: policies: %u of them; %d are enough.", s->scenario.name,
			 s->scenario.n_policies, SIM_MAX_POLICIES);
		return CLI_USAGE;
	}
	s->n_policies = 0;
	s->policy = calloc(SIM_MAX_POLICIES, sizeof(s->policy[0]));
	if (!s->policy)
		return cli_fail(SIM_CMD, "out of memory.");
	for (uint32_t i = 0; i < n && !status; i++)
		status = sp_add(s, asked[i]);
	for (uint32_t i = 0; !n && i < s->scenario.n_policies && !status; i++)
		status = sp_add(s, s->scenario.policies[i]);
	/* All except none, under which applications share fairly anyway. */
	for (unsigned i = 0; !s->chosen && (p = sl_policy_at(SL_GRANT, i)); i++)
		if (strcmp(p->name, "none") != 0 && s->n_policies < SIM_MAX_POLICIES)
			s->policy[s->n_policies++].spec = p->name;
	return status;
}
