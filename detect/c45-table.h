/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of CSV and ARFF share: lines, cells, messages. */
#ifndef SL_DETECT_C45_TABLE_H
#define SL_DETECT_C45_TABLE_H

#include "base/csv.h"
#include "detect/c45.h"

/* The text and its messages, and the table that is made of it. */
struct table_reader {
	struct sl_csv csv;
	struct sl_table *t;
};

/* Puts a reader at the beginning of a text; *t becomes empty. */
void table_begin(struct table_reader *r, const char *file, const char *text, size_t length,
		 struct sl_table *t, char *err, size_t err_size);
/* The next row, whose fields are no longer than a name. 1, 0 if there is none, or an error. */
int table_row(struct table_reader *r);
/* The fields of a piece of a line, with the same bound. */
int table_split(struct table_reader *r, const char *from, const char *to);
/* An empty cell, or ?: its value is not known. */
bool table_missing(const struct sl_csv_field *f);
bool table_number(const struct sl_csv_field *f, double *out);
int table_add_column(struct table_reader *r, const char *name);
/* SL_DECISION_NONE: too many, or no memory, and a message says so; *rc then. */
uint32_t table_add_value(struct table_reader *r, struct sl_decision_attribute *a, const char *name,
			 int *rc);
/* One more row, whose cells, not set yet, are *cells. */
int table_add_row(struct table_reader *r, double **cells);
/* The end of reading, which came to rc: a table has rows, or is empty and not 0 is returned. */
int table_end(struct table_reader *r, int rc);

#endif
