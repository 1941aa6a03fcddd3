/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving data through the node: pieces, slots, waiting. See client.h; connecting is connect.c.
 *
 * A transfer is cut into pieces of a slot's size. Up to PIECES of them are under way at once, so
 * that copying the next overlaps with the node writing the last; they are reaped in order, and
 * what has been reaped is what has been moved. If the node dies, everything that was not reaped
 * is sent again to the next one: a write at an offset may be repeated. An append may not: when one
 * was under way the outcome is unknown and the caller gets EIO.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client/connect.h"
#include "sluice.h"

#define PIECES	      8
#define YIELD_NS      50000
#define QUICK_NS      1500    /* a yield that is faster: nobody else has run */
#define CROWDED_NS    1000000 /* one that takes longer: others want this CPU, not our like */
#define CROWDED_WAITS 200
#define CHECK_NS      100000000 /* how often a sleeping client looks whether its node lives */

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

/* ---- slots ---- */

static int slot_try(struct conn *c)
{
	uint64_t free = atomic_load_explicit(&c->free_slots, memory_order_relaxed);

	while (free)
		if (atomic_compare_exchange_weak(&c->free_slots, &free, free & (free - 1)))
			return __builtin_ctzll(free);
	return -1;
}

static void slot_free(struct conn *c, int slot)
{
	atomic_fetch_or(&c->free_slots, UINT64_C(1) << slot);
	if (atomic_load(&c->slot_waiters)) {
		atomic_fetch_add(&c->slot_frees, 1);
		futex(&c->slot_frees, FUTEX_WAKE_PRIVATE, 1, NULL);
	}
}

/* A slot of a connection whose other threads hold all of them: wait for one. */
static int slot_wait(struct conn *c)
{
	const struct timespec ts = { 0, CHECK_NS };
	int slot;

	atomic_fetch_add(&c->slot_waiters, 1);
	for (;;) {
		uint32_t seen = atomic_load(&c->slot_frees);

		slot = slot_try(c);
		if (slot >= 0 || atomic_load(&c->lost))
			break;
		futex(&c->slot_frees, FUTEX_WAIT_PRIVATE, seen, &ts);
	}
	atomic_fetch_sub(&c->slot_waiters, 1);
	return slot;
}

/* ---- one piece ---- */

static void ring(struct conn *c, uint32_t worker)
{
	struct sl_bell *bell = &c->bells->bell[worker];

	atomic_fetch_add(&bell->rings, 1);
	futex(&bell->rings, FUTEX_WAKE, 1, NULL);
}

static void post(struct conn *c, int slot)
{
	int cpu = sched_getcpu();
	uint32_t worker = cpu < 0 ? 0 : (uint32_t)cpu % c->workers;
	struct sl_bell *bell = &c->bells->bell[worker];

	atomic_store(&c->segment->slot[slot].state, SL_SLOT_POSTED);
	atomic_fetch_or(&c->segment->posted[worker], UINT64_C(1) << slot);
	atomic_fetch_or(&bell->ready[c->index / 64], UINT64_C(1) << c->index % 64);
	if (atomic_load(&bell->sleeping))
		ring(c, worker);
}

/* Our worker may be busy with something slow: let one that sleeps have a look. */
static void ask_for_help(struct conn *c)
{
	for (uint32_t w = 0; w < c->workers; w++)
		if (atomic_load(&c->bells->bell[w].sleeping)) {
			ring(c, w);
			return;
		}
}

/*
 * The worker of this CPU runs when we yield, and yields back: the fastest way, while nobody else
 * wants the CPU. Who yields loses his place, so a third one would get most of it: when a yield does
 * not come back soon, sleep at once the next times. When it comes back at once, nobody has run: the
 * worker may be in another scheduling group (a session, the cgroup of a batch job), which a yield
 * does not let in. Sleeping does.
 */
static bool yield_for(struct conn *c, const struct sl_slot_shm *shm)
{
	uint32_t crowded = atomic_load_explicit(&c->crowded, memory_order_relaxed);
	int64_t before, now = now_ns(), end = now + YIELD_NS;

	if (crowded) {
		atomic_store_explicit(&c->crowded, crowded - 1, memory_order_relaxed);
		return atomic_load(&shm->state) == SL_SLOT_DONE;
	}
	while (atomic_load_explicit(&shm->state, memory_order_acquire) != SL_SLOT_DONE) {
		if (now > end)
			return false;
		before = now;
		sched_yield();
		now = now_ns();
		if (now - before > CROWDED_NS)
			atomic_store_explicit(&c->crowded, CROWDED_WAITS, memory_order_relaxed);
		else if (now - before < QUICK_NS)
			return atomic_load(&shm->state) == SL_SLOT_DONE;
	}
	return true;
}

/* Until the slot is done: its result, or GONE. */
static int64_t reap(struct conn *c, int slot)
{
	struct sl_slot_shm *shm = &c->segment->slot[slot];
	const struct timespec ts = { 0, CHECK_NS };

	if (yield_for(c, shm))
		return shm->result;
	ask_for_help(c);
	atomic_store(&shm->waiting, 1);
	while (atomic_load(&shm->state) != SL_SLOT_DONE) {
		if (futex(&shm->state, FUTEX_WAIT, SL_SLOT_POSTED, &ts) && errno == ETIMEDOUT &&
		    atomic_load(&shm->state) != SL_SLOT_DONE && !conn_alive(c))
			return GONE;
	}
	atomic_store(&shm->waiting, 0);
	return shm->result;
}

