/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/request/order/aioli: one batch at a time, first come first served between queues, quanta that
 * carry on, waits for more and for the late one of a stream.
 */
#define POLICY sl_order_aioli
#define NEXT   (100 * M) /* another place: no shift */
#include "tests/unit/order-waits.h"

static void quantum_without_waits(struct rig *g, int64_t bytes)
{
	rig_set(g, SL_P_QUANTUM_BYTES, bytes);
	rig_set(g, SL_P_WAIT_US, 0);
}

/*
 * quantum_bytes=64K; A, the older, has a run of 128K, B one of 64K. A gets 64, not enough; B gets
 * 64 and goes. When it is done A gets 128, has 192 and goes with 64 left, and A[128K,192K), which
 * has come by then, is next although B[64K,128K) came before it.
 */
static void the_example_of_the_header(void **state)
{
	struct rig *g = *state;
	struct sl_run *run;

	quantum_without_waits(g, 64 * K);
	rig_put(g, SL_READ, A, 0, 128 * K);
	rig_put(g, SL_READ, B, 0, 64 * K);
	run = rig_expect(g, SL_READ, B, 0, 64 * K, 1);
	rig_put(g, SL_READ, B, 64 * K, 64 * K);
	rig_done(g, run);
	run = rig_expect(g, SL_READ, A, 0, 128 * K, 1);
	rig_put(g, SL_READ, A, 128 * K, 64 * K);
	rig_done(g, run);
	rig_serve(g, SL_READ, A, 128 * K, 64 * K, 1);
	rig_serve(g, SL_READ, B, 64 * K, 64 * K, 1);
	rig_nothing(g, SL_NEVER);
}

static void one_batch_is_in_flight_at_a_time(void **state)
{
	struct rig *g = *state;
	struct sl_run *run;

	rig_put(g, SL_READ, A, 0, K);
	rig_put(g, SL_READ, B, 0, K);
	run = rig_expect(g, SL_READ, A, 0, K, 1);
	rig_nothing(g, SL_NEVER);
	rig_put(g, SL_READ, B, K, K); /* which gives the others time to grow */
	rig_nothing(g, SL_NEVER);
	rig_done(g, run);
	rig_expect(g, SL_READ, B, 0, 2 * K, 2);
	rig_nothing(g, SL_NEVER);
}

static void queues_are_served_in_the_order_of_their_oldest_requests(void **state)
{
	struct rig *g = *state;

	quantum_without_waits(g, 64 * K);
	rig_put(g, SL_WRITE, C, 0, K);
	rig_put(g, SL_READ, A, 50 * K, K);
	rig_put(g, SL_READ, B, 0, K);
	rig_put(g, SL_READ, A, 0, K); /* inside A it is offset order */
	rig_serve(g, SL_WRITE, C, 0, K, 1);
	rig_serve(g, SL_READ, A, 0, K, 1);
	rig_serve(g, SL_READ, A, 50 * K, K, 1); /* still the oldest request of all */
	rig_serve(g, SL_READ, B, 0, K, 1);
}

/* ---- quanta ---- */

/* 8, 16, 32, 64: 120K at the fourth round; the step of 64K lets the next one go at once. */
static void a_quantum_doubles_with_each_round_until_it_is_enough(void **state)
{
	struct rig *g = *state;
	struct sl_run *run;

	quantum_without_waits(g, 8 * K);
	rig_put(g, SL_READ, A, 0, 64 * K);
	run = rig_expect(g, SL_READ, A, 0, 64 * K, 1);
	assert_int_equal(run->quantum, 120 * K);
	rig_done(g, run);
	rig_put(g, SL_READ, A, M, 64 * K);
	run = rig_expect(g, SL_READ, A, M, 64 * K, 1);
	assert_int_equal(run->quantum, 64 * K);
}

/*
 * A (64K), B (24K), C (56K). Round 1: 8 each. Round 2: A 24, B 24, which goes. Then A 56, C 24; and
 * A 120, which goes. Then C 56.
 */
