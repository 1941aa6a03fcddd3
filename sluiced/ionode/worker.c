/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data path of a node: collect, decide, execute, answer.
 *
 * A worker is bound to its CPU, and clients ring the bell of the CPU they run on. When the
 * client yields after posting, the worker runs next on that CPU, does the I/O and yields back:
 * two switches and no wake-up of another CPU, which is what keeps small requests fast and works
 * when the other CPUs are busy. Before it sleeps a worker yields for SPIN_NS, since the next
 * request of a synchronous client follows within microseconds. It stops early in two cases. If a
 * yield takes long, other threads want this CPU, and sched_yield() requeues the worker behind them.
 * If a yield returns at once, no thread wants this CPU, or one of another scheduling group does,
 * which runs only when the worker sleeps.
 *
 * Before it decides, a worker also collects what was posted to workers that are executing: the
 * scheduler should know everything that waits.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "sluiced/ionode/link.h"
#include "sluiced/ionode/stuck.h"
#include "sluiced/ionode/scheduler.h"
#include "sluiced/ionode/turn.h"

#define QUICK_NS	1500	/* a yield that is faster: nobody else has run */
#define CROWDED_NS	1000000 /* one that takes longer: others want this CPU, not clients */
#define CROWDED_NAPS	200
#define SPIN_NS		50000
#define SLOW_NS		100000 /* a batch that takes longer: others should not wait for it */
#define SLOWNESS_STEP	4      /* for a batch that took longer; one that did not: -1 */
#define SLOWNESS_MAX	32
#define SLOWNESS_HIGH	12
#define DEVICE_AHEAD_NS 200000		    /* in which a worker wakes up and gets it there */
#define APPEND_OFFSET	(UINT64_C(1) << 62) /* all appends of a file overlap: arrival order */

struct worker {
	struct node *node;
	struct sl_bell *bell;
	uint32_t index;
	int cpu;	  /* that it is bound to; -1: none */
	uint32_t crowded; /* naps to come that do not yield first */
};

sl_time node_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (sl_time)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void futex_wake(_Atomic uint32_t *word, int count, uint32_t bits)
{
	syscall(SYS_futex, word, FUTEX_WAKE_BITSET, count, NULL, NULL, bits);
}

static void bell_ring(struct sl_bell *bell)
{
	atomic_fetch_add(&bell->rings, 1);
	futex_wake(&bell->rings, 1, UINT32_MAX);
}

/*
 * Those that do not sleep are either executing, and will decide again, or have just decided that
 * there is nothing to do, and find before they sleep that their `rings` is not what it was.
 */
void node_wake_one(struct node *n)
{
	for (uint32_t w = 0; w < n->crew; w++) {
		struct sl_bell *bell = &n->bells->bell[w];

		atomic_fetch_add(&bell->rings, 1);
		/* Clear `sleeping` now, so that the next caller wakes a different worker. */
		if (atomic_load(&bell->sleeping) && atomic_exchange(&bell->sleeping, 0)) {
			futex_wake(&bell->rings, 1, UINT32_MAX);
			return;
		}
	}
}

void node_wake_all(struct node *n)
{
	for (uint32_t w = 0; w < n->crew; w++)
		bell_ring(&n->bells->bell[w]);
}

/* ---- answering clients on this machine; the lock is held ---- */

void node_tell(struct node *n, struct client *c, uint32_t slot, uint32_t leader, uint32_t state)
{
	struct sl_slot_shm *lead = &c->segment->slot[leader];

	atomic_store_explicit(&c->segment->slot[slot].state, state, memory_order_release);
	atomic_fetch_add(&lead->signal, 1);
	if (!atomic_load(&lead->waiting))
		return;
	node_wake_later(n, &lead->signal, 1, UINT32_MAX);
}

void node_wake_later(struct node *n, _Atomic uint32_t *word, int count, uint32_t bits)
{
	if (n->wake_count == NODE_WAKES) {
		futex_wake(word, count, bits);
		return;
	}
	n->wake[n->wake_count].word = word;
	n->wake[n->wake_count].count = count;
	n->wake[n->wake_count++].bits = bits;
}

void node_wakes_now(struct node *n)
{
	for (uint32_t i = 0; i < n->wake_count; i++)
		futex_wake(n->wake[i].word, n->wake[i].count, n->wake[i].bits);
	n->wake_count = 0;
}

/* The memory of a client that has just gone may be unmapped by now: then nobody is woken. */
void node_unlock(struct node *n)
{
	__typeof__(n->wake) wake;
	uint32_t count = n->wake_count;

	memcpy(wake, n->wake, count * sizeof(wake[0]));
	n->wake_count = 0;
	pthread_mutex_unlock(&n->lock);
	for (uint32_t i = 0; i < count; i++)
		futex_wake(wake[i].word, wake[i].count, wake[i].bits);
}

