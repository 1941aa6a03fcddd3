/* SPDX-License-Identifier: Apache-2.0 */
/* Execute nothing for a client that may have gone to another node: see fence.c. */
#ifndef SL_SLUICED_IONODE_FENCE_H
#define SL_SLUICED_IONODE_FENCE_H

#include "sluiced/ionode/node.h"

#define FENCE_ALWAYS INT64_MAX

int fence_start(void);
uint64_t fence_stamp(void); /* for a frame to a client */
/* The client has returned this stamp. */
void fence_renew(struct client *c, uint64_t stamp);
/* The client has gone, or its connection is about to be closed. */
void fence_cut(struct client *c);
/*
 * Call these around system calls for clients. In between, a node that is stopped for SL_FENCE_NS is
 * killed, and fence_holds() must be called for each client right before its call.
 */
void fence_enter(void);
void fence_leave(void);
bool fence_holds(const struct client *c);

#endif
