/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, rates and times: what is accepted, what it means, what is refused, how it is written. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define UNTOUCHED UINT64_C(0x5ca1ab1e5ca1ab1e)

struct good {
	const char *text;
	uint64_t value;
};

static void means(int (*parse)(const char *, uint64_t *), const struct good *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = UNTOUCHED;
		int err = parse(cases[i].text, &value);

		if (err || value != cases[i].value)
			fail_msg("'%s' gave %d, %" PRIu64 " instead of %" PRIu64, cases[i].text,
				 err, value, cases[i].value);
	}
}

static void refuses(int (*parse)(const char *, uint64_t *), const char *const *cases, size_t count,
		    int expected)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = UNTOUCHED;
		int err = parse(cases[i], &value);

		if (err != expected || value != UNTOUCHED)
			fail_msg("'%s' gave %d, %" PRIu64 " instead of %d", cases[i], err, value,
				 expected);
	}
}

/* sl_parse_time() in the form of the other two; a time is never negative. */
static int parse_time(const char *text, uint64_t *out)
{
	int64_t ns = -1;
	int err = sl_parse_time(text, &ns);

	if (err)
		assert_int_equal(ns, -1);
	else
		*out = (uint64_t)ns;
	return err;
}

static void a_period_is_a_time_or_to_be_found(void **state)
{
	int64_t ns = -1;

	assert_int_equal(sl_parse_period("20m", &ns), 0);
	assert_int_equal(ns, INT64_C(1200000000000));
	assert_int_equal(sl_parse_period("auto", &ns), 0);
	assert_int_equal(ns, 0);
	ns = -1;
	assert_int_equal(sl_parse_period("automatic", &ns), -EINVAL);
	assert_int_equal(sl_parse_period("", &ns), -EINVAL);
	assert_int_equal(ns, -1);
}

static void letters_alone_are_powers_of_1000_and_with_i_of_1024(void **state)
{
	static const struct good cases[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "007", 7 },
		{ "1K", 1000 },
		{ "1M", 1000000 },
		{ "1G", 1000000000 },
		{ "1T", 1000000000000 },
		{ "1P", UINT64_C(1000000000000000) },
		{ "1Pi", UINT64_C(1) << 50 },
		{ "1Ki", UINT64_C(1) << 10 },
		{ "1Mi", UINT64_C(1) << 20 },
		{ "1Gi", UINT64_C(1) << 30 },
		{ "1Ti", UINT64_C(1) << 40 },
		{ "64Ki", 65536 },
		{ "200M", 200000000 },
	};

	means(sl_parse_bytes, cases, COUNT(cases));
	means(sl_parse_rate, cases, COUNT(cases));
}

static void a_trailing_b_changes_nothing(void **state)
{
	static const struct good cases[] = {
		{ "512B", 512 },
		{ "1KB", 1000 },
		{ "1KiB", 1024 },
		{ "1.5GiB", UINT64_C(3) << 29 },
	};

	means(sl_parse_bytes, cases, COUNT(cases));
	means(sl_parse_rate, cases, COUNT(cases));
}

static void a_rate_may_say_per_second_in_two_ways(void **state)
{
	static const struct good cases[] = {
		{ "100MB/s", 100000000 },
		{ "100MBps", 100000000 },
		{ "100M/s", 100000000 },
		{ "100Mps", 100000000 },
		{ "1.5GiB/s", UINT64_C(3) << 29 },
		{ "7/s", 7 },
		{ "7B/s", 7 },
	};
	static const char *const not_sizes[] = { "100MB/s", "100MBps", "7/s", "7ps" };

	means(sl_parse_rate, cases, COUNT(cases));
	refuses(sl_parse_bytes, not_sizes, COUNT(not_sizes), -EINVAL);
}

static void fractions_are_exact_and_rounded_down(void **state)
{
	static const struct good cases[] = {
		{ "1.5K", 1500 },
		{ "1.5Ki", 1536 },
		{ "1.25Ki", 1280 },
		{ "0.1Ki", 102 },    /* 102.4 */
		{ "0.999Ki", 1022 }, /* 1022.976 */
		{ "1.9", 1 },
		{ "0.001K", 1 },
		{ "0.0009999K", 0 },
		{ "0.3T", 300000000000 }, /* 299999999999.99998 when computed in doubles and cut */
		{ "1.10Ti", 1209462790553 },
		/* 2^-40 and one below it in the last place: digits beyond any machine word count.
		 */
		{ "0.0000000000009094947017729282379150390625Ti", 1 },
		{ "0.0000000000009094947017729282379150390624Ti", 0 },
		{ "0.99999999999999999999999999999999999999999999999999Ki", 1023 },
	};

	means(sl_parse_bytes, cases, COUNT(cases));
}

