/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read the accounts that nodes keep (sluiced/ionode/usage.c). If a node was killed, its last line
 * may be incomplete, and a full disk may have lost lines: malformed lines are skipped and counted.
 * A file without the first line of an account is refused.
 *
 * Times are whole seconds, but spans may be shorter, because each `sluice report` ends one.
 * Consecutive rows belong to the same span while time and length are equal and no job repeats. A
 * node's spans do not overlap, so a span ends at least its own length after the end of the one
 * before:
 *
 *	100,2.000,…,a   100,0.300,…,a   102,1.900,…,a   end at 100.0, 100.3, 102.2
 *
 * Accounts of older nodes do not say when a job met others; then it counts as present all the time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/report.h"

#define LINE_MAX_BYTES 1024
#define MOST_S	       1e7		      /* of a span */
#define LEAST_S	       0.001		      /* likewise: nodes write three digits, and never 0 */
#define LAST_S	       UINT64_C(100000000000) /* the year 5138, so that sums of times are exact */

/* The possible first lines. would_…: nodes in observe mode. */
static const struct format {
	const char *head;
	bool places;	  /* has contended, first and last */
	bool unscheduled; /* has unscheduled */
	bool operations;  /* has operations and ops_held, and cached, wire and dirty */
	bool observed;
} formats[] = {
	{ "time,seconds,read,write,calls,held,waited,contended,first,last,unscheduled,operations,"
	  "ops_held,cached,wire,dirty,job",
	  true, true, true, false },
	{ "time,seconds,read,write,calls,would_held,would_waited,would_contended,first,last,"
	  "unscheduled,operations,ops_held,cached,wire,dirty,job",
	  true, true, true, true },
	/* of earlier versions */
	{ "time,seconds,read,write,calls,held,waited,contended,first,last,unscheduled,job", true,
	  true, false, false },
	{ "time,seconds,read,write,calls,would_held,would_waited,would_contended,first,last,"
	  "unscheduled,job",
	  true, true, false, true },
	{ "time,seconds,read,write,calls,held,waited,contended,first,last,job", true, false, false,
	  false },
	{ "time,seconds,read,write,calls,would_held,would_waited,would_contended,first,last,job",
	  true, false, false, true },
	{ "time,seconds,read,write,calls,held,waited,job", false, false, false, false },
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static int grow(void **list, size_t size, size_t room)
{
	void *more = realloc(*list, size * room);

	if (!more)
		return -ENOMEM;
	*list = more;
	return 0;
}

static int job_of(struct report *r, const char *name, uint32_t *out)
{
	/* Search from the newest: the same few jobs repeat. */
	for (uint32_t i = r->jobs; i > 0; i--)
		if (!strcmp(r->job[i - 1].name, name)) {
			*out = i - 1;
			return 0;
		}
	if (r->jobs == r->jobs_room) {
		uint32_t room = r->jobs_room ? 2 * r->jobs_room : 16;

		if (grow((void **)&r->job, sizeof(r->job[0]), room))
			return -ENOMEM;
		r->jobs_room = room;
	}
	r->job[r->jobs] = (struct report_job){ .name = strdup(name) };
	if (!r->job[r->jobs].name)
		return -ENOMEM;
	*out = r->jobs++;
	return 0;
}

static bool is_time(double s, double most)
{
	return s >= 0 && s <= most;
}

/* The field before the next comma. */
static bool whole(char **at, uint64_t most, uint64_t *out)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*out = strtoull(*at, &end, 10);
	if (errno || *end != ',' || *out > most)
		return false;
	*at = end + 1;
	return true;
}

static bool real(char **at, double *out)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*out = strtod(*at, &end);
	if (*end != ',' || !is_time(*out, MOST_S))
		return false;
	*at = end + 1;
	return true;
}

