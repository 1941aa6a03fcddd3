/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving data to and from a node over TCP.
 *
 * The file is opened at the node by its path beneath the root, as /proc/self/fd tells it, with its
 * inode for a check. A transfer is cut into pieces; up to PIECES of them are under way at once and
 * answered in any order, which the tag tells. Data goes from the program's memory to the socket and
 * back with no copy of ours in between.
 *
 * One transfer at a time: the lock of the connection is held until all its pieces have been
 * answered, and signals wait meanwhile, as they do for a read or write of the kernel's own.
 * Threads of one process thus take turns; processes have connections of their own.
 *
 * A node that has much to do may answer late, and that is no error. One that is gone without a
 * word, since its machine lost power, is recognised by its kernel not answering either: keepalive
 * asks when nothing else does, and if nothing at all was acknowledged for SILENCE_MS the connection
 * is given up.
 */
#include "client/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "client/cursor.h"
#include "sluice.h"

#define PIECES	   8
#define IOVS	   64 /* of the program's memory in one system call */
#define SILENCE_MS 20000

/* ---- the socket ---- */

/* Numbers need no help; for a name the resolver is asked, which allocates and opens files. */
static int resolve(const char *text, struct sockaddr_storage *at, socklen_t *length)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct sockaddr_in *v4 = (struct sockaddr_in *)at;
	const char *colon = strrchr(text, ':');
	struct addrinfo *info;
	size_t n = colon ? (size_t)(colon - text) : 0;
	char host[256];
	int port = 0;

	if (!n || n >= sizeof(host) || sscanf(colon + 1, "%d", &port) != 1)
		return -EINVAL;
	if (n > 2 && text[0] == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	}
	memcpy(host, text, n);
	host[n] = 0;
	memset(at, 0, sizeof(*at));
	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		*length = sizeof(*v4);
		return 0;
	}
	if (getaddrinfo(host, colon + 1, &hints, &info))
		return -EADDRNOTAVAIL;
	memcpy(at, info->ai_addr, info->ai_addrlen);
	*length = info->ai_addrlen;
	freeaddrinfo(info);
	return 0;
}

static void set_timeouts(int sock, int seconds)
{
	const struct timeval tv = { .tv_sec = seconds };

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

int tcp_dial(const char *address, int timeout_s)
{
	struct sockaddr_storage at;
	socklen_t length;
	int sock, rc = resolve(address, &at, &length);

	if (rc)
		return rc;
	sock = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	set_timeouts(sock, timeout_s);
	if (connect(sock, (struct sockaddr *)&at, length) == 0)
		return sock;
	syscall(SYS_close, sock);
	return -ENOTCONN;
}

void tcp_settle(int sock)
{
	set_timeouts(sock, 1);
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	setsockopt(sock, SOL_SOCKET, SO_KEEPALIVE, &(int){ 1 }, sizeof(int));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPIDLE, &(int){ 5 }, sizeof(int));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPINTVL, &(int){ 5 }, sizeof(int));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPCNT, &(int){ 4 }, sizeof(int));
}

bool tcp_silent(int sock)
{
	struct tcp_info info;
	socklen_t length = sizeof(info);

	return getsockopt(sock, IPPROTO_TCP, TCP_INFO, &info, &length) ||
	       info.tcpi_last_ack_recv > SILENCE_MS;
}

/* After a system call on the socket: whether to try again. */
static bool again(int sock)
{
	return errno == EINTR || (errno == EAGAIN && !tcp_silent(sock));
}

/* ---- the program's memory ---- */

static void advance(struct cursor *c, size_t by)
{
	while (by) {
		size_t have = c->iov->iov_len - c->at, n = have < by ? have : by;

		by -= n;
		c->at += n;
		if (c->at == c->iov->iov_len) {
			c->iov++;
			c->at = 0;
		}
	}
}

/* A header, then so much of the program's memory. */
static int send_piece(int sock, const unsigned char *head, struct cursor c, size_t length)
{
	size_t head_sent = 0;

	while (head_sent < SL_FRAME_BYTES || length) {
		struct iovec iov[1 + IOVS] = { { (void *)(uintptr_t)(head + head_sent),
						 SL_FRAME_BYTES - head_sent } };
		struct msghdr m = { .msg_iov = iov,
				    .msg_iovlen = 1 + cursor_parts(c, length, iov + 1, IOVS) };
		ssize_t n = sendmsg(sock, &m, MSG_NOSIGNAL);
		size_t part;

		if (n < 0 && again(sock))
			continue;
		if (n < 0)
			return errno == EFAULT ? -EFAULT : GONE;
		part = SL_FRAME_BYTES - head_sent;
		part = part < (size_t)n ? part : (size_t)n;
		head_sent += part;
		advance(&c, (size_t)n - part);
		length -= (size_t)n - part;
	}
	return 0;
}

