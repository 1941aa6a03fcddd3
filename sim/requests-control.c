/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers that are I/O nodes of one layer, and its controller, in virtual time.
 *
 * The controller is the daemon's own (sluiced/controller/brain.h): it gets reports and gives orders
 * as text. Each takes delay_ns, and they arrive in the order in which they were sent. A server
 * reports 20 times a second while its jobs do I/O, else once a second, and at once when a job
 * begins after a pause. It obeys as a node does (sluiced/ionode/link.c): it keeps what it sends to
 * what it may draw, with the pacer of the node, gives its scheduler the ordered rates of its jobs
 * as guarantees, and acknowledges at once an order to draw less. So grant and the division among
 * jobs and servers are the controller's, and admit, share and order are those of each server's
 * scheduler.
 *
 *	process --calls--> server: admit, share, order --pacer--> device
 *	                     |  ^
 *	             reports |  | orders: draw, rates, shares of limits, periods
 *	                     v  |
 *	                  controller: phases, periods, grant, divide
 *
 * Processes stay at their servers of the scenario; the allocation of servers to jobs is not
 * simulated. When a controller has died, a new one without state leads after standby_ns. Without a
 * new one, orders are valid for LEASE_NS; then servers fail open, by a quarter more each second.
 * When a server dies, so do the processes that use it.
 *
 * Example: 4 servers, 80 MB/s, delay 1 ms; job a begins at server 3 at 0 ms. The report is there at
 * 1 ms, the order at 2 ms; from then on server 3 draws 80 MB/s, and the others .2 MB/s each.
 *
 * There is one event, at_control, and one for each server's next report. Messages are allocated
 * during a run.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/pace.h"
#include "sim/requests-sim.h"
#include "sluiced/controller/brain.h"

#define REPORT_NS INT64_C(50000000)
#define LEAST_NS  INT64_C(1000000) /* between two reports, however much begins */
#define IDLE_NS	  INT64_C(1000000000)
#define QUIET_NS  INT64_C(3000000000)
#define PAUSE_NS  INT64_C(100000000)
#define SETTLE_NS INT64_C(500000000)
#define SLOT_NS	  INT64_C(1000000)
#define SLOTS	  1000	  /* a second */
#define EPOCH_NS  IDLE_NS /* the controller's clock is not at 0 when the run begins */

/* A job at a server. */
struct place {
	uint32_t app;
	uint32_t clients, inside;
	bool known, active; /* it has begun once; since the last report */
	uint64_t moved[2];  /* bytes */
	sl_time last_io;
	uint64_t rate_bps; /* as ordered; SL_GRANT_NONE: none */
	uint32_t share;	   /* as ordered; 0: not yet */
	sl_time period_ns; /* that was found */
};

struct io_node {
	struct sl_pace pace;
	uint32_t first, count; /* in place[] */
	uint32_t requests;     /* that may be there at one time */
	uint32_t number;       /* as the controller knows it */
	uint64_t ack, term;
	sl_time until; /* orders hold; 0: there are none */
	sl_time opens; /* when it draws more, without a controller */
	sl_time due, last, busy, every;
	bool known; /* the controller has its whole report */
	bool dead;
};

struct letter {
	struct letter *next;
	sl_time at;
	uint32_t node;
	enum { REPORT, ORDERS, ACK } what;
	uint64_t ack;
	char *text;
};

struct control {
	struct brain brain;
	bool leads;
	sl_time back; /* a controller leads from then on, if none does */
	uint64_t term, decisions;
	uint32_t event; /* next of the scenario's */
	const char *share, *grant;
	struct io_node *node;
	struct place *place;
	uint32_t places;
	uint32_t *who; /* server of each of the controller's numbers */
	struct letter *first, *last;
	/* Bytes sent in each slot of the last second, and their sum. */
	uint64_t slot[SLOTS], sum, peak;
	sl_time slot_at;
};

static sl_time clock_of(const struct sim *m)
{
	return m->now + EPOCH_NS;
}

/* ---- places ---- */

