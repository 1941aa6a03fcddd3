/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients over TCP: the thread that owns their connections.
 *
 * One thread, epoll, nothing blocks: it copies payload between sockets and buffers, and must not
 * delay the greetings of clients on this machine, nor be delayed by a file system. Requests go to
 * the scheduler and are executed by the workers; what else may take long is an errand.
 *
 * Memory is bounded. A frame takes one of its peer's slots, and one of the buffers of all if it
 * needs one, before its payload is received, and keeps them until its reply has been sent. If
 * there is none, the peer is not read from until there is: TCP then tells it to wait. How many
 * buffers one peer may hold depends on how many are free (the dynamic threshold of Choudhury and
 * Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM Trans.
 * Networking 6(2), 1998): an eighth of them, at least 1, at most 16. Example: with 256 free a peer
 * may hold 16; when 200 peers are busy and 10 are free, 1. So peers that do not take their
 * replies cannot get hold of all buffers before there are some forty of them, and then:
 *
 * Time is bounded. A stranger has 10 s for its HELLO; a frame has to arrive, and a reply to be
 * taken, within 30 s from its first byte on. A peer that is slower is hung up on. One whose machine
 * is gone costs no more than memory, until the kernel's keepalive finds out: what it has asked for
 * is not executed after its lease (fence.c).
 *
 * All of it is O(1) for each frame; a second's tick looks at all peers once.
 */
#include "sluiced/ionode/tcp/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/listen.h"
#include "base/log.h"
#include "sluiced/ionode/fence.h"
#include "sluiced/ionode/trace.h"

#define SECOND	     INT64_C(1000000000)
#define HELLO_NS     (10 * SECOND)
#define FRAME_NS     (30 * SECOND)
#define ENDING_NS    (2 * SECOND)
#define FLUSH_NS     SECOND /* when the node stops */
#define LOG_PER_TICK 20

_Static_assert(TCP_SLOTS <= SL_SHM_SLOTS, "a slot has its request in struct client");

/* ---- slots ---- */

static void peer_free(struct tcp *t, struct tcp_peer *p)
{
	if (p->client) { /* the socket goes with it */
		pthread_mutex_lock(&t->node->lock);
		p->client->gone = true;
		if (!p->client->busy) /* else some of its files are just being closed */
			client_release(t->node, p->client);
		pthread_mutex_unlock(&t->node->lock);
	} else {
		close(p->sock);
	}
	free(p);
}

void tcp_slot_free(struct tcp *t, struct tcp_slot *s)
{
	struct tcp_peer *p = s->peer;

	if (s->buffer) {
		t->buffer[t->buffers++] = s->buffer;
		p->buffers--;
	}
	free(s->text);
	s->buffer = NULL;
	s->text = NULL;
	s->used = false;
	p->used--;
	t->freed = true;
}

void tcp_done(struct tcp *t, struct tcp_slot *s)
{
	const uint64_t one = 1;

	s->where = TCP_DONE;
	s->next = t->done;
	t->done = s;
	if (!s->next && write(t->event_fd, &one, sizeof(one)) < 0)
		log_error("tcp: cannot wake up: %s", strerror(errno));
}

/* ---- departures ---- */

/* What waits in the scheduler is cancelled; what is elsewhere comes back by `done`. */
static void recall(struct tcp *t, struct tcp_peer *p)
{
	struct node *n = t->node;

	pthread_mutex_lock(&n->lock);
	for (uint32_t i = 0; i < TCP_SLOTS; i++) {
		struct tcp_slot *s = &p->slot[i];
		struct node_io *io = &p->client->io[i];

		if (!s->used || s->where != TCP_INSIDE || node_cancel(n, io, node_now()))
			continue;
		client_file_put(n, io->file);
		p->client->busy--;
		tcp_slot_free(t, s);
	}
	node_unlock(n);
	node_wake_one(n); /* what was behind the cancelled ones may go */
}

void tcp_log_refused(struct tcp_peer *p, const char *why)
{
	if (p->tcp->logged++ < LOG_PER_TICK)
		log_warn("tcp=%s refused: %s", p->name, why);
	else
		p->tcp->unlogged++;
}

