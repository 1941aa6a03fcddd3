/* SPDX-License-Identifier: Apache-2.0 */
/* Files as one text: of every length around the steps of memory, and those that cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/slurp.h"

static FILE *file_of(size_t size)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	for (size_t i = 0; i < size; i++)
		assert_int_not_equal(putc((int)(i % 251), f), EOF);
	rewind(f);
	return f;
}

static void all_of_it_is_read(void **state)
{
	static const size_t sizes[] = {
		0, 1, (1 << 14) - 1, 1 << 14, (1 << 14) + 1, 1 << 15, 100000
	};

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		FILE *f = file_of(sizes[k]);
		char *text = NULL;
		size_t size = 7;

		assert_int_equal(sl_slurp(f, 100000, &text, &size), 0);
		assert_non_null(text);
		assert_int_equal(size, sizes[k]);
		assert_int_equal(text[size], 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal((unsigned char)text[i], i % 251);
		free(text);
		fclose(f);
	}
}

static void more_than_that_is_refused(void **state)
{
	FILE *f = file_of(100001);
	char *text = (char *)state;
	size_t size = 7;

	assert_int_equal(sl_slurp(f, 100000, &text, &size), -EFBIG);
	assert_null(text);
	assert_int_equal(size, 0);
	fclose(f);
}

static void what_cannot_be_read_is_said(void **state)
{
	char *text = (char *)state;
	size_t size;

	assert_int_equal(sl_slurp_file("/none/such", 10, &text, &size), -ENOENT);
	assert_null(text);
	assert_int_equal(sl_slurp_file("/", 10, &text, &size), -EISDIR);
	assert_null(text);
}

static void or_in_words(void **state)
{
	char *text = (char *)state, err[100] = "";
	size_t size;

	assert_int_equal(sl_slurp_or_say("/none/such", 10, &text, &size, err, sizeof(err)),
			 -ENOENT);
	assert_null(text);
	assert_string_equal(err, "/none/such: No such file or directory.");
	err[0] = 0;
	assert_int_equal(sl_slurp_or_say("/dev/null", 10, &text, &size, err, sizeof(err)), 0);
	assert_int_equal(size, 0);
	assert_string_equal(err, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_it_is_read),
		cmocka_unit_test(more_than_that_is_refused),
		cmocka_unit_test(what_cannot_be_read_is_said),
		cmocka_unit_test(or_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