static void the_largest_value_fits_and_the_next_does_not(void **state)
{
	static const struct good cases[] = {
		{ "18446744073709551615", UINT64_MAX },
		{ "00018446744073709551615B", UINT64_MAX },
		{ "16777215Ti", UINT64_MAX - ((UINT64_C(1) << 40) - 1) },
		{ "18446744073709551.615K", UINT64_MAX },
		{ "16777215.99999999999999999Ti", UINT64_MAX },
	};
	static const char *const too_large[] = {
		"18446744073709551616",
		"18446744073709551616.0",
		"16777216Ti",
		"18446744073709551.616K",
		"99999999999999999999999999999999999999T",
		"18446744.073709551616T",
	};

	means(sl_parse_bytes, cases, COUNT(cases));
	refuses(sl_parse_bytes, too_large, COUNT(too_large), -ERANGE);
	refuses(sl_parse_rate, too_large, COUNT(too_large), -ERANGE);
}

static void what_is_no_number_is_refused(void **state)
{
	static const char *const cases[] = {
		"",
		" ",
		"K",
		"Ki",
		"B",
		"/s",
		"+1",
		"-1",
		"-0",
		" 1",
		"1 ",
		"1 K",
		"1K ",
		"1 000",
		"1,5",
		"1..5",
		"1.5.2",
		"1.",
		".5",
		"1.K",
		"1e3",
		"1E3",
		"0x10",
		"nan",
		"NaN",
		"inf",
		"1k",
		"1m",
		"1KK",
		"1KiKi",
		"1iB",
		"1Kib",
		"1Mb",
		"1bytes",
		"1E",
		"1\n",
		"1\t",
		"\xd9\xa1", /* an Arabic 1 */
		"1K\xc2\xa0",
		/* Wrong wins over too large: the suffix is what to correct first. */
		"99999999999999999999999999X",
	};
	static const char *const bad_rates[] = { "1/s/s", "1/",	   "1/h",  "1p",      "1psps",
						 "1Mbps", "1M/sB", "1 /s", "100MB/S", "1B/s " };

	refuses(sl_parse_bytes, cases, COUNT(cases), -EINVAL);
	refuses(sl_parse_rate, cases, COUNT(cases), -EINVAL);
	refuses(sl_parse_rate, bad_rates, COUNT(bad_rates), -EINVAL);
}

static void times_have_units_and_a_bare_number_is_seconds(void **state)
{
	static const struct good cases[] = {
		{ "7ns", 7 },
		{ "250us", 250000 },
		{ "2ms", 2000000 },
		{ "1.5s", 1500000000 },
		{ "10m", UINT64_C(600000000000) },
		{ "1.5min", UINT64_C(90000000000) },
		{ "2d", UINT64_C(172800000000000) },
		{ "1h", UINT64_C(3600000000000) },
		{ "3", UINT64_C(3000000000) },
		{ "0.5", 500000000 },
		{ "0", 0 },
		{ "1.9ns", 1 },
		{ "0.0000000001", 0 },
		{ "9223372036854775807ns", INT64_MAX },
		{ "9223372036.854775807", INT64_MAX },
	};
	static const char *const wrong[] = { "",   "s",	    "-1s", "+1s",  "1 s", "1S",	 "1mi",
					     "1D", "1Ms",   "1µs", "1us ", "1e3", "1.s", "1s1",
					     "ms", "1..5s", "NaN", "1mss", "1M",  "1:30" };
	static const char *const too_large[] = { "9223372036854775808ns", "9223372036.854775808",
						 "2562048h", "18446744073709551616ns",
						 "99999999999999999999999" };

	means(parse_time, cases, COUNT(cases));
	refuses(parse_time, wrong, COUNT(wrong), -EINVAL);
	refuses(parse_time, too_large, COUNT(too_large), -ERANGE);
}

static void whole_values_are_written_without_decimals(void **state)
{
	char buf[16];

	assert_string_equal(sl_format_bytes(buf, sizeof(buf), 0), "0B");
	assert_string_equal(sl_format_bytes(buf, sizeof(buf), 1023), "1023B");
	assert_string_equal(sl_format_bytes(buf, sizeof(buf), 1024), "1KiB");
	assert_string_equal(sl_format_bytes(buf, sizeof(buf), 1 << 20), "1MiB");
	assert_string_equal(sl_format_bytes(buf, sizeof(buf), UINT64_C(1) << 50), "1024TiB");
	assert_string_equal(sl_format_rate(buf, sizeof(buf), 0), "0B/s");
	assert_string_equal(sl_format_rate(buf, sizeof(buf), 200000000), "200MB/s");
	assert_string_equal(sl_format_time(buf, sizeof(buf), 0), "0s");
	assert_string_equal(sl_format_time(buf, sizeof(buf), 7), "7ns");
	assert_string_equal(sl_format_time(buf, sizeof(buf), 2000000), "2ms");
	assert_string_equal(sl_format_time(buf, sizeof(buf), 90000000000), "90s");
	assert_string_equal(sl_format_time(buf, sizeof(buf), 600000000000), "10m");
	assert_string_equal(sl_format_time(buf, sizeof(buf), 86400000000000), "24h");
}

