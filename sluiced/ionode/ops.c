/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of jobs: a second scheduler, whose requests are leases of operations instead of bytes.
 *
 * With a given capacity (storm.h has the one that is found) each job that makes operations has a
 * request in it, of a *lease*: what the capacity is in a millisecond. Admit, share and a pacer
 * decide as for bytes (turn.c). A job that has used credit lately keeps its request in there
 * without asking, until LEASES are unused; credit that is unused for IDLE_NS is taken back.
 *
 *	capacity 5000/s: leases of 5. a (weight 4) and b (weight 1) make operations all the time:
 *	a: 5, a: 5, a: 5, a: 5, b: 5, …   4000/s and 1000/s
 *
 * Limits (max) need no scheduler: the node writes the time of one unit into the segment, and
 * programs keep it. A class with a min or a weight of its own is a job of its own in this
 * scheduler. Of a job with processes at several nodes, each has its part of the limit, as the
 * controller orders it; and each node has its part of the capacity, with a rate for each job
 * (sluiced/controller/operations.c).
 */
#include "sluiced/ionode/ops.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sluiced/ionode/joint.h"
#include "sluiced/ionode/pass.h"
#include "sluiced/ionode/rules.h"
#include "sluiced/ionode/storm.h"
#include "sluiced/ionode/turn.h"
#include "sched/spec.h"
#include "wire/report.h"

#define OPS_LEASE_NS  INT64_C(1000000)
#define LEASES	      10
#define LEASE_MOST    UINT64_C(100000)
#define GIVEN_MOST    256 /* most leases while the lock is held */
#define HOLD_NS	      INT64_C(20000000)
#define IDLE_NS	      INT64_C(100000000)
#define ACTIVE_NS     INT64_C(1000000000)
#define PACE_SLACK_NS INT64_C(10000000)
#define OWED_MOST     (86400e9 * SL_METER_TICKS) /* a day */
#define OWE_TRIES     64
#define CLASSES_MOST  1024 /* queues of classes: a user may have many jobs, and each has five */

struct ops {
	struct sl_sched *sched;
	uint64_t capacity; /* as given; 0: none */
	bool find;	   /* it is found */
	uint64_t draw;	   /* in force; 0: no limit */
	sl_time pace;	   /* no lease is given before this time */
	uint64_t carry;	   /* of the division behind it */
	uint64_t serial;
	uint32_t waiting; /* leases in the scheduler */
	uint32_t classes; /* queues of classes there */
	struct storm *storm;
};

/* ---- pacing ---- */

static void pace(struct ops *o, int64_t count, sl_time now)
{
	unsigned __int128 cost;

	if (!o->draw)
		return;
	if (count < 0) {
		uint64_t back = 0 - (uint64_t)count;

		o->pace -= (sl_time)(back * 1000000000 / o->draw);
		return;
	}
	if (o->pace < now - PACE_SLACK_NS)
		o->pace = now - PACE_SLACK_NS;
	cost = (unsigned __int128)count * 1000000000 + o->carry;
	o->pace += (sl_time)(cost / o->draw);
	o->carry = (uint64_t)(cost % o->draw);
}

static uint64_t lease_of(const struct ops *o)
{
	uint64_t count = (uint64_t)((unsigned __int128)o->draw * OPS_LEASE_NS / 1000000000);

	return count < 1 ? 1 : count < LEASE_MOST ? count : LEASE_MOST;
}

/* ---- leases ---- */

/*
 * Each queue is a job of this scheduler; the common one has the job's own number. Numbers of jobs
 * are often small and consecutive (those of Slurm), so the others differ in the highest bits.
 */
static uint64_t number_of(const struct node_job *j, unsigned q)
{
	return q == SL_METER_OPS ? j->number : j->number ^ (uint64_t)(q + 1) << 60;
}

static void drop(struct ops *o, struct ops_queue *queue, sl_time now)
{
	if (queue->lease.state_ && sl_cancel(o->sched, &queue->lease, now) == 0)
		o->waiting--;
}

