/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice doctor`: each check says one thing, or several: what it is about, how it is, what was
 * found, and what to do if that is not well. A check changes nothing that stays.
 */
#ifndef SL_CLI_DOCTOR_DOCTOR_H
#define SL_CLI_DOCTOR_DOCTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define DOCTOR_TEXT 400

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_WARN, /* something will not work, or not as well as it could */
	DOCTOR_FAIL, /* layers will not work */
};

struct doctor_finding {
	enum doctor_state state;
	const char *name; /* static */
	char found[DOCTOR_TEXT], advice[DOCTOR_TEXT];
};

struct doctor {
	const char *dir; /* to be served; NULL: none was named */
	struct doctor_finding *finding;
	size_t count;
	unsigned states[3]; /* how many of each */
};

/* advice NULL: there is nothing to do. */
void doctor_say(struct doctor *d, enum doctor_state state, const char *name, const char *advice,
		const char *found, ...) __attribute__((format(printf, 5, 6)));

/* system.c */
void doctor_kernel(struct doctor *d);
void doctor_limits(struct doctor *d);
void doctor_helpers(struct doctor *d); /* loopback, and what is not needed */
/* dir.c */
void doctor_dir(struct doctor *d);
/* parts.c */
void doctor_parts(struct doctor *d);   /* the programs and the library of this installation */
void doctor_runtime(struct doctor *d); /* where layers are, and what crashed ones have left */

#endif
