/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: credit and slots. See wire/turn.h for what a client does.
 *
 * A job that asks for credit is one request in the scheduler, of a *lease*: what the capacity moves
 * in CREDIT_NS, or a job's own limit in OWN_TIMES that, at least what the job owes. Each lease is a
 * wake-up of this thread and of the program, about 20 us of CPU, so that two jobs at 150 MB/s cost
 * 2 % of a CPU with leases of 1 ms and 1 % with 2 ms. What is written back is leased by STEP_NS: a
 * lease is in the device's queue before the flush of another job. All stages decide about a lease
 * as about any request, except that order ignores it. When it is dispatched, the bytes are added to
 * the job's credit and charged to admit, share and the pacer, and the request is done.
 *
 * Shares for synchronous callers. A program that makes one call at a time has no waiting request
 * while it uses its lease, and a work-conserving scheduler would give its turn to others. So a job
 * that has used credit within HOLD_NS keeps a request in the scheduler without asking, until leases
 * of AHEAD_NS are unused (on a busy machine a program may not run for some milliseconds after it
 * was woken). Credit that is unused for IDLE_NS is taken back: the pacer gets the time back at
 * once, and the job gets the bytes, which admit and share have already charged, on top of its next
 * lease.
 *
 * A job whose thread waits for the file system cannot use anything meanwhile, nor ask: for its write-back in
 * fsync, or in a call with a place that takes LATE_NS longer than its length takes at the pace, since
 * there is a queue. It keeps its share: it may have leases of WRITING_NS, in fsync no more than it waits for.
 * Its next calls with a place take this *lead*, and go without the scheduler; its share goes on meanwhile.
 *
 *	capacity 100M, CREDIT_NS 2 ms, jobs a and b of weights 4 and 1, writing 4 KiB
 *	0 ms  both ask for 200K; a: credit 200K       2 ms  a has used them; a: 200K
 *	…     a: 200K                                 8 ms  b: 200K
 *	a ends with 60K of credit: 100 ms later it is 0, and the pacer is .6 ms earlier
 *
 * In any window W a job moves at most max W + burst + a lease + its largest call: the debt that
 * one call may leave is part of the next request for credit, so it is paid even if the
 * program has ended.
 *
 * Slots are requests with a file and an offset. When one is dispatched, its thread makes the call,
 * and the batch is done when all of its calls are. If a call takes longer than EXPIRE_NS while
 * others wait, the node stops waiting for it, because its file system may hang. It also does not
 * wait for later calls of that job, until one of them has ended in time.
 *
 * One thread serves all of this. It sleeps until the scheduler, the pacer or a client has
 * something for it; while the pacer holds everything back clients do not wake it.
 */
#include "sluiced/ionode/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "sluiced/ionode/link.h"
#include "sluiced/ionode/rules.h"
#include "sluiced/ionode/scheduler.h"

#define CREDIT_NS   INT64_C(2000000)
#define STEP_NS	    INT64_C(1000000)
#define OWN_TIMES   2
#define LEASE_LEAST 4096U
#define LEASE_MOST  (64U << 20)
#define AHEAD_NS    INT64_C(10000000)  /* unused leases that a job may have */
#define WRITING_NS  INT64_C(200000000) /* the same, while it waits for its write-back */
#define WRITES_NS   INT64_C(500000000) /* a thread that has waited for longer may have ended */
#define LATE_NS	    INT64_C(3000000)   /* of a call, beside what its length takes at the pace */
#define INSTALMENT  4		       /* leases of a debt that are paid at once */
#define DEBT_MOST   (INT64_C(1) << 32) /* a call moves 2 GiB at most */
#define HOLD_NS	    INT64_C(20000000)
#define IDLE_NS	    INT64_C(100000000)
#define EXPIRE_NS   INT64_C(100000000)
#define STAMP_NS    INT64_C(1000000000)
#define LOOK_NS	    1000000
#define WORK_MOST   256
#define SLICE_NS    100000
#define TURN_FLAGS  (UINT32_C(1) << 31)
#define LEASE_SLOT  UINT32_MAX

/* ---- requests ---- */

