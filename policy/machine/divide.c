/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divide the bandwidth of a layer among its jobs, wherever they run, and the rate of a job among
 * the I/O nodes where it runs.
 *
 * It is divided in this order, and no job gets more than the smaller of its max and what it wants:
 *
 *	1. min        each has its guarantee; all are scaled down if they do not fit
 *	2. grants     each is raised to what the grant policy gives it, scaled in the same way
 *	3. share      what is left: by weight, x = min(limit, max(x, lambda w)) with one lambda for
 *	              all; or by sets of periods (IO-Sets, Barthélemy et al. 2024): sets by
 *	              priority, one job of each set at a time; or by levels (share=fair): first
 *	              among accounts, then each account's part among its users, then among their
 *	              jobs, always by weight
 *	4. headroom   if every job has what it wants, the rest is divided by weight, up to max, so
 *	              that a job that begins to want more can use it at once
 *
 * So no bandwidth is idle while some job may use it, and other jobs use what a job leaves.
 *
 * Example: capacity 100; A weight 4, B weight 1, C min 30 and weight 1; each wants all of it. C
 * gets its 30 first; then lambda is 14: A 56, B 14, C 30. If A wants only 20: A 20, B 40, C 40.
 *
 * By levels, capacity 100: user A has one job, B has two, and each wants all of it: 50, and 25
 * each. If one job of B wants only 10, its sibling gets 40, and A keeps 50.
 *
 * The sum over all is piecewise linear in lambda. Newton's method finds the piece, and with it
 * lambda, in a few steps of O(n) each; after a step that does not halve the interval, a bisection
 * step follows. The rates add up to at most the capacity, and to at least .999999999999 of it.
 */
#include "policy/machine/divide.h"

#include <stddef.h>

#define STEPS 100 /* an upper bound: about ten are needed */
#define EXACT 1e-12

static double least(double a, double b)
{
	return a < b ? a : b;
}

static double limit(const struct sl_divide_job *j, bool headroom)
{
	if (!(j->want_bps > 0))
		return 0;
	return headroom ? j->max_bps : least(j->max_bps, j->want_bps);
}

/* Raise each job to the value of the given member, as far as it fits. Returns what is left. */
static double raise_to(struct sl_divide_job *jobs, uint32_t n, bool grants, double left)
{
	double sum = 0, part;

	for (uint32_t i = 0; i < n; i++) {
		struct sl_divide_job *j = &jobs[i];
		double to = least(grants ? j->granted_bps : j->min_bps, limit(j, false));

		j->scratch_.rate_bps = to > j->rate_bps ? to - j->rate_bps : 0;
		sum += j->scratch_.rate_bps;
	}
	if (!(sum > 0) || !(left > 0))
		return left;
	part = sum > left ? left / sum : 1;
	for (uint32_t i = 0; i < n; i++)
		jobs[i].rate_bps += jobs[i].scratch_.rate_bps * part;
	return sum > left ? 0 : left - sum;
}

static double filled(const struct sl_divide_job *j, double lambda, bool headroom)
{
	double most = limit(j, headroom), x = least(most, lambda * j->weight);

	return x > j->rate_bps ? x : j->rate_bps;
}

/* The sum over all jobs at level lambda; *slope: its derivative. */
static double filled_all(const struct sl_divide_job *jobs, uint32_t n, double lambda, bool headroom,
			 double *slope)
{
	double sum = 0;

	*slope = 0;
	for (uint32_t i = 0; i < n; i++) {
		double rate = filled(&jobs[i], lambda, headroom);

		sum += rate;
		if (rate > jobs[i].rate_bps && rate < limit(&jobs[i], headroom))
			*slope += jobs[i].weight;
	}
	return sum;
}

/*
 * The level at which all jobs together get `most`, or as much of it as they can use below `high`.
 */
static double level(const struct sl_divide_job *jobs, uint32_t n, double high, double most,
		    bool headroom)
{
	double low = 0, at = high, slope, exact;

	if (filled_all(jobs, n, high, headroom, &slope) <= most)
		return high;
	for (int i = 0; i < STEPS; i++) {
		double before = high - low, sum;

		at = at > low && at < high ? at : low + before / 2;
		sum = filled_all(jobs, n, at, headroom, &slope);
		if (sum > most)
			high = at;
		else
			low = at;
		if (sum <= most && sum >= most * (1 - EXACT)) {
			exact = slope > 0 ? at + (most - sum) / slope : at;
			return filled_all(jobs, n, exact, headroom, &slope) <= most ? exact : at;
		}
		at = slope > 0 && high - low <= before / 2
			     ? at + (most * (1 - EXACT / 2) - sum) / slope
			     : high;
	}
	return low;
}

/*
 * Water-filling: raise every job from its present rate towards one common level, up to its limit.
 * Returns what is left.
 */
static double by_weight(struct sl_divide_job *jobs, uint32_t n, double left, bool headroom)
{
	double slope, have = filled_all(jobs, n, 0, headroom, &slope), high = 0, lambda, got;

	for (uint32_t i = 0; i < n; i++) {
		double alone = (have + left) / jobs[i].weight;

		high = limit(&jobs[i], headroom) > 0 && alone > high ? alone : high;
	}
	if (!(high > 0) || !(left > 0))
		return left;
	lambda = level(jobs, n, high, have + left, headroom);
	for (uint32_t i = 0; i < n; i++)
		jobs[i].rate_bps = filled(&jobs[i], lambda, headroom);
	got = filled_all(jobs, n, 0, headroom, &slope) - have;
	return got < left ? left - got : 0;
}

