/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `--capacity-ops auto`: hold jobs whose metadata operations slow down those of others. The node's
 * lock is held in all of these, but for the first two.
 *
 * detect/ops.h decides how many operations there may be. Their number is divided by weights, a
 * job's min_ops first. A job that gets less than it asks for has a meter with that rate
 * (wire/ops.h), which its programs keep by themselves, operation by operation; the others have
 * none, and never wait.
 *
 *	limit 8,000/s; a (16 processes) makes 40,000/s, b 400/s
 *	b asks for 1.25 x 400 = 500, which is less than half of 8,000: no meter. a: 7,500/s
 */
#ifndef SL_IONODE_STORM_H
#define SL_IONODE_STORM_H

#include "detect/ops.h"
#include "sluice.h"
#include "wire/ops.h"

struct node;
struct node_turn;
struct storm;

/* Of a job. */
struct storm_job {
	struct sl_ops_job find;
	uint64_t made; /* when the last step began */
	uint64_t timed_ns[SL_CLASSES], timed_calls[SL_CLASSES];
	uint64_t rate; /* of its meter; 0: none */
};

struct storm *storm_create(sl_time now); /* NULL: out of memory */
void storm_destroy(struct storm *s);
/* Forget what was found; meters are set by ops_mode(). */
void storm_reset(struct node *n, struct storm *s, sl_time now);

/* When to look again. */
sl_time storm_go_on(struct node *n, struct storm *s, sl_time now);
/* Set its meter: bits of enum sl_ops_mode. */
uint32_t storm_mode(struct node *n, struct node_turn *t, bool finding);
/* What its segment has counted before is none of it. */
void storm_attach(struct node_turn *t);
/* Operations per second of all jobs; 0: no limit. */
double storm_limit(const struct storm *s);

#endif
