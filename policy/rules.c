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
 * `op` makes a rule one of reads, of writes or of metadata calls, and each of these has the first
 * rule that matches. If reads and writes have the same rule its max is that of all bytes. Else each
 * direction has its own:
 *
 *	- op: write          writes: 100 MB/s
 *	  max: 100MB/s
 *	- max: 1GB/s         so this one is left with the reads, and the job's min, burst, weight
 *
 * `path` makes a rule one of files. Such files are a part of the job, which is a job by itself
 * (client/conn/part.h): the programs choose the part by the first pattern that matches the file,
 * among those of rules that could hold for the job. For a part the rules with the same path hold,
 * and those without one.
 *
 * What a rule says limits what the job asks for:
 *
 *	max, burst   the smaller of both; per: user (group, account, rule): the max is one bucket for
 *	             all jobs of that user to which the rule applies, which the controller divides
 *	             among them and their nodes by what they can use
 *	min, min_ops what a job gets without asking, and the most that it may ask for
 *	max_ops …    the same as max, of operations, calls or one direction; programs keep them by
 *	             themselves (wire/ops.h)
 *	weight       the smaller; per: user or account: the weight of that user or account under
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
const char *const sl_rule_ops[SL_RULE_OPS + 1] = { "read", "write", "metadata", NULL };
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
	if (key == SL_RULE_PATH)
		return !strcmp(pattern, text);
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

static bool is_about(const struct sl_rule *rule, enum sl_rule_op op)
{
	return !rule->ops || rule->ops & 1U << op;
}

static bool is_about_all(const struct sl_rule *rule)
{
	return !rule->ops || rule->ops == SL_RULE_ALL;
}

void sl_rules_match(const struct sl_rule *rules, size_t n, const struct sl_rule_job *job,
		    struct sl_rules_held *out)
{
	*out = (struct sl_rules_held){ { -1, -1, -1 }, -1 };
	for (size_t i = 0; i < n && out->whole < 0; i++) {
		if (sl_rule_differs(&rules[i], job) != SL_RULE_KEYS)
			continue;
		for (int op = 0; op < SL_RULE_OPS; op++)
			if (out->rule[op] < 0 && is_about(&rules[i], (enum sl_rule_op)op))
				out->rule[op] = (int)i;
		if (is_about_all(&rules[i]))
			out->whole = (int)i;
	}
}

int sl_rules_path(const struct sl_rule *rules, size_t n, const struct sl_rule_job *job, int from)
{
	for (int i = 0; i < (int)n; i++) {
		struct sl_rule_job its = *job;
		bool before = false;

		its.value[SL_RULE_PATH] = rules[i].match[SL_RULE_PATH];
		if (sl_rule_differs(&rules[i], &its) != SL_RULE_KEYS)
			continue;
		if (!rules[i].match[SL_RULE_PATH]) {
			if (is_about_all(&rules[i]))
				return -1; /* it holds for all that is left */
			continue;
		}
		for (int k = 0; k < i && !before; k++)
			before = rules[k].match[SL_RULE_PATH] &&
				 !strcmp(rules[k].match[SL_RULE_PATH],
					 rules[i].match[SL_RULE_PATH]) &&
				 sl_rule_differs(&rules[k], &its) == SL_RULE_KEYS;
		if (i >= from && !before)
			return i;
	}
	return -1;
}

const char *sl_rules_file(const struct sl_rule *rules, size_t n, const struct sl_rule_job *job,
			  const char *file, const char *below)
{
	for (int i = -1; (i = sl_rules_path(rules, n, job, i + 1)) >= 0;)
		if (sl_glob_path(rules[i].match[SL_RULE_PATH], file, below))
			return rules[i].match[SL_RULE_PATH];
	return NULL;
}

static const struct sl_rule *at(const struct sl_rule *rules, int index)
{
	return index < 0 ? NULL : &rules[index];
}

const struct sl_rule *sl_rules_bytes(const struct sl_rule *rules, const struct sl_rules_held *held)
{
	const struct sl_rule *rule = at(rules, held->rule[SL_RULE_READS]);

	return held->rule[SL_RULE_READS] == held->rule[SL_RULE_WRITES] && rule &&
			       rule->says & SL_SAYS_MAX
		       ? rule
		       : NULL;
}

void sl_rules_clamp(const struct sl_rule *rules, const struct sl_rules_held *held,
		    struct sl_job_conf *conf)
{
	const struct sl_rule *rule = at(rules, held->whole), *bytes = sl_rules_bytes(rules, held);
	unsigned says = rule ? rule->says : 0;

	if (bytes && bytes->per == SL_PER_JOB && (!conf->max_bps || conf->max_bps > bytes->max_bps))
		conf->max_bps = bytes->max_bps;
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
	if (bytes && conf->max_bps && conf->min_bps > conf->max_bps)
		conf->min_bps = conf->max_bps;
}

uint64_t sl_rules_min_ops(const struct sl_rule *rules, const struct sl_rules_held *held,
			  uint64_t asked)
{
	const struct sl_rule *rule = at(rules, held->whole);

	if (!rule || !(rule->says & SL_SAYS_MIN_OPS))
		return asked;
	return !asked || asked > rule->min_ops ? rule->min_ops : asked;
}

const struct sl_rule *sl_rules_meter(const struct sl_rule *rules, const struct sl_rules_held *held,
				     unsigned meter, uint64_t *limit)
{
	const struct sl_rule *rule;

	if (meter == SL_RULE_METER_READ || meter == SL_RULE_METER_WRITE)
		rule = at(rules,
			  held->rule[meter == SL_RULE_METER_READ ? SL_RULE_READS : SL_RULE_WRITES]);
	else if (meter == SL_RULE_METER_CALLS)
		rule = at(rules, held->rule[SL_RULE_READS] == held->rule[SL_RULE_WRITES]
					 ? held->rule[SL_RULE_READS]
					 : held->whole);
	else
		rule = at(rules, held->rule[SL_RULE_METADATA]);
	*limit = rule ? rule->meter[meter] : 0;
	/* Its max is not that of all bytes: of this direction, then. */
	if (rule && meter >= SL_RULE_METER_READ && rule->says & SL_SAYS_MAX &&
	    !sl_rules_bytes(rules, held) && (!*limit || *limit > rule->max_bps))
		*limit = rule->max_bps;
	return *limit ? rule : NULL;
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

	if (!rule || rule->per == SL_PER_JOB)
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
