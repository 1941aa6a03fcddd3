/* SPDX-License-Identifier: Apache-2.0 */
/* allocate/static: in proportion to compute nodes; running jobs stay. */
#include "allocate-rig.h"

/* Table 4: 1 2 1 2 1 2 and 1478.3 MB/s, on a machine of 384 compute nodes. */
static void the_table_of_the_paper(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_static, 12);
	alloc_table4(&a);
	a.m.compute_nodes = 384;
	alloc_expect(&a, 1, 2, 1, 2, 1, 2);
	assert_true(fabs(alloc_sum(&a) - 1478.3) < 0.1);
	alloc_close(&a);
}

/* The example of static.c. */
static void a_number_that_is_no_option_snaps_down(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_static, 12);
	a.m.compute_nodes = 96;
	alloc_add(&a, 32, 32, -1);
	alloc_add(&a, 9, 9, -1);
	alloc_add(&a, 9, 9, 0, 1.0, 1, 1.0, -1);
	alloc_add(&a, 32, 32, 0, 1.0, 2, 1.0, 8, 1.0, -1);
	alloc_add(&a, 1, 1, 0, 1.0, 2, 1.0, -1);
	alloc_expect(&a, 4, 1, 1, 2, 0);
	a.m.direct = false;
	alloc_expect(&a, 4, 1, 1, 2, 1);
	alloc_close(&a);
}

static void without_a_machine_it_is_what_the_jobs_have(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_static, 8);
	alloc_add(&a, 16, 16, -1);
	alloc_expect(&a, 8);
	alloc_add(&a, 48, 48, -1);
	alloc_expect(&a, 2, 6);
	alloc_close(&a);
}

/* ceil gives 1 to each of five and 4 to the sixth, one more than 8; it is the largest. */
static void what_is_too_much_is_taken_from_the_largest(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_static, 8);
	for (uint32_t i = 0; i < 5; i++)
		alloc_add(&a, 5, 5, -1);
	alloc_add(&a, 24, 24, -1);
	alloc_expect(&a, 1, 1, 1, 1, 1, 3);
	a.m.ionodes = 3;
	/* All at one: those with fewer compute nodes, the last first. */
	alloc_expect(&a, 1, 1, 0, 0, 0, 1);
	alloc_close(&a);
}

static void running_jobs_are_not_moved(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_static, 8);
	a.m.compute_nodes = 64;
	alloc_has(alloc_add(&a, 32, 32, -1), 1);
	alloc_has(alloc_add(&a, 8, 8, -1), 5);
	alloc_add(&a, 32, 32, -1);
	/* 4 would be its number; 2 are left. */
	alloc_expect(&a, 1, 5, 2);
	a.m.ionodes = 6;
	alloc_expect(&a, 1, 5, 0);
	/* It cannot do without. */
	a.m.direct = false;
	alloc_expect(&a, 1, 4, 1);
	/* Nodes are gone. */
	a.m.ionodes = 3;
	alloc_expect(&a, 1, 1, 1);
	a.m.ionodes = 2;
	alloc_expect(&a, 1, SHARED, SHARED);
	alloc_close(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_of_the_paper),
		cmocka_unit_test(a_number_that_is_no_option_snaps_down),
		cmocka_unit_test(without_a_machine_it_is_what_the_jobs_have),
		cmocka_unit_test(what_is_too_much_is_taken_from_the_largest),
		cmocka_unit_test(running_jobs_are_not_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
