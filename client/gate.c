/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases, and gate mode: the program does its own I/O, when it may.
 *
 * As in the prototype of seed 003, section 5, which put a gate in front of IOR's I/O: nothing is
 * forwarded. Before a call the client has to have a *turn* for its bytes; then it makes the
 * program's own system call, on the program's own descriptor, at its own position. So whatever the
 * kernel does is what the program gets, and a file that is not beneath the root, taken for one that
 * is, costs an account that is wrong by a call, never data. Admit, share and grant decide who has a
 * turn; order has nothing to order.
 *
 * A message for each call of 4 KiB would cost more than the call. So a turn is a *lease* of up to
 * LEASE_MOST bytes, which later calls use up without asking, of any thread, on any file, reading
 * or writing (wire/shm.h). Its size follows the program: twice the last one if that was used up,
 * half of it if the node took it back, so that a job which writes 4 KiB a second is not charged
 * for megabytes. Nor is one that writes 100 bytes at a time: a lease is at an end after 1024 calls,
 * too, so it should not be for more bytes than those move. One whose bytes took more than half of
 * them is not doubled, and after one whose calls came to an end first, the next is for the bytes
 * that they took.
 *
 *	write 4K: asks for 4K          GO
 *	write 4K: used up, asks for 8K GO, of which 4K are left
 *	write 4K: has 4K left          no message
 *	write 4K: used up, asks for 16K …
 *
 * A call that has no message costs two changes of one word, and in a program of one thread
 * nothing else that is locked: some 70 ns where a write of 4 KiB to a tmpfs takes 530.
 *
 * Who waits for a turn, or for a node, looks which file the descriptor is before and after
 * (look.c): if the program has closed it meanwhile, the call fails with EIO, or has done what it
 * had done before. Nobody has the file any more.
 *
 * Calm. While there is nothing to decide about our job the node says so in the bells, and programs
 * that are not in gate mode use leases too, for what the page cache answers, or a fast device.
 * Calls that take long, several in succession, are not answered by such: the next ones are the
 * node's to order and merge, before we try again.
 *
 * There is no lock to wait for: one thread renews the lease; others that come meanwhile, and a
 * signal handler that interrupts it, ask for a turn of their own, in another slot. A call that is
 * larger than a lease is made in parts, except for an append, which is one write. Parts are at an
 * offset: at the position, those of others could come between (preload-data.c reserves the range,
 * and sees to it that no call is made at the position meanwhile: so it is that which makes them).
 */
#include "client/gate.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client/call.h"
#include "client/slots.h"
#include "sluice.h"

#define TURN	   (SL_SLOT_SELF | SL_SLOT_ANY)
#define LEASE_MOST SL_GATE_BYTES
#define LEASE_IOV  64
#define SLOW_NS	   400000 /* a call that takes longer than this and 1 ns a byte: not the cache's */
#define SLOW_RUN   3	  /* so many, one after the other: the others are the node's */
#define SLOW_CALLS 64
#define SAMPLE	   8 /* one call in so many is timed, and those after a slow one */

_Static_assert(LEASE_MOST - 1 <= SL_LEASE_LEFT_MAX,
	       "what the first call leaves fits into the word");

/* ---- turns ---- */

struct turn {
	struct conn *conn;
	uint32_t op;
	uint32_t flags; /* of the request */
	int slot;	/* SL_SHM_LEASE_SLOT: the lease's */
	int fd;
	bool looked, begun;    /* begun: some parts have been done */
	struct sl_remote file; /* if we have looked: what fd was */
	int64_t since;	       /* then */
};

/* Before a wait. False: it is nothing that a node has to do with. */
static bool look(struct turn *t)
{
	if (!t->looked) {
		t->looked = sl_client_look(t->fd, &t->file);
		t->since = slots_now_ns();
	}
	return t->looked;
}

/* After it: whether fd is fit for use. */
static bool holds(const struct turn *t)
{
	return !t->looked || sl_client_same(t->fd, &t->file) ||
	       (!t->begun && slots_now_ns() - t->since < SL_MOMENT_NS);
}

