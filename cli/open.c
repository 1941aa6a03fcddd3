/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice open` and `sluice close`: the administrator's emergency switch. Open, every
 * node of a layer lets everything pass, whatever capacity, limits, grants and policies say; closed,
 * they are in force again. A node that is revived meanwhile is open, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/change.h"
#include "cli/cli.h"
#include "client/conn/client.h"

/* Nodes on several machines: their controller passes it on. */
static int op_everywhere(const char *cmd, const char *controller)
{
	char *answer = NULL;
	int rc = sl_client_control(controller, cmd, &answer), status = CLI_OK;

	if (rc > 0)
		status = cli_fail(cmd, "the controller refuses: %s.", answer ? answer : "");
	else if (rc)
		status = cli_fail(cmd, "no controller at %s: %s.", controller, strerror(-rc));
	else
		printf("Sent to all nodes of the controller: %s.\n",
		       !strcmp(cmd, "open") ? "all requests pass until 'sluice close --controller'"
					    : "capacity, limits and policies apply again");
	free(answer);
	return status;
}

/* cmd: "open" or "close", which is what nodes are told. */
static int op_command(int argc, char **argv, const char *cmd, const char *about, const char *more)
{
	const char *name = NULL, *controller = NULL;
	char usage[80];
	const struct cli_option options[] = {
		CLI_LAYER(&name),
		{ "controller", 0, "SOCKET", .text = &controller,
		  .help = "the nodes of all machines, by this controller" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = usage,
		.about = about,
		.more = more,
		.options = options,
	};
	struct layer l;
	int status;

	snprintf(usage, sizeof(usage), "%s [--name NAME]\n%s --controller SOCKET", cmd, cmd);
	if ((status = cli_next(&command, argc, argv)))
		return cli_end(status);
	if (controller && name)
		return cli_usage(cmd, "give --name or --controller.");
	if (controller)
		return op_everywhere(cmd, controller);
	if ((status = change_layer(cmd, &l, name, cmd)))
		return status;
	if (!strcmp(cmd, "open"))
		printf("Layer '%s' is open: all requests pass until 'sluice close'.\n", l.name);
	else
		printf("Layer '%s' is closed: capacity, limits and policies apply again.\n",
		       l.name);
	return CLI_OK;
}

int cmd_open(int argc, char **argv)
{
	return op_command(
		argc, argv, "open",
		"Lets everything pass at once, on all nodes of a layer: no capacity, limit, grant "
		"or policy holds anybody, and calls that wait go on. What jobs move is still "
		"counted. 'sluice close' ends it.",
		"Manual: sluice-open(1).");
}

int cmd_close(int argc, char **argv)
{
	return op_command(argc, argv, "close",
			  "Ends what 'sluice open' began: everything that is configured is in "
			  "force again. A layer that was started with --observe goes on observing.",
			  "Manual: sluice-close(1), sluice-open(1).");
}