/* The job's unused credit as its programs report it, limited to plausible values. */
static int64_t credit_of(const struct ops *o, const struct sl_turn_credit *shm)
{
	int64_t credit = (int64_t)(atomic_load(&shm->granted) - atomic_load(&shm->used));
	int64_t most = (int64_t)(2 * LEASES * lease_of(o));

	return credit < most ? credit : most;
}

static bool look(struct node *n, struct node_turn *t, unsigned q, sl_time now)
{
	struct sl_turn_credit *shm = &t->shm->operations.credit[q];
	struct ops_queue *queue = &t->job->ops.queue[q];
	struct ops *o = n->ops;
	uint64_t lease, used;
	int64_t credit;
	bool asked;

	if (!queue->known) /* the segment is its user's: it may lie */
		return false;
	asked = atomic_load_explicit(&shm->asked, memory_order_relaxed) &&
		atomic_exchange(&shm->asked, 0);
	used = atomic_load_explicit(&shm->used, memory_order_relaxed);
	credit = credit_of(o, shm);
	if (asked || used != queue->used)
		queue->used_ns = now;
	queue->used = used;
	queue->lent = credit < queue->lent ? (credit > 0 ? credit : 0) : queue->lent;
	if (credit >= 0 && now - queue->used_ns >= HOLD_NS) {
		drop(o, queue, now);
		if (now - queue->used_ns < IDLE_NS)
			return true;
		atomic_fetch_sub(&shm->granted, (uint64_t)credit);
		pace(o, -queue->lent, now); /* not for credit that a program has written itself */
		queue->lent = 0;
		return false;
	}
	lease = lease_of(o);
	if (queue->lease.state_ || credit >= (int64_t)(LEASES * lease))
		return true;
	queue->lease = (struct sl_request){ .job = number_of(t->job, q),
					    .file = SL_NO_FILE + o->serial++ % UINT32_MAX,
					    .length = lease,
					    .op = SL_WRITE,
					    .user = t };
	if (sl_add(o->sched, &queue->lease, now) == 0)
		o->waiting++;
	return true;
}

static bool is_active(const struct ops_queue *queue, sl_time now)
{
	return queue->known && queue->used_ns && now - queue->used_ns < ACTIVE_NS;
}

/* A queue that becomes active or idle changes the parts of the job's other queues. */
static void note_active(struct node *n, struct node_job *j, sl_time now)
{
	bool changed = false;

	for (unsigned q = 0; q < SL_QUEUES; q++) {
		struct ops_queue *queue = &j->ops.queue[q];
		bool active = is_active(queue, now);

		changed |= active != queue->active;
		queue->active = active;
	}
	if (changed && j->ops.ordered)
		ops_job_apply(n, j, now);
}

bool ops_look(struct node *n, struct node_turn *t, sl_time now)
{
	bool again = false;

	if (!n->ops->draw || n->passing)
		return false;
	for (unsigned q = 0; q < SL_QUEUES; q++)
		again |= look(n, t, q, now);
	note_active(n, t->job, now);
	return again;
}

/* Wake those whose operations are covered now: numbers from..to-1. */
static void wake(struct node *n, struct sl_turn_credit *shm, uint64_t from, uint64_t to)
{
	uint32_t bits = 0;

	for (uint64_t i = from; i < to && i < from + 32; i++)
		bits |= SL_OPS_BIT(i);
	atomic_fetch_add(&shm->grants, 1);
	node_wake_later(n, &shm->grants, INT32_MAX, bits);
}

/* The queue of the job that the lease belongs to. */
static unsigned queue_of(const struct node_ops *jo, const struct sl_request *lease)
{
	unsigned q = 0;

	while (q < SL_METER_OPS && lease != &jo->queue[q].lease)
		q++;
	return q;
}

