/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grant/periodic-throughput and periodic-congestion, their plans: made by hand, of random jobs, of
 * PerSched's sets with the published results, and bad input. SL_SEED=number repeats a failure.
 */
#include <errno.h>

#include "periodic-rig.h"

/* ---- plans ---- */

/* The example of periodic-build.c: each computes while the other transfers. */
static void two_jobs_that_need_all_the_bandwidth_for_half_of_their_time_alternate(void **state)
{
	const struct sl_plan_job jobs[] = { { 1, 1, 10, 1, 10 }, { 2, 1, 10, 1, 10 } };

	for (unsigned p = 0; p < 2; p++) {
		struct rig r;

		rig_open(&r, both[p], 2, 10, END);
		assert_int_equal(rig_plan(&r, jobs, 2), 0);
		rig_check(&r, jobs, 2);
		assert_true(close_to(r.s->dilation, 1, 1e-5));
		assert_true(close_to(r.s->sys_efficiency, 0.5, 1e-5));
		rig_close(&r);
	}
}

static void a_job_alone_reaches_the_upper_limit(void **state)
{
	const struct sl_plan_job job = { 7, 4, 20, 3, 10 };

	for (unsigned p = 0; p < 2; p++) {
		struct rig r;

		rig_open(&r, both[p], 1, 10, END);
		assert_int_equal(rig_plan(&r, &job, 1), 0);
		assert_true(close_to(r.s->dilation, 1, 1e-5));
		assert_true(close_to(r.s->sys_efficiency, 0.75, 1e-5));
		assert_int_equal(r.s->job[0].count, 1);
		rig_close(&r);
	}
}

/* 20 bytes for each 1 s of computing and 10 a second: nothing is better than always busy. */
static void a_device_that_is_too_slow_is_always_busy(void **state)
{
	struct sl_plan_job jobs[4];
	struct rig r;

	for (unsigned i = 0; i < 4; i++)
		jobs[i] = (struct sl_plan_job){ i, 1, 10, 1, 20 };
	rig_open(&r, &sl_grant_periodic_congestion, 4, 10, END);
	assert_int_equal(rig_plan(&r, jobs, 4), 0);
	rig_check(&r, jobs, 4);
	/* 4 * 20 bytes at 10 are 8 s for an instance each that takes 3 s alone. */
	assert_true(close_to(r.s->dilation, 8.0 / 3, 1e-4));
	rig_close(&r);
}

/*
 * At full rate the big one stops the others for 100 s of 10,000: dilation 1.01. At 60 of 100 it
 * leaves them alone, but takes 67 s longer: 1.0067. Now this, now that is better than both.
 */
static void a_big_transfer_is_slowed_down_when_that_helps_the_others(void **state)
{
	struct sl_plan_job jobs[3] = { { 1, 100, 100, 9900, 10000 } };
	unsigned slow = 0;
	struct rig r;

	for (unsigned i = 1; i < 3; i++)
		jobs[i] = (struct sl_plan_job){ i + 1, 20, 20, 10, 1800 };
	rig_open(&r, &sl_grant_periodic_congestion, 3, 100, END);
	assert_int_equal(rig_plan(&r, jobs, 3), 0);
	rig_check(&r, jobs, 3);
	for (uint32_t i = 0; i < r.s->job[0].count; i++)
		slow += r.s->window[r.s->job[0].first + i].rate_bps < 80;
	assert_true(slow > 0);
	assert_true(r.s->dilation < 1.0067);
	rig_close(&r);
}

static void the_same_jobs_have_the_same_plan(void **state)
{
	struct sl_plan_job jobs[5];
	struct rig a, b;

	for (unsigned i = 0; i < 5; i++)
		jobs[i] = (struct sl_plan_job){ i, 1 + i, 3 + i, 5 + 3 * i, 20 + 7 * i };
	rig_open(&a, &sl_grant_periodic_congestion, 5, 9, { "effort", 20 }, END);
	rig_open(&b, &sl_grant_periodic_congestion, 5, 9, { "effort", 20 }, END);
	assert_int_equal(rig_plan(&b, jobs, 3), 0); /* what was before does not matter */
	assert_int_equal(rig_plan(&a, jobs, 5), 0);
	assert_int_equal(rig_plan(&b, jobs, 5), 0);
	assert_true(a.s->period_ns == b.s->period_ns);
	assert_int_equal(a.s->windows, b.s->windows);
	assert_memory_equal(a.s->window, b.s->window, a.s->windows * sizeof(a.s->window[0]));
	rig_close(&a);
	rig_close(&b);
}

/* A second beside a year: the second's 10^7 windows are one, at a rate that is always there. */
static void a_job_that_is_too_fast_for_windows_has_a_constant_share(void **state)
{
	const struct sl_plan_job jobs[] = { { 1, 8, 50, 3e7, 5e7 }, { 2, 8, 50, 0.5, 25 } };

	for (unsigned p = 0; p < 2; p++) {
		struct rig r;

		rig_open(&r, both[p], 2, 60, { "effort", 20 }, END);
		assert_int_equal(rig_plan(&r, jobs, 2), 0);
		rig_check(&r, jobs, 2);
		assert_true(r.s->job[1].always_bps > 25);
		assert_true(r.s->job[0].always_bps == 0);
		assert_true(r.s->dilation < 1.15);
		rig_close(&r);
	}
}

