/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the brain have of each other. */
#ifndef SL_CONTROLLER_PRIVATE_H
#define SL_CONTROLLER_PRIVATE_H

#include "controller/brain.h"

/* map.c: its size, as declared, or as far as it has been seen; not 0. */
uint32_t map_procs(const struct brain_job *j);
uint32_t map_nodes(const struct brain_job *j);

/*
 * nodes.c: the number of the node that reports, made up to date; *met: it has been heard of before.
 * -EPROTO: no name; -EEXIST: another one has it; -ENOSPC: there are BRAIN_NODES others, all up.
 */
int nodes_index(struct brain *b, const struct sl_node_report *r, sl_time now, bool *met);
uint64_t nodes_rate(uint64_t bps); /* what can be reckoned with */

/* phases.c: whether the job's present phase is over; and that it is. */
bool phase_over(const struct brain *b, const struct brain_job *j, sl_time now);
void phase_end(struct brain *b, struct brain_job *j);
/* From now on its nodes are the same. */
void phase_steady(struct brain_job *j, uint64_t moved_bytes, sl_time now);
/* What is known of its period now. */
void phase_period(struct brain *b, struct brain_job *j, sl_time now);

/*
 * policy.c: new policies, by enum policy_stage; NULL: that one stays, or is the default if there is
 * none yet. 0, or -errno with a message, and nothing has changed.
 */
enum policy_stage { POLICY_GRANT, POLICY_ALLOCATE, POLICY_STAGES };
int policy_set(struct brain *b, const char *const spec[POLICY_STAGES], sl_time now, char *err,
	       size_t size);
void policy_free(struct brain *b);

/* rates.c: the shares that each node has of the job's rates. */
void rates_share_out(struct brain *b, struct brain_job *j, sl_time now);

/* map.c: give jobs the nodes that the controller before had given them; decide anew. */
void map_learn(struct brain *b);
void map_decide(struct brain *b, sl_time now);

#endif
