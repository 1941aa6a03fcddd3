/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a grant policy asks of a job before it decides: how much it was delayed, and what its
 * bytes are worth. After Gainaru et al. 2014 (seed 003), §2.2 and §3.1.
 *
 * Ratio: the efficiency so far is work / time since release, the ideal one work / time alone, both
 * over the instances that have ended; so their ratio is alone_s / time since release. Example: two
 * instances of 10 s alone, 25 s since release: 0.8. In its first instance a job has no efficiency
 * yet. Counted as 1 for ever, as one may read the paper, it would be behind every other job and
 * perhaps never end that instance: in a simulation of ten equal applications that ask together, the
 * last ones never did. So there, what it has done of that instance is compared with the time since
 * release: 1 when it first asks, and falling while it waits.
 *
 * Price: an instance costs vol bytes and lets beta processors compute for w seconds. System
 * efficiency is a sum of beta * w over instances, the I/O system has B bytes a second for them: a
 * knapsack, in which filling up by least vol / (beta * w) is best as long as parts of an item can
 * be had. "Compute-intensive applications with large w and small vol" says §2.2 of the same
 * objective. A job that is under way is cheaper by up to a fifth: a transfer that is interrupted
 * keeps its job from computing and lets no other compute, so of two that cost about the same one
 * should go to its end. (Measured over the mixes in docs/grant-policies.md: 0, 1/4 and 1 of the
 * part transferred give .6526, .6540 and .6507; with 0, equal applications share and all wait.)
 * Of jobs of the same price, the one that was delayed most is the cheapest by a millionth.
 */
#include "policy/grant/list.h"

/* Small against any difference in price that matters. */
#define MS_DELAYED 1e-6

double sl_grant_ratio(const struct sl_io_job *j, sl_time now)
{
	double since_s = (double)(now - j->released) * 1e-9;
	double alone_s = j->alone_s;

	if (!j->ended)
		alone_s = j->compute_s + (j->bytes - j->left_bytes) / j->cap_bps;
	return alone_s < since_s ? alone_s / since_s : 1;
}

double sl_grant_price(const struct sl_io_job *j, double ratio)
{
	double under_way = 1 + SL_GRANT_UNDER_WAY * (1 - j->left_bytes / j->bytes);

	/* INFINITY: never computes */
	return j->bytes * (1 + MS_DELAYED * ratio) / (j->procs * j->compute_s * under_way);
}