static void hang_up(struct tcp *t, struct tcp_peer *p, int error)
{
	/* A peer is freed only after it has left its list. */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	if (p->client)
		log_info("tcp=%s pid=%u disconnected%s%s", p->name, p->client->pid,
			 error == -ECONNRESET ? "" : ": ",
			 error == -ECONNRESET ? "" : strerror(-error));
	else if (error != -ECONNRESET && !p->ending)
		tcp_log_refused(p, strerror(-error));
	*(p->client ? &t->peers_count : &t->strangers_count) -= 1;
	epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, p->sock, NULL);
	p->gone = true; /* closed when nothing that it asked for can still happen */
	sl_list_remove(&p->link);
	if (p->paused)
		sl_list_remove(&p->waiting);
	if (p->client) {
		fence_cut(p->client);
		recall(t, p);
	}
	for (struct tcp_slot *s = p->out, *next; s; s = next) {
		next = s->next;
		tcp_slot_free(t, s);
	}
	p->out = NULL;
	if (p->receiving)
		tcp_slot_free(t, p->receiving);
	if (p->used == 0 && !p->to_flush)
		peer_free(t, p);
}

/* ---- events ---- */

static void on_done(struct tcp *t)
{
	struct tcp_slot *s, *next, *in_order = NULL;
	struct tcp_peer *p;
	uint64_t count;

	if (read(t->event_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		log_error("tcp: %s", strerror(errno));
	pthread_mutex_lock(&t->node->lock);
	s = t->done;
	t->done = NULL;
	pthread_mutex_unlock(&t->node->lock);
	for (; s; s = next) {
		next = s->next;
		s->next = in_order;
		in_order = s;
	}
	for (s = in_order; s; s = next) {
		next = s->next;
		p = s->peer;
		if (p->gone)
			tcp_slot_free(t, s);
		else
			tcp_reply(s, s->result, NULL);
		if (!p->to_flush) {
			p->to_flush = true;
			p->next = t->to_flush;
			t->to_flush = p;
		}
	}
	while ((p = t->to_flush)) {
		int rc;

		t->to_flush = p->next;
		p->to_flush = false;
		if (p->gone && p->used == 0)
			peer_free(t, p);
		else if (!p->gone && (rc = tcp_flush(t, p)))
			hang_up(t, p, rc);
	}
}

/* Slots or buffers have become free: let those go on that waited, in their order. */
static void resume(struct tcp *t)
{
	struct sl_list turn;

	t->freed = false;
	sl_list_init(&turn);
	while (!sl_list_empty(&t->waiting)) {
		struct sl_list *l = t->waiting.next;

		sl_list_remove(l);
		sl_list_push_back(&turn, l);
	}
	while (!sl_list_empty(&turn)) {
		struct tcp_peer *p = sl_container(turn.next, struct tcp_peer, waiting);
		int rc;

		sl_list_remove(&p->waiting);
		p->paused = false;
		p->since = node_now();
		if ((rc = tcp_input(t, p)))
			hang_up(t, p, rc);
	}
}

/* So that we hear of a client whose machine has gone. */
static void set_options(int sock)
{
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	setsockopt(sock, SOL_SOCKET, SO_KEEPALIVE, &(int){ 1 }, sizeof(int));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPIDLE, &(int){ 5 }, sizeof(int));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPINTVL, &(int){ 3 }, sizeof(int));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPCNT, &(int){ 3 }, sizeof(int));
}

static bool drop_a_stranger(struct tcp *t)
{
	if (sl_list_empty(&t->strangers))
		return false;
	hang_up(t, sl_container(t->strangers.next, struct tcp_peer, link), -EUSERS);
	return true;
}

static void listen_again(struct tcp *t, bool on)
{
	struct epoll_event ev = { .events = on ? EPOLLIN : 0U, .data.ptr = &t->listen_fd };

	t->full = !on;
	epoll_ctl(t->epoll_fd, EPOLL_CTL_MOD, t->listen_fd, &ev);
}

static void on_accept(struct tcp *t)
{
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP };
	struct tcp_peer *p;
	int sock;

	if (t->strangers_count >= TCP_STRANGERS)
		drop_a_stranger(t);
	if (t->strangers_count + t->peers_count >= TCP_PEERS && !drop_a_stranger(t)) {
		listen_again(t, false);
		return;
	}
	sock = accept4(t->listen_fd, (struct sockaddr *)&from, &length,
		       SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (sock < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			listen_again(t, false);
		return;
	}
	p = calloc(1, sizeof(*p));
	if (!p) {
		close(sock);
		return;
	}
	set_options(sock);
	listen_name((struct sockaddr *)&from, length, p->name);
	p->tcp = t;
	p->sock = sock;
	p->events = EPOLLIN | EPOLLRDHUP;
	p->out_end = &p->out;
	p->since = node_now();
	for (unsigned i = 0; i < TCP_SLOTS; i++)
		p->slot[i].peer = p;
	sl_list_push_back(&t->strangers, &p->link);
	t->strangers_count++;
	ev.data.ptr = p;
	if (epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, sock, &ev))
		hang_up(t, p, -errno);
}

