/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of sluice.yaml:
 *
 *	rules:
 *	  - name: backup
 *	    user: backup
 *	    job: "rsync*"
 *	    max: 100MB/s
 *	  - user: "*"
 *	    max: 50MB/s
 *	    per: user
 *
 * policy/rules.c explains their meaning.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer/config-rules.h"
#include "wire/ops.h"

static int cr_match(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct sl_rule *rule = into;
	int k = 0, rc = sl_yaml_scalar(y, key, value, "a name, or globs with commas like a*,b");

	while (strcmp(sl_rule_keys[k], key) != 0)
		k++;
	for (const char *c = rc ? "" : sl_yaml_text(value); *c && !rc; c++)
		if (*c < ' ' || *c > '~')
			rc = sl_yaml_bad(y, value, "use printable ASCII characters only");
	return rc ? rc : sl_yaml_copy(y, value, &rule->match[k]);
}

static int cr_name(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct sl_rule *rule = into;
	char err[CHECK_TEXT];
	int rc = sl_yaml_scalar(y, key, value, "the name of a rule");

	if (!rc && check_owner(sl_yaml_text(value), err))
		rc = sl_yaml_bad(y, value, "%s", err);
	if (!rc)
		snprintf(rule->name, sizeof(rule->name), "%s", sl_yaml_text(value));
	return rc;
}

static int cr_value(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct sl_rule *rule = into;

	switch (key[0] == 'm' ? key[1] : key[0]) {
	case 'i':
		rule->says |= SL_SAYS_MIN;
		return sl_yaml_rate(y, value, 0, SL_MAX_RATE, &rule->min_bps);
	case 'a':
		rule->says |= SL_SAYS_MAX;
		return sl_yaml_rate(y, value, 1, SL_MAX_RATE, &rule->max_bps);
	case 'b':
		rule->says |= SL_SAYS_BURST;
		return sl_yaml_bytes(y, value, 1, SL_MAX_LENGTH, &rule->burst_bytes);
	default:
		rule->says |= SL_SAYS_WEIGHT;
		return sl_yaml_count32(y, value, 1, SL_MAX_WEIGHT, &rule->weight);
	}
}

/* max_ops, max_write and so on. */
static int cr_meter(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct sl_rule *rule = into;
	struct sl_ops_conf conf = { 0 };
	int rc = sl_yaml_scalar(y, key, value, "a number like 500, or a rate");

	_Static_assert(SL_RULE_METERS == SL_METERS, "a rule has all meters");
	if (rc)
		return rc;
	if (sl_ops_key(&conf, key, sl_yaml_text(value)))
		return sl_yaml_bad(y, value, "'%.64s' is not for %s; write 500 or 10k, or 100MB/s",
				   sl_yaml_text(value), key);
	for (int m = 0; m < SL_METERS; m++)
		if (conf.max[m])
			rule->meter[m] = conf.max[m];
	return 0;
}

static int cr_per(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct sl_rule *rule = into;
	unsigned word = 0;
	int rc = sl_yaml_scalar(y, key, value, "job, user, group, account or rule");

	if (!rc)
		rc = sl_yaml_word(y, value, sl_rule_pers, &word);
	rule->per = (enum sl_rule_per)word;
	return rc;
}

/* Refuses combinations that make no sense. */
static int cr_sense(const struct sl_yaml *y, const yaml_node_t *node, const struct config *c,
		    const struct sl_rule *rule)
{
	if ((rule->says & SL_SAYS_MAX) && (rule->says & SL_SAYS_MIN) &&
	    rule->min_bps > rule->max_bps && rule->per == SL_PER_JOB)
		return sl_yaml_bad(y, node, "min is more than max");
	if ((rule->says & (SL_SAYS_MIN | SL_SAYS_BURST)) && rule->per != SL_PER_JOB)
		return sl_yaml_bad(y, node,
				   "min and burst apply to each job; 'per: %s' is possible for max "
				   "and weight only",
				   sl_rule_pers[rule->per]);
	if ((rule->says & SL_SAYS_WEIGHT) &&
	    (rule->per == SL_PER_GROUP || rule->per == SL_PER_RULE))
		return sl_yaml_bad(y, node, "a weight can be per job, user or account");
	for (size_t i = 0; i + 1 < c->rules_count; i++)
		if (!strcmp(c->rules[i].name, rule->name))
			return sl_yaml_bad(y, node, "rule '%s' exists already, in line %u",
					   rule->name, c->rules[i].line);
	return 0;
}

static int cr_rule(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "name", cr_name },
		{ "user", cr_match },
		{ "group", cr_match },
		{ "account", cr_match },
		{ "qos", cr_match },
		{ "partition", cr_match },
		{ "job", cr_match },
		{ "path", cr_match },
		{ "min", cr_value },
		{ "max", cr_value },
		{ "burst", cr_value },
		{ "weight", cr_value },
		{ "per", cr_per },
		{ "max_ops", cr_meter },
		{ "max_create", cr_meter },
		{ "max_lookup", cr_meter },
		{ "max_remove", cr_meter },
		{ "max_list", cr_meter },
		{ "max_attribute", cr_meter },
		{ "max_iops", cr_meter },
		{ "max_read", cr_meter },
		{ "max_write", cr_meter },
		{ 0 },
	};
	struct config *c = into;
	struct sl_rule *rule;
	int rc;

	if (c->rules_count == CONFIG_RULES)
		return sl_yaml_bad(y, node, "more than %d rules", CONFIG_RULES);
	rule = reallocarray(c->rules, c->rules_count + 1, sizeof(*rule));
	if (!rule)
		return sl_yaml_no_memory(y, node);
	c->rules = rule;
	rule += c->rules_count++;
	*rule = (struct sl_rule){ .line = (unsigned)sl_yaml_line(node) };
	if ((rc = sl_yaml_mapping(y, node, keys, "a rule", rule)))
		return rc;
	if (!rule->name[0])
		snprintf(rule->name, sizeof(rule->name), "%zu", c->rules_count);
	return cr_sense(y, node, c, rule);
}

int config_rules(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	return sl_yaml_list(y, key, value, "a list: '- user: NAME' and what the rule gives",
			    cr_rule, into);
}

void config_rules_free(struct config *c)
{
	for (size_t i = 0; i < c->rules_count; i++)
		for (int k = 0; k < SL_RULE_KEYS; k++)
			free(c->rules[i].match[k]);
	free(c->rules);
}
