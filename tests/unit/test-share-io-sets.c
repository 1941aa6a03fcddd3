/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share/io-sets: the paper's figures, which period makes which set, turns and debt between sets,
 * who has a set by id and by phase, starvation, guarantees, live changes; then random lanes that
 * come and go against plain searches. SL_SEED=number repeats a failure.
 */
#include "share-rig.h"

#define BY_REQUESTS ((struct setting){ "credit", INT64_C(1) })
#define BY_ID	    ((struct setting){ "exclusive", INT64_C(1) })
#define HOLD_IDLE   ((struct setting){ "hold", INT64_C(1) })
#define FAR	    ((struct setting){ "max_exclusive_ms", INT64_C(3600000) })

/* A job whose number is a multiple of this has priority 1/50 exactly, its period being unknown. */
#define PLAIN UINT64_C(10007)

/* Of sets -9 .. 9; also what a byte costs there. */
static const sl_time period_of[] = {
	INT64_C(1),
	INT64_C(10),
	INT64_C(100),
	INT64_C(1000),
	INT64_C(10000),
	INT64_C(100000),
	INT64_C(1000000),
	INT64_C(10000000),
	INT64_C(100000000),
	INT64_C(1000000000),
	INT64_C(10000000000),
	INT64_C(100000000000),
	INT64_C(1000000000000),
	INT64_C(10000000000000),
	INT64_C(100000000000000),
	INT64_C(1000000000000000),
	INT64_C(10000000000000000),
	INT64_C(100000000000000000),
	INT64_C(1000000000000000000),
};

/* Lane enters as a job of set S_i. */
static void enter_set(struct share *s, uint32_t lane, int i)
{
	s->m[lane].period_ns = period_of[i + 9];
	share_enter(s, lane);
}

/* How many of n decisions went to each lane. */
static void count(struct share *s, unsigned n, uint64_t bytes, unsigned *served)
{
	memset(served, 0, s->lanes * sizeof(*served));
	for (unsigned i = 0; i < n; i++)
		served[share_serve(s, bytes)]++;
}

/* ---- sets ---- */

/* Figure 2: all requests of APP1 before those of APP2. */
static void all_requests_of_app1_go_before_those_of_app2(void **state)
{
	unsigned left[] = { 3, 2 };
	char order[6] = "";
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, BY_REQUESTS, BY_ID, END);
	enter_set(&s, 1, 1); /* came first, but has the higher id */
	enter_set(&s, 0, 1);
	for (unsigned i = 0; i < 5; i++) {
		uint32_t lane = share_serve(&s, 4096);

		order[i] = (char)('1' + lane);
		if (!--left[lane])
			share_leave(&s, lane, true);
	}
	assert_string_equal(order, "11122");
	share_close(&s);
}

/*
 * Figure 3: APP2 (B) has twice the priority of APP1 (A), so two of its requests are processed for
 * every one of APP1. Sets of known period differ by powers of ten; 1/50, unknown, is twice 1/100.
 */
static void two_requests_of_app2_for_every_one_of_app1(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, BY_REQUESTS, END);
	s.m[1].job = PLAIN;
	enter_set(&s, 0, 2);
	share_enter(&s, 1);
	assert_string_equal(share_run(&s, 12, MI), "BBABBABBABBA");
	share_close(&s);
}

static void neighbouring_sets_share_ten_to_one(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, BY_REQUESTS, END);
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 2);
	assert_string_equal(share_run(&s, 33, 4096), "AAAAAAAAAABAAAAAAAAAABAAAAAAAAAAB");
	share_close(&s);
}

static void six_orders_of_magnitude_are_a_million_to_one(void **state)
{
	unsigned served[2];
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	enter_set(&s, 0, 0);
	enter_set(&s, 1, 6);
	count(&s, 101, MI, served); /* the first turn is cut to 100 */
	assert_int_equal(served[0], 100);
	for (unsigned i = 0; i < 2; i++) {
		count(&s, 1000001, MI, served);
		assert_int_equal(served[0], 1000000);
	}
	assert_int_equal(s.sent[1], 3 * MI);
	share_close(&s);
}

