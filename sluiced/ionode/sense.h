/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measure the file system: a thread that samples the bytes that jobs move and the number of their
 * threads that are blocked in the kernel. It feeds the shadow of observe mode (shadow.h), and finds
 * the capacity if that is `auto` (detect/capacity.h). It wakes once a second while no process is
 * attached, ten times a second in observe mode, and forty times where two jobs or more use a layer
 * of unknown capacity.
 *
 * Blocked threads are counted by looking at some of them (blocked.h). Looking takes a twentieth of
 * the thread's time at most: the more it has to look at, the less often it does.
 *
 * With capacity auto the scheduler has an unlimited capacity, so every `min` is accepted; the pacer
 * has the capacity that was found, or no limit while there is no congestion.
 */
#ifndef SL_SLUICED_IONODE_SENSE_H
#define SL_SLUICED_IONODE_SENSE_H

#include "base/json.h"
#include "sluiced/ionode/node.h"
#include "wire/status.h"

/* No lock is held. Start the thread if there is something to measure. -errno. */
int sense_start(struct node *n);
int sense_observe(struct node *n); /* the same, of a node that begins to observe */
void sense_stop(struct node *n);
/* The lock is held. The capacity is to be found, from now on; or no longer. */
int sense_auto(struct node *n, bool find, sl_time now);
/* What was found: of what is read and written now, in bytes a second; 0: nothing yet. */
uint64_t sense_found_bps(const struct node *n);
/* "capacity_auto" of the status; null if the capacity is given. */
void sense_status(const struct node *n, struct status *to);

#endif
