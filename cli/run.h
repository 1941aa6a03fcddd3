/* SPDX-License-Identifier: Apache-2.0 */
/* What `sluice run` is made of: run.c has the command, run-job.c finds out which job it is. */
#ifndef SL_CLI_RUN_H
#define SL_CLI_RUN_H

#include <sys/types.h>

#include "cli/check.h"

/*
 * The name of the job: `given` if it is not NULL, else what the batch system or the MPI launcher
 * calls it, else a new one of that process, "run-PID". Only characters that a control line can
 * have.
 */
void run_job_name(const char *given, pid_t process, char out[CHECK_JOB_NAME + 1]);

#endif
