/* SPDX-License-Identifier: Apache-2.0 */
/* policy/request/order/mlf: quanta, the ring of queues, bounded waits (see order-waits.h), ageing. */
#define POLICY sl_order_mlf
#define NEXT   (4 * K)
#include "tests/unit/order-waits.h"

static const struct sl_queue *queue_of(struct rig *g, uint64_t file, uint32_t op)
{
	return &sl_flow_file(rig_flow(g), file)->queue[op];
}

/* ---- quanta ---- */

/*
 * quantum_bytes=64K, A a run of 256K, B one of 64K. A gets 64 (not enough), B 64 (goes); then A
 * gets 128, has 192 (not enough), 256, has 448 (goes).
 */
static void the_example_of_the_header(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 0, 256 * K);
	rig_put(g, SL_READ, B, 0, 64 * K);
	rig_expect(g, SL_READ, B, 0, 64 * K, 1);
	assert_int_equal(queue_of(g, A, SL_READ)->granted, 64 * K);
	rig_expect(g, SL_READ, A, 0, 256 * K, 1);
	assert_int_equal(queue_of(g, A, SL_READ)->granted, 448 * K);
	rig_nothing(g, SL_NEVER);
}

/*
 * quantum_bytes=8K and one run of 64K: 8, 16, 32, 64, in sum 120K: the fourth visit lets it go.
 * The step stays 64K, so the next run of 64K goes at its first.
 */
static void a_quantum_doubles_with_each_visit_until_it_is_enough(void **state)
{
	struct rig *g = *state;
	struct sl_run *run;

	rig_set(g, SL_P_QUANTUM_BYTES, 8 * K);
	rig_put(g, SL_READ, A, 0, 64 * K);
	run = rig_expect(g, SL_READ, A, 0, 64 * K, 1);
	assert_int_equal(run->quantum, 120 * K);
	assert_int_equal(queue_of(g, A, SL_READ)->step, 64 * K);
	rig_put(g, SL_READ, A, M, 64 * K);
	run = rig_expect(g, SL_READ, A, M, 64 * K, 1);
	assert_int_equal(run->quantum, 64 * K);
	assert_int_equal(queue_of(g, A, SL_READ)->granted, 184 * K);
}

/* The visits of two queues alternate: B of 24K passes A of 64K, at the second visit of each. */
static void visits_alternate_between_queues(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_QUANTUM_BYTES, 8 * K);
	rig_put(g, SL_READ, A, 0, 64 * K);
	rig_put(g, SL_READ, B, 0, 24 * K);
	rig_expect(g, SL_READ, B, 0, 24 * K, 1); /* A 8, B 8, A 24, B 24 */
	assert_int_equal(queue_of(g, A, SL_READ)->granted, 24 * K);
	assert_int_equal(queue_of(g, B, SL_READ)->granted, 24 * K);
	rig_expect(g, SL_READ, A, 0, 64 * K, 1);
}

/* Step 64K: a batch of 32K is half of it and leaves it, one of less halves it, each time. */
static void a_step_halves_when_less_than_half_of_it_is_used(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 0, 32 * K);
	rig_serve(g, SL_READ, A, 0, 32 * K, 1);
	assert_int_equal(queue_of(g, A, SL_READ)->step, 64 * K);
	rig_put(g, SL_READ, A, M, 32 * K - 1);
	rig_serve(g, SL_READ, A, M, 32 * K - 1, 1);
	assert_int_equal(queue_of(g, A, SL_READ)->step, 32 * K);
	for (uint64_t i = 2; i < 40; i++) {
		g->used = 0;
		rig_put(g, SL_READ, A, i * M, 1);
		rig_serve(g, SL_READ, A, i * M, 1, 1);
	}
	assert_in_range(queue_of(g, A, SL_READ)->step, 1, 3);
	rig_put(g, SL_READ, A, 99 * M, 4 * K); /* and grows again from there */
	rig_serve(g, SL_READ, A, 99 * M, 4 * K, 1);
}

/*
 * quantum_bytes=8K. The head of A is visited once: its two runs, [0,32K) and [40K,48K), have 8K
 * each. The request between makes them one of 48K with 16K. The step is 16K, then 32K: 16 + 16 is
 * not enough, 16 + 16 + 32 = 64K is.
 */
