/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grant/list: what all policies that serve in order have in common. SL_SEED=number repeats a
 * failure.
 */
#include "grant-rig.h"

static const struct sl_grant_ops *const all[] = {
	&sl_grant_round_robin, &sl_grant_min_dilation,
	&sl_grant_max_sys_eff, &sl_grant_max_sys_eff_literal,
	&sl_grant_min_max,     &sl_grant_target_dilation,
	&sl_grant_set_10,
};
#define ALL (sizeof(all) / sizeof(all[0]))

/* What was asked for is transferred for a time at the rates decided. */
static void pass(struct grant *g, sl_time ns)
{
	g->now += ns;
	for (uint32_t i = 0; i < g->n; i++) {
		g->jobs[i].left_bytes -= g->jobs[i].rate_bps * (double)ns * 1e-9;
		if (g->jobs[i].rate_bps > 0)
			g->jobs[i].started = true;
	}
}

/* Under policies that would not let it go first because it waits. */
static void a_job_that_lost_max_stall_is_first_at_the_time_that_was_told(void **state)
{
	static const struct sl_grant_ops *const some[] = {
		&sl_grant_round_robin,
		&sl_grant_max_sys_eff,
		&sl_grant_max_sys_eff_literal,
		&sl_grant_set_10,
	};

	for (unsigned p = 0; p < sizeof(some) / sizeof(some[0]); p++) {
		struct grant g;
		unsigned last, first;

		grant_open(&g, some[p], 10, { "max_stall_ms", 3000 }, END);
		for (unsigned i = 0; i < 2; i++) {
			struct sl_io_job *j = grant_add(&g, 10);

			j->bytes = j->left_bytes = 1000;
			j->period_ns = 10 * SEC;
		}
		grant_decide(&g);
		last = g.jobs[0].rate_bps == 0 ? 0 : 1;
		first = 1 - last;
		assert_int_equal(g.wake, g.now + 3 * SEC + 1);
		pass(&g, 2900 * MSEC);
		grant_decide(&g);
		assert_true(g.jobs[first].rate_bps == 10);
		pass(&g, 100 * MSEC + 1);
		grant_decide(&g);
		assert_true(g.jobs[last].rate_bps == 10);
		/* It keeps its place to the end, though the other one is late 3 s later as well. */
		assert_in_range(g.wake, g.now + 3 * SEC - 10, g.now + 3 * SEC + 10);
		g.jobs[first].asked++;
		for (unsigned i = 0; i < 9; i++) {
			pass(&g, 10 * SEC);
			grant_decide(&g);
			assert_true(g.jobs[last].rate_bps == 10);
		}
		grant_close(&g);
	}
}

static void a_long_transfer_at_full_rate_is_not_late(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_max_sys_eff, 10, { "max_stall_ms", 3000 }, END);
	grant_add(&g, 10)->bytes = 1000; /* 90 s of it done, in 90 s */
	g.jobs[0].asked -= 90 * SEC;
	g.jobs[0].compute_s = 0.001;
	grant_add(&g, 10);
	grant_expect(&g, 0, 10);
	assert_int_equal(g.wake, g.now + 3 * SEC + 1);
	g.jobs[0].asked -= 3 * SEC;
	grant_expect(&g, 10, 0);
	grant_close(&g);
}

static void at_part_of_its_rate_a_job_is_late_the_later(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_max_sys_eff, 14, { "max_stall_ms", 3000 }, END);
	grant_add(&g, 10)->procs = 2;
	grant_add(&g, 5);
	grant_expect(&g, 10, 4); /* loses 1 s in 5 */
	assert_in_range(g.wake, g.now + 15 * SEC, g.now + 15 * SEC + 10);
	g.capacity = 15;
	grant_expect(&g, 10, 5);
	assert_int_equal(g.wake, SL_NEVER);
	grant_close(&g);
}

