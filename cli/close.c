/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice close`: end what `sluice open` began. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/open.h"

int cmd_close(int argc, char **argv)
{
	const char *name = NULL, *controller = NULL;
	const struct cli_option options[] = {
		CLI_LAYER(&name),
		{ "controller", 0, "SOCKET", .text = &controller,
		  .help = "the nodes of all machines, by this controller" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = "close",
		.usage = "close [--name NAME]\n"
			 "close --controller SOCKET",
		.about = "Ends what 'sluice open' began: everything that is configured is in force "
			 "again. A layer that was started with --observe goes on observing.",
		.more = "Manual: sluice-close(1), sluice-open(1).",
		.options = options,
	};
	int status = cli_next(&command, argc, argv);

	return status ? cli_end(status) : open_switch("close", name, controller);
}
