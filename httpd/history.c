/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last hour: see history.h.
 *
 * A ring of seconds for each job. What a job moved between two samples is spread evenly over the
 * time between them, so that it does not matter how often and how regularly samples are taken:
 *
 *	sample at 10.4 s: 100 MB in all, at 11.4 s: 200 MB
 *	second 10 gets 60 MB, second 11 gets 40 MB
 *
 * All bytes of a job that was not in the previous sample count as moved since. Totals are sums over
 * the nodes that answer. So if other nodes answer than before, the sample only sets a new base:
 *
 *	node 0 has 100 MB, node 1 has 900 MB; node 1 is stuck for a while: 1000, 100, 1000 MB
 *	nothing was moved
 *
 * Phases are the controller's, if there is one; else a phase ends after HISTORY_GAP_MS without
 * bytes. Its begin and end within a sample follow from the bytes of that sample and the best rate
 * of the phase:
 *
 *	samples at 1, 2, 3, 4 s show 0, 20, 80, 40 MB     rate 80 MB/s
 *	it began at 2 s - 20/80 s = 1.75 s, and ended at 3 s + 40/80 s = 3.5 s
 *
 * Cost: a sample of n jobs takes O(n), since they come in the same order each time.
 */
#include "httpd/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define HISTORY_RATE_MS 200 /* shorter samples are too inaccurate for a rate */

int history_init(struct history *h)
{
	*h = (struct history){ .phase = calloc(HISTORY_PHASES, sizeof(*h->phase)) };
	return h->phase ? 0 : -ENOMEM;
}

void history_free(struct history *h)
{
	for (uint32_t i = 0; i < h->jobs; i++)
		free(h->job[i].bytes);
	free(h->phase);
}

static float *hi_second(const struct history_job *j, int64_t second)
{
	return &j->bytes[second % HISTORY_S];
}

/* ---- phases ---- */

static struct history_phase *hi_phase(const struct history *h, int64_t number)
{
	return &h->phase[number % HISTORY_PHASES];
}

static void hi_phase_begin(struct history *h, struct history_job *j, int64_t from_ms)
{
	struct history_phase *p;

	if (h->phases >= HISTORY_PHASES) { /* the oldest goes, even if it is under way */
		const struct history_phase *old = hi_phase(h, h->phases);

		for (uint32_t i = 0; old->to_ms < 0 && i < h->jobs; i++)
			if (h->job[i].phase == h->phases - HISTORY_PHASES)
				h->job[i].phase = -1;
	}
	p = hi_phase(h, h->phases);
	*p = (struct history_phase){ .from_ms = from_ms, .to_ms = -1 };
	memcpy(p->job, j->name, sizeof(p->job));
	j->phase = h->phases++;
	j->peak = 0;
}

static void hi_phase_end(struct history *h, struct history_job *j)
{
	struct history_phase *p = hi_phase(h, j->phase);
	int64_t to_ms = j->active_ms;

	if (j->peak > 0) {
		int64_t from_ms = j->first_ms_end - (int64_t)(j->first_bytes / j->peak);

		p->from_ms = from_ms > p->from_ms ? from_ms : p->from_ms;
		to_ms = j->last_ms_begin + (int64_t)(j->last_bytes / j->peak);
		to_ms = to_ms < j->active_ms ? to_ms : j->active_ms;
	}
	p->to_ms = to_ms > p->from_ms ? to_ms : p->from_ms;
	j->phase = -1;
}

static void hi_phase_moved(struct history *h, struct history_job *j, double moved,
			   int64_t before_ms)
{
	double rate = moved / (double)(h->now_ms > before_ms ? h->now_ms - before_ms : 1);

	if (j->peak <= 0) {
		j->first_ms_end = h->now_ms;
		j->first_bytes = moved;
	}
	if (j->peak <= 0 || (rate > j->peak && h->now_ms - before_ms >= HISTORY_RATE_MS))
		j->peak = rate;
	j->last_ms_begin = before_ms;
	j->last_bytes = moved;
	hi_phase(h, j->phase)->bytes += moved;
}

static void hi_phase_follow(struct history *h, struct history_job *j, double moved,
			    enum history_io io, int64_t before_ms)
{
	bool begin = io == HISTORY_IN_IO || (io == HISTORY_UNKNOWN && moved > 0);
	bool end = io == HISTORY_IDLE ||
		   (io == HISTORY_UNKNOWN && h->now_ms - j->active_ms >= HISTORY_GAP_MS);

	if (j->phase < 0 && begin)
		hi_phase_begin(h, j, moved > 0 ? before_ms : h->now_ms);
	if (j->phase >= 0 && moved > 0)
		hi_phase_moved(h, j, moved, before_ms);
	if (j->phase >= 0 && end)
		hi_phase_end(h, j);
}

