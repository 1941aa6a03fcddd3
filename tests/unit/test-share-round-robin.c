/* SPDX-License-Identifier: Apache-2.0 */
/* share/round-robin: turns. SL_SEED=number repeats a failure. */
#include "share-rig.h"

static void lanes_take_turns_in_the_order_they_came(void **state)
{
	struct share s;

	share_open(&s, &sl_share_round_robin, 4, END);
	share_enter(&s, 2);
	share_enter(&s, 0);
	share_enter(&s, 1);
	assert_string_equal(share_run(&s, 7, MI), "CABCABC");
	share_close(&s);
}

/* The example of round-robin.c. */
static void a_lane_that_enters_goes_to_the_end(void **state)
{
	struct share s;

	share_open(&s, &sl_share_round_robin, 4, END);
	for (uint32_t i = 0; i < 3; i++)
		share_enter(&s, i);
	assert_string_equal(share_run(&s, 1, MI), "A");
	share_enter(&s, 3);
	assert_string_equal(share_run(&s, 6, MI), "BCADBC");
	share_close(&s);
}

static void one_batch_is_a_turn_whatever_its_size_and_weight(void **state)
{
	struct share s;

	share_open(&s, &sl_share_round_robin, 2, END);
	s.m[0].weight = SL_MAX_WEIGHT;
	share_enter(&s, 0);
	share_enter(&s, 1);
	share_update(&s, 0);
	assert_string_equal(share_run(&s, 1, SL_MAX_LENGTH), "A");
	assert_string_equal(share_run(&s, 1, 1), "B");
	assert_string_equal(share_run(&s, 4, MI), "ABAB");
	share_close(&s);
}

static void a_lane_whose_order_policy_waits_keeps_its_turn(void **state)
{
	struct share s;

	share_open(&s, &sl_share_round_robin, 3, END);
	for (uint32_t i = 0; i < 3; i++)
		share_enter(&s, i);
	share_leave(&s, 0, false);
	assert_string_equal(share_run(&s, 3, MI), "BCB");
	share_enter(&s, 0);
	assert_string_equal(share_run(&s, 4, MI), "ACBA"); /* at once, but once */
	share_close(&s);
}

static void a_lane_that_was_idle_does_not(void **state)
{
	struct share s;

	share_open(&s, &sl_share_round_robin, 3, END);
	for (uint32_t i = 0; i < 3; i++)
		share_enter(&s, i);
	share_leave(&s, 0, true);
	share_enter(&s, 0);
	assert_string_equal(share_run(&s, 3, MI), "BCA");
	share_close(&s);
}

static void a_lane_served_out_of_turn_has_had_its_turn(void **state)
{
	struct share s;

	share_open(&s, &sl_share_round_robin, 3, END);
	for (uint32_t i = 0; i < 3; i++)
		share_enter(&s, i);
	share_charge(&s, 1, MI);
	assert_string_equal(share_run(&s, 4, MI), "ACBA");
	share_close(&s);
}

static void a_new_job_on_a_used_lane_number_starts_afresh(void **state)
{
	struct share s;

	share_open(&s, &sl_share_round_robin, 2, END);
	share_enter(&s, 0);
	share_leave(&s, 0, false);
	s.ops->forget(s.state, 0);
	share_enter(&s, 1);
	share_enter(&s, 0);
	assert_string_equal(share_run(&s, 3, MI), "BAB");
	share_close(&s);
}

/* Between two services of a lane that is always ready, no other is served twice. */
static void nobody_is_served_twice_while_another_waits(void **state)
{
	unsigned since[LANES][LANES] = { 0 }; /* how often column was served while row waited */
	struct share s;

	share_open(&s, &sl_share_round_robin, LANES, END);
	for (unsigned op = 0; op < 50000; op++) {
		uint32_t lane = (uint32_t)rnd_below(&s, LANES);

		if (rnd_below(&s, 4)) {
			int64_t chosen = share_pick(&s);

			if (chosen < 0)
				continue;
			share_charge(&s, (uint32_t)chosen, 1);
			memset(since[chosen], 0, sizeof(since[0]));
			for (uint32_t i = 0; i < LANES; i++)
				if (s.ready[i] && i != chosen)
					check(&s, ++since[i][chosen] <= 1);
		} else if (s.ready[lane]) {
			share_leave(&s, lane, true);
		} else {
			memset(since[lane], 0, sizeof(since[0]));
			share_enter(&s, lane);
		}
	}
	share_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_take_turns_in_the_order_they_came),
		cmocka_unit_test(a_lane_that_enters_goes_to_the_end),
		cmocka_unit_test(one_batch_is_a_turn_whatever_its_size_and_weight),
		cmocka_unit_test(a_lane_whose_order_policy_waits_keeps_its_turn),
		cmocka_unit_test(a_lane_that_was_idle_does_not),
		cmocka_unit_test(a_lane_served_out_of_turn_has_had_its_turn),
		cmocka_unit_test(a_new_job_on_a_used_lane_number_starts_afresh),
		cmocka_unit_test(nobody_is_served_twice_while_another_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
