/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Isolation: a file whose server does not answer, or a file system that is frozen, keeps the
 * worker that executes a request of it, for as long as it likes. So that nobody else notices:
 *
 *	Workers grow. A worker that has been in one batch for STUCK_NS is stuck. For each of these
 *another one is started, so that as many as there are CPUs are free; up to SL_SHM_WORKERS.
 *
 *	What is stuck gets no more of them. A batch of a file that has FILE_LIMIT stuck workers, or
 *of a file system that has SYSTEM_LIMIT, is parked: it stays dispatched, and goes when one of those
 *comes back.
 *
 * Example: 2 CPUs, one hung file to which 30 requests are sent. Two workers get stuck. A second
 * later two more are started; they find 28 requests of the hung file, park them, and serve all
 *others. When the file answers, the parked ones follow, two at a time.
 *
 * Workers that were started stay. A modelled device is slow on purpose and does not count.
 */
#include "sluiced/ionode/stuck.h"

#define STUCK_NS     INT64_C(1000000000)
#define FILE_LIMIT   2
#define SYSTEM_LIMIT 16

static const struct node_file *file_of(const struct sl_batch *b)
{
	return ((const struct node_io *)b->first)->file;
}

void stuck_begin(struct node *n, uint32_t worker, const struct sl_batch *b, sl_time now)
{
	n->busy[worker].batch = b;
	n->busy[worker].since = now;
}

void stuck_end(struct node *n, uint32_t worker)
{
	n->busy[worker].batch = NULL;
	n->stuck -= n->busy[worker].stuck;
	n->busy[worker].stuck = false;
}

static bool is_congested(const struct node *n, const struct sl_batch *b)
{
	unsigned files = 0, systems = 0;

	for (uint32_t i = 0; n->stuck && i < n->crew; i++) {
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

	if (!n->stuck || !is_congested(n, b))
		return false;
	first->batch = b;
	sl_list_push_back(&n->parked, &first->link);
	return true;
}

const struct sl_batch *stuck_next(struct node *n)
{
	for (struct sl_list *l = n->parked.next; l != &n->parked; l = l->next) {
		struct node_io *first = sl_container(l, struct node_io, link);

		if (is_congested(n, first->batch))
			continue;
		sl_list_remove(l);
		return first->batch;
	}
	return NULL;
}

uint32_t stuck_tick(struct node *n)
{
	sl_time now = node_now();
	uint32_t free, more = 0;

	if (n->config->device.bps[SL_READ])
		return 0;
	pthread_mutex_lock(&n->lock);
	for (uint32_t i = 0; i < n->crew; i++) {
		bool stuck = n->busy[i].batch && now - n->busy[i].since > STUCK_NS;

		n->stuck += stuck && !n->busy[i].stuck;
		n->busy[i].stuck |= stuck;
	}
	free = n->crew - n->stuck;
	if (free < n->workers)
		more = n->workers - free;
	if (more > SL_SHM_WORKERS - n->crew)
		more = SL_SHM_WORKERS - n->crew;
	node_unlock(n);
	return more;
}
