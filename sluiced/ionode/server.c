/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets of a node: greeting clients, taking their descriptors, control lines, departures.
 *
 * One thread with epoll, which never blocks: the threads of files.c do operations that may block. A
 * peer that violates the protocol gets an error if possible, its connection is closed, and the log
 * has a line with the reason; other peers are not affected. Only the node's own user may connect
 * (SO_PEERCRED); in a layer for all users, everybody, within limits (site.h).
 *
 * A client that goes away while some of its requests are inside the scheduler is marked; those
 * waiting are cancelled, those being executed finish, and the last one releases it: then its files
 * are closed, its memory is unmapped, and last its socket is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/peer.h"
#include "sluiced/ionode/fence.h"
#include "sluiced/ionode/site.h"
#include "sluiced/ionode/scheduler.h"

#define IN_MAX	   8192 /* payload of any frame that is not data */
#define PASSED_MAX 8
#define PAUSE_MS   20
#define TICK_MS	   1000

struct peer {
	struct sl_list link; /* in node->peers */
	int sock;
	struct client *client; /* after HELLO */
	struct node_who who;
	size_t have;
	unsigned char in[SL_FRAME_BYTES + IN_MAX];
	int passed[PASSED_MAX]; /* descriptors received, not yet used */
	unsigned passed_count;
	char *out; /* what the socket would not take yet */
	size_t out_at, out_length;
	bool closing; /* nothing is read from it until its files are closed */
	bool paused;  /* nothing is read from it for a moment: its user has asked too much */
	struct peer *next_closing;
};

/* ---- sending ---- */

/* A peer that does not read its answers is not read from, so that few answers are kept. */
static void watch(struct node *n, struct peer *p)
{
	struct epoll_event ev = { .events = p->out		      ? EPOLLOUT
					    : p->closing || p->paused ? 0U
								      : EPOLLIN,
				  .data.ptr = p };

	epoll_ctl(n->epoll_fd, EPOLL_CTL_MOD, p->sock, &ev);
}