/* ---- samples ---- */

/* Clear the seconds that still hold values of an hour ago. */
static void hi_clear(struct history *h, int64_t from, int64_t to)
{
	if (to - from > HISTORY_S)
		from = to - HISTORY_S;
	for (int64_t second = from + 1; second <= to; second++)
		for (uint32_t i = 0; i < h->jobs; i++)
			*hi_second(&h->job[i], second) = 0;
}

void history_begin(struct history *h, int64_t now_ms, uint64_t who)
{
	h->counts = h->some && h->who == who;
	h->who = who;
	if (!h->some)
		h->begin_ms = h->last_ms = now_ms;
	else
		h->last_ms = h->now_ms;
	h->now_ms = now_ms;
	hi_clear(h, h->last_ms / 1000, now_ms / 1000);
	h->cursor = 0;
}

static void hi_spread(struct history *h, struct history_job *j, int64_t from_ms, double bytes)
{
	int64_t length = h->now_ms - from_ms;

	if (length <= 0) {
		*hi_second(j, h->now_ms / 1000) += (float)bytes;
		return;
	}
	if (from_ms < h->now_ms - (HISTORY_S - 1) * INT64_C(1000))
		from_ms = h->now_ms - (HISTORY_S - 1) * INT64_C(1000);
	while (from_ms < h->now_ms) {
		int64_t end = (from_ms / 1000 + 1) * 1000;

		end = end < h->now_ms ? end : h->now_ms;
		*hi_second(j, from_ms / 1000) +=
			(float)(bytes * (double)(end - from_ms) / (double)length);
		from_ms = end;
	}
}

static struct history_job *hi_find(const struct history *h, const char *name, uint32_t from)
{
	for (uint32_t k = 0; k < h->jobs; k++) {
		uint32_t i = (from + k) % h->jobs;

		if (!strcmp(h->job[i].name, name))
			return (struct history_job *)(uintptr_t)&h->job[i];
	}
	return NULL;
}

/* A place for a new job: that of the job that was idle for longest, if it has ended. */
static struct history_job *hi_place(struct history *h)
{
	struct history_job *oldest = NULL;

	if (h->jobs < HISTORY_JOBS) {
		struct history_job *j = &h->job[h->jobs];

		j->bytes = calloc(HISTORY_S, sizeof(*j->bytes));
		h->jobs += j->bytes != NULL;
		return j->bytes ? j : NULL;
	}
	for (uint32_t i = 0; i < h->jobs; i++)
		if (h->job[i].seen_ms < h->last_ms &&
		    (!oldest || h->job[i].active_ms < oldest->active_ms))
			oldest = &h->job[i];
	if (oldest)
		memset(oldest->bytes, 0, HISTORY_S * sizeof(*oldest->bytes));
	return oldest;
}

void history_job(struct history *h, const char *name, double total_bytes, enum history_io io)
{
	struct history_job *j = h->jobs ? hi_find(h, name, h->cursor) : NULL;
	double moved = 0;

	if (strlen(name) >= sizeof(j->name) || !*name)
		return;
	if (j) { /* one that was away has begun anew */
		moved = total_bytes - (j->seen_ms < h->last_ms ? 0 : j->total);
	} else if ((j = hi_place(h))) {
		float *bytes = j->bytes;

		*j = (struct history_job){
			.phase = -1, .bytes = bytes, .first_ms = h->last_ms, .active_ms = h->last_ms
		};
		strcpy(j->name, name);
		moved = total_bytes;
	} else {
		return;
	}
	h->cursor = (uint32_t)(j - h->job) + 1;
	moved = moved > 0 && h->counts ? moved : 0;
	if (moved > 0) {
		hi_spread(h, j, h->last_ms, moved);
		j->active_ms = h->now_ms;
	}
	hi_phase_follow(h, j, moved, io, h->last_ms);
	j->total = total_bytes;
	j->seen_ms = h->now_ms;
}

void history_end(struct history *h)
{
	for (uint32_t i = 0; i < h->jobs; i++)
		if (h->job[i].phase >= 0 && h->job[i].seen_ms < h->now_ms)
			hi_phase_end(h, &h->job[i]);
	h->some = true;
}

/* ---- answers ---- */

static double hi_sum(const struct history_job *j, int64_t from, int64_t to)
{
	double sum = 0;

	for (int64_t second = from; second < to; second++)
		sum += (double)*hi_second(j, second);
	return sum;
}

static void hi_job_json(struct json *out, const struct history_job *j, int64_t from, int64_t to,
			int64_t step)
{
	json_object(out, NULL);
	json_string(out, "job", j->name);
	json_array(out, "bps");
	for (int64_t second = from; second < to; second += step)
		json_uint(out, NULL, (uint64_t)(hi_sum(j, second, second + step) / (double)step));
	json_end(out);
	json_end(out);
}

