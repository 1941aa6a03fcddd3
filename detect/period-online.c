/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The period of a running job, from what is reported of it, in constant memory.
 *
 * Periods from half a second to an hour need fine bins and long windows. So there are six rings of
 * 640 bins each, the bins of each four times as wide as those of the one before:
 *
 *	ring	0	1	2	3	4	5
 *	bin	62.5 ms	250 ms	1 s	4 s	16 s	64 s
 *	window	40 s	160 s	11 min	43 min	171 min	11 h
 *
 * A period of, say, 20 s is seen two times in ring 0, eight times in ring 1 and 32 times in ring 2,
 * each 20 bins long: one of them has enough periods and enough bins in each. Old bins fall out, so
 * that every ring is about the present.
 *
 * A ring is analysed (sl_period_find) when half as much again has come; one whose period is known
 * when two more periods are over, and then only its last 24 periods, so that a change is noticed
 * soon. Many looks at one job find a period by chance in the end. So the evidence asked for is 16,
 * more than for a trace that is looked at once, and grows by 1.5 times the logarithm of the looks
 * at the ring; with this, tests/property/prop-period.c finds about one of a hundred aperiodic jobs
 * periodic at any time of its run.
 *
 * Of several rings with a period, the one with the greatest power at it counts, in squares of the
 * mean bandwidth of its window; among about equals that with most evidence. A ring no longer counts
 * when no phase came for four periods. What was found last stays until something else is found.
 *
 * The first three periods. Statistics need about six periods of a job that is not clockwork, and
 * for a period of an hour that is a working day. So the first phases are looked at by themselves,
 * at the resolution of each ring: a phase begins with the first bytes after a pause of two bins. If
 * three intervals between four starts differ by no more than a twentieth of their mean, and the
 * three phases by no more than a quarter in volume, that mean is the period, with a confidence of
 * two thirds less the jitter, until a ring finds one. Only the first EARLY starts are tried, so
 * that jobs without a period are not found to have one in the end: one of some hundred triples of
 * random intervals is so regular.
 *
 *	starts at 0, 384, 769, 1152 s: found at 1152 s, 384.0 s, confidence .67
 *
 * sl_period_add is O(1) for reports that come regularly, and at most O(640) after a silence;
 * sl_period_get O(640 log 640) for each ring due, 60 KiB of stack, else O(1).
 */
#include "detect/period.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect/period-parts.h"

#define RINGS	  6
#define BINS	  640
#define FIRST_NS  INT64_C(62500000)
#define FACTOR	  4
#define FEWEST	  48 /* bins worth a look */
#define LOOK	  24 /* periods, once one is known */
#define LATE	  4  /* periods without a phase */
#define PERIODS	  6  /* that must have been seen */
#define SHORT	  8  /* bins; less is for the ring before */
#define ENOUGH	  16.0
#define MORE	  1.5
#define NS	  1e9
#define EARLY	  6 /* starts of phases that are looked at by themselves */
#define RECENT_NS INT64_C(100000000)
#define ALIKE	  0.05 /* intervals between them, from their mean */
#define VOLUMES	  0.25 /* the same of their bytes */

struct found {
	double period_s, confidence, evidence, power;
	int64_t last_start_ns;
};

/* The first phases, as a ring sees them. */
struct early {
	int64_t active_ns; /* until then it moved something */
	uint32_t starts;   /* so far; EARLY + 1: no more are counted */
	float start_s[EARLY + 1];
	float volume[EARLY + 1]; /* bytes of the phase that began there */
};

struct ring {
	int64_t head;	 /* number of the bin that is being filled, since the job began */
	int64_t look_at; /* number of head at which to analyse it next */
	uint32_t looks;
	struct found found; /* period_s 0: nothing */
	float bytes[BINS];  /* of bin i at i % BINS */
};

struct sl_period {
	int64_t begin_ns, last_ns;
	bool begun;
	double period_s, confidence;	  /* the last conclusive ones */
	double early_s, early_confidence; /* from the first phases; 0: nothing */
	struct early early[RINGS];
	struct ring ring[RINGS];
};

_Static_assert(sizeof(struct sl_period) <= 16384, "per job, on every controller");

struct sl_period *sl_period_new(void)
{
	return calloc(1, sizeof(struct sl_period));
}

