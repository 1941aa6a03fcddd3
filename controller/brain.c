/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases, grants and rates of the jobs of a machine, from what its I/O nodes report.
 *
 * Phases (seed 003, section 2: applications alternate computing and I/O). A phase begins with the
 * first I/O of a job after a gap and ends with the last before one; the gap is a parameter. From
 * the phases that have ended come the mean length of computing and volume of an instance, which
 * the policies ask for: seed 003 took them from the applications, here they are observed.
 *
 *	report at 10.0 s: 4 requests inside, 1 GB moved     phase began at 10.0
 *	report at 12.4 s: none inside, idle for 0.3 s       was active until 12.1
 *	decision at 13.1 s, gap 1 s                         phase ended at 12.1
 *
 * Grants. When a phase has begun or ended, the grant policy, the same code as in `sluice sim`,
 * divides the capacity; a job's rate is divided among its nodes as its I/O is. Orders are leases: a
 * node forgets them when no controller renews them.
 *
 * Rates over several nodes (seed 004, section 4: tokens live at the servers). A job's min and max
 * hold for the sum. Each node has a share of them, by what the job moved and has waiting there of
 * late, and a little where it did nothing, so that it can start there at once.
 *
 * What a job misses while the shares follow its I/O is added to them for a while.
 *
 * Example: max 100M; moved of late 60M on node 0, 20M on node 1, nothing on node 2, where it has
 * clients: shares .7275, .2425, .03.
 *
 * O(jobs x nodes) a decision.
 */
#include "controller/brain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/map.h"

#define PHASE_NS  INT64_C(500000000)   /* shorter ones tell nothing of bandwidth */
#define KEEP_NS	  INT64_C(60000000000) /* a job that no node knows any more */
#define SMOOTH	  0.3		       /* weight of the newest rate */
#define STANDBY	  0.03		       /* of the rates, where a job has clients that do nothing */
#define INSTANCES 0.5		       /* weight of the newest instance in the means */

/* ---- life ---- */

int brain_init(struct brain *b, const struct brain_config *c, sl_time now, char *err, size_t size)
{
	const struct sl_policy_limits limits = { .lanes = BRAIN_JOBS, .ionodes = BRAIN_NODES };
	struct sl_spec spec;
	int rc;

	memset(b, 0, sizeof(*b));
	b->config = *c;
	b->wake = SL_NEVER;
	rc = sl_spec_parse(SL_ALLOCATE, c->allocate, &spec, err, size);
	if (rc)
		return rc;
	b->allocate = (const struct sl_allocate_ops *)spec.policy;
	b->allocate_state = calloc(1, spec.policy->state_size(&limits) + 16);
	if (!b->allocate_state)
		return -ENOMEM;
	spec.policy->init(b->allocate_state, &limits, spec.values, now);
	rc = sl_spec_parse(SL_GRANT, c->grant ? c->grant : "none", &b->spec, err, size);
	if (rc)
		return rc;
	if (!strcmp(b->spec.policy->name, "none"))
		return 0;
	b->ops = (const struct sl_grant_ops *)b->spec.policy;
	b->state = calloc(1, b->spec.policy->state_size(&limits) + 16);
	if (!b->state) {
		snprintf(err, size, "out of memory");
		return -ENOMEM;
	}
	b->spec.policy->init(b->state, &limits, b->spec.values, now);
	return 0;
}

void brain_free(struct brain *b)
{
	for (uint32_t i = 0; i < b->jobs; i++)
		free(b->job[i]);
	free(b->state);
	free(b->allocate_state);
	memset(b, 0, sizeof(*b));
}

/* ---- reports ---- */

static int node_index(struct brain *b, const struct sl_node_report *r, sl_time now)
{
	struct brain_node *n;
	uint32_t i = 0;

	if (!r->name[0] || strchr(r->name, ','))
		return -EPROTO;
	while (i < b->nodes && strcmp(b->node[i].name, r->name) != 0)
		i++;
	if (i == BRAIN_NODES)
		return -ENOSPC;
	n = &b->node[i];
	if (i == b->nodes)
		b->nodes++;
	if (!n->up || n->life != r->life) {
		for (uint32_t k = 0; k < b->jobs;
		     k++) /* what the one before had moved is counted */
			if (b->job[k])
				b->job[k]->part[i] = (struct brain_part){ 0 };
		b->changed = true;
	}
	memcpy(n->name, r->name, sizeof(n->name));
	memcpy(n->socket, r->socket, sizeof(n->socket));
	n->life = r->life;
	n->capacity_bps = r->capacity_bps;
	n->up = true;
	n->heard = now;
	return (int)i;
}

static struct brain_job *job_of(struct brain *b, const struct sl_job_report *r, sl_time now)
{
	struct brain_job **free_place = NULL;

