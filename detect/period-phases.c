/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular starts of I/O phases: the period in the time domain, where jitter and missing phases do
 * not blur it as they do a spectrum.
 *
 * At each resolution, from the bins as given to 16 bins for all, each twice as wide as before:
 *
 * 1. Bins are idle or active, by Otsu's threshold (the greatest variance between the two sides),
 *    and again by the mean: the first is right for phases of one height, the second also if a few
 *    are much higher than the rest. A phase begins a fifth of the distance of the two sides above
 *    the threshold and ends as much below. Phases that are small beside those that move most of the
 *    bytes do not count.
 * 2. An interval d between starts is k = round(d / T) periods, k > 1 where phases are missing; it
 *    fits if it is at most 0.35 T off. T is the sum of what fits over the number of periods in it,
 *    repeated until it stays, from three quantiles of the intervals.
 * 3. The evidence is the logarithm of how much more probable the starts are with that period than
 *    without. Without: computing between phases takes any time, exponentially distributed. With:
 *    an interval is k T with a normal error, of which either each interval has its own (a job that
 *    computes for so long, then writes) or each start (a job that keeps to the clock); whichever
 *    is better. k has probability 0.88 0.12^(k-1); 3 % of intervals may be anything.
 *
 * Example, no noise: starts at 0, 10, 20, 40, 50 s, phases of 2 s. Intervals 10, 10, 20, 10; the
 * median gives T = 10, k = 1, 1, 2, 1, T = 50 / 5. Gaps of computing are 10.5 s on average: without
 * period, density e^(-8/10.5) / 10.5 = 0.044 for a gap of 8 s, e^(-18/10.5) / 10.5 = 0.017 for 18
 * s. With it, and a standard error of 4 % of T, the least that is assumed: 0.97 0.88 / (0.4 2.5) =
 * 0.85 for k = 1, 0.102 for k = 2. Evidence 3 log(0.85 / 0.044) + log(0.102 / 0.017) = 10.7, odds
 * of 40,000 to 1. Starts at random seldom get above 5, but we look at many resolutions; period.c
 * says what is enough.
 *
 * The null hypothesis starts to count at the end of a phase, not at its beginning: what cannot
 * overlap looks regular the more the busier the job is, and so does noise that has been smoothed.
 *
 * O(n) for n bins, plus O(m log m) for the m <= 2048 last phases at each resolution.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect/period-parts.h"

#define LEVEL_BINS  16
#define HISTOGRAM   128
#define FLAT	    1e-4 /* of the mean; less is rounding */
#define HYSTERESIS  0.2	 /* of the distance between idle and active */
#define SMALL	    0.15 /* of the volume of a typical phase */
#define INLIER	    0.35 /* of the period */
#define MAX_GAP	    4	 /* periods; what is longer is an interruption */
#define MISSED	    0.12
#define CHANCE	    0.03
#define LEAST_ERROR 0.04 /* of the period */
#define BIN_ERROR   0.3	 /* bins */

struct split { /* of the bins into idle and active ones */
	double idle, active, threshold;
};

static bool split_otsu(const float *y, size_t n, struct split *s)
{
	double count[HISTOGRAM] = { 0 }, sum[HISTOGRAM] = { 0 };
	double total = 0, left = 0, left_sum = 0, best = -1, scale;
	float low = y[0], high = y[0];

	for (size_t i = 0; i < n; i++) {
		low = y[i] < low ? y[i] : low;
		high = y[i] > high ? y[i] : high;
	}
	if (!(high - low > (float)FLAT))
		return false;
	scale = HISTOGRAM / (double)(high - low);
	for (size_t i = 0; i < n; i++) {
		unsigned at = (unsigned)((double)(y[i] - low) * scale);

		at = at < HISTOGRAM ? at : HISTOGRAM - 1;
		count[at]++;
		sum[at] += (double)y[i];
	}
	for (unsigned k = 0; k < HISTOGRAM; k++)
		total += sum[k];
	for (unsigned k = 0; k < HISTOGRAM - 1; k++) {
		double right, apart;

		left += count[k];
		left_sum += sum[k];
		right = (double)n - left;
		if (!(left > 0) || !(right > 0))
			continue;
		apart = (total - left_sum) / right - left_sum / left;
		if (left * right * apart * apart > best) {
			best = left * right * apart * apart;
			s->idle = left_sum / left;
			s->active = (total - left_sum) / right;
		}
	}
	s->threshold = (s->idle + s->active) / 2;
	return best >= 0;
}