static void rounds_go_over_all_queues(void **state)
{
	struct rig *g = *state;

	quantum_without_waits(g, 8 * K);
	rig_put(g, SL_READ, A, 0, 64 * K);
	rig_put(g, SL_READ, B, 0, 24 * K);
	rig_put(g, SL_READ, C, 0, 56 * K);
	rig_serve(g, SL_READ, B, 0, 24 * K, 1);
	rig_serve(g, SL_READ, A, 0, 64 * K, 1);
	assert_int_equal(sl_flow_file(rig_flow(g), C)->queue[SL_READ].granted, 24 * K);
	rig_serve(g, SL_READ, C, 0, 56 * K, 1);
}

/*
 * A has 24K left over from [0,32K) (8 + 16 + 32 = 56): [32K,48K) goes on that, with 8K left,
 * and so does [48K,56K); then nothing is left, and B, which came before both, is next.
 */
static void what_is_left_of_a_quantum_serves_what_is_contiguous(void **state)
{
	struct rig *g = *state;
	struct sl_run *run;

	quantum_without_waits(g, 8 * K);
	rig_put(g, SL_READ, A, 0, 32 * K);
	run = rig_expect(g, SL_READ, A, 0, 32 * K, 1);
	rig_put(g, SL_READ, B, 0, 8 * K);
	rig_put(g, SL_READ, A, 32 * K, 16 * K);
	rig_done(g, run);
	run = rig_expect(g, SL_READ, A, 32 * K, 16 * K, 1);
	rig_put(g, SL_READ, A, 48 * K, 8 * K);
	rig_done(g, run);
	run = rig_expect(g, SL_READ, A, 48 * K, 8 * K, 1);
	rig_put(g, SL_READ, A, 56 * K, 1);
	rig_done(g, run);
	rig_serve(g, SL_READ, B, 0, 8 * K, 1);
	rig_serve(g, SL_READ, A, 56 * K, 1, 1);
}

/* 24K are left: not for 25K, not for another offset, not for the writes of the same file. */
static void what_is_left_of_a_quantum_serves_nothing_else(void **state)
{
	struct rig *g = *state;

	for (int i = 0; i < 3; i++) {
		struct sl_run *run;

		quantum_without_waits(g, 8 * K);
		rig_put(g, SL_READ, A, 0, 32 * K);
		run = rig_expect(g, SL_READ, A, 0, 32 * K, 1);
		rig_put(g, SL_READ, B, 0, 8 * K);
		if (i == 0)
			rig_put(g, SL_READ, A, 32 * K, 25 * K);
		else if (i == 1)
			rig_put(g, SL_READ, A, 32 * K + 1, K);
		else
			rig_put(g, SL_WRITE, A, 32 * K, K);
		rig_done(g, run);
		rig_serve(g, SL_READ, B, 0, 8 * K, 1);
		assert_non_null(run = rig_take(g));
		rig_done(g, run);
	}
}

/*
 * A leaves 24K, and its entry goes to E, whose queue begins at 0 like that of any new file. Whether
 * E begins there or where A's batch ended: B came first and is served first.
 */
static void a_leftover_quantum_does_not_pass_to_another_file(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct rig *g = rig_open(&sl_order_aioli, &RIG_DEFAULTS);
		struct sl_file *entry;

		quantum_without_waits(g, 8 * K);
		rig_put(g, SL_READ, A, M, 32 * K);
		entry = sl_flow_file(rig_flow(g), A);
		rig_serve(g, SL_READ, A, M, 32 * K, 1);
		rig_put(g, SL_READ, B, 0, 8 * K);
		rig_put(g, SL_READ, C, 0, 8 * K);
		rig_put(g, SL_READ, D, 0, 8 * K);
		rig_put(g, SL_READ, E, i ? M + 32 * K : 0, 8 * K);
		assert_ptr_equal(sl_flow_file(rig_flow(g), E), entry);
		rig_serve(g, SL_READ, B, 0, 8 * K, 1);
		rig_close(g);
	}
}

static void a_step_halves_when_less_than_half_of_it_is_used(void **state)
{
	struct rig *g = *state;

	quantum_without_waits(g, 64 * K);
	for (uint64_t i = 0; i < 3; i++) {
		rig_put(g, SL_READ, A, i * M, 4 * K);
		rig_serve(g, SL_READ, A, i * M, 4 * K, 1);
	}
	assert_int_equal(sl_flow_file(rig_flow(g), A)->queue[SL_READ].step, 8 * K);
}