static void answer(struct node *n, struct client *c, uint32_t slot, uint32_t leader, int64_t result)
{
	c->segment->slot[slot].result = result;
	node_tell(n, c, slot, leader, SL_SLOT_DONE);
}

static void answer_io(struct node *n, struct node_io *io, int64_t result)
{
	answer(n, io->client, io->slot, io->leader, result);
}

void node_send_back(struct node *n, struct client *c)
{
	for (uint32_t i = 0; i < SL_SHM_SLOTS; i++) {
		struct node_io *io = &c->io[i];

		if (!io->req.state_ || node_cancel(n, io, node_now()))
			continue;
		client_file_put(n, io->file);
		c->busy--;
		c->transport->answer(n, io, -SL_COME_BACK);
	}
}

const struct node_transport node_shm = { .answer = answer_io };

/* ---- collecting; the lock is held ---- */

void node_entered(struct node *n, struct node_job *j, sl_time now)
{
	n->active += j->inside++ == 0;
	if (j->inside == 1 && (now - j->last_io > NODE_PAUSE_NS || !j->calls))
		link_event(n);
}

int node_take(struct node *n, struct client *c, const struct node_call *call, sl_time now)
{
	struct node_file *f = client_file(c, call->file);
	struct node_io *io = &c->io[call->slot];
	bool append = call->flags & SL_SLOT_APPEND;
	int rc;

	if (call->op > SL_WRITE || call->flags > SL_SLOT_APPEND ||
	    (append && call->op == SL_READ) || call->offset > INT64_MAX - call->length)
		return -EINVAL;
	if (!f || (call->op == SL_READ ? !f->reads : !f->writes))
		return -EBADF;
	io->client = c;
	io->job = c->job;
	io->file = f;
	io->slot = call->slot;
	io->leader = call->leader;
	io->flags = call->flags;
	io->offset = call->offset;
	io->data = call->data;
	io->req.job = c->job->number;
	io->req.client = c->pid;
	io->req.file = f->id;
	io->req.offset = append ? APPEND_OFFSET : call->offset;
	io->req.length = call->length;
	io->req.op = call->op;
	io->req.flags = f->flags | (append ? 1U << 30 : 0); /* only equal ones are merged */
	rc = node_add(n, io, now);
	if (rc)
		return rc == -ENOSPC ? -SL_COME_BACK : rc;
	f->busy++;
	c->busy++;
	node_entered(n, c->job, now);
	return 0;
}

/* What is in the slot is the client's word: copy it, then check it. */
static int64_t take_slot(struct node *n, struct client *c, uint32_t slot,
			 const struct sl_slot_shm *copy, sl_time now)
{
	const struct node_call call = { .file = copy->file,
					.offset = copy->offset,
					.length = copy->length,
					.op = copy->op,
					.flags = copy->flags,
					.slot = slot,
					.leader = copy->leader,
					.data = sl_slot_data(c->segment, slot) };

	if (!copy->length || copy->length > SL_SHM_SLOT_BYTES || copy->leader >= SL_SHM_SLOTS)
		return -EINVAL;
	return node_take(n, c, &call, now);
}

/*
 * Something has been posted, or done, or done and the next thing posted. The bit may be that of a
 * report, and the next request just being filled in: so the state comes first, then the rest that
 * it stands for. In another order, as a processor may choose, that would be the last request again.
 */
static void look_at_slot(struct node *n, struct client *c, uint32_t slot, sl_time now)
{
	const struct sl_slot_shm *shm = &c->segment->slot[slot];
	uint32_t state = atomic_load_explicit(&shm->state, memory_order_acquire);
	struct node_io *io = &c->io[slot];
	struct sl_slot_shm copy;
	int64_t rc;

	memcpy(&copy, shm, sizeof(copy));
	if (state != SL_SLOT_POSTED || io->req.state_ || n->leaving)
		return; /* posted twice: the first one will be answered; or it stays for the next
			   node */
	rc = take_slot(n, c, slot, &copy, now);
	if (rc)
		answer(n, c, slot, copy.leader % SL_SHM_SLOTS, rc);
}

static void collect_client(struct node *n, struct client *c, uint32_t worker, sl_time now)
{
	uint64_t posted = atomic_exchange(&c->segment->posted[worker], 0);

	for (; posted; posted &= posted - 1)
		if (__builtin_ctzll(posted) < SL_SHM_SLOTS)
			look_at_slot(n, c, (uint32_t)__builtin_ctzll(posted), now);
}

