/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open: every lane may always send, and none has a guarantee.
 *
 * For a node whose device is never the bottleneck, and to measure the cost of the token bucket. The
 * host keeps the rates of jobs, but they are not enforced. No state, O(1).
 *
 * Example: a lane with max 1 B/s that has just sent 1 TiB may send again at once, because cap()
 * always returns 0.
 */
#include "policy/policy.h"

static void open_set(void *state, uint32_t lane, const struct sl_rates *rates, sl_time now)
{
	(void)state, (void)lane, (void)rates, (void)now;
}

static void open_wake(void *state, uint32_t lane, sl_time now)
{
	(void)state, (void)lane, (void)now;
}

static sl_time open_cap(const void *state, uint32_t lane)
{
	(void)state, (void)lane;
	return 0;
}

static sl_time open_floor(const void *state, uint32_t lane)
{
	(void)state, (void)lane;
	return SL_NEVER;
}

static uint64_t open_batch(const void *state, uint32_t lane)
{
	(void)state, (void)lane;
	return UINT64_MAX;
}

static void open_charge(void *state, uint32_t lane, uint64_t bytes, sl_time now)
{
	(void)state, (void)lane, (void)bytes, (void)now;
}

const struct sl_admit_ops sl_admit_open = {
	.base = { .name = "open",
		  .summary = "no limits and no guarantees",
		  .source = "the baseline of SDQoS (Hua et al. 2019), section 4, QoS off" },
	.set = open_set,
	.wake = open_wake,
	.cap = open_cap,
	.floor = open_floor,
	.batch = open_batch,
	.charge = open_charge,
};
