/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share/io-sets between sets: the paper's figures, which period makes which set, turns, debt and
 * guarantees. Who is served inside a set: test-share-io-sets-exclusive.c.
 */
#include "io-sets-rig.h"

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
	struct share *s = *state;
	unsigned left[] = { 3, 2 };
	char order[6] = "";

	open_lanes(s, 2, BY_REQUESTS, BY_ID, END);
	enter_set(s, 1, 1); /* came first, but has the higher id */
	enter_set(s, 0, 1);
	for (unsigned i = 0; i < 5; i++) {
		uint32_t lane = share_serve(s, 4096);

		order[i] = (char)('1' + lane);
		if (!--left[lane])
			share_leave(s, lane, true);
	}
	assert_string_equal(order, "11122");
}

/*
 * Figure 3: APP2 (B) has twice the priority of APP1 (A), so two of its requests are processed for
 * every one of APP1. Sets of known period differ by powers of ten; 1/50, unknown, is twice 1/100.
 */
static void two_requests_of_app2_for_every_one_of_app1(void **state)
{
	struct share *s = *state;

	open_lanes(s, 2, BY_REQUESTS, END);
	enter_set(s, 0, 2);
	enter_plain(s, 1);
	expect(s, MI, "BBABBABBABBA");
}

static void neighbouring_sets_share_ten_to_one(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(1, 2), BY_REQUESTS, END);
	expect(s, 4096, "AAAAAAAAAABAAAAAAAAAABAAAAAAAAAAB");
}

static void six_orders_of_magnitude_are_a_million_to_one(void **state)
{
	struct share *s = *state;
	unsigned served[2];

	open_sets(s, SETS(0, 6), END);
	count(s, 101, MI, served); /* the first turn is cut to 100 */
	assert_int_equal(served[0], 100);
	for (unsigned i = 0; i < 2; i++) {
		count(s, 1000001, MI, served);
		assert_int_equal(served[0], 1000000);
	}
	assert_int_equal(s->sent[1], 3 * MI);
}

/* The example of io-sets.c: one job of period 19.2 s, 15 of 384 s, then one of unknown period. */
static void credit_is_scaled_to_the_smallest_priority_present(void **state)
{
	struct share *s = *state;
	unsigned served[17];

	open_lanes(s, 17, FAR, END);
	s->m[0].period_ns = 19200 * MSEC;
	share_enter(s, 0);
	for (uint32_t i = 1; i < 16; i++) {
		s->m[i].period_ns = 384 * SEC;
		share_enter(s, i);
	}
	count(s, 101, MI, served);
	assert_int_equal(served[0], 100);
	assert_int_equal(served[1], 1);
	enter_plain(s, 16);
	count(s, 20, MI, served); /* its turn in the round that is just over for the others */
	assert_int_equal(served[16], 20);
	for (unsigned i = 0; i < 3; i++) {
		count(s, 121, MI, served);
		assert_int_equal(served[0], 100);
		assert_int_equal(served[16], 20);
		assert_int_equal(served[1], 1);
	}
	/* In the middle of A's 100, all of S3 leave: now 5 to 1, at once. */
	count(s, 40, MI, served);
	assert_int_equal(served[0], 40);
	for (uint32_t i = 1; i < 16; i++)
		share_leave(s, i, true);
	count(s, 60, MI, served);
	assert_in_range(served[16], 10, 20);
	count(s, 60, MI, served);
	assert_int_equal(served[0], 50);
	assert_int_equal(served[16], 10);
}

/* Whether two periods make one set: by id, one set serves A alone. */
static bool one_set(sl_time a, sl_time b)
{
	unsigned served[2];
	struct share s;

	open_lanes(&s, 2, BY_REQUESTS, BY_ID, FAR, END);
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
	struct share *s = *state;

	open_lanes(s, 3, END);
	for (uint32_t i = 0; i < 3; i++)
		enter_plain(s, i);
	expect(s, MI, "ABCABCABC");
	expect(s, MI / 2, "AABBCCAAB"); /* a turn is a quantum */
}

/* 20,010,006 to 20,000,000. */
static void and_has_a_little_more_by_its_job_id(void **state)
{
	struct share *s = *state;
	unsigned served[2];

	open_lanes(s, 2, END);
	s->m[0].job = PLAIN;
	s->m[1].job = PLAIN - 1;
	share_enter(s, 0);
	share_enter(s, 1);
	count(s, 200000, 64 * KI, served);
	assert_in_range(served[1] - served[0], 49 - 16, 49 + 16); /* within a turn */
}

