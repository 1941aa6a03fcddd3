/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice run` in sluice-tools: with all that reads the status of a node. */
#include <cjson/cJSON.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/run.h"

static bool st_no_capacity(const char *status)
{
	cJSON *tree = cJSON_Parse(status);
	const cJSON *bps = cJSON_GetObjectItemCaseSensitive(tree, "capacity_bps");
	bool none = cJSON_IsNumber(bps) && bps->valuedouble <= 0;

	cJSON_Delete(tree);
	return none;
}

static void st_root(const char *status, char out[PATH_MAX])
{
	cJSON *tree = cJSON_Parse(status);
	const char *root = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(tree, "root"));

	snprintf(out, PATH_MAX, "%s", root ? root : "");
	cJSON_Delete(tree);
}

int cmd_run(int argc, char **argv)
{
	static const struct run_status reads = { st_no_capacity, st_root, run_summary };

	return run_command(argc, argv, &reads);
}
