/* SPDX-License-Identifier: Apache-2.0 */
/* controller/runs: periods of earlier runs, and their file. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "sluiced/controller/runs.h"

#define S INT64_C(1000000000)

static void the_last_period_counts(void **state)
{
	struct runs r = { 0 };

	runs_add(&r, 1, "a", 5 * S); /* nobody has asked for it */
	assert_int_equal(runs_find(&r, 1, "a"), 0);
	assert_int_equal(runs_begin(&r), 0);
	runs_add(&r, 1, "a", 100 * S);
	assert_true(r.changed);
	r.changed = false;
	runs_add(&r, 1, "a", 103 * S); /* no news */
	assert_false(r.changed);
	assert_int_equal(runs_find(&r, 1, "a"), 100 * S);
	runs_add(&r, 1, "a", 200 * S);
	assert_true(r.changed);
	assert_int_equal(runs_find(&r, 1, "a"), 200 * S);
	assert_int_equal(runs_find(&r, 2, "a"), 0);
	assert_int_equal(runs_find(&r, 1, "b"), 0);
	runs_add(&r, 1, "", 5 * S);
	runs_add(&r, 1, "c", 0);
	assert_int_equal(r.count, 1);
	runs_end(&r);
}

static void the_oldest_gives_way(void **state)
{
	struct runs r;
	char title[32];

	assert_int_equal(runs_begin(&r), 0);
	for (int i = 0; i < RUNS_MAX; i++) {
		snprintf(title, sizeof(title), "j%d", i);
		runs_add(&r, 1, title, S);
	}
	runs_add(&r, 1, "j0", S);
	runs_add(&r, 1, "new", S);
	assert_int_equal(r.count, RUNS_MAX);
	assert_int_equal(runs_find(&r, 1, "j0"), S);
	assert_int_equal(runs_find(&r, 1, "j1"), 0);
	assert_int_equal(runs_find(&r, 1, "new"), S);
	runs_end(&r);
}

static void a_file_keeps_them(void **state)
{
	struct runs r, again;
	char path[] = "/tmp/sluice-runs-XXXXXX";
	int fd = mkstemp(path);
	FILE *f;

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(runs_begin(&r), 0);
	runs_add(&r, 1000, "climate", 3600 * S);
	runs_add(&r, 1001, "a,b %s", S / 2);
	assert_int_equal(runs_save(&r, path), 0);
	assert_false(r.changed);
	f = fopen(path, "ae");
	assert_non_null(f);
	fputs("1 -5 x\n2 nan x\n3 1e300 x\nno\n4 5\n\n", f);
	fclose(f);
	assert_int_equal(runs_begin(&again), 0);
	assert_int_equal(runs_load(&again, path), 0);
	assert_int_equal(again.count, 2);
	assert_int_equal(runs_find(&again, 1000, "climate"), 3600 * S);
	assert_int_equal(runs_find(&again, 1001, "a,b %s"), S / 2);
	unlink(path);
	assert_int_equal(runs_load(&again, path), -ENOENT);
	runs_end(&again);
	runs_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_last_period_counts),
					    cmocka_unit_test(the_oldest_gives_way),
					    cmocka_unit_test(a_file_keeps_them) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
