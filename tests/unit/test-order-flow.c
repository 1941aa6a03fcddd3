/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/request/order/flow: merging, and the table of files. to-agg drives the parts that all policies
 * share, because it adds nothing of its own but arrival order. What overlaps, and what leaves
 * unserved: test-order-flow-fence.c.
 */
#include "tests/unit/order-rig.h"

/* ---- merging ---- */

/* batch_bytes=8K, writes of 4K at 0, 8K, 4K, 4K: [0,8K) is full, the second 4K is blocked. */
static void the_example_of_the_header(void **state)
{
	struct rig *g = *state;
	struct sl_run *first;

	rig_set(g, SL_P_BATCH_BYTES, 8 * K);
	rig_put(g, SL_WRITE, A, 0, 4 * K);
	rig_put(g, SL_WRITE, A, 8 * K, 4 * K);
	rig_put(g, SL_WRITE, A, 4 * K, 4 * K);
	rig_put(g, SL_WRITE, A, 4 * K, 4 * K);
	first = rig_expect(g, SL_WRITE, A, 0, 8 * K, 2);
	rig_expect(g, SL_WRITE, A, 8 * K, 4 * K, 1);
	rig_nothing(g, SL_NEVER);
	rig_done(g, first);
	rig_serve(g, SL_WRITE, A, 4 * K, 4 * K, 1);
	assert_int_equal(rig_flow(g)->waiting, 0);
}

static void a_request_joins_the_run_on_its_left(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 0, 4 * K);
	rig_put(g, SL_READ, A, 4 * K, 1);
	rig_serve(g, SL_READ, A, 0, 4 * K + 1, 2);
}

static void a_request_joins_the_run_on_its_right_and_is_then_the_first(void **state)
{
	struct rig *g = *state;
	struct sl_request *right = rig_put(g, SL_READ, A, 4 * K, 4 * K);
	struct sl_request *left = rig_put(g, SL_READ, A, 4 * K - 1, 1);
	struct sl_run *run = rig_expect(g, SL_READ, A, 4 * K - 1, 4 * K + 1, 2);

	assert_ptr_equal(run->batch.first, left);
	assert_ptr_equal(left->next, right);
	assert_null(right->next);
	assert_int_equal(run->batch.job, left->job);
}

static void a_request_between_two_runs_makes_them_one(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_WRITE, A, 0, 4 * K);
	rig_put(g, SL_WRITE, A, 8 * K, 4 * K);
	rig_put(g, SL_WRITE, A, 4 * K, 4 * K);
	rig_serve(g, SL_WRITE, A, 0, 12 * K, 3);
	rig_nothing(g, SL_NEVER);
}

/* Two runs are one after this, in the place of the older one, whichever side that stands. */
static void a_bridged_run_has_the_place_of_the_older_part(void **state)
{
	struct rig *g = *state;

	for (uint64_t older = 0; older < 2; older++) {
		rig_put(g, SL_WRITE, A, 8 * K * older, 4 * K);
		rig_put(g, SL_WRITE, B, 0, 4 * K);
		rig_put(g, SL_WRITE, A, 8 * K * !older, 4 * K);
		rig_put(g, SL_WRITE, C, 0, 4 * K);
		rig_put(g, SL_WRITE, A, 4 * K, 4 * K);
		rig_check(g);
		rig_serve(g, SL_WRITE, A, 0, 12 * K, 3);
		rig_serve(g, SL_WRITE, B, 0, 4 * K, 1);
		rig_serve(g, SL_WRITE, C, 0, 4 * K, 1);
	}
}

static void a_bridge_that_would_be_too_large_joins_the_left_only(void **state)
{
	struct rig *g = *state;
	struct rig_values v = RIG_DEFAULTS;

	v.batch_bytes = 12 * K; /* 4 + 4 fits, 4 + 4 + 8 does not */
	rig_policy(g, &sl_order_to_agg, &v);
	rig_put(g, SL_WRITE, A, 0, 4 * K);
	rig_put(g, SL_WRITE, A, 8 * K, 8 * K);
	rig_put(g, SL_WRITE, A, 4 * K, 4 * K);
	rig_serve(g, SL_WRITE, A, 0, 8 * K, 2);
	rig_serve(g, SL_WRITE, A, 8 * K, 8 * K, 1);
}

static void a_full_left_neighbour_leaves_a_request_to_the_right_one(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_BATCH_BYTES, 8 * K);
	rig_put(g, SL_WRITE, A, 0, 8 * K);
	rig_put(g, SL_WRITE, A, 12 * K, 4 * K);
	rig_put(g, SL_WRITE, A, 8 * K, 4 * K);
	rig_serve(g, SL_WRITE, A, 0, 8 * K, 1);
	rig_serve(g, SL_WRITE, A, 8 * K, 8 * K, 2);
}

