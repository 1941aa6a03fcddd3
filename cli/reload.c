/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice reload`: all nodes of a layer read its configuration file again. First each is asked
 * whether it could take the file, then each takes it: so that none has it if one cannot.
 */
#include <stdio.h>

#include "cli/cli.h"

static int rl_help(void)
{
	puts("usage: sluice reload [--name NAME]\n"
	     "\n"
	     "Lets all nodes of a layer read its configuration file again, that of 'sluice up\n"
	     "--config': rules, policies of the nodes, capacity, mode and log level. A file\n"
	     "with a mistake is refused with its line, and everything stays as it is.\n"
	     "\n"
	     "Options:\n"
	     "      --name NAME  which layer; not needed if only one is up\n"
	     "  -h, --help       this text\n"
	     "\n"
	     "Manual: sluice-reload(1), sluice.yaml(5).");
	return CLI_OK;
}

int cmd_reload(int argc, char **argv)
{
	const char *name = NULL;
	const struct cli_option options[] = { { "name", 0, NULL, &name }, { 0 } };
	int status = cli_options("reload", argc, argv, options, 0, rl_help);
	struct layer l;

	if (status)
		return cli_end(status);
	status = cli_layer("reload", layer_choose(&l, name));
	if (!status)
		status = cli_layer("reload", layer_change(&l, "reload"));
	if (status)
		return status;
	if (*layer_warning())
		cli_warn("reload", "%s", layer_warning());
	printf("Layer '%s' has read its configuration again; it is in force.\n", l.name);
	return CLI_OK;
}
