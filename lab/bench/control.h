/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `sluice bench control`. Each measures its rows and hands them to control_row(); a
 * new part is a function and a line in control.c.
 */
#ifndef SL_LAB_BENCH_CONTROL_H
#define SL_LAB_BENCH_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

struct bench_heap;

/* What does not apply is 0, or NULL. */
struct control_row {
	const char *what, *policy;
	uint64_t jobs, ionodes, options, samples;
	double goal_ms;
	bool wall;     /* what was measured is no CPU time */
	double max_ms; /* of a wall time */
	double ms;     /* the result: of one decision, or of one call */
};

struct control {
	const char *filter;
	bool quick, json;
	struct json j;
	struct bench_heap *heap;
	bool dry;	  /* nothing is measured: are there any rows? */
	unsigned wanted;  /* so many */
	const char *last; /* what the row before was about */
};

/* Does the filter hold for it? To be asked of every row, before measuring. */
bool control_wanted(struct control *c, const struct control_row *row);
/*
 * Calls run(what), whose return value is the nanoseconds that count, or negative, often enough for
 * a median, and prints the row with it. An exit status.
 */
int control_measure(struct control *c, struct control_row *row, double (*run)(void *what),
		    void *what);

/* Each an exit status; it has reported what went wrong. */
int control_mckp(struct control *c);
int control_grant(struct control *c);
int control_period(struct control *c); /* period.c */
int control_remap(struct control *c);  /* remap.c */

#endif
