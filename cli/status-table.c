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
#include "layer/status.h"

#define CELL STATUS_CELL

/* ---- cells ---- */

static void tb_rate(char out[CELL], const cJSON *job, const char *key)
{
	status_short(out, status_number(job, key));
}

static void tb_now(char out[CELL], const cJSON *job)
{
	tb_rate(out, job, "bandwidth_bps");
}

static void tb_average(char out[CELL], const cJSON *job)
{
	tb_rate(out, job, "average_bps");
}

static void tb_clients(char out[CELL], const cJSON *job)
{
	status_tiny(out, status_number(job, "clients"));
}

static void tb_iops(char out[CELL], const cJSON *job)
{
	tb_rate(out, job, "iops");
}

static void tb_queue(char out[CELL], const cJSON *job)
{
	tb_rate(out, job, "queued_requests");
}

static void tb_held(char out[CELL], const cJSON *job)
{
	status_time(out, status_number(job, "throttled_s"));
}

static void tb_latency(char out[CELL], const cJSON *job, const char *key)
{
	const cJSON *latency = cJSON_GetObjectItemCaseSensitive(job, "latency_us");

	status_time(out, status_number(latency, key) / 1e6);
}

static void tb_p50(char out[CELL], const cJSON *job)
{
	tb_latency(out, job, "p50");
}

static void tb_p99(char out[CELL], const cJSON *job)
{
	tb_latency(out, job, "p99");
}

static void tb_set(char out[CELL], const cJSON *job)
{
	const cJSON *set = cJSON_GetObjectItemCaseSensitive(job, "set");

	if (cJSON_IsNumber(set))
		snprintf(out, CELL, "S%.0f", set->valuedouble);
	else
		snprintf(out, CELL, "-");
}

static void tb_share(char out[CELL], const cJSON *job)
{
	snprintf(out, CELL, "%.0f", 100.0 * status_number(job, "share"));
}

/* What was asked for; a limit in force that is another one stands in --json. */
static void tb_limit(char out[CELL], const cJSON *job, const char *key)
{
	if (status_number(job, key) > 0)
		tb_rate(out, job, key);
	else
		snprintf(out, CELL, "-");
}

static void tb_min(char out[CELL], const cJSON *job)
{
	tb_limit(out, job, "asked_min_bps");
}

static void tb_max(char out[CELL], const cJSON *job)
{
	tb_limit(out, job, "asked_max_bps");
}

static void tb_weight(char out[CELL], const cJSON *job)
{
	status_tiny(out, status_number(job, "weight"));
}

static void tb_written(char out[CELL], const cJSON *job)
{
	tb_rate(out, job, "write_bytes");
}

static void tb_read(char out[CELL], const cJSON *job)
{
	tb_rate(out, job, "read_bytes");
}

static void tb_period(char out[CELL], const cJSON *job)
{
	if (status_number(job, "period_s") > 0)
		status_time(out, status_number(job, "period_s"));
	else
		snprintf(out, CELL, "-");
}

static void tb_merge(char out[CELL], const cJSON *job)
{
	snprintf(out, CELL, "%.1f", status_number(job, "merge_ratio"));
}

/* "w strided 16K/8": writes, calls of 16 KB in the mean, 8 files. */
static void tb_pattern(char out[CELL], const cJSON *job)
{
	const cJSON *p = cJSON_GetObjectItemCaseSensitive(job, "pattern");
	const char *op = status_string(p, "op");
	char bytes[CELL], files[CELL];

	snprintf(out, CELL, "-");
	if (*op == '?')
		return;
	status_short(bytes, status_number(p, "call_bytes"));
	status_short(files, status_number(p, "files"));
	snprintf(out, CELL, "%c %.10s %.5s/%.4s", *op, status_string(p, "spatiality"), bytes,
		 files);
}

static void tb_order(char out[CELL], const cJSON *job)
{
	snprintf(out, CELL, "%.10s", status_string(job, "order"));
}

/* Of a layer with several nodes. */

static void tb_phase(char out[CELL], const cJSON *job)
{
	const cJSON *in_io = cJSON_GetObjectItemCaseSensitive(job, "in_io");

	snprintf(out, CELL, cJSON_IsTrue(in_io) ? "I/O" : "-");
}

