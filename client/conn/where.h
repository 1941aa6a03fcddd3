/* SPDX-License-Identifier: Apache-2.0 */
/* The node of this process in a layer with several I/O nodes: see where.c. */
#ifndef SL_CLIENT_CONN_WHERE_H
#define SL_CLIENT_CONN_WHERE_H

#include "client/conn/connect.h"

enum where { WHERE_STAY, WHERE_MOVE, WHERE_LOST };

/* The node has said that something changed; cheap. */
static inline bool where_changed(const struct conn *c)
{
	return atomic_load_explicit(c->segment ? &c->segment->moved : &c->told,
				    memory_order_relaxed) != c->moved_seen;
}
/*
 * Ask the node. The lock is held. WHERE_MOVE: the next connection is to be made elsewhere, to
 * where_next(). WHERE_LOST: the answer did not come.
 */
enum where where_ask(struct conn *c);
/*
 * The address for the next connection: the one ordered, and after where_failed() one of the other
 * nodes of the layer, in turn. The lock is held.
 */
const char *where_next(void);
void where_failed(void);
/* The node there has not answered for a lease: others come first, until one is found. */
void where_silent(const char *address);
void where_found(void);
/* Attempts needed to try each known node. */
unsigned where_attempts(void);
/* The job has no I/O nodes: the program makes its own calls. */
bool where_direct(void);
/* Which unit of its job this process belongs to, of how many; *units 0: unknown. */
void where_unit(uint32_t *number, uint32_t *units);

#endif
