/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that move data for `sluice bench path` and `sluice bench share`: `sluice bench
 * worker`, started by `sluice run` like any other program. See worker.c for what one does and
 * team.c for how they are started.
 */
#ifndef SL_LAB_BENCH_WORKER_H
#define SL_LAB_BENCH_WORKER_H

#include <stdatomic.h>

#include "lab/private.h"

#define BENCH_WORKERS	  16
#define BENCH_STEPS	  32 /* buckets of a power of two */
#define BENCH_STEPS_LOG	  5
#define BENCH_BUCKETS	  (40 * BENCH_STEPS)
#define BENCH_SMALL	  3901U /* bytes of a small file */
#define BENCH_SMALL_SET	  500U	/* small files that a process reads in turn */
#define BENCH_META_SET	  500U	/* most files of a process at a time */
#define BENCH_META_PHASES 3U	/* create, stat, unlink */

enum bench_op {
	BENCH_WRITE, /* write the worker's file from begin to end, repeatedly */
	BENCH_READ,
	BENCH_CREATE, /* create a file, write it, close it */
	BENCH_OPEN,   /* open one of BENCH_SMALL_SET files, read it, close it */
	BENCH_META,   /* create, stat or unlink a file: counted as one byte */
	BENCH_OPS
};
extern const char *const bench_op_name[BENCH_OPS];

enum bench_way {
	BENCH_DIRECT, /* libc's functions */
	BENCH_LAYER,  /* those of the preloaded library */
	BENCH_BARE,   /* the bare server of bare.h */
	BENCH_WAYS
};

struct bench_load {
	char dir[PATH_MAX];
	enum bench_op op;
	uint32_t size; /* of a call, or of a small file */
	uint64_t span; /* of a file */
	int open_flags;
	unsigned bare_port; /* 0: there is no bare server */
};

struct bench_worker {
	_Alignas(64) _Atomic uint64_t bytes;	       /* moved so far */
	uint32_t histogram[BENCH_WAYS][BENCH_BUCKETS]; /* times of operations, ns */
};

/* Shared by the bench and its workers. */
struct bench_segment {
	struct bench_load load;
	struct bench_worker worker[BENCH_WORKERS];
};

struct bench_order {
	int64_t start_ns, length_ns; /* of CLOCK_MONOTONIC */
	enum bench_way way;
	bool count; /* times into the histogram */
};

struct bench_report {
	uint64_t bytes;
	int64_t end_ns, cpu_ns;
};

/* `sluice bench worker`, in the process; not for people. */
int bench_worker(int argc, char **argv);

int64_t bench_clock_ns(void);
/* The time that `part` of all workers' operations did not exceed, for this way. */
double bench_percentile_us(const struct bench_segment *s, enum bench_way way, double part);

/* ---- in the bench ---- */

struct bench_team {
	struct private *p;
	unsigned from;	/* first number in p->proc */
	unsigned count; /* of workers */
	int fd;
	struct bench_segment *segment;
};

/* What a slice of all workers has moved. */
struct bench_sum {
	double mib_s; /* all bytes divided by the time until the last worker was done */
	uint64_t bytes;
	int64_t cpu_ns; /* of the workers */
};

/* Call bench_team_end() whatever the result. Errors are printed; returns an exit status. */
int bench_team_begin(struct bench_team *t, struct private *p, const struct bench_load *load);
/* Add a worker, started with `sluice run OPTIONS`; options end with NULL. */
int bench_team_add(struct bench_team *t, const char *const *options);
/* Wait until all are ready. */
int bench_team_ready(struct bench_team *t);
/* Start a slice on all workers together; false: one has ended and has printed why. */
bool bench_team_start(struct bench_team *t, enum bench_way way, int64_t length_ns, bool count);
/* The same, and wait for its end. */
bool bench_team_slice(struct bench_team *t, enum bench_way way, int64_t length_ns, bool count,
		      struct bench_sum *sum);
void bench_team_end(struct bench_team *t);

/* Files for `workers` workers: DIR/0 … of `span` bytes each. */
int bench_files(const struct private *p, unsigned workers, uint64_t span);
/* Small files for BENCH_OPEN. */
int bench_small_files(const struct private *p, unsigned workers);

#endif
