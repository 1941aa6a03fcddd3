/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which I/O nodes serve which job.
 *
 * The allocate policy decides the number, from a job's size and its curve (Bez et al. 2021, section
 * 3.1). This file chooses the nodes: a job keeps the nodes that it has, if they are up and still
 * assigned to it, and gets the least loaded of the others. A node serves one job while there are
 * enough nodes; jobs that share a node share the least loaded one.
 *
 * A job's size is the declared one. Otherwise the largest number of its processes is used, and each
 * counts as a compute node, as in the assignment of clients to nodes (unit u of U,
 * docs/controller.md).
 *
 * A job with a min gets at least enough nodes for it, and chooses first. Other jobs are not sent to
 * nodes without remaining bandwidth.
 *
 * Example: nodes 0 to 3; A has 0 and 1 and is to have one: it keeps 0. B is new and gets two: 1 and
 * 2, which nobody has.
 *
 * A job that does I/O under a grant policy does not share its node with another one while there is
 * a node where nobody does I/O.
 *
 * O(jobs + nodes), and O(nodes) more for each job with a min or a grant that is placed anew.
 */
#include "sluiced/controller/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE	  UINT32_MAX
#define FEW_NODES 64

static bool has(const struct brain_job *j, uint32_t node)
{
	for (uint32_t i = 0; i < j->to_count; i++)
		if (j->to[i] == node)
			return true;
	return false;
}

static bool present(const struct brain *b, const struct brain_job *j)
{
	brain_for_parts(p, j)
	{
		if (b->node[p->node]->up && p->clients)
			return true;
	}
	return false;
}

static bool known_at(const struct brain *b, const struct brain_job *j)
{
	brain_for_parts(p, j)
	{
		if (b->node[p->node]->up)
			return true;
	}
	return false;
}

/*
 * Its node has gone, but other nodes know the job: its processes will ask there for a new node,
 * although none of them is visible now.
 */
static bool stranded(const struct brain *b, const struct brain_job *j)
{
	for (uint32_t i = 0; i < j->to_count; i++)
		if (!b->node[j->to[i]]->up)
			return known_at(b, j);
	return false;
}

uint32_t map_procs(const struct brain_job *j)
{
	return j->procs ? j->procs : j->most_clients ? j->most_clients : 1;
}

/* Units that can be at different I/O nodes: if nobody knows the compute nodes, the processes. */
uint32_t map_nodes(const struct brain_job *j)
{
	return j->nodes ? j->nodes : map_procs(j);
}

/* What is at each node so far. */
struct place {
	uint64_t promised; /* of the min of its jobs */
	uint32_t load;	   /* jobs */
	uint32_t granted;  /* of these, that do I/O under a grant policy */
	bool closed;	   /* next to nothing is left for jobs without a min */
};

struct places {
	struct place *at;
	uint32_t least, cursor; /* no node before the cursor has so few jobs */
	uint32_t idle;		/* nodes that are up and serve no job that does I/O */
};

/* Whether its node is to be its own, as far as there are enough: it does I/O and has a grant. */
static bool wants_own(const struct brain *b, const struct brain_job *j)
{
	return b->ops && j->in_io;
}

static void put(const struct brain *b, const struct brain_job *j, uint32_t node, struct places *at)
{
	at->at[node].load++;
	at->at[node].granted += wants_own(b, j);
}

/*
 * Take nodes away that are down or too many; the first ones stay. A job with a grant leaves a node
 * that it shares with another granted job, if there is a node where no job does I/O.
 */
static void keep(const struct brain *b, struct brain_job *j, uint32_t want, struct places *at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->to_count; i++) {
		const struct brain_node *to = b->node[j->to[i]];

		if (!to->up || n == want)
			continue;
		if (wants_own(b, j) && at->at[j->to[i]].granted && at->idle) {
			at->idle--;
			continue;
		}
		j->to[n++] = j->to[i];
		put(b, j, j->to[i], at);
	}
	j->to_count = n;
}

