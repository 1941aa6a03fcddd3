/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits on operations, calls, or the bytes of one direction that several jobs share, over all
 * nodes: what buckets.c does for bytes. A node reports for each job and limit the bucket, what the
 * job makes there, and whether the limit holds it; each pair of job and node has a part. A job's
 * weight is divided among the nodes where it wants something.
 *
 *	max_ops 1000 per user; a is held at nodes 0 and 1, b makes 100/s at node 2, c none at node 2
 *	a 437 and 437   b 125   c 20
 *
 * O(parts log parts), while somebody wants something.
 */
#include <stdlib.h>

#include "sluiced/controller/private.h"
#include "wire/ops.h"

#define STANDBY	 0.02
#define MORE	 1.25
#define AGAIN_NS INT64_C(50000000)

struct brain_joint {
	struct sl_list all;	  /* in brain.joints */
	struct brain_joint *next; /* of the same part */
	struct brain_part *part;
	uint32_t meter;
	uint64_t bucket, limit;
	double rate;
	bool held;
	sl_time heard;
	double ordered; /* 0: not yet */
};

static void drop(struct brain_joint **at)
{
	struct brain_joint *gone = *at;

	*at = gone->next;
	sl_list_remove(&gone->all);
	free(gone);
}

void joints_drop(struct brain_part *p)
{
	while (p->joint)
		drop(&p->joint);
}

void joints_report(struct brain *b, struct brain_part *p, const struct sl_joint *r, sl_time now)
{
	struct brain_joint **at = &p->joint, *x;

	while (*at && (*at)->meter != r->meter)
		at = &(*at)->next;
	if (!r->bucket || !r->limit || r->meter >= SL_METERS) {
		if (*at)
			drop(at);
		return;
	}
	if (!*at) {
		x = calloc(1, sizeof(*x));
		if (!x)
			return; /* its node divides by itself */
		x->part = p;
		x->meter = r->meter;
		sl_list_init(&x->all);
		sl_list_push_back(&b->joints, &x->all);
		*at = x;
	}
	x = *at;
	if (x->bucket != r->bucket || x->limit != nodes_rate(r->limit))
		x->ordered = 0;
	x->bucket = r->bucket;
	x->limit = nodes_rate(r->limit);
	x->rate = (double)r->rate;
	x->held = r->held;
	x->heard = now;
	b->renew = true;
}

static double wants(const struct brain *b, const struct brain_joint *x, sl_time now)
{
	if (!b->node[x->part->node]->up || now - x->heard > divide_hold_ns(b))
		return 0;
	return x->held ? SL_ALL : MORE * x->rate;
}

static int by_bucket(const void *a, const void *b)
{
	const struct brain_joint *x = *(struct brain_joint *const *)a,
				 *y = *(struct brain_joint *const *)b;

	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	return (x->meter > y->meter) - (x->meter < y->meter);
}

/* And the parts of one job are beside each other. */
static int by_job(const void *a, const void *b)
{
	const struct brain_joint *x = *(struct brain_joint *const *)a,
				 *y = *(struct brain_joint *const *)b;
	int rc = by_bucket(a, b);

	if (rc || x->part->job == y->part->job)
		return rc;
	return x->part->job->id < y->part->job->id ? -1 : 1;
}

static void order(struct brain *b, struct brain_joint *x, double rate)
{
	if (rate < x->ordered * 1.005 && rate > x->ordered * 0.995)
		return;
	x->ordered = rate;
	pairs_news(b, x->part);
}

/* The parts of one limit, those of a job beside each other. */
static bool divide(struct brain *b, struct brain_joint **x, uint32_t count, struct sl_divide_job *d,
		   sl_time now)
{
	double limit = (double)x[0]->limit;
	uint32_t idle = 0;

	for (uint32_t i = 0, from = 0, wanting = 0; i < count; i++) {
		const struct brain_job *j = x[i]->part->job;

		d[i] = (struct sl_divide_job){ .max_bps = SL_ALL, .want_bps = wants(b, x[i], now) };
		wanting += d[i].want_bps > 0;
		idle += !(d[i].want_bps > 0);
		if (i + 1 < count && x[i + 1]->part->job == j)
			continue;
		for (; from <= i; from++)
			d[from].weight =
				(double)(j->weight ? j->weight : 1) / (wanting ? wanting : 1);
		wanting = 0;
	}
	sl_divide(d, count, limit, NULL, now);
	for (uint32_t i = 0; i < count; i++)
		order(b, x[i], d[i].want_bps > 0 ? d[i].rate_bps : STANDBY * limit / idle);
	return idle < count;
}

sl_time joints_divide(struct brain *b, sl_time now)
{
	struct brain_joint **x;
	struct sl_divide_job *d;
	uint32_t count = 0, first = 0;
	bool wanted = false;

	for (const struct sl_list *l = b->joints.next; l != &b->joints; l = l->next)
		count++;
	if (!count)
		return SL_NEVER;
	x = malloc(count * sizeof(struct brain_joint *));
	d = malloc(count * sizeof(*d));
	count = 0;
	for (const struct sl_list *l = b->joints.next; x && d && l != &b->joints; l = l->next)
		x[count++] = sl_container(l, struct brain_joint, all);
	if (count)
		qsort(x, count, sizeof(struct brain_joint *), by_job);
	for (uint32_t i = 1; i <= count; i++) {
		if (i < count && !by_bucket(&x[i], &x[first]))
			continue;
		wanted |= divide(b, x + first, i - first, d, now);
		first = i;
	}
	free(x);
	free(d);
	return wanted ? now + AGAIN_NS : SL_NEVER;
}

void joints_orders(const struct brain_part *p, FILE *out)
{
	for (const struct brain_joint *x = p->joint; x; x = x->next) {
		const struct sl_joint o = { .id = p->job->id,
					    .meter = x->meter,
					    .bucket = x->bucket,
					    .rate = x->ordered < 1 ? 1
								   : (uint64_t)(x->ordered + 0.5) };

		if (x->ordered > 0)
			sl_joint_put(out, &o);
	}
}
