/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring one row of `sluice bench sched`. See measure.c for how. */
#ifndef SL_LAB_BENCH_MEASURE_H
#define SL_LAB_BENCH_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#define BENCH_MAX_REPETITIONS 9

enum bench_kind { BENCH_SHARE, BENCH_ORDER, BENCH_ADMIT };

struct bench_row {
	enum bench_kind kind;
	const char *share, *order;
	uint32_t jobs, files, outstanding; /* files: in all */
	bool random;			   /* offsets; else each file is one stream */
	bool limits;			   /* every job has min and max */
	bool no_periods;		   /* io-sets: every job is a set of its own */
	bool wait;			   /* mlf, aioli: with the default wait_us, else 0 */
	unsigned goal_ns;		   /* 0: none */
};

struct bench_result {
	double ns, ns_min; /* for each request: median, smallest */
	double heap_ns;	   /* baseline, at the same time */
	double merge_ratio;
	double floor_ratio; /* part of the bytes that a guarantee has chosen */
	int64_t wait_us;    /* -1: the policy has none */
};

struct bench_times {
	unsigned repetitions; /* up to BENCH_MAX_REPETITIONS */
	int64_t warm_ns, slice_ns, heap_ns;
};

struct bench_heap;
struct bench_heap *bench_heap_create(void); /* NULL: out of memory; to be freed */
/* The baseline, also of other measurements: ns for replacing the top, measured for for_ns. */
double bench_heap_measure(struct bench_heap *h, int64_t for_ns);

/* Errors are reported; returns an exit status. */
int bench_measure(const struct bench_row *row, const struct bench_times *times,
		  struct bench_heap *heap, struct bench_result *out);

#endif
