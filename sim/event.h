/* SPDX-License-Identifier: Apache-2.0 */
/* Times of the phase-level simulator: doubles as keys of heaps, and what counts as equal. */
#ifndef SL_SIM_EVENT_H
#define SL_SIM_EVENT_H

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/ds/heap.h"

/* Doubles that are not negative order as their bits do. */
static inline uint64_t sl_event_key(double x)
{
	uint64_t key;

	assert(x >= 0);
	memcpy(&key, &x, sizeof(key));
	return key;
}

static inline double sl_event_value(uint64_t key)
{
	double x;

	memcpy(&x, &key, sizeof(x));
	return x;
}

/* The smallest of a heap; INFINITY when it is empty. */
static inline double sl_event_first(const struct sl_heap *h)
{
	const struct sl_heap_entry *top = sl_heap_top(h);

	return top ? sl_event_value(top->key) : INFINITY;
}

/* Events that are closer together than this are one: see phase.c. */
static inline double sl_event_grain_s(double now_s)
{
	return 1e-9 + now_s * 1e-15;
}

#endif
