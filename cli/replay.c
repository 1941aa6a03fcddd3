/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice replay`: replay a recording of a node. Without a layer, on a scheduler, to check that it
 * decides the same (lab/replay/check.c); with a layer, as real I/O through it (lab/replay/live.c).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "lab/replay/replay.h"

static int against_layer(struct replay_trace *t, const char *name, double speed, bool json)
{
	struct layer l;
	int status = cli_layer(REPLAY_CMD, layer_open(&l, name, false));

	if (!status && !layer_pid(&l))
		status = cli_layer(REPLAY_CMD, layer_not_up(&l, true));
	if (!status)
		status = replay_live(t, &l, speed, json);
	layer_close(&l);
	return status;
}

static int check_decisions(struct replay_trace *t, bool json, const char *log_path)
{
	FILE *log = log_path ? fopen(log_path, "we") : NULL;
	int status;

	if (log_path && !log)
		return cli_fail(REPLAY_CMD, "cannot write %s: %s.", log_path, strerror(errno));
	status = replay_check(t, json, log);
	if (log && (ferror(log) | fclose(log)) && !status)
		status = cli_fail(REPLAY_CMD, "cannot write %s: %s.", log_path, strerror(errno));
	return status;
}

int cmd_replay(int argc, char **argv)
{
	const char *name = NULL, *speed_text = NULL, *log = NULL;
	bool check = false, json = false;
	const struct cli_option options[] = {
		{ "check", 'c', NULL, .flag = &check, .help = "compare the decisions" },
		{ "log", 'l', "FILE", .values = "<file>", .text = &log,
		  .help = "write the decisions, one per line" },
		{ "name", 'n', "LAYER", .text = &name,
		  .help = "repeat the I/O through this layer" },
		{ "speed", 's', "X", .text = &speed_text,
		  .help = "multiple of the recorded speed; 0: as fast as possible" },
		CLI_JSON(&json),
		{ 0 },
	};
	const struct cli_command command = {
		.name = REPLAY_CMD,
		.usage = "replay [--check] [--log FILE] TRACE\n"
			 "replay --name LAYER [--speed X] TRACE",
		.about = "Replays a recording that 'sluice up --trace FILE' has made. --check, "
			 "the default, repeats the calls on a new scheduler and compares every "
			 "decision with the recorded one. With a layer, the recorded reads and "
			 "writes are repeated through it, at the recorded times, on files of "
			 "their own that are removed afterwards.",
		.more = "Manual: sluice-replay(1).",
		.options = options,
		.takes = "file",
		.arguments = 1,
	};
	struct replay_trace t;
	double speed = 1;
	int status = cli_next(&command, argc, argv);
	char *end;

	if (status)
		return cli_end(status);
	if (speed_text) {
		speed = strtod(speed_text, &end);
		if (end == speed_text || *end || !isfinite(speed) || speed < 0)
			return cli_usage(REPLAY_CMD, "--speed: '%s' is not a number from 0.",
					 speed_text);
	}
	if (optind == argc)
		return cli_usage(REPLAY_CMD, "no trace given.");
	if (check && name)
		return cli_usage(REPLAY_CMD, "--check needs no layer; give one of --check and "
					     "--name.");
	if (log && name)
		return cli_usage(REPLAY_CMD, "--log is for --check.");
	if (speed_text && !name)
		return cli_usage(REPLAY_CMD, "--speed needs --name; a check does not wait.");
	if ((status = replay_open(&t, REPLAY_CMD, argv[optind])))
		return status;
	status = name ? against_layer(&t, name, speed, json) : check_decisions(&t, json, log);
	replay_close(&t);
	return status;
}
