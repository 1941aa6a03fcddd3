/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window of `sluice top` as pieces of text with a style. From top to bottom: three lines about
 * the layer, the table of jobs, its nodes if it has several and there is room, a line about the job
 * that is selected, and one for keys, questions and messages.
 */
#include <stdio.h>
#include <string.h>

#include "cli/top/pen.h"

#define CELL STATUS_CELL
#define LEAST \
	16 /* columns that a name, or what is typed, keeps in a line where others need room \
	    */

/* Columns for a part of a line whose other parts are this wide. */
static unsigned td_room(const struct pen *p, unsigned rest)
{
	return p->columns > rest + LEAST ? p->columns - rest : LEAST;
}

/* ---- the layer ---- */

static void td_head(struct pen *p, const struct top_model *m, const struct top_view *v)
{
	char text[PEN_BYTES], rest[80], root[PEN_BYTES], a[CELL], b[CELL], c[CELL];
	unsigned up = 0;

	for (size_t i = 0; i < m->s->ionodes_count; i++)
		up += !strcmp(m->s->ionodes[i].state, "up");
	status_time(a, m->s->uptime_s);
	snprintf(rest, sizeof(rest), ", up %s", a);
	if (m->many)
		snprintf(rest + strlen(rest), 64, ", %u of %zu nodes", up, m->s->ionodes_count);
	snprintf(text, sizeof(text), "Layer '%s' for ", v->layer);
	top_cut(root, sizeof(root), m->s->root, td_room(p, (unsigned)(strlen(text) + strlen(rest))),
		v->utf8);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", root, rest);
	if (v->gone) {
		snprintf(text, sizeof(text), "Layer '%s' is gone; waiting for its return. ",
			 v->layer);
		pen_say(p, TOP_BAD, text);
		pen_end(p, TOP_FAINT, "The last status that it sent is shown below.");
	} else {
		pen_end(p, up < m->s->ionodes_count ? TOP_BAD : TOP_STRONG, text);
	}

	status_short(a, m->s->bandwidth_bps);
	status_some(b, m->s->capacity_bps);
	snprintf(text, sizeof(text), m->s->capacity_bps > 0 ? "Now %sB/s of %s " : "Now %sB/s", a,
		 b);
	pen_say(p, TOP_STRONG, text);
	if (m->s->capacity_bps > 0)
		pen_bar(p, m->s->bandwidth_bps / m->s->capacity_bps, p->columns >= 80 ? 16 : 10);
	status_short(a, m->s->iops);
	status_short(b, m->queue);
	status_short(c, m->s->inflight_bytes);
	snprintf(text, sizeof(text), " %s %s, %s %s, %sB in flight", a,
		 status_plural(a, "request/s", "requests/s"), b, status_plural(b, "waits", "wait"),
		 c);
	if (m->s->ops_per_s > 0) {
		status_short(a, m->s->ops_per_s);
		snprintf(text + strlen(text), 40, ", %s %s", a,
			 status_plural(a, "operation/s", "operations/s"));
	}
	pen_end(p, TOP_PLAIN, text);

	snprintf(text, sizeof(text), "%s%s%s", m->policies, *m->control ? "; " : "", m->control);
	pen_end(p, *m->control ? TOP_BAD : TOP_PLAIN, text);
}

static void td_nodes(struct pen *p, const struct top_model *m, size_t rows)
{
	char text[PEN_BYTES], now[CELL], iops[CELL], requests[CELL], capacity[CELL];

	snprintf(text, sizeof(text), "%-7s%-6s%5s%6s%6s%9s%7s%7s%7s", "IONODE", "STATE", "JOBS",
		 "CL", "NOW", "", "IOPS", "INSIDE", "CAP");
	pen_end(p, TOP_HEADER, text);
	for (size_t i = 0; i < m->s->ionodes_count && i + 1 < rows; i++) {
		const struct status_ionode *n = &m->s->ionodes[i];
		double whole = n->draw_bps > 0 ? n->draw_bps : m->s->bandwidth_bps;

		if (i + 2 == rows && i + 1 < m->s->ionodes_count) {
			snprintf(text, sizeof(text), "and %zu more", m->s->ionodes_count - i);
			pen_end(p, TOP_FAINT, text);
			return;
		}
		pen_put(p, TOP_PLAIN, n->name, 7);
		pen_put(p, strcmp(n->state, "up") != 0 ? TOP_BAD : TOP_PLAIN, n->state, 6);
		status_short(now, n->bandwidth_bps);
		snprintf(text, sizeof(text), "%5.0f%6.0f%6s ", n->jobs, n->clients, now);
		pen_say(p, TOP_PLAIN, text);
		pen_bar(p, whole > 0 ? n->bandwidth_bps / whole : 0, JOBS_BAR - 1);
		status_short(iops, n->iops);
		status_short(requests, n->requests);
		status_some(capacity, n->draw_bps);
		snprintf(text, sizeof(text), "%7s%7s%7s", iops, requests, capacity);
		pen_end(p, TOP_PLAIN, text);
	}
}

