/* SPDX-License-Identifier: Apache-2.0 */
/* A change of a layer by a command: see change.h. */
#include "cli/change.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

int change_word(const char *cmd, char line[CHANGE_LINE], const char *word)
{
	size_t at = strlen(line);

	if (at + strlen(word) + 2 > CHANGE_LINE)
		return cli_usage(cmd, "that is too much for one command; give less at a time.");
	snprintf(line + at, CHANGE_LINE - at, " %s", word);
	return CLI_OK;
}

int change_layer(const char *cmd, struct layer *l, const char *name, const char *line)
{
	int status = cli_layer(cmd, layer_choose(l, name));

	status = status ? status : cli_layer(cmd, layer_change(l, line));
	if (!status && *layer_warning())
		cli_warn(cmd, "%s", layer_warning());
	return status;
}
