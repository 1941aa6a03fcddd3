/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of `sluice status`. 80 columns hold all that one needs to see who does what; columns
 * behind those are added while they fit, then names of jobs get the room that is left.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/status-text.h"

#define CELL STATUS_CELL

/* ---- cells ---- */

static void tb_now(char out[CELL], const struct status_job *job)
{
	status_short(out, job->bandwidth_bps);
}

static void tb_average(char out[CELL], const struct status_job *job)
{
	status_short(out, job->average_bps);
}

static void tb_clients(char out[CELL], const struct status_job *job)
{
	status_tiny(out, job->clients);
}

static void tb_iops(char out[CELL], const struct status_job *job)
{
	status_short(out, job->iops);
}

static void tb_queue(char out[CELL], const struct status_job *job)
{
	status_short(out, job->queued_requests);
}

static void tb_held(char out[CELL], const struct status_job *job)
{
	status_time(out, job->throttled_s);
}

static void tb_p50(char out[CELL], const struct status_job *job)
{
	status_time(out, job->latency_us_p50 / 1e6);
}

static void tb_p99(char out[CELL], const struct status_job *job)
{
	status_time(out, job->latency_us_p99 / 1e6);
}

static void tb_set(char out[CELL], const struct status_job *job)
{
	if (isnan(job->set))
		snprintf(out, CELL, "-");
	else
		snprintf(out, CELL, "S%.0f", job->set);
}

static void tb_share(char out[CELL], const struct status_job *job)
{
	snprintf(out, CELL, "%.0f", 100.0 * job->share);
}

/* The limit that was asked for, or that a rule allows; --json has the part of each node. */
static void tb_limit(char out[CELL], double bps)
{
	if (bps > 0)
		status_short(out, bps);
	else
		snprintf(out, CELL, "-");
}

static void tb_min(char out[CELL], const struct status_job *job)
{
	tb_limit(out, job->asked_min_bps);
}

static void tb_max(char out[CELL], const struct status_job *job)
{
	tb_limit(out, job->allowed_max_bps);
}

static void tb_weight(char out[CELL], const struct status_job *job)
{
	status_tiny(out, job->weight);
}

static void tb_written(char out[CELL], const struct status_job *job)
{
	status_short(out, job->write_bytes);
}

static void tb_read(char out[CELL], const struct status_job *job)
{
	status_short(out, job->read_bytes);
}

static void tb_dirty(char out[CELL], const struct status_job *job)
{
	status_short(out, job->dirty_bytes);
}

static void tb_cached(char out[CELL], const struct status_job *job)
{
	status_short(out, job->cached_bytes);
}

static void tb_wire(char out[CELL], const struct status_job *job)
{
	status_short(out, job->wire_bytes);
}

static void tb_period(char out[CELL], const struct status_job *job)
{
	if (job->period_s > 0)
		status_time(out, job->period_s);
	else
		snprintf(out, CELL, "-");
}

static void tb_merge(char out[CELL], const struct status_job *job)
{
	snprintf(out, CELL, "%.1f", job->merge_ratio);
}

/* "w strided 16K/8": writes, calls of 16 KB in the mean, 8 files. */
static void tb_pattern(char out[CELL], const struct status_job *job)
{
	char bytes[CELL], files[CELL];

	snprintf(out, CELL, "-");
	if (!job->pattern_op)
		return;
	status_short(bytes, job->pattern_call_bytes);
	status_short(files, job->pattern_files);
	snprintf(out, CELL, "%c %.10s %.5s/%.4s", *job->pattern_op,
		 status_known(job->pattern_spatiality), bytes, files);
}

static void tb_order(char out[CELL], const struct status_job *job)
{
	snprintf(out, CELL, "%.10s", status_known(job->order));
}

static void tb_ops(char out[CELL], const struct status_job *job)
{
	status_short(out, job->ops_per_s);
}

static void tb_max_ops(char out[CELL], const struct status_job *job)
{
	if (job->max_ops > 0)
		status_short(out, job->max_ops);
	else
		snprintf(out, CELL, "-");
}

static void tb_ops_held(char out[CELL], const struct status_job *job)
{
	status_time(out, job->ops_held_s);
}

/* For a layer with several nodes. */

static void tb_phase(char out[CELL], const struct status_job *job)
{
	snprintf(out, CELL, job->in_io == 1 ? "I/O" : "-");
}

