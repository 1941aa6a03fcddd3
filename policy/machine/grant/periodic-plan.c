/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for the best periodic plan.
 *
 * Gainaru et al. 2014, §3.2.3: try periods from the longest instance on, each longer than the last
 * by a factor of 1 + epsilon, and keep the best plan. Longer periods lose less at the boundary
 * between periods, and come nearer to a common multiple of the jobs' cycles, but take longer to
 * search. Aupy, Gainaru, Le Fèvre 2017 ("Periodic I/O scheduling for super-computers", PerSched)
 * published the results that are our goals.
 *
 * Our additions:
 *
 * 1. Bounds (periodic-jobs.c) skip periods that cannot win.
 * 2. Each period is tried with several orders, rates, offsets (periodic-build.c) and degrees of
 *    eagerness (periodic-pack.c). A coarse grid of periods comes first, so that a search that stops
 *    early has seen all sizes.
 * 3. The best few attempts, of different periods, are then improved by random changes: of the
 * period (mostly shorter: with the same instances both objectives gain), of the rates, or of the
 * begin of some jobs. A change is kept if the plan is not worse. The random numbers are the same in
 * every search.
 *
 * The work is bounded by `effort` steps of packing plus one attempt. Before the search we make a
 * plan with one instance of each job (sl_per_shelves()), so there always is a plan.
 *
 * Example: PerSched's set 3, six jobs of 77 s and 23.6 TB (64 GB/s) and two of 15360 s and 42 TB
 * (128 GB/s) on 300 GB/s. The lower bound of the dilation is 1.077. The paper's heuristic alone
 * finds 1.242, slow rates in the same grid 1.09, and improving that gives 1.085.
 */
#include "policy/machine/grant/periodic.h"

#include <errno.h>

#include "base/ds/random.h"

#define PL_STOP 1e-6 /* stop when the relative distance to the bound is below this */
#define PL_IDLE 5000 /* stop after this many hopeless proposals in a row */

/* Whether a plan of this length could be better. */
static bool pl_worth_trying(struct sl_per *s, sl_time period_ns, double value)
{
	double margin = PL_STOP * (value < 0 ? -value : value);

	s->pack.steps += s->throughput ? s->jobs : 16 * (uint64_t)s->jobs;
	return (s->throughput ? -sl_per_most_efficiency(s, (double)period_ns)
			      : sl_per_least_dilation(s, (double)period_ns)) < value - margin;
}

/* ---- the search ---- */

static double pl_random(struct sl_per *s)
{
	return sl_splitmix64_unit(&s->random);
}

static void pl_copy(struct sl_per_try *to, const struct sl_per_try *from, uint32_t jobs)
{
	float *offset = to->offset;

	for (uint32_t i = 0; i < jobs; i++)
		offset[i] = from->offset[i];
	*to = *from;
	to->offset = offset;
}

static bool pl_near(const struct sl_per_try *a, const struct sl_per_try *b)
{
	double ratio = (double)a->period_ns / (double)b->period_ns;

	return ratio > 0.995 && ratio < 1.005;
}

/* s->now has been built: add it to the elite if it is the best of its length and good enough. */
static void pl_admit(struct sl_per *s)
{
	struct sl_per_try *place = NULL;

	for (uint32_t i = 0; i < s->elites; i++) {
		struct sl_per_try *e = &s->elite[i];

		if (pl_near(e, &s->now)) {
			place = e;
			break;
		}
		if (!place || e->value > place->value)
			place = e;
	}
	if (s->elites < SL_PER_ELITE && (!place || !pl_near(place, &s->now))) {
		place = &s->elite[s->elites++];
		place->value = s->now.value;
	}
	if (s->now.value <= place->value)
		pl_copy(place, &s->now, s->jobs);
}

static int pl_attempt(struct sl_per *s)
{
	int err = sl_per_build(s);

	if (!err && s->now.value < s->best)
		sl_per_keep(s);
	return err;
}

