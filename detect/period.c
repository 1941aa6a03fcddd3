/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The period of a whole signal: what the spectrum and what the starts of phases say, together.
 *
 * FTIO (see period-spectrum.c) judges by the spectrum alone. That is weak where jobs are not
 * clockwork. A jitter of 20 % spreads a line over several frequencies, and of ten periods there are
 * no more than ten frequencies below it; bursts of a few percent of the time have as much power
 * in each of a dozen multiples as in the first, so that three and more are "dominant", or the wrong
 * one is; and a period comes as window / k, 5 % wrong at k = 10. So there are two kinds of claims
 * to be the period: fits to the starts of phases (period-phases.c), and the dominant frequencies of
 * FTIO's method. Each claim is given the sum of the evidence for it, natural logarithms of odds
 * against chance:
 *
 *	phases	as fitted
 *	line	the power around its frequency against that at lower and somewhat higher ones.
 * Without a period, powers are exponentially distributed with one mean; with it, with two.
 * Logarithm of the likelihood ratio: of a frequencies with mean p_a and b with mean p_b it is (a +
 * b) log((a p_a + b p_b) / (a + b)) - a log p_a - b log p_b. Example: p_a = 40 at one frequency, 1
 * on average at twelve others: 13 log(52 / 13) - log 40 = 14.3. ftio	5.5 times its confidence, if
 * it is the one dominant frequency once	-3 if no fit at another resolution agrees
 *
 * Claims with at least 13 are accepted. Of these the one with the most power around its frequency
 * is the period, which is that of the most bytes: a rhythm of bursts has there the square of its
 * mean bandwidth; among about equals that with most evidence. 13 is where tests/property/
 * prop-period.c finds about 1 % of Poisson arrivals periodic.
 *
 * The period is the mean time between starts as fitted. A claim of the spectrum alone, where noise
 * hides the phases, is made precise by the autocorrelation: its maximum around the period, then
 * around 2, 3, 4 periods for as long as these are as high as half of the first.
 *
 * The confidence is FTIO's if its dominant frequency, the stronger if there are two, is that period
 * to about half a frequency; or, if that is more, the part of intervals that fit, times that of the
 * phases present, less the jitter, times 1 - 1 / intervals, since the first fits by itself. (Short
 * bursts have many harmonics, and FTIO's confidence is then low however regular they are.)
 *
 * O(n log n) with n bins; 10^6 in some 65 ms.
 */
#include "detect/period.h"

#include <math.h>
#include <string.h>

#include "detect/period-fft.h"
#include "detect/period-parts.h"

#define MIN_BINS     16
#define FLAT	     1e-4 /* standard deviation, of the mean; less is rounding */
#define ENOUGH	     13.0
#define FTIO_AGREES  5.5
#define SEEN_ONCE    3.0
#define LINE_MAX     15.0
#define LINE_MIN     (-5.0)
#define SAME	     0.05 /* periods that differ by this much are one */
#define CORRELATIONS 4	  /* periods at which the autocorrelation is looked at */

struct claim {
	double period_s, evidence, power;
	const struct sl_period_phases *fit; /* NULL: of the spectrum */
};

/* n bins, and where what is made of them lies in the caller's memory. */
struct analysis {
	size_t n, padded;
	double bin_s, window_s;
	struct sl_phases_work *phases;
	float *signal, *power, *correlation, *fft;
};

static size_t padded_size(size_t n)
{
	return sl_fft_size(n + n / 2); /* lags up to half of the window do not wrap around */
}

size_t sl_period_work_bytes(size_t n)
{
	size_t padded = padded_size(n > MIN_BINS ? n : MIN_BINS);

	return sizeof(struct sl_phases_work) +
	       (n + (n / 2 + 1) + (padded / 2 + 1) + 2 * padded) * sizeof(float);
}

static void lay_out(struct analysis *a, size_t n, double bin_s, void *work)
{
	a->n = n;
	a->padded = padded_size(n);
	a->bin_s = bin_s;
	a->window_s = (double)n * bin_s;
	a->phases = work;
	a->signal = (float *)(a->phases + 1);
	a->power = a->signal + n;
	a->correlation = a->power + n / 2 + 1;
	a->fft = a->correlation + a->padded / 2 + 1;
}

/* ---- evidence ---- */

static double two_means(double a, double mean_a, double b, double mean_b)
{
	double e = (a + b) * log((a * mean_a + b * mean_b) / (a + b)) - a * log(mean_a) -
		   b * log(mean_b);

	return mean_a > mean_b ? e : -e;
}

static double line_evidence(const struct analysis *a, double period_s)
{
	double at = a->window_s / period_s, peak = 0, near = 0, n_near = 0, rest = 0, n_rest = 0;
	double narrow, broad;

	for (size_t k = 1; k <= a->n / 2 && (double)k < 1.7 * at; k++) {
		double p = (double)a->power[k], off = fabs((double)k - at);

		if (off <= fmax(0.05 * at, 0.75)) {
			peak = fmax(peak, p);
			near += p;
			n_near++;
		} else if (off > fmax(0.1 * at, 1.5)) {
			rest += p;
			n_rest++;
		}
	}
	if (!(peak > 0) || n_rest < 2)
		return 0;
	rest = fmax(rest / n_rest, 1e-12 * peak);
	near = fmax(near / n_near, 1e-12 * peak);
	narrow = two_means(1, peak, n_rest, rest) - log(n_near); /* the best of so many */
	broad = two_means(n_near, near, n_rest, rest);
	return fmin(fmax(fmax(narrow, broad), LINE_MIN), LINE_MAX);
}

static double power_around(const struct analysis *a, double period_s)
{
	double at = a->window_s / period_s, sum = 0;
	size_t from = (size_t)fmax(1, ceil(at / 1.15 - 0.5));

	for (size_t k = from; k <= a->n / 2 && (double)k <= at * 1.15 + 0.5; k++)
		sum += (double)a->power[k];
	return sum;
}

static bool ftio_agrees(const struct analysis *a, const struct sl_period_spectrum *s,
			double period_s)
{
	return s->period_s > 0 && fabs(a->window_s / period_s - a->window_s / s->period_s) < 0.6;
}

static bool seen_again(const struct sl_period_phases *f, const struct sl_period_phases *fits,
		       unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if ((fits[i].scale_s < f->scale_s || fits[i].scale_s > f->scale_s) &&
		    fabs(fits[i].period_s / f->period_s - 1) < SAME)
			return true;
	return false;
}

/* ---- autocorrelation ---- */

/* The highest value between two lags, and where it is; 0: none. */
static double highest(const struct analysis *a, double from, double to, double *lag)
{
	size_t low = (size_t)fmax(1, ceil(from)), high = (size_t)fmax(floor(to), 0), best = 0;
	double left, mid, right, bend;

	if (high > a->n / 2 - 1)
		high = a->n / 2 - 1;
	for (size_t i = low; i <= high; i++)
		if (!best || a->correlation[i] > a->correlation[best])
			best = i;
	if (!best)
		return 0;
	left = (double)a->correlation[best - 1];
	mid = (double)a->correlation[best];
	right = (double)a->correlation[best + 1];
	bend = left - 2 * mid + right;
	*lag = (double)best;
	if (mid >= left && mid >= right && bend < 0) /* the parabola through the three */
		*lag += (left - right) / (2 * bend);
	/* Fewer pairs of bins lie so far apart. */
	return mid / (double)a->correlation[0] * (double)a->n / (double)(a->n - best);
}

static double refine(const struct analysis *a, double period_s)
{
	double period = period_s / a->bin_s, lag, value;
	double first = highest(a, period * 0.9, period * 1.1, &lag);

	if (!(first > 0))
		return period_s;
	period = lag;
	for (int k = 2; k <= CORRELATIONS; k++) {
		value = highest(a, (k - 0.2) * period, (k + 0.2) * period, &lag);
		if (value < first / 2)
			break;
		period = lag / k;
	}
	return period * a->bin_s;
}

/* ---- all together ---- */

static unsigned collect(const struct analysis *a, const struct sl_period_spectrum *s,
			const struct sl_period_phases *fits, unsigned n_fits, struct claim *claims)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_fits; i++)
		claims[n++] = (struct claim){
			.period_s = fits[i].period_s,
			.evidence = fits[i].evidence -
				    (seen_again(&fits[i], fits, n_fits) ? 0 : SEEN_ONCE),
			.fit = &fits[i],
		};
	for (unsigned i = 0; s->period_s > 0 && i < s->n_candidates; i++) {
		const struct sl_period_candidate *c = &s->candidate[i];

		if (c->dominant && !c->harmonic && 3 * c->period_s < a->window_s)
			claims[n++] = (struct claim){ .period_s = c->period_s };
	}
	for (unsigned i = 0; i < n; i++) {
		claims[i].evidence += line_evidence(a, claims[i].period_s);
		if (s->dominant == 1 && ftio_agrees(a, s, claims[i].period_s))
			claims[i].evidence += FTIO_AGREES * s->confidence;
		claims[i].power = power_around(a, claims[i].period_s);
	}
	return n;
}