static uint32_t server_of(const struct sim *m, const struct app *a, uint32_t proc)
{
	const struct sl_requests_app *is = a->is;

	if (is->on_count)
		return m->s->on[is->on_first + proc % is->on_count];
	return (uint32_t)(a - m->app) % m->s->striping.servers;
}

static struct place *place_of(const struct control *c, uint32_t server, uint32_t app)
{
	const struct io_node *n = &c->node[server];

	for (uint32_t k = n->first; k < n->first + n->count; k++)
		if (c->place[k].app == app)
			return &c->place[k];
	return NULL;
}

/*
 * The places of a job are those of its processes. In two passes over the same list: how many each
 * server has, then which; with room for as many as there are processes.
 */
static int make_places(struct sim *m)
{
	struct control *c = m->control;
	uint32_t servers = m->s->striping.servers, at = 0;

	for (uint32_t i = 0; i < m->procs; i++) {
		struct proc *p = &m->proc[i];

		p->server = server_of(m, &m->app[p->app], p->index);
		c->node[p->server].count++;
	}
	c->place = calloc((size_t)m->procs + 1, sizeof(*c->place));
	if (!c->place)
		return -ENOMEM;
	for (uint32_t i = 0; i < servers; i++) {
		c->node[i].first = at;
		at += c->node[i].count;
		c->node[i].count = 0;
	}
	for (uint32_t i = 0; i < m->procs; i++) {
		struct proc *p = &m->proc[i];
		struct io_node *n = &c->node[p->server];
		struct place *q = place_of(c, p->server, p->app);

		if (!q) {
			q = &c->place[n->first + n->count++];
			*q = (struct place){ .app = p->app, .rate_bps = SL_GRANT_NONE };
		}
		p->place = (uint32_t)(q - c->place);
		q->clients++;
		n->requests += m->app[p->app].is->depth * m->app[p->app].pieces;
	}
	return 0;
}

struct sl_limits sl_control_limits(const struct sim *m, uint32_t server)
{
	const struct io_node *n = &m->control->node[server];
	uint32_t requests = n->requests ? n->requests : 1;

	/* Each request may be of a file of its own. */
	return (struct sl_limits){ n->count ? n->count : 1, requests, requests };
}

/* The job's rights at this server, as a node computes them. */
static struct sl_job_conf conf_here(const struct sim *m, const struct place *q)
{
	struct sl_job_conf conf = m->app[q->app].is->conf;

	if (q->rate_bps != SL_GRANT_NONE && !strncmp(m->control->share, "fair", 4))
		sl_rate_weight(&conf, q->rate_bps, m->s->capacity_bps);
	if (!conf.period_ns)
		conf.period_ns = q->period_ns;
	if (q->share) {
		conf.min_bps = sl_share_part(conf.min_bps, q->share);
		conf.max_bps = sl_share_part(conf.max_bps, q->share);
	} else {
		conf.min_bps = sl_share_part(conf.min_bps, SL_SHARE_WHOLE / m->s->striping.servers);
	}
	if (q->rate_bps != SL_GRANT_NONE) {
		uint64_t rate = sl_rate_floor(q->rate_bps);

		conf.min_bps = rate > conf.min_bps ? rate : conf.min_bps;
	}
	if (conf.max_bps && conf.max_bps < conf.min_bps)
		conf.min_bps = conf.max_bps;
	conf.best_effort = 1;
	return conf;
}

int sl_control_jobs(struct sim *m, uint32_t server)
{
	const struct io_node *n = &m->control->node[server];
	int rc = 0;

	for (uint32_t k = n->first; !rc && k < n->first + n->count; k++) {
		const struct place *q = &m->control->place[k];
		struct sl_job_conf conf = conf_here(m, q);

		rc = sl_job_add(m->server[server].sched, q->app + 1, &conf, 0);
	}
	return rc;
}

/* ---- letters ---- */

static void schedule(struct sim *m, sl_time at)
{
	const struct sl_heap *h = &m->heap;

	at = at > m->now ? at : m->now;
	if (!sl_heap_has(h, m->at_control) || h->entry[h->pos[m->at_control]].key > (uint64_t)at)
		sl_heap_set(&m->heap, m->at_control, (uint64_t)at);
}

