/* SPDX-License-Identifier: Apache-2.0 */
/* The phase-level simulator against what can be worked out by hand. */
#include "tests/unit/phase-rig.h"

static void a_job_alone_reaches_the_upper_limit(void **state)
{
	static const char *const policies[] = { "none", "fair-share", "fcfs" };

	for (int i = 0; i < 6; i++) {
		/* Alone: 4 s + 20/5 s. */
		struct rig *g = rig_run("platform: {bandwidth: 10, per_proc_bandwidth: 2.5}\n"
					"jobs: [{procs: 2, release: 3, compute: 4, volume: 20, "
					"iterations: 7}]\n",
					policies[i / 2], SL_WINDOW_EXACT, i % 2);

		near(g->m.sys_efficiency, 0.5);
		near(g->m.upper_limit, 0.5);
		near(g->m.dilation, 1);
		near(g->m.max_stretch, 1);
		near(g->m.io_slowdown, 1);
		near(g->m.end_s, 3 + 7 * 8);
		near(g->m.utilization, 28.0 / 59);
		assert_int_equal(g->m.events, 14);
		assert_int_equal(g->app[0].iterations, 7);
		near(g->app[0].bytes, 140);
		rig_free(g);
	}
}

static void two_equal_jobs_share_equally(void **state)
{
	for (int ask = 0; ask < 2; ask++) {
		/* 4 s of computing, then 20 bytes at 5/s each. */
		struct rig *g = rig_run("platform: {bandwidth: 10}\n"
					"jobs: [{count: 2, compute: 4, volume: 20, "
					"iterations: 3}]\n",
					"fair-share", SL_WINDOW_EXACT, ask);

		near(g->m.end_s, 24);
		near(g->m.sys_efficiency, 0.5);
		near(g->m.upper_limit, 4.0 / 6);
		near(g->m.dilation, 8.0 / 6);
		near(g->m.geomean_stretch, 8.0 / 6);
		near(g->m.io_slowdown, 2);
		assert_int_equal(g->m.events, 12);
		rig_free(g);
	}
}

static void two_jobs_that_overlap_share_while_they_do(void **state)
{
	for (int ask = 0; ask < 2; ask++) {
		struct rig *g = rig_run("platform: {bandwidth: 10}\n"
					"jobs:\n"
					"  - {compute: 4, volume: 20, iterations: 1}\n"
					"  - {compute: 5, volume: 20, iterations: 1}\n",
					"fair-share", SL_WINDOW_EXACT, ask);

		near(g->ends_s[0], 7);
		near(g->ends_s[1], 8);
		rig_free(g);
	}
}

static void what_caps_leave_goes_to_others(void **state)
{
	for (int ask = 0; ask < 2; ask++) {
		/* 2, 4, 4; then the second and third are gone, and the first stays at its cap. */
		struct rig *g = rig_run("platform: {bandwidth: 10, per_proc_bandwidth: 2}\n"
					"jobs:\n"
					"  - {compute: 0, volume: 6, iterations: 1}\n"
					"  - {procs: 9, compute: 0, volume: 8, iterations: 1}\n"
					"  - {procs: 9, compute: 0, volume: 8, iterations: 1}\n",
					"fair-share", SL_WINDOW_EXACT, ask);

		near(g->ends_s[0], 3);
		near(g->ends_s[1], 2);
		near(g->ends_s[2], 2);
		rig_free(g);
	}
}

static void first_come_is_served_first_and_alone(void **state)
{
	struct rig *g = rig_run("platform: {bandwidth: 10}\n"
				"jobs:\n"
				"  - {compute: 4, volume: 20, iterations: 1}\n"
				"  - {compute: 5, volume: 20, iterations: 1}\n",
				"fcfs", SL_WINDOW_EXACT, false);

	near(g->ends_s[0], 6);
	near(g->ends_s[1], 8);
	near(g->m.dilation, 8.0 / 7);
	rig_free(g);
}

