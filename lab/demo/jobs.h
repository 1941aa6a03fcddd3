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
	sl_time io_ns;	 /* in all rounds: from when all begin to when all are through */
	sl_time time_ns; /* of the job */
};

/*
 * Run those jobs whose bit is set in `which`, at the same time, rounds as given (0: the job's own).
 * conf: for each, what it asks of the node besides its period, or NULL. direct: without a
 * node, by the calls of the system.
 */
int demo_jobs_run(struct private *p, const struct demo_job job[DEMO_JOBS], unsigned which,
		  uint32_t rounds, const char *const conf[DEMO_JOBS], bool direct,
		  struct demo_time out[DEMO_JOBS]);
/* Are the files as the last run has written them? Reported if not. */
int demo_jobs_verify(const struct private *p, const struct demo_job job[DEMO_JOBS]);

#endif
