/* SPDX-License-Identifier: Apache-2.0 */
/* The period detector: transform, spectrum, phases, traces, and the online side. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "detect/period-fft.h"
#include "detect/period-parts.h"
#include "detect/period.h"

#define SEC INT64_C(1000000000)

static bool near(double a, double b, double part)
{
	return fabs(a - b) <= part * fabs(b);
}

static void find(const float *x, size_t n, double bin_s, struct sl_period_result *r)
{
	void *work = malloc(sl_period_work_bytes(n));

	assert_non_null(work);
	sl_period_find(x, n, bin_s, work, r);
	free(work);
}

/* ---- transform ---- */

static void the_power_of_every_length_is_that_of_the_definition(void **state)
{
	float x[300], power[151], work[600];

	for (size_t i = 0; i < 300; i++)
		x[i] = (float)((i * 7919 + i * i * 31) % 101);
	for (size_t n = 2; n <= 300; n++) {
		if (sl_fft_size(n) != n)
			continue;
		sl_fft_power(x, n, n, power, work);
		for (size_t k = 0; k <= n / 2; k++) {
			double re = 0, im = 0;

			for (size_t i = 0; i < n; i++) {
				double angle = 2 * M_PI * (double)(k * i % n) / (double)n;

				re += (double)x[i] * cos(angle);
				im -= (double)x[i] * sin(angle);
			}
			assert_true(fabs(re * re + im * im - (double)power[k]) <
				    1e-5 * (double)n * (double)n * 1e4);
		}
	}
}

static void the_example_of_the_file(void **state)
{
	const float x[4] = { 1, 2, 3, 4 };
	float power[3], work[8];

	sl_fft_power(x, 4, 4, power, work);
	assert_true(near((double)power[0], 100, 1e-6));
	assert_true(near((double)power[1], 8, 1e-6));
	assert_true(near((double)power[2], 4, 1e-6));
}

static void correlation_counts_pairs_at_a_lag(void **state)
{
	const float x[6] = { 1, 0, 2, 0, 0, 3 };
	float power[7], work[24];

	sl_fft_power(x, 6, 12, power, work); /* padded: nothing wraps around */
	sl_fft_correlation(power, 12, power, work);
	for (size_t lag = 0; lag < 6; lag++) {
		double sum = 0;

		for (size_t i = 0; i + lag < 6; i++)
			sum += (double)x[i] * (double)x[i + lag];
		assert_true(fabs((double)power[lag] / 12 - sum) < 1e-4);
	}
}

static void sizes_are_even_and_have_no_large_factor(void **state)
{
	assert_int_equal(sl_fft_size(0), 2);
	assert_int_equal(sl_fft_size(7), 8);
	assert_int_equal(sl_fft_size(14), 16);
	assert_int_equal(sl_fft_size(1000000), 1000000);
	assert_int_equal(sl_fft_size(1000003), 1012500);
}

/* ---- spectrum ---- */

static void harmonics_do_not_count_and_confidence_is_that_of_ftio(void **state)
{
	struct sl_period_spectrum s;
	float power[101] = { 0 };
	double z10, z9, z4;

	power[0] = 1e6f; /* constant part: dropped */
	power[1] = 40;	 /* the window itself: no period */
	power[5] = 100;
	power[10] = 90;
	power[12] = 50;
	sl_spectrum_find(power, 200, 0.5, &s);
	assert_int_equal(s.n_candidates, 3);
	assert_int_equal(s.above_3, 3);
	assert_int_equal(s.dominant, 1);
	assert_true(s.candidate[1].harmonic && !s.candidate[2].dominant);
	z10 = s.candidate[0].z;
	z9 = s.candidate[1].z;
	z4 = s.candidate[2].z;
	assert_true(near(s.period_s, 20, 1e-9));
	assert_true(near(s.confidence, (z10 / (z10 + z9) + z10 / (z10 + z9 + z4)) / 2, 1e-9));
}

