/* SPDX-License-Identifier: Apache-2.0 */
/* allocate/mckp: the largest sum of bandwidths. prop-allocate.c compares with brute force. */
#include "allocate-rig.h"

/* Table 4: 0 1 8 2 0 0 and 6792.2 MB/s. */
static void the_table_of_the_paper(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_mckp, 12);
	alloc_table4(&a);
	alloc_expect(&a, 0, 1, 8, 2, 0, 0);
	assert_true(fabs(alloc_sum(&a) - 6792.2) < 0.1);
	alloc_close(&a);
}

/* Figure 6: it reaches the oracle with enough nodes. */
static void with_enough_nodes_it_is_the_oracle(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_mckp, 36);
	alloc_table4(&a);
	alloc_expect(&a, 4, 8, 8, 8, 4, 0);
	assert_true(fabs(alloc_sum(&a) - 9377.7) < 0.1);
	alloc_close(&a);
}

/* The example of mckp.c. */
static void the_example(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_mckp, 4);
	alloc_add(&a, 8, 8, 0, 10.0, 2, 30.0, 4, 35.0, -1);
	alloc_add(&a, 8, 8, 0, 5.0, 1, 12.0, 2, 13.0, -1);
	alloc_expect(&a, 2, 2);
	a.m.ionodes = 3;
	alloc_expect(&a, 2, 1);
	a.m.ionodes = 1;
	alloc_expect(&a, 0, 1);
	a.m.ionodes = 0;
	alloc_expect(&a, 0, 0);
	alloc_close(&a);
}

static void what_does_not_divide_the_compute_nodes_is_no_option(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_mckp, 8);
	alloc_add(&a, 6, 6, 0, 1.0, 2, 5.0, 3, 7.0, 4, 99.0, 5, 99.0, -1);
	alloc_expect(&a, 3);
	a.m.uneven = true;
	alloc_expect(&a, 4);
	alloc_close(&a);
}

static void equal_bandwidths_are_reached_with_the_fewest_nodes(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_mckp, 8);
	alloc_add(&a, 8, 8, 0, 0.1, 1, 0.3, 2, 0.3, 4, 0.3, -1);
	alloc_add(&a, 8, 8, 0, 0.2, 1, 0.2, -1);
	alloc_add(&a, 8, 8, 0, 0.7, 1, 0.4, 2, 0.7, -1);
	alloc_expect(&a, 1, 0, 0);
	/* Even when that moves a job. */
	alloc_has(&a.job[0], 4);
	alloc_has(&a.job[2], 2);
	alloc_expect(&a, 1, 0, 0);
	alloc_close(&a);
}

/* Two jobs like each other and one node: which one has it makes no difference. */
static void of_equals_the_one_that_moves_nobody(void **state)
{
	struct alloc a;

	for (uint32_t has = 0; has < 2; has++) {
		alloc_open(&a, &sl_allocate_mckp, 1);
		for (uint32_t i = 0; i < 2; i++)
			alloc_has(alloc_add(&a, 8, 8, 0, 0.1, 1, 0.3, -1), i == has);
		alloc_expect(&a, has == 0, has == 1);
		alloc_close(&a);
	}
}

/* Sums of these differ in the last digit when added in another order. */
static void the_order_of_adding_makes_no_difference(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_mckp, 2);
	alloc_has(alloc_add(&a, 8, 8, 0, 0.0, 1, 0.1, 2, 0.3, -1), 1);
	alloc_has(alloc_add(&a, 8, 8, 0, 0.0, 1, 0.2, 2, 0.3, -1), 1);
	alloc_expect(&a, 1, 1);
	alloc_has(&a.job[0], 2);
	alloc_has(&a.job[1], 0);
	alloc_expect(&a, 2, 0);
	alloc_has(&a.job[0], 0);
	alloc_has(&a.job[1], 2);
	alloc_expect(&a, 0, 2);
	alloc_close(&a);
}

/* ceil(4 / (16 / 8)) = 2 and ceil(12 / (16 / 8)) = 6. */
static void a_job_without_a_curve_gets_what_static_gives(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_mckp, 8);
	alloc_add(&a, 4, 4, -1);
	alloc_add(&a, 12, 12, -1);
	alloc_expect(&a, 2, 6);
	/* One that is known takes what is left, and not more. */
	a.n = 1;
	alloc_add(&a, 12, 12, 0, 1.0, 1, 2.0, 4, 5.0, 6, 6.0, 12, 9.0, -1);
	alloc_expect(&a, 2, 6);
	a.n = 1;
	alloc_add(&a, 12, 12, 0, 9.0, 1, 2.0, -1);
	alloc_expect(&a, 2, 0);
	alloc_close(&a);
}