static void a_decision_takes_a_limited_number_of_visits(void **state)
{
	struct rig *g = *state;
	struct sl_run *run;

	quantum_without_waits(g, 1);
	rig_put(g, SL_READ, A, 0, SL_MAX_LENGTH);
	run = rig_expect(g, SL_READ, A, 0, SL_MAX_LENGTH, 1);
	assert_true(run->quantum < (int64_t)SL_MAX_LENGTH);
	rig_done(g, run);
	rig_put(g, SL_READ, A, SL_MAX_LENGTH, 1); /* and debt is not carried on */
	rig_serve(g, SL_READ, A, SL_MAX_LENGTH, 1, 1);
}

/*
 * A has 40 runs of 1K and a head of 32K, B one of 8K that came last. In round 1 the head of A has
 * 8K, B has 8K: B goes, however many runs A has.
 */
static void many_runs_of_one_queue_are_one_visit(void **state)
{
	struct rig *g = *state;

	quantum_without_waits(g, 8 * K);
	rig_put(g, SL_READ, A, 0, 32 * K);
	for (uint64_t i = 0; i < 40; i++)
		rig_put(g, SL_READ, A, M + 2 * i * K, K);
	rig_put(g, SL_READ, B, 0, 8 * K);
	rig_serve(g, SL_READ, B, 0, 8 * K, 1);
}

/* ---- waits ---- */

/* At 100M, which is another place: no shift. */
static void a_queue_waits_for_as_many_as_last_time_but_not_for_ever(void **state)
{
	struct rig *g = *state;

	four_were_served(g, A);
	g->now = 1 * MS;
	rig_put(g, SL_READ, A, 100 * M, K);
	rig_nothing(g, 1 * MS + 500 * US);
	g->now += 200 * US;
	rig_put(g, SL_READ, A, 100 * M + 1 * K, K); /* two of four */
	rig_nothing(g, 1 * MS + 500 * US);
	g->now = 1 * MS + 500 * US;
	rig_serve(g, SL_READ, A, 100 * M, 2 * K, 2);
	rig_put(g, SL_READ, A, 200 * M, K); /* two were all: two are expected */
	rig_nothing(g, 2 * MS);
	rig_put(g, SL_READ, A, 200 * M + 1 * K, K);
	rig_serve(g, SL_READ, A, 200 * M, 2 * K, 2);
}

static void a_vain_wait_is_not_repeated(void **state)
{
	struct rig *g = *state;

	four_were_served(g, A);
	rig_put(g, SL_READ, A, 100 * M, K);
	rig_nothing(g, 500 * US);
	g->now = 500 * US;
	rig_serve(g, SL_READ, A, 100 * M, K, 1);
	rig_put(g, SL_READ, A, 200 * M, K);
	rig_serve(g, SL_READ, A, 200 * M, K, 1);
}

/* The same, and A has 40 runs, all older than B's. */
static void a_waiting_queue_of_many_runs_does_not_hold_up_the_others(void **state)
{
	struct rig *g = *state;

	four_were_served(g, A);
	for (uint64_t i = 0; i < 40; i++)
		rig_put(g, SL_READ, A, 100 * M + 2 * i * K, K);
	rig_put(g, SL_READ, B, 0, K);
	rig_serve(g, SL_READ, B, 0, K, 1);
	rig_nothing(g, 500 * US);
}

/*
 * A waits from 0 to 500. B, whose 31 runs are all older than A's, waits from 100 to 600, after a
 * cancelled request made two runs of one of them. At 500 the wait of A is over: whatever is
 * decided, the flow must not say that it is ready and then give nothing (rig_take() fails then).
 */