static void a_batch_grows_to_exactly_its_limit_in_bytes(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_BATCH_BYTES, 10);
	rig_put(g, SL_READ, A, 0, 9);
	rig_put(g, SL_READ, A, 9, 1);  /* 10: fits */
	rig_put(g, SL_READ, A, 10, 1); /* 11: does not */
	rig_serve(g, SL_READ, A, 0, 10, 2);
	rig_serve(g, SL_READ, A, 10, 1, 1);
}

static void a_batch_grows_to_exactly_its_limit_in_requests(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_BATCH_REQUESTS, 3);
	for (uint64_t i = 0; i < 7; i++)
		rig_put(g, SL_READ, A, i, 1);
	rig_serve(g, SL_READ, A, 0, 3, 3);
	rig_serve(g, SL_READ, A, 3, 3, 3);
	rig_serve(g, SL_READ, A, 6, 1, 1);
}

static void a_request_larger_than_a_batch_goes_alone(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_BATCH_BYTES, 8 * K);
	rig_put(g, SL_WRITE, A, 4 * K, SL_MAX_LENGTH);
	rig_put(g, SL_WRITE, A, 0, 4 * K);
	rig_put(g, SL_WRITE, A, 4 * K + SL_MAX_LENGTH, 4 * K);
	rig_serve(g, SL_WRITE, A, 4 * K, SL_MAX_LENGTH, 1);
	rig_serve(g, SL_WRITE, A, 0, 4 * K, 1);
	rig_serve(g, SL_WRITE, A, 4 * K + SL_MAX_LENGTH, 4 * K, 1);
}

static void different_flags_operations_and_files_never_merge(void **state)
{
	struct rig *g = *state;

	rig_put_flags(g, SL_READ, A, 0, 4 * K, 1);
	rig_put_flags(g, SL_READ, A, 4 * K, 4 * K, 2);
	rig_put_flags(g, SL_READ, A, 8 * K, 4 * K, 1);
	rig_put(g, SL_READ, B, 0, 4 * K);
	rig_put(g, SL_WRITE, B, 4 * K, 4 * K);
	rig_put(g, SL_READ, C, 4 * K, 4 * K);
	rig_serve(g, SL_READ, A, 0, 4 * K, 1);
	rig_serve(g, SL_READ, A, 4 * K, 4 * K, 1);
	rig_serve(g, SL_READ, A, 8 * K, 4 * K, 1);
	rig_serve(g, SL_READ, B, 0, 4 * K, 1);
	rig_serve(g, SL_WRITE, B, 4 * K, 4 * K, 1);
	rig_serve(g, SL_READ, C, 4 * K, 4 * K, 1);
}

static void a_bridge_does_not_join_runs_of_different_flags(void **state)
{
	struct rig *g = *state;

	rig_put_flags(g, SL_WRITE, A, 0, 4 * K, 1);
	rig_put_flags(g, SL_WRITE, A, 8 * K, 4 * K, 2);
	rig_put_flags(g, SL_WRITE, A, 4 * K, 4 * K, 2);
	rig_serve(g, SL_WRITE, A, 0, 4 * K, 1);
	rig_serve(g, SL_WRITE, A, 4 * K, 8 * K, 2);
}

static void requests_in_flight_are_not_joined(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_WRITE, A, 0, 4 * K);
	rig_expect(g, SL_WRITE, A, 0, 4 * K, 1);
	rig_put(g, SL_WRITE, A, 4 * K, 4 * K);
	rig_expect(g, SL_WRITE, A, 4 * K, 4 * K, 1);
}

static void a_range_may_end_at_the_last_byte_that_can_be_numbered(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_WRITE, A, UINT64_MAX - 4 * K, 4 * K);
	rig_put(g, SL_WRITE, A, UINT64_MAX - 8 * K, 4 * K);
	rig_put(g, SL_WRITE, A, UINT64_MAX - 1, 1); /* overlaps: blocked */
	rig_cancel(g, &g->request[2]);
	rig_serve(g, SL_WRITE, A, UINT64_MAX - 8 * K, 8 * K, 2);
}

static void overlapping_reads_are_all_served_at_once(void **state)
{
	struct rig *g = *state;

	for (uint64_t i = 0; i < 4; i++)
		rig_put(g, SL_READ, A, 0, 4 * K);
	rig_put(g, SL_READ, A, 2 * K, 4 * K);
	rig_put(g, SL_READ, A, 1 * K, 1 * K); /* joins the one before */
	for (uint64_t i = 0; i < 4; i++)
		rig_expect(g, SL_READ, A, 0, 4 * K, 1);
	rig_expect(g, SL_READ, A, 1 * K, 5 * K, 2);
	rig_nothing(g, SL_NEVER);
}

