/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients over TCP: listen, accept, assign connections to loops; start and end.
 */
#include "sluiced/ionode/tcp/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/listen.h"
#include "base/log.h"

#define PATIENCE_MS 3000 /* time until all loops have noticed it */

static int add(const struct tcp_loop *l, int fd, void *what)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = what };

	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

int tcp_loop_init(struct tcp *t, struct tcp_loop *l)
{
	l->tcp = t;
	l->reading = true;
	l->runner = 1; /* as if a thread had been stuck in it for long: tcp_loop_start() */
	sl_list_init(&l->peers);
	sl_list_init(&l->waiting);
	l->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->event_fd < 0 || l->epoll_fd < 0)
		return -errno;
	return add(l, l->event_fd, l);
}

/* ---- the front ---- */

/* To detect a client whose machine has gone. */
static void set_options(int sock)
{
	static const struct timeval sleep = { 0, 100000 };

	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	/* A loop with one client sleeps for so long at most in a call on its socket. */
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &sleep, sizeof(sleep));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &sleep, sizeof(sleep));
	setsockopt(sock, SOL_SOCKET, SO_KEEPALIVE, &(int){ 1 }, sizeof(int));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPIDLE, &(int){ 5 }, sizeof(int));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPINTVL, &(int){ 3 }, sizeof(int));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPCNT, &(int){ 3 }, sizeof(int));
}

bool tcp_drop_stranger(struct tcp *t)
{
	if (sl_list_empty(&t->front.peers))
		return false;
	tcp_hang_up(&t->front, sl_container(t->front.peers.next, struct tcp_peer, link), -EUSERS);
	return true;
}

void tcp_listen(struct tcp *t, bool on)
{
	struct epoll_event ev = { .events = on ? EPOLLIN : 0U, .data.ptr = &t->listen_fd };

	t->full = !on;
	epoll_ctl(t->front.epoll_fd, EPOLL_CTL_MOD, t->listen_fd, &ev);
}

static unsigned peers(struct tcp *t)
{
	unsigned sum = t->front.peers_count;

	for (uint32_t i = 0; i < t->loops; i++)
		sum += atomic_load_explicit(&t->loop[i].peers_count, memory_order_relaxed);
	return sum;
}

void tcp_accept(struct tcp *t)
{
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP };
	struct tcp_peer *p;
	int sock;

	if (t->strangers_count >= TCP_STRANGERS)
		tcp_drop_stranger(t);
	if (peers(t) >= TCP_PEERS && !tcp_drop_stranger(t)) {
		tcp_listen(t, false);
		return;
	}
	sock = accept4(t->listen_fd, (struct sockaddr *)&from, &length, SOCK_CLOEXEC);
	if (sock < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			tcp_listen(t, false);
		return;
	}
	p = calloc(1, sizeof(*p));
	if (!p) {
		close(sock);
		return;
	}
	set_options(sock);
	listen_name((struct sockaddr *)&from, length, p->name);
	p->loop = &t->front;
	p->sock = sock;
	p->events = EPOLLIN | EPOLLRDHUP;
	p->out_end = &p->out;
	p->since = node_now();
	for (unsigned i = 0; i < TCP_SLOTS; i++)
		p->slot[i].peer = p;
	sl_list_push_back(&t->front.peers, &p->link);
	t->front.peers_count++;
	t->strangers_count++;
	ev.data.ptr = p;
	if (epoll_ctl(t->front.epoll_fd, EPOLL_CTL_ADD, sock, &ev))
		tcp_hang_up(&t->front, p, -errno);
}

/* The loop with the fewest connections; a new one, unless there is one without any. */
static struct tcp_loop *choose(struct tcp *t)
{
	struct tcp_loop *best = NULL;
	unsigned least = UINT_MAX;

	for (uint32_t i = 0; i < t->loops && least; i++)
		if (t->loop[i].peers_count < least) {
			best = &t->loop[i];
			least = best->peers_count;
		}
	if (least && t->loops < TCP_LOOPS && !tcp_loop_init(t, &t->loop[t->loops]) &&
	    !tcp_loop_start(&t->loop[t->loops])) {
		best = &t->loop[t->loops++];
		t->running++;
		t->reading++;
	}
	return best;
}