void gate_start(struct conn *c)
{
	atomic_store(&c->segment->lease.word, SL_LEASE_REVOKED);
	atomic_store(&c->lease_bytes, 1);
	atomic_store(&c->lease_wish, 0);
}

/* Nobody is in there: its slot is for whoever comes. */
static bool is_over(uint64_t word)
{
	return (word & (SL_LEASE_REVOKED | SL_LEASE_USERS)) == SL_LEASE_REVOKED;
}

/*
 * The last one to leave a revoked lease reports before it leaves: once the word says that nobody is
 * in there, another thread may post the next request in that slot.
 */
static void leave(struct conn *c, uint32_t op, ssize_t moved)
{
	struct sl_lease *lease = &c->segment->lease;
	uint64_t seen = atomic_load_explicit(&lease->word, memory_order_relaxed);
	uint64_t bytes = moved > 0 ? (uint64_t)moved : 0;

	if (bytes && op != atomic_load_explicit(&c->lease_op, memory_order_relaxed)) {
		atomic_fetch_add(&lease->other, bytes);
		bytes = 0;
	}
	while (!is_over(seen - SL_LEASE_USER))
		if (atomic_compare_exchange_weak(&lease->word, &seen, seen - SL_LEASE_USER + bytes))
			return;
	atomic_fetch_add(&lease->word, bytes);
	slot_report(c, SL_SHM_LEASE_SLOT, 0);
	atomic_fetch_sub(&lease->word, SL_LEASE_USER);
}

/* The lease is used up, as the word says: what to ask for next. */
static void wish(struct conn *c, uint64_t word)
{
	uint64_t bytes = atomic_load(&c->lease_bytes), calls = word & SL_LEASE_CALLS;

	if (calls == SL_LEASE_CALLS)
		bytes -= sl_lease_left(word);
	else if (calls <= SL_LEASE_CALLS / 2)
		bytes *= 2;
	atomic_store(&c->lease_wish, bytes);
}

/* Use the lease, if there is one and it has so many bytes left. */
static bool enter(struct conn *c, size_t bytes)
{
	_Atomic uint64_t *word = &c->segment->lease.word;
	uint64_t seen = atomic_load_explicit(word, memory_order_relaxed), next;
	bool used_up;

	do {
		if (seen & SL_LEASE_REVOKED || (seen & SL_LEASE_USERS) == SL_LEASE_USERS)
			return false;
		used_up = sl_lease_left(seen) < bytes || (seen & SL_LEASE_CALLS) == SL_LEASE_CALLS;
		next = seen + SL_LEASE_USER;
		next += used_up ? SL_LEASE_REVOKED
				: SL_LEASE_CALL - ((uint64_t)bytes << SL_LEASE_LEFT);
	} while (!atomic_compare_exchange_weak(word, &seen, next));
	if (used_up) {
		wish(c, seen);
		leave(c, 0, 0);
	}
	return !used_up;
}

/* Ask for a turn in this slot and wait. 0, negative errno or GONE. own: what this call takes. */
static int ask(struct conn *c, const struct turn *t, size_t bytes, size_t own, int slot)
{
	struct pieces p = { .count = 1, .leader = slot, .piece = { { .slot = slot } } };
	struct sl_slot_shm *shm = &c->segment->slot[slot];

	shm->op = t->op;
	shm->flags = t->flags;
	shm->leader = (uint32_t)slot;
	shm->file = 0;
	shm->offset = own;
	shm->length = bytes;
	slot_post(c, slot);
	if (!slots_await(c, &p))
		return GONE;
	return atomic_load(&shm->state) == SL_SLOT_GO ? 0 : (int)shm->result;
}

