/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice`: the program that users start. It implements the command `run` itself, because a job may
 * start thousands of programs with it. For any other command, and for a `run` that reads the status
 * of a node, it executes sluice-tools.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run.h"
#include "layer/layer.h"

int main(int argc, char **argv)
{
	char tools[PATH_MAX];
	int status = RUN_TOOLS;

	cli_hold_standard_streams();
	cli_ignore_pipe();
	if (argc > 1 && !strcmp(argv[1], "run"))
		status = run_command(argc - 1, argv + 1, NULL);
	if (status != RUN_TOOLS)
		return cli_finish(status);
	cli_restore_pipe();
	status = cli_layer(NULL, layer_tools(tools));
	if (!status) {
		execv(tools, argv);
		status = cli_fail(NULL, "cannot run %s: %s.", tools, strerror(errno));
	}
	return cli_finish(status);
}
