/* SPDX-License-Identifier: Apache-2.0 */
/* Where calls go, which server has the bytes, and the counting of latencies. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sim/histogram.h"
#include "sim/pattern.h"

#define KIB UINT64_C(1024)

static uint64_t offset(const struct sl_pattern *p, uint32_t proc, uint64_t call)
{
	return sl_pattern_place(p, proc, call).offset;
}

static void a_contiguous_shared_file_has_a_part_for_each_process(void **state)
{
	struct sl_pattern p = { .procs = 4, .call_bytes = 10, .calls = 3 };

	assert_int_equal(offset(&p, 0, 0), 0);
	assert_int_equal(offset(&p, 0, 2), 20);
	assert_int_equal(offset(&p, 1, 0), 30);
	assert_int_equal(offset(&p, 3, 2), 110);
	assert_int_equal(sl_pattern_place(&p, 3, 2).file, 0);
}

static void strided_calls_of_all_processes_lie_side_by_side(void **state)
{
	struct sl_pattern p = { SL_STRIDED, .procs = 4, .call_bytes = 10, .calls = 3 };

	assert_int_equal(offset(&p, 0, 0), 0);
	assert_int_equal(offset(&p, 1, 0), 10);
	assert_int_equal(offset(&p, 0, 1), 40);
	assert_int_equal(offset(&p, 3, 2), 110);
}

static void a_file_per_process_is_read_from_its_beginning(void **state)
{
	struct sl_pattern p = { .per_process = true, .procs = 4, .call_bytes = 10, .calls = 3 };

	assert_int_equal(offset(&p, 3, 0), 0);
	assert_int_equal(offset(&p, 3, 2), 20);
	assert_int_equal(sl_pattern_place(&p, 3, 2).file, 3);
	p.spatial = SL_STRIDED;
	assert_int_equal(offset(&p, 3, 2), 80);
}

static void every_pattern_visits_every_place_once(void **state)
{
	for (int spatial = SL_CONTIGUOUS; spatial <= SL_RANDOM; spatial++) {
		struct sl_pattern p = { (enum sl_spatial)spatial, .procs = 7, .call_bytes = 4096,
					.calls = 143, .seed = 5 };
		unsigned char seen[7 * 143] = { 0 };

		for (uint32_t proc = 0; proc < p.procs; proc++)
			for (uint64_t call = 0; call < p.calls; call++) {
				uint64_t at = offset(&p, proc, call);

				assert_int_equal(at % 4096, 0);
				assert_in_range(at / 4096, 0, sizeof(seen) - 1);
				seen[at / 4096]++;
			}
		for (size_t i = 0; i < sizeof(seen); i++)
			assert_int_equal(seen[i], 1);
	}
}

static void a_permutation_has_each_number_once_whatever_the_count(void **state)
{
	static unsigned char seen[1030];

	for (uint64_t n = 1; n <= sizeof(seen); n += n < 20 ? 1 : 101) {
		memset(seen, 0, sizeof(seen));
		for (uint64_t i = 0; i < n; i++) {
			uint64_t to = sl_permute(i, n, n);

			assert_in_range(to, 0, n - 1);
			assert_int_equal(seen[to]++, 0);
		}
	}
}

/* Hardly any number is followed by the next one, and another seed gives another order. */
static void a_permutation_looks_like_chance(void **state)
{
	unsigned follow = 0, same = 0, near = 0;

	for (uint64_t i = 0; i + 1 < 4096; i++) {
		uint64_t a = sl_permute(i, 4096, 1), b = sl_permute(i + 1, 4096, 1);

		follow += b == a + 1;
		near += (a > b ? a - b : b - a) < 410; /* by chance 19 % */
		same += a == sl_permute(i, 4096, 2);
	}
	assert_in_range(follow, 0, 20);
	assert_in_range(same, 0, 20);
	assert_in_range(near, 4096 * 12 / 100, 4096 * 26 / 100);
}

