/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of jobs of `sluice top`. Columns are added in order of importance while at least REASON
 * characters are left for the reason, which is last and gets the rest. If there is room, names get
 * up to LONGER characters, and their full length once the reason has READS characters. In 80
 * columns:
 *
 *	JOB          NOW           %  QUEUE  P99  HELD SET  P50 REASON
 *	a          60.0M ######   60      4 12ms     0  S1  4ms capacity shared
 *
 * A bar is full when a job has the whole capacity or, if that is unknown, all of the present
 * bandwidth.
 */
#include <stdio.h>
#include <string.h>

#include "cli/top/pen.h"

#define CELL   STATUS_CELL
#define NAME   10 /* columns for the name of a job, at least */
#define LONGER 24 /* and if there is room */
#define REASON 20
#define READS \
	60 /* columns in which nearly every reason can be read: then names get all they need */

static const struct status_column one_node[] = {
	{ "NOW", 6, STATUS_NOW },	{ "", JOBS_BAR, STATUS_BAR },
	{ "%", 4, STATUS_SHARE },	{ "QUEUE", 6, STATUS_QUEUE },
	{ "P99", 6, STATUS_P99 },	{ "HELD", 6, STATUS_HELD },
	{ "SET", 4, STATUS_SET },	{ "P50", 6, STATUS_P50 },
	{ "MIN", 6, STATUS_MIN },	{ "MAX", 6, STATUS_MAX },
	{ "WT", 5, STATUS_WEIGHT },	{ "PERIOD", 7, STATUS_PERIOD },
	{ "IOPS", 6, STATUS_IOPS },	{ "OPS", 6, STATUS_OPS },
	{ "CL", 5, STATUS_CLIENTS },	{ "WIRE", 6, STATUS_WIRE },
	{ "CACHED", 7, STATUS_CACHED }, { "DIRTY", 6, STATUS_DIRTY },
	{ "AVG", 6, STATUS_AVERAGE },	{ 0 },
};
static const struct status_column many_nodes[] = {
	{ "NOW", 6, STATUS_NOW },
	{ "", JOBS_BAR, STATUS_BAR },
	{ "%", 4, STATUS_SHARE },
	{ "QUEUE", 6, STATUS_QUEUE },
	{ "P99", 6, STATUS_P99 },
	{ "IONODES", 8, STATUS_IONODES },
	{ "HELD", 6, STATUS_HELD },
	{ "SET", 4, STATUS_SET },
	{ "P50", 6, STATUS_P50 },
	{ "PERIOD", 7, STATUS_PERIOD },
	{ "SURE", 5, STATUS_SURE },
	{ "GRANT", 6, STATUS_GRANT },
	{ "MIN", 6, STATUS_MIN },
	{ "MAX", 6, STATUS_MAX },
	{ "WT", 5, STATUS_WEIGHT },
	{ "IOPS", 6, STATUS_IOPS },
	{ "OPS", 6, STATUS_OPS },
	{ "CL", 5, STATUS_CLIENTS },
	{ "WIRE", 6, STATUS_WIRE },
	{ "CACHED", 7, STATUS_CACHED },
	{ "DIRTY", 6, STATUS_DIRTY },
	{ "AVG", 6, STATUS_AVERAGE },
	{ 0 },
};

struct layout jobs_layout(const struct top_model *m, unsigned columns)
{
	struct layout l = { .column = m->many ? many_nodes : one_node, .name = NAME };
	unsigned used = NAME + 1 + REASON, longest = NAME, most;

	while (l.column[l.columns].title && used + l.column[l.columns].width <= columns)
		used += l.column[l.columns++].width;
	for (size_t i = 0; i < m->shown_count; i++) {
		unsigned length = (unsigned)strlen(m->s->jobs[m->shown[i]].job);

		longest = length > longest ? length : longest;
	}
	most = columns - used > READS - REASON + LONGER - NAME ? columns - used - (READS - REASON)
							       : LONGER - NAME;
	if (most > columns - used)
		most = columns - used;
	l.name += longest - NAME > most ? most : longest - NAME;
	l.whole_bps = m->s->capacity_bps > 0 ? m->s->capacity_bps : m->s->bandwidth_bps;
	return l;
}

void jobs_titles(struct pen *p, const struct layout *l)
{
	char text[CELL];

	pen_put(p, TOP_HEADER, "JOB", l->name);
	for (size_t i = 0; i < l->columns; i++) {
		snprintf(text, sizeof(text), "%*s", (int)l->column[i].width, l->column[i].title);
		pen_put(p, TOP_HEADER, text, l->column[i].width);
	}
	pen_put(p, TOP_HEADER, "", 1);
	pen_end(p, TOP_HEADER, "REASON");
}

enum top_style jobs_style(const char *reason)
{
	static const char *const held[] = { "at max", "at its grant", "granted", "waiting" };
	static const char *const quiet[] = { "computing", "idle", "ended" };

	if (!strcmp(reason, "below min"))
		return TOP_BAD;
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		if (!strncmp(reason, held[i], strlen(held[i])))
			return TOP_HELD;
	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
		if (!strcmp(reason, quiet[i]))
			return TOP_FAINT;
	return TOP_PLAIN;
}

void jobs_job(struct pen *p, const struct layout *l, const struct status_job *j)
{
	char cell[CELL], text[2 * CELL];

	pen_put(p, TOP_PLAIN, j->job, l->name);
	for (size_t i = 0; i < l->columns; i++) {
		const struct status_column *c = &l->column[i];

		if (c->show != STATUS_BAR) {
			status_cell(cell, c->show, j);
			snprintf(text, sizeof(text), "%*s", (int)c->width, cell);
			pen_put(p, TOP_PLAIN, text, c->width);
		} else {
			pen_put(p, TOP_PLAIN, "", 1);
			pen_bar(p, l->whole_bps > 0 ? j->bandwidth_bps / l->whole_bps : 0,
				c->width - 1);
		}
	}
	pen_put(p, TOP_PLAIN, "", 1);
	pen_end(p, jobs_style(j->reason), j->reason);
}
