/* SPDX-License-Identifier: Apache-2.0 */
/* See window.h. */
#include "ionode/window.h"

#define SAMPLES	     16	   /* batches between two steps */
#define SMOOTH	     8	   /* steps over which times are averaged: devices work in bursts */
#define BASE_BATCHES 512   /* between two measurements of the base, times the limit */
#define FIXED_BYTES  65536 /* cost of a batch that does not depend on its size, as bytes */

void window_init(struct window *w, uint32_t fixed)
{
	*w = (struct window){ .limit = fixed ? fixed : WINDOW_MIN,
			      .fixed = fixed,
			      .resume = WINDOW_MIN };
}

/*
 * Batches differ in size, so times are taken for 64 KiB: t / (bytes + 64 KiB), which lets a batch
 * of 4 KiB and one of 4 MiB be compared on devices with a fixed cost and a bandwidth.
 */
static sl_time unit_ns(uint64_t bytes, sl_time took_ns)
{
	return (sl_time)((unsigned __int128)(uint64_t)took_ns * FIXED_BYTES /
			 (bytes + FIXED_BYTES));
}

static void restart(struct window *w)
{
	w->sum_ns = 0;
	w->count = w->full = 0;
}

/* The least of the last few: a hiccup during one of them is not the device's speed. */
static void set_base(struct window *w, sl_time mean)
{
	if (!w->base_ns) {
		w->mean_ns = mean;
		for (int i = 0; i < WINDOW_BASES; i++)
			w->bases[i] = mean;
	}
	w->bases[w->next++ % WINDOW_BASES] = mean;
	w->base_ns = mean;
	for (int i = 0; i < WINDOW_BASES; i++)
		if (w->bases[i] < w->base_ns)
			w->base_ns = w->bases[i];
}

static void step(struct window *w, sl_time mean, bool full)
{
	if (w->resume) {
		set_base(w, mean);
		w->limit = w->resume;
		w->resume = 0;
		w->batches = 0;
		return;
	}
	w->mean_ns += (mean - w->mean_ns) / SMOOTH;
	if (full && w->mean_ns < 3 * w->base_ns && w->limit < WINDOW_MAX)
		w->limit++;
	else if (w->mean_ns > 5 * w->base_ns && w->limit > WINDOW_MIN)
		w->limit--;
}

void window_measure(struct window *w, uint64_t bytes, sl_time took_ns, uint32_t others)
{
	sl_time mean;

	if (w->fixed)
		return;
	if (w->skip) {
		w->skip--;
		return;
	}
	w->sum_ns += unit_ns(bytes, took_ns);
	w->full += others + 1 >= w->limit;
	if (++w->count < SAMPLES)
		return;
	mean = w->sum_ns / SAMPLES;
	w->batches += SAMPLES;
	step(w, mean ? mean : 1, w->full > SAMPLES / 2);
	restart(w);
	if (!w->resume && w->batches >= BASE_BATCHES * w->limit) {
		w->resume = w->limit;
		w->limit = WINDOW_MIN;
		w->skip = others;
	}
}
