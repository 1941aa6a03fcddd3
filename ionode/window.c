/* SPDX-License-Identifier: Apache-2.0 */
/* See window.h. */
#include "ionode/window.h"

#define SAMPLES	    16	  /* batches between two steps */
#define FIXED_BYTES 65536 /* cost of a batch that does not depend on its size, as bytes */

void window_init(struct window *w)
{
	*w = (struct window){ .limit = WINDOW_MIN };
}

/*
 * Batches differ in size, so times are taken for 64 KiB: t / (bytes + 64 KiB), which lets a batch
 * of 4 KiB and one of 4 MiB be compared on devices with a fixed cost and a bandwidth.
 */
void window_measure(struct window *w, uint64_t bytes, sl_time took_ns)
{
	sl_time unit = (sl_time)((unsigned __int128)(uint64_t)took_ns * FIXED_BYTES /
				 (bytes + FIXED_BYTES));
	sl_time mean;

	w->sum_ns += unit;
	if (++w->count < SAMPLES)
		return;
	mean = w->sum_ns / w->count;
	w->sum_ns = 0;
	w->count = 0;
	if (!w->base_ns || mean < w->base_ns)
		w->base_ns = mean;
	else
		w->base_ns += w->base_ns / 256 + 1;
	if (2 * mean < 3 * w->base_ns && w->limit < WINDOW_MAX)
		w->limit++;
	else if (2 * mean > 5 * w->base_ns && w->limit > WINDOW_MIN)
		w->limit--;
}
