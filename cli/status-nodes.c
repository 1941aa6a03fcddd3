/* SPDX-License-Identifier: Apache-2.0 */
/* What `sluice status` says of the members of a layer, if there are several. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "layer/status.h"

static const char *sn_state(const cJSON *member)
{
	return status_string(member, "state");
}

static bool sn_up(const cJSON *member)
{
	return !strcmp(sn_state(member), "up");
}

void status_members(FILE *f, const cJSON *tree)
{
	const cJSON *controller = cJSON_GetObjectItemCaseSensitive(tree, "controller"), *node;
	unsigned up = 0, count = 0;
	char time[STATUS_CELL], workers[STATUS_CELL];

	cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(tree, "ionodes"))
	{
		up += sn_up(node);
		count++;
	}
	status_time(time, status_number(tree, "uptime_s"));
	fprintf(f, "Nodes:    %u of %u up, for %s, %s\n", up, count, time,
		status_workers(workers, tree));
	if (!cJSON_IsObject(controller))
		return;
	if (!sn_up(controller)) {
		fprintf(f, "Control:  %s; grants have run out, and all else stays as it was\n",
			sn_state(controller));
		return;
	}
	status_time(time, status_number(controller, "uptime_s"));
	fprintf(f, "Control:  up %s, pid %.0f, epoch %.0f, allocate=%s grant=%s\n", time,
		status_number(controller, "pid"), status_number(controller, "epoch"),
		status_string(controller, "allocate"), status_string(controller, "grant"));
}

static void sn_node(FILE *f, const cJSON *node)
{
	static const char *const keys[] = { "jobs", "clients",	"bandwidth_bps",
					    "iops", "requests", "draw_bps" };
	char cell[STATUS_CELL];

	fprintf(f, "%-8s %-6s %8.0f", status_string(node, "name"), sn_state(node),
		status_number(node, "pid"));
	if (!sn_up(node)) {
		putc('\n', f);
		return;
	}
	status_time(cell, status_number(node, "uptime_s"));
	fprintf(f, "%7s", cell);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		double value = status_number(node, keys[i]);

		if (value <= 0 && !strcmp(keys[i], "draw_bps"))
			snprintf(cell, sizeof(cell), "-");
		else
			status_short(cell, value);
		fprintf(f, "%7s", cell);
	}
	putc('\n', f);
}

static void sn_dead(FILE *f, const char *who, const cJSON *member)
{
	if (!strcmp(sn_state(member), "died"))
		fprintf(f, "%s has died; its log is %s\n", who, status_string(member, "log"));
	else if (!strcmp(sn_state(member), "silent"))
		fprintf(f,
			"%s (pid %.0f) does not answer; its log is %s\n"
			"  'kill -CONT %.0f' if it was stopped; 'kill -KILL %.0f' gives it up.\n",
			who, status_number(member, "pid"), status_string(member, "log"),
			status_number(member, "pid"), status_number(member, "pid"));
}

void status_trace(FILE *f, const char *who, const cJSON *node)
{
	const cJSON *trace = cJSON_GetObjectItemCaseSensitive(node, "trace");

	if (cJSON_IsObject(trace) && !strcmp(status_string(trace, "state"), "stopped"))
		fprintf(f, "%s has stopped recording into %s: %s\n", who,
			status_string(trace, "file"), status_string(trace, "error"));
}

void status_nodes(FILE *f, const char *name, const cJSON *tree)
{
	const cJSON *controller = cJSON_GetObjectItemCaseSensitive(tree, "controller");
	const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(tree, "ionodes"), *node;
	bool died = !strcmp(sn_state(controller), "died");
	char who[32];

	fprintf(f, "\n%-8s %-6s %8s%7s%7s%7s%7s%7s%7s%7s\n", "IONODE", "STATE", "PID", "UP", "JOBS",
		"CL", "NOW", "IOPS", "INSIDE", "CAP");
	cJSON_ArrayForEach(node, nodes)
	{
		sn_node(f, node);
		died |= !strcmp(sn_state(node), "died");
	}
	if (cJSON_IsObject(controller))
		sn_dead(f, "The controller", controller);
	cJSON_ArrayForEach(node, nodes)
	{
		snprintf(who, sizeof(who), "I/O node %s", status_string(node, "name"));
		sn_dead(f, who, node);
		status_trace(f, who, node);
	}
	if (died && strcmp(name, LAYER_DEFAULT) != 0)
		fprintf(f, "'sluice up --revive --name %s' brings back what died.\n", name);
	else if (died)
		fprintf(f, "'sluice up --revive' brings back what died.\n");
}
