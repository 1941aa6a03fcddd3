/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of the live demonstration: real processes that write real files. See jobs.c. */
#ifndef SL_LAB_DEMO_JOBS_H
#define SL_LAB_DEMO_JOBS_H

#include "lab/private.h"
#include "sluice.h"

#define DEMO_JOBS  4
#define DEMO_PROCS 4 /* of a job, at most */

struct demo_job {
	const char *name, *period;
	uint32_t procs, rounds;
	uint64_t bytes; /* of a process in a round */
	sl_time compute_ns;
};

struct demo_time {
	/* In all rounds: from the begin of the first to the end of the last process. */
	sl_time io_ns;
	sl_time time_ns; /* of the job */
};

/*
 * Run the jobs whose bit is set in `which` at the same time, with this number of rounds (0: the
 * job's own). conf: settings of each job besides its period, or NULL. direct: use system calls
 * without a node.
 */
int demo_jobs_run(struct private *p, const struct demo_job job[DEMO_JOBS], unsigned which,
		  uint32_t rounds, const char *const conf[DEMO_JOBS], bool direct,
		  struct demo_time out[DEMO_JOBS]);
/* Check that the files have the contents of the last run; prints an error if not. */
int demo_jobs_verify(const struct private *p, const struct demo_job job[DEMO_JOBS]);

#endif
