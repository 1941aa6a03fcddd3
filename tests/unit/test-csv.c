/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of CSV: fields, quotes, separators, comments, messages with a line. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/csv.h"

static char err[200];

static struct sl_csv reader(const char *text)
{
	return (struct sl_csv){ .file = "f",
				.at = text,
				.end = text + strlen(text),
				.quotes = "\"",
				.comment = '#',
				.err = err,
				.err_size = sizeof(err) };
}

/* The next row has these fields, joined by |. */
static void is_row(struct sl_csv *r, unsigned long line, const char *fields)
{
	char joined[200] = "";

	assert_int_equal(sl_csv_row(r), 1);
	for (uint32_t i = 0; i < r->fields; i++) {
		strcat(joined, i ? "|" : "");
		strcat(joined, r->field[i].text);
	}
	assert_string_equal(joined, fields);
	assert_int_equal(r->line, line);
}

static void fields_are_trimmed_and_unquoted(void **state)
{
	struct sl_csv r =
		reader("\xef\xbb\xbf# c\n\n a , b\tc ,,\"x, \"\"y\"\" \" \r\n  # d\nlast");

	is_row(&r, 3, "a|b c||x, \"y\" ");
	assert_false(r.field[0].quoted);
	assert_true(r.field[3].quoted);
	is_row(&r, 5, "last");
	assert_int_equal(sl_csv_row(&r), 0);
	sl_csv_end(&r);
}

static void the_first_line_has_the_separator(void **state)
{
	struct sl_csv semicolons = reader("a;b,c\n1;2\n"), tabs = reader("\tb\tc \n1\t\t\n");

	is_row(&semicolons, 1, "a|b,c");
	is_row(&semicolons, 2, "1|2");
	is_row(&tabs, 1, "|b|c");
	is_row(&tabs, 2, "1||");
	sl_csv_end(&semicolons);
	sl_csv_end(&tabs);
}

static void many_and_long_fields_fit(void **state)
{
	char text[5001];
	struct sl_csv r;

	memset(text, ',', 5000);
	text[5000] = 0;
	r = reader(text);
	assert_int_equal(sl_csv_row(&r), 1);
	assert_int_equal(r.fields, 5001);
	memset(text, 'x', 5000);
	r.at = text;
	assert_int_equal(sl_csv_row(&r), 1);
	assert_int_equal(strlen(r.field[0].text), 5000);
	sl_csv_end(&r);
}

static void backslashes_quote_where_they_are_asked_for(void **state)
{
	struct sl_csv plain = reader("\"a\\b\""), arff = reader("'it\\'s',\"a\"");

	is_row(&plain, 1, "a\\b");
	arff.quotes = "'\"";
	arff.backslash = true;
	is_row(&arff, 1, "it's|a");
	sl_csv_end(&plain);
	sl_csv_end(&arff);
}

static void a_bad_line_is_named_and_the_next_can_be_read(void **state)
{
	static const char *const bad[][2] = {
		{ "\n\"a\nb,c\n", "f:2: a quote is not closed." },
		{ "\n\"a\"b,c\nb,c\n", "f:2: a comma is missing after a quoted cell." },
		{ "\na\001\nb,c\n", "f:2: a control character (0x01) in a cell." },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sl_csv r = reader(bad[i][0]);

		r.separator = ',';
		assert_int_equal(sl_csv_row(&r), -EINVAL);
		assert_string_equal(err, bad[i][1]);
		is_row(&r, 3, "b|c");
		sl_csv_end(&r);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_trimmed_and_unquoted),
		cmocka_unit_test(the_first_line_has_the_separator),
		cmocka_unit_test(many_and_long_fields_fit),
		cmocka_unit_test(backslashes_quote_where_they_are_asked_for),
		cmocka_unit_test(a_bad_line_is_named_and_the_next_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
