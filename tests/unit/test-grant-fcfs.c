/* SPDX-License-Identifier: Apache-2.0 */
/* grant/fcfs: in order of asking. SL_SEED=number repeats a failure. */
#include "grant-rig.h"

/* The example of fcfs.c. */
static void who_asked_first_is_served_first(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_fcfs, 10, END);
	grant_add(&g, 6)->asked = 3 * SEC;
	grant_add(&g, 6)->asked = 1 * SEC;
	grant_add(&g, 2)->asked = 2 * SEC;
	grant_expect(&g, 2, 6, 2);
	assert_int_equal(g.wake, SL_NEVER);
	g.capacity = 6;
	grant_expect(&g, 0, 6, 0);
	grant_close(&g);
}

static void of_two_that_asked_together_the_lower_id_is_first(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_fcfs, 10, END);
	for (unsigned i = 0; i < 5; i++)
		grant_add(&g, 4);
	grant_expect(&g, 4, 4, 2, 0, 0);
	grant_close(&g);
}

static void a_nanosecond_decides_even_late_on_the_clock(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_fcfs, 10, END);
	g.now = INT64_C(1) << 61;
	grant_add(&g, 10)->asked = g.now - 99;
	grant_add(&g, 10)->asked = g.now - 100;
	grant_expect(&g, 0, 10);
	grant_close(&g);
}

static int by_asked(const void *a, const void *b)
{
	const struct sl_io_job *x = *(struct sl_io_job *const *)a,
			       *y = *(struct sl_io_job *const *)b;

	if (x->asked != y->asked)
		return x->asked < y->asked ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static void any_number_of_jobs_agrees_with_a_sorted_list(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 10, 100, 1000, JOBS };
	struct grant g;

	for (unsigned round = 0; round < 70; round++) {
		uint32_t n = sizes[round % 7];
		double left;

		grant_open(&g, &sl_grant_fcfs, 1000, END);
		g.random += round;
		for (uint32_t i = 0; i < n; i++)
			grant_add(&g, rnd_real(&g, 1, 4000.0 / n + 2))->asked -=
				(sl_time)rnd_below(&g, round & 8 ? 5 : 500 * SEC);
		grant_decide(&g);
		left = g.capacity;
		qsort(g.order, n, sizeof(struct sl_io_job *), by_asked);
		for (uint32_t i = 0; i < n; i++) {
			double cap = g.order[i]->cap_bps, want = cap < left ? cap : left;

			check(&g, g.order[i]->rate_bps > want - 1e-6);
			check(&g, g.order[i]->rate_bps < want + 1e-6);
			left -= want;
		}
		grant_close(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_asked_first_is_served_first),
		cmocka_unit_test(of_two_that_asked_together_the_lower_id_is_first),
		cmocka_unit_test(a_nanosecond_decides_even_late_on_the_clock),
		cmocka_unit_test(any_number_of_jobs_agrees_with_a_sorted_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
