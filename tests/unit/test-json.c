/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: structure, escapes, numbers. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static char *text;
static size_t size;
static struct json j;

static void begin(void)
{
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	json_begin(&j, f);
}

static void gives(const char *expected)
{
	fclose(j.f);
	assert_string_equal(text, expected);
	free(text);
}

/* One value in an array, without what is around it. */
static void value_gives(const char *expected)
{
	char *start, *end;

	json_end(&j);
	fclose(j.f);
	start = text + strlen("[\n  ");
	end = strrchr(text, '\n');
	end[-2] = '\0'; /* before the newline and the bracket of the end */
	assert_string_equal(start, expected);
	free(text);
}

static void string_gives(const char *value, const char *expected)
{
	begin();
	json_array(&j, NULL);
	json_string(&j, NULL, value);
	value_gives(expected);
}

static void double_gives(double value, const char *expected)
{
	begin();
	json_array(&j, NULL);
	json_double(&j, NULL, value);
	value_gives(expected);
}

static void rows_of_a_table_take_one_line_each(void **state)
{
	begin();
	json_object(&j, NULL);
	json_string(&j, "bench", "sched");
	json_array(&j, "rows");
	for (int i = 0; i < 2; i++) {
		json_object(&j, NULL);
		json_int(&j, "jobs", i);
		json_bool(&j, "ok", i == 0);
		json_array(&j, "list");
		json_int(&j, NULL, 1);
		json_int(&j, NULL, 2);
		json_end(&j);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	gives("{\n"
	      "  \"bench\":\"sched\",\n"
	      "  \"rows\":[\n"
	      "    {\"jobs\":0,\"ok\":true,\"list\":[1,2]},\n"
	      "    {\"jobs\":1,\"ok\":false,\"list\":[1,2]}\n"
	      "  ]\n"
	      "}\n");
}

static void empty_objects_and_arrays_stay_closed_up(void **state)
{
	begin();
	json_object(&j, NULL);
	json_array(&j, "none");
	json_end(&j);
	json_object(&j, "nothing");
	json_end(&j);
	json_end(&j);
	gives("{\n  \"none\":[],\n  \"nothing\":{}\n}\n");
	begin();
	json_array(&j, NULL);
	json_end(&j);
	gives("[]\n");
}

static void strings_are_escaped(void **state)
{
	string_gives("", "\"\"");
	string_gives("plain /", "\"plain /\"");
	string_gives("a\"b\\c", "\"a\\\"b\\\\c\"");
	string_gives("a\nb\tc\rd\033e\177", "\"a\\nb\\tc\\u000dd\\u001be\\u007f\"");
	string_gives(NULL, "null");
}

static void utf8_passes_and_what_is_none_is_replaced(void **state)
{
	string_gives("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		     "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
	string_gives("a\xff"
		     "b",
		     "\"a\\ufffdb\"");
	string_gives("\xc3", "\"\\ufffd\"");		/* cut off */
	string_gives("\xe2\x82", "\"\\ufffd\\ufffd\""); /* cut off later */
	string_gives("\xc0\xaf", "\"\\ufffd\\ufffd\""); /* overlong */
	string_gives("\xe0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\"");
	string_gives("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");	      /* surrogate */
	string_gives("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* beyond the end */
	string_gives("\xc3\"", "\"\\ufffd\\\"\"");
}

static void keys_are_escaped_too(void **state)
{
	begin();
	json_object(&j, NULL);
	json_int(&j, "a\"b", 1);
	json_end(&j);
	gives("{\n  \"a\\\"b\":1\n}\n");
}

static void integers_are_exact_to_their_limits(void **state)
{
	begin();
	json_array(&j, NULL);
	json_int(&j, NULL, INT64_MIN);
	json_int(&j, NULL, INT64_MAX);
	json_uint(&j, NULL, UINT64_MAX);
	json_end(&j);
	gives("[\n  -9223372036854775808,\n  9223372036854775807,\n  18446744073709551615\n]\n");
}

static void doubles_are_short_and_read_back_the_same(void **state)
{
	static const double values[] = { 1.0 / 3, 1e300, 5e-324, 123456789.125, -0.1, 1e15 + 0.5 };

	double_gives(0, "0");
	double_gives(0.1, "0.1");
	double_gives(12.5, "12.5");
	double_gives(-1e100, "-1e+100");
	double_gives((double)NAN, "null");
	double_gives((double)INFINITY, "null");
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		begin();
		json_array(&j, NULL);
		json_double(&j, NULL, values[i]);
		json_end(&j);
		fclose(j.f);
		assert_true(strtod(text + 1, NULL) == values[i]);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_a_table_take_one_line_each),
		cmocka_unit_test(empty_objects_and_arrays_stay_closed_up),
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(utf8_passes_and_what_is_none_is_replaced),
		cmocka_unit_test(keys_are_escaped_too),
		cmocka_unit_test(integers_are_exact_to_their_limits),
		cmocka_unit_test(doubles_are_short_and_read_back_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
