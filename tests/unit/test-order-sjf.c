/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/request/order/sjf: the smallest queue first; inside it offset order that goes on from the last
 * batch (C-LOOK), which all policies with queues share; ageing.
 */
#include "tests/unit/order-rig.h"

/* ---- between queues ---- */

/* A has 4K + 4K waiting, B 4K: B goes first, then A from where its last batch ended. */
static void the_example_of_the_header(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 100 * K, 4 * K);
	rig_serve(g, SL_READ, A, 100 * K, 4 * K, 1); /* its last batch ended at 104K */
	rig_put(g, SL_READ, A, 0, 4 * K);
	rig_put(g, SL_READ, A, 200 * K, 4 * K);
	rig_put(g, SL_READ, B, 0, 4 * K);
	rig_serve(g, SL_READ, B, 0, 4 * K, 1);
	rig_serve(g, SL_READ, A, 200 * K, 4 * K, 1);
	rig_serve(g, SL_READ, A, 0, 4 * K, 1);
	rig_nothing(g, SL_NEVER);
}

static void reads_and_writes_of_a_file_are_two_queues(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 0, 8 * K);
	rig_put(g, SL_WRITE, A, 100 * K, 4 * K);
	rig_put(g, SL_READ, B, 0, 6 * K);
	rig_serve(g, SL_WRITE, A, 100 * K, 4 * K, 1);
	rig_serve(g, SL_READ, B, 0, 6 * K, 1);
	rig_serve(g, SL_READ, A, 0, 8 * K, 1);
}

/* Sizes change with every arrival, batch and cancelled request; the order follows. */
static void the_size_of_a_queue_is_what_waits_in_it_now(void **state)
{
	struct rig *g = *state;
	struct sl_request *r;

	rig_put(g, SL_READ, A, 0, 3 * K);
	rig_put(g, SL_READ, B, 0, 4 * K);
	rig_put(g, SL_READ, A, 100 * K, 2 * K); /* A 5K, B 4K */
	rig_serve(g, SL_READ, B, 0, 4 * K, 1);
	rig_put(g, SL_READ, B, 0, 4 * K);
	rig_serve(g, SL_READ, B, 0, 4 * K, 1);
	rig_serve(g, SL_READ, A, 0, 3 * K, 1); /* A 2K */
	rig_put(g, SL_READ, B, 0, 3 * K);
	rig_serve(g, SL_READ, A, 100 * K, 2 * K, 1);
	r = rig_put(g, SL_READ, A, 0, 2 * K);
	rig_put(g, SL_READ, A, 100 * K, 2 * K); /* A 4K, B 3K */
	rig_cancel(g, r);			/* A 2K */
	rig_serve(g, SL_READ, A, 100 * K, 2 * K, 1);
	rig_serve(g, SL_READ, B, 0, 3 * K, 1);
	rig_nothing(g, SL_NEVER);
}

static void of_equal_queues_the_one_that_got_that_size_first_goes(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, B, 0, 4 * K);
	rig_put(g, SL_READ, A, 0, 4 * K);
	rig_put(g, SL_READ, C, 0, 4 * K);
	rig_serve(g, SL_READ, B, 0, 4 * K, 1);
	rig_serve(g, SL_READ, A, 0, 4 * K, 1);
	rig_serve(g, SL_READ, C, 0, 4 * K, 1);
}

static void a_queue_emptied_by_cancelling_is_not_asked_any_more(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 0, K);
	rig_put(g, SL_READ, B, 0, 4 * K);
	rig_cancel(g, &g->request[0]);
	rig_serve(g, SL_READ, B, 0, 4 * K, 1);
	rig_nothing(g, SL_NEVER);
	rig_put(g, SL_READ, A, 0, K); /* and comes back */
	rig_serve(g, SL_READ, A, 0, K, 1);
}

/* What stands in the line of the fence has no size yet. */
static void blocked_requests_do_not_count(void **state)
{
	struct rig *g = *state;
	struct sl_run *first;

	rig_put(g, SL_WRITE, A, 0, K);
	first = rig_expect(g, SL_WRITE, A, 0, K, 1);
	rig_put(g, SL_WRITE, A, 0, K); /* blocked */
	rig_put(g, SL_WRITE, B, 0, 4 * K);
	rig_serve(g, SL_WRITE, B, 0, 4 * K, 1);
	rig_nothing(g, SL_NEVER);
	rig_done(g, first);
	rig_serve(g, SL_WRITE, A, 0, K, 1);
}

/* ---- inside a queue ---- */

/* One request of 4K at each of these offsets, in units of 10K. */
static void put_all(struct rig *g, const uint64_t *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		rig_put(g, SL_READ, A, at[i] * 10 * K, 4 * K);
}

static void a_new_queue_goes_from_its_lowest_offset_up(void **state)
{
	struct rig *g = *state;

	put_all(g, (uint64_t[]){ 5, 1, 9, 3, 7 }, 5);
	for (uint64_t i = 1; i < 10; i += 2)
		rig_serve(g, SL_READ, A, i * 10 * K, 4 * K, 1);
}

