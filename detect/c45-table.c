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

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/slurp.h"
#include "base/where.h"

#define MAX_FILE (256U << 20)

/* ---- for both kinds ---- */

int table_fail(struct table_reader *r, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	sl_where(r->err, r->err_size, r->file, r->line ? r->line : 1, format, args);
	va_end(args);
	return rc;
}

bool table_line(struct table_reader *r, const char **from, const char **to)
{
	const char *nl;

	if (r->at >= r->end)
		return false;
	nl = memchr(r->at, '\n', (size_t)(r->end - r->at));
	*from = r->at;
	*to = nl ? nl : r->end;
	r->at = nl ? nl + 1 : r->end;
	r->line++;
	while (*from < *to && isspace((unsigned char)**from))
		++*from;
	while (*to > *from && isspace((unsigned char)(*to)[-1]))
		--*to;
	return true;
}

static int ta_put(struct table_reader *r, struct table_cell *c, size_t *n, char ch)
{
	ch = ch == '\t' ? ' ' : ch;
	if (iscntrl((unsigned char)ch))
		return table_fail(r, -EINVAL, "a control character (0x%02x) in a cell.",
				  (unsigned char)ch);
	if (*n == SL_DECISION_NAME)
		return table_fail(r, -EINVAL, "a cell is longer than %u bytes: '%.20s...'.",
				  (unsigned)SL_DECISION_NAME, c->text);
	c->text[(*n)++] = ch;
	c->text[*n] = 0;
	return 0;
}

static int ta_quoted(struct table_reader *r, const char **p, const char *to, struct table_cell *c)
{
	char quote = *(*p)++;
	size_t n = 0;
	int rc = 0;

	for (; *p < to && !rc; ++*p) {
		if (**p == quote) {
			if (*p + 1 == to || (*p)[1] != quote)
				break;
			++*p;
		} else if (**p == '\\' && *p + 1 < to) {
			++*p;
		}
		rc = ta_put(r, c, &n, **p);
	}
	if (rc)
		return rc;
	if (*p == to)
		return table_fail(r, -EINVAL, "a quote is not closed.");
	++*p;
	while (*p < to && isspace((unsigned char)**p))
		++*p;
	if (*p < to && **p != ',')
		return table_fail(r, -EINVAL, "a comma is missing after a quoted cell.");
	return 0;
}

int table_cell(struct table_reader *r, const char **p, const char *to, struct table_cell *c)
{
	size_t n = 0;

	memset(c, 0, sizeof(*c));
	while (*p < to && isspace((unsigned char)**p))
		++*p;
	if (*p < to && **p && strchr(r->quotes, **p)) {
		int rc;

		c->quoted = true;
		rc = ta_quoted(r, p, to, c);
		c->missing = !c->text[0]; /* a value without a name could not be told */
		return rc;
	}
	for (; *p < to && **p != ','; ++*p) {
		int rc = ta_put(r, c, &n, **p);

		if (rc)
			return rc;
	}
	while (n && isspace((unsigned char)c->text[n - 1]))
		c->text[--n] = 0;
	c->missing = !n || !strcmp(c->text, "?");
	return 0;
}

bool table_number(const struct table_cell *c, double *out)
{
	char *end;

	if (c->quoted || !c->text[0])
		return false;
	*out = strtod(c->text, &end);
	return !*end && isfinite(*out);
}

