/* SPDX-License-Identifier: Apache-2.0 */
/* The timing model of a device: its costs, its timeline, its presets. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "model/device.h"

/* Round numbers: 1 byte takes 10 ns to read and 20 ns to write. */
static const struct sl_device_model round_model = {
	.name = "round",
	.bps = { 100000000, 50000000 },
	.seek_ns = { 5000, 7000 },
	.op_ns = 300,
	.streams = 1,
};

static void the_first_access_seeks_and_the_one_that_goes_on_does_not(void **state)
{
	struct sl_device d;

	sl_device_init(&d, &round_model);
	assert_int_equal(sl_device_submit(&d, SL_READ, 1, 0, 100, 0), 300 + 5000 + 1000);
	assert_int_equal(sl_device_submit(&d, SL_READ, 1, 100, 50, 6300), 6300 + 300 + 500);
	assert_int_equal(d.ops, 2);
	assert_int_equal(d.seeks, 1);
	assert_int_equal(d.bytes, 150);
	assert_int_equal(d.busy_ns, 7100);
}

static void going_back_or_skipping_ahead_seeks(void **state)
{
	struct sl_device d;

	sl_device_init(&d, &round_model);
	sl_device_submit(&d, SL_READ, 1, 0, 100, 0);
	sl_device_submit(&d, SL_READ, 1, 0, 100, 0);
	assert_int_equal(d.seeks, 2);
	sl_device_submit(&d, SL_READ, 1, 101, 100, 0);
	assert_int_equal(d.seeks, 3);
	sl_device_submit(&d, SL_READ, 1, 201, 100, 0);
	assert_int_equal(d.seeks, 3);
}

static void reads_and_writes_have_their_own_bandwidth_and_seek(void **state)
{
	struct sl_device d;

	sl_device_init(&d, &round_model);
	assert_int_equal(sl_device_submit(&d, SL_WRITE, 1, 0, 100, 0), 300 + 7000 + 2000);
	/* A read may go on where a write ended. */
	assert_int_equal(sl_device_submit(&d, SL_READ, 1, 100, 100, 9300), 9300 + 300 + 1000);
}

static void what_is_sent_while_it_is_busy_starts_afterwards(void **state)
{
	struct sl_device d;

	sl_device_init(&d, &round_model);
	sl_device_submit(&d, SL_READ, 1, 0, 100, 0);
	assert_int_equal(sl_device_submit(&d, SL_READ, 1, 100, 100, 1), 6300 + 1300);
}

static void idle_time_is_not_busy_time(void **state)
{
	struct sl_device d;

	sl_device_init(&d, &round_model);
	sl_device_submit(&d, SL_READ, 1, 0, 100, 0);
	assert_int_equal(sl_device_submit(&d, SL_READ, 1, 100, 100, 50000), 51300);
	assert_int_equal(d.busy_ns, 6300 + 1300);
}

static void a_bare_head_seeks_at_every_change_of_file(void **state)
{
	struct sl_device d;

	sl_device_init(&d, &round_model);
	for (uint64_t i = 0; i < 8; i++)
		sl_device_submit(&d, SL_READ, i % 2, i / 2 * 100, 100, 0);
	assert_int_equal(d.seeks, 8);
}

static void as_many_files_as_streams_are_read_side_by_side(void **state)
{
	struct sl_device_model m = round_model;
	struct sl_device d;

	m.streams = 3;
	sl_device_init(&d, &m);
	for (uint64_t i = 0; i < 30; i++)
		sl_device_submit(&d, SL_READ, i % 3, i / 3 * 100, 100, 0);
	assert_int_equal(d.seeks, 3);
}

static void one_file_more_than_streams_drives_out_the_least_recently_used(void **state)
{
	struct sl_device_model m = round_model;
	struct sl_device d;

	m.streams = 2;
	sl_device_init(&d, &m);
	sl_device_submit(&d, SL_READ, 1, 0, 100, 0);
	sl_device_submit(&d, SL_READ, 2, 0, 100, 0);
	sl_device_submit(&d, SL_READ, 1, 100, 100, 0); /* 1 is now the last used */
	sl_device_submit(&d, SL_READ, 3, 0, 100, 0);   /* drives out 2 */
	assert_int_equal(d.seeks, 3);
	sl_device_submit(&d, SL_READ, 1, 200, 100, 0);
	assert_int_equal(d.seeks, 3);
	sl_device_submit(&d, SL_READ, 2, 100, 100, 0);
	assert_int_equal(d.seeks, 4);
}

static void a_part_of_a_nanosecond_counts_as_a_whole_one(void **state)
{
	struct sl_device_model m = round_model;

	m.bps[SL_READ] = 3000000000;
	assert_int_equal(sl_device_cost_ns(&m, SL_READ, 1, 0), 300 + 1);
	assert_int_equal(sl_device_cost_ns(&m, SL_READ, 3, 0), 300 + 1);
	assert_int_equal(sl_device_cost_ns(&m, SL_READ, 4, 0), 300 + 2);
}

