/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write the window of `sluice top` as pieces that fill one row after the other, and the table of
 * jobs. See draw.c.
 */
#ifndef SL_CLI_TOP_PEN_H
#define SL_CLI_TOP_PEN_H

#include "cli/top/top.h"
#include "layer/status.h"

#define PEN_BYTES (4 * TOP_LINE_MOST + 8) /* of a row */

struct pen {
	struct top_canvas *c;
	unsigned row, left, columns; /* left: in this row */
	bool utf8, selected;
};

/* The width of a text in columns. */
unsigned pen_width(const char *text, bool utf8);
/* Put a text in this number of columns, or in those that are left. */
void pen_put(struct pen *p, enum top_style style, const char *text, unsigned columns);
/* Put a text in its own width. */
void pen_say(struct pen *p, enum top_style style, const char *text);
/* Put a text in the rest of the row, and end the row. */
void pen_end(struct pen *p, enum top_style style, const char *text);
void pen_bar(struct pen *p, double part, unsigned columns);

/* ---- table.c ---- */

#define JOBS_BAR 9 /* with the space before */

struct layout {
	const struct status_column *column;
	size_t columns;
	unsigned name;	  /* width of the first */
	double whole_bps; /* of a full bar */
};

struct layout jobs_layout(const struct top_model *m, unsigned columns);
void jobs_titles(struct pen *p, const struct layout *l);
void jobs_job(struct pen *p, const struct layout *l, const struct status_job *j);
enum top_style jobs_style(const char *reason);

#endif
