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
 * taken, within 30 s from its first byte on. A peer that is slower is hung up on.
 *
 * All of it is O(1) for each frame; a second's tick looks at all peers once.
 */
#include "ionode/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "ionode/trace.h"

#define SECOND	     INT64_C(1000000000)
#define HELLO_NS     (10 * SECOND)
#define FRAME_NS     (30 * SECOND)
#define ENDING_NS    (2 * SECOND)
#define FLUSH_NS     SECOND	/* when the node stops */
#define READ_BYTES   (1U << 20) /* from one peer before the next has its turn */
#define LOG_PER_TICK 20

_Static_assert(TCP_SLOTS <= SL_SHM_SLOTS, "a slot has its request in struct client");

static void watch(struct tcp *t, struct tcp_peer *p)
{
	bool reading = !p->paused && t->reading;
	uint32_t events = (reading ? EPOLLIN : 0U) | (p->out ? EPOLLOUT : 0U);
	struct epoll_event ev = { .events = events, .data.ptr = p };

	if (events != p->events && !p->gone && !epoll_ctl(t->epoll_fd, EPOLL_CTL_MOD, p->sock, &ev))
		p->events = events;
}

/* ---- slots ---- */

static void peer_free(struct tcp *t, struct tcp_peer *p)
{
	if (p->client) {
		pthread_mutex_lock(&t->node->lock);
		node_job_leave(t->node, p->client->job);
		pthread_mutex_unlock(&t->node->lock);
		client_free(p->client);
	}
	free(p);
}

static void slot_free(struct tcp *t, struct tcp_slot *s)
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

/* ---- sending ---- */

void tcp_reply(struct tcp_slot *s, int64_t result, char *text)
{
	struct tcp_peer *p = s->peer;
	bool data = s->f.type == SL_PREAD && result > 0;
	struct sl_frame f = { .type = SL_REPLY, .tag = s->f.tag, .epoch = s->f.epoch };

	s->text = text;
	s->length = text ? strlen(text) : data ? (size_t)result : 0;
	f.length = (uint32_t)s->length;
	f.status = result < 0 ? (int32_t)-result : 0;
	if (result > 0 && s->f.type == SL_OPEN)
		f.file = (uint64_t)result;
	else if (result > 0)
		f.count = (uint64_t)result;
	if (s->f.flags & SL_F_APPEND)
		f.offset = s->f.offset;
	if (s->f.type == SL_HELLO && result == 0) { /* `text` holds the payload of WELCOME */
		f.type = SL_WELCOME;
		f.job = s->f.job;
		f.length = SL_WELCOME_BYTES;
		s->length = SL_WELCOME_BYTES;
	}
	sl_frame_encode(&f, s->head);
	s->sent = 0;
	s->next = NULL;
	s->where = TCP_REPLY;
	if (!p->out)
		p->out_since = node_now();
	*p->out_end = s;
	p->out_end = &s->next;
}