static void the_late_go_in_order_of_asking_before_those_who_have_started(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_max_sys_eff, 10, { "max_stall_ms", 1000 }, { "priority", 1 }, END);
	grant_add(&g, 4)->procs = 1000;
	g.jobs[0].started = true;
	grant_add(&g, 4)->asked -= 2 * SEC;
	grant_add(&g, 4)->asked -= 3 * SEC;
	grant_add(&g, 4)->procs = 10000;
	grant_expect(&g, 2, 4, 4, 0);
	g.capacity = 5;
	grant_expect(&g, 0, 1, 4, 0);
	grant_close(&g);
}

/*
 * One job that every policy can be made to put last, against others that come again at once with
 * 1 s of I/O, for ever. Without max_stall max-sys-eff never serves it.
 */
static void nobody_starves_with_max_stall(void **state)
{
	for (unsigned p = 0; p <= ALL; p++) {
		struct grant g;
		unsigned served = 0;

		grant_open(&g, p < ALL ? all[p] : &sl_grant_max_sys_eff, 10,
			   { "max_stall_ms", p < ALL ? 20000 : 0 }, END);
		for (unsigned i = 0; i < 5; i++) {
			struct sl_io_job *j = grant_add(&g, 10);

			j->procs = 1000;
			j->bytes = j->left_bytes = 10;
			j->period_ns = SEC;
		}
		grant_add(&g, 10)->period_ns = 100000 * SEC;
		g.jobs[5].compute_s = 1e-6;
		for (unsigned t = 0; t < 60; t++) {
			grant_decide(&g);
			served += g.jobs[5].rate_bps > 0;
			pass(&g, SEC);
			if (g.jobs[5].left_bytes < 1e-6)
				break;
			for (unsigned i = 0; i < 5; i++)
				if (g.jobs[i].left_bytes < 1e-6) {
					g.jobs[i].left_bytes = 10;
					g.jobs[i].started = false;
					g.jobs[i].asked = g.jobs[i].io_end = g.now;
					g.jobs[i].ended++;
					g.jobs[i].alone_s += 1;
				}
		}
		if (p < ALL)
			assert_true(g.jobs[5].left_bytes < 1e-6);
		else
			assert_int_equal(served, 0);
		grant_close(&g);
	}
}

static void any_number_of_jobs_is_served_in_order(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 2, 3, 10, 100, 1000, JOBS };
	struct grant g;

	for (unsigned round = 0; round < ALL * 8 * 2; round++) {
		uint32_t n = sizes[round % 8];

		grant_open(&g, all[round / 8 % ALL], 1000, { "max_stall_ms", round & 1 ? 200 : 0 },
			   END);
		g.random += round;
		for (uint32_t i = 0; i < n; i++) {
			struct sl_io_job *j =
				grant_add(&g, rnd_real(&g, 1, round & 8 ? 1000 : 4000.0 / n + 2));

			j->procs = 1 + (uint32_t)rnd_below(&g, 1000);
			j->asked -= (sl_time)rnd_below(&g, SEC);
			j->released = j->asked - (sl_time)rnd_below(&g, 100 * SEC);
			j->io_end = j->released + (sl_time)rnd_below(&g, 100);
			j->period_ns = (sl_time)rnd_below(&g, 100) * SEC;
			j->ended = rnd_below(&g, 3);
			j->alone_s = j->ended ? rnd_real(&g, 0, 100) : 0;
			j->work_s = j->alone_s / 2;
			j->compute_s = rnd_real(&g, 0, 10);
			j->left_bytes = rnd_real(&g, 0.01, 100);
			j->started = j->left_bytes < 50;
		}
		grant_decide(&g); /* checks what holds under any policy */
		grant_close(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_that_lost_max_stall_is_first_at_the_time_that_was_told),
		cmocka_unit_test(a_long_transfer_at_full_rate_is_not_late),
		cmocka_unit_test(at_part_of_its_rate_a_job_is_late_the_later),
		cmocka_unit_test(the_late_go_in_order_of_asking_before_those_who_have_started),
		cmocka_unit_test(nobody_starves_with_max_stall),
		cmocka_unit_test(any_number_of_jobs_is_served_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