static void give(struct node *n, const struct sl_batch *b, sl_time now)
{
	struct node_turn *t = b->first->user;
	unsigned q = queue_of(&t->job->ops, b->first);
	struct sl_turn_credit *shm = &t->shm->operations.credit[q];
	uint64_t count = b->length, granted, used;

	pace(n->ops, (int64_t)count, now);
	sl_done(n->ops->sched, b, now);
	t->job->ops.queue[q].lent += (int64_t)count;
	granted = atomic_fetch_add(&shm->granted, count);
	used = atomic_load(&shm->used);
	if (used > granted)
		wake(n, shm, granted, granted + count < used ? granted + count : used);
	turn_activate(n, t);
	look(n, t, q, now);
}

/* ---- the capacity ---- */

static void set_draw(struct node *n, uint64_t draw, sl_time now)
{
	struct ops *o = n->ops;
	bool changed = !draw != !o->draw;

	if (draw == o->draw)
		return;
	if (sl_capacity_set(o->sched, draw ? draw : o->find ? SL_MAX_OPS : 0, now))
		log_warn("capacity_ops=%llu: %s", (unsigned long long)draw, sl_error(o->sched));
	if (o->pace > now && draw && o->draw) /* debt is kept in operations */
		o->pace = now + (sl_time)((unsigned __int128)(o->pace - now) * o->draw / draw);
	if (!draw)
		o->pace = 0;
	o->draw = draw;
	o->carry = 0;
	for (struct node_job *j = n->jobs; changed && j; j = j->next)
		if (j->turn)
			ops_mode(n, j->turn, now);
}

sl_time ops_go_on(struct node *n, sl_time now)
{
	struct ops *o = n->ops;
	sl_time wake_ns = SL_NEVER, next;
	unsigned given = 0;

	if (o->find && !n->passing)
		wake_ns = storm_go_on(n, o->storm, now);
	next = joint_divide(n, now);
	wake_ns = next < wake_ns ? next : wake_ns;
	while (o->waiting) {
		const struct sl_batch *b;

		next = SL_NEVER;
		if (o->pace > now)
			return o->pace < wake_ns ? o->pace : wake_ns;
		b = sl_next(o->sched, now, &next);
		if (!b)
			return next < wake_ns ? next : wake_ns;
		o->waiting -= b->count;
		give(n, b, now);
		if (++given == GIVEN_MOST) /* others want the lock */
			return now;
	}
	return wake_ns;
}

bool ops_pacing(const struct node *n)
{
	return n->ops->draw;
}

/* ---- jobs ---- */

static uint64_t part_here(const struct node_job *j, unsigned meter, uint64_t whole)
{
	uint32_t share = meter <= SL_METER_OPS ? j->ops.share : j->share;

	return share ? sl_share_part(whole, share) : whole;
}

static uint32_t weight_of(const struct node *n, const struct node_job *j,
			  const struct sl_ops_conf *asked, unsigned q)
{
	uint64_t own = q < SL_CLASSES ? asked->weight[q] : 0, most = j->rights.weight;

	if (!own)
		return j->rights.weight;
	if (q < SL_CLASSES && j->given_ops.weight[q] > most)
		most = j->given_ops.weight[q];
	return (uint32_t)(n->site && own > most ? most : own);
}

/* Of a job and of its class without a weight of its own, 0 means 1. */
static uint64_t parts_of(uint32_t weight)
{
	return weight ? weight : 1;
}

/* What of the job's ordered rate is this queue's: by weights, among those in use. */
static uint64_t rate_of(const struct node *n, const struct node_job *j,
			const struct sl_ops_conf *asked, unsigned q)
{
	uint64_t rate = sl_rate_floor(j->ops.ordered), own, all = 0;

	for (unsigned i = 0; i < SL_QUEUES; i++)
		if (j->ops.queue[i].active || i == q)
			all += parts_of(weight_of(n, j, asked, i));
	own = parts_of(weight_of(n, j, asked, q));
	return own == all ? rate : (uint64_t)((unsigned __int128)rate * own / all);
}

