/* SPDX-License-Identifier: Apache-2.0 */
/* What jobs did in the last hour, as the dashboard keeps it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cjson/cJSON.h>

#include "httpd/history.h"

#define MB 1e6

static struct history h; /* large */

static int setup(void **state)
{
	return history_init(&h);
}

static int teardown(void **state)
{
	history_free(&h);
	return 0;
}

static void sample(int64_t ms, double a_mb, enum history_io io)
{
	history_begin(&h, ms, 0);
	history_job(&h, "a", a_mb * MB, io);
	history_end(&h);
}

static cJSON *json(uint32_t seconds)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	cJSON *tree;

	history_json(&h, f, seconds, 1000000);
	fclose(f);
	tree = cJSON_Parse(text);
	free(text);
	assert_non_null(tree);
	return tree;
}

static double bps(const cJSON *tree, int job, int second)
{
	const cJSON *of = cJSON_GetArrayItem(cJSON_GetObjectItem(tree, "jobs"), job);

	return cJSON_GetArrayItem(cJSON_GetObjectItem(of, "bps"), second)->valuedouble;
}

static const cJSON *phase(const cJSON *tree, int number)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItem(tree, "phases"), number);
}

static double of_phase(const cJSON *tree, int number, const char *key)
{
	return cJSON_GetObjectItem(phase(tree, number), key)->valuedouble;
}

static void what_was_moved_between_two_samples_is_spread_over_its_seconds(void **state)
{
	cJSON *tree;

	sample(10400, 100, HISTORY_UNKNOWN); /* what was before is not known */
	sample(11400, 200, HISTORY_UNKNOWN);
	sample(13000, 200, HISTORY_UNKNOWN);
	tree = json(60);
	assert_int_equal(cJSON_GetObjectItem(tree, "step_s")->valueint, 1);
	assert_int_equal(cJSON_GetObjectItem(tree, "from_ms")->valueint, 1010000);
	assert_float_equal(bps(tree, 0, 0), 60 * MB, 10);
	assert_float_equal(bps(tree, 0, 1), 40 * MB, 10);
	assert_float_equal(bps(tree, 0, 2), 0, 0.1);
	assert_float_equal(history_peak_bps(&h), 60 * MB, 10);
	cJSON_Delete(tree);
}

static void a_job_that_is_new_has_moved_all_of_it_since(void **state)
{
	cJSON *tree;

	history_begin(&h, 5000, 0);
	history_end(&h);
	sample(6000, 30, HISTORY_UNKNOWN);
	sample(7000, 30, HISTORY_UNKNOWN);
	tree = json(2);
	assert_float_equal(bps(tree, 0, 0), 30 * MB, 10);
	cJSON_Delete(tree);
}

static void counters_that_fall_are_of_a_node_that_was_started_again(void **state)
{
	cJSON *tree;

	sample(1000, 0, HISTORY_UNKNOWN);
	sample(2000, 500, HISTORY_UNKNOWN);
	sample(3000, 10, HISTORY_UNKNOWN);
	sample(4000, 30, HISTORY_UNKNOWN);
	tree = json(60);
	assert_float_equal(bps(tree, 0, 0), 500 * MB, 100);
	assert_float_equal(bps(tree, 0, 1), 0, 0.1);
	assert_float_equal(bps(tree, 0, 2), 20 * MB, 10);
	cJSON_Delete(tree);
}

static void a_node_that_is_away_for_a_while_has_moved_nothing_by_that(void **state)
{
	static const double mb[] = { 1000, 1010, 110, 120, 1030, 1040 };
	static const float moved_bps[] = { 10e6F, 0, 10e6F, 0, 10e6F };
	cJSON *tree;

	for (int s = 0; s < 6; s++) { /* one of two does not answer at 2 s and 3 s */
		history_begin(&h, s * 1000, s == 2 || s == 3);
		history_job(&h, "a", mb[s] * MB, HISTORY_UNKNOWN);
		if (s < 2 || s > 3) /* only the other knows it */
			history_job(&h, "b", 700 * MB, HISTORY_UNKNOWN);
		history_end(&h);
	}
	tree = json(60);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "jobs")), 1);
	for (int s = 0; s < 5; s++)
		assert_float_equal(bps(tree, 0, s), moved_bps[s], 10);
	assert_float_equal(history_peak_bps(&h), 10 * MB, 10);
	cJSON_Delete(tree);
}