static bool bell_rung(struct node *n, uint32_t worker)
{
	uint32_t words = (atomic_load_explicit(&n->clients_high, memory_order_relaxed) + 63) / 64;

	for (uint32_t i = 0; i < words; i++)
		if (atomic_load_explicit(&n->bells->bell[worker].ready[i], memory_order_relaxed))
			return true;
	return false;
}

static void collect(struct node *n, uint32_t worker, sl_time now)
{
	uint32_t words = (atomic_load_explicit(&n->clients_high, memory_order_relaxed) + 63) / 64;
	struct sl_bell *bell = &n->bells->bell[worker];

	for (uint32_t i = 0; i < words; i++) {
		uint64_t ready;

		if (!atomic_load_explicit(&bell->ready[i], memory_order_relaxed))
			continue;
		for (ready = atomic_exchange(&bell->ready[i], 0); ready; ready &= ready - 1) {
			uint32_t index = i * 64 + (uint32_t)__builtin_ctzll(ready);
			struct client *c = atomic_load(&n->client[index]);

			if (c && !c->gone)
				collect_client(n, c, worker, now);
		}
	}
}

void node_collect(struct node *n, sl_time now)
{
	for (uint32_t w = 0; w < n->workers; w++)
		if (bell_rung(n, w))
			collect(n, w, now);
	turn_collect(n, now);
}

/* ---- deciding and executing ---- */

/* With a capacity: the time from which on the next batch may go. */
void node_pace(struct node *n, int64_t bytes, sl_time now)
{
	if (!n->passing)
		sl_pace_sent(&n->pace, bytes, now);
}

void node_draw(struct node *n, uint64_t bps, sl_time now)
{
	sl_pace_set(&n->pace, bps, now);
}

void node_finish(struct node *n, const struct sl_batch *b)
{
	struct sl_request *r = b->first, *next;
	sl_time now = node_now();

	node_done(n, b, now);
	n->executing--;
	for (; r; r = next) {
		struct node_io *io = (struct node_io *)r;
		struct client *c = io->client;

		next = r->next;
		if (io->result > 0)
			c->job->moved[r->op] += (uint64_t)io->result;
		c->job->calls++;
		client_file_put(n, io->file);
		n->active -= --c->job->inside == 0;
		if (!c->job->inside)
			c->job->last_io = now;
		c->transport->answer(n, io, io->result);
		if (--c->busy == 0 && c->gone)
			client_release(n, c);
	}
}

/* With a device model: the batch is not done before the model says so. */
static void wait_for_model(const struct node *n, sl_time until)
{
	struct timespec ts = { until / 1000000000, until % 1000000000 };

	if (n->config->device.bps[SL_READ])
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
			;
}

static sl_time model(struct node *n, const struct sl_batch *b, sl_time now)
{
	if (!n->config->device.bps[SL_READ])
		return 0;
	return sl_device_submit(&n->device, b->op, b->file, b->offset, b->length, now);
}

/*
 * A modelled device that does one thing after the other gets the next batch when it is about to be
 * free, as in the simulator. A second one would wait inside the device: order could not choose any
 * more, and nothing that comes meanwhile could be merged with it. *until: when that will be.
 */
static bool device_busy(const struct node *n, sl_time now, sl_time *until)
{
	const struct sl_device_model *m = &n->config->device;

	*until = n->device.free_at - DEVICE_AHEAD_NS;
	return m->bps[SL_READ] && m->depth <= 1 && *until > now && n->waiting != n->turns->waiting;
}

/* Nothing may be sent now, whatever waits; *wake: until when, if that is known. */
static bool held_back(struct node *n, sl_time now, sl_time *wake)
{
	sl_time until;

	if (ring_full(n) || turn_full(n))
		return true; /* the one that comes back goes on */
	if (device_busy(n, now, &until)) {
		*wake = until > n->pace.at ? until : n->pace.at;
		return true;
	}
	if (n->pace.at > now)
		*wake = n->pace.at;
	return n->pace.at > now;
}

/* Who executes. */
struct hand {
	struct sl_bell *bell; /* of a worker; NULL: it is none */
	uint32_t place;	      /* in n->busy */
	void (*back)(void);   /* when it has executed */
};

/* How often this thread has gone to sleep by itself. */
static long sleeps(void)
{
	struct rusage r;

	return getrusage(RUSAGE_THREAD, &r) ? 0 : r.ru_nvcsw;
}

