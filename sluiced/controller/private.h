/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the parts of the brain share. */
#ifndef SL_SLUICED_CONTROLLER_PRIVATE_H
#define SL_SLUICED_CONTROLLER_PRIVATE_H

#include "sluiced/controller/brain.h"

/*
 * The lease of a node that has had no I/O for LEASE_NS, and may draw next to nothing. So it is
 * renewed less often. When the node reports I/O again or loses its connection, it cuts what is left
 * to LEASE_NS; each report of I/O is therefore answered with orders for LEASE_NS.
 */
#define REST_NS INT64_C(16000000000)

/*
 * pairs.c: the number of a node by its name, SL_HASH_NONE: there is none; a new one, or -ENOSPC. A
 * job by its id, or NULL; a new one, NULL: no room. A new pair; its end. It is in the list of those
 * that are looked at with each decision, from now on.
 */
int pairs_init(struct brain *b);
void pairs_free(struct brain *b);
uint32_t pairs_node(const struct brain *b, const char *name);
int pairs_new_node(struct brain *b, const char *name);
struct brain_job *pairs_job(const struct brain *b, uint64_t id);
struct brain_job *pairs_new_job(struct brain *b, uint64_t id);
void pairs_drop_job(struct brain *b, struct brain_job *j);
struct brain_part *pairs_new(struct brain *b, struct brain_job *j, uint32_t node);
void pairs_drop(struct brain *b, struct brain_part *p);
void pairs_live(struct brain *b, struct brain_job *j);
/* Whether there is room for so many nodes that serve the job. */
bool pairs_to_room(struct brain_job *j, uint32_t count);
/* The node is to be sent orders, of the pair with it. */
void pairs_tell(struct brain *b, uint32_t node);
void pairs_news(struct brain *b, struct brain_part *p);
/* Its lease has begun anew. */
void pairs_renewed(struct brain *b, struct brain_node *n);

/* map.c: its size, as declared, or as far as it has been seen; not 0. */
uint32_t map_procs(const struct brain_job *j);
uint32_t map_nodes(const struct brain_job *j);

/*
 * nodes.c: the number of the node that reports, made up to date; *met: it has been heard of before.
 * -EPROTO: no name; -EEXIST: another one has it; -ENOSPC: no room.
 */
int nodes_index(struct brain *b, const struct sl_node_report *r, sl_time now, bool *met);
uint64_t nodes_rate(uint64_t bps); /* what can be reckoned with */

/* phases.c: whether the job's present phase is over; and that it is. */
bool phase_over(const struct brain *b, const struct brain_job *j, sl_time now);
void phase_end(struct brain *b, struct brain_job *j);
/* From now on its nodes are the same. */
void phase_steady(struct brain_job *j, uint64_t moved_bytes, sl_time now);

/*
 * periods.c: what a report of `took` ns says of the job's period; the part is as before it. The job
 * waits there no more. What is known of the period now.
 */
void period_report(struct brain_part *p, const struct sl_job_report *r, uint64_t bytes,
		   sl_time took, sl_time now);
void period_gone(struct brain_part *p, sl_time now);
void period_find(struct brain *b, struct brain_job *j, sl_time now);
const char *job_title(const struct brain_job *j); /* by which it is known when it comes again */
/* Its user and title are known: until a period is found it has that of its last run. */
void period_expect(const struct brain *b, struct brain_job *j);

/*
 * policy.c: new policies, by enum policy_stage; NULL: that one stays, or is the default if there is
 * none yet. 0, or -errno with a message, and nothing has changed.
 */
enum policy_stage { POLICY_GRANT, POLICY_ALLOCATE, POLICY_STAGES };
int policy_set(struct brain *b, const char *const spec[POLICY_STAGES], sl_time now, char *err,
	       size_t size);
void policy_free(struct brain *b);
#define POLICY_JOBS    4096 /* that an allocate policy decides about at one time */
#define POLICY_IONODES 1024 /* that it divides among them */
/* There is room for more jobs: the same policies anew, with room for as many. 0 or -ENOMEM. */
int policy_room(struct brain *b);

/* rates.c: the shares that each node has of the job's rates. */
void rates_share_out(struct brain *b, struct brain_job *j, sl_time now);

/*
 * operations.c: what a report of `took` ns says about metadata operations; whether there was
 * something.
 */
bool operations_report(const struct brain *b, struct brain_part *p, const struct sl_job_report *r,
		       bool begin, sl_time took, sl_time now);
/* Whether it has to be looked at with the next decision. */
bool operations_live(const struct brain *b, const struct brain_job *j, sl_time now);
/* The shares that each node has of the job's limits on them. */
void operations_share_out(struct brain *b, struct brain_job *j, sl_time now);
/* What nodes say that the layer has of them a second, or 0. */
uint64_t operations_capacity(const struct brain *b);
/* Divide the layer's operations a second; returns when to do so though nothing is reported. */
sl_time operations_divide(struct brain *b, sl_time now);

/* divide.c: memory for decisions about so many jobs, or -ENOMEM. */
int divide_room(struct brain *b, uint32_t jobs);
void divide_free(struct brain *b);
/* buckets.c: divide limits that jobs share; returns when to do so again. */
sl_time buckets_divide(struct brain *b, sl_time now);
/* joint.c: the same of limits on operations, calls or one direction. */
void joints_report(struct brain *b, struct brain_part *p, const struct sl_joint *r, sl_time now);
void joints_drop(struct brain_part *p);
sl_time joints_divide(struct brain *b, sl_time now);
void joints_orders(const struct brain_part *p, FILE *out);
/*
 * Divide the capacity among jobs and nodes as of now; returns when to do so though nothing is
 * reported.
 */
sl_time divide_capacity(struct brain *b, sl_time now);
/* Two reports and some: what was said last holds for so long. */
sl_time divide_hold_ns(const struct brain *b);
/* Weight, period and groups of the job, as divisions see it. */
struct sl_divide_job divide_facts(const struct brain *b, const struct brain_job *j);
struct sl_divide_how divide_how(const struct brain *b);
/* The node has reported what it draws; known: it was up before. */
void divide_node(struct brain *b, uint32_t node, const struct sl_node_report *r, bool known);
/* What a report of `took` ns says about what the job could use there; the part is as before it. */
void divide_report(struct brain *b, struct brain_part *p, const struct sl_job_report *r,
		   uint64_t bytes, sl_time took, sl_time now);
#define DIVIDE_FEW 16 /* nodes of a job that need no memory of their own */
/* What the job can use at this node, bytes a second; SL_ALL: as much as there is. */
double divide_wants(const struct brain *b, const struct brain_part *p, sl_time now);

/* brain.c: the node is new, or elsewhere than before. */
void brain_new_place(struct brain *b, uint32_t node);

/* map.c: give jobs the nodes that the controller before had given them; decide anew. */
void map_learn(struct brain *b);
void map_decide(struct brain *b, sl_time now);
/* Its nodes are others: those that know it are told. */
void map_news(struct brain *b, const struct brain_job *j);

#endif
