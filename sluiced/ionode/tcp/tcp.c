/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients over TCP: loops, the threads that own their connections.
 *
 * A loop waits for its connections with epoll (for a single one in recvmsg(2), see lone()),
 * receives requests into buffers, and adds them to the scheduler. If the scheduler says that one
 * may go at once, and the file system has been quick so far, the thread carries it out itself and
 * answers: no other thread has to be woken up. Else it is left to the workers. What else may take
 * long is an errand. Up to TCP_LOOPS clients have a loop each, so that the kernel runs a loop where
 * its client is; more share them.
 *
 * A file system may block a thread for any time. So a loop can change its thread: `runner` is the
 * number of the thread that runs it, and a bit that says that this thread is executing, and touches
 * nothing of the loop. If it is stuck there (stuck.c), the front starts another thread, which takes
 * the loop over by changing the word. The old one finds that out when it comes back, hands in its
 * result as a worker would, and ends. The front itself executes nothing.
 *
 * Memory is bounded. A frame takes one of its peer's slots, and one of the buffers of all if it
 * needs one, before its payload is received, and keeps them until its reply has been sent. If
 * there is none, the peer is not read from until there is: TCP then tells it to wait. How many
 * buffers one peer may hold depends on how many are free (the dynamic threshold of Choudhury and
 * Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM Trans.
 * Networking 6(2), 1998): an eighth of them, at least 1, at most 16. Example: with 128 free a peer
 * may hold 16; when 200 peers are busy and 10 are free, 1. So peers that do not take their
 * replies cannot get hold of all buffers before there are some forty of them, and then time helps.
 *
 * A peer that is not read from cannot return stamps, so its lease expires, and its requests inside
 * come back unexecuted. So with more than TCP_CROWD busy peers each is told to have only one
 * request in flight (SL_F_CROWDED): then a peer that waits for a buffer has none inside.
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
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/listen.h"
#include "base/log.h"
#include "sluiced/ionode/fence.h"
#include "sluiced/ionode/stuck.h"
#include "sluiced/ionode/scheduler.h"

#define SECOND	     INT64_C(1000000000)
#define HELLO_NS     (10 * SECOND)
#define FRAME_NS     (30 * SECOND)
#define ENDING_NS    (2 * SECOND)
#define STARVED_MS   5	    /* a loop then checks whether others have returned buffers */
#define EXECUTING    1U	    /* in `runner` */
#define FLUSH_NS     SECOND /* when the node stops */
#define LOG_PER_TICK 20
#define STALE_TICKS  3 /* a waiting client sends two frames in that time */

_Static_assert(TCP_SLOTS <= SL_SHM_SLOTS, "a slot has its request in struct client");

/* ---- slots ---- */

/* The loop that this thread runs, and its number there. */
static _Thread_local struct tcp_loop *mine;
static _Thread_local uint32_t number;

static void peer_free(struct tcp_peer *p)
{
	struct node *n = p->loop->tcp->node;

	if (p->client) { /* the socket goes with it */
		pthread_mutex_lock(&n->lock);
		p->client->gone = true;
		if (!p->client->busy) /* else some of its files are just being closed */
			client_release(n, p->client);
		pthread_mutex_unlock(&n->lock);
	} else {
		close(p->sock);
	}
	free(p);
}

void tcp_buffer_free(struct tcp_loop *l, struct tcp_slot *s)
{
	struct tcp *t = l->tcp;

	if (!s->buffer)
		return;
	/* Prefer the buffer that it has just used, which is in the cache of its CPU. */
	if (!l->spare &&
	    atomic_load_explicit(&t->buffers, memory_order_relaxed) > TCP_BUFFERS / 2) {
		l->spare = s->buffer;
	} else {
		pthread_mutex_lock(&t->pool_lock);
		t->buffer[t->buffers++] = s->buffer;
		pthread_mutex_unlock(&t->pool_lock);
	}
	s->buffer = NULL;
	s->peer->buffers--;
	l->freed = true;
}

void tcp_slot_free(struct tcp_loop *l, struct tcp_slot *s)
{
	tcp_buffer_free(l, s);
	free(s->text);
	s->text = NULL;
	s->used = false;
	s->peer->used--;
	l->freed = true;
}

