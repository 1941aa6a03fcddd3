/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's connection to the controller (sluiced/controller/main.c says what travels on it).
 *
 * It has its own thread, so that a controller that is slow, stopped or gone does not affect the
 * data path. The connection is dropped if the controller does not read for a second, or is silent
 * for a second longer than its orders are valid, so that the node can end. It reports while jobs do
 * something as often as the controller has ordered, REPORT_NS at first, else every IDLE_NS, and at
 * once when a job begins after a pause; after the first report on a connection, what has changed.
 * What the controller orders is carried out under the node's lock: what the node may draw and the
 * rates of its jobs, which are leases; the node's share of a job's min and max, which stays as it
 * is; and which nodes serve the job, which its clients are told (wire/shm.h: `moved`). An order
 * that lets the node draw less is acknowledged at once: the controller waits for that before it
 * gives the difference to others.
 *
 * Orders carry the *term* of their controller. A node obeys the highest term that it has seen, so a
 * controller that was stopped, replaced and continued does no harm; it is told the new term.
 *
 * There may be two controllers, one of them in standby (controller/standby.c). The node has a
 * *line* to each, with a thread of its own. It reports once on each, then only to the one whose
 * term is the highest. A standby that takes over says its term on the line that is already there,
 * and has the node's report a moment later.
 *
 * When a connection breaks, its thread reconnects, without a limit on attempts. The last orders are
 * valid for at most LEASE_NS. Then the node fails open: jobs have no rates any more, and the node
 * may draw at least its part of the capacity, a quarter more each second, up to all of it. A
 * machine must not stall because one process has died.
 */
#include "sluiced/ionode/link.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "policy/policy.h"
#include "wire/dial.h"
#include "sluiced/ionode/joint.h"
#include "sluiced/ionode/pass.h"
#include "sluiced/ionode/rules.h"
#include "sluiced/ionode/sense.h"
#include "sluiced/ionode/tcp/tcp.h"
#include "sluiced/ionode/scheduler.h"
#include "sluiced/ionode/turn.h"

#define REPORT_NS INT64_C(50000000)
#define LEAST_NS  INT64_C(1000000) /* least time between two reports */
#define RETRY_MS  200
/* Orders come every four seconds; reports are aligned with them. */
#define IDLE_NS	  INT64_C(2250000000)
#define QUIET_NS  INT64_C(3000000000) /* without I/O: idle */
#define SILENT_NS INT64_C(5000000000)
#define IN_MAX	  (4U << 20)
#define LINES	  2

/* Where a node of the layer is. */
struct place {
	char name[SL_NODE_NAME_MAX], socket[108], tcp[96];
};

/* To one controller. */
struct line {
	struct link *link;
	const char *address;
	pthread_t thread;
	bool started;
	int event_fd;
	struct dial dial;
	bool refused;			  /* by the controller, the last time */
	bool report;			  /* send it a full report although it does not lead */
	bool replaced;			  /* it was replaced but does not know: send it the term */
	bool lowered;			  /* its order lowered the rate: acknowledge it at once */
	sl_time busy;			  /* when a job last did something */
	struct sl_job_report *job, *sent; /* present state; state that the controller knows */
	uint32_t room, sent_room, jobs_sent;
	struct joint_news joint;    /* limits that jobs share */
	struct sl_node_report told; /* the same of the node */
	bool whole;		    /* send a full report: the connection is new */
	size_t have;
	unsigned char *in; /* IN_MAX + 1 */
};

