/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divide the bandwidth of the whole layer: from the reports of the nodes, compute the rate of each
 * job, of each job at each node, and of each node.
 *
 * What a job can use. A job that has requests inside, or had something waiting for a quarter of the
 * time since the last report, is *backlogged*: it can use whatever it gets. Otherwise it wants a
 * quarter more than it moved recently. It stays backlogged for a little more than two reports,
 * because a program that writes call by call may not have run for some milliseconds. A job that
 * begins is backlogged at once: nodes report a start without delay.
 *
 * policy/machine/divide.c divides: min, grants, then shares by weight, by sets of periods if the
 * nodes share by io-sets, or by accounts and users if they share by fair. Then the same function
 * divides a job's rate over its nodes, by the number of its processes there and what they want. A
 * node may draw the sum over its jobs, and one without work RESERVE of the capacity, divided by the
 * number of nodes, so that a job that starts is served at once.
 *
 * Changes without overshoot. An order is in force when the node receives it, which is known when
 * the node has acknowledged it. So a node that is to draw less gets its order at once; its old rate
 * is *held* until it has acknowledged. A node that is to draw more gets as much as keeps the sum of
 * all held rates within the capacity plus SLACK; the rest follows with the acknowledgements. A node
 * that has died draws nothing. A node that is silent, or whose connection has ended while it may
 * live, may draw its ordered rate until its lease has ended, and the rate is held for this time.
 *
 * A controller that has just started does not know the rates of nodes that have not reported yet.
 * Until all nodes of the layer have reported, or all leases of the previous controller have ended,
 * the part of the capacity that the known nodes do not draw is held for the others.
 *
 *	capacity 80, job A at node 0 draws 80; B starts at node 1
 *	0 ms  node 1 reports B; 40 for A, 40 for B; node 0 is told 40, node 1 .8 + .8
 *	1 ms  node 0 acknowledges 40; 40 are free; node 1 is told 40
 *
 * O(nodes + pairs of the jobs that live) a division.
 */
#include "sluiced/controller/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/request/share/fair.h"

#define RESERVE	   0.01 /* of the capacity, for all nodes without work */
#define SLACK	   0.02 /* of the capacity */
#define MORE	   1.25 /* than was moved may be wanted next */
#define TAIL	   0.0005
#define LEAST_BPS  1000	 /* the same, if the capacity is not known */
#define NEGLIGIBLE 0.005 /* of the capacity */
#define MANY	   100	 /* jobs that want something */
#define AHEAD	   8	 /* nodes that are fetched before they are looked at */
#define RELATIVE   0.008 /* of a rate */

/* ---- life ---- */

int divide_room(struct brain *b, uint32_t jobs)
{
	const struct sl_policy_limits limits = { .lanes = jobs };

	divide_free(b);
	b->dividing = calloc(jobs, sizeof(*b->dividing));
	b->divided = calloc(jobs, sizeof(struct brain_job *));
	b->ordering = calloc(jobs, sizeof(struct sl_io_job *));
	b->sets = calloc(1, sl_policy_size(&sl_grant_set_10.base, &limits) + 16);
	b->dividing_room = calloc((1 + SL_DIVIDE_LEVELS) * (size_t)jobs, sizeof(*b->dividing_room));
	if (!b->dividing || !b->divided || !b->ordering || !b->sets || !b->dividing_room)
		return -ENOMEM;
	sl_policy_init(&sl_grant_set_10.base, b->sets, &limits, (const int64_t[]){ 0 }, 0);
	return 0;
}

void divide_free(struct brain *b)
{
	free(b->dividing);
	free(b->divided);
	free(b->ordering);
	free(b->sets);
	free(b->dividing_room);
	b->dividing = NULL;
	b->divided = NULL;
	b->ordering = NULL;
	b->sets = NULL;
	b->dividing_room = NULL;
}

/* ---- what nodes report ---- */

/* All nodes of a layer use the same share policy, and the controller follows it. */
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
	b->fair = strcmp(spec.policy->name, "fair") ? 0 : sl_fair_by(spec.values);
	value = spec.values;
	if (!strcmp(spec.policy->name, "io-sets"))
		for (const struct sl_param *p = spec.policy->params; p->name; p++, value++)
			if (!strcmp(p->name, "max_exclusive_ms"))
				b->max_exclusive_ns = *value * 1000000;
	b->renew = true;
}

void divide_node(struct brain *b, uint32_t node, const struct sl_node_report *r, bool known)
{
	struct brain_node *n = b->node[node];

	take_share(b, r->share);
	/* We have just started, and the clock that terms are taken from was set back. */
	if (!b->mapping && r->term > b->term)
		b->term = r->term + 1;
	if (!known) { /* it, or we, have just started: what it draws is what it says */
		n->order = n->acked = r->term == b->term ? r->ack : 0;
		n->sent_bps = n->held_bps = (double)nodes_rate(r->draw_bps);
		pairs_tell(b, node);
		b->renew = true;
		return;
	}
	if (r->term != b->term)
		return;
	if (!r->ack && n->acked) { /* its orders had run out: it draws what it says */
		n->acked = 0;
		if ((double)r->draw_bps > n->held_bps)
			n->held_bps = (double)nodes_rate(r->draw_bps);
		pairs_tell(b, node);
		b->renew = true;
		return;
	}
	brain_ack(b, node, r->ack);
}

