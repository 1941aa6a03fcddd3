/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched/change: policies of all stages changed under way, jobs that move between their own lane
 * and the pool, with requests waiting, blocked, in flight and parked.
 */
#include "tests/unit/sched-rig.h"

static const struct sl_config plain = { .order = "to-agg", .capacity_bps = 100 * MB };

/* ---- order ---- */

/* W[0,4) in flight; waiting: W[4,8), R[2,3) which overlaps it, W[2,3) which overlaps the read. */
static void order_changes_between_any_two_with_requests_inside(void **state)
{
	for (unsigned i = 0; i < 25; i++) {
		struct box *b = box_open(&(struct sl_config){ .order = box_orders[i / 5] });
		const struct sl_batch *first, *t;
		bool aioli = i % 5 == 4;

		job(b, 1, 0);
		put(b, 1, SL_WRITE, A, 0, 4);
		first = expect(b, 1, 0, 4, 1);
		put(b, 1, SL_WRITE, A, 4, 4);
		put(b, 1, SL_READ, A, 2, 1);
		put(b, 1, SL_WRITE, A, 2, 1);
		set_policy(b, "order", box_orders[i % 5]);
		assert_string_equal(stats(b).order, box_orders[i % 5]);
		assert_int_equal(stats_of(b, 1).queued_requests, 3);
		if (!aioli)
			serve(b, 1, 4, 4, 1);
		nothing(b, SL_NEVER);
		done(b, first);
		if (aioli)
			serve(b, 1, 4, 4, 1);
		t = expect(b, 1, 2, 1, 1);
		assert_int_equal(t->op, SL_READ);
		nothing(b, SL_NEVER);
		done(b, t);
		serve(b, 1, 2, 1, 1);
		nothing(b, SL_NEVER);
		ok(b, sl_job_remove(b->s, 1, b->now));
		box_close(b);
	}
}

static void a_job_has_an_order_of_its_own_until_it_is_taken_back(void **state)
{
	struct box *b = *state;

	job(b, 1, 0);
	job(b, 2, 0);
	ok(b, sl_job_order(b->s, 1, "to", b->now));
	for (uint64_t i = 0; i < 2; i++) {
		put(b, 1, SL_READ, A, i, 1);
		put(b, 2, SL_READ, A, i, 1);
	}
	serve(b, 1, 0, 1, 1);
	serve(b, 2, 0, 2, 2);
	serve(b, 1, 1, 1, 1);
	for (uint64_t i = 0; i < 6; i++)
		put(b, 1, SL_READ, A, i, 1);
	set_policy(b, "order", "to-agg,batch_requests=3"); /* of the others */
	serve(b, 1, 0, 1, 1);
	ok(b, sl_job_order(b->s, 1, NULL, b->now)); /* waiting requests are merged now */
	serve(b, 1, 1, 3, 3);
	ok(b, sl_job_order(b->s, 1, "to-agg,batch_requests=1", b->now));
	serve(b, 1, 4, 1, 1);
	ok(b, sl_job_order(b->s, 1, "to-agg,batch_requests=2", b->now)); /* own to own */
	serve(b, 1, 5, 1, 1);
	nothing(b, SL_NEVER);
}

/* aioli waits for more; the next policy does not. */
static void a_change_ends_the_waits_of_the_policy_before(void **state)
{
	struct box *b = *state;

	job(b, 1, 0);
	set_policy(b, "order", "aioli");
	put(b, 1, SL_READ, A, 0, 1);
	put(b, 1, SL_READ, A, 1, 1);
	serve(b, 1, 0, 2, 2);
	put(b, 1, SL_READ, A, 100, 1);
	nothing(b, b->now + 500 * US);
	set_policy(b, "order", "to");
	serve(b, 1, 100, 1, 1);
	nothing(b, SL_NEVER); /* and no timer of it is left */
}

/* ---- admit ---- */

