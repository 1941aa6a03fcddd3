/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits on operations, calls or the bytes of one direction that several jobs share: see joint.c.
 * The node's lock is held in all of these.
 */
#ifndef SL_IONODE_JOINT_H
#define SL_IONODE_JOINT_H

#include <stdbool.h>
#include <stdio.h>

#include "sluice.h"
#include "wire/ops.h"
#include "wire/report.h"

struct node;
struct node_job;

/*
 * The job has this meter (enum sl_meter) together with all jobs of the bucket, which have `limit` a
 * second on all nodes. bucket 0: no more.
 */
void joint_set(struct node *n, struct node_job *j, unsigned meter, uint64_t bucket, uint64_t limit);
void joint_free(struct node *n, struct node_job *j);
/* What the job has of it here; 0: it shares no such limit. */
uint64_t joint_here(const struct node_job *j, unsigned meter);
/* Divide limits anew, if it is time. When to do so again. */
sl_time joint_divide(struct node *n, sl_time now);

/*
 * For a report: limits that jobs share, what the jobs make of late, and whether that was said
 * before.
 */
struct joint_news {
	struct joint_line *line;
	uint32_t count, room;
};
/* Those of a job, behind the others. 0 or -ENOMEM. */
int joint_collect(struct joint_news *to, struct node_job *j);
/* The lock is not held. whole: also what was said before. */
void joint_put(const struct joint_news *from, FILE *out, bool whole);
/* The controller has divided: the job has so much here, until then. */
void joint_order(struct node *n, struct node_job *j, const struct sl_joint *o, sl_time until);
/* Orders that are in force hold until then; 0: no longer. latest: no longer than that. */
void joint_lease(struct node_job *j, sl_time until);
void joint_cut(struct node_job *j, sl_time latest);

#endif
