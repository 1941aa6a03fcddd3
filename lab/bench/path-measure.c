/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measure the cost of a layer against the same calls without it.
 *
 * For a row, some jobs of some processes (worker.c) each read or write a file of their own, one
 * call after the other. They work in slices of some ten milliseconds, alternating between libc's
 * functions and those of the preloaded library: direct, sluice, direct, sluice, … The same
 * processes do all slices of a row on the same files, which were written before. So page cache and
 * allocation are the same for both, and a disturbance that is longer than a slice affects both. Two
 * adjacent slices make a pair, which gives a ratio; the result of the row is the median.
 *
 *	process 0   |direct|sluice|direct|sluice|…
 *	process 1   |direct|sluice|direct|sluice|…
 *	             \_ pair 1 _/  \_ pair 2 _/
 *
 * A gate intercepts libc's functions too, so there the direct slices run in separate processes
 * without a gate.
 *
 * CPU time is that of the processes, and of the layer's nodes in the slices through the layer.
 */
#include "lab/bench/path-measure.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cli.h"
#include "lab/bench/bare.h"
#include "lab/bench/common.h"
#include "lab/private-layer.h"
#include "lab/statistics.h"

#define WARM_SLICE_NS 5000000
#define OPTIONS	      12
#define MIB	      1048576.0

struct cost {
	uint64_t bytes;
	int64_t client_ns, node_ns;
};

/* Microseconds per unit of this many bytes. */
static double per_unit(int64_t ns, uint64_t bytes, double unit)
{
	return bytes ? (double)ns / 1e3 / ((double)bytes / unit) : 0;
}

/* One slice; what it cost is added to *cost. */
static bool run_slice(struct bench_team *t, enum bench_way way, int64_t length_ns,
		      struct cost *cost, double *mib_s)
{
	int64_t (*server)(void) = way == BENCH_BARE ? bare_cpu_ns : private_layer_cpu_ns;
	int64_t before = server();
	struct bench_sum sum;

	if (!bench_team_slice(t, way, length_ns, way != BENCH_DIRECT, &sum))
		return false;
	cost->node_ns += server() - before;
	cost->client_ns += sum.cpu_ns;
	cost->bytes += sum.bytes;
	*mib_s = sum.mib_s;
	return true;
}

static bool run_pairs(struct bench_team *plain_team, struct bench_team *t,
		      const struct path_row *row, const struct path_times *times,
		      struct path_result *out)
{
	double direct[PATH_MAX_PAIRS], sluice[PATH_MAX_PAIRS], ratio[PATH_MAX_PAIRS];
	enum bench_way reference = row->bare_port ? BENCH_BARE : BENCH_DIRECT;
	int64_t length_ns = row->capacity_bps ? times->capacity_ns
			    : row->jobs > 1   ? times->contend_ns
					      : times->slice_ns;
	unsigned pairs = row->capacity_bps ? (times->pairs + 2) / 3 : times->pairs;
	struct cost plain = { 0 }, layer = { 0 }, warm = { 0 };
	double mib_s, unit = row->op == BENCH_META ? 1 : MIB;

	if (!run_slice(plain_team, reference, WARM_SLICE_NS, &warm, &mib_s) ||
	    !run_slice(t, BENCH_LAYER, WARM_SLICE_NS, &warm, &mib_s))
		return false;
	for (unsigned i = 0; i < pairs; i++) {
		direct[i] = (double)row->capacity_bps / 1048576;
		if (!row->capacity_bps &&
		    !run_slice(plain_team, reference, length_ns, &plain, &direct[i]))
			return false;
		if (!run_slice(t, BENCH_LAYER, length_ns, &layer, &sluice[i]))
			return false;
		ratio[i] = sluice[i] / direct[i];
	}
	out->pairs = pairs;
	out->direct_mib_s = stat_median(direct, pairs) * MIB / unit;
	out->sluice_mib_s = stat_median(sluice, pairs) * MIB / unit;
	out->ratio = stat_median(ratio, pairs);
	stat_median_interval(ratio, pairs, &out->ratio_low, &out->ratio_high);
	/* Without a bare server no node works in the direct slices. */
	out->direct_cpu_us =
		per_unit(plain.client_ns + (row->bare_port ? plain.node_ns : 0), plain.bytes, unit);
	out->bare_cpu_us = row->bare_port ? per_unit(plain.node_ns, plain.bytes, unit) : 0;
	out->client_cpu_us = per_unit(layer.client_ns, layer.bytes, unit);
	out->node_cpu_us = per_unit(layer.node_ns, layer.bytes, unit);
	return true;
}

/* How a worker is started: in a mode, or behind a gate. */
static int add_workers(struct bench_team *t, const struct path_row *row, const char *const *gate)
{
	const char *const *more = gate ? gate : row->connect;
	int status = CLI_OK;

	if (gate && row->slow_wake)
		setenv("SLUICE_GATE_WAKE", "async", 1);

	for (unsigned i = 0; i < row->jobs * row->procs && !status; i++) {
		char job[24];
		const char *options[OPTIONS] = { "--mode", row->gate ? "turn" : row->mode, "--job",
						 job };
		unsigned n = 4;

		snprintf(job, sizeof(job), "bench-%u", i / row->procs);
		for (const char *const *o = more; o && *o && n < OPTIONS - 1; o++)
			options[n++] = *o;
		status = bench_team_add(t, options);
	}
	unsetenv("SLUICE_GATE_WAKE");
	return status ? status : bench_team_ready(t);
}

int path_measure(struct private *p, const struct path_row *row, uint64_t span,
		 const struct path_times *times, struct path_result *out)
{
	struct bench_load load = { .op = row->op,
				   .size = row->size,
				   .span = span,
				   .open_flags = row->open_flags,
				   .bare_port = row->bare_port };
	struct bench_team t, plain;
	int status;

	snprintf(load.dir, sizeof(load.dir), "%s", p->dir);
	status = bench_team_begin(&t, p, &load);
	if (!status)
		status = add_workers(&t, row, row->gate);
	if (!status && row->gate) {
		status = bench_team_begin(&plain, p, &load);
		if (!status)
			status = add_workers(&plain, row, NULL);
		if (!status && !run_pairs(&plain, &t, row, times, out))
			status = CLI_FAILED; /* the process has reported why */
		bench_team_end(&plain);
	} else if (!status && !run_pairs(&t, &t, row, times, out)) {
		status = CLI_FAILED;
	}
	if (!status) {
		out->p50_us = bench_percentile_us(t.segment, BENCH_LAYER, 0.50);
		out->p99_us = bench_percentile_us(t.segment, BENCH_LAYER, 0.99);
		out->bare_p50_us = bench_percentile_us(t.segment, BENCH_BARE, 0.50);
	}
	bench_team_end(&t);
	return status;
}