static void a_name_that_comes_again_is_another_job(void **state)
{
	cJSON *tree;

	sample(0, 0, HISTORY_UNKNOWN);
	sample(1000, 50, HISTORY_UNKNOWN);
	history_begin(&h, 2000, 0);
	history_end(&h);
	sample(3000, 60, HISTORY_UNKNOWN);
	sample(4000, 60, HISTORY_UNKNOWN);
	tree = json(60);
	assert_float_equal(bps(tree, 0, 0), 50 * MB, 10);
	assert_float_equal(bps(tree, 0, 1), 0, 0.1);
	assert_float_equal(bps(tree, 0, 2), 60 * MB, 10);
	cJSON_Delete(tree);
}

static void an_hour_is_kept_and_no_more(void **state)
{
	cJSON *tree;

	sample(0, 0, HISTORY_UNKNOWN);
	for (int64_t s = 1; s <= 2 * HISTORY_S; s++)
		sample(s * 1000, (double)s, HISTORY_UNKNOWN);
	tree = json(10 * HISTORY_S);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(
				 cJSON_GetArrayItem(cJSON_GetObjectItem(tree, "jobs"), 0), "bps")),
			 HISTORY_S - 1);
	for (int i = 0; i < HISTORY_S - 1; i++)
		assert_float_equal(bps(tree, 0, i), 1 * MB, 10);
	cJSON_Delete(tree);
	/* nothing of before a long silence is left over */
	sample(10 * HISTORY_S * INT64_C(1000), 2 * HISTORY_S, HISTORY_UNKNOWN);
	tree = json(HISTORY_S);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "jobs")), 0);
	cJSON_Delete(tree);
}

static void a_phase_begins_and_ends_within_samples_by_its_best_rate(void **state)
{
	cJSON *tree;

	sample(1000, 0, HISTORY_UNKNOWN);
	sample(2000, 20, HISTORY_UNKNOWN);
	sample(3000, 100, HISTORY_UNKNOWN);
	tree = json(60);
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(phase(tree, 0), "to_ms"))); /* under way */
	cJSON_Delete(tree);
	sample(4000, 140, HISTORY_UNKNOWN);
	sample(5000, 140, HISTORY_UNKNOWN);
	tree = json(60);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "phases")), 1);
	assert_float_equal(of_phase(tree, 0, "from_ms"), 1000000 + 1750, 1);
	assert_float_equal(of_phase(tree, 0, "to_ms"), 1000000 + 3500, 1);
	assert_float_equal(of_phase(tree, 0, "bytes"), 140 * MB, 1);
	cJSON_Delete(tree);
}

static void phases_are_the_controllers_if_it_tells(void **state)
{
	cJSON *tree;

	sample(1000, 0, HISTORY_IDLE);
	sample(2000, 10, HISTORY_IN_IO);
	sample(3000, 10, HISTORY_IN_IO); /* longer than the gap here, but it says so */
	sample(4500, 10, HISTORY_IN_IO);
	sample(5000, 15, HISTORY_IN_IO);
	sample(6000, 15, HISTORY_IDLE);
	tree = json(60);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "phases")), 1);
	assert_float_equal(of_phase(tree, 0, "from_ms"), 1001000, 1);
	assert_float_equal(of_phase(tree, 0, "to_ms"), 1005000, 1);
	cJSON_Delete(tree);
}

