/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice top`: the layer and its jobs, live.
 *
 * Four parts, which share only this header:
 *
 *	model.c   the rows of a status: sorted, filtered. Pure.
 *	draw.c    rows as text and styles for a window of a given size. Pure.
 *	keys.c    the effect of a key on the view. Pure.
 *	screen.c  the terminal, by ncurses
 *	feed.c    a thread that queries the nodes, so that a silent node never blocks the keys
 */
#ifndef SL_CLI_TOP_TOP_H
#define SL_CLI_TOP_TOP_H

#include <stdbool.h>
#include <stddef.h>

#include "layer/status.h"

#define TOP_NAME      96
#define TOP_TEXT      128
#define TOP_COLUMNS   60 /* the smallest usable window */
#define TOP_ROWS      10
#define TOP_LINE_MOST 512 /* the most columns used */
#define TOP_NO_SET    1e6 /* sorts after all sets */

/* ---- the model ---- */

struct top_model {
	struct status *s; /* owned */
	char policies[2 * TOP_TEXT], control[TOP_TEXT];
	double queue;
	bool many;     /* nodes, or a controller */
	size_t *shown; /* indices of the jobs that pass the filter, in order; owned */
	size_t shown_count;
};

/* The model takes ownership of the status, also on failure. 0 or -ENOMEM. */
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

/* Fill `shown` with the jobs whose name or reason contains `filter` ("": all), ignoring case. */
void top_model_arrange(struct top_model *m, enum top_sort sort, bool reverse, const char *filter);

/* ---- the view ---- */

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
	char message[4 * TOP_TEXT]; /* the result of the last key; "": none */
	bool bad;		    /* the change was refused */
	const char *layer;	    /* borrowed */
	double every_s;
};

/* Index into m->shown of the selected job; 0 if it is not shown. */
size_t top_selected(const struct top_model *m, const struct top_view *v);

/* ---- drawing ---- */

enum top_style {
	TOP_PLAIN,
	TOP_STRONG,
	TOP_HEADER,
	TOP_BAR,
	TOP_HELD, /* held by a limit or another job */
	TOP_BAD,
	TOP_FAINT,
	TOP_STYLES
};

/* Pieces come row by row and from left to right; together they are no wider than the window. */
struct top_canvas {
	void (*put)(struct top_canvas *c, unsigned row, enum top_style style, bool selected,
		    const char *text);
};

/* Draw the whole window. m NULL: no status yet. */
void top_draw(struct top_canvas *c, const struct top_model *m, struct top_view *v);
/* Draw without a window: all jobs, no keys and no selection; v->rows is ignored. */
void top_draw_batch(struct top_canvas *c, const struct top_model *m, struct top_view *v);
/*
 * text in exactly `columns`, without control characters; text that does not fit is cut and ends
 * with "~".
 */
void top_fit(char *out, size_t size, const char *text, unsigned columns, bool utf8);
/* text in at most that, not padded. Returns out. */
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
	TOP_KEY_CLEAR, /* clear the input */
};
enum top_action { TOP_NOTHING, TOP_REDRAW, TOP_REFRESH, TOP_CHANGE, TOP_QUIT };

/*
 * Handle a key. TOP_CHANGE: the caller has to set `word` ("max=10M", 2 * TOP_NAME bytes) for the
 * job v->selected.
 */
enum top_action top_press(struct top_view *v, struct top_model *m, int key, char *word);

/* ---- the live part ---- */

struct layer;
struct top_feed;

struct top_feed *top_feed_start(const struct layer *l, double every_s);
/* Readable when there is news; read by top_feed_take(). */
int top_feed_fd(const struct top_feed *f);
/*
 * The newest status, owned by the caller; *gone: no node answers. NULL without gone: nothing new.
 */
struct status *top_feed_take(struct top_feed *f, bool *gone);
void top_feed_now(struct top_feed *f); /* query now */
/* Stop the thread; if it is waiting for a node, leave it until the process exits. */
void top_feed_stop(struct top_feed *f);

/* Run until the user quits. Returns an exit status. */
int top_screen(struct layer *l, struct top_view *v, bool colour);

#endif