static void tick_list(struct tcp *t, struct sl_list *list, sl_time patience, sl_time now)
{
	for (struct sl_list *l = list->next, *next; l != list; l = next) {
		struct tcp_peer *p = sl_container(l, struct tcp_peer, link);
		bool in = !p->client || p->have || p->receiving;

		next = l->next;
		if ((in && !p->paused && now - p->since > (p->ending ? ENDING_NS : patience)) ||
		    (p->out && now - p->out_since > FRAME_NS))
			hang_up(t, p, -ETIMEDOUT);
	}
}

static void tick(struct tcp *t)
{
	sl_time now = node_now();

	tcp_errands_tick(t);
	tick_list(t, &t->strangers, HELLO_NS, now);
	tick_list(t, &t->peers, FRAME_NS, now);
	if (t->unlogged)
		log_warn("tcp: %u more refused", t->unlogged);
	t->logged = t->unlogged = 0;
	if (t->full)
		listen_again(t, true);
}

static void stop_reading(struct tcp *t)
{
	t->reading = false;
	epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, t->listen_fd, NULL);
	for (struct sl_list *l = t->peers.next; l != &t->peers; l = l->next)
		tcp_watch(t, sl_container(l, struct tcp_peer, link));
	while (drop_a_stranger(t))
		;
	atomic_store(&t->quiet, true);
}

/* Something that it has sent is, or has been, carried out, and not answered. */
static bool owed(struct tcp *t, const struct tcp_peer *p)
{
	bool some = p->out;

	pthread_mutex_lock(&t->node->lock);
	for (unsigned i = 0; i < TCP_SLOTS; i++)
		some |= p->slot[i].used && p->slot[i].where != TCP_RECEIVING;
	pthread_mutex_unlock(&t->node->lock);
	return some;
}

static bool replies_left(struct tcp *t)
{
	for (struct sl_list *l = t->peers.next; l != &t->peers; l = l->next)
		if (owed(t, sl_container(l, struct tcp_peer, link)))
			return true;
	return false;
}

/*
 * To each client whose requests are answered, as far as they were read: that the others were not
 * begun. Without that nobody could say whether an append was made that this node has not answered.
 */
static void say_goodbye(struct tcp *t)
{
	unsigned char head[SL_SEALED_BYTES];

	for (struct sl_list *l = t->peers.next; l != &t->peers; l = l->next) {
		struct tcp_peer *p = sl_container(l, struct tcp_peer, link);

		if (!owed(t, p) &&
		    send(p->sock, head, tcp_goodbye(p, head), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			shutdown(p->sock, SHUT_WR);
	}
}

static void on_peer(struct tcp *t, struct tcp_peer *p, uint32_t events)
{
	int rc = 0;

	if (events & EPOLLOUT)
		rc = tcp_flush(t, p);
	/* Gone, or about to: what it has sent and we have not read is not begun any more. */
	if (!rc && events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP))
		rc = -ECONNRESET;
	else if (!rc && events & EPOLLIN && !p->paused && t->reading)
		rc = tcp_input(t, p);
	if (rc)
		hang_up(t, p, rc);
}

void *tcp_main(void *arg)
{
	struct tcp *t = arg;
	struct epoll_event ev[64];
	sl_time ticked = node_now(), stop_at = SL_NEVER, now = 0;

	do {
		int count = epoll_wait(t->epoll_fd, ev, 64, stop_at == SL_NEVER ? 1000 : 10);

		/* Peers first: there is one event at most for each, and only that frees it. */
		for (int i = 0; i < count; i++)
			if (ev[i].data.ptr != &t->listen_fd && ev[i].data.ptr != &t->event_fd)
				on_peer(t, ev[i].data.ptr, ev[i].events);
		for (int i = 0; i < count; i++)
			if (ev[i].data.ptr == &t->event_fd)
				on_done(t);
			else if (ev[i].data.ptr == &t->listen_fd && t->reading)
				on_accept(t);
		if (t->freed && t->reading)
			resume(t);
		now = node_now();
		if (now - ticked > SECOND) {
			ticked = now;
			tick(t);
		}
		if (t->reading && atomic_load(&t->pause))
			stop_reading(t);
		if (stop_at == SL_NEVER && atomic_load(&t->stop))
			stop_at = now + FLUSH_NS;
	} while (now < stop_at && (stop_at == SL_NEVER || replies_left(t)));
	say_goodbye(t);
	return NULL;
}
