/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dominant frequency of a power spectrum, as FTIO has it (Tarraf, Bandet, Zanon Boito, Pallez,
 * Wolf: arXiv 2306.08601; used by RR-9537, section 3.3).
 *
 * Without the constant part, the power of n bins is that of frequencies k / (n bin_s), k = 1 ..
 * n/2. z is how many standard deviations a frequency's power lies above the mean of all. Those with
 * z > 3 are candidates, and dominant if also z > 0.8 z_max. A multiple of a lower dominant
 * frequency is its harmonic and does not count. One or two that are left: periodic; none or three
 * and more: not. The confidence of a candidate is
 *
 *	(z / sum of the z above 0.8 z_max + z / sum of the z above 3) / 2
 *
 * Example: z are 10, 9, 4 at k = 5, 10, 12: candidates all three, dominant the first two, of which
 * k = 10 is a harmonic of k = 5. Period n bin_s / 5, confidence (10/19 + 10/23) / 2 = 0.48.
 *
 * k = 1 is no period: the window itself. It is neither candidate nor dominant.
 *
 * O(n).
 */
#include <math.h>
#include <string.h>

#include "detect/period-parts.h"

#define Z_CANDIDATE 3.0
#define Z_RATIO	    0.8

static void insert(struct sl_period_spectrum *s, const struct sl_period_candidate *c)
{
	unsigned at = s->n_candidates;

	if (at == SL_PERIOD_CANDIDATES) {
		if (c->z <= s->candidate[at - 1].z)
			return;
		at--;
	} else {
		s->n_candidates++;
	}
	for (; at && s->candidate[at - 1].z < c->z; at--)
		s->candidate[at] = s->candidate[at - 1];
	s->candidate[at] = *c;
}

/* A dominant one of those kept whose multiple this one is, to half a frequency. */
static bool is_harmonic(const struct sl_period_spectrum *s, unsigned at, double step_hz)
{
	const struct sl_period_candidate *c = &s->candidate[at];

	for (unsigned i = 0; i < s->n_candidates; i++) {
		const struct sl_period_candidate *base = &s->candidate[i];
		double times = round(c->frequency_hz / base->frequency_hz);

		if (base->dominant && times >= 2 &&
		    fabs(c->frequency_hz - times * base->frequency_hz) < step_hz / 2)
			return true;
	}
	return false;
}

void sl_spectrum_find(const float *power, size_t n, double bin_s, struct sl_period_spectrum *out)
{
	double sum = 0, squares = 0, z_max = 0, dominant_z = 0, candidate_z = 0, mean, deviation;
	size_t half = n / 2;

	memset(out, 0, sizeof(*out));
	for (size_t k = 1; k <= half; k++) {
		sum += (double)power[k];
		squares += (double)power[k] * (double)power[k];
	}
	mean = sum / (double)half;
	deviation = sqrt(fmax(squares / (double)half - mean * mean, 0));
	if (half < 2 || !(deviation > mean * 1e-6))
		return;
	for (size_t k = 2; k <= half; k++)
		z_max = fmax(z_max, ((double)power[k] - mean) / deviation);
	for (size_t k = 2; k <= half; k++) {
		struct sl_period_candidate c = { .z = ((double)power[k] - mean) / deviation };

		if (c.z <= Z_CANDIDATE)
			continue;
		c.dominant = c.z > Z_RATIO * z_max;
		c.share = (double)power[k] / sum;
		c.period_s = (double)n * bin_s / (double)k;
		c.frequency_hz = 1 / c.period_s;
		candidate_z += c.z;
		dominant_z += c.dominant ? c.z : 0;
		out->above_3++;
		insert(out, &c);
	}
	for (unsigned i = 0; i < out->n_candidates; i++) {
		struct sl_period_candidate *c = &out->candidate[i];

		c->confidence = (c->z / dominant_z * c->dominant + c->z / candidate_z) / 2;
		c->harmonic = is_harmonic(out, i, 1 / ((double)n * bin_s));
		out->dominant += c->dominant && !c->harmonic;
	}
	if (out->dominant != 1 && out->dominant != 2)
		return;
	for (unsigned i = 0; i < out->n_candidates && !(out->period_s > 0); i++) {
		const struct sl_period_candidate *c = &out->candidate[i];

		if (c->dominant && !c->harmonic) {
			out->period_s = c->period_s;
			out->confidence = c->confidence;
		}
	}
}
