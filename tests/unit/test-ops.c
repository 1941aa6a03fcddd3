/* SPDX-License-Identifier: Apache-2.0 */
/* Operations: keys (wire/ops.h), and when jobs with many of them are held (detect/ops.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "detect/ops.h"
#include "wire/ops.h"

static void keys_are_those_of_a_job(void **state)
{
	struct sl_ops_conf c = { .min = { 0 } };

	assert_int_equal(sl_ops_key(&c, "max_ops", "500"), 0);
	assert_int_equal(c.max[SL_METER_OPS], 500);
	assert_int_equal(sl_ops_key(&c, "max_create", "20k"), 0);
	assert_int_equal(c.max[SL_CREATE], 20000);
	assert_int_equal(sl_ops_key(&c, "max_write", "1.5MB/s"), 0);
	assert_int_equal(c.max[SL_METER_WRITE], 1500000);
	assert_int_equal(sl_ops_key(&c, "min_ops", "2M"), 0);
	assert_int_equal(c.min[SL_METER_OPS], 2000000);
	assert_false(sl_ops_own(&c, SL_LIST));
	assert_int_equal(sl_ops_key(&c, "min_list", "5"), 0);
	assert_true(sl_ops_own(&c, SL_LIST));
	assert_int_equal(sl_ops_min(&c), 2000005);
	assert_int_equal(sl_ops_key(&c, "weight_create", "4"), 0);
	assert_true(sl_ops_own(&c, SL_CREATE));
	assert_int_equal(sl_ops_key(&c, "weight_create", "2M"), -EINVAL);
	assert_int_equal(sl_ops_key(&c, "max", "500"), -ENOENT);
	assert_int_equal(sl_ops_key(&c, "max_iops", "-1"), -EINVAL);
	assert_int_equal(sl_ops_key(&c, "max_iops", "1.5"), -EINVAL);
	assert_int_equal(sl_ops_key(&c, "max_iops", ""), -EINVAL);
	assert_int_equal(sl_ops_key(&c, "max_iops", "5MB/s"), -EINVAL);
	assert_int_equal(sl_ops_key(&c, "max_iops", "1001M"), -EINVAL);
	assert_int_equal(c.max[SL_METER_IOPS], 0);
}

/*
 * A server that takes SERVER operations per second, one after the other. Jobs ask for `asked` per
 * second and get it in turn; the time of an operation grows with the load, to that of a full queue.
 */
#define SERVER 20000.0
#define FULL   16

struct world {
	struct sl_ops_find find;
	struct sl_ops_job job[3];
	double asked[3];
	uint32_t jobs;
	double limit;
	bool cpu;    /* what is slow has nothing to do with the others */
	double slow; /* times the least, in the last step */
};

static double at_most(double x, double most)
{
	return x < most ? x : most;
}

static void step(struct world *w)
{
	struct sl_ops_job *jobs[3];
	double left = w->limit > 0 ? at_most(w->limit, SERVER) : SERVER, sum = 0, rate[3] = { 0 },
	       ns;

	for (uint32_t i = 0; i < w->jobs; i++) {
		rate[i] = at_most(w->asked[i], left); /* the small ones first */
		left -= rate[i];
		sum += rate[i];
	}
	ns = sum >= SERVER * 0.98 ? FULL : at_most(1 + 0.5 * sum / (SERVER - sum), FULL);
	if (w->cpu)
		ns = 4;
	w->slow = ns;
	ns *= 1e9 / SERVER;
	for (uint32_t i = 0; i < w->jobs; i++) {
		struct sl_ops_job *j = jobs[i] = &w->job[i];

		j->made = (uint64_t)(rate[i] / 10);
		j->weight = 1;
		j->calls[SL_LOOKUP] = j->made;
		j->ns[SL_LOOKUP] = (uint64_t)((double)j->made * ns);
	}
	w->limit = sl_ops_find_step(&w->find, jobs, w->jobs, SL_OPS_STEP_NS);
}

static void a_storm_is_held_until_others_are_fast(void **state)
{
	struct world w = { .jobs = 2, .asked = { 0, 1e6 } };
	double sum = 0, slow = 0;

	for (int i = 0; i < 50; i++) /* the storm by itself */
		step(&w);
	assert_true(w.limit <= 0);
	w.asked[0] = 500; /* somebody else comes: the least is not known yet */
	for (int i = 0; i < 100; i++)
		step(&w);
	for (int i = 0; i < 300; i++) {
		step(&w);
		assert_true(w.limit > 0);
		sum += w.limit / 300;
		slow += w.slow / 300;
	}
	/* Neither crowded nor idle. */
	assert_true(slow < 2);
	assert_true(sum > 0.2 * SERVER && sum < 0.95 * SERVER);
	w.asked[0] = 0; /* it is alone again */
	for (int i = 0; i < 20; i++)
		step(&w);
	assert_true(w.limit <= 0);
}

