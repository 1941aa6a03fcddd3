/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits on operations, calls, or the bytes of one direction that several jobs share (rules with
 * `per: user` and max_ops, max_write, …). Programs keep limits of their own by meters in their
 * segments (wire/ops.h), so a limit of several jobs is divided among them, anew every DIVIDE_NS:
 * jobs that are held have equal parts by weight, others what they use and a quarter more.
 *
 *	max_ops 1000 per user; a is held, b makes 100/s and is not held, c makes none
 *	a 875   b 125   c 20, to begin with            b stops: a 1000, b and c 10 each
 *
 * A job is held if the tag of its meter is ahead of the clock. A program that is held rings,
 * because a node that has nothing to grant sleeps (SL_OPS_JOINT). In a layer with several nodes the
 * controller divides, for jobs at all nodes (controller/joint.c). Without orders a node divides its
 * even part of the limit.
 *
 * O(jobs log jobs) a division, while somebody makes operations.
 */
#include "sluiced/ionode/joint.h"

#include <errno.h>
#include <stdlib.h>

#include "policy/machine/divide.h"
#include "sluiced/ionode/link.h"
#include "sluiced/ionode/node.h"
#include "sluiced/ionode/turn.h"

#define DIVIDE_NS INT64_C(50000000)
#define HOLD_NS	  INT64_C(120000000) /* held for so long after it was seen so */
#define MORE	  1.25
#define STANDBY	  0.02
#define FEW	  0.001 /* of the limit: a job that makes less makes none */

struct node_joint {
	uint64_t bucket, limit; /* 0: none */
	double here;
	uint64_t units; /* made, when it was last looked at */
	double rate;	/* a second, of late */
	sl_time looked, held_until;
	sl_time until; /* the controller has said so; 0: it has not */
	double want;
	bool told; /* the controller knows of it, and that something is wanted */
};

/* One of them, for a division. */
struct joint_part {
	struct node_job *job;
	unsigned meter;
};

void joint_set(struct node *n, struct node_job *j, unsigned meter, uint64_t bucket, uint64_t limit)
{
	struct node_joint *at;

	if (!j->joint && !bucket)
		return;
	if (!j->joint) {
		j->joint = calloc(SL_METERS, sizeof(*j->joint));
		if (!j->joint)
			return; /* it is not limited: nothing fails for want of memory */
		n->joint_jobs++;
	}
	at = &j->joint[meter];
	if (bucket == at->bucket && limit == at->limit)
		return;
	if (bucket != at->bucket)
		*at = (struct node_joint){ .told = at->told };
	at->bucket = bucket;
	at->limit = limit;
	at->here = bucket ? STANDBY * (double)limit : 0;
	at->until = 0;
	n->joint_at = 0;
}

void joint_free(struct node *n, struct node_job *j)
{
	n->joint_jobs -= j->joint != NULL;
	free(j->joint);
	j->joint = NULL;
}

uint64_t joint_here(const struct node_job *j, unsigned meter)
{
	const struct node_joint *at = j->joint ? &j->joint[meter] : NULL;

	if (!at || !at->bucket)
		return 0;
	return at->here < 1 ? 1 : (uint64_t)(at->here + 0.5);
}

/* ---- what jobs want ---- */

static uint64_t units(const struct node_job *j, unsigned meter)
{
	switch (meter) {
	case SL_METER_OPS:
		return ops_sum(j->ops.made);
	case SL_METER_IOPS:
		return j->calls;
	case SL_METER_READ:
		return j->moved[SL_READ];
	case SL_METER_WRITE:
		return j->moved[SL_WRITE];
	default:
		return j->ops.made[meter];
	}
}

static void look(struct node *n, struct node_job *j, unsigned meter, sl_time now)
{
	struct node_joint *at = &j->joint[meter];
	uint64_t made = units(j, meter);
	bool wanted = at->want > 0;

	if (at->looked && now > at->looked)
		at->rate +=
			((double)(made - at->units) * 1e9 / (double)(now - at->looked) - at->rate) /
			2;
	at->units = made;
	at->looked = now;
	if (j->turn &&
	    atomic_load(&j->turn->shm->operations.meter[meter].tag) > now * SL_METER_TICKS)
		at->held_until = now + HOLD_NS;
	at->want = now < at->held_until					  ? SL_ALL
		   : at->rate > FEW * (double)at->limit && at->rate > 0.5 ? MORE * at->rate
									  : 0;
	if (at->want > 0 && !wanted)
		link_event(n);
}

/* ---- divisions ---- */

static int by_bucket(const void *a, const void *b)
{
	const struct joint_part *x = a, *y = b;
	uint64_t p = x->job->joint[x->meter].bucket, q = y->job->joint[y->meter].bucket;

	return p != q ? (p < q ? -1 : 1) : (x->meter > y->meter) - (x->meter < y->meter);
}

static void set_here(struct node *n, struct node_job *j, unsigned meter, double here, sl_time now)
{
	struct node_joint *at = &j->joint[meter];

	if (here < at->here * 1.005 && here > at->here * 0.995)
		return;
	at->here = here;
	if (j->turn)
		ops_mode(n, j->turn, now);
}