struct link {
	struct node *node;
	atomic_bool stop;
	char *addresses; /* of the lines */
	struct line line[LINES];
	unsigned lines;
	/* What follows is under the node's lock. */
	struct line *leads; /* the line to the controller with the highest term; NULL: none yet */
	uint64_t epoch;	    /* of the last orders */
	uint64_t term;	    /* the highest, of these */
	uint64_t order;	    /* the last order in force; 0: orders have expired */
	sl_time until;	    /* orders hold; 0: there are none */
	sl_time lease;	    /* how long they were valid when they arrived */
	sl_time dead_at;    /* the leading controller counts as dead if it is silent until then */
	sl_time ops_until;  /* the same of those about metadata operations */
	uint64_t ops_draw;  /* of these, as ordered last */
	uint32_t open;	    /* the last value of sl_node_orders.open */
	sl_time every;	    /* between two reports, while jobs do something */
	/* Nodes of the layer that the controller has named. */
	uint32_t nodes, node_room;
	struct place *place;
};

/* ---- reports ---- */

static struct sl_job_report job_report(struct node *n, const struct node_job *j, sl_time now)
{
	struct sl_job_report r = { .id = j->number,
				   .clients = j->clients,
				   .procs = j->procs,
				   .nodes = j->nodes,
				   .min_bps = j->rights.min_bps,
				   .max_bps = j->rights.max_bps,
				   .weight = j->rights.weight,
				   .user_weight = j->rights.user_weight,
				   .account_weight = j->rights.account_weight,
				   .bucket = j->bucket,
				   .bucket_bps = j->bucket_bps,
				   .uid = j->owner.uid,
				   .period_ns = j->asked.period_ns,
				   .moved = { j->moved[0], j->moved[1] },
				   .inside = j->inside,
				   .phase = j->phase,
				   .ops = ops_sum(j->ops.made),
				   .limits = ops_limits(n, j),
				   .min_ops = ops_min(n, j),
				   .ops_weight = ops_weight(n, j, now),
				   .idle_ns = j->inside ? 0 : now - j->last_io };
	struct sl_job_stats st;

	if (j->turn)
		r.ops_held_ns = atomic_load(&j->turn->shm->operations.held_ns);
	if (sl_job_stats(n->sched, j->number, now, &st) == 0) {
		r.queued_bytes = st.queued_bytes;
		r.waited_ns = st.waiting_ns;
	}
	memcpy(r.name, j->name, sizeof(r.name));
	memcpy(r.title, j->title, sizeof(r.title));
	memcpy(r.account, j->owner.account, sizeof(r.account));
	if (j->map_epoch && !j->map_count)
		strcpy(r.map, "-");
	for (uint32_t i = 0; j->map_epoch && i < j->map_count; i++) {
		strcat(r.map, i ? "," : "");
		strcat(r.map, j->map[i]);
	}
	return r;
}

/* All jobs, as they are now, into l->job: their number, or -ENOMEM. The lock is held. */
static int collect(struct line *l, sl_time now)
{
	struct node *n = l->link->node;
	uint32_t count = 0;

	l->joint.count = 0;
	for (struct node_job *j = n->jobs; j; j = j->next) {
		if (joint_collect(&l->joint, j))
			return -ENOMEM;
		if (count == l->room) {
			uint32_t room = l->room ? 2 * l->room : 16;
			struct sl_job_report *more = realloc(l->job, room * sizeof(*more));

			if (!more)
				return -ENOMEM;
			l->job = more;
			l->room = room;
		}
		l->job[count++] = job_report(n, j, now);
		if (j->inside || now - j->last_io < QUIET_NS)
			l->busy = now;
	}
	return (int)count;
}

/* A line of one number: "ack NUMBER", "term NUMBER". */
static int say(struct line *l, const char *what, const uint64_t *number)
{
	struct node *n = l->link->node;
	char text[32];
	int length;

	pthread_mutex_lock(&n->lock);
	length = snprintf(text, sizeof(text), "%s %" PRIu64, what, *number);
	node_unlock(n);
	return dial_send(&l->dial, text, (size_t)length, 0);
}

/* Whether the node's own values are unchanged, except for its draw. */
static bool same_node(const struct sl_node_report *a, const struct sl_node_report *b)
{
	return !strcmp(a->tcp, b->tcp) && !strcmp(a->share, b->share) &&
	       a->capacity_bps == b->capacity_bps && a->layer_bps == b->layer_bps &&
	       a->layer_ops == b->layer_ops;
}

