/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice reload`: all nodes of a layer read its configuration file again. First each node checks
 * the file, then each applies it, so no node applies a file that another refuses.
 */
#include <stdio.h>

#include "cli/change.h"
#include "cli/cli.h"

int cmd_reload(int argc, char **argv)
{
	const char *name = NULL;
	const struct cli_option options[] = {
		CLI_LAYER(&name),
		{ 0 },
	};
	const struct cli_command command = {
		.name = "reload",
		.usage = "reload [--name NAME]",
		.about = "Makes all nodes of a layer read its configuration file again, the one of "
			 "'sluice up --config': rules, policies of the nodes, capacity, mode and "
			 "log level. A file with an error is refused, with the line of the error, "
			 "and "
			 "nothing changes.",
		.more = "Manual: sluice-reload(1), sluice.yaml(5).",
		.options = options,
	};
	int status = cli_next(&command, argc, argv);
	struct layer l;

	if (status)
		return cli_end(status);
	status = change_layer("reload", &l, name, "reload");
	if (status)
		return status;
	printf("Layer '%s' has read its configuration again; it is in force.\n", l.name);
	return CLI_OK;
}