/* ---- by levels ---- */

static const struct sl_divide_job *job_of(const struct sl_io_job *scratch)
{
	return (const struct sl_divide_job *)((const char *)scratch -
					      offsetof(struct sl_divide_job, scratch_));
}

static bool before(const struct sl_io_job *a, const struct sl_io_job *b)
{
	for (int i = 0; i < SL_DIVIDE_LEVELS; i++)
		if (job_of(a)->group[i] != job_of(b)->group[i])
			return job_of(a)->group[i] < job_of(b)->group[i];
	return a < b;
}

static void sift(struct sl_io_job **at, uint32_t n, uint32_t i)
{
	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		struct sl_io_job *top = at[i];

		child += child + 1 < n && before(at[child], at[child + 1]);
		if (!before(top, at[child]))
			return;
		at[i] = at[child];
		at[child] = top;
	}
}

/* Afterwards the members of a group are adjacent (heapsort, because it allocates nothing). */
static void sort_groups(struct sl_io_job **at, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift(at, n, i);
	for (uint32_t end = n; end-- > 1;) {
		struct sl_io_job *top = at[0];

		at[0] = at[end];
		at[end] = top;
		sift(at, end, 0);
	}
}

/* Treat each group as one job whose values are the sums over its members. */
static uint32_t make_groups(const struct sl_divide_job *leaf, uint32_t n,
			    struct sl_divide_job *room, unsigned level)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct sl_divide_job *g = &room[count ? count - 1 : 0];

		if (!count || g->group[level] != leaf[i].group[level]) {
			g = &room[count++];
			*g = (struct sl_divide_job){ .weight = leaf[i].group_weight[level] };
			g->group[level] = leaf[i].group[level];
		}
		g->scratch_.ended++; /* members */
		g->rate_bps += leaf[i].rate_bps;
		g->want_bps += limit(&leaf[i], false);
		g->max_bps += limit(&leaf[i], true);
	}
	return count;
}

/* leaf: sorted by group; room: memory for the groups of this level and the levels below. */
static void fill_level(struct sl_divide_job *leaf, uint32_t n, struct sl_divide_job *room,
		       unsigned level, unsigned levels, double left, bool headroom)
{
	uint32_t groups, first = 0;

	if (level == levels) {
		by_weight(leaf, n, left, headroom);
		return;
	}
	groups = make_groups(leaf, n, room, level);
	by_weight(room, groups, left, headroom);
	for (uint32_t i = 0; i < groups; i++) {
		uint32_t members = (uint32_t)room[i].scratch_.ended;
		double had = 0;

		for (uint32_t k = first; k < first + members; k++)
			had += leaf[k].rate_bps;
		if (room[i].rate_bps > had)
			fill_level(leaf + first, members, room + groups, level + 1, levels,
				   room[i].rate_bps - had, headroom);
		first += members;
	}
}

static double by_levels(struct sl_divide_job *jobs, uint32_t n, double left,
			const struct sl_divide_how *how, bool headroom)
{
	double got = 0;

	for (uint32_t i = 0; i < n; i++)
		how->order[i] = &jobs[i].scratch_;
	sort_groups(how->order, n);
	for (uint32_t i = 0; i < n; i++)
		how->room[i] = *job_of(how->order[i]);
	fill_level(how->room, n, how->room + n, 0, how->levels, left, headroom);
	for (uint32_t i = 0; i < n; i++) {
		struct sl_divide_job *j = &jobs[job_of(how->order[i]) - jobs];

		got += how->room[i].rate_bps - j->rate_bps;
		j->rate_bps = how->room[i].rate_bps;
	}
	return got < left ? left - got : 0;
}

/* ---- by sets ---- */

static double by_sets(struct sl_divide_job *jobs, uint32_t n, double left,
		      const struct sl_divide_how *how, sl_time now)
{
	uint32_t count = 0;
	double sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct sl_divide_job *j = &jobs[i];
		double more = least(limit(j, false) - j->rate_bps, left);

		j->scratch_ = (struct sl_io_job){ .job = i,
						  .procs = 1,
						  .cap_bps = more,
						  .asked = j->since,
						  .released = j->since,
						  .io_end = j->since,
						  .period_ns = j->period_ns,
						  .bytes = 1,
						  .left_bytes = 1 };
		if (more > 0)
			how->order[count++] = &j->scratch_;
	}
	if (!count || !(left > 0))
		return left;
	sl_grant_set_10.decide(how->sets, how->order, count, left, now);
	for (uint32_t i = 0; i < n; i++) {
		jobs[i].rate_bps += jobs[i].scratch_.rate_bps;
		sum += jobs[i].scratch_.rate_bps;
	}
	return sum < left ? left - sum : 0;
}

void sl_divide(struct sl_divide_job *jobs, uint32_t n, double capacity_bps,
	       const struct sl_divide_how *how, sl_time now)
{
	double left = capacity_bps;

	for (uint32_t i = 0; i < n; i++)
		jobs[i].rate_bps = 0;
	left = raise_to(jobs, n, false, left);
	left = raise_to(jobs, n, true, left);
	if (how && how->sets)
		left = by_sets(jobs, n, left, how, now);
	else if (how && how->levels)
		left = by_levels(jobs, n, left, how, false);
	else
		left = by_weight(jobs, n, left, false);
	if (left <= capacity_bps * 1e-9)
		return;
	if (how && how->levels)
		by_levels(jobs, n, left, how, true);
	else
		by_weight(jobs, n, left, true);
}