static uint32_t clients_at(const struct brain *b, const struct brain_job *j, uint32_t node)
{
	const struct brain_part *p = brain_pair(b, j, node);

	return p ? p->clients : 0;
}

/* If all else is equal, prefer nodes where its processes are already. */
static bool better(const struct brain *b, const struct brain_job *j, const struct places *at,
		   uint32_t x, uint32_t y)
{
	const struct place *p = &at->at[x], *q = &at->at[y];

	if (j->min_bps && p->promised != q->promised)
		return p->promised < q->promised;
	if (wants_own(b, j) && p->granted != q->granted)
		return p->granted < q->granted;
	if (p->load != q->load)
		return p->load < q->load;
	return clients_at(b, j, x) > clients_at(b, j, y);
}

static bool may(const struct brain *b, const struct brain_job *j, const struct places *at,
		uint32_t node)
{
	return b->node[node]->up && !has(j, node) && !(at->at[node].closed && !j->min_bps);
}

/* The best one for a job that is not like all others; NONE: there is none. O(nodes). */
static uint32_t best(const struct brain *b, const struct brain_job *j, const struct places *at)
{
	uint32_t found = NONE;

	for (uint32_t i = 0; i < b->nodes; i++)
		if (may(b, j, at, i) && (found == NONE || better(b, j, at, i, found)))
			found = i;
	return found;
}

/* The same for one that is: the first that has the fewest jobs. O(1) if many are placed. */
static uint32_t first(const struct brain *b, const struct brain_job *j, struct places *at)
{
	for (;;) {
		bool any = false;

		brain_for_parts(p, j)
		{
			if (p->clients && may(b, j, at, p->node) &&
			    at->at[p->node].load <= at->least)
				return p->node;
		}
		for (uint32_t i = at->cursor; i < b->nodes; i++) {
			if (!may(b, j, at, i))
				continue;
			any = true;
			if (at->at[i].load > at->least)
				continue;
			at->cursor = i;
			return i;
		}
		for (uint32_t i = 0; !any && i < at->cursor; i++)
			any = may(b, j, at, i);
		if (!any)
			return NONE;
		at->cursor = 0;
		at->least++;
	}
}

static void add(const struct brain *b, struct brain_job *j, uint32_t want, struct places *at)
{
	while (j->to_count < want && j->to_count < SL_MAP_MAX) {
		uint32_t to = j->min_bps || wants_own(b, j) ? best(b, j, at) : first(b, j, at);

		if (to == NONE || !pairs_to_room(j, j->to_count + 1))
			return;
		j->to[j->to_count++] = to;
		put(b, j, to, at);
	}
}

static void promise(const struct brain_job *j, struct places *at)
{
	for (uint32_t i = 0; i < j->to_count; i++)
		at->at[j->to[i]].promised += j->min_bps / j->to_count;
}

/* Nodes that have promised nine tenths, if there are others. */
static void close_nodes(const struct brain *b, struct places *at)
{
	uint32_t open = 0;

	for (uint32_t i = 0; i < b->nodes; i++) {
		uint64_t capacity = b->node[i]->capacity_bps;

		at->at[i].closed = capacity && at->at[i].promised >= capacity / 10 * 9;
		open += b->node[i]->up && !at->at[i].closed;
	}
	for (uint32_t i = 0; !open && i < b->nodes; i++)
		at->at[i].closed = false;
}

static void leave_closed(struct brain_job *j, struct places *at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->to_count; i++) {
		if (at->at[j->to[i]].closed)
			at->at[j->to[i]].load--;
		else
			j->to[n++] = j->to[i];
	}
	j->to_count = n;
}

/* A min that one node cannot give needs several, whatever the policy says. */
static uint32_t at_least(const struct brain *b, const struct brain_job *j, uint32_t up)
{
	uint64_t each = up ? brain_capacity(b) / up : 0, need;

	if (!j->min_bps || !each)
		return 0;
	need = (j->min_bps + each - 1) / each;
	return need < up ? (uint32_t)need : up;
}