static void three_dominant_frequencies_are_no_period(void **state)
{
	struct sl_period_spectrum s;
	float power[101] = { 0 };

	power[5] = power[7] = power[11] = 100;
	sl_spectrum_find(power, 200, 0.5, &s);
	assert_int_equal(s.dominant, 3);
	assert_true(!(s.period_s > 0) && !(s.confidence > 0));
}

/* ---- whole signals ---- */

static void the_example_of_the_phases(void **state)
{
	static struct sl_phases_work work;
	struct sl_period_phases fits[SL_PHASES_FITS];
	const size_t starts[] = { 0, 10, 20, 40, 50 };
	float x[600] = { 0 };
	unsigned n;

	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 20; k++)
			x[10 * starts[i] + k] = 6;
	n = sl_phases_find(x, 600, 0.1, &work, fits);
	assert_true(n > 0);
	assert_int_equal(fits[0].phases, 5);
	assert_true(near(fits[0].period_s, 10, 0.001));
	assert_true(near(fits[0].evidence, 10.7, 0.02));
	assert_true(near(fits[0].missing, 0.2, 1e-6) && near(fits[0].regular, 1, 1e-6));
	assert_true(fits[0].jitter < 0.001);
	assert_true(near(fits[0].last_start_s, 50, 0.001));
}

/* Phases of `width` bins every `apart`, every `skip`-th missing (0: none). */
static size_t phases(float *x, size_t n, size_t apart, size_t width, size_t skip)
{
	memset(x, 0, n * sizeof(*x));
	for (size_t i = 0; i * apart + width < n; i++)
		for (size_t k = 0; k < width && (!skip || (i + 1) % skip); k++)
			x[i * apart + k] = 1e9f;
	return n;
}

static void missing_phases_do_not_change_the_period(void **state)
{
	struct sl_period_result r;
	float x[1200];

	find(x, phases(x, 1200, 100, 7, 5), 0.1, &r);
	assert_int_equal(r.source, SL_PERIOD_BY_PHASES);
	assert_true(near(r.period_s, 10, 0.01));
	assert_true(r.phases.missing > 0.1 && r.phases.missing < 0.25);
	assert_true(r.confidence > 0.5 && r.confidence <= 1);
}

static void a_period_between_two_frequencies_is_exact(void **state)
{
	struct sl_period_result r;
	float x[1080];

	(void)state; /* 1080 / 97 = 11.13 */
	find(x, phases(x, 1080, 97, 20, 0), 1, &r);
	assert_true(near(r.period_s, 97, 0.002));
	assert_true(r.autocorrelation > 0.8);
}

static void a_sine_in_noise_without_phases_is_found(void **state)
{
	struct sl_period_result r;
	uint32_t seed = 7;
	float x[1000];

	for (size_t i = 0; i < 1000; i++) {
		seed = seed * 1664525 + 1013904223;
		x[i] = (float)(2 + 0.5 * sin(2 * M_PI * (double)i / 30.7) +
			       4 * (double)(seed >> 8) / (1 << 24));
	}
	find(x, 1000, 1, &r);
	assert_int_not_equal(r.source, SL_PERIOD_NONE);
	assert_true(near(r.period_s, 30.7, 0.02));
}

static void the_rhythm_that_moves_most_bytes_is_the_period(void **state)
{
	struct sl_period_result r;
	float x[2000];

	phases(x, 2000, 100, 20, 0);
	for (size_t i = 3; i < 2000; i += 13)
		x[i] += 4e8f;
	find(x, 2000, 1, &r);
	assert_true(near(r.period_s, 100, 0.01));
}

static void no_signal_is_periodic_that_is_empty_constant_or_short(void **state)
{
	struct sl_period_result r;
	float x[500];

	memset(x, 0, sizeof(x));
	find(x, 500, 1, &r);
	assert_int_equal(r.source, SL_PERIOD_NONE);
	for (size_t i = 0; i < 500; i++)
		x[i] = 1e9f;
	find(x, 500, 1, &r);
	assert_int_equal(r.source, SL_PERIOD_NONE);
	phases(x, 500, 4, 2, 0);
	find(x, 15, 1, &r);
	assert_int_equal(r.source, SL_PERIOD_NONE);
	memset(x, 0, sizeof(x));
	x[200] = 1;
	find(x, 500, 1, &r);
	assert_int_equal(r.source, SL_PERIOD_NONE);
	assert_true(!(r.period_s > 0) && !(r.confidence > 0));
}

