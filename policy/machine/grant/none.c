/* SPDX-License-Identifier: Apache-2.0 */
/*
 * none: no grants; every job may do I/O at any time.
 *
 * In a live layer no job waits for a grant and none has a rate; only the stages of the I/O nodes
 * and the file system decide. The phase-level simulator needs a rate, so it assumes that the file
 * system shares fairly among the jobs that do I/O: equal rates, none more than it can use. This is
 * the congested case of Gainaru et al. 2014, §4. It leaves out the additional cost of congestion
 * (seeks between interleaved streams), which belongs to the model of the platform. So in the
 * simulator `none` gives the same rates as fair-share; in a live layer only fair-share enforces
 * them.
 *
 * Rates: see list.c. O(n) per decision.
 */
#include "policy/machine/grant/fair-share.h"

const struct sl_grant_ops sl_grant_none = {
	.base = { .name = "none",
		  .summary = "no grants: every job may do I/O, and the file system decides who "
			     "gets how much",
		  .source = "Gainaru et al. 2014, section 4, the congested case" },
	.fair = true,
	.decide = sl_fair_share_decide,
};
