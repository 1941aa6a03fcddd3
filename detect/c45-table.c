/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables for learning, from CSV: the first line has the names of the columns, each further line is
 * a row. Cells are separated by commas; spaces around them do not matter; quotes "a, ""b""" go
 * round those with commas in them. An empty cell or ? is a value that is not known. A column in
 * which every known value is a number is one of numbers, else it has names. Empty lines and those
 * that begin with # are left out.
 *
 * Reading goes over the text twice: for the kinds of the columns, and for the rows.
 */
#include "detect/c45-table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/slurp.h"

#define MAX_FILE (256U << 20)

/* ---- for both kinds ---- */

void table_begin(struct table_reader *r, const char *file, const char *text, size_t length,
		 struct sl_table *t, char *err, size_t err_size)
{
	memset(t, 0, sizeof(*t));
	*r = (struct table_reader){ .csv = { .file = file,
					     .at = text,
					     .end = text + length,
					     .quotes = "\"",
					     .separator = ',',
					     .comment = '#',
					     .backslash = true,
					     .err = err,
					     .err_size = err_size },
				    .t = t };
}

int table_split(struct table_reader *r, const char *from, const char *to)
{
	int rc = sl_csv_split(&r->csv, from, to);

	for (uint32_t i = 0; !rc && i < r->csv.fields; i++)
		if (strlen(r->csv.field[i].text) > SL_DECISION_NAME)
			rc = sl_csv_fail(&r->csv, -EINVAL,
					 "a cell is longer than %u bytes: '%.20s...'",
					 (unsigned)SL_DECISION_NAME, r->csv.field[i].text);
	return rc;
}

int table_row(struct table_reader *r)
{
	int rc;

	if (!sl_csv_line(&r->csv))
		return 0;
	rc = table_split(r, r->csv.from, r->csv.to);
	return rc ? rc : 1;
}

bool table_missing(const struct sl_csv_field *f)
{
	return !f->text[0] || (!f->quoted && !strcmp(f->text, "?"));
}

bool table_number(const struct sl_csv_field *f, double *out)
{
	char *end;

	if (f->quoted || !f->text[0])
		return false;
	*out = strtod(f->text, &end);
	return !*end && isfinite(*out);
}

int table_add_column(struct table_reader *r, const char *name)
{
	struct sl_table *t = r->t;
	void *more;

	if (!*name)
		return sl_csv_fail(&r->csv, -EINVAL, "column %u has no name", t->columns + 1);
	if (sl_table_column(t, name) != SL_DECISION_NONE)
		return sl_csv_fail(&r->csv, -EINVAL, "two columns have the name '%s'", name);
	if (t->columns == SL_DECISION_ATTRIBUTES)
		return sl_csv_fail(&r->csv, -EINVAL, "more than %u columns",
				   SL_DECISION_ATTRIBUTES);
	more = realloc(t->column, (t->columns + 1) * sizeof(t->column[0]));
	if (!more)
		return sl_csv_fail(&r->csv, -ENOMEM, "no memory");
	t->column = more;
	memset(&t->column[t->columns], 0, sizeof(t->column[0]));
	strcpy(t->column[t->columns++].name, name); /* no longer than a cell */
	return 0;
}

uint32_t table_add_value(struct table_reader *r, struct sl_decision_attribute *a, const char *name,
			 int *rc)
{
	void *more;

	if (a->values == SL_DECISION_VALUES) {
		*rc = sl_csv_fail(&r->csv, -EINVAL,
				  "column '%s' has more than %u different values that are no "
				  "numbers; leave it out, or make it a few classes",
				  a->name, SL_DECISION_VALUES);
		return SL_DECISION_NONE;
	}
	more = realloc(a->value, (a->values + 1) * sizeof(a->value[0]));
	if (!more) {
		*rc = sl_csv_fail(&r->csv, -ENOMEM, "no memory");
		return SL_DECISION_NONE;
	}
	a->value = more;
	strcpy(a->value[a->values], name);
	return a->values++;
}

int table_add_row(struct table_reader *r, double **cells)
{
	struct sl_table *t = r->t;
	size_t room = t->rows ? 2 * (size_t)t->rows : 1;
	void *more;

	if (t->rows == SL_TABLE_ROWS)
		return sl_csv_fail(&r->csv, -EINVAL, "more than %u rows", SL_TABLE_ROWS);
	if (!(t->rows & (t->rows - 1))) {
		more = realloc(t->cell, room * t->columns * sizeof(t->cell[0]));
		if (!more)
			return sl_csv_fail(&r->csv, -ENOMEM, "no memory");
		t->cell = more;
		more = realloc(t->line, room * sizeof(t->line[0]));
		if (!more)
			return sl_csv_fail(&r->csv, -ENOMEM, "no memory");
		t->line = more;
	}
	*cells = &t->cell[(size_t)t->rows * t->columns];
	t->line[t->rows++] = (uint32_t)r->csv.line;
	return 0;
}