static void the_use_of_a_job_counts_its_phases_and_the_times_between(void **state)
{
	struct history_use use;
	double mb = 0;

	assert_false(history_use(&h, "a", 0, &use));
	assert_int_equal(history_idle_ms(&h, "a"), -1);
	sample(0, 0, HISTORY_UNKNOWN);
	/* 10 s each: 4 s of 50 MB, 6 s of nothing */
	for (int64_t s = 1; s <= 100; s++) {
		mb += (s - 1) % 10 < 4 ? 50 : 0;
		sample(s * 1000, mb, HISTORY_UNKNOWN);
	}
	assert_true(history_use(&h, "a", 0, &use));
	assert_int_equal(use.phases, 10);
	assert_float_equal(use.present_s, 100, 0.01);
	assert_float_equal(use.io_s, 40, 0.1);
	assert_float_equal(use.bytes, 2000 * MB, 1);
	assert_float_equal(use.mean_bytes, 200 * MB, 1);
	assert_float_equal(use.mean_compute_s, 6, 0.01);
	assert_int_equal(history_idle_ms(&h, "a"), 6000);
	/* the one that had begun before counts by its part */
	assert_false(history_use(&h, "a", 92000, &use)); /* none has begun and ended since */
	assert_float_equal(use.bytes, 100 * MB, 1);
	assert_float_equal(use.io_s, 2, 0.01);
}

static void so_many_jobs_are_kept_the_longest_idle_go_first(void **state)
{
	char name[16];
	cJSON *tree;

	history_begin(&h, 0, 0);
	history_end(&h);
	history_begin(&h, 1000, 0);
	for (int i = 0; i < HISTORY_JOBS; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		history_job(&h, name, i == 7 ? 0 : 1e6, HISTORY_UNKNOWN);
	}
	history_job(&h, "one too many", 1e6, HISTORY_UNKNOWN);
	history_end(&h);
	assert_int_equal(h.jobs, HISTORY_JOBS);
	assert_int_equal(history_idle_ms(&h, "one too many"), -1);
	history_begin(&h, 2000, 0);
	history_end(&h);
	history_begin(&h, 3000, 0);
	history_job(&h, "new", 5e6, HISTORY_UNKNOWN);
	history_end(&h);
	assert_int_equal(h.jobs, HISTORY_JOBS);
	assert_string_equal(h.job[7].name, "new");
	history_begin(&h, 4000, 0);
	history_end(&h);
	tree = json(60);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "jobs")), HISTORY_JOBS);
	cJSON_Delete(tree);
}

static void so_many_phases_are_kept_and_steps_grow_with_the_jobs(void **state)
{
	cJSON *tree;
	double mb = 0;
	int64_t ms = 0;

	for (int i = 0; i < HISTORY_PHASES + 10; i++) {
		sample(ms += 2000, mb, HISTORY_IDLE);
		sample(ms += 1000, mb += 1, HISTORY_IN_IO);
	}
	tree = json(60);
	assert_int_equal(h.phases, HISTORY_PHASES + 10);
	assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "phases")) <= 22);
	cJSON_Delete(tree);
	for (int s = 0; s < HISTORY_S; s++) {
		history_begin(&h, ms += 1000, 0);
		for (int i = 0; i < 300; i++) {
			char name[16];

			snprintf(name, sizeof(name), "j%d", i);
			history_job(&h, name, s * 1e6, HISTORY_UNKNOWN);
		}
		history_end(&h);
	}
	tree = json(HISTORY_S);
	assert_int_equal(cJSON_GetObjectItem(tree, "step_s")->valueint, 3);
	assert_float_equal(bps(tree, 1, 500), 1 * MB, 10);
	cJSON_Delete(tree);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_was_moved_between_two_samples_is_spread_over_its_seconds),
		CASE(a_job_that_is_new_has_moved_all_of_it_since),
		CASE(counters_that_fall_are_of_a_node_that_was_started_again),
		CASE(a_node_that_is_away_for_a_while_has_moved_nothing_by_that),
		CASE(a_name_that_comes_again_is_another_job),
		CASE(an_hour_is_kept_and_no_more),
		CASE(a_phase_begins_and_ends_within_samples_by_its_best_rate),
		CASE(phases_are_the_controllers_if_it_tells),
		CASE(the_use_of_a_job_counts_its_phases_and_the_times_between),
		CASE(so_many_jobs_are_kept_the_longest_idle_go_first),
		CASE(so_many_phases_are_kept_and_steps_grow_with_the_jobs),
	};

	return cmocka_run_group_tests_name("http-history", tests, NULL, NULL);
}