void tcp_wake(const struct tcp_loop *l)
{
	const uint64_t one = 1;

	if (write(l->event_fd, &one, sizeof(one)) < 0)
		log_error("tcp: cannot wake up: %s", strerror(errno));
}

void tcp_done(struct tcp_slot *s)
{
	struct tcp_loop *l = s->peer->loop;

	s->where = TCP_DONE;
	s->next = l->done;
	l->done = s;
	if (!s->next && l != mine) /* else it looks by itself */
		tcp_wake(l);
}

/* ---- departures ---- */

/* What waits in the scheduler comes back by `done`, as what is elsewhere does. */
static void recall(struct tcp_loop *l, struct tcp_peer *p)
{
	struct node *n = l->tcp->node;

	pthread_mutex_lock(&n->lock);
	node_send_back(n, p->client);
	node_unlock(n);
	node_wake_one(n); /* what was behind the cancelled ones may go */
	tcp_wake(l);	  /* this thread does not look at once */
}

void tcp_log_refused(struct tcp_peer *p, const char *why)
{
	if (atomic_fetch_add(&p->loop->tcp->logged, 1) < LOG_PER_TICK)
		log_warn("tcp=%s refused: %s", p->name, why);
}

static void not_busy(struct tcp_peer *p)
{
	if (p->counted)
		atomic_fetch_sub(&p->loop->tcp->busy, 1);
	p->counted = false;
}

void tcp_hang_up(struct tcp_loop *l, struct tcp_peer *p, int error)
{
	/* A peer is freed only after it has left its list. */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	if (p->client)
		log_info("tcp=%s pid=%u disconnected%s%s", p->name, p->client->pid,
			 error == -ECONNRESET ? "" : ": ",
			 error == -ECONNRESET ? "" : strerror(-error));
	else if (error != -ECONNRESET && !p->ending)
		tcp_log_refused(p, strerror(-error));
	if (l == &l->tcp->front)
		l->tcp->strangers_count--;
	atomic_fetch_sub(&l->peers_count, 1);
	not_busy(p);
	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, p->sock, NULL);
	p->gone = true; /* closed when nothing that it asked for can still happen */
	sl_list_remove(&p->link);
	if (p->paused)
		sl_list_remove(&p->waiting);
	if (p->client) {
		fence_cut(p->client);
		recall(l, p);
	}
	for (struct tcp_slot *s = p->out, *next; s; s = next) {
		next = s->next;
		tcp_slot_free(l, s);
	}
	p->out = NULL;
	if (p->receiving)
		tcp_slot_free(l, p->receiving);
	for (struct tcp_slot *s = p->stale, *next; s; s = next) {
		next = s->next;
		tcp_slot_free(l, s);
	}
	p->stale = NULL;
	if (p->used == 0 && !p->to_flush)
		peer_free(p);
}

/* ---- executing ---- */

/* The thread has finished executing: returns whether it still owns the loop. */
static bool come_back(void)
{
	uint32_t word = number | EXECUTING;

	if (!mine || atomic_load_explicit(&mine->runner, memory_order_relaxed) == number)
		return mine;
	if (!atomic_compare_exchange_strong(&mine->runner, &word, number))
		mine = NULL;
	return mine;
}

static void back(void)
{
	come_back();
}

/*
 * Requests were added to the scheduler: execute or pass them on. False: the loop has another thread
 * now.
 */
static bool execute(struct tcp_loop *l)
{
	l->added = false;
	atomic_store_explicit(&l->since, node_now(), memory_order_relaxed);
	atomic_store(&l->runner, number | EXECUTING);
	node_go_here(l->tcp->node, (uint32_t)(l - l->tcp->loop), back);
	return come_back();
}

/* ---- events ---- */

