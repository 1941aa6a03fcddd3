/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice rules`: show the rules of a layer and the jobs that they held (list), check a file
 * (check), and show which rule a job would get and why (test).
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "client/conn/client.h"
#include "layer/config.h"
#include "layer/layer.h"
#include "wire/ops.h"

static const char cmd[] = "rules";

/* ---- list ---- */

static const cJSON *rs_item(const cJSON *of, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(of, key);
}

static double rs_number(const cJSON *of, const char *key)
{
	const cJSON *item = rs_item(of, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void rs_add(cJSON *to, const cJSON *from, const char *key)
{
	cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(to, key),
			     rs_number(to, key) + rs_number(from, key));
}

static cJSON *rs_find(const cJSON *list, const char *key, const cJSON *like)
{
	cJSON *each;

	cJSON_ArrayForEach(each, list)
	{
		if (cJSON_Compare(rs_item(each, key), rs_item(like, key), true))
			return each;
	}
	return NULL;
}

/* All nodes know a job, but only the node where it runs holds and counts it. */
static void rs_merge(cJSON *all, const cJSON *more)
{
	static const char *const sums[] = { "bytes", "operations", "held_s", "hits" };
	const cJSON *rule, *user;

	cJSON_ArrayForEach(rule, rs_item(more, "rules"))
	{
		cJSON *to = rs_find(rs_item(all, "rules"), "name", rule);

		for (int i = 0; to && i < 4; i++)
			rs_add(to, rule, sums[i]);
		cJSON_ArrayForEach(user, rs_item(to ? rule : NULL, "users"))
		{
			cJSON *users = cJSON_GetObjectItemCaseSensitive(to, "users");
			cJSON *known = rs_find(users, "uid", user);

			for (int i = 0; known && i < 4; i++)
				rs_add(known, user, sums[i]);
			if (!known)
				cJSON_AddItemToArray(users, cJSON_Duplicate(user, true));
		}
	}
}

/* The rules of all nodes that live; NULL: an error was printed. */
static cJSON *rs_ask(const char *name, int *status)
{
	struct layer_member m[LAYER_MEMBERS];
	char *refused = NULL;
	cJSON *all = NULL;
	struct layer l;
	size_t n;

	if ((*status = cli_layer(cmd, layer_choose(&l, name))))
		return NULL;
	if (layer_state(&l) != LAYER_UP) {
		*status = cli_layer(cmd, layer_not_up(&l, true));
		return NULL;
	}
	n = layer_members(&l, m);
	for (size_t i = 0; i < n; i++) {
		char *answer = NULL;
		cJSON *tree = NULL;

		if (!m[i].controller && m[i].pid &&
		    sl_client_control(m[i].socket, "rules", &answer) == 0) {
			tree = cJSON_Parse(answer);
		} else if (!refused) {
			refused = answer;
			answer = NULL;
		}
		free(answer);
		if (!all) {
			all = tree;
			continue;
		}
		rs_merge(all, tree);
		cJSON_Delete(tree);
	}
	if (!all && refused && *refused)
		*status = cli_fail(cmd, "%s.", refused);
	else if (!all)
		*status = cli_fail(cmd, "no node of layer '%s' answers.", l.name);
	free(refused);
	return all;
}

static void rs_print_json(const cJSON *tree)
{
	char *text = cJSON_Print(tree);

	if (text)
		puts(text);
	free(text);
}

/* "user=* job=rsync*"; "every job". */
static void rs_match(const cJSON *rule, char *out, size_t size)
{
	const cJSON *key;
	size_t at = 0;

	snprintf(out, size, "every job");
	cJSON_ArrayForEach(key, rs_item(rule, "match")) if (cJSON_IsString(key) && at < size) at +=
		(size_t)snprintf(out + at, size - at, "%s%s=%s", at ? " " : "", key->string,
				 key->valuestring);
}

/* "max 50M per user" */
static void rs_gives(const cJSON *rule, char *out, size_t size)
{
	static const char *const rates[] = { "min_bps", "max_bps" };
	const char *per = cJSON_GetStringValue(rs_item(rule, "per"));
	char text[32];
	size_t at = 0;

	out[0] = 0;
	for (int i = 0; i < 2; i++)
		if (rs_item(rule, rates[i]))
			at += (size_t)snprintf(out + at, size - at, "%s%.3s %s", at ? ", " : "",
					       rates[i],
					       sl_format_rate(text, sizeof(text),
							      (uint64_t)rs_number(rule, rates[i])));
	if (rs_item(rule, "burst_bytes"))
		at += (size_t)snprintf(out + at, size - at, "%sburst %s", at ? ", " : "",
				       sl_format_bytes(text, sizeof(text),
						       (uint64_t)rs_number(rule, "burst_bytes")));
	if (rs_item(rule, "weight"))
		at += (size_t)snprintf(out + at, size - at, "%sweight %.0f", at ? ", " : "",
				       rs_number(rule, "weight"));
	if (rs_item(rule, "min_ops"))
		at += (size_t)snprintf(out + at, size - at, "%smin_ops %.0f", at ? ", " : "",
				       rs_number(rule, "min_ops"));
	for (int m = 0; m < SL_METERS; m++) {
		uint64_t limit = (uint64_t)rs_number(rule, sl_meter_keys[m]);

		if (!limit || at >= size)
			continue;
		if (m < SL_METER_READ)
			snprintf(text, sizeof(text), "%" PRIu64, limit);
		else
			sl_format_rate(text, sizeof(text), limit);
		at += (size_t)snprintf(out + at, size - at, "%s%s %s", at ? ", " : "",
				       sl_meter_keys[m], text);
	}
	if (!at)
		snprintf(out, size, "nothing");
	else if (per && strcmp(per, "job") != 0 && at < size)
		snprintf(out + at, size - at, " per %s", per);
}

/* What a rule, or a user under it, has moved and waited. */
static void rs_counts(const cJSON *of)
{
	double operations = rs_number(of, "operations"), hits = rs_number(of, "hits");
	char moved[32];

	printf("%s moved, %.0f operation%s, held %.0f time%s, for %.1f s\n",
	       sl_format_bytes(moved, sizeof(moved), (uint64_t)rs_number(of, "bytes")), operations,
	       operations == 1 ? "" : "s", hits, hits == 1 ? "" : "s", rs_number(of, "held_s"));
}

static void rs_print(const cJSON *all)
{
	const cJSON *config = rs_item(all, "config"), *rule, *user;
	const char *file = cJSON_GetStringValue(rs_item(config, "file"));
	const char *error = cJSON_GetStringValue(rs_item(config, "error"));

	printf("Rules of %s\n", file ? file : "a layer without a configuration file: none");
	if (error)
		printf("Refused:  %s\n", error);
	cJSON_ArrayForEach(rule, rs_item(all, "rules"))
	{
		const char *name = cJSON_GetStringValue(rs_item(rule, "name"));
		char match[400], gives[400];

		rs_match(rule, match, sizeof(match));
		rs_gives(rule, gives, sizeof(gives));
		printf("\n%s (line %.0f): %s: %s\n", name ? name : "", rs_number(rule, "line"),
		       match, gives);
		printf("  %.0f job%s now, ", rs_number(rule, "jobs"),
		       rs_number(rule, "jobs") == 1 ? "" : "s");
		rs_counts(rule);
		cJSON_ArrayForEach(user, rs_item(rule, "users"))
		{
			const char *who = cJSON_GetStringValue(rs_item(user, "user"));

			printf("    %-16s ", who ? who : "?");
			rs_counts(user);
		}
	}
}

static int rs_list(const char *name, bool json)
{
	int status = CLI_OK;
	cJSON *all = rs_ask(name, &status);

	if (all && json)
		rs_print_json(all);
	else if (all)
		rs_print(all);
	cJSON_Delete(all);
	return status;
}

/* ---- check, test ---- */

static int rs_read(struct config *c, const char *file)
{
	char err[CONFIG_TEXT];
	int rc = config_read(c, file, err);

	return rc ? cli_fail(cmd, "%s.", err) : CLI_OK;
}

static int rs_check(const char *file)
{
	struct config c;
	int status = rs_read(&c, file);

	if (status)
		return status;
	printf("%s: %zu rule%s, no mistakes.\n", file, c.rules_count,
	       c.rules_count == 1 ? "" : "s");
	config_free(&c);
	return CLI_OK;
}

/* Of which job the rules are wanted: keys, a path and an operation. */
struct rs_question {
	struct sl_rule_job job;
	const char *path; /* as typed; NULL: not given */
	int op;		  /* enum sl_rule_op; SL_RULE_OPS: all */
};

static int rs_op(struct rs_question *q, const char *value)
{
	struct sl_guess guess = { .word = value };

	for (q->op = 0; q->op < SL_RULE_OPS && strcmp(sl_rule_ops[q->op], value) != 0; q->op++)
		sl_consider(&guess, sl_rule_ops[q->op]);
	return q->op < SL_RULE_OPS ? CLI_OK : cli_unknown(cmd, "operation", &guess);
}

static int rs_words(struct rs_question *q, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		struct sl_guess guess = { .word = argv[i] };
		int k = 0, status;

		if (!value)
			return cli_usage(cmd, "'%s' is not KEY=VALUE, like user=alice.", argv[i]);
		*value++ = 0;
		if (!strcmp(argv[i], "op")) {
			if ((status = rs_op(q, value)))
				return status;
			continue;
		}
		while (k < SL_RULE_KEYS && strcmp(sl_rule_keys[k], argv[i]) != 0)
			sl_consider(&guess, sl_rule_keys[k++]);
		sl_consider(&guess, "op");
		if (k == SL_RULE_KEYS)
			return cli_unknown(cmd, "key", &guess);
		if (k == SL_RULE_PATH)
			q->path = value;
		else
			q->job.value[k] = value;
	}
	return CLI_OK;
}

/* The path of the rule that makes a part of the job for this file, as the programs find it. */
static const char *rs_part(const struct config *c, const struct rs_question *q)
{
	const char *root = c->value[CONFIG_DIRECTORY], *below = q->path;
	size_t length = root ? strlen(root) : 0;
	char whole[PATH_MAX];

	while (length && root[length - 1] == '/')
		length--;
	if (root && !strncmp(q->path, root, length) && q->path[length] == '/')
		below = q->path + length + 1;
	snprintf(whole, sizeof(whole), "%.*s/%s", (int)length, root ? root : "", below);
	if (below == q->path && q->path[0] == '/')
		snprintf(whole, sizeof(whole), "%s", q->path);
	return sl_rules_file(c->rules, c->rules_count, &q->job, whole, below);
}

/* "read and write", of those for which the rule holds. */
static void rs_ops(const struct sl_rules_held *held, int rule, char out[64])
{
	out[0] = 0;
	for (int op = 0; op < SL_RULE_OPS; op++)
		if (held->rule[op] == rule)
			snprintf(out + strlen(out), 64 - strlen(out), "%s%s", out[0] ? "," : "",
				 sl_rule_ops[op]);
}

static bool rs_all_one(const struct sl_rules_held *held, const struct rs_question *q)
{
	return q->op < SL_RULE_OPS ||
	       (held->rule[0] == held->rule[1] && held->rule[1] == held->rule[2]);
}

static void rs_differs(const struct sl_rule *r, const struct rs_question *q, const char *file)
{
	enum sl_rule_key key = sl_rule_differs(r, &q->job);
	const char *value = key == SL_RULE_PATH ? q->path : q->job.value[key];

	printf("no   %s (%s:%u): %s is ", r->name, file, r->line, sl_rule_keys[key]);
	if (!value)
		printf("not given, the rule is for %s\n", r->match[key]);
	else if (key == SL_RULE_PATH && q->job.value[key])
		printf("'%s', of which %s comes first, not %s\n", value, q->job.value[key],
		       r->match[key]);
	else
		printf("'%s', not %s\n", value, r->match[key]);
}

/* Print each rule up to the last that matches, with the key that did not match. */
static void rs_explain(const struct config *c, const struct rs_question *q, const char *file)
{
	struct sl_rules_held held;
	bool some = false;
	int last = -1;

	sl_rules_match(c->rules, c->rules_count, &q->job, &held);
	for (int op = 0; op < SL_RULE_OPS; op++) {
		if (q->op < SL_RULE_OPS && q->op != op)
			continue;
		if (held.rule[op] < 0)
			last = (int)c->rules_count;
		last = held.rule[op] > last ? held.rule[op] : last;
	}
	for (int i = 0; i <= last && i < (int)c->rules_count; i++) {
		const struct sl_rule *r = &c->rules[i];
		char ops[64];

		if (sl_rule_differs(r, &q->job) != SL_RULE_KEYS) {
			rs_differs(r, q, file);
			continue;
		}
		rs_ops(&held, i, ops);
		if (q->op < SL_RULE_OPS && held.rule[q->op] != i)
			printf("no   %s (%s:%u): op is '%s', not of this rule\n", r->name, file,
			       r->line, sl_rule_ops[q->op]);
		else if (ops[0] && rs_all_one(&held, q))
			printf("yes  %s (%s:%u)\n", r->name, file, r->line);
		else if (ops[0])
			printf("yes  %s (%s:%u): %s\n", r->name, file, r->line, ops);
		else
			continue;
		some |= ops[0];
	}
	if (!some)
		printf("No rule matches: the job gets what it asks for.\n");
}

static void rs_values_json(cJSON *tree, const struct sl_rule *r)
{
	cJSON_AddStringToObject(tree, "rule", r->name);
	cJSON_AddNumberToObject(tree, "line", r->line);
	cJSON_AddStringToObject(tree, "per", sl_rule_pers[r->per]);
	if (r->says & SL_SAYS_MIN)
		cJSON_AddNumberToObject(tree, "min_bps", (double)r->min_bps);
	if (r->says & SL_SAYS_MAX)
		cJSON_AddNumberToObject(tree, "max_bps", (double)r->max_bps);
	if (r->says & SL_SAYS_BURST)
		cJSON_AddNumberToObject(tree, "burst_bytes", (double)r->burst_bytes);
	if (r->says & SL_SAYS_WEIGHT)
		cJSON_AddNumberToObject(tree, "weight", r->weight);
	if (r->says & SL_SAYS_MIN_OPS)
		cJSON_AddNumberToObject(tree, "min_ops", (double)r->min_ops);
	for (int m = 0; m < SL_METERS; m++)
		if (r->meter[m])
			cJSON_AddNumberToObject(tree, sl_meter_keys[m], (double)r->meter[m]);
}

/* One rule for all operations that are asked about; or `ops`, an object for each. */
static void rs_explain_json(const struct config *c, const struct rs_question *q, const char *file)
{
	cJSON *tree = cJSON_CreateObject(), *ops;
	struct sl_rules_held held;

	sl_rules_match(c->rules, c->rules_count, &q->job, &held);
	cJSON_AddStringToObject(tree, "file", file);
	if (rs_all_one(&held, q)) {
		int rule = held.rule[q->op < SL_RULE_OPS ? q->op : 0];

		if (rule >= 0)
			rs_values_json(tree, &c->rules[rule]);
		else
			cJSON_AddNullToObject(tree, "rule");
	} else {
		ops = cJSON_AddObjectToObject(tree, "ops");
		for (int op = 0; op < SL_RULE_OPS; op++) {
			cJSON *each = cJSON_AddObjectToObject(ops, sl_rule_ops[op]);

			if (held.rule[op] >= 0)
				rs_values_json(each, &c->rules[held.rule[op]]);
			else
				cJSON_AddNullToObject(each, "rule");
		}
	}
	rs_print_json(tree);
	cJSON_Delete(tree);
}

/* The configuration file of the layer, as its nodes report it. */
static int rs_layer_file(const char *name, char out[PATH_MAX])
{
	int status = CLI_OK;
	cJSON *all = rs_ask(name, &status);
	const char *file = cJSON_GetStringValue(rs_item(rs_item(all, "config"), "file"));

	if (!status && !file)
		status = cli_fail(cmd, "the layer has no configuration file; give --config FILE.");
	if (!status)
		snprintf(out, PATH_MAX, "%s", file);
	cJSON_Delete(all);
	return status;
}

static int rs_test(const char *name, const char *file, bool json, int argc, char **argv)
{
	struct rs_question q = { .op = SL_RULE_OPS };
	char path[PATH_MAX];
	struct config c;
	int status = rs_words(&q, argc, argv);

	if (!status && !file && !(status = rs_layer_file(name, path)))
		file = path;
	if (status || (status = rs_read(&c, file)))
		return status;
	if (q.path)
		q.job.value[SL_RULE_PATH] = rs_part(&c, &q);
	if (json)
		rs_explain_json(&c, &q, file);
	else
		rs_explain(&c, &q, file);
	config_free(&c);
	return CLI_OK;
}

int cmd_rules(int argc, char **argv)
{
	const char *name = NULL, *file = NULL, *word;
	bool json = false;
	const struct cli_option options[] = {
		{ "list", CLI_WORD,
		  .help = "show the rules of a layer and which jobs they have held" },
		{ "check", CLI_WORD, .help = "check a configuration file" },
		{ "test", CLI_WORD, .help = "show which rule a job with these keys would get" },
		{ "Keys", .key = CLI_HEADING },
		{ "user", CLI_WORD, "=NAME", .help = "whose job it is" },
		{ "group", CLI_WORD, "=LIST", .help = "groups of the user, with commas" },
		{ "account", CLI_WORD, "=NAME", .help = "as declared by the job or by Slurm" },
		{ "qos", CLI_WORD, "=NAME", .help = "the same" },
		{ "partition", CLI_WORD, "=NAME", .help = "the same" },
		{ "job", CLI_WORD, "=NAME", .help = "name or number of the job" },
		{ "path", CLI_WORD, "=FILE", .help = "a file of the layer's directory" },
		{ "op", CLI_WORD, "=OP", .help = "read, write or metadata" },
		CLI_LAYER(&name),
		{ "config", 0, "FILE", .of = "test", .values = "<file>", .text = &file,
		  .help = "for test: the rules of this file, not those of a layer" },
		CLI_JSON(&json),
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = "rules list [--name NAME] [-j]\n"
			 "rules check FILE\n"
			 "rules test [--config FILE] [-j] KEY=VALUE...",
		.about = "Without a word: list.",
		.more = "Manual: sluice-rules(1), sluice.yaml(5).",
		.options = options,
		.arguments = -1,
		.takes = "file",
	};
	int status = cli_next(&command, argc, argv);

	if (status)
		return cli_end(status);
	word = optind < argc ? argv[optind++] : "list";
	if (file && strcmp(word, "test") != 0)
		return cli_usage(cmd, "--config is for 'rules test'.");
	if (!strcmp(word, "test"))
		return rs_test(name, file, json, argc - optind, argv + optind);
	if (!strcmp(word, "check")) {
		if (argc - optind != 1)
			return cli_usage(cmd, "'check' needs one file.");
		return rs_check(argv[optind]);
	}
	if (strcmp(word, "list") != 0)
		return cli_usage(cmd, "unknown word '%s'; write list, check or test.", word);
	if (optind < argc)
		return cli_usage(cmd, "unexpected argument '%s'.", argv[optind]);
	return rs_list(name, json);
}