/* Equal jobs begin at equal distances (apart), or all at once. */
static void pl_stagger(struct sl_per *s, bool apart)
{
	for (uint32_t from = 0, to; from < s->jobs; from = to) {
		uint32_t rank = s->job[s->by_rank[from]].rank;

		for (to = from + 1; to < s->jobs && s->job[s->by_rank[to]].rank == rank; to++)
			;
		for (uint32_t i = from; i < to; i++)
			s->now.offset[s->by_rank[i]] =
				apart ? (float)(i - from) / (float)(to - from) : 0;
	}
}

/*
 * The least dilation of the jobs that are much faster than the slowest, if these ran alone. At the
 * matching rates the fast jobs fill the bandwidth exactly while the slow ones compute.
 */
static double pl_fast(const struct sl_per *s)
{
	double load = 0, longest = 0;

	for (uint32_t i = 0; i < s->jobs; i++)
		if (s->job[i].bytes > 0 && longest < s->job[i].cycle_s)
			longest = s->job[i].cycle_s;
	for (uint32_t i = 0; i < s->jobs; i++)
		if (s->job[i].bytes > 0 && s->job[i].cycle_s < longest / 4)
			load += s->job[i].bytes / s->job[i].cycle_s;
	return load > s->capacity_bps ? load / s->capacity_bps : 1;
}

static void pl_variants(struct sl_per *s)
{
	static const enum sl_per_order orders[] = { SL_PER_BALANCED, SL_PER_READY, SL_PER_WORTHY };
	const double stretches[] = { 0, 0, s->fast, s->bound };
	const unsigned n = 16 * (s->throughput ? 3 : 2);

	for (unsigned v = 0; v < n && s->pack.steps < s->effort; v++) {
		s->now.order = orders[v >> 4];
		s->now.eager = v & 8 ? 0.3 : 0;
		s->now.stretch = stretches[v >> 1 & 3];
		s->now.few = (v >> 1 & 3) == 1 ? 2 : 0;
		pl_stagger(s, v & 1);
		if (!pl_attempt(s))
			pl_admit(s);
	}
}

/* Try every stride-th period, from the given first one on. */
static void pl_sweep(struct sl_per *s, sl_time shortest, double longest, unsigned first,
		     unsigned stride, uint64_t until)
{
	double period = (double)shortest, factor = 1;

	for (unsigned i = 0; i < first; i++)
		period *= s->growth;
	for (unsigned i = 0; i < stride; i++)
		factor *= s->growth;
	for (; period <= longest && s->pack.steps < until; period *= factor) {
		s->now.period_ns = (sl_time)period;
		if (s->rule == SL_PER_RULE_SEARCH) {
			if (pl_worth_trying(s, s->now.period_ns, s->best))
				pl_variants(s);
			continue;
		}
		s->now.order = s->rule == SL_PER_RULE_GREEDY
				       ? (s->throughput ? SL_PER_WORTHY : SL_PER_BALANCED)
				       : (s->throughput ? SL_PER_REVERSED : SL_PER_LARGEST);
		if (pl_attempt(s))
			break;
	}
}

