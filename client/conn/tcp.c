/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving data to and from a node over TCP. All frames are sealed (wire/auth.c).
 *
 * The file is opened at the node by its path beneath the root, as /proc/self/fd tells it, with its
 * inode for a check. Pieces of a transfer are answered in any order and identified by the tag. Data
 * goes between the program's memory and the socket without a copy.
 *
 * One transfer at a time: the lock of the connection is held until all pieces have been answered,
 * so threads of a process take turns; each process has its own connection. Signals are blocked
 * meanwhile, but do not wait for the whole transfer. A signal that ends the program does so within
 * TICK_MS. For a signal with a handler no further piece is sent; the lock is released when the
 * pieces in flight are answered, and the transfer continues after the handler.
 *
 * Leases (wire/proto.h). A busy node may answer late, which is not an error: while the client waits
 * it renews the lease, and the node answers that at once. If nothing was received for the time of a
 * lease and a margin, the node executes none of our requests any more, and the connection is given
 * up. This also covers a stopped node, whose kernel still acknowledges our data.
 *
 * The end of a connection. No request may be sent to another node before this node has finished
 * ours: otherwise it could overwrite newer data with old data. The node closes its socket when none
 * of our requests can be executed any more, and its kernel does so if the node has died; so the end
 * of the stream is proof. After another error, tcp_abandon() closes our half and waits for the node
 * to close the other, or for the end of the lease.
 */
#include "client/conn/tcp.h"

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
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "client/conn/cursor.h"
#include "client/conn/where.h"
#include "sluice.h"

#define IOVS	64 /* of the program's memory in one system call */
#define TICK_MS 100

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

static void set_timeouts(int sock, int ms)
{
	const struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

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
	set_timeouts(sock, timeout_s * 1000);
	/* A signal does not end it; calling again says how it went. */
	do
		rc = connect(sock, (struct sockaddr *)&at, length);
	while (rc && (errno == EINTR || errno == EALREADY));
	if (rc == 0 || errno == EISCONN)
		return sock;
	syscall(SYS_close, sock);
	return -ENOTCONN;
}

