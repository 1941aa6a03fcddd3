/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max-sys-eff: first serve the bytes that let most processors compute.
 *
 * The objective is SysEfficiency (Gainaru et al. 2014, §2.2): the part of its time in which a
 * processor computes, averaged over all processors, 1/N * sum of beta * efficiency. The paper's
 * text of MaxSysEff, lowest beta * efficiency first, works against this objective
 * (max-sys-eff-literal.c; docs/grant-policies.md compares both in numbers). Here jobs are ordered
 * by the value of their bytes; measure.c explains it with an example. Among equal jobs, the one
 * that was delayed most goes first. Jobs that keep step, at the expense of others in every period,
 * are separated (step.c).
 *
 * Jobs whose bytes are worth little wait while others can use the bandwidth, possibly for ever: the
 * objective demands it. max_stall_ms bounds the wait; target-dilation is the milder policy. O(n) a
 * decision (list.c).
 */
#include "policy/machine/grant/list.h"

struct mse {
	struct sl_grant_list list;
	struct sl_grant_price price;
};

static void mse_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		     sl_time now)
{
	struct mse *m = state;

	sl_grant_list_init(&m->list, limits, values, now);
	m->price.last = now;
}

static sl_time mse_decide(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
			  sl_time now)
{
	struct mse *m = state;
	sl_time wake;

	sl_grant_price_keys(&m->price, jobs, n, capacity_bps, now);
	wake = sl_grant_in_order(&m->list, jobs, n, capacity_bps, now);
	sl_grant_price_end(&m->price, jobs, n);
	return wake;
}

const struct sl_grant_ops sl_grant_max_sys_eff = {
	.base = { .name = "max-sys-eff",
		  .summary = "the bytes that let most processors compute first, for the largest "
			     "system efficiency",
		  .source =
			  "Gainaru et al. 2014, sections 2.2 and 3.1, MaxSysEff, by its objective",
		  .params = sl_grant_list_params,
		  .size = sizeof(struct mse),
		  .init = mse_init },
	.decide = mse_decide,
};
