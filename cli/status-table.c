/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of `sluice status`. The most important columns fit 80 characters. Further columns are
 * added while they fit; then the names of jobs get the rest.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/status-text.h"

#define CELL STATUS_CELL

/* ---- the table ---- */

#define JOB_WIDTH 10

/* The first columns and JOB_WIDTH make 80 together. */
static const struct status_column one_node[] = {
	{ "CL", 4, STATUS_CLIENTS },	   { "NOW", 6, STATUS_NOW },
	{ "AVG", 6, STATUS_AVERAGE },	   { "IOPS", 6, STATUS_IOPS },
	{ "QUEUE", 6, STATUS_QUEUE },	   { "HELD", 6, STATUS_HELD },
	{ "P50", 6, STATUS_P50 },	   { "P99", 6, STATUS_P99 },
	{ "SET", 4, STATUS_SET },	   { "%", 4, STATUS_SHARE },
	{ "MIN", 6, STATUS_MIN },	   { "MAX", 6, STATUS_MAX },
	{ "WT", 4, STATUS_WEIGHT },	   { "READ", 6, STATUS_READ },
	{ "WRITE", 6, STATUS_WRITTEN },	   { "OPS", 6, STATUS_OPS },
	{ "PERIOD", 7, STATUS_PERIOD },	   { "MERGE", 6, STATUS_MERGE },
	{ "WIRE", 6, STATUS_WIRE },	   { "CACHED", 7, STATUS_CACHED },
	{ "DIRTY", 6, STATUS_DIRTY },	   { "OPMAX", 6, STATUS_MAX_OPS },
	{ "OPHELD", 7, STATUS_OPS_HELD },  { "ORDER", 7, STATUS_ORDER },
	{ "PATTERN", 23, STATUS_PATTERN }, { 0 },
};

/* The same for a layer with several. */
static const struct status_column many_nodes[] = {
	{ "CL", 4, STATUS_CLIENTS },	   { "IONODES", 8, STATUS_IONODES },
	{ "PHASE", 6, STATUS_PHASE },	   { "GRANT", 6, STATUS_GRANT },
	{ "NOW", 6, STATUS_NOW },	   { "AVG", 6, STATUS_AVERAGE },
	{ "IOPS", 6, STATUS_IOPS },	   { "QUEUE", 6, STATUS_QUEUE },
	{ "HELD", 6, STATUS_HELD },	   { "%", 4, STATUS_SHARE },
	{ "MIN", 6, STATUS_MIN },	   { "MAX", 6, STATUS_MAX },
	{ "P50", 6, STATUS_P50 },	   { "P99", 6, STATUS_P99 },
	{ "SET", 4, STATUS_SET },	   { "WT", 4, STATUS_WEIGHT },
	{ "READ", 6, STATUS_READ },	   { "WRITE", 6, STATUS_WRITTEN },
	{ "OPS", 6, STATUS_OPS },	   { "OPMAX", 6, STATUS_MAX_OPS },
	{ "OPHELD", 7, STATUS_OPS_HELD },  { "WIRE", 6, STATUS_WIRE },
	{ "CACHED", 7, STATUS_CACHED },	   { "DIRTY", 6, STATUS_DIRTY },
	{ "PERIOD", 7, STATUS_PERIOD },	   { "SURE", 5, STATUS_SURE },
	{ "MERGE", 6, STATUS_MERGE },	   { "ORDER", 7, STATUS_ORDER },
	{ "PATTERN", 23, STATUS_PATTERN }, { 0 },
};

static int tb_by_name(const void *a, const void *b)
{
	/* Compare numbers by value: 9 before 10. */
	return strverscmp((*(const struct status_job *const *)a)->job,
			  (*(const struct status_job *const *)b)->job);
}

static void tb_job(FILE *f, const struct status_job *job, unsigned name_width,
		   const struct status_column *table, size_t columns)
{
	const char *name = job->job;
	char cell[CELL];

	if (strlen(name) > name_width)
		fprintf(f, "%.*s~", (int)name_width - 1, name);
	else
		fprintf(f, "%-*s", (int)name_width, name);
	for (size_t i = 0; i < columns; i++) {
		status_cell(cell, table[i].show, job);
		fprintf(f, "%*s", (int)table[i].width, cell);
	}
	putc('\n', f);
}

