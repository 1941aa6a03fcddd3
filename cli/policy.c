/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice policy list|show|set`: print the policies and their parameters, from the tables that
 * configure them. `set` is in set.c.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/change.h"
#include "cli/cli.h"
#include "layer/check.h"
#include "layer/param.h"
#include "layer/policy-json.h"
#include "sluice.h"

static const char cmd[] = "policy";

/* ---- list ---- */

static void po_list_text(const char *stage)
{
	struct sl_policy_info info;
	const char *last = "";
	size_t widest = 0;

	for (unsigned i = 0; sl_policy_info(i, &info) == 0; i++) {
		size_t width = strlen(info.stage) + 1 + strlen(info.name);

		widest = width > widest ? width : widest;
	}
	for (unsigned i = 0; sl_policy_info(i, &info) == 0; i++) {
		unsigned column = (unsigned)widest + 5;

		if (stage && strcmp(stage, info.stage) != 0)
			continue;
		if (strcmp(last, info.stage) != 0)
			printf("%s%s: %s\n", *last ? "\n" : "", info.stage,
			       param_stage_question(info.stage));
		last = info.stage;
		printf("  %s/%-*s %c ", info.stage, (int)(widest - strlen(info.stage) - 1),
		       info.name, policy_is_default(&info) ? '*' : ' ');
		cli_wrap(stdout, info.summary, column, column);
	}
	puts("\n* the default of its stage. 'sluice policy show STAGE/NAME' tells more.");
}

static int po_list(int argc, char **argv, bool json)
{
	const char *stage = argc > 0 ? argv[0] : NULL, *name;
	struct sl_guess guess = { .word = stage };
	struct sl_policy_info info;

	if (argc > 1)
		return cli_usage(cmd, "unexpected argument '%s' after 'list %s'.", argv[1], stage);
	if (stage && sl_policy_default(stage, &name) != 0) {
		for (unsigned i = 0; sl_policy_info(i, &info) == 0; i++)
			sl_consider(&guess, info.stage);
		return cli_unknown(cmd, "stage", &guess);
	}
	if (json)
		policy_list_json(stdout, stage);
	else
		po_list_text(stage);
	return CLI_OK;
}

/* ---- show ---- */

static void po_show_text(const struct sl_policy_info *info)
{
	char text[512];
	int widest = 0;

	for (const struct sl_param *p = info->params; p && p->name; p++)
		if ((int)strlen(p->name) > widest)
			widest = (int)strlen(p->name);
	printf("%s/%s%s\n  ", info->stage, info->name,
	       policy_is_default(info) ? " (the default)" : "");
	cli_wrap(stdout, info->summary, 2, 2);
	printf("\nSource: ");
	cli_wrap(stdout, info->source, 8, 8);
	puts("\nParameters:");
	if (!info->params || !info->params->name)
		puts("  none");
	for (const struct sl_param *p = info->params; p && p->name; p++) {
		unsigned column = (unsigned)widest + 4;

		printf("  %-*s  ", widest, p->name);
		cli_wrap(stdout, param_range(p, text, sizeof(text)), column, column);
		printf("      ");
		cli_wrap(stdout, p->help, 6, 6);
	}
	param_example(info, text, sizeof(text));
	/* These two are decided for a machine, not inside a scheduler. */
	if (!strcmp(info->stage, "allocate"))
		printf("\nExample:\n  sluice allocate --policy %s --ionodes 12 CURVES.csv\n", text);
	else if (info->simulator_only)
		printf("\nSimulator only: it plans for jobs that are all known in advance, so a\n"
		       "controller refuses it.\n"
		       "\nExample:\n"
		       "  sluice sim -p %s FILE.yaml\n",
		       text);
	else if (!strcmp(info->stage, "grant"))
		printf("\nExample, for a simulation, and for a new layer with a controller:\n"
		       "  sluice sim -p %s FILE.yaml\n"
		       "  sluice up --policy grant=%s DIR\n",
		       text, info->name);
	else
		printf("\nExample, for a new layer, for one that is up, and in a struct "
		       "sl_config:\n"
		       "  sluice up --policy %s=%s DIR\n"
		       "  sluice policy set %s=%s\n"
		       "  .%s = \"%s\"\n",
		       info->stage, text, info->stage, text, info->stage, text);
}

/*
 * Find the policies that match `word`, STAGE/NAME or NAME: returns their number, and the last one.
 */
static unsigned po_find(const char *word, struct sl_policy_info *found)
{
	const char *slash = strchr(word, '/');
	size_t stage_length = slash ? (size_t)(slash - word) : 0;
	const char *name = slash ? slash + 1 : word;
	struct sl_policy_info info;
	unsigned count = 0;

	for (unsigned i = 0; sl_policy_info(i, &info) == 0; i++) {
		if (slash && (strlen(info.stage) != stage_length ||
			      memcmp(info.stage, word, stage_length) != 0))
			continue;
		if (!strcmp(info.name, name)) {
			*found = info;
			count++;
		}
	}
	return count;
}

static int po_not_found(const char *word)
{
	const char *slash = strchr(word, '/');
	struct sl_guess guess = { .word = slash ? slash + 1 : word };
	struct sl_policy_info info, best = { 0 };

	/* Compare names only, to find the right name in another stage too. */
	for (unsigned i = 0; sl_policy_info(i, &info) == 0; i++) {
		const char *before = guess.best;

		sl_consider(&guess, info.name);
		if (guess.best != before)
			best = info;
	}
	if (guess.best)
		return cli_usage(cmd, "unknown policy '%s'. Did you mean '%s/%s'?", word,
				 best.stage, best.name);
	return cli_usage(cmd, "unknown policy '%s'; 'sluice policy list' names them all.", word);
}

static int po_ambiguous(const char *name)
{
	struct sl_policy_info info;
	char all[200] = "";

	for (unsigned i = 0; sl_policy_info(i, &info) == 0; i++) {
		size_t n = strlen(all);

		if (!strcmp(info.name, name))
			snprintf(all + n, sizeof(all) - n, "%s%s/%s", n ? " or " : "", info.stage,
				 name);
	}
	return cli_usage(cmd, "several stages have a policy '%s'; write %s.", name, all);
}

static int po_show(int argc, char **argv, bool json)
{
	struct sl_policy_info info;
	struct json j;

	if (argc == 0)
		return cli_usage(cmd, "'show' needs the name of a policy, like order/to-agg.");
	if (argc > 1)
		return cli_usage(cmd, "unexpected argument '%s' after 'show %s'.", argv[1],
				 argv[0]);
	switch (po_find(argv[0], &info)) {
	case 0:
		return po_not_found(argv[0]);
	case 1:
		break;
	default:
		return po_ambiguous(argv[0]);
	}
	if (json) {
		json_begin(&j, stdout);
		policy_json(&j, &info);
	} else {
		po_show_text(&info);
	}
	return CLI_OK;
}

static int set_policies(const char *layer, int argc, char **argv)
{
	char line[CHANGE_LINE] = "policy", stage[32], err[CHECK_TEXT];
	char *whole;
	struct layer l;
	int status = CLI_OK;

	if (argc == 0)
		return cli_usage("policy", "'set' needs STAGE=POLICY, like share=io-sets.");
	for (int i = 0; !status && i < argc; i++) {
		const char *equals = strchr(argv[i], '=');

		if (!equals || equals == argv[i])
			return cli_usage("policy", "'%s' is not STAGE=POLICY, like share=io-sets.",
					 argv[i]);
		snprintf(stage, sizeof(stage), "%.*s", (int)(equals - argv[i]), argv[i]);
		if (check_policy(stage, equals + 1, err))
			return cli_usage("policy", "%s.", err);
		whole = check_absolute(argv[i]);
		if (!whole)
			return cli_usage("policy", "give the tree by its whole path, from /.");
		status = change_word("policy", line, whole);
		free(whole);
	}
	return status ? status : change_layer("policy", &l, layer, line);
}

int cmd_policy(int argc, char **argv)
{
	const char *layer = NULL;
	struct sl_guess guess;
	bool json = false;
	const struct cli_option options[] = {
		{ "list", CLI_WORD,
		  .help = "all policies, or those of a stage (allocate, grant, admit, share, "
			  "order)" },
		{ "show", CLI_WORD,
		  .help = "one policy with its parameters; POLICY is STAGE/NAME, or NAME alone "
			  "when only one stage has it" },
		{ "set", CLI_WORD,
		  .help = "change a layer, as in share=io-sets order=aioli,wait_us=500; requests "
			  "inside are kept; grant and allocate go to its controller" },
		{ "json", 'j', NULL, .flag = &json, .of = "list show",
		  .help = "with 'list' and 'show': print JSON; sizes and times are whole numbers "
			  "in their unit" },
		{ "name", 0, "NAME", .text = &layer, .of = "set", .values = "<layer>",
		  .help = "with 'set': which layer" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = "policy list [STAGE] [--json]\n"
			 "policy show POLICY [--json]\n"
			 "policy set [--name NAME] STAGE=POLICY[,PARAMETER=VALUE]...",
		.about = "Explains the policies that can be chosen for each stage of the "
			 "scheduler, and changes those of a running layer.",
		.more = "Manual: sluice-policy(1), sluice-policies(7).",
		.options = options,
		.arguments = -1,
	};
	int status = cli_next(&command, argc, argv);

	if (status)
		return cli_end(status);
	argc -= optind;
	argv += optind;
	if (argc == 0)
		return cli_usage(cmd, "say what to do: list, show or set.");
	if (!strcmp(argv[0], "set")) {
		if (json)
			return cli_usage(cmd, "--json goes with 'list' and 'show'.");
		return set_policies(layer, argc - 1, argv + 1);
	}
	if (layer && (!strcmp(argv[0], "list") || !strcmp(argv[0], "show")))
		return cli_usage(cmd,
				 "--name goes with 'set': policies are the same for all layers.");
	if (!strcmp(argv[0], "list"))
		return po_list(argc - 1, argv + 1, json);
	if (!strcmp(argv[0], "show"))
		return po_show(argc - 1, argv + 1, json);
	guess = (struct sl_guess){ .word = argv[0] };
	sl_consider(&guess, "list");
	sl_consider(&guess, "show");
	sl_consider(&guess, "set");
	return cli_unknown(cmd, "subcommand", &guess);
}
