/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share/wfq: shares, their bound over random streams, what being away does to a lane, tags that
 * are moved back, anticipation. SL_SEED=number repeats a failure.
 */
#include "share-rig.h"

static void open_two(struct share *s, uint32_t a, uint32_t b)
{
	share_open(s, &sl_share_wfq, 4, END);
	s->m[0].weight = a;
	s->m[1].weight = b;
	share_enter(s, 0);
	share_enter(s, 1);
}

/* The example of wfq.c. */
static void weights_three_and_one_give_three_batches_to_one(void **state)
{
	struct share s;

	open_two(&s, 3, 1);
	assert_string_equal(share_run(&s, 14, 3 * MI), "ABAAABAAABAAAB");
	share_close(&s);
}

static void bytes_are_shared_not_batches(void **state)
{
	struct share s;

	open_two(&s, 1, 1);
	for (unsigned i = 0; i < 1000; i++) {
		int64_t lane = share_pick(&s);

		share_charge(&s, (uint32_t)lane, lane ? MI : 64 * KI);
	}
	assert_in_range(s.sent[0], s.sent[1] - MI, s.sent[1] + MI);
	share_close(&s);
}

/* The remainder of bytes * 2^20 / weight is kept: without it, B would be off by percents. */
static void shares_are_exact_in_the_long_run_at_a_million_to_one(void **state)
{
	struct share s;
	unsigned b = 0;

	open_two(&s, SL_MAX_WEIGHT, 1);
	for (unsigned i = 0; i < 4000004; i++)
		b += share_serve(&s, 1) == 1;
	assert_int_equal(b, 4);
	share_close(&s);
}

static void remainders_add_up_to_whole_tags(void **state)
{
	struct share s;

	/* 2^20 / 999983 = 1.0486: rounded down, A would count 4.6 % less than it sends. */
	open_two(&s, 999983, 999983);
	for (unsigned i = 0; i < 100000; i++) {
		int64_t lane = share_pick(&s);

		share_charge(&s, (uint32_t)lane, lane ? 1000 : 1);
	}
	assert_in_range(s.sent[0], s.sent[1] - 1001, s.sent[1] + 1001);
	share_close(&s);
}

struct pair {
	__int128 least, most;
};

/*
 * |S_i / w_i - S_j / w_j| <= L (1/w_i + 1/w_j) in every interval in which i and j are ready: the
 * difference, counted from when both were ready, must not spread over more than that. In
 * integers: times w_i w_j. Tags are rounded down to 2^-20, hence the second term.
 */
static void run_and_check_the_bound(struct share *s, uint32_t n, uint64_t largest, bool come_and_go)
{
	struct pair p[LANES][LANES] = { 0 };
	__int128 base[LANES][LANES] = { 0 };

	for (unsigned op = 0; op < 20000; op++) {
		uint32_t lane = (uint32_t)rnd_below(s, n);
		int64_t chosen;

		if (come_and_go && rnd_below(s, 20) == 0) {
			if (s->ready[lane]) {
				share_leave(s, lane, true);
				continue;
			}
			share_enter(s, lane);
			for (uint32_t j = 0; j < n; j++) {
				uint32_t a = lane < j ? lane : j, b = lane < j ? j : lane;

				base[a][b] = (__int128)s->sent[a] * s->m[b].weight -
					     (__int128)s->sent[b] * s->m[a].weight;
				p[a][b] = (struct pair){ 0, 0 };
			}
		}
		chosen = share_pick(s);
		if (chosen < 0)
			continue;
		share_charge(s, (uint32_t)chosen, 1 + rnd_below(s, largest));
		for (uint32_t j = 0; j < n; j++) {
			uint32_t a = (uint32_t)chosen < j ? (uint32_t)chosen : j;
			uint32_t b = (uint32_t)chosen < j ? j : (uint32_t)chosen;
			__int128 wa = s->m[a].weight, wb = s->m[b].weight;
			__int128 d = s->sent[a] * wb - s->sent[b] * wa - base[a][b];

			if (a == b || !s->ready[j])
				continue;
			if (d < p[a][b].least)
				p[a][b].least = d;
			if (d > p[a][b].most)
				p[a][b].most = d;
			check(s, p[a][b].most - p[a][b].least <=
					 (__int128)largest * (wa + wb) + (wa * wb >> 19) + 1);
		}
	}
}

static void the_bound_holds_for_random_weights_and_sizes(void **state)
{
	for (unsigned round = 0; round < 24; round++) {
		uint64_t largest = round % 3 == 0 ? 4096 : round % 3 == 1 ? 16 * MI : SL_MAX_LENGTH;
		uint32_t n = round % 2 ? LANES : 3;
		struct share s;

		share_open(&s, &sl_share_wfq, LANES, END);
		s.random += round;
		for (uint32_t i = 0; i < n; i++) {
			/* Even over the orders of magnitude 1 .. 10^6. */
			static const uint32_t most[] = { 1, 10, 100, 1000, 10000, 100000, 1000000 };

			s.m[i].weight = 1 + (uint32_t)rnd_below(&s, most[rnd_below(&s, 7)]);
			share_enter(&s, i);
		}
		run_and_check_the_bound(&s, n, largest, round % 4 >= 2);
		share_close(&s);
	}
}

