/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice bench sim`: events per second of the simulator.
 *
 * Phase level: n applications, each with 100 s of computing and an n-th of the bytes that the disk
 * moves in 100 s; both vary uniformly from half to one and a half in each iteration. So the disk is
 * slightly overloaded, most of the time several applications share it, and no two events coincide.
 * An event is the start or end of an I/O phase; creating and freeing the machine is included.
 * Request level: the load of sim/requests-bench.c; an event is a request.
 *
 * CPU time of this thread, median of several runs; in between a baseline to compare machines by, as
 * in `sluice bench sched`: a binary heap of 10,000 keys whose top is replaced. An event of the
 * phase level does two operations on such a heap. The cost of an event may grow as log n, so the
 * column of ns over log2 n should not grow.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/cli.h"
#include "lab/bench/bench.h"
#include "lab/bench/common.h"
#include "lab/bench/measure.h"
#include "lab/statistics.h"
#include "sim/phase.h"
#include "sim/requests.h"

#define CMD	    "bench sim"
#define REPETITIONS 5
#define ENOUGH_NS   INT64_C(4000000000) /* of CPU time for a row */
#define HEAP_NS	    3000000

struct row {
	bool requests; /* else phases */
	const char *policy;
	uint32_t apps;
	uint64_t events;
	double goal; /* events a second; 0: none */
};

static const struct row rows[] = {
	{ false, "fair-share", 100, 10000000, 2e6 },   { false, "fair-share", 1024, 204800, 5e6 },
	{ false, "fair-share", 10000, 2000000, 0 },    { false, "fair-share", 100000, 20000000, 0 },
	{ false, "fcfs", 100, 10000000, 0 },	       { false, "round-robin", 100, 10000000, 0 },
	{ false, "min-dilation", 100, 10000000, 2e6 }, { false, "max-sys-eff", 100, 10000000, 0 },
	{ false, "set-10", 100, 10000000, 0 },	       { true, "order=to", 16, 1000000, 1e6 },
	{ true, "order=to-agg", 16, 1000000, 1e6 },    { true, "order=aioli", 16, 1000000, 1e6 },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct result {
	uint64_t events;
	double ns, heap_ns; /* an event; baseline, at the same time */
};

static const char *level(const struct row *row)
{
	return row->requests ? "request" : "phase";
}

/* ---- measuring ---- */

static struct sl_app *phase_apps(const struct row *row, uint64_t events)
{
	struct sl_app *apps = calloc(row->apps, sizeof(*apps));
	uint64_t iterations = events / (2 * (uint64_t)row->apps);
	double compute_s = 100, bytes = 1e11 * compute_s / row->apps;

	for (uint32_t i = 0; apps && i < row->apps; i++) {
		apps[i] = (struct sl_app){
			.procs = 1,
			.iterations = iterations ? iterations : 1,
			.compute_s = { SL_VARY_UNIFORM, 0, compute_s / 2, compute_s * 1.5, NULL },
			.volume_bytes = { SL_VARY_UNIFORM, 0, bytes / 2, bytes * 1.5, NULL },
		};
		snprintf(apps[i].name, sizeof(apps[i].name), "app-%u", i + 1);
	}
	return apps;
}

static int phase_run(const struct row *row, const struct sl_scenario *s, uint64_t *done, char *err,
		     size_t err_size)
{
	struct sl_phase_options options = { .policy = row->policy, .seed = 1 };
	struct sl_sim_metrics m;
	int rc = sl_phase_run(s, &options, &m, NULL, err, err_size);

	*done = rc ? 0 : m.events;
	return rc;
}

static int request_run(const struct row *row, uint64_t events, uint64_t *done, char *err,
		       size_t err_size)
{
	struct sl_requests_result r;
	int rc = sl_requests_bench(row->policy, row->apps, events, &r, err, err_size);

	*done = rc ? 0 : r.requests;
	return rc;
}

static int measure(const struct row *row, bool quick, struct bench_heap *heap, struct result *out)
{
	struct sl_scenario s = { .platform = { .bandwidth_bps = 1e11, .servers = 1 },
				 .n_apps = row->apps };
	uint64_t events = quick ? row->events / 20 : row->events;
	double ns[REPETITIONS], heap_ns[REPETITIONS];
	int64_t spent_ns = 0;
	char err[500] = "";
	unsigned n = 0;
	int rc = 0;

	if (!row->requests && !(s.apps = phase_apps(row, events)))
		return cli_fail(CMD, "out of memory.");
	while (!rc && n < (quick ? 1 : REPETITIONS) && spent_ns < ENOUGH_NS) {
		int64_t begin;

		heap_ns[n] = bench_heap_measure(heap, HEAP_NS);
		begin = bench_cpu_ns();
		rc = row->requests ? request_run(row, events, &out->events, err, sizeof(err))
				   : phase_run(row, &s, &out->events, err, sizeof(err));
		begin = bench_cpu_ns() - begin;
		ns[n++] = (double)begin / (double)out->events;
		spent_ns += begin;
	}
	free(s.apps);
	if (rc)
		return cli_fail(CMD, "%s.", err);
	out->ns = stat_median(ns, n);
	out->heap_ns = stat_median(heap_ns, n);
	return CLI_OK;
}

/* ---- output ---- */

static bool met(const struct row *row, const struct result *r)
{
	return 1e9 / r->ns >= row->goal;
}

static void print_row(const struct row *row, const struct row *last, const struct result *r)
{
	char goal[32] = "", growth[32] = "";

	if (!last || last->requests != row->requests)
		printf("\n%-13s %6s %9s %8s %8s %6s %13s %6s\n", level(row), "apps",
		       row->requests ? "requests" : "events", "M/s", "ns", "/log2", "goal M/s",
		       "/ heap");
	if (row->goal > 0)
		snprintf(goal, sizeof(goal), "%g %s", row->goal / 1e6,
			 met(row, r) ? "met" : "MISSED");
	if (!row->requests)
		snprintf(growth, sizeof(growth), "%.1f", r->ns / log2(row->apps));
	printf("%-13s %6u %9" PRIu64 " %8.2f %8.1f %6s %13s %6.2f\n", row->policy, row->apps,
	       r->events, 1e3 / r->ns, r->ns, growth, goal, r->ns / r->heap_ns);
	fflush(stdout);
}

static void json_row(struct json *j, const struct row *row, const struct result *r)
{
	json_object(j, NULL);
	json_string(j, "level", level(row));
	json_string(j, "policy", row->policy);
	json_uint(j, "apps", row->apps);
	json_uint(j, "events", r->events);
	json_double(j, "events_per_s", bench_rounded(1e9 / r->ns, 1));
	json_double(j, "ns_per_event", bench_rounded(r->ns, 10));
	json_double(j, "ratio_to_heap", bench_rounded(r->ns / r->heap_ns, 100));
	if (row->goal > 0) {
		json_double(j, "goal_events_per_s", row->goal);
		json_bool(j, "goal_met", met(row, r));
	}
	json_end(j);
	fflush(j->f);
}

/* ---- the command ---- */

static bool wanted(const struct row *row, const char *filter)
{
	char label[200];

	snprintf(label, sizeof(label), " level=%s policy=%s apps=%u ", level(row), row->policy,
		 row->apps);
	return bench_holds(label, filter);
}

static int measure_all(const char *filter, bool quick, bool json)
{
	struct bench_heap *heap = bench_heap_create();
	const struct row *last = NULL;
	struct json j;
	int status = heap ? CLI_OK : cli_fail(CMD, "out of memory.");

	if (!status && json)
		bench_json_begin(&j, "sim");
	for (size_t i = 0; !status && i < ROWS; i++) {
		struct result r = { 0, 0, 0 };

		if (!wanted(&rows[i], filter))
			continue;
		status = measure(&rows[i], quick, heap, &r);
		if (status)
			break;
		if (json)
			json_row(&j, &rows[i], &r);
		else
			print_row(&rows[i], last, &r);
		last = &rows[i];
	}
	free(heap);
	if (!status && json) {
		json_end(&j);
		json_end(&j);
	}
	return status;
}

int bench_sim(int argc, char **argv)
{
	const char *filter = "";
	bool json = false, quick = false, any = false;
	const struct cli_option options[] = {
		{ "filter", 'f', "TEXT", .text = &filter,
		  .help = "only rows that contain every word of TEXT, such as 'level=phase "
			  "apps=100'" },
		{ "quick", 'q', NULL, .flag = &quick, .help = "shorter and less accurate" },
		CLI_JSON(&json),
		{ 0 },
	};
	const struct cli_command command = {
		.name = CMD,
		.usage = "bench sim [--quick] [--filter TEXT] [--json]",
		.about =
			"Measures how many events the simulator processes in a second of CPU time: "
			"starts and ends of I/O phases, or requests.",
		.options = options,
	};
	int status;

	if ((status = cli_next(&command, argc, argv)))
		return cli_end(status);
	for (size_t i = 0; i < ROWS; i++)
		any |= wanted(&rows[i], filter);
	if (!any)
		return cli_usage(CMD, "no row contains every word of '%s'.", filter);
	return measure_all(filter, quick, json);
}
