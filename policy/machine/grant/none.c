/* SPDX-License-Identifier: Apache-2.0 */
/*
 * none: no grants; whoever wants I/O does it.
 *
 * Live, no job waits and none has a rate: what the I/O nodes' own stages and the file
 * system make of it, happens. In a phase-level model, where a rate must be known, the file system
 * is taken to share fairly among the jobs that are doing I/O: equal rates, none more than it can
 * use. That is the congested case of Gainaru et al. 2014, §4 without what congestion
 * costs in addition: seeks between interleaved streams are the platform's affair, not a decision.
 * So in the model `none` decides as fair-share does, which differs in that a host enforces it.
 *
 * Rates: see list.c. O(n) a decision.
 */
#include "policy/machine/grant/fair-share.h"

const struct sl_grant_ops sl_grant_none = {
	.base = { .name = "none",
		  .summary = "no grants: every job may do I/O, the file system shares as it does",
		  .source = "Gainaru et al. 2014, section 4, the congested case",
		  .params = NULL,
		  .state_size = sl_fair_share_size,
		  .init = sl_fair_share_init },
	.fair = true,
	.plan = NULL,
	.decide = sl_fair_share_decide,
	.forget = NULL,
};
