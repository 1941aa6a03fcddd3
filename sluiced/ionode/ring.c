/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous execution: many batches in flight with no thread each.
 *
 * For the page cache a plain pwritev by the worker is fastest; for O_DIRECT and O_SYNC files the
 * device decides how long it takes, and several at once keep it busy. The worker that decides
 * submits. One thread waits for completions, finishes them, and decides what is next, like a
 * worker, except that it passes batches that would block it to a worker. The window limits the
 * number in flight.
 *
 * If the node is killed, operations in flight here continue, unlike system calls, which end before
 * the process does. So a write could reach the device after its client has seen that the node is
 * gone and has written newer data. To prevent this, the sockets of clients with operations in the
 * ring are registered with it: the kernel closes them only when all operations have completed, so
 * the client does not see the end before.
 *
 * The submission queue has a lock of its own: io_uring_submit() takes as long as the device driver
 * does, and others should be able to decide meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"
#include "sluiced/ionode/fence.h"
#include "sluiced/ionode/ring.h"
#include "sluiced/ionode/stuck.h"

#define PLACES 8192 /* clients, here and over TCP */

struct flight {
	/* NULL: free. Atomic since who waits for the ring takes it without the node's lock. */
	const struct sl_batch *_Atomic batch;
	struct iovec iov[IOV_MAX];
};

struct ring {
	struct io_uring uring;
	pthread_mutex_t lock; /* over the submission queue; the node's is not held meanwhile */
	struct flight flight[WINDOW_MAX];
	pthread_t thread;
	bool over;
	uint32_t places, free_places; /* for sockets */
	uint32_t place[PLACES];	      /* the free ones */
};

bool ring_wants(const struct node *n, const struct sl_batch *b)
{
	const struct node_io *io = (const struct node_io *)b->first;

	return n->ring && io->file->flags & (O_DIRECT | O_SYNC | O_DSYNC) &&
	       !(io->flags & SL_SLOT_APPEND) && node_one_file(b) && n->flying < WINDOW_MAX &&
	       !stuck_congested(n, b);
}

bool ring_full(const struct node *n)
{
	return n->flying - n->flying_stuck >= n->window.limit;
}

/* The batch of this flight has begun, or has come back. The lock is held. */
static void began(struct node *n, struct flight *f, const struct sl_batch *b)
{
	f->batch = b;
	n->flying++;
	stuck_begin(n, NODE_HANDS + (uint32_t)(f - n->ring->flight), b, 0, node_now());
}

static void came_back(struct node *n, struct flight *f)
{
	f->batch = NULL;
	n->flying--;
	n->flying_stuck -= stuck_end(n, NODE_HANDS + (uint32_t)(f - n->ring->flight));
}

/*
 * Submit the queue to the kernel. An operation that the kernel does not accept is turned into a
 * no-op, so that it is not executed later.
 */
static int enter(struct ring *ring, struct io_uring_sqe *sqe)
{
	int rc;

	do
		rc = io_uring_submit(&ring->uring);
	while (rc == -EINTR);
	if (!io_uring_sq_ready(&ring->uring))
		return 0;
	io_uring_prep_nop(sqe);
	io_uring_sqe_set_data(sqe, NULL);
	return rc < 0 ? rc : -EBUSY;
}

/* The lock of the ring is held. */
static int hold(struct ring *ring, struct client *c)
{
	uint32_t place;
	int rc;

	if (c->place)
		return 0;
	if (!ring->free_places)
		return -ENFILE;
	place = ring->place[--ring->free_places];
	rc = io_uring_register_files_update(&ring->uring, place, &c->sock, 1);
	if (rc == 1) {
		c->place = place + 1;
		return 0;
	}
	ring->place[ring->free_places++] = place;
	return rc < 0 ? rc : -ENFILE;
}

