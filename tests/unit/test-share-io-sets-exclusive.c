/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share/io-sets inside a set: who has it, by id and by phase, while it pauses, how long others wait
 * for it at the most; and what a live change of a period does.
 */
#include "io-sets-rig.h"

/* ---- who has the set ---- */

static void by_id_the_lowest_job_that_is_ready_is_served(void **state)
{
	struct share *s = *state;

	open_lanes(s, 3, BY_ID, END);
	s->m[0].job = 30;
	s->m[1].job = 20;
	s->m[2].job = 10;
	enter_set(s, 0, 1);
	expect(s, MI, "AA");
	enter_set(s, 1, 1);
	expect(s, MI, "BB");
	enter_set(s, 2, 1);
	expect(s, MI, "CC");
	share_leave(s, 2, true);
	expect(s, MI, "BB"); /* no grace: the paper never waits */
}

static void by_phase_who_came_first_keeps_the_set(void **state)
{
	struct share *s = *state;

	open_lanes(s, 3, END);
	enter_set(s, 2, 1);
	enter_set(s, 0, 1);
	enter_set(s, 1, 1);
	expect(s, MI, "CCCCCCCCCCCCCCCCCCCC");
	share_leave(s, 2, true);
	expect(s, MI, "AAAA");
}

static void lend_serves_others_in_a_gap_and_gives_the_set_back(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(1, 1), END);
	share_leave(s, 0, true);
	expect(s, MI, "BB");
	s->now += 99 * MSEC;
	share_enter(s, 0);
	expect(s, MI, "AA");
}

static void after_the_grace_time_a_new_phase_begins(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(1, 1), END);
	share_leave(s, 0, true);
	s->now += 100 * MSEC;
	share_enter(s, 0);
	expect(s, MI, "BB");
}

static void a_job_whose_order_policy_waits_is_still_in_its_phase(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(1, 1), END);
	share_leave(s, 0, false);
	s->now += 5 * SEC;
	share_enter(s, 0);
	expect(s, MI, "AA");
}

static void hold_idle_keeps_the_set_for_one_that_pauses(void **state)
{
	struct share *s = *state;

	open_lanes(s, 3, HOLD_IDLE, END);
	s->now = SEC;
	enter_set(s, 0, 1);
	enter_set(s, 1, 1);
	expect(s, MI, "A");
	share_leave(s, 0, true);
	assert_int_equal(share_pick(s), -1);
	assert_int_equal(s->wake, SEC + 100 * MSEC);
	enter_set(s, 2, 2); /* other sets go on */
	expect(s, MI, "CCCCC");
	s->now += 99 * MSEC;
	share_enter(s, 0);
	expect(s, MI, "AAA");
}

static void and_gives_it_up_when_the_phase_is_over(void **state)
{
	struct share *s = *state;

	open_lanes(s, 3, HOLD_IDLE, END);
	s->now = SEC;
	enter_set(s, 0, 1);
	enter_set(s, 1, 1);
	enter_set(s, 2, 1);
	share_leave(s, 0, true);
	s->now += 50 * MSEC;
	assert_int_equal(share_pick(s), -1);
	share_leave(s, 1, true); /* does not have the set: nobody waits for it later */
	s->now += 50 * MSEC;
	expect(s, MI, "CC");
}

static void it_is_not_kept_from_one_whose_phase_began_earlier(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(1, 1), HOLD_IDLE, END);
	share_leave(s, 0, false);
	s->now += 200 * MSEC;
	expect(s, MI, "BB");
	share_leave(s, 1, true);
	share_enter(s, 0);
	expect(s, MI, "AA");
}

static void nor_for_one_that_did_not_have_it(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(1, 1, 1), HOLD_IDLE, END);
	share_leave(s, 1, true);
	change_period(s, 0, 1000 * SEC); /* A, who has it, moves to another */
	expect(s, MI, "CC");
}

static void it_is_not_kept_for_a_job_that_is_gone_or_in_another_set(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(1, 1), HOLD_IDLE, END);
	share_leave(s, 0, true);
	assert_int_equal(share_pick(s), -1);
	change_period(s, 0, 1000 * SEC);
	assert_int_equal(share_pick(s), 1);
	share_leave(s, 1, true);
	enter_set(s, 0, 1);
	share_leave(s, 0, true);
	s->ops->forget(s->state, 0);
	share_enter(s, 1);
	assert_int_equal(share_pick(s), 1);
}

/* ---- starvation ---- */

static void who_waited_too_long_has_the_set_for_a_while(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(1, 1), LIMIT_MS(1000), END);
	s->now = 999 * MSEC;
	expect(s, MI, "AAA");
	s->now = 1000 * MSEC;
	expect(s, MI, "BBB");
	s->now = 1999 * MSEC;
	expect(s, MI, "BBB");
	s->now = 2000 * MSEC;
	expect(s, MI, "AAA");
	s->now = 2999 * MSEC;
	expect(s, MI, "B");
	share_leave(s, 1, true);
	share_enter(s, 1); /* not ready for a moment: its time is over */
	expect(s, MI, "A");
}