	for (uint32_t i = 0; i < b->jobs; i++) {
		if (b->job[i] && b->job[i]->id == r->id)
			return b->job[i];
		if (!b->job[i] && !free_place)
			free_place = &b->job[i];
	}
	if (!free_place && b->jobs < BRAIN_JOBS)
		free_place = &b->job[b->jobs++];
	if (!free_place || !(*free_place = calloc(1, sizeof(**free_place))))
		return NULL;
	b->changed = true;
	(*free_place)->id = r->id;
	(*free_place)->active = now;
	/* Policies keep what they remember by small numbers. */
	(*free_place)->io = (struct sl_io_job){ .job = (uint64_t)(free_place - b->job),
						.released = now,
						.io_end = now };
	return *free_place;
}

/* `bytes` of what was moved belong to it. */
static void phase_begin(struct brain *b, struct brain_job *j, uint64_t bytes, sl_time now)
{
	j->in_io = true;
	j->io.asked = now;
	j->io.started = false;
	j->io.compute_s = (double)(now - j->io.io_end) / 1e9;
	j->phase_from_bytes = j->moved_bytes - bytes;
	j->map_same = true;
	b->changed = true;
}

static double mean(double of, double value, uint64_t ended)
{
	return ended ? of + INSTANCES * (value - of) : value;
}

static void phase_end(struct brain *b, struct brain_job *j)
{
	double bytes = (double)(j->moved_bytes - j->phase_from_bytes);

	j->in_io = false;
	j->io.io_end = j->active > j->io.asked ? j->active : j->io.asked;
	j->mean_compute_s = mean(j->mean_compute_s, j->io.compute_s, j->io.ended);
	j->mean_bytes = mean(j->mean_bytes, bytes, j->io.ended);
	j->io.ended++;
	/* A bandwidth is that of a number of nodes if those were the same throughout. */
	if (j->map_epoch && j->map_same && j->io.io_end - j->io.asked > PHASE_NS)
		curves_add(&b->curves, j->name, j->nodes ? j->nodes : 1, j->procs ? j->procs : 1,
			   j->to_count, bytes * 1e9 / (double)(j->io.io_end - j->io.asked));
	j->io.work_s += j->io.compute_s;
	j->io.alone_s += j->io.compute_s + (j->io.cap_bps > 0 ? bytes / j->io.cap_bps : 0);
	b->changed = true;
}

static void job_report(struct brain *b, uint32_t node, const struct sl_job_report *r, sl_time took,
		       sl_time now)
{
	struct brain_job *j = job_of(b, r, now);
	struct brain_part *p;
	uint64_t bytes;

	if (!j)
		return;
	p = &j->part[node];
	memcpy(j->name, r->name, sizeof(j->name));
	j->procs = r->procs;
	j->nodes = r->nodes;
	j->weight = r->weight;
	if (j->min_bps != r->min_bps || j->max_bps != r->max_bps || p->clients != r->clients)
		b->changed = true;
	j->min_bps = r->min_bps;
	j->max_bps = r->max_bps;
	j->io.period_ns = r->period_ns;
	/* A node that forgot the job and knows it again counts from 0. */
	bytes = 0;
	for (int op = 0; op < 2; op++) {
		bytes += r->moved[op] - (r->moved[op] >= p->moved[op] ? p->moved[op] : 0);
		p->moved[op] = r->moved[op];
	}
	j->moved_bytes += bytes;
	if (took > 0)
		p->rate_bps += SMOOTH * ((double)bytes * 1e9 / (double)took - p->rate_bps);
	p->known = true;
	p->clients = r->clients;
	p->inside = r->inside;
	p->queued_bytes = r->queued_bytes;
	if (r->inside) {
		j->active = now;
	} else if (bytes && now - r->idle_ns > j->active) {
		j->active = now - r->idle_ns;
	}
	if (!j->in_io && (r->inside || bytes))
		phase_begin(b, j, bytes, r->inside ? now : j->active);
	j->io.started = j->moved_bytes > j->phase_from_bytes;
}

int brain_report(struct brain *b, char *text, sl_time now)
{
	struct sl_report_line l;
	int what, node = -EPROTO;
	sl_time before = 0;

	while ((what = sl_report_next(&text, &l)) > 0) {
		if (what == SL_LINE_NODE) {
			for (uint32_t i = 0; i < b->nodes; i++)
				if (!strcmp(b->node[i].name, l.node.name))
					before = b->node[i].heard;
			node = node_index(b, &l.node, now);
			for (uint32_t i = 0; node >= 0 && i < b->jobs; i++)
				if (b->job[i])
					b->job[i]->part[node].known = false;
		}
		if (node < 0)
			return node;
		if (what == SL_LINE_JOB)
			job_report(b, (uint32_t)node, &l.job, before ? now - before : 0, now);
	}
	for (uint32_t i = 0; node >= 0 && i < b->jobs; i++)
		if (b->job[i] && !b->job[i]->part[node].known)
			b->job[i]->part[node] = (struct brain_part){ 0 };
	return what < 0 ? what : node;
}

void brain_node_gone(struct brain *b, uint32_t node, sl_time now)
{
	(void)now;
	if (node >= b->nodes || !b->node[node].up)
		return;
	b->node[node].up = false;
	for (uint32_t i = 0; i < b->jobs; i++)
		if (b->job[i])
			b->job[i]->part[node] = (struct brain_part){ 0 };
	b->changed = true;
}

