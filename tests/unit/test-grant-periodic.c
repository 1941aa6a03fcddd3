/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grant/periodic-throughput and periodic-congestion: what happens when plans are carried out.
 */
#include "periodic-rig.h"

/*
 * From the ninth period on, because the jobs first have to find their windows: who begins late and
 * has little room between its windows may need some periods to catch up, at the planned pace.
 */
static void a_machine_that_follows_the_plan_does_what_the_plan_says(void **state)
{
	for (unsigned set = 0; set < SETS; set++) {
		struct sl_plan_job jobs[16];
		uint32_t n = persched(set, jobs);

		for (unsigned p = 0; p < 2; p++) {
			double efficiency, dilation;
			struct rig_app apps[16];
			struct rig r;
			sl_time T;

			rig_open(&r, both[p], n, SET_B, { "effort", 30 }, END);
			assert_int_equal(rig_plan(&r, jobs, n), 0);
			T = r.s->period_ns;
			rig_run(&r, jobs, apps, n, 8 * T + T / 7, 18 * T + T / 7, NULL);
			rig_measure(&r, jobs, apps, n, 10 * T, &efficiency, &dilation);
			print_message(
				"# set%u %s: SysEfficiency %.5f, planned %.5f; dilation %.5f, "
				"planned %.5f\n",
				set + 1, p ? "congestion" : "throughput", efficiency,
				r.s->sys_efficiency, dilation, r.s->dilation);
			for (uint32_t i = 0; i < n; i++)
				assert_int_equal(apps[i].instances, 10 * r.s->job[i].count);
			assert_true(close_to(efficiency, r.s->sys_efficiency, 1e-6));
			assert_true(close_to(dilation, r.s->dilation, 1e-6));
			rig_close(&r);
		}
	}
}

/*
 * Period 10 s; A (job 1) 20 bytes at 10 in 2 s, computing 8 s; B (job 2) the same. B's window is
 * where it is put, A's begins at 0. Written by hand into a plan of the same jobs.
 */
static void by_hand(struct rig *r, int64_t spare)
{
	const struct sl_plan_job jobs[] = { { 1, 1, 10, 7.9, 20 }, { 2, 1, 10, 7.9, 20 } };

	rig_open(r, &sl_grant_periodic_congestion, 2, 10, { "spare", spare }, END);
	assert_int_equal(rig_plan(r, jobs, 2), 0);
	r->s->period_ns = 10 * SEC;
	r->s->origin = 0;
	r->s->windows = 2;
	for (unsigned i = 0; i < 2; i++) {
		r->s->job[i].first = i;
		r->s->job[i].count = 1;
		r->s->window[i] = (struct sl_per_window){ .start = 4 * i * SEC,
							  .end = (4 * i + 2) * SEC,
							  .rate_bps = 10,
							  .job = i,
							  .next = SL_PER_NONE };
	}
	rig_check_bandwidth(r);
	rig_check_job(r, &jobs[0], &r->s->job[0]);
	rig_check_job(r, &jobs[1], &r->s->job[1]);
}

/* Rates of up to three jobs, in tenths of the capacity, and the wake time in s, or -1. */
static void expect(struct rig *r, struct sl_io_job *jobs, uint32_t n, double now_s, double a,
		   double b, double c, double wake_s)
{
	struct sl_io_job *io[3] = { &jobs[n > 2 ? 2 : 0], &jobs[n > 1 ? 1 : 0], &jobs[0] };
	const double want[] = { a, b, c };
	sl_time wake = r->ops->decide(r->s,
				      n > 2   ? io
				      : n > 1 ? io + 1
					      : io + 2,
				      n, 10, (sl_time)(now_s * 1e9));

	for (uint32_t i = 0; i < n; i++)
		if (!close_to(jobs[i].rate_bps + 1, want[i] + 1, 1e-9))
			fail_msg("at %g s job %u has %g, not %g", now_s, i + 1, jobs[i].rate_bps,
				 want[i]);
	if (wake_s < 0)
		assert_true(wake == SL_NEVER);
	else
		assert_true(close_to((double)wake * 1e-9, wake_s, 1e-9));
}

static struct sl_io_job asks(uint64_t job, double io_end_s, double asked_s)
{
	return (struct sl_io_job){ .job = job,
				   .procs = 1,
				   .cap_bps = 10,
				   .asked = (sl_time)(asked_s * 1e9),
				   .io_end = (sl_time)(io_end_s * 1e9),
				   .compute_s = 8,
				   .bytes = 20,
				   .left_bytes = 20 };
}

static void who_is_early_waits_for_its_window(void **state)
{
	struct sl_io_job a[2] = { asks(1, 2, 9.5), asks(2, 6, 13) };
	struct rig r;

	by_hand(&r, SL_PER_SPARE_LATE);
	expect(&r, a, 1, 9.5, 0, 0, 0, 10);
	expect(&r, a, 1, 10, 10, 0, 0, 12);
	expect(&r, a, 2, 13, 10, 0, 0, 14); /* A is not done in its window, so it may; B is early */
	expect(&r, a, 2, 14, 0, 10, 0, 16);
	rig_close(&r);
}