static ssize_t send_some(struct tcp_peer *p)
{
	struct iovec iov[2 * TCP_SLOTS];
	struct msghdr m = { .msg_iov = iov };

	for (struct tcp_slot *s = p->out; s; s = s->next) {
		size_t head = s->sent < SL_FRAME_BYTES ? SL_FRAME_BYTES - s->sent : 0;
		size_t skip = head ? 0 : s->sent - SL_FRAME_BYTES;
		unsigned char *payload = s->text ? (unsigned char *)s->text : s->buffer;

		if (head)
			iov[m.msg_iovlen++] =
				(struct iovec){ s->head + SL_FRAME_BYTES - head, head };
		if (s->length > skip)
			iov[m.msg_iovlen++] = (struct iovec){ payload + skip, s->length - skip };
	}
	return sendmsg(p->sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int flush(struct tcp *t, struct tcp_peer *p)
{
	while (p->out) {
		ssize_t n = send_some(p);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		while (n > 0) {
			struct tcp_slot *s = p->out;
			size_t left = SL_FRAME_BYTES + s->length - s->sent;
			size_t part = left < (size_t)n ? left : (size_t)n;

			s->sent += part;
			n -= (ssize_t)part;
			if (part < left)
				break;
			p->out = s->next;
			p->out_since = node_now();
			slot_free(t, s);
		}
		if (!p->out)
			p->out_end = &p->out;
	}
	if (p->ending && !p->out)
		shutdown(p->sock, SHUT_WR);
	watch(t, p);
	return 0;
}

/* ---- receiving ---- */

/* More into `in`, or payload to where it belongs. 0: there is nothing now. */
static ssize_t receive(struct tcp_peer *p, size_t *budget)
{
	unsigned char *to = p->in + p->have;
	size_t room = sizeof(p->in) - 1 - p->have;
	ssize_t n;

	if (*budget == 0)
		return 0;
	if (p->receiving) {
		to = p->receiving->buffer + p->received;
		room = p->receiving->f.length - p->received;
	}
	n = recv(p->sock, to, room, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	if (p->receiving)
		p->received += (size_t)n;
	else
		p->have += (size_t)n;
	*budget -= *budget < (size_t)n ? *budget : (size_t)n;
	return n;
}

static void consume(struct tcp_peer *p, size_t bytes)
{
	memmove(p->in, p->in + bytes, p->have - bytes);
	p->have -= bytes;
	p->since = node_now();
}

/* The payload's beginning came with the header. */
static void payload_from_in(struct tcp_peer *p)
{
	size_t want = p->receiving->f.length - p->received, n = want < p->have ? want : p->have;

	memcpy(p->receiving->buffer + p->received, p->in, n);
	p->received += n;
	consume(p, n);
}

/* Take what is in `in`. 0: more has to come; 1: the peer has to wait. */
static int take(struct tcp *t, struct tcp_peer *p)
{
	struct sl_frame f;
	int rc;

	for (;;) {
		size_t whole = SL_FRAME_BYTES;

		if (p->receiving) {
			struct tcp_slot *s = p->receiving;

			payload_from_in(p);
			if (p->received < s->f.length)
				return 0;
			p->receiving = NULL;
			tcp_begin(t, s);
			continue;
		}
		if (p->have < SL_FRAME_BYTES || p->ending)
			return 0;
		if ((rc = sl_frame_decode(p->in, &f)))
			return rc;
		if (f.type == SL_HELLO || f.type == SL_CONTROL) {
			if (f.length >= TCP_LINE)
				return -EMSGSIZE;
			whole += f.length;
			if (p->have < whole)
				return 0;
		}
		rc = tcp_frame(t, p, &f, p->in + SL_FRAME_BYTES);
		if (rc)
			return rc;
		consume(p, whole);
	}
}

static int input(struct tcp *t, struct tcp_peer *p)
{
	size_t budget = READ_BYTES;
	ssize_t n;
	int rc;

	do {
		rc = take(t, p);
		if (rc < 0)
			return rc;
		if (rc) {
			p->paused = true;
			sl_list_push_back(&t->waiting, &p->waiting);
			break;
		}
		if (p->ending)
			p->have = 0; /* it has been refused: what it still says does not matter */
		if (p->client && !p->have && !p->receiving)
			p->since = node_now();
		n = receive(p, &budget);
		if (n < 0)
			return (int)n;
	} while (n > 0);
	if (p->out && !p->to_flush)
		return flush(t, p);
	watch(t, p);
	return 0;
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
		slot_free(t, s);
	}
	pthread_mutex_unlock(&n->lock);
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
	if (p->client)
		log_info("tcp=%s pid=%u disconnected%s%s", p->name, p->client->pid,
			 error == -ECONNRESET ? "" : ": ",
			 error == -ECONNRESET ? "" : strerror(-error));
	else if (error != -ECONNRESET && !p->ending)
		tcp_log_refused(p, strerror(-error));
	*(p->client ? &t->peers_count : &t->strangers_count) -= 1;
	close(p->sock);
	p->gone = true;
	sl_list_remove(&p->link);
	if (p->paused)
		sl_list_remove(&p->waiting);
	if (p->client)
		recall(t, p);
	for (struct tcp_slot *s = p->out, *next; s; s = next) {
		next = s->next;
		slot_free(t, s);
	}
	p->out = NULL;
	if (p->receiving)
		slot_free(t, p->receiving);
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
			slot_free(t, s);
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
		else if (!p->gone && (rc = flush(t, p)))
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
		if ((rc = input(t, p)))
			hang_up(t, p, rc);
	}
}

static void set_options(int sock)
{
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	setsockopt(sock, SOL_SOCKET, SO_KEEPALIVE, &(int){ 1 }, sizeof(int));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPIDLE, &(int){ 10 }, sizeof(int));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPINTVL, &(int){ 5 }, sizeof(int));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPCNT, &(int){ 4 }, sizeof(int));
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
	struct epoll_event ev = { .events = EPOLLIN };
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
	tcp_address((struct sockaddr *)&from, length, p->name);
	p->tcp = t;
	p->sock = sock;
	p->events = EPOLLIN;
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
		watch(t, sl_container(l, struct tcp_peer, link));
	while (drop_a_stranger(t))
		;
}

static bool replies_left(const struct tcp *t)
{
	for (struct sl_list *l = t->peers.next; l != &t->peers; l = l->next)
		if (sl_container(l, struct tcp_peer, link)->out)
			return true;
	return false;
}

static void on_peer(struct tcp *t, struct tcp_peer *p, uint32_t events)
{
	int rc = 0;

	if (events & EPOLLOUT)
		rc = flush(t, p);
	if (!rc && events & (EPOLLERR | EPOLLHUP))
		rc = -ECONNRESET;
	else if (!rc && events & EPOLLIN && !p->paused && t->reading)
		rc = input(t, p);
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
	return NULL;
}