/* Queue answers for completed requests, without sending them yet. */
static void take_done(struct tcp_loop *l)
{
	struct tcp_slot *s, *next, *in_order = NULL;

	pthread_mutex_lock(&l->tcp->node->lock);
	s = l->done;
	l->done = NULL;
	pthread_mutex_unlock(&l->tcp->node->lock);
	for (; s; s = next) {
		next = s->next;
		s->next = in_order;
		in_order = s;
	}
	for (s = in_order; s; s = next) {
		struct tcp_peer *p = s->peer;

		next = s->next;
		if (p->gone)
			tcp_slot_free(l, s);
		else
			tcp_reply(s, s->result, NULL);
		if (!p->to_flush) {
			p->to_flush = true;
			p->next = l->to_flush;
			l->to_flush = p;
		}
	}
}

static void flush_all(struct tcp_loop *l)
{
	struct tcp_peer *p;

	while ((p = l->to_flush)) {
		int rc;

		l->to_flush = p->next;
		p->to_flush = false;
		if (p->gone && p->used == 0)
			peer_free(p);
		else if (!p->gone && p->out && !tcp_more_comes(p) && (rc = tcp_flush(l, p)))
			tcp_hang_up(l, p, rc);
	}
}

/* Read from the peer and execute its requests. False: the loop has another thread now. */
static bool serve(struct tcp_loop *l, struct tcp_peer *p)
{
	int rc;

	p->budget = TCP_READ_BYTES;
	p->drained = false;
	while ((rc = tcp_input(l, p)) == 1) {
		if (!execute(l))
			return false;
		take_done(l);
		if (p->out && !tcp_more_comes(p) && (rc = tcp_flush(l, p)))
			break;
	}
	if (rc)
		tcp_hang_up(l, p, rc);
	return true;
}

/* Slots or buffers have become free: resume the peers that waited, in order. */
static bool resume(struct tcp_loop *l)
{
	struct sl_list *end = l->waiting.prev;

	l->freed = l->starved = false;
	for (bool last = sl_list_empty(&l->waiting); !last;) {
		struct tcp_peer *p = sl_container(l->waiting.next, struct tcp_peer, waiting);

		last = &p->waiting == end;
		sl_list_remove(&p->waiting);
		p->paused = false;
		p->since = node_now();
		if (!serve(l, p))
			return false;
	}
	return true;
}

/* Take over the peers that the front has passed on. */
static bool welcome(struct tcp_loop *l)
{
	struct tcp_peer *p, *next;

	pthread_mutex_lock(&l->tcp->node->lock);
	p = l->arrived;
	l->arrived = NULL;
	pthread_mutex_unlock(&l->tcp->node->lock);
	for (; p; p = next) {
		struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP, .data.ptr = p };

		next = p->next;
		sl_list_push_back(&l->peers, &p->link);
		p->events = ev.events;
		if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, p->sock, &ev)) {
			tcp_hang_up(l, p, -errno);
		} else if (!serve(l, p)) {
			/* The others of them are for the new thread. */
			pthread_mutex_lock(&l->tcp->node->lock);
			while ((p = next)) {
				next = p->next;
				p->next = l->arrived;
				l->arrived = p;
			}
			pthread_mutex_unlock(&l->tcp->node->lock);
			tcp_wake(l);
			return false;
		}
	}
	return true;
}

/*
 * A client that is not read from gets no answers, so send it a stamp to show that the node lives.
 */
