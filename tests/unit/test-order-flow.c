/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/order/flow: merging, the fence, leaving unserved, the table of files; then every policy
 * at random against a model that knows nothing of trees. to-agg drives the parts that all
 * policies share, because it adds nothing of its own but arrival order.
 * SL_SEED=number repeats a failure.
 */
#include "tests/unit/order-rig.h"

static const struct sl_order_ops *const policies[] = { &sl_order_to_agg, &sl_order_to,
						       &sl_order_sjf, &sl_order_mlf,
						       &sl_order_aioli };
#define POLICIES (sizeof(policies) / sizeof(policies[0]))

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

/* ---- the fence ---- */

static const struct {
	uint64_t lo, hi;
	bool overlaps; /* with [10, 20) */
} geometry[] = {
	{ 0, 9, false },  { 0, 10, false }, { 0, 11, true },   { 5, 25, true },	  { 10, 20, true },
	{ 10, 11, true }, { 12, 15, true }, { 19, 20, true },  { 19, 30, true },  { 10, 30, true },
	{ 5, 20, true },  { 9, 10, false }, { 20, 21, false }, { 20, 30, false }, { 25, 30, false },
};

/*
 * Every pair of operations, every way two ranges can lie, the first waiting or in flight: the
 * second goes before the first is done exactly if they do not overlap or both read. The flags
 * differ so that nothing is merged. aioli has one batch in flight at the most, so that there
 * only the order can be seen.
 */
static void overlapping_pairs_go_in_arrival_order(void **state)
{
	(void)state;
	for (unsigned p = 0; p < POLICIES; p++)
		for (unsigned i = 0; i < sizeof(geometry) / sizeof(geometry[0]); i++)
			for (uint32_t ops = 0; ops < 4; ops++)
				for (int early = 0; early < 2; early++) {
					struct rig *g = rig_open(policies[p], &RIG_DEFAULTS);
					uint32_t op1 = ops & 1, op2 = ops >> 1;
					bool conflict = geometry[i].overlaps && ops;
					struct sl_run *first = NULL, *second;

					rig_put_flags(g, op1, A, 10, 10, 1);
					if (early)
						first = rig_expect(g, op1, A, 10, 10, 1);
					rig_put_flags(g, op2, A, geometry[i].lo,
						      geometry[i].hi - geometry[i].lo, 2);
					if (!early && conflict)
						first = rig_expect(g, op1, A, 10, 10, 1);
					if (conflict) {
						rig_nothing(g, SL_NEVER);
						rig_done(g, first);
					} else if (policies[p] == &sl_order_aioli && first) {
						rig_done(g, first);
					}
					g->now += MS; /* mlf and aioli might wait for more */
					second = rig_take(g);
					assert_non_null(second);
					if (early || conflict)
						assert_int_equal(second->batch.flags, 2);
					rig_done(g, second);
					rig_close(g);
				}
}

static void writes_to_one_place_go_one_after_the_other(void **state)
{
	(void)state;
	for (unsigned p = 0; p < POLICIES; p++) {
		struct rig *g = rig_open(policies[p], &RIG_DEFAULTS);

		for (unsigned i = 0; i < 5; i++)
			rig_put(g, SL_WRITE, A, 0, 4 * K);
		for (unsigned i = 0; i < 5; i++) {
			struct sl_run *run = rig_expect(g, SL_WRITE, A, 0, 4 * K, 1);

			assert_ptr_equal(run->batch.first, &g->request[i]);
			rig_nothing(g, SL_NEVER);
			rig_done(g, run);
		}
		rig_nothing(g, SL_NEVER);
		rig_close(g);
	}
}

/* [0,8) [4,12) [8,16): the third overlaps only the second, which has to wait for the first. */
static void a_chain_of_overlaps_goes_link_by_link(void **state)
{
	struct rig *g = *state;
	struct sl_run *run;

	rig_put(g, SL_WRITE, A, 0, 8);
	rig_put(g, SL_READ, A, 4, 8);
	rig_put(g, SL_WRITE, A, 8, 8);
	run = rig_expect(g, SL_WRITE, A, 0, 8, 1);
	rig_nothing(g, SL_NEVER);
	rig_done(g, run);
	run = rig_expect(g, SL_READ, A, 4, 8, 1);
	rig_nothing(g, SL_NEVER);
	rig_done(g, run);
	rig_serve(g, SL_WRITE, A, 8, 8, 1);
}