/* Set the span of a row. before: the previous row of the file; span 0: none. */
static void place(struct report *r, const struct report_row *before, struct report_row *w)
{
	double time_s = (double)w->time_s, end_s = before->end_s + w->seconds;

	if (before->span && before->time_s == w->time_s && before->seconds == w->seconds &&
	    r->job[w->job].span != before->span) {
		w->span = before->span;
		w->end_s = before->end_s;
	} else {
		w->span = ++r->spans;
		/* The time differs by more than rounding: the clock was set. */
		w->end_s = before->span && end_s > time_s && end_s < time_s + 1 ? end_s : time_s;
	}
	r->job[w->job].span = w->span;
}

/* 1: added, 0: malformed or too old; -ENOMEM. */
static int take(struct report *r, struct report_row *before, char *line, const struct format *f,
		int64_t since_s, bool *bad)
{
	struct report_row w = { 0 };
	uint64_t time_s;
	char *at = line;

	*bad = true;
	if (!whole(&at, LAST_S, &time_s) || !real(&at, &w.seconds) ||
	    !whole(&at, INT64_MAX, &w.bytes[0]) || !whole(&at, INT64_MAX, &w.bytes[1]) ||
	    !whole(&at, INT64_MAX, &w.calls) || !real(&at, &w.held_s) || !real(&at, &w.waited_s) ||
	    (f->places && (!real(&at, &w.contended_s) || !real(&at, &w.first_s) ||
			   !real(&at, &w.last_s) || w.first_s > w.last_s)) ||
	    (f->unscheduled && !whole(&at, INT64_MAX, &w.unscheduled)) ||
	    (f->operations &&
	     (!whole(&at, INT64_MAX, &w.operations) || !real(&at, &w.ops_held_s) ||
	      !whole(&at, INT64_MAX, &w.cached) || !whole(&at, INT64_MAX, &w.wire) ||
	      !whole(&at, INT64_MAX, &w.dirty))) ||
	    !*at || w.seconds < LEAST_S)
		return 0;
	for (const char *c = at; *c; c++)
		if (*c <= ' ' || *c > '~')
			return 0;
	*bad = false;
	if (!f->places) {
		w.contended_s = w.waited_s;
		w.last_s = w.seconds;
	}
	w.time_s = (int64_t)time_s;
	if (w.time_s < since_s)
		return 0;
	if (r->rows == r->rows_room) {
		size_t room = r->rows_room ? 2 * r->rows_room : 256;

		if (grow((void **)&r->row, sizeof(r->row[0]), room))
			return -ENOMEM;
		r->rows_room = room;
	}
	if (job_of(r, at, &w.job))
		return -ENOMEM;
	r->job[w.job].wire_known |= f->operations;
	place(r, before, &w);
	r->row[r->rows++] = *before = w;
	return 1;
}

/* Whether the first line equals this one. */
static bool begins(const char *text, size_t size, const char *line)
{
	size_t length = strlen(line);

	return size >= length && memcmp(text, line, length) == 0 &&
	       (size == length || text[length] == '\n');
}

int report_read(struct report *r, const char *text, size_t size, int64_t since_s,
		char err[REPORT_ERROR])
{
	struct report_row before = { 0 };
	const char *at = text, *end = text + size;
	const struct format *f = formats;
	size_t first, rows = r->rows;

	while (f < formats + FORMATS && !begins(text, size, f->head))
		f++;
	if (f == formats + FORMATS) {
		snprintf(err, REPORT_ERROR, "line 1: it should be '%s'", formats[0].head);
		return -EINVAL;
	}
	first = strlen(f->head);
	at += size > first ? first + 1 : first;
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t length = stop ? (size_t)(stop - at) : (size_t)(end - at);
		char line[LINE_MAX_BYTES];
		bool bad = true;

		if (stop && length < sizeof(line) && !memchr(at, 0, length)) {
			memcpy(line, at, length);
			line[length] = 0;
			if (take(r, &before, line, f, since_s, &bad) < 0)
				return -ENOMEM;
		}
		r->skipped_lines += bad;
		at = stop ? stop + 1 : end;
	}
	for (size_t i = rows; i < r->rows; i++)
		r->row[i].observed = f->observed;
	r->observed_rows += f->observed ? r->rows - rows : 0;
	return 0;
}