int tcp_move_on(struct tcp *t, struct tcp_peer *p)
{
	struct tcp_loop *l = choose(t);

	if (!l)
		return -EMFILE;
	epoll_ctl(t->front.epoll_fd, EPOLL_CTL_DEL, p->sock, NULL);
	sl_list_remove(&p->link);
	t->strangers_count--;
	t->front.peers_count--;
	l->peers_count++;
	pthread_mutex_lock(&t->node->lock);
	p->loop = l;
	p->next = l->arrived;
	l->arrived = p;
	pthread_mutex_unlock(&t->node->lock);
	tcp_wake(l);
	return 0;
}

/* ---- start and end ---- */

static int make_buffers(struct tcp *t)
{
	t->memory = mmap(NULL, (size_t)TCP_BUFFERS * SL_TCP_DATA_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t->memory == MAP_FAILED)
		return -errno;
	while (t->buffers < TCP_BUFFERS) {
		t->buffer[t->buffers] = t->memory + (size_t)t->buffers * SL_TCP_DATA_BYTES;
		t->buffers++;
	}
	return 0;
}

static int start(struct tcp *t)
{
	pthread_t thread;
	int rc;

	t->root_fd = open(t->node->config->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->root_fd < 0)
		return -errno;
	pthread_mutex_init(&t->pool_lock, NULL);
	if ((rc = make_buffers(t)) || (rc = tcp_loop_init(t, &t->front)) ||
	    (rc = add(&t->front, t->listen_fd, &t->listen_fd)) || (rc = tcp_errands_start(t)))
		return rc;
	t->running = t->reading = 1;
	t->runners = 2;
	rc = pthread_create(&thread, NULL, tcp_main, t);
	if (!rc)
		pthread_detach(thread);
	return -rc;
}

/* Who listens at every address is found by the name of the machine. */
static void reachable(const char *name, char *out, size_t size)
{
	bool any = !strncmp(name, "0.0.0.0:", 8) || !strncmp(name, "[::]:", 5);
	char host[65] = "";

	if (any && gethostname(host, sizeof(host) - 1) == 0 && host[0])
		snprintf(out, size, "%s%s", host, strrchr(name, ':'));
	else
		snprintf(out, size, "%s", name);
}

int tcp_start(struct node *n)
{
	const struct sl_daemon *d = &n->config->daemon;
	struct tcp *t;
	char name[64] = "";
	int rc;

	if (!d->listen)
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->node = n;
	rc = sl_daemon_secret(d, t->secret);
	if (rc) {
		free(t);
		return rc;
	}
	t->listen_fd = listen_tcp(d->listen, name);
	rc = t->listen_fd < 0 ? t->listen_fd : start(t);
	if (rc)
		return sl_daemon_deaf(d->listen, rc);
	reachable(name, t->name, sizeof(t->name));
	n->tcp = t;
	log_info("tcp=%s listening", name);
	return 0;
}

/* Notify all loops, and wait for some time until none of them is running. */
static bool tell_all(struct tcp *t, atomic_bool *what, const atomic_uint *count)
{
	atomic_store(what, true);
	for (int i = 0; i < PATIENCE_MS && atomic_load(count); i++) {
		if (i % 100 == 0) {
			tcp_wake(&t->front);
			for (uint32_t k = 0; k < t->loops; k++)
				tcp_wake(&t->loop[k]);
		}
		usleep(1000);
	}
	return !atomic_load(count);
}

void tcp_pause(struct node *n)
{
	if (n->tcp)
		tell_all(n->tcp, &n->tcp->pause, &n->tcp->reading);
}

bool tcp_stop(struct node *n)
{
	if (!n->tcp)
		return true;
	tcp_errands_stop(n->tcp);
	return tell_all(n->tcp, &n->tcp->stop, &n->tcp->running);
}
