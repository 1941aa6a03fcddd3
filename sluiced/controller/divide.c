/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One bandwidth for the whole layer: from what the nodes report, the rate of each job, of each job
 * at each node, and of each node.
 *
 * What a job can use. A job that had something waiting for a quarter of the time since the last
 * report is *backlogged*: it can use whatever it gets. Otherwise it wants a quarter more than it
 * moved of late. It counts as backlogged for HOLD_NS after the last report that said so, since a
 * program that writes call by call may not have run for some milliseconds. One that begins is
 * backlogged at once: nodes report a start without delay.
 *
 * Who gets what is policy/machine/divide.c's: min, grants, then shares by weight, or by sets of periods if
 * the nodes share by io-sets. Then the same function divides a job's rate over its nodes, by the
 * number of its processes there and what they want. A node may draw the sum over its jobs, and one
 * without work RESERVE of the capacity, divided by the number of nodes, so that a job that
 * starts is served at once.
 *
 * Changes without overshoot. What a node is ordered is in force when it gets the order, which is
 * known when it has acknowledged it. So a node that is to draw less is told at once; what it had is
 * *held* until it has acknowledged. A node that is to draw more is told as far as the sum of what
 *is held by all stays within the capacity and SLACK of it; the rest follows with the
 *acknowledgements. A node whose connection has ended draws nothing. One that is silent may draw
 *what it has been ordered until its lease has ended, and this is held for so long.
 *
 *	capacity 80, job A at node 0 draws 80; B starts at node 1
 *	0 ms  node 1 reports B; 40 for A, 40 for B; node 0 is told 40, node 1 .8 + .8
 *	1 ms  node 0 acknowledges 40; 40 are free; node 1 is told 40
 *
 * O(jobs x nodes) a division.
 */
#include "sluiced/controller/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOLD_NS	   INT64_C(120000000) /* two reports and some */
#define LEASE_NS   INT64_C(4000000000)
#define AGAIN_NS   INT64_C(50000000) /* while somebody wants something */
#define RESERVE	   0.01		     /* of the capacity, for all nodes without work */
#define SLACK	   0.02		     /* of the capacity */
#define MORE	   1.25		     /* than was moved may be wanted next */
#define TAIL	   0.0005
#define NEGLIGIBLE 0.005 /* of the capacity */

/* ---- life ---- */

int divide_init(struct brain *b)
{
	const struct sl_policy_limits limits = { .lanes = BRAIN_JOBS };

	b->dividing = calloc(BRAIN_JOBS, sizeof(*b->dividing));
	b->divided = calloc(BRAIN_JOBS, sizeof(struct brain_job *));
	b->ordering = calloc(BRAIN_JOBS, sizeof(struct sl_io_job *));
	b->sets = calloc(1, sl_grant_set_10.base.state_size(&limits) + 16);
	if (!b->dividing || !b->divided || !b->ordering || !b->sets)
		return -ENOMEM;
	sl_grant_set_10.base.init(b->sets, &limits, (const int64_t[]){ 0 }, 0);
	return 0;
}

void divide_free(struct brain *b)
{
	free(b->dividing);
	free(b->divided);
	free(b->ordering);
	free(b->sets);
}

/* ---- what nodes report ---- */

/* All nodes of a layer share by the same policy; the controller does as they do. */
static void take_share(struct brain *b, const char *text)
{
	const int64_t *value;
	struct sl_spec spec;
	char err[200];

	if (!text[0] || !strcmp(text, b->share))
		return;
	if (sl_spec_parse(SL_SHARE, text, &spec, err, sizeof(err)))
		return;
	snprintf(b->share, sizeof(b->share), "%s", text);
	b->max_exclusive_ns = 0;
	value = spec.values;
	if (!strcmp(spec.policy->name, "io-sets"))
		for (const struct sl_param *p = spec.policy->params; p->name; p++, value++)
			if (!strcmp(p->name, "max_exclusive_ms"))
				b->max_exclusive_ns = *value * 1000000;
	b->renew = true;
}

void divide_node(struct brain *b, uint32_t node, const struct sl_node_report *r, bool known)
{
	struct brain_node *n = &b->node[node];

	take_share(b, r->share);
	/* We have just started, and the clock that terms are taken from was set back. */
	if (!b->mapping && r->term > b->term)
		b->term = r->term + 1;
	if (!known) { /* it, or we, have just started: what it draws is what it says */
		n->order = n->acked = r->term == b->term ? r->ack : 0;
		n->sent_bps = n->held_bps = (double)nodes_rate(r->draw_bps);
		n->news = b->renew = true;
		return;
	}
	if (r->term == b->term)
		brain_ack(b, node, r->ack);
}

