/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fair-share: every job the same rate, but none more than it can use.
 *
 * Max-min fairness: what a job cannot use because of its processors' bandwidth (cap = b * beta) is
 * shared by the others; no job can get more unless one that has no more gets less. It is the
 * baseline of IO-Sets, Barthélemy et al. 2024, §4 and of Gainaru et al. 2014. A job is one
 * whatever its size: 4096 processors get as much as 1, up to their caps.
 *
 * Example: capacity 10, caps 1 2 6 9: rates 1 2 3.5 3.5.
 *
 * No job starves or is late: there is no order that priority or max_stall could change.
 * O(n) a decision (list.c); a host that knows `fair` can do it in O(log n).
 */
#include "policy/machine/grant/fair-share.h"

#include "policy/machine/grant/list.h"

size_t sl_fair_share_size(const struct sl_policy_limits *limits)
{
	(void)limits;
	return 16; /* not used; a host need not think of allocations of size 0 */
}

void sl_fair_share_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
			sl_time now)
{
	(void)state, (void)limits, (void)values, (void)now;
}

sl_time sl_fair_share_decide(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
			     sl_time now)
{
	(void)state, (void)now;
	for (uint32_t i = 0; i < n; i++)
		jobs[i]->rate_bps = 1;
	sl_grant_by_weight(jobs, n, capacity_bps);
	return SL_NEVER;
}

const struct sl_grant_ops sl_grant_fair_share = {
	.base = { .name = "fair-share",
		  .summary = "every job the same rate, none more than it can use",
		  .source = "IO-Sets (Barthélemy et al. 2024), section 4, fair sharing",
		  .params = NULL,
		  .state_size = sl_fair_share_size,
		  .init = sl_fair_share_init },
	.fair = true,
	.plan = NULL,
	.decide = sl_fair_share_decide,
	.forget = NULL,
};