static struct sl_job_conf conf_of(const struct node *n, const struct node_job *j,
				  const struct sl_ops_conf *asked, unsigned q)
{
	uint32_t nodes = n->config->layer_nodes ? n->config->layer_nodes : 1;
	uint64_t all = q == SL_METER_OPS ? rules_min_ops(n, j, asked->min[q]) : asked->min[q];
	uint64_t min = j->ops.share ? part_here(j, SL_METER_OPS, all) : all / nodes;
	uint64_t rate = rate_of(n, j, asked, q);

	return (struct sl_job_conf){
		.min_bps = n->ops->draw && rate > min ? rate : min,
		.weight = weight_of(n, j, asked, q),
		.user = (uint64_t)j->owner.uid + 1, /* 0 is not known */
		.account = j->owner.account[0] ? sl_job_number(j->owner.account) : 0,
		.user_weight = j->rights.user_weight,
		.account_weight = j->rights.account_weight,
		.nodes = j->nodes,
		.period_ns = j->asked.period_ns ? j->asked.period_ns : j->found_period_ns,
		.best_effort =
			n->ops->find || nodes > 1 || j->asked.best_effort || all > asked->min[q],
	};
}

static void forget(struct node *n, struct node_job *j, unsigned q, sl_time now)
{
	struct ops_queue *queue = &j->ops.queue[q];

	if (!queue->known)
		return;
	drop(n->ops, queue, now);
	sl_job_remove(n->ops->sched, number_of(j, q), now);
	queue->known = queue->active = false;
	n->ops->classes -= q < SL_CLASSES;
}

/* Tell the scheduler of a queue; 0 or -errno. */
static int tell(struct node *n, struct node_job *j, const struct sl_ops_conf *asked, unsigned q,
		sl_time now)
{
	struct sl_job_conf conf = conf_of(n, j, asked, q);
	struct ops_queue *queue = &j->ops.queue[q];
	int rc;

	if (q < SL_CLASSES && !sl_ops_own(asked, q)) {
		forget(n, j, q, now);
		return 0;
	}
	/* There is room for the common queue of every job. */
	if (!queue->known && q < SL_CLASSES && n->ops->classes == CLASSES_MOST)
		return -ENOSPC;
	rc = queue->known ? sl_job_set(n->ops->sched, number_of(j, q), &conf, now)
			  : sl_job_add(n->ops->sched, number_of(j, q), &conf, now);
	n->ops->classes += q < SL_CLASSES && !queue->known && !rc;
	queue->known = queue->known || !rc;
	return rc;
}

static const char *why_not(const struct node *n, int rc)
{
	return rc == -EDQUOT   ? "a min of operations does not fit beside what other jobs were "
				 "promised"
	       : rc == -ENOSPC ? "too many classes of jobs have a min or a weight of their own"
			       : sl_error(n->ops->sched);
}

/*
 * Of all of its queues. Guarantees that get less than before come first, so that there is room for
 * the others.
 */
static int tell_all(struct node *n, struct node_job *j, const struct sl_ops_conf *before,
		    const struct sl_ops_conf *asked, sl_time now)
{
	int rc, first = 0;

	for (int pass = 0; pass < 2; pass++)
		for (unsigned q = 0; q < SL_QUEUES; q++)
			if ((asked->min[q] > before->min[q]) == pass &&
			    (rc = tell(n, j, asked, q, now)) && !first)
				first = rc;
	return first;
}

int ops_job_apply(struct node *n, struct node_job *j, sl_time now)
{
	int rc;

	if (!n->ops)
		return 0;
	rc = tell_all(n, j, &j->ops.asked, &j->ops.asked, now);
	if (rc)
		log_warn("job=%s operations: %s", j->name, why_not(n, rc));
	return rc;
}

