/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that keep step are pulled apart: policy/machine/grant/step.c, by way of the policies that use it.
 * The jobs are those of its example. See also prop-grant-sets.c.
 */
#include "grant-rig.h"

static struct sl_io_job *app(struct grant *g, uint32_t procs, double compute_s, double bytes)
{
	struct sl_io_job *j = grant_add(g, procs);

	j->procs = procs;
	j->compute_s = compute_s;
	j->bytes = j->left_bytes = bytes;
	j->released = j->asked - (sl_time)(compute_s * 1e9);
	return j;
}

enum { A1, A2, T1, T2 };

static void open_set(struct grant *g, const struct sl_grant_ops *ops)
{
	grant_open(g, ops, 300, END);
	g->now = 100000 * SEC;
	app(g, 128, 15360, 42340);
	app(g, 128, 15360, 42340);
	app(g, 64, 76.8, 23580);
	app(g, 64, 76.8, 23580);
}

static void of_two_in_step_the_second_lets_the_others_pass(void **state)
{
	static const struct sl_grant_ops *const all[] = { &sl_grant_max_sys_eff, &sl_grant_min_max,
							  &sl_grant_target_dilation };

	for (unsigned i = 0; i < 3; i++) {
		struct grant g;

		open_set(&g, all[i]);
		grant_expect(&g, 128, 44, 64, 64);
		grant_close(&g);
	}
}

static void the_one_that_asked_later_follows_also_when_it_was_delayed_more(void **state)
{
	struct grant g;

	open_set(&g, &sl_grant_max_sys_eff);
	g.jobs[A2].asked -= SEC;
	grant_past(&g, &g.jobs[A1], 40000, 15691, 15360);
	grant_past(&g, &g.jobs[A2], 32000, 15691, 15360);
	grant_expect(&g, 44, 128, 64, 64);
	grant_close(&g);
}

static void of_several_that_follow_the_latest_is_last(void **state)
{
	struct grant g;

	open_set(&g, &sl_grant_max_sys_eff);
	app(&g, 128, 15360, 42340);
	g.jobs[A1].asked -= 3 * SEC;
	g.jobs[4].asked -= 2 * SEC;
	g.jobs[A2].asked -= SEC;
	grant_expect(&g, 128, 0, 64, 64, 44);
	g.capacity = 400;
	grant_expect(&g, 128, 16, 64, 64, 128);
	grant_close(&g);
}

static void jobs_of_different_periods_do_not_keep_step(void **state)
{
	struct grant g;

	open_set(&g, &sl_grant_max_sys_eff);
	g.jobs[A2].compute_s += 5; /* a third of a thousandth: still the same */
	grant_expect(&g, 128, 44, 64, 64);
	g.jobs[A2].compute_s += 35;
	grant_expect(&g, 128, 128, 44, 0);
	grant_close(&g);
}

static void without_others_to_let_pass_the_most_delayed_is_first(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_max_sys_eff, 300, END);
	g.now = 100000 * SEC;
	for (unsigned i = 0; i < 3; i++)
		grant_past(&g, app(&g, 128, 15360, 42340), 40000 + 1000 * i, 15691, 15360);
	grant_expect(&g, 44, 128, 128);
	grant_close(&g);
}

static void a_job_that_hardly_computes_is_not_worth_a_delay(void **state)
{
	struct grant g;

	open_set(&g, &sl_grant_max_sys_eff);
	g.jobs[T1].compute_s = g.jobs[T2].compute_s = 30; /* 7.5 % of the time: 13 periods */
	grant_expect(&g, 128, 128, 44, 0);
	g.jobs[T1].compute_s = g.jobs[T2].compute_s = 50; /* 12 %: 8 */
	grant_expect(&g, 128, 44, 64, 64);
	grant_close(&g);
}

static void when_bandwidth_is_short_most_of_the_time_nobody_is_moved(void **state)
{
	struct grant g;

	open_set(&g, &sl_grant_max_sys_eff);
	grant_expect(&g, 128, 44, 64, 64);
	g.now += 10000 * SEC; /* the mean period is 8068 s: 10000 / (10000 + 5 * 8068) = 0.20 */
	grant_expect(&g, 128, 44, 64, 64);
	g.now += 10000 * SEC; /* 0.36 */
	grant_expect(&g, 128, 128, 44, 0);
	g.capacity = 384; /* all is served for a long time */
	grant_expect(&g, 128, 128, 64, 64);
	g.now += 100000 * SEC;
	g.capacity = 300;
	grant_expect(&g, 128, 44, 64, 64);
	grant_close(&g);
}

static void below_gamma_a_job_goes_first_in_step_or_not(void **state)
{
	struct grant g;

	open_set(&g, &sl_grant_min_max);
	grant_past(&g, &g.jobs[A2], 40000, 15691, 15360); /* a ratio of 0.39 */
	grant_expect(&g, 128, 128, 44, 0);
	grant_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_two_in_step_the_second_lets_the_others_pass),
		cmocka_unit_test(the_one_that_asked_later_follows_also_when_it_was_delayed_more),
		cmocka_unit_test(of_several_that_follow_the_latest_is_last),
		cmocka_unit_test(jobs_of_different_periods_do_not_keep_step),
		cmocka_unit_test(without_others_to_let_pass_the_most_delayed_is_first),
		cmocka_unit_test(a_job_that_hardly_computes_is_not_worth_a_delay),
		cmocka_unit_test(when_bandwidth_is_short_most_of_the_time_nobody_is_moved),
		cmocka_unit_test(below_gamma_a_job_goes_first_in_step_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
