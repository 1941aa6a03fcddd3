/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a node on this machine, by slots of the shared segment (wire/shm.h): take a slot,
 * ring the bell of the node's worker on this CPU, and wait for the answer, by yielding if that runs
 * the worker, else by sleeping.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/conn/connect.h"
#include "client/conn/cursor.h"
#include "sluice.h"

#define YIELD_NS      50000
#define QUICK_NS      1500    /* a faster yield: no other thread has run */
#define CROWDED_NS    1000000 /* a slower one: other programs want this CPU */
#define CROWDED_WAITS 200
#define CHECK_NS      100000000 /* how often a sleeping client looks whether its node lives */
#define STALL_NS      2000000000
#define HELP_NS	      500000 /* how long it waits for its own worker */

static void futex_wake(_Atomic uint32_t *word, int private)
{
	syscall(SYS_futex, word, FUTEX_WAKE | private, 1, NULL, NULL, 0);
}

/*
 * True: the time has come. It is an absolute time, because in a program with an interval timer no
 * relative sleep would complete.
 */
static bool futex_wait(_Atomic uint32_t *word, int private, uint32_t seen, int64_t until)
{
	const struct timespec ts = { until / 1000000000, until % 1000000000 };

	return syscall(SYS_futex, word, FUTEX_WAIT_BITSET | private, seen, &ts, NULL,
		       FUTEX_BITSET_MATCH_ANY) &&
	       errno == ETIMEDOUT;
}

/* ---- slots ---- */

/* A free slot, or -1. */
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
		futex_wake(&c->slot_frees, FUTEX_PRIVATE_FLAG);
	}
}

/* The node has not answered all yet. */
static bool owing(struct conn *c)
{
	for (int i = 0; i < SL_SHM_SLOTS; i++)
		if (atomic_load(&c->segment->slot[i].state) == SL_SLOT_POSTED)
			return true;
	return false;
}

/*
 * All slots are held by other threads: wait for one. A thread that a signal handler took out of a
 * call by longjmp() never frees its slot. So if all slots have been answered, but none becomes free
 * for STALL_NS, return -1: the caller leaves this connection to the threads that hold it.
 */
static int slot_wait(struct conn *c)
{
	int64_t due = sl_clock_ns() + CHECK_NS, stall = 0;
	int slot;

	atomic_fetch_add(&c->slot_waiters, 1);
	for (;;) {
		uint32_t seen = atomic_load(&c->slot_frees);

		slot = slot_try(c);
		if (slot >= 0 || conn_inherited(c) || atomic_load(&c->lost))
			break;
		if (!futex_wait(&c->slot_frees, FUTEX_PRIVATE_FLAG, seen, due)) {
			stall = seen == atomic_load(&c->slot_frees) ? stall : 0;
			continue;
		}
		if (!conn_alive(c)) {
			conn_lose(c);
			break;
		}
		due = sl_clock_ns() + CHECK_NS;
		stall = owing(c) ? 0 : stall + CHECK_NS;
		if (stall >= STALL_NS) {
			conn_retire(c);
			break;
		}
	}
	atomic_fetch_sub(&c->slot_waiters, 1);
	return slot;
}

/* ---- bells ---- */

static void ring(struct conn *c, uint32_t worker)
{
	struct sl_bell *bell = &c->bells->bell[worker];

	atomic_fetch_add(&bell->rings, 1);
	futex_wake(&bell->rings, 0);
}

/* Our worker may be busy with something slow: wake one that sleeps. */
static void ask_for_help(struct conn *c)
{
	for (uint32_t w = 0; w < c->workers; w++)
		if (atomic_load(&c->bells->bell[w].sleeping) &&
		    atomic_exchange(&c->bells->bell[w].sleeping,
				    0)) { /* the next caller wakes another */
			ring(c, w);
			return;
		}
}

/* Our worker finds the slot when it next looks. */
static struct sl_bell *mark(struct conn *c, int slot)
{
	int cpu = sched_getcpu();
	uint32_t worker = cpu < 0 ? 0 : c->bells->worker[cpu % SL_SHM_CPUS] % c->workers;
	struct sl_bell *bell = &c->bells->bell[worker];

	atomic_store_explicit(&c->segment->slot[slot].state, SL_SLOT_POSTED, memory_order_release);
	atomic_fetch_or(&c->segment->posted[worker], UINT64_C(1) << slot);
	atomic_fetch_or(&bell->ready[c->index / 64], UINT64_C(1) << c->index % 64);
	return bell;
}

static void wake(struct conn *c, struct sl_bell *bell)
{
	if (atomic_load(&bell->sleeping))
		ring(c, (uint32_t)(bell - c->bells->bell));
	else if (atomic_load_explicit(&bell->executing, memory_order_relaxed))
		ask_for_help(c);
}

/* ---- waiting ---- */

/* A piece that the node has answered, or NULL. */
static struct piece *answered(struct conn *c, struct pieces *p)
{
	for (unsigned i = 0; i < p->count; i++) {
		struct piece *piece = &p->piece[(p->first + i) % PIECES];
		uint32_t state;

		if (piece->over)
			continue;
		state = atomic_load_explicit(&c->segment->slot[piece->id].state,
					     memory_order_acquire);
		if (state == SL_SLOT_DONE)
			return piece;
	}
	return NULL;
}

