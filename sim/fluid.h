/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers of one I/O server that share its bandwidth max-min fairly, in O(log n) an event. See
 * fluid.c, and granted.h for the order of calls at an event.
 */
#ifndef SL_SIM_FLUID_H
#define SL_SIM_FLUID_H

#include <stdint.h>

struct sl_fluid;

/* cap_bps: n of them, more than 0; INFINITY: none. On failure *f is NULL, and -ENOMEM. */
int sl_fluid_create(struct sl_fluid **f, const double *cap_bps, uint32_t n);
void sl_fluid_destroy(struct sl_fluid *f);

void sl_fluid_capacity(struct sl_fluid *f, double bps); /* from the next settle() on */
void sl_fluid_advance(struct sl_fluid *f, double now_s);
/* A transfer that has ended, or SL_NO_TRANSFER; after advance(). */
uint32_t sl_fluid_end(struct sl_fluid *f);
uint32_t sl_fluid_first(const struct sl_fluid *f); /* which may end next, or SL_NO_TRANSFER */
void sl_fluid_start(struct sl_fluid *f, uint32_t id, double bytes); /* bytes: more than 0 */
void sl_fluid_cancel(struct sl_fluid *f, uint32_t id); /* nothing if it has no transfer */
double sl_fluid_settle(struct sl_fluid *f); /* the time of the next end; INFINITY: none */

double sl_fluid_rate_bps(const struct sl_fluid *f);    /* of all together */
double sl_fluid_moved_bytes(const struct sl_fluid *f); /* until the last advance() */
/* Progress of a transfer, at a time from the last advance() to the next end. */
double sl_fluid_left_bytes(const struct sl_fluid *f, uint32_t id, double now_s);

#endif