int table_end(struct table_reader *r, int rc)
{
	if (!rc && !r->t->rows)
		rc = sl_csv_fail(&r->csv, -EINVAL, "the table has no rows");
	sl_csv_end(&r->csv);
	if (rc)
		sl_table_free(r->t);
	return rc;
}

/* ---- CSV ---- */

static int ta_csv_head(struct table_reader *r)
{
	int rc = table_row(r);

	if (!rc)
		return sl_csv_fail(&r->csv, -EINVAL,
				   "the table is empty: the first line must name the columns");
	rc = rc < 0 ? rc : 0;
	for (uint32_t i = 0; !rc && i < r->csv.fields; i++)
		rc = table_add_column(r, r->csv.field[i].text);
	return rc;
}

/* named[i]: column i has a cell that is no number. cells: of a row, or NULL on the first pass. */
static int ta_csv_row(struct table_reader *r, bool *named, double *cells)
{
	const struct sl_table *t = r->t;

	if (r->csv.fields > t->columns)
		return sl_csv_fail(&r->csv, -EINVAL, "more cells than the %u columns", t->columns);
	if (r->csv.fields < t->columns)
		return sl_csv_fail(&r->csv, -EINVAL,
				   "%u cells for %u columns; '%s' is the first without",
				   r->csv.fields, t->columns, t->column[r->csv.fields].name);
	for (uint32_t i = 0; i < t->columns; i++) {
		const struct sl_csv_field *f = &r->csv.field[i];
		bool missing = table_missing(f);
		double value = NAN;

		if (!missing && !cells) {
			named[i] = named[i] || !table_number(f, &value);
		} else if (!missing && !named[i]) {
			table_number(f, &value);
		} else if (!missing) {
			struct sl_decision_attribute *a = &t->column[i];
			uint32_t which = sl_decision_value(a, f->text);
			int rc = 0;

			if (which == SL_DECISION_NONE)
				which = table_add_value(r, a, f->text, &rc);
			if (rc)
				return rc;
			value = which;
		}
		if (cells)
			cells[i] = value;
	}
	return 0;
}

int sl_table_parse_csv(const char *file, const char *text, size_t length, struct sl_table *out,
		       char *err, size_t err_size)
{
	struct table_reader r;
	bool named[SL_DECISION_ATTRIBUTES] = { false };
	const char *first;
	unsigned long line;
	double *cells = NULL;
	int rc;

	table_begin(&r, file, text, length, out, err, err_size);
	rc = ta_csv_head(&r);
	first = r.csv.at;
	line = r.csv.line;
	while (!rc && (rc = table_row(&r)) > 0)
		rc = ta_csv_row(&r, named, NULL);
	r.csv.at = first;
	r.csv.line = line;
	while (!rc && (rc = table_row(&r)) > 0) {
		rc = table_add_row(&r, &cells);
		rc = rc ? rc : ta_csv_row(&r, named, cells);
	}
	return table_end(&r, rc);
}

/* ---- files ---- */

int sl_table_load(const char *path, struct sl_table *out, char *err, size_t err_size)
{
	const char *dot = strrchr(path, '.');
	bool arff = dot && !strcasecmp(dot, ".arff");
	char *text;
	size_t n;
	int rc = sl_slurp_or_say(path, MAX_FILE, &text, &n, err, err_size);

	memset(out, 0, sizeof(*out));
	if (!rc)
		rc = arff ? sl_table_parse_arff(path, text, n, out, err, err_size)
			  : sl_table_parse_csv(path, text, n, out, err, err_size);
	free(text);
	return rc;
}

void sl_table_free(struct sl_table *t)
{
	for (uint32_t i = 0; i < t->columns; i++)
		free(t->column[i].value);
	free(t->column);
	free(t->cell);
	free(t->line);
	memset(t, 0, sizeof(*t));
}

uint32_t sl_table_column(const struct sl_table *t, const char *name)
{
	for (uint32_t i = 0; i < t->columns; i++)
		if (!strcmp(t->column[i].name, name))
			return i;
	return SL_DECISION_NONE;
}