static void other_values_are_rounded_to_the_nearest_short_form(void **state)
{
	char buf[16];

	assert_string_equal(sl_format_bytes(buf, sizeof(buf), 3 << 19), "1.50MiB");
	assert_string_equal(sl_format_bytes(buf, sizeof(buf), (1 << 20) + 1), "1.00MiB");
	assert_string_equal(sl_format_bytes(buf, sizeof(buf), 15 * 1024 + 512), "15.5KiB");
	assert_string_equal(sl_format_bytes(buf, sizeof(buf), 150 * 1024 + 511), "150KiB");
	assert_string_equal(sl_format_bytes(buf, sizeof(buf), 150 * 1024 + 512), "151KiB");
	assert_string_equal(sl_format_rate(buf, sizeof(buf), 1234567), "1.23MB/s");
	assert_string_equal(sl_format_rate(buf, sizeof(buf), 12345678), "12.3MB/s");
	assert_string_equal(sl_format_rate(buf, sizeof(buf), 123456789), "123MB/s");
	assert_string_equal(sl_format_time(buf, sizeof(buf), 1234567), "1.2ms");
	assert_string_equal(sl_format_time(buf, sizeof(buf), 12345678), "12.3ms");
	assert_string_equal(sl_format_time(buf, sizeof(buf), 123456789), "123ms");
}

static void rounding_up_moves_on_to_the_next_unit(void **state)
{
	char buf[16];

	assert_string_equal(sl_format_bytes(buf, sizeof(buf), (1 << 20) - 1), "1.00MiB");
	assert_string_equal(sl_format_bytes(buf, sizeof(buf), 1023 * 1024 + 100), "1023KiB");
	assert_string_equal(sl_format_bytes(buf, sizeof(buf), 9 * 1024 + 1023), "10.0KiB");
	assert_string_equal(sl_format_bytes(buf, sizeof(buf), 99 * 1024 + 1023), "100KiB");
	assert_string_equal(sl_format_rate(buf, sizeof(buf), 999999), "1.00MB/s");
	assert_string_equal(sl_format_time(buf, sizeof(buf), 999999), "1.0ms");
	assert_string_equal(sl_format_time(buf, sizeof(buf), 599999999999), "10.0m");
}

static void the_extremes_fit_sixteen_bytes_and_read_back(void **state)
{
	char buf[16];
	uint64_t value;
	int64_t ns;

	assert_string_equal(sl_format_bytes(buf, sizeof(buf), UINT64_MAX), "16777215TiB");
	assert_int_equal(sl_parse_bytes(buf, &value), 0);
	assert_string_equal(sl_format_rate(buf, sizeof(buf), UINT64_MAX), "18446744TB/s");
	assert_int_equal(sl_parse_rate(buf, &value), 0);
	assert_string_equal(sl_format_time(buf, sizeof(buf), INT64_MAX), "2562047h");
	assert_int_equal(sl_parse_time(buf, &ns), 0);
	assert_string_equal(sl_format_time(buf, sizeof(buf), INT64_MIN), "-2562047h");
	assert_string_equal(sl_format_time(buf, sizeof(buf), -1500), "-1.5us");
}

static void what_was_written_reads_back_within_half_a_percent(void **state)
{
	/* Times below 10 units have two digits: within five percent. */
	char buf[16];
	uint64_t v, back, off;
	int64_t ns;

	for (v = 1; v < UINT64_MAX / 3 * 2; v += v / 7 + 1) {
		assert_int_equal(sl_parse_bytes(sl_format_bytes(buf, sizeof(buf), v), &back), 0);
		off = back > v ? back - v : v - back;
		assert_true(off <= v / 200 + 1);

		assert_int_equal(sl_parse_rate(sl_format_rate(buf, sizeof(buf), v), &back), 0);
		off = back > v ? back - v : v - back;
		assert_true(off <= v / 200);

		if (v > INT64_MAX)
			continue;
		assert_int_equal(sl_parse_time(sl_format_time(buf, sizeof(buf), (int64_t)v), &ns),
				 0);
		off = (uint64_t)ns > v ? (uint64_t)ns - v : v - (uint64_t)ns;
		assert_true(off <= v / 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_alone_are_powers_of_1000_and_with_i_of_1024),
		cmocka_unit_test(a_trailing_b_changes_nothing),
		cmocka_unit_test(a_rate_may_say_per_second_in_two_ways),
		cmocka_unit_test(fractions_are_exact_and_rounded_down),
		cmocka_unit_test(the_largest_value_fits_and_the_next_does_not),
		cmocka_unit_test(what_is_no_number_is_refused),
		cmocka_unit_test(times_have_units_and_a_bare_number_is_seconds),
		cmocka_unit_test(whole_values_are_written_without_decimals),
		cmocka_unit_test(other_values_are_rounded_to_the_nearest_short_form),
		cmocka_unit_test(a_period_is_a_time_or_to_be_found),
		cmocka_unit_test(rounding_up_moves_on_to_the_next_unit),
		cmocka_unit_test(the_extremes_fit_sixteen_bytes_and_read_back),
		cmocka_unit_test(what_was_written_reads_back_within_half_a_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
