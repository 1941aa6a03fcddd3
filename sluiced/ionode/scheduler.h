/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's calls of the scheduler, recorded when there is a trace. Everything that changes the
 * scheduler goes through here, under the node's lock, so that a recording is complete and in
 * order. The format is sched/trace.h's.
 */
#ifndef SL_SLUICED_IONODE_SCHEDULER_H
#define SL_SLUICED_IONODE_SCHEDULER_H

#include "base/json.h"
#include "sluiced/ionode/node.h"
#include "wire/status.h"

int trace_start(struct node *n, const char *path, const struct sl_config *config);
void trace_stop(struct node *n);
/* The key "trace" of the node's status: null, or the file and whether a write has failed. */
void trace_status(const struct node *n, struct status *s);

int node_add(struct node *n, struct node_io *io, sl_time now);
const struct sl_batch *node_next(struct node *n, sl_time now, sl_time *wake);
void node_done(struct node *n, const struct sl_batch *b, sl_time now);
int node_cancel(struct node *n, struct node_io *io, sl_time now);
int node_job_register(struct node *n, uint64_t job, const struct sl_job_conf *conf, sl_time now);
int node_job_change(struct node *n, uint64_t job, const struct sl_job_conf *conf, sl_time now);
int node_job_forget(struct node *n, uint64_t job, sl_time now);
int node_job_grant(struct node *n, uint64_t job, uint64_t rate_bps, sl_time until, sl_time now);
int node_job_order(struct node *n, uint64_t job, const char *policy, sl_time now);
int node_policy(struct node *n, const char *stage, const char *policy, sl_time now);
/* Before the call that names the file. */
void node_file(struct node *n, const char *name, const char *text, size_t length, sl_time now);
void node_ratio(struct node *n, uint32_t op, uint64_t bytes, uint32_t ratio_milli, sl_time now);
int node_capacity(struct node *n, uint64_t bps, sl_time now); /* paces from now on, too */

#endif
