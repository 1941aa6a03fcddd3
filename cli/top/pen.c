/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that fits: cut to a number of columns, and without control sequences, because names and
 * paths may come from other users. The locale determines the columns of a character: 2 for most
 * Chinese characters, 0 for a combining accent.
 *
 * Example: "checkpoint-7" in 10 columns is "checkpoin~"; ESC is "?", and so is "é" without UTF-8,
 * byte by byte.
 */
#include <math.h>
#include <string.h>
#include <wchar.h>

#include "cli/top/pen.h"

/* ---- text ---- */

struct letter {
	unsigned bytes, columns;
	bool shown; /* print it unchanged; else as "?" */
};

static struct letter pen_letter(const char *at, bool utf8)
{
	static const struct letter not_shown = { 1, 1, false };
	unsigned char c = (unsigned char)*at;
	unsigned n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
	wchar_t code = c & (0x7f >> (n > 1 ? n : 0));
	int columns;

	if (c < ' ' || c == 0x7f || !n || (n > 1 && !utf8))
		return not_shown;
	for (unsigned i = 1; i < n; i++) {
		if (((unsigned char)at[i] & 0xc0) != 0x80)
			return not_shown;
		code = code << 6 | (at[i] & 0x3f);
	}
	columns = n > 1 ? wcwidth(code) : 1; /* -1: U+0080 to U+009F are control characters, too */
	return columns < 0 ? (struct letter){ n, 1, false }
			   : (struct letter){ n, (unsigned)columns, true };
}

unsigned pen_width(const char *text, bool utf8)
{
	unsigned columns = 0;

	while (*text) {
		const struct letter l = pen_letter(text, utf8);

		columns += l.columns;
		text += l.bytes;
	}
	return columns;
}

void top_fit(char *out, size_t size, const char *text, unsigned columns, bool utf8)
{
	char *last = out, *end = out + size - 1;
	/* The last character, to be replaced by "~" if the text is cut. */
	unsigned used = 0, before = 0;

	while (*text && out + 4 < end) {
		const struct letter l = pen_letter(text, utf8);

		if (used + l.columns > columns)
			break;
		if (l.columns) {
			last = out;
			before = used;
		}
		if (l.shown)
			memcpy(out, text, l.bytes);
		else
			*out = '?';
		out += l.shown ? l.bytes : 1;
		text += l.bytes;
		used += l.columns;
	}
	if (*text && columns) {
		if (used == columns) {
			out = last;
			used = before;
		}
		*out++ = '~';
		used++;
	}
	for (; used < columns && out < end; used++)
		*out++ = ' ';
	*out = 0;
}

const char *top_cut(char *out, size_t size, const char *text, unsigned columns, bool utf8)
{
	unsigned width = pen_width(text, utf8);

	top_fit(out, size, text, width < columns ? width : columns, utf8);
	return out;
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
	pen_put(p, style, text, pen_width(text, p->utf8));
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
