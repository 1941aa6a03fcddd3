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
 * Leases (wire/shm.h) are permits that are not over when a call is. While something waits, one that
 * is not in use at the moment is taken back at once, and one that is after LEASE_NS; at once, too,
 * if it was given because it was calm, which it is no more.
 *
 * Everything in shared memory can change under the node's hands, and what it says is not true
 * because it was so a moment ago. So what the node has done (revoked, hungry) it knows by itself,
 * and nothing it reads there decides about more than a client's own bytes and a wait of EXPIRE_NS.
 *
 * While there is one job alone there is nothing to decide, and no bound on its permits. When it has
 * been so for CALM_NS, and the job has no limit of any kind, the node is *calm*: then all programs
 * use leases for what goes through the page cache, as in gate mode, and hardly a call costs a
 * message. The bells say which job that is; others have no leases for it. The first request of
 * another job ends that: leases that are not in use are taken back at once, as soon as anything has
 * to wait for them. So does a limit that is set: what was leased without one would have to be paid
 * for.
 *
 *	0 ms      job a: asks for each transfer
 *	50 ms     calm: asks for 64 KiB, 128 KiB, … 4 MiB
 *	1000 ms   job b: not calm. a's leases are used up or taken back; both ask for each transfer
 *	1300 ms   b's last request                1350 ms   calm
 *
 * A client need not report at once when nothing waits. The time it was done is in the report, so
 * latencies are right all the same.
 */
#include "ionode/permit.h"

#include "ionode/trace.h"

#define EXPIRE_NS INT64_C(500000000)
#define LEASE_NS  INT64_C(5000000) /* that a lease in use is left alone while others wait */
#define CALM_NS	  INT64_C(50000000)
#define MANY	  1024U

bool node_permits(const struct node *n)
{
	return !n->config->copy_all && !n->config->device.bps[SL_READ];
}

static struct node_io *oldest(const struct node *n)
{
	return sl_list_empty(&n->abroad) ? NULL
					 : sl_container(n->abroad.next, struct node_io, link);
}

static bool is_lease(const struct node_io *io)
{
	return io->flags & SL_SLOT_ANY && io->slot == SL_SHM_LEASE_SLOT;
}

static struct sl_lease *lease_of(const struct node_io *io)
{
	return &io->client->segment->lease;
}

/* What the call that asked for it leaves of a lease. */
static uint64_t left_of(const struct node_io *io)
{
	uint64_t left = io->req.length > io->offset ? io->req.length - io->offset : 0;

	return left < SL_LEASE_LEFT_MAX ? left : SL_LEASE_LEFT_MAX;
}

/* It is not waited for any longer; what its client says of it in the end still counts. */
static void give_up(struct node *n, struct node_io *io, sl_time now)
{
	io->late = true; /* first: that may be the end of its client */
	node_permit_end(n, io, 0, now);
}

void permit_give(struct node *n, const struct sl_batch *b, sl_time now)
{
	struct node_io *io = (struct node_io *)b->first;

	io->abroad = true;
	io->batch = b;
	io->since = now;
	io->revoked = io->late = false;
	io->seen = UINT64_MAX;
	sl_list_push_back(&n->abroad, &io->link);
	n->abroad_count++;
	if (is_lease(io)) {
		atomic_store(&lease_of(io)->other, 0);
		io->counted[SL_READ] = io->counted[SL_WRITE] = 0;
		io->calls = 0;
		atomic_store(&lease_of(io)->word, SL_LEASE_USER | left_of(io) << SL_LEASE_LEFT);
	}
	node_tell(n, io->client, io->slot, io->leader, SL_SLOT_GO);
	if (io->client->mute || io->client->gone)
		give_up(n, io, now);
}

/* Whether somebody wants permits to end. */
static bool wanted(const struct node *n)
{
	return n->waiting || n->leaving;
}

static uint64_t used(const struct node_io *io, uint32_t op)
{
	const struct sl_lease *lease = lease_of(io);
	uint64_t bytes = op == io->req.op ? atomic_load(&lease->word) & SL_LEASE_MOVED
					  : atomic_load(&lease->other);

	return bytes > io->req.length ? 0 : bytes;
}

/* The client's word, so it need not have grown. */
static void account(struct node_io *io)
{
	struct node_job *j = io->client->job;
	uint32_t calls =
		(uint32_t)((atomic_load(&lease_of(io)->word) & SL_LEASE_CALLS) / SL_LEASE_CALL);

	for (uint32_t op = SL_READ; op <= SL_WRITE; op++) {
		uint64_t now = used(io, op);

		j->moved[op] += now > io->counted[op] ? now - io->counted[op] : 0;
		io->counted[op] = now > io->counted[op] ? now : io->counted[op];
	}
	j->unasked += calls > io->calls ? calls - io->calls : 0;
	io->calls = calls > io->calls ? calls : io->calls;
}

void permit_account(struct node *n)
{
	for (struct sl_list *l = n->abroad.next; l != &n->abroad; l = l->next) {
		struct node_io *io = sl_container(l, struct node_io, link);

		if (is_lease(io))
			account(io);
	}
}

void node_permit_end(struct node *n, struct node_io *io, int64_t result, sl_time ended)
{
	sl_time now = node_now();

	io->abroad = false;
	sl_list_remove(&io->link);
	n->abroad_count--;
	if (is_lease(io)) {
		atomic_fetch_or(&lease_of(io)->word, SL_LEASE_REVOKED);
		account(io);
		result = 0;	       /* it is counted */
		ended = io->since + 1; /* what counts is how long it was waited for */
	}
	/* The client's word. */
	io->result = result < 0 || result > (int64_t)io->req.length ? 0 : result;
	if (ended > io->since && ended < now)
		io->req.arrival += now - ended; /* its latency ended then */
	node_finish(n, io->batch);
}

