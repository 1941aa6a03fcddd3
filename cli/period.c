/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice period`: the period of a job's I/O, from a trace.
 *
 * Without --fs the signal has 10 bins per second, FTIO's default, so that the spectrum is
 * comparable. If this shows no period, or one of only a few bins, a finer signal is tried.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "cli/cli.h"
#include "detect/period.h"

#define CMD	  "period"
#define FEW_BINS  12   /* of a period */
#define FINE_BINS 4096 /* of a trace */
#define MAX_BINS  (1 << 24)

static int analyse(const struct sl_trace *t, size_t n, struct sl_period_result *out)
{
	float *bandwidth = malloc(n * sizeof(*bandwidth));
	double *sums = malloc(2 * n * sizeof(*sums));
	void *work = malloc(sl_period_work_bytes(n));
	int status = CLI_OK;

	if (bandwidth && sums && work) {
		sl_trace_bin(t, n, sums, bandwidth);
		sl_period_find(bandwidth, n, (t->end_s - t->start_s) / (double)n, work, out);
	} else {
		status = cli_fail(CMD, "out of memory for %zu bins.", n);
	}
	free(work);
	free(sums);
	free(bandwidth);
	return status;
}

static int find(const struct sl_trace *t, double fs_hz, struct sl_period_result *out)
{
	size_t n = sl_trace_bins(t, fs_hz);
	struct sl_period_result finer = { 0 };
	int status = analyse(t, n, out);

	if (status != CLI_OK || fs_hz > 0 || n >= FINE_BINS ||
	    (out->source != SL_PERIOD_NONE && out->period_s >= FEW_BINS * out->bin_s))
		return status;
	status = analyse(t, sl_trace_bins(t, FINE_BINS / (t->end_s - t->start_s)), &finer);
	if (status == CLI_OK && finer.source != SL_PERIOD_NONE)
		*out = finer;
	return status;
}

/* ---- output ---- */

static const char *source_name(enum sl_period_source source)
{
	switch (source) {
	case SL_PERIOD_BY_PHASES:
		return "phases";
	case SL_PERIOD_BY_SPECTRUM:
		return "spectrum";
	default:
		return "none";
	}
}

static const char *seconds(char *buf, size_t size, double s)
{
	return sl_format_time(buf, size, (int64_t)fmin(s * 1e9, 9e18));
}

static void print_spectrum(const struct sl_period_result *r)
{
	const struct sl_period_spectrum *s = &r->spectrum;
	char text[300];

	if (s->n_candidates)
		printf("\n%12s %12s %8s %8s %11s\n", "frequency Hz", "period s", "power %", "z",
		       "confidence");
	for (unsigned i = 0; i < s->n_candidates; i++) {
		const struct sl_period_candidate *c = &s->candidate[i];

		printf("%12.5g %12.5g %8.2f %8.2f %11.2f  %s\n", c->frequency_hz, c->period_s,
		       100 * c->share, c->z, c->confidence,
		       c->harmonic   ? "harmonic"
		       : c->dominant ? "dominant"
				     : "");
	}
	putchar('\n');
	if (s->period_s > 0)
		snprintf(text, sizeof(text),
			 "By the spectrum alone: %.4g s, confidence %.2f. The spectrum has only "
			 "periods that are "
			 "the "
			 "window divided by whole numbers.",
			 s->period_s, s->confidence);
	else
		snprintf(text, sizeof(text),
			 "By the spectrum alone: no period; %u dominant frequencies (one or two "
			 "make a "
			 "period), %u candidates (z above 3).",
			 s->dominant, s->above_3);
	cli_wrap(stdout, text, 0, 0);
}

static void print_verdict(const struct sl_period_result *r)
{
	const struct sl_period_phases *p = &r->phases;
	char text[400];

	if (r->source == SL_PERIOD_NONE) {
		puts("not periodic");
		cli_wrap(stdout,
			 "No rhythm of phases and no frequency stands out from what "
			 "chance could produce. Ten periods are usually enough, three if "
			 "they are very regular.",
			 0, 0);
		return;
	}
	printf("period      %.4g s (%.4g Hz)\n", r->period_s, 1 / r->period_s);
	printf("confidence  %.2f\n", r->confidence);
	if (r->source == SL_PERIOD_BY_PHASES)
		snprintf(text, sizeof(text),
			 "the starts of %u phases: %.0f %% of the times between them "
			 "fit, with a jitter of %.0f %%; %.0f %% of the phases are missing. ",
			 p->phases, 100 * p->regular, 100 * p->jitter, 100 * p->missing);
	else
		snprintf(text, sizeof(text),
			 "a dominant frequency, made precise by the autocorrelation. "
			 "No separate phases were found. ");
	snprintf(text + strlen(text), sizeof(text) - strlen(text),
		 "Autocorrelation %.2f. Odds against chance: e^%.0f.", r->autocorrelation,
		 r->evidence);
	printf("found by    ");
	cli_wrap(stdout, text, 12, 12);
}

static void print_text(const char *path, const struct sl_trace *t, const struct sl_period_result *r)
{
	char length[32], bin[32];

	printf("%s: %zu intervals, %s; %zu bins of %s\n\n", path, t->n,
	       seconds(length, sizeof(length), t->end_s - t->start_s), r->bins,
	       seconds(bin, sizeof(bin), r->bin_s));
	print_verdict(r);
	print_spectrum(r);
}

static void print_json(const char *path, const struct sl_trace *t, const struct sl_period_result *r)
{
	const struct sl_period_spectrum *s = &r->spectrum;
	double nothing = r->source == SL_PERIOD_NONE ? NAN : 0; /* null */
	struct json j;

	json_begin(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "trace", path);
	json_uint(&j, "intervals", t->n);
	json_double(&j, "bytes", t->bytes);
	json_double(&j, "window_s", r->window_s);
	json_uint(&j, "bins", r->bins);
	json_double(&j, "fs_hz", 1 / r->bin_s);
	json_bool(&j, "periodic", r->source != SL_PERIOD_NONE);
	json_string(&j, "source", source_name(r->source));
	json_double(&j, "period_s", r->period_s + nothing);
	json_double(&j, "frequency_hz", 1 / (r->period_s + nothing));
	json_double(&j, "confidence", r->confidence);
	json_double(&j, "evidence", r->evidence);
	json_double(&j, "autocorrelation", r->autocorrelation + nothing);
	if (r->source == SL_PERIOD_BY_PHASES) {
		json_object(&j, "phases");
		json_uint(&j, "phases", r->phases.phases);
		json_double(&j, "regular", r->phases.regular);
		json_double(&j, "jitter", r->phases.jitter);
		json_double(&j, "missing", r->phases.missing);
		json_end(&j);
	}
	json_object(&j, "spectrum");
	json_double(&j, "period_s", s->period_s > 0 ? s->period_s : NAN);
	json_double(&j, "frequency_hz", s->period_s > 0 ? 1 / s->period_s : NAN);
	json_double(&j, "confidence", s->confidence);
	json_uint(&j, "dominant", s->dominant);
	json_uint(&j, "above_3", s->above_3);
	json_array(&j, "candidates");
	for (unsigned i = 0; i < s->n_candidates; i++) {
		const struct sl_period_candidate *c = &s->candidate[i];

		json_object(&j, NULL);
		json_double(&j, "frequency_hz", c->frequency_hz);
		json_double(&j, "period_s", c->period_s);
		json_double(&j, "share", c->share);
		json_double(&j, "z", c->z);
		json_double(&j, "confidence", c->confidence);
		json_bool(&j, "dominant", c->dominant);
		json_bool(&j, "harmonic", c->harmonic);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	json_end(&j);
}

int cmd_period(int argc, char **argv)
{
	const char *fs = NULL, *path;
	bool json = false;
	const struct cli_option options[] = {
		{ "fs", 0, "HZ", .text = &fs,
		  .help = "bins a second of the bandwidth signal; default 10, more if needed" },
		{ "json", 'j', NULL, .flag = &json, .help = "JSON instead of text" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = CMD,
		.usage = "period [--fs HZ] [--json] TRACE.csv",
		.about = "Finds the period of a job's I/O: the mean time between the starts of its "
			 "I/O phases. TRACE.csv, or - for standard input, names its columns in the "
			 "first line: t_start and t_end in seconds, and bytes or bandwidth (bytes "
			 "a second).",
		.more = "Manual: sluice-period(1).",
		.options = options,
		.takes = "file",
		.arguments = 1,
	};
	int status = cli_next(&command, argc, argv), rc;
	struct sl_period_result found = { 0 };
	struct sl_trace trace;
	double fs_hz = 0;
	char err[500], *end;

	if (status != CLI_OK)
		return cli_end(status);
	if (optind == argc)
		return cli_usage(CMD, "no trace given.");
	path = argv[optind];
	if (fs) {
		fs_hz = strtod(fs, &end);
		if (end == fs || *end || !(fs_hz > 0) || !isfinite(fs_hz))
			return cli_usage(CMD, "--fs '%s' is not a number of bins a second.", fs);
	}
	rc = sl_trace_load(path, &trace, err, sizeof(err));
	if (rc) {
		cli_fail(CMD, "%s", err);
		return rc == -EINVAL ? CLI_USAGE : CLI_FAILED;
	}
	if ((trace.end_s - trace.start_s) * fs_hz > MAX_BINS)
		status = cli_usage(CMD, "--fs %s makes %.3g bins of %.4g s; at most %d.", fs,
				   (trace.end_s - trace.start_s) * fs_hz,
				   trace.end_s - trace.start_s, MAX_BINS);
	else
		status = find(&trace, fs_hz, &found);
	if (status == CLI_OK)
		(json ? print_json : print_text)(path, &trace, &found);
	sl_trace_free(&trace);
	return status;
}
