/* SPDX-License-Identifier: Apache-2.0 */
/* The node's connection to the controller: reports out, orders in. See link.c. */
#ifndef SL_SLUICED_IONODE_LINK_H
#define SL_SLUICED_IONODE_LINK_H

#include "sluiced/ionode/node.h"

/* 0 or negative errno; nothing happens if the configuration names no controller. */
int link_start(struct node *n);
void link_stop(struct node *n);
/* The lock is held: something has begun that the controller should hear of at once. */
void link_event(struct node *n);
/* Once a second, the lock is held: orders that no controller has renewed run out. */
void link_tick(struct node *n, sl_time now);
/*
 * Where a client of a job belongs, which is unit `unit` of `units` (0: not known): the answer to
 * the control line "where JOB UNIT UNITS", a text like "epoch=7 at=PATH", "epoch=7 direct", or
 * "epoch=0" when nothing was ordered. The lock is held.
 */
void link_where(const struct node *n, const struct node_job *j, uint32_t unit, uint32_t units,
		bool tcp, char *out, size_t size);

/* The socket of a node of the layer; false: it is not known. The lock is held. */
bool link_socket(const struct node *n, const char *name, char out[108]);

#endif