void permit_late(struct node_io *io, int64_t result)
{
	if (is_lease(io))
		account(io);
	else if (result > 0 && result <= (int64_t)io->req.length)
		io->client->job->moved[io->req.op] += (uint64_t)result;
	io->late = false;
}

void permit_expire(struct node *n, sl_time now)
{
	struct node_io *io;

	while (wanted(n) && (io = oldest(n)) && now - io->since >= EXPIRE_NS) {
		io->client->mute = true;
		give_up(n, io, now);
	}
}

static bool idle(const struct node_io *io)
{
	return !(atomic_load(&lease_of(io)->word) & (SL_LEASE_REVOKED | SL_LEASE_USERS));
}

/* True: it is over. Else its last call reports, or has done so just now. */
static bool revoke(struct node *n, struct node_io *io, sl_time now)
{
	uint64_t was = atomic_fetch_or(&lease_of(io)->word, SL_LEASE_REVOKED);

	io->revoked = true;
	if (was & (SL_LEASE_REVOKED | SL_LEASE_USERS))
		return false;
	node_permit_end(n, io, 0, now);
	return true;
}

bool permit_reclaim(struct node *n, sl_time now)
{
	bool some = false;

	if (!wanted(n))
		return false;
	for (struct sl_list *l = n->abroad.next, *next; l != &n->abroad; l = next) {
		struct node_io *io = sl_container(l, struct node_io, link);

		next = l->next;
		if (is_lease(io) && !io->revoked &&
		    (now - io->since >= LEASE_NS || idle(io) ||
		     (io->flags & SL_SLOT_CALM && !n->calm)))
			some |= revoke(n, io, now);
	}
	return some;
}

void permit_return(struct node *n, struct client *c, sl_time now)
{
	struct node_io *io = &c->io[SL_SHM_LEASE_SLOT];

	if (c->segment && io->abroad && is_lease(io) && !io->revoked)
		revoke(n, io, now);
}

void permit_tick(struct node *n, sl_time now)
{
	permit_account(n);
	for (struct sl_list *l = n->abroad.next, *next; l != &n->abroad; l = next) {
		struct node_io *io = sl_container(l, struct node_io, link);
		uint64_t seen;

		next = l->next;
		if (!is_lease(io) || io->revoked)
			continue;
		seen = used(io, SL_READ) + used(io, SL_WRITE);
		if (seen == io->seen)
			revoke(n, io, now);
		io->seen = seen;
	}
}

/* Nothing that the job could do would have to wait, and nobody wants to see each transfer. */
static bool unbounded(const struct node *n, const struct node_job *j, sl_time now)
{
	return node_permits(n) && !n->config->ask_always && !n->config->window &&
	       !n->capacity_bps && !n->trace && !j->asked.max_bps && now >= j->granted_until;
}

/* Any client can write to the bells: so it is they that are compared. */
static void say_calm(struct node *n, const struct node_job *j)
{
	uint32_t whose = j ? sl_calm_job(j->number) : 0;

	n->calm = j != NULL;
	if (atomic_load_explicit(&n->bells->calm, memory_order_relaxed) != whose)
		atomic_store(&n->bells->calm, whose);
}

void permit_calm(struct node *n, const struct node_job *j, sl_time now)
{
	if (n->last_job != j->number) {
		n->last_job = j->number;
		n->alone_since = now;
	}
	say_calm(n, now - n->alone_since >= CALM_NS && n->active <= 1 && unbounded(n, j, now)
			    ? j
			    : NULL);
}

void permit_limits(struct node *n, sl_time now)
{
	const struct node_job *j = n->calm ? node_job_find(n, n->last_job) : NULL;

	if (!j || unbounded(n, j, now))
		return;
	say_calm(n, NULL);
	for (struct sl_list *l = n->abroad.next, *next; l != &n->abroad; l = next) {
		struct node_io *io = sl_container(l, struct node_io, link);

		next = l->next;
		if (is_lease(io) && !io->revoked && io->client->job == j)
			revoke(n, io, now);
	}
}

bool permit_full(const struct node *n)
{
	uint32_t limit = n->config->window ? n->config->window : 2 * n->workers;

	return n->abroad_count >= (n->active > 1 || n->config->window ? limit : MANY);
}

sl_time permit_wake(const struct node *n)
{
	sl_time wake = SL_NEVER;

	for (struct sl_list *l = n->abroad.next; n->waiting && l != &n->abroad; l = l->next) {
		const struct node_io *io = sl_container(l, struct node_io, link);
		sl_time when = io->since + EXPIRE_NS;

		if (is_lease(io) && !io->revoked)
			when = io->since + LEASE_NS;
		wake = when < wake ? when : wake;
	}
	return wake;
}

/*
 * Something waits, perhaps for a permit to end: from now on clients ring when they are done. True
 * if that is news: a client may have looked just before, so the node has to look once more.
 */
bool permit_hungry(struct node *n)
{
	bool want = n->waiting && n->abroad_count, news = want && !n->hungry;

	n->hungry = want;
	if (atomic_load_explicit(&n->bells->hungry, memory_order_relaxed) == want)
		return news;
	(void)atomic_exchange(&n->bells->hungry, want); /* before the next look at the bells */
	return news;
}
