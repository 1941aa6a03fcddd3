/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice bench sched`: CPU time of a scheduling decision, for many combinations of policies and
 * loads, compared with the project's goals. measure.c measures a row; this file lists the rows and
 * prints them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "lab/bench/bench.h"
#include "lab/bench/common.h"
#include "lab/bench/measure.h"
#include "lab/statistics.h"

#define CMD	 "bench sched"
#define MAX_ROWS 128

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- rows ---- */

struct rows {
	struct bench_row row[MAX_ROWS];
	unsigned count;
};

static unsigned share_goal(const char *share, uint32_t jobs)
{
	if (strcmp(share, "wfq") != 0 && strcmp(share, "io-sets") != 0)
		return 0;
	return jobs == 1000 ? 250 : jobs == 10000 ? 400 : 0;
}

static void share_rows(struct rows *rows, const char *share, bool limits, bool no_periods)
{
	static const uint32_t jobs[] = { 10, 100, 1000, 10000 };

	for (size_t i = 0; i < COUNT(jobs); i++)
		rows->row[rows->count++] = (struct bench_row){
			.kind = BENCH_SHARE,
			.share = share,
			.order = "to",
			.jobs = jobs[i],
			.files = jobs[i],
			.outstanding = jobs[i] * (jobs[i] < 10000 ? 16 : 4),
			.limits = limits,
			.no_periods = no_periods,
			.goal_ns = share_goal(share, jobs[i]),
		};
}

static void order_rows(struct rows *rows, const char *order, bool wait)
{
	static const uint32_t files[] = { 1, 32, 1024 };

	for (size_t i = 0; i < 2 * COUNT(files); i++)
		rows->row[rows->count++] = (struct bench_row){
			.kind = BENCH_ORDER,
			.share = "wfq",
			.order = order,
			.jobs = 1,
			.files = files[i / 2],
			.outstanding = 10000,
			.random = i % 2,
			.wait = wait,
			.goal_ns = strcmp(order, "to") == 0 ? 120 : 300,
		};
}

static void admit_row(struct rows *rows, uint32_t jobs)
{
	rows->row[rows->count++] = (struct bench_row){
		.kind = BENCH_ADMIT,
		.share = "-",
		.order = "-",
		.jobs = jobs,
		.limits = true,
		.goal_ns = 30,
	};
}

static void all_rows(struct rows *rows)
{
	share_rows(rows, "wfq", false, false);
	share_rows(rows, "wfq", true, false);
	share_rows(rows, "io-sets", false, false);
	share_rows(rows, "io-sets", false, true);
	share_rows(rows, "io-sets", true, false);
	share_rows(rows, "round-robin", false, false);
	share_rows(rows, "fifo", false, false);
	order_rows(rows, "to", false);
	order_rows(rows, "to-agg", false);
	order_rows(rows, "sjf", false);
	order_rows(rows, "mlf", false);
	order_rows(rows, "mlf", true);
	order_rows(rows, "aioli", false);
	order_rows(rows, "aioli", true);
	order_rows(rows, "auto", false); /* it chooses to-agg here */
	admit_row(rows, 1);
	admit_row(rows, 1000);
	admit_row(rows, 10000);
}

static bool matches(const struct bench_row *row, const char *filter)
{
	char label[256];

	snprintf(label, sizeof(label),
		 " admit=token-bucket share=%s order=%s jobs=%u files=%u outstanding=%u "
		 "pattern=%s limits=%s periods=%s wait=%s ",
		 row->share, row->order, row->jobs, row->files, row->outstanding,
		 row->random ? "random" : "contiguous", row->limits ? "min+max" : "none",
		 row->no_periods ? "none" : "known", row->wait ? "default" : "none");
	return bench_holds(label, filter);
}

/* ---- output ---- */

static const char *verdict(const struct bench_row *row, const struct bench_result *r)
{
	if (!row->goal_ns)
		return "";
	return bench_rounded(r->ns, 10) <= row->goal_ns ? "met" : "OVER";
}

static void print_head(enum bench_kind kind)
{
	static const char *const head[] = {
		[BENCH_SHARE] = "share: order to, one file a job, contiguous\n"
				"             limits  periods   jobs waiting",
		[BENCH_ORDER] = "order: one job, share wfq\n"
				"       wait us   files pattern    waiting  merge",
		[BENCH_ADMIT] = "admit: check and charge of a job with min and max\n"
				"               jobs",
	};

	printf("\n%s   ns/req   goal       / heap\n", head[kind]);
}

static void print_row(const struct bench_row *row, const struct bench_row *last,
		      const struct bench_result *r)
{
	char goal[16] = "", wait[24] = "-";

	if (!last || last->kind != row->kind)
		print_head(row->kind);
	if (row->goal_ns)
		snprintf(goal, sizeof(goal), "%u", row->goal_ns);
	if (r->wait_us >= 0)
		snprintf(wait, sizeof(wait), "%" PRId64, r->wait_us);
	if (row->kind == BENCH_SHARE)
		printf("%-12s %-7s %-7s %6u %7u", row->share, row->limits ? "min+max" : "none",
		       row->no_periods ? "none" : "known", row->jobs, row->outstanding);
	else if (row->kind == BENCH_ORDER)
		printf("%-6s %7s %7u %-10s %7u %6.1f", row->order, wait, row->files,
		       row->random ? "random" : "contiguous", row->outstanding, r->merge_ratio);
	else
		printf("%-12s %6u", "token-bucket", row->jobs);
	printf(" %8.1f %6s %-5s %6.2f\n", r->ns, goal, verdict(row, r), r->ns / r->heap_ns);
	fflush(stdout);
}

static void json_row(struct json *j, const struct bench_row *row, const struct bench_result *r)
{
	bool admit = row->kind == BENCH_ADMIT;

	json_object(j, NULL);
	json_string(j, "admit", "token-bucket");
	json_string(j, "share", admit ? "-" : row->share);
	json_string(j, "order", admit ? "-" : row->order);
	json_uint(j, "jobs", row->jobs);
	json_uint(j, "files", row->files);
	json_uint(j, "outstanding", row->outstanding);
	json_string(j, "pattern", row->random ? "random" : "contiguous");
	json_string(j, "limits", row->limits ? "min+max" : "none");
	json_string(j, "periods", row->no_periods ? "none" : "known");
	if (r->wait_us >= 0)
		json_int(j, "wait_us", r->wait_us);
	json_double(j, "ns_per_req", bench_rounded(r->ns, 10));
	json_double(j, "ns_min", bench_rounded(r->ns_min, 10));
	json_double(j, "merge_ratio", bench_rounded(r->merge_ratio, 100));
	json_double(j, "ratio_to_heap", bench_rounded(r->ns / r->heap_ns, 100));
	if (row->kind == BENCH_SHARE && row->limits)
		json_double(j, "floor_ratio", bench_rounded(r->floor_ratio, 1000));
	if (row->goal_ns) {
		json_uint(j, "goal_ns", row->goal_ns);
		json_bool(j, "goal_met", bench_rounded(r->ns, 10) <= row->goal_ns);
	}
	json_end(j);
	fflush(j->f);
}

/* ---- the command ---- */

static int measure_all(const struct rows *rows, const struct bench_times *times, bool json)
{
	struct bench_heap *heap = bench_heap_create();
	double heap_ns[MAX_ROWS];
	struct json j;
	int status = CLI_OK;

	if (!heap)
		return cli_fail(CMD, "out of memory.");
	if (json) {
		bench_json_begin(&j, "sched");
	} else {
		puts("CPU time of add + next + done for each request of 64 KiB, all jobs "
		     "backlogged.");
	}
	for (unsigned i = 0; i < rows->count; i++) {
		struct bench_result r;

		status = bench_measure(&rows->row[i], times, heap, &r);
		if (status)
			break;
		heap_ns[i] = r.heap_ns;
		if (json)
			json_row(&j, &rows->row[i], &r);
		else
			print_row(&rows->row[i], i ? &rows->row[i - 1] : NULL, &r);
	}
	free(heap);
	if (status)
		return status;
	if (json) {
		json_end(&j);
		json_double(&j, "baseline_heap_ns",
			    bench_rounded(stat_median(heap_ns, rows->count), 10));
		json_end(&j);
	} else {
		printf("\nheap: a binary heap of 10,000 keys, top replaced, measured in between: "
		       "%.1f ns\n",
		       stat_median(heap_ns, rows->count));
	}
	return CLI_OK;
}

int bench_sched(int argc, char **argv)
{
	static const struct bench_times normal = { 7, 40000000, 30000000, 3000000 };
	static const struct bench_times fast = { 5, 5000000, 2000000, 500000 };
	const char *filter = "";
	struct rows all = { .count = 0 }, rows = { .count = 0 };
	bool json = false, quick = false;
	const struct cli_option options[] = {
		{ "filter", 'f', "TEXT", .text = &filter,
		  .help = "only rows that contain every word of TEXT, such as 'share=wfq "
			  "jobs=1000' "
			  "or 'random'" },
		{ "quick", 'q', NULL, .flag = &quick, .help = "shorter and less accurate" },
		CLI_JSON(&json),
		{ 0 },
	};
	const struct cli_command command = {
		.name = CMD,
		.usage = "bench sched [--quick] [--filter TEXT] [--json]",
		.about = "Measures the CPU time that libsluice takes for a request, from sl_add() "
			 "over sl_next() to sl_done(), for each policy and several loads. No I/O "
			 "is done.",
		.options = options,
	};
	int status;

	if ((status = cli_next(&command, argc, argv)))
		return cli_end(status);
	all_rows(&all);
	for (unsigned i = 0; i < all.count; i++)
		if (matches(&all.row[i], filter))
			rows.row[rows.count++] = all.row[i];
	if (!rows.count)
		return cli_usage(CMD, "no row contains every word of '%s'.", filter);
	return measure_all(&rows, quick ? &fast : &normal, json);
}