static struct node_turn *turn_of(const struct node_io *io)
{
	return io->job->turn;
}

static int add(struct node *n, struct node_turn *t, struct node_io *io, sl_time now)
{
	int rc;

	io->job = t->job;
	io->req.job = t->job->number;
	io->result = 0;
	rc = node_add(n, io, now);
	if (rc)
		return rc;
	n->turns->waiting++;
	node_entered(n, t->job, now);
	return 0;
}

static void drop(struct node *n, struct node_io *io, sl_time now)
{
	if (io->req.state_ && node_cancel(n, io, now) == 0)
		n->turns->waiting--;
}

static void finish(struct node *n, const struct sl_batch *b, sl_time now)
{
	struct sl_request *r = b->first, *next;

	node_done(n, b, now);
	n->executing--;
	for (; r; r = next) {
		struct node_io *io = (struct node_io *)r;

		next = r->next;
		io->batch = NULL;
		n->active -= --io->job->inside == 0;
		io->job->last_io = now;
	}
}

/* ---- credit ---- */

void turn_activate(struct node *n, struct node_turn *t)
{
	if (t->active)
		return;
	sl_list_push_back(&n->turns->active, &t->link);
	n->turns->active_count++;
	t->active = true;
}

void turn_deactivate(struct node *n, struct node_turn *t)
{
	if (!t->active)
		return;
	sl_list_remove(&t->link);
	n->turns->active_count--;
	t->active = false;
}

void turn_signal(struct node *n, struct node_turn *t, uint32_t bits)
{
	if (bits == SL_TURN_CREDIT_BIT)
		atomic_store(&t->shm->waiting, 0);
	atomic_fetch_add(&t->shm->grants, 1);
	node_wake_later(n, &t->shm->grants, bits == SL_TURN_CREDIT_BIT ? 1 : INT32_MAX, bits);
}

