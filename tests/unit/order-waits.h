/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds of every order policy that waits for more requests. A test that includes this defines
 * POLICY, and NEXT: an offset at which its queue waits after [0,4K) was served, as four requests.
 */
#ifndef SL_TEST_ORDER_WAITS_H
#define SL_TEST_ORDER_WAITS_H

#include "tests/unit/order-rig.h"

#define CASE(name) RIG_CASE(POLICY, name)

/* The last batch of the file had 4 requests: as many are expected again. */
static inline void four_were_served(struct rig *g, uint64_t file)
{
	for (uint64_t i = 0; i < 4; i++)
		rig_put(g, SL_READ, file, i * K, K);
	rig_serve(g, SL_READ, file, 0, 4 * K, 4);
}

static void a_wait_ends_when_what_was_expected_has_come(void **state)
{
	struct rig *g = *state;

	four_were_served(g, A);
	for (uint64_t i = 0; i < 3; i++) {
		rig_put(g, SL_READ, A, NEXT + i * K, K);
		rig_nothing(g, 500 * US);
	}
	g->now = 10 * US;
	rig_put(g, SL_READ, A, NEXT + 3 * K, K);
	rig_serve(g, SL_READ, A, NEXT, 4 * K, 4);
}

/* While A waits, B is served, and A's wait ends when it would have. */
static void a_waiting_queue_does_not_hold_up_the_others(void **state)
{
	struct rig *g = *state;

	four_were_served(g, A);
	rig_put(g, SL_READ, A, NEXT, K);
	rig_put(g, SL_READ, B, 0, K);
	rig_serve(g, SL_READ, B, 0, K, 1);
	rig_nothing(g, 500 * US);
	g->now = 300 * US;
	rig_put(g, SL_READ, B, 50 * M, K);
	rig_serve(g, SL_READ, B, 50 * M, K, 1);
	rig_nothing(g, 500 * US);
	g->now = 500 * US;
	rig_serve(g, SL_READ, A, NEXT, K, 1);
	rig_nothing(g, SL_NEVER);
}

static void with_wait_us_zero_nothing_waits(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_WAIT_US, 0);
	four_were_served(g, A);
	rig_put(g, SL_READ, A, NEXT, K);
	rig_serve(g, SL_READ, A, NEXT, K, 1);
}

/* At the end of the wait another run is next in offset order: the queue has waited, it goes. */
static void a_queue_that_has_waited_does_not_wait_for_a_new_head(void **state)
{
	struct rig *g = *state;

	four_were_served(g, A);
	rig_put(g, SL_READ, A, 100 * K, K);
	rig_nothing(g, 500 * US);
	rig_put(g, SL_READ, A, 50 * K, K);
	rig_nothing(g, 500 * US);
	g->now = 500 * US;
	rig_serve(g, SL_READ, A, 50 * K, K, 1);
}

/* An aged request of a queue that waits is taken out of its wait. */
static void ageing_ends_a_wait(void **state)
{
	struct rig *g = *state;

	rig_set(g, SL_P_MAX_AGE_MS, 1);
	rig_set(g, SL_P_WAIT_US, 1000000);
	four_were_served(g, A);
	rig_put(g, SL_READ, A, NEXT, K);
	rig_nothing(g, 1000 * MS);
	g->now = 2 * MS;
	rig_put(g, SL_READ, B, 0, K);
	rig_serve(g, SL_READ, A, NEXT, K, 1);
	rig_serve(g, SL_READ, B, 0, K, 1);
	rig_nothing(g, SL_NEVER);
}

/* clang-format off */
#define CASES_OF_WAITS \
	CASE(a_wait_ends_when_what_was_expected_has_come), \
	CASE(a_waiting_queue_does_not_hold_up_the_others), \
	CASE(with_wait_us_zero_nothing_waits), \
	CASE(a_queue_that_has_waited_does_not_wait_for_a_new_head), \
	CASE(ageing_ends_a_wait)
/* clang-format on */

#endif