static bool split_mean(const float *y, size_t n, struct split *s)
{
	double sum = 0, above = 0, n_above = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)y[i];
	s->threshold = sum / (double)n;
	for (size_t i = 0; i < n; i++) {
		double over = (double)y[i] > s->threshold;

		above += over * (double)y[i];
		n_above += over;
	}
	if (!(n_above > 0) || !(n_above < (double)n))
		return false;
	s->active = above / n_above;
	s->idle = (sum - above) / ((double)n - n_above);
	return s->active - s->idle > FLAT;
}

/* Where in bin i a phase began: bins that are partly filled tell. */
static double start_in(const float *y, size_t n, size_t i, double idle)
{
	double v = (double)y[i] - idle;

	if (i + 1 < n && (double)y[i + 1] - idle > v)
		return (double)(i + 1) - v / ((double)y[i + 1] - idle);
	return i ? (double)i - fmin(fmax(((double)y[i - 1] - idle) / v, 0), 1) : 0;
}

/* The last phases, in bins; how many. */
static size_t find_starts(const float *y, size_t n, const struct split *s, struct sl_phases_work *w)
{
	double margin = HYSTERESIS * (s->active - s->idle);
	float on = (float)(s->threshold + margin), off = (float)(s->threshold - margin);
	size_t i = 0, m = 0;

	for (;;) {
		double volume = 0;

		while (i < n && !(y[i] > on))
			i++;
		if (i == n)
			return m;
		if (m == SL_PHASES_EVENTS) {
			m /= 2;
			memmove(w->start, w->start + m, m * sizeof(float));
			memmove(w->active, w->active + m, m * sizeof(float));
			memmove(w->volume, w->volume + m, m * sizeof(float));
		}
		w->start[m] = (float)start_in(y, n, i, s->idle);
		for (; i < n && !(y[i] < off); i++)
			volume += (double)y[i] - s->idle;
		w->active[m] = (float)i - w->start[m];
		w->volume[m++] = (float)volume;
	}
}

