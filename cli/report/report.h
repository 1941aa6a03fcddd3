/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice report`: what each job used, and which jobs waited for which. See sum.c. */
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
	double end_s;	/* as time_s, but at least `seconds` after the end of the previous span */
	uint64_t bytes[2], calls;
	uint64_t unscheduled; /* bytes that bypassed the scheduler */
	uint64_t operations;  /* metadata */
	double ops_held_s;
	/* Bytes served by the page cache; bytes that the file system moved. */
	uint64_t cached, wire;
	uint64_t dirty; /* bytes not yet written back at its end */
	double held_s, waited_s;
	double contended_s;	/* part of waited_s in which another job had requests in the node */
	double first_s, last_s; /* its first and last request, from the span's begin */
	uint32_t job;
	uint32_t span; /* from 1: the rows of one node that were written together */
	/*
	 * Observe mode: no call was held; held_s, waited_s and contended_s are what would have
	 * happened.
	 */
	bool observed;
};

struct report_job {
	char *name;
	uint64_t bytes[2], calls, unscheduled, operations;
	double ops_held_s;
	uint64_t cached, wire, dirty; /* dirty: the most at the end of a row */
	bool wire_known;	      /* for some of its rows */
	double active_s;	      /* total length of spans in which it did something */
	double held_s, waited_s;
	double saved_s; /* against equal shares; below 0: lost */
	uint32_t span;	/* the last span with a row of it; 0: none yet */
};

struct report {
	struct report_row *row;
	size_t rows, rows_room;
	size_t observed_rows;
	struct report_job *job;
	uint32_t jobs, jobs_room;
	uint32_t spans;
	/* Jobs in `by`; if there are more jobs, the last one stands for all others. */
	uint32_t named;
	double *by;		       /* named x named: [a * named + b] s that a waited for b */
	int64_t from_s, to_s;	       /* what the rows cover; both 0: there are none */
	const struct report_job *only; /* the selected job; NULL: all */
	uint64_t skipped_lines;	       /* malformed lines, of a node that was killed */
};

/*
 * Add the rows of a file from since_s on. 0, -ENOMEM, or -EINVAL with a message: it is not an
 * account.
 */
int report_read(struct report *r, const char *text, size_t size, int64_t since_s,
		char err[REPORT_ERROR]);
/* Call it after all files were read. Jobs are sorted by the bytes that they moved. 0 or -ENOMEM. */
int report_sum(struct report *r);
void report_free(struct report *r);

/* The name of a row or column of `by`: the last may stand for several jobs. */
const char *report_name(const struct report *r, uint32_t i);
/*
 * Print what each policy would have done, instead of the report. bandwidth_bps 0: use the peak in
 * the rows. Returns an exit status. Reorders the rows.
 */
int report_what_if(struct report *r, double bandwidth_bps, bool as_json);
void report_json(struct json *j, const struct report *r, bool series);
int report_page(const char *path, const struct report *r, const char *layer); /* an exit status */

#endif