static void what_comes_after_a_blocked_request_lines_up_behind_it_on_that_file_only(void **state)
{
	struct rig *g = *state;
	struct sl_run *first;

	rig_put(g, SL_WRITE, A, 0, 4);
	rig_put(g, SL_WRITE, A, 0, 4);	/* blocked */
	rig_put(g, SL_READ, A, 100, 4); /* free of conflicts, but behind it */
	rig_put(g, SL_WRITE, B, 0, 4);
	first = rig_expect(g, SL_WRITE, A, 0, 4, 1);
	rig_expect(g, SL_WRITE, B, 0, 4, 1);
	rig_nothing(g, SL_NEVER);
	rig_done(g, first);
	rig_expect(g, SL_WRITE, A, 0, 4, 1);
	rig_expect(g, SL_READ, A, 100, 4, 1);
	rig_nothing(g, SL_NEVER);
}

static void what_leaves_the_line_stands_behind_all_that_waits(void **state)
{
	struct rig *g = *state;
	struct sl_run *first;

	rig_put(g, SL_WRITE, A, 0, 4);
	rig_put(g, SL_WRITE, A, 0, 4);
	first = rig_expect(g, SL_WRITE, A, 0, 4, 1);
	assert_int_equal(sl_flow_oldest(rig_flow(g)), g->env.number + 1);
	rig_put(g, SL_WRITE, B, 0, 4);
	assert_int_equal(sl_flow_oldest(rig_flow(g)), g->request[2].seq_);
	rig_done(g, first);
	rig_expect(g, SL_WRITE, B, 0, 4, 1);
	rig_expect(g, SL_WRITE, A, 0, 4, 1);
}

/* The line is R[0,4) R[4,8) W[2,6) R[20,24): the reads go, the write waits for both, then the rest.
 */
static void the_line_moves_on_until_the_next_conflict(void **state)
{
	struct rig *g = *state;
	struct sl_run *run, *reads[2];

	rig_put(g, SL_WRITE, A, 0, 8);
	rig_put_flags(g, SL_READ, A, 0, 4, 1);
	rig_put_flags(g, SL_READ, A, 4, 4, 2);
	rig_put(g, SL_WRITE, A, 2, 4);
	rig_put(g, SL_READ, A, 20, 4);
	run = rig_expect(g, SL_WRITE, A, 0, 8, 1);
	rig_done(g, run);
	reads[0] = rig_expect(g, SL_READ, A, 0, 4, 1);
	reads[1] = rig_expect(g, SL_READ, A, 4, 4, 1);
	rig_nothing(g, SL_NEVER);
	rig_done(g, reads[1]);
	rig_nothing(g, SL_NEVER);
	rig_done(g, reads[0]);
	rig_expect(g, SL_WRITE, A, 2, 4, 1);
	rig_expect(g, SL_READ, A, 20, 4, 1);
}

static void requests_of_the_line_merge_when_they_get_in(void **state)
{
	struct rig *g = *state;
	struct sl_run *first;

	rig_put(g, SL_WRITE, A, 0, 16);
	rig_put(g, SL_WRITE, A, 8, 4);
	rig_put(g, SL_WRITE, A, 4, 4);
	rig_put(g, SL_WRITE, A, 12, 4);
	first = rig_expect(g, SL_WRITE, A, 0, 16, 1);
	rig_done(g, first);
	rig_serve(g, SL_WRITE, A, 4, 12, 3);
}

static void flows_have_no_order_between_them(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_WRITE, A, 0, 4);
	rig_expect(g, SL_WRITE, A, 0, 4, 1);
	g->lane = 1;
	rig_put(g, SL_WRITE, A, 0, 4);
	rig_expect(g, SL_WRITE, A, 0, 4, 1);
}

/* ---- leaving unserved ---- */