static void and_does_not_lose_that_when_its_order_policy_waits(void **state)
{
	struct share *s = *state;

	open_lanes(s, 3, LIMIT_MS(1000), END);
	enter_set(s, 0, 0);
	enter_set(s, 1, 0);
	s->now = 500 * MSEC;
	enter_set(s, 2, 0);
	expect(s, KI, "AA");
	s->now = SEC;
	assert_int_equal(share_pick(s), 1);
	share_leave(s, 1, false); /* its time has come, and it has no good batch */
	expect(s, KI, "AA");
	s->now = SEC + MSEC;
	share_enter(s, 1);
	expect(s, KI, "BB");
	share_leave(s, 1, false);
	s->now = 1500 * MSEC;
	share_enter(s, 1); /* it has been served: C waits for longer */
	expect(s, KI, "CC");
}

static void also_while_the_set_is_kept_idle(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(1, 1), HOLD_IDLE, LIMIT_MS(150), END);
	s->now = 100 * MSEC;
	share_leave(s, 0, true);
	assert_int_equal(share_pick(s), -1);
	assert_int_equal(s->wake, 150 * MSEC);
	s->now = 150 * MSEC;
	expect(s, MI, "BBB");
}

/*
 * n lanes that always want to send: each is served again within n times 20 ms and the time until
 * its set has a turn, 10 batches of 1 ms of the other.
 */
static void everybody_in_a_set_is_served_within_the_bound(void **state)
{
	sl_time last[LANES];
	struct share s;

	for (int64_t by_id = 0; by_id < 2; by_id++) {
		open_lanes(&s, LANES, { "exclusive", by_id }, LIMIT_MS(20), END);
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
	struct share *s = *state;

	open_sets(s, SETS(1, 1), END);
	expect(s, MI, "AAAA");
	change_period(s, 1, 100 * SEC);
	expect(s, MI, "BAAAAAAAAAA"); /* it had nothing yet */
	expect(s, MI, "BAAAAAAAAAA");
	change_period(s, 1, 12 * SEC);
	expect(s, MI, "AAAAAAAAAAA");
	s->m[0].period_ns = 0; /* unknown again: 1/50 against 1/10 */
	s->m[0].job = PLAIN;
	share_update(s, 0);
	expect(s, MI, "ABBBBBABBBBB");
}

static void a_slightly_changed_period_changes_nothing(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(1, 1), LIMIT_MS(1000), END);
	for (unsigned i = 0; i < 100; i++) {
		s->now += 10 * MSEC;
		change_period(s, 1, 10 * SEC + (sl_time)i);
		if (i < 99)
			expect(s, MI, "A");
	}
	expect(s, MI, "B"); /* it has waited all the time */
}

static void a_lane_that_is_away_comes_back_to_its_new_set(void **state)
{
	struct share *s = *state;

	open_sets(s, SETS(1, 1), END);
	share_leave(s, 1, true);
	change_period(s, 1, SEC);
	share_enter(s, 1);
	expect(s, MI, "BBBBBBBBBBA");
}

static void a_new_job_on_a_used_lane_number_starts_afresh(void **state)
{
	struct share *s = *state;

	open_lanes(s, 3, END);
	enter_set(s, 0, 1);
	enter_set(s, 1, 1);
	share_leave(s, 0, false);
	s->ops->forget(s->state, 0);
	enter_set(s, 0, 1);
	expect(s, MI, "BB"); /* the ticket is not inherited */
	share_leave(s, 0, true);
	share_leave(s, 1, true);
	s->m[0].period_ns = s->m[1].period_ns = 0;
	s->m[0].job = s->m[1].job = PLAIN;
	share_enter(s, 0);
	share_enter(s, 1);
	expect(s, 4 * MI, "A");
	expect(s, MI, "B");
	share_leave(s, 0, true);
	s->ops->forget(s->state, 0);
	share_enter(s, 0);
	expect(s, MI, "AABAB"); /* nor the debt */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(by_id_the_lowest_job_that_is_ready_is_served),
		CASE(by_phase_who_came_first_keeps_the_set),
		CASE(lend_serves_others_in_a_gap_and_gives_the_set_back),
		CASE(after_the_grace_time_a_new_phase_begins),
		CASE(a_job_whose_order_policy_waits_is_still_in_its_phase),
		CASE(hold_idle_keeps_the_set_for_one_that_pauses),
		CASE(and_gives_it_up_when_the_phase_is_over),
		CASE(it_is_not_kept_from_one_whose_phase_began_earlier),
		CASE(nor_for_one_that_did_not_have_it),
		CASE(it_is_not_kept_for_a_job_that_is_gone_or_in_another_set),
		CASE(who_waited_too_long_has_the_set_for_a_while),
		CASE(and_does_not_lose_that_when_its_order_policy_waits),
		CASE(also_while_the_set_is_kept_idle),
		cmocka_unit_test(everybody_in_a_set_is_served_within_the_bound),
		CASE(a_changed_period_moves_a_ready_lane_to_another_set),
		CASE(a_slightly_changed_period_changes_nothing),
		CASE(a_lane_that_is_away_comes_back_to_its_new_set),
		CASE(a_new_job_on_a_used_lane_number_starts_afresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
