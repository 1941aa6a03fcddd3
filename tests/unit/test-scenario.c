/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios from YAML and back; and every mistake is told with its line and key. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/random.h"
#include "sim/scenario.h"
#include "tests/unit/scenario-rig.h"

#define PLATFORM "platform: {bandwidth: 100M}\n"
#define JOB	 "jobs:\n  - {compute: 1, volume: 1, iterations: 1}\n"

static int parse(const char *text, struct sl_scenario *s, char *err, size_t size)
{
	return sl_scenario_parse("f.yaml", text, strlen(text), s, err, size);
}

static struct sl_scenario parsed(const char *text)
{
	struct sl_scenario s;
	char err[500] = "";

	if (parse(text, &s, err, sizeof(err)))
		fail_msg("%s", err);
	return s;
}

static void refused(const char *text, const char *message)
{
	struct sl_scenario s;
	char err[500] = "";

	assert_int_equal(parse(text, &s, err, sizeof(err)), -EINVAL);
	if (!strstr(err, message) || strncmp(err, "f.yaml:", 7) != 0)
		fail_msg("'%s' does not say '%s'", err, message);
	assert_null(s.apps);
}

static void everything_that_can_be_said(void **state)
{
	struct sl_scenario s =
		parsed("platform:\n"
		       "  bandwidth: 110MiB/s\n"
		       "  per_proc_bandwidth: 1.5M\n"
		       "  procs: 2048\n"
		       "  servers: 4\n"
		       "  burst_buffer: {capacity: 2Ti, bandwidth: 1Gi}\n"
		       "  restart: 20ms\n"
		       "window: [400, 1h]\n"
		       "jobs:\n"
		       "  - {name: small, count: 2, compute: 6m, volume: 2560Mi}\n"
		       "  - name: large\n"
		       "    procs: 512\n"
		       "    release: 5us\n"
		       "    iterations: 12\n"
		       "    compute: {normal: [360, 20]}\n"
		       "    volume: [1e3, 2K, 0.5]\n"
		       "    period_hint: 384\n"
		       "  - {compute: {uniform: [1, 2]}, volume: {exponential: 1G}}\n");

	assert_true(s.platform.bandwidth_bps == 110 * 1048576.0);
	assert_true(s.platform.per_proc_bps == 1.5e6);
	assert_true(s.platform.procs == 2048 && s.platform.servers == 4);
	assert_true(s.platform.buffer_bytes == 0x1p41 && s.platform.buffer_bps == 0x1p30);
	assert_true(s.platform.restart_s == 0.02);
	assert_true(s.from_s == 400 && s.to_s == 3600);
	assert_int_equal(s.n_apps, 4);
	assert_string_equal(s.name, "f.yaml");
	assert_string_equal(s.apps[0].name, "small-1");
	assert_string_equal(s.apps[1].name, "small-2");
	assert_true(s.apps[1].compute_s.a == 360 && s.apps[1].volume_bytes.a == 2560 * 1048576.0);
	assert_true(s.apps[1].procs == 1 && s.apps[1].iterations == 0);
	assert_string_equal(s.apps[2].name, "large");
	assert_true(s.apps[2].procs == 512 && s.apps[2].release_s == 5e-6);
	assert_true(s.apps[2].iterations == 12 && s.apps[2].period_hint_s == 384);
	assert_true(s.apps[2].compute_s.kind == SL_VARY_NORMAL && s.apps[2].compute_s.b == 20);
	assert_true(s.apps[2].volume_bytes.kind == SL_VARY_LIST);
	assert_int_equal(s.apps[2].volume_bytes.count, 3);
	assert_true(s.apps[2].volume_bytes.list[2] == 0.5);
	assert_string_equal(s.apps[3].name, "job3");
	assert_true(s.apps[3].volume_bytes.kind == SL_VARY_EXPONENTIAL);
	sl_scenario_free(&s);
}