/* By name; to be freed. NULL: no memory. */
static const struct status_job **tb_sorted(const struct status *s)
{
	const struct status_job **sorted = calloc(s->jobs_count + 1, sizeof(*sorted));

	if (!sorted)
		return NULL;
	for (size_t i = 0; i < s->jobs_count; i++)
		sorted[i] = &s->jobs[i];
	qsort(sorted, s->jobs_count, sizeof(*sorted), tb_by_name);
	return sorted;
}

static void tb_jobs(FILE *f, const struct status *s, const struct status_column *table,
		    unsigned width)
{
	const struct status_job **sorted = tb_sorted(s);
	unsigned used = JOB_WIDTH, name_width = JOB_WIDTH;
	size_t columns = 0, n = s->jobs_count;

	if (!sorted)
		return;
	while (table[columns].title && used + table[columns].width <= width)
		used += table[columns++].width;
	for (size_t i = 0; i < n; i++) {
		unsigned length = (unsigned)strlen(sorted[i]->job);

		name_width = length > name_width ? length : name_width;
	}
	if (name_width - JOB_WIDTH > width - used)
		name_width = JOB_WIDTH + (width - used);
	fprintf(f, "%-*s", (int)name_width, "JOB");
	for (size_t i = 0; i < columns; i++)
		fprintf(f, "%*s", (int)table[i].width, table[i].title);
	putc('\n', f);
	for (size_t i = 0; i < n; i++)
		tb_job(f, sorted[i], name_width, table, columns);
	free(sorted);
}

/* Print each job's limits on operations, data calls, and bytes of one direction. */
static void tb_ops_limits(FILE *f, const struct status *s)
{
	const struct status_job **sorted = tb_sorted(s);
	char limits[400];

	for (size_t i = 0; sorted && i < s->jobs_count; i++) {
		status_ops(limits, sizeof(limits), sorted[i]);
		if (*limits)
			fprintf(f, "Limits: job %s: %s\n", sorted[i]->job, limits);
	}
	free(sorted);
}

/* Print the bytes that bypassed the scheduler, if any. */
static void tb_unscheduled(FILE *f, const struct status *s)
{
	char cell[CELL];

	for (size_t i = 0; i < s->jobs_count; i++) {
		if (s->jobs[i].unscheduled_bytes <= 0)
			continue;
		status_short(cell, s->jobs[i].unscheduled_bytes);
		fprintf(f, "Unscheduled: %sB of job %s\n", cell, s->jobs[i].job);
	}
}

/* ---- the layer ---- */

static void tb_capacity(FILE *f, const struct status *s)
{
	char a[32], b[32];

	if (!s->capacity_auto_state) {
		if (s->capacity_bps <= 0)
			fprintf(f, "Capacity: not given\n");
		else
			fprintf(f, "Capacity: %s, of which %s promised%s\n",
				sl_format_rate(a, sizeof(a), (uint64_t)s->capacity_bps),
				sl_format_rate(b, sizeof(b), (uint64_t)s->floors_bps),
				s->charge && !strcmp(s->charge, "calls") ? "; calls are charged"
									 : "");
		return;
	}
	if (s->capacity_auto_write_bps > 0)
		fprintf(f, "Capacity: auto, found %s to read and %s to write",
			sl_format_rate(a, sizeof(a), (uint64_t)s->capacity_auto_read_bps),
			sl_format_rate(b, sizeof(b), (uint64_t)s->capacity_auto_write_bps));
	else
		fprintf(f, "Capacity: auto, not found yet");
	if (s->capacity_auto_paced_bps > 0)
		fprintf(f, "; held to %s now",
			sl_format_rate(a, sizeof(a), (uint64_t)s->capacity_auto_paced_bps));
	else
		fprintf(f, "; no job is held now");
	fprintf(f, "\n          (%s)\n", status_known(s->capacity_auto_why));
	if (s->capacity_auto_mounted_below)
		fprintf(f,
			"          Another file system is mounted at %s. Its I/O counts here too: "
			"give it "
			"a layer of its own.\n",
			s->capacity_auto_mounted_below);
}

