/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which I/O nodes serve which job.
 *
 * How many is for the allocate policy, from a job's size and its curve (seed 001, section 3.1);
 * which ones is decided here: a job keeps what it has, as far as that is up and still its own, and
 * gets the least loaded of the others. Nodes are its own while there are enough; those that share
 * one share the least loaded.
 *
 * A job with a min has at least as many as can give it.
 *
 * Example: nodes 0 to 3; A has 0 and 1 and is to have one: it keeps 0. B is new and gets two: 1 and
 * 2, which nobody has.
 *
 * O(jobs x nodes).
 */
#include "controller/private.h"

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

/* Take nodes away that are down or too many; the first ones stay. */
static void keep(struct brain *b, struct brain_job *j, uint32_t want, uint32_t load[BRAIN_NODES])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->to_count; i++) {
		if (!b->node[j->to[i]].up || n == want)
			continue;
		j->to[n++] = j->to[i];
		load[j->to[i]]++;
	}
	j->to_count = n;
}

static void add(struct brain *b, struct brain_job *j, uint32_t want, uint32_t load[BRAIN_NODES])
{
	while (j->to_count < want && j->to_count < SL_MAP_MAX) {
		uint32_t best = BRAIN_NODES;

		for (uint32_t i = 0; i < b->nodes; i++)
			if (b->node[i].up && !has(j, i) &&
			    (best == BRAIN_NODES || load[i] < load[best] ||
			     (load[i] == load[best] && /* where its clients are already */
			      j->part[i].clients > j->part[best].clients)))
				best = i;
		if (best == BRAIN_NODES)
			return;
		j->to[j->to_count++] = best;
		load[best]++;
	}
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

void map_decide(struct brain *b)
{
	struct sl_alloc_machine m = { .compute_nodes = b->config.compute_nodes,
				      .direct = b->config.direct };
	uint32_t load[BRAIN_NODES] = { 0 }, n = 0;
	struct brain_job *who[BRAIN_JOBS];

	for (uint32_t i = 0; i < b->nodes; i++)
		m.ionodes += b->node[i].up;
	if (!m.ionodes)
		return;
	for (uint32_t i = 0; i < b->jobs; i++) {
		struct brain_job *j = b->job[i];
		const struct curve *known;

		if (!j)
			continue;
		if (!present(b, j)) {
			j->map_epoch = 0; /* it is told when it comes back */
			j->to_count = 0;
			j->pinned = false;
			continue;
		}
		for (uint32_t k = 0; k < j->to_count; k++) /* a node that is gone is nobody's */
			j->pinned = j->pinned && b->node[j->to[k]].up;
		if (j->pinned) {
			for (uint32_t k = 0; k < j->to_count; k++)
				load[j->to[k]]++;
			continue;
		}
		known = curves_find(&b->curves, j->name, j->nodes ? j->nodes : 1,
				    j->procs ? j->procs : 1);
		b->alloc[n] = (struct sl_alloc_job){ .job = i,
						     .curve = known ? known->point : NULL,
						     .points = known ? known->points : 0,
						     .nodes = j->nodes ? j->nodes : 1,
						     .procs = j->procs ? j->procs : 1,
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
		keep(b, who[i], want < SL_MAP_MAX ? want : SL_MAP_MAX, load);
	}
	for (uint32_t i = 0; i < n; i++) {
		add(b, who[i], b->alloc[i].ionodes, load);
		if (who[i]->before_count != who[i]->to_count ||
		    memcmp(who[i]->to_before, who[i]->to, who[i]->to_count * sizeof(uint32_t)) != 0)
			who[i]->map_same = false;
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

int brain_pin(struct brain *b, const char *job, const char *nodes)
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
	j->map_same = false;
	j->map_epoch = b->epoch + 1;
	b->changed = true;
	return 0;
}