void brain_ack(struct brain *b, uint32_t node, uint64_t order)
{
	struct brain_node *n = &b->node[node];

	if (node >= b->nodes || order != n->order || order == n->acked)
		return;
	n->acked = order;
	b->renew |= n->held_bps > n->sent_bps;
	n->held_bps = n->sent_bps;
}

void divide_report(struct brain *b, struct brain_part *p, const struct sl_job_report *r,
		   uint64_t bytes, sl_time took, sl_time now)
{
	int64_t waited = r->waited_ns - (r->waited_ns >= p->waited_ns ? p->waited_ns : 0);
	bool begins = r->inside && !p->inside && now >= p->backlogged_until;
	bool still = r->inside && took > 0 && waited >= took / 4;

	p->waited_ns = r->waited_ns;
	if (!p->known && r->inside)
		begins = true;
	if (begins)
		b->renew = true;
	if (begins || still)
		p->backlogged_until = now + HOLD_NS;
	else if (!r->clients && !r->inside && !bytes && p->clients)
		p->backlogged_until = now; /* its last process has gone */
}

/* ---- dividing ---- */

static double part_wants(const struct brain *b, const struct brain_part *p, sl_time now)
{
	double want = p->rate_bps * MORE;

	if (!p->known)
		return 0;
	if (now < p->backlogged_until)
		return SL_ALL;
	return want < TAIL * b->capacity_bps ? 0 : want; /* of what has ended */
}

/* The job as the division sees it; false: it wants nothing. */
static bool job_wants(const struct brain *b, struct brain_job *j, struct sl_divide_job *d,
		      sl_time now)
{
	double want = 0;

	for (uint32_t i = 0; i < b->nodes; i++)
		want += part_wants(b, &j->part[i], now);
	if (!(want > 0)) {
		j->ticket = j->held_since = 0;
		return false;
	}
	j->ticket = j->ticket ? j->ticket : now;
	*d = (struct sl_divide_job){
		.min_bps = (double)j->min_bps,
		.granted_bps = b->ops && j->in_io ? j->io.rate_bps : 0,
		.max_bps = j->max_bps ? (double)j->max_bps : SL_ALL,
		.want_bps = want < SL_ALL ? want : SL_ALL,
		.weight = j->weight ? j->weight : 1,
		.period_ns = j->declared_ns ? j->declared_ns : j->found_ns,
		.since = j->ticket,
	};
	return true;
}

/* A job's rate over its nodes. */
static void divide_job(struct brain *b, struct brain_job *j, sl_time now)
{
	struct sl_divide_job part[BRAIN_NODES];
	uint32_t at[BRAIN_NODES], n = 0;

	for (uint32_t i = 0; i < b->nodes; i++) {
		double want = part_wants(b, &j->part[i], now);

		j->part[i].divided_bps = -1;
		if (!(want > 0))
			continue;
		at[n] = i;
		part[n++] = (struct sl_divide_job){
			.max_bps = SL_ALL,
			.want_bps = want,
			.weight = j->part[i].clients ? j->part[i].clients : 1,
		};
	}
	sl_divide(part, n, j->divided_bps, NULL, now);
	for (uint32_t i = 0; i < n; i++) {
		j->part[at[i]].divided_bps = part[i].rate_bps;
		b->node[at[i]].wants_bps += part[i].rate_bps;
	}
}

/*
 * share=io-sets: who has had its set for max_exclusive_ms while another one of the same set waits
 * goes behind all others of it, as in a node.
 */
static void rotate_sets(struct brain *b, uint32_t n, sl_time now)
{
	for (uint32_t i = 0; b->max_exclusive_ns && i < n; i++) {
		struct brain_job *j = b->divided[i];
		bool holds = b->dividing[i].rate_bps > b->dividing[i].min_bps;

		j->held_since = !holds ? 0 : j->held_since ? j->held_since : now;
		if (holds && now - j->held_since >= b->max_exclusive_ns) {
			j->ticket = now;
			j->held_since = 0;
			b->renew = true;
		}
	}
}