static int post(struct sim *m, struct letter letter)
{
	struct control *c = m->control;
	struct letter *l = malloc(sizeof(*l));

	if (!l) {
		free(letter.text);
		return -ENOMEM;
	}
	*l = letter;
	l->at = m->now + m->s->control.delay_ns;
	if (c->first)
		c->last->next = l;
	else
		c->first = l;
	c->last = l;
	schedule(m, c->first->at);
	return 0;
}

/* ---- reports ---- */

/* The lease of a server without work is long. No more than LEASE_NS of it is left now. */
static void hurry(const struct sim *m, struct io_node *n)
{
	if (n->until > m->now + LEASE_NS)
		n->until = m->now + LEASE_NS;
}

static void report_at(struct sim *m, uint32_t server, sl_time at)
{
	struct io_node *n = &m->control->node[server];

	n->due = at;
	sl_heap_set(&m->heap, m->at_report + server, (uint64_t)(at > m->now ? at : m->now));
}

static void put_place(const struct sim *m, uint32_t server, struct place *q, FILE *out)
{
	const struct sl_requests_app *is = m->app[q->app].is;
	struct sl_job_report r = { .id = q->app + 1,
				   .clients = q->clients,
				   .procs = is->procs,
				   .nodes = is->conf.nodes,
				   .min_bps = is->conf.min_bps,
				   .max_bps = is->conf.max_bps,
				   .weight = is->conf.weight ? is->conf.weight : 1,
				   .user_weight = is->conf.user_weight,
				   .account_weight = is->conf.account_weight,
				   .uid = (uint32_t)is->conf.user,
				   .period_ns = is->conf.period_ns,
				   .moved = { q->moved[0], q->moved[1] },
				   .inside = q->inside,
				   .idle_ns = q->inside ? 0 : m->now - q->last_io };
	struct sl_job_stats st;

	if (sl_job_stats(m->server[server].sched, r.id, m->now, &st) == 0) {
		r.queued_bytes = st.queued_bytes;
		r.waited_ns = st.waiting_ns;
	}
	snprintf(r.name, sizeof(r.name), "j%" PRIu64, r.id);
	if (is->conf.account)
		snprintf(r.account, sizeof(r.account), "a%" PRIx64, is->conf.account);
	sl_report_put_job(out, &r);
	q->active = q->inside > 0;
}

static int send_report(struct sim *m, uint32_t server)
{
	struct control *c = m->control;
	struct io_node *n = &c->node[server];
	struct sl_node_report r = { .life = server + 1,
				    .capacity_bps = m->s->capacity_bps / m->s->striping.servers,
				    .layer_bps = m->s->capacity_bps,
				    .of = m->s->striping.servers,
				    .draw_bps = n->pace.bps,
				    .ack = n->ack,
				    .term = n->term };
	bool works = false;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	snprintf(r.name, sizeof(r.name), "%u", server);
	snprintf(r.share, sizeof(r.share), "%s", c->share);
	if (n->known)
		sl_report_put_ack(f, &r);
	else
		sl_report_put_node(f, &r);
	for (uint32_t k = n->first; k < n->first + n->count; k++) {
		struct place *q = &c->place[k];

		if (q->inside || (q->known && m->now - q->last_io < QUIET_NS))
			n->busy = m->now;
		if (q->known && (q->active || !n->known)) {
			works |= n->known;
			put_place(m, server, q, f);
		}
	}
	if (fclose(f)) {
		free(text);
		return -ENOMEM;
	}
	if (works)
		hurry(m, n);
	n->last = m->now;
	report_at(m, server,
		  m->now +
			  (m->now - n->busy < QUIET_NS || n->every > IDLE_NS ? n->every : IDLE_NS));
	n->known = true;
	return post(m, (struct letter){ .node = server, .what = REPORT, .text = text });
}

/* ---- orders ---- */

static int apply(struct sim *m, uint32_t server, struct place *q)
{
	struct sl_job_conf conf = conf_here(m, q);
	int rc = sl_job_set(m->server[server].sched, q->app + 1, &conf, m->now);

	if (rc)
		m->error = sl_error(m->server[server].sched);
	sl_requests_ask(m, server);
	return rc;
}