/* ---- decisions ---- */

uint64_t brain_capacity(const struct brain *b)
{
	uint64_t sum = 0;

	if (b->config.capacity_bps)
		return b->config.capacity_bps;
	for (uint32_t i = 0; i < b->nodes; i++) {
		if (b->node[i].up && !b->node[i].capacity_bps)
			return 0;
		sum += b->node[i].up ? b->node[i].capacity_bps : 0;
	}
	return sum;
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
		free(j);
		b->job[i] = NULL;
		b->changed = true;
	}
}

/*
 * While the parts follow where the job's I/O goes, some of its max is at a node that has no use for
 * it. What it misses that way it may make up for: up to a quarter of a second's worth.
 */
static double make_up(struct brain_job *j, sl_time now)
{
	double most = (double)j->max_bps / 4, took = (double)(now - j->owed_at) / 1e9;
	bool wants = false;

	for (uint32_t i = 0; i < BRAIN_NODES; i++)
		wants |= j->part[i].queued_bytes > 0;
	if (wants && j->owed_at && took < 1)
		j->owed_bytes +=
			(double)j->max_bps * took - (double)(j->moved_bytes - j->owed_from);
	else
		j->owed_bytes = 0;
	j->owed_at = now;
	j->owed_from = j->moved_bytes;
	j->owed_bytes = j->owed_bytes > most ? most : j->owed_bytes < -most ? -most : j->owed_bytes;
	return j->max_bps ? 1 + j->owed_bytes / (double)j->max_bps : 1;
}

static void share_out(struct brain *b, struct brain_job *j, sl_time now)
{
	double want[BRAIN_NODES], sum = 0, standby = 0, whole = make_up(j, now);

	for (uint32_t i = 0; i < b->nodes; i++) {
		const struct brain_part *p = &j->part[i];

		want[i] = p->clients ? p->rate_bps + (double)p->queued_bytes : 0;
		sum += want[i];
	}
	for (uint32_t i = 0; i < b->nodes; i++)
		standby += j->part[i].clients && want[i] < STANDBY * sum ? STANDBY : 0;
	for (uint32_t i = 0; i < b->nodes; i++) {
		struct brain_part *p = &j->part[i];
		double share = 0;

		if (!p->clients)
			share = 1; /* should somebody come, he is not to find a closed door */
		else if (sum <= 0)
			share = 1.0 / b->nodes;
		else if (want[i] < STANDBY * sum)
			share = STANDBY;
		else
			share = (1 - standby) * want[i] / sum;
		share *= p->clients ? whole : 1;
		if ((j->min_bps || j->max_bps) && (p->share > share * SL_SHARE_WHOLE * 1.01 ||
						   p->share < share * SL_SHARE_WHOLE * 0.99))
			b->shifted = true;
		p->share = (uint32_t)(share * SL_SHARE_WHOLE);
	}
}

sl_time brain_decide(struct brain *b, sl_time now)
{
	double capacity = (double)brain_capacity(b);
	sl_time next = SL_NEVER;
	uint32_t n = 0;

	forget_old(b, now);
	for (uint32_t i = 0; i < b->jobs; i++) {
		struct brain_job *j = b->job[i];

		if (!j)
			continue;
		if (j->in_io && now - j->active >= b->config.gap_ns)
			phase_end(b, j);
		if (j->in_io && j->active + b->config.gap_ns < next)
			next = j->active + b->config.gap_ns;
		share_out(b, j, now);
	}
	if (!b->changed && now < b->wake)
		return next < b->wake ? next : b->wake;
	b->epoch++;
	map_decide(b);
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
	return next < b->wake ? next : b->wake;
}

void brain_orders(const struct brain *b, uint32_t node, FILE *out)
{
	bool grants = b->ops && brain_capacity(b);

	sl_orders_put_epoch(out, b->epoch);
	for (uint32_t i = 0; i < b->nodes; i++) {
		struct sl_node_report r = { .life = b->node[i].life,
					    .capacity_bps = b->node[i].capacity_bps };

		memcpy(r.name, b->node[i].name, sizeof(r.name));
		memcpy(r.socket, b->node[i].socket, sizeof(r.socket));
		/* Those that are down, too: they may be back when a client looks for one. */
		sl_report_put_node(out, &r);
	}
	for (uint32_t i = 0; i < b->jobs; i++) {
		const struct brain_job *j = b->job[i];
		struct sl_job_orders o = { .grant_bps = UINT64_MAX, .to_count = UINT32_MAX };

		if (!j)
			continue;
		o.id = j->id;
		o.share = j->part[node].share ? j->part[node].share : SL_SHARE_WHOLE;
		/* A job that computes has no grant: its first request finds an open door. */
		if (grants && j->in_io)
			o.grant_bps = (uint64_t)(j->io.rate_bps * o.share / SL_SHARE_WHOLE);
		if (j->map_epoch) {
			o.to_count = j->to_count;
			for (uint32_t k = 0; k < j->to_count; k++)
				memcpy(o.to[k], b->node[j->to[k]].name, sizeof(o.to[k]));
		}
		sl_orders_put_job(out, &o);
	}
}