void brain_ack(struct brain *b, uint32_t node, uint64_t order)
{
	struct brain_node *n = node < b->nodes ? b->node[node] : NULL;

	if (!n || order != n->order || order == n->acked)
		return;
	n->acked = order;
	b->renew |= n->held_bps > n->sent_bps;
	n->held_bps = n->sent_bps;
}

sl_time divide_hold_ns(const struct brain *b)
{
	return b->report_ns / 5 * 12;
}

void divide_report(struct brain *b, struct brain_part *p, const struct sl_job_report *r,
		   uint64_t bytes, sl_time took, sl_time now)
{
	int64_t waited = r->waited_ns - (r->waited_ns >= p->waited_ns ? p->waited_ns : 0);
	bool begins = r->inside && !p->inside && now >= p->backlogged_until;
	bool still = r->inside && took > 0 && waited >= took / 4;

	p->waited_ns = r->waited_ns;
	if (begins)
		b->renew = true;
	if (begins || still)
		p->backlogged_until = now + divide_hold_ns(b);
	else if (!r->clients && !r->inside && !bytes && p->clients)
		p->backlogged_until = now; /* its last process has gone */
}

/* ---- dividing ---- */

double divide_wants(const struct brain *b, const struct brain_part *p, sl_time now)
{
	double want = p->rate_bps * MORE, least;

	if (!b->node[p->node]->up)
		return 0;
	if (now < p->backlogged_until ||
	    (p->inside && now - b->node[p->node]->heard < divide_hold_ns(b)))
		return SL_ALL;
	if (now - p->heard > divide_hold_ns(b)) /* nothing has changed since: it moves nothing */
		return 0;
	least = b->capacity_bps > 0 ? TAIL * b->capacity_bps : LEAST_BPS;
	return want < least ? 0 : want; /* of what has ended */
}

struct sl_divide_job divide_facts(const struct brain *b, const struct brain_job *j)
{
	struct sl_divide_job d = { .weight = j->weight ? j->weight : 1,
				   .period_ns = j->declared_ns ? j->declared_ns : j->found_ns };
	unsigned level = 0;

	if (b->fair & SL_FAIR_NODES)
		d.weight *= map_nodes(j);
	if (b->fair & SL_FAIR_ACCOUNT) {
		d.group[level] = j->account;
		d.group_weight[level++] = j->account_weight ? j->account_weight : 1;
	}
	if (b->fair & SL_FAIR_USER) {
		d.group[level] = j->user;
		d.group_weight[level] = j->user_weight ? j->user_weight : 1;
	}
	return d;
}

struct sl_divide_how divide_how(const struct brain *b)
{
	return (struct sl_divide_how){ .sets = b->max_exclusive_ns ? b->sets : NULL,
				       .order = b->ordering,
				       .levels = (b->fair & SL_FAIR_ACCOUNT ? 1U : 0U) +
						 (b->fair & SL_FAIR_USER ? 1U : 0U),
				       .room = b->dividing_room };
}

/* The job as the division sees it; false: it wants nothing. */
static bool job_wants(const struct brain *b, struct brain_job *j, struct sl_divide_job *d,
		      sl_time now)
{
	double want = 0;

	brain_for_parts(p, j)
	{
		want += divide_wants(b, p, now);
	}
	if (!(want > 0)) {
		j->ticket = j->held_since = 0;
		return false;
	}
	j->ticket = j->ticket ? j->ticket : now;
	*d = divide_facts(b, j);
	d->min_bps = (double)j->min_bps;
	d->granted_bps = b->ops && j->in_io ? j->io.rate_bps : 0;
	d->max_bps = j->max_bps ? (double)j->max_bps : SL_ALL;
	d->want_bps = want < SL_ALL ? want : SL_ALL;
	d->since = j->ticket;
	if (j->bucket && j->bucket_rate_bps < d->max_bps)
		d->max_bps = j->bucket_rate_bps;
	return true;
}

/* A job's rate over its nodes. */
static void divide_job(struct brain *b, struct brain_job *j, sl_time now)
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
		double want = divide_wants(b, p, now);

		p->divided_bps = -1;
		if (want > 0)
			part[n++] = (struct sl_divide_job){
				.max_bps = SL_ALL,
				.want_bps = want,
				.weight = p->clients ? p->clients : 1,
			};
	}
	sl_divide(part, n, j->divided_bps, NULL, now);
	n = 0;
	brain_for_parts(p, j)
	{
		if (!(divide_wants(b, p, now) > 0))
			continue;
		p->divided_bps = part[n++].rate_bps;
		b->node[p->node]->wants_bps += p->divided_bps;
	}
	if (part != few)
		free(part);
}

