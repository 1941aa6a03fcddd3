/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the window of `sluice top`: pieces that fill one row after the other; and
 * the table of jobs, which it is made of mostly. See draw.c. */
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

/* Columns of a text. */
unsigned pen_width(const char *text, bool utf8);
/* In so many columns, or as many as are left. */
void pen_put(struct pen *p, enum top_style style, const char *text, unsigned columns);
/* As wide as it is. */
void pen_say(struct pen *p, enum top_style style, const char *text);
/* In the rest of the row, which ends. */
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
