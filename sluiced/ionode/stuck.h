/* SPDX-License-Identifier: Apache-2.0 */
/* A stuck file or file system must not block other files: see stuck.c. */
#ifndef SL_SLUICED_IONODE_STUCK_H
#define SL_SLUICED_IONODE_STUCK_H

#include "sluiced/ionode/node.h"

/*
 * Lock held: find a place for a thread that is not a worker, if any; preferably the same as before.
 */
bool stuck_place(const struct node *n, uint32_t wanted, uint32_t *place);
/*
 * Lock held: the owner of this place begins or ends a batch. tid: the thread, 0: the ring.
 * stuck_end() returns whether it was stuck.
 */
void stuck_begin(struct node *n, uint32_t place, const struct sl_batch *b, pid_t tid, sl_time now);
bool stuck_end(struct node *n, uint32_t place);
/* Lock held: no more batches of this file or file system should be begun now. */
bool stuck_congested(const struct node *n, const struct sl_batch *b);
/* Lock held: true if the batch has to wait because its file or file system is stuck; it is kept. */
bool stuck_park(struct node *n, const struct sl_batch *b);
/* Lock held: a kept batch that may go now, or NULL. */
const struct sl_batch *stuck_next(struct node *n);
/* Every second, no lock held: how many more workers there should be. */
uint32_t stuck_tick(struct node *n);
/* A thread has been executing since then: whether it is stuck in a file system. */
bool stuck_thread(pid_t tid, sl_time since, sl_time now);
pid_t stuck_tid(void); /* of the calling thread; cheap */

#endif
