/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of jobs of `sluice top`. Columns stand in the order of their importance and are taken
 * while the reason, which comes last and gets what is left, has REASON columns; names get longer if
 * there is room: up to LONGER, and as long as they are where the reason has READS columns. In 80
 * columns:
 *
 *	JOB          NOW           %  QUEUE  P99  HELD SET  P50 REASON
 *	a          60.0M ######   60      4 12ms     0  S1  4ms capacity shared
 *
 * A bar is full when a job has the whole capacity; if that is not known, all that is moved now.
 */
#include <stdio.h>
#include <string.h>

#include "cli/top/pen.h"

#define CELL   STATUS_CELL
#define NAME   10 /* columns for the name of a job, if there is no more room */
#define LONGER 24 /* and if there is */
#define REASON 20
#define READS \
	60 /* columns in which nearly every reason can be read: then names get all they need */

/* ---- cells ---- */

void jobs_number(char out[CELL], double value)
{
	if (value > 0)
		status_short(out, value);
	else
		snprintf(out, CELL, "-");
}

static void td_now(char out[CELL], const struct status_job *j)
{
	status_short(out, j->bandwidth_bps);
}

static void td_share(char out[CELL], const struct status_job *j)
{
	snprintf(out, CELL, "%.0f", 100 * j->share);
}

static void td_queue(char out[CELL], const struct status_job *j)
{
	status_short(out, j->queued_requests);
}

static void td_held(char out[CELL], const struct status_job *j)
{
	status_time(out, j->throttled_s);
}

static void td_p50(char out[CELL], const struct status_job *j)
{
	status_time(out, j->latency_us_p50 / 1e6);
}

static void td_p99(char out[CELL], const struct status_job *j)
{
	status_time(out, j->latency_us_p99 / 1e6);
}

static void td_set(char out[CELL], const struct status_job *j)
{
	if (isnan(j->set))
		snprintf(out, CELL, "-");
	else
		snprintf(out, CELL, "S%.0f", j->set);
}

static void td_ionodes(char out[CELL], const struct status_job *j)
{
	status_ionodes(out, j);
}

void jobs_period(char out[CELL], const struct status_job *j)
{
	if (j->period_s > 0)
		status_time(out, j->period_s);
	else
		snprintf(out, CELL, "-");
}

static void td_grant(char out[CELL], const struct status_job *j)
{
	if (isnan(j->grant_bps))
		snprintf(out, CELL, "-");
	else
		status_short(out, j->grant_bps);
}

static void td_min(char out[CELL], const struct status_job *j)
{
	jobs_number(out, j->asked_min_bps);
}

static void td_max(char out[CELL], const struct status_job *j)
{
	jobs_number(out, j->asked_max_bps);
}

static void td_weight(char out[CELL], const struct status_job *j)
{
	status_tiny(out, j->weight);
}

static void td_clients(char out[CELL], const struct status_job *j)
{
	status_tiny(out, j->clients);
}

static void td_iops(char out[CELL], const struct status_job *j)
{
	status_short(out, j->iops);
}

static void td_ops(char out[CELL], const struct status_job *j)
{
	status_short(out, j->ops_per_s);
}

static void td_average(char out[CELL], const struct status_job *j)
{
	status_short(out, j->average_bps);
}

static void td_wire(char out[CELL], const struct status_job *j)
{
	status_short(out, j->wire_bytes);
}

static void td_cached(char out[CELL], const struct status_job *j)
{
	status_short(out, j->cached_bytes);
}

static void td_dirty(char out[CELL], const struct status_job *j)
{
	status_short(out, j->dirty_bytes);
}

/* ---- the table ---- */

static const struct column one_node[] = {
	{ "NOW", 6, td_now },	    { "", JOBS_BAR, NULL },
	{ "%", 4, td_share },	    { "QUEUE", 6, td_queue },
	{ "P99", 6, td_p99 },	    { "HELD", 6, td_held },
	{ "SET", 4, td_set },	    { "P50", 6, td_p50 },
	{ "MIN", 6, td_min },	    { "MAX", 6, td_max },
	{ "WT", 5, td_weight },	    { "PERIOD", 7, jobs_period },
	{ "IOPS", 6, td_iops },	    { "OPS", 6, td_ops },
	{ "CL", 5, td_clients },    { "WIRE", 6, td_wire },
	{ "CACHED", 7, td_cached }, { "DIRTY", 6, td_dirty },
	{ "AVG", 6, td_average },   { 0 },
};
static const struct column many_nodes[] = {
	{ "NOW", 6, td_now },
	{ "", JOBS_BAR, NULL },
	{ "%", 4, td_share },
	{ "QUEUE", 6, td_queue },
	{ "P99", 6, td_p99 },
	{ "IONODES", 8, td_ionodes },
	{ "HELD", 6, td_held },
	{ "SET", 4, td_set },
	{ "P50", 6, td_p50 },
	{ "PERIOD", 7, jobs_period },
	{ "SURE", 5, status_sure },
	{ "GRANT", 6, td_grant },
	{ "MIN", 6, td_min },
	{ "MAX", 6, td_max },
	{ "WT", 5, td_weight },
	{ "IOPS", 6, td_iops },
	{ "OPS", 6, td_ops },
	{ "CL", 5, td_clients },
	{ "WIRE", 6, td_wire },
	{ "CACHED", 7, td_cached },
	{ "DIRTY", 6, td_dirty },
	{ "AVG", 6, td_average },
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
		const struct column *c = &l->column[i];

		if (c->cell) {
			c->cell(cell, j);
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