/*
 * A thread of connections executes by itself while the file system is quick. A batch that took long
 * only because others had the CPU does not count: then the thread has not gone to sleep. That is
 * watched only after a slow batch, since it takes two system calls.
 */
static void note_slowness(struct node *n, bool watched, bool slept)
{
	if (n->slow && slept)
		n->slowness += n->slowness < SLOWNESS_MAX ? SLOWNESS_STEP : 0;
	else if (n->slowness && (watched || !n->slow))
		n->slowness--;
}

/*
 * Those that wait are for other workers, if there is reason to think that this one will block: the
 * batch before took long. Waking them for each batch would cost more than it takes to write it to
 * the page cache.
 */
static void execute(struct node *n, const struct sl_batch *b, const struct hand *h,
		    sl_time modelled, sl_time now)
{
	bool watched = n->slow, wake = watched && n->waiting, slept;
	long before = 0;

	if (stuck_park(n, b))
		return;
	stuck_begin(n, h->place, b, stuck_tid(), now);
	node_unlock(n);
	if (wake)
		node_wake_one(n);
	if (h->bell)
		atomic_store_explicit(&h->bell->executing, 1, memory_order_relaxed);
	if (watched)
		before = sleeps();
	node_execute(b);
	slept = watched && sleeps() != before;
	wait_for_model(n, modelled);
	if (h->bell)
		atomic_store_explicit(&h->bell->executing, 0, memory_order_relaxed);
	if (h->back)
		h->back();
	pthread_mutex_lock(&n->lock);
	stuck_end(n, h->place);
	n->slow = node_now() - now > SLOW_NS;
	note_slowness(n, watched, slept);
	node_finish(n, b);
}

/* What has been decided but would block the thread that waits for the ring. */
static void hand_over(struct node *n, const struct sl_batch *b)
{
	n->handed = b;
	node_unlock(n);
	node_wake_one(n);
	pthread_mutex_lock(&n->lock);
}

/* Lock held, but not all the time. */
static void begin(struct node *n, const struct sl_batch *b, const struct hand *h, sl_time now)
{
	sl_time modelled;

	n->executing++;
	node_pace(n, (int64_t)b->length, now);
	modelled = model(n, b, now);
	if (turn_is((const struct node_io *)b->first)) {
		turn_dispatched(n, b, modelled, now);
	} else if (!ring_wants(n, b) || !ring_submit(n, b)) {
		if (h)
			execute(n, b, h, modelled, now);
		else
			hand_over(n, b);
	}
}

sl_time node_go_on(struct node *n, struct sl_bell *bell, bool turns)
{
	sl_time now = node_now(), wake = SL_NEVER, due = SL_NEVER, ops;
	const struct hand hand = { bell, bell ? (uint32_t)(bell - n->bells->bell) : 0, NULL };

	pthread_mutex_lock(&n->lock);
	for (;;) {
		const struct sl_batch *b = n->handed;

		if (b && !bell)
			break; /* one is enough: a worker is on its way */
		if (b) {
			n->handed = NULL;
			execute(n, b, &hand, 0, now);
		}
		while (bell && !sl_list_empty(&n->parked) && (b = stuck_next(n)))
			execute(n, b, &hand, 0, node_now());
		node_collect(n, now);
		due = turn_due(n, now);
		b = NULL;
		if (atomic_load_explicit(&n->stop, memory_order_relaxed))
			break;
		wake = SL_NEVER;
		if (!held_back(n, now, &wake))
			b = node_next(n, now, &wake);
		if (!b)
			break;
		begin(n, b, bell ? &hand : NULL, now);
		now = node_now();
	}
	if (!turns && n->waiting == n->turns->waiting)
		wake = SL_NEVER; /* the thread of turns will look */
	if (turns && turn_wake(n, now) < wake)
		wake = turn_wake(n, now);
	ops = ops_go_on(n, now);
	wake = ops < wake ? ops : wake;
	node_unlock(n);
	return turns && due < wake ? due : wake;
}

void node_go_here(struct node *n, uint32_t place, void (*back)(void))
{
	sl_time now = node_now(), wake = SL_NEVER;
	struct hand hand = { NULL, 0, back };
	const struct sl_batch *b = NULL;
	bool rest;

	pthread_mutex_lock(&n->lock);
	if (n->slowness < SLOWNESS_HIGH && !n->handed && sl_list_empty(&n->parked) &&
	    !n->config->device.bps[SL_READ] && stuck_place(n, place, &hand.place) &&
	    !atomic_load_explicit(&n->stop, memory_order_relaxed) && !held_back(n, now, &wake))
		b = node_next(n, now, &wake);
	if (b)
		begin(n, b, &hand, now);
	rest = n->waiting != n->turns->waiting || n->handed;
	node_unlock(n);
	if (rest)
		node_wake_one(n);
}