int table_add_column(struct table_reader *r, const char *name)
{
	struct sl_table *t = r->t;
	void *more;

	if (!*name)
		return table_fail(r, -EINVAL, "column %u has no name.", t->columns + 1);
	if (sl_table_column(t, name) != SL_DECISION_NONE)
		return table_fail(r, -EINVAL, "two columns have the name '%s'.", name);
	if (t->columns == SL_DECISION_ATTRIBUTES)
		return table_fail(r, -EINVAL, "more than %u columns.", SL_DECISION_ATTRIBUTES);
	more = realloc(t->column, (t->columns + 1) * sizeof(t->column[0]));
	if (!more)
		return table_fail(r, -ENOMEM, "no memory.");
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
		*rc = table_fail(r, -EINVAL,
				 "column '%s' has more than %u different values that are no "
				 "numbers; leave it out, or make it a few classes.",
				 a->name, SL_DECISION_VALUES);
		return SL_DECISION_NONE;
	}
	more = realloc(a->value, (a->values + 1) * sizeof(a->value[0]));
	if (!more) {
		*rc = table_fail(r, -ENOMEM, "no memory.");
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
		return table_fail(r, -EINVAL, "more than %u rows.", SL_TABLE_ROWS);
	if (!(t->rows & (t->rows - 1))) {
		more = realloc(t->cell, room * t->columns * sizeof(t->cell[0]));
		if (!more)
			return table_fail(r, -ENOMEM, "no memory.");
		t->cell = more;
		more = realloc(t->line, room * sizeof(t->line[0]));
		if (!more)
			return table_fail(r, -ENOMEM, "no memory.");
		t->line = more;
	}
	*cells = &t->cell[(size_t)t->rows * t->columns];
	t->line[t->rows++] = r->line;
	return 0;
}

int table_end(struct table_reader *r, int rc)
{
	if (!rc && !r->t->rows)
		rc = table_fail(r, -EINVAL, "the table has no rows.");
	if (rc)
		sl_table_free(r->t);
	return rc;
}

/* ---- CSV ---- */

static bool ta_csv_line(struct table_reader *r, const char **from, const char **to)
{
	while (table_line(r, from, to))
		if (*from < *to && **from != '#')
			return true;
	return false;
}

static int ta_csv_head(struct table_reader *r)
{
	const char *p, *to;

	if (!ta_csv_line(r, &p, &to))
		return table_fail(r, -EINVAL,
				  "the table is empty: the first line must name the columns.");
	for (;;) {
		struct table_cell c;
		int rc = table_cell(r, &p, to, &c);

		rc = rc ? rc : table_add_column(r, c.text);
		if (rc || p == to)
			return rc;
		p++;
	}
}

/* named[i]: column i has a cell that is no number. cells: of a row, or NULL on the first pass. */
static int ta_csv_row(struct table_reader *r, const char *p, const char *to, bool *named,
		      double *cells)
{
	uint32_t i = 0;

	for (;; p++) {
		struct table_cell c;
		double value = NAN;
		int rc = table_cell(r, &p, to, &c);

		if (rc)
			return rc;
		if (i == r->t->columns)
			return table_fail(r, -EINVAL, "more cells than the %u columns.",
					  r->t->columns);
		if (!c.missing && !cells) {
			named[i] = named[i] || !table_number(&c, &value);
		} else if (!c.missing && !named[i]) {
			table_number(&c, &value);
		} else if (!c.missing) {
			struct sl_decision_attribute *a = &r->t->column[i];
			uint32_t which = sl_decision_value(a, c.text);

			if (which == SL_DECISION_NONE)
				which = table_add_value(r, a, c.text, &rc);
			if (rc)
				return rc;
			value = which;
		}
		if (cells)
			cells[i] = value;
		i++;
		if (p == to)
			break;
	}
	if (i < r->t->columns)
		return table_fail(r, -EINVAL, "%u cells for %u columns; '%s' is the first without.",
				  i, r->t->columns, r->t->column[i].name);
	return 0;
}

int sl_table_parse_csv(const char *file, const char *text, size_t length, struct sl_table *out,
		       char *err, size_t err_size)
{
	struct table_reader r = { .file = file,
				  .at = text,
				  .end = text + length,
				  .t = out,
				  .err = err,
				  .err_size = err_size,
				  .quotes = "\"" };
	struct table_reader again;
	bool named[SL_DECISION_ATTRIBUTES] = { false };
	const char *from, *to;
	double *cells = NULL;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = ta_csv_head(&r);
	again = r;
	while (!rc && ta_csv_line(&r, &from, &to))
		rc = ta_csv_row(&r, from, to, named, NULL);
	while (!rc && ta_csv_line(&again, &from, &to)) {
		rc = table_add_row(&again, &cells);
		if (!rc)
			rc = ta_csv_row(&again, from, to, named, cells);
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
