/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluiced controller`: the sockets around the brain.
 *
 * I/O nodes connect, say HELLO as the job "@ionode", and send their reports as CONTROL frames that
 * begin with the line "report"; orders come as REPLY frames, whenever there are new ones and at
 * least every RENEW_NS, since what is in them is leased. "ack NUMBER" says that the order of that
 * number is in force. The commands ask with other CONTROL
 * lines: "status", "ping", "curves", "map JOB NODES", "policy STAGE=SPEC…". One thread, epoll;
 * peer.c says how peers are kept from holding anybody up. A node that has not taken the orders
 * before gets no others until then: they are whole, so that the newest are enough.
 *
 * The controller keeps nothing that it could not learn again: see brain.h. Over Unix sockets only
 * its own user may connect; over TCP a peer has to know the secret.
 */
#include "sluiced/controller/controller.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/daemon.h"
#include "base/listen.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/units.h"
#include "sluiced/controller/brain.h"
#include "sluiced/controller/peer.h"
#include "sluiced/controller/status.h"

#define SETTLE_NS INT64_C(500000000)  /* nodes that have lost the one before try every 200 ms */
#define RENEW_NS  INT64_C(1000000000) /* a quarter of a lease */

struct controller {
	struct brain brain;
	struct sl_daemon daemon;
	const char *curves;
	char secret[SL_SECRET_BYTES];
	int unix_fd, tcp_fd, stop_fd;
	struct peers peers;
	uint64_t sent_epoch;
	sl_time renew; /* orders go out again at this time */
	sl_time tick;  /* peers are looked at */
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

static int send_orders(struct peer *p)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);
	int rc = -ENOMEM;

	if (!f)
		return rc;
	brain_orders(&controller_of(p)->brain, (uint32_t)p->node, f);
	controller_of(p)->brain.node[p->node].news = false;
	p->late = false;
	if (fclose(f) == 0)
		rc = peer_reply(p, NULL, 0, text, length);
	free(text);
	return rc;
}

static void hang_up(struct controller *c, struct peer *p, const char *why)
{
	if (p->node >= 0) {
		log_info("ionode=%s gone: %s", c->brain.node[p->node].name, why);
		brain_node_gone(&c->brain, (uint32_t)p->node, now_ns());
	}
	peer_free(p);
}

static int on_report(struct peer *p, char *text)
{
	static const char taken[] = "another I/O node has its name: give it one with --name";
	static const char many[] = "there are as many I/O nodes as a controller can have";
	struct brain *b = &controller_of(p)->brain;
	int node = brain_report(b, text, now_ns());

	if (node == -EEXIST)
		peer_reply(p, NULL, EEXIST, taken, sizeof(taken) - 1);
	if (node == -ENOSPC)
		peer_reply(p, NULL, ENOSPC, many, sizeof(many) - 1);
	if (node < 0)
		return node;
	if (p->node < 0)
		log_info("ionode=%s socket=%s", b->node[node].name, b->node[node].socket);
	/* It has come back before the end of its last connection was seen. */
	for (struct peer *q = p->all->first; q; q = q->next)
		if (q != p && q->node == node)
			q->node = -1;
	p->node = node;
	return 0;
}

static int on_control(struct peer *p, const struct sl_frame *f, char *text)
{
	static const char report[] = "report\n";
	char *answer = NULL;
	struct controller *c = controller_of(p);
	const char *why;
	int rc;

	if (!strncmp(text, report, sizeof(report) - 1))
		return on_report(p, text + sizeof(report) - 1);
	if (!strncmp(text, "ack ", 4)) {
		if (p->node >= 0)
			brain_ack(&c->brain, (uint32_t)p->node, strtoull(text + 4, NULL, 10));
		return 0;
	}
	if (!strcmp(text, "ping"))
		return peer_reply(p, f, 0, "pong", 4);
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
	answer = status_json(&c->brain, now_ns(), c->started);
	rc = answer ? peer_reply(p, f, 0, answer, strlen(answer)) : -ENOMEM;
	free(answer);
	return rc;
}

static int on_frame(struct peer *p, const struct sl_frame *f, char *payload)
{
	struct sl_hello h;
	int rc;

	if (f->type == SL_HELLO) {
		rc = sl_hello_decode((unsigned char *)payload, f->length, &h);
		if (rc)
			return rc;
		if (!p->unix_socket)
			return peer_challenge(p, f, payload, controller_of(p)->secret);
		peer_known(p);
		return peer_reply(p, f, 0, NULL, 0);
	}
	if (f->type == SL_PROOF) {
		if (!peer_proves(p, payload, controller_of(p)->secret))
			return -EACCES;
		peer_known(p);
		return peer_reply(p, f, 0, NULL, 0);
	}
	if (f->type != SL_CONTROL || !p->known)
		return -EPROTO;
	return on_control(p, f, payload);
}

/* ---- life ---- */

/* Orders to all nodes, if there are new ones or it is time; returns when to wake up. */
static sl_time give_orders(struct controller *c)
{
	sl_time now = now_ns(), wake = brain_decide(&c->brain, now);
	bool all = c->brain.epoch != c->sent_epoch || now >= c->renew;
	struct peer *next;
	int rc;

	if (all || c->brain.shifted) {
		c->brain.shifted = false;
		for (struct peer *p = c->peers.first; p; p = next) {
			next = p->next;
			if (p->node >= 0)
				p->late |= all || c->brain.node[p->node].news;
			if (p->late && !peer_waits(p) && (rc = send_orders(p)))
				hang_up(c, p, strerror(-rc));
		}
	}
	if (all) {
		if (c->curves && c->brain.curves.changed &&
		    (rc = curves_save(&c->brain.curves, c->curves))) {
			log_warn("curves=%s cannot be kept: %s", c->curves, strerror(-rc));
			c->curves = NULL;
		}
		c->sent_epoch = c->brain.epoch;
		c->renew = now + RENEW_NS;
	}
	return wake < c->renew ? wake : c->renew;
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

	if (!rc && p->late && !peer_waits(p))
		rc = send_orders(p);
	if (!rc && events & ~(uint32_t)EPOLLOUT)
		rc = peer_input(p, on_frame);
	return rc;
}

static int serve(struct controller *c)
{
	struct epoll_event ev[64];

	for (;;) {
		sl_time look = look_at_peers(c), orders = give_orders(c), now = now_ns();
		sl_time wake = look < orders ? look : orders;
		int wait = wake <= now ? 0 : (int)((wake - now) / 1000000 + 1);
		int count = epoll_wait(c->peers.epoll_fd, ev, 64, wait);

		for (int i = 0; i < count; i++) {
			void *what = ev[i].data.ptr;
			struct peer *p = what;
			int rc;

			if (what == &c->stop_fd) {
				if (sl_daemon_ends(c->stop_fd))
					return 0;
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
	c->peers.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->stop_fd = sl_daemon_signals();
	c->unix_fd = sl_daemon_listen(d);
	if (c->unix_fd < 0)
		return c->unix_fd;
	if ((rc = watch(c, &c->stop_fd)) || (rc = watch(c, &c->unix_fd)))
		return rc;
	if (d->listen) {
		c->tcp_fd = listen_tcp(d->listen, name);
		rc = c->tcp_fd < 0 ? c->tcp_fd : watch(c, &c->tcp_fd);
		if (rc)
			return sl_daemon_deaf(d->listen, rc);
		log_info("controller listen=%s", name);
	}
	log_info("controller socket=%s ready", d->socket);
	sl_daemon_ready(d);
	rc = serve(c);
	unlink(d->socket);
	while (c->peers.first)
		hang_up(c, c->peers.first, "the controller stops");
	log_info("controller stopped");
	return rc;
}

static int usage(const char *problem, const char *what)
{
	if (problem) {
		fprintf(stderr, "sluiced: %s '%s'. See 'sluiced controller --help'.\n", problem,
			what);
		return 2;
	}
	puts("usage: sluiced controller --socket PATH [OPTIONS]\n"
	     "\n"
	     "The controller of a layer with several I/O nodes. 'sluice up --ionodes N' starts "
	     "it.\n"
	     "\n"
	     "  --socket PATH        where I/O nodes and commands connect\n"
	     "  --listen HOST:PORT   I/O nodes of other machines too, over TCP\n"
	     "  --secret-file FILE   what they have to know; a line in a file with mode 0600\n"
	     "  --allocate SPEC      how many I/O nodes a job gets: 'sluice policy list allocate'\n"
	     "  --grant SPEC         who may do I/O when: 'sluice policy list grant'\n"
	     "  --capacity RATE      of all I/O nodes together (the sum of theirs)\n"
	     "  --per-proc RATE      what one process of a job can use (all)\n"
	     "  --gap TIME           without I/O, that ends a phase (1s)\n"
	     "  --direct             jobs may do without I/O nodes\n"
	     "  --compute-nodes N    of the machine, for allocate=static (those of the jobs)\n"
	     "  --curves FILE        keep what bandwidth jobs reach with how many I/O nodes\n"
	     "  --log LEVEL          error, warn, info (default) or debug\n"
	     "  --ready-fd N         write a byte to this descriptor when it is ready");
	return 0;
}

int controller_main(int argc, char **argv)
{
	enum { ALLOCATE = 256, GRANT, CAPACITY, PROC, GAP, DIRECT, COMPUTE, CURVES, HELP };
	static const struct option options[] = {
		SL_DAEMON_OPTIONS,
		{ "allocate", 1, 0, ALLOCATE },
		{ "grant", 1, 0, GRANT },
		{ "capacity", 1, 0, CAPACITY },
		{ "per-proc", 1, 0, PROC },
		{ "gap", 1, 0, GAP },
		{ "direct", 0, 0, DIRECT },
		{ "compute-nodes", 1, 0, COMPUTE },
		{ "curves", 1, 0, CURVES },
		{ "help", 0, 0, HELP },
		{ 0 },
	};
	static struct controller controller; /* the brain is large */
	struct controller *c = &controller;
	struct brain_config config = { .gap_ns = 1000000000, .settle_ns = SETTLE_NS };
	struct timespec start;
	const char *wrong;
	int o, rc;
	char err[200];

	c->daemon.ready_fd = -1;
	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case ALLOCATE:
			config.allocate = optarg;
			break;
		case GRANT:
			config.grant = optarg;
			break;
		case CAPACITY:
			if (sl_parse_rate(optarg, &config.capacity_bps))
				return usage("not a rate:", optarg);
			break;
		case PROC:
			if (sl_parse_rate(optarg, &config.per_proc_bps))
				return usage("not a rate:", optarg);
			break;
		case GAP:
			if (sl_parse_time(optarg, &config.gap_ns) || config.gap_ns <= 0)
				return usage("not a time:", optarg);
			break;
		case DIRECT:
			config.direct = true;
			break;
		case COMPUTE:
			config.compute_nodes = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case CURVES:
			c->curves = optarg;
			break;
		case HELP:
			return usage(NULL, NULL);
		case '?':
			return 2;
		default:
			if ((wrong = sl_daemon_option(&c->daemon, o, optarg)))
				return usage(wrong, optarg);
		}
	}
	if (optind < argc)
		return usage("unknown argument", argv[optind]);
	if ((wrong = sl_daemon_missing(&c->daemon)))
		return usage("missing option", wrong);
	if (c->daemon.secret_file && sl_daemon_secret(&c->daemon, c->secret))
		return 1;
	clock_gettime(CLOCK_REALTIME, &start); /* later ones have a higher term */
	config.term = (uint64_t)start.tv_sec * 1000000 + (uint64_t)start.tv_nsec / 1000;
	rc = brain_init(&c->brain, &config, now_ns(), err, sizeof(err));
	if (rc) {
		fprintf(stderr, "sluiced: %s\n", err);
		return 2;
	}
	if (c->curves && (rc = curves_load(&c->brain.curves, c->curves)) && rc != -ENOENT)
		fprintf(stderr, "sluiced: cannot read %s: %s\n", c->curves, strerror(-rc));
	rc = run(c);
	brain_free(&c->brain);
	return rc ? 1 : 0;
}
