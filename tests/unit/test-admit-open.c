/* SPDX-License-Identifier: Apache-2.0 */
/* admit/open: whatever the rates, every lane may send and none has a guarantee. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "policy/policy.h"

static void rates_are_not_enforced(void **unused)
{
	static const struct sl_rates rates[] = {
		{ .floor_bps = 0, .cap_bps = UINT64_MAX, .burst_bytes = 0 },
		{ .floor_bps = 1000, .cap_bps = 1000, .burst_bytes = 1 },
		{ .floor_bps = 0, .cap_bps = 0, .burst_bytes = 0 },
	};
	const struct sl_admit_ops *ops = &sl_admit_open;
	const struct sl_policy_limits limits = { .lanes = 3 };
	_Alignas(16) unsigned char state[16] = { 0 };

	(void)unused;
	assert_true(sl_policy_size(&ops->base, &limits) <= sizeof(state));
	sl_policy_init(&ops->base, state, &limits, NULL, 5);
	for (uint32_t i = 0; i < 3; i++) {
		ops->set(state, i, &rates[i], 5);
		ops->wake(state, i, 5);
		for (sl_time now = 5; now < 10; now++) {
			assert_int_equal(ops->cap(state, i), 0);
			assert_int_equal(ops->floor(state, i), SL_NEVER);
			ops->charge(state, i, SL_MAX_LENGTH, now);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_not_enforced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
