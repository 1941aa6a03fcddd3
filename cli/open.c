/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice open`, and what `sluice close` shares: the administrator's emergency switch. Open, every
 * node of a layer lets everything pass, whatever capacity, limits, grants and policies say; closed,
 * they are in force again. A node that is revived meanwhile is open, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/open.h"
#include "client/conn/client.h"

/* Nodes of several machines: their controller tells them. */
static int op_everywhere(const char *cmd, const char *controller)
{
	char *answer = NULL;
	int rc = sl_client_control(controller, cmd, &answer), status = CLI_OK;

	if (rc > 0)
		status = cli_fail(cmd, "the controller refuses: %s.", answer ? answer : "");
	else if (rc)
		status = cli_fail(cmd, "no controller at %s: %s.", controller, strerror(-rc));
	else
		printf("All nodes of the controller are told: %s.\n",
		       !strcmp(cmd, "open") ? "everything passes until 'sluice close --controller'"
					    : "what is configured is in force again");
	free(answer);
	return status;
}

int open_switch(const char *cmd, const char *name, const char *controller)
{
	struct layer l;
	int status;

	if (controller && name)
		return cli_usage(cmd, "give --name or --controller.");
	if (controller)
		return op_everywhere(cmd, controller);
	status = cli_layer(cmd, layer_choose(&l, name));
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
	const char *name = NULL, *controller = NULL;
	const struct cli_option options[] = {
		CLI_LAYER(&name),
		{ "controller", 0, "SOCKET", .text = &controller,
		  .help = "the nodes of all machines, by this controller" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = "open",
		.usage = "open [--name NAME]\n"
			 "open --controller SOCKET",
		.about = "Lets everything pass at once, on all nodes of a layer: no capacity, "
			 "limit, grant or policy holds anybody, and calls that wait go on. What "
			 "jobs move is still counted. 'sluice close' ends it.",
		.more = "Manual: sluice-open(1).",
		.options = options,
	};
	int status = cli_next(&command, argc, argv);

	return status ? cli_end(status) : open_switch("open", name, controller);
}
