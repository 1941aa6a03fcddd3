/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that fits: cut to its columns, without anything that a terminal would obey, since names and
 * paths are other people's. A character is one column wide, which those of names here are.
 *
 * Example: "checkpoint-7" in 10 columns is "checkpoin~"; ESC is "?", and so is "é" without UTF-8,
 * byte by byte.
 */
#include <math.h>
#include <string.h>

#include "cli/top-pen.h"

/* ---- text ---- */

/* Bytes of the character at `at`: 0 if it is none that may be shown. */
static size_t pen_char(const char *at, bool utf8)
{
	unsigned char c = (unsigned char)*at;
	size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	if (c < ' ' || c == 0x7f || (n > 1 && !utf8))
		return 0;
	for (size_t i = 1; i < n; i++)
		if (((unsigned char)at[i] & 0xc0) != 0x80)
			return 0;
	/* U+0080 to U+009F are control characters, too */
	return n == 2 && c == 0xc2 && (unsigned char)at[1] < 0xa0 ? 0 : n;
}

void top_fit(char *out, size_t size, const char *text, unsigned columns, bool utf8)
{
	char *last = out, *end = out + size - 1;
	unsigned used = 0;

	while (*text && used < columns && out + 4 < end) {
		size_t n = pen_char(text, utf8);

		last = out;
		if (n) {
			memcpy(out, text, n);
			out += n;
		} else {
			*out++ = '?';
		}
		text += n ? n : 1;
		used++;
	}
	if (*text && used) {
		out = last;
		*out++ = '~';
	}
	for (; used < columns && out < end; used++)
		*out++ = ' ';
	*out = 0;
}

/* ---- pieces ---- */

void pen_put(struct pen *p, enum top_style style, const char *text, unsigned columns)
{
	char fitted[PEN_BYTES];

	if (columns > p->left)
		columns = p->left;
	if (!columns)
		return;
	top_fit(fitted, sizeof(fitted), text, columns, p->utf8);
	p->c->put(p->c, p->row, style, p->selected, fitted);
	p->left -= columns;
}

void pen_say(struct pen *p, enum top_style style, const char *text)
{
	unsigned columns = 0;

	for (const char *at = text; *at; columns++) {
		size_t n = pen_char(at, p->utf8);

		at += n ? n : 1;
	}
	pen_put(p, style, text, columns);
}

void pen_end(struct pen *p, enum top_style style, const char *text)
{
	if (p->left)
		pen_put(p, style, text, p->left);
	p->row++;
	p->left = p->columns;
	p->selected = false;
}

void pen_bar(struct pen *p, double part, unsigned columns)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	unsigned units = p->utf8 ? 8 : 1, n;
	char text[4 * TOP_LINE_MOST] = "";

	part = part > 1 ? 1 : part > 0 ? part : 0;
	n = (unsigned)ceil(part * columns * units - 1e-9);
	for (unsigned i = 0; i < n / units; i++)
		strcat(text, p->utf8 ? "█" : "#");
	strcat(text, p->utf8 ? eighths[n % units] : "");
	pen_put(p, TOP_BAR, text, columns);
}
