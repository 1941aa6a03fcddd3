/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice`: the program that people start. It has the command `run` itself, because a job may start
 * thousands of programs by it; for any other command it becomes sluice-tools.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "layer/layer.h"

int main(int argc, char **argv)
{
	char tools[PATH_MAX];
	int status;

	cli_hold_standard_streams();
	signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && !strcmp(argv[1], "run"))
		return cli_finish(cmd_run(argc - 1, argv + 1));
	status = layer_tools(NULL, tools);
	if (!status) {
		execv(tools, argv);
		status = cli_fail(NULL, "cannot run %s: %s.", tools, strerror(errno));
	}
	return cli_finish(status);
}
