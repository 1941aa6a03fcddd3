/* SPDX-License-Identifier: Apache-2.0 */
/* Max-min fair sharing by virtual time, against what can be worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sim/fluid.h"
#include "sim/granted.h"
#include "tests/unit/near.h"

#define near(is, wanted) near_at(is, wanted, 1e-9, 1e-9, __FILE__, __LINE__)

static struct sl_fluid *fluid(const double *cap_bps, uint32_t n, double capacity_bps)
{
	struct sl_fluid *f;

	assert_int_equal(sl_fluid_create(&f, cap_bps, n), 0);
	sl_fluid_capacity(f, capacity_bps);
	return f;
}

/* The next end: whose, and when. */
static double next(struct sl_fluid *f, uint32_t *id)
{
	double s = sl_fluid_settle(f);

	sl_fluid_advance(f, s);
	*id = sl_fluid_end(f);
	return s;
}

static void worked_example_of_the_file(void **state)
{
	static const double cap[] = { 2, INFINITY, INFINITY };
	struct sl_fluid *f = fluid(cap, 3, 10);
	uint32_t id;

	sl_fluid_start(f, 0, 6);
	sl_fluid_start(f, 1, 8);
	sl_fluid_start(f, 2, 8);
	near(next(f, &id), 2);
	assert_int_equal(id, 1);
	assert_int_equal(sl_fluid_end(f), 2);
	assert_int_equal(sl_fluid_end(f), SL_NO_TRANSFER);
	near(sl_fluid_left_bytes(f, 0, 2), 2);
	near(next(f, &id), 3);
	assert_int_equal(id, 0);
	assert_true(sl_fluid_settle(f) == INFINITY);
	near(sl_fluid_moved_bytes(f), 22);
	sl_fluid_destroy(f);
}

static void a_class_is_capped_and_open_again(void **state)
{
	static const double cap[] = { 4, INFINITY, INFINITY, INFINITY };
	struct sl_fluid *f = fluid(cap, 4, 12);
	uint32_t id;

	/* 4 and 8; then four times 3; then 4 and 4 and 4. */
	sl_fluid_start(f, 0, 100);
	sl_fluid_start(f, 1, 1000);
	near(sl_fluid_settle(f), 25);
	sl_fluid_advance(f, 10);
	near(sl_fluid_left_bytes(f, 0, 10), 60);
	near(sl_fluid_left_bytes(f, 1, 10), 920);
	sl_fluid_start(f, 2, 15);
	sl_fluid_start(f, 3, 900);
	near(sl_fluid_settle(f), 15);
	near(sl_fluid_rate_bps(f), 12);
	near(sl_fluid_left_bytes(f, 0, 14), 48);
	near(next(f, &id), 15);
	assert_int_equal(id, 2);
	near(sl_fluid_settle(f), 15 + 45 / 4.0);
	near(next(f, &id), 26.25);
	assert_int_equal(id, 0);
	/* 905 - 45 and 885 - 45 are left, at 6 each. */
	near(next(f, &id), 26.25 + 840 / 6.0);
	assert_int_equal(id, 3);
	sl_fluid_cancel(f, 1);
	assert_true(sl_fluid_settle(f) == INFINITY);
	sl_fluid_destroy(f);
}

static void all_below_their_caps_is_less_than_the_capacity(void **state)
{
	static const double cap[] = { 1, 2, 3 };
	struct sl_fluid *f = fluid(cap, 3, 100);
	uint32_t id;

	for (uint32_t i = 0; i < 3; i++)
		sl_fluid_start(f, i, 6);
	near(sl_fluid_settle(f), 2);
	near(sl_fluid_rate_bps(f), 6);
	near(next(f, &id), 2);
	assert_int_equal(id, 2);
	near(next(f, &id), 3);
	assert_int_equal(id, 1);
	near(next(f, &id), 6);
	assert_int_equal(id, 0);
	sl_fluid_destroy(f);
}

static void capacity_can_change(void **state)
{
	static const double cap[] = { 4, INFINITY };
	struct sl_fluid *f = fluid(cap, 2, 12);

	sl_fluid_start(f, 0, 40);
	sl_fluid_start(f, 1, 80);
	near(sl_fluid_settle(f), 10);
	sl_fluid_advance(f, 5);
	sl_fluid_capacity(f, 4);
	near(sl_fluid_settle(f), 5 + 20 / 2.0);
	near(sl_fluid_left_bytes(f, 1, 15), 20);
	sl_fluid_advance(f, 10);
	sl_fluid_capacity(f, 100);
	near(sl_fluid_settle(f), 10 + 30 / 96.0);
	sl_fluid_destroy(f);
}

/* Long enough for the clocks to be set back a hundred times, without a moment of rest. */
static void clocks_that_are_set_back_change_nothing(void **state)
{
	static const double cap[] = { 2, INFINITY };
	struct sl_fluid *f = fluid(cap, 2, 5);
	double s = 0;
	uint32_t id;

	sl_fluid_start(f, 0, 1);
	sl_fluid_start(f, 1, 9);
	for (int i = 0; i < 100000; i++) {
		s = next(f, &id);
		assert_true(id < 2);
		sl_fluid_start(f, id, id ? 9 : 1);
		if (sl_fluid_end(f) != SL_NO_TRANSFER)
			sl_fluid_start(f, !id, id ? 1 : 9);
	}
	/* 2 bytes and 3 bytes a second. */
	near(sl_fluid_moved_bytes(f), 5 * s);
	assert_true(fabs(s * 2 - round(s * 2)) < 1e-6);
	sl_fluid_destroy(f);
}

static void many_classes_are_found_in_order(void **state)
{
	enum { N = 1000 };
	double *cap = calloc(N, sizeof(*cap));
	struct sl_fluid *f;
	uint32_t id;

	assert_non_null(cap);
	for (uint32_t i = 0; i < N; i++)
		cap[i] = N - i; /* the other way round */
	f = fluid(cap, N, 1e9);
	for (uint32_t i = 0; i < N; i += 97)
		sl_fluid_start(f, i, 1000);
	for (uint32_t i = 0; i < N; i += 97) {
		near(next(f, &id), 1000.0 / (N - i));
		assert_int_equal(id, i);
	}
	sl_fluid_destroy(f);
	free(cap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worked_example_of_the_file),
		cmocka_unit_test(a_class_is_capped_and_open_again),
		cmocka_unit_test(all_below_their_caps_is_less_than_the_capacity),
		cmocka_unit_test(capacity_can_change),
		cmocka_unit_test(clocks_that_are_set_back_change_nothing),
		cmocka_unit_test(many_classes_are_found_in_order),
	};

	return cmocka_run_group_tests_name("fluid", tests, NULL, NULL);
}
