/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice run` in sluice-tools: with the functions that read the status of a node. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/run.h"
#include "wire/status.h"

static bool st_no_capacity(const char *status)
{
	struct status *s = status_decode(status);
	bool none = s && s->capacity_bps <= 0;

	status_free(s);
	return none;
}

static void st_root(const char *status, char out[PATH_MAX])
{
	struct status *s = status_decode(status);

	snprintf(out, PATH_MAX, "%s", s && s->root ? s->root : "");
	status_free(s);
}

int cmd_run(int argc, char **argv)
{
	static const struct run_status reads = { st_no_capacity, st_root, run_summary };

	return run_command(argc, argv, &reads);
}