/* 100 s of debt at 1 MB/s; open lets it go, and token-bucket begins anew. */
static void admit_starts_with_a_fresh_state(void **state)
{
	struct box *b = *state;

	job(b, 1, .max_bps = MB, .burst_bytes = 1);
	put(b, 1, SL_READ, A, 0, 100 * MB);
	put(b, 1, SL_READ, A, 200 * MB, MB);
	put(b, 1, SL_READ, A, 300 * MB, MB);
	put(b, 1, SL_READ, A, 400 * MB, MB);
	serve(b, 1, 0, 100 * MB, 1);
	nothing(b, b->now + 100 * SEC - US / 2); /* half of the burst is for merging */
	set_policy(b, "admit", "open");
	serve(b, 1, 200 * MB, MB, 1);
	set_policy(b, "admit", "token-bucket");
	serve(b, 1, 300 * MB, MB, 1);
	nothing(b, b->now + SEC - US / 2);
	assert_int_equal(stats_of(b, 1).throttled_ns, 0);
	b->now += SEC - US / 2;
	serve(b, 1, 400 * MB, MB, 1);
}

/* Under open there are no guarantees; they are back with token-bucket. */
static void guarantees_survive_a_change_of_admit(void **state)
{
	struct box *b = *state;

	job(b, 1, .weight = SL_MAX_WEIGHT);
	job(b, 2, .min_bps = MB);
	for (uint64_t i = 0; i < 8; i++) {
		put(b, 1, SL_READ, A, 2 * i * K, K);
		put(b, 2, SL_READ, A, 2 * i * K, K);
	}
	set_policy(b, "admit", "open");
	assert_int_equal(stats_of(b, 2).floor_bytes, 0);
	serve(b, 1, 0, K, 1);
	set_policy(b, "admit", "token-bucket");
	serve(b, 2, 0, K, 1);
	assert_int_equal(stats_of(b, 2).floor_bytes, K);
}

/* ---- share ---- */

/* From each to each: 3 jobs, one of them held by its max, with a batch of each in flight. */
static void share_changes_between_any_two_with_requests_inside(void **state)
{
	for (unsigned i = 0; i < 25; i++) {
		struct box *b =
			box_open(&(struct sl_config){ .share = box_shares[i / 5], .order = "to" });
		const struct sl_batch *fly[3], *t;
		unsigned left = 9, served[4] = { 0 };

		job(b, 1, .weight = 2, .period_ns = SEC);
		job(b, 2, .period_ns = 100 * SEC);
		job(b, 3, .max_bps = MB, .burst_bytes = 1);
		for (uint64_t k = 0; k < 3; k++)
			for (uint64_t j = 1; j <= 3; j++)
				put(b, j, SL_WRITE, j, k * MB, MB);
		for (int k = 0; k < 3; k++)
			assert_non_null(fly[k] = sl_next(b->s, b->now, NULL));
		set_policy(b, "share", box_shares[i % 5]);
		assert_string_equal(stats(b).share, box_shares[i % 5]);
		for (int k = 0; k < 3; k++, left--) {
			served[fly[k]->job]++;
			done(b, fly[k]);
		}
		for (sl_time wake = 0; left; left--) {
			while (!(t = sl_next(b->s, b->now, &wake))) {
				assert_int_not_equal(wake, SL_NEVER);
				assert_true(wake > b->now);
				b->now = wake;
			}
			served[t->job]++;
			done(b, t);
		}
		for (int j = 1; j <= 3; j++)
			assert_int_equal(served[j], 3);
		nothing(b, SL_NEVER);
		for (uint64_t j = 1; j <= 3; j++)
			ok(b, sl_job_remove(b->s, j, b->now));
		box_close(b);
	}
}

/*
 * Job 1 has sent 12 MB alone under wfq. After a change to round-robin and back that is forgotten:
 * jobs 1 and 2 alternate from the start.
 */
