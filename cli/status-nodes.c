/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of `sluice status` about the members of a layer, if there are several. */
#include <string.h>

#include "cli/status-text.h"

static bool sn_is(const char *state, const char *what)
{
	return state && !strcmp(state, what);
}

void status_members(FILE *f, const struct status *s)
{
	const struct status_controller *c = &s->controller;
	unsigned up = 0;
	char time[STATUS_CELL], workers[STATUS_CELL], machines[48] = "";

	for (size_t i = 0; i < s->ionodes_count; i++)
		up += sn_is(s->ionodes[i].state, "up");
	status_time(time, s->uptime_s);
	if (s->machines > 1)
		snprintf(machines, sizeof(machines), "; on one of %.0f machines", s->machines);
	fprintf(f, "Nodes:    %u of %zu up, for %s, %s%s\n", up, s->ionodes_count, time,
		status_workers(workers, s->workers), machines);
	if (!c->state)
		return;
	if (!sn_is(c->state, "up")) {
		fprintf(f, "Control:  %s; grants have expired, all other settings stay in force\n",
			c->state);
		return;
	}
	status_time(time, c->uptime_s);
	fprintf(f, "Control:  up %s, pid %.0f, epoch %.0f, allocate=%s grant=%s\n", time, c->pid,
		c->epoch, status_known(c->allocate), status_known(c->grant));
}

static void sn_node(FILE *f, const struct status_ionode *n)
{
	const double cells[] = { n->jobs, n->clients, n->bandwidth_bps, n->iops, n->requests };
	char cell[STATUS_CELL];

	fprintf(f, "%-8s %-6s %8.0f", status_known(n->name), status_known(n->state), n->pid);
	if (!sn_is(n->state, "up")) {
		putc('\n', f);
		return;
	}
	status_time(cell, n->uptime_s);
	fprintf(f, "%7s", cell);
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		status_short(cell, cells[i]);
		fprintf(f, "%7s", cell);
	}
	if (n->draw_bps > 0)
		status_short(cell, n->draw_bps);
	fprintf(f, "%7s\n", n->draw_bps > 0 ? cell : "-");
}

static void sn_dead(FILE *f, const char *who, const char *state, const char *log, double pid)
{
	if (sn_is(state, "died"))
		fprintf(f, "%s has died; its log is %s\n", who, log);
	else if (sn_is(state, "silent"))
		fprintf(f,
			"%s (pid %.0f) does not answer; its log is %s\n"
			"  'kill -CONT %.0f' resumes it if it was stopped; 'kill -KILL %.0f' ends "
			"it.\n",
			who, pid, log, pid, pid);
}

void status_trace(FILE *f, const char *who, const char *state, const char *file, const char *error)
{
	if (sn_is(state, "stopped"))
		fprintf(f, "%s has stopped recording into %s: %s\n", who, status_known(file),
			status_known(error));
}

const char *status_workers(char out[STATUS_CELL], double workers)
{
	char number[STATUS_CELL];

	snprintf(number, sizeof(number), "%.0f", workers);
	snprintf(out, STATUS_CELL, "%.12s %s", number, status_plural(number, "worker", "workers"));
	return out;
}

void status_nodes(FILE *f, const char *name, const struct status *s)
{
	const struct status_controller *c = &s->controller;
	bool died = sn_is(c->state, "died");
	char who[32];

	fprintf(f, "\n%-8s %-6s %8s%7s%7s%7s%7s%7s%7s%7s\n", "IONODE", "STATE", "PID", "UP", "JOBS",
		"CL", "NOW", "IOPS", "INSIDE", "CAP");
	for (size_t i = 0; i < s->ionodes_count; i++) {
		sn_node(f, &s->ionodes[i]);
		died |= sn_is(s->ionodes[i].state, "died");
	}
	sn_dead(f, "The controller", c->state, status_known(c->log), c->pid);
	for (size_t i = 0; i < s->ionodes_count; i++) {
		const struct status_ionode *n = &s->ionodes[i];

		snprintf(who, sizeof(who), "I/O node %s", status_known(n->name));
		sn_dead(f, who, n->state, status_known(n->log), n->pid);
		status_trace(f, who, n->trace_state, n->trace_file, n->trace_error);
	}
	if (died && strcmp(name, LAYER_DEFAULT) != 0)
		fprintf(f, "'sluice up --revive --name %s' restarts them.\n", name);
	else if (died)
		fprintf(f, "'sluice up --revive' restarts them.\n");
}
