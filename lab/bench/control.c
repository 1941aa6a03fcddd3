/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice bench control`: the cost of decisions for a whole machine.
 *
 * mckp: jobs with random rising curves, so that no option can be left out, and direct access.
 * grant: a decision of each policy for jobs with random histories that all want I/O, in random
 * order; the cost of making a plan is not included. period: see period.c; remap: remap.c.
 *
 * CPU time of this thread, median of several decisions; in between the baseline of `sluice bench
 * sched`, a binary heap of 10,000 keys whose top is replaced, to compare machines by.
 */
#include "lab/bench/control.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "lab/bench/bench.h"
#include "lab/bench/common.h"
#include "lab/bench/measure.h"
#include "lab/private.h"
#include "lab/statistics.h"
#include "layer/check.h"
#include "policy/policy.h"
#include "sched/spec.h"

#define CMD	    "bench control"
#define REPETITIONS 101
#define ENOUGH_NS   1e9 /* of CPU time for a row */
#define HEAP_NS	    3000000

/* ---- rows ---- */

static void label(const struct control_row *row, char *buf, size_t size)
{
	snprintf(buf, size,
		 " what=%s policy=%s jobs=%" PRIu64 " ionodes=%" PRIu64 " options=%" PRIu64
		 " samples=%" PRIu64 " ",
		 row->what, row->policy ? row->policy : "", row->jobs, row->ionodes, row->options,
		 row->samples);
}

bool control_wanted(struct control *c, const struct control_row *row)
{
	char text[300];

	label(row, text, sizeof(text));
	if (!bench_holds(text, c->filter))
		return false;
	c->wanted++;
	return !c->dry;
}

static void json_count(struct json *j, const char *key, uint64_t n)
{
	if (n)
		json_uint(j, key, n);
	else
		json_string(j, key, NULL);
}

static void row_json(struct json *j, const struct control_row *row, double ratio)
{
	json_object(j, NULL);
	json_string(j, "what", row->what);
	if (row->policy)
		json_string(j, "policy", row->policy);
	json_count(j, "jobs", row->jobs);
	json_count(j, "ionodes", row->ionodes);
	json_count(j, "options", row->options);
	json_count(j, "samples", row->samples);
	json_double(j, "ms", bench_rounded(row->ms, 1e6));
	if (row->wall)
		json_double(j, "max_ms", bench_rounded(row->max_ms, 1e6));
	else
		json_double(j, "ratio_to_heap", bench_rounded(ratio, 10));
	if (row->goal_ms > 0) {
		json_double(j, "goal_ms", row->goal_ms);
		json_bool(j, "goal_met", row->ms < row->goal_ms);
	}
	json_end(j);
}

static void cell(char *buf, size_t size, uint64_t n)
{
	if (n)
		snprintf(buf, size, "%" PRIu64, n);
	else
		snprintf(buf, size, "-");
}

static void row_print(const struct control *c, const struct control_row *row, double ratio)
{
	char jobs[24], ionodes[24], options[24], samples[24], goal[32] = "", heap[32] = "-";

	if (!c->last || strcmp(c->last, row->what))
		printf("\n%-20s %5s %7s %7s %8s %9s %10s %7s\n", row->what, "jobs", "ionodes",
		       "options", "samples", "ms", "goal ms", "/ heap");
	cell(jobs, sizeof(jobs), row->jobs);
	cell(ionodes, sizeof(ionodes), row->ionodes);
	cell(options, sizeof(options), row->options);
	cell(samples, sizeof(samples), row->samples);
	if (row->goal_ms > 0)
		snprintf(goal, sizeof(goal), "%g %s", row->goal_ms,
			 row->ms < row->goal_ms ? "met" : "MISSED");
	if (!row->wall)
		snprintf(heap, sizeof(heap), "%.0f", ratio);
	printf("%-20s %5s %7s %7s %8s %9.4f %10s %7s\n", row->policy ? row->policy : "", jobs,
	       ionodes, options, samples, row->ms, goal, heap);
}

int control_measure(struct control *c, struct control_row *row, double (*run)(void *what),
		    void *what)
{
	double ns[REPETITIONS], heap_ns = bench_heap_measure(c->heap, HEAP_NS), spent_ns = 0;
	unsigned n = 0, most = c->quick ? 3 : REPETITIONS;

	run(what); /* to warm up */
	while (n < most && (spent_ns < ENOUGH_NS || !n)) {
		ns[n] = run(what);
		if (ns[n] < 0 && private_interrupted)
			return CLI_FAILED; /* the caller reports it */
		if (ns[n] < 0)
			return cli_fail(CMD, "%s%s%s could not run.", row->what,
					row->policy ? " " : "", row->policy ? row->policy : "");
		row->max_ms = ns[n] / 1e6 > row->max_ms ? ns[n] / 1e6 : row->max_ms;
		spent_ns += ns[n++];
	}
	row->ms = stat_median(ns, n) / 1e6;
	if (c->json)
		row_json(&c->j, row, row->ms * 1e6 / heap_ns);
	else
		row_print(c, row, row->ms * 1e6 / heap_ns);
	fflush(stdout);
	c->last = row->what;
	return CLI_OK;
}

/* Random numbers, the same in every run. */
static uint32_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

/* ---- mckp ---- */

struct mckp {
	void *state;
	struct sl_alloc_job *job;
	struct sl_curve_point *point;
	struct sl_alloc_machine m;
	uint32_t n;
};

static double mckp_run(void *what)
{
	struct mckp *w = what;
	int64_t begin = bench_cpu_ns();

	sl_allocate_mckp.decide(w->state, w->job, w->n, &w->m);
	return (double)(bench_cpu_ns() - begin);
}

/* Options 0 1 2 4 ... up to the I/O nodes; or all numbers up to these. */
static uint32_t mckp_curve(struct sl_curve_point *p, uint32_t ionodes, bool all, uint64_t *random)
{
	uint32_t count = 0;
	double bps = 0;

	for (uint32_t n = 0; n <= ionodes; n = all || !n ? n + 1 : 2 * n) {
		bps += 1 + next_random(random) % 1000000;
		p[count++] = (struct sl_curve_point){ .ionodes = n, .bps = bps };
	}
	return count;
}

static int mckp_row(struct control *c, uint32_t jobs, uint32_t ionodes, bool all, double goal_ms)
{
	struct sl_policy_limits limits = { .lanes = jobs, .ionodes = ionodes };
	struct mckp w = {
		.state = calloc(1, sl_policy_size(&sl_allocate_mckp.base, &limits)),
		.job = calloc(jobs, sizeof(w.job[0])),
		.point = calloc((size_t)jobs * (ionodes + 1), sizeof(w.point[0])),
		.m = { .ionodes = ionodes, .direct = true, .uneven = true },
		.n = jobs,
	};
	struct control_row row = {
		.what = "mckp", .jobs = jobs, .ionodes = ionodes, .goal_ms = goal_ms
	};
	uint64_t random = 1;
	int status = CLI_FAILED;

	if (!w.state || !w.job || !w.point) {
		cli_fail(CMD, "out of memory.");
		goto out;
	}
	sl_policy_init(&sl_allocate_mckp.base, w.state, &limits, NULL, 0);
	for (uint32_t i = 0; i < jobs; i++) {
		w.job[i].job = i;
		w.job[i].nodes = w.job[i].procs = ionodes;
		w.job[i].curve = w.point + (size_t)i * (ionodes + 1);
		w.job[i].points =
			mckp_curve(w.point + (size_t)i * (ionodes + 1), ionodes, all, &random);
	}
	row.options = w.job[0].points;
	status = control_wanted(c, &row) ? control_measure(c, &row, mckp_run, &w) : CLI_OK;
out:
	free(w.state);
	free(w.job);
	free(w.point);
	return status;
}

int control_mckp(struct control *c)
{
	int status;

	/* About what the paper decided in 399 us: a few jobs, 12 I/O nodes, 0 1 2 4 8. */
	if ((status = mckp_row(c, 6, 12, false, 0)) || (status = mckp_row(c, 512, 256, false, 10)))
		return status;
	return mckp_row(c, 512, 256, true, 100);
}

/* ---- grant ---- */

#define GRANT_JOBS     1000
#define GRANT_CAPACITY 1e11

struct grant {
	const struct sl_grant_ops *ops;
	void *state;
	struct sl_io_job *job, **list;
	sl_time now;
	uint64_t random;
};

/* Once more at a later time; the host hands them over in an order of its own. */
static double grant_run(void *what)
{
	struct grant *w = what;
	int64_t begin;

	w->now += 1000000;
	for (uint32_t i = 0; i < GRANT_JOBS; i++)
		w->list[i] = &w->job[i];
	for (uint32_t i = GRANT_JOBS - 1; i > 0; i--) {
		uint32_t k = next_random(&w->random) % (i + 1);
		struct sl_io_job *j = w->list[i];

		w->list[i] = w->list[k];
		w->list[k] = j;
	}
	begin = bench_cpu_ns();
	w->ops->decide(w->state, w->list, GRANT_JOBS, GRANT_CAPACITY, w->now);
	return (double)(bench_cpu_ns() - begin);
}

static void grant_fill(struct grant *w)
{
	for (uint32_t i = 0; i < GRANT_JOBS; i++) {
		double compute_s = 1 + next_random(&w->random) % 1000;
		double bytes = 1e9 * (1 + next_random(&w->random) % 100);
		uint32_t ended = next_random(&w->random) % 100;

		w->job[i] = (struct sl_io_job){
			.job = i + 1,
			.procs = 1 + next_random(&w->random) % 4096,
			.cap_bps = 1e8 * (1 + next_random(&w->random) % 100),
			.released = next_random(&w->random) % 1000000,
			.asked = w->now - next_random(&w->random) % 1000000000,
			.io_end = w->now - 1000000000 - next_random(&w->random) % 1000000000,
			.ended = ended,
			.work_s = ended * compute_s,
			.compute_s = compute_s,
			.bytes = bytes,
			.left_bytes = bytes * (1 + next_random(&w->random) % 100) / 100,
		};
		w->job[i].alone_s = ended * (compute_s + bytes / w->job[i].cap_bps);
		w->job[i].period_ns = (sl_time)(compute_s * 1e9);
		w->job[i].started = w->job[i].left_bytes < bytes;
	}
}

static int grant_plan(struct grant *w)
{
	struct sl_plan_job *plan = calloc(GRANT_JOBS, sizeof(*plan));
	int rc = -1;

	for (uint32_t i = 0; plan && i < GRANT_JOBS; i++)
		plan[i] = (struct sl_plan_job){ .job = w->job[i].job,
						.procs = w->job[i].procs,
						.cap_bps = w->job[i].cap_bps,
						.compute_s = w->job[i].compute_s,
						.bytes = w->job[i].bytes };
	if (plan)
		rc = w->ops->plan(w->state, plan, GRANT_JOBS, GRANT_CAPACITY, w->now);
	free(plan);
	return rc;
}

static int grant_row(struct control *c, const char *policy)
{
	struct sl_policy_limits limits = { .lanes = GRANT_JOBS };
	struct control_row row = {
		.what = "grant", .policy = policy, .jobs = GRANT_JOBS, .goal_ms = 0.1
	};
	struct grant w = { .now = INT64_C(10000000000000), .random = 1 };
	struct sl_spec spec;
	char err[400];
	int status = CLI_FAILED;

	if (!control_wanted(c, &row))
		return CLI_OK;
	if (sl_spec_parse(SL_GRANT, policy, &spec, err, sizeof(err)))
		return cli_fail(CMD, "%s.", err);
	w.ops = (const struct sl_grant_ops *)spec.policy;
	w.state = calloc(1, sl_policy_size(spec.policy, &limits));
	w.job = calloc(GRANT_JOBS, sizeof(w.job[0]));
	w.list = calloc(GRANT_JOBS, sizeof(w.list[0]));
	if (!w.state || !w.job || !w.list) {
		cli_fail(CMD, "out of memory.");
	} else {
		sl_policy_init(spec.policy, w.state, &limits, spec.values, 0);
		grant_fill(&w);
		if (w.ops->plan && grant_plan(&w))
			status = cli_fail(CMD, "%s could not plan.", policy);
		else
			status = control_measure(c, &row, grant_run, &w);
	}
	free(w.state);
	free(w.job);
	free(w.list);
	return status;
}

int control_grant(struct control *c)
{
	const struct sl_policy *p;
	int status = CLI_OK;

	for (unsigned i = 0; !status && (p = sl_policy_at(SL_GRANT, i)); i++)
		status = grant_row(c, p->name);
	return status;
}

/* ---- the command ---- */

static int (*const parts[])(struct control *c) = { control_mckp, control_grant, control_period,
						   control_remap, control_scale };

static int all_parts(struct control *c)
{
	int status = CLI_OK;

	if (c->nodes)
		return control_scale(c);
	for (size_t i = 0; !status && i < sizeof(parts) / sizeof(parts[0]); i++)
		status = parts[i](c);
	return status;
}

int bench_control(int argc, char **argv)
{
	struct control c = { .filter = "" };
	const char *nodes = NULL;
	const struct cli_option options[] = {
		{ "filter", 'f', "TEXT", .text = &c.filter,
		  .help = "only rows that contain every word of TEXT, such as 'what=grant "
			  "policy=set-10'" },
		{ "nodes", 'n', "N", .text = &nodes,
		  .help = "only the row for a controller with N I/O nodes" },
		{ "quick", 'q', NULL, .flag = &c.quick, .help = "shorter and less accurate" },
		CLI_JSON(&c.json),
		{ 0 },
	};
	const struct cli_command command = {
		.name = CMD,
		.usage = "bench control [--quick] [--nodes N] [--filter TEXT] [--json]",
		.about = "Measures the cost of decisions for a whole machine: how many I/O nodes "
			 "each job gets (mckp), which jobs may do I/O now (grant), the period of a "
			 "job (period); how long a running job takes to move to another I/O node "
			 "(remap); and what a controller of 100, 1,000 and 10,000 I/O nodes needs "
			 "for a report, how long until its order arrives, and its memory (nodes).",
		.options = options,
	};
	unsigned long count;
	int status;

	if ((status = cli_next(&command, argc, argv)))
		return cli_end(status);
	if (nodes && check_count(nodes, 10, 1000000, &count))
		return cli_usage(CMD, "--nodes: '%s' is not a number from 10 to 1000000.", nodes);
	c.nodes = nodes ? (uint32_t)count : 0;
	if (!(c.heap = bench_heap_create()))
		return cli_fail(CMD, "out of memory.");
	c.dry = true;
	status = all_parts(&c);
	c.dry = false;
	if (!status && !c.wanted)
		status = cli_usage(CMD, "no row contains every word of '%s'.", c.filter);
	if (!status && c.json)
		bench_json_begin(&c.j, "control");
	if (!status)
		status = all_parts(&c);
	free(c.heap);
	if (!status && c.json) {
		json_end(&c.j);
		json_end(&c.j);
	}
	return status;
}
