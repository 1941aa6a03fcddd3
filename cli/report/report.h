/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice report`: who used what, and who waited for whom. See sum.c. */
#ifndef SL_CLI_REPORT_REPORT_H
#define SL_CLI_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

#define REPORT_CMD   "report"
#define REPORT_ERROR 200
#define REPORT_NAMED 512
#define REPORT_ID    24 /* of a job of Slurm */

/* The account of one job at one node in one span of time. */
struct report_row {
	int64_t time_s; /* Unix, at its end, rounded down */
	double seconds; /* its length */
	double end_s;	/* as time_s, but not before the span before it has ended */
	uint64_t bytes[2], calls;
	uint64_t unscheduled; /* bytes that went past the scheduler */
	uint64_t operations;  /* metadata */
	double ops_held_s;
	uint64_t cached, wire; /* bytes that the page cache had; that the file system has moved */
	uint64_t dirty;	       /* bytes that were not written back at its end */
	double held_s, waited_s;
	double contended_s;	/* of waited_s, while another job had requests in the node, too */
	double first_s, last_s; /* it had some, from the span's begin */
	uint32_t job;
	uint32_t span; /* from 1: the rows of one node that were written together */
	bool observed; /* nothing was held: held_s, waited_s and contended_s are what would have
			  been */
};

struct report_job {
	char *name;
	uint64_t bytes[2], calls, unscheduled, operations;
	double ops_held_s;
	uint64_t cached, wire, dirty; /* dirty: the most at the end of a row */
	bool wire_known;	      /* for some of its rows */
	double active_s;	      /* spans in which it did something */
	double held_s, waited_s;
	double saved_s; /* against equal shares; below 0: lost */
	uint32_t span;	/* the last that it has a row in; 0: none yet */
};

struct report {
	struct report_row *row;
	size_t rows, rows_room;
	size_t observed_rows;
	struct report_job *job;
	uint32_t jobs, jobs_room;
	uint32_t spans;
	uint32_t named; /* jobs in by; the last one stands for all others, if there are more */
	double *by;	/* named x named: [a * named + b] s that a waited for b */
	int64_t from_s, to_s;	       /* what the rows cover; both 0: there are none */
	const struct report_job *only; /* the job that was asked for; NULL: all */
	uint64_t skipped_lines;	       /* that make no sense: of a node that was killed */
};

/* Rows of a file from since_s on. 0, -ENOMEM, or -EINVAL with a message: it is no account. */
int report_read(struct report *r, const char *text, size_t size, int64_t since_s,
		char err[REPORT_ERROR]);
/* After all have been read. Jobs are sorted by what they moved. 0 or -ENOMEM. */
int report_sum(struct report *r);
void report_free(struct report *r);

/* The name of a row or column of `by`: the last may stand for several jobs. */
const char *report_name(const struct report *r, uint32_t i);
/* Instead of the report: what each policy would have done. bandwidth_bps 0: the most that was seen.
 * An exit status. Rows are sorted anew. */
int report_what_if(struct report *r, double bandwidth_bps, bool as_json);
void report_json(struct json *j, const struct report *r, bool series);
int report_page(const char *path, const struct report *r, const char *layer); /* an exit status */

#endif
