/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the brain have of each other. */
#ifndef SL_CONTROLLER_PRIVATE_H
#define SL_CONTROLLER_PRIVATE_H

#include "controller/brain.h"

/* phases.c: whether the job's present phase is over; and that it is. */
bool phase_over(const struct brain *b, const struct brain_job *j, sl_time now);
void phase_end(struct brain *b, struct brain_job *j);
/* From now on its nodes are the same. */
void phase_steady(struct brain_job *j, uint64_t moved_bytes, sl_time now);
/* What is known of its period now. */
void phase_period(struct brain *b, struct brain_job *j, sl_time now);

/* rates.c: the shares that each node has of the job's rates. */
void rates_share_out(struct brain *b, struct brain_job *j, sl_time now);

/* map.c: give jobs the nodes that the controller before had given them; decide anew. */
void map_learn(struct brain *b);
void map_decide(struct brain *b, sl_time now);

#endif
