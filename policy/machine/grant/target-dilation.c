/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target-dilation: as max-sys-eff, while no job is delayed much beyond a target.
 *
 * A policy of Sluice's own, between the two objectives of Gainaru et al. 2014, §2.2.
 * It maximises, in the long run, the sum over jobs of
 *
 *	beta * rho * u(x),   u(x) = x - g^16 / (15 x^15)
 *
 * where rho is a job's ideal efficiency, x the part of it that it has (so dilation is 1/x), and g
 * the reciprocal of the target. For x above g the second term is next to nothing, and the sum is
 * system efficiency; below, it is a penalty that doubles with every 4.5 % of further delay. How: a
 * scheduler that always serves whom the next byte adds most to a concave sum of long-run rates
 * comes to the largest sum that is possible (gradient scheduling: Stolyar 2005, "On the asymptotic
 * optimality of the gradient scheduling algorithm for multiuser throughput allocation"). The byte
 * adds u'(x) = 1 + (g/x)^16 for what it lets compute. So jobs go as under max-sys-eff, see
 * measure.c and step.c, but an instance is worth beta * w * (1 + (g/x)^16).
 *
 * What min-max does by an edge at gamma, this does by a slope. At the edge a job jumps ahead of
 * all others, however dear its bytes; on the slope it moves up as it falls behind, and cheap ones
 * early. And when the target is out of reach because there is too much I/O, all jobs are below it;
 * then min-max knows delays only, and here what bytes are worth still counts.
 *
 * x is what the job would have on ending this phase if it had full rate from now on: (time alone
 * of the ended instances and this one) / (time since release + time for what is left). It counts
 * what min-dilation does not know: that the job has computed since its last phase, and how far
 * this one is.
 *
 * Example, target=200: g = 0.5, capacity 10, caps 10, three jobs alike but for procs. A: 50 procs,
 * x = 0.9: 50 * (1 + 0.00008) = 50. B: 10, x = 0.6: 10 * (1 + 0.054) = 10.5. C: 1, x = 0.4: 1 * (1
 * + 35.5) = 36.5. A is served, then C, B. A little later C has x = 0.39 and 54.2: C is first.
 *
 * A job that never computes is taken to compute a thousandth of its transfers. The x of a waiting job
 * goes towards 0, so that (g/x)^16 exceeds every other worth: no job starves. O(n) a decision (list.c).
 */
#include "policy/machine/grant/list.h"

#define TD_IDLE 1e-3 /* computing that transfers count for */
#define TD_FAR	1e3  /* g/x beyond which all are alike; so nothing overflows */

struct td {
	struct sl_grant_list list;
	struct sl_grant_price price;
	double g;
};

enum { P_TARGET, P_LIST };

static const struct sl_param params[] = {
	{ .name = "target",
	  .help = "How long a job may take, in percent of its time alone, before it is favoured.",
	  .unit = SL_COUNT,
	  .min = 100,
	  .max = 100000,
	  .def = 200 },
	SL_GRANT_PRIORITY,
	SL_GRANT_MAX_STALL,
	{ 0 },
};

static size_t td_size(const struct sl_policy_limits *limits)
{
	(void)limits;
	return sizeof(struct td);
}

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
		  .summary = "as max-sys-eff, while no job is delayed much beyond a target",
		  .source = "Sluice; objectives of Gainaru et al. 2014, section 2.2",
		  .params = params,
		  .state_size = td_size,
		  .init = td_init },
	.fair = false,
	.plan = NULL,
	.decide = td_decide,
	.forget = NULL,
};
