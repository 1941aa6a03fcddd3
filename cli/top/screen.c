/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice top` on a terminal, by ncurses. One loop waits for keys, news of the layer and signals.
 *
 * The terminal is restored on every exit. Signals that end the program are read from a descriptor
 * in the loop, so they never interrupt drawing; errors are printed after endwin(). ncurses handles
 * SIGTSTP and SIGWINCH itself: it suspends and resumes the screen, and reports a new size as a key.
 */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/top/top.h"
#include "layer/layer.h"

static const char cmd[] = "top";

#define SHORT_NAME 24 /* columns of a name in a message */
#define ESCAPE_MS  50 /* a character that follows an escape later than this is a separate key */

struct screen {
	struct top_canvas canvas; /* first: a canvas is its screen */
	bool colour;
	unsigned row; /* the row that is being drawn */
};

/* ---- drawing ---- */

static attr_t sc_style(const struct screen *s, enum top_style style, bool selected)
{
	static const attr_t plain[TOP_STYLES] = {
		[TOP_STRONG] = A_BOLD, [TOP_HEADER] = A_REVERSE, [TOP_BAD] = A_BOLD
	};
	attr_t a = plain[style];

	if (s->colour && style == TOP_BAR)
		a |= COLOR_PAIR(1);
	if (s->colour && style == TOP_HELD)
		a |= COLOR_PAIR(2);
	if (s->colour && style == TOP_BAD)
		a |= COLOR_PAIR(3);
	if (s->colour && style == TOP_FAINT)
		a |= COLOR_PAIR(4);
	return selected ? a | A_REVERSE : a;
}

static void sc_put(struct top_canvas *c, unsigned row, enum top_style style, bool selected,
		   const char *text)
{
	struct screen *s = (struct screen *)c;

	if (row != s->row) {
		s->row = row;
		move((int)row, 0);
	}
	attrset((int)sc_style(s, style, selected));
	addstr(text);
}

static void sc_draw(struct screen *s, const struct top_model *m, struct top_view *v)
{
	s->row = UINT32_MAX;
	v->columns = (unsigned)COLS;
	v->rows = (unsigned)LINES;
	erase();
	top_draw(&s->canvas, m, v);
	attrset(A_NORMAL);
	curs_set(v->mode >= TOP_FILTER);
	if (v->mode >= TOP_FILTER)
		move(LINES - 1, (int)v->cursor);
	refresh();
}

/* ---- keys ---- */

static int sc_key(int key)
{
	switch (key) {
	case KEY_UP:
		return TOP_KEY_UP;
	case KEY_DOWN:
		return TOP_KEY_DOWN;
	case KEY_PPAGE:
		return TOP_KEY_PAGE_UP;
	case KEY_NPAGE:
		return TOP_KEY_PAGE_DOWN;
	case KEY_HOME:
		return TOP_KEY_HOME;
	case KEY_END:
		return TOP_KEY_END;
	case KEY_ENTER:
	case '\n':
	case '\r':
		return TOP_KEY_ENTER;
	case KEY_BACKSPACE:
	case '\b':
	case 0x7f:
		return TOP_KEY_ERASE;
	case 'U' & 0x1f: /* Ctrl-U */
		return TOP_KEY_CLEAR;
	case 0x1b:
		return TOP_KEY_ESCAPE;
	default:
		return key;
	}
}

/* As `sluice set JOB WORD`. */
static void sc_change(const struct layer *l, struct top_view *v, const char *word)
{
	char line[sizeof(v->selected) + 256], err[CHECK_TEXT], name[TOP_NAME];
	const char *said = err;

	v->bad = check_job_word(word, err);
	if (!v->bad) {
		snprintf(line, sizeof(line), "set %s %.240s", v->selected, word);
		v->bad = layer_change(l, line);
		said = layer_error();
	}
	top_cut(name, sizeof(name), v->selected, SHORT_NAME, v->utf8);
	snprintf(v->message, sizeof(v->message), "%s: %.127s%s%.255s", name, word,
		 v->bad ? " refused: " : " is set", v->bad ? said : "");
}

/* Whether to continue. */
static bool sc_keys(const struct layer *l, struct top_feed *feed, struct top_model *m,
		    struct top_view *v)
{
	char word[2 * TOP_NAME];
	int key;

	while ((key = getch()) != ERR) {
		if (key == KEY_RESIZE)
			continue;
		switch (top_press(v, m, sc_key(key), word)) {
		case TOP_QUIT:
			return false;
		case TOP_CHANGE:
			sc_change(l, v, word);
			top_feed_now(feed);
			break;
		case TOP_REFRESH:
			top_feed_now(feed);
			break;
		case TOP_NOTHING:
		case TOP_REDRAW:
			break;
		}
	}
	return true;
}

/* ---- the loop ---- */

/* Take a new status. While paused, only note that the layer is gone or back. */
static void sc_news(struct top_feed *feed, struct top_model *m, bool *known, struct top_view *v)
{
	bool gone;
	struct status *status = top_feed_take(feed, &gone);
	struct top_model next;

	v->gone = gone;
	if (v->paused && *known) {
		status_free(status);
	} else if (status && top_model_read(&next, status) == 0) {
		top_model_free(m);
		*m = next;
		*known = true;
		top_model_arrange(m, v->sort, v->reverse, v->filter);
	}
}

static int sc_loop(struct screen *s, const struct layer *l, struct top_feed *feed, int signals,
		   struct top_view *v)
{
	struct top_model m = { 0 };
	bool known = false, on = true;

	while (on) {
		struct pollfd p[3] = { { .fd = STDIN_FILENO, .events = POLLIN },
				       { .fd = top_feed_fd(feed), .events = POLLIN },
				       { .fd = signals, .events = POLLIN } };

		sc_draw(s, known ? &m : NULL, v);
		if (poll(p, 3, -1) < 0 && errno != EINTR)
			break;
		if (p[1].revents)
			sc_news(feed, &m, &known, v);
		on = sc_keys(l, feed, &m, v) && !p[2].revents &&
		     !(p[0].revents & (POLLHUP | POLLERR));
	}
	top_model_free(&m);
	return CLI_OK;
}

static int sc_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&set, ends[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void sc_colours(struct screen *s, bool wanted)
{
	s->colour = wanted && has_colors();
	if (!s->colour)
		return;
	start_color();
	use_default_colors();
	init_pair(1, COLOR_GREEN, -1);
	init_pair(2, COLOR_YELLOW, -1);
	init_pair(3, COLOR_RED, -1);
	init_pair(4, COLOR_CYAN, -1);
}

int top_screen(struct layer *l, struct top_view *v, bool colour)
{
	struct screen s = { .canvas.put = sc_put };
	struct top_feed *feed;
	SCREEN *terminal;
	int status, signals;

	setlocale(LC_CTYPE, "");
	v->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	signals = sc_signals();
	feed = signals < 0 ? NULL : top_feed_start(l, v->every_s);
	if (!feed)
		return cli_fail(cmd, "cannot start a thread: %s.", strerror(errno));
	set_escdelay(ESCAPE_MS);
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal) {
		const char *term = getenv("TERM");

		top_feed_stop(feed);
		return cli_fail(cmd,
				"unknown terminal '%.40s'; set TERM to its type, "
				"or use --batch.",
				term ? term : "");
	}
	cbreak();
	noecho();
	keypad(stdscr, true);
	nodelay(stdscr, true);
	sc_colours(&s, colour);
	status = sc_loop(&s, l, feed, signals, v);
	endwin();
	delscreen(terminal);
	top_feed_stop(feed);
	close(signals);
	return status;
}