/* What was sent of the job last, looked for from there on; NULL: nothing. */
static struct sl_job_report *sent_of(const struct line *l, uint64_t id, uint32_t *from)
{
	for (uint32_t i = 0; i < l->jobs_sent; i++) {
		uint32_t k = (*from + i) % l->jobs_sent;

		if (l->sent[k].id != id)
			continue;
		*from = k + 1;
		return &l->sent[k];
	}
	return NULL;
}

static bool has_worked(const struct sl_job_report *j, const struct sl_job_report *before)
{
	return j->inside || j->moved[0] != before->moved[0] || j->moved[1] != before->moved[1] ||
	       j->ops != before->ops;
}

/* Write the changes since the last report. Returns whether they include I/O. */
static bool put_delta(struct line *l, FILE *out, const struct sl_node_report *r, uint32_t jobs)
{
	uint32_t from = 0, kept = 0;
	bool works = false;

	fputs("delta\n", out);
	if (r->draw_bps != l->told.draw_bps || r->ack != l->told.ack || r->term != l->told.term)
		sl_report_put_ack(out, r);
	for (uint32_t i = 0; i < jobs; i++) {
		const struct sl_job_report *before = sent_of(l, l->job[i].id, &from);

		kept += before != NULL;
		if (!before)
			sl_report_put_job(out, &l->job[i]);
		else if (sl_report_put_change(out, &l->job[i], before))
			works |= has_worked(&l->job[i], before);
	}
	joint_put(&l->joint, out, false);
	from = 0;
	for (uint32_t i = 0; kept < l->jobs_sent && i < l->jobs_sent; i++) {
		bool there = false;

		for (uint32_t k = 0; !there && k < jobs; k++) {
			there = l->job[(from + k) % jobs].id == l->sent[i].id;
			from = there ? (from + k + 1) % jobs : from;
		}
		if (!there)
			sl_report_put_gone(out, l->sent[i].id);
	}
	return works;
}

static void put_whole(const struct line *l, FILE *out, const struct sl_node_report *r,
		      uint32_t jobs)
{
	fputs("report\n", out);
	sl_report_put_node(out, r);
	for (uint32_t i = 0; i < jobs; i++)
		sl_report_put_job(out, &l->job[i]);
	joint_put(&l->joint, out, true);
}

/* Record that the controller knows the present state. */
static void remember(struct line *l, const struct sl_node_report *r, uint32_t jobs)
{
	struct sl_job_report *before = l->sent;
	uint32_t room = l->sent_room;

	l->sent = l->job;
	l->sent_room = l->room;
	l->jobs_sent = jobs;
	l->job = before;
	l->room = room;
	l->told = *r;
	l->whole = false;
}

static void cut(sl_time *until, sl_time latest)
{
	if (*until > latest)
		*until = latest;
}

/*
 * The connection has ended, or I/O has been reported: orders for a node without work hold for
 * longer than LEASE_NS, and no more than that is left of them now. The lock is held.
 */
static void cut_lease(struct link *l, sl_time now)
{
	cut(&l->until, now + LEASE_NS);
	cut(&l->ops_until, now + LEASE_NS);
	cut(&l->dead_at, now + SILENT_NS);
	for (struct node_job *j = l->node->jobs; j; j = j->next) {
		cut(&j->bucket_until, now + LEASE_NS);
		joint_cut(j, now + LEASE_NS);
	}
}