/* To see whether a job's nodes are others than before. */
static uint64_t digest(const struct brain_job *j)
{
	uint64_t h = j->to_count + 1469598103934665603U;

	for (uint32_t i = 0; i < j->to_count; i++)
		h = (h ^ j->to[i]) * 1099511628211U;
	return j->map_epoch ? h : 0;
}

/* Jobs that are to be given nodes, into b->who and b->alloc: how many. */
static uint32_t candidates(struct brain *b, struct places *at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->jobs; i++) {
		struct brain_job *j = b->job[i];
		const struct curve *known;

		if (!j)
			continue;
		if (!present(b, j) && !stranded(b, j)) {
			if (j->pinned && known_at(b, j)) /* between two of its processes */
				continue;
			j->map_epoch = 0; /* it is told when it comes back */
			j->to_count = 0;
			j->pinned = false;
			continue;
		}
		for (uint32_t k = 0; k < j->to_count; k++) /* a node that is gone is nobody's */
			j->pinned = j->pinned && b->node[j->to[k]]->up;
		if (j->pinned) {
			for (uint32_t k = 0; k < j->to_count; k++)
				put(b, j, j->to[k], at);
			promise(j, at);
			continue;
		}
		known = curves_find(&b->curves, j->title ? j->title : j->name, map_nodes(j),
				    map_procs(j));
		b->alloc[n] = (struct sl_alloc_job){ .job = i,
						     .curve = known ? known->point : NULL,
						     .points = known ? known->points : 0,
						     .nodes = map_nodes(j),
						     .procs = map_procs(j),
						     .running = j->map_epoch != 0,
						     .has = j->to_count };
		b->who[n++] = j;
	}
	return n;
}

/*
 * The number of nodes for each job. The policies examine all jobs and nodes each time. Without a
 * configured policy, or beyond the policy's limits, this is skipped: a job keeps its nodes, and a
 * new one gets one node.
 */
static void count_out(struct brain *b, uint32_t n, struct sl_alloc_machine *m)
{
	bool asked = b->policy[POLICY_ALLOCATE];
	uint32_t some = n < POLICY_JOBS ? n : POLICY_JOBS;

	if (!asked && (n > some || m->ionodes > FEW_NODES))
		some = 0;
	m->ionodes = m->ionodes < POLICY_IONODES ? m->ionodes : POLICY_IONODES;
	if (some)
		b->allocate->decide(b->allocate_state, b->alloc, some, m);
	for (uint32_t i = some; i < n; i++)
		b->alloc[i].ionodes = b->alloc[i].has ? b->alloc[i].has : 1;
}

/* Nodes that are up, and serve nobody who does I/O. */
static uint32_t count_idle(const struct brain *b)
{
	uint32_t busy = 0;

	for (uint32_t i = 0; b->ops && i < b->nodes; i++) {
		bool any = false;

		brain_for_pairs(p, b->node[i])
		{
			any |= p->job->in_io && has(p->job, i);
		}
		busy += b->node[i]->up && any;
	}
	return b->ops ? b->nodes_up - busy : 0;
}

/* All of them. digests: of what they had. */
static void place(struct brain *b, uint32_t n, struct places *at, uint64_t *digests, sl_time now)
{
	for (uint32_t i = 0; i < n; i++) {
		struct brain_job *j = b->who[i];
		uint32_t want = b->alloc[i].ionodes, need = at_least(b, j, b->nodes_up);

		if (want && want < need) /* 0: direct */
			want = b->alloc[i].ionodes = need;
		digests[i] = digest(j);
		keep(b, j, want < SL_MAP_MAX ? want : SL_MAP_MAX, at);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!b->who[i]->min_bps)
			continue;
		add(b, b->who[i], b->alloc[i].ionodes, at);
		promise(b->who[i], at);
	}
	close_nodes(b, at);
	for (uint32_t i = 0; i < n; i++) {
		struct brain_job *j = b->who[i];

		if (!j->min_bps) {
			leave_closed(j, at);
			add(b, j, b->alloc[i].ionodes, at);
		}
		j->served_by = j->to_count;
		j->map_epoch = b->epoch + 1;
		if (digest(j) == digests[i])
			continue;
		phase_steady(j, j->moved_bytes, now);
		map_news(b, j);
	}
}

