/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request-level simulation: processes, links, servers with schedulers, devices.
 *
 *	process --call--> pieces --link--> server: sl_add ... sl_next --window--> device
 *	   ^                                                                        |
 *	   `------------------ think <-- reply <-- latency <-- sl_done <------------'
 *
 * A process has up to `depth` calls under way. A call is cut at every stripe and every
 * transfer_bytes, as the client of a parallel file system does (AGIOS, section 3: calls of 16 and
 * 256 KB, sent as 2 and 32 requests of 8 KB); the pieces go one after the other over the process's
 * own link, so that those of processes that call at the same time arrive interleaved. A piece of a
 * write occupies the link for its bytes, one of a read for a header of 128 bytes, and the answer
 * then occupies the other direction. Each server has the scheduler of the daemon and a device; up
 * to `window` batches are between sl_next() and sl_done(). A batch goes as late as possible, when
 * there is room in the window. The processor of a server takes request_ns for each request that
 * arrives and batch_ns for each batch before the device gets it. When all pieces of a call are answered it returns; after
 * think + chance the process makes the next.
 *
 * Example: one process, write calls of 2 pieces of 8 KiB, link of 100 MB/s, latency 50 us, a
 * device of 100 MB/s that costs 10 us an operation and nothing to seek. The pieces arrive at
 * 81.92 + 50 and 163.84 + 50 us; the first is done at 131.92 + 91.92 = 223.84, the second, which
 * waited for it, at 315.76; the call returns at 365.76 us.
 *
 * Events are: a piece of a process arrives (the next one on its link: one event a process), a call
 * begins, a device is done or a scheduler wants to be asked again, a phase begins or ends. They are
 * in one heap, by time and then by number, so that a run repeats exactly; all integers. The
 * scheduler of a server is asked after all events of the same nanosecond. Each event is
 * O(log(processes x depth + servers)), plus what the scheduler takes. Memory is taken at the
 * beginning.
 *
 * Random values (jitter, random offsets) depend only on the seed, the process and the number of the
 * call, never on the order of events: every policy gets the same work.
 */
#include <assert.h>
#include <errno.h>

#include "sim/random.h"
#include "sim/requests-sim.h"

#define LATEST_NS INT64_C(4000000000000000000) /* what is planned from here is still a sl_time */

/* ---- sending ---- */

sl_time sl_requests_link_ns(const struct sl_requests *s, uint64_t bytes)
{
	if (!s->link_bps)
		return 0;
	return (sl_time)(((unsigned __int128)bytes * 1000000000 + s->link_bps - 1) / s->link_bps);
}

static sl_time rq_piece_ns(const struct sim *m, const struct app *a, uint64_t bytes)
{
	return bytes == m->s->transfer_bytes ? a->piece_ns : sl_requests_link_ns(m->s, bytes);
}

/* The next request of the process, and when it will arrive. */
static void rq_send(struct sim *m, struct proc *p)
{
	const struct call *c = &m->call[p->head];
	const struct app *a = &m->app[p->app];
	uint64_t end = c->end;

	if (m->s->transfer_bytes && end - c->offset > m->s->transfer_bytes)
		end = c->offset + m->s->transfer_bytes;
	if (m->control)
		p->piece = (struct sl_piece){ p->server, c->offset, end - c->offset };
	else
		p->piece = sl_striping_piece(&m->s->striping, c->first, c->offset, end);
	p->out_free = p->out_free > c->issued ? p->out_free : c->issued;
	p->out_free += a->is->op == SL_WRITE ? rq_piece_ns(m, a, p->piece.length) : a->header_ns;
	sl_heap_set(&m->heap, (uint32_t)(p - m->proc), (uint64_t)(p->out_free + m->s->latency_ns));
}

static void rq_call(struct sim *m, struct call *c)
{
	struct proc *p = &m->proc[c->proc];
	const struct app *a = &m->app[p->app];
	struct sl_place place =
		sl_pattern_place(&a->pattern, p->index, p->begun % a->pattern.calls);
	uint32_t number = (uint32_t)(c - m->call);

	p->begun++;
	c->file = a->file + place.file;
	c->first = (uint32_t)(c->file % m->s->striping.servers);
	c->offset = place.offset;
	c->end = place.offset + a->is->call_bytes;
	c->missing = a->is->call_bytes;
	c->issued = m->now;
	c->used = 0;
	c->next = NONE;
	if (p->head == NONE) {
		p->head = p->tail = number;
		rq_send(m, p);
	} else {
		m->call[p->tail].next = number;
		p->tail = number;
	}
}

void sl_requests_ask(struct sim *m, uint32_t server)
{
	if (m->server[server].dirty)
		return;
	m->server[server].dirty = true;
	m->dirty[m->n_dirty++] = server;
}

/* The processor of a server does one thing after the other. When it is done with this one. */
static sl_time rq_compute(const struct sim *m, struct server *v, sl_time ns)
{
	v->cpu_free = (v->cpu_free > m->now ? v->cpu_free : m->now) + ns;
	return v->cpu_free;
}

static int rq_arrives(struct sim *m, struct proc *p)
{
	struct call *c = &m->call[p->head];
	const struct app *a = &m->app[p->app];
	struct sl_request *r = &c->request[c->used++];
	int rc;

	*r = (struct sl_request){ .job = p->app + 1,
				  .client = p->index,
				  .file = c->file,
				  .offset = p->piece.offset,
				  .length = p->piece.length,
				  .op = a->is->op,
				  .user = c };
	rc = sl_add(m->server[p->piece.server].sched, r, m->now);
	if (rc) {
		m->error = sl_error(m->server[p->piece.server].sched);
		return rc;
	}
	rq_compute(m, &m->server[p->piece.server], m->s->request_ns);
	if (m->control)
		sl_control_added(m, p);
	sl_requests_ask(m, p->piece.server);
	c->offset += p->piece.length;
	if (c->offset == c->end)
		p->head = c->next;
	if (p->head == NONE)
		sl_heap_remove(&m->heap, (uint32_t)(p - m->proc));
	else
		rq_send(m, p);
	return 0;
}

/* ---- ends of calls and phases ---- */

/* Its event begins the call. */
static void rq_plan(struct sim *m, struct call *c, sl_time at)
{
	struct proc *p = &m->proc[c->proc];
	uint64_t below = (uint64_t)m->app[p->app].is->jitter_ns;
	uint32_t number = (uint32_t)(c - m->call);

	p->planned++;
	if (below) {
		struct sl_random r =
			sl_random_stream(m->s->seed, (uint64_t)number << 40 | c->round++);

		at += (sl_time)((unsigned __int128)sl_random_next(&r) * (below + 1) >> 64);
	}
	sl_heap_set(&m->heap, m->at_call + number, (uint64_t)at);
}

static void rq_returns(struct sim *m, struct call *c, sl_time at)
{
	struct proc *p = &m->proc[c->proc];
	struct app *a = &m->app[p->app];

	sl_histogram_add(&a->call, at - c->issued);
	p->ended++;
	a->end = at > a->end ? at : a->end;
	if (p->planned < a->quota)
		rq_plan(m, c, at + a->is->think_ns);
	else if (p->ended == a->quota && --a->running == 0)
		sl_heap_set(&m->heap, m->at_app + (uint32_t)(a - m->app), (uint64_t)a->end);
}

static void rq_request_done(struct sim *m, const struct sl_request *r)
{
	struct call *c = r->user;
	struct proc *p = &m->proc[c->proc];
	struct app *a = &m->app[p->app];
	sl_time at = m->now + m->s->latency_ns;

	sl_histogram_add(&a->request, m->now - r->arrival);
	a->bytes += r->length;
	if (m->control)
		sl_control_answered(m, p, r->op, r->length);
	if (a->is->op == SL_READ) {
		at = (at > p->in_free ? at : p->in_free) + rq_piece_ns(m, a, r->length);
		p->in_free = at;
	}
	c->missing -= r->length;
	if (!c->missing)
		rq_returns(m, c, at);
}

static void rq_phase_begins(struct sim *m, struct app *a)
{
	uint64_t at_once = a->is->depth < a->is->calls ? a->is->depth : a->is->calls;

	a->in_phase = true;
	a->begun = m->now;
	a->quota = a->is->background ? UINT64_MAX : a->quota + a->is->calls;
	a->running = a->alive;
	for (uint32_t i = 0; i < a->is->procs; i++) {
		struct proc *p = &m->proc[a->proc0 + i];

		if (p->gone)
			continue;
		if (m->control)
			sl_control_begins(m, p);
		for (uint32_t k = 0; k < at_once; k++)
			rq_plan(m, &m->call[a->call0 + i * a->is->depth + k], m->now);
	}
}

/* Its end and its beginning, in turn. */
static void rq_phase(struct sim *m, struct app *a)
{
	uint32_t number = m->at_app + (uint32_t)(a - m->app);

	sl_heap_remove(&m->heap, number);
	if (!a->in_phase && a->alive) {
		rq_phase_begins(m, a);
		return;
	}
	if (a->in_phase)
		a->io_ns += m->now - a->begun;
	a->in_phase = false;
	if (a->is->background)
		return; /* all of its servers have died */
	if (++a->phase == a->is->phases || !a->alive)
		m->unfinished--;
	else
		sl_heap_set(&m->heap, number, (uint64_t)(m->now + a->is->compute_ns));
}

void sl_requests_kill(struct sim *m, uint32_t server)
{
	m->server[server].dead = true;
	sl_heap_remove(&m->heap, m->at_server + server);
	for (uint32_t i = 0; i < m->procs; i++) {
		struct proc *p = &m->proc[i];
		struct app *a = &m->app[p->app];

		if (p->server != server || p->gone)
			continue;
		p->gone = true;
		a->alive--;
		sl_heap_remove(&m->heap, i);
		for (uint32_t d = 0; d < a->is->depth; d++)
			sl_heap_remove(&m->heap,
				       m->at_call + a->call0 + p->index * a->is->depth + d);
		if (a->in_phase && p->ended != a->quota && --a->running == 0) {
			a->end = m->now;
			sl_heap_set(&m->heap, m->at_app + p->app, (uint64_t)m->now);
		}
	}
}

/* ---- servers ---- */

static int rq_device_done(struct sim *m, struct server *v)
{
	while (v->count && v->flight[v->head].done <= m->now) {
		const struct sl_batch *b = v->flight[v->head].batch;
		const struct sl_request *r = b->first, *next;
		uint64_t length = b->length;
		int rc = sl_done(v->sched, b, m->now);

		if (rc) {
			m->error = sl_error(v->sched);
			return rc;
		}
		v->bytes -= length;
		v->head = v->head + 1 < m->s->window_batches ? v->head + 1 : 0;
		v->count--;
		for (; r; r = next) {
			next = r->next;
			rq_request_done(m, r);
		}
	}
	sl_requests_ask(m, (uint32_t)(v - m->server));
	return 0;
}

static bool rq_room(const struct sim *m, const struct server *v)
{
	return !v->count || (v->count < m->s->window_batches &&
			     (!m->s->window_bytes || v->bytes < m->s->window_bytes));
}

/* Fill its window; its event is then the next end on the device, or when to ask again. */
static void rq_dispatch(struct sim *m, struct server *v)
{
	uint32_t index = (uint32_t)(v - m->server);
	sl_time at = SL_NEVER, done;
	const struct sl_batch *b;

	v->dirty = false;
	if (v->dead)
		return;
	while (rq_room(m, v)) {
		if (m->control && (at = sl_control_pace(m, index)) > m->now)
			break;
		if ((at = v->cpu_free) > m->now)
			break;
		at = SL_NEVER;
		if (!(b = sl_next(v->sched, m->now, &at)))
			break;
		uint32_t tail = v->head + v->count;

		done = sl_device_submit(&v->device, b->op, b->file, b->offset, b->length,
					rq_compute(m, v, m->s->batch_ns));
		tail -= tail < m->s->window_batches ? 0 : m->s->window_batches;
		v->flight[tail] = (struct flight){ b, done };
		v->count++;
		v->bytes += b->length;
		m->app[b->job - 1].batches++;
		if (m->sink)
			m->sink->batch(m->sink->arg, index, b, m->now, done);
		if (m->control)
			sl_control_sent(m, index, b->length);
		at = SL_NEVER;
	}
	assert(at > m->now);
	if (v->count && v->flight[v->head].done < at)
		at = v->flight[v->head].done;
	if (at == SL_NEVER)
		sl_heap_remove(&m->heap, m->at_server + index);
	else
		sl_heap_set(&m->heap, m->at_server + index, (uint64_t)at);
}

/* ---- the loop ---- */

static int rq_event(struct sim *m, uint32_t id)
{
	m->events++;
	if (id < m->at_call)
		return rq_arrives(m, &m->proc[id]);
	if (id >= m->at_app) {
		rq_phase(m, &m->app[id - m->at_app]);
	} else if (id >= m->at_report) {
		return sl_control_event(m, id);
	} else if (id >= m->at_server) {
		/* Before it is asked again, it has no event. */
		sl_heap_remove(&m->heap, id);
		return rq_device_done(m, &m->server[id - m->at_server]);
	} else {
		sl_heap_remove(&m->heap, id);
		rq_call(m, &m->call[id - m->at_call]);
	}
	return 0;
}

int sl_requests_loop(struct sim *m)
{
	const struct sl_heap_entry *top;
	int rc;

	while (m->unfinished || m->s->until_ns) {
		top = sl_heap_top(&m->heap);
		if (m->s->until_ns && (!top || top->key >= (uint64_t)m->s->until_ns)) {
			m->now = m->s->until_ns;
			break;
		}
		if (!top)
			return -EDEADLK;
		m->now = (sl_time)top->key;
		if (m->now > LATEST_NS) {
			m->error = "the run goes beyond 4e9 s";
			return -ERANGE;
		}
		do {
			if ((rc = rq_event(m, top->id)))
				return rc;
			top = sl_heap_top(&m->heap);
		} while (top && top->key == (uint64_t)m->now);
		for (uint32_t i = 0; i < m->n_dirty; i++)
			rq_dispatch(m, &m->server[m->dirty[i]]);
		m->n_dirty = 0;
	}
	return 0;
}