void ring_forget(struct node *n, struct client *c)
{
	struct ring *ring = n->ring;
	int none = -1;

	if (!ring || !c->place)
		return;
	pthread_mutex_lock(&ring->lock);
	if (!ring->over &&
	    io_uring_register_files_update(&ring->uring, c->place - 1, &none, 1) == 1)
		ring->place[ring->free_places++] = c->place - 1;
	c->place = 0;
	pthread_mutex_unlock(&ring->lock);
}

static int hold_all(struct ring *ring, const struct sl_batch *b)
{
	int rc = 0;

	for (struct sl_request *r = b->first; r && !rc; r = r->next)
		rc = hold(ring, ((struct node_io *)r)->client);
	return rc;
}

/* A free entry of the queue; NULL: it is full of operations that the kernel has not accepted. */
static struct io_uring_sqe *entry(struct ring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);

	if (!sqe && io_uring_submit(&ring->uring) > 0)
		sqe = io_uring_get_sqe(&ring->uring);
	return sqe;
}

static int start(struct ring *ring, struct flight *f, const struct sl_batch *b)
{
	const struct node_io *first = (const struct node_io *)b->first;
	struct io_uring_sqe *sqe = NULL;
	unsigned count = 0;
	int rc, entered;
	bool far;

	for (struct sl_request *r = b->first; r; r = r->next)
		f->iov[count++] = (struct iovec){ ((struct node_io *)r)->data, (size_t)r->length };
	pthread_mutex_lock(&ring->lock);
	rc = hold_all(ring, b);
	if (!rc && !(sqe = entry(ring)))
		rc = -EBUSY;
	if (sqe) {
		if (b->op == SL_WRITE)
			io_uring_prep_writev(sqe, first->file->fd, f->iov, count, first->offset);
		else
			io_uring_prep_readv(sqe, first->file->fd, f->iov, count, first->offset);
		io_uring_sqe_set_data(sqe, f);
		if (!major(first->file->dev)) /* FUSE and others may block us, and the lock */
			sqe->flags |= IOSQE_ASYNC;
		far = node_batch_far(b);
		if (far)
			fence_enter();
		if (!node_batch_holds(b)) {
			io_uring_prep_nop(sqe);
			io_uring_sqe_set_data(sqe, NULL);
			rc = -ECANCELED; /* each by itself, or none */
		}
		entered = enter(ring, sqe);
		rc = entered ? entered : rc;
		if (far)
			fence_leave();
	}
	pthread_mutex_unlock(&ring->lock);
	return rc;
}

bool ring_submit(struct node *n, const struct sl_batch *b)
{
	struct flight *f = n->ring->flight;
	int rc;

	while (f->batch)
		f++;
	began(n, f, b);
	node_unlock(n);
	rc = start(n->ring, f, b);
	pthread_mutex_lock(&n->lock);
	if (!rc)
		return true;
	log_debug("io_uring: %s", strerror(-rc));
	came_back(n, f);
	return false;
}

/* One completion, seen at `now`. */
static void complete(struct node *n, struct io_uring_cqe *cqe, sl_time now)
{
	struct flight *f = io_uring_cqe_get_data(cqe);
	const struct sl_batch *b;
	int result = cqe->res;
	bool parked;

	io_uring_cqe_seen(&n->ring->uring, cqe);
	if (!f)
		return; /* a no-op */
	b = f->batch;
	node_settle(b, result);
	pthread_mutex_lock(&n->lock);
	came_back(n, f);
	window_measure(&n->window, b->length, n->flying - n->flying_stuck, now);
	node_finish(n, b);
	parked = !sl_list_empty(&n->parked);
	node_unlock(n);
	if (parked)
		node_wake_one(n); /* for a worker */
}

/* The time until then, as the kernel wants it; NULL: as long as it takes. */
static struct __kernel_timespec *timeout(sl_time until, struct __kernel_timespec *ts)
{
	sl_time left = until - node_now();

	if (until == SL_NEVER)
		return NULL;
	left = left < 0 ? 0 : left;
	*ts = (struct __kernel_timespec){ left / 1000000000, left % 1000000000 };
	return ts;
}

