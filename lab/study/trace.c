/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of a run for the page, in bounded memory: the activities of each application, and the
 * bandwidth over time. The number of events and the end are not known in advance, so both records
 * become coarser as they grow.
 *
 * Activities are stored exactly until memory is full. Then the resolution is doubled until half of
 * the memory is free: adjacent activities of one application that are shorter than the resolution
 * become one block with the shares of computing, transferring and stalling. Longer ones stay exact.
 * From then on new activities are merged as they arrive.
 *
 *	resolution 4:  C3 T1 C3 T1 C9 T1 S2 T1  ->  (C3 T1) (C3 T1) C9 (T2 S2)
 *
 * Of n activities over time T, at most rows * (2 T / resolution + 1) blocks are left, so it comes
 * to an end if there is room for a few blocks per row. Each doubling goes through the
 * blocks once: O(1) for an activity, over all.
 *
 * Bandwidth. SIM_BINS bins; when time goes beyond the last, each two become one of twice the
 * width. O(bins touched) for an event.
 */
#include "lab/study/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* ---- activities ---- */

/* Whether b can include the next activity, up to to_s, and still be short. */
static bool tr_joins(const struct sim_block *b, double from_s, double to_s, double resolution_s)
{
	return b->to_s - b->from_s < resolution_s && to_s - from_s < resolution_s &&
	       from_s - b->to_s < resolution_s / 1024; /* no gap that could be seen */
}

static void tr_join(struct sim_block *b, const float share[3], double from_s, double to_s)
{
	double old = b->to_s - b->from_s, more = to_s - from_s, all = old + more;

	for (int i = 0; i < 3; i++)
		if (all > 0)
			b->share[i] =
				(float)(((double)b->share[i] * old + (double)share[i] * more) /
					all);
	b->to_s = to_s;
}

/* Merge what is shorter than the resolution, and move all blocks together again. */
static void tr_merge(struct sim_trace *t)
{
	uint32_t *moved = t->last; /* the last block of each row, as it is rebuilt */
	uint32_t kept = 0;

	for (uint32_t row = 0; row < t->rows; row++)
		t->first[row] = moved[row] = NONE;
	for (uint32_t i = 0; i < t->count; i++) {
		struct sim_block b = t->block[i];
		uint32_t last = moved[b.app];

		if (last != NONE && tr_joins(&t->block[last], b.from_s, b.to_s, t->merged_s)) {
			tr_join(&t->block[last], b.share, b.from_s, b.to_s);
			continue;
		}
		b.next = NONE;
		if (last == NONE)
			t->first[b.app] = kept;
		else
			t->block[last].next = kept;
		moved[b.app] = kept;
		t->block[kept++] = b;
	}
	t->count = kept;
}

static void tr_make_room(struct sim_trace *t)
{
	if (t->merged_s <= 0)
		t->merged_s = t->end_s / 65536;
	while (t->count > t->limit / 2 && t->merged_s < t->end_s) {
		t->merged_s *= 2;
		tr_merge(t);
	}
}

static void tr_activity(struct sim_trace *t, uint32_t app, enum sl_activity what, double from_s,
			double to_s)
{
	float share[3] = { 0 };
	uint32_t last = t->last[app];

	share[what] = 1;
	if (last != NONE) {
		struct sim_block *b = &t->block[last];

		/* The same activity continues: an engine may report it in parts. */
		if (b->share[what] >= 1 && from_s <= b->to_s) {
			b->to_s = to_s;
			return;
		}
		if (t->merged_s > 0 && tr_joins(b, from_s, to_s, t->merged_s)) {
			tr_join(b, share, from_s, to_s);
			return;
		}
	}
	if (t->count == t->limit) {
		tr_make_room(t);
		if (t->count == t->limit)
			return; /* more rows than blocks; cannot be, by sim_trace_create() */
		tr_activity(t, app, what, from_s, to_s);
		return;
	}
	t->block[t->count] = (struct sim_block){
		.from_s = from_s,
		.to_s = to_s,
		.share = { share[0], share[1], share[2] },
		.app = app,
		.next = NONE,
	};
	if (last == NONE)
		t->first[app] = t->count;
	else
		t->block[last].next = t->count;
	t->last[app] = t->count++;
}

/* ---- bandwidth ---- */

static void tr_widen(struct sim_trace *t, double to_s)
{
	if (t->bin_s <= 0)
		t->bin_s = to_s / SIM_BINS * 2;
	while (to_s > t->bin_s * SIM_BINS) {
		for (unsigned i = 0; i < SIM_BINS / 2; i++)
			t->bytes[i] = t->bytes[2 * i] + t->bytes[2 * i + 1];
		memset(&t->bytes[SIM_BINS / 2], 0, sizeof(t->bytes[0]) * SIM_BINS / 2);
		t->bin_s *= 2;
	}
}

static void tr_moved(void *arg, double from_s, double to_s, double bytes)
{
	struct sim_trace *t = arg;
	double rate_bps = bytes / (to_s - from_s);
	unsigned first, last;

	if (!(bytes > 0 && to_s > from_s))
		return;
	tr_widen(t, to_s);
	first = (unsigned)(from_s / t->bin_s);
	last = (unsigned)(to_s / t->bin_s);
	if (last >= SIM_BINS)
		last = SIM_BINS - 1;
	for (unsigned i = first; i <= last; i++) {
		double from = fmax(from_s, i * t->bin_s), to = fmin(to_s, (i + 1) * t->bin_s);

		if (to > from)
			t->bytes[i] += rate_bps * (to - from);
	}
}

/* ---- the sink ---- */

static void tr_segment(void *arg, uint32_t app, enum sl_activity what, double from_s, double to_s,
		       double rate_bps)
{
	struct sim_trace *t = arg;

	if (!(to_s > from_s))
		return;
	t->end_s = fmax(t->end_s, to_s);
	(void)rate_bps;
	if (app < t->rows)
		tr_activity(t, app, what, from_s, to_s);
}

struct sim_trace *sim_trace_create(uint32_t rows, uint32_t limit)
{
	struct sim_trace *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	if (limit < 8 * rows + 16)
		limit = 8 * rows + 16;
	t->sink = (struct sl_phase_sink){ .segment = tr_segment, .moved = tr_moved, .arg = t };
	t->rows = rows;
	t->limit = limit;
	t->block = malloc(limit * sizeof(t->block[0]));
	t->first = malloc((rows + 1) * sizeof(t->first[0]));
	t->last = malloc((rows + 1) * sizeof(t->last[0]));
	if (!t->block || !t->first || !t->last) {
		sim_trace_free(t);
		return NULL;
	}
	for (uint32_t i = 0; i < rows; i++)
		t->first[i] = t->last[i] = NONE;
	return t;
}

void sim_trace_free(struct sim_trace *t)
{
	if (!t)
		return;
	free(t->block);
	free(t->first);
	free(t->last);
	free(t);
}