static void a_merged_run_has_the_sum_of_the_quanta(void **state)
{
	struct rig *g = *state;
	struct sl_run *run;

	rig_set(g, SL_P_QUANTUM_BYTES, 8 * K);
	rig_put(g, SL_READ, A, 0, 32 * K);
	rig_put(g, SL_READ, A, 40 * K, 8 * K);
	rig_put(g, SL_READ, B, 0, 8 * K);
	rig_expect(g, SL_READ, B, 0, 8 * K, 1);
	rig_put(g, SL_READ, A, 32 * K, 8 * K);
	run = rig_expect(g, SL_READ, A, 0, 48 * K, 3);
	assert_int_equal(run->quantum, 64 * K);
}

/* A run that joins a queue later has none of what was granted before. */
static void a_new_run_starts_with_nothing(void **state)
{
	struct rig *g = *state;
	struct sl_run *run;

	rig_set(g, SL_P_QUANTUM_BYTES, 8 * K);
	rig_put(g, SL_READ, A, M, 64 * K);
	rig_put(g, SL_READ, B, 0, 8 * K);
	rig_expect(g, SL_READ, B, 0, 8 * K, 1); /* A has been granted 8K */
	rig_put(g, SL_READ, A, 0, 16 * K);	/* becomes its head */
	run = rig_expect(g, SL_READ, A, 0, 16 * K, 1);
	assert_int_equal(run->quantum, 16 * K); /* of the second visit alone */
	run = rig_expect(g, SL_READ, A, M, 64 * K, 1);
	assert_int_equal(run->quantum, 8 * K + 16 * K + 16 * K + 32 * K);
}

/* The part on the left keeps the 8K that the run had, the right one starts anew. */
static void cutting_a_run_does_not_multiply_its_quantum(void **state)
{
	struct rig *g = *state;
	struct sl_run *run;

	rig_set(g, SL_P_QUANTUM_BYTES, 8 * K);
	rig_put(g, SL_READ, A, 0, 32 * K);
	rig_put(g, SL_READ, A, 32 * K, 32 * K);
	rig_put(g, SL_READ, A, 64 * K, 32 * K);
	rig_put(g, SL_READ, B, 0, 8 * K);
	rig_expect(g, SL_READ, B, 0, 8 * K, 1); /* A: 8K */
	rig_cancel(g, &g->request[1]);
	run = rig_expect(g, SL_READ, A, 0, 32 * K, 1); /* 8 + 16 + 32 */
	assert_int_equal(run->quantum, 56 * K);
	run = rig_expect(g, SL_READ, A, 64 * K, 32 * K, 1); /* 16 + 32 + 32 */
	assert_int_equal(run->quantum, 80 * K);
}

/* 1 byte doubles 40 times to 1T; 32 visits are allowed: then it goes all the same. */
static void a_decision_takes_a_limited_number_of_visits(void **state)
{
	struct rig *g = *state;
	struct sl_run *run;

	rig_set(g, SL_P_QUANTUM_BYTES, 1);
	rig_put(g, SL_READ, A, 0, SL_MAX_LENGTH);
	run = rig_expect(g, SL_READ, A, 0, SL_MAX_LENGTH, 1);
	assert_true(run->quantum < (int64_t)SL_MAX_LENGTH);
	assert_int_equal(run->quantum, (INT64_C(1) << 32) - 1); /* 1 + 2 + ... + 2^31 */
}

/* ---- the ring ---- */

static void queues_take_turns_and_a_served_one_goes_to_the_end(void **state)
{
	struct rig *g = *state;

	for (uint64_t i = 0; i < 3; i++) {
		rig_put(g, SL_READ, A, 2 * i * 10 * K, 10 * K);
		rig_put(g, SL_READ, B, 2 * i * 10 * K, 10 * K);
		rig_put(g, SL_WRITE, B, (2 * i + 1) * 10 * K, 10 * K);
	}
	for (uint64_t i = 0; i < 3; i++) {
		rig_expect(g, SL_READ, A, 2 * i * 10 * K, 10 * K, 1);
		rig_expect(g, SL_READ, B, 2 * i * 10 * K, 10 * K, 1);
		rig_expect(g, SL_WRITE, B, (2 * i + 1) * 10 * K, 10 * K, 1);
	}
	rig_nothing(g, SL_NEVER);
}

