/* SPDX-License-Identifier: Apache-2.0 */
/* See ops.h. */
#include "detect/ops.h"

/* Logarithms: of 2, and of 1.4. */
#define HIGH	  1.0
#define LOW	  0.5
#define ENOUGH	  4	 /* timed operations of a class that say something */
#define DRIFT	  0.0015 /* of the least, each step */
#define TRY	  4	 /* steps */
#define REST	  100	 /* steps between two tries */
#define FEW	  200.0	 /* operations per second: below this nobody is held */
#define UNREACHED 100	 /* steps after which a limit that nobody reaches is given up */

static double mean(const struct sl_ops_step *s, int c)
{
	return s->log2[c] / (double)s->calls[c];
}

static void learn(struct sl_ops_find *f, const struct sl_ops_step *s)
{
	for (int c = 0; c < SL_OPS_CLASSES; c++) {
		if (f->least[c] > 0)
			f->least[c] += DRIFT;
		if (s->calls[c] >= ENOUGH && (f->least[c] <= 0 || mean(s, c) < f->least[c]))
			f->least[c] = mean(s, c);
	}
}

/* By how much operations are slower than their least, as a logarithm; 0: not known. */
static double slow(const struct sl_ops_find *f, const struct sl_ops_step *s)
{
	double more = 0, calls = 0;

	for (int c = 0; c < SL_OPS_CLASSES; c++)
		if (s->calls[c] >= ENOUGH) {
			more += s->log2[c] - (double)s->calls[c] * f->least[c];
			calls += (double)s->calls[c];
		}
	return calls > 0 ? more / calls : 0;
}

static double at_least_few(double rate)
{
	return rate > FEW ? rate : FEW;
}

static void without_limit(struct sl_ops_find *f, double rate, double ratio)
{
	f->rested++;
	if (rate < FEW)
		return;
	if (ratio > HIGH) {
		f->limit = at_least_few(0.7 * rate);
		f->unreached = 0;
	} else if (f->rested > REST) {
		f->limit = at_least_few(0.5 * rate);
		f->trying = TRY;
		f->rested = 0;
		f->before = ratio;
	}
}

static void with_limit(struct sl_ops_find *f, double rate, double ratio)
{
	f->unreached = rate < 0.9 * f->limit ? f->unreached + 1 : 0;
	if (ratio > HIGH)
		f->limit = at_least_few(0.85 * f->limit);
	else if (f->unreached > UNREACHED)
		f->limit = 0;
	else if (ratio < LOW && !f->unreached)
		f->limit *= 1.05;
}

/* By how much the least has become less. */
static double fallen(const double *least, const double *before)
{
	double most = 0;

	for (int c = 0; c < SL_OPS_CLASSES; c++)
		if (least[c] > 0 && before[c] - least[c] > most)
			most = before[c] - least[c];
	return most;
}

double sl_ops_find_step(struct sl_ops_find *f, const struct sl_ops_step *s)
{
	double rate = (double)s->made * 1e9 / (double)(s->took_ns > 0 ? s->took_ns : 1), ratio;
	double was[SL_OPS_CLASSES];

	for (int c = 0; c < SL_OPS_CLASSES; c++)
		was[c] = f->least[c];
	learn(f, s);
	ratio = slow(f, s);
	if (s->jobs < 2) {
		f->limit = 0;
		f->trying = 0;
		f->rested = REST; /* the next one that comes is worth a try */
	} else if (f->trying) {
		f->before += fallen(f->least, was);
		if (--f->trying == 0) {
			f->unreached = 0;
			if (f->before <= HIGH)
				f->limit = 0;
		}
	} else if (f->limit > 0) {
		with_limit(f, rate, ratio);
	} else {
		without_limit(f, rate, ratio);
	}
	return f->limit;
}