/* The example of io-sets.c: one job of period 19.2 s, 15 of 384 s, then one of unknown period. */
static void credit_is_scaled_to_the_smallest_priority_present(void **state)
{
	unsigned served[17];
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 17, FAR, END);
	s.m[0].period_ns = 19200 * MSEC;
	share_enter(&s, 0);
	for (uint32_t i = 1; i < 16; i++) {
		s.m[i].period_ns = 384 * SEC;
		share_enter(&s, i);
	}
	count(&s, 101, MI, served);
	assert_int_equal(served[0], 100);
	assert_int_equal(served[1], 1);
	s.m[16].job = PLAIN;
	share_enter(&s, 16);
	count(&s, 20, MI, served); /* its turn in the round that is just over for the others */
	assert_int_equal(served[16], 20);
	for (unsigned i = 0; i < 3; i++) {
		count(&s, 121, MI, served);
		assert_int_equal(served[0], 100);
		assert_int_equal(served[16], 20);
		assert_int_equal(served[1], 1);
	}
	/* In the middle of A's 100, all of S3 leave: now 5 to 1, at once. */
	count(&s, 40, MI, served);
	assert_int_equal(served[0], 40);
	for (uint32_t i = 1; i < 16; i++)
		share_leave(&s, i, true);
	count(&s, 60, MI, served);
	assert_in_range(served[16], 10, 20);
	count(&s, 60, MI, served);
	assert_int_equal(served[0], 50);
	assert_int_equal(served[16], 10);
	share_close(&s);
}

/* Whether two periods make one set: by id, one set serves A alone. */
static bool one_set(sl_time a, sl_time b)
{
	unsigned served[2];
	struct share s;

	share_open(&s, &sl_share_io_sets, 2, BY_REQUESTS, BY_ID, FAR, END);
	s.m[0].period_ns = a;
	s.m[1].period_ns = b;
	share_enter(&s, 0);
	share_enter(&s, 1);
	count(&s, 24, 1, served);
	share_close(&s);
	return served[1] == 0;
}

static void sets_are_orders_of_magnitude_rounded_to_the_nearest(void **state)
{
	(void)state;
	/* 10^0.5 = 3.16227766.. s */
	assert_true(one_set(1 * SEC, 3162277660));
	assert_false(one_set(1 * SEC, 3162277661));
	assert_true(one_set(10 * SEC, 3162277661));
	/* "between 4 and 31, assigned to S1; between 32 and 316, assigned to S2" */
	assert_true(one_set(4 * SEC, 31 * SEC));
	assert_false(one_set(31 * SEC, 32 * SEC));
	assert_true(one_set(32 * SEC, 316 * SEC));
	assert_false(one_set(316 * SEC, 317 * SEC));
	/* The paper's experiment. */
	assert_true(one_set(19200 * MSEC, 10 * SEC));
	assert_true(one_set(384 * SEC, 1000 * SEC));
}

static void every_boundary_is_where_the_square_passes_a_power_of_ten(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 18; i++) {
		sl_time low = period_of[i], high = period_of[i + 1];

		/* The last period of the lower set: its square in ns is less than 10^(2i+1). */
		while (high - low > 1) {
			sl_time middle = low + (high - low) / 2;

			if ((unsigned __int128)(uint64_t)middle * (uint64_t)middle <
			    (unsigned __int128)(uint64_t)period_of[i] * (uint64_t)period_of[i + 1])
				low = middle;
			else
				high = middle;
		}
		assert_true(one_set(period_of[i], low));
		assert_false(one_set(period_of[i], high));
		assert_true(one_set(period_of[i + 1], high));
	}
	assert_true(one_set(period_of[18], INT64_MAX));
}

static void each_job_of_unknown_period_is_a_set_of_its_own(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 3, END);
	for (uint32_t i = 0; i < 3; i++) {
		s.m[i].job = PLAIN * (i + 1);
		share_enter(&s, i);
	}
	assert_string_equal(share_run(&s, 9, MI), "ABCABCABC");
	assert_string_equal(share_run(&s, 9, MI / 2), "AABBCCAAB"); /* a turn is a quantum */
	share_close(&s);
}

/* 20,010,006 to 20,000,000. */
static void and_has_a_little_more_by_its_job_id(void **state)
{
	unsigned served[2];
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	s.m[0].job = PLAIN;
	s.m[1].job = PLAIN - 1;
	share_enter(&s, 0);
	share_enter(&s, 1);
	count(&s, 200000, 64 * KI, served);
	assert_in_range(served[1] - served[0], 49 - 16, 49 + 16); /* within a turn */
	share_close(&s);
}

static void a_job_of_unknown_period_gains_nothing_by_being_idle(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	share_enter(&s, 0);
	share_enter(&s, 1);
	assert_string_equal(share_run(&s, 2, MI), "AB");
	share_leave(&s, 1, true);
	share_run(&s, 100, MI);
	share_enter(&s, 1);
	assert_string_equal(share_run(&s, 6, MI), "BABABA");
	share_close(&s);
}

/* With A in S3 their turns are 20 quanta, which they take one by one. */
static void who_joins_them_within_a_round_does_not_catch_up(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 3, END);
	s.m[1].job = PLAIN;
	s.m[2].job = 2 * PLAIN;
	enter_set(&s, 0, 3);
	share_enter(&s, 1);
	assert_string_equal(share_run(&s, 10, MI), "BBBBBBBBBB");
	share_enter(&s, 2);
	assert_string_equal(share_run(&s, 6, MI), "CBCBCB");
	share_close(&s);
}

