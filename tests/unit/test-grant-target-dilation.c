/* SPDX-License-Identifier: Apache-2.0 */
/* grant/target-dilation: by worth while delays are small, then by delay. */
#include "grant-rig.h"

/* With cap 1e9 and 1 s of computing, x is 1 / (time since release), and worth is 1 / bytes. */
static void app(struct grant *g, double bytes, double x)
{
	struct sl_io_job *j = grant_add(g, 1e9);

	j->bytes = j->left_bytes = bytes;
	j->released = g->now - (sl_time)(1e9 / x);
}

/* The example of target-dilation.c. */
static void a_job_moves_up_as_it_falls_behind(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_target_dilation, 1.5e9, { "target", 200 }, END);
	app(&g, 1, 0.9);
	app(&g, 1, 0.6);
	app(&g, 1, 0.4);
	g.jobs[0].procs = 50;
	g.jobs[1].procs = 10;
	grant_expect(&g, 1e9, 0, 0.5e9);
	assert_int_equal(g.wake, SL_NEVER);
	g.jobs[2].released = g.now - (sl_time)(1e9 / 0.39);
	grant_expect(&g, 0.5e9, 0, 1e9);
	grant_close(&g);
}

static void while_nobody_is_delayed_it_goes_by_worth(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_target_dilation, 1e9, END);
	app(&g, 10, 1);
	app(&g, 9, 1);
	app(&g, 11, 0.9);
	grant_expect(&g, 0, 1e9, 0);
	g.jobs[0].procs = 2;
	grant_expect(&g, 1e9, 0, 0);
	g.jobs[2].procs = 3;
	grant_expect(&g, 0, 0, 1e9);
	grant_close(&g);
}

static void the_target_says_from_where_on_delay_counts(void **state)
{
	static const int64_t targets[] = { 100, 1000 };
	struct grant g;

	for (unsigned i = 0; i < 2; i++) {
		grant_open(&g, &sl_grant_target_dilation, 1e9, { "target", targets[i] }, END);
		app(&g, 2, 0.7);
		app(&g, 1, 1);
		if (i == 0) /* 1 + 301, against 2 */
			grant_expect(&g, 1e9, 0);
		else
			grant_expect(&g, 0, 1e9);
		grant_close(&g);
	}
}

static void what_the_phase_has_done_already_counts_as_progress(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_target_dilation, 10, END);
	for (unsigned i = 0; i < 2; i++) { /* 1 s, then 10 s of transfer; came 33 s ago */
		grant_add(&g, 10)->released = g.now - 33 * SEC;
		g.jobs[i].job = 2 - i;
	}
	grant_expect(&g, 0, 10); /* equal: by id */
	g.jobs[1].left_bytes =
		20; /* ends 8 s earlier, and counts 1.8 times; but 3^16 of 1.94^16 is more */
	grant_expect(&g, 10, 0);
	grant_close(&g);
}

static void a_job_that_never_computes_does_not_starve(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_target_dilation, 1e9, END);
	app(&g, 1, 1);
	app(&g, 1e9, 1);
	g.jobs[1].compute_s = 0; /* 1 s of transfer: like 1 ms of computing, worth 1e-12 */
	grant_expect(&g, 1e9, 0);
	g.now += 9 * SEC;
	g.jobs[0].released += 9 * SEC;
	grant_expect(&g, 1e9, 0); /* 11 times as long: 5.5^16 = 7e11 */
	g.now += 2 * SEC;
	g.jobs[0].released += 2 * SEC;
	grant_expect(&g, 0, 1e9); /* 13: 6.5^16 = 1e13 */
	g.now = INT64_C(1) << 61; /* and it stays so */
	g.jobs[0].released = g.now - SEC;
	grant_expect(&g, 0, 1e9);
	grant_close(&g);
}

static void with_priority_who_has_started_goes_first(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_target_dilation, 1e9, { "priority", 1 }, END);
	app(&g, 10, 1);
	app(&g, 1, 1);
	grant_expect(&g, 0, 1e9);
	g.jobs[0].started = true;
	grant_expect(&g, 1e9, 0);
	grant_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_moves_up_as_it_falls_behind),
		cmocka_unit_test(while_nobody_is_delayed_it_goes_by_worth),
		cmocka_unit_test(the_target_says_from_where_on_delay_counts),
		cmocka_unit_test(what_the_phase_has_done_already_counts_as_progress),
		cmocka_unit_test(a_job_that_never_computes_does_not_starve),
		cmocka_unit_test(with_priority_who_has_started_goes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
