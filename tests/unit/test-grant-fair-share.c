/* SPDX-License-Identifier: Apache-2.0 */
/* grant/fair-share: equal rates up to the caps. SL_SEED=number repeats a failure. */
#include "grant-rig.h"

static void a_job_alone_gets_what_it_can_use(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_fair_share, 10, END);
	grant_add(&g, 7);
	grant_expect(&g, 7);
	g.jobs[0].cap_bps = 10;
	grant_expect(&g, 10);
	assert_int_equal(g.wake, SL_NEVER);
	grant_close(&g);
}

/* The example of list.c. */
static void what_one_cannot_use_goes_to_the_others(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_fair_share, 10, END);
	grant_add(&g, 1);
	grant_add(&g, 2);
	grant_add(&g, 6);
	grant_add(&g, 9);
	grant_expect(&g, 1, 2, 3.5, 3.5);
	g.capacity = 18;
	grant_expect(&g, 1, 2, 6, 9);
	g.capacity = 100;
	grant_expect(&g, 1, 2, 6, 9);
	g.capacity = 2;
	grant_expect(&g, 0.5, 0.5, 0.5, 0.5);
	grant_close(&g);
}

static void a_large_job_gets_no_more_than_a_small_one(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_fair_share, 10, END);
	grant_add(&g, 10)->procs = 4096;
	grant_add(&g, 10)->asked -= 100 * SEC;
	grant_expect(&g, 5, 5);
	grant_close(&g);
}

static void with_nobody_there_is_nothing_to_decide(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_fair_share, 10, END);
	grant_decide(&g);
	assert_int_equal(g.wake, SL_NEVER);
	grant_close(&g);
}

static void any_number_of_jobs_agrees_with_raising_the_level_step_by_step(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 10, 100, 1000, JOBS };
	struct grant g;

	for (unsigned round = 0; round < 70; round++) {
		uint32_t n = sizes[round % 7];
		double level = 0, left;
		bool more = true;

		grant_open(&g, &sl_grant_fair_share, 1000, END);
		g.random += round;
		for (uint32_t i = 0; i < n; i++)
			grant_add(&g, round & 8 ? (double)(1 + rnd_below(&g, 5))
						: rnd_real(&g, 1e-3, 4000.0 / n));
		grant_decide(&g);
		while (more) { /* those that a level leaves at their caps, until it rises no more */
			double uncapped = 0, next;

			left = g.capacity;
			for (uint32_t i = 0; i < n; i++) {
				if (g.jobs[i].cap_bps <= level)
					left -= g.jobs[i].cap_bps;
				else
					uncapped++;
			}
			next = uncapped > 0 ? left / uncapped : level;
			more = next > level * (1 + 1e-12);
			level = next;
		}
		for (uint32_t i = 0; i < n; i++) {
			double cap = g.jobs[i].cap_bps, want = cap < level ? cap : level;

			check(&g, g.jobs[i].rate_bps > want * (1 - 1e-9));
			check(&g, g.jobs[i].rate_bps < want * (1 + 1e-9));
		}
		grant_close(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_alone_gets_what_it_can_use),
		cmocka_unit_test(what_one_cannot_use_goes_to_the_others),
		cmocka_unit_test(a_large_job_gets_no_more_than_a_small_one),
		cmocka_unit_test(with_nobody_there_is_nothing_to_decide),
		cmocka_unit_test(any_number_of_jobs_agrees_with_raising_the_level_step_by_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
