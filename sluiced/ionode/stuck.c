/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Isolation: a file whose server does not answer, or a frozen file system, may block a worker for
 * ever. These rules protect other files:
 *
 *	Workers grow. A worker that has been in one batch for STUCK_NS, and is blocked there, is
 *	stuck. For each of these another one is started, so that as many as there are CPUs are
 *	free; up to SL_SHM_WORKERS. A worker that is runnable only waits for a CPU.
 *
 *	A stuck file gets no further workers. A batch of a file that has FILE_LIMIT stuck workers,
 *	or of a file system that has SYSTEM_LIMIT, is parked: it stays dispatched, and is executed
 *	when one of those workers comes back.
 *
 *	The ring (ring.c). A batch that has been in it for RING_STUCK_NS counts for both limits, and
 *	not for the window any more, so that other files still have all of it.
 *
 * Example: 2 CPUs, one hung file to which 30 requests are sent. Two workers get stuck. A second
 * later two more are started; they find 28 requests of the hung file, park them, and serve all
 * others. When the file answers, the parked ones follow, two at a time.
 *
 * Threads of connections over TCP that execute (tcp.c) count for the limits, and are replaced
 * there. Workers that were started stay. A modelled device is slow on purpose and does not count.
 */
#include "sluiced/ionode/stuck.h"

#include <unistd.h>

#include "base/thread.h"

#define STUCK_NS      INT64_C(1000000000)
#define RING_STUCK_NS INT64_C(5000000000) /* a full window of a slow disk is not stuck */
#define FILE_LIMIT    2
#define SYSTEM_LIMIT  16

static const struct node_file *file_of(const struct sl_batch *b)
{
	return ((const struct node_io *)b->first)->file;
}

bool stuck_place(const struct node *n, uint32_t wanted, uint32_t *place)
{
	for (*place = SL_SHM_WORKERS + wanted; *place < NODE_HANDS; ++*place)
		if (!n->busy[*place].batch)
			return true;
	return false;
}

pid_t stuck_tid(void)
{
	static _Thread_local pid_t tid;

	if (!tid)
		tid = gettid();
	return tid;
}

void stuck_begin(struct node *n, uint32_t place, const struct sl_batch *b, pid_t tid, sl_time now)
{
	n->busy[place].batch = b;
	n->busy[place].since = now;
	n->busy[place].tid = tid;
}

bool stuck_end(struct node *n, uint32_t place)
{
	bool was = n->busy[place].stuck;

	n->busy[place].batch = NULL;
	n->busy[place].stuck = false;
	n->stuck -= was;
	return was;
}

bool stuck_congested(const struct node *n, const struct sl_batch *b)
{
	unsigned files = 0, systems = 0;

	for (uint32_t i = 0; n->stuck && i < NODE_BUSY; i++) {
		const struct node_file *f;

		if (!n->busy[i].stuck)
			continue;
		f = file_of(n->busy[i].batch);
		files += f->id == file_of(b)->id;
		systems += f->dev == file_of(b)->dev;
	}
	return files >= FILE_LIMIT || systems >= SYSTEM_LIMIT;
}

bool stuck_park(struct node *n, const struct sl_batch *b)
{
	struct node_io *first = (struct node_io *)b->first;

	if (!n->stuck || !stuck_congested(n, b))
		return false;
	first->batch = b;
	sl_list_push_back(&n->parked, &first->link);
	return true;
}

const struct sl_batch *stuck_next(struct node *n)
{
	for (struct sl_list *l = n->parked.next; l != &n->parked; l = l->next) {
		struct node_io *first = sl_container(l, struct node_io, link);

		if (stuck_congested(n, first->batch))
			continue;
		sl_list_remove(l);
		return first->batch;
	}
	return NULL;
}

bool stuck_thread(pid_t tid, sl_time since, sl_time now)
{
	return now - since > STUCK_NS && sl_thread_blocked(tid);
}

/* The lock is held, but not all the time. */
static bool is_stuck(struct node *n, uint32_t i, sl_time now)
{
	const struct sl_batch *b = n->busy[i].batch;
	sl_time since = n->busy[i].since;
	bool blocked;

	if (!b || n->busy[i].stuck)
		return b;
	if (!n->busy[i].tid)
		return now - since > RING_STUCK_NS;
	if (now - since <= STUCK_NS)
		return false;
	node_unlock(n); /* the kernel may take its time to tell */
	blocked = stuck_thread(n->busy[i].tid, since, now);
	pthread_mutex_lock(&n->lock);
	return blocked && n->busy[i].batch == b && n->busy[i].since == since;
}

uint32_t stuck_tick(struct node *n)
{
	sl_time now = node_now();
	uint32_t free = n->crew, more = 0;

	if (n->config->device.bps[SL_READ])
		return 0;
	pthread_mutex_lock(&n->lock);
	for (uint32_t i = 0; i < NODE_BUSY; i++) {
		if (!is_stuck(n, i, now))
			continue;
		if (!n->busy[i].stuck) {
			n->busy[i].stuck = true;
			n->stuck++;
			n->flying_stuck += i >= NODE_HANDS;
		}
		free -= i < n->crew;
	}
	if (free < n->workers)
		more = n->workers - free;
	if (more > SL_SHM_WORKERS - n->crew)
		more = SL_SHM_WORKERS - n->crew;
	node_unlock(n);
	return more;
}