/* After 3: a new 2 stands behind the cursor and waits for the next round, a new 4 before it. */
static void what_arrives_behind_the_cursor_waits_for_the_next_round(void **state)
{
	struct rig *g = *state;

	put_all(g, (uint64_t[]){ 1, 3, 5 }, 3);
	rig_serve(g, SL_READ, A, 10 * K, 4 * K, 1);
	rig_serve(g, SL_READ, A, 30 * K, 4 * K, 1);
	put_all(g, (uint64_t[]){ 2, 4, 6 }, 3);
	rig_serve(g, SL_READ, A, 40 * K, 4 * K, 1);
	rig_serve(g, SL_READ, A, 50 * K, 4 * K, 1);
	put_all(g, (uint64_t[]){ 1 }, 1);
	rig_serve(g, SL_READ, A, 60 * K, 4 * K, 1);
	rig_serve(g, SL_READ, A, 10 * K, 4 * K, 1);
	rig_serve(g, SL_READ, A, 20 * K, 4 * K, 1);
}

/* The end of the last batch itself is ahead, one byte less is not. */
static void what_begins_where_the_last_batch_ended_is_next(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 0, 4 * K);
	rig_serve(g, SL_READ, A, 0, 4 * K, 1);
	rig_put(g, SL_READ, A, 8 * K, K);
	rig_put(g, SL_READ, A, 4 * K - 1, K);
	rig_put(g, SL_READ, A, 4 * K, K);
	rig_serve(g, SL_READ, A, 4 * K, K, 1);
	rig_serve(g, SL_READ, A, 8 * K, K, 1);
	rig_serve(g, SL_READ, A, 4 * K - 1, K, 1);
}

static void a_cursor_at_the_end_sees_what_arrives_ahead_of_it(void **state)
{
	struct rig *g = *state;

	put_all(g, (uint64_t[]){ 1, 5 }, 2);
	rig_serve(g, SL_READ, A, 10 * K, 4 * K, 1);
	rig_serve(g, SL_READ, A, 50 * K, 4 * K, 1); /* nothing ahead any more */
	put_all(g, (uint64_t[]){ 2, 8, 6 }, 3);
	rig_serve(g, SL_READ, A, 60 * K, 4 * K, 1);
	rig_serve(g, SL_READ, A, 80 * K, 4 * K, 1);
	rig_serve(g, SL_READ, A, 20 * K, 4 * K, 1);
}

/* The run at the cursor grows on either side, or is swallowed from the left: it is still next. */
static void the_run_at_the_cursor_may_grow_or_be_swallowed(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 0, 10 * K);
	rig_serve(g, SL_READ, A, 0, 10 * K, 1); /* the cursor is at 10K */
	rig_put(g, SL_READ, A, 80 * K, K);
	rig_put(g, SL_READ, A, 30 * K, 10 * K); /* this is next ... */
	rig_put(g, SL_READ, A, 40 * K, 10 * K); /* grows on the right */
	rig_put(g, SL_READ, A, 20 * K, 10 * K); /* on the left */
	rig_put(g, SL_READ, A, 12 * K, 4 * K);	/* is not next any more */
	rig_put(g, SL_READ, A, 16 * K, 4 * K);	/* and is swallowed by what is */
	rig_check(g);
	rig_serve(g, SL_READ, A, 12 * K, 38 * K, 5);
	rig_serve(g, SL_READ, A, 80 * K, K, 1);
}

/* [20K,30K) is behind the cursor at 40K, [40K,50K) at it. Bridged, they are one, and next. */
static void a_run_that_reaches_over_the_cursor_is_next(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 30 * K, 10 * K);
	rig_serve(g, SL_READ, A, 30 * K, 10 * K, 1);
	rig_put(g, SL_READ, A, 0, 10 * K);
	rig_put(g, SL_READ, A, 20 * K, 10 * K);
	rig_put(g, SL_READ, A, 40 * K, 10 * K);
	rig_put(g, SL_READ, A, 70 * K, 10 * K);
	rig_put(g, SL_READ, A, 30 * K, 10 * K);
	rig_serve(g, SL_READ, A, 20 * K, 30 * K, 3);
	rig_serve(g, SL_READ, A, 70 * K, 10 * K, 1);
	rig_serve(g, SL_READ, A, 0, 10 * K, 1);
}

static void cancelling_the_run_at_the_cursor_moves_it_on(void **state)
{
	struct rig *g = *state;

	put_all(g, (uint64_t[]){ 1, 3, 5, 7 }, 4);
	rig_serve(g, SL_READ, A, 10 * K, 4 * K, 1);
	rig_cancel(g, &g->request[1]);
	rig_put(g, SL_READ, A, 0, 4 * K);
	rig_serve(g, SL_READ, A, 50 * K, 4 * K, 1);
	rig_cancel(g, &g->request[3]); /* the last one ahead: around */
	rig_serve(g, SL_READ, A, 0, 4 * K, 1);
	rig_nothing(g, SL_NEVER);
}