static void a_queue_that_comes_back_stands_at_the_end(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 0, K);
	rig_put(g, SL_READ, B, 0, K);
	rig_put(g, SL_READ, B, 100 * K, K);
	rig_expect(g, SL_READ, A, 0, K, 1);
	rig_put(g, SL_READ, C, 0, K);
	rig_put(g, SL_READ, A, 0, K);
	rig_expect(g, SL_READ, B, 0, K, 1);
	rig_expect(g, SL_READ, C, 0, K, 1);
	rig_expect(g, SL_READ, A, 0, K, 1);
	rig_expect(g, SL_READ, B, 100 * K, K, 1);
}

static void an_emptied_queue_leaves_the_ring(void **state)
{
	struct rig *g = *state;

	rig_put(g, SL_READ, A, 0, K);
	rig_put(g, SL_READ, B, 0, K);
	rig_cancel(g, &g->request[0]);
	rig_expect(g, SL_READ, B, 0, K, 1);
	rig_nothing(g, SL_NEVER);
}

static void any_number_of_batches_is_in_flight(void **state)
{
	struct rig *g = *state;

	for (uint64_t i = 0; i < 20; i++)
		rig_put(g, SL_WRITE, A, 2 * i * K, K);
	for (uint64_t i = 0; i < 20; i++)
		rig_expect(g, SL_WRITE, A, 2 * i * K, K, 1);
	assert_int_equal(rig_flow(g)->inflight, 20);
}

/* ---- waits ---- */

static void a_queue_waits_for_as_many_as_last_time_but_not_for_ever(void **state)
{
	struct rig *g = *state;

	four_were_served(g, A);
	g->now = 1 * MS;
	rig_put(g, SL_READ, A, 4 * K, K);
	rig_nothing(g, 1 * MS + 500 * US);
	g->now += 200 * US;
	rig_put(g, SL_READ, A, 5 * K, K); /* two of four: goes on waiting */
	rig_nothing(g, 1 * MS + 500 * US);
	g->now = 1 * MS + 500 * US - 1;
	rig_nothing(g, 1 * MS + 500 * US);
	g->now++;
	rig_serve(g, SL_READ, A, 4 * K, 2 * K, 2);
	/* Two was all: it now expects two, so one more waits, two do not. */
	assert_int_equal(queue_of(g, A, SL_READ)->expected, 2);
	rig_put(g, SL_READ, A, 6 * K, K);
	rig_put(g, SL_READ, A, 7 * K, K);
	rig_serve(g, SL_READ, A, 6 * K, 2 * K, 2);
}

static void a_wait_ends_when_the_batch_is_full(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_BATCH_BYTES, 4 * K);
	four_were_served(g, A);
	rig_put(g, SL_READ, A, 4 * K, K);
	rig_nothing(g, 500 * US);
	rig_put(g, SL_READ, A, 5 * K, 3 * K); /* two requests, but 4K */
	rig_serve(g, SL_READ, A, 4 * K, 4 * K, 2);
}

static void a_full_run_is_not_waited_for(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_BATCH_BYTES, 4 * K);
	four_were_served(g, A);
	rig_put(g, SL_READ, A, 4 * K, 4 * K);
	rig_serve(g, SL_READ, A, 4 * K, 4 * K, 1);
}

/* A wait that brought nothing is not repeated: it expects one now. */
static void a_vain_wait_is_not_repeated(void **state)
{
	struct rig *g = *state;

	four_were_served(g, A);
	rig_put(g, SL_READ, A, 4 * K, K);
	rig_nothing(g, 500 * US);
	g->now = 500 * US;
	rig_serve(g, SL_READ, A, 4 * K, K, 1);
	for (uint64_t i = 5; i < 9; i++) {
		rig_put(g, SL_READ, A, i * K, K);
		rig_serve(g, SL_READ, A, i * K, K, 1);
	}
}

/* A waits from 0, B from 100 us: they end one after the other. */
static void waits_of_several_queues_end_each_at_its_time(void **state)
{
	struct rig *g = *state;

	four_were_served(g, A);
	four_were_served(g, B);
	rig_put(g, SL_READ, A, 4 * K, K);
	rig_nothing(g, 500 * US);
	g->now = 100 * US;
	rig_put(g, SL_READ, B, 4 * K, K);
	rig_nothing(g, 500 * US);
	g->now = 500 * US;
	rig_serve(g, SL_READ, A, 4 * K, K, 1);
	rig_nothing(g, 600 * US);
	g->now = 600 * US;
	rig_serve(g, SL_READ, B, 4 * K, K, 1);
}

