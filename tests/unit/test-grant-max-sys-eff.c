/* SPDX-License-Identifier: Apache-2.0 */
/* grant/max-sys-eff: the bytes that let most processors compute. See also prop-grant.c. */
#include "grant-rig.h"

static struct sl_io_job *app(struct grant *g, uint32_t procs, double compute_s, double bytes)
{
	struct sl_io_job *j = grant_add(g, 10);

	j->procs = procs;
	j->compute_s = compute_s;
	j->bytes = j->left_bytes = bytes;
	j->released = j->asked - (sl_time)(compute_s * 1e9);
	return j;
}

/* The example of measure.c, a tenth of each; at first no congestion is known, and no price. */
static void three(struct grant *g, double capacity)
{
	g->capacity = capacity;
	app(g, 100, 50, 100); /* 50 for each byte */
	app(g, 10, 200, 90);  /* 22 */
	app(g, 100, 1, 10);   /* 10 */
}

static void without_congestion_it_goes_by_who_loses_most_by_waiting(void **state)
{
	struct grant *g = *state;

	three(g, 25);
	grant_expect(g, 10, 5, 10);
	assert_int_equal(g->wake, SL_NEVER);
}

static void before_a_long_backlog_a_job_is_not_let_pass_that_would_soon_be_back(void **state)
{
	struct grant *g = *state;

	three(g, 10);
	grant_expect(g, 10, 0, 0);
}

static void in_congestion_a_price_puts_those_last_that_are_not_worth_it(void **state)
{
	struct grant *g = *state;

	three(g, 25);
	grant_expect(g, 10, 5, 10);
	g->now += 1000000 * SEC; /* the price is nearly 22, as B had to wait for so long */
	grant_expect(g, 10, 10, 5);
	g->capacity = 30; /* all can be served for so long that the price is 0 again */
	grant_expect(g, 10, 10, 10);
	g->now += INT64_C(1000000000) * SEC;
	g->capacity = 25;
	grant_expect(g, 10, 5, 10);
}

static void a_short_congestion_does_not_make_a_price(void **state)
{
	struct grant *g = *state;

	three(g, 25);
	grant_expect(g, 10, 5, 10);
	g->now += 10 * SEC; /* the mean instance is 90 s: 22 * 10 / (10 + 5 * 90) = 0.48 */
	grant_expect(g, 10, 5, 10);
}

static void processors_work_and_bytes_all_count(void **state)
{
	struct grant *g = *state;

	app(g, 10, 100, 1000); /* 10 * 100 / (200 + 200) = 2.5, over 1000 */
	app(g, 12, 100, 1000); /* 3 */
	grant_expect(g, 0, 10);
	g->jobs[0].compute_s = 300; /* 10 * 300 / (400 + 200) = 5 */
	grant_expect(g, 10, 0);
	g->jobs[1].bytes = g->jobs[1].left_bytes = 500; /* 12 * 100 / (150 + 150) = 4, over 500 */
	grant_expect(g, 0, 10);
}

static void of_two_about_equal_ones_the_one_under_way_goes_on(void **state)
{
	struct grant *g = *state;

	app(g, 100, 50, 1000);
	app(g, 95, 50, 1000);
	grant_expect(g, 10, 0);
	g->jobs[1].left_bytes = 500; /* 95 * 1.5 > 100 */
	grant_expect(g, 0, 10);
}

static void of_equal_ones_the_most_delayed_is_first_then_the_lowest_id(void **state)
{
	struct grant *g = *state;

	app(g, 100, 50, 1000);
	app(g, 100, 50, 1000);
	grant_expect(g, 10, 0);
	grant_past(g, &g->jobs[0], 100, 80, 40);
	grant_past(g, &g->jobs[1], 100, 70, 40);
	grant_expect(g, 0, 10);
}

static void a_job_that_never_computes_is_last_but_is_served(void **state)
{
	struct grant *g = *state;

	g->capacity = 15;
	app(g, 1000, 0, 1);
	app(g, 1000, 0, 1);
	app(g, 1, 1, 1000000);
	grant_expect(g, 5, 0, 10);
}

static void with_priority_who_has_started_goes_first(void **state)
{
	struct grant *g = *state;

	grant_with(g, "priority", 1);
	app(g, 1, 1, 1000);
	app(g, 100, 100, 1000);
	grant_expect(g, 0, 10);
	g->jobs[0].started = true;
	grant_expect(g, 10, 0);
}

#define CASE(name) GRANT_CASE(sl_grant_max_sys_eff, name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(without_congestion_it_goes_by_who_loses_most_by_waiting),
		CASE(before_a_long_backlog_a_job_is_not_let_pass_that_would_soon_be_back),
		CASE(in_congestion_a_price_puts_those_last_that_are_not_worth_it),
		CASE(a_short_congestion_does_not_make_a_price),
		CASE(processors_work_and_bytes_all_count),
		CASE(of_two_about_equal_ones_the_one_under_way_goes_on),
		CASE(of_equal_ones_the_most_delayed_is_first_then_the_lowest_id),
		CASE(a_job_that_never_computes_is_last_but_is_served),
		CASE(with_priority_who_has_started_goes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