static void share_starts_with_a_fresh_state(void **state)
{
	struct box *b = *state;
	unsigned served[3] = { 0 };

	set_policy(b, "order", "to");
	job(b, 1, 0);
	job(b, 2, 0);
	put(b, 1, SL_READ, A, 0, 12 * MB);
	for (uint64_t i = 1; i < 16; i++)
		put(b, 1, SL_READ, A, 100 * MB * i, MB);
	serve(b, 1, 0, 12 * MB, 1);
	for (uint64_t i = 1; i < 16; i++)
		put(b, 2, SL_READ, A, 100 * MB * i, MB);
	set_policy(b, "share", "round-robin");
	set_policy(b, "share", "wfq");
	serve_any(b, 10, served);
	assert_int_equal(served[1], 5);
}

/* ---- the pool ---- */

static void two_in_the_pool(struct box *b)
{
	set_policy(b, "share", "pool");
	job(b, 1, 0);
	job(b, 2, 0);
}

/* Merged or not, the requests of jobs 1 2 1 2 make 40 bytes. */
static void four_in_turn(struct box *b)
{
	two_in_the_pool(b);
	for (uint64_t i = 0; i < 4; i++)
		put(b, 1 + (i & 1), SL_WRITE, A, i * 10, 10);
}

static void jobs_in_the_pool_are_merged_with_each_other(void **state)
{
	struct box *b = *state;
	const struct sl_batch *t;

	four_in_turn(b);
	t = expect(b, 1, 0, 40, 4);
	for (uint64_t j = 1; j <= 2; j++) {
		assert_int_equal(stats_of(b, j).inflight_requests, 2);
		assert_int_equal(stats_of(b, j).inflight_bytes, 20);
	}
	done(b, t);
	for (uint64_t j = 1; j <= 2; j++)
		assert_int_equal(stats_of(b, j).served_bytes[SL_WRITE], 20);
}

/* One batch of 1 2 1 2 is one batch for each: 2 requests to a batch, not 1. */
static void a_batch_of_several_jobs_counts_once_for_each(void **state)
{
	struct box *b = *state;

	four_in_turn(b);
	serve(b, 1, 0, 40, 4);
	assert_int_equal(stats_of(b, 1).batches, 1);
	assert_int_equal(stats_of(b, 2).batches, 1);
}

static void a_job_with_limits_is_not_in_the_pool(void **state)
{
	struct box *b = *state;

	set_policy(b, "share", "pool");
	job(b, 1, 0);
	job(b, 2, .max_bps = 100 * MB);
	job(b, 3, .min_bps = MB);
	put(b, 1, SL_WRITE, A, 0, 10);
	put(b, 2, SL_WRITE, A, 10, 10);
	put(b, 3, SL_WRITE, A, 20, 10);
	put(b, 1, SL_WRITE, A, 30, 10);
	serve(b, 3, 20, 10, 1);
	serve(b, 1, 0, 10, 1);
	serve(b, 2, 10, 10, 1);
	serve(b, 1, 30, 10, 1);
}

/* Overlaps are kept in order over all jobs of the pool. */
static void the_pool_is_one_flow(void **state)
{
	struct box *b = *state;
	const struct sl_batch *t;

	two_in_the_pool(b);
	put(b, 1, SL_WRITE, A, 0, 10);
	put(b, 2, SL_WRITE, A, 0, 10);
	t = expect(b, 1, 0, 10, 1);
	nothing(b, SL_NEVER);
	done(b, t);
	serve(b, 2, 0, 10, 1);
}

