/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One I/O server: transfers at granted rates, straight to the disks or into a burst buffer.
 *
 * Without a buffer the capacity to be granted is that of the disks, B. With one:
 *
 *	room    capacity = what the buffer takes; its level goes on by what is written, less B
 *	full    capacity = B: applications get what drains
 *
 * It gets full at the time when level + (rate - B) t is its size, which is an event. It has room
 * again at the first event after that at which the level is lower: the rates between were decided
 * for B, and less than B was asked for, so nobody has waited for the buffer in between.
 *
 * Example: B = 10, buffer of 100 that takes 30/s; one application writes 200. The level rises by
 * 20/s, is 100 after 5 s, 150 written; the other 50 take 5 s more. Without the buffer it were 20 s.
 *
 * A transfer that restarts (granted.c) holds a rate but writes nothing: the level follows the bytes
 * that were moved, and that it begins to move is an event as well. What a small buffer takes in
 * less than a nanosecond counts as room for that nanosecond, or time would not go on.
 */
#include "sim/server.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sim/event.h"

#define NEAR 1e-9 /* of its size: full, or not */

int sl_server_create(struct sl_server *v, const struct sl_platform *p, uint32_t part,
		     const struct sl_spec *policy, bool fair, const struct sl_granted_app *apps,
		     uint32_t n, bool detect, const struct sl_phase_sink *sink)
{
	double caps_bps = 0, *cap_bps;
	int rc;

	*v = (struct sl_server){ .drain_bps = p->bandwidth_bps / part,
				 .buffer_bytes = p->buffer_bytes / part,
				 .next_s = INFINITY,
				 .sink = sink && sink->moved ? sink : NULL };
	v->fill_bps = v->drain_bps;
	if (v->buffer_bytes > 0) {
		for (uint32_t i = 0; i < n; i++)
			caps_bps += apps[i].cap_bps;
		v->fill_bps = p->buffer_bps > 0 ? p->buffer_bps / part : fmax(caps_bps, 1);
	}
	if (!fair) {
		rc = sl_granted_create(&v->granted, policy, apps, n, p->restart_s, detect, sink);
		if (!rc)
			sl_granted_capacity(v->granted, v->fill_bps);
		return rc;
	}
	cap_bps = calloc((size_t)n + 1, sizeof(*cap_bps));
	if (!cap_bps)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		cap_bps[i] = apps[i].cap_bps;
	rc = sl_fluid_create(&v->fluid, cap_bps, n);
	free(cap_bps);
	if (!rc)
		sl_fluid_capacity(v->fluid, v->fill_bps);
	return rc;
}

void sl_server_destroy(struct sl_server *v)
{
	sl_fluid_destroy(v->fluid);
	sl_granted_destroy(v->granted);
	*v = (struct sl_server){ 0 };
}

void sl_server_join(struct sl_server *v, uint32_t app)
{
	if (v->granted)
		sl_granted_join(v->granted, app);
}

void sl_server_leave(struct sl_server *v, uint32_t app, double now_s)
{
	if (v->granted)
		sl_granted_leave(v->granted, app, now_s);
	else
		sl_fluid_cancel(v->fluid, app);
}

void sl_server_start(struct sl_server *v, uint32_t app, double compute_s, double bytes,
		     struct sl_granted_past past, double now_s)
{
	if (v->granted)
		sl_granted_start(v->granted, app, compute_s, bytes, past, now_s);
	else
		sl_fluid_start(v->fluid, app, bytes);
}

/* Reports the bytes moved since the last call to the sink, and adds them to the buffer. */
static void sv_moved(struct sl_server *v, double now_s)
{
	double moved_bytes =
		v->fluid ? sl_fluid_moved_bytes(v->fluid) : sl_granted_moved_bytes(v->granted);

	if (v->sink && now_s > v->since_s)
		v->sink->moved(v->sink->arg, v->since_s, now_s, moved_bytes - v->moved_bytes);
	v->level_bytes += moved_bytes - v->moved_bytes - v->drain_bps * (now_s - v->since_s);
	v->level_bytes = fmin(fmax(v->level_bytes, 0), v->buffer_bytes);
	v->moved_bytes = moved_bytes;
	v->since_s = now_s;
}

void sl_server_advance(struct sl_server *v, double now_s)
{
	if (v->granted)
		sl_granted_advance(v->granted, now_s);
	else
		sl_fluid_advance(v->fluid, now_s);
	if (v->buffer_bytes > 0 || v->sink)
		sv_moved(v, now_s);
}

uint32_t sl_server_end(struct sl_server *v)
{
	return v->granted ? sl_granted_end(v->granted) : sl_fluid_end(v->fluid);
}

static void sv_capacity(struct sl_server *v)
{
	bool full = v->level_bytes >= v->buffer_bytes * (1 - NEAR);

	if (full == v->full)
		return;
	v->full = full;
	if (v->granted)
		sl_granted_capacity(v->granted, full ? v->drain_bps : v->fill_bps);
	else
		sl_fluid_capacity(v->fluid, full ? v->drain_bps : v->fill_bps);
}

/* When the buffer will be full if nothing else happens, or will fill faster. */
static double sv_full_s(const struct sl_server *v, double now_s)
{
	double fills_bps =
		v->fluid ? sl_fluid_rate_bps(v->fluid) : sl_granted_moving_bps(v->granted);
	double faster_s = v->fluid ? INFINITY : sl_granted_moves_s(v->granted);
	double rise_bps = fills_bps - v->drain_bps, takes_s;

	if (v->full)
		return INFINITY;
	if (rise_bps <= v->drain_bps * NEAR)
		return faster_s;
	takes_s = (v->buffer_bytes - v->level_bytes) / rise_bps;
	return fmin(faster_s, now_s + fmax(takes_s, sl_event_grain_s(now_s)));
}

int sl_server_settle(struct sl_server *v, double now_s)
{
	int rc = 0;

	if (v->buffer_bytes > 0)
		sv_capacity(v);
	if (v->granted) {
		rc = sl_granted_settle(v->granted, now_s);
		v->next_s = sl_granted_next_s(v->granted);
	} else {
		v->next_s = sl_fluid_settle(v->fluid);
	}
	if (v->buffer_bytes > 0)
		v->next_s = fmin(v->next_s, sv_full_s(v, now_s));
	return rc;
}

struct sl_sim_found sl_server_found(const struct sl_server *v, uint32_t app)
{
	return v->granted ? sl_granted_found(v->granted, app) : (struct sl_sim_found){ 0 };
}

double sl_server_left_bytes(const struct sl_server *v, uint32_t app, double now_s)
{
	return v->granted ? sl_granted_left_bytes(v->granted, app, now_s)
			  : sl_fluid_left_bytes(v->fluid, app, now_s);
}
