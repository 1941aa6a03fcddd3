/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phase-level simulator: Gainaru et al.'s model of applications that alternate between
 * computing and I/O (Gainaru et al. 2014, §2.1), event by event.
 *
 * An application computes for w seconds, asks its I/O server for vol bytes, goes on when they are
 * moved, and so on. Events are starts and ends of I/O phases, ends of computing, times at which the
 * policy wants to decide again, and a burst buffer that is full. Between two events everything is
 * constant, so time jumps from one to the next:
 *
 *	t = the next event of any kind; machine.c: all that happens at t
 *
 * Everything at the same time is one event for the policy, which so sees all requests at once.
 * Rates come from granted.c, which asks the policy, or for policies that are max-min fair from
 * fluid.c, in O(log n) an event and with the same result.
 *
 * Example: bandwidth 10; A: 4 s + 20 bytes, B: 5 s + 20 bytes, fair share. At 4 A gets 10/s; at 5
 * both get 5/s, A has 10 left; at 7 A ends, B has 10 left and gets 10/s; at 8 B ends.
 *
 * Burst buffer: applications write into it at up to buffer_bps together, it drains at B. When it is
 * full they get B, what drains (Intrepid and Mira in Gainaru et al. 2014, §4.4), until an event at
 * which there is room again. A server has B / servers, and its part of the buffer; the application
 * i of the scenario uses server i mod servers.
 *
 * An application with no number of iterations is cut off when the window ends; others run to their
 * end, and the run ends with the last. SL_WINDOW_PAPER needs the mean rate of I/O phases that cross
 * the window's end: the machine goes on until these have ended, for as long as the window at most.
 *
 * How exact: all times and bytes are doubles, 53 bits. A time t has an error of about t * 1e-16 for
 * each event of its past in one chain, a volume of vol * 1e-16 for each event during its transfer:
 * after 10^7 events in a chain less than 1e-8 of the time elapsed. Transfers that would end within
 * a nanosecond (and t * 1e-15) after an event end with it, so that equal transfers end at the same
 * time and not in any order that rounding makes; policies, too, count in nanoseconds. Runs repeat
 * to the last bit.
 *
 * All memory is allocated before the first event.
 */
#include "sim/phase.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "sim/event.h"
#include "sim/machine.h"

#define LINE ((size_t)64) /* of the cache */

/* ---- the window ---- */

struct ph_window {
	bool begun, ended;
	bool cut;      /* applications without end have ended */
	double late_s; /* by when I/O phases that cross the end must have ended to count */
};

static void ph_window_begins(struct sl_machine *m)
{
	for (uint32_t i = 0; i < m->s->n_apps; i++)
		m->account[i].from = sl_machine_progress(m, i, fmax(m->s->from_s, m->now_s));
}

/* Applications that have no other end are cut off. */
static int ph_cut(struct sl_machine *m)
{
	for (uint32_t i = 0; i < m->s->n_apps; i++) {
		const struct sl_machine_app *r = &m->run[i];

		if (m->s->apps[i].iterations || r->state == SL_APP_GONE)
			continue;
		if (r->state == SL_APP_COMPUTES)
			sl_machine_segment(m, i, SL_COMPUTES, 0);
		else if (r->state == SL_APP_IN_IO && !m->server[i % m->n_servers].granted)
			sl_machine_segment(m, i, SL_TRANSFERS,
					   sl_machine_progress(m, i, m->now_s).bytes -
						   r->moved_bytes);
		sl_heap_remove(&m->timer, i);
		sl_machine_gone(m, i);
	}
	return sl_machine_settle(m);
}

static void ph_window_ends(struct sl_machine *m)
{
	m->now_s = fmax(m->to_s, m->now_s);
	for (uint32_t i = 0; i < m->s->n_apps; i++) {
		struct sl_sim_account *a = &m->account[i];

		a->to = sl_machine_progress(m, i, m->now_s);
		m->crossing += m->run[i].state == SL_APP_IN_IO;
		if (m->s->apps[i].iterations)
			continue;
		a->total = a->to;
		a->end_s = fmax(m->to_s, a->release_s);
		a->iterations = UINT64_MAX - m->run[i].left;
	}
	if (m->options->window == SL_WINDOW_EXACT)
		m->crossing = 0;
}

/* ---- the run ---- */

/* Up to the next event, or an end of the window that comes before. */
static int ph_step(struct sl_machine *m, struct ph_window *w)
{
	double next_s = fmin(sl_event_first(&m->timer), sl_event_first(&m->due));
	double clear_s = next_s < INFINITY ? next_s - sl_event_grain_s(next_s) : next_s;

	if (!w->begun && m->s->from_s < clear_s) {
		w->begun = true;
		ph_window_begins(m);
	} else if (!w->ended && m->to_s < clear_s) {
		w->ended = true;
		ph_window_ends(m);
	} else if (w->ended && !w->cut && (!m->crossing || w->late_s < clear_s)) {
		w->cut = true;
		return ph_cut(m);
	} else if (next_s > SL_SIM_LATEST_S) {
		return next_s < INFINITY
			       ? sl_machine_wrong(m, -ERANGE, "the run goes beyond 4e9 s")
			       : sl_machine_wrong(m, -EDEADLK, "applications wait for ever");
	} else {
		m->now_s = fmax(m->now_s, next_s);
		if (m->now_s > m->spun_s + sl_event_grain_s(m->spun_s)) {
			m->spun_s = m->now_s;
			m->spins = 0;
		}
		return sl_machine_event(m);
	}
	return 0;
}

