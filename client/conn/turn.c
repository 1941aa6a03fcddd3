/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of a job that is not in OPEN mode: use credit if there is any (quick()), else ask for a turn and wait; then
 * account for the call. Calls in OPEN mode do not come here (turn.h). wire/turn.h is the contract with the node.
 *
 * By credit:
 *
 *	credit > 0                      debit the length, make the call, return unused credit
 *	else                            ask, sleep on `grants`, look again
 *
 * If only I/O that passes the page cache is charged, cached reads and buffered writes do not wait:
 * wire.c.
 *
 * By place, if the job is PLACED, the file was opened for synchronous I/O, or the last calls were
 * so slow that the page cache cannot have answered them: a slot says which file, where and how
 * much, and the call waits until the node sets it to GO.
 *
 * Nothing here returns an error or holds a resource that another thread waits for. If a thread is
 * killed, cancelled or leaves by longjmp() in the middle, at most one call is charged that was not
 * made, and one slot stays in use: the thread frees it when it next asks, or the node does. Signals
 * do not end the wait, just as they do not end a read or write of a file; their handlers run during
 * it.
 *
 * A job waits for a silent node only once. Stack: about 0.5 KiB while waiting.
 */
#include "client/conn/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/oldlibc.h"
#include "client/conn/client.h"
#include "client/conn/ops.h"
#include "client/conn/settings.h"
#include "client/conn/where.h"
#include "client/conn/wire.h"

#define LENGTH_MAX UINT64_C(0x7ffff000) /* of one call, as Linux has it */
#define LOWEST	   4096U		/* no program has anything below */
#define PAGE	   4096U		/* the smallest */
#define REMAP_NS   INT64_C(5000000000)
#define SPARE_NS   INT64_C(2000000000)
#define SLICE_NS   INT64_C(100000000)  /* a wake-up may be lost: check again after this */
#define LARGE	   (UINT64_C(1) << 20) /* reads from here on are often for more than there is */
#define SLOW_NS	   400000 /* a call that takes longer than this and 1 ns a byte: not the cache's */
#define SLOW_RUN   3	  /* after so many in a row, the next calls ask with their place */
#define SLOW_CALLS 64
#define SAMPLE	   8 /* one call in so many is timed, and those after a slow one */
#define NO_SLOT	   UINT8_MAX

_Static_assert(offsetof(struct sl_turn_job, moved) == offsetof(struct sl_turn_job, mode) + 4,
	       "turn_word_of() reads both as one word");

static struct {
	_Atomic uint32_t run;	  /* slow calls in succession */
	_Atomic uint32_t due;	  /* calls to come that ask with their place */
	_Atomic uint32_t sampled; /* calls */
} slow;

/* The slot of this thread + 1, while it has one; a thread that left by longjmp() still does. */
static __thread uint8_t slot_held __attribute__((tls_model("initial-exec")));

/* ---- waiting ---- */

struct wait {
	struct sl_turn_job *job;
	int64_t begin, until; /* until: the end of this slice */
	int64_t alive;	      /* the node's stamp */
	int64_t alive_seen;   /* when it was first seen to be that */
	unsigned how;
};

static void wait_start(struct wait *w, struct sl_turn_job *job, unsigned how)
{
	w->job = job;
	w->how = how;
	w->begin = 0;
}

static void futex_wake(struct sl_turn_job *job, uint32_t bits)
{
	if (!turn_sealed())
		syscall(SYS_futex, &job->grants, FUTEX_WAKE_BITSET, 1, NULL, NULL, bits);
}

/* Only the first process of the job that gives up prints this. */
static void give_up(struct sl_turn_job *job)
{
	const struct settings *s = client_settings();
	char seconds[24];
	uint64_t rest = (uint64_t)(s->silent_ns + 500000000) / 1000000000;
	size_t at = sizeof(seconds) - 1;
	uint32_t no = 0;

	if (!atomic_compare_exchange_strong(&job->given_up, &no, 1))
		return;
	seconds[at] = 0;
	do
		seconds[--at] = (char)('0' + rest % 10);
	while (rest /= 10);
	client_say_parts((const char *const[]){
		"sluice: the I/O node at ", s->socket, " does not answer (waited ", seconds + at,
		" s); going on without it ('sluice up --revive' starts it again)\n", NULL });
}

