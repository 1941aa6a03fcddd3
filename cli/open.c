/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice open`, and what `sluice close` shares: the administrator's emergency switch. Open, every
 * node of a layer lets everything pass, whatever capacity, limits, grants and policies say; closed,
 * they are in force again. A node that is revived meanwhile is open, too.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/open.h"

static int op_help(void)
{
	puts("usage: sluice open [--name NAME]\n"
	     "\n"
	     "Lets everything pass at once, on all nodes of a layer: no capacity, limit, grant\n"
	     "or policy holds anybody, and calls that wait go on. What jobs move is still\n"
	     "counted. 'sluice close' ends it.\n"
	     "\n"
	     "Options:\n"
	     "      --name NAME  which layer; not needed if only one is up\n"
	     "  -h, --help       this text\n"
	     "\n"
	     "Manual: sluice-open(1).");
	return CLI_OK;
}

int open_switch(const char *cmd, const char *name)
{
	struct layer l;
	int status = cli_layer(cmd, layer_choose(&l, name));

	if (!status)
		status = cli_layer(cmd, layer_change(&l, cmd));
	if (status)
		return status;
	if (*layer_warning())
		cli_warn(cmd, "%s", layer_warning());
	if (!strcmp(cmd, "open"))
		printf("Layer '%s' is open: everything passes until 'sluice close'.\n", l.name);
	else
		printf("Layer '%s' is closed: what is configured is in force again.\n", l.name);
	return CLI_OK;
}

int cmd_open(int argc, char **argv)
{
	const char *name = NULL;
	const struct cli_option options[] = { { "name", 0, NULL, &name }, { 0 } };
	int status = cli_options("open", argc, argv, options, 0, op_help);

	return status ? cli_end(status) : open_switch("open", name);
}
