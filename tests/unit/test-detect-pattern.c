/* SPDX-License-Identifier: Apache-2.0 */
/* The pattern detector on small streams, written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "detect/pattern.h"

#define US 1000

struct rig {
	struct sl_access *a;
	void *memory;
	sl_time now;
};

static struct rig rig(uint64_t transfer_bytes)
{
	struct sl_access_conf conf = { .transfer_bytes = transfer_bytes };
	void *memory = malloc(sl_access_bytes(&conf));

	assert_non_null(memory);
	return (struct rig){ .a = sl_access_init(memory, &conf), .memory = memory };
}

static void add(struct rig *r, uint64_t file, uint64_t client, uint64_t offset, uint64_t length)
{
	struct sl_request q = {
		.file = file, .client = client, .offset = offset, .length = length, .op = SL_WRITE
	};

	sl_access_add(r->a, &q, r->now);
}

static struct sl_access_pattern done(struct rig *r)
{
	struct sl_access_pattern p;

	sl_access_get(r->a, &p);
	free(r->memory);
	return p;
}

static void nothing_is_known_before_there_are_requests(void **state)
{
	struct rig r = rig(0);
	struct sl_access_pattern p = done(&r);

	assert_int_equal(p.spatial, SL_ACCESS_UNKNOWN);
	assert_int_equal(p.size, SL_ACCESS_NO_SIZE);
	assert_int_equal(p.files, 0);
	assert_int_equal(p.call_bytes, 0);
}

static void one_process_that_reads_on_is_contiguous(void **state)
{
	struct rig r = rig(0);
	struct sl_access_pattern p;

	for (uint64_t i = 0; i < 5; i++)
		add(&r, 7, 1, i * 4096, 4096);
	p = done(&r);
	assert_int_equal(p.spatial, SL_ACCESS_CONTIGUOUS);
	assert_int_equal(p.size, SL_ACCESS_SMALL);
	assert_int_equal(p.files, 1);
	assert_int_equal(p.op, SL_WRITE);
	assert_int_equal(p.call_bytes, 4096);
	assert_int_equal(p.requests, 5);
}

/* The example at the head of pattern.c. */
static void equal_jumps_are_a_stride(void **state)
{
	static const uint64_t at[] = { 0, 8, 16, 100, 108, 200, 208, 300 };
	struct rig r = rig(0);

	for (unsigned i = 0; i < 8; i++)
		add(&r, 7, 1, at[i], 8);
	assert_int_equal(done(&r).spatial, SL_ACCESS_STRIDED);
}

static void a_stride_may_go_backwards(void **state)
{
	struct rig r = rig(0);

	for (uint64_t i = 0; i < 10; i++)
		add(&r, 7, 1, (10 - i) * 10000, 100);
	assert_int_equal(done(&r).spatial, SL_ACCESS_STRIDED);
}

static void jumps_of_all_lengths_are_random(void **state)
{
	static const uint64_t at[] = { 500, 20, 910, 300, 70, 640, 130, 800 };
	struct rig r = rig(0);

	for (unsigned i = 0; i < 8; i++)
		add(&r, 7, 1, at[i] * 4096, 4096);
	assert_int_equal(done(&r).spatial, SL_ACCESS_RANDOM);
}

static void long_runs_are_contiguous_wherever_they_begin(void **state)
{
	static const uint64_t at[] = { 500, 20, 910, 300, 70, 640, 130, 800 };
	struct rig r = rig(0);

	for (unsigned i = 0; i < 8; i++)
		for (uint64_t k = 0; k < 4; k++)
			add(&r, 7, 1, (at[i] << 30) + (k << 20), 1 << 20);
	assert_int_equal(done(&r).spatial, SL_ACCESS_CONTIGUOUS);
}

/* Four processes that stride together are one front that moves on; by process they stride. */
static void processes_of_one_file_are_told_apart(void **state)
{
	struct rig r = rig(0), one = rig(0);

	for (uint64_t i = 0; i < 40; i++) {
		add(&r, 7, i % 4, i * 4096, 4096);
		add(&one, 7, 0, i * 4096, 4096);
	}
	assert_int_equal(done(&r).spatial, SL_ACCESS_STRIDED);
	assert_int_equal(done(&one).spatial, SL_ACCESS_CONTIGUOUS);
}

static void threads_of_one_process_may_each_read_on(void **state)
{
	struct rig r = rig(0);

	for (uint64_t i = 0; i < 200; i++)
		add(&r, 7, 1, (i % 4 << 30) + i / 4 * 4096, 4096);
	assert_int_equal(done(&r).spatial, SL_ACCESS_CONTIGUOUS);
}

/* Each second request comes before the first: 1 0 3 2 5 4 ... */
static void requests_that_overtake_do_not_make_it_random(void **state)
{
	struct rig r = rig(0);

	for (uint64_t i = 0; i < 300; i++)
		add(&r, 7, 1, (i ^ 1) * 4096, 4096);
	assert_int_equal(done(&r).spatial, SL_ACCESS_CONTIGUOUS);
}

