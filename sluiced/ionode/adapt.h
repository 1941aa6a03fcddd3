/* SPDX-License-Identifier: Apache-2.0 */
/* What order=auto needs from outside of the scheduler: see adapt.c. */
#ifndef SL_SLUICED_IONODE_ADAPT_H
#define SL_SLUICED_IONODE_ADAPT_H

#include "sched/spec.h"
#include "sluiced/ionode/node.h"

/* A tree that was read; all zero: none. With the lock, node->adapt points to it for the call that
 * takes the spec. */
struct adapt {
	char name[SL_SPEC_FILE_MAX + 1]; /* empty: none */
	char *text;
	size_t length;
	int error; /* reading it failed */
};

/* Without the lock: read the tree that this spec, or one in these words KEY=SPEC, names. */
void adapt_read(struct adapt *a, const char *spec);
void adapt_read_words(struct adapt *a, const char *line);
void adapt_forget(struct adapt *a);
/* For struct sl_config: what was read. */
int adapt_get(void *arg, const char *name, char **text, size_t *length);
/* Without the lock: tell the scheduler what is known of the device. */
void adapt_ratios(struct node *n);

#endif