static void a_burst_buffer_takes_data_until_it_is_full(void **state)
{
	static const char *const policies[] = { "fair-share", "fcfs" };

	for (int i = 0; i < 4; i++) {
		/* +20/s until 100 are in after 5 s, 150 written; 50 more at 10/s. */
		struct rig *g = rig_run("platform: {bandwidth: 10, "
					"burst_buffer: {capacity: 100, bandwidth: 30}}\n"
					"jobs: [{compute: 0, volume: 200, iterations: 1}]\n",
					policies[i / 2], SL_WINDOW_EXACT, i % 2);

		near(g->m.end_s, 10);
		rig_free(g);
		/* 40 at 30/s; 10 s later the 26.7 that remained have drained; and again. */
		g = rig_run("platform: {bandwidth: 10, "
			    "burst_buffer: {capacity: 100, bandwidth: 30}}\n"
			    "jobs: [{compute: 10, volume: 40, iterations: 3}]\n",
			    policies[i / 2], SL_WINDOW_EXACT, i % 2);
		near(g->m.end_s, 30 + 3 * 4 / 3.0);
		rig_free(g);
		/* No room at 1 s (100 - 10 are in); half a second later 20 are written anyway,
		 * 10 at once and 10 as they drain: 100 at 30, then 1 s of computing. */
		g = rig_run("platform: {bandwidth: 10, "
			    "burst_buffer: {capacity: 100, bandwidth: 30}}\n"
			    "jobs: [{compute: 1, volume: [150, 20], iterations: 2}]\n",
			    policies[i / 2], SL_WINDOW_EXACT, i % 2);
		/* 1 + 5, full; 1 of computing, 10 drain; 10 fill at net 20/s in 0.5 s, with 15
		 * written; 5 more at 10/s. */
		near(g->m.end_s, 1 + 5 + 1 + 0.5 + 0.5);
		rig_free(g);
	}
}

static void alone_is_with_the_burst_buffer(void **state)
{
	static const char *const scenarios[] = {
		/* The first phase fills the buffer, the second finds little room. */
		"jobs: [{compute: 1, volume: [150, 20], iterations: 2}]\n",
		"jobs: [{compute: 10, volume: 40, iterations: 3}]\n",
		/* Cut off in the middle of the slow part of its second phase. */
		"window: [0, 7.75]\njobs: [{compute: 1, volume: [150, 20]}]\n",
	};

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		for (int paper = 0; paper < 2; paper++) {
			char text[400];
			struct rig *g;

			snprintf(text, sizeof(text),
				 "platform: {bandwidth: 10, "
				 "burst_buffer: {capacity: 100, bandwidth: 30}}\n%s",
				 scenarios[i]);
			g = rig_run(text, "fcfs", paper ? SL_WINDOW_PAPER : SL_WINDOW_EXACT, false);
			near(g->m.dilation, 1);
			near(g->m.upper_limit, g->m.sys_efficiency);
			if (!paper)
				near(g->m.max_stretch, 1);
			rig_free(g);
		}
	}
	/* Two at once: each alone would have needed 100 / 30 s, and needs 10. */
	{
		struct rig *g = rig_run("platform: {bandwidth: 10, "
					"burst_buffer: {capacity: 100, bandwidth: 30}}\n"
					"jobs: [{count: 2, compute: 0, volume: 100, "
					"iterations: 1}]\n",
					"fair-share", SL_WINDOW_EXACT, false);

		near(g->m.dilation, 3);
		near(g->m.io_slowdown, 3);
		rig_free(g);
	}
}

static void jobs_that_follow_each_other_share_processors(void **state)
{
	static const char text[] =
		"platform: {bandwidth: 10, procs: 8}\njobs:\n"
		"  - {procs: 8, compute: 1, volume: 10, iterations: 5}\n"
		"  - {procs: 8, release: 10, compute: 1, volume: 10, iterations: 5}\n";
	struct rig *g = rig_run(text, "fcfs", SL_WINDOW_EXACT, false);
	char err[300];

	near(g->m.sys_efficiency, 0.5); /* each; not their sum */
	near(g->m.utilization, 0.5);
	/* One that should have gone is still there. */
	g->s.apps[1].release_s = 9.5;
	assert_int_equal(sl_phase_run(&g->s, &g->options, &g->m, NULL, err, sizeof(err)), -EINVAL);
	assert_string_equal(
		err, "fcfs: at 9.5 s the jobs there need 16 processors, platform.procs is 8");
	rig_free(g);
}

