/* SPDX-License-Identifier: Apache-2.0 */
/* Permits: what clients do themselves. The lock is held in all of these. See permit.c. */
#ifndef SL_IONODE_PERMIT_H
#define SL_IONODE_PERMIT_H

#include "ionode/node.h"

/* The batch is one request, with SL_SLOT_SELF. */
void permit_give(struct node *n, const struct sl_batch *b, sl_time now);
/* Those that have been abroad for too long are not waited for any more. */
void permit_expire(struct node *n, sl_time now);
/* Something waits: end leases that are not in use, or have been for long. True: some have ended. */
bool permit_reclaim(struct node *n, sl_time now);
/* End the client's lease, if it has one: it needs it no longer. */
void permit_return(struct node *n, struct client *c, sl_time now);
/* As permit_account(), and end those that nobody has used since the last call. */
void permit_tick(struct node *n, sl_time now);
/* Count what has been done under leases until now among what jobs have moved. */
void permit_account(struct node *n);
/* A request of this job has come: is there anything to decide about? */
void permit_calm(struct node *n, const struct node_job *j, sl_time now);
/* A limit may have been set, on a job or the node: it holds for what is leased, too. */
void permit_limits(struct node *n, sl_time now);
/* Its client has reported one that was given up. */
void permit_late(struct node_io *io, int64_t result);
bool permit_full(const struct node *n);
sl_time permit_wake(const struct node *n); /* when the next one expires, if that matters */
/* Whether clients have to ring when they are done; true: look once more at what they have. */
bool permit_hungry(struct node *n);

#endif