static const char *nonsense(const struct node *n, const struct sl_ops_conf *conf)
{
	if (sl_ops_min(conf) && !n->ops->capacity && !n->ops->find)
		return "a min of operations needs a layer with a capacity of them: 'sluice up "
		       "--capacity-ops N'";
	for (unsigned q = 0; q < SL_QUEUES; q++)
		if (conf->max[q] && conf->min[q] > conf->max[q])
			return "a min of operations is above their max";
	return conf->max[SL_METER_OPS] && sl_ops_min(conf) > conf->max[SL_METER_OPS]
		       ? "all mins of operations together are above max_ops"
		       : NULL;
}

int ops_job_ask(struct node *n, struct node_job *j, const struct sl_ops_conf *conf, sl_time now,
		const char **why)
{
	int rc = 0;

	if ((*why = nonsense(n, conf)))
		return -EINVAL;
	if (j->ops.queue[SL_METER_OPS].known)
		do
			rc = tell_all(n, j, &j->ops.asked, conf, now);
		while (rc == -EDQUOT && node_release_mins(n, j));
	if (rc) {
		*why = why_not(n, rc);
		tell_all(n, j, conf, &j->ops.asked, now);
		return rc;
	}
	j->ops.asked = *conf;
	return 0;
}

void ops_job_forget(struct node *n, struct node_job *j, sl_time now)
{
	for (unsigned q = 0; q < SL_QUEUES; q++)
		forget(n, j, q, now);
}

/* ---- orders of the controller ---- */

uint64_t ops_min(const struct node *n, const struct node_job *j)
{
	struct sl_ops_conf conf = j->ops.asked;

	conf.min[SL_METER_OPS] = rules_min_ops(n, j, conf.min[SL_METER_OPS]);
	return sl_ops_min(&conf);
}

uint32_t ops_limits(const struct node *n, const struct node_job *j)
{
	uint32_t limits = ops_min(n, j) ? SL_LIMITS_OPS : 0;

	for (unsigned m = 0; m < SL_METERS; m++)
		if (rules_meter(n, j, m))
			limits |= m <= SL_METER_OPS ? SL_LIMITS_OPS : SL_LIMITS_CALLS;
	return limits;
}

bool ops_meters_calls(const struct node *n, const struct node_job *j)
{
	return ops_limits(n, j) & SL_LIMITS_CALLS || joint_here(j, SL_METER_IOPS) ||
	       joint_here(j, SL_METER_READ) || joint_here(j, SL_METER_WRITE);
}

bool ops_job_order(struct node *n, struct node_job *j, uint32_t share, uint64_t rate)
{
	uint64_t before = j->ops.ordered;

	rate = rate == UINT64_MAX || n->ops->find ? 0 : rate < SL_MAX_OPS ? rate : SL_MAX_OPS;
	share = ops_limits(n, j) & SL_LIMITS_OPS ? share : j->ops.share;
	if (share == j->ops.share && rate == before)
		return false;
	j->ops.share = share;
	j->ops.ordered = rate;
	return true;
}

void ops_draw(struct node *n, uint64_t draw, sl_time now)
{
	if (draw && n->ops->capacity && !n->ops->find)
		set_draw(n, draw < SL_MAX_OPS ? draw : SL_MAX_OPS, now);
}

void ops_orders_over(struct node *n, sl_time now)
{
	if (n->ops->find)
		return;
	set_draw(n, n->ops->capacity, now);
	for (struct node_job *j = n->jobs; j; j = j->next)
		if (j->ops.ordered) {
			j->ops.ordered = 0;
			ops_job_apply(n, j, now);
		}
}

uint32_t ops_weight(const struct node *n, const struct node_job *j, sl_time now)
{
	uint64_t weight = 0;

	for (unsigned q = 0; q < SL_QUEUES; q++)
		if (is_active(&j->ops.queue[q], now))
			weight += parts_of(weight_of(n, j, &j->ops.asked, q));
	return weight == parts_of(j->rights.weight) || weight > UINT32_MAX ? 0 : (uint32_t)weight;
}

