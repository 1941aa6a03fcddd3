/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs with and without a period, as intervals of I/O, for prop-period.c.
 *
 * With a period T, log-uniform over 0.5 s to 1 h: at least 10 periods, phases of 5 to 60 % of T and
 * of the same volume within 30 %; each phase starts up to 20 % of T early or late, of its place in
 * a fixed grid or after the one before; up to 20 % of the phases are missing; noise moves up to as
 * many bytes as the job itself, as fluctuations of the bandwidth at every moment or as many small
 * writes at random times; and a second rhythm of smaller writes, 3 to 9 times as frequent.
 */
#ifndef SL_TEST_PERIOD_SIGNALS_H
#define SL_TEST_PERIOD_SIGNALS_H

#include <math.h>
#include <stdlib.h>

#include "detect/period.h"
#include "tests/property/harness.h"

enum noise { NO_NOISE, RATE_NOISE, WRITE_NOISE };

struct signal {
	double period_s; /* nominal; 0: none */
	unsigned periods;
	double duty, jitter, missing, noise, second;
	bool renewal; /* the jitter of the starts adds up */
	enum noise kind;
	double actual_s; /* mean time between starts as it came out, missing ones included */
	struct sl_trace t;
	size_t room;
};

static inline double uniform(struct hx_rng *g, double low, double high)
{
	return low + (high - low) * ((double)(hx_rand(g) >> 11) / 9007199254740992.0);
}

static inline double exponential(struct hx_rng *g, double mean)
{
	return -mean * log(uniform(g, 1e-12, 1));
}

static inline void emit(struct signal *s, double start_s, double end_s, double bytes)
{
	struct sl_trace *t = &s->t;

	if (t->n == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		t->intervals = realloc(t->intervals, s->room * sizeof(*t->intervals));
		if (!t->intervals)
			abort();
	}
	t->intervals[t->n++] = (struct sl_interval){ start_s, end_s, bytes };
	t->bytes += bytes;
}

/* Sets the window, and cuts off what is outside. */
static inline void finish(struct signal *s, double start_s, double end_s)
{
	s->t.start_s = start_s;
	s->t.end_s = end_s;
	for (size_t i = 0; i < s->t.n; i++) {
		struct sl_interval *v = &s->t.intervals[i];

		v->start_s = fmin(fmax(v->start_s, start_s), end_s);
		v->end_s = fmin(fmax(v->end_s, v->start_s), end_s);
	}
}

static inline void add_noise(struct hx_rng *g, struct signal *s, double unit_s)
{
	double length = s->t.end_s - s->t.start_s, mean_bps = s->noise * s->t.bytes / length;

	if (s->kind == RATE_NOISE) {
		double step = unit_s / 50;

		unsigned steps = (unsigned)ceil(length / step);

		for (unsigned i = 0; i < steps; i++)
			emit(s, s->t.start_s + i * step, s->t.start_s + (i + 1) * step,
			     uniform(g, 0, 2) * mean_bps * step);
	} else if (s->kind == WRITE_NOISE) {
		double apart = unit_s / 20; /* mean; each an equal part of the noise */
		double at = exponential(g, apart);

		while (at < length) {
			emit(s, s->t.start_s + at, s->t.start_s + at + unit_s / 100,
			     mean_bps * apart * exponential(g, 1));
			at += exponential(g, apart);
		}
	}
	finish(s, s->t.start_s, s->t.end_s);
}

static inline void periodic(struct hx_rng *g, struct signal *s)
{
	double t = s->period_s, at = 0, first = 0, last = 0, end = 0;
	unsigned gone = 0;

	s->t = (struct sl_trace){ 0 };
	s->room = 0;
	for (unsigned i = 0; i <= s->periods; i++) {
		double start = s->renewal ? at : t * (i + uniform(g, -s->jitter, s->jitter));
		double length = s->duty * t * uniform(g, 0.85, 1.15);
		bool miss = i && i < s->periods && gone + 1 <= s->missing * s->periods &&
			    uniform(g, 0, 1) < s->missing;

		if (!i)
			first = start;
		last = start;
		end = start + length;
		if (miss)
			gone++;
		else
			emit(s, start, start + length, 1e9 * uniform(g, 0.7, 1.3));
		at += t * (1 + uniform(g, -s->jitter, s->jitter));
	}
	s->actual_s = (last - first) / s->periods;
	/* The window begins and ends anywhere in the computing around. */
	finish(s, first - uniform(g, 0, 0.4) * t, end + uniform(g, 0, 0.4) * t);
	if (s->second > 0) {
		double fast = t / (double)hx_range(g, 3, 9), offset = uniform(g, 0, fast);
		double bytes = s->second * s->t.bytes * fast / (s->t.end_s - s->t.start_s);

		at = s->t.start_s + offset;
		while (at < s->t.end_s) {
			emit(s, at, at + fast * 0.3, bytes);
			at += fast;
		}
		finish(s, s->t.start_s, s->t.end_s);
	}
	add_noise(g, s, t);
}

/* ---- none ---- */

static inline void poisson(struct hx_rng *g, struct signal *s)
{
	double apart = s->period_s, length = apart * s->periods;
	double at = exponential(g, apart);

	while (at < length) {
		emit(s, at, at + s->duty * apart, 1e9 * uniform(g, 0.7, 1.3));
		at += exponential(g, apart);
	}
	emit(s, 0, length, 1);
	finish(s, 0, length);
	add_noise(g, s, apart);
}

static inline void constant(struct hx_rng *g, struct signal *s)
{
	double length = s->period_s * s->periods;

	emit(s, 0, length, 1e9 * length);
	finish(s, 0, length);
	add_noise(g, s, s->period_s);
}

static inline void single_burst(struct hx_rng *g, struct signal *s)
{
	double length = s->period_s * s->periods, at = uniform(g, 0, 0.8) * length;

	emit(s, at, at + uniform(g, 0.01, 0.2) * length, 1e9);
	emit(s, 0, length, 1);
	finish(s, 0, length);
	add_noise(g, s, s->period_s);
}

static inline void random_walk(struct hx_rng *g, struct signal *s)
{
	double step = s->period_s / 20, level = 10;

	for (unsigned i = 0; i < 20 * s->periods; i++) {
		level = fabs(level + uniform(g, -1, 1));
		emit(s, i * step, (i + 1) * step, level * 1e6 * step);
	}
	finish(s, 0, s->period_s * s->periods);
	add_noise(g, s, s->period_s);
}

#endif
