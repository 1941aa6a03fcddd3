/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions about the jobs of a machine, from what its I/O nodes report (phases.c).
 *
 * Grants. When a phase has begun or ended, the grant policy, the same code as in `sluice sim`,
 * divides the capacity; none gets more than its max, nor than its processes can use. These are
 * rates, and come before what jobs share (divide.c). Orders are leases: a node forgets them when
 * no controller renews them.
 *
 * A controller that has just started knows nothing, and hears of one node after the other. Until
 * all that are there have had the time to report, no job is given nodes: else all would be sent to
 * the first that is heard of. What the controller before had ordered, the nodes tell, and it stays
 * as it is unless the policy has a reason to change it.
 *
 * O(jobs x nodes) a decision.
 */
#include "sluiced/controller/brain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluiced/controller/private.h"

#define KEEP_NS INT64_C(60000000000) /* a job that no node knows any more */
#define LOOK_NS INT64_C(50000000)    /* until the next look at a phase that should have ended */

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
	b->settled = now + c->settle_ns;
	b->term = c->term;
	b->by_id_memory = calloc(1, sl_hash_size(BRAIN_JOBS));
	if (!b->by_id_memory || divide_init(b)) {
		snprintf(err, size, "out of memory");
		return -ENOMEM;
	}
	sl_hash_init(&b->by_id, b->by_id_memory, BRAIN_JOBS);
	rc = policy_set(b, given, now, err, size);
	if (rc)
		brain_free(b);
	return rc;
}

static void job_free(struct brain_job *j)
{
	if (j)
		free(j->mapped);
	if (j)
		sl_period_free(j->period);
	free(j);
}

void brain_free(struct brain *b)
{
	for (uint32_t i = 0; i < b->jobs; i++)
		job_free(b->job[i]);
	free(b->by_id_memory);
	divide_free(b);
	policy_free(b);
	memset(b, 0, sizeof(*b));
}

/* ---- decisions ---- */

uint64_t brain_capacity(const struct brain *b)
{
	uint64_t sum = 0, layer = 0;

	if (b->config.capacity_bps)
		return b->config.capacity_bps;
	for (uint32_t i = 0; i < b->nodes; i++) {
		const struct brain_node *n = &b->node[i];

		if (n->up && !n->capacity_bps)
			return 0;
		sum += n->up ? n->capacity_bps : 0;
		/* While it is being changed at one after the other, the smaller one holds. */
		if (n->up && n->layer_bps && (!layer || n->layer_bps < layer))
			layer = n->layer_bps;
	}
	return layer ? layer : sum;
}

static uint32_t clients_of(const struct brain_job *j)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < BRAIN_NODES; i++)
		n += j->part[i].clients;
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
	for (uint32_t i = 0; i < b->jobs; i++) {
		struct brain_job *j = b->job[i];
		bool known = false;

		for (uint32_t k = 0; j && k < b->nodes; k++)
			known |= j->part[k].known;
		if (!j || known || now - j->active < KEEP_NS)
			continue;
		if (b->ops && b->ops->forget)
			b->ops->forget(b->state, j->io.job);
		sl_hash_remove(&b->by_id, j->id, 0);
		job_free(j);
		b->job[i] = NULL;
		b->changed = true;
	}
}

/* Look at each job; returns when that is to be done again. */
static sl_time look(struct brain *b, sl_time now)
{
	sl_time next = SL_NEVER;

	forget_old(b, now);
	for (uint32_t i = 0; i < b->jobs; i++) {
		struct brain_job *j = b->job[i];
		sl_time due;

		if (!j)
			continue;
		if (j->in_io && phase_over(b, j, now))
			phase_end(b, j);
		due = j->active + b->config.gap_ns;
		due = due > now ? due : now + LOOK_NS;
		if (j->in_io && due < next)
			next = due;
		rates_share_out(b, j, now);
		phase_period(b, j, now);
	}
	if (!b->mapping && now >= b->settled) {
		b->mapping = true;
		b->changed = true;
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
	if (b->mapping)
		map_decide(b, now);
	for (uint32_t i = 0; i < b->jobs; i++) {
		struct brain_job *j = b->job[i];

		if (!j || !j->in_io)
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

sl_time brain_decide(struct brain *b, sl_time now)
{
	sl_time next = look(b, now), again;

	if (b->changed || now >= b->wake)
		decide_grants(b, now);
	again = divide_capacity(b, now);
	next = again < next ? again : next;
	return next < b->wake ? next : b->wake;
}

void brain_orders(const struct brain *b, uint32_t node, FILE *out)
{
	const struct brain_node *self = &b->node[node];
	struct sl_node_orders whole = { .epoch = b->epoch, .term = b->term, .order = self->order };

	whole.layer_bps = brain_capacity(b);
	whole.draw_bps = whole.layer_bps ? (uint64_t)(self->sent_bps + 0.5) : 0;
	sl_orders_put_epoch(out, &whole);
	for (uint32_t i = 0; i < b->nodes; i++) {
		struct sl_node_report r = { .life = b->node[i].life,
					    .capacity_bps = b->node[i].capacity_bps };

		memcpy(r.name, b->node[i].name, sizeof(r.name));
		memcpy(r.socket, b->node[i].socket, sizeof(r.socket));
		memcpy(r.tcp, b->node[i].tcp, sizeof(r.tcp));
		/* Those that are down, too: they may be back when a client looks for one. */
		sl_report_put_node(out, &r);
	}
	for (uint32_t i = 0; i < b->jobs; i++) {
		const struct brain_job *j = b->job[i];
		struct sl_job_orders o = { .rate_bps = UINT64_MAX, .to_count = UINT32_MAX };

		if (!j || !j->part[node].known) /* the node would not know it either */
			continue;
		o.id = j->id;
		o.period_ns = j->found_ns;
		o.share = j->part[node].share ? j->part[node].share : SL_SHARE_WHOLE;
		/* A job that wants nothing has no rate: its first request finds an open door. */
		if (whole.layer_bps && j->part[node].divided_bps >= 0)
			o.rate_bps = (uint64_t)(j->part[node].divided_bps + 0.5);
		if (j->map_epoch) {
			o.to_count = j->to_count;
			o.turns = !b->policy[POLICY_ALLOCATE];
			for (uint32_t k = 0; k < j->to_count; k++)
				memcpy(o.to[k], b->node[j->to[k]].name, sizeof(o.to[k]));
		}
		sl_orders_put_job(out, &o);
	}
}