/* The lease is over and its slot is ours; get another one, of which the call at hand is a user. */
static int renew(struct conn *c, const struct turn *t, size_t bytes)
{
	uint64_t next = atomic_exchange(&c->lease_wish, 0);

	next = next ? next : atomic_load(&c->lease_bytes) / 2;
	next = next < bytes ? bytes : next > LEASE_MOST ? LEASE_MOST : next;
	atomic_store(&c->lease_bytes, next);
	/* Nobody enters before the node has set the word. */
	atomic_store(&c->lease_op, t->op);
	return ask(c, t, (size_t)next, bytes, SL_SHM_LEASE_SLOT);
}

static int turn_in(struct conn *c, struct turn *t, size_t bytes)
{
	int rc = 1;

	t->slot = SL_SHM_LEASE_SLOT;
	if (bytes <= LEASE_MOST && enter(c, bytes))
		return 0;
	if (!look(t))
		return -ENOTCONN;
	if (bytes <= LEASE_MOST && !atomic_exchange(&c->renewing, true)) {
		/* Calls of the last lease may still be under way. */
		if (is_over(atomic_load(&c->segment->lease.word)))
			rc = renew(c, t, bytes);
		atomic_store(&c->renewing, false);
	}
	if (rc <= 0)
		return rc;
	t->slot = slot_try(c);
	if (t->slot < 0 && (t->slot = slot_wait(c)) < 0)
		return AGAIN;
	rc = ask(c, t, bytes, bytes, t->slot);
	if (rc && rc != GONE)
		slot_free(c, t->slot);
	return rc;
}

/* 0: go; -ENOTCONN: there is nobody to ask, go all the same; else negative errno. */
static int turn_begin(struct turn *t, size_t bytes)
{
	int rc;

	do {
		if (!conn_ready() && !look(t))
			return -ENOTCONN;
		t->conn = conn_get(&rc);
		if (!t->conn)
			return rc;
		rc = t->conn->gates ? turn_in(t->conn, t, bytes) : -ENOTCONN;
		if (rc == GONE)
			conn_lose(t->conn);
		if (rc)
			conn_put(t->conn);
		if (rc == -SL_COME_BACK)
			nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	} while (rc == GONE || rc == AGAIN || rc == -SL_COME_BACK);
	return rc;
}

static void turn_end(struct turn *t, ssize_t moved)
{
	struct conn *c = t->conn;

	if (t->slot == SL_SHM_LEASE_SLOT) {
		leave(c, t->op, moved);
	} else {
		slot_report(c, t->slot, moved);
		slot_free(c, t->slot);
	}
	conn_put(c);
}

static bool is_calm(const struct conn *c)
{
	return c->permits && atomic_load_explicit(&c->bells->calm, memory_order_relaxed) == c->calm;
}

/* This call is for the node to see: those before it were slow. */
static bool is_due(struct conn *c)
{
	uint32_t slow = atomic_load_explicit(&c->slow, memory_order_relaxed);

	if (slow)
		atomic_store_explicit(&c->slow, slow - 1, memory_order_relaxed);
	return slow;
}

/* ---- calls ---- */

struct part {
	struct iovec iov[LEASE_IOV];
	int fd, count;
	uint32_t op;
	off_t offset;
};

/* The next part: as many vectors, from `at` on, as have `most` bytes together. Its bytes. */
static size_t cut(const struct iovec *iov, size_t at, size_t most, struct part *p)
{
	size_t bytes = 0;

	for (; p->count < LEASE_IOV && bytes < most; iov++) {
		size_t n = iov->iov_len;

		if (at >= n) {
			at -= n;
			continue;
		}
		n -= at;
		n = n < most - bytes ? n : most - bytes;
		p->iov[p->count++] = (struct iovec){ (char *)iov->iov_base + at, n };
		bytes += n;
		at = 0;
	}
	return bytes;
}

static ssize_t part_call(const void *arg)
{
	const struct part *p = arg;

	return sl_client_call(p->fd, p->op, p->iov, p->count, p->offset);
}

static ssize_t one_turn(struct turn *t, size_t bytes, ssize_t (*call)(const void *arg),
			const void *arg)
{
	int rc = turn_begin(t, bytes);
	ssize_t n;

	if (rc && rc != -ENOTCONN)
		return rc;
	n = holds(t) ? call(arg) : -EIO;
	if (!rc)
		turn_end(t, n);
	return n;
}