static int report(struct line *l)
{
	struct node *n = l->link->node;
	struct sl_node_report r = { .life = n->epoch };
	bool works = false;
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	struct sl_sched_stats st;
	sl_time now;
	int rc = -ENOMEM, jobs;

	if (!out)
		return rc;
	snprintf(r.name, sizeof(r.name), "%s", n->config->name ? n->config->name : "0");
	snprintf(r.socket, sizeof(r.socket), "%s", n->config->daemon.socket);
	if (n->tcp)
		memcpy(r.tcp, n->tcp->name, sizeof(r.tcp));
	pthread_mutex_lock(&n->lock);
	now = node_now();
	turn_account(n, now);
	sl_sched_stats(n->sched, &st);
	snprintf(r.share, sizeof(r.share), "%s",
		 n->policy[SL_SHARE] ? n->policy[SL_SHARE]
		 : n->config->share  ? n->config->share
				     : st.share);
	/* Each node finds its own capacity, so there is nothing to divide. */
	r.capacity_bps = n->find ? 0 : n->capacity_bps;
	if (n->config->layer_nodes > 1 && !n->find)
		r.layer_bps = node_of_layer(n->config, n->capacity_bps);
	r.layer_ops = ops_of_layer(n);
	r.draw_bps = n->pace.bps;
	r.of = n->config->layer_nodes;
	r.ack = l->link->order;
	r.term = l->link->term;
	jobs = collect(l, now);
	node_unlock(n);
	/* Without the lock: takes ten times as long as to collect them. */
	if (jobs >= 0 && (l->whole || !same_node(&r, &l->told)))
		put_whole(l, out, &r, (uint32_t)jobs);
	else if (jobs >= 0)
		works = put_delta(l, out, &r, (uint32_t)jobs);
	if (fclose(out) == 0 && jobs >= 0)
		rc = dial_send(&l->dial, text, length, 0);
	if (!rc)
		remember(l, &r, (uint32_t)jobs);
	free(text);
	if (!rc && works) {
		pthread_mutex_lock(&n->lock);
		cut_lease(l->link, now);
		node_unlock(n);
	}
	return rc;
}

/* ---- orders; the lock is held ---- */

static void take_share(struct node *n, struct node_job *j, const struct sl_job_orders *o,
		       sl_time now)
{
	/*
	 * Before the first order a min is divided evenly (job.c), so the first order always changes
	 * it.
	 */
	bool news = o->share != j->share &&
		    (j->rights.min_bps || j->rights.max_bps || ops_limits(n, j) & SL_LIMITS_CALLS);

	if (news)
		j->share = o->share;
	news |= ops_job_order(n, j, o->ops_share, o->ops_rate);
	if (news)
		node_job_apply(n, j, now);
}

static void take_period(struct node *n, struct node_job *j, sl_time found, sl_time now)
{
	if (j->asked.period_ns || found <= 0 || found == j->found_period_ns)
		return;
	j->found_period_ns = found;
	node_job_apply(n, j, now);
}

static void take_map(struct node *n, struct node_job *j, const struct sl_job_orders *o,
		     uint64_t epoch)
{
	/* Each machine has one node, and its programs use no other. */
	if (n->site || n->config->stay || o->to_count == UINT32_MAX ||
	    (j->map_count == o->to_count && j->map_turns == o->turns &&
	     !memcmp(j->map, o->to, sizeof(j->map))))
		return;
	memcpy(j->map, o->to, sizeof(j->map));
	j->map_turns = o->turns;
	j->map_count = o->to_count;
	j->map_epoch = epoch;
	node_clients_moved(n, j);
}

static void take_draw(struct line *from, const struct sl_node_orders *o)
{
	struct link *l = from->link;
	struct node *n = l->node;
	sl_time now = node_now();

	ops_draw(n, o->ops_draw, now);
	l->ops_draw = o->ops_draw;
	if (o->ops_draw)
		l->ops_until = now + l->lease;
	if (!o->layer_bps || n->find) /* a node that finds its capacity paces itself */
		return;
	if (o->layer_bps != n->layer_bps && node_capacity(n, o->layer_bps, now) == 0)
		n->layer_bps = o->layer_bps;
	from->lowered |= o->draw_bps < n->pace.bps;
	l->order = o->order;
	l->until = now + l->lease;
	node_draw(n, o->draw_bps ? o->draw_bps : 1, now);
}