static int ph_loop(struct sl_machine *m)
{
	struct ph_window w = { .late_s = 2 * m->to_s - m->s->from_s };
	int rc = 0;

	while (!rc && m->there)
		rc = ph_step(m, &w);
	for (uint32_t i = 0; !rc && i < m->s->n_apps; i++) {
		struct sl_sim_account *a = &m->account[i];

		if (m->s->apps[i].iterations)
			a->total = sl_machine_progress(m, i, m->now_s);
		if (!w.begun)
			a->from = a->total;
		if (!w.ended)
			a->to = a->total;
	}
	return rc;
}

/* ---- making it ---- */

static size_t ph_heap_size(uint32_t n)
{
	return (sl_heap_size(n) + 15) & ~(size_t)15;
}

static void ph_app(struct sl_machine *m, uint32_t i)
{
	const struct sl_app *a = &m->s->apps[i];
	struct sl_machine_app *r = &m->run[i];

	m->account[i] = (struct sl_sim_account){ .procs = a->procs, .release_s = a->release_s };
	m->alone[i] = sl_alone_at_release(&m->s->platform, a);
	*r = (struct sl_machine_app){ .state = SL_APP_NOT_YET,
				      .left = a->iterations ? a->iterations : UINT64_MAX,
				      .random = sl_random_stream(m->options->seed, i),
				      .compute_s = a->compute_s.a,
				      .bytes = a->volume_bytes.a,
				      .draw_compute_s = a->compute_s,
				      .draw_bytes = a->volume_bytes,
				      .lists = a->compute_s.kind == SL_VARY_LIST ||
					       a->volume_bytes.kind == SL_VARY_LIST,
				      .constant = a->compute_s.kind == SL_VARY_CONSTANT &&
						  a->volume_bytes.kind == SL_VARY_CONSTANT };
	sl_heap_set(&m->timer, i, sl_event_key(a->release_s));
}

static int ph_servers(struct sl_machine *m, const struct sl_spec *policy)
{
	const struct sl_platform *p = &m->s->platform;
	bool fair = ((const struct sl_grant_ops *)policy->policy)->fair && !m->options->ask;
	struct sl_granted_app *apps = calloc(m->s->n_apps, sizeof(*apps));
	int rc = apps ? 0 : -ENOMEM;

	for (uint32_t v = 0; !rc && v < m->n_servers; v++) {
		uint32_t n = 0;

		for (uint32_t i = v; i < m->s->n_apps; i += m->n_servers) {
			const struct sl_app *a = &m->s->apps[i];

			apps[n++] = (struct sl_granted_app){
				.job = i,
				.procs = a->procs,
				.cap_bps =
					p->per_proc_bps > 0 ? p->per_proc_bps * a->procs : INFINITY,
				.release_s = a->release_s,
				.period_s = a->period_hint_s > 0 ? a->period_hint_s
								 : sl_app_alone_s(p, a),
				.compute_s = sl_vary_mean(&a->compute_s),
				.bytes = sl_vary_mean(&a->volume_bytes),
			};
		}
		rc = sl_server_create(&m->server[v], p, p->servers, policy, fair, apps, n,
				      m->options->detect, m->options->sink);
	}
	free(apps);
	return rc;
}

static int ph_run(struct sl_machine *m, const struct sl_spec *policy)
{
	uint32_t n = m->s->n_apps;
	char *memory = malloc(ph_heap_size(n) + ph_heap_size(m->n_servers));
	int rc = -ENOMEM;

	m->run = aligned_alloc(LINE, (n * sizeof(*m->run) + LINE - 1) / LINE * LINE);
	m->account = calloc(n, sizeof(*m->account));
	m->alone = calloc(n, sizeof(*m->alone));
	m->server = calloc(m->n_servers, sizeof(*m->server));
	m->touched = calloc(m->n_servers, sizeof(*m->touched));
	if (memory && m->run && m->account && m->alone && m->server && m->touched &&
	    !(rc = ph_servers(m, policy))) {
		sl_heap_init(&m->timer, memory, n);
		sl_heap_init(&m->due, memory + ph_heap_size(n), m->n_servers);
		for (uint32_t i = 0; i < n; i++)
			ph_app(m, i);
		rc = ph_loop(m);
		for (uint32_t i = 0; m->options->detect && i < n; i++)
			m->account[i].found =
				sl_server_found(&m->server[i % m->n_servers], i / m->n_servers);
	}
	if (rc == -ENOMEM)
		snprintf(m->err, m->err_size, "no memory for %u jobs", n);
	for (uint32_t v = 0; m->server && v < m->n_servers; v++)
		sl_server_destroy(&m->server[v]);
	free(m->server);
	free(m->touched);
	free(m->run);
	free(m->alone);
	free(memory);
	return rc;
}

int sl_phase_run(const struct sl_scenario *s, const struct sl_phase_options *options,
		 struct sl_sim_metrics *out, struct sl_sim_app_metrics *apps, char *err,
		 size_t err_size)
{
	struct sl_machine m = { .s = s, .options = options, .err = err, .err_size = err_size };
	double begin_s = sl_clock_s();
	struct sl_spec policy;
	int rc = sl_spec_parse(SL_GRANT, options->policy, &policy, err, err_size);

	if (!rc)
		rc = sl_scenario_check(s, err, err_size);
	if (rc)
		return rc;
	m.n_servers = s->platform.servers;
	m.buffer = s->platform.buffer_bytes > 0;
	m.there = s->n_apps;
	m.to_s = s->to_s > 0 ? s->to_s : INFINITY;
	rc = ph_run(&m, &policy);
	if (!rc) {
		*out = (struct sl_sim_metrics){ .end_s = m.now_s, .events = m.events };
		sl_metrics(m.account, s->n_apps, s->platform.procs, s->from_s,
			   s->to_s > 0 ? s->to_s : m.now_s, options->window, out, apps);
		out->wall_s = sl_clock_s() - begin_s;
	}
	free(m.account);
	return rc;
}