static void a_job_of_unknown_period_gains_nothing_by_being_idle(void **state)
{
	struct share *s = *state;

	open_lanes(s, 2, END);
	share_enter(s, 0);
	share_enter(s, 1);
	expect(s, MI, "AB");
	share_leave(s, 1, true);
	share_run(s, 100, MI);
	share_enter(s, 1);
	expect(s, MI, "BABABA");
}

/* With A in S3 their turns are 20 quanta, which they take one by one. */
static void who_joins_them_within_a_round_does_not_catch_up(void **state)
{
	struct share *s = *state;

	open_lanes(s, 3, END);
	enter_set(s, 0, 3);
	enter_plain(s, 1);
	expect(s, MI, "BBBBBBBBBB");
	enter_plain(s, 2);
	expect(s, MI, "CBCBCB");
}

/* C comes and goes all the time, B sends 4 MiB at once: neither gets less than a fifth of A. */
static void jobs_of_unknown_period_do_not_push_each_other_back(void **state)
{
	struct share *s = *state;

	open_lanes(s, 3, END);
	enter_set(s, 0, 1);
	enter_plain(s, 1);
	for (unsigned i = 0; i < 20000; i++) {
		int64_t lane;

		if (!s->ready[2] && rnd_below(s, 4) == 0)
			enter_plain(s, 2);
		lane = share_pick(s);
		share_charge(s, (uint32_t)lane, lane == 1 ? 4 * MI : 64 * KI);
		if (lane == 2)
			share_leave(s, 2, true);
	}
	check(s, s->sent[1] + 6 * MI > s->sent[0] / 5 && s->sent[1] < s->sent[0] / 5 + 6 * MI);
	check(s, s->sent[2] < s->sent[0] / 5 + 2 * MI);
}

/* ---- turns ---- */

/* A sends 3 MiB at a time, B 5 MiB, quantum 1 MiB: 10 to 1 in bytes all the same. */
static void debt_is_carried_over_in_bytes(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(0, 1), END);
	for (unsigned i = 0; i < 10000; i++) {
		int64_t lane = share_pick(s);
		uint64_t a, b;

		share_charge(s, (uint32_t)lane, lane ? 5 * MI : 3 * MI);
		a = s->sent[0] / MI;
		b = s->sent[1] / MI * 10;
		assert_true(a <= b + 10 + 3 && b <= a + 10 + 50);
	}
}

static void quantum_is_the_turn_of_the_smallest_priority(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(0, 1), { "quantum_bytes", (int64_t)(2 * MI) }, END);
	expect(s, MI, "AAAAAAAAAAAAAAAAAAAABB");
}

/* 2^40 bytes on a quantum of 4 KiB are 2^28 rounds of debt. */
static void debt_of_many_rounds_does_not_take_many_steps(void **state)
{
	struct share *s = *state;
	unsigned served[4];

	open_lanes(s, 4, { "quantum_bytes", INT64_C(4096) }, END);
	enter_set(s, 0, 0);
	enter_set(s, 1, 1);
	enter_plain(s, 2);
	enter_plain(s, 3);
	count(s, 54000, SL_MAX_LENGTH, served);
	/* 1 : .1 : .02 : .02, sum 1.14 */
	assert_in_range(served[0], 47368 - 10, 47368 + 10);
	assert_in_range(served[1], 4737 - 2, 4737 + 2);
	assert_in_range(served[2], 947 - 2, 947 + 2);
	assert_in_range(served[3], 947 - 2, 947 + 2);
}

static void extreme_periods_and_lengths_do_not_overflow(void **state)
{
	struct share *s = *state;
	unsigned served[3];

	open_lanes(s, 3, END);
	enter_set(s, 2, 9);
	count(s, 1000, SL_MAX_LENGTH, served);
	assert_int_equal(served[2], 1000);
	enter_set(s, 0, -9);
	enter_set(s, 1, -8);
	count(s, 11000, SL_MAX_LENGTH, served);
	assert_in_range(served[0], 9990, 10010);
	assert_int_equal(served[2], 0);
}

static void what_a_set_leaves_is_lost_with_the_round(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(0, 1), END);
	expect(s, MI, "AA");
	share_leave(s, 0, true); /* with 8 left */
	expect(s, MI, "BBB");
	share_enter(s, 0);
	expect(s, MI, "AAAAAAAAAA"); /* B has had its turn, 10 to 1 */
	expect(s, MI, "AAAAAAAAAABAAAAAAAAAAB");
}