static int flush_out(struct node *n, struct peer *p)
{
	while (p->out_at < p->out_length) {
		ssize_t k = send(p->sock, p->out + p->out_at, p->out_length - p->out_at,
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (k < 0 && errno == EAGAIN)
			return 0;
		if (k < 0)
			return -errno;
		p->out_at += (size_t)k;
	}
	free(p->out);
	p->out = NULL;
	p->out_at = p->out_length = 0;
	watch(n, p);
	return 0;
}

/* Queue bytes behind what is still to be sent. */
static int push(struct node *n, struct peer *p, const void *bytes, size_t length)
{
	char *out;

	if (!p->out) {
		ssize_t k = send(p->sock, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (k == (ssize_t)length)
			return 0;
		if (k < 0 && errno != EAGAIN)
			return -errno;
		bytes = (const char *)bytes + (k > 0 ? k : 0);
		length -= k > 0 ? (size_t)k : 0;
	}
	out = realloc(p->out, p->out_length + length);
	if (!out)
		return -ENOMEM;
	memcpy(out + p->out_length, bytes, length);
	p->out = out;
	p->out_length += length;
	watch(n, p);
	return 0;
}

static int reply(struct node *n, struct peer *p, const struct sl_frame *to, int status,
		 uint64_t file, const char *text)
{
	struct sl_frame f = { .type = SL_REPLY,
			      .status = status,
			      .tag = to->tag,
			      .file = file,
			      .length = text ? (uint32_t)strlen(text) : 0,
			      .epoch = n->epoch };
	unsigned char head[SL_FRAME_BYTES];
	int rc;

	sl_frame_encode(&f, head);
	rc = push(n, p, head, sizeof(head));
	return rc || !text ? rc : push(n, p, text, f.length);
}

/* Send the reason, then close the connection. */
static int refuse(struct node *n, struct peer *p, const struct sl_frame *to, int status,
		  const char *why)
{
	reply(n, p, to, status, 0, why);
	return -status;
}

/* ---- HELLO ---- */

static int make_segment(struct client *c)
{
	int fd = memfd_create("sluice-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	c->segment = MAP_FAILED;
	/* Sealed, so that no client can truncate it under the node. */
	if (ftruncate(fd, (off_t)SL_SEGMENT_BYTES) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ||
	    (c->segment = mmap(NULL, SL_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			       0)) == MAP_FAILED) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

static struct client *client_make(struct node *n, uint32_t pid, int *segment_fd)
{
	struct client *c = client_alloc(pid);
	uint32_t i = 0;

	*segment_fd = -ENOMEM;
	if (!c)
		return NULL;
	while (i < SL_SHM_CLIENTS && atomic_load(&n->client[i]))
		i++;
	*segment_fd = -EMFILE;
	if (i == SL_SHM_CLIENTS) {
		client_free(c);
		return NULL;
	}
	c->index = i;
	c->transport = &node_shm;
	*segment_fd = make_segment(c);
	if (*segment_fd < 0) {
		client_free(c);
		return NULL;
	}
	return c;
}

static int send_welcome(struct node *n, struct peer *p, const struct sl_frame *to, int segment_fd)
{
	struct sl_welcome w = { .version = SL_PROTO_VERSION,
				.caps = SL_CAP_SHM,
				.job = p->client->job->number,
				.epoch = n->epoch,
				.client = p->client->index,
				.slots = SL_SHM_SLOTS,
				.slot_bytes = SL_SHM_SLOT_BYTES,
				.workers = n->workers,
				.segment_bytes = SL_SEGMENT_BYTES,
				.bells_bytes = sizeof(struct sl_bells) };
	struct sl_frame f = { .type = SL_WELCOME,
			      .tag = to->tag,
			      .job = w.job,
			      .epoch = n->epoch,
			      .length = SL_WELCOME_BYTES };
	unsigned char bytes[SL_FRAME_BYTES + SL_WELCOME_BYTES];
	struct iovec iov = { bytes, sizeof(bytes) };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control.space) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(h), (int[]){ segment_fd, n->bells_fd }, 2 * sizeof(int));
	sl_frame_encode(&f, bytes);
	sl_welcome_encode(&w, bytes + SL_FRAME_BYTES);
	return sendmsg(p->sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(bytes) ? 0 : -EPIPE;
}

static int on_hello(struct node *n, struct peer *p, const struct sl_frame *f,
		    const unsigned char *payload)
{
	struct sl_hello h;
	int segment_fd, rc = sl_hello_decode(payload, f->length, &h);
	struct client *c;
	char why[200];

	if (rc || p->client)
		return -EPROTO;
	if (n->site) { /* segments and bells of forwarding are shared by all clients */
		site_audit(n, &p->who, "forward", NULL, false, "a layer for all users gives turns");
		return refuse(n, p, f, EOPNOTSUPP,
			      "this layer gives turns only; it does not forward");
	}
	if (h.version != SL_PROTO_VERSION)
		return reply(n, p, f, EPROTONOSUPPORT, 0, "the node speaks version 4") ? -EPIPE
										       : -EPROTO;
	c = client_make(n, h.pid, &segment_fd);
	if (!c)
		return refuse(n, p, f, -segment_fd, "the node cannot take another client");
	pthread_mutex_lock(&n->lock);
	c->job = node_job_join(n, &h, &rc);
	if (c->job) {
		atomic_store(&n->client[c->index], c);
		if (c->index >= atomic_load(&n->clients_high))
			atomic_store(&n->clients_high, c->index + 1);
		if (!c->index) /* workers that sleep without end look every second from now on */
			node_wake_all(n);
	}
	if (!c->job)
		snprintf(why, sizeof(why), "%s", sl_error(n->sched));
	pthread_mutex_unlock(&n->lock);
	if (!c->job) {
		client_free(c);
		close(segment_fd);
		return refuse(n, p, f, -rc, why);
	}
	c->sock = p->sock;
	p->client = c;
	if (n->link)
		atomic_store(&c->segment->moved, 1); /* make it ask for its node */
	rc = send_welcome(n, p, f, segment_fd);
	close(segment_fd);
	log_info("client=%u pid=%u job=%s connected", c->index, c->pid, c->job->name);
	return rc;
}

/* ---- OPEN, CLOSE ---- */

static int on_open(struct node *n, struct peer *p, const struct sl_frame *f)
{
	int64_t ref;

	if (!p->passed_count)
		return reply(n, p, f, EBADF, 0, NULL);
	ref = client_file_add(n, p->client, p->passed[0], f);
	memmove(p->passed, p->passed + 1, --p->passed_count * sizeof(int));
	return ref < 0 ? reply(n, p, f, (int)-ref, 0, NULL)
		       : reply(n, p, f, 0, (uint64_t)ref, NULL);
}

/* ---- frames ---- */

static int on_control(struct node *n, struct peer *p, const struct sl_frame *f,
		      unsigned char *payload)
{
	char *answer = NULL, *line = strndup((char *)payload, f->length);
	int status, rc;

	if (!line)
		return -ENOMEM;
	p->who.client = p->client;
	status = node_control(n, &p->who, line, &answer);
	free(line);
	rc = reply(n, p, f, status, 0, answer);
	free(answer);
	return rc;
}

static int on_frame(struct node *n, struct peer *p, const struct sl_frame *f,
		    unsigned char *payload)
{
	if (f->type == SL_HELLO)
		return on_hello(n, p, f, payload);
	if (f->type == SL_CONTROL)
		return on_control(n, p, f, payload);
	if (!p->client)
		return -EPROTO;
	if (f->type == SL_OPEN)
		return on_open(n, p, f);
	if (f->type != SL_CLOSE)
		return -EPROTO;
	client_file_close(n, p->client, f->file);
	return 0;
}

/* One recvmsg, with the descriptors that come along. */
static ssize_t receive(struct peer *p)
{
	struct iovec iov = { p->in + p->have, sizeof(p->in) - 1 - p->have };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(PASSED_MAX * sizeof(int))];
	} control;
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t k = recvmsg(p->sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int fds[PASSED_MAX];

	if (k < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(fds, CMSG_DATA(h), count * sizeof(int));
		for (size_t i = 0; i < count; i++) {
			if (p->passed_count < PASSED_MAX && p->client)
				p->passed[p->passed_count++] = fds[i];
			else
				close(fds[i]);
		}
	}
	return k == 0 ? -ECONNRESET : k;
}

/* Frames after a CLOSE are handled only when it is done. */
static bool must_wait(struct node *n, struct peer *p)
{
	if (p->closing || !p->client || !client_closing(p->client))
		return p->closing;
	p->closing = true;
	p->next_closing = n->closing;
	n->closing = p;
	watch(n, p);
	return true;
}

/* Handle complete frames until an answer cannot be sent. */
static int on_frames(struct node *n, struct peer *p)
{
	struct sl_frame f;
	int rc;

	while (p->have >= SL_FRAME_BYTES && !p->out && !must_wait(n, p)) {
		size_t whole;

		if (p->who.user && !p->who.admin && !site_budget(n, p->who.user, node_now())) {
			p->paused = n->paused = true;
			watch(n, p);
			return 0;
		}

		if ((rc = sl_frame_decode(p->in, &f)))
			return rc;
		if (f.length > IN_MAX - 1)
			return -EMSGSIZE;
		whole = SL_FRAME_BYTES + f.length;
		if (p->have < whole)
			break;
		if ((rc = on_frame(n, p, &f, p->in + SL_FRAME_BYTES)))
			return rc;
		memmove(p->in, p->in + whole, p->have - whole);
		p->have -= whole;
	}
	return 0;
}

static int on_input(struct node *n, struct peer *p)
{
	ssize_t k = receive(p);

	if (k < 0)
		return (int)k;
	p->have += (size_t)k;
	return on_frames(n, p);
}

static int on_output(struct node *n, struct peer *p)
{
	int rc = flush_out(n, p);

	return rc ? rc : on_frames(n, p);
}

/* ---- departures ---- */

static void client_depart(struct node *n, struct client *c)
{
	fence_cut(c);
	pthread_mutex_lock(&n->lock);
	node_collect(n, node_now());
	c->gone = true;
	node_send_back(n, c);
	if (!c->busy)
		client_release(n, c);
	node_unlock(n);
	node_wake_one(n); /* what was behind the cancelled ones may go */
}

static void watch_listener(struct node *n, bool on)
{
	struct epoll_event ev = { .events = on ? EPOLLIN : 0U, .data.ptr = &n->listen_fd };

	n->full = !on;
	epoll_ctl(n->epoll_fd, EPOLL_CTL_MOD, n->listen_fd, &ev);
}

static void hang_up(struct node *n, struct peer *p, int error)
{
	bool left = error == -ECONNRESET || error == -EPIPE;
	struct peer **at = &n->closing;

	while (*at && *at != p)
		at = &(*at)->next_closing;
	if (*at)
		*at = p->next_closing;

	if (p->client && left)
		log_info("client=%u pid=%u disconnected", p->client->index, p->client->pid);
	else if (p->client)
		log_warn("client=%u pid=%u hung up on: %s", p->client->index, p->client->pid,
			 strerror(-error));
	else if (!left)
		log_warn("peer refused: %s", strerror(-error));
	for (unsigned i = 0; i < p->passed_count; i++)
		close(p->passed[i]);
	epoll_ctl(n->epoll_fd, EPOLL_CTL_DEL, p->sock, NULL);
	sl_list_remove(&p->link);
	if (p->who.user)
		site_leave(n, p->who.user);
	if (p->client)
		client_depart(n, p->client); /* the socket goes with it */
	else
		close(p->sock);
	/*
	 * A descriptor is free again: accept connections. (Otherwise they would wait for up to a
	 * second.)
	 */
	if (n->full)
		watch_listener(n, true);
	free(p->out);
	free(p);
}

static void on_accept(struct node *n)
{
	/* cppcheck-suppress nullPointer */
	int sock = accept4(n->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct node_user *user = NULL;
	struct sl_peer peer;
	struct peer *p = NULL;

	if (sock < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			watch_listener(n, false); /* it waits; do not spin meanwhile */
		return;
	}
	if (sl_peer_of(sock, &peer) || (!n->site && peer.uid != geteuid())) {
		log_warn("peer refused: uid is not the node's");
	} else if (n->site && !(user = site_enter(n, &peer))) {
		log_debug("peer refused: uid %u has too many connections", (unsigned)peer.uid);
	} else if ((p = calloc(1, sizeof(*p)))) {
		struct epoll_event ev = { .events = EPOLLIN, .data.ptr = p };

		p->sock = sock;
		p->who = (struct node_who){ .user = user,
					    .uid = peer.uid,
					    .pid = peer.pid,
					    .admin = !n->site || site_is_admin(n, &peer) };
		if (epoll_ctl(n->epoll_fd, EPOLL_CTL_ADD, sock, &ev) == 0) {
			sl_list_push_back(&n->peers, &p->link);
			return; /* NOLINT(clang-analyzer-unix.Malloc): in the list */
		}
		free(p);
	}
	if (user)
		site_leave(n, user);
	close(sock);
}

/* Resume the peers of users that had exceeded their rate. */
static void go_on(struct node *n)
{
	n->paused = false;
	for (struct sl_list *l = n->peers.next, *next; l != &n->peers; l = next) {
		struct peer *p = sl_container(l, struct peer, link);
		int rc;

		next = l->next;
		if (!p->paused)
			continue;
		p->paused = false;
		rc = on_frames(n, p); /* it may be paused again */
		if (rc)
			hang_up(n, p, rc);
		else if (!p->paused)
			watch(n, p);
	}
}

/* Files have been closed: resume the peers that waited for it. */
static void on_closed(struct node *n)
{
	struct peer *p = n->closing, *next;
	uint64_t count;

	if (read(n->closed_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		log_error("closing: %s", strerror(errno));
	n->closing = NULL;
	for (; p; p = next) {
		int rc;

		next = p->next_closing;
		p->closing = false;
		rc = on_frames(n, p); /* it may have to wait again */
		if (rc)
			hang_up(n, p, rc);
		else if (!p->closing)
			watch(n, p);
	}
}

static void on_peer(struct node *n, struct peer *p, uint32_t events)
{
	int rc = 0;

	if (events & EPOLLOUT)
		rc = on_output(n, p);
	if (!rc && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		rc = on_input(n, p);
	if (rc)
		hang_up(n, p, rc);
}

void node_forget_peers(struct node *n)
{
	for (struct sl_list *l = n->peers.next, *next; l != &n->peers; l = next) {
		struct peer *p = sl_container(l, struct peer, link);

		next = l->next;
		for (unsigned i = 0; i < p->passed_count; i++)
			close(p->passed[i]);
		free(p->out);
		free(p);
	}
	sl_list_init(&n->peers);
}

/* SIGHUP. The result is in the log and in the status. */
static void on_reload(struct node *n)
{
	char line[] = "reload", *answer = NULL;

	if (!n->config->file) {
		log_info("SIGHUP: nothing to reload");
		return;
	}
	node_control(n, &(struct node_who){ .uid = geteuid(), .admin = true }, line, &answer);
	free(answer);
}

int node_serve(struct node *n)
{
	struct epoll_event ev[64];
	sl_time paused_ns = 0;

	for (;;) {
		int count = epoll_wait(n->epoll_fd, ev, 64,
				       n->paused	     ? PAUSE_MS
				       : n->idle && !n->full ? 2 * TICK_MS
							     : TICK_MS);
		bool closed = false, accept = false;

		if (node_jobs_tick(n)) {
			usage_tick(n);
			node_workers_tick(n);
			files_tick(n);
			if (n->full)
				watch_listener(n, true);
		}
		/* Peers first: there is one event at most for each, and only that frees it. */
		for (int i = 0; i < count; i++) {
			if (ev[i].data.ptr == &n->stop_fd) {
				enum sl_daemon_told told = sl_daemon_told(n->stop_fd);

				if (told == SL_DAEMON_END)
					return 0;
				if (told == SL_DAEMON_RELOAD)
					on_reload(n);
			} else if (ev[i].data.ptr == &n->listen_fd)
				accept = true;
			else if (ev[i].data.ptr == &n->closed_fd)
				closed = true;
			else
				on_peer(n, ev[i].data.ptr, ev[i].events);
		}
		if (n->paused && node_now() - paused_ns > PAUSE_MS * INT64_C(1000000)) {
			paused_ns = node_now();
			go_on(n);
		}
		if (closed)
			on_closed(n);
		if (accept)
			on_accept(n);
	}
}
