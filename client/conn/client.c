/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Move data through the node, over shared memory (slots.c) or TCP (tcp.c). See client.h; connect.c
 * has the connection.
 *
 * A transfer is cut into pieces. Some of them are under way at once, so that sending the next
 * overlaps with the node writing the last, and so that the scheduler sees what this program still
 * wants. Only bytes up to the first gap count as moved. If the node dies, everything else is sent
 * again to the next node: a write at an offset may be repeated. An append may not: if the node
 * had begun it, the outcome is unknown and the caller gets EIO. The program itself makes an
 * append that does not fit into one piece, since the node could not make it in one call.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/conn/cursor.h"
#include "client/conn/settings.h"
#include "client/conn/tcp.h"
#include "client/conn/where.h"
#include "sluice.h"

#define REST_IOV 64

/* The node accepts no more of this transfer: move the rest with our own calls. */
static void move_rest(struct transfer *t)
{
	while (t->done < t->total) {
		struct iovec iov[REST_IOV];
		struct cursor at = cursor_at(t->iov, t->done);
		unsigned count = cursor_parts(at, t->total - t->done, iov, REST_IOV);
		ssize_t n = syscall(t->op == SL_READ ? SYS_preadv : SYS_pwritev, t->fd, iov, count,
				    t->offset + (off_t)t->done, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		t->done += (size_t)n;
	}
}

/* ---- a transfer ---- */

/* Retire answered pieces, the oldest first; t->done is the number of bytes moved without a gap. */
static int settle(struct transfer *t, struct pieces *p, bool *stop)
{
	int error = 0;

	for (; p->count && p->piece[p->first].over; p->count--) {
		const struct piece *piece = &p->piece[p->first];

		if (piece->moved < 0 && !*stop)
			error = (int)piece->moved;
		if (piece->moved > 0 && !*stop)
			t->done += (size_t)piece->moved;
		*stop |= piece->moved < (int64_t)piece->length;
		p->first = (p->first + 1) % PIECES;
	}
	return error;
}

/*
 * Over TCP, signals are blocked meanwhile. If a pending signal has a handler, no more pieces are
 * posted, and AGAIN is returned when all posted pieces have been answered.
 */
int move_pieces(struct conn *c, uint64_t file, struct transfer *t, struct pieces *p)
{
	const struct transport *via = c->via;
	size_t posted = t->done;
	bool stop = false, pause = false;
	int rc, error = 0;

	/*
	 * Data of other writers could come between the pieces of an append; one call keeps it
	 * together.
	 */
	if (t->append && t->total > via->piece_bytes)
		return -ENOTCONN;
	while (p->count || (posted < t->total && !stop && !pause)) {
		while (p->count < (c->one_piece ? 1 : via->pieces) && posted < t->total && !stop &&
		       !pause) {
			struct piece *next = &p->piece[(p->first + p->count) % PIECES];
			size_t left = t->total - posted;

			*next = (struct piece){ .at = posted,
						.length = left < via->piece_bytes
								  ? left
								  : via->piece_bytes };
			rc = via->post(c, file, t, p, next);
			if (rc == LATER)
				break;
			if (rc)
				return rc;
			p->count++;
			posted += next->length;
			pause = via->far && posted < t->total && conn_signalled();
		}
		if ((rc = via->reap(c, t, p, stop)))
			return rc;
		if ((rc = settle(t, p, &stop)))
			error = rc;
	}
	return !error && !stop && pause ? AGAIN : error;
}

/* Move what the node can move. 0, or an error; -ENOTCONN: the node refuses the file. */
static int transfer_through(struct sl_remote *r, int fd, struct transfer *t)
{
	uint64_t file = 0;
	int error = 0;
	bool opened;

	for (bool first = true; t->done < t->total; first = false) {
		struct conn *c;

		if (!t->since && (!first || !conn_ready()))
			t->since = sl_clock_ns();
		c = conn_get(&error);
		if (!c)
			return error;
		if (where_direct()) {
			conn_put(c);
			return -ENOTCONN;
		}
		error = conn_open(c, r, fd, &file);
		opened = !error;
		if (opened)
			error = c->via->move(c, file, t);
		if (error == GONE)
			conn_lose(c);
		conn_put(c);
		if (error == AGAIN)
			continue;
		if (error == -SL_COME_BACK) {
			nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
			continue;
		}
		if (error == GONE && opened)
			t->since = 1; /* the length of the wait is unknown */
		if (error == GONE && t->unknown)
			return -EIO;
		/* Not opened: the node refuses the file. The program uses its own descriptor. */
		if (error != GONE)
			return opened ? error : -ENOTCONN;
	}
	return 0;
}

static ssize_t transfer(struct sl_remote *r, int fd, struct transfer *t)
{
	int error;

	t->fd = fd;
	t->remote = r;
	error = transfer_through(r, fd, t);
	if (error != -ENOTCONN)
		return t->done ? (ssize_t)t->done : error;
	/* The descriptor may have become another file: then we cannot finish the call. */
	if ((t->done || t->since) && !sl_client_same(fd, r)) {
		if (t->done)
			return (ssize_t)t->done;
		if (sl_clock_ns() - t->since > SL_MOMENT_NS)
			return -EIO;
	}
	if (t->done) /* the caller cannot take over a transfer that has begun */
		move_rest(t);
	return t->done ? (ssize_t)t->done : error;
}

ssize_t sl_client_read(struct sl_remote *r, int fd, const struct iovec *iov, size_t total,
		       off_t offset)
{
	struct transfer t = { .iov = iov, .total = total, .offset = offset, .op = SL_READ };

	return transfer(r, fd, &t);
}

ssize_t sl_client_write(struct sl_remote *r, int fd, const struct iovec *iov, size_t total,
			off_t offset, bool append)
{
	struct transfer t = {
		.iov = iov, .total = total, .offset = offset, .op = SL_WRITE, .append = append
	};

	return transfer(r, fd, &t);
}

struct size_call {
	struct sl_remote *r;
	int fd;
	uint64_t *size;
};

static int size_once(struct conn *c, int error, void *arg)
{
	const struct size_call *s = arg;
	uint64_t file;
	sigset_t old;
	int rc;

	if (!c)
		return error;
	rc = where_direct() ? -ENOTCONN : conn_open(c, s->r, s->fd, &file);
	if (rc)
		return rc == GONE || rc == AGAIN ? rc : -ENOTCONN;
	conn_lock(&old);
	rc = atomic_load(&c->left) ? AGAIN : tcp_size(c, file, s->size);
	conn_unlock(&old);
	return rc;
}

int sl_client_size(struct sl_remote *r, int fd, uint64_t *size)
{
	return conn_with(size_once, &(struct size_call){ r, fd, size });
}

const char *sl_client_common(void)
{
	return sl_client_far() ? client_settings()->secret_file : NULL;
}