static uint64_t least_rate(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static int64_t lease_ns(const struct node *n)
{
	return n->charge & SL_TURN_WRITES ? STEP_NS : CREDIT_NS;
}

/* See above. */
uint64_t turn_lease(const struct node *n, const struct node_turn *t)
{
	uint64_t own = t->job->max_here_bps, rate, bytes;

	if (t->job->grant_bps != SL_GRANT_NONE)
		own = least_rate(own, t->job->grant_bps);
	rate = least_rate(n->pace.bps, own * OWN_TIMES);
	bytes = (uint64_t)((unsigned __int128)rate * (uint64_t)lease_ns(n) / 1000000000);
	if (!rate || bytes > LEASE_MOST)
		bytes = LEASE_MOST;
	return bytes < LEASE_LEAST ? LEASE_LEAST : bytes;
}

/* Leases of so long. */
static int64_t leases(const struct node *n, int64_t ns)
{
	return ns / lease_ns(n);
}

/* A limit of its own bounds what it moves in any window: no lead beside that. */
static bool may_lead(const struct node_turn *t)
{
	return !t->job->max_here_bps && t->job->grant_bps == SL_GRANT_NONE &&
	       sl_turn_mode_of(t->shm) == SL_TURN_LEASED;
}

/* The job cannot ask, since its thread waits for what was paid for to be written back. */
static bool is_writing(const struct node_turn *t, sl_time now)
{
	int64_t since = atomic_load_explicit(&t->shm->writing_ns, memory_order_relaxed);
	uint64_t ago = (uint64_t)now - (uint64_t)since; /* the program may write any number there */

	return since && ago + (uint64_t)WRITES_NS < 2 * (uint64_t)WRITES_NS && may_lead(t);
}

/* The same, since a call with a place takes longer than it would if the capacity were right. */
static bool is_late(const struct node *n, const struct node_turn *t, sl_time now)
{
	/* Where writes go through the job has a request in the scheduler anyhow. */
	bool may = n->pace.bps && !(n->charge & SL_TURN_THROUGH) && may_lead(t);
	uint64_t left = may ? t->going : 0;

	for (; left; left &= left - 1) {
		const struct node_io *io = &t->slot[__builtin_ctzll(left)];
		sl_time due =
			io->since + LATE_NS +
			(sl_time)((unsigned __int128)io->req.length * 1000000000 / n->pace.bps);

		if (now > due && now - io->since < EXPIRE_NS)
			return true;
	}
	return false;
}

/* It was given a lead then, and uses it: its calls need not ask, but its share goes on. */
static bool leads(const struct node_turn *t, sl_time now)
{
	return t->lead > 0 && now - t->lead_ns < IDLE_NS && may_lead(t);
}

/* What a job may have and not use, of leases of so many bytes. */
static int64_t ahead(const struct node *n, const struct node_turn *t, uint64_t lease, sl_time now)
{
	uint64_t least = (uint64_t)leases(n, AHEAD_NS) * lease,
		 most = (uint64_t)leases(n, WRITING_NS) * lease, bytes;

	if (is_late(n, t, now) || leads(t, now))
		return (int64_t)most;
	if (!is_writing(t, now))
		return (int64_t)least;
	bytes = atomic_load_explicit(&t->shm->writing, memory_order_relaxed);
	return (int64_t)(bytes < least ? least : bytes < most ? bytes : most);
}

static void ask(struct node *n, struct node_turn *t, uint64_t bytes, sl_time now)
{
	struct sl_request *r = &t->lease.req;

	r->client = 0;
	/* A unique file number, so that nothing is merged with it. */
	r->file = SL_NO_FILE + n->turn_serial;
	r->flags = TURN_FLAGS | (n->turn_serial++ & INT32_MAX);
	r->offset = 0;
	r->length = bytes;
	r->op = atomic_load_explicit(&t->shm->asked_op, memory_order_relaxed) & 1;
	t->lease.slot = LEASE_SLOT;
	add(n, t, &t->lease, now); /* if there is no room, the next pass tries again */
}

/* The value that the program reports, limited to what is possible. */
static int64_t credit_of(const struct node *n, const struct node_turn *t)
{
	int64_t credit = atomic_load_explicit(&t->shm->credit, memory_order_relaxed);
	int64_t most = 2 * leases(n, WRITING_NS) * (int64_t)turn_lease(n, t);

	if (credit < -DEBT_MOST)
		return -DEBT_MOST;
	return credit < most ? credit : most;
}

/* Unused for some time: return the time to the pacer. */
static void take_back(struct node *n, struct node_turn *t)
{
	int64_t left = credit_of(n, t);

	if (left <= 0)
		return;
	atomic_fetch_sub(&t->shm->credit, left);
	/* Ignore credit that a program has written there itself. */
	left = left < t->lent ? left : t->lent;
	t->lent = 0;
	t->spare_bytes += (uint64_t)left;
	if (t->spare_bytes > LEASE_MOST)
		t->spare_bytes = LEASE_MOST;
	node_pace(n, -left, 0);
	t->credit = t->lead = 0;
}

void turn_revoke(struct node *n, struct node_turn *t, sl_time now)
{
	drop(n, &t->lease, now);
	take_back(n, t);
	for (uint32_t i = 0; i < SL_TURN_SLOTS; i++)
		drop(n, &t->slot[i], now);
}

/*
 * The part of a debt that one request pays. The pacer holds all jobs for the length of a request,
 * and the debt is only the program's claim. So users who share a layer pay by instalments, in turn.
 */
static uint64_t debt_part(const struct node *n, const struct node_turn *t, uint64_t debt)
{
	uint64_t most = n->site ? INSTALMENT * turn_lease(n, t) : UINT64_MAX;

	return debt < most ? debt : most;
}

/* Update the job's requests. False: it needs nothing, and no further check is needed. */
static bool look_credit(struct node *n, struct node_turn *t, bool asked, sl_time now)
{
	enum sl_turn_mode mode = sl_turn_mode_of(t->shm);
	int64_t credit;
	uint64_t bytes;
	bool wants, left;

	if (mode != SL_TURN_LEASED && mode != SL_TURN_PLACED)
		return false;
	left = turn_wire_left(n, t);
	credit = credit_of(n, t);
	t->lent = credit < t->lent ? (credit > 0 ? credit : 0) : t->lent;
	if (asked || credit < t->credit)
		t->used_ns = now;
	t->credit = credit;
	if (asked && credit > 0)
		turn_signal(n, t, SL_TURN_CREDIT_BIT); /* it got credit meanwhile */
	t->waits = asked || t->waits;		       /* it waits until it gets credit */
	/* PLACED: for calls without a place only, such as copies, and for more than SL_TURN_SLOTS.
	 */
	wants = credit < 0 || t->waits || (mode == SL_TURN_LEASED && now - t->used_ns < HOLD_NS) ||
		is_writing(t, now) || is_late(n, t, now) || leads(t, now);
	if (!wants) {
		drop(n, &t->lease, now);
		if (now - t->used_ns >= IDLE_NS && now - t->lead_ns >= IDLE_NS)
			take_back(n, t);
		return left || atomic_load_explicit(&t->shm->credit, memory_order_relaxed) != 0;
	}
	bytes = mode == SL_TURN_LEASED ? turn_lease(n, t) : LEASE_LEAST;
	if (t->lease.req.state_ || credit >= ahead(n, t, bytes, now))
		return true;
	/* No other job waits, so take more; but write-back would delay the flushes of others. */
	if (n->turns->active_count <= 1 && !(n->charge & SL_TURN_WRITES))
		bytes *= 2;
	if (credit < 0 && (uint64_t)-credit >= bytes)
		bytes = debt_part(n, t,
				  (uint64_t)-credit); /* and no more: the next call waits until
							       it is paid */
	ask(n, t, bytes < SL_MAX_LENGTH ? bytes : SL_MAX_LENGTH, now);
	return true;
}

static void look_slots(struct node *n, struct node_turn *t, sl_time now);

static void lease_give(struct node *n, struct node_turn *t, const struct sl_batch *b, sl_time now)
{
	int64_t more = (int64_t)(b->length + t->spare_bytes);

	node_pace(n, (int64_t)t->spare_bytes, now);
	t->spare_bytes = 0;
	if (t->job->max_here_bps)
		t->paid_ns =
			(t->paid_ns > now ? t->paid_ns : now) +
			(sl_time)((unsigned __int128)b->length * 1000000000 / t->job->max_here_bps);
	finish(n, b, now);
	t->credit = atomic_fetch_add(&t->shm->credit, more) + more;
	t->lent = t->lent + more < t->credit ? t->lent + more : t->credit > 0 ? t->credit : 0;
	if (is_late(n, t, now) || leads(t, now))
		t->lead += more;
	if (is_late(n, t, now))
		t->lead_ns = now;
	if (t->credit > 0) {
		t->waits = false;
		turn_signal(n, t, SL_TURN_CREDIT_BIT);
	}
	/*
	 * The next pass may be HOLD_NS away: request the next instalment now, or take the next
	 * call.
	 */
	if (t->credit < 0)
		look_credit(n, t, false, now);
	else if (t->slots_wait)
		look_slots(n, t, now);
}

/* ---- slots ---- */

static uint32_t window(const struct node *n)
{
	return n->config->window ? n->config->window : 2 * n->workers;
}

bool turn_full(const struct node *n)
{
	return n->turns->out >= (n->active > 1 || n->config->window ? window(n) : 1024);
}

/*
 * Whether a batch counts in the window. Calls of a job that was too slow before do not, nor more
 * of one user than half of the window: who makes calls slowly must not keep other users waiting.
 */
static bool counts(const struct node *n, const struct node_turn *t)
{
	return !t->mute && (!n->site || t->room->out < (window(n) + 1) / 2);
}

/* The call of this request has ended, or we stop waiting for it. */
static void slot_over(struct node *n, struct node_io *io, sl_time now)
{
	struct node_io *first;

	if (!io->batch || io->over)
		return;
	first = (struct node_io *)io->batch->first;
	io->over = true;
	if (--first->calls)
		return;
	sl_list_remove(&first->link); /* its threads may have ended before it was due */
	n->turns->out -= first->counted;
	turn_of(first)->room->out -= first->counted;
	finish(n, first->batch, now);
}

/* While instalments of an earlier call are due, the job's next call with a place waits. */
static bool owes(const struct node *n, const struct node_turn *t)
{
	return n->site && credit_of(n, t) < 0;
}

/* Take it from what the job was given while another call was late. */
static bool take_lead(const struct node *n, struct node_turn *t, uint64_t length, sl_time now)
{
	int64_t credit = credit_of(n, t);

	t->lead = credit < t->lead ? (credit > 0 ? credit : 0) : t->lead;
	if (length > (uint64_t)t->lead || !may_lead(t))
		return false;
	t->lead -= (int64_t)length;
	t->lead_ns = now;
	t->credit = atomic_fetch_sub(&t->shm->credit, (int64_t)length) - (int64_t)length;
	return true;
}

/* Let a slot's call go. */
static void slot_go(struct node *n, struct node_turn *t, uint32_t i, sl_time now)
{
	uint32_t posted = SL_TURN_POSTED;

	t->slot[i].since = now;
	t->going |= UINT64_C(1) << i;
	atomic_compare_exchange_strong(&t->shm->slot[i].state, &posted, SL_TURN_GO);
	turn_signal(n, t, SL_TURN_SLOT_BIT(i));
}

static void slot_take(struct node *n, struct node_turn *t, uint32_t i, sl_time now)
{
	struct sl_turn_slot *shm = &t->shm->slot[i], copy;
	struct node_io *io = &t->slot[i];

	if (owes(n, t)) {
		t->slots_wait = true;
		return;
	}
	t->slot_next = (i + 1) % SL_TURN_SLOTS;
	memcpy(&copy, shm, sizeof(copy));
	io->req.client = copy.tid;
	io->req.file = copy.file < SL_NO_FILE ? copy.file : copy.file >> 1;
	io->req.offset = copy.offset <= INT64_MAX - copy.length ? copy.offset : 0;
	io->req.length = copy.length;
	io->req.op = copy.op & 1;
	io->req.flags = TURN_FLAGS;
	io->slot = i;
	io->over = false;
	t->again[i] = copy.again;
	if (take_lead(n, t, copy.length, now)) {
		slot_go(n, t, i, now);
		return;
	}
	/* The rest of a large call is a debt. */
	if (io->req.length <= SL_MAX_LENGTH && debt_part(n, t, io->req.length) < io->req.length) {
		io->req.length = debt_part(n, t, io->req.length);
		atomic_fetch_sub(&t->shm->credit, (int64_t)(copy.length - io->req.length));
	}
	if (!copy.length || copy.length > SL_MAX_LENGTH || add(n, t, io, now)) {
		/* The scheduler refuses it: let the call go. */
		atomic_store(&shm->state, SL_TURN_GO);
		turn_signal(n, t, SL_TURN_SLOT_BIT(i));
	}
}

bool turn_slot_left(const struct node_turn *t, uint32_t i, uint32_t state)
{
	return t->slot[i].req.state_ && !t->slot[i].over &&
	       (state <= SL_TURN_TAKEN || state > SL_TURN_DONE ||
		(state == SL_TURN_POSTED && t->shm->slot[i].again != t->again[i]));
}

/*
 * A program that posts calls again as soon as they may go has work for as long as it likes, and
 * other users and all that needs the lock would wait for it: after WORK_MOST of them in one round
 * its room is left alone for LOOK_NS.
 */
static bool is_resting(const struct node *n, struct turn_room *room, sl_time now)
{
	if (!n->site || room->work < WORK_MOST)
		return false;
	room->rest_ns = room->rest_ns ? room->rest_ns : now + LOOK_NS;
	if (now < room->rest_ns)
		return true;
	room->work = 0;
	room->rest_ns = 0;
	return false;
}

static void look_slots(struct node *n, struct node_turn *t, sl_time now)
{
	t->slots_wait = is_resting(n, t->room, now);
	if (t->slots_wait)
		return;
	for (uint32_t k = 0, first = t->slot_next; k < SL_TURN_SLOTS; k++) {
		uint32_t i = (first + k) % SL_TURN_SLOTS;
		struct sl_turn_slot *shm = &t->shm->slot[i];
		uint32_t state = atomic_load_explicit(&shm->state, memory_order_acquire);
		struct node_io *io = &t->slot[i];

		if (turn_slot_left(t, i, state)) {
			slot_over(n, io, now);
			drop(n, io, now);
		}
		if (state != SL_TURN_GO)
			t->going &= ~(UINT64_C(1) << i);
		if (state == SL_TURN_POSTED && !io->req.state_) {
			t->room->work++;
			slot_take(n, t, i, now);
		} else if (state == SL_TURN_DONE) {
			t->mute = t->mute && !io->batch;
			slot_over(n, io, now);
			drop(n, io, now); /* it went without waiting */
			atomic_store_explicit(&shm->state, SL_TURN_FREE, memory_order_release);
		}
	}
}

static void slots_go(struct node *n, const struct sl_batch *b, sl_time now)
{
	for (struct sl_request *r = b->first; r; r = r->next) {
		struct node_io *io = (struct node_io *)r;

		slot_go(n, turn_of(io), io->slot, now);
	}
}

void turn_abandon(struct node *n, struct node_turn *t)
{
	for (uint32_t i = 0; i < SL_TURN_SLOTS; i++)
		slot_over(n, &t->slot[i], node_now());
}

void turn_dispatched(struct node *n, const struct sl_batch *b, sl_time modelled, sl_time now)
{
	struct node_io *first = (struct node_io *)b->first;

	n->turns->waiting -= b->count;
	if (first->slot == LEASE_SLOT) {
		lease_give(n, turn_of(first), b, now);
		return;
	}
	first->calls = b->count;
	sl_list_init(&first->link);
	for (struct sl_request *r = b->first; r; r = r->next) {
		struct node_io *io = (struct node_io *)r;

		io->batch = b;
		io->since = modelled > now ? modelled : now;
	}
	first->counted = counts(n, turn_of(first));
	n->turns->out += first->counted;
	turn_of(first)->room->out += first->counted;
	if (modelled > now) {
		sl_list_push_back(&n->turns->due, &first->link);
	} else {
		slots_go(n, b, now);
	}
}

sl_time turn_due(struct node *n, sl_time now)
{
	sl_time next = SL_NEVER;

	for (struct sl_list *l = n->turns->due.next, *after; l != &n->turns->due; l = after) {
		struct node_io *io = sl_container(l, struct node_io, link);

		after = l->next;
		if (io->since <= now) {
			sl_list_remove(l);
			slots_go(n, io->batch, now);
		} else if (io->since < next) {
			next = io->since;
		}
	}
	return next;
}

/* Stop waiting for calls that have taken long, so that they do not delay others. */
static void expire(struct node *n, struct node_turn *t, sl_time now)
{
	for (uint32_t i = 0; i < SL_TURN_SLOTS; i++) {
		struct node_io *io = &t->slot[i];

		if (io->batch && !io->over && io->since < now - EXPIRE_NS) {
			t->mute = true;
			slot_over(n, io, now);
		}
	}
}

static bool slots_busy(const struct node_turn *t)
{
	for (uint32_t i = 0; i < SL_TURN_SLOTS; i++)
		if (t->slot[i].req.state_)
			return true;
	return false;
}

/* ---- checking jobs ---- */

static void collect_room(struct node *n, struct turn_room *room, sl_time now)
{
	for (uint32_t w = 0; w < SL_TURN_JOBS / 64; w++) {
		uint64_t ready;

		if (!atomic_load_explicit(&room->page->ready[w], memory_order_relaxed))
			continue;
		ready = atomic_exchange(&room->page->ready[w], 0);
		for (; ready; ready &= ready - 1) {
			struct node_turn *t =
				n->turns->by_index[w * 64 + (uint32_t)__builtin_ctzll(ready)];

			if (!t || t->room != room)
				continue;
			t->procs_ns = 0; /* one may have begun a phase */
			turn_activate(n, t);
			look_slots(n, t, now);
		}
	}
}

void turn_collect(struct node *n, sl_time now)
{
	struct turns *ts = n->turns;

	rules_divide(n, now);
	for (struct turn_room *room = ts->rooms; room; room = room->next)
		collect_room(n, room, now);
	for (struct sl_list *l = ts->active.next, *next; l != &ts->active; l = next) {
		struct node_turn *t = sl_container(l, struct node_turn, link);
		bool asked = atomic_load_explicit(&t->shm->asked, memory_order_relaxed) &&
			     atomic_exchange(&t->shm->asked, 0);
		bool stays = look_credit(n, t, asked, now);

		if (t->slots_wait && !owes(n, t))
			look_slots(n, t, now);
		stays = ops_look(n, t, now) || stays;

		next = l->next;
		if (ts->out && n->waiting)
			expire(n, t, now);
		if (stays || t->slots_wait || slots_busy(t))
			continue;
		turn_deactivate(n, t);
	}
}

sl_time turn_wake(const struct node *n, sl_time now)
{
	const struct turns *ts = n->turns;

	if (ts->out && n->waiting)
		return now + EXPIRE_NS / 2;
	return sl_list_empty(&ts->active) ? SL_NEVER : now + HOLD_NS;
}

/* ---- the thread ---- */

/*
 * Whether a program has asked since the last pass. A room that wakes the node too often is checked
 * only once a millisecond, so that no user can keep the node busy.
 */
#define HITS_MOST 5000
#define WAITV	  128 /* futexes that Linux can wait for at once */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449 /* Linux 5.16 */
#endif

static bool is_noisy(const struct turn_room *room)
{
	return room->rests || room->hits > HITS_MOST;
}

static bool room_rung(struct turn_room *room)
{
	for (uint32_t w = 0; w < SL_TURN_JOBS / 64; w++)
		if (atomic_load_explicit(&room->page->ready[w], memory_order_relaxed))
			return true;
	return false;
}

/* Sleep until one of the rooms rings, or until then. */
static void wait_rooms(struct turns *ts, sl_time until)
{
	struct {
		uint64_t value, address;
		uint32_t flags, reserved;
	} wait[WAITV]; /* struct futex_waitv */
	struct timespec at;
	uint32_t count = 0;
	bool all = !ts->no_waitv;
	long rc;

	for (struct turn_room *room = ts->rooms; room && all; room = room->next) {
		if (is_noisy(room) || count == WAITV) {
			all = false;
			break;
		}
		wait[count].value = room->rings;
		wait[count].address = (uintptr_t)&room->page->rings;
		wait[count].flags = 2; /* FUTEX_32, shared */
		wait[count++].reserved = 0;
	}
	if (!all && until > node_now() + LOOK_NS)
		until = node_now() + LOOK_NS;
	at = (struct timespec){ until / 1000000000, until % 1000000000 };
	rc = all && count ? syscall(SYS_futex_waitv, wait, count, 0, &at, CLOCK_MONOTONIC) : -1;
	if (all && count && rc < 0 && errno == ENOSYS)
		ts->no_waitv = true;
	/* A page that its user has cut cannot be waited for. */
	if (!all || !count || (rc < 0 && errno != EAGAIN && errno != ETIMEDOUT && errno != EINTR))
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void wait_one(const struct turn_room *room, sl_time until, sl_time now)
{
	struct timespec ts = { (until - now) / 1000000000, (long)((until - now) % 1000000000) };

	syscall(SYS_futex, &room->page->rings, FUTEX_WAIT, room->rings,
		until == SL_NEVER ? NULL : &ts, NULL, 0);
}

static void stamp(const struct turns *ts, sl_time now)
{
	for (struct turn_room *room = ts->rooms; room; room = room->next)
		atomic_store(&room->page->alive_ns, now);
}

static void ring_all(const struct turns *ts)
{
	for (struct turn_room *room = ts->rooms; room; room = room->next) {
		atomic_fetch_add(&room->page->rings, 1);
		syscall(SYS_futex, &room->page->rings, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

void turn_look(struct node *n, sl_time now)
{
	struct turns *ts = n->turns;

	if (!atomic_load(&ts->idle))
		return;
	stamp(ts, now);
	if (ts->active_count || n->waiting)
		ring_all(ts);
}

static void nap(struct node *n, sl_time until)
{
	struct turns *ts = n->turns;
	sl_time now = node_now();
	bool held, rung = false;

	if (now - ts->hits_ns > STAMP_NS)
		ts->hits_ns = now;
	stamp(ts, now);
	for (struct turn_room *room = ts->rooms; room; room = room->next)
		room->hits = ts->hits_ns == now ? 0 : room->hits;
	if (until > now + STAMP_NS && (until != SL_NEVER || n->site))
		until = now + STAMP_NS;
	if (until <= now)
		return;
	/* While the pacer holds everything, a wake-up by a client would be useless. */
	pthread_mutex_lock(&n->lock);
	held = n->pace.at >= until && !ops_pacing(n);
	for (struct turn_room *room = ts->rooms; room; room = room->next) {
		room->rests = n->site && room->work >= WORK_MOST;
		room->work = room->rests ? room->work : 0; /* the next round begins */
	}
	pthread_mutex_unlock(&n->lock);
	for (struct turn_room *room = ts->rooms; room; room = room->next) {
		atomic_store(&room->page->sleeping, !held); /* before the last look */
		if (held || is_noisy(room) || !room_rung(room))
			continue;
		rung = true;
		room->hits += n->site != NULL;
	}
	atomic_store(&ts->idle, until == SL_NEVER);
	if (!rung && n->site)
		wait_rooms(ts, until);
	else if (!rung)
		wait_one(ts->rooms, until, now);
	atomic_store(&ts->idle, false);
	for (struct turn_room *room = ts->rooms; room; room = room->next) {
		atomic_store(&room->page->sleeping, 0);
		if (n->site && atomic_load(&room->page->rings) != room->rings)
			room->hits++;
	}
}

/*
 * This thread runs for some microseconds, and others wait for it. On Linux 6.12 and later a thread
 * that requests short time slices is scheduled sooner; on older kernels this has no effect.
 */
static void be_prompt(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = sizeof(attr), .policy = SCHED_OTHER, .runtime = SLICE_NS };

	prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
	attr.nice = (int32_t)(20 - syscall(SYS_getpriority, PRIO_PROCESS, 0));
	syscall(SYS_sched_setattr, 0, &attr, 0);
}

static void *turn_main(void *arg)
{
	struct node *n = arg;

	be_prompt();
	while (!atomic_load_explicit(&n->stop, memory_order_relaxed)) {
		for (struct turn_room *room = n->turns->rooms; room; room = room->next)
			room->rings = atomic_load(&room->page->rings);
		nap(n, node_go_on(n, NULL, true));
	}
	return NULL;
}

/* ---- start and end ---- */

int turn_start(struct node *n)
{
	struct turns *ts = calloc(1, sizeof(*ts));
	int rc = 0;

	if (!ts)
		return -ENOMEM;
	sl_list_init(&ts->active);
	sl_list_init(&ts->due);
	n->turns = ts;
	turn_wire_start(n);
	pthread_mutex_lock(&n->lock);
	rc = turn_adopt(n);
	turn_modes(n, node_now());
	node_unlock(n);
	if (rc) {
		fprintf(stderr, "sluiced: cannot make the files of turns beside %s: %s\n",
			n->config->daemon.socket, strerror(-rc));
		return rc;
	}
	return -pthread_create(&ts->thread, NULL, turn_main, n);
}

void turn_join(struct node *n)
{
	ring_all(n->turns);
	pthread_join(n->turns->thread, NULL);
}

void turn_stop(struct node *n)
{
	pthread_mutex_lock(&n->lock);
	turn_due(n, SL_NEVER - 1);
	for (struct node_job *j = n->jobs; j; j = j->next)
		if (j->turn)
			turn_abandon(n, j->turn);
	for (struct node_job *j = n->jobs; j; j = j->next)
		turn_job_forget(n, j);
	node_unlock(n);
	for (struct turn_room *room = n->turns->rooms; room; room = room->next) {
		unlink(room->path);
		rmdir(room->dir);
	}
}
