/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice bench wire`: the effect of a layer on a file system with a page cache and a limited
 * bandwidth, compared with the same programs without the layer in the same run. scripts/testfs
 * starts the file system; its bandwidth changes during the run, and the bytes that it moves are
 * counted on the server's side.
 *
 * A group of rows is a function and a line in `groups`. Each prints one or more figures with their
 * goals.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/clock.h"
#include "base/json.h"
#include "lab/bench/bench.h"
#include "lab/bench/common.h"
#include "lab/bench/wire.h"
#include "lab/private-layer.h"
#include "lab/statistics.h"
#include "layer/layer.h"
#include "layer/status.h"

#define CMD	  WIRE_CMD
#define FULL_MB_S 100.0
#define ASK_MS	  1000
#define PAIR_S	  2.0 /* of a load that is repeated */
#define MIX_S	  8.0
/* Until it is found 3 s may pass, see `changes`; and 2 more until the checkpoint is over that began before. */
#define FOUND_S 5.0
#define BEST	0.97 /* of the bandwidth: a capacity that keeps the device's queue short */

struct wire_bench {
	const char *testfs, *fs; /* the script, and the directory of its file system */
	bool quick, json_wanted;
	struct json json;
	struct private p;
	double seconds;	  /* of a load */
	double full_mb_s; /* of files, at FULL_MB_S; 0: not measured yet */
	double warm_s;	  /* warm-up before them, not counted */
	unsigned rows, missed;
};

/* ---- the file system ---- */

/* Run a command; text: its output. Returns its exit status. */
static int ask_testfs(const struct wire_bench *b, const char *words, char *text, size_t size)
{
	char command[PATH_MAX * 2 + 200];
	FILE *f;
	size_t n = 0;
	int status;

	snprintf(command, sizeof(command), "'%s' %s '%s'", b->testfs, words, b->fs);
	fflush(NULL);
	f = popen(command, "re");
	if (!f)
		return cli_fail(CMD, "cannot start %s: %s.", b->testfs, strerror(errno));
	if (text) {
		n = fread(text, 1, size - 1, f);
		text[n] = 0;
	}
	status = pclose(f);
	return status ? cli_fail(CMD, "'%s %s' failed.", b->testfs, words) : CLI_OK;
}

static int set_mb_s(const struct wire_bench *b, double mb_s)
{
	char words[100];

	snprintf(words, sizeof(words), "set --read %.0f --write %.0f", mb_s * 1e6, mb_s * 1e6);
	return ask_testfs(b, words, NULL, 0);
}

/* Bytes that it has read and written. */
static double counted(const struct wire_bench *b)
{
	double read = 0, written = 0;
	char text[200] = "";

	if (ask_testfs(b, "count", text, sizeof(text)) ||
	    sscanf(text, "read %lf written %lf", &read, &written) != 2)
		return NAN;
	return read + written;
}

/* ---- figures ---- */

/* Print a figure. at_most: the goal is an upper bound. */
static void put(struct wire_bench *b, const char *name, double value, const char *unit, double goal,
		bool at_most)
{
	bool met = at_most ? value <= goal : value >= goal;

	b->rows++;
	b->missed += !met;
	if (!b->json_wanted) {
		printf("%-34s %10.3g %-5s %s %5.3g%s\n", name, value, unit,
		       at_most ? "<=" : ">=", goal, met ? "" : "  !");
		fflush(stdout);
		return;
	}
	json_object(&b->json, NULL);
	json_string(&b->json, "row", name);
	json_double(&b->json, "value", value);
	json_string(&b->json, "unit", *unit ? unit : NULL);
	json_double(&b->json, "goal", goal);
	json_bool(&b->json, "goal_at_most", at_most);
	json_bool(&b->json, "goal_met", met);
	json_end(&b->json);
}

/* ---- running ---- */

/* Write back all dirty pages, so that the next run does not pay for them. */
static void settle(const struct wire_bench *b)
{
	(void)b;
	sync();
}

static bool run(struct wire_bench *b, struct wire_load *load, unsigned count)
{
	settle(b);
	return wire_start(load, count, b->p.dir, b->warm_s, b->seconds) && wire_wait(load, count);
}

static int up(struct wire_bench *b, const char *const *options)
{
	int status;

	private_layer_down(&b->p);
	status = private_layer_up(&b->p, options);
	return status;
}

/* What two programs without the layer get together: GlusterFS's network carries headers, too. */
static bool measure_full(struct wire_bench *b)
{
	struct wire_load load[2] = { { .pattern = "direct" }, { .pattern = "direct" } };

	if (b->full_mb_s > 0)
		return true;
	if (!run(b, load, 2))
		return false;
	b->full_mb_s = wire_mb_s(&load[0]) + wire_mb_s(&load[1]);
	if (!b->json_wanted)
		printf("(direct writers without the layer: %.1f MB/s)\n", b->full_mb_s);
	return true;
}

/*
 * Run one pattern alone, with and without the layer: the median of the ratios of several pairs.
 * NAN: it failed.
 */
static double against_direct(struct wire_bench *b, const char *pattern)
{
	unsigned pairs = b->quick ? 1 : 3;
	double ratio[3], whole = b->seconds;

	b->seconds = PAIR_S;
	for (unsigned i = 0; i < pairs; i++) {
		struct wire_load with = { .pattern = pattern, .job = "alone" };
		struct wire_load without = { .pattern = pattern };
		/* Alternate which one comes first. */
		struct wire_load *first = i % 2 ? &with : &without,
				 *second = i % 2 ? &without : &with;

		if (!run(b, first, 1) || !run(b, second, 1)) {
			pairs = 0;
			break;
		}
		ratio[i] = !strcmp(pattern, "small") ? without.p50_ms / fmax(with.p50_ms, 1e-6)
						     : wire_mb_s(&with) / wire_mb_s(&without);
	}
	b->seconds = whole;
	return pairs ? stat_median(ratio, pairs) : NAN;
}

static int one_against_direct(struct wire_bench *b, const char *const *options, const char *pattern,
			      const char *name, double goal)
{
	int status = up(b, options);
	double ratio;

	if (status)
		return status;
	ratio = against_direct(b, pattern);
	if (isnan(ratio))
		return CLI_FAILED;
	put(b, name, ratio, "", goal, false);
	return CLI_OK;
}

static const char *const capacity_50[] = { "--capacity", "50MB/s", NULL };
/*
 * Below the file bandwidth of every test file system: the rate of GlusterFS includes 4 % for
 * network headers.
 */
static const char *const capacity_90[] = { "--capacity", "90MB/s", NULL };
static const char *const automatic[] = { "--capacity", "auto", NULL };
static const char *const observing[] = { "--observe", "--capacity", "50MB/s", NULL };
static const char *const sets_95[] = { "--capacity", "95MB/s", "--policy", "share=io-sets", NULL };

/* ---- groups ---- */

static int cached(struct wire_bench *b)
{
	return one_against_direct(b, capacity_50, "reread", "cached re-read, of direct", 0.97);
}

static int bursts(struct wire_bench *b)
{
	return one_against_direct(b, capacity_50, "burst", "burst of 8 MiB, of direct", 0.95);
}

/* How far a : b is from 4 : 1. */
static double off_by(const struct wire_load *load)
{
	return fabs(load[0].bytes / fmax(load[1].bytes, 1) / 4 - 1);
}

/*
 * Two writers of weights 4 : 1; bytes as counted by the writers, and each second on the server's
 * side.
 */
static int shares_of(struct wire_bench *b, const char *pattern, const char *name)
{
	struct wire_load load[2] = {
		{ .pattern = pattern, .job = "a", .options = { "--weight", "4" } },
		{ .pattern = pattern, .job = "b" }
	};
	double last = NAN, last_s = 0, peak = 0;
	char text[100];
	int status = up(b, capacity_90);

	if (status)
		return status;
	settle(b);
	if (!wire_start(load, 2, b->p.dir, b->warm_s, b->seconds))
		return CLI_FAILED;
	for (double s = 0; s + 1 < b->seconds; s += 1) {
		double bytes = counted(b), now = sl_clock_s();

		/* Counting takes time, too. */
		peak = isnan(last) ? 0 : fmax(peak, (bytes - last) / (now - last_s));
		last = bytes;
		last_s = now;
		poll(NULL, 0, 1000);
	}
	if (!wire_wait(load, 2))
		return CLI_FAILED;
	snprintf(text, sizeof(text), "%s: 4 : 1, off by", name);
	put(b, text, off_by(load), "", 0.05, true);
	snprintf(text, sizeof(text), "%s: 1 s peak / capacity", name);
	put(b, text, peak / 90e6, "", 1.2, true);
	return CLI_OK;
}

static int shares(struct wire_bench *b)
{
	int status = shares_of(b, "buffered", "buffered writers");

	return status ? status : shares_of(b, "ckpt", "checkpoints with fsync");
}

static int device(struct wire_bench *b)
{
	struct wire_load with[2] = { { .pattern = "ckpt", .job = "a" },
				     { .pattern = "ckpt", .job = "b" } };
	struct wire_load without[2] = { { .pattern = "ckpt" }, { .pattern = "ckpt" } };
	static const char *const full[] = { "--capacity", "100MB/s", NULL };
	int status = up(b, full);

	if (status)
		return status;
	if (!run(b, without, 2) || !run(b, with, 2))
		return CLI_FAILED;
	put(b, "two checkpoints together, of direct",
	    (wire_mb_s(&with[0]) + wire_mb_s(&with[1])) /
		    (wire_mb_s(&without[0]) + wire_mb_s(&without[1])),
	    "", 0.97, false);
	return CLI_OK;
}

static int small_writer(struct wire_bench *b)
{
	struct wire_load alone = { .pattern = "small" };
	struct wire_load load[2] = {
		{ .pattern = "small", .job = "small", .options = { "--period", "1" } },
		{ .pattern = "ckpt", .job = "ckpt", .options = { "--period", "100" } }
	};
	int status = up(b, sets_95);

	if (status)
		return status;
	if (!run(b, &alone, 1) || !run(b, load, 2))
		return CLI_FAILED;
	put(b, "small writer p50, of alone", load[0].p50_ms / fmax(alone.p50_ms, 1e-6), "", 2,
	    true);
	put(b, "small writer p99", load[0].p99_ms, "ms", 25, true);
	return CLI_OK;
}

/* Six mixes under auto, against the capacity that is best: 97 % of what direct writers get. */
static int found(struct wire_bench *b)
{
	static const char *const mix[6][2] = { { "direct", "direct" }, { "dread", "dread" },
					       { "ckpt", "ckpt" },     { "direct", "dread" },
					       { "direct", "ckpt" },   { "dread", "ckpt" } };
	char capacity[40];
	const char *const best[] = { "--capacity", capacity, NULL };
	int status;

	if (!measure_full(b))
		return CLI_FAILED;
	snprintf(capacity, sizeof(capacity), "%.0f", b->full_mb_s * BEST * 1e6);
	if (!b->quick)
		b->seconds = MIX_S;
	b->warm_s = FOUND_S;
	for (unsigned i = 0; i < (b->quick ? 2 : 6); i++) {
		struct wire_load load[2][2];
		char text[100];

		for (int a = 0; a < 2; a++) {
			load[a][0] = (struct wire_load){ .pattern = mix[i][0],
							 .job = "a",
							 .options = { "--weight", "4" } };
			load[a][1] = (struct wire_load){ .pattern = mix[i][1], .job = "b" };
			if ((status = up(b, a ? automatic : best)))
				return status;
			if (!run(b, load[a], 2))
				return CLI_FAILED;
		}
		snprintf(text, sizeof(text), "auto %s+%s, of fixed", mix[i][0], mix[i][1]);
		put(b, text,
		    (wire_mb_s(&load[1][0]) + wire_mb_s(&load[1][1])) /
			    (wire_mb_s(&load[0][0]) + wire_mb_s(&load[0][1])),
		    "", 0.95, false);
		/* One job may be unable to use its part: as much of it as under the best capacity. */
		snprintf(text, sizeof(text), "auto %s+%s: 4 : 1, off by", mix[i][0], mix[i][1]);
		if (!strcmp(mix[i][0], mix[i][1]))
			put(b, text, off_by(load[1]), "", 0.05, true);
		else if (!b->json_wanted)
			printf("(%s %.3f; under the best capacity %.3f)\n", text, off_by(load[1]),
			       off_by(load[0]));
	}
	return CLI_OK;
}

/* The capacity that the layer reports, in MB/s. */
static double found_mb_s(const struct wire_bench *b)
{
	struct layer l;
	struct status *s;
	double bps;

	(void)b;
	if (cli_result(CMD, layer_open(&l, NULL, false), layer_error()))
		return 0;
	s = status_ask(&l, ASK_MS);
	layer_close(&l);
	bps = s ? s->capacity_auto_write_bps : 0;
	status_free(s);
	return bps / 1e6;
}

/*
 * Seconds until the capacity found is within 10 % of the true one, up to a limit; then its largest
 * deviation.
 */
static double found_again(const struct wire_bench *b, double mb_s, double most_s, double *strays)
{
	double at = most_s;

	*strays = 0;
	for (int step = 0; step < most_s * 10; step++) {
		double off = fabs(found_mb_s(b) / mb_s - 1);

		poll(NULL, 0, 100);
		if (at >= most_s && off <= 0.1)
			at = step / 10.0;
		else if (at < most_s)
			*strays = fmax(*strays, off);
	}
	return at;
}

static int changes(struct wire_bench *b)
{
	struct wire_load load[2] = { { .pattern = "direct", .job = "a" },
				     { .pattern = "direct", .job = "b" } };
	double each_s = b->quick ? 4 : 8, halved, doubled, strays[2];
	int status;

	if (!measure_full(b))
		return CLI_FAILED;
	status = up(b, automatic);
	if (status)
		return status;
	settle(b);
	if (!wire_start(load, 2, b->p.dir, 0, 5 + 2 * each_s))
		return CLI_FAILED;
	poll(NULL, 0, 5000);
	status = set_mb_s(b, FULL_MB_S / 2);
	halved = found_again(b, b->full_mb_s / 2, each_s, &strays[0]);
	status = set_mb_s(b, FULL_MB_S) || status;
	doubled = found_again(b, b->full_mb_s, each_s, &strays[1]);
	if (!wire_wait(load, 2) || status)
		return CLI_FAILED;
	put(b, "auto: bandwidth halved, found after", halved, "s", 3, true);
	put(b, "auto: bandwidth doubled, found after", doubled, "s", 3, true);
	put(b, "auto: strays after that by", fmax(strays[0], strays[1]), "", 0.1, true);
	return CLI_OK;
}

/* Start with a wrong capacity, then `sluice set --capacity auto`. */
static int wrong(struct wire_bench *b)
{
	static const char *const wrongs[][3] = { { "--capacity", "50MB/s" },
						 { "--capacity", "150MB/s" } };
	static const char *const set[] = { "sluice", "set", "--capacity", "auto", NULL };

	for (unsigned i = 0; i < 2; i++) {
		struct wire_load with[2] = { { .pattern = "direct", .job = "a" },
					     { .pattern = "direct", .job = "b" } };
		struct wire_load without[2] = { { .pattern = "direct" }, { .pattern = "direct" } };
		char text[100];
		int status = up(b, wrongs[i]);

		b->warm_s = FOUND_S;
		if (!status && private_layer_command(&b->p, set))
			status = cli_fail(b->p.cmd, "'sluice set --capacity auto' failed.");
		if (status)
			return status;
		if (!run(b, without, 2) || !run(b, with, 2))
			return CLI_FAILED;
		snprintf(text, sizeof(text), "auto after %s, of direct", wrongs[i][1]);
		put(b, text,
		    (wire_mb_s(&with[0]) + wire_mb_s(&with[1])) /
			    (wire_mb_s(&without[0]) + wire_mb_s(&without[1])),
		    "", 0.95, false);
	}
	return CLI_OK;
}

static int all_patterns(struct wire_bench *b, const char *const *options, const char *name,
			double goal)
{
	static const char *const patterns[] = { "direct", "dread", "ckpt", "reread", "burst" };
	int status = up(b, options);

	for (unsigned i = 0; !status && i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		double ratio = against_direct(b, patterns[i]);
		char text[100];

		if (isnan(ratio))
			return CLI_FAILED;
		snprintf(text, sizeof(text), "%s: %s, of direct", name, patterns[i]);
		put(b, text, ratio, "", goal, false);
	}
	return status;
}

static int alone(struct wire_bench *b)
{
	return all_patterns(b, automatic, "auto, alone", 0.97);
}

static int observed(struct wire_bench *b)
{
	return all_patterns(b, observing, "observe", 0.98);
}

static const char *const group_names[] = { "cached", "burst", "shares", "device",  "small", "auto",
					   "change", "wrong", "alone",	"observe", NULL };
static int (*const groups[])(struct wire_bench *) = { cached, bursts,  shares, device, small_writer,
						      found,  changes, wrong,  alone,  observed };

/* ---- the command ---- */

static int measure(struct wire_bench *b, unsigned wanted)
{
	struct wire_load files[2] = { { .pattern = "fill" }, { .pattern = "fill" } };
	int status = private_begin(&b->p, CMD, b->fs);

	if (!status)
		status = private_layer_begin(&b->p);
	if (!status && !run(b, files, 2))
		status = CLI_FAILED;
	for (unsigned i = 0; !status && group_names[i]; i++)
		if (wanted & 1U << i) {
			b->warm_s = 0;
			b->seconds = b->quick ? 3 : 10;
			status = groups[i](b);
		}
	private_layer_end(&b->p);
	return private_end(&b->p, status);
}

int bench_wire(int argc, char **argv)
{
	static struct wire_bench b;
	const char *list = NULL;
	const struct cli_option options[] = {
		{ "rows", 'r', "LIST", .text = &list,
		  .help = "groups, with commas: cached, burst, shares, device, small, auto, "
			  "change, wrong, alone, observe; default is all" },
		{ "quick", 'q', NULL, .flag = &b.quick,
		  .help = "3 s for each load, once, instead of 6 or 10" },
		{ "testfs", 0, "FILE", .values = "<file>", .text = &b.testfs,
		  .help = "the script; default is scripts/testfs" },
		CLI_JSON(&b.json_wanted),
		{ 0 },
	};
	const struct cli_command command = {
		.name = CMD,
		.usage = "bench wire [--quick] [--rows LIST] [--json] [--testfs FILE] DIR",
		.about = "Measures the effect of a layer on a file system with a page cache and a "
			 "bandwidth, against the same programs without it. DIR: one that "
			 "'scripts/testfs start' has started, which needs root. Its bandwidth is "
			 "set to 100 MB/s, and changed.",
		.options = options,
		.takes = "dir",
		.arguments = 1,
	};
	unsigned wanted;
	int status;

	b = (struct wire_bench){ .testfs = "scripts/testfs" };
	if ((status = cli_next(&command, argc, argv)))
		return cli_end(status);
	if ((status = bench_rows(CMD, list, group_names, &wanted)))
		return status;
	if (optind == argc)
		return cli_usage(
			CMD,
			"no directory given; 'scripts/testfs start DIR' starts a file system.");
	b.fs = argv[optind];
	b.seconds = b.quick ? 3 : 10;
	if (strchr(b.fs, '\'') || strchr(b.testfs, '\''))
		return cli_usage(CMD, "the path must not contain a quote.");
	if ((status = set_mb_s(&b, FULL_MB_S)))
		return status;
	if (b.json_wanted)
		bench_json_begin(&b.json, "wire");
	status = measure(&b, wanted);
	if (b.json_wanted) {
		json_end(&b.json);
		json_end(&b.json);
	} else if (!status) {
		printf("\n%u of %u goals are not met (!).\n", b.missed, b.rows);
	}
	return status;
}