uint64_t ops_of_layer(const struct node *n)
{
	uint64_t nodes = n->config->layer_nodes;

	return n->ops->find || nodes < 2 ? 0 : n->ops->capacity * nodes;
}

/* ---- modes ---- */

/*
 * What the job may make here: of its own limit, and of one that it shares. 0: as much as it likes.
 */
static uint64_t rate_here(const struct node *n, const struct node_job *j, unsigned meter)
{
	uint64_t own = part_here(j, meter, rules_meter(n, j, meter)), joint = joint_here(j, meter);

	if (n->passing)
		return 0;
	return joint && (!own || own > joint) ? joint : own;
}

/*
 * What is owed is owed in units: the tag that says until when goes with the step. Who waits goes,
 * and who comes after waits.
 */
static void owe(struct sl_turn_meter *m, uint64_t before, uint64_t step, sl_time now)
{
	int64_t zero = now * SL_METER_TICKS, tag = atomic_load(&m->tag), next;

	/* The program may write any number there, as often as it likes. */
	for (int tries = 0; tries < OWE_TRIES; tries++) {
		double owed = before && step && tag > zero
				      ? (double)(tag - zero) * (double)step / (double)before
				      : 0;

		next = owed > 0 ? zero + (int64_t)(owed < OWED_MOST ? owed : OWED_MOST) : 0;
		if (atomic_compare_exchange_strong(&m->tag, &tag, next))
			return;
	}
}

/* Set the rates of its meters; true: one of the operations' is limited. */
static bool set_meters(struct node *n, struct node_turn *t, sl_time now)
{
	struct sl_turn_ops *shm = &t->shm->operations;
	bool limited = false, changed = false;

	for (int m = 0; m < SL_METERS; m++) {
		uint64_t step = sl_meter_step(rate_here(n, t->job, (unsigned)m));
		uint64_t before = atomic_load_explicit(&shm->meter[m].step, memory_order_relaxed);

		limited |= step && m <= SL_METER_OPS;
		if (before == step)
			continue;
		atomic_store(&shm->meter[m].step, step);
		if (step && before && step / 2 < before && before / 2 < step)
			continue; /* the share changes with the job's location; debt stays */
		owe(&shm->meter[m], before, step, now);
		changed = true;
	}
	if (changed) {
		atomic_fetch_add(&shm->limits, 1);
		node_wake_later(n, &shm->limits, INT32_MAX, UINT32_MAX);
	}
	return limited;
}

static bool is_leased(uint32_t bits, unsigned q)
{
	return bits & SL_OPS_LEASED && (q == SL_METER_OPS || bits & (uint32_t)SL_OPS_OWN << q);
}

static void set_bits(struct node *n, struct node_turn *t, uint32_t bits, sl_time now)
{
	struct sl_turn_ops *shm = &t->shm->operations;
	uint32_t before = atomic_load(&t->shm->ops);

	if (bits == before)
		return;
	for (unsigned q = 0; q < SL_QUEUES; q++) {
		if (!is_leased(bits, q))
			drop(n->ops, &t->job->ops.queue[q], now);
		else if (!is_leased(before, q)) { /* nothing is owed, nothing is left */
			atomic_store(&shm->credit[q].granted, atomic_load(&shm->credit[q].used));
			t->job->ops.queue[q].lent = 0;
		}
	}
	atomic_store(&t->shm->ops, bits);
	for (unsigned q = 0; q < SL_QUEUES; q++) {
		if (!is_leased(before, q))
			continue; /* nobody waits for it */
		atomic_fetch_add(&shm->credit[q].grants, 1);
		node_wake_later(n, &shm->credit[q].grants, INT32_MAX, UINT32_MAX);
	}
}