/* C comes and goes all the time, B sends 4 MiB at once: neither gets less than a fifth of A. */
static void jobs_of_unknown_period_do_not_push_each_other_back(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 3, END);
	s.m[1].job = PLAIN;
	s.m[2].job = 2 * PLAIN;
	enter_set(&s, 0, 1);
	share_enter(&s, 1);
	for (unsigned i = 0; i < 20000; i++) {
		int64_t lane;

		if (!s.ready[2] && rnd_below(&s, 4) == 0)
			share_enter(&s, 2);
		lane = share_pick(&s);
		share_charge(&s, (uint32_t)lane, lane == 1 ? 4 * MI : 64 * KI);
		if (lane == 2)
			share_leave(&s, 2, true);
	}
	check(&s, s.sent[1] + 6 * MI > s.sent[0] / 5 && s.sent[1] < s.sent[0] / 5 + 6 * MI);
	check(&s, s.sent[2] < s.sent[0] / 5 + 2 * MI);
	share_close(&s);
}

/* ---- turns ---- */

/* A sends 3 MiB at a time, B 5 MiB, quantum 1 MiB: 10 to 1 in bytes all the same. */
static void debt_is_carried_over_in_bytes(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	enter_set(&s, 0, 0);
	enter_set(&s, 1, 1);
	for (unsigned i = 0; i < 10000; i++) {
		int64_t lane = share_pick(&s);
		uint64_t a, b;

		share_charge(&s, (uint32_t)lane, lane ? 5 * MI : 3 * MI);
		a = s.sent[0] / MI;
		b = s.sent[1] / MI * 10;
		assert_true(a <= b + 10 + 3 && b <= a + 10 + 50);
	}
	share_close(&s);
}

static void quantum_is_the_turn_of_the_smallest_priority(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, { "quantum_bytes", (int64_t)(2 * MI) }, END);
	enter_set(&s, 0, 0);
	enter_set(&s, 1, 1);
	assert_string_equal(share_run(&s, 22, MI), "AAAAAAAAAAAAAAAAAAAABB");
	share_close(&s);
}

/* 2^40 bytes on a quantum of 4 KiB are 2^28 rounds of debt. */
static void debt_of_many_rounds_does_not_take_many_steps(void **state)
{
	unsigned served[4];
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 4, { "quantum_bytes", INT64_C(4096) }, END);
	enter_set(&s, 0, 0);
	enter_set(&s, 1, 1);
	s.m[2].job = PLAIN;
	s.m[3].job = 2 * PLAIN;
	share_enter(&s, 2);
	share_enter(&s, 3);
	count(&s, 54000, SL_MAX_LENGTH, served);
	/* 1 : .1 : .02 : .02, sum 1.14 */
	assert_in_range(served[0], 47368 - 10, 47368 + 10);
	assert_in_range(served[1], 4737 - 2, 4737 + 2);
	assert_in_range(served[2], 947 - 2, 947 + 2);
	assert_in_range(served[3], 947 - 2, 947 + 2);
	share_close(&s);
}

static void extreme_periods_and_lengths_do_not_overflow(void **state)
{
	unsigned served[3];
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 3, END);
	enter_set(&s, 2, 9);
	count(&s, 1000, SL_MAX_LENGTH, served);
	assert_int_equal(served[2], 1000);
	enter_set(&s, 0, -9);
	enter_set(&s, 1, -8);
	count(&s, 11000, SL_MAX_LENGTH, served);
	assert_in_range(served[0], 9990, 10010);
	assert_int_equal(served[2], 0);
	share_close(&s);
}

static void what_a_set_leaves_is_lost_with_the_round(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	enter_set(&s, 0, 0);
	enter_set(&s, 1, 1);
	assert_string_equal(share_run(&s, 2, MI), "AA");
	share_leave(&s, 0, true); /* with 8 left */
	assert_string_equal(share_run(&s, 3, MI), "BBB");
	share_enter(&s, 0);
	assert_string_equal(share_run(&s, 10, MI), "AAAAAAAAAA"); /* B has had its turn, 10 to 1 */
	assert_string_equal(share_run(&s, 22, MI), "AAAAAAAAAABAAAAAAAAAAB");
	share_close(&s);
}

/* A has one request at a time; B, always there, must not use up its quantum in each gap. */
static void a_set_comes_back_to_its_turn_in_the_same_round(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	enter_set(&s, 1, 1);
	for (unsigned i = 0; i < 2000; i++) {
		enter_set(&s, 0, 0);
		assert_string_equal(share_run(&s, 1, 36 * KI), "A");
		share_leave(&s, 0, true);
		assert_string_equal(share_run(&s, 1, 4 * KI), "B");
	}
	share_close(&s);
}

