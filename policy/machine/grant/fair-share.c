/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fair-share: the same rate for every job, but none gets more than it can use.
 *
 * Max-min fairness: if a job cannot use its rate because its processors' bandwidth (cap = b * beta)
 * is lower, the others share the rest. No job's rate can be raised without lowering that of a job
 * that has no more. It is the baseline of IO-Sets (Barthélemy et al. 2024, §4) and of Gainaru et
 * al. 2014. The size of a job does not matter: a job of 4096 processors gets as much as a job of 1,
 * up to its cap.
 *
 * Example: capacity 10, caps 1 2 6 9: rates 1 2 3.5 3.5.
 *
 * No job starves or is late. The policy serves no job before another, so it has no parameters
 * priority and max_stall. O(n) a decision (list.c); a host that knows `fair` can do it in O(log n).
 */
#include "policy/machine/grant/fair-share.h"

#include "policy/machine/grant/list.h"

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
		  .source = "IO-Sets (Barthélemy et al. 2024), section 4, fair sharing" },
	.fair = true,
	.decide = sl_fair_share_decide,
};
