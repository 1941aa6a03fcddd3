/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions about the jobs of a machine, from what its I/O nodes report (phases.c).
 *
 * Grants. When a phase has begun or ended, the grant policy, the same code as in `sluice sim`,
 * divides the capacity; none gets more than its max, nor than its processes can use. The results
 * are rates, which are served before the shares of other jobs (divide.c). Orders are leases: a node
 * drops them if no controller renews them.
 *
 * A controller that has just started has no state, and learns of one node after the other. Until
 * all nodes have had time to report, no job is given nodes: otherwise all jobs would be sent to the
 * first node that reports. The nodes report the orders of the previous controller, which stay in
 * force unless the policy has a reason to change them.
 *
 * O(pairs of the jobs that live) a decision.
 */
#include "sluiced/controller/brain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluiced/controller/private.h"

#define KEEP_NS	  INT64_C(60000000000) /* a job that no node knows any more */
#define LOOK_NS	  INT64_C(50000000)    /* until the next check of a phase that should have ended */
#define SWEEP_NS  INT64_C(1000000000)
#define REPORT_NS INT64_C(50000000) /* between two reports of a node */
#define SPREAD_NS INT64_C(50000)    /* for each node that is up, if that is more: 20,000 a second */
#define LEAST_NS  INT64_C(190000)   /* a smaller wait is not worth it */
#define EACH_NS	  INT64_C(3000)
#define NODE_NS	  INT64_C(2000)
#define OTHERS	  16 /* other nodes that each node is told of, besides those that serve its jobs */

/* ---- life ---- */

int brain_init(struct brain *b, const struct brain_config *c, sl_time now, char *err, size_t size)
{
	const char *const given[POLICY_STAGES] = { c->grant ? c->grant : "none", c->allocate };
	int rc;

	memset(b, 0, sizeof(*b));
	b->config = *c;
	if (b->config.gap_ns > SL_NEVER / 4) /* is added to times */
		b->config.gap_ns = SL_NEVER / 4;
	b->wake = SL_NEVER;
	b->started = now;
	b->settled = now + c->settle_ns;
	b->expect = c->expect;
	b->term = c->term;
	b->report_ns = REPORT_NS;
	if (pairs_init(b)) {
		snprintf(err, size, "out of memory");
		brain_free(b);
		return -ENOMEM;
	}
	rc = policy_set(b, given, now, err, size);
	if (rc)
		brain_free(b);
	return rc;
}

void brain_free(struct brain *b)
{
	pairs_free(b);
	divide_free(b);
	policy_free(b);
	runs_end(&b->runs);
	memset(b, 0, sizeof(*b));
}

/* ---- decisions ---- */

uint64_t brain_capacity(const struct brain *b)
{
	uint64_t sum = 0, layer = 0;

	if (b->config.capacity_bps)
		return b->config.capacity_bps;
	if (b->capacity_known)
		return b->capacity_sum;
	for (uint32_t i = 0; i < b->nodes; i++) {
		const struct brain_node *n = b->node[i];

		if (n->up && !n->capacity_bps)
			return 0;
		sum += n->up ? n->capacity_bps : 0;
		/*
		 * While the value is being changed on one node after the other, use the smaller
		 * one.
		 */
		if (n->up && n->layer_bps && (!layer || n->layer_bps < layer))
			layer = n->layer_bps;
	}
	return layer ? layer : sum;
}

uint32_t brain_up(const struct brain *b)
{
	return b->nodes_up;
}

static uint32_t clients_of(const struct brain_job *j)
{
	uint32_t n = 0;

	brain_for_parts(p, j)
	{
		n += p->clients;
	}
	return n;
}

static void job_facts(const struct brain *b, struct brain_job *j, double capacity)
{
	uint32_t clients = clients_of(j);
	double done = (double)(j->moved_bytes - j->phase_from_bytes);

	j->io.procs = j->procs ? j->procs : clients ? clients : 1;
	j->io.cap_bps = capacity;
	if (b->config.per_proc_bps && (double)b->config.per_proc_bps * j->io.procs < j->io.cap_bps)
		j->io.cap_bps = (double)b->config.per_proc_bps * j->io.procs;
	if (j->max_bps && (double)j->max_bps < j->io.cap_bps)
		j->io.cap_bps = (double)j->max_bps;
	j->io.bytes = j->mean_bytes > done ? j->mean_bytes : done + 1;
	j->io.left_bytes = j->io.bytes - done > 1 ? j->io.bytes - done : 1;
}

