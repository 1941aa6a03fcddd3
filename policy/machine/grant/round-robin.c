/* SPDX-License-Identifier: Apache-2.0 */
/*
 * round-robin: serve the job whose last I/O phase ended longest ago.
 *
 * RoundRobin of Gainaru et al. 2014, §3.1: first come first served "with an additional constraint
 * to ensure fairness": under congestion "the application that finished the I/O transfer of its last
 * instance the longest time ago is favored". A job that has had no phase counts as if one had ended
 * when it arrived.
 *
 * Example: capacity 10, caps 10; now 100 s. A's last phase ended at 40 s, B's at 60 s, C came at 50
 * s and had none: A is served, then C, then B. When A asks again, its last phase has just ended, so
 * it is behind B and C.
 *
 * Another job can overtake a waiting job at most once. O(n) a decision (list.c).
 */
#include "policy/machine/grant/list.h"

static sl_time rr_decide(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
			 sl_time now)
{
	/* Relative to now, so the double is exact for up to 104 days. */
	for (uint32_t i = 0; i < n; i++)
		jobs[i]->rate_bps = (double)(jobs[i]->io_end - now);
	return sl_grant_in_order(state, jobs, n, capacity_bps, now);
}

const struct sl_grant_ops sl_grant_round_robin = {
	.base = { .name = "round-robin",
		  .summary = "the job whose last I/O phase ended longest ago first",
		  .source = "Gainaru et al. 2014, section 3.1, RoundRobin",
		  .params = sl_grant_list_params,
		  .size = sizeof(struct sl_grant_list),
		  .init = sl_grant_list_init },
	.decide = rr_decide,
};