static void a_region_that_arrives_backwards_is_one_batch(void **state)
{
	struct rig *g = *state;

	for (uint64_t i = 64; i-- > 0;)
		rig_put(g, SL_WRITE, A, i * K, K);
	rig_check(g);
	rig_serve(g, SL_WRITE, A, 0, 64 * K, 64);
}

/* Heap's algorithm, one step for each call; false after the last permutation. */
static bool permute(unsigned *a, unsigned *c, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		if (c[i] < i) {
			unsigned j = i & 1 ? c[i] : 0, t = a[i];

			a[i] = a[j];
			a[j] = t;
			c[i]++;
			return true;
		}
		c[i] = 0;
	}
	return false;
}

static void a_region_in_any_order_of_arrival_is_one_batch(void **state)
{
	struct rig *g = *state;
	unsigned a[] = { 0, 1, 2, 3, 4, 5, 6 }, c[7] = { 0 };

	do {
		g->used = 0;
		for (unsigned i = 0; i < 7; i++)
			rig_put(g, SL_WRITE, A, a[i] * K, K);
		rig_serve(g, SL_WRITE, A, 0, 7 * K, 7);
		rig_nothing(g, SL_NEVER);
	} while (permute(a, c, 7));
}

/* With 3 to a batch, 7 pieces make 3 to 7 batches; two neighbours that are apart do not fit one. */
static void limits_hold_in_any_order_of_arrival(void **state)
{
	struct rig *g = *state;
	unsigned a[] = { 0, 1, 2, 3, 4, 5, 6 }, c[7] = { 0 };

	rig_set(g, SL_P_BATCH_REQUESTS, 3);
	do {
		struct sl_run *run;
		uint32_t size[7] = { 0 }, served = 0;

		g->used = 0;
		for (unsigned i = 0; i < 7; i++)
			rig_put(g, SL_WRITE, A, a[i] * K, K);
		while ((run = rig_take(g))) {
			assert_in_range(run->batch.count, 1, 3);
			size[run->batch.offset / K] = run->batch.count;
			served += run->batch.count;
			rig_done(g, run);
		}
		assert_int_equal(served, 7);
		for (unsigned i = 0; i < 7; i += size[i]) {
			assert_int_not_equal(size[i], 0);
			if (i + size[i] < 7)
				assert_true(size[i] + size[i + size[i]] > 3);
		}
	} while (permute(a, c, 7));
}

/* ---- the table of files ---- */

static void an_entry_without_requests_is_used_again_least_recently_used_first(void **state)
{
	struct rig *g = *state;
	struct sl_flow *f = rig_flow(g);
	struct sl_file *entry[5];

	for (unsigned i = 0; i < RIG_FILES; i++) {
		entry[i] = sl_flow_file(f, A + i);
		rig_put(g, SL_READ, A + i, 0, 1);
	}
	for (unsigned i = 0; i < RIG_FILES; i++)
		rig_serve(g, SL_READ, A + i, 0, 1, 1);
	rig_put(g, SL_READ, A, 1, 1); /* A is used again: B is now the oldest */
	rig_serve(g, SL_READ, A, 1, 1, 1);
	entry[4] = sl_flow_file(f, 99);
	assert_ptr_equal(entry[4], entry[1]);
	assert_int_equal(entry[4]->id, 99);
	rig_put(g, SL_READ, 99, 0, 1);
	assert_ptr_equal(sl_flow_file(f, A), entry[0]); /* it has kept its own */
	assert_ptr_equal(sl_flow_file(f, A + 1), entry[2]);
	rig_serve(g, SL_READ, 99, 0, 1, 1);
	rig_check(g);
}

static void there_is_no_entry_when_all_have_requests(void **state)
{
	struct rig *g = *state;
	struct sl_run *run;

	for (unsigned i = 0; i < RIG_FILES - 1; i++)
		rig_put(g, SL_READ, A + i, 0, 1);
	g->lane = 1;
	rig_put(g, SL_READ, A, 0, 1); /* the same file in another lane has its own */
	g->lane = 0;
	assert_null(sl_flow_file(rig_flow(g), 99));
	assert_non_null(sl_flow_file(rig_flow(g), A));
	run = rig_expect(g, SL_READ, A, 0, 1, 1);
	assert_null(sl_flow_file(rig_flow(g), 99)); /* in flight is in use */
	rig_done(g, run);
	assert_non_null(sl_flow_file(rig_flow(g), 99));
	rig_put(g, SL_READ, 99, 0, 1);
	assert_null(sl_flow_file(rig_flow(g), A));
	rig_cancel(g, &g->request[g->used - 1]);
	assert_non_null(sl_flow_file(rig_flow(g), A));
}

