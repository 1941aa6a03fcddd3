/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two measures for grant policies: how much a job was delayed, and what its bytes are worth. After
 * Gainaru et al. 2014, §2.2 and §3.1.
 *
 * Ratio. The efficiency so far is work / time since release, the ideal one work / time alone, both
 * over the instances that have ended; so their ratio is alone_s / time since release. Example: two
 * instances of 10 s alone, 25 s since release: 0.8. In its first instance a job has no efficiency
 * yet. If it counted as 1 (one reading of the paper), the job would be behind every other job and
 * might never end that instance: in a simulation of ten equal applications that ask together, the
 * last ones never did. So in the first instance the ratio is the work done in it over the time
 * since release: 1 when the job first asks, and falling while it waits.
 *
 * Worth. System efficiency adds up beta * w for every instance that ends. Two things limit it:
 *
 * Bandwidth: if jobs always want to transfer more than the capacity, every byte given to one job is
 * taken from another. Then instances should be ordered by beta * w / vol, as in a fractional
 * knapsack: "compute-intensive applications with large w and small vol" (§2.2).
 *
 * Waiting: if everything is transferred sooner or later, only the time counts in which processors
 * wait. A job that waits a second loses beta * w / (w + t_io) of computing. Then jobs should be
 * ordered by this loss over the bytes that they have left, like jobs on one machine by weight /
 * length (Smith 1956). But Smith's jobs end, while these return: a job asks again every w + t_io.
 * Transferring all bytes that are asked for now takes H (their sum / B), and a job served first
 * asks again during that time. Serving it first therefore costs about 1 + H / (w + t_io) times its
 * bytes, so its key is beta * w / (w + t_io + H), over vol.
 *
 * The price of a byte decides between the two. An instance is worth beta * w less the price of its
 * bytes. If that is positive, the job's key is (beta * w - price * vol) / (w + t_io + H), over vol.
 * If not, the job costs others more than it gains, and it comes after those, ordered by beta * w /
 * vol. If the part m of the instance has been transferred, the key is multiplied by (1 + m),
 * because less is left to wait for. (Smith's rule would be 1 / (1 - m); being unbounded, it would
 * serve any job that is about to end before all others.)
 *
 * The price is the computing that one more byte would have allowed: the largest beta * w / vol
 * among the jobs that did not get all they could use (0 if there was none), averaged over about
 * five mean instances of the present jobs. So on a machine that is never congested the price is 0
 * and only waiting counts. On one that is always congested, jobs that are not worth their bandwidth
 * come last.
 *
 * Example: B = 250. A: 100 processors, 50 s, 1000 bytes, 10 s of transfer. B: 10 processors, 200 s,
 * 900 bytes, 9 s. C: 100 processors, 1 s, 100 bytes, 1 s. H = 8. With price 0: A 5000 / 68 / 1000 =
 * 0.074, B 2000 / 217 / 900 = 0.010, C 100 / 10 / 100 = 0.1, so C, A, B: C is short, and many
 * processors wait for it. With price 2: A (5000 - 2000) / 68 / 1000 = 0.044, B (2000 - 1800) / 217
 * / 900 = 0.001, C 100 - 200 is negative: A, B, C. With bandwidth 100, H = 20 and price 0: A 0.063,
 * C 0.045, so A goes first: C would return several times meanwhile.
 */
#include "policy/machine/grant/list.h"

#define MS_MEMORY  5	   /* mean instances over which prices are averaged */
#define MS_LAST	   0x1p199 /* the largest key of a job that is worth its bytes */
#define MS_BEHIND  0x1p200 /* puts the others behind it */
#define MS_STARTED 0.25	   /* bonus of such a job when its transfer is almost complete */
#define MS_DELAYED 1e-6	   /* small against any difference that matters */
#define MS_SERVED  0.999   /* a job with this part of its cap counts as fully served */

double sl_grant_ratio(const struct sl_io_job *j, sl_time now)
{
	double since_s = (double)(now - j->released) * 1e-9;
	double alone_s = j->alone_s;

	if (!j->ended)
		alone_s = j->compute_s + (j->bytes - j->left_bytes) / j->cap_bps;
	return alone_s < since_s ? alone_s / since_s : 1;
}

void sl_grant_price_begin(struct sl_grant_price *p, struct sl_io_job *const *jobs, uint32_t n,
			  double capacity_bps, sl_time now)
{
	double passed_s = (double)(now - p->last) * 1e-9, instances_s = 0, left = 0, wanted = 0;
	double was_short = p->wanted_bps > p->capacity_bps ? 1 : 0;

	for (uint32_t i = 0; i < n; i++) {
		instances_s += sl_grant_period_s(jobs[i]);
		left += jobs[i]->left_bytes;
		wanted += jobs[i]->cap_bps;
	}
	p->drain_s = left / capacity_bps;
	if (n && passed_s > 0) {
		double part = passed_s / (passed_s + MS_MEMORY * instances_s / n);

		p->price += (p->displaced - p->price) * part;
		p->busy += (was_short - p->busy) * part;
	}
	p->wanted_bps = wanted;
	p->capacity_bps = capacity_bps;
	p->last = now;
}

double sl_grant_key(const struct sl_grant_price *p, const struct sl_io_job *j, double value,
		    double ratio)
{
	double net = value - p->price * j->bytes, moved = 1 - j->left_bytes / j->bytes;
	double later = 1 + MS_DELAYED * ratio, key;

	if (net <= 0) /* INFINITY: it never computes */
		return MS_BEHIND * j->bytes / value / (1 + MS_STARTED * moved) * later;
	key = (sl_grant_period_s(j) + p->drain_s) * j->bytes / (net * (1 + moved)) * later;
	return key < MS_LAST ? key : MS_LAST;
}

void sl_grant_price_keys(struct sl_grant_price *p, struct sl_io_job *const *jobs, uint32_t n,
			 double capacity_bps, sl_time now)
{
	sl_grant_price_begin(p, jobs, n, capacity_bps, now);
	for (uint32_t i = 0; i < n; i++)
		jobs[i]->rate_bps = sl_grant_key(p, jobs[i], jobs[i]->procs * jobs[i]->compute_s,
						 sl_grant_ratio(jobs[i], now));
	sl_grant_out_of_step(p, jobs, n);
}

void sl_grant_price_end(struct sl_grant_price *p, struct sl_io_job *const *jobs, uint32_t n)
{
	p->displaced = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct sl_io_job *j = jobs[i];

		if (j->rate_bps < MS_SERVED * j->cap_bps &&
		    j->procs * j->compute_s > p->displaced * j->bytes)
			p->displaced = j->procs * j->compute_s / j->bytes;
	}
}