/* Whether the job has given up on this node. */
static bool is_given_up(struct sl_turn_job *job)
{
	if (!atomic_load_explicit(&job->given_up, memory_order_relaxed))
		return false;
	if (turn_sealed() || !turn_fresh(job, turn_now_ns()))
		return true;
	atomic_store(&job->given_up, 0);
	return false;
}

/*
 * The node has not answered for as long as the user's timeout. A controller moves the job to
 * another node when it has not heard from this one for REMAP_NS, so a call waits for that before it
 * gives up.
 */
static bool is_silent(struct wait *w, int64_t now)
{
	int64_t silent, alive = atomic_load(&turn_node_of(w->job)->alive_ns);

	if (alive != w->alive) {
		w->alive = alive;
		w->alive_seen = now;
	}
	silent = now - w->alive_seen;
	if (atomic_load(&w->job->homes) && silent >= REMAP_NS && silent < REMAP_NS + SPARE_NS)
		return false;
	return silent >= client_settings()->silent_ns && !turn_fresh(w->job, now);
}

/*
 * Sleep until the word differs from `seen`, for at most a slice of time; ring the node at the
 * beginning of each slice. False: the node is silent, and the call goes without a turn.
 */
static bool wait_for(struct wait *w, _Atomic uint32_t *word, uint32_t seen, uint32_t bits)
{
	struct sl_turn_job *job = w->job;
	int64_t now = turn_now_ns();
	struct timespec ts;

	if (!w->begin) {
		w->begin = now;
		w->until = now;
		w->alive = atomic_load(&turn_node_of(job)->alive_ns);
		w->alive_seen = now;
	}
	if (now >= w->until) {
		turn_ring(job);
		if (now > w->begin)
			turn_elsewhere(job);
		w->until = now + SLICE_NS;
	}
	if (!turn_current(job))
		return true; /* the caller looks again */
	if (is_silent(w, now)) {
		give_up(job);
		return false;
	}
	if (atomic_load(&job->given_up) && is_given_up(job))
		return false;
	atomic_store(&job->waiting, 1);
	/*
	 * An absolute time: in a program with an interval timer, no relative sleep would complete.
	 */
	ts = (struct timespec){ w->until / 1000000000, w->until % 1000000000 };
	/* A process that cannot wait continues. */
	return syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, &ts, NULL, bits) == 0 ||
	       errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT;
}

static void wait_end(const struct wait *w)
{
	if (w->begin)
		atomic_fetch_add(&w->job->held_ns, (uint64_t)(turn_now_ns() - w->begin));
}

/* False: calls of the job no longer wait, or wait in another segment. */
static bool is_waited_in(struct sl_turn_job *job)
{
	enum sl_turn_mode mode = sl_turn_mode_of(job);

	return (mode == SL_TURN_LEASED || mode == SL_TURN_PLACED) && turn_current(job);
}

/* ---- credit ---- */

static bool debit(struct sl_turn_job *job, uint64_t length, bool into_debt)
{
	int64_t credit = atomic_load_explicit(&job->credit, memory_order_relaxed);

	while (credit > 0 || into_debt)
		if (atomic_compare_exchange_weak(&job->credit, &credit, credit - (int64_t)length))
			return true;
	return false;
}

static void refund(struct sl_turn_job *job, uint64_t bytes)
{
	int64_t was = atomic_fetch_add(&job->credit, (int64_t)bytes);

	if (was <= 0 && was + (int64_t)bytes > 0 && atomic_load(&job->waiting))
		futex_wake(job, SL_TURN_CREDIT_BIT);
}

/* False: a thread has asked, and the node has not seen it yet. */
static bool ask(struct sl_turn_job *job, enum sl_op op)
{
	atomic_store(&job->asked_op, op);
	return !atomic_exchange(&job->asked, 1);
}