static void a_wait_that_is_over_gives_a_batch_behind_one_that_is_not(void **state)
{
	struct rig *g = *state;
	struct sl_request *cut;
	struct sl_run *run;

	four_were_served(g, A);
	four_were_served(g, B);
	rig_put(g, SL_READ, B, 100 * M, K);
	cut = rig_put(g, SL_READ, B, 100 * M + 1 * K, K);
	rig_put(g, SL_READ, B, 100 * M + 2 * K, K);
	for (uint64_t i = 0; i < 30; i++)
		rig_put(g, SL_READ, B, 200 * M + 2 * i * K, K);
	rig_put(g, SL_READ, A, 100 * M, K);
	rig_nothing(g, 500 * US); /* both wait */
	g->now = 100 * US;
	rig_cancel(g, cut);
	rig_put(g, SL_READ, B, 50 * K, K); /* its new head waits anew */
	run = rig_take(g);
	if (run)
		rig_done(g, run);
	g->now = 500 * US;
	run = rig_take(g);
	assert_non_null(run);
}

static void cancelling_a_request_ends_the_wait_of_its_queue(void **state)
{
	struct rig *g = *state;

	four_were_served(g, A);
	rig_put(g, SL_READ, A, 100 * M, K);
	rig_nothing(g, 500 * US);
	rig_cancel(g, &g->request[4]);
	rig_nothing(g, SL_NEVER);
	rig_put(g, SL_READ, B, 0, K);
	rig_serve(g, SL_READ, B, 0, K, 1);
	rig_nothing(g, SL_NEVER);
}

/* The wait ends early, because four arrive at 200M; what is next has waited, and goes. */
static void a_run_that_has_waited_does_not_wait_again(void **state)
{
	struct rig *g = *state;

	four_were_served(g, A);
	rig_put(g, SL_READ, A, 100 * M, K);
	rig_nothing(g, 500 * US);
	for (uint64_t i = 0; i < 4; i++)
		rig_put(g, SL_READ, A, 200 * M + i * K, K);
	rig_serve(g, SL_READ, A, 100 * M, K, 1);
}

/* ---- shifts ---- */

/*
 * A stream of single requests of 1M: [0,1M) [1M,2M) [2M,3M). Then [4M,5M) comes and [3M,4M) is
 * late: it is waited for, and goes first. Single requests expect one, so that only the shift can
 * be the reason.
 */
static void a_stream(struct rig *g, unsigned batches)
{
	for (uint64_t i = 0; i < batches; i++) {
		rig_put(g, SL_READ, A, i * M, M);
		rig_serve(g, SL_READ, A, i * M, M, 1);
	}
}

static void the_late_one_of_a_stream_is_waited_for(void **state)
{
	struct rig *g = *state;

	a_stream(g, 3);
	rig_put(g, SL_READ, A, 4 * M, M);
	rig_nothing(g, 500 * US);
	g->now = 200 * US;
	rig_put(g, SL_READ, A, 3 * M, M);
	rig_serve(g, SL_READ, A, 3 * M, 2 * M, 2);
}

/* Batches of two are expected: the late one goes as soon as it comes, though it is alone. */
static void the_late_one_of_a_stream_ends_the_wait_at_once(void **state)
{
	struct rig *g = *state;

	for (uint64_t i = 0; i < 3; i++) {
		rig_put(g, SL_READ, A, 2 * i * M, M);
		rig_put(g, SL_READ, A, (2 * i + 1) * M, M);
		rig_serve(g, SL_READ, A, 2 * i * M, 2 * M, 2);
	}
	rig_put(g, SL_READ, A, 8 * M, M);
	rig_nothing(g, 500 * US);
	g->now = 100 * US;
	rig_put(g, SL_READ, A, 6 * M, M);
	rig_serve(g, SL_READ, A, 6 * M, M, 1);
}

static void a_late_one_that_does_not_come_is_waited_for_once(void **state)
{
	struct rig *g = *state;

	a_stream(g, 3);
	rig_put(g, SL_READ, A, 4 * M, M);
	rig_nothing(g, 500 * US);
	g->now = 500 * US;
	rig_serve(g, SL_READ, A, 4 * M, M, 1);
}

