/* SPDX-License-Identifier: Apache-2.0 */
/* allocate/zero, one, size, process and oracle: what the others are compared with. */
#include "allocate-rig.h"

static void zero_is_direct_access(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_zero, 12);
	alloc_table4(&a);
	alloc_expect(&a, 0, 0, 0, 0, 0, 0);
	alloc_close(&a);
}

static void zero_is_one_where_there_is_no_direct_access(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_zero, 4);
	a.m.direct = false;
	for (uint32_t i = 0; i < 3; i++)
		alloc_add(&a, 8, 8, 0, 1.0, 2, 3.0, -1);
	alloc_expect(&a, 1, 1, 1);
	a.m.ionodes = 2;
	alloc_expect(&a, 1, SHARED, SHARED);
	a.m.ionodes = 1;
	alloc_expect(&a, SHARED, SHARED, SHARED);
	alloc_close(&a);
}

static void one_is_one_for_each(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_one, 12);
	alloc_table4(&a);
	alloc_expect(&a, 1, 1, 1, 1, 1, 1);
	alloc_close(&a);
}

/* The example of one.c. */
static void one_leaves_out_the_smallest_when_there_are_too_few(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_one, 2);
	alloc_add(&a, 8, 8, -1);
	alloc_add(&a, 64, 64, -1);
	alloc_add(&a, 16, 16, -1);
	alloc_expect(&a, 0, 1, 1);
	a.m.direct = false;
	alloc_expect(&a, SHARED, 1, SHARED);
	alloc_close(&a);
}

static void one_where_the_curve_has_none_is_zero(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_one, 2);
	alloc_add(&a, 8, 8, 0, 5.0, 2, 9.0, -1);
	alloc_expect(&a, 0);
	a.m.direct = false;
	alloc_expect(&a, 1);
	alloc_close(&a);
}

/* Table 4, SIZE. */
static void size_is_in_proportion_to_compute_nodes(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_size, 12);
	alloc_table4(&a);
	alloc_expect(&a, 1, 2, 1, 2, 1, 2);
	assert_true(fabs(alloc_sum(&a) - 1478.3) < 0.1);
	alloc_close(&a);
}

static void size_moves_running_jobs(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_size, 8);
	alloc_has(alloc_add(&a, 16, 16, -1), 8);
	alloc_expect(&a, 8);
	alloc_add(&a, 16, 16, -1);
	alloc_expect(&a, 4, 4);
	alloc_close(&a);
}

/* Halves go up, so three jobs of equal size want 1.5 = 2 each of 5 - the last gives one back. */
static void size_takes_back_what_rounding_gave_too_much(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_size, 5);
	for (uint32_t i = 0; i < 3; i++)
		alloc_add(&a, 8, 8, -1);
	alloc_expect(&a, 2, 2, 1);
	alloc_close(&a);
}

/* The example of process.c. */
static void process_is_in_proportion_to_processes(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_process, 12);
	alloc_table4(&a);
	alloc_expect(&a, 1, 2, 1, 2, 0, 2);
	alloc_close(&a);
}

static void oracle_is_the_best_of_each_whatever_there_is(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_oracle, 0);
	alloc_table4(&a);
	alloc_expect(&a, 4, 8, 8, 8, 4, 0);
	assert_true(fabs(alloc_sum(&a) - 9377.7) < 0.1);
	a.m.direct = false;
	alloc_expect(&a, 4, 8, 8, 8, 4, 4);
	alloc_close(&a);
}

static void oracle_takes_the_fewest_of_equal_ones(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_oracle, 4);
	alloc_add(&a, 8, 8, 0, 1.0, 1, 5.0, 2, 5.0, 3, 9.0, -1);
	alloc_add(&a, 8, 8, -1);
	alloc_expect(&a, 1, 2);
	alloc_close(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zero_is_direct_access),
		cmocka_unit_test(zero_is_one_where_there_is_no_direct_access),
		cmocka_unit_test(one_is_one_for_each),
		cmocka_unit_test(one_leaves_out_the_smallest_when_there_are_too_few),
		cmocka_unit_test(one_where_the_curve_has_none_is_zero),
		cmocka_unit_test(size_is_in_proportion_to_compute_nodes),
		cmocka_unit_test(size_moves_running_jobs),
		cmocka_unit_test(size_takes_back_what_rounding_gave_too_much),
		cmocka_unit_test(process_is_in_proportion_to_processes),
		cmocka_unit_test(oracle_is_the_best_of_each_whatever_there_is),
		cmocka_unit_test(oracle_takes_the_fewest_of_equal_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
