/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that would block a worker (O_DIRECT, O_SYNC) are executed through io_uring: see ring.c.
 */
#ifndef SL_SLUICED_IONODE_RING_H
#define SL_SLUICED_IONODE_RING_H

#include <stdbool.h>

#include "sluice.h"

struct client;
struct node;

/* Start the ring and its thread; without io_uring in the kernel the node works, without depth. */
int ring_start(struct node *n);
/* Call it when all operations have completed and workers have ended. */
void ring_stop(struct node *n);
/* Whether the ring should execute this batch. */
bool ring_wants(const struct node *n, const struct sl_batch *b);
/* Lock held: the window is full. */
bool ring_full(const struct node *n);
/*
 * Start the batch; the node's lock is held, but released in between. False: it cannot be started;
 * execute it otherwise.
 */
bool ring_submit(struct node *n, const struct sl_batch *b);
/* A client has gone, and none of its operations is in flight. */
void ring_forget(struct node *n, struct client *c);

#endif