static int take_rate(struct sim *m, uint32_t server, struct place *q, uint64_t bps, sl_time until)
{
	int rc = sl_job_grant(m->server[server].sched, q->app + 1, bps, until, m->now);

	if (rc || bps == q->rate_bps) {
		m->error = rc ? sl_error(m->server[server].sched) : m->error;
		return rc;
	}
	q->rate_bps = bps;
	return apply(m, server, q);
}

static int take_epoch(struct sim *m, uint32_t server, const struct sl_node_orders *o)
{
	struct io_node *n = &m->control->node[server];
	bool lowered = o->draw_bps < n->pace.bps;
	int rc = 0;

	n->every = o->every_ns > 0 ? o->every_ns : REPORT_NS;
	if (!o->layer_bps)
		return 0;
	n->ack = o->order;
	n->until = m->now + (o->lease_ns > 0 ? o->lease_ns : LEASE_NS);
	sl_pace_set(&n->pace, o->draw_bps ? o->draw_bps : 1, m->now);
	sl_requests_ask(m, server);
	for (uint32_t k = n->first; !rc && k < n->first + n->count; k++) {
		struct place *q = &m->control->place[k];

		if (q->rate_bps != SL_GRANT_NONE)
			rc = take_rate(m, server, q, o->whole ? SL_GRANT_NONE : q->rate_bps,
				       n->until);
	}
	if (!rc && lowered)
		rc = post(m, (struct letter){ .node = server, .what = ACK, .ack = n->ack });
	return rc;
}

static int take_job(struct sim *m, uint32_t server, const struct sl_job_orders *o)
{
	struct place *q = place_of(m->control, server, (uint32_t)o->id - 1);
	int rc;

	if (!q)
		return 0;
	rc = take_rate(m, server, q, o->rate_bps, m->control->node[server].until);
	if (rc || (q->share == o->share && (o->period_ns <= 0 || q->period_ns == o->period_ns)))
		return rc;
	q->share = o->share;
	q->period_ns = o->period_ns > 0 ? o->period_ns : q->period_ns;
	return apply(m, server, q);
}

static int obey(struct sim *m, uint32_t server, char *text)
{
	struct io_node *n = &m->control->node[server];
	struct sl_orders_line l;
	int what, rc = 0;

	while (!rc && (what = sl_orders_next(&text, &l)) > 0) {
		if (what == SL_LINE_EPOCH && l.epoch.term < n->term)
			return 0; /* of a controller that has been replaced */
		if (what == SL_LINE_EPOCH) {
			n->term = l.epoch.term;
			rc = take_epoch(m, server, &l.epoch);
		}
		if (what == SL_LINE_JOB)
			rc = take_job(m, server, &l.job);
	}
	return rc;
}

/* Its orders have run out: as link_tick() of a node. */
static int open_up(struct sim *m, uint32_t server)
{
	struct io_node *n = &m->control->node[server];
	uint64_t layer = m->s->capacity_bps, least = layer / m->s->striping.servers;
	uint64_t more = n->pace.bps / 4 * 5;
	int rc = 0;

	for (uint32_t k = n->first; !rc && k < n->first + n->count; k++)
		rc = take_rate(m, server, &m->control->place[k], SL_GRANT_NONE, 0);
	n->ack = 0;
	n->opens = m->now + IDLE_NS;
	more = more < least ? least : more < layer ? more : layer;
	sl_pace_set(&n->pace, more, m->now);
	sl_requests_ask(m, server);
	return rc;
}

/* ---- the controller ---- */

static int lead(struct sim *m, char *err, size_t err_size)
{
	struct control *c = m->control;
	const struct brain_config config = { .grant = c->grant,
					     .gap_ns = m->s->control.gap_ns,
					     .settle_ns = SETTLE_NS,
					     .term = ++c->term };
	int rc = brain_init(&c->brain, &config, clock_of(m), err, err_size);

	if (rc)
		return rc;
	c->leads = true;
	c->back = SL_NEVER;
	for (uint32_t i = 0; i < m->s->striping.servers; i++) {
		c->node[i].known = false;
		if (!c->node[i].dead)
			report_at(m, i, m->now);
	}
	schedule(m, m->now);
	return 0;
}