static void renew(struct tcp_peer *p)
{
	unsigned char head[SL_SEALED_BYTES];
	size_t bytes = tcp_unasked(p, SL_LEASE_TAG, 0, head);

	/* So few bytes go whole or not at all. If not, the next frame has this one's number. */
	if (send(p->sock, head, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		p->session.out.count--;
}

static void tick_peers(struct tcp_loop *l, sl_time patience, sl_time now)
{
	for (struct sl_list *i = l->peers.next, *next; i != &l->peers; i = next) {
		struct tcp_peer *p = sl_container(i, struct tcp_peer, link);
		bool in = !p->client || p->have || p->receiving || p->stale;
		int rc = 0;

		next = i->next;
		if (!p->busy && !p->buffers)
			not_busy(p);
		p->busy = false;
		p->stale_ticks = p->stale ? p->stale_ticks + 1 : 0;
		if (p->stale_ticks > STALE_TICKS)
			tcp_give_back_stale(p);
		if (p->out && !p->to_flush && !tcp_more_comes(p))
			rc = tcp_flush(l, p);
		if (rc)
			tcp_hang_up(l, p, rc);
		else if ((in && !p->paused &&
			  now - p->since > (p->ending ? ENDING_NS : patience)) ||
			 (p->out && now - p->out_since > FRAME_NS))
			tcp_hang_up(l, p, -ETIMEDOUT);
		else if (p->client && p->paused && !p->out)
			renew(p);
	}
}

/* While EXECUTING: it has no thread yet, or one that is stuck. */
static bool is_abandoned(const struct tcp_loop *l, sl_time now)
{
	pid_t tid = atomic_load(&l->tid);

	return !tid || stuck_thread(tid, atomic_load(&l->since), now);
}

/* A loop whose thread does not come back gets another one. */
static void tick_loops(struct tcp *t, sl_time now)
{
	for (uint32_t i = 0; i < t->loops; i++) {
		struct tcp_loop *l = &t->loop[i];

		if (!(atomic_load(&l->runner) & EXECUTING) || !is_abandoned(l, now))
			continue;
		log_warn("tcp: a thread does not come back from a file or file system; another one "
			 "is started");
		tcp_loop_start(l);
	}
}

static void tick_front(struct tcp *t, sl_time now)
{
	unsigned logged = atomic_exchange(&t->logged, 0);

	tcp_errands_tick(t);
	tick_loops(t, now);
	if (logged > LOG_PER_TICK)
		log_warn("tcp: %u more refused", logged - LOG_PER_TICK);
	if (t->full)
		tcp_listen(t, true);
}

static void stop_reading(struct tcp_loop *l)
{
	l->reading = false;
	for (struct sl_list *i = l->peers.next; i != &l->peers; i = i->next)
		tcp_watch(l, sl_container(i, struct tcp_peer, link));
	if (l == &l->tcp->front) {
		epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, l->tcp->listen_fd, NULL);
		while (tcp_drop_stranger(l->tcp))
			;
	}
	atomic_fetch_sub(&l->tcp->reading, 1);
}

/* Whether a request of the peer was begun and not answered. */
static bool owed(const struct tcp_peer *p)
{
	struct node *n = p->loop->tcp->node;
	bool some = p->out;

	pthread_mutex_lock(&n->lock);
	for (unsigned i = 0; i < TCP_SLOTS; i++)
		some |= p->slot[i].used && p->slot[i].where != TCP_RECEIVING;
	pthread_mutex_unlock(&n->lock);
	return some;
}

static bool replies_left(const struct tcp_loop *l)
{
	for (struct sl_list *i = l->peers.next; i != &l->peers; i = i->next)
		if (owed(sl_container(i, struct tcp_peer, link)))
			return true;
	return false;
}

/*
 * Tell each client whose requests that were read are all answered that its other requests were not
 * begun. Otherwise the outcome of an unanswered append would be unknown.
 */
static void say_goodbye(struct tcp_loop *l)
{
	unsigned char head[SL_SEALED_BYTES];

	for (struct sl_list *i = l->peers.next; i != &l->peers; i = i->next) {
		struct tcp_peer *p = sl_container(i, struct tcp_peer, link);

		if (p->client && !owed(p) &&
		    send(p->sock, head, tcp_unasked(p, 0, SL_COME_BACK, head),
			 MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			shutdown(p->sock, SHUT_WR);
	}
}

static bool on_peer(struct tcp_loop *l, struct tcp_peer *p, uint32_t events)
{
	int rc = 0;

	if (events & EPOLLOUT)
		rc = tcp_flush(l, p);
	/* Whether the peer is gone or about to go: its unread requests are not begun. */
	if (!rc && events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP))
		rc = -ECONNRESET;
	else if (!rc && events & EPOLLIN && !p->paused && l->reading)
		return serve(l, p);
	if (rc)
		tcp_hang_up(l, p, rc);
	return true;
}

/* Handle the results of an event. False: the loop has another thread now. */
static bool follow_up(struct tcp_loop *l)
{
	flush_all(l);
	l->freed |= l->starved;
	return !l->freed || !l->reading || resume(l);
}

/* Peers first: there is one event at most for each, and only that frees it. */
static bool on_events(struct tcp_loop *l, const struct epoll_event *ev, int count)
{
	struct tcp *t = l->tcp;
	uint64_t wakes;

	for (int i = 0; i < count; i++)
		if (ev[i].data.ptr != &t->listen_fd && ev[i].data.ptr != l &&
		    !on_peer(l, ev[i].data.ptr, ev[i].events))
			return false;
	for (int i = 0; i < count; i++) {
		if (ev[i].data.ptr == &t->listen_fd && l->reading)
			tcp_accept(t);
		if (ev[i].data.ptr != l)
			continue;
		if (read(l->event_fd, &wakes, sizeof(wakes)) < 0 && errno != EAGAIN)
			log_error("tcp: %s", strerror(errno));
		take_done(l);
		if (!welcome(l))
			return false;
	}
	return follow_up(l);
}

/*
 * If a loop has only one client and all its calls are answered, wait for it in recvmsg(2), which
 * saves a system call for each of the client's calls. A stop of the loop, or another client, is
 * noticed after that; nothing else can arrive. If the client has more pieces to send, use epoll:
 * the client may die, and then the rest must not be read.
 */
static struct tcp_peer *lone(const struct tcp_loop *l)
{
	struct tcp_peer *p = sl_container(l->peers.next, struct tcp_peer, link);

	return !sl_list_empty(&l->peers) && tcp_alone(p) && p->small && !p->used && !p->have &&
			       !p->paused && l->reading
		       ? p
		       : NULL;
}

/* Until the node stops, or this thread was stuck and has lost the loop. */
static void run(struct tcp_loop *l)
{
	struct tcp *t = l->tcp;
	bool front = l == &t->front;
	struct epoll_event ev[64];
	sl_time ticked = node_now(), stop_at = SL_NEVER, now = 0;

	do {
		int wait_ms = stop_at != SL_NEVER      ? 10
			      : l->freed && l->reading ? 0 /* by those that were let go on */
			      : l->starved	       ? STARVED_MS
						       : 1000;
		struct tcp_peer *p = lone(l);

		if (p) {
			p->sleeps = true;
			p->small = false; /* if nothing comes, epoll is next */
			if (!serve(l, p) || !follow_up(l))
				return;
		} else if (!on_events(l, ev, epoll_wait(l->epoll_fd, ev, 64, wait_ms))) {
			return;
		}
		now = node_now();
		if (now - ticked > SECOND) {
			ticked = now;
			tick_peers(l, front ? HELLO_NS : FRAME_NS, now);
			if (front)
				tick_front(t, now);
		}
		if (l->reading && atomic_load(&t->pause))
			stop_reading(l);
		if (stop_at == SL_NEVER && atomic_load(&t->stop))
			stop_at = now + FLUSH_NS;
	} while (now < stop_at && (stop_at == SL_NEVER || replies_left(l)));
	say_goodbye(l);
	atomic_fetch_sub(&t->running, 1);
}

void *tcp_main(void *arg)
{
	run(&((struct tcp *)arg)->front);
	return NULL;
}

/* Handle what the previous thread left: epoll does not report data that has been read. */
static bool go_on(struct tcp_loop *l)
{
	l->freed = true;
	for (struct sl_list *i = l->peers.next, *next; i != &l->peers; i = next) {
		struct tcp_peer *p = sl_container(i, struct tcp_peer, link);

		next = i->next;
		if (!p->paused && l->reading && !serve(l, p))
			return false;
	}
	return true;
}

static void *loop_main(void *arg)
{
	struct tcp_loop *l = arg;
	uint32_t word = atomic_load(&l->runner);

	number = atomic_fetch_add(&l->tcp->runners, 2);
	if (!(word & EXECUTING) || !is_abandoned(l, node_now()) ||
	    !atomic_compare_exchange_strong(&l->runner, &word, number))
		return NULL; /* the old thread has returned */
	atomic_store(&l->tid, stuck_tid());
	mine = l;
	tcp_wake(l);
	if (go_on(l))
		run(l);
	return NULL;
}

int tcp_loop_start(struct tcp_loop *l)
{
	pthread_t thread;
	int rc = pthread_create(&thread, NULL, loop_main, l);

	if (!rc)
		pthread_detach(thread);
	return -rc;
}
