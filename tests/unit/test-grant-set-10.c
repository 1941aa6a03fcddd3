/* SPDX-License-Identifier: Apache-2.0 */
/* grant/set-10: one at a time in a set, sets by priority. */
#include "grant-rig.h"

static struct sl_io_job *job(struct grant *g, double cap, double period_s, sl_time asked)
{
	struct sl_io_job *j = grant_add(g, cap);

	j->period_ns = (sl_time)(period_s * 1e9);
	j->asked = asked;
	return j;
}

/* The example of set-10.c. */
static void sets_share_by_priority_and_in_a_set_the_first_is_alone(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_set_10, 110, END);
	job(&g, 110, 19.2, 30);
	job(&g, 110, 384, 10);
	job(&g, 110, 384, 20);
	grant_expect(&g, 110 * 0.1 / 0.101, 110 * 0.001 / 0.101, 0);
	assert_int_equal(g.wake, SL_NEVER);
	g.n = 2;
	g.jobs[0] = g.jobs[2]; /* A computes */
	grant_expect(&g, 0, 110);
	grant_close(&g);
}

static void what_the_first_cannot_use_goes_to_the_next_and_to_other_sets(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_set_10, 110, END);
	job(&g, 50, 19.2, 30);
	job(&g, 50, 384, 10);
	job(&g, 50, 384, 20);
	grant_expect(&g, 50, 50, 10);
	g.capacity = 50.5; /* A cannot have all of its 50; B the rest */
	grant_expect(&g, 50, 0.5, 0);
	g.capacity = 200;
	grant_expect(&g, 50, 50, 50);
	grant_close(&g);
}

/* Within a set the one with the lower id is alone, so equal sets show as one of two with 0. */
static void sets_are_powers_of_ten_to_the_nearest(void **state)
{
	static const struct {
		double a, b;
		bool together;
	} cases[] = {
		{ 10, 31.62, true },	 { 3.17, 31.6, true },	{ 31.62, 31.63, false },
		{ 3.162, 3.163, false }, { 0.32, 3.16, true },	{ 0.0317, 0.316, true },
		{ 1e-9, 3e-9, true },	 { 3e-9, 4e-9, false }, { 4e8, 3e9, true },
		{ 3e9, 4e9, false },	 { 4e9, 9e9, true },
	};
	struct grant g;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		grant_open(&g, &sl_grant_set_10, 100, END);
		job(&g, 100, cases[i].a, 5);
		job(&g, 100, cases[i].b, 5);
		if (cases[i].together)
			grant_expect(&g, 100, 0);
		else
			grant_expect(&g, 1000 / 11.0, 100 / 11.0);
		grant_close(&g);
	}
}

static void a_job_of_unknown_period_is_a_set_of_its_own(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_set_10, 140, END);
	job(&g, 140, 10, 30);
	job(&g, 140, 0, 10);
	job(&g, 140, 0, 20);
	grant_expect(&g, 100, 20, 20); /* 5 to 1 to 1 */
	g.jobs[1].cap_bps = 5;
	grant_expect(&g, 100, 5, 35);
	grant_close(&g);
}

static void priorities_far_apart_leave_something_for_everybody(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_set_10, 1e11, END);
	for (unsigned i = 0; i < 7; i++)
		job(&g, 1e11, 1e-3, 5)->period_ns = (sl_time)1e6;
	for (unsigned i = 0; i < 7; i++)
		for (unsigned k = 0; k < i; k++)
			g.jobs[i].period_ns *= 10;
	grant_decide(&g);
	for (unsigned i = 1; i < 7; i++)
		check(&g, g.jobs[i].rate_bps > g.jobs[i - 1].rate_bps * 0.0999999 &&
				  g.jobs[i].rate_bps < g.jobs[i - 1].rate_bps * 0.1000001);
	grant_close(&g);
}

static void ten_thousand_jobs_have_one_holder_a_set(void **state)
{
	struct grant g;
	unsigned holders = 0;

	grant_open(&g, &sl_grant_set_10, 100, END);
	for (unsigned i = 0; i < JOBS; i++)
		job(&g, 100, rnd_real(&g, 0.4, 300), (sl_time)rnd_below(&g, 1000));
	grant_decide(&g);
	for (unsigned i = 0; i < JOBS; i++)
		holders += g.jobs[i].rate_bps > 0;
	assert_int_equal(holders, 3); /* S0, S1, S2 */
	grant_close(&g);
}

static void a_job_that_lost_max_stall_goes_before_all_sets(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_set_10, 110, { "max_stall_ms", 2000 }, END);
	job(&g, 100, 10, g.now);
	job(&g, 100, 1000, g.now);
	job(&g, 100, 1000, g.now + 1);
	grant_expect(&g, 100, 10, 0);
	assert_int_equal(g.wake, g.now + 2 * SEC + 2); /* job 3, and rounded up */
	g.jobs[0].bytes = 300;			       /* 2 s at full rate; job 2 has lost 1.8 s */
	g.jobs[1].left_bytes = 80;
	g.now += 2 * SEC + 1;
	grant_expect(&g, 10 / 1.01, 0.1 / 1.01, 100);
	grant_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_share_by_priority_and_in_a_set_the_first_is_alone),
		cmocka_unit_test(what_the_first_cannot_use_goes_to_the_next_and_to_other_sets),
		cmocka_unit_test(sets_are_powers_of_ten_to_the_nearest),
		cmocka_unit_test(a_job_of_unknown_period_is_a_set_of_its_own),
		cmocka_unit_test(priorities_far_apart_leave_something_for_everybody),
		cmocka_unit_test(ten_thousand_jobs_have_one_holder_a_set),
		cmocka_unit_test(a_job_that_lost_max_stall_goes_before_all_sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