static void mistakes_are_told_with_line_and_key(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ "", "f.yaml:1: platform and jobs are missing" },
		{ "jobs: [{compute: 1, volume: 1, iterations: 1}]\n", "platform is missing" },
		{ PLATFORM, "jobs are missing" },
		{ PLATFORM "jobs: []\n", "jobs are missing" },
		{ "platform: {procs: 1}\n" JOB, "f.yaml:1: platform: the bandwidth is missing" },
		{ "platform:\n  bandwidth: -3G\n" JOB,
		  "f.yaml:2: platform.bandwidth: '-3G' is negative" },
		{ "platform:\n  bandwidth: 0\n" JOB, ":2: platform.bandwidth: '0' is zero" },
		{ "platform: {bandwidth: nan}\n" JOB, "platform.bandwidth: 'nan' is not a rate" },
		{ "platform: {bandwidth: .inf}\n" JOB, "'.inf' is not a rate" },
		{ "platform: {bandwidth: 0x10}\n" JOB, "'0x10' is not a rate" },
		{ "platform: {bandwidth: 1e400}\n" JOB, "'1e400' is too much" },
		{ "platform: {bandwidth: 1M, bandwidth: 2M}\n" JOB, "bandwidth is given twice" },
		{ "platform: {bandwith: 1M}\n" JOB, "did you mean 'bandwidth'" },
		{ "platform: {bandwidth: 1M, servers: 0}\n" JOB, "platform.servers: '0'" },
		{ "platform: {bandwidth: 1M, burst_buffer: {bandwidth: 2M}}\n" JOB,
		  "platform.burst_buffer: the capacity is missing" },
		{ "platform: {bandwidth: 1M, burst_buffer: {capacity: 2M}}\n" JOB,
		  "nothing limits how fast the burst buffer fills" },
		{ "platform: {bandwidth: 1M, restart: 1M}\n" JOB, "restart: '1M' is not a time" },
		{ PLATFORM "window: [5, 5]\n" JOB, "f.yaml:2: window: the window ends before" },
		{ PLATFORM "window: 5\n" JOB, "f.yaml:2: window: this is a list of two" },
		{ PLATFORM "jobs:\n  - {volume: 1, iterations: 1}\n",
		  "f.yaml:3: jobs[0]: compute is missing" },
		{ PLATFORM "jobs:\n  - {compute: 1, iterations: 1}\n",
		  "f.yaml:3: jobs[0]: volume is missing" },
		{ PLATFORM "jobs:\n  - {compute: 1, volume: 1, iterations: 1}\n"
			   "  - {compute: 1,\n     volume: -3G, iterations: 1}\n",
		  "f.yaml:5: jobs[1].volume: '-3G' is negative" },
		{ PLATFORM "jobs:\n  - {compute: 1, volume: 1000000000000000000, iterations: 1}\n",
		  "f.yaml:3: jobs[0].volume: '1000000000000000000' is too much" },
		{ PLATFORM "jobs:\n  - {compute: 1, volume: 1}\n",
		  "f.yaml:3: jobs[0]: iterations are missing" },
		{ PLATFORM "jobs:\n  - {compute: 0, volume: 0, iterations: 1}\n",
		  "f.yaml:3: jobs[0]: it neither computes nor does I/O" },
		{ PLATFORM "jobs:\n  - {compute: [], volume: 0, iterations: 1}\n",
		  "jobs[0].compute: the list is empty" },
		{ PLATFORM "jobs:\n  - {compute: [1, x], volume: 0, iterations: 1}\n",
		  "jobs[0].compute[1]: 'x' is not a time" },
		{ PLATFORM "jobs:\n  - {compute: {uniform: [2, 1]}, volume: 0, iterations: 1}\n",
		  "jobs[0].compute.uniform: the smaller one comes first" },
		{ PLATFORM "jobs:\n  - {compute: {}, volume: 0, iterations: 1}\n",
		  "jobs[0].compute: there must be one distribution, not 0" },
		{ PLATFORM JOB "policies: [grant/fcsf]\n", "(did you mean 'fcfs'?)" },
		{ "requests: {}\n",
		  "f.yaml:1: this is a scenario of requests, for 'sluice sim --req" },
		{ "platform:\n\tbandwidth: 1M\n",
		  "f.yaml:2: this is not YAML: found character that "
		  "cannot start any token; a tab is not allowed" },
		{ PLATFORM "jobs:\n  - {name: a, count: 2, compute: 1, volume: 0, iterations: 1}\n"
			   "  - {name: a-2, compute: 1, volume: 0, iterations: 1}\n",
		  "f.yaml:4: jobs: two jobs are called 'a-2'; line 3 has the other" },
		{ "platform: {bandwidth: 8}\njobs:\n"
		  "  - {name: a, compute: 2, volume: 800G, iterations: 1}\n",
		  "f.yaml:3: jobs: a: 1 iterations of 1e+11 s, of which 1e+11 s are I/O at 8 "
		  "bytes" },
		{ PLATFORM "jobs:\n  - {compute: 1, volume: 0, iterations: 300000000000}\n",
		  "would end after 4e+09 s" },
		{ "platform:\n  bandwidth: 1M\n  procs: 10\njobs:\n"
		  "  - {procs: 8, compute: 1, volume: 0, iterations: 1}\n"
		  "  - {procs: 7, compute: 1, volume: 0, iterations: 1}\n",
		  "f.yaml:3: platform.procs: the jobs need 15 processors at 0 s, platform.procs is "
		  "10" },
		{ PLATFORM "jobs:\n  - {compute: {gamma: 2}, volume: 0, iterations: 1}\n",
		  "has no key 'gamma'" },
		{ PLATFORM "jobs:\n  - {compute: 1, volume: 0, iterations: 1, procs: 0}\n",
		  "jobs[0].procs: '0' is not a number from 1" },
		{ PLATFORM "jobs:\n  - {compute: 1, volume: 0, iterations: 1, count: 9999999}\n",
		  "jobs[0].count" },
		{ PLATFORM "jobs:\n  - {name: \"a\\tb\", compute: 1, volume: 0, iterations: 1}\n",
		  "jobs[0].name: a name has" },
		{ PLATFORM JOB "policies:\n  - nonsense\n",
		  "f.yaml:5: policies[0]: grant: no policy 'nonsense'" },
		{ PLATFORM JOB "policies: [gamma=50]\n", "stands in quotes" },
		{ PLATFORM "jobs: {\n", "this is not YAML" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused(bad[i].text, bad[i].message);
}

