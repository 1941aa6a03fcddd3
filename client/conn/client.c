/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving data through the node: pieces, slots, waiting. See client.h; connecting is connect.c.
 *
 * A transfer is cut into pieces. Up to PIECES of them are under way at once, so that copying the
 * next overlaps with the node writing the last, and so that the scheduler sees what this program
 * still wants. What has been moved is what has been moved without a gap. If the node dies,
 * everything else is sent again to the next one: a write at an offset may be repeated. An append
 * may not: when the node was at it the outcome is unknown and the caller gets EIO. An append that
 * does not fit into one slot is the program's own, since the node could not make it whole.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client/conn/cursor.h"
#include "client/conn/settings.h"
#include "client/conn/slots.h"
#include "client/conn/tcp.h"
#include "client/conn/where.h"
#include "sluice.h"

#define REST_IOV 64

/* ---- moving a piece ---- */

/* Between the program's memory and a slot's buffer. */
static void copy(const struct transfer *t, size_t at, unsigned char *slot, size_t length)
{
	struct cursor c = cursor_at(t->iov, at);

	while (length) {
		size_t have = c.iov->iov_len - c.at, n = have < length ? have : length;
		unsigned char *mem = (unsigned char *)c.iov->iov_base + c.at;

		if (t->op == SL_READ)
			memcpy(mem, slot, n);
		else
			memcpy(slot, mem, n);
		slot += n;
		length -= n;
		c.iov++;
		c.at = 0;
	}
}

/* The node does not take any more: move the rest with our own calls. */
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

static void post(struct conn *c, uint64_t file, const struct transfer *t, struct pieces *p,
		 size_t at, size_t length, int slot)
{
	struct sl_slot_shm *shm = &c->segment->slot[slot];

	if (p->leader < 0)
		p->leader = slot;
	if (t->op == SL_WRITE)
		copy(t, at, sl_slot_data(c->segment, (unsigned)slot), length);
	shm->op = t->op;
	shm->flags = t->append ? SL_SLOT_APPEND : 0;
	shm->leader = (uint32_t)p->leader;
	shm->file = file;
	shm->offset = t->append ? 0 : (uint64_t)t->offset + at;
	shm->length = length;
	p->piece[(p->first + p->count++) % PIECES] =
		(struct piece){ .at = at, .length = length, .slot = slot };
	slot_post(c, slot);
}

/*
 * The node has answered. skip: an earlier piece has failed or come to the end of the file. False:
 * it has answered our parent.
 */
static bool finish(struct conn *c, const struct transfer *t, const struct pieces *p,
		   struct piece *piece, bool skip)
{
	piece->moved = c->segment->slot[piece->slot].result;
	if (piece->moved > 0 && t->op == SL_READ && !skip)
		copy(t, piece->at, sl_slot_data(c->segment, (unsigned)piece->slot),
		     (size_t)piece->moved);
	piece->over = true;
	if (piece->slot != p->leader)
		slot_free(c, piece->slot);
	return !conn_inherited(c);
}

/* An append, which is one piece, is taken back, if the node has not begun with it. */
static int lost(struct conn *c, struct transfer *t, const struct pieces *p)
{
	uint32_t posted = SL_SLOT_POSTED;

	if (conn_inherited(c)) /* the parent's it is; we make one of our own */
		return GONE;
	t->unknown =
		t->append && !atomic_compare_exchange_strong(&c->segment->slot[p->leader].state,
							     &posted, SL_SLOT_FREE);
	return GONE;
}

/*
 * Move what is left through this connection. 0: all moved, or the end of the file; else the error
 * that stopped it, or GONE, or AGAIN. t->done is what has certainly been moved.
 */
static int move(struct conn *c, uint64_t file, struct transfer *t)
{
	struct pieces p = { .leader = -1 };
	size_t posted = t->done;
	bool stop = false;
	int error = 0;

	/* Several appends are not one: others could come between. The kernel keeps it whole. */
	if (t->append && t->total > SL_SHM_SLOT_BYTES)
		return -ENOTCONN;
	while (p.count || (posted < t->total && !stop)) {
		struct piece *piece;

		while (p.count < PIECES && posted < t->total && !stop) {
			size_t length = t->total - posted;
			int slot = slot_try(c);

			if (slot < 0 && p.count)
				break;
			/* Other threads have all the others: the leader's is ours, and done. */
			if (slot < 0 && p.leader >= 0)
				slot = p.leader;
			if (slot < 0 && (slot = slot_wait(c)) < 0)
				return AGAIN;
			length = length < SL_SHM_SLOT_BYTES ? length : SL_SHM_SLOT_BYTES;
			post(c, file, t, &p, posted, length, slot);
			posted += length;
		}
		piece = slots_await(c, &p);
		if (!piece)
			return lost(c, t, &p); /* the slots die with the connection */
		if (!finish(c, t, &p, piece, stop))
			return GONE;
		while (p.count && p.piece[p.first].over) {
			piece = &p.piece[p.first];
			if (piece->moved < 0 && !stop)
				error = (int)piece->moved;
			if (piece->moved > 0 && !stop)
				t->done += (size_t)piece->moved;
			stop |= piece->moved < (int64_t)piece->length;
			p.first = (p.first + 1) % PIECES;
			p.count--;
		}
	}
	if (p.leader >= 0)
		slot_free(c, p.leader);
	return error;
}

const struct transport conn_shm = { .open = conn_pass, .move = move };

/* All that the node could do. 0, or the error that stopped it; -ENOTCONN: the node does not take
 * it. */
static int transfer_through(struct sl_remote *r, int fd, struct transfer *t)
{
	uint64_t file = 0;
	int error = 0;
	bool opened;

	for (bool first = true; t->done < t->total; first = false) {
		struct conn *c;

		if (!t->since && (!first || !conn_ready()))
			t->since = slots_now_ns();
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
			t->since = 1; /* nobody knows how long it was waited for */
		if (error == GONE && t->unknown)
			return -EIO;
		/* Not opened: the node does not take the file. The program's own is as good. */
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
	/* By now the number may mean another file: then there is nothing that we could do. */
	if ((t->done || t->since) && !sl_client_same(fd, r)) {
		if (t->done)
			return (ssize_t)t->done;
		if (slots_now_ns() - t->since > SL_MOMENT_NS)
			return -EIO;
	}
	if (t->done) /* it is too late to leave all of it to the caller */
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

int sl_client_size(struct sl_remote *r, int fd, uint64_t *size)
{
	int rc = GONE;

	while (rc == GONE || rc == AGAIN) {
		struct conn *c = conn_get(&rc);
		uint64_t file;
		sigset_t old;

		if (!c)
			return rc;
		rc = where_direct() ? -ENOTCONN : conn_open(c, r, fd, &file);
		if (!rc) {
			conn_lock(&old);
			rc = atomic_load(&c->left) ? AGAIN : tcp_size(c, file, size);
			conn_unlock(&old);
		} else if (rc != GONE && rc != AGAIN) {
			rc = -ENOTCONN;
		}
		conn_put(c);
	}
	return rc;
}

const char *sl_client_common(void)
{
	return sl_client_far() ? client_settings()->secret_file : NULL;
}
