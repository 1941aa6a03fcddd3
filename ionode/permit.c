/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permits: I/O that a client does itself when the scheduler says that it is its turn.
 *
 * For a large transfer through the page cache the two copies, into the segment and out of it,
 * cost more than everything else the node does. On the same machine the client has the same open
 * file, so nothing is gained by them: it asks, waits for its turn, does the I/O and says so
 * (wire/shm.h). All stages decide over it as over any request; only merging is lost, and a
 * large request needs none. Files opened with O_DIRECT or O_SYNC are not for this: there the node's
 * queue depth and merging count.
 *
 * A permit is in flight until the client has reported, as a batch is until its system call
 * returns. At most two for each CPU are abroad at once: one that is carried out and one whose
 * client is being woken. A client that is stopped, or slow, keeps others
 * waiting for EXPIRE_NS at most: then its permits do not count any longer, nor those that it gets
 * before it is heard of again. It may still use them: calls that overlap in time have no order
 * among them.
 *
 * A client need not report at once when nothing waits. The time it was done is in the report, so
 * latencies are right all the same.
 */
#include "ionode/permit.h"

#include "ionode/trace.h"

#define EXPIRE_NS INT64_C(500000000)

bool node_permits(const struct node *n)
{
	return !n->config->copy_all && !n->config->device.bps[SL_READ];
}

static struct node_io *oldest(const struct node *n)
{
	return sl_list_empty(&n->abroad) ? NULL
					 : sl_container(n->abroad.next, struct node_io, link);
}

void permit_give(struct node *n, const struct sl_batch *b, sl_time now)
{
	struct node_io *io = (struct node_io *)b->first;

	io->abroad = true;
	io->batch = b;
	io->since = now;
	sl_list_push_back(&n->abroad, &io->link);
	n->abroad_count++;
	node_tell(n, io->client, io->slot, io->leader, SL_SLOT_GO);
	if (io->client->mute)
		node_permit_end(n, io, 0, now);
}

void node_permit_end(struct node *n, struct node_io *io, int64_t result, sl_time ended)
{
	sl_time now = node_now();

	io->abroad = false;
	sl_list_remove(&io->link);
	n->abroad_count--;
	/* The client's word. */
	io->result = result < 0 ? 0 : result > (int64_t)io->req.length ? 0 : result;
	if (ended > io->since && ended < now)
		io->req.arrival += now - ended; /* its latency ended then */
	node_finish(n, io->batch);
}

void permit_expire(struct node *n, sl_time now)
{
	struct node_io *io;

	while (n->waiting && (io = oldest(n)) && now - io->since >= EXPIRE_NS) {
		io->client->mute = true;
		node_permit_end(n, io, 0, now);
	}
}

bool permit_full(const struct node *n)
{
	return n->abroad_count >= (n->config->window ? n->config->window : 2 * n->workers);
}

sl_time permit_wake(const struct node *n)
{
	const struct node_io *io = n->waiting ? oldest(n) : NULL;

	return io ? io->since + EXPIRE_NS : SL_NEVER;
}

/*
 * Something waits, perhaps for a permit to end: from now on clients ring when they are done. True
 * if that is news: a client may have looked just before, so the node has to look once more.
 */
bool permit_hungry(struct node *n)
{
	uint32_t want = n->waiting && n->abroad_count;

	if (atomic_load_explicit(&n->bells->hungry, memory_order_relaxed) == want)
		return false;
	atomic_store(&n->bells->hungry, want);
	atomic_thread_fence(memory_order_seq_cst); /* before the next look at the bells */
	return want;
}
