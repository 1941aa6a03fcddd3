/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine of the phase-level simulator: applications and I/O servers at an event.
 *
 *	every server that has one: advance its transfers to now; those that end begin to compute
 *	every application whose computing ends begins its I/O
 *	every server to which something happened: new rates
 *
 * Applications that compute are in one heap by the time at which they are done, servers in another
 * by that of their next event. O(log n) a start or end, besides what a server needs for new rates.
 */
#include "sim/machine.h"

#include <errno.h>
#include <inttypes.h>

#include "sim/event.h"

#define SPINS UINT64_C(10000000) /* iterations within a grain of time: it will not go on */

void sl_machine_segment(const struct sl_machine *m, uint32_t app, enum sl_activity what,
			double bytes)
{
	const struct sl_phase_sink *sink = m->options->sink;
	double from_s = m->run[app].since_s, took_s = m->now_s - from_s;

	if (sink && took_s > 0)
		sink->segment(sink->arg, app, what, from_s, m->now_s, bytes / took_s);
}

/* ---- applications ---- */

static uint64_t ma_iterations(const struct sl_machine *m, uint32_t app)
{
	uint64_t n = m->s->apps[app].iterations;

	return n ? n : UINT64_MAX; /* until the window ends */
}

static uint64_t ma_ended(const struct sl_machine *m, uint32_t app)
{
	return ma_iterations(m, app) - m->run[app].left;
}

/* Its number on its server; the server's is app % n_servers. */
static uint32_t ma_id(const struct sl_machine *m, uint32_t app)
{
	return m->n_servers == 1 ? app : app / m->n_servers;
}

/* The server of an application, with its transfers up to now; it will be settled. */
static struct sl_server *ma_touch(struct sl_machine *m, uint32_t app)
{
	uint32_t i = m->n_servers == 1 ? 0 : app % m->n_servers;
	struct sl_server *v = &m->server[i];

	if (!v->touched) {
		v->touched = true;
		m->touched[m->n_touched++] = i;
		sl_server_advance(v, m->now_s);
	}
	return v;
}

int sl_machine_wrong(struct sl_machine *m, int rc, const char *what)
{
	snprintf(m->err, m->err_size, "%s: at %.9g s %s", m->options->policy, m->now_s, what);
	return rc;
}

static int ma_no_time(struct sl_machine *m)
{
	return sl_machine_wrong(m, -ELOOP, "iterations follow each other in no time");
}

void sl_machine_gone(struct sl_machine *m, uint32_t app)
{
	struct sl_machine_app *r = &m->run[app];
	struct sl_sim_account *a = &m->account[app];

	sl_server_leave(ma_touch(m, app), ma_id(m, app), m->now_s);
	if (r->state != SL_APP_NOT_YET)
		m->procs -= m->s->apps[app].procs;
	r->state = SL_APP_GONE;
	if (m->s->apps[app].iterations) { /* else the window's end has seen to that */
		a->end_s = m->now_s;
		a->iterations = ma_ended(m, app);
	}
	m->there--;
}

/* Alone, what it has moved in iterations that have ended. */
static double ma_alone_s(const struct sl_machine *m, uint32_t app)
{
	const struct sl_alone *a = &m->alone[app];

	return m->buffer ? a->io_s : m->run[app].moved_bytes / a->cap_bps;
}

/* Computing is over; whether there is anything to move. */
static bool ma_begin_io(struct sl_machine *m, uint32_t app)
{
	struct sl_machine_app *r = &m->run[app];
	struct sl_granted_past past = { 0, 0, 0 };
	struct sl_server *v;

	r->state = SL_APP_IN_IO;
	r->since_s = m->now_s;
	m->events++;
	if (!(r->bytes > 0))
		return false;
	v = ma_touch(m, app);
	if (v->granted) {
		past.ended = ma_ended(m, app);
		past.work_s = r->work_s;
		past.alone_s = r->work_s + ma_alone_s(m, app);
	}
	sl_server_start(v, ma_id(m, app), r->compute_s, r->bytes, past, m->now_s);
	return true;
}

static void ma_end_io(struct sl_machine *m, uint32_t app)
{
	struct sl_machine_app *r = &m->run[app];
	struct sl_sim_account *a = &m->account[app];

	if (m->options->window == SL_WINDOW_PAPER) {
		a->paper_io_s +=
			sl_paper_part(sl_alone_phase_s(&m->alone[app], r->compute_s, r->bytes),
				      r->since_s, m->now_s, m->s->from_s, m->to_s);
		m->crossing -= m->crossing && r->since_s < m->to_s;
	}
	if (m->buffer)
		sl_alone_ended(&m->alone[app], r->compute_s, r->bytes);
	m->events++;
	r->left--;
	r->work_s += r->compute_s;
	r->moved_bytes += r->bytes;
}