static void cancelling_a_blocked_request_keeps_the_line(void **state)
{
	struct rig *g = *state;

	for (unsigned which = 1; which < 4; which++) {
		struct sl_run *first;

		g->used = 0;
		for (unsigned i = 0; i < 4; i++)
			rig_put(g, SL_WRITE, A, 0, 4);
		first = rig_expect(g, SL_WRITE, A, 0, 4, 1);
		rig_cancel(g, &g->request[which]);
		assert_int_equal(rig_flow(g)->waiting, 2);
		rig_put(g, SL_WRITE, A, 0, 4); /* the end of the line is still known */
		rig_nothing(g, SL_NEVER);
		rig_done(g, first);
		for (unsigned i = 1; i < 5; i++) {
			struct sl_run *run;

			if (i == which)
				continue;
			run = rig_expect(g, SL_WRITE, A, 0, 4, 1);
			assert_ptr_equal(run->batch.first, &g->request[i]);
			rig_done(g, run);
		}
	}
}

static void cancelling_what_blocks_lets_the_line_go(void **state)
{
	struct rig *g = *state;

	/* The head of the line alone keeps R[100,104) back. */
	rig_put(g, SL_WRITE, A, 0, 4);
	rig_put(g, SL_WRITE, A, 0, 4);
	rig_put(g, SL_READ, A, 100, 4);
	rig_cancel(g, &g->request[1]);
	rig_expect(g, SL_WRITE, A, 0, 4, 1);
	rig_expect(g, SL_READ, A, 100, 4, 1);
	/* What waits in the queue keeps the head back. */
	rig_put(g, SL_WRITE, B, 0, 4);
	rig_put(g, SL_READ, B, 3, 4);
	rig_cancel(g, &g->request[3]);
	rig_expect(g, SL_READ, B, 3, 4, 1);
	rig_nothing(g, SL_NEVER);
}

/* Every request of a run of n: what is left are the parts on its two sides. */
static void a_cancelled_request_leaves_the_parts_of_its_run_on_both_sides(void **state)
{
	struct rig *g = *state;

	for (uint32_t n = 1; n <= 5; n++)
		for (uint32_t cut = 0; cut < n; cut++) {
			g->used = 0;
			for (uint32_t i = 0; i < n; i++)
				rig_put(g, SL_WRITE, A, i * K, K);
			rig_cancel(g, &g->request[cut]);
			assert_int_equal(rig_flow(g)->waiting, n - 1);
			if (cut)
				rig_serve(g, SL_WRITE, A, 0, cut * K, cut);
			if (cut < n - 1)
				rig_serve(g, SL_WRITE, A, (cut + 1) * K, (n - 1 - cut) * K,
					  n - 1 - cut);
			rig_nothing(g, SL_NEVER);
			assert_int_equal(rig_flow(g)->waiting, 0);
		}
}

static void a_hole_left_by_a_cancelled_request_can_be_filled_again(void **state)
{
	struct rig *g = *state;

	for (uint64_t i = 0; i < 5; i++)
		rig_put(g, SL_WRITE, A, i * K, K);
	rig_cancel(g, &g->request[2]);
	rig_put(g, SL_WRITE, A, 2 * K, K);
	rig_check(g);
	rig_serve(g, SL_WRITE, A, 0, 5 * K, 5);
}

static void both_parts_of_a_cut_run_stay_where_it_stood(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_WRITE, A, 0, K);
	rig_put(g, SL_WRITE, B, 0, K);
	rig_put(g, SL_WRITE, A, K, K);
	rig_put(g, SL_WRITE, A, 2 * K, K);
	rig_cancel(g, &g->request[2]);
	rig_serve(g, SL_WRITE, A, 0, K, 1);
	rig_serve(g, SL_WRITE, A, 2 * K, K, 1);
	rig_serve(g, SL_WRITE, B, 0, K, 1);
}

static void the_right_one_of_equal_reads_is_cancelled(void **state)
{
	struct rig *g = *state;

	for (unsigned which = 0; which < 6; which++) {
		unsigned served = 0;
		struct sl_run *run;

		g->used = 0;
		rig_put(g, SL_READ, A, 0, 8);
		rig_put(g, SL_READ, A, 0, 4);
		rig_put(g, SL_READ, A, 0, 4);
		rig_put(g, SL_READ, A, 2, 2);
		rig_put(g, SL_READ, A, 2, 6);
		rig_put(g, SL_READ, A, 8, 2);
		rig_cancel(g, &g->request[which]);
		while ((run = rig_take(g))) {
			for (struct sl_request *r = run->batch.first; r; r = r->next, served++)
				assert_ptr_not_equal(r, &g->request[which]);
			rig_done(g, run);
		}
		assert_int_equal(served, 5);
	}
}