ssize_t sl_client_gate(int fd, uint32_t op, size_t bytes, ssize_t (*call)(const void *arg),
		       const void *arg)
{
	struct turn t = { .op = op, .flags = TURN, .fd = fd };

	return one_turn(&t, bytes, call, arg);
}

ssize_t sl_client_gate_parts(int fd, uint32_t op, const struct iovec *iov, size_t total,
			     off_t offset)
{
	struct turn t = { .op = op, .flags = TURN, .fd = fd };
	size_t done = 0;

	if (!look(&t))
		return -ENOTCONN;
	t.begun = total > LEASE_MOST;
	while (done < total) {
		struct part p = { .fd = fd, .op = op, .offset = offset + (off_t)done };
		size_t most = total - done < LEASE_MOST ? total - done : LEASE_MOST;
		size_t bytes = cut(iov, done, most, &p);
		ssize_t n = one_turn(&t, bytes, part_call, &p);

		if (n < 0)
			return done ? (ssize_t)done : n;
		done += (size_t)n;
		if ((size_t)n < bytes)
			break;
	}
	return (ssize_t)done;
}

/* Looking at the clock twice is a tenth of a small call. */
static bool is_sampled(struct conn *c)
{
	uint32_t calls = atomic_load_explicit(&c->sampled, memory_order_relaxed);

	atomic_store_explicit(&c->sampled, calls + 1, memory_order_relaxed);
	return calls % SAMPLE == 0 || atomic_load_explicit(&c->slow_run, memory_order_relaxed);
}

static void judge(struct conn *c, int64_t took_ns, size_t bytes)
{
	if (took_ns <= SLOW_NS + (int64_t)bytes) {
		atomic_store_explicit(&c->slow_run, 0, memory_order_relaxed);
	} else if (atomic_fetch_add(&c->slow_run, 1) + 1 >= SLOW_RUN) {
		atomic_store_explicit(&c->slow_run, 0, memory_order_relaxed);
		atomic_store_explicit(&c->slow, SLOW_CALLS, memory_order_relaxed);
	}
}

bool sl_client_enter(struct sl_turn *t, uint32_t op, size_t bytes, bool gated)
{
	struct conn *c = conn_quick();
	bool may =
		c && (gated ? c->gates
			    : is_calm(c) && !atomic_load_explicit(&c->slow, memory_order_relaxed));

	if (may && enter(c, bytes)) {
		*t = (struct sl_turn){ c, bytes, !gated && is_sampled(c) ? slots_now_ns() : 0, op };
		return true;
	}
	if (c)
		conn_put(c);
	return false;
}

void sl_client_leave(const struct sl_turn *t, ssize_t moved)
{
	if (t->since_ns)
		judge(t->conn, slots_now_ns() - t->since_ns, t->bytes);
	leave(t->conn, t->op, moved);
	conn_put(t->conn);
}

bool sl_client_lease(int fd, uint32_t op, size_t bytes, ssize_t (*call)(const void *arg),
		     const void *arg, ssize_t *moved)
{
	struct turn t = { .op = op, .flags = TURN | SL_SLOT_CALM, .fd = fd };
	struct conn *c;
	int64_t since_ns;
	int rc = 0;

	c = conn_ready() ? conn_get(&rc) : NULL;
	if (!c)
		return false;
	t.conn = c;
	if (!is_calm(c) || is_due(c) || (rc = turn_in(c, &t, bytes))) {
		if (rc == GONE)
			conn_lose(c);
		conn_put(c);
		return false;
	}
	if (!holds(&t)) { /* it may be another kind of file now */
		turn_end(&t, 0);
		return false;
	}
	since_ns = is_sampled(c) ? slots_now_ns() : 0;
	*moved = call(arg);
	if (since_ns)
		judge(c, slots_now_ns() - since_ns, bytes);
	turn_end(&t, *moved);
	return true;
}
