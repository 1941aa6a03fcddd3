/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice report`: who used what, and who waited for whom. See report-sum.c. */
#ifndef SL_CLI_REPORT_H
#define SL_CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

#define REPORT_CMD   "report"
#define REPORT_ERROR 200
#define REPORT_NAMED 512

/* What one node says of one job in one span of time. */
struct report_row {
	int64_t time_s; /* Unix, at its end */
	double seconds; /* its length */
	uint64_t bytes[2], calls;
	double held_s, waited_s;
	uint32_t job;
	uint32_t node; /* number of the file that it stands in */
};

struct report_job {
	char *name;
	uint64_t bytes[2], calls;
	double active_s; /* spans in which it did something */
	double held_s, waited_s;
	double saved_s; /* against equal shares; below 0: lost */
};

struct report {
	struct report_row *row;
	size_t rows, rows_room;
	struct report_job *job;
	uint32_t jobs, jobs_room;
	uint32_t named; /* jobs in by; the last one stands for all others, if there are more */
	double *by;	/* named x named: [a * named + b] s that a waited for b */
	int64_t from_s, to_s;	/* what the rows cover; both 0: there are none */
	uint64_t skipped_lines; /* that make no sense: of a node that was killed */
};

/* Rows of a file from since_s on. 0, -ENOMEM, or -EINVAL with a message: it is no account. */
int report_read(struct report *r, uint32_t node, const char *text, size_t size, int64_t since_s,
		char err[REPORT_ERROR]);
/* After all have been read. Jobs are sorted by what they moved. 0 or -ENOMEM. */
int report_sum(struct report *r);
void report_free(struct report *r);

void report_json(struct json *j, const struct report *r, bool series);
int report_page(const char *path, const struct report *r, const char *layer); /* an exit status */

#endif