static void tb_grant(char out[CELL], const cJSON *job)
{
	if (cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(job, "grant_bps")))
		tb_rate(out, job, "grant_bps");
	else
		snprintf(out, CELL, "-");
}

/* ---- the table ---- */

#define JOB_WIDTH 10

struct column {
	const char *title;
	unsigned width; /* with the space before */
	void (*put)(char out[CELL], const cJSON *job);
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
	{ "WRITE", 6, tb_written },    { "PERIOD", 7, tb_period },
	{ "MERGE", 6, tb_merge },      { "ORDER", 7, tb_order },
	{ "PATTERN", 23, tb_pattern }, { 0 },
};

/* The same for a layer with several. */
static const struct column many_nodes[] = {
	{ "CL", 4, tb_clients },
	{ "IONODES", 8, status_ionodes },
	{ "PHASE", 6, tb_phase },
	{ "GRANT", 6, tb_grant },
	{ "NOW", 6, tb_now },
	{ "AVG", 6, tb_average },
	{ "IOPS", 6, tb_iops },
	{ "QUEUE", 6, tb_queue },
	{ "HELD", 6, tb_held },
	{ "%", 4, tb_share },
	{ "MIN", 6, tb_min },
	{ "MAX", 6, tb_max },
	{ "P50", 6, tb_p50 },
	{ "P99", 6, tb_p99 },
	{ "SET", 4, tb_set },
	{ "WT", 4, tb_weight },
	{ "READ", 6, tb_read },
	{ "WRITE", 6, tb_written },
	{ "PERIOD", 7, tb_period },
	{ "MERGE", 6, tb_merge },
	{ "ORDER", 7, tb_order },
	{ "PATTERN", 23, tb_pattern },
	{ 0 },
};

static int tb_by_name(const void *a, const void *b)
{
	/* Numbers by their value: 9 before 10. */
	return strverscmp(status_string(*(const cJSON *const *)a, "job"),
			  status_string(*(const cJSON *const *)b, "job"));
}

