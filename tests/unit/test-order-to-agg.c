/* SPDX-License-Identifier: Apache-2.0 */
/* policy/request/order/to-agg: arrival order of runs. What merging does is in test-order-flow.c. */
#include "tests/unit/order-rig.h"

/* A[0,4K) B[0,4K) A[4K,8K) goes out as A[0,8K), B[0,4K). */
static void the_example_of_the_header(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 0, 4 * K);
	rig_put(g, SL_READ, B, 0, 4 * K);
	rig_put(g, SL_READ, A, 4 * K, 4 * K);
	rig_serve(g, SL_READ, A, 0, 8 * K, 2);
	rig_serve(g, SL_READ, B, 0, 4 * K, 1);
	rig_nothing(g, SL_NEVER);
}

static void it_never_waits_and_never_sorts(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 900 * K, 4 * K);
	rig_put(g, SL_READ, A, 100 * K, 4 * K);
	rig_put(g, SL_WRITE, A, 500 * K, 4 * K);
	rig_put(g, SL_READ, A, 300 * K, 4 * K);
	assert_int_equal(sl_order_to_agg.ready(rig_flow(g), 0), 0);
	rig_expect(g, SL_READ, A, 900 * K, 4 * K, 1);
	rig_expect(g, SL_READ, A, 100 * K, 4 * K, 1);
	rig_expect(g, SL_WRITE, A, 500 * K, 4 * K, 1);
	rig_expect(g, SL_READ, A, 300 * K, 4 * K, 1);
}

/*
 * A run in front of B can be joined as long as it is not full. With 4 to a batch B is overtaken
 * by the first 4 of A whatever keeps arriving; the others make a run behind it.
 */
static void what_joins_older_runs_overtakes_by_one_batch_at_the_most(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_BATCH_REQUESTS, 4);
	rig_put(g, SL_READ, A, 0, K);
	rig_put(g, SL_READ, B, 0, K);
	for (uint64_t i = 1; i < 8; i++)
		rig_put(g, SL_READ, A, i * K, K);
	assert_int_equal(sl_order_to_agg.oldest(rig_flow(g)), 1);
	rig_serve(g, SL_READ, A, 0, 4 * K, 4);
	assert_int_equal(sl_order_to_agg.oldest(rig_flow(g)), 2);
	rig_serve(g, SL_READ, B, 0, K, 1);
	assert_int_equal(sl_order_to_agg.oldest(rig_flow(g)), 6); /* the fifth of A */
	rig_serve(g, SL_READ, A, 4 * K, 4 * K, 4);
}

/* Two streams, interleaved record by record (1D-strided): each is one batch. */
static void interleaved_streams_are_taken_apart(void **state)
{
	struct rig *g = *state;

	for (uint64_t i = 0; i < 8; i++) {
		rig_put(g, SL_WRITE, A, i * K, K);
		rig_put(g, SL_WRITE, A, 1024 * K + i * K, K);
	}
	rig_serve(g, SL_WRITE, A, 0, 8 * K, 8);
	rig_serve(g, SL_WRITE, A, 1024 * K, 8 * K, 8);
}

#define CASE(name) RIG_CASE(sl_order_to_agg, name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_example_of_the_header),
		CASE(it_never_waits_and_never_sorts),
		CASE(what_joins_older_runs_overtakes_by_one_batch_at_the_most),
		CASE(interleaved_streams_are_taken_apart),
	};

	return cmocka_run_group_tests_name("order/to-agg", tests, NULL, NULL);
}
