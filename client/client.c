/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving data through the node: pieces, slots, waiting. See client.h; connecting is connect.c.
 *
 * A transfer is cut into pieces. Up to PIECES of them are under way at once, so that copying the
 * next overlaps with the node writing the last, and so that the scheduler sees what this program
 * still wants. What has been moved is what has been moved without a gap. If the node dies,
 * everything else is sent again to the next one: a write at an offset may be repeated. An append
 * may not: when the node was at it the outcome is unknown and the caller gets EIO, unless it was
 * ours to do.
 *
 * Small pieces are copied through the slot and carried out by the node. Of large ones only the
 * description is posted; when the node says GO, it is our turn, and we do it ourselves: wire/shm.h.
 * If the program has closed its descriptor meanwhile, and perhaps opened another file under the
 * number, the rest is copied like small ones: the node still has the file. If that is gone too
 * there is nobody left who has it, and the call fails with EIO, or has done less than it was asked
 * for.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client/cursor.h"
#include "client/slots.h"
#include "sluice.h"

#define SELF_BYTES (16U << 10)	/* from here on two copies cost more than a longer way */
#define SELF_MOST  (512U << 10) /* of one turn: a scheduler of whole checkpoints could not share */
#define SELF_IOV   64

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

/* It is our turn: one system call, on what memory there is up to `length`. */
static ssize_t do_some(const struct transfer *t, size_t at, size_t length)
{
	struct iovec iov[SELF_IOV];
	unsigned count = cursor_parts(cursor_at(t->iov, at), length, iov, SELF_IOV);
	off_t offset = t->offset + (off_t)at;

	/* Not libc's functions, which are points of cancellation: the node waits for an answer. */
	if (t->append)
		return syscall(SYS_writev, t->fd, iov, count);
	return syscall(t->op == SL_READ ? SYS_preadv : SYS_pwritev, t->fd, iov, count, offset, 0);
}

/* Bytes moved, short at the end of the file; or negative errno if none were. */
static int64_t do_self(const struct transfer *t, size_t at, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = do_some(t, at + done, length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && !done)
			return -errno;
		if (n <= 0)
			break;
		done += (size_t)n;
		if (t->append)
			break; /* is one write */
	}
	return (int64_t)done;
}

/* Whether the program's number still is what we mean by it. After a wait one has to ask. */
static bool holds(const struct transfer *t, struct pieces *p)
{
	bool slept = p->slept;

	p->slept = false;
	if (!slept && (!t->remote->still || t->remote->still(t->remote)))
		return true;
	return sl_client_same(t->fd, t->remote);
}

/* ---- a transfer ---- */

/* Whether to ask for our turn and do it ourselves. */
static bool is_self(const struct conn *c, const struct transfer *t)
{
	return c->permits && t->total >= SELF_BYTES && !t->adrift &&
	       !(t->remote->open_flags & (O_DIRECT | O_SYNC | O_DSYNC));
}

static void post(struct conn *c, uint64_t file, const struct transfer *t, struct pieces *p,
		 size_t at, size_t length, int slot)
{
	struct sl_slot_shm *shm = &c->segment->slot[slot];
	bool self = p->self;

	if (p->leader < 0)
		p->leader = slot;
	if (!self && t->op == SL_WRITE)
		copy(t, at, sl_slot_data(c->segment, (unsigned)slot), length);
	shm->op = t->op;
	shm->flags = (t->append ? SL_SLOT_APPEND : 0) | (self ? SL_SLOT_SELF : 0);
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
static bool finish(struct conn *c, struct transfer *t, struct pieces *p, struct piece *piece,
		   bool skip)
{
	struct sl_slot_shm *shm = &c->segment->slot[piece->slot];
	bool self = atomic_load(&shm->state) == SL_SLOT_GO;

	if (self) {
		t->adrift = t->adrift || (!skip && !holds(t, p));
		piece->moved = skip || t->adrift ? 0 : do_self(t, piece->at, piece->length);
		slot_report(c, piece->slot, piece->moved);
	} else {
		piece->moved = shm->result;
		if (piece->moved > 0 && t->op == SL_READ && !skip)
			copy(t, piece->at, sl_slot_data(c->segment, (unsigned)piece->slot),
			     (size_t)piece->moved);
	}
	piece->over = true;
	if (piece->slot != p->leader)
		slot_free(c, piece->slot);
	return self || !conn_inherited(c);
}

/* An append, which is one piece, is taken back, if the node has not begun with it. */
static int lost(struct conn *c, struct transfer *t, const struct pieces *p)
{
	uint32_t posted = SL_SLOT_POSTED;

	if (conn_inherited(c)) /* the parent's it is; we make one of our own */
		return GONE;
	t->unknown = t->append && !p->self &&
		     !atomic_compare_exchange_strong(&c->segment->slot[p->leader].state, &posted,
						     SL_SLOT_FREE);
	return GONE;
}

/*
 * Move what is left through this connection. 0: all moved, or the end of the file; else the error
 * that stopped it, or GONE, or AGAIN. t->done is what has certainly been moved.
 */
static int move(struct conn *c, uint64_t file, struct transfer *t)
{
	struct pieces p = { .leader = -1, .self = is_self(c, t) };
	size_t largest = !p.self ? SL_SHM_SLOT_BYTES : t->append ? SL_SHM_SELF_BYTES : SELF_MOST;
	size_t posted = t->done;
	bool stop = false;
	int error = 0;

	/* Several appends are not one: others could come between. The kernel keeps it whole. */
	if (t->append && largest < t->total)
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
			length = length < largest ? length : largest;
			post(c, file, t, &p, posted, length, slot);
			posted += length;
		}
		piece = slots_await(c, &p);
		if (!piece)
			return lost(c, t, &p); /* the slots die with the connection */
		if (!finish(c, t, &p, piece, stop))
			return GONE;
		stop |= p.self && t->adrift;
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
	return !error && p.self && t->adrift ? AGAIN : error;
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
	if (t->done) { /* it is too late to leave all of it to the caller */
		int64_t n = do_self(t, t->done, t->total - t->done);

		t->done += n > 0 ? (size_t)n : 0;
	}
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
