/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice-tools`: all commands of `sluice`, found in one table. front.c starts it for every command
 * except `run`.
 *
 * Exit status: 0 success, 1 failure, 2 wrong usage.
 */
#include <stdio.h>
#include <string.h>

#include "sluice.h"
#include "cli/cli.h"
#include "policy/policy.h"

static int cmd_help(int argc, char **argv);
static int cmd_version(int argc, char **argv);
static int mn_main(int argc, char **argv);

static const struct command {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "up", "start a layer: schedule the I/O under a directory", cmd_up },
	{ "run", "run a program through a layer", cmd_run },
	{ "status", "show a layer and its jobs", cmd_status },
	{ "top", "watch the jobs of a layer, and change them", cmd_top },
	{ "dashboard", "show a layer in a browser, and to other programs", cmd_dashboard },
	{ "report", "show what each job used, and which jobs waited for which", cmd_report },
	{ "set", "change the limits and guarantees of a running job", cmd_set },
	{ "job", "register and end a job, for a batch system", cmd_job },
	{ "open", "emergency switch: stop limiting, on all nodes at once", cmd_open },
	{ "close", "end 'sluice open': schedule again", cmd_close },
	{ "down", "stop a layer", cmd_down },
	{ "rules", "list, check and try the rules of a layer", cmd_rules },
	{ "reload", "read the configuration of a layer again", cmd_reload },
	{ "policy", "list, explain and change the scheduling policies", cmd_policy },
	{ "replay", "replay a recording of a node, and compare", cmd_replay },
	{ "sim", "compare grant policies on a simulated machine", cmd_sim },
	{ "allocate", "decide how many I/O nodes each job gets", cmd_allocate },
	{ "explore", "run I/O kernels with several I/O nodes and orders", cmd_explore },
	{ "profile", "measure sequential and random I/O of a directory", cmd_profile },
	{ "train", "learn which order policy suits which access pattern", cmd_train },
	{ "period", "find the period of a job's I/O in a trace", cmd_period },
	{ "bench", "measure what Sluice itself costs", cmd_bench },
	{ "demo", "show the policies on a few small jobs", cmd_demo },
	{ "doctor", "check whether layers can run on this machine", cmd_doctor },
	{ "help", "explain a command", cmd_help },
	{ "version", "print the version", cmd_version },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *mn_find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static int mn_unknown(const char *name)
{
	struct sl_guess guess = { .word = name };

	for (size_t i = 0; i < COMMANDS; i++)
		sl_consider(&guess, commands[i].name);
	return cli_unknown(NULL, "command", &guess);
}

static int mn_run(const struct command *c, int argc, char **argv)
{
	optind = 0; /* glibc: restart getopt() for another argument vector */
	return c->run(argc, argv);
}

static int mn_version(void)
{
	puts("sluice " SL_VERSION);
	return CLI_OK;
}

/* Print rows for completion/: all commands and their subcommands. */
static int mn_completion(void)
{
	static char help[] = "--help";
	const char *nested[CLI_NESTED + 1];
	const struct sl_policy *p;

	cli_describes = true;
	for (int stage = 0; stage < SL_STAGES; stage++)
		for (unsigned i = 0; (p = sl_policy_at((enum sl_stage)stage, i)); i++)
			printf("policy\t%s/%s\n", sl_stage_name((enum sl_stage)stage), p->name);
	for (size_t i = 0; i < COMMANDS; i++) {
		char *name = (char *)(uintptr_t)commands[i].name;

		printf("command\t%s\t%s\n", name, commands[i].summary);
		cli_nested[0] = NULL;
		mn_run(&commands[i], 2, (char *[]){ name, help, NULL });
		memcpy(nested, cli_nested, sizeof(nested)); /* the next ones have none */
		for (const char **word = nested; *word; word++)
			mn_run(&commands[i], 3,
			       (char *[]){ name, (char *)(uintptr_t)*word, help, NULL });
	}
	return CLI_OK;
}

static int cmd_help(int argc, char **argv)
{
	static char help[] = "--help";
	bool completion = false;
	const struct cli_option options[] = {
		{ "completion", .flag = &completion, .help = NULL },
		{ 0 },
	};
	const struct cli_command command = {
		.name = "help",
		.usage = "help [COMMAND]",
		.about = "Explains a command, as 'sluice COMMAND --help' does.",
		.options = options,
		.arguments = 1,
		.takes = "command",
	};
	const struct command *c;
	int status = cli_next(&command, argc, argv);

	if (status)
		return cli_end(status);
	if (completion)
		return mn_completion();
	c = optind == argc ? NULL : mn_find(argv[optind]);
	if (!c && optind < argc)
		return mn_unknown(argv[optind]);
	return c ? mn_run(c, 2, (char *[]){ argv[optind], help, NULL })
		 : mn_main(2, (char *[]){ argv[0], help, NULL });
}

static int cmd_version(int argc, char **argv)
{
	static const struct cli_option none = { 0 };
	static const struct cli_command command = {
		.name = "version",
		.usage = "version",
		.about = "Prints the version, as 'sluice --version' does.",
		.options = &none,
	};
	int status = cli_next(&command, argc, argv);

	return status ? cli_end(status) : mn_version();
}

static int mn_main(int argc, char **argv)
{
	struct cli_option options[COMMANDS + 3] = { { 0 } };
	bool version = false;
	const struct cli_command command = {
		.usage = "COMMAND [ARGUMENT]...\n--help | --version",
		.about = "Sluice decides which I/O request goes next: which job may send, whose "
			 "turn it is, and which of its requests go together.",
		.more = "'sluice COMMAND --help' explains a command. Manual: sluice(1), "
			"sluice-policies(7).",
		.options = options,
		.arguments = -1,
		.stops = true, /* options after the command are its own */
	};
	const struct command *c;
	int status;

	options[0] = (struct cli_option){ "Commands", .key = CLI_HEADING };
	for (size_t i = 0; i < COMMANDS; i++)
		options[i + 1] = (struct cli_option){ commands[i].name, CLI_WORD,
						      .help = commands[i].summary };
	options[COMMANDS + 1] = (struct cli_option){ "version", 'V', .flag = &version,
						     .help = "print the version" };
	optind = 0;
	if ((status = cli_next(&command, argc, argv)))
		return cli_end(status);
	if (version)
		return mn_version();
	if (optind >= argc)
		return cli_usage(NULL, "no command given.");
	c = mn_find(argv[optind]);
	if (!c)
		return mn_unknown(argv[optind]);
	return mn_run(c, argc - optind, argv + optind);
}

int main(int argc, char **argv)
{
	cli_hold_standard_streams();
	cli_ignore_pipe();
	return cli_finish(mn_main(argc, argv));
}
