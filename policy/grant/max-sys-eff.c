/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max-sys-eff: the bytes that let most processors compute go first.
 *
 * For the objective SysEfficiency of Gainaru et al. 2014 (seed 003), §2.2: the mean over all
 * processors of the part of their time in which they compute, 1/N * sum of beta * efficiency. The
 * text of the paper's MaxSysEff, low beta * efficiency first, does not serve it (see
 * max-sys-eff-literal.c, and docs/grant-policies.md for both in numbers). Here jobs go by price,
 * vol / (beta * w), least first: see measure.c for why. Of jobs of the same price the one that was
 * delayed most goes first.
 *
 * Example: capacity 10, caps 10. A: 100 processors, 50 s, 1000 bytes: price 0.2. B: 10 processors,
 * 200 s, 1000 bytes: 0.5. A is served, then B. If B has 1 byte left and A is new, A still goes
 * first: B is cheaper only by a fifth.
 *
 * Jobs whose bytes are worth little wait as long as others can use the bandwidth, if need be for
 * ever: that is the objective. max_stall_ms bounds it; target-dilation is the milder policy. O(n) a
 * decision (list.c).
 */
#include "policy/grant/list.h"

static sl_time mse_decide(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
			  sl_time now)
{
	for (uint32_t i = 0; i < n; i++)
		jobs[i]->rate_bps = sl_grant_price(jobs[i], sl_grant_ratio(jobs[i], now));
	return sl_grant_in_order(state, jobs, n, capacity_bps, now);
}

const struct sl_grant_ops sl_grant_max_sys_eff = {
	.base = { .name = "max-sys-eff",
		  .summary = "the bytes that let most processors compute first, for the largest "
			     "system efficiency",
		  .source =
			  "Gainaru et al. 2014, sections 2.2 and 3.1, MaxSysEff, by its objective",
		  .params = sl_grant_list_params,
		  .state_size = sl_grant_list_size,
		  .init = sl_grant_list_init },
	.fair = false,
	.plan = NULL,
	.decide = mse_decide,
	.forget = NULL,
};