/* Into the pool and out of it: what is in flight is waited for, then all is in its new place. */
static void the_pool_begins_and_ends_when_nothing_is_in_flight(void **state)
{
	struct box *b = *state;
	const struct sl_batch *fly[2];

	job(b, 1, 0);
	job(b, 2, 0);
	put(b, 1, SL_WRITE, A, 0, 10);
	put(b, 2, SL_WRITE, A, 10, 10);
	fly[0] = expect(b, 1, 0, 10, 1);
	fly[1] = expect(b, 2, 10, 10, 1);
	put(b, 1, SL_WRITE, A, 0, 10); /* blocked by the one in flight */
	put(b, 2, SL_WRITE, A, 20, 10);
	set_policy(b, "share", "pool");
	nothing(b, SL_NEVER);
	put(b, 1, SL_WRITE, A, 10, 10); /* what comes meanwhile moves as well */
	done(b, fly[0]);
	nothing(b, SL_NEVER);
	done(b, fly[1]);
	fly[0] = expect(b, 1, 0, 30, 3); /* of both jobs */
	put(b, 2, SL_WRITE, A, 30, 10);
	put(b, 1, SL_WRITE, A, 40, 10);
	put(b, 2, SL_WRITE, A, 50, 10);
	set_policy(b, "share", "fifo");
	assert_string_equal(stats(b).share, "fifo");
	nothing(b, SL_NEVER);
	done(b, fly[0]);
	serve(b, 2, 30, 10, 1);
	serve(b, 1, 40, 10, 1);
	serve(b, 2, 50, 10, 1);
	nothing(b, SL_NEVER);
}

/* Job 2 is held for 1 s, but nothing goes before job 1's batch is done: time alone is no help. */
static void while_a_move_waits_only_a_completion_helps(void **state)
{
	struct box *b = *state;
	const struct sl_batch *t;

	job(b, 1, 0);
	job(b, 2, .max_bps = MB, .burst_bytes = 1);
	put(b, 2, SL_WRITE, A, 0, MB);
	serve(b, 2, 0, MB, 1);
	put(b, 2, SL_WRITE, A, 5 * MB, 1);
	put(b, 1, SL_WRITE, A, 0, 10);
	t = expect(b, 1, 0, 10, 1);
	nothing(b, b->now + SEC - US / 2);
	set_policy(b, "share", "pool");
	nothing(b, SL_NEVER);
	done(b, t);
	nothing(b, b->now + SEC - US / 2);
}

static void a_change_of_mind_while_waiting_for_what_is_in_flight(void **state)
{
	struct box *b = *state;
	const struct sl_batch *t;

	job(b, 1, 0);
	job(b, 2, 0);
	put(b, 1, SL_WRITE, A, 0, 10);
	t = expect(b, 1, 0, 10, 1);
	put(b, 1, SL_WRITE, A, 10, 10);
	put(b, 2, SL_WRITE, A, 20, 10);
	set_policy(b, "share", "pool");
	nothing(b, SL_NEVER);
	set_policy(b, "share", "fifo");
	done(b, t);
	assert_string_equal(stats(b).share, "fifo");
	serve(b, 1, 10, 10, 1);
	serve(b, 2, 20, 10, 1);
}

/* Job 1 gets a max while its request is in flight in the pool: all wait for that, then it has it.
 */
static void a_job_that_gets_a_max_leaves_the_pool(void **state)
{
	struct box *b = *state;
	const struct sl_batch *t;

	two_in_the_pool(b);
	put(b, 1, SL_WRITE, A, 0, MB);
	t = expect(b, 1, 0, MB, 1);
	put(b, 1, SL_WRITE, A, MB, MB);
	put(b, 2, SL_WRITE, A, 2 * MB, MB);
	put(b, 1, SL_WRITE, A, 5 * MB, MB);
	ok(b,
	   sl_job_set(b->s, 1, &(struct sl_job_conf){ .max_bps = MB, .burst_bytes = 1 }, b->now));
	nothing(b, SL_NEVER);
	done(b, t);
	serve(b, 1, MB, MB, 1); /* not merged with job 2 any more */
	serve(b, 2, 2 * MB, MB, 1);
	nothing(b, b->now + SEC - US / 2);
	/* And back: nothing is in flight, so it is in the pool at once. */
	ok(b, sl_job_set(b->s, 1, &(struct sl_job_conf){ 0 }, b->now));
	put(b, 2, SL_WRITE, A, 6 * MB, MB);
	serve(b, 1, 5 * MB, 2 * MB, 2);
}

