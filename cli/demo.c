/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice demo`: see lab/demo/live.c. */
#include <stdlib.h>

#include "cli/cli.h"
#include "lab/demo/live.h"

int cmd_demo(int argc, char **argv)
{
	const char *dir = NULL;
	bool json = false;
	const struct cli_option options[] = {
		{ "dir", 'C', "DIR", .values = "<dir>", .text = &dir,
		  .help = "where to make files; default $TMPDIR or /tmp" },
		CLI_JSON(&json),
		{ 0 },
	};
	const struct cli_command command = {
		.name = "demo",
		.usage = "demo [--dir DIR] [--json]",
		.about = "Runs four jobs, real processes that write real files: one writes little "
			 "but often, three write checkpoints. First directly; then through an I/O "
			 "node, first come first served, with io-sets, and with a guaranteed "
			 "minimum. It takes less than a minute and leaves nothing.",
		.options = options,
	};
	int status = cli_next(&command, argc, argv);

	if (status < 0 && !cli_describes)
		demo_next();
	if (status)
		return cli_end(status);
	if (!dir)
		dir = getenv("TMPDIR");
	return demo_live(dir && *dir ? dir : "/tmp", json);
}
