/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of descriptors of the preloaded library.
 *
 * One entry for each number, in chunks that are mapped when the first number of theirs is looked
 * at; up to a million numbers, of which 8 KiB are paid for in advance. All that threads share is
 * in one 64-bit word, changed by compare-and-swap alone:
 *
 *	bits  0..3   state
 *	      4..23  users: calls under way that hold the entry
 *	     24..39  process: which process wrote this
 *	     40..63  version: differs after every change of the state
 *
 *	UNKNOWN --claim--> BUSY --settle--> PASS or MANAGED
 *	MANAGED, no users  --forget--> BUSY --(node told)--> UNKNOWN
 *	MANAGED, users     --forget--> DOOMED --last release--> BUSY --(node told)--> UNKNOWN
 *
 * Closing a number while another thread moves data through it is thus harmless, as it is in the
 * kernel: the node is told when the last call has returned, so its reference cannot be given to
 * another file under a call that is under way. Example: thread 1 writes 1 GiB to 5 (users 1),
 * thread 2 closes 5 (DOOMED), opens another file, gets 5 again and writes: it finds DOOMED and
 * goes to the kernel; thread 1 ends, the entry becomes UNKNOWN, the next write of thread 2
 * resolves it.
 *
 * fork: the child has only one thread. Changes to an entry that other threads had begun will
 * never be finished, and references to the node are the parent's. So entries say which process
 * wrote them, and those of another process are UNKNOWN. The number of this process is kept in a
 * page that the kernel clears in a child, however that was made. Example: the parent is process
 * 1, its entry for 5 says {MANAGED, users 2, process 1}; the child finds its page cleared, calls
 * itself process 2, and 5 is UNKNOWN to it.
 *
 * vfork: the child has its parent's memory, cleared page and all, but descriptors of its own. It
 * may read the table: each use of an entry is checked against the kernel anyway (data.c). It must
 * not change the table for descriptors that it opens or closes, which are not its parent's; its
 * pid shows that it is a child.
 *
 * All operations are constant time, lock-free, and may be used in a signal handler.
 */
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/preload/fdtable.h"

#define CHUNK_BITS 10
#define CHUNK	   (1U << CHUNK_BITS)
#define CHUNKS	   1024U

#define USER	     (UINT64_C(1) << 4)
#define USERS_MASK   (UINT64_C(0xfffff) << 4)
#define PROCESS_BITS 24
#define PROCESS_MASK UINT64_C(0xffff)
#define VERSION	     (UINT64_C(1) << 40)

static struct sl_fd *_Atomic chunks[CHUNKS];

struct process {
	_Atomic uint32_t number; /* 0: this is a child that has not been here yet */
	_Atomic int32_t pid;
};
static struct process *_Atomic process;
static _Atomic uint32_t processes; /* numbers given so far; not cleared in a child */

/* NULL if there is no memory. */
static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		p = NULL;
	return p;
}

static struct process *process_page(void)
{
	struct process *p = atomic_load_explicit(&process, memory_order_acquire), *none = NULL;

	if (p)
		return p;
	p = map(sizeof(*p));
	if (!p)
		return NULL;
	if (madvise(p, sizeof(*p), MADV_WIPEONFORK) == 0 &&
	    atomic_compare_exchange_strong(&process, &none, p))
		return p;
	munmap(p, sizeof(*p));
	return none;
}

static uint64_t process_enter(void)
{
	struct process *p = process_page();
	uint32_t number, none = 0;

	if (!p)
		return 0;
	do
		number = (atomic_fetch_add(&processes, 1) + 1) & PROCESS_MASK;
	while (!number);
	/* Two threads may both be here: they store the same pid, and one number wins. */
	atomic_store(&p->pid, (int32_t)syscall(SYS_getpid));
	return atomic_compare_exchange_strong(&p->number, &none, number) ? number : none;
}

/* The number of this process, never 0; 0: there can be no table. */
static inline uint64_t process_number(void)
{
	struct process *p = atomic_load_explicit(&process, memory_order_acquire);
	uint32_t number = p ? atomic_load_explicit(&p->number, memory_order_acquire) : 0;

	return number ? number : process_enter();
}

bool sl_fd_own_process(void)
{
	struct process *p = process_page();

	return p && process_number() && atomic_load(&p->pid) == (int32_t)syscall(SYS_getpid);
}

static struct sl_fd *find(int fd)
{
	struct sl_fd *chunk;

	if ((unsigned)fd >= CHUNK * CHUNKS)
		return NULL;
	chunk = atomic_load_explicit(&chunks[(unsigned)fd >> CHUNK_BITS], memory_order_acquire);
	return chunk ? &chunk[(unsigned)fd % CHUNK] : NULL;
}

static struct sl_fd *find_or_make(int fd)
{
	struct sl_fd *chunk, *none = NULL;

	if ((unsigned)fd >= CHUNK * CHUNKS)
		return NULL;
	if (!find(fd)) {
		chunk = map(CHUNK * sizeof(*chunk));
		if (!chunk)
			return NULL;
		if (!atomic_compare_exchange_strong(&chunks[(unsigned)fd >> CHUNK_BITS], &none,
						    chunk))
			munmap(chunk, CHUNK * sizeof(*chunk));
	}
	return find(fd);
}

static enum sl_fd_state state_of(uint64_t word, uint64_t self)
{
	if (((word >> PROCESS_BITS) & PROCESS_MASK) != self)
		return SL_FD_UNKNOWN;
	return (enum sl_fd_state)(word & 15);
}