/*
 * share=io-sets: a job that has had its set for max_exclusive_ms while another job of the set waits
 * goes behind all others of the set, as in a node.
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
	const struct sl_divide_how how = divide_how(b);
	uint32_t n = 0;

	brain_for_live(j, b)
	{
		j->divided_bps = -1;
		if (job_wants(b, j, &b->dividing[n], now)) {
			b->divided[n++] = j;
			continue;
		}
		brain_for_parts(p, j)
		{
			p->divided_bps = -1;
		}
	}
	sl_divide(b->dividing, n, capacity, &how, now);
	for (uint32_t i = 0; i < n; i++) {
		b->divided[i]->divided_bps = b->dividing[i].rate_bps;
		divide_job(b, b->divided[i], now);
	}
	rotate_sets(b, n, now);
	b->negligible_bps = NEGLIGIBLE * capacity / (b->nodes_up ? b->nodes_up : 1);
	return n;
}

/* ---- orders ---- */

/*
 * Whether the difference is worth an order: all nodes together stay within NEGLIGIBLE of the
 * capacity. With many jobs, each that begins takes a little from all, so each stays within RELATIVE
 * of its rate.
 */
static bool differs(const struct brain *b, double x, double y)
{
	double least = b->negligible_bps;

	if (b->wanting > MANY && RELATIVE * y > least)
		least = RELATIVE * y;
	return x > y + least || x < y - least;
}

static void tell(struct brain *b, uint32_t node, double bps)
{
	struct brain_node *n = b->node[node];

	n->sent_bps = bps;
	n->held_bps = bps > n->held_bps ? bps : n->held_bps;
	n->order++;
	pairs_tell(b, node);
}

/* The bandwidth that nodes may draw that have not reported yet. */
static double unheard(struct brain *b, double capacity, double held, sl_time now)
{
	/* If nobody has said how many there are: those that are known. Who goes later is known. */
	b->complete |= brain_up(b) >= b->expect;
	return b->complete || now - b->started > LEASE_NS || held > capacity ? 0 : capacity - held;
}

/* Whether jobs want something at the node, and what it is to have at least. */
static void set_least(struct brain *b, struct brain_node *n, double reserve)
{
	n->works = n->wants_bps > 0 || (b->divides_ops && n->ops_wants > 0);
	if (n->works && n->lease_ns > LEASE_NS)
		pairs_tell(b, n->number); /* it is leased for a short time again */
	if (n->up && n->wants_bps < reserve)
		n->wants_bps = reserve;
}

/* Raise nodes as far as there is room, by the same part of what each lacks. */
static void raise_nodes(struct brain *b, double part)
{
	for (uint32_t i = 0; i < b->nodes; i++) {
		struct brain_node *n = b->node[i];
		double to = n->wants_bps;

		n->wants_bps = 0;
		if (n->up && to > n->held_bps)
			to = n->held_bps + (part > 0 ? part * (to - n->held_bps) : 0);
		if (n->up && to > n->sent_bps && differs(b, to, n->sent_bps))
			tell(b, i, to);
	}
}

/* Lower at once; raise as far as what is held by all allows. */
static void order_nodes(struct brain *b, double capacity, sl_time now)
{
	double held = 0, raises = 0, room;
	double reserve = b->nodes_up ? RESERVE * capacity / b->nodes_up : 0;

	reserve = reserve < 1 ? 1 : reserve;
	for (uint32_t i = 0; i < b->nodes; i++) {
		struct brain_node *n = b->node[i];

		if (i + AHEAD < b->nodes)
			__builtin_prefetch(b->node[i + AHEAD], 1);
		set_least(b, n, reserve);
		if (now - (n->up ? n->heard : n->ordered) > n->lease_ns)
			n->held_bps = 0; /* its orders have run out */
		if (n->up && n->wants_bps < n->sent_bps &&
		    (differs(b, n->wants_bps, n->sent_bps) || n->wants_bps < n->sent_bps / 2))
			tell(b, i, n->wants_bps);
		held += n->held_bps;
		raises += n->up && n->wants_bps > n->held_bps ? n->wants_bps - n->held_bps : 0;
	}
	room = capacity * (1 + SLACK) - held - unheard(b, capacity, held, now);
	raise_nodes(b, raises > 0 && room < raises ? room / raises : 1);
}

/* Pairs whose rate is another than ordered: the node is told with its next order. */
static void order_jobs(struct brain *b)
{
	brain_for_live(j, b)
	{
		brain_for_parts(p, j)
		{
			if (!b->node[p->node]->up ||
			    ((p->divided_bps < 0) == (p->ordered_bps < 0) &&
			     !differs(b, p->divided_bps, p->ordered_bps)))
				continue;
			p->ordered_bps = p->divided_bps;
			pairs_news(b, p);
		}
	}
}

sl_time divide_capacity(struct brain *b, sl_time now)
{
	double capacity = (double)brain_capacity(b);

	b->renew = false;
	b->wanting = 0;
	if (!(capacity > 0))
		return SL_NEVER;
	b->capacity_bps = capacity;
	b->wanting = divide_all(b, capacity, now);
	order_nodes(b, capacity, now);
	order_jobs(b);
	return b->renew ? now + 1000000 : b->wanting ? now + b->report_ns : SL_NEVER;
}