static void nobody_known_and_more_jobs_than_nodes(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_mckp, 2);
	for (uint32_t i = 0; i < 4; i++)
		alloc_add(&a, 1 + i, 1, -1);
	alloc_expect(&a, 0, 0, 1, 1);
	a.m.direct = false;
	alloc_expect(&a, SHARED, SHARED, SHARED, 1);
	a.m.ionodes = 4;
	alloc_expect(&a, 1, 1, 1, 1);
	alloc_close(&a);
}

/* Section 3.1: bw(1) / running jobs, and one node less to arbitrate. */
static void who_has_least_to_lose_shares_a_node(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_mckp, 3);
	a.m.direct = false;
	alloc_add(&a, 8, 8, 0, 99.0, 1, 4.0, 2, 5.0, -1);
	alloc_add(&a, 8, 8, 0, 99.0, 1, 40.0, 2, 41.0, -1);
	alloc_add(&a, 8, 8, 0, 99.0, 1, 8.0, 2, 9.0, -1);
	alloc_add(&a, 8, 8, 0, 99.0, 1, 1.0, 2, 90.0, -1);
	/* 90.0 with both, or 40 - 10 and 8 - 2 with one each. */
	alloc_expect(&a, SHARED, SHARED, SHARED, 2);
	assert_true(fabs(alloc_sum(&a) - (1 + 10 + 2 + 90)) < 1e-9);
	a.curve[3][2].bps = 30;
	alloc_expect(&a, SHARED, 1, 1, SHARED);
	a.m.ionodes = 1;
	alloc_expect(&a, SHARED, SHARED, SHARED, SHARED);
	a.m.ionodes = 4;
	alloc_expect(&a, 1, 1, 1, 1);
	alloc_close(&a);
}

/* Without direct access a job has one at least, though its curve knows only more. */
static void one_node_is_always_possible(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_mckp, 3);
	a.m.direct = false;
	alloc_add(&a, 8, 8, 2, 10.0, 4, 20.0, -1);
	alloc_add(&a, 8, 8, 2, 11.0, 4, 20.0, -1);
	alloc_expect(&a, 1, 2);
	alloc_close(&a);
}

static void rates_of_any_size_are_told_apart(void **state)
{
	static const double scales[] = { 1e-9, 1, 1e6, 1e18 };
	struct alloc a;

	for (unsigned i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		alloc_open(&a, &sl_allocate_mckp, 1);
		alloc_add(&a, 8, 8, 0, 0.0, 1, 1.0 * scales[i], -1);
		alloc_add(&a, 8, 8, 0, 0.0, 1, 1.0000001 * scales[i], -1);
		alloc_expect(&a, 0, 1);
		alloc_close(&a);
	}
	alloc_open(&a, &sl_allocate_mckp, 1);
	alloc_add(&a, 8, 8, 0, 0.0, 1, 0.0, -1);
	alloc_expect(&a, 0);
	alloc_close(&a);
}

static void no_nodes_and_no_direct_access_is_nothing(void **state)
{
	struct alloc a;

	alloc_open(&a, &sl_allocate_mckp, 0);
	a.m.direct = false;
	alloc_table4(&a);
	alloc_expect(&a, 0, 0, 0, 0, 0, 0);
	a.ops->decide(a.state, a.job, 0, &a.m);
	alloc_close(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_of_the_paper),
		cmocka_unit_test(with_enough_nodes_it_is_the_oracle),
		cmocka_unit_test(the_example),
		cmocka_unit_test(what_does_not_divide_the_compute_nodes_is_no_option),
		cmocka_unit_test(equal_bandwidths_are_reached_with_the_fewest_nodes),
		cmocka_unit_test(of_equals_the_one_that_moves_nobody),
		cmocka_unit_test(the_order_of_adding_makes_no_difference),
		cmocka_unit_test(a_job_without_a_curve_gets_what_static_gives),
		cmocka_unit_test(nobody_known_and_more_jobs_than_nodes),
		cmocka_unit_test(who_has_least_to_lose_shares_a_node),
		cmocka_unit_test(one_node_is_always_possible),
		cmocka_unit_test(rates_of_any_size_are_told_apart),
		cmocka_unit_test(no_nodes_and_no_direct_access_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