/* A job without requests moves at once, whatever is in flight. */
static void a_job_without_requests_does_not_stop_the_others_when_it_moves(void **state)
{
	struct box *b = *state;
	const struct sl_batch *t;

	two_in_the_pool(b);
	put(b, 2, SL_WRITE, A, 0, 10);
	put(b, 2, SL_WRITE, A, 100, 10);
	t = expect(b, 2, 0, 10, 1);
	ok(b, sl_job_set(b->s, 1, &(struct sl_job_conf){ .max_bps = MB }, b->now));
	job(b, 3, .max_bps = MB);
	job(b, 4, 0);
	expect(b, 2, 100, 10, 1);
	done(b, t);
}

/* A lease takes a job out of the pool, its end brings it back. */
static void a_job_with_a_grant_is_out_of_the_pool_while_it_lasts(void **state)
{
	struct box *b = *state;

	two_in_the_pool(b);
	put(b, 1, SL_WRITE, A, 0, 10);
	put(b, 2, SL_WRITE, A, 10, 10);
	put(b, 1, SL_WRITE, A, 20, 10);
	ok(b, sl_job_grant(b->s, 1, 0, b->now + SEC, b->now));
	serve(b, 2, 10, 10, 1); /* granted first */
	serve(b, 1, 0, 10, 1);
	assert_int_equal(stats_of(b, 1).borrowed_bytes, 10);
	put(b, 2, SL_WRITE, A, 30, 10);
	b->now += SEC;
	serve(b, 1, 20, 20, 2);
	assert_int_equal(stats_of(b, 1).borrowed_bytes, 10);
}

/* What a job orders for itself holds when it is by itself. */
static void an_order_of_its_own_waits_until_the_job_is_out_of_the_pool(void **state)
{
	struct box *b = *state;

	two_in_the_pool(b);
	ok(b, sl_job_order(b->s, 1, "to", b->now));
	put(b, 1, SL_WRITE, A, 0, 10);
	put(b, 1, SL_WRITE, A, 10, 10);
	serve(b, 1, 0, 20, 2);
	put(b, 1, SL_WRITE, A, 0, 10);
	put(b, 1, SL_WRITE, A, 10, 10);
	set_policy(b, "share", "wfq");
	serve(b, 1, 0, 10, 1);
	serve(b, 1, 10, 10, 1);
}

static void jobs_come_and_go_while_a_move_waits(void **state)
{
	struct box *b = *state;
	const struct sl_batch *t;

	job(b, 1, 0);
	job(b, 2, 0);
	put(b, 1, SL_WRITE, A, 0, 10);
	t = expect(b, 1, 0, 10, 1);
	set_policy(b, "share", "pool");
	ok(b, sl_job_remove(b->s, 2, b->now));
	job(b, 3, 0);
	put(b, 3, SL_WRITE, A, 10, 10);
	put(b, 1, SL_WRITE, A, 20, 10);
	job(b, 4, .max_bps = MB);
	put(b, 4, SL_WRITE, A, 30, 10);
	nothing(b, SL_NEVER);
	done(b, t);
	serve(b, 3, 10, 20, 2);
	serve(b, 4, 30, 10, 1);
	ok(b, sl_job_remove(b->s, 1, b->now));
	ok(b, sl_job_remove(b->s, 3, b->now));
	ok(b, sl_job_remove(b->s, 4, b->now));
}

/* ---- parked ---- */

static const struct sl_config few_files = {
	.limits = { .jobs = 4, .files = 2, .requests = BOX_REQUESTS },
	.share = "pool",
	.order = "to",
};

/* Three jobs share the entry of A in the pool; by themselves they need three of the two there are.
 */