/* The word after a change of state: users kept if they are this process's. */
static uint64_t word_for(uint64_t old, enum sl_fd_state state, uint64_t users, uint64_t self)
{
	uint64_t version = (old & ~(VERSION - 1)) + VERSION;

	return version | self << PROCESS_BITS | users | (uint64_t)state;
}

static bool change(struct sl_fd *e, uint64_t *old, uint64_t new)
{
	return atomic_compare_exchange_strong_explicit(&e->word, old, new, memory_order_acq_rel,
						       memory_order_acquire);
}

/* The entry is BUSY, and ours: give up its reference, then set it to UNKNOWN. */
static void retire(struct sl_fd *e, uint64_t word, uint64_t self)
{
	int cancel;

	/* It takes a lock and waits: a thread cancelled in there would keep the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	sl_client_close(&e->remote);
	pthread_setcancelstate(cancel, &cancel);
	while (!change(e, &word, word_for(word, SL_FD_UNKNOWN, 0, self)))
		;
}

bool sl_fd_passes(int fd)
{
	struct sl_fd *e = find(fd);

	if (!e)
		return (unsigned)fd >= CHUNK * CHUNKS;
	return state_of(atomic_load_explicit(&e->word, memory_order_acquire), process_number()) ==
	       SL_FD_PASS;
}

enum sl_fd_state sl_fd_hold(int fd, struct sl_fd **entry)
{
	struct sl_fd *e = find(fd);
	uint64_t word, self;

	if (!e)
		return (unsigned)fd < CHUNK * CHUNKS ? SL_FD_UNKNOWN : SL_FD_PASS;
	self = process_number();
	word = atomic_load_explicit(&e->word, memory_order_acquire);
	while (state_of(word, self) == SL_FD_MANAGED)
		if (change(e, &word, word + USER)) {
			*entry = e;
			return SL_FD_MANAGED;
		}
	return state_of(word, self);
}

void sl_fd_release(struct sl_fd *e)
{
	uint64_t self = process_number(), new;
	uint64_t word = atomic_load_explicit(&e->word, memory_order_acquire);

	do {
		/* A handler has forked, and the child came back here: the entry is the parent's. */
		if (((word >> PROCESS_BITS) & PROCESS_MASK) != self || !(word & USERS_MASK))
			return;
		new = word - USER;
		if ((word & 15) == SL_FD_DOOMED && !(new &USERS_MASK))
			new = word_for(word, SL_FD_BUSY, 0, self);
	} while (!change(e, &word, new));
	if ((new & 15) == SL_FD_BUSY)
		retire(e, new, self);
}

/* The number has not changed since, as far as libc was used. */
static bool still(const struct sl_remote *r)
{
	const struct sl_fd *e = (const void *)((const char *)r - offsetof(struct sl_fd, remote));

	return state_of(atomic_load(&e->word), process_number()) == SL_FD_MANAGED;
}

bool sl_fd_claim(int fd, struct sl_fd **entry, uint64_t *ticket)
{
	struct sl_fd *e = find_or_make(fd);
	uint64_t word, self = process_number();

	if (!e || !self || !sl_fd_own_process())
		return false;
	word = atomic_load_explicit(&e->word, memory_order_acquire);
	*ticket = word_for(word, SL_FD_BUSY, 0, self);
	*entry = e;
	return state_of(word, self) == SL_FD_UNKNOWN && change(e, &word, *ticket);
}

bool sl_fd_settle(struct sl_fd *e, uint64_t ticket, enum sl_fd_state state,
		  const struct sl_remote *remote)
{
	uint64_t self = process_number(), word = ticket;

	if (state == SL_FD_MANAGED) {
		e->remote = *remote;
		e->remote.still = still;
	}
	if (change(e, &word, word_for(ticket, state, state == SL_FD_MANAGED ? USER : 0, self)))
		return true;
	/* Forgotten meanwhile: still BUSY and ours, with another version. */
	while (!change(e, &word, word_for(word, SL_FD_UNKNOWN, 0, self)))
		;
	return false;
}

static void forget(struct sl_fd *e, uint64_t self)
{
	uint64_t word = atomic_load_explicit(&e->word, memory_order_acquire), new;

	do {
		switch (state_of(word, self)) {
		case SL_FD_UNKNOWN:
		case SL_FD_DOOMED:
			return;
		case SL_FD_PASS:
			new = word_for(word, SL_FD_UNKNOWN, 0, self);
			break;
		case SL_FD_BUSY: /* invalidate the ticket of the thread at work on it */
			new = word_for(word, SL_FD_BUSY, 0, self);
			break;
		case SL_FD_MANAGED:
		default:
			if (!sl_fd_own_process())
				return;
			new = word_for(word, word & USERS_MASK ? SL_FD_DOOMED : SL_FD_BUSY,
				       word & USERS_MASK, self);
			break;
		}
	} while (!change(e, &word, new));
	if (state_of(word, self) == SL_FD_MANAGED && (new & 15) == SL_FD_BUSY)
		retire(e, new, self);
}

void sl_fd_forget(int fd)
{
	struct sl_fd *e = find(fd);

	if (e)
		forget(e, process_number());
}

void sl_fd_forget_range(unsigned first, unsigned last)
{
	uint64_t self = process_number();

	if (last >= CHUNK * CHUNKS)
		last = CHUNK * CHUNKS - 1;
	for (unsigned fd = first; fd <= last; fd++) {
		struct sl_fd *e = find((int)fd);

		if (e)
			forget(e, self);
		else
			fd |= CHUNK - 1; /* nothing is known of this chunk */
	}
}
