/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice-tools`: all commands of `sluice`, found in one table. front.c starts it for every command but
 * `run`.
 *
 * Exit status: 0 done, 1 it failed, 2 it was not understood (wrong use).
 */
#include <stdio.h>
#include <string.h>

#include "sluice.h"
#include "cli/cli.h"

static int cmd_help(int argc, char **argv);
static int cmd_version(int argc, char **argv);

static const struct command {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "up", "start a layer: schedule the I/O under a directory", cmd_up },
	{ "run", "run a program through a layer", cmd_run },
	{ "status", "show a layer and its jobs", cmd_status },
	{ "top", "watch the jobs of a layer, and change them", cmd_top },
	{ "dashboard", "show a layer in a browser, and to other programs", cmd_dashboard },
	{ "report", "who used what, and who waited for whom", cmd_report },
	{ "set", "change what a running job is entitled to", cmd_set },
	{ "job", "register a job for a batch system, and end it", cmd_job },
	{ "open", "let everything pass, on all nodes at once", cmd_open },
	{ "close", "schedule again after 'sluice open'", cmd_close },
	{ "down", "stop a layer", cmd_down },
	{ "rules", "list, check and try the rules of a layer", cmd_rules },
	{ "reload", "read the configuration of a layer again", cmd_reload },
	{ "policy", "list, explain and change the scheduling policies", cmd_policy },
	{ "replay", "run a recording of a node again, and compare", cmd_replay },
	{ "sim", "compare grant policies on a simulated machine", cmd_sim },
	{ "allocate", "decide how many I/O nodes each job gets", cmd_allocate },
	{ "explore", "run I/O kernels with several I/O nodes and orders", cmd_explore },
	{ "profile", "measure sequential against random I/O of a directory", cmd_profile },
	{ "train", "learn which order policy suits which access pattern", cmd_train },
	{ "period", "find the period of a job's I/O in a trace", cmd_period },
	{ "bench", "measure what Sluice itself costs", cmd_bench },
	{ "demo", "show what the policies make of a few jobs", cmd_demo },
	{ "doctor", "check whether this machine is fit for layers", cmd_doctor },
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
	optind = 0; /* glibc: begin anew with another argument vector */
	return c->run(argc, argv);
}

static int mn_help(void)
{
	puts("usage: sluice COMMAND [ARGUMENT]...\n"
	     "       sluice --help | --version\n"
	     "\n"
	     "Sluice decides which I/O request goes next: which job may send, whose turn it\n"
	     "is, and which of its requests go together.\n"
	     "\n"
	     "Commands:");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-9s %s\n", commands[i].name, commands[i].summary);
	puts("\n"
	     "Options:\n"
	     "  -h, --help     this text; after a command, the command's own\n"
	     "  -V, --version  print the version\n"
	     "\n"
	     "Manual: sluice(1), sluice-policies(7).");
	return CLI_OK;
}

static int mn_version(void)
{
	puts("sluice " SL_VERSION);
	return CLI_OK;
}

static const struct option only_help[] = {
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int cmd_help(int argc, char **argv)
{
	static char help[] = "--help";
	const struct command *c;
	int opt;

	while ((opt = cli_getopt("help", argc, argv, "h", only_help)) != -1) {
		if (opt != 'h')
			return CLI_USAGE;
		puts("usage: sluice help [COMMAND]\n"
		     "\n"
		     "Explains a command, as 'sluice COMMAND --help' does.");
		return CLI_OK;
	}
	if (optind == argc)
		return mn_help();
	if (argc - optind > 1)
		return cli_usage("help", "unexpected argument '%s'.", argv[optind + 1]);
	c = mn_find(argv[optind]);
	if (!c)
		return mn_unknown(argv[optind]);
	return mn_run(c, 2, (char *[]){ argv[optind], help, NULL });
}

static int cmd_version(int argc, char **argv)
{
	int opt;

	while ((opt = cli_getopt("version", argc, argv, "h", only_help)) != -1) {
		if (opt != 'h')
			return CLI_USAGE;
		puts("usage: sluice version\n"
		     "\n"
		     "Prints the version, as 'sluice --version' does.");
		return CLI_OK;
	}
	if (optind < argc)
		return cli_usage("version", "unexpected argument '%s'.", argv[optind]);
	return mn_version();
}

static int mn_main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	const struct command *c;

	/* The "+" stops at the command: options after it are the command's. */
	switch (cli_getopt(NULL, argc, argv, "+hV", longs)) {
	case 'h':
		return mn_help();
	case 'V':
		return mn_version();
	case '?':
		return CLI_USAGE;
	}
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
