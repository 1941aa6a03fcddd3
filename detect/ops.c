/* SPDX-License-Identifier: Apache-2.0 */
/* See ops.h. */
#include "detect/ops.h"

#include <string.h>

#define HIGH	    1.5
#define LOW	    1.25
#define HELPED	    0.75 /* of how slow it was */
#define BATCH	    64	 /* timed calls that make a mean */
#define FEW_CALLS   8	 /* that do after BATCH_AGE steps */
#define BATCH_AGE   5
#define SMOOTH	    8	    /* batches that a mean is over */
#define MEANS	    4	    /* batches of a job that say something, after the limit has changed */
#define DRIFT	    1.00005 /* of the least, with each mean: twice in half an hour */
#define SMALL	    0.5	    /* of the largest job's rate by weight */
#define ACTIVE	    1.0	    /* operations per second */
#define ROOM	    1.6	    /* times what a small job makes, that a limit leaves to it */
#define DEPTH	    0.125   /* a try; and the least that a limit is worth without an effect */
#define SETTLE	    4	    /* steps after a limit has changed, at least */
#define SETTLE_MOST 20	    /* while batches are missing */
#define FIRST	    10	    /* steps before the first try */
#define REST	    100	    /* between the first two */
#define REST_MOST   3200
#define FEW	    50.0 /* operations per second: below this nobody is held */
#define UNREACHED   100	 /* steps after which a limit that nobody reaches is given up */

static double at_most(double x, double most)
{
	return x < most ? x : most;
}

static double at_least(double x, double least)
{
	return x > least ? x : least;
}

/* ---- one job ---- */

static double slowness(const struct sl_ops_job *j, const double *mean)
{
	double sum = 0, parts = 0;

	for (int c = 0; c < SL_OPS_CLASSES; c++)
		if (mean[c] > 0 && j->least[c] > 0) {
			sum += j->part[c] * mean[c] / j->least[c];
			parts += j->part[c];
		}
	return parts > 0 ? sum / parts : 0;
}

/* Make means of what has been timed. */
static void take_batch(struct sl_ops_job *j, uint64_t calls)
{
	double weight = 1.0 / (j->batches < SMOOTH ? j->batches + 1 : SMOOTH);

	j->batches++;
	j->age = 0;
	for (int c = 0; c < SL_OPS_CLASSES; c++) {
		j->part[c] += ((double)j->batch[c] / (double)calls - j->part[c]) * weight;
		if (j->batch[c] < FEW_CALLS && j->batch[c] * 4 < calls)
			continue; /* wait for more of this class */
		j->mean[c] += (j->batch_ns[c] / (double)j->batch[c] - j->mean[c]) *
			      (j->mean[c] > 0 ? weight : 1);
		j->batch[c] = 0;
		j->batch_ns[c] = 0;
		j->least[c] *= DRIFT;
		if (j->batches >= MEANS && (j->least[c] <= 0 || j->mean[c] < j->least[c]))
			j->least[c] = j->mean[c];
	}
	if (j->batches >= MEANS)
		j->slow = slowness(j, j->mean);
}

static void learn(struct sl_ops_job *j, int64_t took_ns)
{
	double rate = (double)j->made * 1e9 / (double)(took_ns > 0 ? took_ns : 1);
	uint64_t calls = 0;

	j->rate += (rate - j->rate) * 0.4;
	j->age++;
	for (int c = 0; c < SL_OPS_CLASSES; c++) {
		j->batch[c] += j->calls[c];
		j->batch_ns[c] += (double)j->ns[c];
		calls += j->batch[c];
	}
	if (calls >= BATCH || (j->age >= BATCH_AGE && calls >= FEW_CALLS))
		take_batch(j, calls);
}

/* What was timed before is no part of what follows. */
static void forget(struct sl_ops_job *j)
{
	memset(j->batch, 0, sizeof(j->batch));
	memset(j->batch_ns, 0, sizeof(j->batch_ns));
	j->batches = 0;
}

/* ---- all of them ---- */

struct crowd {
	double rate;	 /* of all */
	double floor;	 /* a limit below this would hold a small one */
	double slow;	 /* of the small ones; 0: nobody knows */
	uint32_t active; /* jobs */
	uint32_t small;	 /* of these, judged */
	bool unknown;	 /* a small one has not been in a try */
};

/* Under a limit a job stays small until none makes more than it; a try changes nothing. */
static bool is_small(const struct sl_ops_find *f, const struct sl_ops_job *j, double largest)
{
	if (f->trying)
		return j->small;
	return j->slow > 0 && j->rate >= ACTIVE &&
	       j->rate / j->weight < (f->limit > 0 && j->small ? 1 : SMALL) * largest;
}

static struct crowd look(const struct sl_ops_find *f, struct sl_ops_job *const *jobs, uint32_t n)
{
	struct crowd w = { .rate = 0 };
	double largest = 0, most = 0, weights = 0, sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (jobs[i]->rate < ACTIVE)
			continue;
		w.rate += jobs[i]->rate;
		w.active++;
		weights += jobs[i]->weight;
		largest = at_least(largest, jobs[i]->rate / jobs[i]->weight);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct sl_ops_job *j = jobs[i];

