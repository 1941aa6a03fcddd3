/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metadata operations over several nodes (wire/ops.h): the same two decisions as for bytes.
 *
 * Limits. A job's max_ops, the max of a class, and min_ops hold for the sum over nodes. Each node
 * has a share of them: what the job makes there, and a quarter more, if nothing holds it there;
 * nodes where it is held divide the rest by its processes. A node whose processes make no
 * operations gets STANDBY, so that they can begin at once.
 *
 *	max_ops 1000; node 0 makes 100/s and is not held, node 1 makes 500/s and is held
 *	shares .21 and .79: with the next report node 1 makes 790/s
 *
 * The capacity. What the layer has (`--capacity-ops N`) is divided among jobs that make operations,
 * by min_ops, weights, accounts and users, then a job's rate over its nodes. Where classes have
 * weights of their own, a job's weight is the sum over those in use. A node draws the sum over its
 * jobs, and gives each job its rate before all others. Under share=io-sets jobs have no rates:
 * nodes choose by sets from what they draw. Nodes without orders draw equal parts. Orders are not
 * acknowledged: while they change, nodes may draw a little more together.
 *
 * O(live jobs and their nodes).
 */
#include <stdlib.h>

#include "sluiced/controller/private.h"

#define SMOOTH_NS 117000000 /* as of bytes: phases.c */
#define MORE	  1.25
#define STANDBY	  0.03 /* of a limit, where a job has processes that make no operations */
#define STANDBYES 0.25 /* for all such nodes together */
#define FEW_PER_S 1.0  /* below this a job makes none */
#define RESERVE	  0.02 /* of the capacity, for nodes where nothing is wanted */
#define NEWS	  0.02 /* a change that is worth an order */

bool operations_report(const struct brain *b, struct brain_part *p, const struct sl_job_report *r,
		       bool begin, sl_time took, sl_time now)
{
	/* A node that forgot the job and knows it again counts from 0. */
	uint64_t made = r->ops - (r->ops >= p->ops ? p->ops : 0);
	uint64_t held = r->ops_held_ns - (r->ops_held_ns >= p->ops_held_ns ? p->ops_held_ns : 0);

	p->ops = r->ops;
	p->ops_held_ns = r->ops_held_ns;
	p->ops_weight = r->ops_weight;
	if (begin || took <= 0)
		return false;
	p->ops_rate += ((double)made * 1e9 / (double)took - p->ops_rate) * (double)took /
		       (double)(took + SMOOTH_NS);
	if (held >= (uint64_t)took / 4)
		p->ops_held_until = now + divide_hold_ns(b);
	return made || held;
}

static double wants(const struct brain *b, const struct brain_part *p, sl_time now)
{
	if (!b->node[p->node]->up)
		return 0;
	if (now < p->ops_held_until)
		return SL_ALL;
	if (now - p->heard > divide_hold_ns(b) || p->ops_rate < FEW_PER_S)
		return 0;
	return MORE * p->ops_rate;
}

bool operations_live(const struct brain *b, const struct brain_job *j, sl_time now)
{
	brain_for_parts(p, j)
	{
		if (wants(b, p, now) > 0 || p->ops_ordered >= 0)
			return true;
	}
	return false;
}

/*
 * Divide among the nodes of a job, into each part's ops_divided; below 0: nothing is wanted there.
 */
static void divide_parts(const struct brain *b, const struct brain_job *j, double rate, sl_time now)
{
	struct sl_divide_job few[DIVIDE_FEW], *part = few;
	uint32_t places = 0, n = 0;

	brain_for_parts(p, j)
	{
		places++;
	}
	if (places > DIVIDE_FEW && !(part = malloc(places * sizeof(*part))))
		return;
	brain_for_parts(p, j)
	{
		double want = wants(b, p, now);

		if (want > 0)
			part[n++] = (struct sl_divide_job){ .max_bps = SL_ALL,
							    .want_bps = want,
							    .weight = p->clients ? p->clients : 1 };
	}
	sl_divide(part, n, rate, NULL, now);
	n = 0;
	brain_for_parts(p, j)
	{
		p->ops_divided = wants(b, p, now) > 0 ? part[n++].rate_bps : -1;
	}
	if (part != few)
		free(part);
}

/* ---- limits ---- */

