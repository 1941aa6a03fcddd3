/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `sluice run` is made of: run.c has the command, run-job.c finds out which job it is, run-start.c starts its program,
 * run-summary.c says at the end what it did. That, and run-status.c, which reads
 * the status of a node, need a library for JSON and are in sluice-tools alone.
 */
#ifndef SL_CLI_RUN_H
#define SL_CLI_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "layer/check.h"
#include "layer/layer.h"

/*
 * The name of the job: `given` if it is not NULL, else what the batch system or the MPI launcher
 * calls it, else a new one of that process, "run-PID". Only characters that a control line can
 * have. Whether it is a new one.
 */
bool run_job_name(const char *given, pid_t process, char out[CHECK_JOB_NAME + 1]);

/*
 * Fork. False in the child, which becomes the program (and in the caller, if there can be no
 * child); true in the parent when the program has ended and the summary is printed: *status is what
 * to exit with. exact: nothing of the job passes unseen.
 */
bool run_summary(const struct layer *l, const char *job, bool exact, int *status);

/* Functions that read the status of a node. */
struct run_status {
	bool (*no_capacity)(const char *status);
	void (*root)(const char *status, char out[PATH_MAX]); /* "": it has none */
	bool (*summary)(const struct layer *l, const char *job, bool exact, int *status);
};

#define RUN_TOOLS (-1) /* sluice-tools has to do this one */

/* The command. Without `reads`, RUN_TOOLS if it needs that; nothing has been done then. */
int run_command(int argc, char **argv, const struct run_status *reads);

#endif
