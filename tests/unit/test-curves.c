/* SPDX-License-Identifier: Apache-2.0 */
/* Curves that the controller learns: means, sizes apart, bounds, and the file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sluiced/controller/curves.h"

static struct curves *fresh(void)
{
	struct curves *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	return c;
}

static void a_point_is_the_mean_of_its_phases(void **state)
{
	struct curves *c = fresh();
	const struct curve *v;

	curves_add(c, "climate", 4, 64, 2, 400e6);
	curves_add(c, "climate", 4, 64, 2, 500e6);
	v = curves_find(c, "climate", 4, 64);
	assert_non_null(v);
	assert_int_equal(v->points, 1);
	assert_int_equal(v->point[0].ionodes, 2);
	assert_true(v->point[0].bps > 449e6 && v->point[0].bps < 451e6);
	free(c);
}

static void points_rise_whatever_the_order_they_came_in(void **state)
{
	static const uint32_t came[] = { 4, 0, 2, 1, 8 };
	static const uint32_t sorted[] = { 0, 1, 2, 4, 8 };
	struct curves *c = fresh();
	const struct curve *v;

	for (int i = 0; i < 5; i++)
		curves_add(c, "a", 8, 8, came[i], 1e6 * (came[i] + 1));
	v = curves_find(c, "a", 8, 8);
	assert_int_equal(v->points, 5);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(v->point[i].ionodes, sorted[i]);
		assert_true(v->point[i].bps == 1e6 * (sorted[i] + 1));
	}
	free(c);
}

static void another_size_is_another_job(void **state)
{
	struct curves *c = fresh();

	curves_add(c, "a", 8, 8, 1, 1e6);
	assert_null(curves_find(c, "a", 8, 16));
	assert_null(curves_find(c, "a", 4, 8));
	assert_null(curves_find(c, "b", 8, 8));
	free(c);
}

static void an_old_machine_is_forgotten_slowly(void **state)
{
	struct curves *c = fresh();

	for (int i = 0; i < 1000; i++)
		curves_add(c, "a", 1, 1, 1, 100e6);
	for (int i = 0; i < 40; i++)
		curves_add(c, "a", 1, 1, 1, 200e6);
	assert_true(curves_find(c, "a", 1, 1)->point[0].bps > 195e6);
	free(c);
}

static void nonsense_is_not_learned(void **state)
{
	struct curves *c = fresh();

	curves_add(c, "a", 1, 1, 1, 0);
	curves_add(c, "a", 1, 1, 1, -5);
	curves_add(c, "a", 1, 1, 1, (double)NAN);
	assert_null(curves_find(c, "a", 1, 1));
	free(c);
}

static void who_was_not_seen_for_longest_gives_way(void **state)
{
	struct curves *c = fresh();
	char name[32];

	for (int i = 0; i < CURVES_MAX; i++) {
		snprintf(name, sizeof(name), "job-%d", i);
		curves_add(c, name, 1, 1, 1, 1e6);
	}
	curves_add(c, "job-0", 1, 1, 1, 1e6);
	curves_add(c, "new", 1, 1, 1, 1e6);
	assert_non_null(curves_find(c, "job-0", 1, 1));
	assert_null(curves_find(c, "job-1", 1, 1));
	assert_non_null(curves_find(c, "new", 1, 1));
	free(c);
}

static void the_file_is_read_as_it_was_written_and_rubbish_skipped(void **state)
{
	char path[] = "/tmp/test-curves-XXXXXX";
	struct curves *c = fresh(), *d = fresh();
	const struct curve *v;
	int fd = mkstemp(path);
	FILE *f;

	assert_true(fd >= 0);
	close(fd);
	curves_add(c, "climate", 4, 64, 2, 450e6);
	curves_add(c, "climate", 4, 64, 0, 120.5e6);
	curves_add(c, "md", 1, 8, 1, 10e6);
	assert_true(c->changed);
	assert_int_equal(curves_save(c, path), 0);
	assert_false(c->changed);
	f = fopen(path, "a");
	assert_non_null(f);
	fputs("x\n,,,,\nmd,1,nan,1,8\nmd,1,-3,1,8\n\xff\xfe\nlong,1", f);
	fclose(f);
	assert_int_equal(curves_load(d, path), 0);
	assert_int_equal(d->count, 2);
	v = curves_find(d, "climate", 4, 64);
	assert_int_equal(v->points, 2);
	assert_int_equal(v->point[0].ionodes, 0);
	assert_true(v->point[0].bps > 120.4e6 && v->point[0].bps < 120.6e6);
	assert_true(curves_find(d, "md", 1, 8)->point[0].bps == 10e6);
	unlink(path);
	assert_int_equal(curves_load(d, path), -2); /* ENOENT */
	free(c);
	free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_point_is_the_mean_of_its_phases),
		cmocka_unit_test(points_rise_whatever_the_order_they_came_in),
		cmocka_unit_test(another_size_is_another_job),
		cmocka_unit_test(an_old_machine_is_forgotten_slowly),
		cmocka_unit_test(nonsense_is_not_learned),
		cmocka_unit_test(who_was_not_seen_for_longest_gives_way),
		cmocka_unit_test(the_file_is_read_as_it_was_written_and_rubbish_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