/* Every magnitude as often. */
static double rnd_log(uint64_t *x, double lo, double hi)
{
	return lo * pow(hi / lo, (double)(rnd(x) >> 11) * 0x1p-53);
}

static void every_plan_of_random_jobs_can_be_carried_out(void **state)
{
	const char *text = getenv("SL_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 1, x = seed;
	unsigned plans = 0;

	print_message("# SL_SEED=%" PRIu64 "\n", seed);
	for (unsigned round = 0; round < 200; round++) {
		uint32_t n = 1 + (uint32_t)(rnd(&x) % (round % 10 ? 12 : 200));
		struct sl_plan_job *jobs = calloc(n, sizeof(*jobs));
		double capacity = rnd_log(&x, 1, 1e12), spread = rnd_log(&x, 1, 1e7);
		struct rig r;

		assert_non_null(jobs);
		for (uint32_t i = 0; i < n; i++) {
			double cap = capacity * rnd_log(&x, 0.01, 3),
			       cycle = rnd_log(&x, 1, spread);

			jobs[i] = (struct sl_plan_job){
				.job = rnd(&x),
				.procs = 1 + (uint32_t)(rnd(&x) % 1000),
				.cap_bps = cap,
				.compute_s = rnd(&x) % 8 ? cycle : 0,
				.bytes = rnd(&x) % 8 ? cap * cycle * rnd_log(&x, 1e-4, 10) : 0,
			};
		}
		rig_open(&r, both[rnd(&x) % 2], n + (uint32_t)(rnd(&x) % 3), capacity,
			 { "rule", (int64_t)(rnd(&x) % 3) },
			 { "effort", 1 + (int64_t)(rnd(&x) % 6) },
			 { "epsilon_permille", 1 + (int64_t)(rnd(&x) % 200) },
			 { "slack_permille", rnd(&x) % 2 ? 0 : (int64_t)(rnd(&x) % 500) }, END);
		if (rig_plan(&r, jobs, n) == -ERANGE) { /* periods of many years */
			assert_true(r.s->period_ns == 0);
			rig_close(&r);
			free(jobs);
			continue;
		}
		plans++;
		rig_check(&r, jobs, n);
		for (uint32_t i = 0; r.s->rule != SL_PER_RULE_LITERAL && i < n; i++)
			assert_true(jobs[i].bytes <= 0 || r.s->job[i].count > 0);
		rig_close(&r);
		free(jobs);
	}
	assert_true(plans > 140);
}

/* ---- PerSched's sets ---- */

/* They are the same however it was built: some of them under a sanitizer, which takes five times as long. */
#ifdef __SANITIZE_ADDRESS__
#define STEP 4
#else
#define STEP 1
#endif

static void the_published_results_of_persched_are_met_or_beaten(void **state)
{
	bool met = true;

	for (unsigned set = 0; set < SETS; set += STEP) {
		struct sl_plan_job jobs[16];
		uint32_t n = persched(set, jobs);

		for (unsigned p = 0; p < 2; p++) {
			bool throughput = both[p] == &sl_grant_periodic_throughput;
			struct rig r;

			rig_open(&r, both[p], n, SET_B, END);
			assert_int_equal(rig_plan(&r, jobs, n), 0);
			rig_check(&r, jobs, n);
			print_message("# set%u %s: SysEfficiency %.5f (%.4f) dilation %.5f (%.3f; "
				      "at best %.4f) period %.0f s, %u windows\n",
				      set + 1, throughput ? "throughput" : "congestion",
				      r.s->sys_efficiency, sets[set].sys_efficiency, r.s->dilation,
				      sets[set].dilation, r.s->bound, (double)r.s->period_ns * 1e-9,
				      r.s->windows);
			met &= throughput ? r.s->sys_efficiency >= sets[set].sys_efficiency
					  : r.s->dilation <= sets[set].dilation;
			assert_true(r.s->dilation >= r.s->bound * (1 - 1e-8));
			rig_close(&r);
		}
	}
	assert_true(met);
}

/* Non-increasing w / t_io, and smallest n * (w + t_io): see periodic.c. */
static void the_orders_that_the_text_of_the_paper_gives_are_worse(void **state)
{
	struct sl_plan_job jobs[16];

	for (unsigned set = 1; set < 5; set += STEP) {
		uint32_t n = persched(set, jobs);
		double efficiency[2], dilation[2];

		for (unsigned literal = 0; literal < 2; literal++) {
			struct rig r;
			int64_t rule = literal ? SL_PER_RULE_LITERAL : SL_PER_RULE_GREEDY;

			rig_open(&r, both[0], n, SET_B, { "rule", rule }, END);
			assert_int_equal(rig_plan(&r, jobs, n), 0);
			efficiency[literal] = r.s->sys_efficiency;
			rig_close(&r);
			rig_open(&r, both[1], n, SET_B, { "rule", rule }, END);
			assert_int_equal(rig_plan(&r, jobs, n), 0);
			dilation[literal] = r.s->dilation;
			rig_close(&r);
		}
		print_message(
			"# set%u SysEfficiency %.4f, literally %.4f; Dilation %.3f, literally "
			"%.3f\n",
			set + 1, efficiency[0], efficiency[1], dilation[0], dilation[1]);
		assert_true(efficiency[0] > efficiency[1]);
		if (set < 3) /* too little for all: one job has all it can use */
			assert_true(dilation[1] > 10 * dilation[0]);
	}
}

/* ---- input ---- */

static void bad_input_is_refused_and_the_plan_stays(void **state)
{
	const struct sl_plan_job good[] = { { 1, 1, 10, 1, 10 }, { 2, 1, 10, 1, 10 } };
	const struct {
		struct sl_plan_job job;
		int err;
	} bad[] = {
		{ { 2, 0, 10, 1, 10 }, -EINVAL },	 { { 2, 1, 0, 1, 10 }, -EINVAL },
		{ { 2, 1, -1, 1, 10 }, -EINVAL },	 { { 2, 1, NAN, 1, 10 }, -EINVAL },
		{ { 2, 1, 10, -1, 10 }, -EINVAL },	 { { 2, 1, 10, NAN, 10 }, -EINVAL },
		{ { 2, 1, 10, INFINITY, 10 }, -EINVAL }, { { 2, 1, 10, 1, -1 }, -EINVAL },
		{ { 2, 1, 10, 1, NAN }, -EINVAL },	 { { 2, 1, 10, 1, INFINITY }, -EINVAL },
		{ { 1, 1, 10, 1, 10 }, -EINVAL },	 { { 2, 1, 10, 1e18, 10 }, -ERANGE },
		{ { 2, 1, 10, 1, 1e18 }, -ERANGE },	 { { 2, 1, 1e-9, 1, 10 }, -ERANGE },
	};

	for (unsigned p = 0; p < 2; p++) {
		struct sl_plan_job jobs[3] = { good[0], good[1], { 3, 1, 10, 1, 10 } };
		struct rig r;
		sl_time period;

		rig_open(&r, both[p], 2, 10, END);
		assert_int_equal(rig_plan(&r, good, 2), 0);
		period = r.s->period_ns;
		for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			jobs[1] = bad[i].job;
			assert_int_equal(rig_plan(&r, jobs, 2), bad[i].err);
			assert_true(r.s->period_ns == period);
		}
		jobs[1] = good[1];
		assert_int_equal(rig_plan(&r, jobs, 3), -ENOSPC);
		assert_int_equal(r.ops->plan(r.s, good, 2, 0, 0), -EINVAL);
		assert_int_equal(r.ops->plan(r.s, good, 2, NAN, 0), -EINVAL);
		rig_check(&r, good, 2);
		rig_close(&r);
	}
}

