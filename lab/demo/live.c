/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice demo`: a job that writes little but often, and three that write large checkpoints, in one
 * directory; first without a node, then through their own node: in order of arrival, with io-sets,
 * and with a guaranteed minimum for the small job.
 *
 * The baseline. Without a node, on a local directory, the effects are small: the page cache takes
 * everything at the speed of memory, and jobs hardly wait for each other. A shared file system has
 * a limited bandwidth and serves requests in order of arrival. So the other runs use a node with a
 * capacity, and the run `fifo` stands for such a file system without a scheduler: first come, first
 * served, nothing merged. `sluice bench path` measures the cost of the node itself.
 *
 * Stretch is the run time of a job divided by its time alone; slowdown is the same for its I/O. The
 * time alone is measured first, without and with a node.
 */
#include "lab/demo/live.h"

#include <inttypes.h>
#include <string.h>

#include "base/cli.h"
#include "base/json.h"
#include "lab/demo/jobs.h"

#define CMD	 "demo"
#define CAPACITY "100MB/s"
#define MIN	 "80MB/s"
#define MIB	 (UINT64_C(1) << 20)
#define MS	 INT64_C(1000000)

enum { FREQUENT, CHECKPOINTS = 3 };

static const struct demo_job jobs[DEMO_JOBS] = {
	{ "frequent", "0.2", 1, 20, 4 * MIB, 158 * MS },
	{ "checkpoint-1", "1.5", 4, 4, 12 * MIB, 1000 * MS },
	{ "checkpoint-2", "1.8", 4, 4, 12 * MIB, 1250 * MS },
	{ "checkpoint-3", "2.0", 4, 4, 12 * MIB, 1500 * MS },
};

enum { DIRECT, FIFO, IO_SETS, MINIMUM, RUNS };

static const struct run {
	const char *name, *share, *order, *what;
	const char *conf; /* of the frequent job */
} runs[RUNS] = {
	[DIRECT] = { "direct", NULL, NULL, "no layer at all", NULL },
	[FIFO] = { "fifo", "fifo", "to", "first come, first served, as a file system does", NULL },
	[IO_SETS] = { "io-sets", "io-sets", "to-agg", "jobs with shorter periods go first", NULL },
	[MINIMUM] = { "minimum", "fifo", "to", "fifo, and " MIN " guaranteed to 'frequent'",
		      "min=" MIN },
};

struct outcome {
	double mb_s, stretch, slowdown;
	struct demo_time time;
};

static uint64_t bytes_of(const struct demo_job *j, uint32_t rounds)
{
	return j->bytes * j->procs * rounds;
}

/* ---- running ---- */

static int run_jobs(struct private *p, const struct run *r, unsigned which, uint32_t rounds,
		    struct demo_time out[DEMO_JOBS])
{
	const char *const options[] = { "--charge", "calls",   "--capacity", CAPACITY, "--share",
					r->share,   "--order", r->order,     NULL };
	const char *const conf[DEMO_JOBS] = { r->conf };
	bool direct = r == &runs[DIRECT];
	int status = direct ? CLI_OK : private_node_start(p, options);

	if (!status)
		status = demo_jobs_run(p, jobs, which, rounds, conf, direct, out);
	private_node_stop(p);
	return status;
}

/*
 * Measure the I/O time of a round of each job alone; the checkpoints are alike. The direct runs
 * come first, and the first writes of a file are slow, so one round of all jobs runs before and is
 * not counted.
 */
static int run_alone(struct private *p, const struct run *r, sl_time io_ns[DEMO_JOBS])
{
	struct demo_time t[DEMO_JOBS];
	const uint32_t frequent = 5;
	int status = CLI_OK;

	if (r == &runs[DIRECT])
		status = run_jobs(p, r, (1U << DEMO_JOBS) - 1, 1, t);
	if (!status)
		status = run_jobs(p, r, 1U << FREQUENT, frequent, t);

	io_ns[FREQUENT] = status ? 0 : t[FREQUENT].io_ns / frequent;
	if (!status)
		status = run_jobs(p, r, 1U << 1, 1, t);
	for (unsigned i = 1; i < DEMO_JOBS && !status; i++)
		io_ns[i] = t[1].io_ns;
	return status;
}

static void judge(const sl_time alone_ns[DEMO_JOBS], struct outcome out[DEMO_JOBS])
{
	for (unsigned i = 0; i < DEMO_JOBS; i++) {
		const struct demo_job *j = &jobs[i];
		double io = (double)alone_ns[i] * j->rounds;
		double all = io + (double)j->compute_ns * j->rounds;

		out[i].mb_s = (double)bytes_of(j, j->rounds) * 1e3 / (double)out[i].time.io_ns;
		out[i].stretch = (double)out[i].time.time_ns / all;
		out[i].slowdown = (double)out[i].time.io_ns / io;
	}
}

/* ---- output ---- */

static void print_intro(const char *dir)
{
	char text[600];

	snprintf(text, sizeof(text),
		 "Four jobs write to %s: 'frequent' 4 MiB five times a second; three checkpoints "
		 "of 4 processes 48 MiB every two seconds or so. First directly, then through an "
		 "I/O node that may draw " CAPACITY
		 " from the directory, which stands for a file system that is shared.",
		 dir);
	cli_wrap(stdout, text, 0, 0);
	fflush(stdout);
}

static void print_alone(const struct run *r, const sl_time alone_ns[DEMO_JOBS])
{
	printf("\n%-27s MB/s\n", r == &runs[DIRECT] ? "each alone, directly" : "each alone");
	for (unsigned i = 0; i < 2; i++)
		printf("  %-12s           %8.1f\n", i ? "checkpoint" : jobs[0].name,
		       (double)bytes_of(&jobs[i], 1) * 1e3 / (double)alone_ns[i]);
	fflush(stdout);
}

static void print_run(const struct run *r, const struct outcome o[DEMO_JOBS])
{
	printf("\n%s: %s\n", r->name, r->what);
	printf("  %-12s %20s %9s %13s\n", "job", "MB/s", "stretch", "I/O slowdown");
	for (unsigned i = 0; i < DEMO_JOBS; i++)
		printf("  %-12s %20.1f %9.2f %13.2f\n", jobs[i].name, o[i].mb_s, o[i].stretch,
		       o[i].slowdown);
	fflush(stdout);
}

/* Explain the result of the direct run. */
static void print_direct(const struct outcome o[DEMO_JOBS])
{
	const struct outcome *f = &o[FREQUENT];
	char text[400];

	if (f->stretch < 1.2)
		snprintf(text, sizeof(text),
			 "This directory keeps written data in memory (the page cache) and "
			 "stores it later, so the jobs hardly compete, and there is nothing to "
			 "schedule. The runs below have a limit, as a shared file system has.");
	else
		snprintf(text, sizeof(text),
			 "Even here 'frequent' takes %.1f times as long as alone. The runs below "
			 "have a limit, as a shared file system has.",
			 f->stretch);
	putchar('\n');
	cli_wrap(stdout, text, 0, 0);
	fflush(stdout);
}

static double checkpoints_stretch(const struct outcome o[DEMO_JOBS])
{
	double sum = 0;

	for (unsigned i = 1; i < DEMO_JOBS; i++)
		sum += o[i].stretch;
	return sum / CHECKPOINTS;
}

static void print_lessons(struct outcome o[RUNS][DEMO_JOBS])
{
	char text[600];

	puts("\nAll files hold what was written.\n");
	snprintf(
		text, sizeof(text),
		"First come, first served, the 4 MiB of 'frequent' wait behind the checkpoints: "
		"its I/O takes %.1f times as long as alone, the job %.1f times. With io-sets, "
		"which gives way to jobs of short period, that is %.1f and %.2f; with a guaranteed "
		"minimum %.1f and %.2f. The checkpoints, of which each writes twelve times as much "
		"at a time, took %.2f times their time alone before, then %.2f and %.2f.",
		o[FIFO][FREQUENT].slowdown, o[FIFO][FREQUENT].stretch,
		o[IO_SETS][FREQUENT].slowdown, o[IO_SETS][FREQUENT].stretch,
		o[MINIMUM][FREQUENT].slowdown, o[MINIMUM][FREQUENT].stretch,
		checkpoints_stretch(o[FIFO]), checkpoints_stretch(o[IO_SETS]),
		checkpoints_stretch(o[MINIMUM]));
	cli_wrap(stdout, text, 0, 0);
	demo_next();
}

static void json_run(struct json *j, const struct run *r, const struct outcome o[DEMO_JOBS])
{
	json_object(j, NULL);
	json_string(j, "name", r->name);
	json_string(j, "share", r->share);
	json_string(j, "order", r->order);
	json_array(j, "jobs");
	for (unsigned i = 0; i < DEMO_JOBS; i++) {
		json_object(j, NULL);
		json_string(j, "name", jobs[i].name);
		json_uint(j, "processes", jobs[i].procs);
		json_uint(j, "bytes", bytes_of(&jobs[i], jobs[i].rounds));
		json_double(j, "mb_per_s", o[i].mb_s);
		json_int(j, "io_ns", o[i].time.io_ns);
		json_int(j, "time_ns", o[i].time.time_ns);
		json_double(j, "stretch", o[i].stretch);
		json_double(j, "slowdown", o[i].slowdown);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static void json_all(struct outcome o[RUNS][DEMO_JOBS])
{
	struct json j;

	json_begin(&j, stdout);
	json_object(&j, NULL);
	json_uint(&j, "capacity_bps", UINT64_C(100000000));
	json_bool(&j, "verified", true);
	json_array(&j, "runs");
	for (unsigned i = 0; i < RUNS; i++)
		json_run(&j, &runs[i], o[i]);
	json_end(&j);
	json_end(&j);
}

/* ---- the command ---- */

static int run_all(struct private *p, bool json, struct outcome o[RUNS][DEMO_JOBS])
{
	sl_time alone_ns[DEMO_JOBS];
	int status;

	if (!json)
		print_intro(p->dir);
	for (unsigned i = 0; i < RUNS; i++) {
		struct demo_time t[DEMO_JOBS];

		if (i <= FIFO) {
			if ((status = run_alone(p, &runs[i], alone_ns)))
				return status;
			if (!json)
				print_alone(&runs[i], alone_ns);
		}
		status = run_jobs(p, &runs[i], (1U << DEMO_JOBS) - 1, 0, t);
		if (!status)
			status = demo_jobs_verify(p, jobs);
		if (status)
			return status;
		for (unsigned k = 0; k < DEMO_JOBS; k++)
			o[i][k].time = t[k];
		judge(alone_ns, o[i]);
		if (!json)
			print_run(&runs[i], o[i]);
		if (!json && i == DIRECT)
			print_direct(o[i]);
	}
	return CLI_OK;
}

int demo_live(const char *dir, bool json)
{
	static struct private p;
	struct outcome o[RUNS][DEMO_JOBS] = { 0 };
	int status = private_begin(&p, CMD, dir);

	if (!status)
		status = run_all(&p, json, o);
	status = private_end(&p, status);
	if (!status && json)
		json_all(o);
	else if (!status)
		print_lessons(o);
	return status;
}