void ops_mode(struct node *n, struct node_turn *t, sl_time now)
{
	uint32_t bits = 0;

	if (set_meters(n, t, now))
		bits |= SL_OPS_METERED;
	if (t->job->joint)
		bits |= SL_OPS_JOINT;
	if (n->ops->draw && t->job->ops.queue[SL_METER_OPS].known && !n->passing) {
		bits |= SL_OPS_LEASED;
		for (unsigned q = 0; q < SL_CLASSES; q++)
			bits |= t->job->ops.queue[q].known ? (uint32_t)SL_OPS_OWN << q : 0;
	}
	bits |= storm_mode(n, t, n->ops->find && !n->passing);
	set_bits(n, t, bits, now);
}

void ops_release(struct node *n, struct node_turn *t, sl_time now)
{
	struct sl_turn_ops *shm = &t->shm->operations;

	for (int m = 0; m < SL_METERS; m++)
		atomic_store(&shm->meter[m].step, 0);
	atomic_store(&shm->found.step, 0);
	atomic_fetch_add(&shm->limits, 1);
	node_wake_later(n, &shm->limits, INT32_MAX, UINT32_MAX);
	set_bits(n, t, 0, now);
}

/* ---- counts ---- */

uint64_t ops_sum(const uint64_t made[SL_CLASSES])
{
	uint64_t sum = 0;

	for (int c = 0; c < SL_CLASSES; c++)
		sum += made[c];
	return sum;
}

static void sum_counts(const struct sl_turn_job *shm, uint64_t made[SL_CLASSES])
{
	for (int c = 0; c < SL_CLASSES; c++)
		made[c] = atomic_load(&shm->operations.locked[c]);
	for (uint32_t i = 0; i < turn_cpus(); i++)
		for (int c = 0; c < SL_CLASSES; c++)
			made[c] += __atomic_load_n(&shm->ops_cpu[i].calls[c], __ATOMIC_RELAXED);
}

void ops_attach(struct node_turn *t)
{
	sum_counts(t->shm, t->job->ops.counted);
	storm_attach(t);
}

void ops_account(struct node *n, struct node_job *j, sl_time now)
{
	struct node_ops *jo = &j->ops;
	uint64_t made[SL_CLASSES];

	(void)n;
	sum_counts(j->turn->shm, made);
	for (int c = 0; c < SL_CLASSES; c++) {
		if (made[c] != jo->counted[c])
			j->last_io = now;
		jo->made[c] += made[c] - jo->counted[c]; /* a value written by the program */
		jo->counted[c] = made[c];
	}
}

void ops_rates(struct node_job *j, sl_time took_ns)
{
	for (int c = 0; c < SL_CLASSES; c++) {
		j->ops.rate[c] =
			(uint64_t)((unsigned __int128)(j->ops.made[c] - j->ops.rate_made[c]) *
				   1000000000 / (uint64_t)took_ns);
		j->ops.rate_made[c] = j->ops.made[c];
	}
}

/* ---- the layer ---- */

int ops_capacity(struct node *n, uint64_t per_second, bool find, sl_time now)
{
	struct ops *o = n->ops;

	if (per_second > SL_MAX_OPS)
		return -EINVAL;
	if (!per_second && !find)
		node_release_mins(n, NULL);
	for (const struct node_job *j = n->jobs; !per_second && !find && j; j = j->next)
		if (sl_ops_min(&j->ops.asked))
			return -EBUSY;
	o->find = find;
	o->capacity = per_second;
	storm_reset(n, o->storm, now);
	set_draw(n, find ? 0 : per_second, now);
	for (struct node_job *j = n->jobs; j; j = j->next) {
		ops_job_apply(n, j, now);
		if (j->turn)
			ops_mode(n, j->turn, now);
	}
	return 0;
}

void ops_policy(struct node *n, const char *stage, const char *spec, sl_time now)
{
	if (n->ops && !strcmp(stage, "share") && sl_policy_set(n->ops->sched, stage, spec, now))
		log_warn("operations: %s=%s: %s", stage, spec, sl_error(n->ops->sched));
}