static double any(struct sl_random *r, double below)
{
	return below * ldexp(sl_random_unit(r), -(int)(sl_random_next(r) % 60));
}

static void vary(struct sl_random *r, struct sl_vary *v, double below)
{
	v->kind = (enum sl_vary_kind)(sl_random_next(r) % 5);
	if (v->kind == SL_VARY_LIST) {
		v->count = 1 + (uint32_t)(sl_random_next(r) % 5);
		v->list = calloc(v->count, sizeof(*v->list));
		assert_non_null(v->list);
		for (uint32_t i = 0; i < v->count; i++)
			v->list[i] = any(r, below);
		return;
	}
	v->a = any(r, below);
	if (v->kind == SL_VARY_UNIFORM || v->kind == SL_VARY_NORMAL)
		v->b = v->a + any(r, below - v->a);
}

static void same_vary(const struct sl_vary *a, const struct sl_vary *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_true(a->a == b->a && a->b == b->b && a->count == b->count);
	for (uint32_t i = 0; i < a->count; i++)
		assert_true(a->list[i] == b->list[i]);
}

static void what_is_saved_reads_back_to_the_last_bit(void **state)
{
	struct sl_random r = sl_random_stream(1, 0);

	for (int n = 0; n < 200; n++) {
		struct sl_scenario s = { .n_apps = 3 }, again;
		struct sl_scenario_fault f;
		char *text, *text2;

		s.platform = (struct sl_platform){ any(&r, 1e18) + 1e-9, any(&r, 1e18),
						   UINT64_C(7) << 32,	 3,
						   any(&r, 1e18) + 1,	 any(&r, 1e18) + 1,
						   any(&r, 1e9) };
		s.from_s = any(&r, 1e8);
		s.to_s = s.from_s + 1 + any(&r, 1e8);
		s.apps = calloc(s.n_apps, sizeof(*s.apps));
		assert_non_null(s.apps);
		for (uint32_t i = 0; i < s.n_apps; i++) {
			struct sl_app *a = &s.apps[i];

			snprintf(a->name, sizeof(a->name), "it's #%u: a, {b} \"c\"", i);
			a->procs = 1 + (uint32_t)(sl_random_next(&r) % SL_SIM_PROCS);
			a->release_s = any(&r, 1e9);
			a->iterations = sl_random_next(&r) % 4;
			a->period_hint_s = any(&r, 1e9);
			vary(&r, &a->compute_s, 1e9);
			vary(&r, &a->volume_bytes, 1e18);
		}
		while (sl_scenario_sense(&s, &f)) /* it would never end */
			s.apps[f.app].iterations = 0;
		text = saved(&s);
		again = parsed(text);
		text2 = saved(&again);
		assert_string_equal(text, text2);
		assert_memory_equal(&s.platform, &again.platform, sizeof(s.platform));
		assert_true(s.from_s == again.from_s && s.to_s == again.to_s);
		assert_int_equal(s.n_apps, again.n_apps);
		for (uint32_t i = 0; i < s.n_apps; i++) {
			const struct sl_app *a = &s.apps[i], *b = &again.apps[i];

			assert_string_equal(a->name, b->name);
			assert_true(a->procs == b->procs && a->release_s == b->release_s);
			assert_true(a->iterations == b->iterations);
			assert_true(a->period_hint_s == b->period_hint_s);
			same_vary(&a->compute_s, &b->compute_s);
			same_vary(&a->volume_bytes, &b->volume_bytes);
		}
		free(text);
		free(text2);
		sl_scenario_free(&s);
		sl_scenario_free(&again);
	}
}