/* Apply a change only once, so a later local command stays in force. */
static void take_open(struct link *l, uint32_t open)
{
	bool news = open && open != l->open;

	l->open = open; /* 0: a new controller, which counts from the beginning */
	if (news)
		pass_open(l->node, open & 1, node_now());
}

/* Orders that are not repeated stay in force, unless `whole` is set. */
static void take_leases(struct link *l, bool whole)
{
	struct node *n = l->node;
	sl_time now = node_now();

	for (struct node_job *j = n->jobs; j; j = j->next) {
		if (j->grant_bps != SL_GRANT_NONE)
			node_job_rate(n, j, whole ? SL_GRANT_NONE : j->grant_bps, now + l->lease,
				      now);
		if (j->bucket_until)
			j->bucket_until = whole ? 0 : now + l->lease;
		joint_lease(j, whole ? 0 : now + l->lease);
	}
}

static void take_place(struct link *l, const struct sl_node_report *r)
{
	uint32_t k = 0;

	while (k < l->nodes && strcmp(l->place[k].name, r->name) != 0)
		k++;
	if (k == l->node_room) {
		uint32_t room = l->node_room ? 2 * l->node_room : 16;
		struct place *more = realloc(l->place, room * sizeof(*more));

		if (!more)
			return;
		l->place = more;
		l->node_room = room;
	}
	l->nodes += k == l->nodes;
	memcpy(l->place[k].name, r->name, sizeof(r->name));
	memcpy(l->place[k].tcp, r->tcp, sizeof(r->tcp));
	memcpy(l->place[k].socket, r->socket, sizeof(r->socket));
}

/* What concerns all jobs: it comes before them. */
static void take_layer(struct line *from, int what, const struct sl_orders_line *line)
{
	struct link *l = from->link;

	if (what == SL_LINE_EPOCH) {
		l->epoch = line->epoch.epoch;
		l->nodes = line->epoch.whole ? 0 : l->nodes;
		l->every = line->epoch.every_ns > 0 ? line->epoch.every_ns : REPORT_NS;
		l->lease = line->epoch.lease_ns > 0 ? line->epoch.lease_ns : LEASE_NS;
		l->dead_at = node_now() + l->lease + SILENT_NS - LEASE_NS;
		take_open(l, line->epoch.open);
		take_draw(from, &line->epoch);
		take_leases(l, line->epoch.whole);
	}
	if (what == SL_LINE_NODE)
		take_place(l, &line->node);
}

static void take_joint(const struct link *l, const struct sl_joint *o)
{
	struct node_job *j = node_job_find(l->node, o->id);

	if (j)
		joint_order(l->node, j, o, node_now() + l->lease);
}

static void take_job(const struct link *l, const struct sl_job_orders *o)
{
	struct node *n = l->node;
	struct node_job *j = node_job_find(n, o->id);
	sl_time now = node_now();

	if (!j)
		return;
	if (!n->passing && !n->find)
		node_job_rate(n, j, o->rate_bps, now + l->lease, now);
	take_share(n, j, o, now);
	rules_order(n, j, o->bucket_bps, now + l->lease, now);
	take_period(n, j, o->period_ns, now);
	take_map(n, j, o, l->epoch);
}

/*
 * Whether orders of this term are obeyed: those of a controller that has been replaced are not. One
 * with a higher term than all before leads from now on, and is told everything.
 */
static bool follow(struct line *from, uint64_t term)
{
	struct link *l = from->link;

	if (term < l->term) {
		from->replaced = true;
		return false;
	}
	if (l->leads != from)
		from->report = true;
	l->leads = from;
	l->term = term;
	return true;
}

