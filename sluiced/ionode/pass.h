/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Letting everything pass: observe mode, and the administrator's emergency switch (`sluice open`).
 *
 * While a node passes, every job is in mode OPEN, so programs on this machine ask nobody. Requests
 * that the node executes itself (the forward route) are neither paced nor limited nor granted:
 * admit is `open` and share is `fifo` regardless of the configuration, and grants are ignored. The
 * configuration, including changes made meanwhile, applies again when passing ends.
 */
#ifndef SL_SLUICED_IONODE_PASS_H
#define SL_SLUICED_IONODE_PASS_H

#include "policy/policy.h"
#include "sluiced/ionode/node.h"

/* The configured policy of a stage, in force or not; NULL: the default. */
const char *pass_configured(const struct node *n, enum sl_stage stage);
/* Whether a policy that is set now is only stored, because passing has replaced it. */
bool pass_stands_in(const struct node *n, enum sl_stage stage);
/* The lock is held. Open the node, or close it again; observe mode stays as it is. */
void pass_open(struct node *n, bool open, sl_time now);
/* Begin or end to observe; an open node stays open. */
void pass_observe(struct node *n, bool observe, sl_time now);
/* The same at the start, after jobs of another node were adopted. */
void pass_start(struct node *n, sl_time now);
/* "schedule", "observe" or "open". */
const char *pass_mode(const struct node *n);

#endif