/* Rates of all jobs and nodes. How many jobs want something. */
static uint32_t divide_all(struct brain *b, double capacity, sl_time now)
{
	const struct sl_divide_how how = { .sets = b->max_exclusive_ns ? b->sets : NULL,
					   .order = b->ordering };
	double reserve;
	uint32_t n = 0, up = 0;

	for (uint32_t i = 0; i < b->nodes; i++) {
		b->node[i].wants_bps = 0;
		up += b->node[i].up;
	}
	for (uint32_t i = 0; i < b->jobs; i++) {
		struct brain_job *j = b->job[i];

		if (!j)
			continue;
		j->divided_bps = -1;
		if (job_wants(b, j, &b->dividing[n], now))
			b->divided[n++] = j;
		else
			for (uint32_t k = 0; k < b->nodes; k++)
				j->part[k].divided_bps = -1;
	}
	sl_divide(b->dividing, n, capacity, &how, now);
	for (uint32_t i = 0; i < n; i++) {
		b->divided[i]->divided_bps = b->dividing[i].rate_bps;
		divide_job(b, b->divided[i], now);
	}
	rotate_sets(b, n, now);
	b->negligible_bps = NEGLIGIBLE * capacity / (up ? up : 1);
	reserve = up ? RESERVE * capacity / up : 0;
	reserve = reserve < 1 ? 1 : reserve;
	for (uint32_t i = 0; i < b->nodes; i++)
		if (b->node[i].up && b->node[i].wants_bps < reserve)
			b->node[i].wants_bps = reserve;
	return n;
}

/* ---- orders ---- */

/* By more than is worth an order: all nodes together stay within NEGLIGIBLE of the capacity. */
static bool differs(const struct brain *b, double x, double y)
{
	return x > y + b->negligible_bps || x < y - b->negligible_bps;
}

static void tell(struct brain *b, struct brain_node *n, double bps)
{
	n->sent_bps = bps;
	n->held_bps = bps > n->held_bps ? bps : n->held_bps;
	n->order++;
	n->news = true;
	b->shifted = true;
}

/* Lower at once; raise as far as what is held by all allows. */
static void order_nodes(struct brain *b, double capacity, sl_time now)
{
	double held = 0, raises = 0, room, part;

	for (uint32_t i = 0; i < b->nodes; i++) {
		struct brain_node *n = &b->node[i];

		if (n->up && now - n->heard > LEASE_NS)
			n->held_bps = 0; /* its orders have run out */
		if (n->up && n->wants_bps < n->sent_bps &&
		    (differs(b, n->wants_bps, n->sent_bps) || n->wants_bps < n->sent_bps / 2))
			tell(b, n, n->wants_bps);
		held += n->held_bps;
		raises += n->up && n->wants_bps > n->held_bps ? n->wants_bps - n->held_bps : 0;
	}
	room = capacity * (1 + SLACK) - held;
	part = raises > 0 && room < raises ? room / raises : 1;
	for (uint32_t i = 0; i < b->nodes; i++) {
		struct brain_node *n = &b->node[i];
		double to = n->wants_bps;

		if (n->up && to > n->held_bps)
			to = n->held_bps + (part > 0 ? part * (to - n->held_bps) : 0);
		if (n->up && to > n->sent_bps && differs(b, to, n->sent_bps))
			tell(b, n, to);
	}
}

/* Jobs whose rate at a node is another than ordered: the node is told with its next order. */
static void order_jobs(struct brain *b)
{
	for (uint32_t i = 0; i < b->jobs; i++)
		for (uint32_t k = 0; b->job[i] && k < b->nodes; k++) {
			struct brain_part *p = &b->job[i]->part[k];

			if (!p->known || !b->node[k].up ||
			    ((p->divided_bps < 0) == (p->ordered_bps < 0) &&
			     !differs(b, p->divided_bps, p->ordered_bps)))
				continue;
			p->ordered_bps = p->divided_bps;
			b->node[k].news = b->shifted = true;
		}
}

sl_time divide_capacity(struct brain *b, sl_time now)
{
	double capacity = (double)brain_capacity(b);
	uint32_t wanting;

	b->renew = false;
	if (!(capacity > 0))
		return SL_NEVER;
	b->capacity_bps = capacity;
	wanting = divide_all(b, capacity, now);
	order_nodes(b, capacity, now);
	order_jobs(b);
	return b->renew ? now + 1000000 : wanting ? now + AGAIN_NS : SL_NEVER;
}
