/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that do I/O through a scheduler on a model device, in virtual time. See demo-sim.c. */
#ifndef SL_CLI_DEMO_SIM_H
#define SL_CLI_DEMO_SIM_H

#include "sim/device.h"
#include "sluice.h"

#define DEMO_MAX_JOBS 4

enum demo_layout {
	DEMO_INTERLEAVED, /* the calls of all processes together are one stream */
	DEMO_SEGMENTED,	  /* each process has its part of the file */
	DEMO_RANDOM	  /* anywhere */
};

/* Phases of I/O with computing in between; a phase is over when every process has made its calls.
 */
struct demo_load {
	const char *name, *what;
	enum demo_layout layout;
	uint32_t op;
	uint32_t phases; /* 0: one, that goes on until the other jobs are through */
	uint32_t procs;
	uint32_t calls; /* of each process in a phase, one after the other; with phases 0: unused */
	uint32_t pieces; /* requests that a call is sent as */
	uint64_t piece_bytes;
	sl_time compute_ns; /* between phases */
};

struct demo_outcome {
	uint64_t bytes, requests;
	sl_time io_ns;	/* sum of its phases */
	sl_time end_ns; /* of its last phase */
	sl_time mean_ns, p99_ns;
	uint64_t batches;
};

struct demo_result {
	sl_time total_ns, busy_ns;
	uint64_t device_ops, seeks;
	struct demo_outcome job[DEMO_MAX_JOBS];
};

/*
 * Runs `jobs` loads to their end; load i is job i + 1 and file i + 1. 0, or a negative errno with a
 * message in err.
 */
int demo_simulate(const struct sl_device_model *device, const struct sl_config *config,
		  const struct demo_load *load, const struct sl_job_conf *conf, unsigned jobs,
		  struct demo_result *out, char *err, size_t err_size);

#endif