void sl_period_free(struct sl_period *p)
{
	free(p);
}

size_t sl_period_bytes(void)
{
	return sizeof(struct sl_period);
}

static int64_t bin_ns(unsigned ring)
{
	int64_t ns = FIRST_NS;

	while (ring--)
		ns *= FACTOR;
	return ns;
}

/* ---- what is reported ---- */

static void spread(struct ring *r, int64_t width_ns, int64_t from_ns, int64_t to_ns, double bytes)
{
	int64_t last = to_ns / width_ns, at = r->head;
	double rate = bytes / (double)(to_ns - from_ns);

	if (last == at) {
		r->bytes[at % BINS] += (float)bytes;
		return;
	}
	r->bytes[at % BINS] += (float)(rate * (double)((at + 1) * width_ns - from_ns));
	/* After a long silence, only what the ring can hold. */
	at = last - at > BINS ? last - BINS : at + 1;
	for (; at < last; at++)
		r->bytes[at % BINS] = (float)(rate * (double)width_ns);
	r->bytes[last % BINS] = (float)(rate * (double)(to_ns - last * width_ns));
	r->head = last;
}

/* Whether the last four starts are regular; then what they say, if it is the first to be said. */
static void early_judge(struct sl_period *p, const struct early *e, double width_s, bool finest)
{
	const float *start = &e->start_s[e->starts - 4], *volume = &e->volume[e->starts - 4];
	double mean_s = (double)(start[3] - start[0]) / 3, squares = 0;
	double bytes = (double)(volume[0] + volume[1] + volume[2]) / 3;

	if (p->early_s > 0 || mean_s < SL_PERIOD_MIN_S || (!finest && mean_s < SHORT * width_s))
		return;
	for (int i = 0; i < 3; i++) {
		double off = (double)(start[i + 1] - start[i]) - mean_s;

		if (fabs(off) > ALIKE * mean_s || fabs((double)volume[i] - bytes) > VOLUMES * bytes)
			return;
		squares += off * off;
	}
	p->early_s = mean_s;
	p->early_confidence = (1 - sqrt(squares / 3) / mean_s) * (1 - 1 / 3.0);
}

static void early_add(struct sl_period *p, unsigned ring, int64_t began_ns, int64_t to_ns,
		      double bytes)
{
	struct early *e = &p->early[ring];

	if (!(bytes > 0) || e->starts > EARLY)
		return;
	if (!e->starts || began_ns - e->active_ns > 2 * bin_ns(ring)) {
		e->volume[e->starts] = 0;
		e->start_s[e->starts++] = (float)((double)began_ns / NS);
		if (e->starts >= 4)
			early_judge(p, e, (double)bin_ns(ring) / NS, !ring);
	}
	if (e->starts <= EARLY)
		e->volume[e->starts - 1] += (float)bytes;
	e->active_ns = to_ns;
}

static void add(struct sl_period *p, int64_t now_ns, uint64_t bytes, bool evenly)
{
	int64_t from_ns, to_ns, began_ns;

	if (!p->begun) {
		p->begun = true;
		p->begin_ns = p->last_ns = now_ns;
		for (unsigned i = 0; i < RINGS; i++) {
			p->ring[i].bytes[0] = (float)bytes;
			p->ring[i].look_at = FEWEST;
			early_add(p, i, 0, 0, (double)bytes);
		}
		return;
	}
	from_ns = p->last_ns - p->begin_ns;
	to_ns = (now_ns > p->last_ns ? now_ns : p->last_ns) - p->begin_ns;
	/* Bytes that come after a silence were moved at its end. */
	began_ns = !evenly && to_ns - from_ns > RECENT_NS ? to_ns - RECENT_NS : from_ns;
	for (unsigned i = 0; i < RINGS; i++) {
		struct ring *r = &p->ring[i];

		early_add(p, i, began_ns, to_ns, (double)bytes);
		if (to_ns > from_ns)
			spread(r, bin_ns(i), from_ns, to_ns, (double)bytes);
		else
			r->bytes[r->head % BINS] += (float)bytes;
	}
	p->last_ns = p->begin_ns + to_ns;
}

void sl_period_add(struct sl_period *p, int64_t now_ns, uint64_t bytes)
{
	add(p, now_ns, bytes, false);
}