static void all_leave_in_arrival_order(void **state)
{
	(void)state;
	for (unsigned p = 0; p < POLICIES; p++) {
		struct rig *g = rig_open(policies[p], &RIG_DEFAULTS);
		struct sl_flow *f = rig_flow(g);
		struct sl_request *chain;
		unsigned n = 0;

		for (uint64_t i = 0; i < 20; i++) /* descending and overlapping, over three files */
			rig_put(g, i & 1, A + i % 3, 100 - i * 3, 5);
		chain = f->ops->drain(f);
		for (; chain; chain = chain->next)
			assert_ptr_equal(chain, &g->request[n++]);
		assert_int_equal(n, 20);
		assert_int_equal(f->waiting, 0);
		assert_int_equal(f->ops->ready(f, 0), SL_NEVER);
		rig_check(g);
		sl_flow_forget_files(f); /* none of the entries is held any more */
		assert_true(sl_list_empty(&f->files));
		rig_close(g);
	}
}

static void sorting_a_chain_of_any_length_puts_it_in_arrival_order(void **state)
{
	struct rig *g = *state;

	assert_null(sl_request_sort(NULL));
	for (unsigned n = 1; n <= RIG_REQUESTS; n++) {
		struct sl_request *chain = NULL;
		unsigned seen = 0;

		for (unsigned i = 0; i < n; i++) { /* 97 is prime: all numbers are different */
			g->request[i].seq_ = (i + 1) * 41 % 97;
			g->request[i].next = chain;
			chain = &g->request[i];
		}
		for (struct sl_request *r = sl_request_sort(chain); r; r = r->next, seen++)
			assert_true(!r->next || r->seq_ < r->next->seq_);
		assert_int_equal(seen, n);
	}
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

/* ---- at random, against a model ---- */

enum { OUT, WAITS, FLIES };

struct model {
	struct rig *g;
	int state[RIG_REQUESTS];
	struct sl_run *flying[RIG_REQUESTS];
	unsigned flights, waits;
};

static bool conflict(const struct sl_request *a, const struct sl_request *b)
{
	return a->file == b->file && (a->op == SL_WRITE || b->op == SL_WRITE) &&
	       a->offset < b->offset + b->length && b->offset < a->offset + a->length;
}

static void model_taken(struct model *m, struct sl_run *run)
{
	for (struct sl_request *r = run->batch.first; r; r = r->next) {
		assert_int_equal(m->state[r - m->g->request], WAITS);
		for (unsigned i = 0; i < RIG_REQUESTS; i++)
			if (m->state[i] == FLIES ||
			    (m->state[i] == WAITS && m->g->request[i].seq_ < r->seq_))
				assert_false(conflict(&m->g->request[i], r));
	}
	for (struct sl_request *r = run->batch.first; r; r = r->next) {
		m->state[r - m->g->request] = FLIES;
		m->waits--;
	}
	m->flying[m->flights++] = run;
}

static void model_done(struct model *m, unsigned i)
{
	struct sl_run *run = m->flying[i];

	m->flying[i] = m->flying[--m->flights];
	for (struct sl_request *r = run->batch.first; r; r = r->next) {
		assert_int_equal(m->state[r - m->g->request], FLIES);
		m->state[r - m->g->request] = OUT;
	}
	rig_done(m->g, run);
}

/* With nothing in flight and something waiting, a batch must come by the time ready() names. */
static void model_progress(struct model *m)
{
	struct sl_flow *f = rig_flow(m->g);
	struct sl_run *run;
	sl_time at;

	for (unsigned tries = 0; tries < 4; tries++) {
		at = f->ops->ready(f, m->g->now);
		assert_int_not_equal(at, SL_NEVER);
		if (at > m->g->now)
			m->g->now = at;
		run = rig_take(m->g);
		if (run) {
			model_taken(m, run);
			return;
		}
	}
	fail_msg("a flow in which something waits gives no batch");
}

static uint64_t random_next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void model_add(struct model *m, uint64_t *x)
{
	struct rig *g = m->g;
	unsigned i = 0;

	while (i < RIG_REQUESTS && m->state[i] != OUT)
		i++;
	if (i == RIG_REQUESTS)
		return;
	g->used = i;
	rig_put_flags(g, random_next(x) % 3 == 0, A + random_next(x) % 3, random_next(x) % 64,
		      1 + random_next(x) % 8, random_next(x) % 8 == 0);
	m->state[i] = WAITS;
	m->waits++;
	rig_check(g);
}

static void model_step(struct model *m, uint64_t *x)
{
	struct rig *g = m->g;
	uint64_t what = random_next(x) % 16;
	struct sl_run *run;

	g->now += (sl_time)(random_next(x) % 4 ? random_next(x) % (100 * US)
					       : random_next(x) % (2 * MS));
	if (what < 8) {
		model_add(m, x);
	} else if (what < 11) {
		if ((run = rig_take(g)))
			model_taken(m, run);
		else if (m->waits && !m->flights)
			model_progress(m);
	} else if (what < 14) {
		if (m->flights)
			model_done(m, (unsigned)(random_next(x) % m->flights));
	} else if (what == 14) {
		unsigned i = (unsigned)(random_next(x) % RIG_REQUESTS);

		if (m->state[i] == WAITS) {
			rig_cancel(g, &g->request[i]);
			m->state[i] = OUT;
			m->waits--;
		}
	} else if (random_next(x) % 8 == 0) {
		struct rig_values v = { .batch_bytes = (int64_t)(1 + random_next(x) % 64),
					.batch_requests = (int64_t)(1 + random_next(x) % 9),
					.max_age_ms = (int64_t)(random_next(x) % 3),
					.wait_us = (int64_t)(random_next(x) % 3 * 200),
					.quantum_bytes = (int64_t)(1 + random_next(x) % 16) };

		rig_switch(g, policies[random_next(x) % POLICIES], &v);
	}
	assert_int_equal(m->waits, rig_flow(g)->waiting);
	assert_int_equal(m->flights, rig_flow(g)->inflight);
}

static void at_random_nothing_is_lost_doubled_or_out_of_order(void **state)
{
	const char *text = getenv("SL_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 20150601, x = seed | 1;

	(void)state;
	print_message("# seed %" PRIu64 "\n", seed);
	for (unsigned round = 0; round < 40; round++) {
		struct model m = { .g = rig_open(policies[round % POLICIES], &RIG_DEFAULTS) };

		for (unsigned step = 0; step < 1500; step++)
			model_step(&m, &x);
		while (m.waits || m.flights) {
			if (m.flights)
				model_done(&m, (unsigned)(random_next(&x) % m.flights));
			else
				model_progress(&m);
		}
		assert_int_equal(rig_flow(m.g)->waiting, 0);
		rig_nothing(m.g, SL_NEVER);
		rig_close(m.g);
	}
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
		cmocka_unit_test(overlapping_pairs_go_in_arrival_order),
		cmocka_unit_test(writes_to_one_place_go_one_after_the_other),
		CASE(a_chain_of_overlaps_goes_link_by_link),
		CASE(what_comes_after_a_blocked_request_lines_up_behind_it_on_that_file_only),
		CASE(what_leaves_the_line_stands_behind_all_that_waits),
		CASE(the_line_moves_on_until_the_next_conflict),
		CASE(requests_of_the_line_merge_when_they_get_in),
		CASE(flows_have_no_order_between_them),
		CASE(cancelling_a_blocked_request_keeps_the_line),
		CASE(cancelling_what_blocks_lets_the_line_go),
		CASE(a_cancelled_request_leaves_the_parts_of_its_run_on_both_sides),
		CASE(a_hole_left_by_a_cancelled_request_can_be_filled_again),
		CASE(both_parts_of_a_cut_run_stay_where_it_stood),
		CASE(the_right_one_of_equal_reads_is_cancelled),
		cmocka_unit_test(all_leave_in_arrival_order),
		CASE(sorting_a_chain_of_any_length_puts_it_in_arrival_order),
		CASE(an_entry_without_requests_is_used_again_least_recently_used_first),
		CASE(there_is_no_entry_when_all_have_requests),
		CASE(an_entry_held_by_a_blocked_request_stays),
		CASE(an_entry_goes_from_one_flow_to_the_other),
		CASE(the_entries_of_a_forgotten_flow_are_the_first_to_be_used),
		cmocka_unit_test(at_random_nothing_is_lost_doubled_or_out_of_order),
	};

	return cmocka_run_group_tests_name("order/flow", tests, NULL, NULL);
}
