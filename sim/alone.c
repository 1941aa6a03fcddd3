/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An application alone on the machine: the reference for upper limit, dilation and stretch.
 *
 * Without a burst buffer a phase takes its bytes over min(b beta, B). With one (server.c has the
 * model) what it takes depends on what is still in the buffer, so the buffer of the application
 * alone is followed from phase to phase:
 *
 *	computing	the level falls by B a second
 *	room		at f = min(b beta, what the buffer takes); the level goes on by f - B
 *	full		at B
 *
 * Example: B = 10, buffer of 100 that takes 30/s; phases of 150 and 20 bytes, 1 s of computing
 * before each. The first takes 5 s and fills the buffer. After a second 10 have drained: they are
 * filled again in 0.5 s, with 15 written; the other 5 take 0.5 s. The second phase takes 1 s.
 *
 * An application alone is never slower than among others, because their writes can only raise the
 * level. So a dilation is at least 1. But a stretch covers only a part of the run: an application
 * that was stalled before may find more room than alone, and so be faster.
 *
 * O(1) a phase.
 */
#include "sim/alone.h"

#include <math.h>

#include "sim/random.h"

struct sl_alone sl_alone_at_release(const struct sl_platform *p, const struct sl_app *a)
{
	struct sl_alone alone = { .cap_bps = p->per_proc_bps > 0 ? p->per_proc_bps * a->procs
								 : INFINITY,
				  .drain_bps = p->bandwidth_bps / p->servers,
				  .buffer_bytes = p->buffer_bytes / p->servers };

	if (!(p->buffer_bytes > 0))
		alone.cap_bps = fmin(alone.cap_bps, alone.drain_bps);
	else if (p->buffer_bps > 0)
		alone.cap_bps = fmin(alone.cap_bps, p->buffer_bps / p->servers);
	return alone;
}

static double al_level(const struct sl_alone *a, double compute_s)
{
	return fmax(0, a->level_bytes - a->drain_bps * compute_s);
}

/* How many of these bytes are written before the buffer is full. */
static double al_fast_bytes(const struct sl_alone *a, double level_bytes, double bytes)
{
	double rise_bps = a->cap_bps - a->drain_bps;

	if (!(rise_bps > 0))
		return bytes;
	return fmin(bytes, fmax(0, a->buffer_bytes - level_bytes) / rise_bps * a->cap_bps);
}

double sl_alone_phase_s(const struct sl_alone *a, double compute_s, double bytes)
{
	double fast_bytes = al_fast_bytes(a, al_level(a, compute_s), bytes);

	return fast_bytes / a->cap_bps + (bytes - fast_bytes) / a->drain_bps;
}

void sl_alone_ended(struct sl_alone *a, double compute_s, double bytes)
{
	double level_bytes = al_level(a, compute_s), took_s = sl_alone_phase_s(a, compute_s, bytes);

	a->level_bytes =
		fmin(fmax(level_bytes + bytes - a->drain_bps * took_s, 0), a->buffer_bytes);
	a->io_s += took_s;
}

/*
 * By the means: of an iteration in the long run. Where more is written than drains until the next
 * phase, the buffer is full at the end of each.
 */
double sl_app_alone_s(const struct sl_platform *p, const struct sl_app *a)
{
	double compute_s = sl_vary_mean(&a->compute_s), bytes = sl_vary_mean(&a->volume_bytes);
	struct sl_alone alone = sl_alone_at_release(p, a);

	if (bytes * (1 - alone.drain_bps / alone.cap_bps) > alone.drain_bps * compute_s)
		alone.level_bytes = alone.buffer_bytes;
	return compute_s + sl_alone_phase_s(&alone, compute_s, bytes);
}