/* Whether this is a write of this process that may be paid for later. */
static bool owes(const struct turn *t)
{
	return t->op == SL_WRITE && t->fd >= 0 && wire_may_owe(t->job) && !turn_sealed() &&
	       turnfd_state(t->fd) == TURNFD_OURS;
}

/*
 * Wait for credit. LEASED, OWED, LATE; or OPEN: the mode or the segment has changed, and turn_ask()
 * looks again.
 */
static enum turn_kind by_credit(struct turn *t, unsigned how)
{
	enum turn_kind kind = TURN_LEASED;
	struct wait w;

	wait_start(&w, t->job, how);
	for (;;) {
		uint32_t seen = atomic_load(&t->job->grants);

		if (debit(t->job, t->length, false))
			break;
		if (owes(t)) {
			kind = TURN_OWED;
			break;
		}
		if (!is_waited_in(t->job)) {
			kind = TURN_OPEN;
			break;
		}
		if (ask(t->job, t->op) && w.begin)
			turn_ring(t->job);
		if (!wait_for(&w, &t->job->grants, seen, SL_TURN_CREDIT_BIT)) {
			kind = TURN_LATE;
			break;
		}
		if (how & TURN_CANCELS)
			sl_testcancel();
	}
	wait_end(&w);
	/* The node wakes one waiter; each waiter that goes wakes the next. */
	if (w.begin && (atomic_load(&t->job->credit) > 0 || owes(t)))
		futex_wake(t->job, SL_TURN_CREDIT_BIT);
	return kind;
}

bool turn_pay(struct sl_turn_job *job, uint64_t bytes)
{
	struct turn t = { .job = job, .length = bytes, .op = SL_WRITE, .fd = -1 };

	return !is_given_up(job) && by_credit(&t, 0) == TURN_LEASED;
}

void turn_owe(struct sl_turn_job *job, uint64_t bytes)
{
	if (sl_turn_mode_of(job) == SL_TURN_LEASED)
		debit(job, bytes, true);
}

bool turn_debit(struct sl_turn_job *job, uint64_t bytes)
{
	return debit(job, bytes, false);
}

void turn_want(struct sl_turn_job *job, enum sl_op op)
{
	if (ask(job, op))
		turn_ring(job);
}

/* Credit for operations: wire/ops.h. */
bool turn_operation(struct sl_turn_job *job, unsigned queue, uint64_t *number)
{
	struct sl_turn_credit *c = &job->operations.credit[queue];

	*number = atomic_fetch_add(&c->used, 1);
	return *number < atomic_load(&c->granted) || turn_sealed() || is_given_up(job);
}

/* Operations of a queue need credit. */
static bool is_leased(struct sl_turn_job *job, unsigned queue)
{
	uint32_t ops = atomic_load(&job->ops);

	return ops & SL_OPS_LEASED &&
	       (queue == SL_METER_OPS || ops & (uint32_t)SL_OPS_OWN << queue);
}

void turn_operation_wait(struct sl_turn_job *job, unsigned queue, uint64_t number)
{
	struct sl_turn_credit *o = &job->operations.credit[queue];
	struct wait w;

	wait_start(&w, job, 0);
	for (;;) {
		uint32_t seen = atomic_load(&o->grants);

		if (number < atomic_load(&o->granted) || !is_leased(job, queue) ||
		    !turn_current(job))
			break;
		if (!atomic_exchange(&o->asked, 1) && w.begin)
			turn_ring(job);
		if (!wait_for(&w, &o->grants, seen, SL_OPS_BIT(number)))
			break;
	}
	if (w.begin)
		atomic_fetch_add(&job->operations.held_ns, (uint64_t)(turn_now_ns() - w.begin));
}

/* ---- slots ---- */