static void cancelling_the_last_request_of_a_waiting_queue_ends_its_wait(void **state)
{
	struct rig *g = *state;

	four_were_served(g, A);
	rig_put(g, SL_READ, A, 4 * K, K);
	rig_nothing(g, 500 * US);
	rig_cancel(g, &g->request[4]);
	rig_nothing(g, SL_NEVER);
	g->now = 100 * US;
	rig_put(g, SL_READ, A, 4 * K, K); /* a new run may wait again */
	rig_nothing(g, 600 * US);
	g->now = 600 * US;
	rig_serve(g, SL_READ, A, 4 * K, K, 1);
}

static void a_run_that_has_waited_does_not_wait_again_after_it_was_merged(void **state)
{
	struct rig *g = *state;

	four_were_served(g, A);
	rig_put(g, SL_READ, A, 10 * K, K);
	rig_nothing(g, 500 * US);
	rig_put(g, SL_READ, A, 8 * K, K);
	rig_put(g, SL_READ, A, 9 * K, K); /* [8K,11K), of which [10K,11K) has waited */
	g->now = 500 * US;
	rig_serve(g, SL_READ, A, 8 * K, 3 * K, 3);
}

/*
 * [100K,101K) waits. The wait ends early, because four arrive at 200K; it is still the next in
 * offset order, has one request of the four expected, and has waited: it goes. So does what has
 * taken it in from the left, although that has not.
 */
static void a_run_that_has_waited_does_not_wait_again(void **state)
{
	for (int merged = 0; merged < 2; merged++) {
		struct rig *g = *state;

		g->used = 0;
		rig_policy(g, &sl_order_mlf, &RIG_DEFAULTS);
		four_were_served(g, A);
		rig_put(g, SL_READ, A, 100 * K, K);
		rig_nothing(g, 500 * US);
		for (uint64_t i = 200; i < 204; i++)
			rig_put(g, SL_READ, A, i * K, K);
		if (merged) {
			rig_put(g, SL_READ, A, 98 * K, K);
			rig_put(g, SL_READ, A, 99 * K, K);
			rig_serve(g, SL_READ, A, 98 * K, 3 * K, 3);
		} else {
			rig_serve(g, SL_READ, A, 100 * K, K, 1);
		}
		rig_serve(g, SL_READ, A, 200 * K, 4 * K, 4);
	}
}

/* ---- ageing ---- */

/* max_age_ms=10: the large A goes at 10 ms though its quantum is far from enough. */
static void a_request_older_than_the_limit_goes_first(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_MAX_AGE_MS, 10);
	rig_set(g, SL_P_QUANTUM_BYTES, 1);
	rig_put(g, SL_READ, A, 0, M);
	g->now = 10 * MS - 1;
	rig_put(g, SL_READ, B, 0, 1);
	rig_serve(g, SL_READ, B, 0, 1, 1);
	g->now = 10 * MS;
	rig_put(g, SL_READ, B, 1, 1);
	rig_serve(g, SL_READ, A, 0, M, 1);
	rig_serve(g, SL_READ, B, 1, 1, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_example_of_the_header),
		CASE(a_quantum_doubles_with_each_visit_until_it_is_enough),
		CASE(visits_alternate_between_queues),
		CASE(a_step_halves_when_less_than_half_of_it_is_used),
		CASE(a_merged_run_has_the_sum_of_the_quanta),
		CASE(a_new_run_starts_with_nothing),
		CASE(cutting_a_run_does_not_multiply_its_quantum),
		CASE(a_decision_takes_a_limited_number_of_visits),
		CASE(queues_take_turns_and_a_served_one_goes_to_the_end),
		CASE(a_queue_that_comes_back_stands_at_the_end),
		CASE(an_emptied_queue_leaves_the_ring),
		CASE(any_number_of_batches_is_in_flight),
		CASE(a_queue_waits_for_as_many_as_last_time_but_not_for_ever),
		CASE(a_wait_ends_when_the_batch_is_full),
		CASE(a_full_run_is_not_waited_for),
		CASE(a_vain_wait_is_not_repeated),
		CASE(waits_of_several_queues_end_each_at_its_time),
		CASE(cancelling_the_last_request_of_a_waiting_queue_ends_its_wait),
		CASE(a_run_that_has_waited_does_not_wait_again_after_it_was_merged),
		CASE(a_run_that_has_waited_does_not_wait_again),
		CASE(a_request_older_than_the_limit_goes_first),
		CASES_OF_WAITS,
	};

	return cmocka_run_group_tests_name("order/mlf", tests, NULL, NULL);
}
