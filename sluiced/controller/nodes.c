/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The I/O nodes that the controller knows, by their names.
 *
 * A report with the same name but another *life* comes from the same node after a restart: its
 * counters begin at 0. But while the first one still reports, it is another node with the same
 * name, which is refused; otherwise their reports would replace each other.
 *
 * A node that has gone keeps its number, because it may return.
 *
 * O(pairs of the node) for one that starts or goes, else O(1).
 */
#include <errno.h>
#include <string.h>

#include "sluiced/controller/private.h"

#define TAKEN_NS INT64_C(3000000000) /* a name, after its node was last heard: three reports */

uint64_t nodes_rate(uint64_t bps)
{
	return bps < SL_MAX_RATE ? bps : SL_MAX_RATE;
}

/* Forget what a node has said of jobs. */
static void drop_parts(struct brain *b, uint32_t node)
{
	struct brain_node *n = b->node[node];

	while (!sl_list_empty(&n->pairs))
		pairs_drop(b, sl_container(n->pairs.next, struct brain_part, of_node));
}

/*
 * It may only have lost its connection; then its counters continue. So its pairs stay, except for
 * values that are unknown while it is silent.
 */
static void silence_parts(struct brain *b, uint32_t node)
{
	brain_for_pairs(p, b->node[node])
	{
		period_gone(p, b->node[node]->heard);
		p->clients = p->inside = p->phase = 0;
		p->queued_bytes = 0;
		p->rate_bps = 0;
		p->backlogged_until = 0;
		p->divided_bps = p->ordered_bps = -1;
		p->ops_divided = p->ops_ordered = -1;
		p->ops_rate = 0;
		p->ops_held_until = 0;
		pairs_live(b, p->job);
	}
}

int nodes_index(struct brain *b, const struct sl_node_report *r, sl_time now, bool *met)
{
	struct brain_node *n;
	bool moved;
	uint32_t i;

	if (!r->name[0] || strchr(r->name, ','))
		return -EPROTO;
	i = pairs_node(b, r->name);
	*met = i != SL_HASH_NONE;
	if (!*met) {
		int fresh = pairs_new_node(b, r->name);

		if (fresh < 0)
			return fresh;
		i = (uint32_t)fresh;
	}
	n = b->node[i];
	if (*met && n->up && n->life != r->life && now - n->heard < TAKEN_NS)
		return -EEXIST;
	if (n->life != r->life)
		drop_parts(b, i);
	b->remap |= !n->up || n->life != r->life;
	if (!n->up || n->life != r->life || n->capacity_bps != nodes_rate(r->capacity_bps) ||
	    n->layer_bps != nodes_rate(r->layer_bps) || n->layer_ops != nodes_rate(r->layer_ops))
		b->changed = true;
	divide_node(b, i, r, n->up && n->life == r->life);
	if (!n->up || n->life != r->life) {
		n->whole = true;
		n->ops_draw = 0;
	}
	moved = strcmp(n->socket, r->socket) != 0 || strcmp(n->tcp, r->tcp) != 0;
	memcpy(n->socket, r->socket, sizeof(n->socket));
	memcpy(n->tcp, r->tcp, sizeof(n->tcp));
	n->life = r->life;
	n->capacity_bps = nodes_rate(r->capacity_bps);
	n->layer_bps = nodes_rate(r->layer_bps);
	n->layer_ops = nodes_rate(r->layer_ops);
	b->nodes_up += !n->up;
	n->up = true;
	b->capacity_known &= !b->changed;
	if (moved || !*met)
		brain_new_place(b, i);
	n->heard = now;
	if (r->of > b->expect && r->of <= BRAIN_NODES)
		b->expect = r->of;
	return (int)i;
}

void brain_node_gone(struct brain *b, uint32_t node, bool dead, sl_time now)
{
	struct brain_node *n = node < b->nodes ? b->node[node] : NULL;

	if (!n || !n->up)
		return;
	n->up = false;
	b->nodes_up--;
	b->capacity_known = false;
	n->heard = now;
	n->sent_bps = n->ops_draw = 0;
	if (dead)
		n->held_bps = 0; /* it draws nothing any more */
	sl_list_remove(&n->telling);
	sl_list_remove(&n->renewing);
	silence_parts(b, node);
	b->changed = b->remap = b->renew = true;
}