/* Jobs of one limit. */
static void divide(struct node *n, const struct joint_part *part, uint32_t count, sl_time now)
{
	struct sl_divide_job *d = n->joint_divide;
	unsigned meter = part[0].meter;
	double limit = (double)part[0].job->joint[meter].limit;
	uint32_t nodes = n->config->layer_nodes ? n->config->layer_nodes : 1, idle = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct node_job *j = part[i].job;

		d[i] = (struct sl_divide_job){ .max_bps = SL_ALL,
					       .want_bps = j->joint[meter].want,
					       .weight = j->rights.weight ? j->rights.weight : 1 };
		idle += !(d[i].want_bps > 0);
	}
	sl_divide(d, count, limit / nodes, NULL, now);
	for (uint32_t i = 0; i < count; i++) {
		struct node_joint *at = &part[i].job->joint[meter];

		if (now < at->until)
			continue; /* the controller has divided it */
		at->until = 0;
		set_here(n, part[i].job, meter,
			 d[i].want_bps > 0 ? d[i].rate_bps : STANDBY * limit / nodes / idle, now);
	}
}

/* All parts, and what is wanted; their number. */
static uint32_t collect(struct node *n, sl_time now, bool *wanted)
{
	uint32_t count = 0, room = n->joint_jobs * SL_METERS;

	if (room > n->joint_room) {
		struct joint_part *part = reallocarray(n->joint_part, room, sizeof(*part));
		struct sl_divide_job *d;

		if (!part)
			return 0;
		n->joint_part = part;
		d = reallocarray(n->joint_divide, room, sizeof(*d));
		if (!d)
			return 0;
		n->joint_divide = d;
		n->joint_room = room;
	}
	for (struct node_job *j = n->jobs; j; j = j->next)
		for (unsigned m = 0; j->joint && m < SL_METERS; m++) {
			if (!j->joint[m].bucket)
				continue;
			look(n, j, m, now);
			*wanted |= j->joint[m].want > 0;
			n->joint_part[count++] = (struct joint_part){ j, m };
		}
	return count;
}

sl_time joint_divide(struct node *n, sl_time now)
{
	uint32_t count, first = 0;
	bool wanted = false;

	if (!n->joint_jobs || n->passing)
		return SL_NEVER;
	if (n->joint_at && now < n->joint_at + DIVIDE_NS)
		return n->joint_wanted ? n->joint_at + DIVIDE_NS : SL_NEVER;
	n->joint_at = now;
	turn_account(n, now);
	count = collect(n, now, &wanted);
	if (count)
		qsort(n->joint_part, count, sizeof(*n->joint_part), by_bucket);
	for (uint32_t i = 1; i <= count; i++) {
		if (i < count && !by_bucket(&n->joint_part[i], &n->joint_part[first]))
			continue;
		divide(n, n->joint_part + first, i - first, now);
		first = i;
	}
	n->joint_wanted = wanted;
	return wanted ? now + DIVIDE_NS : SL_NEVER;
}

/* ---- the controller ---- */

struct joint_line {
	struct sl_joint is;
	bool news;
};

/* What there is to say of a meter; false: nothing. */
static bool describe(struct node_job *j, unsigned meter, struct joint_line *out)
{
	struct node_joint *at = &j->joint[meter];
	bool wants = at->bucket && at->want > 0;

	if (!at->bucket && !at->told)
		return false;
	out->is = (struct sl_joint){ .id = j->number,
				     .meter = meter,
				     .bucket = at->bucket,
				     .limit = at->limit,
				     .rate = wants && at->rate > 0 ? (uint64_t)at->rate : 0,
				     .held = at->want >= SL_ALL };
	out->news = wants || at->told;
	at->told = wants;
	return true;
}

int joint_collect(struct joint_news *to, struct node_job *j)
{
	if (!j->joint)
		return 0;
	if (to->count + SL_METERS > to->room) {
		uint32_t room = 2 * to->room + SL_METERS;
		struct joint_line *more = reallocarray(to->line, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		to->line = more;
		to->room = room;
	}
	for (unsigned m = 0; m < SL_METERS; m++)
		to->count += describe(j, m, &to->line[to->count]);
	return 0;
}

void joint_put(const struct joint_news *from, FILE *out, bool whole)
{
	for (uint32_t i = 0; i < from->count; i++)
		if (from->line[i].news || (whole && from->line[i].is.bucket))
			sl_joint_put(out, &from->line[i].is);
}

void joint_order(struct node *n, struct node_job *j, const struct sl_joint *o, sl_time until)
{
	if (!j->joint || o->meter >= SL_METERS || j->joint[o->meter].bucket != o->bucket ||
	    !o->bucket)
		return;
	j->joint[o->meter].until = until;
	set_here(n, j, o->meter, (double)(o->rate ? o->rate : 1), node_now());
}

void joint_lease(struct node_job *j, sl_time until)
{
	for (unsigned m = 0; j->joint && m < SL_METERS; m++)
		if (j->joint[m].until)
			j->joint[m].until = until;
}

void joint_cut(struct node_job *j, sl_time latest)
{
	for (unsigned m = 0; j->joint && m < SL_METERS; m++)
		if (j->joint[m].until > latest)
			j->joint[m].until = latest;
}
