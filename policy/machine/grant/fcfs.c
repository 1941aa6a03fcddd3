/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fcfs: serve jobs in the order in which they asked, each to the end of its phase.
 *
 * A baseline of IO-Sets (Barthélemy et al. 2024, §4). Gainaru et al. 2014, §6 describes it as the
 * scheduler that knows its applications but does not choose an order. The first job gets what it
 * can use, the next one what is left, and so on.
 *
 * Example: capacity 10; A asked at 3 s, cap 6; B at 1 s, cap 6; C at 2 s, cap 2: B 6, C 2, A 2.
 *
 * Jobs that asked at the same time are served by job id. A job waits only for jobs that asked
 * before it, so no job starves. A job that has started is never behind one that has not, so
 * parameters priority and max_stall would change nothing. O(n) per decision (list.c).
 */
#include "policy/machine/grant/list.h"

static sl_time fc_decide(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
			 sl_time now)
{
	(void)state;
	/* Relative to now, so the double is exact for waits of up to 104 days. */
	for (uint32_t i = 0; i < n; i++)
		jobs[i]->rate_bps = (double)(jobs[i]->asked - now);
	sl_grant_serve(jobs, n, capacity_bps);
	return SL_NEVER;
}

const struct sl_grant_ops sl_grant_fcfs = {
	.base = { .name = "fcfs",
		  .summary = "in order of asking, each at the rate it can use",
		  .source =
			  "IO-Sets (Barthélemy et al. 2024), section 4, first-come first-served" },
	.decide = fc_decide,
};