static void who_is_late_has_the_rest_of_its_window_and_then_what_is_free(void **state)
{
	static const double after[] = { 0, 10, 10 };
	static const double beside[] = { 0, 10, 10 };
	struct rig r;

	for (int64_t spare = SL_PER_SPARE_NONE; spare <= SL_PER_SPARE_ALL; spare++) {
		struct sl_io_job a[2] = { asks(1, 2, 11), asks(2, 6, 13.9) };

		by_hand(&r, spare);
		expect(&r, a, 1, 11, 10, 0, 0, 12);
		a[0].left_bytes = 10;
		expect(&r, a, 1, 12, after[spare], 0, 0, 20);
		/* B comes to its window: nothing is free any more. */
		a[0].left_bytes = 5;
		expect(&r, a, 2, 14, 0, 10, 0, 16);
		expect(&r, a, 2, 16, beside[spare], 0, 0, 20);
		/* A's next window. */
		expect(&r, a, 2, 20, 10, 0, 0, 22);
		rig_close(&r);
	}
}

static void who_missed_its_window_altogether_is_late(void **state)
{
	struct sl_io_job late = asks(1, 2, 12.5), early = asks(1, 10.5, 12.5);
	struct rig r;

	by_hand(&r, SL_PER_SPARE_LATE);
	expect(&r, &late, 1, 12.5, 10, 0, 0, 20);
	/* Its last phase ended in that window: it is early for the next. */
	expect(&r, &early, 1, 12.5, 0, 0, 0, 20);
	expect(&r, &early, 1, 20, 10, 0, 0, 22);
	rig_close(&r);
}

static void spare_all_lets_early_ones_begin(void **state)
{
	struct sl_io_job a[2] = { asks(1, 10.5, 12.5), asks(2, 6, 13) };
	struct rig r;

	by_hand(&r, SL_PER_SPARE_ALL);
	expect(&r, a, 2, 13, 10, 0, 0, 14); /* A asked first */
	expect(&r, a, 2, 14, 0, 10, 0, 16);
	rig_close(&r);
}

static void a_job_that_is_not_planned_has_the_rest_and_after_a_period_goes_first(void **state)
{
	struct sl_io_job a[3] = { asks(1, 2, 9.9), asks(2, 6, 9.9), asks(3, 0, 9.8) };
	struct rig r;

	by_hand(&r, SL_PER_SPARE_NONE);
	a[2].cap_bps = 4;
	expect(&r, a, 3, 9.9, 0, 0, 4, 10);
	expect(&r, a, 3, 10, 10, 0, 0, 12);
	expect(&r, a, 3, 12, 0, 0, 4, 14);
	a[0] = asks(1, 12, 19.9);
	expect(&r, a, 3, 19.8, 0, 0, 4, 20);
	expect(&r, a, 3, 20, 6, 0, 4, 22);
	rig_close(&r);
}

static void without_a_plan_it_is_first_come_first_served(void **state)
{
	struct sl_io_job a[3] = { asks(1, 0, 3), asks(2, 0, 1), asks(3, 0, 2) };
	struct rig r;

	rig_open(&r, &sl_grant_periodic_throughput, 3, 10, END);
	a[0].cap_bps = a[1].cap_bps = 6;
	a[2].cap_bps = 2;
	expect(&r, a, 3, 4, 2, 6, 2, -1);
	rig_close(&r);
}

/* Up to 2 % longer than planned, in every instance; jobs as in set 6. */
static sl_time late_by_up_to_2_percent(uint32_t i, uint64_t k)
{
	const double compute_s = i < 2 ? 76.8 : 15360;
	uint64_t x = i * UINT64_C(1000003) + k;

	return (sl_time)((double)(rnd(&x) >> 11) * 0x1p-53 * compute_s * 0.02 * 1e9);
}

/* Set 6 has bandwidth for all, so every late phase costs something. */
static void jobs_that_compute_longer_at_times_lose_little_and_never_wait_for_long(void **state)
{
	struct sl_plan_job jobs[16];
	uint32_t n = persched(5, jobs);
	double got[3], planned = 0;

	for (int64_t spare = SL_PER_SPARE_NONE; spare <= SL_PER_SPARE_ALL; spare++) {
		struct rig_app apps[16];
		struct rig r;
		double dilation;
		sl_time T;

		rig_open(&r, &sl_grant_periodic_congestion, n, SET_B, { "effort", 30 },
			 { "spare", spare }, END);
		assert_int_equal(rig_plan(&r, jobs, n), 0);
		T = r.s->period_ns;
		rig_run(&r, jobs, apps, n, 2 * T, 12 * T, late_by_up_to_2_percent);
		rig_measure(&r, jobs, apps, n, 10 * T, &got[spare], &dilation);
		planned = r.s->sys_efficiency;
		for (uint32_t i = 0; i < n; i++)
			assert_true(apps[i].longest_wait < T);
		print_message(
			"# computing 0 to 2 %% longer, spare=%d: SysEfficiency %.4f, planned %.4f; "
			"dilation %.4f, planned %.4f\n",
			(int)spare, got[spare], planned, dilation, r.s->dilation);
		rig_close(&r);
	}
	assert_true(got[SL_PER_SPARE_LATE] > got[SL_PER_SPARE_NONE]);
	assert_true(got[SL_PER_SPARE_LATE] > 0.95 * planned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_that_follows_the_plan_does_what_the_plan_says),
		cmocka_unit_test(who_is_early_waits_for_its_window),
		cmocka_unit_test(who_is_late_has_the_rest_of_its_window_and_then_what_is_free),
		cmocka_unit_test(who_missed_its_window_altogether_is_late),
		cmocka_unit_test(spare_all_lets_early_ones_begin),
		cmocka_unit_test(
			a_job_that_is_not_planned_has_the_rest_and_after_a_period_goes_first),
		cmocka_unit_test(without_a_plan_it_is_first_come_first_served),
		cmocka_unit_test(
			jobs_that_compute_longer_at_times_lose_little_and_never_wait_for_long),
	};

	return cmocka_run_group_tests_name("grant-periodic", tests, NULL, NULL);
}
