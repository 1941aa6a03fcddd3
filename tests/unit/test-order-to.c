/* SPDX-License-Identifier: Apache-2.0 */
/* policy/request/order/to: arrival order, one request at a time, and what it does across a change. */
#include "tests/unit/order-rig.h"

/* W[0,4K) W[4K,8K) W[0,4K): two in flight together, the third when the first is done. */
static void the_example_of_the_header(void **state)
{
	struct rig *g = *state;
	struct sl_run *first, *second;

	rig_put(g, SL_WRITE, A, 0, 4 * K);
	rig_put(g, SL_WRITE, A, 4 * K, 4 * K);
	rig_put(g, SL_WRITE, A, 0, 4 * K);
	first = rig_expect(g, SL_WRITE, A, 0, 4 * K, 1);
	second = rig_expect(g, SL_WRITE, A, 4 * K, 4 * K, 1);
	rig_nothing(g, SL_NEVER);
	rig_done(g, second);
	rig_nothing(g, SL_NEVER);
	rig_done(g, first);
	rig_serve(g, SL_WRITE, A, 0, 4 * K, 1);
	rig_nothing(g, SL_NEVER);
}

static void requests_go_singly_in_arrival_order(void **state)
{
	struct rig *g = *state;

	for (uint64_t i = 0; i < 12; i++)
		rig_put(g, i % 3 == 0, A + i % 4, 4 * K * (12 - i), 4 * K);
	for (uint64_t i = 0; i < 12; i++) {
		assert_int_equal(sl_order_to.oldest(rig_flow(g)), i + 1);
		rig_expect(g, i % 3 == 0, A + i % 4, 4 * K * (12 - i), 4 * K, 1);
	}
	rig_nothing(g, SL_NEVER);
}

/* Nothing is overtaken, not even by what has no conflict with anything. */
static void the_first_in_line_holds_up_all(void **state)
{
	struct rig *g = *state;
	struct sl_run *first;

	rig_put(g, SL_READ, A, 0, 4);
	rig_put(g, SL_WRITE, A, 2, 4);
	rig_put(g, SL_READ, B, 0, 4);
	first = rig_expect(g, SL_READ, A, 0, 4, 1);
	rig_nothing(g, SL_NEVER);
	rig_done(g, first);
	rig_expect(g, SL_WRITE, A, 2, 4, 1);
	rig_expect(g, SL_READ, B, 0, 4, 1);
}

static void the_first_a_middle_and_the_last_can_be_cancelled(void **state)
{
	struct rig *g = *state;

	for (unsigned which = 0; which < 4; which++) {
		g->used = 0;
		for (uint64_t i = 0; i < 4; i++)
			rig_put(g, SL_READ, A, i, 1);
		rig_cancel(g, &g->request[which]);
		rig_put(g, SL_READ, A, 4, 1);
		for (uint64_t i = 0; i < 5; i++)
			if (i != which)
				rig_serve(g, SL_READ, A, i, 1, 1);
		rig_nothing(g, SL_NEVER);
		assert_int_equal(rig_flow(g)->waiting, 0);
	}
	rig_put(g, SL_READ, A, 0, 1); /* the only one */
	rig_cancel(g, &g->request[g->used - 1]);
	rig_nothing(g, SL_NEVER);
	rig_put(g, SL_READ, A, 0, 1);
	rig_serve(g, SL_READ, A, 0, 1, 1);
}

static void cancelling_the_head_that_waits_for_a_conflict_frees_the_next(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_WRITE, A, 0, 4);
	rig_expect(g, SL_WRITE, A, 0, 4, 1);
	rig_put(g, SL_WRITE, A, 0, 4);
	rig_put(g, SL_WRITE, A, 4, 4);
	rig_nothing(g, SL_NEVER);
	rig_cancel(g, &g->request[1]);
	rig_expect(g, SL_WRITE, A, 4, 4, 1);
}

/* ---- from each policy to each other, with something in flight ---- */

static const struct sl_order_ops *const policies[] = { &sl_order_to, &sl_order_to_agg,
						       &sl_order_sjf, &sl_order_mlf,
						       &sl_order_aioli };
#define POLICIES (sizeof(policies) / sizeof(policies[0]))

/*
 * W[0,4K) is in flight when the policy changes. Waiting: W[4K,8K) free of conflicts, R[2K,3K)
 * which overlaps what is in flight, W[2K,3K) which overlaps the read. Under any policy the read
 * goes after the first write is done, and the second write of 2K after the read.
 */
static void the_fence_holds_across_a_change_of_policy(void **state)
{
	for (unsigned i = 0; i < POLICIES * POLICIES; i++) {
		const struct sl_order_ops *from = policies[i / POLICIES],
					  *to = policies[i % POLICIES];
		struct rig *g = rig_open(from, &RIG_DEFAULTS);
		struct sl_run *first, *run, *beside = NULL;

		rig_put(g, SL_WRITE, A, 0, 4 * K);
		first = rig_expect(g, SL_WRITE, A, 0, 4 * K, 1);
		rig_put(g, SL_WRITE, A, 4 * K, 4 * K);
		rig_put(g, SL_READ, A, 2 * K, K);
		rig_put(g, SL_WRITE, A, 2 * K, K);
		rig_switch(g, to, &RIG_DEFAULTS);
		assert_int_equal(rig_flow(g)->waiting, 3);
		assert_int_equal(rig_flow(g)->inflight, 1);
		if (to != &sl_order_aioli) /* which has one batch in flight at the most */
			beside = rig_expect(g, SL_WRITE, A, 4 * K, 4 * K, 1);
		rig_nothing(g, SL_NEVER);
		rig_done(g, first);
		if (to == &sl_order_aioli)
			rig_serve(g, SL_WRITE, A, 4 * K, 4 * K, 1);
		else
			rig_done(g, beside);
		run = rig_expect(g, SL_READ, A, 2 * K, K, 1);
		rig_nothing(g, SL_NEVER);
		rig_done(g, run);
		rig_serve(g, SL_WRITE, A, 2 * K, K, 1);
		rig_nothing(g, SL_NEVER);
		assert_int_equal(rig_flow(g)->waiting + rig_flow(g)->inflight, 0);
		rig_close(g);
	}
}

/* What was merged under the old limits is taken apart and merged under the new ones. */
static void a_change_of_limits_merges_anew(void **state)
{
	struct rig *g = *state;
	struct rig_values v = RIG_DEFAULTS;

	rig_policy(g, &sl_order_to_agg, &v);
	for (uint64_t i = 0; i < 6; i++)
		rig_put(g, SL_WRITE, A, i * K, K);
	v.batch_requests = 4;
	rig_switch(g, &sl_order_mlf, &v);
	rig_serve(g, SL_WRITE, A, 0, 4 * K, 4);
	rig_switch(g, &sl_order_to, &v);
	rig_serve(g, SL_WRITE, A, 4 * K, K, 1);
	rig_serve(g, SL_WRITE, A, 5 * K, K, 1);
}

#define CASE(name) RIG_CASE(sl_order_to, name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_example_of_the_header),
		CASE(requests_go_singly_in_arrival_order),
		CASE(the_first_in_line_holds_up_all),
		CASE(the_first_a_middle_and_the_last_can_be_cancelled),
		CASE(cancelling_the_head_that_waits_for_a_conflict_frees_the_next),
		cmocka_unit_test(the_fence_holds_across_a_change_of_policy),
		CASE(a_change_of_limits_merges_anew),
	};

	return cmocka_run_group_tests_name("order/to", tests, NULL, NULL);
}
