/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules: the first that matches a job holds, and no other.
 *
 *	- user: "*"          1. no job of one user has more than 50 MB/s together with all others
 *	  max: 50MB/s           of the same user, on all nodes
 *	  per: user
 *
 * A rule matches if each of its keys does. A key is a list of globs, of which one has to match; of
 * groups, any of those that the user is in. Without keys a rule matches every job: the default.
 *
 * What a rule says limits what the job asks for:
 *
 *	max, burst   the smaller of both; per: user (group, account, rule): the max is one bucket for
 *	             all jobs of that user to which the rule applies, which the controller divides
 *	             among them and their nodes by what they can use
 *	min          what a job gets without asking, and the most that it may ask for
 *	max_ops …    the smaller of both, of each job: the program keeps it by itself (wire/ops.h)
 *	weight       the same; per: user or account: the weight of that user or account under
 *	             share=fair, and jobs have their own
 *
 * A min of a rule is best effort: it is promised to jobs of which nobody knows how many come.
 *
 * O(rules) a job, when it registers and when rules change; nothing on the way of a request.
 */
#include "policy/rules.h"

#include <string.h>

#include "base/ds/fnv.h"
#include "base/ds/glob.h"

const char *const sl_rule_keys[SL_RULE_KEYS + 1] = { "user",	  "group", "account", "qos",
						     "partition", "job",   "path",    NULL };
const char *const sl_rule_pers[SL_PERS + 1] = { "job", "user", "group", "account", "rule", NULL };

/* The piece up to a comma; *list is behind it afterwards, NULL at the end. */
static size_t piece(const char **list)
{
	const char *at = *list;
	size_t n = 0;

	while (at[n] && at[n] != ',')
		n++;
	*list = at[n] ? at + n + 1 : NULL;
	return n;
}

static bool any_pattern(const char *patterns, const char *text, size_t length)
{
	while (patterns) {
		const char *at = patterns;
		size_t n = piece(&patterns);

		if (sl_glob(at, n, text, length))
			return true;
	}
	return false;
}

bool sl_rule_glob(const char *pattern, const char *text)
{
	return any_pattern(pattern, text, strlen(text));
}

static bool any_text(const char *patterns, const char *list)
{
	while (list) {
		const char *at = list;
		size_t n = piece(&list);

		if (any_pattern(patterns, at, n))
			return true;
	}
	return false;
}

static const char *value_of(const struct sl_rule_job *job, enum sl_rule_key key)
{
	return job->value[key] ? job->value[key] : "";
}

static bool matches(const struct sl_rule *rule, const struct sl_rule_job *job, enum sl_rule_key key)
{
	const char *pattern = rule->match[key], *text = value_of(job, key);

	if (!pattern)
		return true;
	if (key == SL_RULE_GROUP)
		return any_text(pattern, text);
	if (key == SL_RULE_JOB && job->title && sl_rule_glob(pattern, job->title))
		return true;
	return sl_rule_glob(pattern, text);
}

enum sl_rule_key sl_rule_differs(const struct sl_rule *rule, const struct sl_rule_job *job)
{
	int key = 0;

	while (key < SL_RULE_KEYS && matches(rule, job, (enum sl_rule_key)key))
		key++;
	return (enum sl_rule_key)key;
}

int sl_rules_match(const struct sl_rule *rules, size_t n, const struct sl_rule_job *job)
{
	for (size_t i = 0; i < n; i++)
		if (sl_rule_differs(&rules[i], job) == SL_RULE_KEYS)
			return (int)i;
	return -1;
}

void sl_rule_clamp(const struct sl_rule *rule, struct sl_job_conf *conf)
{
	unsigned says = rule ? rule->says : 0;

	if ((says & SL_SAYS_MAX) && rule->per == SL_PER_JOB &&
	    (!conf->max_bps || conf->max_bps > rule->max_bps))
		conf->max_bps = rule->max_bps;
	if ((says & SL_SAYS_BURST) && (!conf->burst_bytes || conf->burst_bytes > rule->burst_bytes))
		conf->burst_bytes = rule->burst_bytes;
	if ((says & SL_SAYS_MIN) && (!conf->min_bps || conf->min_bps > rule->min_bps)) {
		conf->min_bps = rule->min_bps;
		conf->best_effort = 1;
	}
	if (says & SL_SAYS_WEIGHT) {
		if (rule->per == SL_PER_USER)
			conf->user_weight = rule->weight;
		else if (rule->per == SL_PER_ACCOUNT)
			conf->account_weight = rule->weight;
		else if (!conf->weight || conf->weight > rule->weight)
			conf->weight = rule->weight;
	}
	/* A job that asks for more min than max is told so; a rule only lowers. */
	if ((says & SL_SAYS_MAX) && conf->max_bps && conf->min_bps > conf->max_bps)
		conf->min_bps = conf->max_bps;
}

uint64_t sl_rule_meter(const struct sl_rule *rule, unsigned meter, uint64_t asked)
{
	uint64_t most = rule ? rule->meter[meter] : 0;

	return !most || (asked && asked < most) ? asked : most;
}

static uint64_t mix(uint64_t h, const char *text, size_t length)
{
	return sl_fnv(sl_fnv(h, text, length), ",", 1);
}

uint64_t sl_rule_bucket(const struct sl_rule *rule, const struct sl_rule_job *job)
{
	uint64_t h = SL_FNV;
	const char *whose = "", *list;
	size_t length;

	if (!rule || !(rule->says & SL_SAYS_MAX) || rule->per == SL_PER_JOB)
		return 0;
	if (rule->per == SL_PER_USER)
		whose = value_of(job, SL_RULE_USER);
	else if (rule->per == SL_PER_ACCOUNT)
		whose = value_of(job, SL_RULE_ACCOUNT);
	else if (rule->per == SL_PER_GROUP)
		whose = value_of(job, SL_RULE_GROUP);
	length = strlen(whose);
	/* Of the groups of a user, the first that the rule names; without a name, the first. */
	for (list = whose; rule->per == SL_PER_GROUP && list;) {
		const char *at = list;
		size_t n = piece(&list);

		if (!rule->match[SL_RULE_GROUP] || any_pattern(rule->match[SL_RULE_GROUP], at, n)) {
			whose = at;
			length = n;
			break;
		}
	}
	h = mix(h, rule->name, strlen(rule->name));
	h = mix(h, whose, length);
	return h ? h : 1;
}