static void stripes_go_round_and_lie_side_by_side_on_each_server(void **state)
{
	struct sl_striping s = { 4, 32 * KIB };
	struct sl_piece piece = sl_striping_piece(&s, 0, 131072, 140000);

	assert_int_equal(piece.server, 0);
	assert_int_equal(piece.offset, 32768);
	assert_int_equal(piece.length, 8928);
	piece = sl_striping_piece(&s, 3, 131072, 1 << 20);
	assert_int_equal(piece.server, 3);
	assert_int_equal(piece.length, 32768);
	piece = sl_striping_piece(&s, 0, 32768 * 5 - 1, 1 << 20);
	assert_int_equal(piece.server, 0);
	assert_int_equal(piece.offset, 2 * 32768 - 1);
	assert_int_equal(piece.length, 1);
}

static void no_two_bytes_of_a_file_are_at_one_place(void **state)
{
	struct sl_striping s = { 3, 5 };
	static unsigned char seen[3][100];

	for (uint64_t at = 0; at < 150;) {
		struct sl_piece piece = sl_striping_piece(&s, 2, at, 150);

		for (uint64_t i = 0; i < piece.length; i++)
			assert_int_equal(seen[piece.server][piece.offset + i]++, 0);
		at += piece.length;
	}
	for (int i = 0; i < 50; i++)
		assert_true(seen[0][i] && seen[1][i] && seen[2][i]);
}

static void one_server_has_whole_calls(void **state)
{
	struct sl_striping s = { 1, 32 * KIB };
	struct sl_piece piece = sl_striping_piece(&s, 0, 1000, 1000000);

	assert_int_equal(piece.offset, 1000);
	assert_int_equal(piece.length, 999000);
}

static void percentiles_are_right_to_a_bucket(void **state)
{
	struct sl_histogram *h = calloc(1, sizeof(*h));
	struct sl_latency l;

	assert_non_null(h);
	for (sl_time ns = 1000; ns <= 100000; ns += 1000)
		sl_histogram_add(h, ns);
	l = sl_histogram_latency(h);
	assert_true(l.mean_ns > 50499.9 && l.mean_ns < 50500.1);
	assert_in_range(l.p50_ns, 50000, 50000 + 50000 / 64);
	assert_in_range(l.p95_ns, 95000, 95000 + 95000 / 64);
	assert_in_range(l.p99_ns, 99000, 99000 + 99000 / 64);
	assert_int_equal(l.max_ns, 100000);
	free(h);
}

static void times_from_nothing_to_centuries_have_their_bucket(void **state)
{
	struct sl_histogram *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	for (int bit = 0; bit < 62; bit++) {
		sl_time ns = (INT64_C(1) << bit) - 1;

		memset(h, 0, sizeof(*h));
		sl_histogram_add(h, ns);
		sl_histogram_add(h, INT64_MAX);
		assert_in_range(sl_histogram_percentile_ns(h, 50), ns, ns + ns / 64);
		assert_int_equal(sl_histogram_percentile_ns(h, 100), INT64_MAX);
	}
	free(h);
}

static void nothing_counted_is_nothing_told(void **state)
{
	struct sl_histogram *h = calloc(1, sizeof(*h)), *other = calloc(1, sizeof(*other));
	struct sl_latency l, zero = { 0 };

	assert_non_null(h);
	assert_non_null(other);
	l = sl_histogram_latency(h);
	assert_memory_equal(&l, &zero, sizeof(l));
	sl_histogram_add(other, 5);
	sl_histogram_merge(h, other);
	assert_int_equal(sl_histogram_latency(h).p50_ns, 5);
	free(h);
	free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_contiguous_shared_file_has_a_part_for_each_process),
		cmocka_unit_test(strided_calls_of_all_processes_lie_side_by_side),
		cmocka_unit_test(a_file_per_process_is_read_from_its_beginning),
		cmocka_unit_test(every_pattern_visits_every_place_once),
		cmocka_unit_test(a_permutation_has_each_number_once_whatever_the_count),
		cmocka_unit_test(a_permutation_looks_like_chance),
		cmocka_unit_test(stripes_go_round_and_lie_side_by_side_on_each_server),
		cmocka_unit_test(no_two_bytes_of_a_file_are_at_one_place),
		cmocka_unit_test(one_server_has_whole_calls),
		cmocka_unit_test(percentiles_are_right_to_a_bucket),
		cmocka_unit_test(times_from_nothing_to_centuries_have_their_bucket),
		cmocka_unit_test(nothing_counted_is_nothing_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
