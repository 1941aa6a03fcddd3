/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `sluice run`: run.c has the command, run-job.c finds the job, run-start.c starts the
 * program, and run-summary.c prints the summary. run-summary.c and run-status.c, which reads the
 * status of a node, need a JSON library and are only in sluice-tools.
 */
#ifndef SL_CLI_RUN_H
#define SL_CLI_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "layer/check.h"
#include "layer/layer.h"

/*
 * The name of the job: `given` if it is not NULL, else the name from the batch system or the MPI
 * launcher, else a new one of that process, "run-PID". It has only characters that are valid in a
 * control line. Returns whether it is a new one.
 */
bool run_job_name(const char *given, pid_t process, char out[CHECK_JOB_NAME + 1]);

/*
 * Fork. Returns false in the child, which executes the program (and in the caller if fork fails);
 * true in the parent, when the program has ended and the summary is printed: *status is the exit
 * status to use. exact: every call of the job is seen.
 */
bool run_summary(const struct layer *l, const char *job, bool exact, int *status);

/* Functions that read the status of a node. */
struct run_status {
	bool (*no_capacity)(const char *status);
	void (*root)(const char *status, char out[PATH_MAX]); /* "": it has none */
	bool (*summary)(const struct layer *l, const char *job, bool exact, int *status);
};

#define RUN_TOOLS (-1) /* sluice-tools has to execute this command */

/*
 * The command. If it needs `reads` and that is NULL, it returns RUN_TOOLS without having done
 * anything.
 */
int run_command(int argc, char **argv, const struct run_status *reads);

#endif