/* Any client can write to the bells: should one have lost another's bit, it is set again here. */
static void look_again(struct worker *w)
{
	uint32_t high = atomic_load(&w->node->clients_high);

	pthread_mutex_lock(&w->node->lock);
	for (uint32_t i = 0; i < high; i++) {
		struct client *c = atomic_load(&w->node->client[i]);

		if (c && !c->gone && atomic_load(&c->segment->posted[w->index]))
			atomic_fetch_or(&w->bell->ready[i / 64], UINT64_C(1) << i % 64);
	}
	pthread_mutex_unlock(&w->node->lock);
}

/* `rings` is from before the decision that there is nothing to do until then. */
static void nap(struct worker *w, sl_time until, uint32_t rings)
{
	struct sl_bell *bell = w->bell;
	sl_time now = node_now(), end = now + SPIN_NS;
	struct timespec ts = { 1, 0 }; /* a bell that was lost costs a second, not a hang */
	bool alone = until == SL_NEVER && !atomic_load(&w->node->clients_high);

	do {
		sl_time before = now;

		if (bell_rung(w->node, w->index) || until <= now ||
		    atomic_load_explicit(&bell->rings, memory_order_relaxed) != rings)
			return;
		if (w->crowded) {
			w->crowded--;
			break;
		}
		sched_yield();
		now = node_now();
		if (now - before > CROWDED_NS)
			w->crowded = CROWDED_NAPS;
		else if (now - before < QUICK_NS)
			break;
	} while (now < end);
	if (until - now < 1000000000) {
		ts.tv_sec = 0;
		ts.tv_nsec = until > now ? (long)(until - now) : 0;
	}
	(void)atomic_exchange(&bell->sleeping, 1); /* before the last look */
	if (!bell_rung(w->node, w->index) && !atomic_load(&w->node->stop) &&
	    syscall(SYS_futex, &bell->rings, FUTEX_WAIT, rings, alone ? NULL : &ts, NULL, 0) &&
	    errno == ETIMEDOUT)
		look_again(w);
	atomic_store(&bell->sleeping, 0);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	if (w->cpu >= 0) {
		CPU_SET((size_t)w->cpu, &cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
	}
	while (!atomic_load_explicit(&w->node->stop, memory_order_relaxed)) {
		uint32_t rings = atomic_load(&w->bell->rings);

		nap(w, node_go_on(w->node, w->bell, false), rings);
	}
	return NULL;
}

uint32_t node_cpus(void)
{
	cpu_set_t cpus;
	int count = sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : CPU_COUNT(&cpus);

	return count < SL_SHM_WORKERS ? (uint32_t)count : SL_SHM_WORKERS;
}

static struct worker crew[SL_SHM_WORKERS];

/*
 * The first worker for the first CPU that the process may use, and so on; and clients on that CPU
 * are told to ring there. Those on other CPUs ring where they happen to.
 */
int node_workers_start(struct node *n, pthread_t *threads)
{
	cpu_set_t cpus;
	int cpu = -1;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		CPU_ZERO(&cpus);
	sl_list_init(&n->parked);
	n->crew = n->workers;
	for (uint32_t i = 0; i < SL_SHM_CPUS; i++)
		n->bells->worker[i] = (uint8_t)(i % n->workers);
	for (uint32_t i = 0; i < n->workers; i++) {
		int rc;

		do
			cpu++;
		while (cpu < SL_SHM_CPUS && !CPU_ISSET((size_t)cpu, &cpus));
		if (cpu < SL_SHM_CPUS)
			n->bells->worker[cpu] = (uint8_t)i;
		crew[i] = (struct worker){ n, &n->bells->bell[i], i, cpu < SL_SHM_CPUS ? cpu : -1,
					   0 };
		rc = pthread_create(&threads[i], NULL, worker_main, &crew[i]);
		if (rc)
			return -rc;
	}
	return 0;
}

/* In the place of those that are stuck: bound to no CPU, and nobody rings there. */
void node_workers_tick(struct node *n)
{
	uint32_t more = stuck_tick(n);

	if (more)
		log_warn("%u workers do not come back from a file or file system; %u more are "
			 "started",
			 n->stuck, more);
	while (more--) {
		uint32_t i = n->crew;
		pthread_t thread;

		crew[i] = (struct worker){ n, &n->bells->bell[i], i, -1, 0 };
		if (pthread_create(&thread, NULL, worker_main, &crew[i]))
			return;
		pthread_detach(thread);
		n->crew = i + 1;
	}
}
