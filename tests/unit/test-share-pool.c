/* SPDX-License-Identifier: Apache-2.0 */
/* share/pool: asks the host to pool, and is fifo between the lanes that remain. */
#include "share-rig.h"

static void it_is_the_only_policy_that_pools(void **state)
{
	const struct sl_share_ops *ops[] = { &sl_share_fifo, &sl_share_round_robin, &sl_share_wfq,
					     &sl_share_io_sets };

	assert_true(sl_share_pool.pools);
	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		assert_false(ops[i]->pools);
}

static void the_pool_counts_with_its_oldest_request(void **state)
{
	struct share s;

	share_open(&s, &sl_share_pool, 2, END); /* A: the pool, B: a job with limits */
	s.m[0].oldest = 1;
	s.m[1].oldest = 2;
	share_enter(&s, 0);
	share_enter(&s, 1);
	assert_int_equal(share_pick(&s), 0);
	s.m[0].oldest = 3;
	share_charge(&s, 0, MI);
	assert_int_equal(share_pick(&s), 1);
	share_close(&s);
}

static void between_lanes_it_decides_as_fifo(void **state)
{
	uint64_t number = 0;
	struct share p, f;

	share_open(&p, &sl_share_pool, LANES, END);
	share_open(&f, &sl_share_fifo, LANES, END);
	for (unsigned op = 0; op < 20000; op++) {
		uint32_t lane = (uint32_t)rnd_below(&p, LANES);
		int64_t chosen = share_pick(&p);

		check(&p, share_pick(&f) == chosen);
		check(&p, p.wake == f.wake);
		if (chosen >= 0 && rnd_below(&p, 2)) {
			p.m[chosen].oldest = f.m[chosen].oldest = ++number;
			share_charge(&p, (uint32_t)chosen, 1);
			share_charge(&f, (uint32_t)chosen, 1);
		} else if (!p.ready[lane]) {
			p.m[lane].oldest = f.m[lane].oldest = ++number;
			share_enter(&p, lane);
			share_enter(&f, lane);
		} else {
			share_leave(&p, lane, true);
			share_leave(&f, lane, true);
		}
	}
	share_close(&p);
	share_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_only_policy_that_pools),
		cmocka_unit_test(the_pool_counts_with_its_oldest_request),
		cmocka_unit_test(between_lanes_it_decides_as_fifo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
