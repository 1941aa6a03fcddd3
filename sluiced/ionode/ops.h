/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metadata operations at a node: the share of each job in `capacity_ops`, and limits that programs
 * keep by themselves (wire/ops.h). The node's lock is held in all of these, unless it says
 * otherwise.
 */
#ifndef SL_IONODE_OPS_H
#define SL_IONODE_OPS_H

#include <stdbool.h>

#include "sluice.h"
#include "sluiced/ionode/storm.h"
#include "wire/ops.h"
#include "wire/status.h"

struct node;
struct node_job;
struct node_turn;

/* Operations of a job that share a min and a weight: a job of the scheduler of operations. */
struct ops_queue {
	struct sl_request lease; /* its request for credit */
	uint64_t used;		 /* when it was last looked at */
	int64_t lent;		 /* unused credit that the node has given, not the program */
	sl_time used_ns;	 /* when it last used credit */
	bool known;		 /* to the scheduler */
	bool active;		 /* it has used credit lately */
};

/* Of a job. */
struct node_ops {
	struct sl_ops_conf asked;
	struct ops_queue queue[SL_QUEUES]; /* wire/ops.h */
	uint64_t made[SL_CLASSES], counted[SL_CLASSES];
	uint64_t rate_made[SL_CLASSES], rate[SL_CLASSES];
	struct storm_job storm;
	/* As the controller has ordered (sluiced/controller/operations.c). */
	uint32_t share;	  /* of its limits on operations that is this node's; 0: all */
	uint64_t ordered; /* operations a second before all others; 0: none */
};

struct ops;

/* No lock is held. 0 or -errno. capacity: operations per second; 0: not limited. */
int ops_start(struct node *n, uint64_t capacity, bool find);
void ops_stop(struct node *n);

/*
 * Set the job's requested limits. -EDQUOT, -EINVAL: refused, nothing has changed; *why: the reason.
 */
int ops_job_ask(struct node *n, struct node_job *j, const struct sl_ops_conf *conf, sl_time now,
		const char **why);
/* Its weight, period or part of the layer may have changed, or it is new. */
int ops_job_apply(struct node *n, struct node_job *j, sl_time now);
void ops_job_forget(struct node *n, struct node_job *j, sl_time now);

/* What the job is guaranteed of operations, by what it asks for and its rule. */
uint64_t ops_min(const struct node *n, const struct node_job *j);
/* Limits of the job that the controller divides over nodes: SL_LIMITS_… */
uint32_t ops_limits(const struct node *n, const struct node_job *j);
/* Whether its programs keep a limit on data calls, alone or with other jobs. */
bool ops_meters_calls(const struct node *n, const struct node_job *j);
/*
 * Orders of the controller. A job's: true: they are others than before, and the job is to be
 * applied.
 */
bool ops_job_order(struct node *n, struct node_job *j, uint32_t share, uint64_t rate);
void ops_draw(struct node *n, uint64_t draw, sl_time now);
/* Its orders have run out. */
void ops_orders_over(struct node *n, sl_time now);
/* The weight of its queues that are in use; 0: as that of the job. */
uint32_t ops_weight(const struct node *n, const struct node_job *j, sl_time now);
/* What the whole layer has, for the controller to divide; 0: nothing. */
uint64_t ops_of_layer(const struct node *n);

/* Update the mode bits of the job's operations. */
void ops_mode(struct node *n, struct node_turn *t, sl_time now);
/* Its segment is about to be removed: release all waiters. */
void ops_release(struct node *n, struct node_turn *t, sl_time now);
/* Give out leases. Returns when to call again. */
sl_time ops_go_on(struct node *n, sl_time now);
/* Update the job's requests. True: check it again. */
bool ops_look(struct node *n, struct node_turn *t, sl_time now);
bool ops_pacing(const struct node *n); /* clients have to wake the node */

/* Count what it has done until now. */
void ops_account(struct node *n, struct node_job *j, sl_time now);
void ops_attach(struct node_turn *t); /* counts of its segment before that are none of its */
void ops_rates(struct node_job *j, sl_time took_ns);
uint64_t ops_sum(const uint64_t made[SL_CLASSES]);

/* 0: no limit. -EBUSY: jobs have a min. */
int ops_capacity(struct node *n, uint64_t per_second, bool find, sl_time now);
/* The policy of a stage has been set. */
void ops_policy(struct node *n, const char *stage, const char *spec, sl_time now);

void ops_status(const struct node *n, struct status *s);
void ops_job_status(const struct node *n, const struct node_job *job, struct status_job *s);

#endif