static void forget_old(struct brain *b, sl_time now)
{
	/* Nodes that do not return lose their jobs. */
	for (uint32_t i = 0; now - b->swept > SWEEP_NS && i < b->nodes; i++) {
		struct brain_node *n = b->node[i];

		while (!n->up && now - n->heard > KEEP_NS && !sl_list_empty(&n->pairs))
			pairs_drop(b, sl_container(n->pairs.next, struct brain_part, of_node));
	}
	b->swept = now - b->swept > SWEEP_NS ? now : b->swept;
	while (!sl_list_empty(&b->gone)) {
		struct brain_job *j = sl_container(b->gone.next, struct brain_job, gone);

		if (now - j->active < KEEP_NS)
			return;
		if (b->ops && b->ops->forget)
			b->ops->forget(b->state, j->io.job);
		pairs_drop_job(b, j);
		b->changed = true;
	}
}

/* Whether the next decision has to examine it too. */
static bool lives(const struct brain *b, const struct brain_job *j, sl_time now)
{
	if (j->in_io || j->divided_bps >= 0 || operations_live(b, j, now))
		return true;
	brain_for_parts(p, j)
	{
		if (divide_wants(b, p, now) > 0 || p->divided_bps >= 0 || p->ordered_bps >= 0)
			return true;
	}
	return false;
}

/* Examine each live job; returns when to do so again. */
static sl_time look(struct brain *b, sl_time now)
{
	sl_time next = SL_NEVER;

	forget_old(b, now);
	for (struct sl_list *at = b->live.next, *after; at != &b->live; at = after) {
		struct brain_job *j = sl_container(at, struct brain_job, live);
		sl_time due;

		after = at->next;
		if (j->in_io && phase_over(b, j, now))
			phase_end(b, j);
		due = j->active + b->config.gap_ns;
		due = due > now ? due : now + LOOK_NS;
		if (j->in_io && due < next)
			next = due;
		rates_share_out(b, j, now);
		operations_share_out(b, j, now);
		period_find(b, j, now);
		if (!lives(b, j, now))
			sl_list_remove(&j->live);
	}
	if (!b->mapping && (now >= b->settled || (b->expect && brain_up(b) >= b->expect))) {
		b->mapping = true;
		b->changed = b->remap = true;
		map_learn(b);
	}
	return !b->mapping && b->settled < next ? b->settled : next;
}

/* A phase has begun or ended, or the policy asked for it. */
static void decide_grants(struct brain *b, sl_time now)
{
	double capacity = (double)brain_capacity(b);
	uint32_t n = 0;

	b->epoch++;
	brain_for_live(j, b)
	{
		if (!j->in_io)
			continue;
		job_facts(b, j, capacity);
		b->want[n++] = &j->io;
	}
	b->wake = SL_NEVER;
	if (b->ops && n && capacity > 0)
		b->wake = b->ops->decide(b->state, b->want, n, capacity, now);
	b->changed = false;
	b->decisions++;
}

/*
 * The cost of a decision grows with the number of jobs and nodes, and so does the time between two
 * decisions, so that they take at most a tenth of the time.
 */
static sl_time apart(uint32_t jobs, uint32_t nodes)
{
	sl_time ns = (sl_time)jobs * EACH_NS + (sl_time)nodes * NODE_NS;

	return ns < LEAST_NS ? 0 : ns;
}

sl_time brain_decide(struct brain *b, sl_time now)
{
	sl_time next, again, due;

	if (!b->capacity_known) { /* read with every order */
		b->capacity_sum = brain_capacity(b);
		b->ops_sum = operations_capacity(b);
		b->capacity_known = true;
	}
	b->report_ns = (sl_time)b->nodes_up * SPREAD_NS;
	b->report_ns = b->report_ns < REPORT_NS ? REPORT_NS : b->report_ns;
	due = b->divided_at + apart(b->wanting, b->nodes);
	if (b->divided_at && now < due && b->divided_at <= now)
		return due;
	/* With many, reports that change nothing wait for the next time, too. */
	if (due > b->divided_at && !b->renew && !b->changed && !b->remap && now < b->due)
		return b->due;
	next = look(b, now);
	due = b->mapped ? b->mapped + apart(b->jobs, b->nodes) : 0;
	if (b->mapping && b->remap && now >= due) {
		b->remap = false;
		b->mapped = now;
		map_decide(b, now);
	} else if (b->mapping && b->remap && due < next) {
		next = due;
	}
	if (b->changed || now >= b->wake)
		decide_grants(b, now);
	again = buckets_divide(b, now);
	next = again < next ? again : next;
	again = joints_divide(b, now);
	next = again < next ? again : next;
	again = operations_divide(b, now);
	next = again < next ? again : next;
	again = divide_capacity(b, now);
	b->divided_at = now;
	next = again < next ? again : next;
	b->due = next < b->wake ? next : b->wake;
	return b->due;
}

