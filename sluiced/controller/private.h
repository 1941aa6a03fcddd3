/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the brain have of each other. */
#ifndef SL_SLUICED_CONTROLLER_PRIVATE_H
#define SL_SLUICED_CONTROLLER_PRIVATE_H

#include "sluiced/controller/brain.h"

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

/* divide.c: memory for it, or -ENOMEM. */
int divide_init(struct brain *b);
void divide_free(struct brain *b);
/* Divide the capacity among jobs and nodes as of now; returns when to do so though nothing is
 * reported. */
sl_time divide_capacity(struct brain *b, sl_time now);
/* The node has reported what it draws; known: it was up before. */
void divide_node(struct brain *b, uint32_t node, const struct sl_node_report *r, bool known);
/* What a report of `took` ns says about what the job could use there; the part is as before it. */
void divide_report(struct brain *b, struct brain_part *p, const struct sl_job_report *r,
		   uint64_t bytes, sl_time took, sl_time now);

/* map.c: give jobs the nodes that the controller before had given them; decide anew. */
void map_learn(struct brain *b);
void map_decide(struct brain *b, sl_time now);

#endif