static int ascending(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Leaves out phases that are small beside those that move half of the bytes. */
static size_t drop_small(size_t m, struct sl_phases_work *w)
{
	double total = 0, sum = 0;
	float limit = 0;
	size_t kept = 0;

	memcpy(w->sorted, w->volume, m * sizeof(float));
	qsort(w->sorted, m, sizeof(float), ascending);
	for (size_t i = 0; i < m; i++)
		total += (double)w->sorted[i];
	for (size_t i = m; i-- && sum < total / 2;) {
		sum += (double)w->sorted[i];
		limit = (float)SMALL * w->sorted[i];
	}
	for (size_t i = 0; i < m; i++) {
		if (w->volume[i] < limit)
			continue;
		w->start[kept] = w->start[i];
		w->active[kept] = w->active[i];
		w->volume[kept++] = w->volume[i];
	}
	return kept;
}

static double interval(const struct sl_phases_work *w, size_t i)
{
	return (double)w->start[i + 1] - (double)w->start[i];
}

static double periods_in(double d, double period)
{
	return fmax(round(d / period), 1);
}

static bool fits(double d, double period)
{
	double k = periods_in(d, period);

	return k <= MAX_GAP && fabs(d / period - k) < INLIER;
}

/* Step 2. False: nothing fits. */
static bool settle(const struct sl_phases_work *w, size_t m, double period,
		   struct sl_period_phases *f)
{
	memset(f, 0, sizeof(*f));
	for (int round = 0; round < 8; round++) {
		double sum = 0, periods = 0, squares = 0, count = 0, before = period;

		for (size_t i = 0; i + 1 < m; i++) {
			double d = interval(w, i), k = periods_in(d, period);

			if (!fits(d, period))
				continue;
			count++;
			sum += d;
			periods += k;
			squares += (d / period - k) * (d / period - k);
			f->last_start_s = (double)w->start[i + 1];
		}
		if (!(count > 0))
			return false;
		period = sum / periods;
		f->jitter = sqrt(squares / count);
		f->missing = 1 - count / periods;
		f->regular = count / (double)(m - 1);
		if (fabs(period - before) < 1e-6 * period)
			break;
	}
	f->period_s = period;
	f->phases = (unsigned)m;
	return true;
}

/* c: periods since the first start. Line through the starts by least squares, and its error. */
static double grid_period(const struct sl_phases_work *w, size_t m, double period, double *error)
{
	double n = (double)m, c = 0, sum_c = 0, sum_cc = 0, sum_t = 0, sum_ct = 0, sum_tt = 0;
	double slope, square;

	for (size_t i = 0; i < m; i++) {
		double t = (double)w->start[i] - (double)w->start[0];

		c += i ? periods_in(interval(w, i - 1), period) : 0;
		sum_c += c;
		sum_t += t;
		sum_cc += c * c;
		sum_ct += c * t;
		sum_tt += t * t;
	}
	slope = (sum_ct - sum_c * sum_t / n) / (sum_cc - sum_c * sum_c / n);
	square = (sum_tt - sum_t * sum_t / n) - slope * (sum_ct - sum_c * sum_t / n);
	*error = sqrt(fmax(square, 0) / (n - 1));
	return slope;
}

/* Step 3. */
static void weigh(const struct sl_phases_work *w, size_t m, struct sl_period_phases *f)
{
	double period = f->period_s, least = fmax(LEAST_ERROR * period, BIN_ERROR);
	double step_error = fmax(f->jitter * period, least), grid_error, mean_gap = 0;
	double grid = grid_period(w, m, period, &grid_error), by_step = 0, by_grid = 0;
	const double root = sqrt(2 * M_PI);

	for (size_t i = 0; i + 1 < m; i++)
		mean_gap += fmax(interval(w, i) - (double)w->active[i], 0);
	mean_gap = fmax(mean_gap / (double)(m - 1), 0.5);
	grid_error = fmax(grid_error, least);
	for (size_t i = 0; i + 1 < m; i++) {
		double d = interval(w, i), gap = fmax(d - (double)w->active[i], 0);
		double k = periods_in(d, period), off = (d - k * period) / step_error;
		double log_any = -gap / mean_gap - log(mean_gap);
		double log_k = log(1 - MISSED) + (k - 1) * log(MISSED), ratio = CHANCE;

		if (fits(d, period))
			ratio += (1 - CHANCE) *
				 exp(log_k - off * off / 2 - log(step_error * root) - log_any);
		by_step += log(ratio);
		/* The squares of all errors, over theirs: half for each but one. */
		by_grid += log_k - log(grid_error * root) - log_any - 0.5;
	}
	f->evidence = fmax(by_step, by_grid);
	if (by_grid > by_step)
		f->period_s = grid;
}

static bool is_good(const struct sl_period_phases *f)
{
	return f->evidence >= 1 && f->jitter < 0.22 && f->missing < 0.4 && f->regular >= 0.7 &&
	       f->period_s > 3;
}

/* Of the fits from three beginnings the one with most evidence. */
static bool best_fit(size_t m, struct sl_phases_work *w, struct sl_period_phases *out)
{
	static const double quantile[] = { 0.5, 0.3, 0.7 };
	bool found = false;

	if (m < 3)
		return false;
	for (size_t i = 0; i + 1 < m; i++)
		w->sorted[i] = w->start[i + 1] - w->start[i];
	qsort(w->sorted, m - 1, sizeof(float), ascending);
	for (size_t i = 0; i < 3; i++) {
		double begin = (double)w->sorted[(size_t)(quantile[i] * (double)(m - 2))];
		struct sl_period_phases f;

		if (!(begin > 0) || !settle(w, m, begin, &f))
			continue;
		weigh(w, m, &f);
		if (is_good(&f) && (!found || f.evidence > out->evidence)) {
			*out = f;
			found = true;
		}
	}
	return found;
}

unsigned sl_phases_find(float *signal, size_t n, double bin_s, struct sl_phases_work *work,
			struct sl_period_phases *fit)
{
	unsigned found = 0;

	for (; n >= LEVEL_BINS; n /= 2, bin_s *= 2) {
		for (int how = 0; how < 2 && found < SL_PHASES_FITS; how++) {
			struct sl_period_phases *f = &fit[found];
			struct split s = { 0 };
			size_t m;

			if (!(how ? split_mean : split_otsu)(signal, n, &s))
				continue;
			m = drop_small(find_starts(signal, n, &s, work), work);
			if (!best_fit(m, work, f))
				continue;
			f->period_s *= bin_s;
			f->last_start_s *= bin_s;
			f->scale_s = bin_s;
			found++;
		}
		for (size_t i = 0; i < n / 2; i++)
			signal[i] = (signal[2 * i] + signal[2 * i + 1]) / 2;
	}
	return found;
}