/* Until a batch begins again where one has ended. */
static void eight_waits_in_vain_are_enough(void **state)
{
	struct rig *g = *state;
	uint64_t at = 0;

	a_stream(g, 1);
	for (unsigned i = 0; i < 8; i++) {
		at += 2 * M;
		rig_put(g, SL_READ, A, at, M);
		rig_nothing(g, g->now + 500 * US);
		g->now += 500 * US;
		rig_serve(g, SL_READ, A, at, M, 1);
	}
	rig_put(g, SL_READ, A, at + 2 * M, M);
	rig_serve(g, SL_READ, A, at + 2 * M, M, 1);
	rig_put(g, SL_READ, A, at + 3 * M, M);
	rig_serve(g, SL_READ, A, at + 3 * M, M, 1);
	rig_put(g, SL_READ, A, at + 5 * M, M);
	rig_nothing(g, g->now + 500 * US);
}

/* Who waits at 3M cannot be who should have come at 6M. */
static void what_was_passed_by_goes_before_a_wait(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 5 * M, M);
	rig_serve(g, SL_READ, A, 5 * M, M, 1);
	rig_put(g, SL_READ, A, 3 * M, M);
	rig_put(g, SL_READ, A, 7 * M, M);
	rig_serve(g, SL_READ, A, 3 * M, M, 1);
}

/* It does not if it is younger: in turn, or one process could keep the others waiting. */
static void what_came_later_behind_does_not_go_first(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 5 * M, M);
	rig_serve(g, SL_READ, A, 5 * M, M, 1);
	rig_put(g, SL_READ, A, 7 * M, M);
	rig_put(g, SL_READ, A, 3 * M, M);
	rig_nothing(g, 500 * US);
	g->now = 500 * US;
	rig_serve(g, SL_READ, A, 7 * M, M, 1);
}

/* Beyond one batch (4M) it is another place, not a late request; and behind it is one, too. */
static void a_jump_is_no_shift(void **state)
{
	struct rig *g = *state;

	a_stream(g, 3);
	rig_put(g, SL_READ, A, 7 * M + 1, M);
	rig_serve(g, SL_READ, A, 7 * M + 1, M, 1);
	g->used = 0;
	rig_policy(g, &sl_order_aioli, &RIG_DEFAULTS);
	a_stream(g, 3);
	rig_put(g, SL_READ, A, 0, M);
	rig_serve(g, SL_READ, A, 0, M, 1);
	g->used = 0;
	rig_policy(g, &sl_order_aioli, &RIG_DEFAULTS);
	a_stream(g, 3);
	rig_put(g, SL_READ, A, 7 * M, M); /* one batch: still a shift */
	rig_nothing(g, 500 * US);
}

/* ---- what a wait can save ---- */

/* Batches of 1M in turn: one that goes on where the last one ended, and one elsewhere. */
static uint64_t batches_take(struct rig *g, sl_time following, sl_time elsewhere)
{
	uint64_t at = 0;

	for (unsigned i = 0; i < 5; i++) {
		struct sl_run *run;

		at += 10 * M; /* too far for a shift */
		rig_put(g, SL_READ, A, at, M);
		run = rig_expect(g, SL_READ, A, at, M, 1);
		g->now += elsewhere;
		rig_done(g, run);
		at += M;
		rig_put(g, SL_READ, A, at, M);
		run = rig_expect(g, SL_READ, A, at, M, 1);
		g->now += following;
		rig_done(g, run);
	}
	return at + M; /* where the last one ended */
}

static void a_wait_is_no_longer_than_what_it_saves(void **state)
{
	struct rig *g = *state;
	uint64_t end = batches_take(g, 1000 * US, 1080 * US);

	rig_put(g, SL_READ, A, end + M, M);
	rig_nothing(g, g->now + 80 * US);
	g->now += 80 * US;
	rig_serve(g, SL_READ, A, end + M, M, 1);
}

static void a_seek_is_worth_the_whole_wait(void **state)
{
	struct rig *g = *state;
	uint64_t end = batches_take(g, 1000 * US, 7000 * US);

	rig_put(g, SL_READ, A, end + M, M);
	rig_nothing(g, g->now + 500 * US);
}

/* Neither for the late one of a stream, nor for as many as last time. */
static void where_nothing_is_saved_nothing_waits(void **state)
{
	struct rig *g = *state;
	uint64_t end = batches_take(g, 1000 * US, 900 * US);

	rig_put(g, SL_READ, A, end + M, M);
	rig_serve(g, SL_READ, A, end + M, M, 1);
	four_were_served(g, A);
	rig_put(g, SL_READ, A, 100 * M, K);
	rig_serve(g, SL_READ, A, 100 * M, K, 1);
}