/* B pauses after each turn. While it is away A alone makes p_min, but B's turn is not forgotten. */
static void a_set_does_not_gain_by_pausing(void **state)
{
	struct share s;
	unsigned b = 0;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	enter_set(&s, 0, 0);
	for (unsigned i = 0; i < 11000; i++) {
		if (!s.ready[1] && i % 3 == 0)
			enter_set(&s, 1, 1);
		if (share_serve(&s, MI) == 1) {
			b++;
			share_leave(&s, 1, true);
		}
	}
	assert_in_range(b, 900, 1010);
	share_close(&s);
}

/* A's guarantee takes far more than the share of its set. */
static void what_a_guarantee_takes_costs_a_set_its_next_turn_and_no_more(void **state)
{
	unsigned served[3];
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 3, FAR, END);
	enter_set(&s, 1, 1); /* B has the set of A */
	enter_set(&s, 0, 1);
	enter_set(&s, 2, 1 + 1);
	count(&s, 110, MI, served);
	assert_int_equal(served[1], 100);
	for (unsigned i = 0; i < 1000; i++)
		share_charge(&s, 0, MI);
	count(&s, 12, MI, served);
	assert_in_range(served[2], 1, 2);
	/* And within what the turn is worth it is paid back: 5 of A, then only 5 of B. */
	count(&s, 110, MI, served);
	for (unsigned i = 0; i < 5; i++)
		share_charge(&s, 0, MI);
	count(&s, 105, MI, served);
	assert_in_range(served[1], 94, 96);
	share_close(&s);
}

static void and_never_brings_its_turn_forward(void **state)
{
	unsigned served[2];
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	enter_set(&s, 0, 0);
	enter_set(&s, 1, 6);
	count(&s, 101, MI, served);
	assert_int_equal(served[1], 1); /* and is a million behind now */
	share_charge(&s, 1, MI);
	count(&s, 1000, MI, served);
	assert_int_equal(served[1], 0);
	share_close(&s);
}

static void a_guarantee_of_a_job_of_unknown_period_likewise(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	s.m[0].job = PLAIN;
	s.m[1].job = 2 * PLAIN;
	share_enter(&s, 0);
	share_enter(&s, 1);
	assert_string_equal(share_run(&s, 2, MI), "AB");
	for (unsigned i = 0; i < 1000; i++)
		share_charge(&s, 0, MI);
	assert_string_equal(share_run(&s, 5, MI), "BABAB");
	share_close(&s);
}

/* ---- who has the set ---- */

static void by_id_the_lowest_job_that_is_ready_is_served(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 3, BY_ID, END);
	s.m[0].job = 30;
	s.m[1].job = 20;
	s.m[2].job = 10;
	enter_set(&s, 0, 1);
	assert_string_equal(share_run(&s, 2, MI), "AA");
	enter_set(&s, 1, 1);
	assert_string_equal(share_run(&s, 2, MI), "BB");
	enter_set(&s, 2, 1);
	assert_string_equal(share_run(&s, 2, MI), "CC");
	share_leave(&s, 2, true);
	assert_string_equal(share_run(&s, 2, MI), "BB"); /* no grace: the paper never waits */
	share_close(&s);
}

static void by_phase_who_came_first_keeps_the_set(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 3, END);
	enter_set(&s, 2, 1);
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	assert_string_equal(share_run(&s, 20, MI), "CCCCCCCCCCCCCCCCCCCC");
	share_leave(&s, 2, true);
	assert_string_equal(share_run(&s, 4, MI), "AAAA");
	share_close(&s);
}

static void lend_serves_others_in_a_gap_and_gives_the_set_back(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	share_leave(&s, 0, true);
	assert_string_equal(share_run(&s, 2, MI), "BB");
	s.now += 99 * MSEC;
	share_enter(&s, 0);
	assert_string_equal(share_run(&s, 2, MI), "AA");
	share_close(&s);
}

static void after_the_grace_time_a_new_phase_begins(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	share_leave(&s, 0, true);
	s.now += 100 * MSEC;
	share_enter(&s, 0);
	assert_string_equal(share_run(&s, 2, MI), "BB");
	share_close(&s);
}

static void a_job_whose_order_policy_waits_is_still_in_its_phase(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	share_leave(&s, 0, false);
	s.now += 5 * SEC;
	share_enter(&s, 0);
	assert_string_equal(share_run(&s, 2, MI), "AA");
	share_close(&s);
}

static void hold_idle_keeps_the_set_for_one_that_pauses(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 3, HOLD_IDLE, END);
	s.now = SEC;
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	assert_string_equal(share_run(&s, 1, MI), "A");
	share_leave(&s, 0, true);
	assert_int_equal(share_pick(&s), -1);
	assert_int_equal(s.wake, SEC + 100 * MSEC);
	enter_set(&s, 2, 2); /* other sets go on */
	assert_string_equal(share_run(&s, 5, MI), "CCCCC");
	s.now += 99 * MSEC;
	share_enter(&s, 0);
	assert_string_equal(share_run(&s, 3, MI), "AAA");
	share_close(&s);
}

