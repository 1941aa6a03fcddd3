/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about a line of a file: whole, and cut where there is no room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/where.h"

__attribute__((format(printf, 3, 4))) static void say(char *err, size_t size, const char *format,
						      ...)
{
	va_list args;

	va_start(args, format);
	sl_where(err, size, "a.csv", 12, format, args);
	va_end(args);
}

static void file_and_line_come_first(void **state)
{
	char err[64];

	say(err, sizeof(err), "'%s' is no number", "x");
	assert_string_equal(err, "a.csv:12: 'x' is no number");
}

static void what_does_not_fit_is_cut(void **state)
{
	static const char whole[] = "a.csv:12: 'x' is no number";

	for (size_t room = 1; room <= sizeof(whole); room++) {
		char err[sizeof(whole) + 1];

		memset(err, '#', sizeof(err));
		say(err, room, "'%s' is no number", "x");
		assert_int_equal(strlen(err), room - 1);
		assert_memory_equal(err, whole, room - 1);
		assert_int_equal(err[room], '#');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_and_line_come_first),
		cmocka_unit_test(what_does_not_fit_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
