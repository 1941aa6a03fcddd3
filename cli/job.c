/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice job`: a batch system registers its jobs with a layer, from a prolog and an epilog that
 * run as root. In a layer for all users, only an administrator may set the account, QoS, partition
 * and number of machines of a job.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/change.h"
#include "cli/cli.h"
#include "layer/check.h"
#include "layer/layer.h"

static const char cmd[] = "job";

/* Parse a key of this command: 0, -EINVAL with a message, or -ENOENT. */
static int jb_fact(const char *key, const char *value, char err[CHECK_TEXT])
{
	unsigned long number;

	if (!strcmp(key, "account") || !strcmp(key, "qos") || !strcmp(key, "partition"))
		return check_owner(value, err) ? -EINVAL : 0;
	if (!strcmp(key, "title"))
		return check_job_name(value, err) ? -EINVAL : 0;
	if (strcmp(key, "nodes") != 0 && strcmp(key, "procs") != 0 && strcmp(key, "pid") != 0)
		return -ENOENT;
	if (!check_count(value, 1, INT32_MAX, &number))
		return 0;
	snprintf(err, CHECK_TEXT, "%s: '%.64s' is not a number from 1", key, value);
	return -EINVAL;
}

static int jb_word(char line[CHANGE_LINE], const char *word, bool *holds)
{
	const char *equals = strchr(word, '=');
	struct sl_job_conf conf;
	char key[32], err[CHECK_TEXT];
	int rc;

	if (!equals || equals == word)
		return cli_usage(cmd, "'%s' is not KEY=VALUE, like account=physics.", word);
	snprintf(key, sizeof(key), "%.*s", (int)(equals - word), word);
	rc = jb_fact(key, equals + 1, err);
	if (rc == -ENOENT)
		rc = check_job_key(key, equals + 1, &conf, err);
	if (rc)
		return cli_usage(cmd, "%s.", err);
	*holds = *holds || !strcmp(key, "pid");
	return change_word(cmd, line, word);
}

int cmd_job(int argc, char **argv)
{
	const char *name = NULL, *what;
	const struct cli_option options[] = {
		{ "add", CLI_WORD,
		  .help = "register a job with all nodes of a layer, or change its facts" },
		{ "end", CLI_WORD,
		  .help = "release the job; it is removed when its programs have "
			  "ended" },
		{ "Keys of 'add', in addition to those of 'sluice set'", .key = CLI_HEADING },
		{ "account", CLI_WORD, "=NAME", .help = "the account that the job is charged to" },
		{ "qos", CLI_WORD, "=NAME", .help = "its quality of service" },
		{ "partition", CLI_WORD, "=NAME", .help = "its partition" },
		{ "nodes", CLI_WORD, "=N", .help = "its machines" },
		{ "procs", CLI_WORD, "=N", .help = "its processes" },
		{ "title", CLI_WORD, "=NAME",
		  .help = "a name that is the same when it runs again" },
		{ "pid", CLI_WORD, "=N",
		  .help = "the job ends with this process; 'end' is not needed" },
		CLI_LAYER(&name),
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = "job add [--name NAME] JOB [KEY=VALUE]...\n"
			 "job end [--name NAME] JOB",
		.about = "For the prolog and the epilog of a batch system. In a layer for all "
			 "users JOB is UID/NUMBER, and only administrators may do this.",
		.more = "Manual: sluice-job(1).",
		.options = options,
		.arguments = -1,
		.takes = "job",
	};
	int status = cli_next(&command, argc, argv);
	char line[CHANGE_LINE], err[CHECK_TEXT];
	bool add, holds = false;
	struct layer l;

	if (status)
		return cli_end(status);
	what = optind < argc ? argv[optind++] : "";
	add = !strcmp(what, "add");
	if (!add && strcmp(what, "end") != 0)
		return cli_usage(cmd, "add or end?");
	if (optind == argc)
		return cli_usage(cmd, "which job?");
	if (check_job_name(argv[optind], err))
		return cli_usage(cmd, "%s.", err);
	snprintf(line, sizeof(line), "%s %s", add ? "job" : "end", argv[optind++]);
	if (!add && optind < argc)
		return cli_usage(cmd, "unexpected argument '%s'.", argv[optind]);
	for (; !status && optind < argc; optind++)
		status = jb_word(line, argv[optind], &holds);
	if (status || (status = cli_layer(cmd, layer_choose(&l, name))))
		return status;
	if (add && !holds)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), " keep=1");
	return cli_layer(cmd, layer_ask_all(&l, line, !add));
}