/* The lock is not held: with thousands of jobs, requests come between one line and the next. */
static void obey(struct line *from, char *text)
{
	struct link *l = from->link;
	struct node *n = l->node;
	struct sl_orders_line line;
	int what = sl_orders_next(&text, &line);
	bool news = false;

	pthread_mutex_lock(&n->lock);
	if (what == SL_LINE_EPOCH && !follow(from, line.epoch.term)) {
		node_unlock(n);
		return;
	}
	if (what > 0) {
		news = what != SL_LINE_EPOCH || line.epoch.order != l->order || line.epoch.whole ||
		       line.epoch.open != l->open || line.epoch.ops_draw != l->ops_draw;
		take_layer(from, what, &line);
	}
	while ((what = sl_orders_next(&text, &line)) > 0 && what != SL_LINE_JOB)
		take_layer(from, what, &line);
	news |= what > 0;
	node_unlock(n);
	for (; what > 0; what = sl_orders_next(&text, &line)) {
		pthread_mutex_lock(&n->lock);
		if (what == SL_LINE_JOB)
			take_job(l, &line.job);
		else if (what == SL_LINE_JOINT)
			take_joint(l, &line.joint);
		else
			take_layer(from, what, &line);
		node_unlock(n);
	}
	pthread_mutex_lock(&n->lock);
	turn_modes(n, node_now());
	node_unlock(n);
	if (news) /* and not only a renewed lease */
		node_wake_all(n);
	if (what < 0)
		log_warn("controller: orders that make no sense");
}

void link_tick(struct node *n, sl_time now)
{
	struct link *l = n->link;
	uint64_t least = n->capacity_bps, more = n->pace.bps / 4 * 5;

	if (l && l->ops_until && now >= l->ops_until) {
		l->ops_until = 0;
		ops_orders_over(n, now);
	}
	if (!l || n->find || !l->until || now < l->until || !n->layer_bps)
		return;
	for (struct node_job *j = n->jobs; j; j = j->next)
		if (j->grant_bps != SL_GRANT_NONE)
			node_job_rate(n, j, SL_GRANT_NONE, 0, now);
	l->order = 0; /* the present draw was not ordered */
	more = more < least || n->config->loss_divides ? least : more;
	node_draw(n, more < n->layer_bps ? more : n->layer_bps, now);
}

/* ---- connection ---- */

/* The controller refuses this node. Log it once, because the node keeps trying. */
static int refused(struct line *l, const char *why)
{
	if (!l->refused)
		log_warn("controller=%s refuses this node: %s", l->address, why);
	l->refused = true;
	return -ECONNREFUSED;
}

static int receive(struct line *l)
{
	ssize_t k = recv(l->dial.sock, l->in + l->have, IN_MAX - l->have, MSG_DONTWAIT);
	const size_t head = dial_head(&l->dial);
	struct sl_frame f;

	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (k <= 0)
		return -ECONNRESET;
	l->have += (size_t)k;
	while (l->have >= head) {
		char *text = (char *)l->in + head;
		size_t whole;
		unsigned char behind;

		if (sl_frame_decode(l->in, &f) || f.type != SL_REPLY)
			return -EPROTO;
		whole = head + f.length;
		if (whole > IN_MAX)
			return -EMSGSIZE;
		if (l->have < whole)
			break;
		if (!dial_genuine(&l->dial, l->in, text, f.length))
			return -EBADMSG;
		behind = l->in[whole];
		l->in[whole] = 0;
		if (f.status)
			return refused(l, text);
		if (f.length)
			obey(l, text);
		l->in[whole] = behind;
		l->have -= whole;
		memmove(l->in, l->in + whole, l->have);
	}
	return 0;
}

