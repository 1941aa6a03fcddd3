/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring one row of `sluice bench path`. See path-measure.c for how. */
#ifndef SL_CLI_PATH_MEASURE_H
#define SL_CLI_PATH_MEASURE_H

#include "cli/private.h"

#define PATH_MAX_PAIRS 15

struct path_row {
	const char *backend;
	uint32_t op; /* enum sl_op */
	uint32_t size, procs;
	int open_flags;	       /* besides O_RDWR */
	uint64_t capacity_bps; /* not 0: compared with this instead of direct access */
};

struct path_times {
	unsigned pairs; /* up to PATH_MAX_PAIRS */
	int64_t slice_ns;
	int64_t capacity_ns; /* a slice of a row with a capacity: steady only over many requests */
};

struct path_result {
	double direct_mib_s, sluice_mib_s; /* medians */
	double ratio;			   /* median of the pairs' */
	double p50_us, p99_us;		   /* of a call through the node */
	double client_cpu_us, node_cpu_us; /* for each MiB through the node */
};

/* Files for path_measure(): p->dir/0 … procs - 1, of `span` bytes each. */
int path_prepare(const struct private *p, unsigned procs, uint64_t span);
/* The node runs. Errors are reported; returns an exit status. */
int path_measure(struct private *p, const struct path_row *row, uint64_t span,
		 const struct path_times *t, struct path_result *out);

#endif