static void an_entry_held_by_a_blocked_request_stays(void **state)
{
	struct rig *g = *state;
	struct sl_run *run;

	for (unsigned i = 0; i < RIG_FILES; i++)
		rig_put(g, SL_WRITE, A + i, 0, 1);
	rig_put(g, SL_WRITE, A, 0, 1);
	run = rig_expect(g, SL_WRITE, A, 0, 1, 1);
	rig_cancel(g, &g->request[RIG_FILES]);
	assert_null(sl_flow_file(rig_flow(g), 99));
	rig_put(g, SL_WRITE, A, 0, 1);
	rig_done(g, run);
	assert_null(sl_flow_file(rig_flow(g), 99));
	for (unsigned i = 1; i < RIG_FILES; i++)
		rig_serve(g, SL_WRITE, A + i, 0, 1, 1);
	rig_serve(g, SL_WRITE, A, 0, 1, 1);
	assert_non_null(sl_flow_file(rig_flow(g), 99));
}

static void an_entry_goes_from_one_flow_to_the_other(void **state)
{
	struct rig *g = *state;

	for (unsigned i = 0; i < RIG_FILES; i++) {
		rig_put(g, SL_WRITE, A + i, 8, 4);
		rig_serve(g, SL_WRITE, A + i, 8, 4, 1);
	}
	g->lane = 1;
	for (unsigned i = 0; i < RIG_FILES; i++)
		rig_put(g, SL_WRITE, A + i, 0, 4);
	g->lane = 0;
	assert_true(sl_list_empty(&rig_flow(g)->files));
	assert_null(sl_flow_file(rig_flow(g), A));
	g->lane = 1;
	for (unsigned i = 0; i < RIG_FILES; i++)
		rig_serve(g, SL_WRITE, A + i, 0, 4, 1);
}

static void the_entries_of_a_forgotten_flow_are_the_first_to_be_used(void **state)
{
	struct rig *g = *state;
	struct sl_file *b;

	g->lane = 1;
	rig_put(g, SL_READ, A, 0, 1);
	rig_serve(g, SL_READ, A, 0, 1, 1);
	g->lane = 0;
	rig_put(g, SL_READ, B, 0, 1);
	rig_serve(g, SL_READ, B, 0, 1, 1);
	b = sl_flow_file(rig_flow(g), B);
	sl_flow_forget_files(rig_flow(g));
	assert_ptr_equal(sl_flow_file(&g->flow[1], C), b);
	assert_true(sl_list_empty(&rig_flow(g)->files));
	sl_flow_forget_files(rig_flow(g)); /* of nothing: nothing */
}

#define CASE(name) RIG_CASE(sl_order_to_agg, name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_example_of_the_header),
		CASE(a_request_joins_the_run_on_its_left),
		CASE(a_request_joins_the_run_on_its_right_and_is_then_the_first),
		CASE(a_request_between_two_runs_makes_them_one),
		CASE(a_bridged_run_has_the_place_of_the_older_part),
		CASE(a_bridge_that_would_be_too_large_joins_the_left_only),
		CASE(a_full_left_neighbour_leaves_a_request_to_the_right_one),
		CASE(a_batch_grows_to_exactly_its_limit_in_bytes),
		CASE(a_batch_grows_to_exactly_its_limit_in_requests),
		CASE(a_request_larger_than_a_batch_goes_alone),
		CASE(different_flags_operations_and_files_never_merge),
		CASE(a_bridge_does_not_join_runs_of_different_flags),
		CASE(requests_in_flight_are_not_joined),
		CASE(a_range_may_end_at_the_last_byte_that_can_be_numbered),
		CASE(overlapping_reads_are_all_served_at_once),
		CASE(a_region_that_arrives_backwards_is_one_batch),
		CASE(a_region_in_any_order_of_arrival_is_one_batch),
		CASE(limits_hold_in_any_order_of_arrival),
		CASE(an_entry_without_requests_is_used_again_least_recently_used_first),
		CASE(there_is_no_entry_when_all_have_requests),
		CASE(an_entry_held_by_a_blocked_request_stays),
		CASE(an_entry_goes_from_one_flow_to_the_other),
		CASE(the_entries_of_a_forgotten_flow_are_the_first_to_be_used),
	};

	return cmocka_run_group_tests_name("order/flow", tests, NULL, NULL);
}