static void tb_job(FILE *f, const cJSON *job, unsigned name_width, const struct column *table,
		   size_t columns)
{
	const char *name = status_string(job, "job");
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

static void tb_jobs(FILE *f, const cJSON *jobs, const struct column *table, unsigned width)
{
	int count = cJSON_GetArraySize(jobs);
	const cJSON **sorted = calloc((size_t)count + 1, sizeof(*sorted)), *job;
	unsigned used = JOB_WIDTH, name_width = JOB_WIDTH;
	size_t columns = 0, n = 0;

	if (!sorted)
		return;
	cJSON_ArrayForEach(job, jobs) sorted[n++] = job;
	qsort(sorted, n, sizeof(*sorted), tb_by_name);
	while (table[columns].title && used + table[columns].width <= width)
		used += table[columns++].width;
	for (size_t i = 0; i < n; i++) {
		unsigned length = (unsigned)strlen(status_string(sorted[i], "job"));

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

/* What went past the scheduler, if anything did. */
static void tb_unscheduled(FILE *f, const cJSON *jobs)
{
	const cJSON *job;

	cJSON_ArrayForEach(job, jobs)
	{
		double bytes = status_number(job, "unscheduled_bytes");
		char cell[CELL];

		if (bytes <= 0)
			continue;
		status_short(cell, bytes);
		fprintf(f, "Unscheduled: %sB of job %s\n", cell, status_string(job, "job"));
	}
}

/* ---- the layer ---- */

/* A capacity that is found: what, and why. False: it is given, or not. */
static bool tb_found(FILE *f, const cJSON *tree)
{
	const cJSON *found = cJSON_GetObjectItemCaseSensitive(tree, "capacity_auto");
	double write_bps = status_number(found, "write_bps"),
	       paced = status_number(found, "paced_bps");
	char a[32], b[32];

	if (!cJSON_IsObject(found))
		return false;
	if (write_bps > 0)
		fprintf(f, "Capacity: auto, found %s to read and %s to write",
			sl_format_rate(a, sizeof(a), (uint64_t)status_number(found, "read_bps")),
			sl_format_rate(b, sizeof(b), (uint64_t)write_bps));
	else
		fprintf(f, "Capacity: auto, not found yet");
	if (paced > 0)
		fprintf(f, "; held to %s now", sl_format_rate(a, sizeof(a), (uint64_t)paced));
	else
		fprintf(f, "; nobody is held now");
	fprintf(f, "\n          (%s)\n", status_string(found, "why"));
	return true;
}

static void tb_layer(FILE *f, const char *name, const char *listen, const cJSON *tree)
{
	const cJSON *policy = cJSON_GetObjectItemCaseSensitive(tree, "policy");
	char a[32], b[32], batches[CELL], up[CELL];
	double capacity = status_number(tree, "capacity_bps"),
	       floors = status_number(tree, "floors_bps");

	status_time(up, status_number(tree, "uptime_s"));
	fprintf(f, "Layer '%s' for %s\n", name, status_string(tree, "root"));
	if (cJSON_GetObjectItemCaseSensitive(tree, "ionodes"))
		status_members(f, tree);
	else
		fprintf(f, "Node:     up %s, pid %.0f, %s\n", up, status_number(tree, "pid"),
			status_workers(a, tree));
	status_trace(f, "The node", tree);
	if (*listen)
		fprintf(f, "TCP:      %s\n", listen);
	if (!strcmp(status_string(tree, "mode"), "observe"))
		fprintf(f, "Mode:     observe: everything is measured, nothing is held\n");
	else if (!strcmp(status_string(tree, "mode"), "open"))
		fprintf(f, "Mode:     open: everything passes until 'sluice close'\n");
	fprintf(f, "Policies: admit=%s share=%s order=%s\n", status_string(policy, "admit"),
		status_string(policy, "share"), status_string(policy, "order"));
	if (tb_found(f, tree))
		;
	else if (capacity > 0)
		fprintf(f, "Capacity: %s, of which %s promised%s\n",
			sl_format_rate(a, sizeof(a), (uint64_t)capacity),
			sl_format_rate(b, sizeof(b), (uint64_t)floors),
			!strcmp(status_string(tree, "charge"), "calls") ? "; calls are charged"
									: "");
	else
		fprintf(f, "Capacity: not given\n");
	status_short(a, status_number(tree, "bandwidth_bps"));
	status_short(b, status_number(tree, "iops"));
	fprintf(f, "Now:      %sB/s, %s %s", a, b, status_plural(b, "request/s", "requests/s"));
	status_short(a, status_number(tree, "decisions_per_s"));
	fprintf(f, ", %s %s\n", a, status_plural(a, "decision/s", "decisions/s"));
	snprintf(b, sizeof(b), "%.0f", status_number(tree, "requests"));
	snprintf(batches, sizeof(batches), "%.0f", status_number(tree, "inflight_batches"));
	fprintf(f, "Inside:   %s %s; %s in flight, in %s %s (window %.0f)\n", b,
		status_plural(b, "request", "requests"),
		sl_format_bytes(a, sizeof(a), (uint64_t)status_number(tree, "inflight_bytes")),
		batches, status_plural(batches, "batch", "batches"),
		status_number(tree, "window_batches"));
}

void status_table(FILE *f, const char *name, const char *listen, const cJSON *tree,
		  unsigned columns)
{
	bool many = cJSON_GetObjectItemCaseSensitive(tree, "ionodes");
	const cJSON *jobs = cJSON_GetObjectItemCaseSensitive(tree, "jobs");

	tb_layer(f, name, listen, tree);
	putc('\n', f);
	if (cJSON_GetArraySize(jobs) > 0) {
		tb_jobs(f, jobs, many ? many_nodes : one_node, columns);
		tb_unscheduled(f, jobs);
	} else if (strcmp(name, "default") != 0) {
		fprintf(f, "No jobs yet: 'sluice run --name %s -- COMMAND' starts one.\n", name);
	} else {
		fprintf(f, "No jobs yet: 'sluice run -- COMMAND' starts one.\n");
	}
	if (many)
		status_nodes(f, name, tree);
}
