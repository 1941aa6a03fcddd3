/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of `sluice top`. While the user types a filter or a value, keys are characters;
 * otherwise they are commands. The next key removes a message.
 *
 * Example, job b selected: M asks "max of job b", 5 0 M are typed, enter gives TOP_CHANGE with
 * "max=50M"; escape gives nothing.
 */
#include <stdio.h>
#include <string.h>

#include "cli/top/top.h"

static void tk_select(struct top_view *v, const struct top_model *m, size_t row)
{
	if (row >= m->shown_count)
		row = m->shown_count ? m->shown_count - 1 : 0;
	if (m->shown_count)
		snprintf(v->selected, sizeof(v->selected), "%s", m->s->jobs[m->shown[row]].job);
}

static enum top_action tk_move(struct top_view *v, const struct top_model *m, int key)
{
	size_t at = top_selected(m, v), page = v->page ? v->page : 1;

	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		tk_select(v, m, at ? at - 1 : 0);
		break;
	case TOP_KEY_DOWN:
	case 'j':
		tk_select(v, m, at + 1);
		break;
	case TOP_KEY_PAGE_UP:
		tk_select(v, m, at > page ? at - page : 0);
		break;
	case TOP_KEY_PAGE_DOWN:
		tk_select(v, m, at + page);
		break;
	case TOP_KEY_HOME:
		tk_select(v, m, 0);
		break;
	default:
		tk_select(v, m, m->shown_count);
		break;
	}
	return TOP_REDRAW;
}

static enum top_action tk_sort(struct top_view *v, struct top_model *m, enum top_sort sort,
			       bool reverse)
{
	v->sort = sort;
	v->reverse = reverse;
	top_model_arrange(m, sort, reverse, v->filter);
	return TOP_REDRAW;
}

static enum top_action tk_ask(struct top_view *v, const struct top_model *m, enum top_mode mode)
{
	if (mode >= TOP_MIN && !m->shown_count) {
		snprintf(v->message, sizeof(v->message), "No job to change.");
		v->bad = true;
		return TOP_REDRAW;
	}
	if (mode >= TOP_MIN)
		tk_select(v, m, top_selected(m, v));
	v->mode = mode;
	snprintf(v->input, sizeof(v->input), "%s", mode == TOP_FILTER ? v->filter : "");
	return TOP_REDRAW;
}

static enum top_action tk_command(struct top_view *v, struct top_model *m, int key)
{
	switch (key) {
	case 'q':
		return TOP_QUIT;
	case '?':
	case 'h':
		v->mode = TOP_HELP;
		return TOP_REDRAW;
	case ' ':
		v->paused = !v->paused;
		return v->paused ? TOP_REDRAW : TOP_REFRESH;
	case TOP_KEY_ENTER:
		return TOP_REFRESH;
	case '<':
		return tk_sort(v, m, (v->sort + TOP_SORTS - 1) % TOP_SORTS, v->reverse);
	case '>':
		return tk_sort(v, m, (v->sort + 1) % TOP_SORTS, v->reverse);
	case 'r':
		return tk_sort(v, m, v->sort, !v->reverse);
	case 's':
		return tk_ask(v, m, TOP_SORT);
	case '/':
		return tk_ask(v, m, TOP_FILTER);
	case 'm':
		return tk_ask(v, m, TOP_MIN);
	case 'M':
		return tk_ask(v, m, TOP_MAX);
	case 'w':
		return tk_ask(v, m, TOP_WEIGHT);
	case 'l':
		return tk_ask(v, m, TOP_LIMIT);
	case TOP_KEY_UP:
	case TOP_KEY_DOWN:
	case TOP_KEY_PAGE_UP:
	case TOP_KEY_PAGE_DOWN:
	case TOP_KEY_HOME:
	case TOP_KEY_END:
	case 'k':
	case 'j':
		return tk_move(v, m, key);
	default:
		return TOP_REDRAW; /* the message was removed */
	}
}

/* Enter: apply the input. */
static enum top_action tk_entered(struct top_view *v, struct top_model *m, char *word)
{
	enum top_mode mode = v->mode;
	int sort;

	v->mode = TOP_LOOK;
	if (mode == TOP_FILTER) {
		memcpy(v->filter, v->input, sizeof(v->filter));
		return tk_sort(v, m, v->sort, v->reverse);
	}
	if (!*v->input)
		return TOP_REDRAW;
	if (mode == TOP_SORT) {
		sort = top_sort_find(v->input);
		if (sort >= 0)
			return tk_sort(v, m, (enum top_sort)sort, v->reverse);
		snprintf(v->message, sizeof(v->message), "No column '%s'; the columns are",
			 v->input);
		for (int i = 0; i < TOP_SORTS; i++) {
			strcat(v->message, " ");
			strcat(v->message, top_sort_name((enum top_sort)i));
		}
		v->bad = true;
		return TOP_REDRAW;
	}
	if (mode == TOP_LIMIT) { /* the input includes the key */
		snprintf(word, 2 * TOP_NAME, "%s", v->input);
		return TOP_CHANGE;
	}
	snprintf(word, 2 * TOP_NAME, "%s=%s",
		 mode == TOP_MIN   ? "min"
		 : mode == TOP_MAX ? "max"
				   : "weight",
		 v->input);
	return TOP_CHANGE;
}

static enum top_action tk_type(struct top_view *v, struct top_model *m, int key, char *word)
{
	size_t length = strlen(v->input);

	if (key == TOP_KEY_ENTER)
		return tk_entered(v, m, word);
	if (key == TOP_KEY_ESCAPE)
		v->mode = TOP_LOOK;
	else if (key == TOP_KEY_ERASE && length)
		v->input[length - 1] = 0;
	else if (key == TOP_KEY_CLEAR)
		v->input[0] = 0;
	else if (key >= ' ' && key <= '~' && length + 1 < sizeof(v->input))
		memcpy(v->input + length, (char[]){ (char)key, 0 }, 2);
	return TOP_REDRAW;
}

enum top_action top_press(struct top_view *v, struct top_model *m, int key, char *word)
{
	v->message[0] = 0;
	v->bad = false;
	if (v->mode == TOP_HELP) {
		v->mode = TOP_LOOK;
		return TOP_REDRAW;
	}
	return v->mode == TOP_LOOK ? tk_command(v, m, key) : tk_type(v, m, key, word);
}
