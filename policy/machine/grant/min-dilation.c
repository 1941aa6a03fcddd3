/* SPDX-License-Identifier: Apache-2.0 */
/*
 * min-dilation: the job that was delayed most goes first.
 *
 * MinDilation of Gainaru et al. 2014, §3.1: the job with the lowest ratio of efficiency so far to
 * ideal efficiency goes first, so that the largest slowdown of any job stays small. measure.c
 * defines the ratio, also for jobs that have not ended an instance yet.
 *
 * Example: capacity 10, caps 6. A has done in 50 s what takes 40 s alone (0.8), B in 60 s what
 * takes 30 s (0.5), C in 20 s what takes 18 s (0.9): B 6, A 4, C 0.
 *
 * The ratio of a waiting job falls, so it comes first in the end: no job starves. O(n) a decision
 * (list.c).
 */
#include "policy/machine/grant/list.h"

static sl_time md_decide(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
			 sl_time now)
{
	for (uint32_t i = 0; i < n; i++)
		jobs[i]->rate_bps = sl_grant_ratio(jobs[i], now);
	return sl_grant_in_order(state, jobs, n, capacity_bps, now);
}

const struct sl_grant_ops sl_grant_min_dilation = {
	.base = { .name = "min-dilation",
		  .summary = "the job that was delayed most first, for the smallest dilation",
		  .source = "Gainaru et al. 2014, section 3.1, MinDilation",
		  .params = sl_grant_list_params,
		  .size = sizeof(struct sl_grant_list),
		  .init = sl_grant_list_init },
	.decide = md_decide,
};