/* Send what is due on the line. *next: time of the next report; *last: time of the last one. */
static int speak(struct line *l, sl_time *next, sl_time *last)
{
	struct link *all = l->link;
	sl_time now = node_now(), every;
	bool whole, leads;
	int rc = 0;

	pthread_mutex_lock(&all->node->lock);
	whole = l->report;
	l->whole |= whole;
	every = all->every ? all->every : REPORT_NS;
	leads = all->leads == l || !all->leads;
	l->report = false;
	node_unlock(all->node);
	if (whole || (leads && now >= *next)) {
		rc = report(l);
		*last = now;
		*next = now + (now - l->busy < QUIET_NS || every > IDLE_NS ? every : IDLE_NS);
	}
	if (!leads)
		*next = SL_NEVER;
	if (!rc && l->lowered) {
		l->lowered = false;
		rc = say(l, "ack", &all->order);
	}
	if (!rc && l->replaced) {
		l->replaced = false;
		rc = say(l, "term", &all->term);
	}
	return rc;
}

/* A controller in standby is silent. */
static bool too_silent(const struct line *l, sl_time now)
{
	bool silent;

	pthread_mutex_lock(&l->link->node->lock);
	silent = l->link->leads == l && now > l->link->dead_at;
	node_unlock(l->link->node);
	return silent;
}

static int converse(struct line *l)
{
	sl_time next = 0, last = 0;
	uint64_t count;
	int rc = 0;

	pthread_mutex_lock(&l->link->node->lock);
	if (l->link->leads == l)
		l->link->dead_at = node_now() + SILENT_NS;
	node_unlock(l->link->node);
	l->report = true;
	l->lowered = l->replaced = false;
	while (!rc && !atomic_load(&l->link->stop)) {
		struct pollfd p[2] = { { .fd = l->dial.sock, .events = POLLIN },
				       { .fd = l->event_fd, .events = POLLIN } };
		sl_time now;

		if ((rc = speak(l, &next, &last)))
			break;
		now = node_now();
		if (too_silent(l, now))
			return -ETIMEDOUT;
		if (poll(p, 2,
			 next == SL_NEVER ? -1
			 : next <= now	  ? 0
					  : (int)((next - now) / 1000000 + 1)) < 0 &&
		    errno != EINTR)
			return -errno;
		if (p[1].revents && read(l->event_fd, &count, sizeof(count)) == sizeof(count) &&
		    next != SL_NEVER)
			next = last + LEAST_NS;
		if (p[0].revents) {
			rc = receive(l);
			/* One wake-up for both, of a node that has nothing else to do. */
			if (next - last == IDLE_NS && node_now() - last > IDLE_NS / 2)
				next = last;
		}
	}
	return rc;
}

static void *line_main(void *arg)
{
	struct line *l = arg;
	struct link *all = l->link;
	const struct dial_proof proof = { .secret_file = all->node->config->controller_secret,
					  .munge = all->node->config->daemon.munge };
	char why[DIAL_TEXT], logged[DIAL_TEXT] = "";

	while (!atomic_load(&all->stop)) {
		struct pollfd p = { .fd = l->event_fd, .events = POLLIN };
		int rc;

		if (dial_controller(&l->dial, l->address, &proof, "@ionode", why)) {
			/* Once for each reason: it is tried again every RETRY_MS. */
			if (strcmp(logged, why) != 0)
				log_warn("controller=%s not there: %s", l->address, why);
			snprintf(logged, sizeof(logged), "%s", why);
			/* What has happened meanwhile is in the first report: do not wake for it.
			 */
			while (read(l->event_fd, &(uint64_t){ 0 }, sizeof(uint64_t)) > 0)
				;
			if (!atomic_load(&all->stop))
				poll(&p, 1, RETRY_MS);
			continue;
		}
		if (!l->refused)
			log_info("controller=%s connected", l->address);
		l->have = 0;
		rc = converse(l);
		close(l->dial.sock);
		pthread_mutex_lock(&all->node->lock);
		if (all->leads == l)
			cut_lease(all, node_now());
		node_unlock(all->node);
		logged[0] = '\0';
		l->refused = rc == -ECONNREFUSED;
		if (rc && !l->refused)
			log_info("controller=%s gone: %s", l->address, strerror(-rc));
		if (!atomic_load(&all->stop))
			usleep(RETRY_MS * 1000);
	}
	return NULL;
}

