/* SPDX-License-Identifier: Apache-2.0 */
/* See window.h. */
#include "sluiced/ionode/window.h"

#include <string.h>

#define STRETCH	    32	  /* batches of a stretch, for each that may be in flight */
#define STRETCHES   16	  /* of a comparison */
#define FIXED_BYTES 65536 /* cost of a batch that does not depend on its size, as bytes */
#define VOTES	    4
#define VOTES_MAX   64

void window_init(struct window *w, uint32_t fixed)
{
	*w = (struct window){ .limit = fixed ? fixed : WINDOW_MIN,
			      .fixed = fixed,
			      .low = WINDOW_MIN,
			      .skip = 1,
			      .needed = VOTES };
}

static void grow(struct window *w)
{
	if (w->shrunk && w->needed < VOTES_MAX)
		w->needed *= 2;
	w->shrunk = false;
	w->votes = 0;
	w->low += 1 + w->low / 4;
	if (w->low > WINDOW_MAX / 2)
		w->low = WINDOW_MAX / 2;
}

static void shrink(struct window *w)
{
	if (++w->votes < w->needed || w->low == WINDOW_MIN)
		return;
	if (w->shrunk) /* the last one has held */
		w->needed = VOTES;
	w->shrunk = true;
	w->votes = 0;
	w->low--;
}

/* Both throughputs are known: work in bytes over ns, so no product exceeds 2^128. */
static void compare(struct window *w)
{
	unsigned __int128 more = (unsigned __int128)w->done[1] * (uint64_t)w->took_ns[0] * 100;
	unsigned __int128 less = (unsigned __int128)w->done[0] * (uint64_t)w->took_ns[1];

	if (more > less * 103)
		grow(w);
	else if (more < less * 101)
		shrink(w);
	else
		w->votes = 0;
	w->stretches = 0;
	memset(w->done, 0, sizeof(w->done));
	memset(w->took_ns, 0, sizeof(w->took_ns));
}

static void next_stretch(struct window *w, uint32_t others)
{
	w->high = !w->high;
	w->limit = w->high ? 2 * w->low : w->low;
	w->skip = others > w->limit ? others : w->limit;
	w->count = w->full = 0;
	w->work = 0;
}

void window_measure(struct window *w, uint64_t bytes, uint32_t others, sl_time now)
{
	if (w->fixed)
		return;
	if (w->skip) {
		w->skip--;
		w->since = now;
		return;
	}
	w->work += bytes + FIXED_BYTES;
	w->full += others + 1 >= w->limit;
	if (++w->count < STRETCH * w->low)
		return;
	if (4 * w->full > 3 * w->count) {
		w->done[w->high] += w->work;
		w->took_ns[w->high] += now - w->since;
		if (++w->stretches >= STRETCHES && w->took_ns[0] && w->took_ns[1])
			compare(w);
	}
	next_stretch(w, others);
}