size_t brain_greeting(const struct brain *b, char out[128])
{
	const struct sl_node_orders o = { .term = b->term };
	FILE *f = fmemopen(out, 128, "w");

	if (!f)
		return 0;
	sl_orders_put_epoch(f, &o);
	fclose(f);
	return strlen(out);
}

static void put_place(const struct brain *b, uint32_t node, FILE *out)
{
	const struct brain_node *n = b->node[node];
	struct sl_node_report r = { .life = n->life, .capacity_bps = n->capacity_bps };

	memcpy(r.name, n->name, sizeof(r.name));
	memcpy(r.socket, n->socket, sizeof(r.socket));
	memcpy(r.tcp, n->tcp, sizeof(r.tcp));
	sl_report_put_node(out, &r);
}

/* Notify the nodes that list it among the others. */
void brain_new_place(struct brain *b, uint32_t node)
{
	uint32_t others = b->nodes < OTHERS ? b->nodes : OTHERS;

	for (uint32_t k = 0; k < others; k++) {
		uint32_t i = b->nodes <= OTHERS ? k : (node + b->nodes - k) % b->nodes;

		b->node[i]->places = true;
		pairs_tell(b, i);
	}
}

/*
 * The addresses of some other nodes, for programs whose own node does not answer: those with the
 * next numbers, even if they are down, because they may be back when a client needs one.
 */
static void put_places(const struct brain *b, uint32_t node, FILE *out)
{
	uint32_t others = b->nodes < OTHERS ? b->nodes : OTHERS;

	for (uint32_t k = 0; k < others; k++)
		put_place(b, b->nodes <= OTHERS ? k : (node + k) % b->nodes, out);
}

static void put_job(const struct brain *b, const struct brain_part *p, FILE *out)
{
	const struct brain_job *j = p->job;
	struct sl_job_orders o = { .id = j->id,
				   .rate_bps = UINT64_MAX,
				   .to_count = UINT32_MAX,
				   .period_ns = j->found_ns,
				   .bucket_bps = j->bucket ? (uint64_t)(p->bucket_bps + 0.5) : 0,
				   .share = p->share ? p->share : SL_SHARE_WHOLE,
				   .ops_rate = p->ops_ordered >= 0
						       ? (uint64_t)(p->ops_ordered + 0.5)
						       : UINT64_MAX,
				   .ops_share = p->ops_share ? p->ops_share : SL_SHARE_WHOLE };

	/* A job that wants nothing has no rate, so its first request is not held. */
	if (brain_capacity(b) && p->divided_bps >= 0)
		o.rate_bps = (uint64_t)(p->divided_bps + 0.5);
	if (j->map_epoch) {
		o.to_count = j->to_count;
		o.turns = !b->policy[POLICY_ALLOCATE];
		for (uint32_t k = 0; k < j->to_count; k++) {
			memcpy(o.to[k], b->node[j->to[k]]->name, sizeof(o.to[k]));
			put_place(b, j->to[k], out);
		}
	}
	sl_orders_put_job(out, &o);
	joints_orders(p, out);
}

void brain_open(struct brain *b, bool open)
{
	/*
	 * The next odd or even number, so that a repeated setting is new to a node that was set
	 * otherwise in between.
	 */
	b->open += open ? 1 + (b->open & 1) : 2 - (b->open & 1);
	for (uint32_t i = 0; i < b->nodes; i++)
		pairs_tell(b, i);
}

void brain_orders(struct brain *b, uint32_t node, sl_time now, FILE *out)
{
	struct brain_node *self = b->node[node];
	struct sl_node_orders all = { .epoch = b->epoch,
				      .term = b->term,
				      .order = self->order,
				      .every_ns = b->report_ns,
				      .whole = self->whole,
				      .open = b->open };

	all.layer_bps = brain_capacity(b);
	self->lease_ns =
		all.layer_bps && !self->works && now - self->worked > LEASE_NS ? REST_NS : LEASE_NS;
	all.lease_ns = self->lease_ns;
	all.ops_draw = (uint64_t)(self->ops_draw + 0.5);
	all.draw_bps = all.layer_bps ? (uint64_t)(self->sent_bps + 0.5) : 0;
	sl_orders_put_epoch(out, &all);
	if (self->whole || self->places)
		put_places(b, node, out);
	self->places = false;
	if (self->whole || self->news) {
		brain_for_pairs(p, self)
		{
			if (self->whole || p->news)
				put_job(b, p, out);
			p->news = false;
		}
	}
	self->whole = self->news = false;
	self->ordered = now;
	sl_list_remove(&self->telling);
	pairs_renewed(b, self);
}
