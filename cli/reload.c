/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice reload`: all nodes of a layer read its configuration file again. First each is asked
 * whether it could take the file, then each takes it: so that none has it if one cannot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "layer/layer.h"

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

/* What the file has changed is in force when all nodes are revived, too. */
static void rl_keep(const struct layer *l, char *changes)
{
	char *save = NULL;

	for (char *line = strtok_r(changes, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (layer_keep_change(l, line))
			cli_warn("reload", "'%s' cannot be kept in %s for nodes that are revived.",
				 line, l->dir);
}

int cmd_reload(int argc, char **argv)
{
	const char *name = NULL;
	const struct cli_option options[] = { { "name", 0, NULL, &name }, { 0 } };
	int status = cli_options("reload", argc, argv, options, 0, rl_help), turn;
	char *changes = NULL;
	struct layer l;

	if (status)
		return cli_end(status);
	if ((status = layer_choose(&l, "reload", name)))
		return status;
	turn = layer_turn(&l);
	status = layer_ask(&l, "reload check", &changes);
	if (!status)
		status = layer_ask_all(&l, "reload check", false);
	if (!status)
		status = layer_ask_all(&l, "reload", false);
	if (!status && changes)
		rl_keep(&l, changes);
	layer_turn_end(turn);
	free(changes);
	if (!status)
		printf("Layer '%s' has its configuration anew.\n", l.name);
	return status;
}