static void tb_grant(char out[CELL], const struct status_job *job)
{
	if (isnan(job->grant_bps))
		snprintf(out, CELL, "-");
	else
		status_short(out, job->grant_bps);
}

/* ---- the table ---- */

#define JOB_WIDTH 10

struct column {
	const char *title;
	unsigned width; /* with the space before */
	void (*put)(char out[CELL], const struct status_job *job);
};

/* The first ones and JOB_WIDTH are 80 together. */
static const struct column one_node[] = {
	{ "CL", 4, tb_clients },       { "NOW", 6, tb_now },
	{ "AVG", 6, tb_average },      { "IOPS", 6, tb_iops },
	{ "QUEUE", 6, tb_queue },      { "HELD", 6, tb_held },
	{ "P50", 6, tb_p50 },	       { "P99", 6, tb_p99 },
	{ "SET", 4, tb_set },	       { "%", 4, tb_share },
	{ "MIN", 6, tb_min },	       { "MAX", 6, tb_max },
	{ "WT", 4, tb_weight },	       { "READ", 6, tb_read },
	{ "WRITE", 6, tb_written },    { "OPS", 6, tb_ops },
	{ "PERIOD", 7, tb_period },    { "MERGE", 6, tb_merge },
	{ "WIRE", 6, tb_wire },	       { "CACHED", 7, tb_cached },
	{ "DIRTY", 6, tb_dirty },      { "OPMAX", 6, tb_max_ops },
	{ "OPHELD", 7, tb_ops_held },  { "ORDER", 7, tb_order },
	{ "PATTERN", 23, tb_pattern }, { 0 },
};

/* The same for a layer with several. */
static const struct column many_nodes[] = {
	{ "CL", 4, tb_clients },       { "IONODES", 8, status_ionodes },
	{ "PHASE", 6, tb_phase },      { "GRANT", 6, tb_grant },
	{ "NOW", 6, tb_now },	       { "AVG", 6, tb_average },
	{ "IOPS", 6, tb_iops },	       { "QUEUE", 6, tb_queue },
	{ "HELD", 6, tb_held },	       { "%", 4, tb_share },
	{ "MIN", 6, tb_min },	       { "MAX", 6, tb_max },
	{ "P50", 6, tb_p50 },	       { "P99", 6, tb_p99 },
	{ "SET", 4, tb_set },	       { "WT", 4, tb_weight },
	{ "READ", 6, tb_read },	       { "WRITE", 6, tb_written },
	{ "OPS", 6, tb_ops },	       { "OPMAX", 6, tb_max_ops },
	{ "OPHELD", 7, tb_ops_held },  { "WIRE", 6, tb_wire },
	{ "CACHED", 7, tb_cached },    { "DIRTY", 6, tb_dirty },
	{ "PERIOD", 7, tb_period },    { "SURE", 5, status_sure },
	{ "MERGE", 6, tb_merge },      { "ORDER", 7, tb_order },
	{ "PATTERN", 23, tb_pattern }, { 0 },
};

static int tb_by_name(const void *a, const void *b)
{
	/* Numbers by their value: 9 before 10. */
	return strverscmp((*(const struct status_job *const *)a)->job,
			  (*(const struct status_job *const *)b)->job);
}

static void tb_job(FILE *f, const struct status_job *job, unsigned name_width,
		   const struct column *table, size_t columns)
{
	const char *name = job->job;
	char cell[CELL];

	if (strlen(name) > name_width)
		fprintf(f, "%.*s~", (int)name_width - 1, name);
	else
		fprintf(f, "%-*s", (int)name_width, name);
	for (size_t i = 0; i < columns; i++) {
		table[i].put(cell, job);
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

static void tb_jobs(FILE *f, const struct status *s, const struct column *table, unsigned width)
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

/* Limits on a job's operations, data calls, and bytes of one direction. */
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

/* Prints the bytes that went past the scheduler, if any. */
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
			"          Another file system is mounted at %s. Its I/O counts here, too: "
			"give it "
			"a layer of its own.\n",
			s->capacity_auto_mounted_below);
}

/* Metadata operations, if there are some or they are limited. */
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
		fprintf(f, "Mode:     observe: everything is measured, nothing is held\n");
	else if (!strcmp(mode, "open"))
		fprintf(f, "Mode:     open: everything passes until 'sluice close'\n");
	if (s->config_error)
		fprintf(f, "Config:   refused, the one before is in force: %s\n", s->config_error);
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