static void and_gives_it_up_when_the_phase_is_over(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 3, HOLD_IDLE, END);
	s.now = SEC;
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	enter_set(&s, 2, 1);
	share_leave(&s, 0, true);
	s.now += 50 * MSEC;
	assert_int_equal(share_pick(&s), -1);
	share_leave(&s, 1, true); /* does not have the set: nobody waits for it later */
	s.now += 50 * MSEC;
	assert_string_equal(share_run(&s, 2, MI), "CC");
	share_close(&s);
}

static void it_is_not_kept_from_one_whose_phase_began_earlier(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, HOLD_IDLE, END);
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	share_leave(&s, 0, false);
	s.now += 200 * MSEC;
	assert_string_equal(share_run(&s, 2, MI), "BB");
	share_leave(&s, 1, true);
	share_enter(&s, 0);
	assert_string_equal(share_run(&s, 2, MI), "AA");
	share_close(&s);
}

static void nor_for_one_that_did_not_have_it(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 3, HOLD_IDLE, END);
	for (uint32_t i = 0; i < 3; i++)
		enter_set(&s, i, 1);
	share_leave(&s, 1, true);
	s.m[0].period_ns = 1000 * SEC; /* A, who has it, moves to another */
	share_update(&s, 0);
	assert_string_equal(share_run(&s, 2, MI), "CC");
	share_close(&s);
}

static void it_is_not_kept_for_a_job_that_is_gone_or_in_another_set(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, HOLD_IDLE, END);
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	share_leave(&s, 0, true);
	assert_int_equal(share_pick(&s), -1);
	s.m[0].period_ns = 1000 * SEC;
	share_update(&s, 0);
	assert_int_equal(share_pick(&s), 1);
	share_leave(&s, 1, true);
	enter_set(&s, 0, 1);
	share_leave(&s, 0, true);
	s.ops->forget(s.state, 0);
	share_enter(&s, 1);
	assert_int_equal(share_pick(&s), 1);
	share_close(&s);
}

/* ---- starvation ---- */

static void who_waited_too_long_has_the_set_for_a_while(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, { "max_exclusive_ms", INT64_C(1000) }, END);
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	s.now = 999 * MSEC;
	assert_string_equal(share_run(&s, 3, MI), "AAA");
	s.now = 1000 * MSEC;
	assert_string_equal(share_run(&s, 3, MI), "BBB");
	s.now = 1999 * MSEC;
	assert_string_equal(share_run(&s, 3, MI), "BBB");
	s.now = 2000 * MSEC;
	assert_string_equal(share_run(&s, 3, MI), "AAA");
	s.now = 2999 * MSEC;
	assert_string_equal(share_run(&s, 1, MI), "B");
	share_leave(&s, 1, true);
	share_enter(&s, 1); /* not ready for a moment: its time is over */
	assert_string_equal(share_run(&s, 1, MI), "A");
	share_close(&s);
}

static void and_does_not_lose_that_when_its_order_policy_waits(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 3, { "max_exclusive_ms", INT64_C(1000) }, END);
	enter_set(&s, 0, 0);
	enter_set(&s, 1, 0);
	s.now = 500 * MSEC;
	enter_set(&s, 2, 0);
	assert_string_equal(share_run(&s, 2, KI), "AA");
	s.now = SEC;
	assert_int_equal(share_pick(&s), 1);
	share_leave(&s, 1, false); /* its time has come, and it has no good batch */
	assert_string_equal(share_run(&s, 2, KI), "AA");
	s.now = SEC + MSEC;
	share_enter(&s, 1);
	assert_string_equal(share_run(&s, 2, KI), "BB");
	share_leave(&s, 1, false);
	s.now = 1500 * MSEC;
	share_enter(&s, 1); /* it has been served: C waits for longer */
	assert_string_equal(share_run(&s, 2, KI), "CC");
	share_close(&s);
}

static void also_while_the_set_is_kept_idle(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, HOLD_IDLE, { "max_exclusive_ms", INT64_C(150) }, END);
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	s.now = 100 * MSEC;
	share_leave(&s, 0, true);
	assert_int_equal(share_pick(&s), -1);
	assert_int_equal(s.wake, 150 * MSEC);
	s.now = 150 * MSEC;
	assert_string_equal(share_run(&s, 3, MI), "BBB");
	share_close(&s);
}

/*
 * n lanes that always want to send: each is served again within n times 20 ms and the time until
 * its set has a turn, 10 batches of 1 ms of the other.
 */
