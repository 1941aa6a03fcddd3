/* SPDX-License-Identifier: Apache-2.0 */
/* share/fifo: the oldest request first. SL_SEED=number repeats a failure. */
#include "share-rig.h"

static void the_lane_with_the_oldest_request_is_first(void **state)
{
	struct share s;

	share_open(&s, &sl_share_fifo, 3, END);
	s.m[0].oldest = 30;
	s.m[1].oldest = 10;
	s.m[2].oldest = 20;
	for (uint32_t i = 0; i < 3; i++)
		share_enter(&s, i);
	assert_int_equal(share_pick(&s), 1);
	share_leave(&s, 1, true);
	assert_int_equal(share_pick(&s), 2);
	share_leave(&s, 2, true);
	assert_int_equal(share_pick(&s), 0);
	share_leave(&s, 0, true);
	assert_int_equal(share_pick(&s), -1);
	assert_int_equal(s.wake, SL_NEVER);
	share_close(&s);
}

/* The example of fifo.c: requests 1 2 3 5 of A, 4 of B, one in each batch. */
static void requests_go_in_order_of_arrival(void **state)
{
	static const uint64_t a[] = { 1, 2, 3, 5, UINT64_MAX };
	char order[6] = "";
	unsigned next = 0;
	struct share s;

	share_open(&s, &sl_share_fifo, 2, END);
	s.m[0].oldest = a[0];
	s.m[1].oldest = 4;
	share_enter(&s, 0);
	share_enter(&s, 1);
	for (unsigned i = 0; i < 5; i++) {
		int64_t lane = share_pick(&s);

		assert_true(lane >= 0);
		order[i] = (char)('A' + lane);
		s.m[lane].oldest = lane ? UINT64_MAX : a[++next];
		share_charge(&s, (uint32_t)lane, 4096);
		if (s.m[lane].oldest == UINT64_MAX)
			share_leave(&s, (uint32_t)lane, true);
	}
	assert_string_equal(order, "AAABA");
	share_close(&s);
}

static void a_lane_that_comes_back_with_an_old_request_is_first_again(void **state)
{
	struct share s;

	share_open(&s, &sl_share_fifo, 2, END);
	s.m[0].oldest = 1;
	s.m[1].oldest = 2;
	share_enter(&s, 0);
	share_enter(&s, 1);
	share_leave(&s, 0, false);
	assert_int_equal(share_pick(&s), 1);
	s.m[1].oldest = 3;
	share_charge(&s, 1, 4096);
	share_enter(&s, 0);
	assert_int_equal(share_pick(&s), 0);
	share_close(&s);
}

static void weight_and_size_do_not_matter(void **state)
{
	struct share s;

	share_open(&s, &sl_share_fifo, 2, END);
	s.m[0].weight = 1;
	s.m[1].weight = SL_MAX_WEIGHT;
	s.m[0].oldest = 1;
	s.m[1].oldest = 100;
	share_enter(&s, 0);
	share_enter(&s, 1);
	s.m[1].period_ns = 1;
	share_update(&s, 1);
	for (uint64_t i = 2; i <= 99; i++) {
		assert_int_equal(share_pick(&s), 0);
		s.m[0].oldest = i;
		share_charge(&s, 0, SL_MAX_LENGTH);
	}
	share_close(&s);
}

static void a_changed_oldest_request_changes_the_place(void **state)
{
	struct share s;

	share_open(&s, &sl_share_fifo, 3, END);
	s.m[0].oldest = 1;
	s.m[1].oldest = 2;
	share_enter(&s, 0);
	share_enter(&s, 1);
	s.m[0].oldest = 3; /* the first one was cancelled */
	share_update(&s, 0);
	assert_int_equal(share_pick(&s), 1);
	s.m[2].oldest = 0;
	share_update(&s, 2); /* it is not ready, and is not made so */
	assert_int_equal(share_pick(&s), 1);
	share_close(&s);
}

static void random_lanes_agree_with_a_plain_search(void **state)
{
	uint64_t number = 0;
	struct share s;

	share_open(&s, &sl_share_fifo, LANES, END);
	for (unsigned op = 0; op < 100000; op++) {
		uint32_t lane = (uint32_t)rnd_below(&s, LANES);
		int64_t best = -1;

		for (uint32_t i = 0; i < LANES; i++)
			if (s.ready[i] && (best < 0 || s.m[i].oldest < s.m[best].oldest))
				best = i;
		check(&s, share_pick(&s) == best);
		if (!s.ready[lane]) {
			s.m[lane].oldest = rnd_below(&s, 4) ? ++number : s.m[lane].oldest;
			share_enter(&s, lane);
		} else if (rnd_below(&s, 2)) {
			s.m[lane].oldest = ++number;
			share_charge(&s, lane, 1);
		} else {
			share_leave(&s, lane, rnd_below(&s, 2));
			if (rnd_below(&s, 8) == 0) {
				s.ops->forget(s.state, lane);
				s.m[lane].oldest = ++number;
			}
		}
	}
	share_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lane_with_the_oldest_request_is_first),
		cmocka_unit_test(requests_go_in_order_of_arrival),
		cmocka_unit_test(a_lane_that_comes_back_with_an_old_request_is_first_again),
		cmocka_unit_test(weight_and_size_do_not_matter),
		cmocka_unit_test(a_changed_oldest_request_changes_the_place),
		cmocka_unit_test(random_lanes_agree_with_a_plain_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