int64_t tcp_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void tcp_settle(struct conn *c, uint64_t stamp)
{
	c->stamp = stamp;
	c->heard = c->renewed = tcp_now();
	set_timeouts(c->sock, TICK_MS);
	setsockopt(c->sock, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

/* Between frames: return the newest stamp, and ask for another. */
static void renew(struct conn *c)
{
	const struct sl_frame f = { .type = SL_LEASE, .tag = SL_LEASE_TAG };
	unsigned char head[SL_SEALED_BYTES];

	c->renewed = tcp_now();
	sl_frame_encode(&f, head);
	sl_seal(&c->session.out, head, c->stamp, NULL, 0);
	/*
	 * Frames this small are sent whole or not at all. If not, the next frame reuses the
	 * number.
	 */
	if (send(c->sock, head, sizeof(head), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		c->session.out.count--;
}

/* Whether a whole header is in `in`, after adding to it what the socket has now. */
static bool has_head(struct conn *c)
{
	ssize_t n;

	if (c->have == SL_SEALED_BYTES)
		return true;
	n = recv(c->sock, c->in + c->have, sizeof(c->in) - c->have, MSG_DONTWAIT);
	c->have += n > 0 ? (size_t)n : 0;
	return c->have == SL_SEALED_BYTES;
}

/*
 * A frame cannot be sent while the node does not read. A live node sends an unrequested frame
 * each second. If unread answers hide that frame, a growing number of unread bytes shows the
 * same.
 */
static void listen_for(struct conn *c)
{
	struct sl_frame f;
	uint64_t stamp;
	int pending = 0;

	while (has_head(c) && !sl_frame_decode(c->in, &f) && f.type == SL_REPLY &&
	       f.tag == SL_LEASE_TAG && !f.length &&
	       sl_unseal(&c->session.in, c->in, NULL, 0, &stamp)) {
		c->have = 0;
		c->session.in.count++;
		c->stamp = stamp;
		c->heard = tcp_now();
	}
	if (ioctl(c->sock, FIONREAD, &pending))
		return;
	pending += (int)c->have;
	if (pending != c->pending) {
		c->pending = pending;
		c->began = tcp_now();
	}
}

/*
 * After a system call on the socket has failed: whether to try it again. `between`: nothing was
 * sent of a frame that is not whole.
 */
static bool again(struct conn *c, bool between)
{
	int64_t now, since;

	if (errno == EINTR)
		return true;
	if (errno == ECONNRESET || errno == EPIPE)
		c->ended = true; /* as it is when the node has died with something unread */
	if (errno != EAGAIN)
		return false;
	conn_let_end();
	if (!between)
		listen_for(c);
	now = tcp_now();
	since = c->heard > c->began ? c->heard : c->began;
	if (now - since > SL_CLIENT_LEASE_NS + SL_LEASE_MARGIN_NS) {
		where_silent(c->address);
		return false;
	}
	if (between && now - c->renewed > SL_RENEW_NS)
		renew(c);
	return true;
}

/*
 * Give up the connection. Returns when the node cannot execute our requests any more: see the head
 * of this file. The lock is held.
 */
void tcp_abandon(struct conn *c)
{
	int64_t until = c->heard + SL_CLIENT_LEASE_NS + SL_LEASE_MARGIN_NS;
	char rest[4096];
	ssize_t n = 1;

	conn_lose(c);
	if (c->ended || !conn_ours(c))
		return;
	shutdown(c->sock, SHUT_WR);
	while (n && tcp_now() < until) {
		n = recv(c->sock, rest, sizeof(rest), 0);
		if (n < 0 && (errno == ECONNRESET || errno == EPIPE))
			break;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			nanosleep(&(struct timespec){ 0, TICK_MS * 1000000 }, NULL);
		if (n < 0)
			conn_let_end();
	}
	c->ended = true;
}

/* ---- the program's memory ---- */

static void advance(struct cursor *c, size_t by)
{
	while (by) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without memory, by is 0 */
		size_t have = c->iov->iov_len - c->at, n = have < by ? have : by;

		by -= n;
		c->at += n;
		if (c->at == c->iov->iov_len) {
			c->iov++;
			c->at = 0;
		}
	}
}

/* A header or several, then so much of the program's memory. */
static int send_piece(struct conn *c, const unsigned char *head, size_t head_bytes,
		      struct cursor at, size_t length)
{
	size_t head_sent = 0;

	while (head_sent < head_bytes || length) {
		struct iovec iov[1 + IOVS] = { { (void *)(uintptr_t)(head + head_sent),
						 head_bytes - head_sent } };
		struct msghdr m = { .msg_iov = iov,
				    .msg_iovlen = 1 + cursor_parts(at, length, iov + 1, IOVS) };
		ssize_t n = sendmsg(c->sock, &m, MSG_NOSIGNAL);
		size_t part;

		if (n < 0 && again(c, false))
			continue;
		if (n < 0)
			return errno == EFAULT ? -EFAULT : GONE;
		part = head_bytes - head_sent;
		part = part < (size_t)n ? part : (size_t)n;
		head_sent += part;
		advance(&at, (size_t)n - part);
		length -= (size_t)n - part;
	}
	return 0;
}

/* A payload, and if another answer follows for certain, its header in the same call. */
static int receive_piece(struct conn *c, struct cursor at, size_t length, bool more)
{
	while (length) {
		struct iovec iov[IOVS + 1];
		unsigned parts = cursor_parts(at, length, iov, IOVS);
		struct msghdr m = { .msg_iov = iov, .msg_iovlen = parts };
		size_t part;
		ssize_t n;

		if (more && parts < IOVS) /* these are all that is left */
			iov[m.msg_iovlen++] = (struct iovec){ c->in, SL_SEALED_BYTES };
		n = recvmsg(c->sock, &m, MSG_WAITALL);
		if (n < 0 && again(c, true))
			continue;
		c->ended |= n == 0;
		if (n <= 0)
			return n < 0 && errno == EFAULT ? -EFAULT : GONE;
		part = length < (size_t)n ? length : (size_t)n;
		advance(&at, part);
		length -= part;
		c->have = (size_t)n - part;
	}
	return 0;
}

static int receive_head(struct conn *c, unsigned char head[SL_SEALED_BYTES])
{
	while (c->have < SL_SEALED_BYTES) {
		ssize_t n = recv(c->sock, c->in + c->have, sizeof(c->in) - c->have, 0);

		if (n < 0 && again(c, true))
			continue;
		c->ended |= n == 0;
		if (n <= 0)
			return GONE;
		c->have += (size_t)n;
	}
	memcpy(head, c->in, SL_SEALED_BYTES);
	c->have = 0;
	return 0;
}

static int receive_text(struct conn *c, char *text, size_t length)
{
	const struct iovec iov = { text, length };

	return receive_piece(c, (struct cursor){ &iov, 0 }, length, false);
}

/*
 * The next reply but for those to renew(); a text of up to `size` bytes with it, but no data, which
 * is for the caller to receive.
 */
static int receive_reply(struct conn *c, struct sl_frame *f, char *text, size_t size)
{
	unsigned char head[SL_SEALED_BYTES];
	uint64_t stamp;

	do {
		size_t length;

		if (receive_head(c, head) || sl_frame_decode(head, f) || f->type != SL_REPLY)
			return GONE;
		length = sl_seal_covers(f) ? f->length : 0;
		if (length > size || (length && receive_text(c, text, length)) ||
		    !sl_unseal(&c->session.in, head, length ? text : NULL, length, &stamp))
			return GONE;
		c->session.in.count++;
		c->stamp = stamp;
		c->heard = tcp_now();
	} while (f->tag == SL_LEASE_TAG);
	atomic_store_explicit(&c->told, (uint32_t)f->job, memory_order_relaxed);
	c->one_piece = f->flags & SL_F_CROWDED;
	return 0;
}

/* The node shuts down, and has answered every request that it began. */
static bool is_goodbye(const struct sl_frame *f)
{
	return f->tag == 0 && f->status == SL_COME_BACK;
}

/* The node may have said goodbye before it closed the connection. */
static bool said_goodbye(struct conn *c)
{
	struct sl_frame f;
	uint64_t stamp;

	while (has_head(c) && !sl_frame_decode(c->in, &f) && f.type == SL_REPLY && !f.length &&
	       sl_unseal(&c->session.in, c->in, NULL, 0, &stamp)) {
		c->have = 0;
		c->session.in.count++;
		if (is_goodbye(&f))
			return true;
		if (f.tag != SL_LEASE_TAG)
			return false;
	}
	return false;
}

/* ---- requests; the lock is held ---- */

static int send_frame(struct conn *c, const struct sl_frame *f, struct cursor at,
		      const void *covered)
{
	unsigned char head[SL_SEALED_BYTES];

	sl_frame_encode(f, head);
	sl_seal(&c->session.out, head, c->stamp, covered, covered ? f->length : 0);
	return send_piece(c, head, sizeof(head), at, f->length);
}

/* A frame with this payload, which its seal covers, and its answer, with a text of up to `size`. */
static int exchange(struct conn *c, struct sl_frame *f, const void *payload, char *text,
		    size_t size)
{
	const struct iovec iov = { (void *)(uintptr_t)payload, f->length };

	f->tag = ++c->tags;
	c->began = tcp_now();
	if (!atomic_load(&c->lost) && conn_ours(c) &&
	    !send_frame(c, f, (struct cursor){ &iov, 0 }, f->length ? payload : NULL) &&
	    !receive_reply(c, f, text, size) && f->tag == c->tags)
		return 0;
	tcp_abandon(c);
	return GONE;
}

int tcp_ask(struct conn *c, const char *line, char *text, size_t size)
{
	struct sl_frame f = { .type = SL_CONTROL, .length = (uint32_t)strlen(line) };

	if (exchange(c, &f, line, text, size - 1))
		return GONE;
	text[f.length] = 0;
	return f.status;
}

static int tcp_close(struct conn *c, uint64_t file)
{
	const struct sl_frame f = { .type = SL_CLOSE, .file = file };
	char pong[8];

	c->began = tcp_now();
	if (atomic_load(&c->lost) || !conn_ours(c))
		return GONE;
	if (!send_frame(c, &f, (struct cursor){ NULL, 0 }, NULL))
		return tcp_ask(c, "ping", pong, sizeof(pong));
	tcp_abandon(c);
	return GONE;
}

static int tcp_open(struct conn *c, const struct sl_remote *r, int fd, uint64_t *file)
{
	struct sl_frame f = { .type = SL_OPEN,
			      .count = (uint64_t)(r->open_flags & SL_OPEN_FLAGS),
			      .offset = r->ino };
	const char *root = sl_client_root();
	size_t skip = strlen(root) == 1 ? 1 : strlen(root) + 1;
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n <= (ssize_t)skip || (size_t)n - skip >= SL_PATH_BYTES ||
	    memcmp(path, root, skip - 1) != 0 || path[skip - 1] != '/')
		return -ESTALE; /* moved out of the root meanwhile */
	f.length = (uint32_t)((size_t)n - skip);
	if (exchange(c, &f, path + skip, NULL, 0))
		return GONE;
	*file = f.file;
	return -f.status;
}

int tcp_sync(struct conn *c, uint64_t file, bool data_only)
{
	struct sl_frame f = { .type = SL_FSYNC,
			      .flags = data_only ? SL_F_DATASYNC : 0,
			      .file = file };

	return exchange(c, &f, NULL, NULL, 0) ? GONE : -f.status;
}

int tcp_size(struct conn *c, uint64_t file, uint64_t *size)
{
	struct sl_frame f = { .type = SL_SIZE, .file = file };

	if (exchange(c, &f, NULL, NULL, 0))
		return GONE;
	*size = f.count;
	return -f.status;
}

/* After a pause, the node executes no request without a fresh stamp. */
static int refresh(struct conn *c)
{
	struct sl_frame f = { .type = SL_LEASE };

	c->began = tcp_now();
	if (c->began - c->heard < 2 * SL_RENEW_NS)
		return 0;
	return exchange(c, &f, NULL, NULL, 0);
}

static int tcp_post(struct conn *c, uint64_t file, struct transfer *t, struct pieces *p,
		    struct piece *piece)
{
	bool write = t->op == SL_WRITE;
	struct sl_frame f = { .type = write ? SL_PWRITE : SL_PREAD,
			      .flags = t->append ? SL_F_APPEND : 0,
			      .length = write ? (uint32_t)piece->length : 0,
			      .tag = ++c->tags,
			      .file = file,
			      .offset = (uint64_t)t->offset + piece->at,
			      .count = piece->length };
	int rc;

	(void)p;
	t->unknown = t->append; /* from here on */
	piece->id = f.tag;
	if (!write) { /* tcp_reap() sends it */
		sl_frame_encode(&f, c->out + c->held);
		sl_seal(&c->session.out, c->out + c->held, c->stamp, NULL, 0);
		c->held += SL_SEALED_BYTES;
		return 0;
	}
	rc = send_frame(c, &f, cursor_at(t->iov, piece->at), NULL);
	if (rc == GONE && t->append) /* which is the only piece under way */
		t->unknown = !said_goodbye(c);
	return rc;
}

static struct piece *by_tag(struct pieces *p, uint64_t tag)
{
	for (unsigned i = 0; i < p->count; i++) {
		struct piece *piece = &p->piece[(p->first + i) % PIECES];

		if (piece->id == tag && !piece->over)
			return piece;
	}
	return NULL;
}

static bool any_left(const struct pieces *p)
{
	for (unsigned i = 0; i < p->count; i++)
		if (!p->piece[(p->first + i) % PIECES].over)
			return true;
	return false;
}

static int tcp_reap(struct conn *c, struct transfer *t, struct pieces *p, bool skip)
{
	size_t held = c->held;
	struct piece *piece;
	struct sl_frame f;

	(void)skip;
	c->held = 0;
	if (held && send_piece(c, c->out, held, (struct cursor){ NULL, 0 }, 0))
		return GONE;
	if (receive_reply(c, &f, NULL, 0))
		return GONE;
	if (is_goodbye(&f))
		t->unknown = false;
	piece = by_tag(p, f.tag);
	if (!piece || f.count > piece->length)
		return GONE;
	piece->over = true;
	t->unknown = false;
	piece->moved = f.status ? -f.status : (int64_t)f.count;
	/* As the kernel leaves it. The number may mean another file by now. */
	if (t->append && !f.status && sl_client_same(t->fd, t->remote))
		lseek(t->fd, (off_t)f.offset, SEEK_SET);
	if (f.length != (f.status || t->op == SL_WRITE ? 0 : f.count))
		return GONE;
	return receive_piece(c, cursor_at(t->iov, piece->at), f.length, any_left(p));
}

/* The table has no room for the bytes written since `before`: sync them now. */
static int sync_now(struct conn *c, uint64_t file, struct transfer *t, size_t before, int rc)
{
	int synced = rc == GONE || rc == -EFAULT ? GONE : tcp_sync(c, file, false);

	if (!synced)
		return rc;
	t->done = before; /* to be written again, or failed */
	return synced;
}

static int tcp_move(struct conn *c, uint64_t file, struct transfer *t)
{
	struct pieces p = { .leader = -1 };
	size_t before = t->done;
	sigset_t old;
	int rc = GONE;

	conn_lock(&old);
	if (atomic_load(&c->left)) { /* and all data that it took is synced */
		rc = AGAIN;
	} else if (!atomic_load(&c->lost) && conn_ours(c)) {
		rc = refresh(c) ? GONE : move_pieces(c, file, t, &p);
		if (t->op == SL_WRITE && t->done > before && !sync_note_write(t->remote, c->epoch))
			rc = sync_now(c, file, t, before, rc);
		/* In the middle of a frame: the stream cannot be continued. */
		if (rc == GONE || rc == -EFAULT)
			tcp_abandon(c);
	}
	conn_unlock(&old);
	return rc;
}

const struct transport conn_tcp = { .far = true,
				    .pieces = 4,
				    .piece_bytes = SL_TCP_DATA_BYTES,
				    .open = tcp_open,
				    .close = tcp_close,
				    .move = tcp_move,
				    .post = tcp_post,
				    .reap = tcp_reap };
