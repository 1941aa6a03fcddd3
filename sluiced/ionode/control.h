/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of control.c. Each answers a control line: 0 or a positive errno, and *out: text to
 * free.
 */
#ifndef SL_SLUICED_IONODE_CONTROL_H
#define SL_SLUICED_IONODE_CONTROL_H

#include <stdbool.h>

#include "sluiced/ionode/node.h"

int control_answer(char **out, int status, const char *text);

/* ---- control-status.c ---- */

int control_status(struct node *n, const struct node_who *who, char **out);

/* ---- control-job.c; the lock is held ---- */

struct node_job *control_find_job(struct node *n, const struct node_who *who, const char *asked,
				  char name[SL_JOB_NAME_MAX], bool *other, int *rc);
/* make: create the job if it does not exist. */
int control_set_job(struct node *n, const struct node_who *who, char *words, bool make,
		    bool *changed, char **out);
int control_end_job(struct node *n, const struct node_who *who, const char *asked, char **out);

/* ---- control-config.c; the lock is held, but for control_reload() ---- */

int control_policy(struct node *n, char *words, char **out);
int control_capacity(struct node *n, const char *word, char **out);
int control_capacity_ops(struct node *n, const char *word, char **out);
/* check: only check whether the file could be applied. */
int control_reload(struct node *n, bool check, char **out);

#endif
