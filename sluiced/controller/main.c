/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluiced controller`: the sockets around the brain.
 *
 * I/O nodes connect, say HELLO as the job "@ionode", and send their reports as CONTROL frames that
 * begin with the line "report", or "delta" if they say what has changed since; orders come as REPLY
 * frames, whenever there are new ones, and before their lease ends (pairs.c). "ack NUMBER" means
 * that the order of that number is in force. The commands ask with other CONTROL lines: "status",
 * "ping", "curves", "map JOB NODES", "policy STAGE=SPEC…". One thread, epoll; peer.c prevents peers
 * from delaying others. A node that has not received its previous orders gets no new ones until
 * then; then it gets all changes.
 *
 * The controller has only state that it can learn again: see brain.h. Over Unix sockets its own
 * user and root may connect; over TCP a peer must know the secret.
 *
 * There may be another controller (standby.c), given with --peer. The one in standby ignores
 * reports, gives no orders and refuses all commands except "ping", "peer" and "status". The link
 * controller.active beside the socket tells commands which controller leads.
 */
#include "sluiced/controller/controller.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/daemon.h"
#include "base/listen.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/units.h"
#include "sluiced/controller/brain.h"
#include "sluiced/controller/credential.h"
#include "sluiced/controller/peer.h"
#include "sluiced/controller/standby.h"
#include "sluiced/controller/status.h"

#define SETTLE_NS   INT64_C(500000000) /* nodes that have lost the one before try every 200 ms */
#define EVENTS	    512
#define COMPLAIN_NS INT64_C(1000000000)
#define COMPLAINTS  20

struct controller {
	struct brain brain;
	struct brain_config config; /* with which it leads */
	struct standby other;
	struct standby_news news; /* of the other one */
	bool leads;
	uint64_t noted;		     /* its term as the link was written */
	bool waits;		     /* for the other one, which is to lead first */
	char policy[STANDBY_POLICY]; /* of the other one, that it leads with */
	struct sl_daemon daemon;
	const char *curves, *periods; /* files */
	char secret[SL_SECRET_BYTES];
	int unix_fd, tcp_fd, stop_fd;
	struct peers peers;
	struct credentials credentials;
	sl_time complained; /* of those that were refused: since then, so many */
	unsigned complaints;
	struct peer **peer_of; /* by the number of a node; NULL: it is not connected */
	uint32_t peer_room;
	sl_time tick; /* peers are looked at */
	int timer_fd;
	sl_time armed; /* the timer, for then */
	FILE *orders;  /* a stream into text */
	char *text;
	size_t length;
	sl_time started;
};

static sl_time now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (sl_time)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- peers ---- */

static struct controller *controller_of(const struct peer *p)
{
	return p->all->owner;
}

/* All orders are written to the same memory. */
static int send_orders(struct peer *p)
{
	struct controller *c = controller_of(p);

	if (!c->orders)
		c->orders = open_memstream(&c->text, &c->length);
	if (!c->orders)
		return -ENOMEM;
	rewind(c->orders);
	brain_orders(&c->brain, (uint32_t)p->node, now_ns(), c->orders);
	p->late = false;
	if (fflush(c->orders))
		return -ENOMEM;
	return peer_reply(p, NULL, 0, c->text, c->length);
}

static void hang_up(struct controller *c, struct peer *p, const char *why)
{
	if (p->node >= 0) {
		log_info("ionode=%s gone: %s", c->brain.node[p->node]->name, why);
		/* On this machine the end of a connection is the end of a process. */
		brain_node_gone(&c->brain, (uint32_t)p->node, p->unix_socket, now_ns());
		c->peer_of[p->node] = NULL;
	}
	peer_free(p);
}

/*
 * Assign the peer to the node; an older peer means that the node reconnected before the end of the
 * old connection was noticed.
 */
static int remember(struct controller *c, struct peer *p, uint32_t node)
{
	if (node >= c->peer_room) {
		uint32_t room = c->peer_room ? c->peer_room : 64;
		struct peer **more;

		while (room <= node)
			room *= 2;
		more = realloc(c->peer_of, room * sizeof(struct peer *));
		if (!more)
			return -ENOMEM;
		memset(more + c->peer_room, 0, (room - c->peer_room) * sizeof(struct peer *));
		c->peer_of = more;
		c->peer_room = room;
	}
	if (c->peer_of[node])
		c->peer_of[node]->node = -1;
	c->peer_of[node] = p;
	p->node = (int)node;
	return 0;
}

static int on_report(struct peer *p, char *text)
{
	static const char taken[] = "another I/O node has its name: give it one with --name";
	static const char many[] = "there is no room for another I/O node";
	struct controller *c = controller_of(p);
	struct brain *b = &c->brain;
	int node;

	p->ionode = true;
	if (!controller_of(p)->leads)
		return 0;
	node = brain_report(b, text, now_ns());
	if (node == -EEXIST)
		peer_reply(p, NULL, EEXIST, taken, sizeof(taken) - 1);
	if (node == -ENOSPC)
		peer_reply(p, NULL, ENOSPC, many, sizeof(many) - 1);
	if (node < 0)
		return node;
	if (p->node == node)
		return 0;
	log_info("ionode=%s socket=%s", b->node[node]->name, b->node[node]->socket);
	if (p->node >= 0 || remember(c, p, (uint32_t)node))
		return -EPROTO; /* it has another name now */
	brain_whole(b, (uint32_t)node);
	return 0;
}

/* ---- who leads ---- */

/* The link beside the socket says who leads. */
static void note_lead(struct controller *c)
{
	const char *slash = strrchr(c->daemon.socket, '/');
	char at[300], fresh[320];

	c->noted = c->brain.term;
	if (!slash)
		return;
	snprintf(at, sizeof(at), "%.*s/controller.active",
		 (int)(slash - c->daemon.socket > 250 ? 250 : slash - c->daemon.socket),
		 c->daemon.socket);
	snprintf(fresh, sizeof(fresh), "%s.%d", at, (int)getpid());
	unlink(fresh);
	if (symlink(slash + 1, fresh) || rename(fresh, at))
		log_warn("cannot write %s: %s", at, strerror(errno));
}

/* A term above all that were seen; those of controllers that start later are higher. */
static uint64_t new_term(const struct controller *c)
{
	struct timespec t;
	uint64_t term, seen = c->news.term > c->brain.term ? c->news.term : c->brain.term;

	clock_gettime(CLOCK_REALTIME, &t);
	term = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
	return term > seen ? term : seen + 1;
}

/* The policies that the other one had, instead of those that this one was started with. */
static void inherit(struct controller *c, struct brain_config *config)
{
	char *save = NULL;

	snprintf(c->policy, sizeof(c->policy), "%s", c->news.policy);
	for (char *word = strtok_r(c->policy, " ", &save); word;
	     word = strtok_r(NULL, " ", &save)) {
		if (!strncmp(word, "grant=", 6))
			config->grant = word + 6;
		if (!strncmp(word, "allocate=", 9))
			config->allocate = word[9] ? word + 9 : NULL;
	}
	config->expect = c->news.nodes;
}

static int begin_brain(struct controller *c)
{
	struct brain_config config = c->config;
	char err[200];
	int rc;

	config.term = new_term(c);
	if (c->news.met)
		inherit(c, &config);
	brain_free(&c->brain);
	rc = brain_init(&c->brain, &config, now_ns(), err, sizeof(err));
	if (rc)
		log_error("%s", err);
	if (!rc && c->curves && (rc = curves_load(&c->brain.curves, c->curves)) && rc != -ENOENT)
		log_warn("curves=%s cannot be read: %s", c->curves, strerror(-rc));
	if (c->periods && !runs_begin(&c->brain.runs) &&
	    (rc = runs_load(&c->brain.runs, c->periods)) && rc != -ENOENT)
		log_warn("periods=%s cannot be read: %s", c->periods, strerror(-rc));
	return 0;
}

/* They are nodes of another brain. */
static void forget_peers(struct controller *c)
{
	for (struct peer *p = c->peers.first; p; p = p->next)
		p->node = -1;
	if (c->peer_room)
		memset(c->peer_of, 0, c->peer_room * sizeof(struct peer *));
}

/* Begin to lead: notify all connected nodes, which then report. */
static void lead(struct controller *c)
{
	begin_brain(c);
	c->leads = true;
	c->waits = false;
	forget_peers(c);
	note_lead(c);
	for (struct peer *p = c->peers.first; p; p = p->next) {
		char line[128];

		if (p->ionode && peer_reply(p, NULL, 0, line, brain_greeting(&c->brain, line)))
			shutdown(p->sock, SHUT_RDWR); /* the loop finds out */
	}
	log_info("controller leads term=%llu", (unsigned long long)c->brain.term);
}

/* Another controller has a higher term. */
static void replaced(struct controller *c, uint64_t term)
{
	if (!c->leads || term <= c->brain.term)
		return;
	log_info("controller term=%llu is replaced by term=%llu: in standby",
		 (unsigned long long)c->brain.term, (unsigned long long)term);
	c->leads = false;
	c->news.term = term;
	forget_peers(c);
}

/* What the other one has said, or that it does not any more. */
static void look_at_other(struct controller *c)
{
	standby_look(&c->other, &c->news);
	if (c->leads && c->news.leads)
		replaced(c, c->news.term);
	else if (!c->leads && c->news.lost)
		lead(c);
	else if (c->news.met && c->news.leads)
		c->waits = false;
	else if (!c->leads && c->news.met && !c->waits)
		lead(c); /* neither does: it has just been started */
}

static int on_peer_asks(struct peer *p, const struct sl_frame *f)
{
	const struct controller *c = controller_of(p);
	struct standby_news own = { .leads = c->leads,
				    .term = c->leads ? c->brain.term : c->news.term,
				    .nodes = c->leads ? brain_up(&c->brain) : 0 };
	char text[STANDBY_POLICY + 100];

	if (c->leads)
		snprintf(own.policy, sizeof(own.policy), "grant=%.200s allocate=%.200s",
			 c->brain.policy[0] ? c->brain.policy[0] : "none",
			 c->brain.policy[1] ? c->brain.policy[1] : "");
	return peer_reply(p, f, 0, text, (size_t)standby_answer(text, sizeof(text), &own));
}

static int on_control(struct peer *p, const struct sl_frame *f, char *text)
{
	static const char report[] = "report\n", delta[] = "delta\n";
	static const char standby[] = "the other controller leads";
	char *answer = NULL;
	struct controller *c = controller_of(p);
	const char *why;
	int rc;

	if (!strncmp(text, report, sizeof(report) - 1))
		return on_report(p, text + sizeof(report) - 1);
	if (!strncmp(text, "term ", 5)) {
		replaced(c, strtoull(text + 5, NULL, 10));
		return 0;
	}
	if (!strncmp(text, delta, sizeof(delta) - 1)) {
		p->ionode = true;
		if (!c->leads || p->node < 0)
			return 0;
		return brain_delta(&c->brain, (uint32_t)p->node, text + sizeof(delta) - 1,
				   now_ns());
	}
	if (!strncmp(text, "ack ", 4)) {
		if (p->node >= 0)
			brain_ack(&c->brain, (uint32_t)p->node, strtoull(text + 4, NULL, 10));
		return 0;
	}
	if (!strcmp(text, "ping"))
		return peer_reply(p, f, 0, "pong", 4);
	if (!strcmp(text, "peer"))
		return on_peer_asks(p, f);
	if (!c->leads && strcmp(text, "status") != 0)
		return peer_reply(p, f, EAGAIN, standby, sizeof(standby) - 1);
	/* Not for nodes of other machines. */
	if (p->unix_socket && (!strcmp(text, "open") || !strcmp(text, "close"))) {
		log_info("%s: all nodes", text);
		brain_open(&c->brain, !strcmp(text, "open"));
		return peer_reply(p, f, 0, NULL, 0);
	}
	if (!strncmp(text, "map ", 4)) {
		char *save = NULL, *job = strtok_r(text + 4, " ", &save);
		const char *nodes = strtok_r(NULL, " ", &save);

		rc = job ? brain_pin(&c->brain, job, nodes ? nodes : "", now_ns()) : -EINVAL;
		why = rc == -ENOENT ? "no such job" : "no such I/O node";
		return rc ? peer_reply(p, f, -rc, why, strlen(why)) : peer_reply(p, f, 0, NULL, 0);
	}
	if (!strncmp(text, "policy ", 7)) {
		char err[200];

		rc = brain_policy(&c->brain, text + 7, now_ns(), err, sizeof(err));
		return rc ? peer_reply(p, f, -rc, err, strlen(err)) : peer_reply(p, f, 0, NULL, 0);
	}
	if (!strcmp(text, "curves")) {
		size_t length = 0;
		FILE *out = open_memstream(&answer, &length);

		if (!out)
			return -ENOMEM;
		curves_write(&c->brain.curves, out);
		fclose(out);
		rc = peer_reply(p, f, 0, answer, length);
		free(answer);
		return rc;
	}
	if (strcmp(text, "status") != 0)
		return peer_reply(p, f, EINVAL, "?", 1);
	answer = status_json(&c->brain, c->leads, now_ns(), c->started);
	rc = answer ? peer_reply(p, f, 0, answer, strlen(answer)) : -ENOMEM;
	free(answer);
	return rc;
}

/* Over TCP: the secret is that of the file, or in a credential, which is opened first. */
static int on_stranger(struct peer *p, const char *hello, const struct sl_hello *h)
{
	struct controller *c = controller_of(p);
	struct credential_asked asked = { .peer = p->number };
	int rc = peer_hello(p, hello);

	if (rc)
		return rc;
	if (!p->credential || !c->credentials.munge)
		return c->secret[0] ? peer_challenge(p, c->secret) : -EACCES;
	memcpy(asked.nonce, h->nonce, SL_NONCE_BYTES);
	snprintf(asked.text, sizeof(asked.text), "%s", p->credential);
	if ((rc = sl_munge_address(p->sock, 0, asked.address)))
		return rc;
	return credential_ask(&c->credentials, &asked) ? 0 : -EBUSY;
}

static void on_credentials(struct controller *c)
{
	struct credential_found found;

	while (credential_next(&c->credentials, &found)) {
		struct peer *p = c->peers.first;

		while (p && p->number != found.peer)
			p = p->next;
		if (!p)
			continue;
		free(p->credential);
		p->credential = NULL;
		if (now_ns() - c->complained > COMPLAIN_NS) {
			c->complained = now_ns();
			c->complaints = 0;
		}
		if (found.rc && c->complaints++ < COMPLAINTS)
			log_warn("peer refused: %s", found.why);
		if (found.rc || peer_challenge(p, found.secret))
			shutdown(p->sock, SHUT_RDWR); /* the loop finds out */
	}
	explicit_bzero(found.secret, sizeof(found.secret));
}

static int on_frame(struct peer *p, const struct sl_frame *f, char *payload)
{
	struct sl_hello h;
	int rc;

	if (f->type == SL_CREDENTIAL && !p->known && !p->greeted && !p->credential) {
		p->credential = strdup(payload);
		return p->credential ? 0 : -ENOMEM;
	}
	if (f->type == SL_HELLO) {
		rc = sl_hello_decode((unsigned char *)payload, f->length, &h);
		if (rc)
			return rc;
		if (!p->unix_socket)
			return on_stranger(p, payload, &h);
		peer_known(p);
		return peer_reply(p, f, 0, NULL, 0);
	}
	if (f->type == SL_PROOF) {
		if (!peer_proves(p, payload))
			return -EACCES;
		peer_known(p);
		return peer_reply(p, f, 0, NULL, 0);
	}
	if (f->type != SL_CONTROL || !p->known)
		return -EPROTO;
	return on_control(p, f, payload);
}

/* ---- life ---- */

/* Orders to those that have new ones, or whose lease is to be renewed; returns when to wake up. */
static sl_time give_orders(struct controller *c)
{
	sl_time now = now_ns(), wake, renews;
	int64_t node;
	int rc;

	if (!c->leads)
		return SL_NEVER;
	/*
	 * If two begin to lead at the same time, one gets the higher term, but the other one may
	 * have written the link last.
	 */
	if (c->noted != c->brain.term)
		note_lead(c);
	wake = brain_decide(&c->brain, now);
	while ((node = brain_next(&c->brain, now)) >= 0) {
		struct peer *p = node < c->peer_room ? c->peer_of[node] : NULL;

		if (!p) {
			c->brain.node[node]->ordered = now;
			continue;
		}
		/* One that has not taken the last ones gets these when it has. */
		p->late = true;
		if (peer_waits(p))
			c->brain.node[node]->ordered = now;
		else if ((rc = send_orders(p)))
			hang_up(c, p, strerror(-rc));
	}
	if (c->curves && c->brain.curves.changed &&
	    (rc = curves_save(&c->brain.curves, c->curves))) {
		log_warn("curves=%s cannot be kept: %s", c->curves, strerror(-rc));
		c->curves = NULL;
	}
	if (c->periods && c->brain.runs.changed && (rc = runs_save(&c->brain.runs, c->periods))) {
		log_warn("periods=%s cannot be kept: %s", c->periods, strerror(-rc));
		c->periods = NULL;
	}
	renews = brain_renews(&c->brain);
	return wake < renews ? wake : renews;
}

/* Returns when to look again. */
static sl_time look_at_peers(struct controller *c)
{
	sl_time now = now_ns();
	struct peer *next;

	if (now < c->tick)
		return c->tick;
	c->tick = now + PEER_TICK_NS;
	for (struct peer *p = c->peers.first; p; p = next) {
		const char *why = peer_tick(p);

		next = p->next;
		if (why)
			hang_up(c, p, why);
	}
	return c->tick;
}

static int on_peer(struct peer *p, uint32_t events)
{
	int rc = events & EPOLLOUT ? peer_output(p) : 0;

	if (!rc && p->late && p->node >= 0 && !peer_waits(p))
		rc = send_orders(p);
	if (!rc && events & ~(uint32_t)EPOLLOUT)
		rc = peer_input(p, on_frame);
	return rc;
}

/*
 * Wake up at that time, or before. A timeout of epoll_wait() would set a timer of the kernel for each report (.6 to
 * .9 us in a loop of epoll_wait() and recv()); most reports change nothing about when to wake up.
 */
static void wake_at(struct controller *c, sl_time wake)
{
	struct itimerspec at = { .it_value = { wake / 1000000000, wake % 1000000000 } };

	if (wake >= c->armed)
		return;
	c->armed = wake;
	timerfd_settime(c->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void on_timer(struct controller *c)
{
	uint64_t times;

	c->armed = SL_NEVER;
	while (read(c->timer_fd, &times, sizeof(times)) < 0 && errno == EINTR)
		;
}

static int serve(struct controller *c)
{
	struct epoll_event ev[EVENTS];

	for (;;) {
		sl_time look = look_at_peers(c), orders = give_orders(c);
		int count;

		wake_at(c, look < orders ? look : orders);
		count = epoll_wait(c->peers.epoll_fd, ev, EVENTS, -1);

		for (int i = 0; i < count; i++) {
			void *what = ev[i].data.ptr;
			struct peer *p = what;
			int rc;

			if (what == &c->stop_fd) {
				enum sl_daemon_told told = sl_daemon_told(c->stop_fd);

				if (told == SL_DAEMON_END)
					return 0;
				if (told == SL_DAEMON_RELOAD)
					log_info("SIGHUP: nothing to reload");
				continue;
			}
			if (what == &c->timer_fd) {
				on_timer(c);
				continue;
			}
			if (what == &c->credentials.fd) {
				on_credentials(c);
				continue;
			}
			if (what == &c->other.event_fd) {
				look_at_other(c);
				continue;
			}
			if (what == &c->unix_fd || what == &c->tcp_fd) {
				peer_accept(&c->peers, *(int *)what, what == &c->unix_fd);
				continue;
			}
			rc = on_peer(p, ev[i].events);
			if (rc)
				hang_up(c, p, strerror(-rc));
		}
	}
}

static int watch(struct controller *c, int *fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = fd };

	return *fd < 0 ? *fd : epoll_ctl(c->peers.epoll_fd, EPOLL_CTL_ADD, *fd, &ev) ? -errno : 0;
}

static int run(struct controller *c)
{
	struct sl_daemon *d = &c->daemon;
	char name[64];
	int rc;

	c->started = now_ns();
	c->peers.owner = c;
	sl_daemon_files();
	c->peers.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->stop_fd = sl_daemon_signals();
	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	c->armed = SL_NEVER;
	c->unix_fd = sl_daemon_listen(d);
	if (c->unix_fd < 0)
		return c->unix_fd;
	if ((rc = watch(c, &c->stop_fd)) || (rc = watch(c, &c->unix_fd)) ||
	    (rc = watch(c, &c->timer_fd)))
		return rc;
	c->credentials.munge = d->listen ? d->munge : NULL;
	if (c->credentials.munge &&
	    ((rc = credential_start(&c->credentials)) || (rc = watch(c, &c->credentials.fd))))
		return rc;
	if (d->listen) {
		c->tcp_fd = listen_tcp(d->listen, name);
		rc = c->tcp_fd < 0 ? c->tcp_fd : watch(c, &c->tcp_fd);
		if (rc)
			return sl_daemon_deaf(d->listen, rc);
		log_info("controller listen=%s", name);
	}
	if (c->other.peer) {
		c->other.proof = (struct dial_proof){ d->secret_file, d->munge };
		if ((rc = standby_start(&c->other)) || (rc = watch(c, &c->other.event_fd)))
			return rc;
	} else {
		lead(c);
	}
	log_info("controller socket=%s ready", d->socket);
	sl_daemon_ready(d);
	rc = serve(c);
	standby_stop(&c->other);
	credential_stop(&c->credentials);
	sl_daemon_unlisten(d);
	while (c->peers.first)
		hang_up(c, c->peers.first, "the controller stops");
	free(c->peer_of);
	if (c->orders)
		fclose(c->orders);
	free(c->text);
	log_info("controller stopped");
	return rc;
}

static const char cmd[] = "sluiced controller";

int controller_main(int argc, char **argv)
{
	enum { CAPACITY = 256, PROC, GAP, COMPUTE };
	static struct controller controller; /* the brain is large */
	struct controller *c = &controller;
	struct brain_config config = { .gap_ns = 1000000000, .settle_ns = SETTLE_NS };
	const struct cli_option options[] = {
		SL_DAEMON_OPTIONS(&c->daemon),
		{ "allocate", 0, "SPEC", .text = &config.allocate,
		  .help = "how many I/O nodes a job gets: 'sluice policy list allocate'" },
		{ "grant", 0, "SPEC", .text = &config.grant,
		  .help = "who may do I/O when: 'sluice policy list grant'" },
		{ "capacity", CAPACITY, "RATE",
		  .help = "of all I/O nodes together (the sum of theirs)" },
		{ "per-proc", PROC, "RATE", .help = "what one process of a job can use (all)" },
		{ "gap", GAP, "TIME", .help = "without I/O, that ends a phase (1s)" },
		{ "direct", .flag = &config.direct, .help = "jobs may do without I/O nodes" },
		{ "compute-nodes", COMPUTE, "N",
		  .help = "of the machine, for allocate=static (those of the jobs)" },
		{ "peer", 0, "ADDR", .text = &c->other.peer,
		  .help = "the other controller: PATH or HOST:PORT; one of the two leads" },
		{ "standby", .flag = &c->waits,
		  .help = "let the other one lead if both are just started" },
		{ "curves", 0, "FILE", .text = &c->curves,
		  .help = "keep what bandwidth jobs reach with how many I/O nodes" },
		{ "periods", 0, "FILE", .text = &c->periods,
		  .help = "keep the periods of jobs, for their next runs" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = "sluiced controller --socket PATH [OPTION]...",
		.about = "The controller of a layer with several I/O nodes. 'sluice up --ionodes "
			 "N' starts it.",
		.options = options,
		.more = "Manual: sluiced(8).",
	};
	const char *wrong;
	int o, rc;
	char err[200];

	c->daemon.ready_fd = -1;
	while ((o = cli_next(&command, argc, argv)) > CLI_USAGE) {
		switch (o) {
		case CAPACITY:
		case PROC:
			if (sl_parse_rate(optarg,
					  o == PROC ? &config.per_proc_bps : &config.capacity_bps))
				return cli_usage(cmd, "not a rate: '%s'.", optarg);
			break;
		case GAP:
			if (sl_parse_time(optarg, &config.gap_ns) || config.gap_ns <= 0)
				return cli_usage(cmd, "--gap: not a time: '%s'.", optarg);
			break;
		case COMPUTE:
			config.compute_nodes = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		default:
			if ((wrong = sl_daemon_option(&c->daemon, o, optarg)))
				return cli_usage(cmd, "%s '%s'.", wrong, optarg);
		}
	}
	if (o)
		return cli_end(o);
	if ((wrong = sl_daemon_missing(&c->daemon)) ||
	    (wrong = c->waits && !c->other.peer ? "--peer" : NULL))
		return cli_usage(cmd, "missing option '%s'.", wrong);
	if (c->daemon.secret_file && sl_daemon_secret(&c->daemon, c->secret))
		return 1;
	/* Check the policies now, instead of when they are needed. */
	rc = brain_init(&c->brain, &config, now_ns(), err, sizeof(err));
	if (rc) {
		fprintf(stderr, "sluiced: %s\n", err);
		return 2;
	}
	c->config = config;
	rc = run(c);
	brain_free(&c->brain);
	return rc ? 1 : 0;
}