static void everybody_in_a_set_is_served_within_the_bound(void **state)
{
	sl_time last[LANES];
	struct share s;

	(void)state;
	for (int64_t by_id = 0; by_id < 2; by_id++) {
		share_open(&s, &sl_share_io_sets, LANES, { "exclusive", by_id },
			   { "max_exclusive_ms", INT64_C(20) }, END);
		memset(last, 0, sizeof(last));
		for (uint32_t i = 0; i < LANES; i++)
			enter_set(&s, i, (int)(i % 2)); /* two sets */
		for (unsigned i = 0; i < 20000; i++) {
			last[share_serve(&s, MI)] = s.now;
			for (uint32_t j = 0; j < LANES; j++)
				check(&s, s.now - last[j] <= LANES / 2 * (20 + 11) * MSEC);
			s.now += (sl_time)rnd_below(&s, MSEC);
		}
		share_close(&s);
	}
}

/* ---- live changes ---- */

static void a_changed_period_moves_a_ready_lane_to_another_set(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	assert_string_equal(share_run(&s, 4, MI), "AAAA");
	s.m[1].period_ns = 100 * SEC;
	share_update(&s, 1);
	assert_string_equal(share_run(&s, 11, MI), "BAAAAAAAAAA"); /* it had nothing yet */
	assert_string_equal(share_run(&s, 11, MI), "BAAAAAAAAAA");
	s.m[1].period_ns = 12 * SEC;
	share_update(&s, 1);
	assert_string_equal(share_run(&s, 11, MI), "AAAAAAAAAAA");
	s.m[0].period_ns = 0; /* unknown again: 1/50 against 1/10 */
	s.m[0].job = PLAIN;
	share_update(&s, 0);
	assert_string_equal(share_run(&s, 12, MI), "ABBBBBABBBBB");
	share_close(&s);
}

static void a_slightly_changed_period_changes_nothing(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, { "max_exclusive_ms", INT64_C(1000) }, END);
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	for (unsigned i = 0; i < 100; i++) {
		s.now += 10 * MSEC;
		s.m[1].period_ns = 10 * SEC + (sl_time)i;
		share_update(&s, 1);
		if (i < 99)
			assert_string_equal(share_run(&s, 1, MI), "A");
	}
	assert_string_equal(share_run(&s, 1, MI), "B"); /* it has waited all the time */
	share_close(&s);
}

static void a_lane_that_is_away_comes_back_to_its_new_set(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 2, END);
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	share_leave(&s, 1, true);
	s.m[1].period_ns = SEC;
	share_update(&s, 1);
	share_enter(&s, 1);
	assert_string_equal(share_run(&s, 11, MI), "BBBBBBBBBBA");
	share_close(&s);
}

static void a_new_job_on_a_used_lane_number_starts_afresh(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 3, END);
	enter_set(&s, 0, 1);
	enter_set(&s, 1, 1);
	share_leave(&s, 0, false);
	s.ops->forget(s.state, 0);
	enter_set(&s, 0, 1);
	assert_string_equal(share_run(&s, 2, MI), "BB"); /* the ticket is not inherited */
	share_leave(&s, 0, true);
	share_leave(&s, 1, true);
	s.m[0].period_ns = s.m[1].period_ns = 0;
	s.m[0].job = s.m[1].job = PLAIN;
	share_enter(&s, 0);
	share_enter(&s, 1);
	assert_string_equal(share_run(&s, 1, 4 * MI), "A");
	assert_string_equal(share_run(&s, 1, MI), "B");
	share_leave(&s, 0, true);
	s.ops->forget(s.state, 0);
	share_enter(&s, 0);
	assert_string_equal(share_run(&s, 5, MI), "AABAB"); /* nor the debt */
	share_close(&s);
}

/* ---- random ---- */

/* Sets of the random lanes, as indices of period_of. */
#define LOWEST	7
#define HIGHEST 12

struct model {
	int set[LANES]; /* -1: unknown */
	uint64_t ticket[LANES];
	sl_time left[LANES];
	bool kept[LANES];
	uint64_t tickets;
	/* While the same sets are present: bytes of each, and how their shares differ. */
	uint32_t present;
	uint64_t bytes[19];
	__int128 least[19][19], most[19][19];
};

static void model_present(const struct share *s, struct model *o)
{
	uint32_t present = 0;

	for (uint32_t i = 0; i < s->lanes; i++)
		if (s->ready[i])
			present |= 1U << (o->set[i] < 0 ? 31 : o->set[i]);
	if (present == o->present)
		return;
	o->present = present;
	memset(o->bytes, 0, sizeof(o->bytes));
	memset(o->least, 0, sizeof(o->least));
	memset(o->most, 0, sizeof(o->most));
}

/*
 * Bytes over priority of two sets stay within a turn and a batch of each other. The turn may be
 * one of before, when a smaller priority was present: what it gave to one set must be evened out.
 */