static void an_idle_lane_gains_nothing(void **state)
{
	struct share s;

	open_two(&s, 1, 1);
	assert_string_equal(share_run(&s, 2, MI), "AB");
	share_leave(&s, 1, true);
	assert_string_equal(share_run(&s, 8, MI), "AAAAAAAA");
	share_enter(&s, 1);
	assert_string_equal(share_run(&s, 6, MI), "BABABA");
	share_close(&s);
}

static void going_idle_does_not_wipe_out_what_was_sent(void **state)
{
	struct share s;

	open_two(&s, 1, 1);
	share_charge(&s, 0, 3 * MI);
	share_leave(&s, 0, true);
	share_enter(&s, 0);
	assert_string_equal(share_run(&s, 4, MI), "BBBA");
	share_close(&s);
}

static void a_lane_whose_order_policy_waits_makes_up_for_it(void **state)
{
	struct share s;

	open_two(&s, 1, 1);
	assert_string_equal(share_run(&s, 2, MI), "AB");
	share_leave(&s, 1, false);
	assert_string_equal(share_run(&s, 4, MI), "AAAA");
	share_enter(&s, 1);
	assert_string_equal(share_run(&s, 8, MI), "BBBBABAB"); /* 5 each: even, then A first */
	share_close(&s);
}

static void but_by_no_more_than_the_slack(void **state)
{
	struct share s;

	share_open(&s, &sl_share_wfq, 2, { "slack_bytes", (int64_t)(2 * MI) }, END);
	share_enter(&s, 0);
	share_enter(&s, 1);
	share_leave(&s, 1, false);
	share_run(&s, 100, MI); /* V is A's start tag, 99 MiB */
	share_enter(&s, 1);
	assert_string_equal(share_run(&s, 6, MI), "BBBABA"); /* from 97 to 100, A's next */
	share_close(&s);
}

/* A is chosen by its guarantee a thousand times while B is served a few times. */
static void a_guarantee_is_held_against_a_lane_only_within_the_slack(void **state)
{
	struct share s;
	unsigned b = 0;

	share_open(&s, &sl_share_wfq, 3, { "slack_bytes", (int64_t)(4 * MI) }, END);
	share_enter(&s, 0);
	share_enter(&s, 1);
	for (unsigned i = 0; i < 1000; i++)
		share_charge(&s, 0, MI);
	while (share_pick(&s) == 1) {
		share_charge(&s, 1, MI);
		b++;
	}
	assert_in_range(b, 4, 5);
	assert_string_equal(share_run(&s, 4, MI), "ABAB");
	share_close(&s);
}

static void a_newcomer_starts_with_the_last_not_with_the_one_ahead(void **state)
{
	struct share s;

	open_two(&s, 1, 1);
	for (unsigned i = 0; i < 10; i++)
		share_charge(&s, 0, MI);
	assert_string_equal(share_run(&s, 1, MI), "B");
	share_enter(&s, 2);
	assert_string_equal(share_run(&s, 4, MI), "CBCB");
	share_close(&s);
}

static void a_changed_weight_counts_from_the_next_batch_on(void **state)
{
	struct share s;

	open_two(&s, 1, 1);
	assert_string_equal(share_run(&s, 4, 3 * MI), "ABAB");
	s.m[0].weight = 3;
	share_update(&s, 0);
	assert_string_equal(share_run(&s, 8, 3 * MI), "ABAAABAA");
	share_close(&s);
}

static void a_new_job_on_a_used_lane_number_starts_afresh(void **state)
{
	struct share s;

	open_two(&s, 1, 1);
	share_charge(&s, 0, 8 * MI);
	share_leave(&s, 0, false);
	s.ops->forget(s.state, 0);
	assert_string_equal(share_run(&s, 2, MI), "BB");
	share_enter(&s, 0); /* at V, the start of B's last batch; not at 8 MiB */
	assert_string_equal(share_run(&s, 5, MI), "AABAB");
	share_close(&s);
}