static const struct claim *choose(const struct claim *claims, unsigned n)
{
	const struct claim *top = NULL;
	double most = 0;

	for (unsigned i = 0; i < n; i++)
		if (claims[i].evidence >= ENOUGH)
			most = fmax(most, claims[i].power);
	for (unsigned i = 0; i < n; i++)
		if (claims[i].evidence >= ENOUGH && claims[i].power >= 0.7 * most &&
		    (!top || claims[i].evidence > top->evidence))
			top = &claims[i];
	return top;
}

static void conclude(const struct analysis *a, const struct claim *c, struct sl_period_result *out)
{
	double lag;

	out->source = c->fit ? SL_PERIOD_BY_PHASES : SL_PERIOD_BY_SPECTRUM;
	out->evidence = c->evidence;
	out->power = 2 * c->power / ((double)a->n * (double)a->n);
	out->period_s = c->fit ? c->period_s : refine(a, c->period_s);
	out->autocorrelation = highest(a, out->period_s / a->bin_s * (1 - SAME) - 1,
				       out->period_s / a->bin_s * (1 + SAME) + 1, &lag);
	if (c->fit)
		out->phases = *c->fit;
	if (!c->fit || ftio_agrees(a, &out->spectrum, c->period_s))
		out->confidence = out->spectrum.confidence;
	if (c->fit)
		out->confidence =
			fmax(out->confidence, c->fit->regular * (1 - c->fit->missing) *
						      (1 - c->fit->jitter) *
						      (1 - 1 / ((double)c->fit->phases - 1)));
}

