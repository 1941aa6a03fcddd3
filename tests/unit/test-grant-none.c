/* SPDX-License-Identifier: Apache-2.0 */
/* grant/none: nobody is told to wait; a model takes the file system to share fairly. */
#include "grant-rig.h"

static void nobody_waits_and_the_file_system_shares_fairly(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_none, 10, END);
	grant_add(&g, 1);
	grant_add(&g, 20);
	grant_add(&g, 20)->procs = 4096;
	grant_expect(&g, 1, 4.5, 4.5);
	assert_int_equal(g.wake, SL_NEVER);
	for (unsigned i = 0; i < 997; i++)
		grant_add(&g, 20);
	grant_decide(&g);
	for (uint32_t i = 0; i < g.n; i++)
		assert_float_equal(g.jobs[i].rate_bps, 0.01, 1e-9);
	grant_close(&g);
}

static void a_host_may_find_the_rates_in_its_own_way(void **state)
{
	assert_true(sl_grant_none.fair);
	assert_true(sl_grant_fair_share.fair);
	assert_false(sl_grant_fcfs.fair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_waits_and_the_file_system_shares_fairly),
		cmocka_unit_test(a_host_may_find_the_rates_in_its_own_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
