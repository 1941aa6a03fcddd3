/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each job used, which jobs waited for which, and what the policy changed: sums over the spans
 * in the accounts of the nodes.
 *
 * Waiting. In a span, a job had unsent requests for w seconds. During c of these another job also
 * had requests in the node, and during h of these the job's own max held it. So it waited for
 * others for at most c, and for at most w - h. In that time the node served the job itself and the
 * jobs that were present between its first and last request. The wait is divided among all of them
 * in proportion to their bytes:
 *
 *	span of 2 s     ckpt moved 30 MB, waited 2 s      small moved 10 MB, waited 0.4 s
 *	small waited for ckpt 0.4 * 30/40 = 0.3 s, and 0.1 s behind its own requests
 *
 * if both were present all the time. A job that ended before small's first request is not included.
 * Jobs that did not meet, directly or through a third one, are treated as if in separate spans.
 *
 * The effect of the policy is measured against equal shares: the same bytes, divided max-min
 * fairly, with no job getting more than it wanted. A job that moved m bytes in a span of s seconds,
 * and waited for others during u of them, would have moved m s/(s - u) without waiting; this is
 * what it wanted. (It wanted all bytes of the span if it waited all the time, and m if it waited
 * only for its own max or not at all.) If its fair share is f, it has saved s (m/f - 1) seconds:
 * the additional time that it would have needed for m. The value is negative for a job that was
 * served less than its share; it never loses more than it waited for others.
 *
 *	the span above: ckpt wants all, small wants 10 * 2/1.6 = 12.5 MB; fair are 27.5 and 12.5
 *	ckpt has saved 2 (30/27.5 - 1) = 0.18 s, small has lost 2 (10/12.5 - 1) = 0.4 s
 *
 * In rows of observe mode no call was held; waiting is what would have happened.
 *
 * O(rows x jobs in a span).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/report.h"

static double moved(const struct report_row *w)
{
	return (double)w->bytes[0] + (double)w->bytes[1];
}

static int by_span(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;

	if (x->span != y->span)
		return x->span < y->span ? -1 : 1;
	return x->first_s < y->first_s ? -1 : x->first_s > y->first_s;
}

static int by_job(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return x->end_s < y->end_s ? -1 : x->end_s > y->end_s;
}

/* The time in which a job did something on any node; time on two nodes at once counts once. */
static void sum_active(struct report *r)
{
	double end = -INFINITY;

	qsort(r->row, r->rows, sizeof(r->row[0]), by_job);
	for (size_t i = 0; i < r->rows; i++) {
		const struct report_row *w = &r->row[i];
		double from = w->end_s - w->seconds;

		if (!i || r->row[i - 1].job != w->job)
			end = -INFINITY;
		from = from < end ? end : from;
		r->job[w->job].active_s += w->end_s > from ? w->end_s - from : 0;
		end = w->end_s > end ? w->end_s : end;
	}
}

/* The part of a span in which a job waited for other jobs, not for its own max. */
static double waits(const struct report_row *w)
{
	return fmin(fmax(fmin(w->waited_s - w->held_s, w->contended_s), 0), w->seconds);
}

/* Whether the two jobs may have had requests at the same time. */
static bool met(const struct report_row *a, const struct report_row *b)
{
	return a == b || (a->first_s < b->last_s && b->first_s < a->last_s);
}

/* The bytes that a job would have moved without waiting for others, but at most `most`. */
static double wanted(const struct report_row *w, double most)
{
	double free_s = w->seconds - waits(w), m = moved(w);

	if (free_s <= 0 || (m <= 0 && waits(w) > 0))
		return most;
	return fmin(m * w->seconds / free_s, most);
}

/* The sum that is given out if no job gets more than `level`. */
static double dealt(const struct report_row *w, size_t n, double level)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += wanted(&w[i], level);
	return sum;
}

