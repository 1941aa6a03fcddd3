/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which I/O nodes serve which job.
 *
 * How many is for the allocate policy, from a job's size and its curve (Bez et al. 2021,
 * section 3.1); which ones is decided here: a job keeps what it has, as far as that is up and still
 * its own, and gets the least loaded of the others. Nodes are its own while there are enough; those
 * that share one share the least loaded.
 *
 * A job's size is what was declared. Else its processes are counted, as many as there were at one
 * time; and each counts as a compute node, as it does when clients are told where they belong (unit
 * u of U, docs/controller.md).
 *
 * A job with a min has at least as many as can give it, and chooses first; others are not sent
 * where nothing would be left for them.
 *
 * Example: nodes 0 to 3; A has 0 and 1 and is to have one: it keeps 0. B is new and gets two: 1 and
 * 2, which nobody has.
 *
 * O(jobs x nodes).
 */
#include "sluiced/controller/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool has(const struct brain_job *j, uint32_t node)
{
	for (uint32_t i = 0; i < j->to_count; i++)
		if (j->to[i] == node)
			return true;
	return false;
}

static bool present(const struct brain *b, const struct brain_job *j)
{
	for (uint32_t i = 0; i < b->nodes; i++)
		if (b->node[i].up && j->part[i].clients)
			return true;
	return false;
}

static bool known_at(const struct brain *b, const struct brain_job *j)
{
	for (uint32_t i = 0; i < b->nodes; i++)
		if (b->node[i].up && j->part[i].known)
			return true;
	return false;
}

/*
 * It belongs to a node that has gone, and others know it: its processes will ask there where to go,
 * though none of them is seen any more.
 */
static bool stranded(const struct brain *b, const struct brain_job *j)
{
	for (uint32_t i = 0; i < j->to_count; i++)
		if (!b->node[j->to[i]].up)
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
struct places {
	uint32_t load[BRAIN_NODES];	/* jobs */
	uint64_t promised[BRAIN_NODES]; /* of their min */
	bool closed[BRAIN_NODES];	/* next to nothing is left for jobs without one */
};

/* Take nodes away that are down or too many; the first ones stay. */
static void keep(const struct brain *b, struct brain_job *j, uint32_t want, struct places *at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->to_count; i++) {
		if (!b->node[j->to[i]].up || n == want)
			continue;
		j->to[n++] = j->to[i];
		at->load[j->to[i]]++;
	}
	j->to_count = n;
}

/* Where its processes are already, if all else is equal. */
static bool better(const struct brain_job *j, const struct places *at, uint32_t a, uint32_t b)
{
	if (j->min_bps && at->promised[a] != at->promised[b])
		return at->promised[a] < at->promised[b];
	if (at->load[a] != at->load[b])
		return at->load[a] < at->load[b];
	return j->part[a].clients > j->part[b].clients;
}

static void add(const struct brain *b, struct brain_job *j, uint32_t want, struct places *at)
{
	while (j->to_count < want && j->to_count < SL_MAP_MAX) {
		uint32_t best = BRAIN_NODES;

		for (uint32_t i = 0; i < b->nodes; i++)
			if (b->node[i].up && !has(j, i) && !(at->closed[i] && !j->min_bps) &&
			    (best == BRAIN_NODES || better(j, at, i, best)))
				best = i;
		if (best == BRAIN_NODES)
			return;
		j->to[j->to_count++] = best;
		at->load[best]++;
	}
}

static void promise(const struct brain_job *j, struct places *at)
{
	for (uint32_t i = 0; i < j->to_count; i++)
		at->promised[j->to[i]] += j->min_bps / j->to_count;
}

/* Nodes that have promised nine tenths, if there are others. */
static void close_nodes(const struct brain *b, struct places *at)
{
	uint32_t open = 0;

	for (uint32_t i = 0; i < b->nodes; i++) {
		at->closed[i] = b->node[i].capacity_bps &&
				at->promised[i] >= b->node[i].capacity_bps / 10 * 9;
		open += b->node[i].up && !at->closed[i];
	}
	if (!open)
		memset(at->closed, 0, sizeof(at->closed));
}

static void leave_closed(struct brain_job *j, struct places *at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->to_count; i++) {
		if (at->closed[j->to[i]])
			at->load[j->to[i]]--;
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

void map_decide(struct brain *b, sl_time now)
{
	struct sl_alloc_machine m = { .compute_nodes = b->config.compute_nodes,
				      .direct = b->config.direct };
	struct places at = { 0 };
	struct brain_job *who[BRAIN_JOBS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->nodes; i++)
		m.ionodes += b->node[i].up;
	if (!m.ionodes)
		return;
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
			j->pinned = j->pinned && b->node[j->to[k]].up;
		if (j->pinned) {
			for (uint32_t k = 0; k < j->to_count; k++)
				at.load[j->to[k]]++;
			promise(j, &at);
			continue;
		}
		known = curves_find(&b->curves, j->title, map_nodes(j), map_procs(j));
		b->alloc[n] = (struct sl_alloc_job){ .job = i,
						     .curve = known ? known->point : NULL,
						     .points = known ? known->points : 0,
						     .nodes = map_nodes(j),
						     .procs = map_procs(j),
						     .running = j->map_epoch != 0,
						     .has = j->to_count };
		who[n++] = j;
	}
	if (!n)
		return;
	b->allocate->decide(b->allocate_state, b->alloc, n, &m);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t want = b->alloc[i].ionodes, need = at_least(b, who[i], m.ionodes);

		if (want && want < need) /* 0: direct */
			want = b->alloc[i].ionodes = need;
		memcpy(who[i]->to_before, who[i]->to, sizeof(who[i]->to));
		who[i]->before_count = who[i]->to_count;
		keep(b, who[i], want < SL_MAP_MAX ? want : SL_MAP_MAX, &at);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!who[i]->min_bps)
			continue;
		add(b, who[i], b->alloc[i].ionodes, &at);
		promise(who[i], &at);
	}
	close_nodes(b, &at);
	for (uint32_t i = 0; i < n; i++) {
		if (!who[i]->min_bps) {
			leave_closed(who[i], &at);
			add(b, who[i], b->alloc[i].ionodes, &at);
		}
		if (who[i]->before_count != who[i]->to_count ||
		    memcmp(who[i]->to_before, who[i]->to, who[i]->to_count * sizeof(uint32_t)) != 0)
			phase_steady(who[i], who[i]->moved_bytes, now);
		who[i]->served_by = who[i]->to_count;
		who[i]->map_epoch = b->epoch;
	}
}

/* Names by commas; how many of them are up goes to *count. False: one of them is not. */
static bool nodes_named(const struct brain *b, const char *names, uint32_t to[SL_MAP_MAX],
			uint32_t *count)
{
	bool all = true;

	*count = 0;
	for (const char *at = names; *at;) {
		size_t length = strcspn(at, ",");
		uint32_t k = 0;

		while (k < b->nodes && (strlen(b->node[k].name) != length ||
					memcmp(b->node[k].name, at, length) != 0))
			k++;
		if (k < b->nodes && b->node[k].up && *count < SL_MAP_MAX)
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
		nodes_named(b, strcmp(j->mapped, "-") ? j->mapped : "", j->to, &j->to_count);
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
		b->changed = true;
		return 0;
	}
	if (!nodes_named(b, nodes, to, &count))
		return -EINVAL;
	memcpy(j->to, to, count * sizeof(to[0]));
	j->to_count = count;
	j->pinned = true;
	phase_steady(j, j->moved_bytes, now);
	j->served_by = count;
	j->map_epoch = b->epoch + 1;
	b->changed = true;
	return 0;
}
