/* SPDX-License-Identifier: Apache-2.0 */
/* A stuck file or file system stops nobody else: see stuck.c. */
#ifndef SL_SLUICED_IONODE_STUCK_H
#define SL_SLUICED_IONODE_STUCK_H

#include "sluiced/ionode/node.h"

/* Lock held: this worker begins to execute a batch, or has done it. */
void stuck_begin(struct node *n, uint32_t worker, const struct sl_batch *b, sl_time now);
void stuck_end(struct node *n, uint32_t worker);
/* Lock held: true if it has to wait, since its file or file system is stuck. It is kept. */
bool stuck_park(struct node *n, const struct sl_batch *b);
/* Lock held: one of those that may go by now, or NULL. */
const struct sl_batch *stuck_next(struct node *n);
/* Every second, no lock held: how many more workers there should be. */
uint32_t stuck_tick(struct node *n);

#endif