/* ---- below the table ---- */

static void td_detail(struct pen *p, const struct top_model *m, const struct top_view *v)
{
	const struct status_job *j;
	char text[PEN_BYTES], name[PEN_BYTES], min[CELL], max[CELL], period[CELL], limits[200];

	if (!m->shown_count) {
		pen_end(p, TOP_PLAIN, "");
		return;
	}
	j = &m->s->jobs[m->shown[top_selected(m, v)]];
	status_some(min, j->asked_min_bps);
	status_some(max, j->asked_max_bps);
	status_cell(period, STATUS_PERIOD, j);
	snprintf(text, sizeof(text), ": min %s max %s weight %.0f", min, max, j->weight);
	if (j->period_s > 0)
		snprintf(text + strlen(text), 64, " period %s", period);
	if (j->period_s > 0 && !strcmp(j->period_from, "detected"))
		snprintf(text + strlen(text), 64, " (%.0f %% sure)", 100 * j->period_confidence);
	status_ops(limits, sizeof(limits), j);
	if (*limits)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", limits);
	if (j->unscheduled_bytes > 0) {
		status_short(period, j->unscheduled_bytes);
		snprintf(text + strlen(text), 64, ", %sB unscheduled", period);
	}
	pen_say(p, TOP_STRONG,
		top_cut(name, sizeof(name), j->job,
			td_room(p, (unsigned)(strlen(text) + 2 + strlen(j->reason))), v->utf8));
	pen_say(p, TOP_STRONG, text);
	pen_say(p, TOP_PLAIN, "; ");
	pen_end(p, jobs_style(j->reason), j->reason);
}

/* The text being typed; only its end if it is longer than the row. */
static void td_input(struct pen *p, struct top_view *v)
{
	size_t length = strlen(v->input), room = p->left ? p->left - 1 : 0;
	size_t from = length > room ? length - room : 0;

	v->cursor = p->columns - p->left + (unsigned)(length - from);
	pen_end(p, TOP_PLAIN, v->input + from);
}

/*
 * A long message also uses the row above, which normally shows the selected job: draw its begin
 * there. Returns the rest, or the whole message if it is short.
 */
static const char *td_message(struct pen *p, const struct top_view *v)
{
	const char *text = v->message;
	char begin[sizeof(v->message)];
	size_t at = p->columns;

	if (v->mode != TOP_LOOK || pen_width(text, v->utf8) <= p->columns)
		return text;
	while (at && text[at] != ' ')
		at--;
	if (!at)
		return text;
	snprintf(begin, sizeof(begin), "%.*s", (int)at, text);
	pen_end(p, v->bad ? TOP_BAD : TOP_STRONG, begin);
	return text + at + 1;
}

static void td_bottom(struct pen *p, struct top_view *v, const char *message)
{
	static const char *const asks[] = {
		[TOP_FILTER] = "Only jobs with: ",
		[TOP_SORT] = "Sort by (now, name, queue, held, p99...): ",
		[TOP_MIN] = "min of job",
		[TOP_MAX] = "max of job",
		[TOP_WEIGHT] = "weight of job",
		[TOP_LIMIT] = "limit of job"
	};
	char text[2 * TOP_NAME + 64], name[PEN_BYTES];

	if (v->mode >= TOP_MIN) {
		const char *like = v->mode == TOP_WEIGHT  ? ""
				   : v->mode == TOP_LIMIT ? " (like max_ops=500)"
							  : " (like 100M; 0: none)";

		top_cut(name, sizeof(name), v->selected,
			td_room(p, (unsigned)(strlen(asks[v->mode]) + strlen(like) + LEAST + 4)),
			v->utf8);
		snprintf(text, sizeof(text), "%s %.*s%s: ", asks[v->mode], TOP_NAME, name, like);
		pen_say(p, TOP_STRONG, text);
		td_input(p, v);
	} else if (v->mode >= TOP_FILTER) {
		pen_say(p, TOP_STRONG, asks[v->mode]);
		td_input(p, v);
	} else if (*message) {
		pen_end(p, v->bad ? TOP_BAD : TOP_STRONG, message);
	} else {
		snprintf(text, sizeof(text), "Sorted by %s%s%s%s%s%s. ", top_sort_name(v->sort),
			 v->reverse ? ", reversed" : "", *v->filter ? ", only '" : "", v->filter,
			 *v->filter ? "'" : "", v->paused ? ", PAUSED" : "");
		pen_say(p, v->paused ? TOP_HELD : TOP_PLAIN, text);
		pen_end(p, TOP_FAINT, "?:help q:quit /:filter s:sort m:min M:max w:weight l:limit");
	}
}

