/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring one row of `sluice bench path`. See path-measure.c for how. */
#ifndef SL_LAB_BENCH_PATH_MEASURE_H
#define SL_LAB_BENCH_PATH_MEASURE_H

#include "lab/bench/worker.h"

#define PATH_MAX_PAIRS 50

struct path_row {
	const char *group;
	const char *mode; /* of `sluice run` */
	enum bench_op op;
	uint32_t size;
	uint32_t jobs, procs;	    /* processes of each job */
	int open_flags;		    /* besides O_RDWR */
	uint64_t capacity_bps;	    /* not 0: compared with this instead of direct access */
	unsigned bare_port;	    /* not 0: compared with a bare server there */
	const char *const *connect; /* further options of `sluice run`; NULL: none */
	const char *const *gate;    /* not NULL: options for a gate; direct is without it */
	bool slow_wake;		    /* that gate is without SYNC_WAKE_UP */
};

struct path_times {
	unsigned pairs; /* up to PATH_MAX_PAIRS */
	int64_t slice_ns;
	int64_t contend_ns;  /* a slice of a row with several jobs */
	int64_t capacity_ns; /* a slice of a row with a capacity: steady only over many requests */
};

struct path_result {
	unsigned pairs;
	double direct_mib_s, sluice_mib_s;   /* medians; of BENCH_META, and below: operations */
	double ratio, ratio_low, ratio_high; /* median of the pairs', 95 % interval */
	double p50_us, p99_us;		     /* of an operation through the layer */
	double bare_p50_us, bare_cpu_us;     /* of the bare server alone; 0: there is none */
	double direct_cpu_us, client_cpu_us, node_cpu_us; /* for each MiB */
};

/* The layer is up, the files are there. Errors are reported; returns an exit status. */
int path_measure(struct private *p, const struct path_row *row, uint64_t span,
		 const struct path_times *t, struct path_result *out);

#endif