static void the_largest_request_does_not_overflow(void **state)
{
	struct sl_device_model m = round_model;

	m.bps[SL_READ] = 1000000;
	assert_int_equal(sl_device_cost_ns(&m, SL_READ, SL_MAX_LENGTH, 0),
			 300 + (INT64_C(1) << 40) * 1000);
}

/* Sequential over random throughput at 32 KiB, in hundredths. */
static int64_t ratio(const char *name, uint32_t op, uint64_t bytes)
{
	const struct sl_device_model *m = sl_device_find(name);

	assert_non_null(m);
	return sl_device_cost_ns(m, op, bytes, 1) * 100 / sl_device_cost_ns(m, op, bytes, 0);
}

static void presets_have_the_ratios_of_table_1(void **state)
{
	assert_in_range(ratio("hdd", SL_READ, 32768), 3891, 4068);
	assert_in_range(ratio("hdd", SL_WRITE, 32768), 1512, 2129);
	assert_in_range(ratio("raid", SL_READ, 32768), 2540, 2551);
	assert_in_range(ratio("raid", SL_WRITE, 32768), 810, 824);
	assert_in_range(ratio("ssd", SL_READ, 32768), 230, 244);
	assert_int_equal(ratio("ssd", SL_WRITE, 32768), 100);
}

static void the_example_of_the_source_is_right(void **state)
{
	const struct sl_device_model *m = sl_device_find("hdd");

	assert_int_equal(sl_device_cost_ns(m, SL_READ, 65536, 1), 50000 + 12600000 + 546134);
	assert_int_equal(sl_device_cost_ns(m, SL_READ, 65536, 0), 596134);
}

static void presets_are_found_by_name_and_are_sound(void **state)
{
	const struct sl_device_model *m;
	unsigned i;

	for (i = 0; (m = sl_device_preset(i)); i++) {
		assert_ptr_equal(sl_device_find(m->name), m);
		assert_true(m->bps[SL_READ] >= 1000000 && m->bps[SL_WRITE] >= 1000000);
		assert_in_range(m->streams, 1, SL_DEVICE_STREAMS);
		assert_true(m->seek_ns[SL_READ] >= -m->op_ns && m->seek_ns[SL_WRITE] >= -m->op_ns);
	}
	assert_int_equal(i, 7);
	assert_null(sl_device_find("tape"));
}

/* Of its requests of 8 KiB, to a hundredth. */
static void the_clusters_of_the_paper_have_its_ratios_exactly(void **state)
{
	static const struct {
		const char *name;
		int read, write;
	} table[] = { { "pastel", 3891, 2129 },
		      { "graphene", 4068, 1512 },
		      { "suno", 2546, 817 },
		      { "edel", 237, 66 } };

	for (unsigned i = 0; i < 4; i++) {
		assert_in_range(ratio(table[i].name, SL_READ, 8192), table[i].read - 1,
				table[i].read);
		assert_in_range(ratio(table[i].name, SL_WRITE, 8192), table[i].write - 1,
				table[i].write);
	}
}

/* Preparing takes 300 + 5000 ns, moving 100 bytes 1000 ns. */
static void a_queue_overlaps_preparation_but_not_the_bytes(void **state)
{
	struct sl_device_model m = round_model;
	struct sl_device d;

	m.depth = 2;
	sl_device_init(&d, &m);
	assert_int_equal(sl_device_submit(&d, SL_READ, 1, 0, 100, 0), 6300);
	/* Prepared at the same time, moved afterwards. */
	assert_int_equal(sl_device_submit(&d, SL_READ, 2, 0, 100, 0), 7300);
	/* The third is prepared when the first is done. */
	assert_int_equal(sl_device_submit(&d, SL_READ, 3, 0, 100, 0), 6300 + 6300);
	assert_int_equal(d.busy_ns, 12600);
	assert_int_equal(sl_device_submit(&d, SL_READ, 4, 0, 100, 100000), 106300);
	assert_int_equal(d.busy_ns, 12600 + 6300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_access_seeks_and_the_one_that_goes_on_does_not),
		cmocka_unit_test(going_back_or_skipping_ahead_seeks),
		cmocka_unit_test(reads_and_writes_have_their_own_bandwidth_and_seek),
		cmocka_unit_test(what_is_sent_while_it_is_busy_starts_afterwards),
		cmocka_unit_test(idle_time_is_not_busy_time),
		cmocka_unit_test(a_bare_head_seeks_at_every_change_of_file),
		cmocka_unit_test(as_many_files_as_streams_are_read_side_by_side),
		cmocka_unit_test(one_file_more_than_streams_drives_out_the_least_recently_used),
		cmocka_unit_test(a_part_of_a_nanosecond_counts_as_a_whole_one),
		cmocka_unit_test(the_largest_request_does_not_overflow),
		cmocka_unit_test(presets_have_the_ratios_of_table_1),
		cmocka_unit_test(the_clusters_of_the_paper_have_its_ratios_exactly),
		cmocka_unit_test(a_queue_overlaps_preparation_but_not_the_bytes),
		cmocka_unit_test(the_example_of_the_source_is_right),
		cmocka_unit_test(presets_are_found_by_name_and_are_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
