/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor: answers caught calls when the job has its turn.
 *
 *	receivers   take a call from the kernel and look at it. A call that is not the layer's, or
 *	has credit, is answered at once. Others are queued. A receiver never waits for a turn, so
 *	no call waits behind an unrelated one. It may wait for a page of the program's memory that
 *	is on a file system that hangs: main starts more receivers while none of them gets on
 *	waiters     take the calls of a queue in their order and wait, each for one, as a thread
 *	            of the program would with the preloaded library (client/conn/turn.c). Their
 *	            number grows to WAITERS: that many calls can ask with their place at a time.
 *	            Metadata calls, and each part of the job (tags by path), have a queue and
 *	            waiters of their own, since other limits hold them: however many wait, a data call
 *	            of another part that has credit goes
 *	looker      looks every half second what mappings have moved
 *	main        counts, so that the keeper sees that it is not stopped; starts another
 *	            keeper if that was killed; ends when the last process behind the gate does
 *
 * The answer is always SECCOMP_USER_NOTIF_FLAG_CONTINUE: the kernel executes the program's own
 * call. Then its bytes are counted for the job.
 */
#include "client/gate/serve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/conn/turn.h"
#include "client/gate/call.h"
#include "client/gate/mapped.h"

#define RECEIVERS 4U  /* to begin with */
#define MOST	  64U /* if all others are stuck */
#define WAITERS	  32U
#define BEAT_MS	  500
#define STACK	  131072U

static struct {
	struct gate *gate;
	pthread_mutex_t slots;
	unsigned slot[GATE_SLOTS], slots_free; /* those that are free */
	_Atomic unsigned busy;		       /* receivers that look at a call */
	_Atomic uint64_t looked;	       /* calls that have been looked at */
	pthread_mutex_t lock;		       /* of all queues */
	unsigned next[GATE_SLOTS];	       /* the slot behind this one in its queue */
	struct queue {
		pthread_cond_t filled;
		unsigned first, last, queued;
		unsigned waiters, idle;
	} data[TURN_PARTS], operations[TURN_PARTS];
} s;

bool gate_share(struct gate *g)
{
	struct seccomp_notif_sizes sizes;
	char *memory;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes))
		return false;
	g->stride = sizes.seccomp_notif > sizeof(struct seccomp_notif)
			    ? sizes.seccomp_notif
			    : sizeof(struct seccomp_notif);
	g->stride = (g->stride + 63) / 64 * 64;
	memory = mmap(NULL, sizeof(*g->shared) + g->stride * (GATE_SLOTS + 1),
		      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	g->places = memory;
	g->shared = (struct gate_shared *)(void *)(memory + g->stride * GATE_SLOTS);
	return true;
}

