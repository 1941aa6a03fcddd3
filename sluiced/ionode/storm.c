/* SPDX-License-Identifier: Apache-2.0 */
/* See storm.h. */
#include "sluiced/ionode/storm.h"

#include <limits.h>
#include <stdlib.h>

#include "policy/machine/divide.h"
#include "sluiced/ionode/node.h"
#include "sluiced/ionode/turn.h"

#define QUIET_NS      INT64_C(2000000000)
#define STEP_QUIET_NS INT64_C(1000000000)
#define TIMED_MOST    UINT64_C(1000000)
#define LONGEST_NS    UINT64_C(1000000000000)
#define MORE	      1.25   /* a job that is not held may grow by this factor in the next step */
#define TIME_ALL      5000.0 /* operations per second, up to which all are timed */

_Static_assert(SL_CLASSES <= SL_OPS_CLASSES, "detect/ops.h knows that many");

struct storm {
	struct sl_ops_find find;
	sl_time step_ns; /* when the last step was */
	sl_time busy_ns; /* when there was last an operation */
	uint32_t room;
	struct sl_ops_job **jobs; /* room */
	struct sl_divide_job *dividing;
};

struct storm *storm_create(sl_time now)
{
	struct storm *s = calloc(1, sizeof(*s));

	if (s)
		s->step_ns = now;
	return s;
}

void storm_destroy(struct storm *s)
{
	free(s->jobs);
	free(s->dividing);
	free(s);
}

void storm_reset(struct node *n, struct storm *s, sl_time now)
{
	s->find = (struct sl_ops_find){ .limit = 0 };
	s->step_ns = now;
	for (struct node_job *j = n->jobs; j; j = j->next)
		j->ops.storm.rate = 0;
}

double storm_limit(const struct storm *s)
{
	return s->find.limit;
}

void storm_attach(struct node_turn *t)
{
	struct storm_job *sj = &t->job->ops.storm;

	sj->made = ops_sum(t->job->ops.made);
	for (int c = 0; c < SL_CLASSES; c++) {
		sj->timed_ns[c] = atomic_load(&t->shm->operations.timed[c].ns);
		sj->timed_calls[c] = atomic_load(&t->shm->operations.timed[c].calls);
	}
}

uint32_t storm_mode(struct node *n, struct node_turn *t, bool finding)
{
	const struct storm_job *sj = &t->job->ops.storm;
	struct sl_turn_ops *shm = &t->shm->operations;
	uint64_t step = finding ? sl_meter_step(sj->rate) : 0;
	uint32_t bits = finding ? SL_OPS_TIMED : 0;

	if (atomic_exchange(&shm->found.step, step) && !step) { /* nobody waits any more */
		atomic_store(&shm->found.tag, 0);
		atomic_fetch_add(&shm->limits, 1);
		node_wake_later(n, &shm->limits, INT32_MAX, UINT32_MAX);
	}
	if (finding && sj->find.rate < TIME_ALL)
		bits |= SL_OPS_ALL;
	return step ? bits | SL_OPS_METERED : bits;
}

/* ---- a step ---- */

static uint64_t at_most(uint64_t x, uint64_t most)
{
	return x < most ? x : most;
}

/* Operations of the job since the last step; its user can falsify the segment. */
static void gather(struct node *n, struct node_job *j, sl_time now)
{
	struct storm_job *sj = &j->ops.storm;
	struct sl_turn_ops *shm = &j->turn->shm->operations;
	uint64_t made;

	ops_account(n, j, now);
	made = ops_sum(j->ops.made);
	sj->find.made = at_most(made - sj->made, SL_MAX_OPS);
	sj->made = made;
	sj->find.weight = j->rights.weight ? j->rights.weight : 1;
	for (int c = 0; c < SL_CLASSES; c++) {
		uint64_t ns = atomic_load(&shm->timed[c].ns);
		uint64_t calls = atomic_load(&shm->timed[c].calls);

		sj->find.calls[c] = at_most(calls - sj->timed_calls[c], TIMED_MOST);
		sj->find.ns[c] = at_most(ns - sj->timed_ns[c], sj->find.calls[c] * LONGEST_NS);
		sj->timed_ns[c] = ns;
		sj->timed_calls[c] = calls;
	}
}

static bool make_room(struct storm *s, uint32_t n)
{
	uint32_t room = n * 2;
	void *p;

	if (n <= s->room)
		return true;
	if (!(p = realloc(s->jobs, room * sizeof(struct sl_ops_job *))))
		return false;
	s->jobs = p;
	if (!(p = realloc(s->dividing, room * sizeof(*s->dividing))))
		return false;
	s->dividing = p;
	s->room = room;
	return true;
}

static double wants(const struct node_job *j)
{
	const struct storm_job *sj = &j->ops.storm;

	if (sj->rate && sj->find.rate > 0.8 * (double)sj->rate)
		return SL_ALL;
	return MORE * sj->find.rate;
}

/* The rate of each job's meter. */
static void divide(struct node *n, struct storm *s, uint32_t jobs, sl_time now)
{
	uint32_t i = 0;

	for (struct node_job *j = n->jobs; j; j = j->next)
		if (j->turn)
			s->dividing[i++] = (struct sl_divide_job){
				.min_bps = (double)sl_ops_min(&j->ops.asked),
				.max_bps = SL_ALL,
				.want_bps = wants(j),
				.weight = j->ops.storm.find.weight,
			};
	sl_divide(s->dividing, jobs, s->find.limit, NULL, now);
	i = 0;
	for (struct node_job *j = n->jobs; j; j = j->next) {
		const struct sl_divide_job *d;

		if (!j->turn)
			continue;
		d = &s->dividing[i++];
		j->ops.storm.rate = s->find.limit > 0 && d->rate_bps < d->want_bps * 0.999
					    ? (uint64_t)d->rate_bps + 1
					    : 0;
	}
}

static void tell(struct node *n, struct node_job *j, sl_time now)
{
	struct sl_turn_ops *shm = &j->turn->shm->operations;

	for (int c = 0; c < SL_CLASSES; c++)
		atomic_store_explicit(&shm->timed[c].most_ns,
				      (uint64_t)(j->ops.storm.find.least[c] * SL_OPS_MOST),
				      memory_order_relaxed);
	ops_mode(n, j->turn, now);
}

static void step(struct node *n, struct storm *s, sl_time now)
{
	uint32_t jobs = 0;
	bool busy = false;

	for (struct node_job *j = n->jobs; j; j = j->next)
		jobs += j->turn != NULL;
	if (!make_room(s, jobs))
		return;
	jobs = 0;
	for (struct node_job *j = n->jobs; j; j = j->next) {
		if (!j->turn)
			continue;
		gather(n, j, now);
		busy |= j->ops.storm.find.made > 0;
		s->jobs[jobs++] = &j->ops.storm.find;
	}
	if (busy)
		s->busy_ns = now;
	sl_ops_find_step(&s->find, s->jobs, jobs, now - s->step_ns);
	s->step_ns = now;
	divide(n, s, jobs, now);
	for (struct node_job *j = n->jobs; j; j = j->next)
		if (j->turn)
			tell(n, j, now);
}

sl_time storm_go_on(struct node *n, struct storm *s, sl_time now)
{
	sl_time due = s->step_ns + (now - s->busy_ns < QUIET_NS ? SL_OPS_STEP_NS : STEP_QUIET_NS);

	if (now < due)
		return due;
	step(n, s, now);
	return now + SL_OPS_STEP_NS;
}
