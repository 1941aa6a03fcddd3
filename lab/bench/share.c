/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice bench share`: the bandwidth of two jobs, or of one alone, compared with their guarantees
 * and weights. The layer has a capacity and its files are in memory, so only Sluice determines the
 * result.
 *
 *	alone    one job, at one of the nodes                         150 MB/s
 *	weights  --weight 4 beside --weight 1                         4 : 1
 *	sets     share=io-sets, --period 1 beside --period 10         10 : 1
 *	min      --min 100MB/s beside --weight 10                     100 MB/s
 *	max      --max 20MB/s beside a job without limit              20 MB/s
 *	grants   grant=set-10, --period 1 beside --period 100         100 : 1
 *	order    grant=fcfs, --max 100MB/s beside a job that is second 100 MB/s
 *
 * Each process writes its file with synchronous calls, one after the other, as fast as it may.
 * Their byte counters are read twice, at least 10 s apart, while all processes run. `used` is the
 * sum of both jobs divided by the capacity; `node CPU` is the CPU time of the layer's nodes and
 * controller divided by the elapsed time. With several nodes, the layer decides where a job's
 * processes go.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cli.h"
#include "base/units.h"
#include "lab/bench/bench.h"
#include "lab/bench/common.h"
#include "lab/bench/worker.h"
#include "lab/private-layer.h"

#define CMD	      "bench share"
#define COUNT(a)      (sizeof(a) / sizeof((a)[0]))
#define CAPACITY_MB_S 150.0
#define SPAN	      (UINT64_C(8) << 20)
#define JOBS	      2
#define FOREVER_NS    INT64_C(3600000000000)
#define USED_GOAL     0.99
#define USED_MOST     1.02
#define CPU_GOAL      0.03

static const char *const case_names[] = { "alone", "weights", "sets",  "min",
					  "max",   "grants",  "order", NULL };

static const struct share_case {
	const char *policy; /* of share or grant */
	const char *job[JOBS][3];
	double promised; /* of a : b, or MB/s of a */
	bool rate;
	double tolerance; /* goal */
} cases[] = {
	{ "share=wfq", { { NULL }, { NULL } }, CAPACITY_MB_S, true, 0.02 },
	{ "share=wfq", { { "--weight", "4" }, { "--weight", "1" } }, 4, false, 0.02 },
	{ "share=io-sets", { { "--period", "1" }, { "--period", "10" } }, 10, false, 0.02 },
	{ "share=wfq", { { "--min", "100MB/s" }, { "--weight", "10" } }, 100, true, 0.02 },
	{ "share=wfq", { { "--max", "20MB/s" }, { NULL } }, 20, true, 0.01 },
	{ "grant=set-10", { { "--period", "1" }, { "--period", "100" } }, 100, false, 0.02 },
	{ "grant=fcfs", { { "--max", "100MB/s" }, { NULL } }, 100, true, 0.02 },
};

static const uint32_t sizes[] = { 4 << 10, 64 << 10, 1 << 20 };
static const unsigned procs_of_job[] = { 1, 4 };
static const unsigned node_counts[] = { 1, 2, 4, 16 };

struct row {
	unsigned number; /* of cases */
	unsigned nodes, procs;
	uint32_t size;
	const char *mode;
};

struct result {
	double mb_s[JOBS], got, used, node_cpu;
};

struct share_bench {
	const char *filter;
	bool quick, json_wanted;
	struct json json;
	struct private p;
	unsigned rows, missed;
};

/* ---- measuring ---- */

static void wait_ns(int64_t ns)
{
	int64_t until = bench_clock_ns() + ns, now;

	while (!private_interrupted && (now = bench_clock_ns()) < until) {
		int64_t left = until - now;

		nanosleep(&(struct timespec){ left / 1000000000, left % 1000000000 }, NULL);
	}
}

struct look {
	int64_t at_ns, cpu_ns;
	uint64_t bytes[JOBS];
};

static unsigned jobs_of(const struct row *row)
{
	return row->number ? JOBS : 1; /* the first case has no b */
}

static void look_at(const struct bench_team *t, unsigned procs, struct look *l)
{
	*l = (struct look){ .at_ns = bench_clock_ns(), .cpu_ns = private_layer_cpu_ns() };
	for (unsigned i = 0; i < t->count; i++)
		l->bytes[i / procs] += atomic_load(&t->segment->worker[i].bytes);
}

static int run_row(struct share_bench *b, struct bench_team *t, const struct row *row,
		   struct result *out)
{
	const struct share_case *c = &cases[row->number];
	struct look first, last;
	double s;

	if (!bench_team_start(t, BENCH_LAYER, FOREVER_NS, false))
		return CLI_FAILED;
	wait_ns(b->quick ? 300000000 : 2000000000);
	look_at(t, row->procs, &first);
	wait_ns(b->quick ? 1000000000 : 10000000000);
	look_at(t, row->procs, &last);
	if (private_interrupted)
		return CLI_FAILED;
	s = (double)(last.at_ns - first.at_ns) / 1e9;
	out->used = 0;
	for (unsigned i = 0; i < JOBS; i++) {
		out->mb_s[i] = (double)(last.bytes[i] - first.bytes[i]) / 1e6 / s;
		out->used += out->mb_s[i] / CAPACITY_MB_S;
	}
	out->got = c->rate ? out->mb_s[0] : out->mb_s[0] / out->mb_s[1];
	out->node_cpu = (double)(last.cpu_ns - first.cpu_ns) / 1e9 / s;
	return CLI_OK;
}

static int measure(struct share_bench *b, const struct row *row, struct result *out)
{
	const struct share_case *c = &cases[row->number];
	struct bench_load load = { .op = BENCH_WRITE, .size = row->size, .span = SPAN };
	char number[16];
	const char *up[] = {
		"--capacity", "150MB/s", "--policy", c->policy, row->nodes > 1 ? "--ionodes" : NULL,
		number,	      NULL
	};
	struct bench_team t;
	int status;

	snprintf(number, sizeof(number), "%u", row->nodes);
	snprintf(load.dir, sizeof(load.dir), "%s", b->p.dir);
	if ((status = private_layer_up(&b->p, up)))
		return status;
	status = bench_team_begin(&t, &b->p, &load);
	for (unsigned i = 0; i < jobs_of(row) * row->procs && !status; i++) {
		unsigned job = i / row->procs;
		const char *options[8] = { "--mode", row->mode, "--job", job ? "b" : "a" };

		memcpy(&options[4], c->job[job], sizeof(c->job[job]));
		status = bench_team_add(&t, options);
	}
	if (!status)
		status = bench_team_ready(&t);
	if (!status)
		status = run_row(b, &t, row, out);
	bench_team_end(&t);
	private_layer_down(&b->p);
	return status;
}

/* ---- output ---- */

static void json_row(struct json *j, const struct row *row, const struct result *r)
{
	const struct share_case *c = &cases[row->number];
	double off = r->got / c->promised - 1;

	json_object(j, NULL);
	json_string(j, "case", case_names[row->number]);
	json_string(j, "mode", row->mode);
	json_uint(j, "nodes", row->nodes);
	json_uint(j, "procs", row->procs);
	json_uint(j, "size", row->size);
	json_double(j, "a_mb_s", bench_rounded(r->mb_s[0], 1e3));
	json_double(j, "b_mb_s", bench_rounded(r->mb_s[1], 1e3));
	json_double(j, "promised", c->promised);
	json_double(j, "got", bench_rounded(r->got, 1e4));
	json_double(j, "off", bench_rounded(off, 1e5));
	json_double(j, "goal_off", c->tolerance);
	json_bool(j, "goal_met", fabs(off) <= c->tolerance);
	json_double(j, "capacity_mb_s", CAPACITY_MB_S);
	json_double(j, "used", bench_rounded(r->used, 1e5));
	json_bool(j, "used_goal_met", r->used >= USED_GOAL && r->used <= USED_MOST);
	json_double(j, "node_cpu", bench_rounded(r->node_cpu, 1e5));
	json_bool(j, "node_cpu_goal_met", r->node_cpu <= CPU_GOAL);
	json_end(j);
	fflush(j->f);
}

static char mark(struct share_bench *b, bool met)
{
	b->missed += !met;
	return met ? ' ' : '!';
}

static void text_row(struct share_bench *b, const struct row *row, const struct result *r)
{
	const struct share_case *c = &cases[row->number];
	double off = r->got / c->promised - 1;
	char size[16];

	if (!b->rows)
		puts("                                     MB/s                              "
		     "node\n"
		     "case    mode    nodes procs   size      a      b promised     got  used   "
		     "CPU");
	printf("%-7s %-8s %4u %5u %6s %6.1f %6.1f %8.0f %7.2f%c %5.3f%c %5.3f%c\n",
	       case_names[row->number], row->mode, row->nodes, row->procs,
	       sl_format_bytes(size, sizeof(size), row->size), r->mb_s[0], r->mb_s[1], c->promised,
	       r->got, mark(b, fabs(off) <= c->tolerance), r->used,
	       mark(b, r->used >= USED_GOAL && r->used <= USED_MOST), r->node_cpu,
	       mark(b, r->node_cpu <= CPU_GOAL));
	fflush(stdout);
}

/* ---- the command ---- */

/* Fill in row i; false: no such row. */
static bool row_of(unsigned i, struct row *row)
{
	row->size = sizes[i % COUNT(sizes)];
	i /= COUNT(sizes);
	row->procs = procs_of_job[i % COUNT(procs_of_job)];
	i /= COUNT(procs_of_job);
	row->nodes = node_counts[i % COUNT(node_counts)];
	i /= COUNT(node_counts);
	row->mode = bench_modes[i % BENCH_MODES];
	row->number = i / BENCH_MODES;
	return row->number < COUNT(cases);
}

static bool wanted(const struct share_bench *b, unsigned groups, const struct row *row)
{
	char label[200];

	snprintf(label, sizeof(label), " case=%s mode=%s nodes=%u procs=%u size=%u ",
		 case_names[row->number], row->mode, row->nodes, row->procs, row->size);
	return groups & 1U << row->number && (!b->filter || bench_holds(label, b->filter));
}

static int measure_rows(struct share_bench *b, unsigned groups)
{
	int status = private_begin(&b->p, CMD, "/dev/shm");
	struct row row;

	if (!status)
		status = bench_files(&b->p, JOBS * procs_of_job[COUNT(procs_of_job) - 1], SPAN);
	if (!status)
		status = private_layer_begin(&b->p);
	for (unsigned i = 0; !status && row_of(i, &row); i++) {
		struct result r;

		if (!wanted(b, groups, &row))
			continue;
		status = measure(b, &row, &r);
		if (!status && b->json_wanted)
			json_row(&b->json, &row, &r);
		else if (!status)
			text_row(b, &row, &r);
		b->rows++;
	}
	private_layer_end(&b->p);
	return private_end(&b->p, status);
}

int bench_share(int argc, char **argv)
{
	static struct share_bench b;
	const char *list = NULL;
	const struct cli_option options[] = {
		{ "rows", 'r', "LIST", .text = &list,
		  .help = "cases, with commas: alone, weights, sets, min, max, grants, order; "
			  "default is "
			  "all" },
		{ "filter", 'f', "TEXT", .text = &b.filter,
		  .help = "only rows that contain every word, like 'size=4096 nodes=1'" },
		{ "quick", 'q', NULL, .flag = &b.quick, .help = "1 s for each row instead of 10" },
		CLI_JSON(&b.json_wanted),
		{ 0 },
	};
	const struct cli_command command = {
		.name = CMD,
		.usage = "bench share [--quick] [--rows LIST] [--filter TEXT] [--json]",
		.about = "Measures the bandwidth of two jobs, or of one alone, against what was "
			 "promised, in "
			 "a layer of its own with a capacity of 150 MB/s: what each moves, how "
			 "much of it is used, and the CPU time of the nodes, as share of one CPU.",
		.options = options,
	};
	unsigned groups, count = 0;
	struct row row;
	int status;

	b = (struct share_bench){ 0 };
	if ((status = cli_next(&command, argc, argv)))
		return cli_end(status);
	if ((status = bench_rows(CMD, list, case_names, &groups)))
		return status;
	for (unsigned i = 0; row_of(i, &row); i++)
		count += wanted(&b, groups, &row);
	if (!count)
		return cli_usage(CMD, "no row contains every word of '%s'.", b.filter);
	if (b.json_wanted)
		bench_json_begin(&b.json, "share");
	status = measure_rows(&b, groups);
	if (b.json_wanted) {
		json_end(&b.json);
		json_end(&b.json);
	} else if (!status) {
		printf("\n%u goals are not met (!): promised +- 2 %% (max: 1 %%), used %.2f to "
		       "%.2f, "
		       "node CPU %.2f or less.\n",
		       b.missed, USED_GOAL, USED_MOST, CPU_GOAL);
	}
	return status;
}
