/* SPDX-License-Identifier: Apache-2.0 */
/* Operations: keys and logarithms (wire/ops.h), and finding how many a file system takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "detect/ops.h"
#include "wire/ops.h"

static void keys_are_those_of_a_job(void **state)
{
	struct sl_ops_conf c = { .min_ops = 0 };

	(void)state;
	assert_int_equal(sl_ops_key(&c, "max_ops", "500"), 0);
	assert_int_equal(c.max[SL_METER_OPS], 500);
	assert_int_equal(sl_ops_key(&c, "max_create", "20k"), 0);
	assert_int_equal(c.max[SL_CREATE], 20000);
	assert_int_equal(sl_ops_key(&c, "max_write", "1.5MB/s"), 0);
	assert_int_equal(c.max[SL_METER_WRITE], 1500000);
	assert_int_equal(sl_ops_key(&c, "min_ops", "2M"), 0);
	assert_int_equal(c.min_ops, 2000000);
	assert_int_equal(sl_ops_key(&c, "max", "500"), -ENOENT);
	assert_int_equal(sl_ops_key(&c, "max_iops", "-1"), -EINVAL);
	assert_int_equal(sl_ops_key(&c, "max_iops", "1.5"), -EINVAL);
	assert_int_equal(sl_ops_key(&c, "max_iops", ""), -EINVAL);
	assert_int_equal(sl_ops_key(&c, "max_iops", "5MB/s"), -EINVAL);
	assert_int_equal(sl_ops_key(&c, "max_iops", "1001M"), -EINVAL);
	assert_int_equal(c.max[SL_METER_IOPS], 0);
}

static void logarithms_are_near(void **state)
{
	(void)state;
	for (uint64_t ns = 100; ns < UINT64_C(1) << 40; ns += ns / 7)
		assert_true(fabs((double)sl_ops_log(ns) / SL_OPS_LOG - log2((double)ns)) < 0.15);
}

/* A server that takes `rate` operations per second, one after the other, and 16 callers. */
#define SERVER 20000.0

struct world {
	struct sl_ops_find find;
	double limit;
	double slow; /* times the least, in the last step */
};

static void step(struct world *w, uint32_t jobs, double asked)
{
	double rate = w->limit > 0 && w->limit < asked ? w->limit : asked, ns;
	struct sl_ops_step s = { .took_ns = SL_OPS_STEP_NS, .jobs = jobs };

	/* A queue of up to 16 when it is full, and by its load below that. */
	if (rate >= SERVER * 0.98)
		ns = 16e9 / SERVER;
	else
		ns = 1e9 / SERVER / (1 - rate / SERVER);
	ns = ns < 16e9 / SERVER ? ns : 16e9 / SERVER;
	rate = rate < SERVER ? rate : SERVER;
	s.made = (uint64_t)(rate / 10);
	s.calls[SL_LOOKUP] = s.made / 16;
	s.log2[SL_LOOKUP] = (double)s.calls[SL_LOOKUP] * log2(ns);
	w->limit = sl_ops_find_step(&w->find, &s);
	w->slow = ns * SERVER / 1e9;
}

static void a_storm_is_held_until_operations_are_fast(void **state)
{
	struct world w = { .limit = 0 };
	double sum = 0, slow = 0;

	(void)state;
	for (int i = 0; i < 50; i++) /* the storm by itself */
		step(&w, 1, 1e6);
	assert_true(w.limit <= 0);
	for (int i = 0; i < 100; i++) /* somebody else comes: the least is not known yet */
		step(&w, 2, 1e6);
	for (int i = 0; i < 300; i++) {
		step(&w, 2, 1e6);
		assert_true(w.limit > 0);
		sum += w.limit / 300;
		slow += w.slow / 300;
	}
	/* Neither crowded nor idle. */
	assert_true(slow < 4);
	assert_true(sum > 0.2 * SERVER && sum < 0.95 * SERVER);
	step(&w, 1, 1e6); /* it is alone again */
	assert_true(w.limit <= 0);
}

static void operations_that_fit_are_left_alone(void **state)
{
	struct world w = { .limit = 0 };
	int held = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		step(&w, 2, 0.2 * SERVER);
		held += w.limit > 0 && w.limit < 0.2 * SERVER;
	}
	assert_true(held < 60); /* tries, and nothing else */
	for (int i = 0; i < 300; i++) {
		step(&w, 3, 100); /* few */
		assert_true(w.limit <= 0 || w.limit > 150);
	}
}

static void a_limit_that_nobody_reaches_is_given_up(void **state)
{
	struct world w = { .limit = 0 };

	(void)state;
	for (int i = 0; i < 200; i++)
		step(&w, 2, 1e6);
	assert_true(w.limit > 0);
	for (int i = 0; i < 150; i++)
		step(&w, 2, 0.05 * SERVER);
	assert_true(w.limit <= 0 || w.limit > 0.05 * SERVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_those_of_a_job),
		cmocka_unit_test(logarithms_are_near),
		cmocka_unit_test(a_storm_is_held_until_operations_are_fast),
		cmocka_unit_test(operations_that_fit_are_left_alone),
		cmocka_unit_test(a_limit_that_nobody_reaches_is_given_up),
	};

	return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}