static void model_shares(const struct share *s, struct model *o, uint64_t largest)
{
	__int128 turn = (__int128)MI * period_of[HIGHEST];

	for (unsigned i = 0; i < 19; i++)
		for (unsigned j = i + 1; j < 19; j++) {
			__int128 d = (__int128)o->bytes[i] * period_of[i] -
				     (__int128)o->bytes[j] * period_of[j];

			if (!(o->present >> i & 1) || !(o->present >> j & 1))
				continue;
			if (d < o->least[i][j])
				o->least[i][j] = d;
			if (d > o->most[i][j])
				o->most[i][j] = d;
			check(s,
			      o->most[i][j] - o->least[i][j] <=
				      2 * turn + (__int128)largest * (period_of[i] + period_of[j]));
		}
}

static void model_enter(struct share *s, struct model *o, uint32_t lane, bool by_id)
{
	if (by_id)
		o->ticket[lane] = s->m[lane].job;
	else if (!o->ticket[lane] || (!o->kept[lane] && s->now - o->left[lane] >= 100 * MSEC))
		o->ticket[lane] = ++o->tickets;
	share_enter(s, lane);
}

static void lanes_come_and_go(bool by_id, unsigned run)
{
	static struct model o;
	struct share s;

	memset(&o, 0, sizeof(o));
	share_open(&s, &sl_share_io_sets, LANES, { "exclusive", (int64_t)by_id }, FAR, END);
	s.random += run;
	for (uint32_t i = 0; i < LANES; i++)
		o.set[i] = -1;
	for (unsigned op = 0; op < 60000; op++) {
		uint32_t lane = (uint32_t)rnd_below(&s, LANES);
		unsigned what = (unsigned)rnd_below(&s, 64);
		uint64_t bytes;
		int64_t chosen;

		s.now += (sl_time)rnd_below(&s, 5 * MSEC);
		if (what < 3 && s.ready[lane]) {
			o.kept[lane] = rnd_below(&s, 4) == 0;
			o.left[lane] = s.now;
			share_leave(&s, lane, !o.kept[lane]);
			if (rnd_below(&s, 8) == 0) {
				s.ops->forget(s.state, lane);
				o.ticket[lane] = 0;
				o.kept[lane] = false;
				s.m[lane].job += LANES;
			}
		} else if (what < 3) {
			model_enter(&s, &o, lane, by_id);
		} else if (what == 3) {
			o.set[lane] = LOWEST + (int)rnd_below(&s, HIGHEST - LOWEST + 1);
			if (rnd_below(&s, 5) == 0)
				o.set[lane] = -1;
			s.m[lane].period_ns = o.set[lane] < 0 ? 0 : period_of[o.set[lane]];
			share_update(&s, lane);
		}
		model_present(&s, &o);
		chosen = share_pick(&s);
		check(&s, (chosen < 0) == !o.present);
		if (chosen < 0)
			continue;
		for (uint32_t i = 0; o.set[chosen] >= 0 && i < LANES; i++)
			if (s.ready[i] && o.set[i] == o.set[chosen])
				check(&s, o.ticket[chosen] <= o.ticket[i]);
		lane = (uint32_t)chosen;
		bytes = 1 + rnd_below(&s, 4 * MI);
		share_charge(&s, lane, bytes);
		if (o.set[lane] < 0)
			continue;
		o.bytes[o.set[lane]] += bytes;
		model_shares(&s, &o, 4 * MI);
	}
	share_close(&s);
}

static void random_lanes_by_phase_agree_with_a_plain_search(void **state)
{
	(void)state;
	for (unsigned run = 0; run < 4; run++)
		lanes_come_and_go(false, run);
}

static void random_lanes_by_id_agree_with_a_plain_search(void **state)
{
	(void)state;
	for (unsigned run = 0; run < 4; run++)
		lanes_come_and_go(true, 100 + run);
}

/* All that can happen, in any order: it must always choose someone who is ready, or say when. */
static void anything_goes_with_hold_idle_guarantees_and_short_limits(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, LANES, HOLD_IDLE, { "max_exclusive_ms", INT64_C(50) },
		   { "grace_ms", INT64_C(20) }, END);
	for (unsigned op = 0; op < 200000; op++) {
		uint32_t lane = (uint32_t)rnd_below(&s, LANES);
		unsigned ready = 0;

		s.now += (sl_time)rnd_below(&s, 2 * MSEC);
		if (rnd_below(&s, 8) == 0) {
			s.m[lane].period_ns = rnd_below(&s, 4) ? period_of[rnd_below(&s, 19)] : 0;
			share_update(&s, lane);
		}
		if (s.ready[lane])
			share_leave(&s, lane, rnd_below(&s, 2));
		else if (rnd_below(&s, 2))
			share_enter(&s, lane);
		else if (rnd_below(&s, 4) == 0)
			s.ops->forget(s.state, lane);
		for (uint32_t i = 0; i < LANES; i++) {
			ready += s.ready[i];
			if (s.ready[i] && rnd_below(&s, 32) == 0)
				share_charge(&s, i, 1 + rnd_below(&s, 64 * MI));
		}
		for (unsigned n = 0; n < 4; n++) {
			int64_t chosen = share_pick(&s);

			if (chosen >= 0)
				share_charge(&s, (uint32_t)chosen, 1 + rnd_below(&s, 64 * MI));
			else if (ready)
				check(&s, s.wake > s.now && s.wake <= s.now + 20 * MSEC);
			else
				check(&s, s.wake == SL_NEVER);
		}
	}
	share_close(&s);
}

