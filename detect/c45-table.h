/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of CSV and ARFF share: lines, cells, messages. */
#ifndef SL_DETECT_C45_TABLE_H
#define SL_DETECT_C45_TABLE_H

#include "detect/c45.h"

struct table_reader {
	const char *file, *at, *end;
	unsigned line; /* the one read last, from 1 */
	struct sl_table *t;
	char *err;
	size_t err_size;
	char quotes[3]; /* characters that quote */
};

/* A cell: trimmed, out of its quotes. */
struct table_cell {
	char text[SL_DECISION_NAME + 1];
	bool quoted, missing; /* missing: empty or ? */
};

int table_fail(struct table_reader *r, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The next line without its end, comments not looked at; false: there is none. */
bool table_line(struct table_reader *r, const char **from, const char **to);
/*
 * The cell at *p, which is left at the comma behind it or at the end. An apostrophe or quote within
 * quotes is doubled, or after a backslash.
 */
int table_cell(struct table_reader *r, const char **p, const char *to, struct table_cell *c);
bool table_number(const struct table_cell *c, double *out);
int table_add_column(struct table_reader *r, const char *name);
/* SL_DECISION_NONE: too many, or no memory, and a message says so; *rc then. */
uint32_t table_add_value(struct table_reader *r, struct sl_decision_attribute *a, const char *name,
			 int *rc);
/* One more row, whose cells, not set yet, are *cells. */
int table_add_row(struct table_reader *r, double **cells);
/* The end of reading, which came to rc: a table has rows, or is empty and not 0 is returned. */
int table_end(struct table_reader *r, int rc);

#endif
