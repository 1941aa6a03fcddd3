/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice close`: end what `sluice open` began. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/open.h"

static int cl_help(void)
{
	puts("usage: sluice close [--name NAME]\n"
	     "       sluice close --controller SOCKET\n"
	     "\n"
	     "Ends what 'sluice open' began: everything that is configured is in force again.\n"
	     "A layer that was started with --observe goes on observing.\n"
	     "\n"
	     "Options:\n"
	     "      --name NAME          which layer; not needed if only one is up\n"
	     "      --controller SOCKET  the nodes of all machines, by this controller\n"
	     "  -h, --help               this text\n"
	     "\n"
	     "Manual: sluice-close(1), sluice-open(1).");
	return CLI_OK;
}

int cmd_close(int argc, char **argv)
{
	const char *name = NULL, *controller = NULL;
	const struct cli_option options[] = { { "name", 0, NULL, &name },
					      { "controller", 0, NULL, &controller },
					      { 0 } };
	int status = cli_options("close", argc, argv, options, 0, cl_help);

	return status ? cli_end(status) : open_switch("close", name, controller);
}
