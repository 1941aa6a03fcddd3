/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `sluice run` is made of: run.c has the command, run-job.c finds out which job it is,
 * run-summary.c says at the end what it did.
 */
#ifndef SL_CLI_RUN_H
#define SL_CLI_RUN_H

#include <stdbool.h>
#include <sys/types.h>

#include "layer/check.h"
#include "layer/layer.h"

/*
 * The name of the job: `given` if it is not NULL, else what the batch system or the MPI launcher
 * calls it, else a new one of that process, "run-PID". Only characters that a control line can
 * have.
 */
void run_job_name(const char *given, pid_t process, char out[CHECK_JOB_NAME + 1]);

/*
 * Fork. False in the child, which becomes the program (and in the caller, if there can be no
 * child); true in the parent when the program has ended and the summary is printed: *status is what
 * to exit with. exact: nothing of the job passes unseen.
 */
bool run_summary(const struct layer *l, const char *job, bool exact, int *status);

#endif