void sl_period_stretch(struct sl_period *p, int64_t since_ns, int64_t now_ns, uint64_t bytes)
{
	add(p, since_ns, 0, false);
	add(p, now_ns, bytes, true);
}

/* ---- what is found ---- */

struct scratch { /* as sl_period_work_bytes(BINS) says, asserted below */
	float signal[BINS];
	union {
		struct sl_phases_work phases;
		char bytes[sizeof(struct sl_phases_work) + 8 * BINS * sizeof(float)];
	} work;
};

/* Its full bins, the last `most` of them, oldest first; how many. */
static size_t unroll(const struct ring *r, int64_t most, float *out)
{
	int64_t n = r->head < BINS - 1 ? r->head : BINS - 1; /* one is being filled */

	n = n < most ? n : most;
	for (int64_t i = 0; i < n; i++)
		out[i] = r->bytes[(r->head - n + i) % BINS];
	return (size_t)n;
}

/* A ring finds what fits it; longer and shorter periods are for its neighbours. */
static bool is_enough(const struct sl_period_result *f, unsigned which, unsigned looks)
{
	return f->source != SL_PERIOD_NONE && f->evidence >= ENOUGH + MORE * log(looks) &&
	       f->period_s >= 0.95 * SL_PERIOD_MIN_S &&
	       (!which || f->period_s >= SHORT * f->bin_s) && PERIODS * f->period_s <= f->window_s;
}

static void look(struct sl_period *p, unsigned which)
{
	struct ring *r = &p->ring[which];
	double width_s = (double)bin_ns(which) / NS, most = BINS;
	struct sl_period_result found;
	struct scratch s;
	size_t n;

	assert(sl_period_work_bytes(BINS) <= sizeof(s.work));
	if (r->found.period_s > 0)
		most = fmax(LOOK * r->found.period_s / width_s, FEWEST);
	n = unroll(r, (int64_t)most, s.signal);
	r->looks++;
	sl_period_find(s.signal, n, width_s, &s.work, &found);
	r->found.period_s = 0;
	if (is_enough(&found, which, r->looks)) {
		double last_s = found.source == SL_PERIOD_BY_PHASES ? found.phases.last_start_s
								    : found.window_s;

		r->found = (struct found){
			.period_s = found.period_s,
			.confidence = found.confidence,
			.evidence = found.evidence,
			.power = found.power,
			.last_start_ns = p->begin_ns + r->head * bin_ns(which) -
					 (int64_t)((found.window_s - last_s) * NS),
		};
	}
	r->look_at = r->head + (int64_t)(n / 2);
	if (r->found.period_s > 0 && 2 * r->found.period_s / width_s < (double)n / 4)
		r->look_at = r->head + (int64_t)fmax(2 * r->found.period_s / width_s, BINS / 16.0);
}

static bool is_current(const struct found *f, int64_t now_ns)
{
	return f->period_s > 0 && (double)(now_ns - f->last_start_ns) / NS < LATE * f->period_s;
}

bool sl_period_get(struct sl_period *p, int64_t now_ns, int64_t *period_ns, double *confidence)
{
	const struct found *best = NULL;
	bool looked = false;
	double most = 0;

	for (unsigned i = 0; i < RINGS; i++) {
		if (!p->begun || p->ring[i].head < p->ring[i].look_at)
			continue;
		look(p, i);
		looked = true;
	}
	for (unsigned i = 0; looked && i < RINGS; i++)
		if (is_current(&p->ring[i].found, now_ns))
			most = fmax(most, p->ring[i].found.power);
	for (unsigned i = 0; looked && i < RINGS; i++) {
		const struct found *f = &p->ring[i].found;

		if (is_current(f, now_ns) && f->power >= 0.7 * most &&
		    (!best || f->evidence > best->evidence))
			best = f;
	}
	if (best) {
		p->period_s = best->period_s;
		p->confidence = best->confidence;
	} else if (!(p->period_s > 0) && p->early_s > 0) {
		p->period_s = p->early_s;
		p->confidence = p->early_confidence;
	}
	*period_ns = (int64_t)(p->period_s * NS);
	*confidence = p->confidence;
	return p->period_s > 0;
}