static void no_jobs_and_jobs_without_io_have_plans(void **state)
{
	const struct sl_plan_job jobs[] = { { 1, 3, 10, 5, 0 },
					    { 2, 1, 0, 0, 0 },
					    { 3, 1, 10, 0, 10 } };

	for (unsigned p = 0; p < 2; p++) {
		struct rig r;

		rig_open(&r, both[p], 3, 10, END);
		assert_int_equal(rig_plan(&r, NULL, 0), 0);
		assert_true(r.ops->decide(r.s, NULL, 0, 10, 5) == SL_NEVER);
		assert_int_equal(rig_plan(&r, jobs, 1), 0);
		rig_check(&r, jobs, 1);
		assert_true(close_to(r.s->sys_efficiency, 1, 1e-9));
		assert_int_equal(rig_plan(&r, jobs, 3), 0);
		rig_check(&r, jobs, 3);
		assert_true(close_to(r.s->dilation, 1, 1e-5));
		rig_close(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			two_jobs_that_need_all_the_bandwidth_for_half_of_their_time_alternate),
		cmocka_unit_test(a_job_alone_reaches_the_upper_limit),
		cmocka_unit_test(a_device_that_is_too_slow_is_always_busy),
		cmocka_unit_test(a_big_transfer_is_slowed_down_when_that_helps_the_others),
		cmocka_unit_test(the_same_jobs_have_the_same_plan),
		cmocka_unit_test(a_job_that_is_too_fast_for_windows_has_a_constant_share),
		cmocka_unit_test(every_plan_of_random_jobs_can_be_carried_out),
		cmocka_unit_test(the_published_results_of_persched_are_met_or_beaten),
		cmocka_unit_test(the_orders_that_the_text_of_the_paper_gives_are_worse),
		cmocka_unit_test(bad_input_is_refused_and_the_plan_stays),
		cmocka_unit_test(no_jobs_and_jobs_without_io_have_plans),
	};

	return cmocka_run_group_tests_name("grant-periodic-plan", tests, NULL, NULL);
}