static void one_that_never_came_gives_no_processors_back(void **state)
{
	/* The second would come after the window; the first goes on behind it. */
	struct rig *g = rig_run("platform: {bandwidth: 10, procs: 8}\n"
				"window: [0, 9]\n"
				"jobs:\n"
				"  - {procs: 8, compute: 4, volume: 20, iterations: 3}\n"
				"  - {procs: 8, release: 50, compute: 4, volume: 20}\n",
				"fcfs", SL_WINDOW_EXACT, false);

	near(g->m.end_s, 18);
	rig_free(g);
}

static void a_buffer_that_is_full_is_shared_as_disks_are(void **state)
{
	for (int ask = 0; ask < 2; ask++) {
		/* 15/s each until 5 s, then 5/s each. */
		struct rig *g = rig_run("platform: {bandwidth: 10, "
					"burst_buffer: {capacity: 100, bandwidth: 30}}\n"
					"jobs: [{count: 2, compute: 0, volume: 100, "
					"iterations: 1}]\n",
					"fair-share", SL_WINDOW_EXACT, ask);

		near(g->ends_s[0], 10);
		near(g->ends_s[1], 10);
		rig_free(g);
	}
}

/* So small that it is full at once: time must go on all the same. */
static void a_buffer_of_a_byte_is_none(void **state)
{
	static const char *const policies[] = { "fair-share", "fcfs" };

	for (int i = 0; i < 4; i++) {
		struct rig *g = rig_run("platform: {bandwidth: 1e6, "
					"burst_buffer: {capacity: 1, bandwidth: 1e15}}\n"
					"jobs: [{count: 2, compute: 1000, volume: 1e9, "
					"iterations: 2}]\n",
					policies[i / 2], SL_WINDOW_EXACT, i % 2);
		double without_s = i / 2 ? 5000 : 6000;

		/* A nanosecond of 1e15/s is 1e6 bytes: a second less, each of a few times. */
		assert_true(g->m.end_s > without_s - 6 && g->m.end_s <= without_s);
		rig_free(g);
	}
}

struct asked {
	unsigned times;
};

static void count_moved(void *arg, double from_s, double to_s, double bytes)
{
	struct asked *a = arg;

	(void)from_s, (void)to_s, (void)bytes;
	a->times++;
}

static void ignore_segment(void *arg, uint32_t app, enum sl_activity what, double from_s,
			   double to_s, double rate_bps)
{
	(void)arg, (void)app, (void)what, (void)from_s, (void)to_s, (void)rate_bps;
}

static void a_transfer_that_restarts_does_not_fill_the_buffer(void **state)
{
	const char *text = "platform: {bandwidth: 1e6, per_proc_bandwidth: 1e6, restart: 10,\n"
			   "  burst_buffer: {capacity: 1e3}}\n"
			   "window: [0, 50000]\n"
			   "jobs: [{count: 5, compute: {uniform: [100, 200]},\n"
			   "  volume: {uniform: [1e6, 1e9]}}]\n";
	struct asked a = { 0 };
	struct sl_phase_sink sink = { .segment = ignore_segment, .arg = &a, .moved = count_moved };
	struct sl_phase_options options = { .policy = "min-dilation", .seed = 1, .sink = &sink };
	struct sl_sim_metrics m;
	struct sl_scenario s;
	char err[500] = "";

	assert_int_equal(sl_scenario_parse("f", text, strlen(text), &s, err, sizeof(err)), 0);
	assert_int_equal(sl_phase_run(&s, &options, &m, NULL, err, sizeof(err)), 0);
	assert_in_range(a.times, m.events / 2, 10 * m.events);
	sl_scenario_free(&s);
}

