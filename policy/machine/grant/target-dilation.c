/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target-dilation: as max-sys-eff, but no job is delayed much beyond a target.
 *
 * Our own policy, between the two objectives of Gainaru et al. 2014, §2.2. In the long run it
 * maximises the sum over jobs of
 *
 *	beta * rho * u(x),   u(x) = x - g^16 / (15 x^15)
 *
 * where rho is a job's ideal efficiency, x the part of it that the job reaches (so dilation is
 * 1/x), and g the reciprocal of the target. For x above g the second term is almost 0, and the sum
 * is the system efficiency. Below g it is a penalty that doubles with every 4.5 % of further delay.
 * A scheduler that always serves the job whose next byte adds most to a concave sum of long-run
 * rates approaches the maximum of that sum (gradient scheduling: Stolyar 2005, "On the asymptotic
 * optimality of the gradient scheduling algorithm for multiuser throughput allocation"). A byte
 * adds u'(x) = 1 + (g/x)^16 times the computing that it allows. So jobs are ordered as under
 * max-sys-eff (measure.c, step.c), but an instance is worth beta * w * (1 + (g/x)^16).
 *
 * min-max has a threshold at gamma, where a job suddenly goes ahead of all others however costly
 * its bytes are. Here a job moves up gradually as it falls behind, and cheap jobs move up early. If
 * the target cannot be reached because there is too much I/O, all jobs are below it: then min-max
 * considers only delays, while here the value of bytes still counts.
 *
 * x is the value at the end of this phase if the job had its full rate from now on: (time alone of
 * the ended instances and this one) / (time since release + time for what is left). Unlike the
 * ratio of min-dilation, it includes the computing since the last phase and the progress of this
 * one.
 *
 * Example, target=200: g = 0.5, capacity 10, caps 10, three jobs alike but for procs. A: 50 procs,
 * x = 0.9: 50 * (1 + 0.00008) = 50. B: 10, x = 0.6: 10 * (1 + 0.054) = 10.5. C: 1, x = 0.4: 1 * (1
 * + 35.5) = 36.5. A is served, then C, B. A little later C has x = 0.39 and 54.2: C is first.
 *
 * A job that never computes counts as if it computed for a thousandth of its transfer time. The x
 * of a waiting job tends to 0, so (g/x)^16 exceeds every other worth: no job starves. O(n) a
 * decision (list.c).
 */
#include "policy/machine/grant/list.h"

#define TD_IDLE 1e-3 /* computing per transfer time assumed for a job that never computes */
#define TD_FAR	1e3  /* limit of g/x, to avoid overflow */

struct td {
	struct sl_grant_list list;
	struct sl_grant_price price;
	double g;
};

enum { P_TARGET, P_LIST };

static const struct sl_param params[] = {
	SL_PARAM_NUMBER(
		"target", SL_COUNT, 100, 100000, 200,
		"How long a job may take, in percent of its time alone, before it is favoured."),
	SL_GRANT_PRIORITY,
	SL_GRANT_MAX_STALL,
	{ 0 },
};

static void td_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		    sl_time now)
{
	struct td *t = state;

	sl_grant_list_init(&t->list, limits, values + P_LIST, now);
	t->price.last = now;
	t->g = 100 / (double)values[P_TARGET];
}

static double td_value(const struct td *t, const struct sl_io_job *j, sl_time now)
{
	double transfer_s = j->bytes / j->cap_bps, left_s = j->left_bytes / j->cap_bps;
	double alone_s = j->alone_s + j->compute_s + transfer_s;
	double ends_s = (double)(now - j->released) * 1e-9 + left_s;
	double late = t->g * ends_s / alone_s;

	late = late < TD_FAR ? late : TD_FAR;
	late *= late;
	late *= late;
	late *= late;
	late *= late;
	return j->procs * (j->compute_s + TD_IDLE * transfer_s) * (1 + late);
}

static sl_time td_decide(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
			 sl_time now)
{
	struct td *t = state;
	sl_time wake;

	sl_grant_price_begin(&t->price, jobs, n, capacity_bps, now);
	for (uint32_t i = 0; i < n; i++)
		jobs[i]->rate_bps = sl_grant_key(&t->price, jobs[i], td_value(t, jobs[i], now), 0);
	sl_grant_out_of_step(&t->price, jobs, n);
	wake = sl_grant_in_order(&t->list, jobs, n, capacity_bps, now);
	sl_grant_price_end(&t->price, jobs, n);
	return wake;
}

const struct sl_grant_ops sl_grant_target_dilation = {
	.base = { .name = "target-dilation",
		  .summary = "as max-sys-eff, but no job is delayed much beyond a target",
		  .source = "Sluice; objectives of Gainaru et al. 2014, section 2.2",
		  .params = params,
		  .size = sizeof(struct td),
		  .init = td_init },
	.decide = td_decide,
};
