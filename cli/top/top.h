/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice top`: the layer and its jobs, live.
 *
 * Four parts that know each other by this file alone:
 *
 *	model.c   what a status says, as rows: sorted, filtered. Pure.
 *	draw.c    rows as text and styles for a window of so many columns and rows. Pure.
 *	keys.c    what a key does to what is shown. Pure.
 *	screen.c  the terminal, by ncurses; feed.c a thread that asks the nodes, so that one
 *	          that does not answer never stops the keys
 */
#ifndef SL_CLI_TOP_TOP_H
#define SL_CLI_TOP_TOP_H

#include <stdbool.h>
#include <stddef.h>

#include "layer/status.h"

#define TOP_NAME      96
#define TOP_TEXT      128
#define TOP_COLUMNS   60 /* the least that can be drawn upon */
#define TOP_ROWS      10
#define TOP_LINE_MOST 512 /* columns that are used at most */
#define TOP_NO_SET    1e6 /* behind all sets */

/* ---- what there is ---- */

struct top_model {
	struct status *s; /* owned */
	char policies[2 * TOP_TEXT], control[TOP_TEXT];
	double queue;
	bool many;     /* nodes, or a controller */
	size_t *shown; /* indices of the jobs that pass the filter, in order; owned */
	size_t shown_count;
};

/* The status becomes the model's, also on failure. 0 or -ENOMEM. */
int top_model_read(struct top_model *m, struct status *s);
void top_model_free(struct top_model *m);

enum top_sort {
	TOP_BY_NOW,
	TOP_BY_NAME,
	TOP_BY_AVERAGE,
	TOP_BY_IOPS,
	TOP_BY_OPS,
	TOP_BY_QUEUE,
	TOP_BY_HELD,
	TOP_BY_P50,
	TOP_BY_P99,
	TOP_BY_SET,
	TOP_BY_MIN,
	TOP_BY_MAX,
	TOP_BY_WEIGHT,
	TOP_SORTS
};
const char *top_sort_name(enum top_sort sort);
int top_sort_find(const char *name); /* or -ENOENT */

/* Fill `shown`: those with `filter` ("": all) in their name or reason, whatever its case. */
void top_model_arrange(struct top_model *m, enum top_sort sort, bool reverse, const char *filter);

/* ---- how it is looked at ---- */

enum top_mode { TOP_LOOK, TOP_HELP, TOP_FILTER, TOP_SORT, TOP_MIN, TOP_MAX, TOP_WEIGHT, TOP_LIMIT };

struct top_view {
	unsigned columns, rows;
	bool utf8, paused, gone; /* gone: the layer does not answer */
	enum top_sort sort;
	bool reverse;
	char filter[TOP_NAME];
	char selected[TOP_NAME]; /* job; "": the first */
	size_t first;		 /* row of `shown` at the top of the table */
	size_t page;		 /* rows of the table, as last drawn */
	enum top_mode mode;
	unsigned cursor;	    /* column, while something is typed */
	char input[TOP_NAME];	    /* while something is typed */
	char message[4 * TOP_TEXT]; /* what came of the last key; "": nothing */
	bool bad;		    /* it was refused */
	const char *layer;	    /* borrowed */
	double every_s;
};

/* Index into m->shown of the one that is selected; 0 if it is not there. */
size_t top_selected(const struct top_model *m, const struct top_view *v);

/* ---- drawing ---- */

enum top_style {
	TOP_PLAIN,
	TOP_STRONG,
	TOP_HEADER,
	TOP_BAR,
	TOP_HELD, /* by a limit or by somebody */
	TOP_BAD,
	TOP_FAINT,
	TOP_STYLES
};

/* Pieces come row by row and from left to right; together they are no wider than the window. */
struct top_canvas {
	void (*put)(struct top_canvas *c, unsigned row, enum top_style style, bool selected,
		    const char *text);
};

/* The whole window. m NULL: nothing is known yet. */
void top_draw(struct top_canvas *c, const struct top_model *m, struct top_view *v);
/* Without window: all jobs, and neither keys nor selection; rows of v do not matter. */
void top_draw_batch(struct top_canvas *c, const struct top_model *m, struct top_view *v);
/* text in exactly `columns`; what does not fit ends with "~"; nothing that moves a cursor. */
void top_fit(char *out, size_t size, const char *text, unsigned columns, bool utf8);
/* text in no more than that, without anything behind it; out, which is borrowed. */
const char *top_cut(char *out, size_t size, const char *text, unsigned columns, bool utf8);

/* ---- keys ---- */

enum top_key {
	TOP_KEY_UP = 0x110000, /* others are characters */
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_ERASE,
	TOP_KEY_CLEAR, /* all that was typed */
};
enum top_action { TOP_NOTHING, TOP_REDRAW, TOP_REFRESH, TOP_CHANGE, TOP_QUIT };

/*
 * The meaning of the key. TOP_CHANGE: `word` ("max=10M", 2 * TOP_NAME bytes) is to be set for the job
 * v->selected.
 */
enum top_action top_press(struct top_view *v, struct top_model *m, int key, char *word);

/* ---- the live part ---- */

struct layer;
struct top_feed;

struct top_feed *top_feed_start(const struct layer *l, double every_s);
/* Readable when there is news; read by top_feed_take(). */
int top_feed_fd(const struct top_feed *f);
/* The newest status, to be deleted; *gone: nobody answers. NULL without gone: no news. */
struct status *top_feed_take(struct top_feed *f, bool *gone);
void top_feed_now(struct top_feed *f); /* do not wait for the next time */
/* Ends it, or leaves it to the end of the process if a node keeps it waiting. */
void top_feed_stop(struct top_feed *f);

/* Until it is left. An exit status. */
int top_screen(struct layer *l, struct top_view *v, bool colour);

#endif