static void the_same_bytes_in_other_units_have_the_same_period(void **state)
{
	struct sl_period_result small, large;
	float x[1200];

	phases(x, 1200, 100, 30, 0);
	find(x, 1200, 0.1, &large);
	for (size_t i = 0; i < 1200; i++)
		x[i] *= 1e-15f;
	find(x, 1200, 0.1, &small);
	assert_true(near(small.period_s, large.period_s, 1e-5));
}

/* ---- traces ---- */

static int parse(const char *text, struct sl_trace *t, char *err)
{
	return sl_trace_parse("f", text, strlen(text), t, err, 200);
}

static void bins_have_the_mean_over_their_time(void **state)
{
	struct sl_trace t;
	char err[200];
	double work[8];
	float x[4];

	assert_int_equal(parse("t_start,t_end,bytes\n0,2,100\n1,2,30\n", &t, err), 0);
	sl_trace_bin(&t, 2, work, x);
	assert_true(near((double)x[0], 50, 1e-6) && near((double)x[1], 80, 1e-6));
	sl_trace_free(&t);
	/* Any order of columns; bandwidth; a bin in the middle; an interval without length. */
	assert_int_equal(
		parse("# c\nbandwidth, rank ,t_end,t_start\r\n10,0,3.5,0.5\n\n0,1,4,0\n", &t, err),
		0);
	sl_trace_bin(&t, 4, work, x);
	assert_true(near((double)x[0], 5, 1e-6) && near((double)x[1], 10, 1e-6));
	assert_true(near((double)x[2], 10, 1e-6) && near((double)x[3], 5, 1e-6));
	sl_trace_free(&t);
	assert_int_equal(parse("t_start,t_end,bytes\n0,4,0\n4,4,7\n", &t, err), 0);
	sl_trace_bin(&t, 4, work, x);
	assert_true(near((double)x[3], 7, 1e-6) && !(x[2] > 0));
	sl_trace_free(&t);
}

static void a_mistake_names_its_line(void **state)
{
	static const struct {
		const char *text, *message;
	} wrong[] = {
		{ "", "f:1: empty. The first line is: t_start,t_end,bytes." },
		{ "a,b\n1,2\n", "f:1: no column t_start. The first line names the columns: "
				"t_start,t_end,bytes." },
		{ "t_start,t_end\n1,2\n", "f:1: no column bytes or bandwidth." },
		{ "t_start,t_end,bytes,t_end\n", "f:1: column t_end is there twice." },
		{ "t_start,t_end,bytes\n", "f:1: no intervals after the first line." },
		{ "t_start,t_end,bytes\n\n1,2\n",
		  "f:3: 2 columns, but bytes is column 3 of the first line." },
		{ "t_start,t_end,bytes\n1,2x,3\n", "f:2: t_end '2x' is not a number." },
		{ "t_start,t_end,bytes\n1,,3\n", "f:2: t_end is empty." },
		{ "t_start,t_end,bytes\n1,nan,3\n", "f:2: t_end 'nan' is not a number." },
		{ "t_start,t_end,bytes\n2,1,3\n", "f:2: t_end 1 is before t_start 2." },
		{ "t_start,t_end,bytes\n1,2,-3\n", "f:2: bytes -3 is not between 0 and 1e+24." },
		{ "t_start,t_end,bytes\n1,1,3\n", "f:2: all intervals are at the same time, 1 s." },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct sl_trace t;
		char err[200] = "";

		assert_int_equal(parse(wrong[i].text, &t, err), -EINVAL);
		assert_string_equal(err, wrong[i].message);
		assert_null(t.intervals);
	}
}

