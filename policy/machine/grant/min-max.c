/* SPDX-License-Identifier: Apache-2.0 */
/*
 * min-max: first jobs that were delayed too much, then the others in the order of max-sys-eff.
 *
 * MinMax-gamma of Gainaru et al. 2014, §3.1: jobs whose ratio of efficiency so far to the ideal one
 * is below gamma go first, the lowest first. The others follow in the order of max-sys-eff.
 * gamma=100 is min-dilation, gamma=0 is max-sys-eff. The paper favours only the lowest job below
 * gamma. Here all jobs below gamma are served before the others, because bandwidth may be left
 * after the first.
 *
 * Example, gamma=50: capacity 10, caps 6. Under max-sys-eff the order would be B, C, A; their
 * ratios are A 0.4, B 0.9, C 0.45. So A 6, C 4, B 0. With gamma=42: A 6, B 4, C 0.
 *
 * target-dilation has the same aim without the sudden change at gamma. O(n) a decision (list.c).
 */
#include "policy/machine/grant/list.h"

struct mm {
	struct sl_grant_list list;
	struct sl_grant_price price;
	double gamma;
};

enum { P_GAMMA, P_LIST };

static const struct sl_param params[] = {
	SL_PARAM_NUMBER(
		"gamma", SL_COUNT, 0, 100, 50,
		"A job goes first if its efficiency is below this percentage of the ideal one."),
	SL_GRANT_PRIORITY,
	SL_GRANT_MAX_STALL,
	{ 0 },
};

static void mm_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		    sl_time now)
{
	struct mm *m = state;

	sl_grant_list_init(&m->list, limits, values + P_LIST, now);
	m->price.last = now;
	m->gamma = (double)values[P_GAMMA] / 100;
}

static sl_time mm_decide(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
			 sl_time now)
{
	struct mm *m = state;
	sl_time wake;

	sl_grant_price_keys(&m->price, jobs, n, capacity_bps, now);
	for (uint32_t i = 0; i < n; i++) {
		struct sl_io_job *j = jobs[i];
		double ratio = sl_grant_ratio(j, now);

		if (ratio < m->gamma || m->gamma >= 1)
			j->rate_bps = ratio;
		else
			j->rate_bps *= SL_GRANT_KEY_BEHIND;
	}
	wake = sl_grant_in_order(&m->list, jobs, n, capacity_bps, now);
	sl_grant_price_end(&m->price, jobs, n);
	return wake;
}

const struct sl_grant_ops sl_grant_min_max = {
	.base = { .name = "min-max",
		  .summary = "jobs that were delayed too much first, else as max-sys-eff",
		  .source = "Gainaru et al. 2014, section 3.1, MinMax-gamma",
		  .params = params,
		  .size = sizeof(struct mm),
		  .init = mm_init },
	.decide = mm_decide,
};
