/* SPDX-License-Identifier: Apache-2.0 */
/* Reads CSV: see csv.h. O(length) for a line; two allocations, which grow to the longest line. */
#include "base/csv.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/where.h"

int sl_csv_fail(struct sl_csv *r, int rc, const char *format, ...)
{
	va_list args;
	size_t n;

	va_start(args, format);
	sl_where(r->err, r->err_size, r->file, r->line ? r->line : 1, format, args);
	va_end(args);
	n = strlen(r->err);
	snprintf(r->err + n, r->err_size - n, ".");
	return rc;
}

static bool cs_space(const struct sl_csv *r, char c)
{
	return isspace((unsigned char)c) && c != r->separator;
}

static char cs_separator(const char *from, const char *to)
{
	for (; from < to; from++)
		if (*from == ',' || *from == ';' || *from == '\t')
			return *from;
	return ',';
}

bool sl_csv_line(struct sl_csv *r)
{
	static const char mark[] = "\xef\xbb\xbf";

	if (!r->line && r->end - r->at >= 3 && !memcmp(r->at, mark, 3))
		r->at += 3;
	while (r->at < r->end) {
		const char *from = r->at, *nl = memchr(from, '\n', (size_t)(r->end - from));
		const char *to = nl ? nl : r->end, *first = from;

		r->at = nl ? nl + 1 : r->end;
		r->line++;
		while (first < to && isspace((unsigned char)*first))
			first++;
		if (first == to || (r->comment && *first == r->comment))
			continue;
		if (!r->separator)
			r->separator = cs_separator(from, to);
		while (cs_space(r, *from))
			from++;
		while (to > from && cs_space(r, to[-1]))
			to--;
		r->from = from;
		r->to = to;
		return true;
	}
	return false;
}

static int cs_put(struct sl_csv *r, char **out, char c)
{
	c = c == '\t' ? ' ' : c;
	if (iscntrl((unsigned char)c))
		return sl_csv_fail(r, -EINVAL, "a control character (0x%02x) in a cell",
				   (unsigned char)c);
	*(*out)++ = c;
	return 0;
}

static int cs_quoted(struct sl_csv *r, const char **p, const char *to, char **out)
{
	char quote = *(*p)++;
	int rc = 0;

	for (; *p < to && !rc; ++*p) {
		if (**p == quote) {
			if (*p + 1 == to || (*p)[1] != quote)
				break;
			++*p;
		} else if (r->backslash && **p == '\\' && *p + 1 < to) {
			++*p;
		}
		rc = cs_put(r, out, **p);
	}
	if (rc)
		return rc;
	if (*p == to)
		return sl_csv_fail(r, -EINVAL, "a quote is not closed");
	++*p;
	while (*p < to && cs_space(r, **p))
		++*p;
	if (*p < to && **p != r->separator)
		return sl_csv_fail(r, -EINVAL, "a %s is missing after a quoted cell",
				   r->separator == ',' ? "comma" : "separator");
	return 0;
}

/* One field, to *out; *p is left at the separator behind it, or at the end. */
static int cs_field(struct sl_csv *r, const char **p, const char *to, char **out)
{
	struct sl_csv_field *f;
	int rc = 0;

	if (r->fields == r->field_room) {
		uint32_t room = r->field_room ? 2 * r->field_room : 32;

		if (!(f = reallocarray(r->field, room, sizeof(*f))))
			return sl_csv_fail(r, -ENOMEM, "out of memory");
		r->field = f;
		r->field_room = room;
	}
	f = &r->field[r->fields++];
	f->text = *out;
	while (*p < to && cs_space(r, **p))
		++*p;
	f->quoted = *p < to && **p && strchr(r->quotes, **p);
	if (f->quoted) {
		rc = cs_quoted(r, p, to, out);
	} else {
		for (; *p < to && **p != r->separator && !rc; ++*p)
			rc = cs_put(r, out, **p);
		while (*out > f->text && isspace((unsigned char)(*out)[-1]))
			--*out;
	}
	*(*out)++ = 0;
	return rc;
}

int sl_csv_split(struct sl_csv *r, const char *from, const char *to)
{
	size_t room =
		(size_t)(to - from) + 2; /* a field is no longer than its text and what ends it */
	const char *p = from;
	char *out;

	if (room > r->text_room) {
		free(r->text);
		r->text = malloc(2 * room);
		r->text_room = r->text ? 2 * room : 0;
		if (!r->text)
			return sl_csv_fail(r, -ENOMEM, "out of memory");
	}
	out = r->text;
	r->fields = 0;
	for (;; p++) {
		int rc = cs_field(r, &p, to, &out);

		if (rc || p == to)
			return rc;
	}
}

int sl_csv_row(struct sl_csv *r)
{
	int rc;

	if (!sl_csv_line(r))
		return 0;
	rc = sl_csv_split(r, r->from, r->to);
	return rc ? rc : 1;
}

void sl_csv_end(struct sl_csv *r)
{
	free(r->field);
	free(r->text);
	r->field = NULL;
	r->text = NULL;
	r->fields = r->field_room = 0;
	r->text_room = 0;
}