static void hi_phases_json(struct json *out, const struct history *h, int64_t from_ms,
			   int64_t epoch_ms)
{
	int64_t first = h->phases > HISTORY_PHASES ? h->phases - HISTORY_PHASES : 0;

	json_array(out, "phases");
	for (int64_t i = first; i < h->phases; i++) {
		const struct history_phase *p = hi_phase(h, i);

		if (p->to_ms >= 0 && p->to_ms < from_ms)
			continue;
		json_object(out, NULL);
		json_string(out, "job", p->job);
		json_int(out, "from_ms", p->from_ms + epoch_ms);
		if (p->to_ms < 0)
			json_string(out, "to_ms", NULL);
		else
			json_int(out, "to_ms", p->to_ms + epoch_ms);
		json_double(out, "bytes", (double)(uint64_t)p->bytes);
		json_end(out);
	}
	json_end(out);
}

void history_json(const struct history *h, FILE *f, uint32_t seconds, int64_t epoch_ms)
{
	/* The second that has not ended is left out, and so is what was before the first sample. */
	int64_t to = h->now_ms / 1000, from = to - seconds, step = 1;
	uint32_t count = 0;
	struct json out;

	if (seconds >= HISTORY_S)
		from = to - (HISTORY_S - 1);
	if (from < h->begin_ms / 1000)
		from = h->begin_ms / 1000;
	for (uint32_t i = 0; i < h->jobs; i++)
		count += hi_sum(&h->job[i], from, to) > 0;
	while (count * ((to - from) / step) > HISTORY_POINTS)
		step++;
	from = to - (to - from) / step * step;
	json_begin(&out, f);
	json_object(&out, NULL);
	json_int(&out, "step_s", step);
	json_int(&out, "from_ms", from * 1000 + epoch_ms);
	json_array(&out, "jobs");
	for (uint32_t i = 0; i < h->jobs; i++)
		if (hi_sum(&h->job[i], from, to) > 0)
			hi_job_json(&out, &h->job[i], from, to, step);
	json_end(&out);
	hi_phases_json(&out, h, from * 1000, epoch_ms);
	json_end(&out);
}

bool history_use(const struct history *h, const char *name, int64_t from_ms,
		 struct history_use *out)
{
	const struct history_job *j = h->jobs ? hi_find(h, name, 0) : NULL;
	int64_t first = h->phases > HISTORY_PHASES ? h->phases - HISTORY_PHASES : 0, last_ms = -1;
	uint32_t computed = 0;

	*out = (struct history_use){ 0 };
	if (!j)
		return false;
	from_ms = from_ms > j->first_ms ? from_ms : j->first_ms;
	out->present_s = (double)(h->now_ms - from_ms) / 1e3;
	for (int64_t i = first; i < h->phases; i++) {
		const struct history_phase *p = hi_phase(h, i);
		int64_t begin = p->from_ms > from_ms ? p->from_ms : from_ms;
		int64_t end = p->to_ms < 0 ? h->now_ms : p->to_ms;

		if (end < from_ms || strcmp(p->job, name) != 0)
			continue;
		out->io_s += (double)(end - begin) / 1e3;
		/* one that began before has moved a part of its bytes before, evenly */
		out->bytes += end > p->from_ms ? p->bytes * (double)(end - begin) /
							 (double)(end - p->from_ms)
					       : p->bytes;
		if (last_ms >= 0) {
			out->mean_compute_s += (double)(p->from_ms - last_ms) / 1e3;
			computed++;
		}
		last_ms = end;
		if (p->to_ms < 0 || p->from_ms < from_ms)
			continue;
		out->mean_bytes += p->bytes;
		out->phases++;
	}
	if (computed)
		out->mean_compute_s /= computed;
	if (out->phases)
		out->mean_bytes /= out->phases;
	return out->phases > 0;
}

int64_t history_idle_ms(const struct history *h, const char *name)
{
	const struct history_job *j = h->jobs ? hi_find(h, name, 0) : NULL;

	return j && j->active_ms > j->first_ms ? h->now_ms - j->active_ms : -1;
}

double history_peak_bps(const struct history *h)
{
	int64_t to = h->now_ms / 1000, from = to - (HISTORY_S - 1);
	double peak = 0;

	for (int64_t second = from < 0 ? 0 : from; second < to; second++) {
		double sum = 0;

		for (uint32_t i = 0; i < h->jobs; i++)
			sum += (double)*hi_second(&h->job[i], second);
		peak = sum > peak ? sum : peak;
	}
	return peak;
}
