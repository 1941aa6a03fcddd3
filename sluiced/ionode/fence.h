/* SPDX-License-Identifier: Apache-2.0 */
/* Execute nothing for a client that may have gone to another node: see fence.c. */
#ifndef SL_SLUICED_IONODE_FENCE_H
#define SL_SLUICED_IONODE_FENCE_H

#include "sluiced/ionode/node.h"

#define FENCE_ALWAYS INT64_MAX

int fence_start(void);
uint64_t fence_stamp(void); /* for a frame to a client */
/* It has given back this stamp. */
void fence_renew(struct client *c, uint64_t stamp);
/* It has gone, or is about to be hung up on. */
void fence_cut(struct client *c);
/*
 * Around system calls for clients. Between them a node that is stopped for SL_FENCE_NS is killed;
 * fence_holds() is to be asked in between, for each client, right before its call.
 */
void fence_enter(void);
void fence_leave(void);
bool fence_holds(const struct client *c);

#endif