bool gate_answer(const struct gate *g, uint64_t id)
{
	struct seccomp_notif_resp r = { .id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	return ioctl(g->listener, SECCOMP_IOCTL_NOTIF_SEND, &r) == 0;
}

bool gate_deserted(const struct gate *g, int timeout_ms)
{
	struct pollfd p = { .fd = g->listener };

	return poll(&p, 1, timeout_ms) == 1 && p.revents & (POLLHUP | POLLERR);
}

/* ---- slots ---- */

static unsigned slot_take(void)
{
	for (;;) {
		bool taken;
		unsigned slot = 0;

		pthread_mutex_lock(&s.slots);
		taken = s.slots_free > 0;
		if (taken)
			slot = s.slot[--s.slots_free];
		pthread_mutex_unlock(&s.slots);
		if (taken)
			return slot;
		usleep(1000); /* the kernel keeps further calls meanwhile */
	}
}

static void slot_free(unsigned slot)
{
	s.gate->shared->work[slot] = (struct gate_work){ 0 };
	memset(gate_place(s.gate, slot), 0, s.gate->stride);
	pthread_mutex_lock(&s.slots);
	s.slot[s.slots_free++] = slot;
	pthread_mutex_unlock(&s.slots);
}

/* ---- answering ---- */

/* The call may go. */
static void finish(unsigned slot, struct turn *t)
{
	uint64_t write = s.gate->shared->work[slot].bytes[SL_WRITE];
	bool made = gate_answer(s.gate, gate_place(s.gate, slot)->id);

	slot_free(slot);
	if (t->kind == TURN_PASS)
		return;
	/* A copy inside the layer has been charged as one; it is counted as a read and a write. */
	write = write < t->length ? write : t->length;
	if (made && t->op == SL_READ && write) {
		account(t->job, SL_WRITE, write);
		t->length -= write;
	}
	turn_end(t, made ? (ssize_t)t->length : 0);
}

/* Wait for the turn, or, if `wait` is false and it does not come at once, do nothing. */
static bool go(unsigned slot, bool wait)
{
	const struct gate_work *w = &s.gate->shared->work[slot];
	enum sl_op op = w->bytes[SL_READ] ? SL_READ : SL_WRITE;
	struct turn t;

	if (turn_begin_other(&t, op, w->bytes[SL_READ] + w->bytes[SL_WRITE],
			     wait ? &w->place : NULL, w->nowait ? TURN_NOWAIT : 0) == TURN_WAITS)
		return false;
	finish(slot, &t);
	return true;
}

/* ---- waiting ---- */

/* A metadata call has been charged. */
static void go_operation(unsigned slot)
{
	struct turn none = { .kind = TURN_PASS };

	ops_wait_other(&s.gate->shared->work[slot].ops);
	finish(slot, &none);
}

static bool is_valid(uint64_t id)
{
	return ioctl(s.gate->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static void *waiter(void *arg)
{
	struct queue *q = arg;
	bool operations = q >= s.operations && q < s.operations + TURN_PARTS;

	part_set((unsigned)(q - (operations ? s.operations : s.data)));
	for (;;) {
		unsigned slot;

		pthread_mutex_lock(&s.lock);
		q->idle++;
		while (!q->queued)
			pthread_cond_wait(&q->filled, &s.lock);
		q->idle--;
		slot = q->first;
		q->first = s.next[slot];
		q->queued--;
		pthread_mutex_unlock(&s.lock);
		if (!is_valid(gate_place(s.gate, slot)->id))
			slot_free(slot); /* its process was killed */
		else if (operations)
			go_operation(slot);
		else
			go(slot, true);
	}
	return NULL;
}

static bool start(void *(*body)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool started;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	started = pthread_create(&thread, &attr, body, arg) == 0;
	pthread_attr_destroy(&attr);
	return started;
}

/* False: there is no waiter. */
static bool enqueue(struct queue *q, unsigned slot)
{
	bool can;

	pthread_mutex_lock(&s.lock);
	if (q->idle <= q->queued && q->waiters < WAITERS && start(waiter, q))
		q->waiters++;
	can = q->waiters > 0;
	if (can) {
		*(q->queued ? &s.next[q->last] : &q->first) = slot;
		q->last = slot;
		q->queued++;
	}
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&s.lock);
	return can;
}

/* ---- receiving ---- */

static void count_unseen(uint64_t bytes)
{
	struct sl_turn_job *job = bytes ? turn_attach() : NULL;

	if (job)
		atomic_fetch_add(&job->unscheduled, bytes);
}

/* Bytes moved by mappings cannot be held: they are reported, and later calls pay for them. */
static void count_mapped(uint64_t bytes)
{
	struct sl_turn_job *job = bytes ? turn_attach() : NULL;

	if (!job)
		return;
	atomic_fetch_add(&job->unscheduled, bytes);
	turn_owe(job, bytes);
}

/* A data call does not overtake data calls of its part that wait. */
static bool is_first(unsigned part)
{
	bool is;

	pthread_mutex_lock(&s.lock);
	is = s.data[part].queued == 0;
	pthread_mutex_unlock(&s.lock);
	return is;
}

static void received(unsigned slot)
{
	struct gate_work *w = &s.gate->shared->work[slot];
	struct turn late = { .kind = TURN_PASS };

	part_set(0);
	gate_work_of(gate_place(s.gate, slot), w);
	count_unseen(w->unseen);
	count_mapped(w->mapped);
	part_set(w->part);
	if (w->operation) {
		if (ops_begin_other(&w->ops, w->which) || !enqueue(&s.operations[w->part], slot))
			finish(slot, &late);
	} else if (!w->bytes[SL_READ] && !w->bytes[SL_WRITE])
		finish(slot, &late);
	else if (!((is_first(w->part) || w->nowait) && go(slot, false)) &&
		 !enqueue(&s.data[w->part], slot))
		finish(slot, &late);
}

static void *receiver(void *unused)
{
	(void)unused;
	for (;;) {
		unsigned slot = slot_take();

		while (ioctl(s.gate->listener, SECCOMP_IOCTL_NOTIF_RECV,
			     gate_place(s.gate, slot))) {
			if (errno != EINTR && gate_deserted(s.gate, 0))
				_exit(0);
			if (errno != EINTR && errno != ENOENT)
				usleep(1000);
			memset(gate_place(s.gate, slot), 0, s.gate->stride);
		}
		atomic_fetch_add(&s.busy, 1);
		received(slot);
		atomic_fetch_add(&s.looked, 1);
		atomic_fetch_sub(&s.busy, 1);
	}
	return NULL;
}

static unsigned start_receivers(unsigned count)
{
	unsigned started = 0;

	while (started < count && start(receiver, NULL))
		started++;
	return started;
}

static void *looker(void *unused)
{
	(void)unused;
	for (;;) {
		usleep(BEAT_MS * 1000);
		count_mapped(mapped_moved_all());
	}
	return NULL;
}

/* All receivers have looked at the same calls since the last beat. */
static bool is_stuck(unsigned receivers)
{
	static uint64_t last;
	uint64_t looked = atomic_load(&s.looked);
	bool stuck = looked == last && atomic_load(&s.busy) == receivers;

	last = looked;
	return stuck;
}

/* What the keeper let go before this process was there. */
static void count_past(struct gate_shared *shared)
{
	count_unseen(atomic_exchange(&shared->past, 0));
}

/* The keeper has been killed: then this process starts another one. */
static pid_t start_keeper(struct gate *g)
{
	pid_t supervisor = getpid(), pid = fork();

	if (pid == 0)
		gate_keep(g, supervisor);
	return pid;
}

static void clear(void)
{
	/* The keeper may be a child of a supervisor. */
	memset(&s, 0, sizeof(s));
	pthread_mutex_init(&s.slots, NULL);
	pthread_mutex_init(&s.lock, NULL);
	for (unsigned part = 0; part < TURN_PARTS; part++) {
		pthread_cond_init(&s.data[part].filled, NULL);
		pthread_cond_init(&s.operations[part].filled, NULL);
	}
	for (unsigned slot = GATE_SLOTS; slot-- > 0;)
		s.slot[s.slots_free++] = slot;
	mapped_start();
	gate_mounts_start();
}

_Noreturn void gate_serve(struct gate *g, pid_t keeper)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned first = cpus > 0 && cpus < RECEIVERS ? (unsigned)cpus : RECEIVERS, receivers;
	pid_t child = 0;

	clear();
	s.gate = g;
	account_start();
	count_past(g->shared);
	receivers = start_receivers(first);
	if (!receivers)
		_exit(1); /* the keeper lets calls go */
	start(looker, NULL);
	while (!gate_deserted(g, BEAT_MS)) {
		atomic_fetch_add(&g->shared->beats, 1);
		if (is_stuck(receivers))
			receivers += start_receivers(receivers < MOST ? receivers : 0);
		if (child > 0 ? waitpid(child, NULL, WNOHANG) == child : getppid() != keeper)
			child = start_keeper(g);
	}
	_exit(0);
}
