/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice demo`: the live demonstration is lab/demo/live.c. This file is the command, and
 * `sluice demo --simulate`: the same three jobs on the same model device under several
 * combinations of policies, and what each makes of them. All figures come out of sim/requests.c,
 * that is the scheduler of libsluice on a timing model, in virtual time; the same on every machine.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "cli/cli.h"
#include "lab/demo/live.h"
#include "sim/requests.h"

#define CMD "demo"
#define MS  INT64_C(1000000)

#define LINK_BPS      100000000 /* of each process: its part of a compute node's link */
#define PIECE_BYTES   (512 << 10)
#define PHASE_BYTES   (4 << 20) /* of job 1 */
#define SEARCH_BYTES  (16 << 10)
#define SEARCHED_BITS 36 /* of the size of job 3's file */

enum { PHASES, CHECKPOINT, SEARCH, JOBS };

static const char *const jobs_do[JOBS] = {
	[PHASES] = "8 processes read 4 MiB together, 64 KiB at a time, then compute ten times as "
		   "long as that takes alone; 40 times",
	[CHECKPOINT] = "16 processes write 64 MiB each into their parts of a file, 4 MiB at a time "
		       "in pieces of 512 KiB",
	[SEARCH] = "16 processes read 16 KiB at random places, all the time",
};

static const struct sl_requests_app jobs[JOBS] = {
	[PHASES] = { .name = "phases",
		     .procs = 8,
		     .op = SL_READ,
		     .spatial = SL_STRIDED,
		     .call_bytes = 64 << 10,
		     .calls = 8,
		     .phases = 40,
		     .depth = 1 },
	[CHECKPOINT] = { .name = "checkpoint",
			 .procs = 16,
			 .op = SL_WRITE,
			 .spatial = SL_CONTIGUOUS,
			 .call_bytes = 4 << 20,
			 .calls = 16,
			 .phases = 1,
			 .depth = 1 },
	[SEARCH] = { .name = "search",
		     .procs = 16,
		     .op = SL_READ,
		     .spatial = SL_RANDOM,
		     .background = true,
		     .call_bytes = SEARCH_BYTES,
		     .calls = (UINT64_C(1) << SEARCHED_BITS) / SEARCH_BYTES / 16,
		     .phases = 1,
		     .depth = 1 },
};

struct outcome {
	struct sl_requests_result all;
	struct sl_requests_app_result job[JOBS];
};

/* What the jobs are entitled to in a combination. */
enum { PLAIN, WEIGHTS, PERIODS, LIMITS };

enum { NOTHING, TURNS, POOL, FAIR, WEIGHTED, IO_SETS, LIMITED, COMBINATIONS };

static const struct combination {
	const char *name, *admit, *share, *order;
	int rights;
} combinations[COMBINATIONS] = {
	[NOTHING] = { "no scheduler", "open", "fifo", "to", PLAIN },
	[TURNS] = { "turns", "open", "round-robin", "to-agg", PLAIN },
	[POOL] = { "pool", "open", "pool", "aioli", PLAIN },
	[FAIR] = { "fair", "open", "wfq", "mlf", PLAIN },
	[WEIGHTED] = { "weights", "open", "wfq", "sjf", WEIGHTS },
	[IO_SETS] = { "periods", "open", "io-sets,credit=requests", "to-agg", PERIODS },
	[LIMITED] = { "limits", "token-bucket", "wfq", "to-agg", LIMITS },
};

/* Bytes/s of one job's random reads when it has the device for itself. */
static uint64_t search_alone_bps(const struct sl_device_model *m)
{
	return SEARCH_BYTES * UINT64_C(1000) * MS /
	       (uint64_t)sl_device_cost_ns(m, SL_READ, SEARCH_BYTES, 1);
}

static void entitle(const struct sl_device_model *m, int rights, struct sl_job_conf conf[JOBS])
{
	memset(conf, 0, JOBS * sizeof(*conf));
	switch (rights) {
	case WEIGHTS:
		conf[PHASES].weight = 100;
		conf[CHECKPOINT].weight = 100;
		conf[SEARCH].weight = 1;
		break;
	case PERIODS:
		conf[PHASES].period_ns = 1000 * MS;
		conf[CHECKPOINT].period_ns = 100000 * MS;
		conf[SEARCH].period_ns = 10000000 * MS;
		break;
	case LIMITS:
		conf[PHASES].min_bps = m->bps[SL_READ] / 2;
		conf[SEARCH].max_bps = search_alone_bps(m) / 4;
		break;
	}
}

/* ---- output ---- */

static double mb_per_s(uint64_t bytes, sl_time ns)
{
	return (double)bytes * 1000 / (double)ns;
}

static double busy_percent(const struct outcome *r)
{
	return 100.0 * (double)r->all.busy_ns / (double)r->all.makespan_ns;
}

static double merge_ratio(const struct sl_requests_app_result *o)
{
	return (double)o->requests / (double)o->batches;
}

static void print_intro(const struct sl_device_model *m)
{
	char text[600], read[16], write[16], seek_read[16], seek_write[16];

	snprintf(text, sizeof(text),
		 "Three jobs do I/O to one device at the same time. Each block below is the same "
		 "jobs under another combination of the stages admit, share and order. The device "
		 "is a timing model (%s: reads %s, writes %s, a seek costs %s and %s); time is "
		 "virtual, the decisions are those of libsluice.",
		 m->name, sl_format_rate(read, sizeof(read), m->bps[SL_READ]),
		 sl_format_rate(write, sizeof(write), m->bps[SL_WRITE]),
		 sl_format_time(seek_read, sizeof(seek_read), m->seek_ns[SL_READ]),
		 sl_format_time(seek_write, sizeof(seek_write), m->seek_ns[SL_WRITE]));
	cli_wrap(stdout, text, 0, 0);
	putchar('\n');
	for (unsigned i = 0; i < JOBS; i++) {
		printf("  job %u  %-11s ", i + 1, jobs[i].name);
		cli_wrap(stdout, jobs_do[i], 21, 21);
	}
	printf("\n%15s %12s %12s %12s %8s %9s\n", "", "MB/s in I/O", "mean latency", "p99 latency",
	       "merged", "ends at");
}

static void print_rights(int rights, const struct sl_job_conf conf[JOBS])
{
	char min[16], max[16];

	if (rights == WEIGHTS)
		printf("; weights %u:%u:%u", conf[PHASES].weight, conf[CHECKPOINT].weight,
		       conf[SEARCH].weight);
	else if (rights == PERIODS)
		printf("; periods 1, 100, 10000 s");
	else if (rights == LIMITS)
		printf("; job 1 min %s, job 3 max %s",
		       sl_format_rate(min, sizeof(min), conf[PHASES].min_bps),
		       sl_format_rate(max, sizeof(max), conf[SEARCH].max_bps));
}

static void print_result(const struct combination *c, const struct sl_job_conf conf[JOBS],
			 const struct outcome *r)
{
	char mean[16], p99[16], end[16], total[16];

	printf("\n%s: %s, %s, %s", c->name, c->admit, c->share, c->order);
	print_rights(c->rights, conf);
	putchar('\n');
	for (unsigned i = 0; i < JOBS; i++) {
		const struct sl_requests_app_result *o = &r->job[i];

		printf("  %u %-11s %12.1f %12s %12s %8.1f %9s\n", i + 1, jobs[i].name,
		       mb_per_s(o->bytes, o->io_ns),
		       sl_format_time(mean, sizeof(mean), (int64_t)o->request.mean_ns),
		       sl_format_time(p99, sizeof(p99), o->request.p99_ns), merge_ratio(o),
		       sl_format_time(end, sizeof(end), o->end_ns));
	}
	printf("  all in %s, device busy %.0f %%, %" PRIu64 " operations, %" PRIu64 " seeks\n",
	       sl_format_time(total, sizeof(total), r->all.makespan_ns), busy_percent(r),
	       r->all.device_ops, r->all.seeks);
}

static void json_result(struct json *j, const struct combination *c,
			const struct sl_job_conf conf[JOBS], const struct outcome *r)
{
	json_object(j, NULL);
	json_string(j, "name", c->name);
	json_string(j, "admit", c->admit);
	json_string(j, "share", c->share);
	json_string(j, "order", c->order);
	json_int(j, "total_ns", r->all.makespan_ns);
	json_int(j, "busy_ns", r->all.busy_ns);
	json_uint(j, "device_ops", r->all.device_ops);
	json_uint(j, "seeks", r->all.seeks);
	json_array(j, "jobs");
	for (unsigned i = 0; i < JOBS; i++) {
		const struct sl_requests_app_result *o = &r->job[i];

		json_object(j, NULL);
		json_uint(j, "job", i + 1);
		json_string(j, "name", jobs[i].name);
		json_uint(j, "weight", conf[i].weight ? conf[i].weight : 1);
		json_int(j, "period_ns", conf[i].period_ns);
		json_uint(j, "min_bps", conf[i].min_bps);
		json_uint(j, "max_bps", conf[i].max_bps);
		json_uint(j, "bytes", o->bytes);
		json_uint(j, "requests", o->requests);
		json_uint(j, "batches", o->batches);
		json_double(j, "merge_ratio", merge_ratio(o));
		json_double(j, "mb_per_s", mb_per_s(o->bytes, o->io_ns));
		json_int(j, "io_ns", o->io_ns);
		json_int(j, "mean_ns", (int64_t)o->request.mean_ns);
		json_int(j, "p99_ns", o->request.p99_ns);
		json_int(j, "end_ns", o->end_ns);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

/* Numbers of this run, in sentences that hold on every preset (tests/e2e/cli-demo.bats). */
static void print_lessons(const struct outcome result[COMBINATIONS])
{
	double rate[COMBINATIONS][JOBS];
	char text[400], none_end[16], fair_end[16];

	for (unsigned i = 0; i < COMBINATIONS; i++)
		for (unsigned k = 0; k < JOBS; k++)
			rate[i][k] = mb_per_s(result[i].job[k].bytes, result[i].job[k].io_ns);
	puts("\nWhat to see:");
	fputs("- ", stdout);
	snprintf(
		text, sizeof(text),
		"Without a scheduler, each short read of job 1 waits behind all that came before: "
		"%.1f MB/s. Sorting and merging over all jobs ('pool') protects none: %.1f. Taking "
		"turns and merging makes it %.1f, priority by period %.1f, a guarantee %.1f.",
		rate[NOTHING][PHASES], rate[POOL][PHASES], rate[TURNS][PHASES],
		rate[IO_SETS][PHASES], rate[LIMITED][PHASES]);
	cli_wrap(stdout, text, 2, 2);
	fputs("- ", stdout);
	snprintf(
		text, sizeof(text),
		"Equal bytes are not equal time: under 'fair' the random reads of job 3 get as "
		"many bytes as the checkpoint, which then ends at %s instead of %s. Weights, "
		"periods (in requests) or a max for job 3 prevent that.",
		sl_format_time(fair_end, sizeof(fair_end), result[FAIR].job[CHECKPOINT].end_ns),
		sl_format_time(none_end, sizeof(none_end), result[NOTHING].job[CHECKPOINT].end_ns));
	cli_wrap(stdout, text, 2, 2);
	fputs("- ", stdout);
	snprintf(text, sizeof(text),
		 "A max has its price: under 'limits' job 3 waits though the device is busy only "
		 "%.0f %% of the time. Weights and periods do not leave it idle.",
		 busy_percent(&result[LIMITED]));
	cli_wrap(stdout, text, 2, 2);
	demo_next();
}

/* ---- the command ---- */

static int simulate(const struct sl_device_model *m, const struct combination *c,
		    struct outcome *out)
{
	static char name[] = CMD;
	struct sl_requests_app app[JOBS];
	struct sl_job_conf conf[JOBS];
	struct sl_requests_policy policy = { .admit = c->admit,
					     .share = c->share,
					     .order = c->order };
	struct sl_requests r;
	char err[SL_REQUESTS_TEXT];

	memcpy(app, jobs, sizeof(app));
	app[PHASES].compute_ns = 10 * sl_device_cost_ns(m, SL_READ, PHASE_BYTES, 1);
	entitle(m, c->rights, conf);
	for (unsigned i = 0; i < JOBS; i++)
		app[i].conf = conf[i];
	sl_requests_init(&r);
	r.name = name;
	r.transfer_bytes = PIECE_BYTES;
	r.link_bps = LINK_BPS;
	r.latency_ns = 0;
	r.capacity_bps = m->bps[SL_READ];
	r.device = *m;
	r.apps = app;
	r.n_apps = JOBS;
	if (sl_requests_run(&r, &policy, NULL, &out->all, out->job, err, sizeof(err)))
		return cli_fail(CMD, "%s: %s.", c->name, err);
	return CLI_OK;
}

static int run_all(const struct sl_device_model *m, bool json)
{
	struct outcome result[COMBINATIONS];
	struct sl_job_conf conf[JOBS];
	struct json j;
	int status;

	for (unsigned i = 0; i < COMBINATIONS; i++)
		if ((status = simulate(m, &combinations[i], &result[i])))
			return status;
	if (json) {
		json_begin(&j, stdout);
		json_object(&j, NULL);
		json_string(&j, "device", m->name);
		json_array(&j, "runs");
	} else {
		print_intro(m);
	}
	for (unsigned i = 0; i < COMBINATIONS; i++) {
		entitle(m, combinations[i].rights, conf);
		if (json)
			json_result(&j, &combinations[i], conf, &result[i]);
		else
			print_result(&combinations[i], conf, &result[i]);
	}
	if (json) {
		json_end(&j);
		json_end(&j);
	} else {
		print_lessons(result);
	}
	return CLI_OK;
}

static int help(void)
{
	const struct sl_device_model *m;

	puts("usage: sluice demo [--dir DIR] [--json]\n"
	     "       sluice demo --simulate [--device NAME] [--json]\n"
	     "\n"
	     "Runs four jobs, real processes that write real files: one writes little but\n"
	     "often, three write checkpoints. First directly; then through an I/O node, first\n"
	     "come first served, with io-sets, and with a guaranteed minimum. It takes less\n"
	     "than a minute and leaves nothing.\n"
	     "\n"
	     "With --simulate, three other jobs on a model of a device, in virtual time, under\n"
	     "seven combinations of policies.\n"
	     "\n"
	     "Options:\n"
	     "  -C, --dir DIR      where to make files; default $TMPDIR or /tmp\n"
	     "  -s, --simulate     virtual time, on a model of a device\n"
	     "  -d, --device NAME  with --simulate: the device; default hdd\n"
	     "  -j, --json         print JSON\n"
	     "  -h, --help         this text\n"
	     "\n"
	     "Devices:");
	for (unsigned i = 0; (m = sl_device_preset(i)); i++)
		printf("  %-8s %s\n", m->name, m->summary);
	return CLI_OK;
}

static int unknown_device(const char *name)
{
	struct sl_guess guess = { .word = name };
	const struct sl_device_model *m;

	for (unsigned i = 0; (m = sl_device_preset(i)); i++)
		sl_consider(&guess, m->name);
	return cli_unknown(CMD, "device", &guess);
}

int cmd_demo(int argc, char **argv)
{
	const struct sl_device_model *m = NULL;
	const char *dir = NULL, *device = NULL;
	bool json = false, simulated = false;
	const struct cli_option options[] = {
		{ "dir", 'C', .text = &dir },
		{ "simulate", 's', .flag = &simulated },
		{ "device", 'd', .text = &device },
		{ "json", 'j', .flag = &json },
		{ 0 },
	};
	int status = cli_options(CMD, argc, argv, options, 0, help);

	if (status)
		return cli_end(status);
	if (device && !(m = sl_device_find(device)))
		return unknown_device(device);
	if (simulated && dir)
		return cli_usage(CMD,
				 "--simulate writes no files, so --dir has no meaning with it.");
	if (simulated)
		return run_all(m ? m : sl_device_preset(0), json);
	if (m)
		return cli_usage(CMD, "--device is for --simulate.");
	if (!dir)
		dir = getenv("TMPDIR");
	return demo_live(dir && *dir ? dir : "/tmp", json);
}
