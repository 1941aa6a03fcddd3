/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice doctor`: each check reports one or more results: the subject, its state, what was found,
 * and what to do if it is not ok. Checks leave no changes behind.
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
	const char *dir; /* directory to check; NULL: none */
	struct doctor_finding *finding;
	size_t count;
	unsigned states[3]; /* how many of each */
};

/* advice NULL: nothing to do. */
void doctor_say(struct doctor *d, enum doctor_state state, const char *name, const char *advice,
		const char *found, ...) __attribute__((format(printf, 5, 6)));

/* system.c */
void doctor_kernel(struct doctor *d);
void doctor_limits(struct doctor *d);
void doctor_helpers(struct doctor *d); /* loopback, and features that are not needed */
/* dir.c */
void doctor_dir(struct doctor *d);
/* parts.c */
void doctor_parts(struct doctor *d);   /* the programs and the library of this installation */
void doctor_runtime(struct doctor *d); /* the runtime directory, and remains of crashed layers */

#endif