static int crowded(void **state)
{
	struct box *b;

	box_setup(state);
	b = *state;
	for (uint64_t j = 1; j <= 3; j++)
		job(b, j, 0);
	for (uint64_t i = 0; i < 2; i++)
		for (uint64_t j = 1; j <= 3; j++)
			put(b, j, SL_WRITE, A, 100 * j + 10 * i, 10);
	set_policy(b, "share", "fifo");
	return 0;
}

#define CROWDED(name) \
	cmocka_unit_test_prestate_setup_teardown(name, crowded, box_teardown, (void *)&few_files)

/* Ten bytes of a job each, in this order, and then nothing is left. */
#define serve_tens(b, ...) serve_tens_(b, (const struct ten[]){ __VA_ARGS__, { 0, 0 } }, __LINE__)

struct ten {
	uint64_t job, offset;
};

static void serve_tens_(struct box *b, const struct ten *t, int line)
{
	for (; t->job; t++)
		ok_(b, sl_done(b->s, expect_(b, t->job, t->offset, 10, 1, __FILE__, line), b->now),
		    __FILE__, line);
	nothing_(b, SL_NEVER, __FILE__, line);
}

static void what_has_no_entry_after_a_move_is_parked_and_not_lost(void **state)
{
	struct box *b = *state;

	assert_int_equal(stats(b).requests, 6);
	/* Nothing new comes in before them, not even for a file that has an entry. */
	refused(b, -ENOSPC, sl_add(b->s, make(b, 1, SL_WRITE, A, 0, 1), b->now));
	/* the entries of 1 and 2 are free, 3 gets one, then 1 */
	serve_tens(b, { 1, 100 }, { 2, 200 }, { 3, 300 }, { 1, 110 }, { 2, 210 }, { 3, 310 });
	assert_int_equal(stats(b).requests, 0);
	put(b, 1, SL_WRITE, A, 0, 1);
	serve(b, 1, 0, 1, 1);
}

static void what_is_parked_can_be_cancelled(void **state)
{
	/* 3's first is at the head of the parked; without it 1's and 2's second get in. */
	struct box *b = *state;

	ok(b, sl_cancel(b->s, &b->r[2], b->now));
	assert_int_equal(stats(b).requests, 5);
	assert_int_equal(stats_of(b, 3).queued_requests, 1);
	serve_tens(b, { 1, 100 }, { 2, 200 }, { 1, 110 }, { 2, 210 }, { 3, 310 });
}

/* All that holds an entry is cancelled: nothing is in flight that could bring the others in. */
static void cancelling_frees_an_entry_for_what_is_parked(void **state)
{
	struct box *b = *state;

	ok(b, sl_cancel(b->s, &b->r[0], b->now));
	ok(b, sl_cancel(b->s, &b->r[1], b->now));
	serve_tens(b, { 3, 300 }, { 1, 110 }, { 2, 210 }, { 3, 310 });
}

static void what_is_parked_goes_back_into_the_pool(void **state)
{
	struct box *b = *state;

	set_policy(b, "share", "pool");
	set_policy(b, "order", "to-agg");
	serve(b, 1, 100, 20, 2);
	serve(b, 2, 200, 20, 2);
	serve(b, 3, 300, 20, 2);
}

static void parked_requests_keep_their_job(void **state)
{
	struct box *b = *state;

	refused(b, -EBUSY, sl_job_remove(b->s, 3, b->now));
	for (unsigned i = 0; i < 6; i++)
		ok(b, sl_cancel(b->s, &b->r[5 - i], b->now));
	ok(b, sl_job_remove(b->s, 3, b->now));
	nothing(b, SL_NEVER);
}

/* ---- a turn that was waited for ---- */