		j->small = is_small(f, j, largest);
		if (!j->small)
			continue;
		w.small++;
		w.unknown |= !j->known;
		most = at_least(most, j->rate / j->weight);
		sum += at_most(j->slow, SL_OPS_MOST);
	}
	w.slow = w.small ? sum / w.small : 0;
	w.floor = at_least(ROOM * most * weights, FEW);
	return w;
}

static void hold(struct sl_ops_find *f, double limit, const struct crowd *w)
{
	f->limit = at_least(limit, w->floor);
	f->settling = 1;
}

/* Whether the small jobs have shown what the limit does. */
static bool settled(struct sl_ops_find *f, struct sl_ops_job *const *jobs, uint32_t n)
{
	bool missing = false;

	if (!f->settling)
		return true;
	for (uint32_t i = 0; i < n; i++) {
		if (f->settling == 1) /* it has just been set */
			forget(jobs[i]);
		missing |= jobs[i]->small && jobs[i]->batches < MEANS;
	}
	if (++f->settling <= SETTLE || (missing && f->settling <= SETTLE_MOST))
		return false;
	f->settling = 0;
	return true;
}

static void begin_hold(struct sl_ops_find *f, double rate, double slow, const struct crowd *w)
{
	f->begin_rate = rate;
	f->begin_slow = slow;
	f->unreached = 0;
	hold(f, rate / 2, w);
}

static void rest(struct sl_ops_find *f)
{
	f->limit = 0;
	f->rested = 0;
	f->rest = f->rest ? f->rest * 2 : REST;
	if (f->rest > REST_MOST)
		f->rest = REST_MOST;
}

/* What is slow now is as fast as it gets. */
static void accept(struct sl_ops_job *const *jobs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!jobs[i]->small)
			continue;
		memcpy(jobs[i]->least, jobs[i]->mean, sizeof(jobs[i]->least));
		jobs[i]->slow = 1;
	}
}

/* ---- tries ---- */

static void begin_try(struct sl_ops_find *f, struct sl_ops_job *const *jobs, uint32_t n,
		      const struct crowd *w)
{
	for (uint32_t i = 0; i < n; i++)
		memcpy(jobs[i]->before, jobs[i]->mean, sizeof(jobs[i]->before));
	f->begin_rate = w->rate;
	f->trying = true;
	hold(f, w->rate * DEPTH, w);
}

static void end_try(struct sl_ops_find *f, struct sl_ops_job *const *jobs, uint32_t n,
		    const struct crowd *w)
{
	double sum = 0;
	uint32_t judged = 0;

	f->trying = false;
	for (uint32_t i = 0; i < n; i++) {
		struct sl_ops_job *j = jobs[i];

		if (!j->small)
			continue;
		j->known = true;
		if (j->batches < MEANS)
			continue;
		sum += at_most(slowness(j, j->before), SL_OPS_MOST);
		judged++;
	}
	if (judged && sum / judged > HIGH) {
		f->rest = 0;
		begin_hold(f, f->begin_rate, sum / judged, w);
	} else {
		rest(f);
	}
}

/* ---- limits ---- */

static void with_limit(struct sl_ops_find *f, struct sl_ops_job *const *jobs, uint32_t n,
		       const struct crowd *w)
{
	bool helps = w->slow < HELPED * f->begin_slow;

	if (w->small && w->slow > HIGH) {
		if (f->limit > w->floor && (helps || f->limit > DEPTH * f->begin_rate)) {
			hold(f, 0.7 * f->limit, w);
		} else if (!helps) {
			accept(jobs, n);
			rest(f);
		}
	} else if ((!w->small || w->slow < LOW) && !f->unreached) {
		hold(f, 1.1 * f->limit, w);
	}
}

static void without_limit(struct sl_ops_find *f, struct sl_ops_job *const *jobs, uint32_t n,
			  const struct crowd *w)
{
	f->rested++;
	if (!w->small || w->rate < FEW)
		return;
	if (w->slow > HIGH)
		begin_hold(f, w->rate, w->slow, w);
	else if (f->rested > (f->rest ? f->rest : FIRST) || (w->unknown && f->rested > REST))
		begin_try(f, jobs, n, w);
}

double sl_ops_find_step(struct sl_ops_find *f, struct sl_ops_job *const *jobs, uint32_t n,
			int64_t took_ns)
{
	struct crowd w;

	for (uint32_t i = 0; i < n; i++)
		learn(jobs[i], took_ns);
	w = look(f, jobs, n);
	if (w.active < 2) {
		*f = (struct sl_ops_find){ .limit = 0 };
		return 0;
	}
	if (f->limit <= 0) {
		without_limit(f, jobs, n, &w);
		return f->limit;
	}
	f->unreached = !f->trying && w.rate < 0.9 * f->limit ? f->unreached + 1 : 0;
	if (f->unreached > UNREACHED)
		f->limit = 0;
	else if (!settled(f, jobs, n))
		return f->limit;
	else if (f->trying)
		end_try(f, jobs, n, &w);
	else
		with_limit(f, jobs, n, &w);
	return f->limit;
}