void sl_period_find(const float *bandwidth, size_t n, double bin_s, void *work,
		    struct sl_period_result *out)
{
	struct sl_period_phases fits[SL_PHASES_FITS];
	struct claim claims[SL_PHASES_FITS + SL_PERIOD_CANDIDATES];
	const struct claim *top;
	struct analysis a;
	double sum = 0, squares = 0;
	size_t use = n - n % 2;
	unsigned n_fits;

	memset(out, 0, sizeof(*out));
	out->bin_s = bin_s;
	if (n < MIN_BINS)
		return;
	while (sl_fft_size(use) != use)
		use -= 2;
	bandwidth += n - use; /* the oldest few */
	lay_out(&a, use, bin_s, work);
	out->bins = use;
	out->window_s = a.window_s;
	for (size_t i = 0; i < use; i++)
		sum += (double)bandwidth[i];
	if (!(sum > 0))
		return;
	sum /= (double)use;
	/* In units of the mean, so that floats hold the power of any bandwidth. */
	for (size_t i = 0; i < use; i++) {
		double x = (double)bandwidth[i] / sum - 1;

		a.signal[i] = (float)x;
		squares += x * x;
	}
	if (squares < FLAT * FLAT * (double)use)
		return;
	sl_fft_power(a.signal, use, use, a.power, a.fft);
	sl_spectrum_find(a.power, use, bin_s, &out->spectrum);
	sl_fft_power(a.signal, use, a.padded, a.correlation, a.fft);
	sl_fft_correlation(a.correlation, a.padded, a.correlation, a.fft);
	n_fits = sl_phases_find(a.signal, use, bin_s, a.phases, fits);
	top = choose(claims, collect(&a, &out->spectrum, fits, n_fits, claims));
	if (top)
		conclude(&a, top, out);
}
