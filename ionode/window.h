/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much may be in flight towards the backing store at once.
 *
 * A scheduler decides only over what waits in front of it. If the node passes everything on, the
 * queue builds up inside the file system and every policy is a no-op; if it passes on too little,
 * the device idles. So the number of batches in flight has a limit that is found by measurement,
 * as TCP Vegas finds its own: the time of a batch when little is in flight is the base; while
 * batches take less than GROW times that, one more is allowed; when they take more than SHRINK
 * times that, only the queue has grown, and one less is. On a device that does one thing at a time
 * this settles at 2, just enough to keep it busy; on one that does eight, near eight.
 *
 * The base forgets slowly (upwards), since a device may become slower.
 *
 * Pure: time is an argument. Example: base 1 ms; at 4 in flight batches take 1.2 ms: 5; at 9 they
 * take 2.6 ms: 8.
 */
#ifndef SL_IONODE_WINDOW_H
#define SL_IONODE_WINDOW_H

#include <stdint.h>

#include "sluice.h"

#define WINDOW_MIN 2
#define WINDOW_MAX 64

struct window {
	uint32_t limit; /* batches */
	uint32_t count; /* measured since the last step */
	sl_time sum_ns; /* of their times, for 64 KiB each */
	sl_time base_ns;
};

void window_init(struct window *w);
/* A batch of so many bytes was in flight for so long. */
void window_measure(struct window *w, uint64_t bytes, sl_time took_ns);

#endif