static int receive_piece(int sock, struct cursor c, size_t length)
{
	while (length) {
		struct iovec iov[IOVS];
		struct msghdr m = { .msg_iov = iov,
				    .msg_iovlen = cursor_parts(c, length, iov, IOVS) };
		ssize_t n = recvmsg(sock, &m, 0);

		if (n < 0 && again(sock))
			continue;
		if (n <= 0)
			return n < 0 && errno == EFAULT ? -EFAULT : GONE;
		advance(&c, (size_t)n);
		length -= (size_t)n;
	}
	return 0;
}

static int receive_bytes(int sock, void *bytes, size_t length)
{
	const struct iovec iov = { bytes, length };

	return receive_piece(sock, (struct cursor){ &iov, 0 }, length);
}

static int receive_reply(struct conn *c, struct sl_frame *f)
{
	unsigned char head[SL_FRAME_BYTES];

	if (receive_bytes(c->sock, head, sizeof(head)) || sl_frame_decode(head, f) ||
	    f->type != SL_REPLY)
		return GONE;
	atomic_store_explicit(&c->told, (uint32_t)f->job, memory_order_relaxed);
	return 0;
}

/* The node stops, and has begun nothing that it has not answered. */
static bool is_goodbye(const struct sl_frame *f)
{
	return f->tag == 0 && f->status == SL_COME_BACK;
}

/* It may have said so before it closed the connection that we could not send on any more. */
static bool said_goodbye(struct conn *c)
{
	unsigned char head[SL_FRAME_BYTES];
	struct sl_frame f;

	return recv(c->sock, head, sizeof(head), MSG_DONTWAIT) == (ssize_t)sizeof(head) &&
	       !sl_frame_decode(head, &f) && f.type == SL_REPLY && is_goodbye(&f);
}

/* A text that says what is wrong: read past it. */
static int skip_text(int sock, size_t length)
{
	char text[256];

	while (length) {
		size_t n = length < sizeof(text) ? length : sizeof(text);

		if (receive_bytes(sock, text, n))
			return GONE;
		length -= n;
	}
	return 0;
}

/* ---- requests; the lock is held ---- */

static int tcp_open(struct conn *c, const struct sl_remote *r, int fd, uint64_t *file)
{
	struct sl_frame f = { .type = SL_OPEN,
			      .tag = ++c->tags,
			      .count = (uint64_t)(r->open_flags & SL_OPEN_FLAGS),
			      .offset = r->ino };
	const char *root = sl_client_root();
	size_t skip = strlen(root) == 1 ? 1 : strlen(root) + 1;
	unsigned char head[SL_FRAME_BYTES];
	char link[32], path[PATH_MAX];
	struct iovec iov;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n <= (ssize_t)skip || (size_t)n - skip >= SL_PATH_BYTES ||
	    memcmp(path, root, skip - 1) != 0 || path[skip - 1] != '/')
		return -ESTALE; /* moved out of the root meanwhile */
	f.length = (uint32_t)((size_t)n - skip);
	sl_frame_encode(&f, head);
	iov = (struct iovec){ path + skip, f.length };
	if (send_piece(c->sock, head, (struct cursor){ &iov, 0 }, f.length) ||
	    receive_reply(c, &f) || f.tag != c->tags || skip_text(c->sock, f.length))
		return GONE;
	*file = f.file;
	return -f.status;
}

int tcp_sync(struct conn *c, uint64_t file, bool data_only)
{
	struct sl_frame f = { .type = SL_FSYNC,
			      .tag = ++c->tags,
			      .flags = data_only ? SL_F_DATASYNC : 0,
			      .file = file };
	unsigned char head[SL_FRAME_BYTES];

	sl_frame_encode(&f, head);
	if (send_piece(c->sock, head, (struct cursor){ NULL, 0 }, 0) || receive_reply(c, &f) ||
	    f.tag != c->tags || skip_text(c->sock, f.length))
		return GONE;
	return -f.status;
}

struct piece {
	size_t at;
	uint32_t length;
	bool done;
	int64_t result; /* bytes, or negative errno */
};