static void reference(const char *name, double period_s, double confidence)
{
	struct sl_period_result r;
	struct sl_trace t;
	char path[500], err[600];
	double *work;
	float *x;
	size_t n;

	snprintf(path, sizeof(path), "%s/ftio/%s", getenv("SL_DATA"), name);
	assert_int_equal(sl_trace_load(path, &t, err, sizeof(err)), 0);
	n = sl_trace_bins(&t, 10);
	x = malloc(n * sizeof(*x));
	work = malloc(2 * n * sizeof(*work));
	assert_true(x && work);
	sl_trace_bin(&t, n, work, x);
	find(x, n, (t.end_s - t.start_s) / (double)n, &r);
	assert_true(near(r.period_s, period_s, 0.01));
	assert_true(near(r.confidence, confidence, 0.02));
	free(work);
	free(x);
	sl_trace_free(&t);
}

/* See tests/data/ftio/README.md for FTIO's own figures and where ours differ. */
static void traces_of_ftio(void **state)
{
	reference("custom4_write_sync_intervals.csv", 2.67, 1.0);
	reference("api_test_intervals.csv", 20, 0.80);
	reference("ior8_write_sync_intervals.csv", 1.884, 0.83);
}

/* ---- online ---- */

/* Phases of a fifth of the period from `from` to `to`; reported every 100 ms. */
static void feed(struct sl_period *p, double from_s, double to_s, double period_s)
{
	int steps = (int)ceil((to_s - from_s) / 0.1 - 1e-6);

	for (int i = 0; i < steps; i++)
		sl_period_add(p, (int64_t)((from_s + (i + 1) * 0.1) * 1e9),
			      fmod(i * 0.1, period_s) < period_s / 5 ? 1 << 20 : 0);
}

/* Phases of a tenth of the period, with some jitter, told every 50 ms; when it was found, in s. */
static double found_at(double period_s, double jitter, double most_s, double *confidence)
{
	struct sl_period *p = sl_period_new();
	double at = -1, next = 0;
	uint64_t seed = 42;
	int64_t period_ns = 0;
	unsigned phase = 0;

	for (double t = 0; t < most_s && at < 0; t += 0.05) {
		bool in = t >= next && t < next + period_s / 10;

		if (t >= next + period_s / 10) {
			seed = seed * 6364136223846793005U + 1442695040888963407U;
			next = ++phase * period_s +
			       jitter * period_s * ((double)(seed >> 40) / (1 << 24) - 0.5);
		}
		/* An idle node reports once a second. */
		if (!in && fmod(t, 1) >= 0.05)
			continue;
		sl_period_add(p, (int64_t)(t * 1e9), in ? 5000000 : 0);
		if (sl_period_get(p, (int64_t)(t * 1e9), &period_ns, confidence))
			at = t;
	}
	sl_period_free(p);
	if (at >= 0 && fabs((double)period_ns / 1e9 / period_s - 1) > 0.05)
		at = -2;
	return at;
}

static void a_period_is_found_after_three_of_them(void **state)
{
	static const double periods[] = { 2, 19.2, 384, 3600 };
	double confidence = 0, at;

	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		at = found_at(periods[i], 0, 8 * periods[i], &confidence);
		assert_true(at >= 2.9 * periods[i] && at <= 3.05 * periods[i] + 0.2);
		assert_true(confidence > 0.6 && confidence <= 0.67);
	}
	at = found_at(384, 0.04, 4000, &confidence); /* not quite a clock */
	assert_true(at > 1100 && at < 1200);
	assert_true(confidence > 0.6);
	/* Intervals that differ by half are no period after three of them. */
	at = found_at(384, 0.8, 4.5 * 384, &confidence);
	assert_true(at < 0);
}