void operations_share_out(struct brain *b, struct brain_job *j, sl_time now)
{
	uint32_t places = 0, idle = 0;
	double sum = 0, divided = 0, least;

	if (!(j->limits & SL_LIMITS_OPS))
		return;
	brain_for_parts(p, j)
	{
		sum += wants(b, p, now) > 0 ? p->ops_rate : 0;
		places += p->clients > 0;
		idle += p->clients && !(wants(b, p, now) > 0);
	}
	least = places && STANDBY * places > STANDBYES ? STANDBYES / places : STANDBY;
	divide_parts(b, j, sum, now);
	brain_for_parts(p, j)
	{
		divided += p->ops_divided > 0 ? p->ops_divided : 0;
	}
	brain_for_parts(p, j)
	{
		double share = 1; /* no process is there: do not limit the first one */

		if (p->clients && divided <= 0)
			share = 1.0 / places;
		else if (p->clients || p->ops_divided > 0)
			share = p->ops_divided > 0 ? (1 - idle * least) * p->ops_divided / divided
						   : least;
		share = share > 1 ? 1 : share;
		p->ops_share = (uint32_t)(share * SL_SHARE_WHOLE);
		if (p->ops_share > p->ordered_ops_share * (1 + NEWS) ||
		    p->ops_share < p->ordered_ops_share * (1 - NEWS)) {
			p->ordered_ops_share = p->ops_share;
			pairs_news(b, p);
		}
	}
}

/* ---- the capacity ---- */

uint64_t operations_capacity(const struct brain *b)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < b->nodes; i++)
		if (b->node[i]->up && b->node[i]->layer_ops > most)
			most = b->node[i]->layer_ops;
	return most;
}

static bool differs(double x, double y, double least)
{
	return x > y + least || x < y - least;
}

static void order(struct brain *b, double capacity)
{
	double reserve = b->nodes_up ? RESERVE * capacity / b->nodes_up : 0;

	brain_for_live(j, b)
	{
		brain_for_parts(p, j)
		{
			if (b->max_exclusive_ns)
				p->ops_divided = -1;
			if (!b->node[p->node]->up ||
			    ((p->ops_divided < 0) == (p->ops_ordered < 0) &&
			     !differs(p->ops_divided, p->ops_ordered, NEWS * capacity)))
				continue;
			p->ops_ordered = p->ops_divided;
			pairs_news(b, p);
		}
	}
	for (uint32_t i = 0; i < b->nodes; i++) {
		struct brain_node *n = b->node[i];
		double draw = n->ops_wants > reserve ? n->ops_wants : reserve;

		if (!n->up || (n->ops_draw > 0 && !differs(draw, n->ops_draw, NEWS * capacity)))
			continue;
		n->ops_draw = draw;
		pairs_tell(b, i);
	}
}

static void forget(struct brain *b)
{
	brain_for_live(j, b)
	{
		brain_for_parts(p, j)
		{
			if (p->ops_ordered >= 0)
				pairs_news(b, p);
			p->ops_divided = p->ops_ordered = -1;
		}
	}
	for (uint32_t i = 0; i < b->nodes; i++)
		b->node[i]->ops_draw = 0;
	b->divides_ops = false;
}

sl_time operations_divide(struct brain *b, sl_time now)
{
	double capacity = (double)b->ops_sum;
	struct sl_divide_how how = divide_how(b);
	uint32_t n = 0;

	how.sets = NULL;
	if (b->divides_ops && !(capacity > 0))
		forget(b);
	if (!(capacity > 0))
		return SL_NEVER;
	b->divides_ops = true;
	for (uint32_t i = 0; i < b->nodes; i++)
		b->node[i]->ops_wants = 0;
	brain_for_live(j, b)
	{
		uint32_t weight = 0;
		double want = 0;

		brain_for_parts(p, j)
		{
			want += wants(b, p, now);
			weight = p->ops_weight > weight ? p->ops_weight : weight;
			p->ops_divided = -1;
		}
		if (!(want > 0))
			continue;
		b->dividing[n] = divide_facts(b, j);
		b->dividing[n].min_bps = (double)j->min_ops;
		if (weight) /* instead of the job's, which may count for each compute node */
			b->dividing[n].weight *= (double)weight / (j->weight ? j->weight : 1);
		b->dividing[n].max_bps = SL_ALL;
		b->dividing[n].want_bps = want < SL_ALL ? want : SL_ALL;
		b->divided[n++] = j;
	}
	sl_divide(b->dividing, n, capacity, &how, now);
	for (uint32_t i = 0; i < n; i++) {
		divide_parts(b, b->divided[i], b->dividing[i].rate_bps, now);
		brain_for_parts(p, b->divided[i])
		{
			if (p->ops_divided > 0)
				b->node[p->node]->ops_wants += p->ops_divided;
		}
	}
	order(b, capacity);
	return n ? now + b->report_ns : SL_NEVER;
}