static void td_help(struct pen *p, unsigned rows)
{
	static const char *const lines[] = {
		"Keys of sluice top",
		"",
		"  up, down, j, k   choose a job       PgUp PgDn Home End  farther",
		"  m  M  w          its min, max, weight: asks, and sets it for the whole job",
		"  l                another limit: max_ops, max_iops, max_read, max_write",
		"  < >  s           sort by the figure before or after, or by its name",
		"  r                reverse the order",
		"  /                show jobs with this text in name or reason; empty: all",
		"  Ctrl-U           clears the input        Esc  cancels it",
		"  space            pause, and resume       enter  ask the layer now",
		"  ?  h             this text              q  quit",
		"",
		"NOW bytes/s in the last second, % of all that is moved, QUEUE requests that",
		"wait, P50 and P99 time of a request, HELD time held by max, SET of io-sets by",
		"the period, SURE how far a detected period is to be trusted, REASON why the",
		"job is as fast as it is. More: sluice-top(1). Any key goes back.",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && p->row < rows; i++)
		pen_end(p, i ? TOP_PLAIN : TOP_STRONG, lines[i]);
	while (p->row < rows)
		pen_end(p, TOP_PLAIN, "");
}

/* ---- the whole window ---- */

static struct pen td_pen(struct top_canvas *c, const struct top_view *v)
{
	unsigned columns = v->columns < TOP_LINE_MOST ? v->columns : TOP_LINE_MOST;

	return (struct pen){ .c = c, .left = columns, .columns = columns, .utf8 = v->utf8 };
}

/* Rows for nodes: at most a third of the window, and none if only two rows were left for jobs. */
static unsigned td_node_rows(const struct top_model *m, unsigned rows)
{
	unsigned most = rows / 3, wanted = m->many ? (unsigned)m->s->ionodes_count + 1 : 0;

	if (most > rows - TOP_ROWS + 1)
		most = rows - TOP_ROWS + 1;
	if (wanted > most)
		wanted = most;
	return wanted < 2 ? 0 : wanted;
}

static void td_no_jobs(struct pen *p, const struct top_model *m, const struct top_view *v)
{
	bool named = strcmp(v->layer, "default") != 0;
	char text[PEN_BYTES];

	snprintf(text, sizeof(text), "No jobs yet: 'sluice run%s%s -- COMMAND' starts one.",
		 named ? " --name " : "", named ? v->layer : "");
	pen_end(p, TOP_FAINT,
		m->s->jobs_count ? "No job matches the filter; '/' and enter shows all." : text);
}

static void td_table(struct pen *p, const struct top_model *m, struct top_view *v, unsigned rows)
{
	const struct layout l = jobs_layout(m, p->columns);
	size_t at = top_selected(m, v);

	jobs_titles(p, &l);
	v->page = rows;
	if (v->first > at)
		v->first = at;
	if (v->first + rows <= at)
		v->first = at - rows + 1;
	if (v->first + rows > m->shown_count)
		v->first = m->shown_count > rows ? m->shown_count - rows : 0;
	for (size_t i = v->first; i < v->first + rows; i++) {
		p->selected = i == at && i < m->shown_count;
		if (i < m->shown_count)
			jobs_job(p, &l, &m->s->jobs[m->shown[i]]);
		else if (i == 0)
			td_no_jobs(p, m, v);
		else
			pen_end(p, TOP_PLAIN, "");
	}
}

void top_draw(struct top_canvas *c, const struct top_model *m, struct top_view *v)
{
	struct pen p = td_pen(c, v);
	const char *message;
	unsigned nodes;
	char text[64];

	if (v->columns < TOP_COLUMNS || v->rows < TOP_ROWS) {
		snprintf(text, sizeof(text), "too small: %ux%u, not %dx%d", v->columns, v->rows,
			 TOP_COLUMNS, TOP_ROWS);
		pen_end(&p, TOP_STRONG, text);
		while (p.row < v->rows)
			pen_end(&p, TOP_PLAIN, "");
		return;
	}
	if (v->mode == TOP_HELP || !m) {
		if (m)
			td_help(&p, v->rows);
		else
			pen_end(&p, TOP_STRONG, "Asking the layer ...");
		return;
	}
	nodes = td_node_rows(m, v->rows);
	td_head(&p, m, v);
	td_table(&p, m, v, v->rows - 6 - nodes);
	if (nodes)
		td_nodes(&p, m, nodes);
	message = td_message(&p, v);
	if (message == v->message)
		td_detail(&p, m, v);
	td_bottom(&p, v, message);
}

void top_draw_batch(struct top_canvas *c, const struct top_model *m, struct top_view *v)
{
	struct pen p = td_pen(c, v);
	const struct layout l = jobs_layout(m, p.columns);

	td_head(&p, m, v);
	jobs_titles(&p, &l);
	for (size_t i = 0; i < m->shown_count; i++)
		jobs_job(&p, &l, &m->s->jobs[m->shown[i]]);
	if (m->many)
		td_nodes(&p, m, m->s->ionodes_count + 1);
}