void map_news(struct brain *b, const struct brain_job *j)
{
	brain_for_parts(p, j)
	{
		pairs_news(b, p);
	}
}

void map_decide(struct brain *b, sl_time now)
{
	struct sl_alloc_machine m = { .compute_nodes = b->config.compute_nodes,
				      .ionodes = b->nodes_up,
				      .direct = b->config.direct };
	struct places at = { .at = calloc(b->nodes ? b->nodes : 1, sizeof(*at.at)) };
	/* Of all jobs, and not kept: there is a decision like this when jobs come and go. */
	uint64_t *digests = malloc((b->jobs ? b->jobs : 1) * sizeof(*digests));
	uint32_t n;

	b->alloc = calloc(b->jobs ? b->jobs : 1, sizeof(*b->alloc));
	b->who = malloc((b->jobs ? b->jobs : 1) * sizeof(struct brain_job *));
	if (m.ionodes && at.at && digests && b->alloc && b->who && (n = candidates(b, &at))) {
		count_out(b, n, &m);
		at.idle = count_idle(b);
		place(b, n, &at, digests, now);
	}
	free(b->alloc);
	free(b->who);
	b->alloc = NULL;
	b->who = NULL;
	free(digests);
	free(at.at);
}

/* Names by commas; how many of them are up goes to *count. False: one of them is not. */
static bool nodes_named(const struct brain *b, const char *names, uint32_t to[SL_MAP_MAX],
			uint32_t *count)
{
	bool all = true;

	*count = 0;
	for (const char *at = names; *at;) {
		size_t length = strcspn(at, ",");
		char name[SL_NODE_NAME_MAX];
		uint32_t k;

		snprintf(name, sizeof(name), "%.*s",
			 (int)(length < sizeof(name) ? length : sizeof(name) - 1), at);
		k = length < sizeof(name) ? pairs_node(b, name) : SL_HASH_NONE;
		if (k != SL_HASH_NONE && b->node[k]->up && *count < SL_MAP_MAX)
			to[(*count)++] = k;
		else
			all = false;
		at += at[length] ? length + 1 : length;
	}
	return all;
}

void map_learn(struct brain *b)
{
	for (uint32_t i = 0; i < b->jobs; i++) {
		struct brain_job *j = b->job[i];

		if (!j || !j->mapped)
			continue;
		if (pairs_to_room(j, SL_MAP_MAX))
			nodes_named(b, strcmp(j->mapped, "-") ? j->mapped : "", j->to,
				    &j->to_count);
		j->map_epoch = b->epoch + 1;
		free(j->mapped);
		j->mapped = NULL;
	}
}

int brain_pin(struct brain *b, const char *job, const char *nodes, sl_time now)
{
	uint32_t to[SL_MAP_MAX], count = 0, i = 0;
	struct brain_job *j;

	while (i < b->jobs && (!b->job[i] || strcmp(b->job[i]->name, job) != 0))
		i++;
	if (i == b->jobs)
		return -ENOENT;
	j = b->job[i];
	if (!strcmp(nodes, "auto")) {
		j->pinned = false;
		b->changed = b->remap = true;
		return 0;
	}
	if (!nodes_named(b, nodes, to, &count))
		return -EINVAL;
	if (!pairs_to_room(j, count))
		return -ENOMEM;
	memcpy(j->to, to, count * sizeof(to[0]));
	j->to_count = count;
	j->pinned = true;
	phase_steady(j, j->moved_bytes, now);
	j->served_by = count;
	j->map_epoch = b->epoch + 1;
	map_news(b, j);
	b->changed = b->remap = true;
	return 0;
}
