/* SPDX-License-Identifier: Apache-2.0 */
/* The shadow of observe mode: who would have waited, and why. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sluiced/ionode/shadow.h"

#define MB 1e6
#define DT 0.1

static bool close_to(double a, double b)
{
	return fabs(a - b) < 1e-6 * fmax(1, fabs(b));
}

static void two(struct shadow_job *a, struct shadow_job *b, double capacity_bps, double seconds)
{
	struct shadow_job *all[] = { a, b };

	shadow_step(all, 2, capacity_bps, seconds);
}

static void test_nothing_congested(void **state)
{
	struct shadow_job a = { .weight = 1 }, b = { .weight = 1 };

	for (int i = 0; i < 100; i++) {
		a.arrived_bytes = 4 * MB;
		b.arrived_bytes = 5 * MB;
		two(&a, &b, 100 * MB, DT);
	}
	assert_true(a.waited_s == 0 && b.waited_s == 0 && a.queue_bytes == 0 && b.queue_bytes == 0);
}

static void test_the_large_one_waits(void **state)
{
	struct shadow_job a = { .weight = 1 }, b = { .weight = 1 };

	a.arrived_bytes = 30 * MB;
	b.arrived_bytes = 1 * MB;
	two(&a, &b, 100 * MB, DT);
	assert_true(close_to(a.served_bytes, 9 * MB) && close_to(b.served_bytes, 1 * MB));
	assert_true(close_to(a.waited_s, DT) && close_to(a.contended_s, DT) && a.held_s == 0);
	assert_true(b.waited_s == 0);
	/* Alone it waits behind its own requests: for nobody. */
	two(&a, &b, 100 * MB, DT);
	assert_true(close_to(a.waited_s, 2 * DT) && close_to(a.contended_s, DT));
	two(&a, &b, 100 * MB, DT);
	assert_true(close_to(a.waited_s, 3 * DT));
	two(&a, &b, 100 * MB, DT);
	assert_true(close_to(a.waited_s, 3 * DT));
}

static void test_weights_and_guarantees(void **state)
{
	struct shadow_job a = { .weight = 4 }, b = { .weight = 1 };

	a.arrived_bytes = b.arrived_bytes = 100 * MB;
	two(&a, &b, 100 * MB, DT);
	assert_true(close_to(a.served_bytes, 8 * MB) && close_to(b.served_bytes, 2 * MB));
	b.min_bps = 50 * MB;
	two(&a, &b, 100 * MB, DT);
	assert_true(close_to(b.served_bytes, 6 * MB) && close_to(a.served_bytes, 4 * MB));
}

static void test_max_holds_without_a_capacity(void **state)
{
	struct shadow_job a = { .weight = 1, .max_bps = 10 * MB }, b = { .weight = 1 };

	a.arrived_bytes = b.arrived_bytes = 5 * MB;
	two(&a, &b, 0, DT);
	assert_true(close_to(a.held_s, DT) && close_to(a.waited_s, DT) && a.contended_s == 0);
	assert_true(b.waited_s == 0);
}

static void test_the_queue_is_bounded(void **state)
{
	struct shadow_job a = { .weight = 1 }, b = { .weight = 1 };

	for (int i = 0; i < 1000; i++) {
		a.arrived_bytes = 1000 * MB;
		two(&a, &b, 100 * MB, DT);
		assert_true(a.queue_bytes <= 100 * MB * SHADOW_MOST_S);
	}
	assert_true(close_to(a.waited_s, 1000 * DT) && a.contended_s == 0);
}

/* Whatever arrives: all of the capacity is used while somebody has a queue, and nobody gets more
 * than its max. */
static void test_work_conserving(void **state)
{
	uint64_t seed = 88172645463325252u;

	for (int round = 0; round < 2000; round++) {
		struct shadow_job job[8] = { 0 }, *all[8];
		double served = 0, wanted = 0, capacity = 100 * MB;

		for (int i = 0; i < 8; i++) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			job[i].weight = 1 + (double)(seed % 9);
			job[i].max_bps = seed & 64 ? 1 + (double)(seed % 50) * MB : 0;
			job[i].min_bps = seed & 128 ? (double)(seed % 12) * MB : 0;
			job[i].min_bps = job[i].max_bps > 0 ? fmin(job[i].min_bps, job[i].max_bps)
							    : job[i].min_bps;
			job[i].arrived_bytes = (double)(seed >> 20 & 0xffffff);
			wanted += fmin(job[i].arrived_bytes,
				       job[i].max_bps > 0 ? job[i].max_bps * DT : INFINITY);
			all[i] = &job[i];
		}
		shadow_step(all, 8, capacity, DT);
		for (int i = 0; i < 8; i++) {
			assert_true(job[i].queue_bytes >= -1e-6);
			assert_true(job[i].max_bps <= 0 ||
				    job[i].served_bytes <= job[i].max_bps * DT + 1);
			served += job[i].served_bytes;
		}
		assert_true(fabs(served - fmin(wanted, capacity * DT)) < 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_congested),
		cmocka_unit_test(test_the_large_one_waits),
		cmocka_unit_test(test_weights_and_guarantees),
		cmocka_unit_test(test_max_holds_without_a_capacity),
		cmocka_unit_test(test_the_queue_is_bounded),
		cmocka_unit_test(test_work_conserving),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
