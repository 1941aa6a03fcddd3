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

/* Members that do not apply are 0 or NULL. */
struct control_row {
	const char *what, *policy;
	uint64_t jobs, ionodes, options, samples;
	double goal_ms;
	bool wall;     /* the time is wall clock, not CPU time */
	double max_ms; /* of a wall time */
	double ms;     /* the result: of one decision, or of one call */
};

struct control {
	const char *filter;
	bool quick, json;
	uint32_t nodes; /* only the row with so many I/O nodes; 0: all rows */
	struct json j;
	struct bench_heap *heap;
	bool dry;	  /* only count the wanted rows, without measuring */
	unsigned wanted;  /* so many */
	const char *last; /* `what` of the row before */
};

/* Whether the filter selects the row. Call it for every row, before measuring. */
bool control_wanted(struct control *c, const struct control_row *row);
/*
 * Call run(what) often enough for a median, and print the row. run() returns the measured
 * nanoseconds, or a negative value on failure. Returns an exit status.
 */
int control_measure(struct control *c, struct control_row *row, double (*run)(void *what),
		    void *what);

/* Each prints its errors and returns an exit status. */
int control_mckp(struct control *c);
int control_grant(struct control *c);
int control_period(struct control *c); /* period.c */
int control_remap(struct control *c);  /* remap.c */
int control_scale(struct control *c);  /* scale.c */

#endif
