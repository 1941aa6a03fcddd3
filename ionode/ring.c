/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous execution: many batches in flight with no thread each.
 *
 * For the page cache a plain pwritev by the worker is fastest; for O_DIRECT and O_SYNC files the
 * device decides how long it takes, and several at once keep it busy. The worker that decides
 * submits; one thread waits for completions, finishes them, and lets the workers decide again. How
 * many may be in flight is the window's business.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ionode/node.h"
#include "ionode/ring.h"

struct flight {
	const struct sl_batch *batch; /* NULL: free */
	struct iovec iov[IOV_MAX];
};

struct ring {
	struct io_uring uring;
	struct flight flight[WINDOW_MAX];
	pthread_t thread;
};

bool ring_wants(const struct node *n, const struct sl_batch *b)
{
	const struct node_io *io = (const struct node_io *)b->first;

	return n->ring && io->file->flags && !(io->flags & SL_SLOT_APPEND) && node_one_file(b);
}

void ring_submit(struct node *n, const struct sl_batch *b)
{
	const struct node_io *first = (const struct node_io *)b->first;
	struct ring *ring = n->ring;
	struct flight *f = ring->flight;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);
	unsigned count = 0;

	while (f->batch)
		f++;
	f->batch = b;
	for (struct sl_request *r = b->first; r; r = r->next)
		f->iov[count++] = (struct iovec){ ((struct node_io *)r)->data, (size_t)r->length };
	if (b->op == SL_WRITE)
		io_uring_prep_writev(sqe, first->file->fd, f->iov, count, first->offset);
	else
		io_uring_prep_readv(sqe, first->file->fd, f->iov, count, first->offset);
	io_uring_sqe_set_data(sqe, f);
	n->flying++;
	io_uring_submit(&ring->uring);
}

/* One completion, seen at `now`; false: ring_stop(). */
static bool ring_complete(struct node *n, struct io_uring_cqe *cqe, sl_time now)
{
	struct flight *f = io_uring_cqe_get_data(cqe);
	int result = cqe->res;

	io_uring_cqe_seen(&n->ring->uring, cqe);
	if (!f)
		return false;
	node_settle(f->batch, result);
	pthread_mutex_lock(&n->lock);
	n->flying--;
	window_measure(&n->window, f->batch->length, n->flying, now);
	node_finish(n, f->batch);
	f->batch = NULL;
	node_unlock(n);
	return true;
}

/*
 * Those that are there at one look have one time, and are followed by one decision: how long this
 * thread takes to finish them is not the device's time.
 */
static void *ring_main(void *arg)
{
	struct node *n = arg;
	struct io_uring *uring = &n->ring->uring;

	for (;;) {
		struct io_uring_cqe *cqe;
		int rc = io_uring_wait_cqe(uring, &cqe);
		sl_time now = node_now();

		if (rc == -EINTR)
			continue;
		if (rc)
			return NULL;
		for (unsigned ready = io_uring_cq_ready(uring); ready; ready--)
			if (io_uring_peek_cqe(uring, &cqe) || !ring_complete(n, cqe, now))
				return NULL;
		node_go_on(n, NULL);
	}
}

int ring_start(struct node *n)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	int rc;

	if (!ring)
		return -ENOMEM;
	rc = io_uring_queue_init(WINDOW_MAX * 2, &ring->uring, 0);
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

/* Nothing is in flight any more. */
void ring_stop(struct node *n)
{
	struct io_uring_sqe *sqe;

	if (!n->ring)
		return;
	sqe = io_uring_get_sqe(&n->ring->uring);
	io_uring_prep_nop(sqe);
	io_uring_sqe_set_data(sqe, NULL);
	io_uring_submit(&n->ring->uring);
	pthread_join(n->ring->thread, NULL);
	io_uring_queue_exit(&n->ring->uring);
	free(n->ring);
	n->ring = NULL;
}
