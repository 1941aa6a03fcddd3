/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The I/O nodes that the controller knows, by their names.
 *
 * A node of the same name with another *life* is that node, started again: its counters begin at 0.
 * But while the one before is heard of, another life is another node with the same name, which is
 * refused: else each report of either would take the place of the other.
 *
 * One that is gone keeps its number, since it may be back, until another needs it; then the one
 * that has been gone for longest is forgotten.
 *
 * Example: 64 names are known, io3 is down for a day and io9 for an hour; io70 gets the number of
 * io3.
 *
 * O(nodes x jobs) for a node that starts or goes, else O(nodes).
 */
#include <errno.h>
#include <string.h>

#include "sluiced/controller/private.h"

#define TAKEN_NS INT64_C(3000000000) /* a name, after its node was last heard: three reports */

uint64_t nodes_rate(uint64_t bps)
{
	return bps < SL_MAX_RATE ? bps : SL_MAX_RATE;
}

/* Forget what a node has said of jobs; with `all`, also where its counters were. */
static void drop_parts(struct brain *b, uint32_t node, bool all)
{
	for (uint32_t i = 0; i < b->jobs; i++) {
		struct brain_part *p;

		if (!b->job[i])
			continue;
		p = &b->job[i]->part[node];
		*p = (struct brain_part){ .moved = { all ? 0 : p->moved[0],
						     all ? 0 : p->moved[1] } };
	}
}

/* The number of the one that has been down for longest; BRAIN_NODES: all are up. */
static uint32_t oldest(const struct brain *b)
{
	uint32_t best = BRAIN_NODES;

	for (uint32_t i = 0; i < b->nodes; i++)
		if (!b->node[i].up &&
		    (best == BRAIN_NODES || b->node[i].heard < b->node[best].heard))
			best = i;
	return best;
}

/* Its number is to be another's. */
static void forget(struct brain *b, uint32_t node)
{
	drop_parts(b, node, true);
	for (uint32_t i = 0; i < b->jobs; i++) {
		struct brain_job *j = b->job[i];
		uint32_t n = 0;

		for (uint32_t k = 0; j && k < j->to_count; k++)
			if (j->to[k] != node)
				j->to[n++] = j->to[k];
		if (j && n < j->to_count) {
			j->to_count = n;
			j->pinned = false; /* as when a node is gone: map.c */
			j->map_epoch = n ? j->map_epoch : 0;
		}
	}
	b->node[node] = (struct brain_node){ 0 };
}

int nodes_index(struct brain *b, const struct sl_node_report *r, sl_time now, bool *met)
{
	struct brain_node *n;
	uint32_t i = 0;

	if (!r->name[0] || strchr(r->name, ','))
		return -EPROTO;
	while (i < b->nodes && strcmp(b->node[i].name, r->name) != 0)
		i++;
	*met = i < b->nodes;
	if (i == BRAIN_NODES) {
		i = oldest(b);
		if (i == BRAIN_NODES)
			return -ENOSPC;
		forget(b, i);
	}
	n = &b->node[i];
	if (*met && n->up && n->life != r->life && now - n->heard < TAKEN_NS)
		return -EEXIST;
	if (i == b->nodes)
		b->nodes++;
	if (n->life != r->life)
		drop_parts(b, i, true);
	if (!n->up || n->life != r->life || n->capacity_bps != nodes_rate(r->capacity_bps) ||
	    n->layer_bps != nodes_rate(r->layer_bps))
		b->changed = true;
	divide_node(b, i, r, n->up && n->life == r->life);
	memcpy(n->name, r->name, sizeof(n->name));
	memcpy(n->socket, r->socket, sizeof(n->socket));
	memcpy(n->tcp, r->tcp, sizeof(n->tcp));
	n->life = r->life;
	n->capacity_bps = nodes_rate(r->capacity_bps);
	n->layer_bps = nodes_rate(r->layer_bps);
	n->up = true;
	n->heard = now;
	return (int)i;
}

void brain_node_gone(struct brain *b, uint32_t node, sl_time now)
{
	(void)now;
	if (node >= b->nodes || !b->node[node].up)
		return;
	b->node[node].up = false;
	b->node[node].held_bps = b->node[node].sent_bps = 0; /* it draws nothing any more */
	drop_parts(b, node, false); /* it may only have lost its connection */
	b->changed = true;
}
