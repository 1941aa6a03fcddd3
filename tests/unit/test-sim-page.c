/* SPDX-License-Identifier: Apache-2.0 */
/* What `sluice sim` makes of its runs: means with their intervals, and what a page shows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab/statistics.h"
#include "lab/study/sim.h"
#include "tests/unit/near.h"

/* ---- means ---- */

/* By tables of the distribution. */
static void the_quantiles_are_those_of_student(void **state)
{
	static const struct {
		uint32_t freedom;
		double t;
	} known[] = {
		{ 1, 12.7062 }, { 2, 4.3027 },	{ 4, 2.7764 },	{ 5, 2.5706 },
		{ 9, 2.2622 },	{ 29, 2.0452 }, { 99, 1.9842 }, { 1000000, 1.95997 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		near_to(stat_student(known[i].freedom, 0.95), known[i].t, 1e-4);
}

static void three_values_have_a_mean_and_an_interval(void **state)
{
	const double values[] = { 1, 2, 6 };
	struct sim_estimate e = sim_estimate(values, 3);

	near_to(e.mean, 3, 1e-12);
	near_to(e.ci95, 6.5724, 1e-4);
}

static void one_value_has_no_interval_and_none_no_mean(void **state)
{
	const double values[] = { NAN, 7, INFINITY };
	struct sim_estimate e = sim_estimate(values, 2);

	near_to(e.mean, 7, 0);
	assert_true(isnan(e.ci95));
	e = sim_estimate(values, 3);
	assert_true(isinf(e.mean) && isnan(e.ci95));
	e = sim_estimate(values, 1);
	assert_true(isnan(e.mean) && isnan(e.ci95));
}

/* ---- what is kept of a run ---- */

/* Of one row: its blocks follow each other; the sums by activity go into sum. */
static uint32_t row_sums(const struct sim_trace *t, uint32_t row, double sum[3])
{
	double at = 0;
	uint32_t n = 0;

	sum[0] = sum[1] = sum[2] = 0;
	for (uint32_t i = t->first[row]; i != UINT32_MAX; i = t->block[i].next) {
		const struct sim_block *b = &t->block[i];

		assert_int_equal(b->app, row);
		assert_true(b->from_s >= at - 1e-6 && b->to_s > b->from_s);
		at = b->to_s;
		for (int k = 0; k < 3; k++)
			sum[k] += (double)b->share[k] * (b->to_s - b->from_s);
		n++;
	}
	return n;
}

static void a_few_phases_stay_as_they_are(void **state)
{
	struct sim_trace *t = sim_trace_create(2, 100);
	double sum[3];

	assert_non_null(t);
	t->sink.segment(t->sink.arg, 0, SL_COMPUTES, 0, 5, 0);
	t->sink.segment(t->sink.arg, 1, SL_COMPUTES, 1, 5.5, 0);
	t->sink.segment(t->sink.arg, 0, SL_TRANSFERS, 5, 6, 50);
	t->sink.segment(t->sink.arg, 0, SL_TRANSFERS, 6, 8, 100); /* the same goes on */
	t->sink.segment(t->sink.arg, 1, SL_STALLED, 5.5, 8, 0);
	t->sink.segment(t->sink.arg, 7, SL_TRANSFERS, 8, 10, 10); /* not one of the rows */
	assert_int_equal(row_sums(t, 0, sum), 2);
	near_to(sum[SL_COMPUTES], 5, 0);
	near_to(sum[SL_TRANSFERS], 3, 0);
	assert_int_equal(row_sums(t, 1, sum), 2);
	near_to(sum[SL_STALLED], 2.5, 0);
	near_to(t->merged_s, 0, 0);
	near_to(t->end_s, 10, 0);
	sim_trace_free(t);
}

static void a_million_phases_keep_their_time_and_bytes_in_little_room(void **state)
{
	enum { ROWS = 30, ROUNDS = 12000, ROOM = 1000 };
	struct sim_trace *t = sim_trace_create(ROWS, ROOM);
	double sum[3], bytes = 0;

	assert_non_null(t);
	for (unsigned i = 0; i < ROUNDS; i++)
		for (uint32_t row = 0; row < ROWS; row++) {
			double at = i * 10 + row * 0.01, work = 6 + row % 3;

			t->sink.segment(t->sink.arg, row, SL_COMPUTES, at, at + work, 0);
			t->sink.segment(t->sink.arg, row, SL_STALLED, at + work, at + 9, 0);
			t->sink.segment(t->sink.arg, row, SL_TRANSFERS, at + 9, at + 10, 1000);
			t->sink.moved(t->sink.arg, at + 9, at + 10, 1000);
		}
	assert_true(t->count <= ROOM);
	assert_true(t->merged_s > 0);
	for (uint32_t row = 0; row < ROWS; row++) {
		assert_true(row_sums(t, row, sum) >= 8);
		near_to(sum[SL_COMPUTES], ROUNDS * (6.0 + row % 3), ROUNDS * 1e-3);
		near_to(sum[SL_STALLED], ROUNDS * (3.0 - row % 3), ROUNDS * 1e-3);
		near_to(sum[SL_TRANSFERS], ROUNDS, ROUNDS * 1e-3);
	}
	for (unsigned i = 0; i < SIM_BINS; i++)
		bytes += t->bytes[i];
	near_to(bytes, 1000.0 * ROUNDS * ROWS, 1);
	sim_trace_free(t);
}

/* Long ones between many short ones are not blurred. */
static void a_long_phase_stays_exact_when_short_ones_are_merged(void **state)
{
	struct sim_trace *t = sim_trace_create(1, 64);
	double at = 0;
	unsigned found = 0;

	assert_non_null(t);
	for (unsigned i = 0; i < 5000; i++) {
		double work = i % 1000 == 500 ? 2000 : 1;

		t->sink.segment(t->sink.arg, 0, SL_COMPUTES, at, at + work, 0);
		t->sink.segment(t->sink.arg, 0, SL_TRANSFERS, at + work, at + work + 1, 10);
		at += work + 1;
	}
	for (uint32_t i = t->first[0]; i != UINT32_MAX; i = t->block[i].next)
		if (t->block[i].share[SL_COMPUTES] >= 1 &&
		    fabs(t->block[i].to_s - t->block[i].from_s - 2000) < 1e-6)
			found++;
	assert_true(t->merged_s > 0 && t->merged_s < 2000);
	assert_int_equal(found, 5);
	sim_trace_free(t);
}

static void bandwidth_is_where_it_was(void **state)
{
	struct sim_trace *t = sim_trace_create(1, 64);

	assert_non_null(t);
	t->sink.moved(t->sink.arg, 0, 10, 500);
	t->sink.moved(t->sink.arg, 10, 90, 0);
	t->sink.moved(t->sink.arg, 90, 95, 500); /* two servers */
	t->sink.moved(t->sink.arg, 90, 100, 1000);
	t->sink.moved(t->sink.arg, 95, 100, 500);
	for (unsigned i = 0; i < SIM_BINS; i++) {
		double from = i * t->bin_s, to = from + t->bin_s, rate = t->bytes[i] / t->bin_s;

		if (to <= 10)
			near_to(rate, 50, 1e-6);
		else if (from >= 10 && to <= 90)
			near_to(rate, 0, 0);
		else if (from >= 90 && to <= 100)
			near_to(rate, 200, 1e-6);
	}
	assert_true(t->bin_s * SIM_BINS >= 100 && t->bin_s * SIM_BINS <= 400);
	sim_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_quantiles_are_those_of_student),
		cmocka_unit_test(three_values_have_a_mean_and_an_interval),
		cmocka_unit_test(one_value_has_no_interval_and_none_no_mean),
		cmocka_unit_test(a_few_phases_stay_as_they_are),
		cmocka_unit_test(a_million_phases_keep_their_time_and_bytes_in_little_room),
		cmocka_unit_test(a_long_phase_stays_exact_when_short_ones_are_merged),
		cmocka_unit_test(bandwidth_is_where_it_was),
	};

	return cmocka_run_group_tests_name("sim-page", tests, NULL, NULL);
}
