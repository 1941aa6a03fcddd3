/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that would block a worker (O_DIRECT, O_SYNC) are executed through io_uring: see ring.c.
 */
#ifndef SL_IONODE_RING_H
#define SL_IONODE_RING_H

#include <stdbool.h>

#include "sluice.h"

struct node;

/* Start the ring and its thread; without io_uring in the kernel the node works, without depth. */
int ring_start(struct node *n);
void ring_stop(struct node *n);
/* Whether the ring should execute this batch. */
bool ring_wants(const struct node *n, const struct sl_batch *b);
/* Start it; the node's lock is held, and there is room (node->flying < WINDOW_MAX). */
void ring_submit(struct node *n, const struct sl_batch *b);

#endif