static void each_server_has_its_part(void **state)
{
	for (int ask = 0; ask < 2; ask++) {
		/* 0 and 2 share 5/s, 1 has 5/s alone. */
		struct rig *g = rig_run("platform: {bandwidth: 10, servers: 2}\n"
					"jobs:\n"
					"  - {compute: 0, volume: 20, iterations: 1}\n"
					"  - {compute: 0, volume: 20, iterations: 1}\n"
					"  - {compute: 0, volume: 20, iterations: 1}\n",
					"fair-share", SL_WINDOW_EXACT, ask);

		near(g->ends_s[0], 8);
		near(g->ends_s[1], 4);
		near(g->ends_s[2], 8);
		rig_free(g);
	}
}

static void zero_volumes_and_zero_computing_take_no_time(void **state)
{
	for (int ask = 0; ask < 2; ask++) {
		struct rig *g = rig_run("platform: {bandwidth: 10}\n"
					"jobs: [{compute: [1, 0, 0], volume: [0, 20, 0], "
					"iterations: 6}]\n",
					"fair-share", SL_WINDOW_EXACT, ask);

		near(g->m.end_s, 6);
		assert_int_equal(g->m.events, 12);
		near(g->m.dilation, 1);
		rig_free(g);
	}
}

static void the_end_of_the_window_cuts_endless_jobs(void **state)
{
	for (int ask = 0; ask < 2; ask++) {
		/* Both share from 4 to 8; at 9 the endless one has done 1 s of its second 4. The
		 * other ends at 8 + 4 + 2, with all of the disk. */
		struct rig *g = rig_run("platform: {bandwidth: 10}\n"
					"window: [2, 9]\n"
					"jobs:\n"
					"  - {compute: 4, volume: 20}\n"
					"  - {compute: 4, volume: 20, iterations: 2}\n",
					"fair-share", SL_WINDOW_EXACT, ask);

		near(g->m.end_s, 14);
		near(g->ends_s[0], 9);
		assert_int_equal(g->app[0].iterations, 1);
		near(g->app[0].stretch, 7.0 / (2 + 2 + 1));
		near(g->app[0].io_slowdown, 2);
		near(g->app[0].dilation, 9.0 / 7);
		near(g->app[1].stretch, 7.0 / 5);
		near(g->m.utilization, 6.0 / 14);
		rig_free(g);
	}
}

/*
 * The ideal model of Barthélemy et al.'s first experiment: 1 job of 19.2 s against 15 of 384 s.
 */
#define IDEAL                                            \
	"platform: {bandwidth: 110Mi}\n"                 \
	"window: [400, 3200]\n"                          \
	"jobs:\n"                                        \
	"  - {name: high, compute: 18, volume: 128Mi}\n" \
	"  - {name: low, count: 15, compute: 360, volume: 2560Mi}\n"

static void ideal_model_figures_are_met(void **state)
{
	static const struct {
		const char *policy;
		enum sl_window_mode mode;
		double max_stretch, geomean, slowdown, utilization;
	} known[] = {
		{ "fair-share", SL_WINDOW_EXACT, 1.882, 1.841, 14.65, .512 },
		{ "fcfs", SL_WINDOW_EXACT, 1.561, 1.078, 1.907, .873 },
		{ "fcfs", SL_WINDOW_PAPER, 1.561, 1.080, 1.961, .873 },
		{ "set-10", SL_WINDOW_EXACT, 1.130, 1.054, 1.738, .889 },
		{ "set-10", SL_WINDOW_PAPER, 1.131, 1.056, 1.785, .889 },
	};

	for (size_t i = 0; i < 2 * sizeof(known) / sizeof(known[0]); i++) {
		struct rig *g = rig_run(IDEAL, known[i / 2].policy, known[i / 2].mode, i % 2);

		about(g->m.max_stretch, known[i / 2].max_stretch, 0.5);
		about(g->m.geomean_stretch, known[i / 2].geomean, 0.5);
		about(g->m.io_slowdown, known[i / 2].slowdown, 0.5);
		about(g->m.utilization, known[i / 2].utilization, 0.5);
		rig_free(g);
	}
}