static void ten_thousand_jobs_of_unknown_period_share_evenly(void **state)
{
	struct share s;

	(void)state;
	share_open(&s, &sl_share_io_sets, 10000, END);
	for (uint32_t i = 0; i < s.lanes; i++)
		share_enter(&s, i);
	for (unsigned i = 0; i < 320000; i++)
		share_serve(&s, 64 * KI);
	for (uint32_t i = 0; i < s.lanes; i++)
		assert_in_range(s.sent[i], MI, 3 * MI);
	share_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_requests_of_app1_go_before_those_of_app2),
		cmocka_unit_test(two_requests_of_app2_for_every_one_of_app1),
		cmocka_unit_test(neighbouring_sets_share_ten_to_one),
		cmocka_unit_test(six_orders_of_magnitude_are_a_million_to_one),
		cmocka_unit_test(credit_is_scaled_to_the_smallest_priority_present),
		cmocka_unit_test(sets_are_orders_of_magnitude_rounded_to_the_nearest),
		cmocka_unit_test(every_boundary_is_where_the_square_passes_a_power_of_ten),
		cmocka_unit_test(each_job_of_unknown_period_is_a_set_of_its_own),
		cmocka_unit_test(and_has_a_little_more_by_its_job_id),
		cmocka_unit_test(a_job_of_unknown_period_gains_nothing_by_being_idle),
		cmocka_unit_test(who_joins_them_within_a_round_does_not_catch_up),
		cmocka_unit_test(jobs_of_unknown_period_do_not_push_each_other_back),
		cmocka_unit_test(debt_is_carried_over_in_bytes),
		cmocka_unit_test(quantum_is_the_turn_of_the_smallest_priority),
		cmocka_unit_test(debt_of_many_rounds_does_not_take_many_steps),
		cmocka_unit_test(extreme_periods_and_lengths_do_not_overflow),
		cmocka_unit_test(what_a_set_leaves_is_lost_with_the_round),
		cmocka_unit_test(a_set_comes_back_to_its_turn_in_the_same_round),
		cmocka_unit_test(a_set_does_not_gain_by_pausing),
		cmocka_unit_test(what_a_guarantee_takes_costs_a_set_its_next_turn_and_no_more),
		cmocka_unit_test(and_never_brings_its_turn_forward),
		cmocka_unit_test(a_guarantee_of_a_job_of_unknown_period_likewise),
		cmocka_unit_test(by_id_the_lowest_job_that_is_ready_is_served),
		cmocka_unit_test(by_phase_who_came_first_keeps_the_set),
		cmocka_unit_test(lend_serves_others_in_a_gap_and_gives_the_set_back),
		cmocka_unit_test(after_the_grace_time_a_new_phase_begins),
		cmocka_unit_test(a_job_whose_order_policy_waits_is_still_in_its_phase),
		cmocka_unit_test(hold_idle_keeps_the_set_for_one_that_pauses),
		cmocka_unit_test(and_gives_it_up_when_the_phase_is_over),
		cmocka_unit_test(it_is_not_kept_from_one_whose_phase_began_earlier),
		cmocka_unit_test(nor_for_one_that_did_not_have_it),
		cmocka_unit_test(it_is_not_kept_for_a_job_that_is_gone_or_in_another_set),
		cmocka_unit_test(who_waited_too_long_has_the_set_for_a_while),
		cmocka_unit_test(and_does_not_lose_that_when_its_order_policy_waits),
		cmocka_unit_test(also_while_the_set_is_kept_idle),
		cmocka_unit_test(everybody_in_a_set_is_served_within_the_bound),
		cmocka_unit_test(a_changed_period_moves_a_ready_lane_to_another_set),
		cmocka_unit_test(a_slightly_changed_period_changes_nothing),
		cmocka_unit_test(a_lane_that_is_away_comes_back_to_its_new_set),
		cmocka_unit_test(a_new_job_on_a_used_lane_number_starts_afresh),
		cmocka_unit_test(random_lanes_by_phase_agree_with_a_plain_search),
		cmocka_unit_test(random_lanes_by_id_agree_with_a_plain_search),
		cmocka_unit_test(anything_goes_with_hold_idle_guarantees_and_short_limits),
		cmocka_unit_test(ten_thousand_jobs_of_unknown_period_share_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
