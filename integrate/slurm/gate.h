/* SPDX-License-Identifier: Apache-2.0 */
/* A gate before a task of a job, put there by root: see gate.c. */
#ifndef SL_SLURM_GATE_H
#define SL_SLURM_GATE_H

#include "integrate/slurm/command.h"

/*
 * In the task's process, which is root still: a gate before it and all that it starts. The
 * supervisor runs as `u`, with the environment of the job. strict: no call passes without it.
 * program: where sluice-gate is. 0, or negative errno: there is none.
 */
int gate_before_task(const struct command_user *u, const char *program, bool strict);

#endif