/* ---- gathering and scattering ---- */

struct cursor {
	const struct iovec *iov;
	size_t at; /* in *iov */
};

static void copy(struct cursor *c, unsigned char *slot, size_t length, bool out)
{
	while (length) {
		size_t have = c->iov->iov_len - c->at, n = have < length ? have : length;
		unsigned char *mem = (unsigned char *)c->iov->iov_base + c->at;

		if (out)
			memcpy(mem, slot, n);
		else
			memcpy(slot, mem, n);
		slot += n;
		length -= n;
		c->at += n;
		if (c->at == c->iov->iov_len) {
			c->iov++;
			c->at = 0;
		}
	}
}

static struct cursor cursor_at(const struct iovec *iov, size_t offset)
{
	while (offset >= iov->iov_len && offset)
		offset -= iov++->iov_len;
	return (struct cursor){ iov, offset };
}

/* ---- a transfer ---- */

/*
 * Move what is left through this connection. 0: all moved, or the end of the file; else the error
 * that stopped it, or GONE. t->done is what has certainly been moved.
 */
static int move(struct conn *c, uint64_t file, struct transfer *t)
{
	struct {
		int slot;
		uint32_t length;
	} piece[PIECES];
	struct cursor in = cursor_at(t->iov, t->done), out = in;
	size_t posted = t->done;
	unsigned first = 0, count = 0;
	bool stop = false;
	int error = 0;

	while (count || (posted < t->total && !stop)) {
		unsigned i;

		while (count < PIECES && posted < t->total && !stop) {
			size_t length = t->total - posted;
			int slot = slot_try(c);
			struct sl_slot_shm *shm;

			if (slot < 0 && count)
				break;
			if (slot < 0 && (slot = slot_wait(c)) < 0)
				return GONE;
			if (length > SL_SHM_SLOT_BYTES)
				length = SL_SHM_SLOT_BYTES;
			if (t->op == SL_WRITE)
				copy(&in, sl_slot_data(c->segment, (unsigned)slot), length, false);
			shm = &c->segment->slot[slot];
			shm->op = t->op;
			shm->flags = t->append ? SL_F_APPEND : 0;
			shm->file = file;
			shm->offset = (uint64_t)t->offset + posted;
			shm->length = length;
			i = (first + count++) % PIECES;
			piece[i].slot = slot;
			piece[i].length = (uint32_t)length;
			posted += length;
			post(c, slot);
		}
		if (count) {
			int slot = piece[first].slot;
			int64_t n = reap(c, slot);

			if (n == GONE)
				return GONE; /* the slots die with the connection */
			if (n < 0 && !stop)
				error = (int)n;
			if (n > 0 && !stop && t->op == SL_READ)
				copy(&out, sl_slot_data(c->segment, (unsigned)slot), (size_t)n,
				     true);
			if (n > 0 && !stop)
				t->done += (size_t)n;
			if (n < (int64_t)piece[first].length)
				stop = true;
			slot_free(c, slot);
			first = (first + 1) % PIECES;
			count--;
		}
	}
	return error;
}

const struct transport conn_shm = { .open = conn_pass, .move = move };

static ssize_t transfer(struct sl_remote *r, int fd, struct transfer *t)
{
	uint64_t file = 0;
	int error = 0;
	bool opened;

	t->fd = fd;
	t->remote = r;
	while (t->done < t->total) {
		struct conn *c = conn_get(&error);

		if (!c)
			break;
		error = conn_open(c, r, fd, &file);
		opened = !error;
		if (opened)
			error = c->via->move(c, file, t);
		if (error == GONE)
			conn_lose(c);
		conn_put(c);
		if (error == -EAGAIN) { /* the node is full: come back */
			nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
			continue;
		}
		if (error == GONE && t->append && opened)
			return -EIO;
		/* Not opened: the node does not take the file. The program's own is as good. */
		if (error != GONE) {
			error = opened ? error : -ENOTCONN;
			break;
		}
	}
	return t->done ? (ssize_t)t->done : error;
}

static size_t iov_total(const struct iovec *iov, int iovcnt)
{
	size_t total = 0;

	for (int i = 0; i < iovcnt; i++)
		total += iov[i].iov_len;
	return total;
}

ssize_t sl_client_read(struct sl_remote *r, int fd, const struct iovec *iov, int iovcnt,
		       off_t offset)
{
	struct transfer t = {
		.iov = iov, .total = iov_total(iov, iovcnt), .offset = offset, .op = SL_READ
	};

	struct stat st;

	/*
	 * Programs read with buffers far larger than their files; what is not there should not
	 * count. Direct I/O must keep its alignment.
	 */
	if (!(r->open_flags & O_DIRECT) && fstat(fd, &st) == 0) {
		if (offset >= st.st_size)
			return -ENOTCONN; /* the caller's own call finds the end, too */
		if (t.total > (size_t)(st.st_size - offset))
			t.total = (size_t)(st.st_size - offset);
	}
	return transfer(r, fd, &t);
}

ssize_t sl_client_write(struct sl_remote *r, int fd, const struct iovec *iov, int iovcnt,
			off_t offset, bool append)
{
	struct transfer t = { .iov = iov,
			      .total = iov_total(iov, iovcnt),
			      .offset = offset,
			      .op = SL_WRITE,
			      .append = append };

	/* A large append would be several, and others could come between: the kernel keeps it
	 * whole. */
	if (append && t.total > SL_SHM_SLOT_BYTES)
		return -ENOTCONN;
	return transfer(r, fd, &t);
}
