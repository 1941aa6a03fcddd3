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
 *	  - path: "checkpoint"
 *	    op: write
 *	    max: 1GB/s
 *
 * policy/rules.c explains their meaning.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer/config-rules.h"
#include "wire/ops.h"
#include "wire/proto.h"
#include "wire/turn.h"

#define PARTS 15 /* as many as a process can have */

static int cr_match(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct sl_rule *rule = into;
	int k = 0, rc = sl_yaml_scalar(y, key, value, "a name, or globs with commas like a*,b");

	while (strcmp(sl_rule_keys[k], key) != 0)
		k++;
	for (const char *c = rc ? "" : sl_yaml_text(value); *c && !rc; c++)
		if (*c < ' ' || *c > '~')
			rc = sl_yaml_bad(y, value, "use printable ASCII characters only");
	if (!rc && k == SL_RULE_PATH &&
	    (!*sl_yaml_text(value) || !strncmp(sl_yaml_text(value), "./", 2)))
		rc = sl_yaml_bad(y, value,
				 "a path is below the layer's directory, like checkpoints/*, "
				 "or begins with /");
	return rc ? rc : sl_yaml_copy(y, value, &rule->match[k]);
}

static int cr_op(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct sl_rule *rule = into;
	const char *at;
	int rc = sl_yaml_scalar(y, key, value, "read, write or metadata");

	for (at = rc ? "" : sl_yaml_text(value); *at; at += at[0] == ',') {
		size_t length = strcspn(at, ",");
		int op = 0;

		while (op < SL_RULE_OPS && (strlen(sl_rule_ops[op]) != length ||
					    strncmp(sl_rule_ops[op], at, length) != 0))
			op++;
		if (op == SL_RULE_OPS)
			return sl_yaml_bad(y, value,
					   "'%.64s' is not one of read, write and metadata, or "
					   "several of them with commas",
					   sl_yaml_text(value));
		rule->ops |= 1U << op;
		at += length;
	}
	return rc;
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
	if (!strcmp(key, "min_ops")) {
		rule->says |= SL_SAYS_MIN_OPS;
		rule->min_ops = conf.min[SL_METER_OPS];
	}
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

/* What a rule of some operations only cannot give. */
static int cr_op_sense(const struct sl_yaml *y, const yaml_node_t *node, const struct sl_rule *rule)
{
	unsigned data = 1U << SL_RULE_READS | 1U << SL_RULE_WRITES;
	bool metadata = false;

	if (!rule->ops || rule->ops == SL_RULE_ALL)
		return 0;
	if (rule->says & ~(unsigned)SL_SAYS_MAX)
		return sl_yaml_bad(
			y, node,
			"min, min_ops, burst and weight are for all operations: without 'op'");
	for (int m = 0; m <= SL_METER_OPS; m++)
		metadata |= rule->meter[m];
	if ((rule->says & SL_SAYS_MAX) && !(rule->ops & data))
		return sl_yaml_bad(y, node, "a max is of bytes; for 'op: metadata' write max_ops");
	if (metadata && !(rule->ops & 1U << SL_RULE_METADATA))
		return sl_yaml_bad(y, node, "max_ops, max_create and so on are for 'op: metadata'");
	if (rule->meter[SL_METER_IOPS] && (rule->ops & data) != data)
		return sl_yaml_bad(y, node, "max_iops counts reads and writes: 'op: read,write'");
	if ((rule->meter[SL_METER_READ] && !(rule->ops & 1U << SL_RULE_READS)) ||
	    (rule->meter[SL_METER_WRITE] && !(rule->ops & 1U << SL_RULE_WRITES)))
		return sl_yaml_bad(y, node, "the limit is of an operation that 'op' does not name");
	return 0;
}

/* Refuses combinations that make no sense. */
static int cr_sense(const struct sl_yaml *y, const yaml_node_t *node, const struct config *c,
		    const struct sl_rule *rule)
{
	if ((rule->says & SL_SAYS_MAX) && (rule->says & SL_SAYS_MIN) &&
	    rule->min_bps > rule->max_bps && rule->per == SL_PER_JOB)
		return sl_yaml_bad(y, node, "min is more than max");
	if ((rule->says & (SL_SAYS_MIN | SL_SAYS_MIN_OPS | SL_SAYS_BURST)) &&
	    rule->per != SL_PER_JOB)
		return sl_yaml_bad(y, node,
				   "min, min_ops and burst apply to each job; 'per: %s' is "
				   "possible for max, max_ops and weight only",
				   sl_rule_pers[rule->per]);
	if ((rule->says & SL_SAYS_WEIGHT) &&
	    (rule->per == SL_PER_GROUP || rule->per == SL_PER_RULE))
		return sl_yaml_bad(y, node, "a weight can be per job, user or account");
	if (rule->match[SL_RULE_PATH] &&
	    (!sl_tag_is_good(rule->name) || strlen(rule->name) > SL_TAG_MAX - 2))
		return sl_yaml_bad(y, node,
				   "a rule with a path has a name of up to %d letters, digits and "
				   "- _ .: its files are a part of the job, JOB:%cNAME",
				   SL_TAG_MAX - 2, SL_TAG_RULE);
	for (size_t i = 0; i + 1 < c->rules_count; i++)
		if (!strcmp(c->rules[i].name, rule->name))
			return sl_yaml_bad(y, node, "rule '%s' exists already, in line %u",
					   rule->name, c->rules[i].line);
	return cr_op_sense(y, node, rule);
}

static bool is_first(const struct config *c, size_t rule)
{
	const char *path = c->rules[rule].match[SL_RULE_PATH];

	for (size_t i = 0; i < rule; i++)
		if (c->rules[i].match[SL_RULE_PATH] &&
		    !strcmp(c->rules[i].match[SL_RULE_PATH], path))
			return false;
	return true;
}

int config_parts(const struct sl_yaml *y, size_t line, const struct config *c)
{
	size_t count = c->tags_count, bytes = 0;

	for (size_t i = 0; i < c->tags_count; i++)
		if (c->tags[i].path)
			bytes += strlen(c->tags[i].name) + strlen(c->tags[i].path) + 2;
	for (size_t i = 0; i < c->rules_count; i++) {
		const struct sl_rule *rule = &c->rules[i];

		if (!rule->match[SL_RULE_PATH] || !is_first(c, i))
			continue;
		count++;
		bytes += strlen(rule->name) + strlen(rule->match[SL_RULE_PATH]) + 3;
	}
	if (count > PARTS)
		return sl_yaml_wrong(y, line, "more than %d tags and paths of rules", PARTS);
	if (bytes >= SL_TURN_TAGS)
		return sl_yaml_wrong(y, line,
				     "the paths of all tags and rules are longer than %d bytes",
				     SL_TURN_TAGS - 1);
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
		{ "op", cr_op },
		{ "min", cr_value },
		{ "max", cr_value },
		{ "burst", cr_value },
		{ "weight", cr_value },
		{ "per", cr_per },
		{ "min_ops", cr_meter },
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
	rc = cr_sense(y, node, c, rule);
	return rc ? rc : config_parts(y, sl_yaml_line(node), c);
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