struct pipeline {
	struct piece piece[PIECES]; /* by tag */
	uint64_t first, next;	    /* tags */
};

static int post(struct conn *c, uint64_t file, struct transfer *t, struct pipeline *l, size_t at)
{
	size_t length = t->total - at > SL_TCP_DATA_BYTES ? SL_TCP_DATA_BYTES : t->total - at;
	bool write = t->op == SL_WRITE;
	struct sl_frame f = { .type = write ? SL_PWRITE : SL_PREAD,
			      .flags = t->append ? SL_F_APPEND : 0,
			      .length = write ? (uint32_t)length : 0,
			      .tag = l->next,
			      .file = file,
			      .offset = (uint64_t)t->offset + at,
			      .count = length };
	unsigned char head[SL_FRAME_BYTES];
	int rc;

	t->unknown = t->append; /* from here on */
	l->piece[l->next++ % PIECES] = (struct piece){ .at = at, .length = (uint32_t)length };
	sl_frame_encode(&f, head);
	rc = send_piece(c->sock, head, cursor_at(t->iov, at), f.length);
	if (rc == GONE && t->append) /* which is the only piece under way */
		t->unknown = !said_goodbye(c);
	return rc;
}

/* One reply, of whichever piece. */
static int reap(struct conn *c, struct transfer *t, struct pipeline *l)
{
	struct sl_frame f;
	struct piece *p;

	if (receive_reply(c, &f))
		return GONE;
	if (is_goodbye(&f))
		t->unknown = false;
	if (f.tag < l->first || f.tag >= l->next)
		return GONE;
	p = &l->piece[f.tag % PIECES];
	if (p->done || f.count > p->length)
		return GONE;
	p->done = true;
	p->result = f.status ? -f.status : (int64_t)f.count;
	/* As the kernel leaves it. The number may mean another file by now. */
	if (t->append && !f.status && sl_client_same(t->fd, t->remote))
		lseek(t->fd, (off_t)f.offset, SEEK_SET);
	if (f.status || t->op == SL_WRITE)
		return skip_text(c->sock, f.length);
	if (f.length != f.count)
		return GONE;
	return receive_piece(c->sock, cursor_at(t->iov, p->at), f.length);
}

static int run(struct conn *c, uint64_t file, struct transfer *t)
{
	struct pipeline l = { .first = c->tags + 1, .next = c->tags + 1 };
	size_t posted = t->done;
	bool stop = false;
	int rc, error = 0;

	while (l.first < l.next || (posted < t->total && !stop)) {
		while (l.next - l.first < PIECES && posted < t->total && !stop) {
			if ((rc = post(c, file, t, &l, posted)))
				return rc;
			posted += l.piece[(l.next - 1) % PIECES].length;
		}
		if ((rc = reap(c, t, &l)))
			return rc;
		for (; l.first < l.next && l.piece[l.first % PIECES].done; l.first++) {
			struct piece *p = &l.piece[l.first % PIECES];

			p->done = false;
			if (stop)
				continue;
			if (p->result < 0)
				error = (int)p->result;
			else
				t->done += (size_t)p->result;
			stop = p->result < (int64_t)p->length;
		}
	}
	c->tags = l.next;
	return error;
}

/* What has been written, from `before` on, is not remembered as unsynced: so it must not be. */
static int sync_now(struct conn *c, uint64_t file, struct transfer *t, size_t before, int rc)
{
	int synced = rc == GONE ? GONE : tcp_sync(c, file, false);

	if (!synced)
		return rc;
	t->done = before; /* to be written again, or failed */
	return synced;
}

static int tcp_move(struct conn *c, uint64_t file, struct transfer *t)
{
	size_t before = t->done;
	sigset_t old;
	int rc = GONE;

	conn_lock(&old);
	if (atomic_load(&c->left)) { /* and all that it had taken is synced */
		rc = AGAIN;
	} else if (!atomic_load(&c->lost) && conn_ours(c)) {
		rc = run(c, file, t);
		if (t->op == SL_WRITE && t->done > before && !sync_note_write(t->remote, c->epoch))
			rc = sync_now(c, file, t, before, rc);
		/* In the middle of a frame: nobody can go on from there. */
		if (rc == GONE || rc == -EFAULT)
			conn_lose(c);
	}
	conn_unlock(&old);
	return rc;
}

const struct transport conn_tcp = { .open = tcp_open, .move = tcp_move };
