/* SPDX-License-Identifier: Apache-2.0 */
/* JSON writer: see json.h. The only state is which levels are open and need a comma. */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define JSON_LINES 2 /* levels that put each member on its own line */

void json_begin(struct json *j, FILE *f)
{
	*j = (struct json){ .f = f, .lines = JSON_LINES };
}

void json_begin_line(struct json *j, FILE *f)
{
	*j = (struct json){ .f = f };
}

static void js_break(struct json *j)
{
	if (j->depth == 0 || j->depth > j->lines)
		return;
	putc('\n', j->f);
	for (unsigned i = 0; i < j->depth; i++)
		fputs("  ", j->f);
}

/*
 * Length of the UTF-8 sequence at s, or 0 when it is none: overlong forms, surrogates and what
 * lies above U+10FFFF are refused through the bounds of the second byte (RFC 3629, section 4).
 */
static unsigned js_utf8(const unsigned char *s)
{
	unsigned lo = 0x80, hi = 0xbf, n;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		lo = 0xa0;
	else if (s[0] == 0xed)
		hi = 0x9f;
	else if (s[0] == 0xf0)
		lo = 0x90;
	else if (s[0] == 0xf4)
		hi = 0x8f;
	if (s[1] < lo || s[1] > hi)
		return 0;
	for (unsigned i = 2; i < n; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return n;
}

static void js_text(FILE *f, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	putc('"', f);
	while (*s) {
		unsigned n = js_utf8(s);

		if (n == 0) {
			fputs("\\ufffd", f);
			n = 1;
		} else if (*s == '"' || *s == '\\') {
			putc('\\', f);
			putc(*s, f);
		} else if (*s == '\n') {
			fputs("\\n", f);
		} else if (*s == '\t') {
			fputs("\\t", f);
		} else if (*s < 0x20 || *s == 0x7f) {
			fprintf(f, "\\u%04x", *s);
		} else {
			fwrite(s, 1, n, f);
		}
		s += n;
	}
	putc('"', f);
}

/* Everything that comes before a value: comma, line break, key. */
static void js_member(struct json *j, const char *key)
{
	assert((key != NULL) == (j->depth > 0 && j->level[j->depth].close == '}'));
	if (j->level[j->depth].some)
		putc(',', j->f);
	j->level[j->depth].some = true;
	js_break(j);
	if (key) {
		js_text(j->f, key);
		putc(':', j->f);
	}
}

static void js_open(struct json *j, const char *key, char open, char close)
{
	js_member(j, key);
	assert(j->depth < JSON_MAX_DEPTH);
	putc(open, j->f);
	j->depth++;
	j->level[j->depth].close = close;
	j->level[j->depth].some = false;
}

void json_object(struct json *j, const char *key)
{
	js_open(j, key, '{', '}');
}

void json_array(struct json *j, const char *key)
{
	js_open(j, key, '[', ']');
}

void json_end(struct json *j)
{
	bool lines = j->level[j->depth].some && j->depth <= j->lines;
	char close = j->level[j->depth].close;

	assert(j->depth > 0);
	j->depth--;
	if (lines) {
		putc('\n', j->f);
		for (unsigned i = 0; i < j->depth; i++)
			fputs("  ", j->f);
	}
	putc(close, j->f);
	if (j->depth == 0 && j->lines)
		putc('\n', j->f);
}

void json_string(struct json *j, const char *key, const char *value)
{
	js_member(j, key);
	if (value)
		js_text(j->f, value);
	else
		fputs("null", j->f);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	js_member(j, key);
	fprintf(j->f, "%" PRId64, value);
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
	js_member(j, key);
	fprintf(j->f, "%" PRIu64, value);
}

void json_double(struct json *j, const char *key, double value)
{
	char text[32];

	js_member(j, key);
	if (!isfinite(value)) {
		fputs("null", j->f);
		return;
	}
	/* 17 digits always suffice for a double; most read back from fewer. */
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fputs(text, j->f);
}

void json_bool(struct json *j, const char *key, bool value)
{
	js_member(j, key);
	fputs(value ? "true" : "false", j->f);
}