/*
 * The worker of this CPU runs when we yield, and yields back: the fastest way, while no other
 * thread wants the CPU. sched_yield() requeues us last, so a third runnable thread would take
 * most of the CPU: when a yield does not return soon, sleep at once the next times. When it
 * returns at once, no thread has run: the worker may be in another scheduling group (a session,
 * the cgroup of a batch job), which runs only when we sleep.
 */
static struct piece *yield_for(struct conn *c, struct pieces *p)
{
	uint32_t crowded = atomic_load_explicit(&c->crowded, memory_order_relaxed);
	int64_t before, now = sl_clock_ns(), end = now + YIELD_NS;
	struct piece *piece;

	if (crowded) {
		atomic_store_explicit(&c->crowded, crowded - 1, memory_order_relaxed);
		return answered(c, p);
	}
	while (!(piece = answered(c, p)) && now <= end) {
		before = now;
		sched_yield();
		now = sl_clock_ns();
		if (now - before > CROWDED_NS)
			atomic_store_explicit(&c->crowded, CROWDED_WAITS, memory_order_relaxed);
		else if (now - before < QUICK_NS)
			return answered(c, p);
	}
	return piece;
}

/* A piece that the node has answered; NULL: the node is gone. */
static struct piece *await_one(struct conn *c, struct pieces *p)
{
	struct sl_slot_shm *leader = &c->segment->slot[p->leader];
	struct piece *piece = yield_for(c, p);
	bool helped = false;
	int64_t due;

	if (piece)
		return piece;
	due = sl_clock_ns() + HELP_NS;
	atomic_store(&leader->waiting, 1);
	for (;;) {
		uint32_t seen = atomic_load(&leader->signal);

		piece = answered(c, p);
		if (piece || conn_inherited(c))
			break;
		if (!futex_wait(&leader->signal, 0, seen, due))
			continue;
		if (!helped)
			ask_for_help(c);
		else if (!answered(c, p) && !conn_alive(c))
			break;
		helped = true;
		due = sl_clock_ns() + CHECK_NS;
	}
	atomic_store(&leader->waiting, 0);
	return piece;
}

/* ---- pieces ---- */

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

static int shm_post(struct conn *c, uint64_t file, struct transfer *t, struct pieces *p,
		    struct piece *piece)
{
	struct sl_slot_shm *shm;
	int slot = slot_try(c);

	if (slot < 0 && p->count)
		return LATER;
	/* Other threads hold all other slots: reuse the leader's, which is ours and done. */
	if (slot < 0 && p->leader >= 0)
		slot = p->leader;
	if (slot < 0 && (slot = slot_wait(c)) < 0)
		return AGAIN;
	if (p->leader < 0)
		p->leader = slot;
	if (t->op == SL_WRITE)
		copy(t, piece->at, sl_slot_data(c->segment, (unsigned)slot), piece->length);
	shm = &c->segment->slot[slot];
	shm->op = t->op;
	shm->flags = t->append ? SL_SLOT_APPEND : 0;
	shm->leader = (uint32_t)p->leader;
	shm->file = file;
	shm->offset = t->append ? 0 : (uint64_t)t->offset + piece->at;
	shm->length = piece->length;
	piece->id = (uint64_t)slot;
	wake(c, mark(c, slot));
	return 0;
}

/* Take back an append, which is one piece, if the node has not begun it. */
static int lost(struct conn *c, struct transfer *t, const struct pieces *p)
{
	uint32_t posted = SL_SLOT_POSTED;

	if (!conn_inherited(c)) /* else it is the parent's; we make one of our own */
		t->unknown = t->append &&
			     !atomic_compare_exchange_strong(&c->segment->slot[p->leader].state,
							     &posted, SL_SLOT_FREE);
	return GONE; /* the slots die with the connection */
}

static int shm_reap(struct conn *c, struct transfer *t, struct pieces *p, bool skip)
{
	struct piece *piece = await_one(c, p);

	if (!piece)
		return lost(c, t, p);
	piece->moved = c->segment->slot[piece->id].result;
	if (piece->moved > 0 && t->op == SL_READ && !skip)
		copy(t, piece->at, sl_slot_data(c->segment, (unsigned)piece->id),
		     (size_t)piece->moved);
	piece->over = true;
	if ((int)piece->id != p->leader)
		slot_free(c, (int)piece->id);
	return conn_inherited(c) ? GONE : 0; /* then it has answered our parent */
}

static int shm_move(struct conn *c, uint64_t file, struct transfer *t)
{
	struct pieces p = { .leader = -1 };
	int rc = move_pieces(c, file, t, &p);

	if (p.leader >= 0 && rc != GONE)
		slot_free(c, p.leader);
	return rc;
}

const struct transport conn_shm = { .pieces = PIECES,
				    .piece_bytes = SL_SHM_SLOT_BYTES,
				    .open = conn_pass,
				    .close = conn_take_back,
				    .move = shm_move,
				    .post = shm_post,
				    .reap = shm_reap };