static void pl_mutate(struct sl_per *s, sl_time shortest)
{
	struct sl_per_try *t = &s->now;
	double u = pl_random(s), v = pl_random(s);

	if (u < 0.4)
		t->period_ns -= (sl_time)((double)t->period_ns * 0.01 * v * v * v * v);
	else if (u < 0.5)
		t->period_ns += (sl_time)((double)t->period_ns * 0.02 * (v - 0.5));
	if (t->period_ns < shortest)
		t->period_ns = shortest;
	if (pl_random(s) < 0.4) {
		u = pl_random(s);
		v = pl_random(s);
		t->stretch = pl_random(s) < 0.3 ? 0
						: (pl_random(s) < 0.5 ? s->bound : s->fast) *
							  (1 + 0.03 * v * u * u);
	}
	if (pl_random(s) < 0.2)
		t->few = pl_random(s) < 0.5 ? 0 : 1U << (uint32_t)(pl_random(s) * 6);
	if (pl_random(s) < 0.7) {
		uint32_t k = (uint32_t)(pl_random(s) * pl_random(s) * s->jobs);

		do
			t->offset[(uint32_t)(pl_random(s) * s->jobs)] = (float)pl_random(s);
		while (k--);
	}
	if (pl_random(s) < 0.1) {
		u = pl_random(s) * (s->throughput ? 3 : 2);
		t->order = u < 1 ? SL_PER_BALANCED : u < 2 ? SL_PER_READY : SL_PER_WORTHY;
	}
	if (pl_random(s) < 0.3) {
		u = pl_random(s);
		v = pl_random(s);
		t->eager = pl_random(s) < 0.3 ? 0 : 3 * u * v;
	}
}

static void pl_climb(struct sl_per *s, sl_time shortest)
{
	unsigned idle = 0;

	while (s->elites && s->pack.steps < s->effort && idle < PL_IDLE) {
		struct sl_per_try *e = &s->elite[(uint32_t)(pl_random(s) * s->elites)];

		if (pl_random(s) < 0.5)
			for (uint32_t i = 0; i < s->elites; i++)
				if (s->elite[i].value < e->value)
					e = &s->elite[i];
		pl_copy(&s->now, e, s->jobs);
		pl_mutate(s, shortest);
		s->pack.steps += s->jobs;
		idle++;
		if (!pl_worth_trying(s, s->now.period_ns, e->value))
			continue;
		idle = 0;
		if (!pl_attempt(s) && s->now.value <= e->value)
			pl_copy(e, &s->now, s->jobs);
	}
}

int sl_per_plan(struct sl_per *s, const struct sl_plan_job *jobs, uint32_t n, double capacity_bps)
{
	sl_time shortest = 1, longest;
	double bytes = 0;
	int err = sl_per_take(s, jobs, n, capacity_bps);

	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		bytes += s->job[i].bytes;
		if (s->job[i].bytes > 0 && shortest < s->job[i].cycle_ns)
			shortest = s->job[i].cycle_ns;
	}
	/*
	 * In a shorter period not every job has an instance. The text of Gainaru et al. 2014 does
	 * not require one.
	 */
	if (s->rule != SL_PER_RULE_LITERAL && shortest < sl_per_length(bytes, s->capacity_bps))
		shortest = sl_per_length(bytes, s->capacity_bps);
	longest = (double)shortest * s->longest < (double)SL_PER_MAX_NS
			  ? (sl_time)((double)shortest * s->longest)
			  : SL_PER_MAX_NS;
	s->pack.steps = 0;
	s->elites = 0;
	s->random = 1;
	s->fast = pl_fast(s);
	s->now.stretch = 0;
	for (uint32_t i = 0; i < n; i++)
		s->now.offset[i] = 0;
	err = sl_per_shelves(s);
	if (err) {
		s->period_ns = 0;
		s->jobs = 0;
		return err;
	}
	sl_per_keep(s);
	if (bytes <= 0)
		return 0;
	if (s->rule != SL_PER_RULE_SEARCH) {
		/*
		 * With the literal rule, another plan must not hide the result of the text's order.
		 */
		if (s->rule == SL_PER_RULE_LITERAL)
			s->best = __builtin_inf();
		pl_sweep(s, shortest, (double)longest, 0, 1, s->effort);
		return 0;
	}
	pl_sweep(s, shortest, (double)longest, 0, 8, s->effort / 2);
	pl_sweep(s, shortest, (double)longest, 4, 8, s->effort / 2);
	pl_sweep(s, shortest, (double)longest, 2, 4, s->effort / 2);
	pl_sweep(s, shortest, (double)longest, 1, 2, s->effort / 2);
	pl_climb(s, shortest);
	return 0;
}