/* 2^40 bytes at weight 1 are 2^60 of tag: one in four decisions would run into 2^62. */
static void shares_go_on_when_tags_are_moved_back(void **state)
{
	struct share s;
	char expected[201];

	open_two(&s, 3, 1);
	expected[0] = 'A';
	for (unsigned i = 1; i < 200; i++)
		expected[i] = i % 4 == 1 ? 'B' : 'A';
	expected[200] = '\0';
	assert_string_equal(share_run(&s, 200, SL_MAX_LENGTH), expected);
	/* Lanes that are away are moved as well: C was never there, B comes back. */
	share_leave(&s, 1, true);
	share_run(&s, 64, SL_MAX_LENGTH);
	share_enter(&s, 1);
	share_enter(&s, 2);
	share_leave(&s, 0, true);
	assert_string_equal(share_run(&s, 6, MI), "BCBCBC");
	share_close(&s);
}

static void open_anticipating(struct share *s)
{
	share_open(s, &sl_share_wfq, 3, { "anticipate_us", INT64_C(500) }, END);
	s->m[0].weight = 10;
	share_enter(s, 0);
	share_enter(s, 1);
	s->now = SEC;
	assert_string_equal(share_run(s, 2, MI), "AB");
	assert_string_equal(share_run(s, 1, MI), "A"); /* and its next tag is before B's */
	share_leave(s, 0, true);
}

static void the_device_is_kept_for_a_lane_that_just_went_idle(void **state)
{
	struct share s;

	open_anticipating(&s);
	assert_int_equal(share_pick(&s), -1);
	assert_int_equal(s.wake, SEC + 500000);
	s.now += 100000;
	share_enter(&s, 0);
	assert_string_equal(share_run(&s, 1, MI), "A");
	share_leave(&s, 0, true);
	assert_int_equal(share_pick(&s), -1);
	assert_int_equal(s.wake, SEC + 600000);
	share_close(&s);
}

static void but_not_longer_than_asked_for(void **state)
{
	struct share s;

	open_anticipating(&s);
	s.now += 499999;
	assert_int_equal(share_pick(&s), -1);
	s.now += 1;
	assert_string_equal(share_run(&s, 2, MI), "BB");
	assert_int_equal(s.wake, SL_NEVER);
	share_close(&s);
}

static void and_not_for_one_that_would_not_be_next(void **state)
{
	struct share s;

	open_anticipating(&s);
	share_enter(&s, 0);
	assert_string_equal(share_run(&s, 10, MI), "AAAAAAAAAB"); /* at 11/10, behind B's 1 */
	share_leave(&s, 1, true);
	assert_int_equal(share_pick(&s), 0); /* B, served last, is at 2 */
	share_close(&s);
}

/* B is served meanwhile, by its guarantee: then it is the last served, and B is ready. */
static void nor_once_another_was_served(void **state)
{
	struct share s;

	open_anticipating(&s);
	assert_int_equal(share_pick(&s), -1);
	share_charge(&s, 1, 1);
	assert_int_equal(share_pick(&s), 1);
	share_close(&s);
}

static void nor_for_one_that_is_gone(void **state)
{
	struct share s;

	open_anticipating(&s);
	s.ops->forget(s.state, 0);
	assert_int_equal(share_pick(&s), 1);
	share_close(&s);
}

static void without_anticipation_the_device_never_waits(void **state)
{
	struct share s;

	open_two(&s, 10, 1);
	assert_string_equal(share_run(&s, 3, MI), "ABA");
	share_leave(&s, 0, true);
	assert_int_equal(share_pick(&s), 1);
	share_leave(&s, 1, true);
	assert_int_equal(share_pick(&s), -1);
	assert_int_equal(s.wake, SL_NEVER);
	share_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_three_and_one_give_three_batches_to_one),
		cmocka_unit_test(bytes_are_shared_not_batches),
		cmocka_unit_test(shares_are_exact_in_the_long_run_at_a_million_to_one),
		cmocka_unit_test(remainders_add_up_to_whole_tags),
		cmocka_unit_test(the_bound_holds_for_random_weights_and_sizes),
		cmocka_unit_test(an_idle_lane_gains_nothing),
		cmocka_unit_test(going_idle_does_not_wipe_out_what_was_sent),
		cmocka_unit_test(a_lane_whose_order_policy_waits_makes_up_for_it),
		cmocka_unit_test(but_by_no_more_than_the_slack),
		cmocka_unit_test(a_guarantee_is_held_against_a_lane_only_within_the_slack),
		cmocka_unit_test(a_newcomer_starts_with_the_last_not_with_the_one_ahead),
		cmocka_unit_test(a_changed_weight_counts_from_the_next_batch_on),
		cmocka_unit_test(a_new_job_on_a_used_lane_number_starts_afresh),
		cmocka_unit_test(shares_go_on_when_tags_are_moved_back),
		cmocka_unit_test(the_device_is_kept_for_a_lane_that_just_went_idle),
		cmocka_unit_test(but_not_longer_than_asked_for),
		cmocka_unit_test(and_not_for_one_that_would_not_be_next),
		cmocka_unit_test(nor_once_another_was_served),
		cmocka_unit_test(nor_for_one_that_is_gone),
		cmocka_unit_test(without_anticipation_the_device_never_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