/* Writes have not been measured. */
static void reads_do_not_speak_for_writes(void **state)
{
	struct rig *g = *state;

	batches_take(g, 1000 * US, 900 * US);
	rig_put(g, SL_WRITE, A, M, M);
	rig_serve(g, SL_WRITE, A, M, M, 1);
	rig_put(g, SL_WRITE, A, 3 * M, M);
	rig_nothing(g, g->now + 500 * US);
}

/* Nothing ever goes on: at most all of what a batch takes can be saved. */
static void no_wait_is_longer_than_a_batch(void **state)
{
	struct rig *g = *state;

	for (uint64_t at = 0; at < 50 * M; at += 10 * M) {
		struct sl_run *run;

		rig_put(g, SL_READ, A, at, M);
		run = rig_expect(g, SL_READ, A, at, M, 1);
		g->now += 60 * US;
		rig_done(g, run);
	}
	rig_put(g, SL_READ, A, 42 * M, M);
	rig_nothing(g, g->now + 60 * US);
}

/* ---- ageing ---- */

static void a_request_older_than_the_limit_goes_first(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_MAX_AGE_MS, 10);
	rig_set(g, SL_P_QUANTUM_BYTES, 1);
	rig_put(g, SL_READ, A, M, 4 * K);
	rig_put(g, SL_READ, A, 0, M); /* the head of A, and far from enough quantum */
	g->now = 10 * MS - 1;
	rig_put(g, SL_READ, B, 0, 1);
	rig_serve(g, SL_READ, B, 0, 1, 1);
	rig_put(g, SL_READ, B, 1, 1);
	g->now = 10 * MS;
	rig_serve(g, SL_READ, A, 0, M + 4 * K, 2);
	rig_serve(g, SL_READ, B, 1, 1, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_example_of_the_header),
		CASE(one_batch_is_in_flight_at_a_time),
		CASE(queues_are_served_in_the_order_of_their_oldest_requests),
		CASE(a_quantum_doubles_with_each_round_until_it_is_enough),
		CASE(rounds_go_over_all_queues),
		CASE(what_is_left_of_a_quantum_serves_what_is_contiguous),
		CASE(what_is_left_of_a_quantum_serves_nothing_else),
		cmocka_unit_test(a_leftover_quantum_does_not_pass_to_another_file),
		CASE(a_step_halves_when_less_than_half_of_it_is_used),
		CASE(a_decision_takes_a_limited_number_of_visits),
		CASE(many_runs_of_one_queue_are_one_visit),
		CASE(a_queue_waits_for_as_many_as_last_time_but_not_for_ever),
		CASE(a_vain_wait_is_not_repeated),
		CASE(a_waiting_queue_of_many_runs_does_not_hold_up_the_others),
		CASE(a_wait_that_is_over_gives_a_batch_behind_one_that_is_not),
		CASE(cancelling_a_request_ends_the_wait_of_its_queue),
		CASE(a_run_that_has_waited_does_not_wait_again),
		CASE(the_late_one_of_a_stream_is_waited_for),
		CASE(the_late_one_of_a_stream_ends_the_wait_at_once),
		CASE(a_late_one_that_does_not_come_is_waited_for_once),
		CASE(eight_waits_in_vain_are_enough),
		CASE(what_was_passed_by_goes_before_a_wait),
		CASE(what_came_later_behind_does_not_go_first),
		CASE(a_jump_is_no_shift),
		CASE(a_wait_is_no_longer_than_what_it_saves),
		CASE(a_seek_is_worth_the_whole_wait),
		CASE(where_nothing_is_saved_nothing_waits),
		CASE(reads_do_not_speak_for_writes),
		CASE(no_wait_is_longer_than_a_batch),
		CASE(a_request_older_than_the_limit_goes_first),
		CASES_OF_WAITS,
	};

	return cmocka_run_group_tests_name("order/aioli", tests, NULL, NULL);
}
