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

static bool ar_line(struct table_reader *r, const char **from, const char **to)
{
	while (table_line(r, from, to))
		if (*from < *to && **from != '%')
			return true;
	return false;
}

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

/* A name as far as a space or a brace, or in quotes. */
static int ar_name(struct table_reader *r, const char **p, const char *to, struct table_cell *c)
{
	const char *end = *p;
	int rc;

	if (end < to && *end && strchr(r->quotes, *end)) {
		char quote = *end++;

		while (end < to && *end != quote)
			end += *end == '\\' && end + 1 < to ? 2 : 1;
		end += end < to;
	} else {
		while (end < to && !isspace((unsigned char)*end) && *end != '{')
			end++;
		if (memchr(*p, ',', (size_t)(end - *p)))
			return table_fail(r, -EINVAL, "a name with a comma must be in quotes.");
	}
	rc = table_cell(r, p, end, c);
	*p = end;
	while (*p < to && isspace((unsigned char)**p))
		++*p;
	return rc;
}

static int ar_values(struct table_reader *r, const char *p, const char *to)
{
	struct sl_decision_attribute *a = &r->t->column[r->t->columns - 1];

	if (to[-1] != '}')
		return table_fail(r, -EINVAL, "a '}' is missing at the end of the line.");
	for (to--;; p++) {
		struct table_cell c;
		int rc = table_cell(r, &p, to, &c);

		if (rc)
			return rc;
		if (!c.text[0])
			return table_fail(r, -EINVAL, "a value of '%s' has no name.", a->name);
		if (sl_decision_value(a, c.text) != SL_DECISION_NONE)
			return table_fail(r, -EINVAL, "value '%s' of '%s' stands here twice.",
					  c.text, a->name);
		table_add_value(r, a, c.text, &rc);
		if (rc || p == to)
			return rc;
	}
}

static int ar_attribute(struct table_reader *r, const char *p, const char *to)
{
	struct table_cell name;
	int rc = ar_name(r, &p, to, &name);

	rc = rc ? rc : table_add_column(r, name.text);
	if (rc)
		return rc;
	if (p < to && *p == '{')
		return ar_values(r, p + 1, to);
	if (ar_keyword(&p, to, "numeric") || ar_keyword(&p, to, "real") ||
	    ar_keyword(&p, to, "integer")) {
		if (p == to || *p == '[') /* a range, which says nothing that the rows do not */
			return 0;
	}
	return table_fail(
		r, -EINVAL,
		"attribute '%s' must be 'numeric' or a list of values in braces; strings, dates "
		"and relations cannot be learnt from.",
		name.text);
}

static int ar_head(struct table_reader *r)
{
	const char *p, *to;

	while (ar_line(r, &p, &to)) {
		int rc = 0;

		if (ar_keyword(&p, to, "@data")) {
			if (!r->t->columns)
				return table_fail(r, -EINVAL,
						  "no '@attribute' stands before '@data'.");
			return 0;
		}
		if (ar_keyword(&p, to, "@attribute"))
			rc = ar_attribute(r, p, to);
		else if (!ar_keyword(&p, to, "@relation"))
			rc = table_fail(r, -EINVAL,
					"'@relation', '@attribute' or '@data' is expected here.");
		if (rc)
			return rc;
	}
	return table_fail(r, -EINVAL, "the file ends before '@data'.");
}

static int ar_row(struct table_reader *r, const char *p, const char *to, double *cells)
{
	uint32_t i = 0;

	if (*p == '{')
		return table_fail(r, -EINVAL, "sparse rows cannot be read.");
	for (;; p++) {
		const struct sl_decision_attribute *a = &r->t->column[i];
		struct table_cell c;
		double value = NAN;
		int rc = table_cell(r, &p, to, &c);

		if (rc)
			return rc;
		if (i == r->t->columns)
			return table_fail(r, -EINVAL, "more cells than the %u attributes.",
					  r->t->columns);
		if (c.missing && !c.text[0])
			return table_fail(r, -EINVAL, "the cell of '%s' is empty; unknown is '?'.",
					  a->name);
		if (!c.missing && a->values) {
			uint32_t which = sl_decision_value(a, c.text);

			if (which == SL_DECISION_NONE)
				return table_fail(r, -EINVAL, "'%s' is no value of '%s'.", c.text,
						  a->name);
			value = which;
		} else if (!c.missing && !table_number(&c, &value)) {
			return table_fail(r, -EINVAL, "'%s' is no number; '%s' must be one.",
					  c.text, a->name);
		}
		cells[i++] = value;
		if (p == to)
			break;
	}
	if (i < r->t->columns)
		return table_fail(r, -EINVAL, "%u cells for %u attributes.", i, r->t->columns);
	return 0;
}

int sl_table_parse_arff(const char *file, const char *text, size_t length, struct sl_table *out,
			char *err, size_t err_size)
{
	struct table_reader r = { .file = file,
				  .at = text,
				  .end = text + length,
				  .t = out,
				  .err = err,
				  .err_size = err_size,
				  .quotes = "'\"" };
	const char *from, *to;
	double *cells = NULL;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = ar_head(&r);
	while (!rc && ar_line(&r, &from, &to)) {
		rc = table_add_row(&r, &cells);
		if (!rc)
			rc = ar_row(&r, from, to, cells);
	}
	return table_end(&r, rc);
}