/* A run over the cursor loses what is behind it: what is left of it is ahead, and next. */
static void what_a_cancelled_request_leaves_ahead_of_the_cursor_is_next(void **state)
{
	struct rig *g = *state;
	struct sl_request *low;

	rig_put(g, SL_READ, A, 0, 4 * K);
	rig_serve(g, SL_READ, A, 0, 4 * K, 1); /* the cursor is at 4K */
	low = rig_put(g, SL_READ, A, 0, 4 * K);
	rig_put(g, SL_READ, A, 4 * K, 4 * K); /* [0,8K) */
	rig_put(g, SL_READ, A, 100 * K, 4 * K);
	rig_cancel(g, low);
	rig_serve(g, SL_READ, A, 4 * K, 4 * K, 1);
	rig_serve(g, SL_READ, A, 100 * K, 4 * K, 1);
}

/* Merged into batches of two, still in offset order. */
static void offset_order_is_kept_over_full_batches(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_BATCH_REQUESTS, 2);
	for (uint64_t i = 0; i < 6; i++)
		rig_put(g, SL_READ, A, i * K, K);
	for (uint64_t i = 0; i < 6; i += 2)
		rig_serve(g, SL_READ, A, i * K, 2 * K, 2);
}

/* ---- ageing ---- */

/* max_age_ms=10: the large A is passed by small Bs for 10 ms, then it goes before all others. */
static void a_request_older_than_the_limit_goes_first(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_MAX_AGE_MS, 10);
	g->now = 5 * MS;
	rig_put(g, SL_READ, A, 0, M);
	for (; g->now < 15 * MS; g->now += MS) {
		rig_put(g, SL_READ, B, 0, K);
		rig_serve(g, SL_READ, B, 0, K, 1);
	}
	rig_put(g, SL_READ, B, 0, K);
	g->now = 15 * MS - 1;
	rig_put(g, SL_READ, C, 0, 1);
	rig_serve(g, SL_READ, C, 0, 1, 1);
	g->now = 15 * MS;
	rig_serve(g, SL_READ, A, 0, M, 1);
	rig_serve(g, SL_READ, B, 0, K, 1);
}

/* The oldest of a merged run decides, and other aged ones follow in arrival order. */
static void aged_requests_go_in_arrival_order(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_MAX_AGE_MS, 10);
	rig_put(g, SL_READ, A, 100 * K, 100 * K);
	g->now = 1 * MS;
	rig_put(g, SL_READ, B, 0, 50 * K);
	g->now = 9 * MS;
	rig_put(g, SL_READ, A, 0, 100 * K); /* joins the oldest: the run begins at 0 */
	rig_put(g, SL_READ, C, 0, K);
	g->now = 12 * MS;
	rig_serve(g, SL_READ, A, 0, 200 * K, 2);
	rig_serve(g, SL_READ, B, 0, 50 * K, 1);
	rig_serve(g, SL_READ, C, 0, K, 1);
}

static void with_a_limit_of_zero_it_is_arrival_order(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_MAX_AGE_MS, 0);
	rig_put(g, SL_READ, A, 0, M);
	rig_put(g, SL_READ, B, 0, K);
	rig_serve(g, SL_READ, A, 0, M, 1);
	rig_serve(g, SL_READ, B, 0, K, 1);
}

#define CASE(name) RIG_CASE(sl_order_sjf, name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_example_of_the_header),
		CASE(reads_and_writes_of_a_file_are_two_queues),
		CASE(the_size_of_a_queue_is_what_waits_in_it_now),
		CASE(of_equal_queues_the_one_that_got_that_size_first_goes),
		CASE(a_queue_emptied_by_cancelling_is_not_asked_any_more),
		CASE(blocked_requests_do_not_count),
		CASE(a_new_queue_goes_from_its_lowest_offset_up),
		CASE(what_arrives_behind_the_cursor_waits_for_the_next_round),
		CASE(what_begins_where_the_last_batch_ended_is_next),
		CASE(a_cursor_at_the_end_sees_what_arrives_ahead_of_it),
		CASE(the_run_at_the_cursor_may_grow_or_be_swallowed),
		CASE(a_run_that_reaches_over_the_cursor_is_next),
		CASE(cancelling_the_run_at_the_cursor_moves_it_on),
		CASE(what_a_cancelled_request_leaves_ahead_of_the_cursor_is_next),
		CASE(offset_order_is_kept_over_full_batches),
		CASE(a_request_older_than_the_limit_goes_first),
		CASE(aged_requests_go_in_arrival_order),
		CASE(with_a_limit_of_zero_it_is_arrival_order),
	};

	return cmocka_run_group_tests_name("order/sjf", tests, NULL, NULL);
}
