/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of fair-share, which `none` uses too: it assumes that the file system shares
 * fairly.
 */
#ifndef SL_POLICY_MACHINE_GRANT_FAIR_SHARE_H
#define SL_POLICY_MACHINE_GRANT_FAIR_SHARE_H

#include "policy/policy.h"

sl_time sl_fair_share_decide(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
			     sl_time now);

#endif