static void jobs_may_have_processors_one_after_the_other(void **state)
{
	struct sl_scenario s =
		parsed("platform: {bandwidth: 1M, procs: 10}\njobs:\n"
		       "  - {procs: 8, compute: 1, volume: 9M, iterations: 10}\n"
		       "  - {procs: 7, release: 100, compute: 1, volume: 0, iterations: 9}\n"
		       "  - {procs: 10, release: 109, compute: 1, volume: 0, iterations: 9}\n");
	struct sl_scenario_fault f;

	s.apps[1].release_s = 99;
	assert_int_equal(sl_scenario_sense(&s, &f), -EINVAL);
	assert_int_equal(f.app, SL_SCENARIO_PLATFORM);
	assert_string_equal(f.text, "the jobs need 15 processors at 99 s, platform.procs is 10");
	sl_scenario_free(&s);
}

static void all_together_ask_for_what_each_would_alone(void **state)
{
	/* 10 bytes in 1 + 10/10 s, 20 in 2 + 20/4 s. */
	struct sl_scenario s = parsed("platform: {bandwidth: 10, per_proc_bandwidth: 4}\n"
				      "window: [0, 9]\njobs:\n"
				      "  - {procs: 3, compute: 1, volume: 10}\n"
				      "  - {compute: 2, volume: 20}\n");

	assert_true(fabs(sl_scenario_asks_bps(&s) - (10 / 2.0 + 20 / 7.0)) < 1e-12);
	assert_int_equal(sl_scenario_procs(&s), 4);
	sl_scenario_free(&s);
}

