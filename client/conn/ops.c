/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pay for operations: meters here, credit in turn.c. wire/ops.h explains both.
 *
 * Nothing here returns an error or allocates. A wait for a meter always ends, because the tag is a
 * time. If the node changes a limit, waiters continue at once, and the next call is charged by the
 * new limit.
 */
#include "client/conn/ops.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client/conn/settings.h"

#define SAMPLE	 16 /* one call in this many is timed */
#define RING_NS	 INT64_C(25000000)
#define COST_MAX (INT64_C(86400000000000) * SL_METER_TICKS)

static __thread uint8_t sampled __attribute__((tls_model("initial-exec")));

int64_t ops_sample(uint32_t ops)
{
	int saved = errno;
	bool skip = !(ops & SL_OPS_ALL) && sampled++ % SAMPLE;
	int64_t now = skip || turn_sealed() ? 0 : turn_now_ns();

	errno = saved;
	return now;
}

/* Charge a meter; returns the time at which the charge is paid. */
static int64_t charge(struct sl_turn_meter *m, uint64_t units, int64_t now)
{
	uint64_t step = atomic_load_explicit(&m->step, memory_order_relaxed);
	int64_t least = (now - SL_METER_BURST_NS) * SL_METER_TICKS, tag, next, cost;
	unsigned __int128 wide;

	if (!step)
		return 0;
	wide = ((unsigned __int128)units * step) >> 26; /* 2^-32 ns to 2^-6 ns */
	cost = wide < (unsigned __int128)COST_MAX ? (int64_t)wide : COST_MAX;
	tag = atomic_load_explicit(&m->tag, memory_order_relaxed);
	do
		next = (tag > least ? tag : least) + cost;
	while (!atomic_compare_exchange_weak(&m->tag, &tag, next));
	return next / SL_METER_TICKS;
}

_Static_assert(SL_METER_TICKS == 64, "charge() shifts by 26");

/* The limit may be shared with other jobs: the node is to see that this one waits for it. */
static void tell(const struct sl_turn_job *job, int64_t now)
{
	static _Atomic int64_t told;

	if (!(atomic_load_explicit(&job->ops, memory_order_relaxed) & SL_OPS_JOINT) ||
	    now - atomic_load_explicit(&told, memory_order_relaxed) < RING_NS)
		return;
	atomic_store_explicit(&told, now, memory_order_relaxed);
	turn_ring(job);
}

/* Sleep until then, or until the limits change. */
static void wait_until(struct sl_turn_job *job, uint32_t limits, int64_t until)
{
	struct timespec ts = { until / 1000000000, until % 1000000000 };
	int64_t begin = turn_now_ns(), now = begin;

	if (now < until)
		tell(job, now);
	while (now < until && atomic_load(&job->operations.limits) == limits) {
		if (syscall(SYS_futex, &job->operations.limits, FUTEX_WAIT_BITSET, limits, &ts,
			    NULL, FUTEX_BITSET_MATCH_ANY) &&
		    errno != EINTR && errno != ETIMEDOUT && errno != EAGAIN)
			break; /* a process that cannot wait continues */
		now = turn_now_ns();
	}
	if (now > begin)
		atomic_fetch_add(&job->operations.held_ns, (uint64_t)(now - begin));
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Charge the meters of an operation; the time at which all are paid off. */
static int64_t charge_operation(struct sl_turn_job *job, enum sl_class which)
{
	struct sl_turn_meter *meter = job->operations.meter;
	int64_t now = turn_now_ns();

	return later(charge(&job->operations.found, 1, now),
		     later(charge(&meter[which], 1, now), charge(&meter[SL_METER_OPS], 1, now)));
}

static void timed(struct sl_turn_job *job, enum sl_class which, uint64_t ns)
{
	uint64_t most =
		atomic_load_explicit(&job->operations.timed[which].most_ns, memory_order_relaxed);

	atomic_fetch_add(&job->operations.timed[which].ns, most && ns > most ? most : ns);
	atomic_fetch_add(&job->operations.timed[which].calls, 1);
}

/* Of credit for operations of a class. */
static unsigned queue_of(uint32_t ops, enum sl_class which)
{
	return ops & (uint32_t)SL_OPS_OWN << which ? which : SL_METER_OPS;
}

void ops_pay(enum sl_class which, int64_t since_ns)
{
	const struct settings *s = client_settings();
	int saved = errno;
	struct sl_turn_job *job;
	uint32_t ops, limits;
	uint64_t number;

	/* A forwarded program makes its metadata calls itself. Over TCP it has no segment. */
	job = s->enabled && !s->gated && !s->tcp ? turn_attach() : NULL;
	if (!job) {
		errno = saved;
		return;
	}
	account_operation(job, which);
	ops = atomic_load(&job->ops);
	if (since_ns && ops & SL_OPS_TIMED)
		timed(job, which, (uint64_t)(turn_now_ns() - since_ns));
	if (ops & SL_OPS_METERED && !turn_sealed()) {
		limits = atomic_load(&job->operations.limits);
		wait_until(job, limits, charge_operation(job, which));
	}
	if (ops & SL_OPS_LEASED && !turn_operation(job, queue_of(ops, which), &number))
		turn_operation_wait(job, queue_of(ops, which), number);
	errno = saved;
}

bool ops_begin_other(struct ops_other *o, enum sl_class which)
{
	struct sl_turn_job *job = turn_attach();
	uint32_t ops;
	bool may = true;

	*o = (struct ops_other){ .job = job };
	if (!job)
		return true;
	account_operation(job, which);
	ops = atomic_load(&job->ops);
	o->limits = atomic_load(&job->operations.limits);
	if (ops & SL_OPS_METERED) {
		o->until_ns = charge_operation(job, which);
		may = o->until_ns <= turn_now_ns();
	}
	o->queue = (uint8_t)queue_of(ops, which);
	if (ops & SL_OPS_LEASED && !turn_operation(job, o->queue, &o->number)) {
		o->leased = true;
		may = false;
	}
	return may;
}

void ops_wait_other(const struct ops_other *o)
{
	wait_until(o->job, o->limits, o->until_ns);
	if (o->leased)
		turn_operation_wait(o->job, o->queue, o->number);
}

static enum sl_meter meter_of(enum sl_op op)
{
	return op == SL_READ ? SL_METER_READ : SL_METER_WRITE;
}

void ops_moved(struct sl_turn_job *job, enum sl_op op, uint64_t bytes, bool wait)
{
	struct sl_turn_meter *meter = job->operations.meter;
	uint32_t limits = atomic_load(&job->operations.limits);
	int64_t now = turn_now_ns(), until;

	until = later(charge(&meter[SL_METER_IOPS], 1, now),
		      charge(&meter[meter_of(op)], bytes, now));
	if (wait)
		wait_until(job, limits, until);
}

/* When a meter is paid off; 0: no limit. */
static int64_t paid_off(const struct sl_turn_meter *m)
{
	return atomic_load(&m->step) ? atomic_load(&m->tag) / SL_METER_TICKS : 0;
}

bool ops_may_move(struct sl_turn_job *job, enum sl_op op, bool wait)
{
	const struct sl_turn_meter *meter = job->operations.meter;
	uint32_t limits = atomic_load(&job->operations.limits);
	int64_t until = later(paid_off(&meter[SL_METER_IOPS]), paid_off(&meter[meter_of(op)]));

	if (until <= turn_now_ns())
		return true;
	if (wait)
		wait_until(job, limits, until);
	return wait;
}