/* Job 1 has the set; every 10 ms something is changed about job 2, which waits for its turn. */
static sl_time waited_in_the_set(void (*change)(struct box *b, unsigned round))
{
	struct box *b = box_open(
		&(struct sl_config){ .share = "io-sets,max_exclusive_ms=100", .order = "to" });
	sl_time begin = b->now;
	const struct sl_batch *t;

	job(b, 1, .period_ns = SEC);
	job(b, 2, .period_ns = SEC);
	put(b, 1, SL_READ, A, 0, K);
	put(b, 1, SL_READ, A, 0, K);
	put(b, 2, SL_READ, B, 0, K);
	for (unsigned round = 0; (t = sl_next(b->s, b->now, NULL))->job == 1; round++) {
		struct sl_request *r = t->first;

		assert_true(round < 50);
		b->now += 10 * MS;
		done(b, t);
		ok(b, sl_add(b->s, r, b->now));
		change(b, round);
	}
	done(b, t);
	begin = b->now - begin;
	box_close(b);
	return begin;
}

static void grant_again(struct box *b, unsigned round)
{
	ok(b, sl_job_grant(b->s, 2, 1000 + round, b->now + SEC, b->now));
}

static void cancel_one(struct box *b, unsigned round)
{
	ok(b, sl_cancel(b->s, put(b, 2, SL_READ, B, round * M, K), b->now));
}

static void set_again(struct box *b, unsigned round)
{
	ok(b, sl_job_set(b->s, 2, &(struct sl_job_conf){ .period_ns = SEC, .max_bps = MB + round },
			 b->now));
}

static void order_again(struct box *b, unsigned round)
{
	ok(b, sl_job_order(b->s, 2, round & 1 ? "to" : "to-agg", b->now));
	ok(b, sl_policy_set(b->s, "order", round & 1 ? "to" : "sjf", b->now));
}

static void who_waits_for_its_turn_goes_on_waiting_through_a_change(void **state)
{
	assert_int_equal(waited_in_the_set(grant_again), 100 * MS);
	assert_int_equal(waited_in_the_set(cancel_one), 100 * MS);
	assert_int_equal(waited_in_the_set(set_again), 100 * MS);
	assert_int_equal(waited_in_the_set(order_again), 100 * MS);
}

#define CASE(name) BOX_CASE(plain, name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_changes_between_any_two_with_requests_inside),
		CASE(a_job_has_an_order_of_its_own_until_it_is_taken_back),
		CASE(a_change_ends_the_waits_of_the_policy_before),
		CASE(admit_starts_with_a_fresh_state),
		CASE(guarantees_survive_a_change_of_admit),
		cmocka_unit_test(share_changes_between_any_two_with_requests_inside),
		CASE(share_starts_with_a_fresh_state),
		CASE(jobs_in_the_pool_are_merged_with_each_other),
		CASE(a_batch_of_several_jobs_counts_once_for_each),
		CASE(a_job_with_limits_is_not_in_the_pool),
		CASE(the_pool_is_one_flow),
		CASE(the_pool_begins_and_ends_when_nothing_is_in_flight),
		CASE(while_a_move_waits_only_a_completion_helps),
		CASE(a_change_of_mind_while_waiting_for_what_is_in_flight),
		CASE(a_job_that_gets_a_max_leaves_the_pool),
		CASE(a_job_without_requests_does_not_stop_the_others_when_it_moves),
		CASE(a_job_with_a_grant_is_out_of_the_pool_while_it_lasts),
		CASE(an_order_of_its_own_waits_until_the_job_is_out_of_the_pool),
		CASE(jobs_come_and_go_while_a_move_waits),
		CROWDED(what_has_no_entry_after_a_move_is_parked_and_not_lost),
		CROWDED(what_is_parked_can_be_cancelled),
		CROWDED(cancelling_frees_an_entry_for_what_is_parked),
		CROWDED(what_is_parked_goes_back_into_the_pool),
		CROWDED(parked_requests_keep_their_job),
		cmocka_unit_test(who_waits_for_its_turn_goes_on_waiting_through_a_change),
	};

	return cmocka_run_group_tests_name("sched/change", tests, NULL, NULL);
}