static void a_storm_that_comes_later_is_held_at_once(void **state)
{
	struct world w = { .jobs = 2, .asked = { 500, 0 } };

	for (int i = 0; i < 50; i++)
		step(&w);
	assert_true(w.limit <= 0);
	w.asked[1] = 1e6;
	for (int i = 0; i < 30; i++)
		step(&w);
	assert_true(w.limit > 0 && w.slow < 2);
}

static void a_weight_says_who_is_judged(void **state)
{
	struct world w = { .jobs = 2, .asked = { 5000, 1e6 } };
	struct sl_ops_job *jobs[2] = { &w.job[0], &w.job[1] };

	for (int i = 0; i < 8; i++)
		step(&w);
	assert_true(w.job[0].small);
	w.job[1].weight = 10;
	w.job[0].made = w.job[1].made = 1000;
	sl_ops_find_step(&w.find, jobs, 2, SL_OPS_STEP_NS);
	assert_true(!w.job[0].small);
}

/* What is slow has another cause: the limit falls, nothing comes of it, and tries become rare. */
static void a_limit_without_effect_is_given_up(void **state)
{
	struct world w = { .jobs = 2, .asked = { 500, 10000 } };
	int held = 0;

	for (int i = 0; i < 50; i++)
		step(&w);
	w.cpu = true;
	for (int i = 0; i < 100; i++)
		step(&w);
	assert_true(w.limit <= 0);
	for (int i = 0; i < 6000; i++) { /* ten minutes */
		step(&w);
		held += w.limit > 0;
	}
	assert_true(held < 120);
}

static void operations_that_fit_are_left_alone(void **state)
{
	struct world w = { .jobs = 2, .asked = { 500, 0.3 * SERVER } };
	int held = 0;

	for (int i = 0; i < 6000; i++) {
		step(&w);
		held += w.limit > 0;
	}
	assert_true(held > 0 && held < 120); /* tries, and nothing else */
	w.asked[0] = 2;			     /* few */
	w.asked[1] = 10;
	for (int i = 0; i < 300; i++) {
		step(&w);
		assert_true(w.limit <= 0);
	}
}

static void a_limit_that_nobody_reaches_is_given_up(void **state)
{
	struct world w = { .jobs = 2, .asked = { 500, 1e6 } };

	for (int i = 0; i < 200; i++)
		step(&w);
	assert_true(w.limit > 0);
	w.asked[1] = 0.05 * SERVER;
	for (int i = 0; i < 150; i++)
		step(&w);
	assert_true(w.limit <= 0 || w.limit > 0.05 * SERVER);
}

/* One call in twenty that takes twenty times as long is a storm, too; one in a thousand is none. */
static void the_tail_counts_up_to_a_bound(void **state)
{
	struct sl_ops_job j = { .weight = 1 }, *jobs[] = { &j };
	struct sl_ops_find f = { .limit = 0 };

	j.made = j.calls[SL_LOOKUP] = 1000;
	j.ns[SL_LOOKUP] = 1000 * 1000;
	for (int i = 0; i < 10; i++)
		sl_ops_find_step(&f, jobs, 1, SL_OPS_STEP_NS);
	j.ns[SL_LOOKUP] = 950 * 1000 + 50 * 16000;
	for (int i = 0; i < 50; i++)
		sl_ops_find_step(&f, jobs, 1, SL_OPS_STEP_NS);
	assert_true(j.slow > 1.7 && j.slow < 1.8);
	j.ns[SL_LOOKUP] = 999 * 1000 + 16000;
	for (int i = 0; i < 50; i++)
		sl_ops_find_step(&f, jobs, 1, SL_OPS_STEP_NS);
	assert_true(j.slow < 1.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_those_of_a_job),
		cmocka_unit_test(a_storm_is_held_until_others_are_fast),
		cmocka_unit_test(a_storm_that_comes_later_is_held_at_once),
		cmocka_unit_test(a_weight_says_who_is_judged),
		cmocka_unit_test(a_limit_without_effect_is_given_up),
		cmocka_unit_test(operations_that_fit_are_left_alone),
		cmocka_unit_test(a_limit_that_nobody_reaches_is_given_up),
		cmocka_unit_test(the_tail_counts_up_to_a_bound),
	};

	return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}
