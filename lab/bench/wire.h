/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice bench wire`: loads on a test file system. wire.c has the rows, wire-load.c the loads. */
#ifndef SL_LAB_BENCH_WIRE_H
#define SL_LAB_BENCH_WIRE_H

#include <stdbool.h>
#include <sys/types.h>

#define WIRE_CMD   "bench wire"
#define WIRE_LOADS 4

/* A program, with or without the layer, that repeats one operation for some seconds. */
struct wire_load {
	const char *pattern;	/* of wire-load.c */
	const char *job;	/* NULL: without the layer */
	const char *options[4]; /* of `sluice run`; NULL at the end */
	/* What it said. */
	double bytes, seconds, p50_ms, p99_ms;
	pid_t pid;
	int out;
};

/*
 * Start the loads, each on a file of its own in dir. Bytes moved in the first warm_s do not count.
 * False: an error was printed and none runs.
 */
bool wire_start(struct wire_load *load, unsigned count, const char *dir, double warm_s,
		double seconds);
/* Wait for all; false: one has failed, or the run was interrupted. */
bool wire_wait(struct wire_load *load, unsigned count);
static inline double wire_mb_s(const struct wire_load *l)
{
	return l->seconds > 0 ? l->bytes / l->seconds / 1e6 : 0;
}

/* In the load's process: `sluice bench load PATTERN FILE WARM SECONDS`. */
int bench_load(int argc, char **argv);

#endif