static int line_start(struct link *all, const char *address)
{
	struct line *l = &all->line[all->lines];
	int rc;

	l->link = all;
	l->address = address;
	l->in = malloc(IN_MAX + 1);
	l->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!l->in || l->event_fd < 0)
		return -ENOMEM;
	all->lines++;
	rc = pthread_create(&l->thread, NULL, line_main, l);
	l->started = !rc;
	return -rc;
}

int link_start(struct node *n)
{
	struct link *l;
	char *save = NULL;
	int rc = 0;

	if (!n->config->controller)
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->node = n;
	n->link = l;
	l->addresses = strdup(n->config->controller);
	if (!l->addresses)
		return -ENOMEM;
	for (char *at = strtok_r(l->addresses, ",", &save); at && l->lines < LINES && !rc;
	     at = strtok_r(NULL, ",", &save))
		rc = line_start(l, at);
	return rc;
}

void link_stop(struct node *n)
{
	struct link *l = n->link;

	if (!l)
		return;
	atomic_store(&l->stop, true);
	link_event(n);
	for (unsigned i = 0; i < l->lines; i++) {
		if (l->line[i].started)
			pthread_join(l->line[i].thread, NULL);
		close(l->line[i].event_fd);
		free(l->line[i].in);
		free(l->line[i].job);
		free(l->line[i].sent);
		free(l->line[i].joint.line);
	}
	free(l->addresses);
	free(l->place);
	free(l);
	n->link = NULL;
}

void link_event(struct node *n)
{
	const struct link *l = n->link;
	uint64_t one = 1;

	for (unsigned i = 0; l && i < l->lines; i++) {
		const struct line *line = &l->line[i];

		if (l->leads && l->leads != line && !atomic_load(&l->stop))
			continue; /* it need not know */
		if (write(line->event_fd, &one, sizeof(one)) < 0)
			return; /* it is full: the thread will look in any case */
	}
}

/* Node k as a client of that kind reaches it; false: not at all. */
static bool address(const struct link *l, uint32_t k, bool tcp, char out[108])
{
	snprintf(out, 108, tcp ? "tcp:%s" : "%s", tcp ? l->place[k].tcp : l->place[k].socket);
	return tcp ? l->place[k].tcp[0] : l->place[k].socket[0];
}

bool link_socket(const struct node *n, const char *name, char out[108])
{
	const struct link *l = n->link;

	for (uint32_t k = 0; l && k < l->nodes; k++)
		if (!strcmp(l->place[k].name, name))
			return address(l, k, false, out);
	return false;
}

/* Unit u of U uses the ⌊u n / U⌋-th of n nodes. */
void link_where(const struct node *n, const struct node_job *j, uint32_t unit, uint32_t units,
		bool tcp, char *out, size_t size)
{
	uint32_t i = !j->map_count ? 0
		     : units	   ? (uint32_t)((uint64_t)(unit % units) * j->map_count / units)
				   : unit % j->map_count;
	const struct link *l = n->link;
	const char *before = " peers=";
	char at[108];
	size_t used;

	snprintf(out, size, "epoch=0");
	if (!l)
		return;
	if (j->map_epoch && !j->map_count)
		snprintf(out, size, "epoch=%llu direct", (unsigned long long)j->map_epoch);
	for (uint32_t k = 0; j->map_epoch && j->map_count && k < l->nodes; k++)
		if (!strcmp(l->place[k].name, j->map[i]) && address(l, k, tcp, at))
			snprintf(out, size, "epoch=%llu at=%s", (unsigned long long)j->map_epoch,
				 at);
	used = strlen(out);
	for (uint32_t k = 0; k < l->nodes && used + sizeof(at) + 8 < size; k++) {
		if (!address(l, k, tcp, at))
			continue;
		used += (size_t)snprintf(out + used, size - used, "%s%s", before, at);
		before = ",";
	}
}
