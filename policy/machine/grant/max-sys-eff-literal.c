/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max-sys-eff-literal: the job with the lowest beta * efficiency first, as in the paper's text.
 *
 * MaxSysEff of Gainaru et al. 2014, §3.1, word by word: it "favors applications with low values of
 * beta * efficiency(t)". This serves the job that computes least first. That contradicts the
 * objective of §2.2 (the sum of beta * efficiency) and the paper's Figure 16, where large
 * applications gain. The policy is here for comparison: on two of the published sets of
 * applications it reaches less than half of the system efficiency of max-sys-eff
 * (docs/grant-policies.md).
 *
 * Example: capacity 10, caps 10. A: 100 processors, computed 40 of 50 s: 80. B: 10 processors, 55
 * of 60 s: 9.2. B is served first, then A, although ten times as many processors wait for A.
 *
 * A job in its first instance has computed nothing, so its key is 0 and it goes first. O(n) a
 * decision (list.c).
 */
#include "policy/machine/grant/list.h"

static sl_time lit_decide(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
			  sl_time now)
{
	for (uint32_t i = 0; i < n; i++) {
		struct sl_io_job *j = jobs[i];
		double since_s = (double)(now - j->released) * 1e-9;

		j->rate_bps = since_s > 0 ? j->procs * j->work_s / since_s : 0;
	}
	return sl_grant_in_order(state, jobs, n, capacity_bps, now);
}

const struct sl_grant_ops sl_grant_max_sys_eff_literal = {
	.base = { .name = "max-sys-eff-literal",
		  .summary = "lowest processors times efficiency first, as in the paper's text; "
			     "for comparison",
		  .source = "Gainaru et al. 2014, section 3.1, MaxSysEff, by its text",
		  .params = sl_grant_list_params,
		  .size = sizeof(struct sl_grant_list),
		  .init = sl_grant_list_init },
	.decide = lit_decide,
};
