/* SPDX-License-Identifier: Apache-2.0 */
/* A job as run.c has prepared it, and the start of its program: run-start.c. */
#ifndef SL_CLI_RUN_START_H
#define SL_CLI_RUN_START_H

#include <limits.h>
#include <stdbool.h>

#include "cli/run.h"
#include "layer/check.h"
#include "layer/layer.h"
#include "wire/ops.h"

#define RUN_KEYS  10
#define RUN_VALUE 24 /* longest value of a key; a number could have any length */

struct run {
	const char *name, *job, *tag, *title, *rate, *mode, *timeout, *fallback, *bypass;
	const char *connect, *secret_file, *directory, *intercept, *uring;
	const char *key[RUN_KEYS];
	bool strict;
	/* of operations and the like; "": not given */
	char most[SL_METERS][RUN_VALUE + 1], least[SL_QUEUES][RUN_VALUE + 1];
	char weight_ops[SL_CLASSES][RUN_VALUE + 1];
	bool print; /* print the environment instead of running a program */
	/* found later */
	char job_name[CHECK_JOB_NAME + 1], title_words[CHECK_JOB_NAME + 8];
	char root[PATH_MAX], socket[128], secret[PATH_MAX];
	char gate[PATH_MAX]; /* "": no gate */
	struct layer layer;  /* of this machine */
	const struct run_status *reads;
	int summary;	  /* 1: wanted, -1: not, 0: on a terminal */
	bool own;	  /* the job is only this process, and has no given name */
	bool late;	  /* the library registers it */
	bool no_capacity; /* --rate cannot be guaranteed: the capacity is unknown */
};

bool run_forwards(const struct run *r);
/* Every program of the job is behind a gate. */
bool run_gate_for_all(const struct run *r);
/* Where sluice-gate is, if this job can have a gate. */
int run_gate(struct run *r);
/* `intercept: strict` in the sluice.yaml of the layer. */
int run_site(struct run *r, const struct layer *l);
/* words: the job's settings for the library. */
void run_environment(const struct run *r, const char *library, const char *words);
int run_print(void); /* the environment, as commands of a shell */
int run_exec(const struct run *r, char **argv);

#endif