static void periods_from_half_a_second_to_an_hour_are_found_online(void **state)
{
	static const double periods[] = { 0.5, 1, 3.3, 10, 47, 200, 900, 3600 };

	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		struct sl_period *p = sl_period_new();
		double confidence = -1;
		int64_t period_ns = -1;

		assert_non_null(p);
		sl_period_add(p, 0, 0);
		assert_false(sl_period_get(p, 0, &period_ns, &confidence));
		assert_true(period_ns == 0 && !(confidence > 0));
		/* Found at the first look after the tenth period, whenever that is. */
		feed(p, 0, 12 * periods[i] + 4, periods[i]);
		assert_true(sl_period_get(p, (int64_t)((12 * periods[i] + 4) * 1e9), &period_ns,
					  &confidence));
		assert_true(near((double)period_ns / 1e9, periods[i], 0.05));
		assert_true(confidence > 0.6 && confidence <= 1);
		sl_period_free(p);
	}
}

static void a_period_stays_until_another_is_found(void **state)
{
	struct sl_period *p = sl_period_new();
	int64_t period_ns;
	double confidence;

	assert_non_null(p);
	feed(p, 0, 200, 10);
	assert_true(sl_period_get(p, 200 * SEC, &period_ns, &confidence));
	assert_true(near((double)period_ns / 1e9, 10, 0.03));
	for (int i = 1; i <= 2000; i++) { /* computes */
		sl_period_add(p, (200 * SEC) + i * (SEC / 10), 0);
		assert_true(
			sl_period_get(p, (200 * SEC) + i * (SEC / 10), &period_ns, &confidence));
	}
	assert_true(near((double)period_ns / 1e9, 10, 0.03));
	for (int at = 400; at < 800; at += 2) { /* another rhythm */
		feed(p, at, at + 2, 2);
		sl_period_get(p, (at + 2) * SEC, &period_ns, &confidence);
	}
	assert_true(near((double)period_ns / 1e9, 2, 0.03));
	sl_period_free(p);
}

static void time_that_stands_still_or_jumps_does_no_harm(void **state)
{
	struct sl_period *p = sl_period_new();
	int64_t period_ns;
	double confidence;

	assert_non_null(p);
	assert_false(sl_period_get(p, 5 * SEC, &period_ns, &confidence));
	sl_period_add(p, 100 * SEC, 1);
	sl_period_add(p, 100 * SEC, 1);
	sl_period_add(p, 50 * SEC, 1);
	sl_period_add(p, 1000000000 * SEC, UINT64_MAX); /* 31 years */
	assert_false(sl_period_get(p, 1000000000 * SEC, &period_ns, &confidence));
	sl_period_free(p);
}

static void a_job_takes_at_most_16_kib(void **state)
{
	assert_true(sl_period_bytes() <= 16384);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_power_of_every_length_is_that_of_the_definition),
		cmocka_unit_test(the_example_of_the_file),
		cmocka_unit_test(correlation_counts_pairs_at_a_lag),
		cmocka_unit_test(sizes_are_even_and_have_no_large_factor),
		cmocka_unit_test(harmonics_do_not_count_and_confidence_is_that_of_ftio),
		cmocka_unit_test(three_dominant_frequencies_are_no_period),
		cmocka_unit_test(the_example_of_the_phases),
		cmocka_unit_test(missing_phases_do_not_change_the_period),
		cmocka_unit_test(a_period_between_two_frequencies_is_exact),
		cmocka_unit_test(a_sine_in_noise_without_phases_is_found),
		cmocka_unit_test(the_rhythm_that_moves_most_bytes_is_the_period),
		cmocka_unit_test(no_signal_is_periodic_that_is_empty_constant_or_short),
		cmocka_unit_test(the_same_bytes_in_other_units_have_the_same_period),
		cmocka_unit_test(bins_have_the_mean_over_their_time),
		cmocka_unit_test(a_mistake_names_its_line),
		cmocka_unit_test(traces_of_ftio),
		cmocka_unit_test(a_period_is_found_after_three_of_them),
		cmocka_unit_test(periods_from_half_a_second_to_an_hour_are_found_online),
		cmocka_unit_test(a_period_stays_until_another_is_found),
		cmocka_unit_test(time_that_stands_still_or_jumps_does_no_harm),
		cmocka_unit_test(a_job_takes_at_most_16_kib),
	};

	return cmocka_run_group_tests_name("period", tests, NULL, NULL);
}