/* The level at which all bytes of the span are given out, by bisection. */
static double fair_level(const struct report_row *w, size_t n, double total)
{
	double low = 0, high = total;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (dealt(w, n, middle) < total)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static double *cell(struct report *r, uint32_t a, uint32_t b)
{
	a = a < r->named ? a : r->named - 1;
	b = b < r->named ? b : r->named - 1;
	return &r->by[(size_t)a * r->named + b];
}

/*
 * Sum up the rows of one span of one node that are connected: each job met another one of the
 * group.
 */
static void sum_group(struct report *r, const struct report_row *w, size_t n)
{
	double total = 0, level;

	for (size_t i = 0; i < n; i++)
		total += moved(&w[i]);
	if (total <= 0)
		return;
	level = fair_level(w, n, total);
	for (size_t i = 0; i < n; i++) {
		double waited = waits(&w[i]), fair = wanted(&w[i], level), there = 0;

		for (size_t k = 0; k < n; k++)
			there += met(&w[i], &w[k]) ? moved(&w[k]) : 0;
		for (size_t k = 0; k < n && waited > 0 && there > 0; k++)
			if (met(&w[i], &w[k]))
				*cell(r, w[i].job, w[k].job) += waited * moved(&w[k]) / there;
		if (fair > 0 && !w[i].observed)
			r->job[w[i].job].saved_s +=
				fmax(w[i].seconds * (moved(&w[i]) / fair - 1), -waited);
	}
}

/* Sort jobs, the largest first, and renumber the rows. */
static int sort_jobs(struct report *r)
{
	uint32_t *at = malloc((r->jobs + 1) * sizeof(*at)),
		 *place = malloc((r->jobs + 1) * sizeof(*at));
	struct report_job *sorted = malloc((r->jobs + 1) * sizeof(*sorted));

	if (!at || !place || !sorted) {
		free(at);
		free(place);
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < r->jobs; i++) {
		uint32_t k = i;
		uint64_t bytes = r->job[i].bytes[0] + r->job[i].bytes[1];

		while (k > 0 && bytes > r->job[at[k - 1]].bytes[0] + r->job[at[k - 1]].bytes[1]) {
			at[k] = at[k - 1];
			k--;
		}
		at[k] = i;
	}
	for (uint32_t i = 0; i < r->jobs; i++) {
		place[at[i]] = i;
		sorted[i] = r->job[at[i]];
	}
	for (size_t i = 0; i < r->rows; i++)
		r->row[i].job = place[r->row[i].job];
	memcpy(r->job, sorted, r->jobs * sizeof(*sorted));
	free(at);
	free(place);
	free(sorted);
	return 0;
}

int report_sum(struct report *r)
{
	if (!r->rows)
		return 0;
	for (size_t i = 0; i < r->rows; i++) {
		const struct report_row *w = &r->row[i];
		struct report_job *j = &r->job[w->job];
		int64_t begin = w->time_s - (int64_t)ceil(w->seconds);

		j->bytes[0] += w->bytes[0];
		j->bytes[1] += w->bytes[1];
		j->calls += w->calls;
		j->unscheduled += w->unscheduled;
		j->operations += w->operations;
		j->ops_held_s += w->ops_held_s;
		j->cached += w->cached;
		j->wire += w->wire;
		j->dirty = w->dirty > j->dirty ? w->dirty : j->dirty;
		j->held_s += w->held_s;
		j->waited_s += w->waited_s;
		r->from_s = !i || begin < r->from_s ? begin : r->from_s;
		r->to_s = w->time_s > r->to_s ? w->time_s : r->to_s;
	}
	if (sort_jobs(r))
		return -ENOMEM;
	sum_active(r);
	r->named = r->jobs < REPORT_NAMED ? r->jobs : REPORT_NAMED;
	r->by = calloc((size_t)r->named * r->named, sizeof(*r->by));
	if (!r->by)
		return -ENOMEM;
	qsort(r->row, r->rows, sizeof(r->row[0]), by_span);
	for (size_t i = 0, n; i < r->rows; i += n) {
		const struct report_row *w = &r->row[i];
		double last = w->last_s;

		for (n = 1; i + n < r->rows && w[0].span == w[n].span && w[n].first_s < last; n++)
			last = fmax(last, w[n].last_s);
		sum_group(r, w, n);
	}
	return 0;
}

void report_free(struct report *r)
{
	for (uint32_t i = 0; i < r->jobs; i++)
		free(r->job[i].name);
	free(r->job);
	free(r->row);
	free(r->by);
	*r = (struct report){ 0 };
}
