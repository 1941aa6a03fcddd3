/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables for learning, from ARFF, the format of Weka:
 *
 *	% a comment
 *	@relation weather
 *	@attribute outlook {sunny, overcast, 'heavy rain'}
 *	@attribute humidity numeric          or real, integer
 *	@data
 *	sunny, 85
 *	'heavy rain', ?
 *
 * Attributes of strings and dates, sparse rows and weights are not read: C4.5 has no use for them.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "detect/c45-table.h"

static bool ar_keyword(const char **p, const char *to, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(to - *p) < n || strncasecmp(*p, word, n) != 0 ||
	    (*p + n < to && !isspace((unsigned char)(*p)[n])))
		return false;
	*p += n;
	while (*p < to && isspace((unsigned char)**p))
		++*p;
	return true;
}

/* A name as far as a space or a brace, or in quotes: the first of the fields. */
static int ar_name(struct table_reader *r, const char **p, const char *to)
{
	const char *from = *p, *end = from;

	if (end < to && *end && strchr(r->csv.quotes, *end)) {
		char quote = *end++;

		while (end < to && *end != quote)
			end += *end == '\\' && end + 1 < to ? 2 : 1;
		end += end < to;
	} else {
		while (end < to && !isspace((unsigned char)*end) && *end != '{')
			end++;
		if (memchr(from, ',', (size_t)(end - from)))
			return sl_csv_fail(&r->csv, -EINVAL,
					   "a name with a comma must be in quotes");
	}
	*p = end;
	while (*p < to && isspace((unsigned char)**p))
		++*p;
	return table_split(r, from, end);
}

static int ar_values(struct table_reader *r, const char *p, const char *to)
{
	struct sl_decision_attribute *a = &r->t->column[r->t->columns - 1];
	int rc;

	if (to[-1] != '}')
		return sl_csv_fail(&r->csv, -EINVAL, "a '}' is missing at the end of the line");
	rc = table_split(r, p, to - 1);
	for (uint32_t i = 0; !rc && i < r->csv.fields; i++) {
		const char *name = r->csv.field[i].text;

		if (!*name)
			return sl_csv_fail(&r->csv, -EINVAL, "a value of '%s' has no name",
					   a->name);
		if (sl_decision_value(a, name) != SL_DECISION_NONE)
			return sl_csv_fail(&r->csv, -EINVAL, "value '%s' of '%s' stands here twice",
					   name, a->name);
		table_add_value(r, a, name, &rc);
	}
	return rc;
}

static int ar_attribute(struct table_reader *r, const char *p, const char *to)
{
	int rc = ar_name(r, &p, to);

	rc = rc ? rc : table_add_column(r, r->csv.field[0].text);
	if (rc)
		return rc;
	if (p < to && *p == '{')
		return ar_values(r, p + 1, to);
	if (ar_keyword(&p, to, "numeric") || ar_keyword(&p, to, "real") ||
	    ar_keyword(&p, to, "integer")) {
		if (p == to || *p == '[') /* a range, which says nothing that the rows do not */
			return 0;
	}
	return sl_csv_fail(
		&r->csv, -EINVAL,
		"attribute '%s' must be 'numeric' or a list of values in braces; strings, dates "
		"and relations cannot be learnt from",
		r->csv.field[0].text);
}

static int ar_head(struct table_reader *r)
{
	while (sl_csv_line(&r->csv)) {
		const char *p = r->csv.from, *to = r->csv.to;
		int rc = 0;

		if (ar_keyword(&p, to, "@data")) {
			if (!r->t->columns)
				return sl_csv_fail(&r->csv, -EINVAL,
						   "no '@attribute' stands before '@data'");
			return 0;
		}
		if (ar_keyword(&p, to, "@attribute"))
			rc = ar_attribute(r, p, to);
		else if (!ar_keyword(&p, to, "@relation"))
			rc = sl_csv_fail(&r->csv, -EINVAL,
					 "'@relation', '@attribute' or '@data' is expected here");
		if (rc)
			return rc;
	}
	return sl_csv_fail(&r->csv, -EINVAL, "the file ends before '@data'");
}

static int ar_row(struct table_reader *r, double *cells)
{
	const struct sl_table *t = r->t;

	for (uint32_t i = 0; i < r->csv.fields && i < t->columns; i++) {
		const struct sl_decision_attribute *a = &t->column[i];
		const struct sl_csv_field *f = &r->csv.field[i];
		double value = NAN;

		if (!f->text[0])
			return sl_csv_fail(&r->csv, -EINVAL,
					   "the cell of '%s' is empty; unknown is '?'", a->name);
		if (!table_missing(f) && a->values) {
			uint32_t which = sl_decision_value(a, f->text);

			if (which == SL_DECISION_NONE)
				return sl_csv_fail(&r->csv, -EINVAL, "'%s' is no value of '%s'",
						   f->text, a->name);
			value = which;
		} else if (!table_missing(f) && !table_number(f, &value)) {
			return sl_csv_fail(&r->csv, -EINVAL, "'%s' is no number; '%s' must be one",
					   f->text, a->name);
		}
		cells[i] = value;
	}
	if (r->csv.fields > t->columns)
		return sl_csv_fail(&r->csv, -EINVAL, "more cells than the %u attributes",
				   t->columns);
	if (r->csv.fields < t->columns)
		return sl_csv_fail(&r->csv, -EINVAL, "%u cells for %u attributes", r->csv.fields,
				   t->columns);
	return 0;
}

int sl_table_parse_arff(const char *file, const char *text, size_t length, struct sl_table *out,
			char *err, size_t err_size)
{
	struct table_reader r;
	double *cells = NULL;
	int rc;

	table_begin(&r, file, text, length, out, err, err_size);
	r.csv.quotes = "'\"";
	r.csv.comment = '%';
	rc = ar_head(&r);
	while (!rc && sl_csv_line(&r.csv)) {
		if (*r.csv.from == '{')
			rc = sl_csv_fail(&r.csv, -EINVAL, "sparse rows cannot be read");
		rc = rc ? rc : table_split(&r, r.csv.from, r.csv.to);
		rc = rc ? rc : table_add_row(&r, &cells);
		rc = rc ? rc : ar_row(&r, cells);
	}
	return table_end(&r, rc);
}