/* The next iteration begins, up to something that takes time. */
static int ma_iterate(struct sl_machine *m, uint32_t app)
{
	struct sl_machine_app *r = &m->run[app];

	for (;;) {
		if (!r->left) {
			sl_machine_gone(m, app);
			return 0;
		}
		if (!r->constant) {
			uint64_t i = r->lists ? ma_ended(m, app) : 0;

			r->compute_s = sl_vary_draw(&r->draw_compute_s, i, &r->random);
			r->bytes = sl_vary_draw(&r->draw_bytes, i, &r->random);
		}
		if (r->compute_s > 0) {
			r->state = SL_APP_COMPUTES;
			r->since_s = m->now_s;
			sl_heap_set(&m->timer, app, sl_event_key(m->now_s + r->compute_s));
			return 0;
		}
		if (ma_begin_io(m, app))
			return 0;
		ma_end_io(m, app);
		if (++m->spins > SPINS)
			return ma_no_time(m);
	}
}

/* ---- events ---- */

/* Prefetch the data of the application's next event: it may be far away in memory. */
static void ma_fetch(const struct sl_machine *m, uint32_t app)
{
	const struct sl_machine_app *r = &m->run[app];

	__builtin_prefetch(r, 1);
	__builtin_prefetch(&r->draw_compute_s);
}

/* Transfers that have ended on a server that is up to now. */
static int ma_ends(struct sl_machine *m, uint32_t server)
{
	struct sl_server *v = &m->server[server];
	uint32_t id, app;
	int rc = 0;

	while (!rc && (id = sl_server_end(v)) != SL_NO_TRANSFER) {
		app = id * m->n_servers + server;
		if (v->fluid && (id = sl_fluid_first(v->fluid)) != SL_NO_TRANSFER)
			ma_fetch(m, id * m->n_servers + server);
		if (!v->granted)
			sl_machine_segment(m, app, SL_TRANSFERS, m->run[app].bytes);
		ma_end_io(m, app);
		rc = ++m->spins > SPINS ? ma_no_time(m) : ma_iterate(m, app);
	}
	return rc;
}

static int ma_timer(struct sl_machine *m, uint32_t app)
{
	struct sl_machine_app *r = &m->run[app];

	sl_heap_remove(&m->timer, app);
	if (m->timer.count) /* next, perhaps */
		ma_fetch(m, m->timer.entry[0].id);
	if (++m->spins > SPINS)
		return ma_no_time(m);
	if (r->state == SL_APP_NOT_YET) {
		m->procs += m->s->apps[app].procs;
		sl_server_join(ma_touch(m, app), ma_id(m, app));
		return ma_iterate(m, app);
	}
	sl_machine_segment(m, app, SL_COMPUTES, 0);
	if (ma_begin_io(m, app))
		return 0;
	ma_end_io(m, app);
	return ma_iterate(m, app);
}

int sl_machine_settle(struct sl_machine *m)
{
	int rc;

	while (m->n_touched) {
		uint32_t i = m->touched[--m->n_touched];
		struct sl_server *v = &m->server[i];

		v->touched = false;
		rc = sl_server_settle(v, m->now_s);
		if (rc)
			return sl_machine_wrong(m, rc, "it can make no plan");
		if (v->next_s < INFINITY)
			sl_heap_set(&m->due, i, sl_event_key(v->next_s));
		else
			sl_heap_remove(&m->due, i);
	}
	return 0;
}

/* Some that should have gone before others come were delayed. */
static int ma_crowded(struct sl_machine *m)
{
	char text[120];

	snprintf(text, sizeof(text),
		 "the jobs there need %" PRIu64 " processors, platform.procs is %" PRIu64, m->procs,
		 m->s->platform.procs);
	return sl_machine_wrong(m, -EINVAL, text);
}

int sl_machine_event(struct sl_machine *m)
{
	double until_s = m->now_s + sl_event_grain_s(m->now_s);
	int rc = 0;

	while (sl_event_first(&m->due) <= m->now_s) {
		uint32_t i = sl_heap_top(&m->due)->id;

		ma_touch(m, i); /* application i uses server i */
		sl_heap_remove(&m->due, i);
	}
	while (!rc && sl_event_first(&m->timer) <= until_s)
		rc = ma_timer(m, sl_heap_top(&m->timer)->id);
	/* Those included in which a transfer ends a grain after another's computing did. */
	for (uint32_t i = 0; !rc && i < m->n_touched; i++)
		rc = ma_ends(m, m->touched[i]);
	if (!rc && m->s->platform.procs && m->procs > m->s->platform.procs)
		rc = ma_crowded(m);
	return rc ? rc : sl_machine_settle(m);
}

/* ---- what it has come to ---- */

struct sl_sim_progress sl_machine_progress(const struct sl_machine *m, uint32_t app, double at_s)
{
	const struct sl_machine_app *r = &m->run[app];
	struct sl_sim_progress p = { r->work_s, r->moved_bytes, 0 };
	double part_bytes;

	if (r->state == SL_APP_COMPUTES)
		p.compute_s += fmin(fmax(at_s - r->since_s, 0), r->compute_s);
	if (r->state == SL_APP_IN_IO) {
		part_bytes = r->bytes - sl_server_left_bytes(&m->server[app % m->n_servers],
							     ma_id(m, app), at_s);
		p.compute_s += r->compute_s;
		p.bytes += part_bytes;
		if (m->buffer)
			p.io_s = sl_alone_phase_s(&m->alone[app], r->compute_s, part_bytes);
	}
	p.io_s = m->buffer ? p.io_s + m->alone[app].io_s : p.bytes / m->alone[app].cap_bps;
	return p;
}