static bool over(struct node *n)
{
	bool flies;

	if (!atomic_load(&n->stop))
		return false;
	pthread_mutex_lock(&n->lock);
	flies = n->flying;
	pthread_mutex_unlock(&n->lock);
	return !flies;
}

/*
 * Completions found together get the same time stamp and are followed by one decision: the time
 * that this thread needs to finish them is not device time.
 */
static void *ring_main(void *arg)
{
	struct node *n = arg;
	struct io_uring *uring = &n->ring->uring;
	sl_time wake = SL_NEVER;

	while (!over(n)) {
		struct __kernel_timespec ts;
		struct io_uring_cqe *cqe;
		int rc = io_uring_wait_cqe_timeout(uring, &cqe, timeout(wake, &ts));
		sl_time now = node_now();

		if (rc && rc != -EINTR && rc != -ETIME && rc != -EAGAIN) {
			log_error("io_uring: %s", strerror(-rc));
			abort(); /* what is in flight will never be answered */
		}
		for (unsigned ready = io_uring_cq_ready(uring); ready; ready--)
			if (!io_uring_peek_cqe(uring, &cqe))
				complete(n, cqe, now);
		wake = node_go_on(n, NULL, false);
	}
	return NULL;
}

/*
 * The kernel's threads for what cannot be submitted without blocking: as many as there are flights,
 * so that those that are stuck leave some to others. As a rule it has four for each CPU.
 */
static void make_hands(struct ring *ring)
{
	unsigned most[2] = { WINDOW_MAX, 0 };

	if (io_uring_register_iowq_max_workers(&ring->uring, most))
		log_debug("io_uring: no more threads");
}

/* Not more than the limit on descriptors, which the kernel checks. */
static int make_places(struct ring *ring)
{
	static int none[PLACES];
	struct rlimit l = { PLACES, PLACES };
	int rc;

	getrlimit(RLIMIT_NOFILE, &l);
	ring->places = l.rlim_cur < PLACES ? (uint32_t)l.rlim_cur : PLACES;
	for (uint32_t i = 0; i < ring->places; i++) {
		ring->place[i] = ring->places - 1 - i;
		none[i] = -1;
	}
	rc = io_uring_register_files(&ring->uring, none, ring->places);
	ring->free_places = rc ? 0 : ring->places;
	return rc;
}

int ring_start(struct node *n)
{
	struct ring *ring;
	int rc;

	if (n->config->device.bps[SL_READ])
		return 0; /* a device model is simulated in the worker */
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	pthread_mutex_init(&ring->lock, NULL);
	rc = io_uring_queue_init(WINDOW_MAX * 2, &ring->uring, 0);
	if (!rc) {
		/* Without the feature it would need the queue to wait for a time. */
		rc = ring->uring.features & IORING_FEAT_EXT_ARG ? make_places(ring) : -ENOSYS;
		if (rc)
			io_uring_queue_exit(&ring->uring);
		else
			make_hands(ring);
	}
	if (rc) {
		log_warn("io_uring is not to be had (%s): files with O_DIRECT get one batch per "
			 "worker",
			 strerror(-rc));
		free(ring);
		return 0;
	}
	n->ring = ring;
	return -pthread_create(&ring->thread, NULL, ring_main, n);
}

void ring_stop(struct node *n)
{
	struct ring *ring = n->ring;
	struct io_uring_sqe *sqe;

	if (!ring)
		return;
	pthread_mutex_lock(&ring->lock);
	while (!(sqe = entry(ring)))
		usleep(1000);
	do {
		io_uring_prep_nop(sqe);
		io_uring_sqe_set_data(sqe, NULL);
	} while (enter(ring, sqe) && !usleep(1000));
	pthread_mutex_unlock(&ring->lock);
	pthread_join(ring->thread, NULL);
	pthread_mutex_lock(&ring->lock); /* of those who close, one may be in ring_forget() */
	ring->over = true;
	io_uring_unregister_files(&ring->uring);
	io_uring_queue_exit(&ring->uring);
	pthread_mutex_unlock(&ring->lock);
}
