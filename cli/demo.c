/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice demo`: see lab/demo/live.c. */
#include <stdlib.h>

#include "cli/cli.h"
#include "lab/demo/live.h"

static int help(void)
{
	puts("usage: sluice demo [--dir DIR] [--json]\n"
	     "\n"
	     "Runs four jobs, real processes that write real files: one writes little but\n"
	     "often, three write checkpoints. First directly; then through an I/O node, first\n"
	     "come first served, with io-sets, and with a guaranteed minimum. It takes less\n"
	     "than a minute and leaves nothing.\n"
	     "\n"
	     "Options:\n"
	     "  -C, --dir DIR      where to make files; default $TMPDIR or /tmp\n"
	     "  -j, --json         print JSON\n"
	     "  -h, --help         this text");
	demo_next();
	return CLI_OK;
}

int cmd_demo(int argc, char **argv)
{
	const char *dir = NULL;
	bool json = false;
	const struct cli_option options[] = {
		{ "dir", 'C', .text = &dir },
		{ "json", 'j', .flag = &json },
		{ 0 },
	};
	int status = cli_options("demo", argc, argv, options, 0, help);

	if (status)
		return cli_end(status);
	if (!dir)
		dir = getenv("TMPDIR");
	return demo_live(dir && *dir ? dir : "/tmp", json);
}