int ops_start(struct node *n, uint64_t capacity, bool find)
{
	struct sl_config config = { .admit = "token-bucket",
				    .share = n->config->share,
				    .order = "to",
				    .capacity_bps = find ? SL_MAX_OPS : capacity,
				    .limits = { .jobs = SL_TURN_JOBS + CLASSES_MOST,
						.files = SL_TURN_JOBS + CLASSES_MOST,
						.requests = 8192 } };
	struct ops *o = calloc(1, sizeof(*o));
	char err[300];
	int rc;

	if (!o)
		return -ENOMEM;
	if ((rc = sl_sched_create(&o->sched, &config, node_now(), err, sizeof(err)))) {
		fprintf(stderr, "sluiced: operations: %s\n", err);
		free(o);
		return rc;
	}
	o->capacity = capacity;
	o->draw = find ? 0 : capacity;
	o->find = find;
	if (!(o->storm = storm_create(node_now()))) {
		sl_sched_destroy(o->sched);
		free(o);
		return -ENOMEM;
	}
	n->ops = o;
	return 0;
}

void ops_stop(struct node *n)
{
	if (!n->ops)
		return;
	sl_sched_destroy(n->ops->sched);
	storm_destroy(n->ops->storm);
	free(n->ops);
	n->ops = NULL;
}

/* ---- status ---- */

void ops_status(const struct node *n, struct status *s)
{
	uint64_t rate = 0;

	for (const struct node_job *job = n->jobs; job; job = job->next)
		rate += ops_sum(job->ops.rate);
	s->capacity_ops = (n->ops->find ? storm_limit(n->ops->storm) : (double)n->ops->capacity);
	s->capacity_ops_found = n->ops->find;
	s->ops_per_s = (double)rate;
}

void ops_job_status(const struct node *n, const struct node_job *job, struct status_job *s)
{
	const struct node_ops *jo = &job->ops;
	uint64_t held = job->turn ? atomic_load(&job->turn->shm->operations.held_ns) : 0;

	s->ops_per_s = (double)ops_sum(jo->rate);
	s->operations = (double)ops_sum(jo->made);
	s->ops_create = (double)jo->made[SL_CREATE];
	s->ops_lookup = (double)jo->made[SL_LOOKUP];
	s->ops_remove = (double)jo->made[SL_REMOVE];
	s->ops_list = (double)jo->made[SL_LIST];
	s->ops_attribute = (double)jo->made[SL_ATTRIBUTE];
	s->ops_held_s = (double)held / 1e9;
	s->min_create = (double)jo->asked.min[SL_CREATE];
	s->min_lookup = (double)jo->asked.min[SL_LOOKUP];
	s->min_remove = (double)jo->asked.min[SL_REMOVE];
	s->min_list = (double)jo->asked.min[SL_LIST];
	s->min_attribute = (double)jo->asked.min[SL_ATTRIBUTE];
	s->min_ops = (double)rules_min_ops(n, job, jo->asked.min[SL_METER_OPS]);
	s->weight_create = (double)jo->asked.weight[SL_CREATE];
	s->weight_lookup = (double)jo->asked.weight[SL_LOOKUP];
	s->weight_remove = (double)jo->asked.weight[SL_REMOVE];
	s->weight_list = (double)jo->asked.weight[SL_LIST];
	s->weight_attribute = (double)jo->asked.weight[SL_ATTRIBUTE];
	s->max_create = (double)rules_allowed(n, job, SL_CREATE);
	s->max_lookup = (double)rules_allowed(n, job, SL_LOOKUP);
	s->max_remove = (double)rules_allowed(n, job, SL_REMOVE);
	s->max_list = (double)rules_allowed(n, job, SL_LIST);
	s->max_attribute = (double)rules_allowed(n, job, SL_ATTRIBUTE);
	s->max_ops = (double)rules_allowed(n, job, SL_METER_OPS);
	s->max_iops = (double)rules_allowed(n, job, SL_METER_IOPS);
	s->max_read = (double)rules_allowed(n, job, SL_METER_READ);
	s->max_write = (double)rules_allowed(n, job, SL_METER_WRITE);
}