static void controller_dies(struct sim *m)
{
	struct control *c = m->control;

	if (!c->leads)
		return;
	c->leads = false;
	for (uint32_t i = 0; i < m->s->striping.servers; i++)
		hurry(m, &c->node[i]);
	c->decisions += c->brain.decisions;
	brain_free(&c->brain);
	if (m->s->control.standby_ns != SL_NEVER)
		c->back = m->now + m->s->control.standby_ns;
}

static void node_dies(struct sim *m, uint32_t server)
{
	struct control *c = m->control;
	struct io_node *n = &c->node[server];

	if (n->dead)
		return;
	n->dead = true;
	sl_heap_remove(&m->heap, m->at_report + server);
	sl_requests_kill(m, server);
	if (c->leads && n->known && n->number < c->brain.nodes)
		brain_node_gone(&c->brain, n->number, true, clock_of(m));
}

static int take_report(struct sim *m, struct letter *l)
{
	struct control *c = m->control;
	struct io_node *n = &c->node[l->node];
	int rc;

	if (!c->leads)
		return 0;
	if (l->what == ACK) {
		brain_ack(&c->brain, n->number, l->ack);
		return 0;
	}
	if (strncmp(l->text, "node", 4) != 0) {
		if (n->number >= c->brain.nodes)
			return 0; /* it was for the controller before this one */
		rc = brain_delta(&c->brain, n->number, l->text, clock_of(m));
	} else if ((rc = brain_report(&c->brain, l->text, clock_of(m))) >= 0) {
		n->number = (uint32_t)rc;
		c->who[rc] = l->node;
	}
	return rc < 0 ? rc : 0;
}

static int deliver(struct sim *m)
{
	struct control *c = m->control;
	int rc = 0;

	while (!rc && c->first && c->first->at <= m->now) {
		struct letter *l = c->first;

		c->first = l->next;
		if (!c->node[l->node].dead)
			rc = l->what == ORDERS ? obey(m, l->node, l->text) : take_report(m, l);
		free(l->text);
		free(l);
	}
	return rc;
}

/* Decide, and send what has been decided. *next: when to do so again. */
static int decide(struct sim *m, sl_time *next)
{
	struct control *c = m->control;
	sl_time renew, now = clock_of(m);
	int64_t node;
	int rc = 0;

	*next = brain_decide(&c->brain, now);
	while (!rc && (node = brain_next(&c->brain, now)) >= 0) {
		char *text = NULL;
		size_t size;
		FILE *f = open_memstream(&text, &size);

		if (!f)
			return -ENOMEM;
		brain_orders(&c->brain, (uint32_t)node, now, f);
		if (fclose(f)) {
			free(text);
			return -ENOMEM;
		}
		rc = post(m, (struct letter){ .node = c->who[node], .what = ORDERS, .text = text });
	}
	renew = brain_renews(&c->brain);
	*next = renew < *next ? renew : *next;
	*next = *next < SL_NEVER ? *next - EPOCH_NS : SL_NEVER;
	return rc;
}

static int control_event(struct sim *m)
{
	struct control *c = m->control;
	const struct sl_requests *s = m->s;
	sl_time next = SL_NEVER;
	char err[200];
	int rc = deliver(m);

	sl_heap_remove(&m->heap, m->at_control);
	for (; c->event < s->n_events && s->events[c->event].at <= m->now; c->event++) {
		if (s->events[c->event].server == SL_REQUESTS_CONTROLLER)
			controller_dies(m);
		else
			node_dies(m, s->events[c->event].server);
	}
	if (!rc && !c->leads && c->back <= m->now)
		rc = lead(m, err, sizeof(err));
	if (!rc && c->leads)
		rc = decide(m, &next);
	else if (c->back < next)
		next = c->back;
	if (c->event < s->n_events && s->events[c->event].at < next)
		next = s->events[c->event].at;
	if (c->first && c->first->at < next)
		next = c->first->at;
	if (next != SL_NEVER)
		schedule(m, next);
	return rc;
}