/* A has one request at a time; B, always there, must not use up its quantum in each gap. */
static void a_set_comes_back_to_its_turn_in_the_same_round(void **state)
{
	struct share *s = *state;

	open_lanes(s, 2, END);
	enter_set(s, 1, 1);
	for (unsigned i = 0; i < 2000; i++) {
		enter_set(s, 0, 0);
		expect(s, 36 * KI, "A");
		share_leave(s, 0, true);
		expect(s, 4 * KI, "B");
	}
}

/* B pauses after each turn. While it is away A alone makes p_min, but B's turn is not forgotten. */
static void a_set_does_not_gain_by_pausing(void **state)
{
	struct share *s = *state;
	unsigned b = 0;

	open_lanes(s, 2, END);
	enter_set(s, 0, 0);
	for (unsigned i = 0; i < 11000; i++) {
		if (!s->ready[1] && i % 3 == 0)
			enter_set(s, 1, 1);
		if (share_serve(s, MI) == 1) {
			b++;
			share_leave(s, 1, true);
		}
	}
	assert_in_range(b, 900, 1010);
}

/* A's guarantee takes far more than the share of its set. */
static void what_a_guarantee_takes_costs_a_set_its_next_turn_and_no_more(void **state)
{
	struct share *s = *state;
	unsigned served[3];

	open_lanes(s, 3, FAR, END);
	enter_set(s, 1, 1); /* B has the set of A */
	enter_set(s, 0, 1);
	enter_set(s, 2, 1 + 1);
	count(s, 110, MI, served);
	assert_int_equal(served[1], 100);
	for (unsigned i = 0; i < 1000; i++)
		share_charge(s, 0, MI);
	count(s, 12, MI, served);
	assert_in_range(served[2], 1, 2);
	/* And within what the turn is worth it is paid back: 5 of A, then only 5 of B. */
	count(s, 110, MI, served);
	for (unsigned i = 0; i < 5; i++)
		share_charge(s, 0, MI);
	count(s, 105, MI, served);
	assert_in_range(served[1], 94, 96);
}

static void and_never_brings_its_turn_forward(void **state)
{
	struct share *s = *state;
	unsigned served[2];

	open_sets(s, SETS(0, 6), END);
	count(s, 101, MI, served);
	assert_int_equal(served[1], 1); /* and is a million behind now */
	share_charge(s, 1, MI);
	count(s, 1000, MI, served);
	assert_int_equal(served[1], 0);
}

static void a_guarantee_of_a_job_of_unknown_period_likewise(void **state)
{
	struct share *s = *state;

	open_lanes(s, 2, END);
	enter_plain(s, 0);
	enter_plain(s, 1);
	expect(s, MI, "AB");
	for (unsigned i = 0; i < 1000; i++)
		share_charge(s, 0, MI);
	expect(s, MI, "BABAB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(all_requests_of_app1_go_before_those_of_app2),
		CASE(two_requests_of_app2_for_every_one_of_app1),
		CASE(neighbouring_sets_share_ten_to_one),
		CASE(six_orders_of_magnitude_are_a_million_to_one),
		CASE(credit_is_scaled_to_the_smallest_priority_present),
		cmocka_unit_test(sets_are_orders_of_magnitude_rounded_to_the_nearest),
		cmocka_unit_test(every_boundary_is_where_the_square_passes_a_power_of_ten),
		CASE(each_job_of_unknown_period_is_a_set_of_its_own),
		CASE(and_has_a_little_more_by_its_job_id),
		CASE(a_job_of_unknown_period_gains_nothing_by_being_idle),
		CASE(who_joins_them_within_a_round_does_not_catch_up),
		CASE(jobs_of_unknown_period_do_not_push_each_other_back),
		CASE(debt_is_carried_over_in_bytes),
		CASE(quantum_is_the_turn_of_the_smallest_priority),
		CASE(debt_of_many_rounds_does_not_take_many_steps),
		CASE(extreme_periods_and_lengths_do_not_overflow),
		CASE(what_a_set_leaves_is_lost_with_the_round),
		CASE(a_set_comes_back_to_its_turn_in_the_same_round),
		CASE(a_set_does_not_gain_by_pausing),
		CASE(what_a_guarantee_takes_costs_a_set_its_next_turn_and_no_more),
		CASE(and_never_brings_its_turn_forward),
		CASE(a_guarantee_of_a_job_of_unknown_period_likewise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
