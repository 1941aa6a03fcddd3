/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice set`: change the settings of a running job, or the capacity of a running layer; `sluice
 * policy set`: its policies. The syntax is checked here; the node decides whether the values fit. A
 * command is executed completely or not at all.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/change.h"
#include "cli/cli.h"
#include "layer/check.h"
#include "layer/layer.h"
#include "wire/ops.h"

static int se_capacity(const char *name, const char *text)
{
	char line[64] = "capacity auto", warning[CHECK_TEXT];
	uint64_t bps = 0;
	struct layer l;
	int status;

	if (strcmp(text, "auto") != 0) {
		if (strlen(text) > 40 || sl_parse_rate(text, &bps) || bps > SL_MAX_RATE)
			return cli_usage("set",
					 "--capacity: '%.64s' is not a rate; write 200M, 1.5Gi, "
					 "100MB/s or auto.",
					 text);
		snprintf(line, sizeof(line), "capacity %" PRIu64, bps);
	}
	status = change_layer("set", &l, name, line);
	if (!status && check_low_rate("the capacity", text, CHECK_LOW_CAPACITY, warning))
		cli_warn("set", "%s", warning);
	return status;
}

static int se_capacity_ops(const char *name, const char *text)
{
	char line[64] = "capacity-ops auto";
	uint64_t count = 0;
	struct layer l;

	if (strcmp(text, "auto") != 0) {
		if (sl_ops_parse(text, &count))
			return cli_usage("set",
					 "--capacity-ops: '%.64s' is not a number per second; "
					 "write 5000, 20k or auto.",
					 text);
		snprintf(line, sizeof(line), "capacity-ops %" PRIu64, count);
	}
	return change_layer("set", &l, name, line);
}

static int se_line(char line[CHANGE_LINE], const char *job, int count, char *const *words)
{
	int status = change_word("set", line, job);
	char err[CHECK_TEXT];

	for (int i = 0; !status && i < count; i++)
		status = check_job_word(words[i], err) ? cli_usage("set", "%s", err)
						       : change_word("set", line, words[i]);
	return status;
}

int cmd_set(int argc, char **argv)
{
	char line[CHANGE_LINE] = "set", err[CHECK_TEXT], warning[CHECK_TEXT];
	const char *name = NULL, *capacity = NULL, *ops = NULL;
	struct layer l;
	const struct cli_option options[] = {
		{ "Keys", .key = CLI_HEADING },
		{ "min", CLI_WORD, "=RATE", .help = "guaranteed; 0: none" },
		{ "max", CLI_WORD, "=RATE", .help = "never more; 0: no limit" },
		{ "burst", CLI_WORD, "=SIZE",
		  .help = "bytes that may be sent at once after a pause, under a max" },
		{ "weight", CLI_WORD, "=N", .help = "weight of the job's share" },
		{ "period", CLI_WORD, "=TIME",
		  .help = "time from one I/O phase to the next; auto: found" },
		{ "best_effort", CLI_WORD, "=1",
		  .help = "1: scale down a min that does not fit, instead of refusing it" },
		{ "min_ops", CLI_WORD, "=N",
		  .help = "metadata operations per second guaranteed; 0: none; of one class: "
			  "min_create, min_lookup, min_remove, min_list, min_attribute" },
		{ "weight_create", CLI_WORD, "=N",
		  .help = "share of one class beside other jobs and the job's other classes; 0: as "
			  "weight; also weight_lookup, and so on" },
		{ "max_ops", CLI_WORD, "=N",
		  .help = "never more of them; 0: no limit; of one class: max_create, max_lookup, "
			  "max_remove, max_list, max_attribute" },
		{ "max_iops", CLI_WORD, "=N",
		  .help = "never more reads and writes per second; 0: no limit" },
		{ "max_read", CLI_WORD, "=RATE", .help = "never more bytes read; 0: no limit" },
		{ "max_write", CLI_WORD, "=RATE", .help = "never more bytes written; 0: no limit" },
		{ "order", CLI_WORD, "=POLICY",
		  .help = "order policy of this job; 'default': the layer's" },
		CLI_LAYER(&name),
		{ "capacity", 0, "RATE", .text = &capacity,
		  .help = "bandwidth that its nodes may use of the file system; 0: unknown, "
			  "no limit; auto: measured" },
		{ "capacity-ops", 0, "N", .text = &ops,
		  .help = "metadata operations per second that jobs share; 0: no limit; auto: "
			  "measured" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = "set",
		.usage = "set [--name NAME] JOB KEY=VALUE...\n"
			 "set [--name NAME] --capacity RATE\n"
			 "set [--name NAME] --capacity-ops N",
		.about = "Changes a running job; 'sluice status' lists them. Other keys stay as "
			 "they are. Can also change the capacity of a running layer.",
		.more = "Manual: sluice-set(1), sluice-policies(7).",
		.options = options,
		.arguments = -1,
		.takes = "job",
	};
	int status = cli_next(&command, argc, argv);

	if (status)
		return cli_end(status);
	if (capacity && ops)
		return cli_usage("set", "give --capacity and --capacity-ops in two commands.");
	if (ops && optind == argc)
		return se_capacity_ops(name, ops);
	if ((capacity || ops) && optind < argc)
		return cli_usage(
			"set",
			"a capacity belongs to the layer; change the job '%s' in another command.",
			argv[optind]);
	if (capacity)
		return se_capacity(name, capacity);
	if (optind == argc)
		return cli_usage("set", "no job given; 'sluice status' lists them.");
	if (check_job_name(argv[optind], err))
		return cli_usage("set", "%s.", err);
	if (optind + 1 == argc)
		return cli_usage("set", "nothing to set; give KEY=VALUE, like max=100M.");
	status = se_line(line, argv[optind], argc - optind - 1, argv + optind + 1);
	if (status || (status = change_layer("set", &l, name, line)))
		return status;
	for (int i = optind + 1; i < argc; i++)
		if (check_low_word("", argv[i], warning))
			cli_warn("set", "%s", warning);
	return CLI_OK;
}
