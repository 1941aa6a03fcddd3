/* SPDX-License-Identifier: Apache-2.0 */
/* Watching jobs, and choosing the order policy by what was seen. */
#include "sched-rig.h"

static void strided_reads(struct box *b, uint64_t job, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct sl_request r = { .job = job,
					.client = i % 4,
					.file = A,
					.offset = i * 16 * K,
					.length = 16 * K,
					.op = SL_READ };

		assert_int_equal(sl_add(b->s, &r, b->now), 0);
		assert_int_equal(sl_done(b->s, sl_next(b->s, b->now, NULL), b->now), 0);
		b->now += MS;
	}
}

static void a_job_that_did_nothing_has_no_pattern(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .patterns = 1 });
	struct sl_job_pattern p;

	(void)state;
	assert_int_equal(sl_job_pattern(b->s, 1, &p), -ENOENT);
	assert_int_equal(sl_job_add(b->s, 1, NULL, b->now), 0);
	assert_int_equal(sl_job_pattern(b->s, 1, &p), 0);
	assert_string_equal(p.spatiality, "unknown");
	assert_string_equal(p.size, "unknown");
	assert_int_equal(p.requests, 0);
	box_close(b);
}

static void the_pattern_of_a_job_is_that_of_its_own_requests(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .patterns = 1, .share = "pool" });
	struct sl_job_pattern p;

	(void)state;
	assert_int_equal(sl_job_add(b->s, 1, NULL, b->now), 0);
	assert_int_equal(sl_job_add(b->s, 2, NULL, b->now), 0);
	strided_reads(b, 1, 40);
	assert_int_equal(sl_job_pattern(b->s, 1, &p), 0);
	assert_string_equal(p.spatiality, "strided");
	assert_string_equal(p.size, "small");
	assert_int_equal(p.op, SL_READ);
	assert_int_equal(p.files, 1);
	assert_int_equal(p.call_bytes, 16 * K);
	assert_int_equal(p.requests, 40);
	assert_int_equal(sl_job_pattern(b->s, 2, &p), 0);
	assert_int_equal(p.requests, 0);
	box_close(b);
}

static void a_new_job_in_an_old_place_begins_anew(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .patterns = 1, .limits = { 1, 8, 8 } });
	struct sl_job_pattern p;

	(void)state;
	assert_int_equal(sl_job_add(b->s, 1, NULL, b->now), 0);
	strided_reads(b, 1, 40);
	assert_int_equal(sl_job_remove(b->s, 1, b->now), 0);
	assert_int_equal(sl_job_add(b->s, 2, NULL, b->now), 0);
	assert_int_equal(sl_job_pattern(b->s, 2, &p), 0);
	assert_int_equal(p.requests, 0);
	strided_reads(b, 2, 8);
	assert_int_equal(sl_job_pattern(b->s, 2, &p), 0);
	assert_int_equal(p.requests, 8);
	box_close(b);
}

static void nothing_is_watched_unless_asked_for(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .patterns = 0 });
	struct sl_job_pattern p;

	(void)state;
	assert_int_equal(sl_job_add(b->s, 1, NULL, b->now), 0);
	strided_reads(b, 1, 40);
	assert_int_equal(sl_job_pattern(b->s, 1, &p), 0);
	assert_int_equal(p.requests, 0);
	box_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_that_did_nothing_has_no_pattern),
		cmocka_unit_test(the_pattern_of_a_job_is_that_of_its_own_requests),
		cmocka_unit_test(a_new_job_in_an_old_place_begins_anew),
		cmocka_unit_test(nothing_is_watched_unless_asked_for),
	};

	return cmocka_run_group_tests_name("order auto", tests, NULL, NULL);
}