static void most_files_decide(void **state)
{
	struct rig r = rig(0);
	struct sl_access_pattern p;

	for (uint64_t i = 0; i < 20; i++) {
		add(&r, 1, 1, i * 4096, 4096);
		add(&r, 2, 1, i * 90000, 4096);
		add(&r, 3, 1, i * 70000, 65536);
	}
	p = done(&r);
	assert_int_equal(p.files, 3);
	assert_int_equal(p.votes[SL_ACCESS_CONTIGUOUS], 1);
	assert_int_equal(p.votes[SL_ACCESS_STRIDED], 2);
	assert_int_equal(p.spatial, SL_ACCESS_STRIDED);
	assert_int_equal(p.size, SL_ACCESS_SMALL); /* two files of three */
}

static void what_a_stream_does_now_replaces_what_it_did(void **state)
{
	struct rig r = rig(0);
	struct sl_access_pattern p;

	for (uint64_t i = 0; i < 5000; i++)
		add(&r, 1, 1, i * 4096, 4096);
	for (uint64_t i = 0; i < 600; i++)
		add(&r, 1, 1, (i * UINT64_C(6364136223846793005) >> 36) * 4096, 4096);
	sl_access_get(r.a, &p);
	assert_int_equal(p.spatial, SL_ACCESS_RANDOM);
	for (uint64_t i = 0; i < 10000; i++)
		add(&r, 1 + i % 3, 1, i / 3 * 4096, 4096);
	p = done(&r);
	assert_int_equal(p.spatial, SL_ACCESS_CONTIGUOUS);
	assert_int_equal(p.files, 3);
}

static void files_out_of_use_are_forgotten(void **state)
{
	struct rig r = rig(0);
	struct sl_access_pattern p;

	for (uint64_t i = 0; i < 600; i++)
		add(&r, i % 60, 1, i / 60 * 4096, 4096);
	sl_access_get(r.a, &p);
	assert_int_equal(p.files, 60);
	for (uint64_t i = 0; i < 3000; i++) {
		r.now += 1000 * US;
		add(&r, 1000, 1, i * 4096, 4096);
	}
	assert_int_equal(done(&r).files, 1);
}

/* 64 KiB calls in eight pieces, 10 us apart; a millisecond between calls. */
static void pieces_that_come_together_are_one_call(void **state)
{
	struct rig r = rig(8192);
	struct sl_access_pattern p;

	for (uint64_t i = 0; i < 400; i++) {
		r.now += i % 8 ? 10 * US : 1000 * US;
		add(&r, 1, 1, i * 8192, 8192);
	}
	p = done(&r);
	assert_int_equal(p.size, SL_ACCESS_LARGE);
	assert_in_range(p.call_bytes, 60000, 68000);
}

static void pieces_waited_for_one_by_one_are_small(void **state)
{
	struct rig r = rig(8192);
	struct sl_access_pattern p;

	for (uint64_t i = 0; i < 1000; i++) {
		r.now += 100 * US + (sl_time)(i % 7) * US;
		add(&r, 1, 1, i * 8192, 8192);
	}
	p = done(&r);
	assert_int_equal(p.size, SL_ACCESS_SMALL);
}

/* Random bytes as requests: whatever comes, the counts stay in range. */
static void nonsense_is_survived(void **state)
{
	struct rig r = rig(4096);
	uint64_t x = 1;
	struct sl_access_pattern p;

	for (unsigned i = 0; i < 100000; i++) {
		x = x * 6364136223846793005 + 1442695040888963407;
		r.now += (sl_time)(x >> 60) - 3; /* a clock that goes back at times */
		add(&r, x >> (x & 63), x >> 50, x & 1 ? x : x >> 40, x & 2 ? 4096 : UINT64_MAX);
	}
	p = done(&r);
	assert_true(p.spatial < SL_ACCESS_SPATIALS);
	assert_true(p.files > 0);
	assert_int_equal(p.requests, 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_before_there_are_requests),
		cmocka_unit_test(one_process_that_reads_on_is_contiguous),
		cmocka_unit_test(equal_jumps_are_a_stride),
		cmocka_unit_test(a_stride_may_go_backwards),
		cmocka_unit_test(jumps_of_all_lengths_are_random),
		cmocka_unit_test(long_runs_are_contiguous_wherever_they_begin),
		cmocka_unit_test(processes_of_one_file_are_told_apart),
		cmocka_unit_test(threads_of_one_process_may_each_read_on),
		cmocka_unit_test(requests_that_overtake_do_not_make_it_random),
		cmocka_unit_test(most_files_decide),
		cmocka_unit_test(what_a_stream_does_now_replaces_what_it_did),
		cmocka_unit_test(files_out_of_use_are_forgotten),
		cmocka_unit_test(pieces_that_come_together_are_one_call),
		cmocka_unit_test(pieces_waited_for_one_by_one_are_small),
		cmocka_unit_test(nonsense_is_survived),
	};

	return cmocka_run_group_tests_name("detect-pattern", tests, NULL, NULL);
}