static uint32_t thread_id(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* The call of this slot is over, and moved so many bytes. */
static void slot_done(struct sl_turn_job *job, unsigned slot, int64_t moved)
{
	struct sl_turn_slot *s = &job->slot[slot];
	uint32_t go = SL_TURN_GO;

	if (atomic_load(&s->state) != go)
		return;
	s->moved = moved;
	s->ended = turn_now_ns();
	if (atomic_compare_exchange_strong(&s->state, &go, SL_TURN_DONE))
		turn_ring(job);
}

/* Take the slot back, whatever its state. */
static void slot_withdraw(struct sl_turn_job *job, unsigned slot)
{
	uint32_t posted = SL_TURN_POSTED;

	if (!atomic_compare_exchange_strong(&job->slot[slot].state, &posted, SL_TURN_FREE))
		slot_done(job, slot, 0);
}

/* A slot that this thread left behind. */
static void slot_reclaim(struct sl_turn_job *job, uint32_t tid)
{
	unsigned slot = slot_held - 1U;

	if (!slot_held)
		return;
	slot_held = 0;
	if (slot < SL_TURN_SLOTS && job->slot[slot].tid == tid)
		slot_withdraw(job, slot);
}

static unsigned slot_take(struct sl_turn_job *job, uint32_t tid)
{
	slot_reclaim(job, tid);
	for (unsigned i = 0; i < SL_TURN_SLOTS; i++) {
		unsigned slot = (tid + i) % SL_TURN_SLOTS;
		uint32_t none = SL_TURN_FREE;

		if (atomic_load_explicit(&job->slot[slot].state, memory_order_relaxed) == none &&
		    atomic_compare_exchange_strong(&job->slot[slot].state, &none, SL_TURN_TAKEN))
			return slot;
	}
	return NO_SLOT;
}

/*
 * Whether the slot still is this call's: the node may have taken it, or a signal handler has
 * forked and this thread is the copy.
 */
static bool is_own(const struct turn *t, uint32_t tid)
{
	const struct sl_turn_slot *s = &t->job->slot[t->slot];

	return s->again == t->again && s->tid == tid;
}

uint64_t turn_file_number(const struct statx *sx)
{
	uint64_t number = sx->stx_ino ^ ((uint64_t)sx->stx_dev_major << 32 | sx->stx_dev_minor) *
						UINT64_C(0x9e3779b97f4a7c15);

	return number < SL_NO_FILE ? number : number - SL_NO_FILE;
}

static struct turn_place place_of(int fd, off_t offset)
{
	struct turn_place place = { 0 };
	struct statx sx;

	if (turnfd_statx(fd, "", STATX_INO, &sx) == 0)
		place.file = turn_file_number(&sx);
	if (offset < 0)
		offset = (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
	place.offset = offset < 0 ? 0 : (uint64_t)offset;
	return place;
}

/* As by_credit(); PASS: there is no slot. */
static enum turn_kind by_place(struct turn *t, const struct turn_place *place, unsigned how)
{
	struct sl_turn_job *job = t->job;
	uint32_t tid = thread_id(), state;
	struct sl_turn_slot *s;
	struct wait w;
	bool answered = true;

	t->slot = (uint8_t)slot_take(job, tid);
	if (t->slot == NO_SLOT)
		return TURN_PASS;
	s = &job->slot[t->slot];
	s->tid = tid;
	s->op = t->op;
	t->again = ++s->again;
	s->file = place->file;
	s->offset = place->offset;
	s->length = t->length;
	s->moved = 0;
	slot_held = (uint8_t)(t->slot + 1);
	atomic_store(&s->state, SL_TURN_POSTED);
	wait_start(&w, job, how);
	for (;;) {
		uint32_t seen = atomic_load(&job->grants);

		state = atomic_load(&s->state);
		if (state != SL_TURN_POSTED || !answered || !is_waited_in(job))
			break;
		answered = wait_for(&w, &job->grants, seen, SL_TURN_SLOT_BIT(t->slot));
		if (how & TURN_CANCELS)
			sl_testcancel(); /* the node takes the slot of a thread that is no more
					  */
	}
	wait_end(&w);
	if (!is_own(t, thread_id())) {
		slot_held = 0;
		return TURN_LATE;
	}
	/* If GO arrives meanwhile, go. */
	if (state == SL_TURN_POSTED &&
	    atomic_compare_exchange_strong(&s->state, &state, SL_TURN_FREE)) {
		slot_held = 0;
		return answered ? TURN_OPEN : TURN_LATE;
	}
	return TURN_PLACED;
}

/* ---- slow calls ---- */

static bool is_due(void)
{
	uint32_t due = atomic_load_explicit(&slow.due, memory_order_relaxed);

	if (due)
		atomic_store_explicit(&slow.due, due - 1, memory_order_relaxed);
	return due;
}

/* Reading the clock twice costs a tenth of a small call. */
static bool is_sampled(void)
{
	uint32_t calls = atomic_load_explicit(&slow.sampled, memory_order_relaxed);

	atomic_store_explicit(&slow.sampled, calls + 1, memory_order_relaxed);
	return (calls % SAMPLE == 0 || atomic_load_explicit(&slow.run, memory_order_relaxed)) &&
	       !turn_sealed(); /* the clock may be a system call */
}

static void judge(int64_t took_ns, uint64_t bytes)
{
	if (took_ns <= SLOW_NS + (int64_t)bytes) {
		atomic_store_explicit(&slow.run, 0, memory_order_relaxed);
	} else if (atomic_fetch_add(&slow.run, 1) + 1 >= SLOW_RUN) {
		atomic_store_explicit(&slow.run, 0, memory_order_relaxed);
		atomic_store_explicit(&slow.due, SLOW_CALLS, memory_order_relaxed);
	}
}

/* ---- a turn ---- */

static bool is_mapped(uintptr_t at)
{
	/* The kernel reads the set before it rejects the operation. */
	return syscall(SYS_rt_sigprocmask, ~0UL, at, NULL, 8UL) == 0 || errno != EFAULT;
}

bool turn_readable(const void *memory, size_t bytes)
{
	uintptr_t first = (uintptr_t)memory, last = first + bytes - sizeof(uint64_t);
	int saved = errno;
	bool is;

	if (first < LOWEST || last < first)
		return false;
	if (turn_sealed())
		return true;
	is = is_mapped(last);
	for (uintptr_t at = first; is && at < last; at = (at | (PAGE - 1)) + 1)
		is = is_mapped(at);
	errno = saved;
	return is;
}

/* Bytes that the call asks for. 0: none, or the kernel will report an error. */
static uint64_t length_of(const struct iovec *iov, size_t n)
{
	uint64_t length = 0;

	if (!iov)
		return n < LENGTH_MAX ? n : LENGTH_MAX;
	if (n < 1 || n > IOV_MAX || !turn_readable(iov, n * sizeof(*iov)))
		return 0;
	for (size_t i = 0; i < n && length < LENGTH_MAX; i++)
		length += iov[i].iov_len < LENGTH_MAX ? iov[i].iov_len : LENGTH_MAX;
	return length < LENGTH_MAX ? length : LENGTH_MAX;
}

/* Programs read with buffers far larger than their files: ask only for bytes that exist. */
static uint64_t there(int fd, uint64_t length, off_t offset)
{
	struct statx sx;

	if (turnfd_statx(fd, "", STATX_SIZE | STATX_TYPE, &sx) || !S_ISREG(sx.stx_mode))
		return length;
	if (offset < 0)
		offset = (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
	if (offset < 0 || (uint64_t)offset >= sx.stx_size)
		return 1;
	return sx.stx_size - (uint64_t)offset < length ? sx.stx_size - (uint64_t)offset : length;
}

/* The call is not made. */
static void give_back(const struct turn *t, enum turn_kind kind)
{
	if (kind == TURN_LEASED)
		refund(t->job, t->length);
	if (kind == TURN_PLACED) {
		slot_done(t->job, t->slot, 0);
		slot_held = 0;
	}
}

/* The mode is LEASED: a call that need not wait, since it is charged later, if at all; else PASS.
 */
static enum turn_kind by_wire(struct turn *t, int fd, off_t offset)
{
	uint32_t charge = wire_charge(t->job);

	if (t->op == SL_WRITE && wire_may_owe(t->job) &&
	    atomic_load_explicit(&t->job->credit, memory_order_relaxed) <= 0)
		return TURN_OWED;
	if (t->op == SL_WRITE)
		return wire_tracks(t->job, fd) ? TURN_BUFFERED : TURN_PASS;
	if (!(charge & SL_TURN_READS))
		return TURN_PASS;
	if (wire_quiet(t->job))
		return TURN_READ;
	if (charge & SL_TURN_WRITES && !atomic_load_explicit(&slow.due, memory_order_relaxed) &&
	    atomic_load_explicit(&t->job->credit, memory_order_relaxed) > 0)
		return TURN_READ;
	if (!wire_cached(t->job, fd, t->length, offset))
		return TURN_PASS;
	turn_want(t->job, SL_READ); /* with credit at hand it need not be looked at */
	return TURN_READ;
}

/* The mode is LEASED or PLACED. As by_credit(), or CLOSED. */
static enum turn_kind wait_turn(struct turn *t, int fd, unsigned state, off_t offset, unsigned how)
{
	bool placed = sl_turn_mode_of(t->job) == SL_TURN_PLACED;
	enum turn_kind kind = TURN_PASS;
	struct turn_place place;
	struct turnfd_file file;

	if (is_given_up(t->job))
		return TURN_LATE;
	if (t->op == SL_READ && t->length >= LARGE && !turn_sealed())
		t->length = there(fd, t->length, offset);
	/* A write that must not wait is charged at the call: it would have to wait after it. */
	if (!placed && state == TURNFD_OURS && !turn_sealed() && wire_charge(t->job) &&
	    !(how & TURN_NOWAIT && t->op == SL_WRITE)) {
		kind = by_wire(t, fd, offset);
		if (kind != TURN_PASS)
			return kind;
	}
	/* One that may be paid for later need not wait for its place. */
	placed = (placed || state == TURNFD_SLOW || (!owes(t) && is_due())) &&
		 !(how & (TURN_NOWAIT | TURN_NOSLOT)) && !turn_foreign();
	if (!placed && debit(t->job, t->length, how & TURN_NOWAIT))
		return TURN_LEASED;
	/* A call on a pipe can be interrupted, so it must not wait here. */
	if (!turnfd_hold(fd, &file))
		return TURN_PASS;
	if (placed) {
		place = place_of(fd, offset);
		kind = by_place(t, &place, how);
	}
	if (kind == TURN_PASS)
		kind = by_credit(t, how);
	if (turnfd_holds(fd, &file))
		return kind;
	give_back(t, kind);
	return TURN_CLOSED;
}

static enum turn_kind turn_ask(struct turn *t, int fd, const struct iovec *iov, size_t n,
			       off_t offset, unsigned how)
{
	unsigned state = turnfd_state(fd);
	enum turn_kind kind;

	if (state == TURNFD_UNKNOWN)
		state = turnfd_find(fd);
	if (!turnfd_ours(state))
		return TURN_PASS;
	part_by_fd(fd);
	/* The mode and the segment may change while we wait, but not for ever. */
	for (int i = 0; i < 8; i++) {
		t->job = turn_attach();
		if (!t->job)
			return TURN_PASS;
		if (atomic_load_explicit(&part_kinds, memory_order_relaxed))
			wire_of_job(t->job);
		switch (sl_turn_mode_of(t->job)) {
		case SL_TURN_OPEN:
			return TURN_OPEN;
		case SL_TURN_FORWARD:
			return TURN_FORWARD;
		case SL_TURN_LEASED:
		case SL_TURN_PLACED:
			break;
		default:
			return TURN_PASS;
		}
		t->length = length_of(iov, n);
		if (!t->length)
			return TURN_PASS;
		kind = wait_turn(t, fd, state, offset, how);
		if (kind != TURN_OPEN)
			return kind;
	}
	return TURN_OPEN;
}

/* When the call begins, if the call is timed; else 0. */
static int64_t timed(const struct sl_turn_job *job, enum sl_op op)
{
	int64_t since = 0;

	if (op == SL_READ && wire_charge(job) & SL_TURN_READS) {
		if (wire_quiet(job))
			return 0;
		since = wire_read_begin(job);
	}
	return !since && is_sampled() ? turn_now_ns() : since;
}

/* A call of one buffer in LEASED mode that need not wait: as most do. */
static bool quick(struct turn *t, int fd, enum sl_op op, size_t n, off_t offset)
{
	struct sl_turn_job *job = atomic_load_explicit(&turn_own.job, memory_order_acquire);
	uint64_t open = atomic_load_explicit(&turn_own.open, memory_order_relaxed);
	enum turn_kind kind = TURN_LEASED;
	uint32_t charge;

	if (!job || turn_word_of(job) != (open ^ SL_TURN_OPEN ^ SL_TURN_LEASED) ||
	    turnfd_state(fd) != TURNFD_OURS || n - 1 >= LARGE - 1)
		return false;
	charge = wire_charge(job);
	if (op == SL_READ && wire_quiet(job) && charge & SL_TURN_READS && !turn_sealed()) {
		*t = (struct turn){ .job = job, .length = n, .fd = fd, .kind = TURN_READ };
		return true;
	}
	if (atomic_load_explicit(&slow.due, memory_order_relaxed) ||
	    atomic_load_explicit(&job->given_up, memory_order_relaxed))
		return false;
	if (op == SL_WRITE && charge & SL_TURN_WRITES)
		kind = TURN_BUFFERED;
	else if (op == SL_READ && charge & SL_TURN_READS)
		kind = TURN_READ;
	if (kind == TURN_LEASED && !debit(job, n, false))
		return false;
	if (kind != TURN_LEASED && turn_sealed())
		return false;
	if (kind == TURN_READ && (!(charge & SL_TURN_WRITES) ||
				  atomic_load_explicit(&job->credit, memory_order_relaxed) <= 0))
		return false;
	if (kind == TURN_BUFFERED && !wire_tracks(job, fd))
		return false;
	*t = (struct turn){ .job = job,
			    .length = n,
			    .since_ns = kind == TURN_BUFFERED ? 0 : timed(job, op),
			    .offset = offset,
			    .fd = fd,
			    .kind = (uint8_t)kind,
			    .op = (uint8_t)op };
	return true;
}

enum turn_kind turn_begin(struct turn *t, int fd, enum sl_op op, const struct iovec *iov, size_t n,
			  off_t offset, unsigned how)
{
	const struct settings *s;
	int saved;

	if (!iov && quick(t, fd, op, n, offset))
		return t->kind;
	saved = errno;
	s = client_settings();
	*t = (struct turn){ .op = (uint8_t)op, .slot = NO_SLOT, .fd = fd, .offset = offset };
	if (!s->enabled || s->gated)
		t->kind = TURN_PASS;
	else if (s->forward && (s->tcp || !where_direct()))
		t->kind = TURN_FORWARD;
	else
		t->kind = (uint8_t)turn_ask(t, fd, iov, n, offset,
					    how | (turn_sealed() ? TURN_NOWAIT : 0));
	t->nowait = how & TURN_NOWAIT;
	/*
	 * In strict seccomp even reading the clock kills the program, because the kernel disables
	 * TSC.
	 */
	if ((t->kind == TURN_LEASED || t->kind == TURN_READ) && !turn_sealed())
		t->since_ns = timed(t->job, op);
	errno = saved;
	return t->kind;
}

/*
 * A read under SL_TURN_READS is over, for which `paid` bytes were debited: make it what came from
 * the file system.
 */
static void read_over(const struct turn *t, uint64_t moved, uint64_t paid)
{
	uint64_t wire;

	if (t->kind != TURN_READ && turnfd_state(t->fd) == TURNFD_SLOW) {
		wire_read_direct(t->job, moved);
		wire = moved;
	} else {
		wire = wire_read(t->job, moved, t->since_ns, t->kind != TURN_READ);
	}
	if (wire > paid)
		debit(t->job, wire - paid, true);
	else if (wire < paid)
		refund(t->job, paid - wire);
}

static bool by_wire_read(const struct turn *t)
{
	return t->op == SL_READ && t->fd >= 0 && wire_charge(t->job) & SL_TURN_READS &&
	       !turn_sealed();
}

/* Not in a sandbox, where not even the clock can be read. */
static bool is_metered(const struct sl_turn_job *job)
{
	return atomic_load_explicit(&job->mode, memory_order_relaxed) & SL_TURN_METERED &&
	       !turn_sealed();
}

/* As wait_turn(), for a call of another process. */
static enum turn_kind wait_other(struct turn *t, const struct turn_place *place, unsigned how)
{
	enum turn_kind kind = TURN_PASS;

	if (is_given_up(t->job))
		return TURN_LATE;
	if ((how & TURN_NOWAIT || sl_turn_mode_of(t->job) == SL_TURN_LEASED) &&
	    debit(t->job, t->length, how & TURN_NOWAIT))
		return TURN_LEASED;
	if (!place)
		return TURN_WAITS;
	if (sl_turn_mode_of(t->job) == SL_TURN_PLACED && !turn_foreign())
		kind = by_place(t, place, 0);
	return kind == TURN_PASS ? by_credit(t, 0) : kind;
}

enum turn_kind turn_begin_other(struct turn *t, enum sl_op op, uint64_t length,
				const struct turn_place *place, unsigned how)
{
	enum turn_kind kind;

	*t = (struct turn){ .op = (uint8_t)op, .slot = NO_SLOT, .fd = -1, .kind = TURN_PASS };
	for (int i = 0; i < 8; i++) {
		t->job = turn_attach();
		if (!t->job)
			return TURN_PASS;
		t->length = length < LENGTH_MAX ? length : LENGTH_MAX;
		if (is_metered(t->job) && !(how & TURN_NOWAIT) &&
		    !ops_may_move(t->job, op, place != NULL)) {
			t->kind = TURN_WAITS;
			return TURN_WAITS;
		}
		switch (sl_turn_mode_of(t->job)) {
		case SL_TURN_LEASED:
		case SL_TURN_PLACED:
			kind = wait_other(t, place, how);
			break;
		case SL_TURN_OPEN:
			t->kind = TURN_OPEN;
			return TURN_OPEN;
		default: /* calls that the node is to make itself are not made by it */
			t->kind = TURN_LATE;
			return TURN_LATE;
		}
		if (kind != TURN_OPEN) {
			t->kind = (uint8_t)kind;
			return kind;
		}
	}
	t->kind = TURN_OPEN;
	return TURN_OPEN;
}

static void settle(const struct turn *t, ssize_t n)
{
	uint64_t moved = n > 0 ? (uint64_t)n : 0;
	int saved;

	if (moved)
		account(t->job, t->op, moved);
	if (t->kind == TURN_READ && wire_read_quietly(moved))
		return;
	if (t->kind == TURN_LEASED && moved == t->length && !t->since_ns && !by_wire_read(t))
		return;
	saved = errno;
	switch (t->kind) {
	case TURN_READ:
	case TURN_LEASED:
		if (t->since_ns)
			judge(turn_now_ns() - t->since_ns, t->length);
		if (t->kind == TURN_READ || by_wire_read(t))
			read_over(t, moved, t->kind == TURN_READ ? 0 : t->length);
		else if (moved != t->length)
			refund(t->job, t->length - moved);
		break;
	case TURN_BUFFERED:
		if (moved)
			wire_wrote(t->job, t->fd, moved, t->offset);
		break;
	case TURN_PLACED:
		if (by_wire_read(t)) /* the node has charged its length */
			read_over(t, moved, t->length);
		if (is_own(t, thread_id()))
			slot_done(t->job, t->slot, n < 0 ? -saved : n);
		slot_held = 0;
		break;
	case TURN_OWED:
		if (moved)
			wire_owe(t->job, moved);
		break;
	case TURN_LATE:
		atomic_fetch_add(&t->job->unscheduled, moved);
		break;
	default:
		break;
	}
	errno = saved;
}

void turn_end(const struct turn *t, ssize_t n)
{
	int saved;

	settle(t, n);
	if (__builtin_expect(!is_metered(t->job) || n < 0, 1))
		return;
	saved = errno;
	/* fd < 0: of another process, which waits before its next call. */
	ops_moved(t->job, t->op, (uint64_t)n, !t->nowait && t->fd >= 0);
	errno = saved;
}