static void a_wrong_policy_is_told(void **state)
{
	struct sl_scenario s;
	struct sl_sim_metrics m;
	struct sl_phase_options options = { .policy = "nonsense" };
	const char *text = "platform: {bandwidth: 1}\n"
			   "jobs: [{compute: 1, volume: 1, iterations: 1}]\n";
	char err[500] = "";

	assert_int_equal(sl_scenario_parse("f", text, strlen(text), &s, err, sizeof(err)), 0);
	assert_int_equal(sl_phase_run(&s, &options, &m, NULL, err, sizeof(err)), -ENOENT);
	assert_non_null(strstr(err, "nonsense"));
	options.policy = "fcfs";
	s.apps[0].compute_s.a = -1;
	assert_int_equal(sl_phase_run(&s, &options, &m, NULL, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "jobs[0].compute is out of range");
	s.apps[0] = (struct sl_app){ .name = "x", .procs = 1, .iterations = 100000000 };
	s.apps[0].compute_s.a = 1e-300;
	assert_int_equal(sl_phase_run(&s, &options, &m, NULL, err, sizeof(err)), -ELOOP);
	options.policy = "fair-share";
	s.apps[0].compute_s.a = 0;
	s.apps[0].volume_bytes.a =
		1e-300; /* time goes on, by less than any double near 1 can say */
	assert_int_equal(sl_phase_run(&s, &options, &m, NULL, err, sizeof(err)), -ELOOP);
	sl_scenario_free(&s);
}

static void equal_seeds_are_equal_workloads(void **state)
{
	const char *text = "platform: {bandwidth: 10}\n"
			   "jobs:\n"
			   "  - {count: 8, compute: {exponential: 4}, volume: {normal: [20, 9]}, "
			   "iterations: 50}\n";
	struct rig *fair = rig_run(text, "fair-share", SL_WINDOW_EXACT, false);
	struct rig *fcfs = rig_run(text, "fcfs", SL_WINDOW_EXACT, false);
	struct rig *again = rig_run(text, "fair-share", SL_WINDOW_EXACT, false);

	for (int i = 0; i < 8; i++)
		assert_true(fair->app[i].bytes == fcfs->app[i].bytes);
	assert_true(fair->app[0].bytes != fair->app[1].bytes);
	assert_true(fair->m.end_s == again->m.end_s && fair->m.dilation == again->m.dilation);
	assert_true(fair->m.end_s != fcfs->m.end_s);
	rig_free(fair);
	rig_free(fcfs);
	rig_free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_alone_reaches_the_upper_limit),
		cmocka_unit_test(two_equal_jobs_share_equally),
		cmocka_unit_test(two_jobs_that_overlap_share_while_they_do),
		cmocka_unit_test(what_caps_leave_goes_to_others),
		cmocka_unit_test(first_come_is_served_first_and_alone),
		cmocka_unit_test(a_burst_buffer_takes_data_until_it_is_full),
		cmocka_unit_test(alone_is_with_the_burst_buffer),
		cmocka_unit_test(jobs_that_follow_each_other_share_processors),
		cmocka_unit_test(one_that_never_came_gives_no_processors_back),
		cmocka_unit_test(a_buffer_that_is_full_is_shared_as_disks_are),
		cmocka_unit_test(a_buffer_of_a_byte_is_none),
		cmocka_unit_test(a_transfer_that_restarts_does_not_fill_the_buffer),
		cmocka_unit_test(each_server_has_its_part),
		cmocka_unit_test(zero_volumes_and_zero_computing_take_no_time),
		cmocka_unit_test(the_end_of_the_window_cuts_endless_jobs),
		cmocka_unit_test(ideal_model_figures_are_met),
		cmocka_unit_test(a_wrong_policy_is_told),
		cmocka_unit_test(equal_seeds_are_equal_workloads),
	};

	return cmocka_run_group_tests_name("phase", tests, NULL, NULL);
}
