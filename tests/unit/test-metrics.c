/* SPDX-License-Identifier: Apache-2.0 */
/* The measures of a run, against the formulas by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/metrics.h"
#include "tests/unit/near.h"

#define near(is, wanted) near_by(is, wanted, 1e-12)

/* Two applications: 3 processors, 6 of 10 s computed, 20 bytes in 2 s alone; and 1, 2 of 10 s. */
static const struct sl_sim_account two[] = {
	{ .procs = 3,
	  .end_s = 10,
	  .iterations = 2,
	  .to = { 6, 20, 2 },
	  .total = { 6, 20, 2 },
	  .paper_io_s = 1 },
	{ .procs = 1,
	  .release_s = 5,
	  .end_s = 15,
	  .iterations = 1,
	  .from = { 1, 0, 0 },
	  .to = { 2, 10, 2 },
	  .total = { 2, 20, 4 },
	  .paper_io_s = 1 },
};

static void efficiency_and_dilation_are_of_the_whole_run(void **state)
{
	struct sl_sim_metrics m;
	struct sl_sim_app_metrics app[2];

	sl_metrics(two, 2, 0, 0, 20, SL_WINDOW_EXACT, &m, app);
	near(app[0].efficiency, 0.6);
	near(app[1].efficiency, 0.2);
	near(app[0].dilation, 10 / 8.0);
	near(app[1].dilation, 10 / 6.0);
	assert_int_equal(app[0].iterations, 2);
	near(app[1].bytes, 20);
	near(m.sys_efficiency, (3 * 0.6 + 0.2) / 4);
	near(m.upper_limit, (3 * 6 / 8.0 + 2 / 6.0) / 4);
	near(m.dilation, 10 / 6.0);
	sl_metrics(two, 2, 8, 0, 20, SL_WINDOW_EXACT, &m, NULL);
	near(m.sys_efficiency, (3 * 0.6 + 0.2) / 8);
}

static void stretch_and_slowdown_are_of_the_window(void **state)
{
	struct sl_sim_metrics m;
	struct sl_sim_app_metrics app[2];

	/* The first is there for all of it, the second from 5 to 12. */
	sl_metrics(two, 2, 0, 0, 12, SL_WINDOW_EXACT, &m, app);
	near(app[0].stretch, 10 / 8.0);
	near(app[0].io_slowdown, 4 / 2.0);
	near(app[1].stretch, 7 / 3.0);
	near(app[1].io_slowdown, 6 / 2.0);
	near(m.max_stretch, 7 / 3.0);
	near(m.geomean_stretch, sqrt(10 / 8.0 * 7 / 3.0));
	near(m.io_slowdown, sqrt(6));
	near(m.utilization, (3 * 6 + 1) / (4 * 12.0));
	sl_metrics(two, 2, 0, 0, 12, SL_WINDOW_PAPER, &m, app);
	near(app[0].stretch, 10 / 7.0);
	near(app[1].io_slowdown, 6 / 1.0);
}

static void a_phase_counts_by_the_part_of_its_time(void **state)
{
	near(sl_paper_part(80, 10, 18, 0, 100), 80);
	near(sl_paper_part(80, 10, 18, 12, 100), 60);
	near(sl_paper_part(80, 10, 18, 0, 12), 20);
	near(sl_paper_part(80, 10, 18, 11, 12), 10);
	assert_true(sl_paper_part(80, 10, 18, 20, 30) == 0);
	assert_true(sl_paper_part(80, 10, 18, 0, 5) == 0);
	assert_true(sl_paper_part(0, 10, 10, 0, 50) == 0);
}

static void nothing_done_is_infinite_and_nothing_there_is_no_number(void **state)
{
	struct sl_sim_account a[] = {
		{ .procs = 1, .end_s = 10 },
		{ .procs = 1, .release_s = 50, .end_s = 60, .to = { 0, 0, 0 } },
		{ .procs = 1,
		  .end_s = 10,
		  .to = { 10, 1e-300, 1e-301 },
		  .total = { 10, 1e-300, 1e-301 } },
	};
	struct sl_sim_metrics m;
	struct sl_sim_app_metrics app[3];

	sl_metrics(a, 3, 0, 0, 10, SL_WINDOW_EXACT, &m, app);
	assert_true(isinf(app[0].stretch) && isinf(app[0].io_slowdown));
	assert_true(isinf(app[0].dilation) && isinf(m.dilation));
	assert_true(isnan(app[1].stretch) && isnan(app[1].io_slowdown));
	near(app[2].stretch, 1);
	assert_true(isnan(app[2].io_slowdown)); /* it wanted next to none */
	assert_true(isinf(m.max_stretch));
	near(app[2].dilation, 1);
	near(m.sys_efficiency, 1 / 3.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(efficiency_and_dilation_are_of_the_whole_run),
		cmocka_unit_test(stretch_and_slowdown_are_of_the_window),
		cmocka_unit_test(a_phase_counts_by_the_part_of_its_time),
		cmocka_unit_test(nothing_done_is_infinite_and_nothing_there_is_no_number),
	};

	return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