int sl_control_event(struct sim *m, uint32_t id)
{
	uint32_t server = id - m->at_report;
	struct io_node *n;
	int rc = 0;

	if (id == m->at_control) {
		rc = control_event(m);
	} else {
		n = &m->control->node[server];
		if (n->until && m->now >= n->until && m->now >= n->opens)
			rc = open_up(m, server);
		if (!rc)
			rc = send_report(m, server);
	}
	if (rc && !m->error)
		m->error = rc == -ENOMEM ? "no memory" : "the controller understands no report";
	return rc;
}

/* ---- what happens at servers ---- */

void sl_control_begins(struct sim *m, const struct proc *p)
{
	struct place *q = &m->control->place[p->place];

	q->known = q->active = true;
	q->last_io = q->last_io ? q->last_io : m->now - PAUSE_NS - 1;
}

void sl_control_added(struct sim *m, const struct proc *p)
{
	struct io_node *n = &m->control->node[p->server];
	struct place *q = &m->control->place[p->place];

	q->active = true;
	if (q->inside++ || m->now - q->last_io <= PAUSE_NS)
		return;
	if (n->due > n->last + LEAST_NS)
		report_at(m, p->server, n->last + LEAST_NS);
}

void sl_control_answered(struct sim *m, const struct proc *p, uint32_t op, uint64_t bytes)
{
	struct place *q = &m->control->place[p->place];

	q->inside--;
	q->moved[op] += bytes;
	q->last_io = m->now;
	q->active = true;
}

sl_time sl_control_pace(const struct sim *m, uint32_t server)
{
	return m->control->node[server].pace.at;
}

void sl_control_sent(struct sim *m, uint32_t server, uint64_t bytes)
{
	struct control *c = m->control;
	sl_time slot = m->now / SLOT_NS, from = c->slot_at;

	sl_pace_sent(&c->node[server].pace, (int64_t)bytes, m->now);
	from = slot - from > SLOTS ? slot - SLOTS : from;
	while (from < slot) {
		c->sum -= c->slot[++from % SLOTS];
		c->slot[from % SLOTS] = 0;
	}
	c->slot_at = slot;
	c->slot[slot % SLOTS] += bytes;
	c->sum += bytes;
	c->peak = c->sum > c->peak ? c->sum : c->peak;
}

void sl_control_result(struct sim *m, struct sl_requests_result *out)
{
	const struct control *c = m->control;

	out->peak_bytes = c->peak;
	out->decisions = c->decisions + (c->leads ? c->brain.decisions : 0);
}

/* ---- life ---- */

int sl_control_create(struct sim *m, const struct sl_requests_policy *policy, char *err,
		      size_t err_size)
{
	const struct sl_requests *s = m->s;
	uint32_t servers = s->striping.servers;
	struct control *c = calloc(1, sizeof(*c));

	m->control = c;
	if (c) {
		c->node = calloc(servers, sizeof(*c->node));
		c->who = calloc(servers, sizeof(*c->who));
	}
	if (!c || !c->node || !c->who || make_places(m)) {
		snprintf(err, err_size, "%s: no memory", s->name);
		return -ENOMEM;
	}
	c->share = policy && policy->share ? policy->share : "wfq";
	c->grant = policy ? policy->grant : NULL;
	for (uint32_t i = 0; i < servers; i++) {
		c->node[i].every = REPORT_NS;
		sl_pace_set(&c->node[i].pace, s->capacity_bps / servers, 0);
	}
	return lead(m, err, err_size);
}

void sl_control_destroy(struct sim *m)
{
	struct control *c = m->control;

	if (!c)
		return;
	while (c->first) {
		struct letter *l = c->first;

		c->first = l->next;
		free(l->text);
		free(l);
	}
	if (c->leads)
		brain_free(&c->brain);
	free(c->node);
	free(c->place);
	free(c->who);
	free(c);
	m->control = NULL;
}