static void what_a_program_got_wrong_is_not_saved(void **state)
{
	struct sl_scenario s = parsed(PLATFORM JOB);
	char err[500];

	s.apps[0].volume_bytes.a = NAN;
	assert_int_equal(sl_scenario_check(&s, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "jobs[0].volume is out of range");
	assert_int_equal(sl_scenario_save(stdout, &s), -EINVAL);
	s.apps[0].volume_bytes.a = 1;
	s.platform.bandwidth_bps = 0;
	assert_int_equal(sl_scenario_check(&s, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "platform.bandwidth is out of range");
	sl_scenario_free(&s);
}

static void a_file_that_is_not_there_is_named(void **state)
{
	struct sl_scenario s;
	char err[500];

	assert_int_equal(sl_scenario_load("/nowhere/x.yaml", &s, err, sizeof(err)), -ENOENT);
	assert_non_null(strstr(err, "/nowhere/x.yaml"));
}

static void alone_is_computing_and_moving_at_full_speed(void **state)
{
	struct sl_scenario s =
		parsed("platform: {bandwidth: 100, per_proc_bandwidth: 2, servers: 4}\n"
		       "jobs:\n"
		       "  - {procs: 10, compute: 5, volume: 60, iterations: 1}\n"
		       "  - {procs: 100, compute: [1, 3], volume: {uniform: [0, 50]}, "
		       "iterations: 1}\n");

	assert_true(sl_app_cap_bps(&s.platform, &s.apps[0]) == 20);
	assert_true(sl_app_cap_bps(&s.platform, &s.apps[1]) == 25);
	assert_true(sl_app_alone_s(&s.platform, &s.apps[0]) == 8);
	assert_true(sl_app_alone_s(&s.platform, &s.apps[1]) == 3);
	sl_scenario_free(&s);
}

static void draws_have_the_mean_they_should(void **state)
{
	static double list[] = { 1, 2, 6 };
	static const struct sl_vary vary[] = {
		{ SL_VARY_CONSTANT, 0, 7, 0, NULL },	{ SL_VARY_UNIFORM, 0, 2, 8, NULL },
		{ SL_VARY_NORMAL, 0, 10, 5, NULL },	{ SL_VARY_NORMAL, 0, 1, 5, NULL },
		{ SL_VARY_EXPONENTIAL, 0, 4, 0, NULL }, { SL_VARY_LIST, 3, 0, 0, list },
	};
	static const double mean[] = { 7, 5, 10.042453, 2.535, 4, 3 };

	for (size_t i = 0; i < sizeof(vary) / sizeof(vary[0]); i++) {
		struct sl_random r = sl_random_stream(3, i);
		double sum = 0;

		for (uint64_t k = 0; k < 300000; k++) {
			double x = sl_vary_draw(&vary[i], k, &r);

			assert_true(x >= 0);
			sum += x;
		}
		assert_true(fabs(sl_vary_mean(&vary[i]) - mean[i]) < 1e-3);
		/* Five standard deviations of the mean. */
		assert_true(fabs(sum / 300000 - mean[i]) < 0.05);
	}
}

static void streams_differ(void **state)
{
	struct sl_random a = sl_random_stream(1, 0), b = sl_random_stream(1, 1),
			 c = sl_random_stream(2, 0), again = sl_random_stream(1, 0);
	unsigned same = 0;

	for (int i = 0; i < 1000; i++) {
		uint64_t x = sl_random_next(&a);

		same += x == sl_random_next(&b);
		same += x == sl_random_next(&c);
		assert_true(x == sl_random_next(&again));
	}
	assert_int_equal(same, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_that_can_be_said),
		cmocka_unit_test(mistakes_are_told_with_line_and_key),
		cmocka_unit_test(what_is_saved_reads_back_to_the_last_bit),
		cmocka_unit_test(jobs_may_have_processors_one_after_the_other),
		cmocka_unit_test(all_together_ask_for_what_each_would_alone),
		cmocka_unit_test(what_a_program_got_wrong_is_not_saved),
		cmocka_unit_test(a_file_that_is_not_there_is_named),
		cmocka_unit_test(alone_is_computing_and_moving_at_full_speed),
		cmocka_unit_test(draws_have_the_mean_they_should),
		cmocka_unit_test(streams_differ),
	};

	return cmocka_run_group_tests_name("scenario", tests, NULL, NULL);
}