/* Print metadata operations, if there are any or they are limited. */
static void tb_ops_line(FILE *f, const struct status *s)
{
	char now[CELL], capacity[CELL];

	if (s->ops_per_s <= 0 && s->capacity_ops <= 0 && s->capacity_ops_found != 1)
		return;
	status_short(now, s->ops_per_s);
	status_short(capacity, s->capacity_ops);
	fprintf(f, "Metadata: %s %s", now, status_plural(now, "operation/s", "operations/s"));
	if (s->capacity_ops > 0)
		fprintf(f, " of %s%s", capacity, s->capacity_ops_found == 1 ? ", found" : "");
	else if (s->capacity_ops_found == 1)
		fprintf(f, "; auto, no job is held now");
	putc('\n', f);
}

static void tb_now_line(FILE *f, const struct status *s)
{
	char a[32], b[32], batches[CELL];

	status_short(a, s->bandwidth_bps);
	status_short(b, s->iops);
	fprintf(f, "Now:      %sB/s, %s %s", a, b, status_plural(b, "request/s", "requests/s"));
	status_short(a, s->decisions_per_s);
	fprintf(f, ", %s %s\n", a, status_plural(a, "decision/s", "decisions/s"));
	tb_ops_line(f, s);
	snprintf(b, sizeof(b), "%.0f", s->requests);
	snprintf(batches, sizeof(batches), "%.0f", s->inflight_batches);
	fprintf(f, "Requests: %s waiting or in flight; in flight %s in %s of at most %.0f %s\n", b,
		sl_format_bytes(a, sizeof(a), (uint64_t)s->inflight_bytes), batches,
		s->window_batches, s->window_batches == 1 ? "batch" : "batches");
}

static void tb_layer(FILE *f, const char *name, const char *listen, const struct status *s)
{
	const char *mode = status_known(s->mode);
	char workers[CELL], up[CELL];

	status_time(up, s->uptime_s);
	fprintf(f, "Layer '%s' for %s\n", name, status_known(s->root));
	if (s->ionodes)
		status_members(f, s);
	else
		fprintf(f, "Node:     up %s, pid %.0f, %s\n", up, s->pid,
			status_workers(workers, s->workers));
	status_trace(f, "The node", s->trace_state, s->trace_file, s->trace_error);
	if (*listen)
		fprintf(f, "TCP:      %s\n", listen);
	if (!strcmp(mode, "observe"))
		fprintf(f, "Mode:     observe: calls are measured but not held\n");
	else if (!strcmp(mode, "open"))
		fprintf(f, "Mode:     open: all requests pass until 'sluice close'\n");
	if (s->config_error)
		fprintf(f, "Config:   refused, the previous one stays in force: %s\n",
			s->config_error);
	fprintf(f, "Policies: admit=%s share=%s order=%s\n", status_known(s->policy_admit),
		status_known(s->policy_share), status_known(s->policy_order));
	tb_capacity(f, s);
	tb_now_line(f, s);
}

void status_table(FILE *f, const char *name, const char *listen, const struct status *s,
		  unsigned columns)
{
	bool many = s->ionodes;

	tb_layer(f, name, listen, s);
	putc('\n', f);
	if (s->jobs_count > 0) {
		tb_jobs(f, s, many ? many_nodes : one_node, columns);
		tb_ops_limits(f, s);
		tb_unscheduled(f, s);
	} else if (strcmp(name, "default") != 0) {
		fprintf(f, "No jobs yet: 'sluice run --name %s -- COMMAND' starts one.\n", name);
	} else {
		fprintf(f, "No jobs yet: 'sluice run -- COMMAND' starts one.\n");
	}
	if (many)
		status_nodes(f, name, s);
}
