/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/request/order/flow: the fence, which keeps what overlaps in arrival order, and what leaves
 * unserved: cancelled requests and those that a change of policy takes out.
 */
#include "tests/unit/order-rig.h"

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
	for (unsigned p = 0; p < RIG_POLICIES; p++)
		for (unsigned i = 0; i < sizeof(geometry) / sizeof(geometry[0]); i++)
			for (uint32_t ops = 0; ops < 4; ops++)
				for (int early = 0; early < 2; early++) {
					struct rig *g = rig_open(rig_policies[p], &RIG_DEFAULTS);
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
					} else if (rig_policies[p] == &sl_order_aioli && first) {
						rig_done(g, first);
					}
					/* mlf and aioli might wait for more, from now on */
					if (!(second = rig_take(g))) {
						g->now += MS;
						second = rig_take(g);
					}
					assert_non_null(second);
					if (early || conflict)
						assert_int_equal(second->batch.flags, 2);
					rig_done(g, second);
					rig_close(g);
				}
}

static void writes_to_one_place_go_one_after_the_other(void **state)
{
	for (unsigned p = 0; p < RIG_POLICIES; p++) {
		struct rig *g = rig_open(rig_policies[p], &RIG_DEFAULTS);

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
	for (unsigned p = 0; p < RIG_POLICIES; p++) {
		struct rig *g = rig_open(rig_policies[p], &RIG_DEFAULTS);
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

#define CASE(name) RIG_CASE(sl_order_to_agg, name)

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests_name("order/flow-fence", tests, NULL, NULL);
}
