/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of a periodic plan: check them, order them by worth, find those that are too fast for
 * windows, and bound the quality of a plan of a given length.
 *
 * Worth: computing per byte, procs * compute / bytes. If a job's bandwidth is limited by its
 * processors, this is the w / t_io of Gainaru et al. 2014, §3.2.3. Bandwidth is the scarce
 * resource, so the knapsack takes the jobs with most worth first: non-increasing, not
 * non-decreasing as the text says (figures: periodic.c).
 *
 * Bounds. Dilation: the least D for which the bytes of all ceil(T / (D * cycle)) instances fit the
 * period, and each job's instances fit one after the other. SysEfficiency: a fractional knapsack
 * over the period's bytes. Both are O(jobs).
 *
 * Example: cycles of 10 and 4, T = 10: the second has at most 2 instances, so D >= 10 / (2 * 4) =
 * 1.25 without looking at bandwidth; T = 12 allows 12 / 10 = 1.2 and 12 / (3 * 4) = 1.
 *
 * Too fast: memory holds 4096 windows, and 4 more for each lane. If the longest instance is
 * thousands of times longer than others, the short ones would need more windows. So the fastest
 * jobs get a constant rate instead, bytes / (D * cycle - compute), with the least D for which these
 * rates and the mean rates of the other jobs fit the bandwidth.
 */
#include "policy/machine/grant/periodic.h"

#include <errno.h>

/* Part of the capacity to give out; the margin exceeds the rounding error of sums of rates. */
#define JO_USABLE     (1 - 1e-9)
#define JO_MAX_ALWAYS 0.9375 /* of the bandwidth */

static bool jo_number(double x)
{
	return x >= 0 && x < 1e30;
}

static int jo_check(struct sl_per *s, const struct sl_plan_job *jobs, uint32_t n, double capacity)
{
	const struct sl_heap_entry *top;
	double all_s = 0, io_s = 0, compute_s = 0;
	uint64_t last = 0;
	bool twice = false;

	if (n > s->lanes)
		return -ENOSPC;
	if (!jo_number(capacity) || (n && capacity <= 0))
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		const struct sl_plan_job *j = &jobs[i];

		if (!j->procs || !jo_number(j->cap_bps) || !jo_number(j->bytes) ||
		    !jo_number(j->compute_s) || (j->bytes > 0 && j->cap_bps <= 0))
			return -EINVAL;
		if (j->bytes > 0) {
			double alone_s = j->bytes / (j->cap_bps < capacity ? j->cap_bps : capacity);

			all_s += j->bytes / capacity;
			io_s = io_s < alone_s ? alone_s : io_s;
		}
		if (compute_s < j->compute_s)
			compute_s = j->compute_s;
	}
	/*
	 * Ensure that sl_per_shelves() finds a plan: all shelves but one are at least half full,
	 * and they have at least 1 / 16 of the bandwidth.
	 */
	if (!((32 * all_s + 16 * io_s + compute_s * (1 + s->slack)) * 1e9 < (double)SL_PER_MAX_NS))
		return -ERANGE;
	for (uint32_t i = 0; i < n; i++)
		sl_heap_set(&s->heap, i, jobs[i].job);
	for (uint32_t i = 0; (top = sl_heap_top(&s->heap)); i++) {
		twice |= i && top->key == last;
		last = top->key;
		sl_heap_remove(&s->heap, top->id);
	}
	return twice ? -EINVAL : 0;
}

static double jo_worth(const struct sl_per_job *j)
{
	return j->procs * j->compute_s / j->bytes;
}

/* For positive doubles, comparing the bits compares the values. */
static uint64_t jo_bits(double x)
{
	union {
		double value;
		uint64_t bits;
	} u = { .value = x };

	return u.bits;
}

static void jo_sort(struct sl_per *s)
{
	const struct sl_heap_entry *top;
	uint32_t rank = 0, *id = s->by_id, *worth = s->by_rank;
	double last = -1;

	for (uint32_t i = 0; i < s->jobs; i++)
		sl_heap_set(&s->heap, i, s->job[i].job);
	while ((top = sl_heap_top(&s->heap))) {
		s->id[id - s->by_id] = top->key;
		*id++ = top->id;
		sl_heap_remove(&s->heap, top->id);
	}
	for (uint32_t i = 0; i < s->jobs; i++)
		sl_heap_set(&s->heap, i,
			    ~jo_bits(s->job[i].bytes > 0 ? jo_worth(&s->job[i]) : 1e300));
	for (uint32_t i = 0; (top = sl_heap_top(&s->heap)); i++) {
		struct sl_per_job *j = &s->job[top->id];

		/* Round, so that the search treats nearly equal jobs as equal. */
		if (j->bytes > 0 &&
		    (last < 0 || s->rule != SL_PER_RULE_SEARCH || jo_worth(j) < last * 0.999)) {
			rank += last >= 0;
			last = jo_worth(j);
		}
		j->rank = rank;
		*worth++ = top->id;
		sl_heap_remove(&s->heap, top->id);
	}
}

/* ---- jobs that are much faster than others ---- */

/* Bandwidth used at dilation d: constantly by the jobs with `always`, on average by the others. */
static double jo_used(const struct sl_per *s, double d, double *always_bps)
{
	double sum = 0;

	*always_bps = 0;
	for (uint32_t i = 0; i < s->jobs; i++) {
		const struct sl_per_job *j = &s->job[i];

		if (j->bytes <= 0)
			continue;
		if (j->always_bps > 0)
			*always_bps += j->bytes / (d * j->cycle_s - j->compute_s);
		else
			sum += j->bytes / (d * j->cycle_s);
	}
	return sum + *always_bps;
}

static void jo_always(struct sl_per *s, double period_s)
{
	const struct sl_heap_entry *top;
	double windows = 0, low = s->bound, high = low, always;

	for (uint32_t i = 0; i < s->jobs; i++) {
		const struct sl_per_job *j = &s->job[i];

		if (j->bytes <= 0)
			continue;
		windows += period_s / (s->bound * j->cycle_s) + 1;
		sl_heap_set(&s->heap, i, (uint64_t)j->cycle_ns);
	}
	for (; (top = sl_heap_top(&s->heap)); sl_heap_remove(&s->heap, top->id)) {
		struct sl_per_job *j = &s->job[top->id];

		if (windows <= 0.75 * s->pack.max_windows)
			continue;
		windows -= period_s / (s->bound * j->cycle_s);
		j->always_bps = 1; /* only marked; the rate is set below */
	}
	while (jo_used(s, high, &always) > s->capacity_bps ||
	       always > s->capacity_bps * JO_MAX_ALWAYS)
		high *= 2;
	for (unsigned i = 0; i < 40; i++) {
		double middle = (low + high) / 2;

		if (jo_used(s, middle, &always) > s->capacity_bps ||
		    always > s->capacity_bps * JO_MAX_ALWAYS)
			low = middle;
		else
			high = middle;
	}
	for (uint32_t i = 0; i < s->jobs; i++) {
		struct sl_per_job *j = &s->job[i];

		if (j->always_bps <= 0)
			continue;
		j->always_bps = j->bytes / (high * j->cycle_s - j->compute_s);
		if (j->always_bps > j->cap_bps)
			j->always_bps = j->cap_bps;
	}
}

static void jo_take(struct sl_per *s, const struct sl_plan_job *jobs, uint32_t n, double capacity)
{
	double load = 0;

	s->capacity_bps = capacity * JO_USABLE;
	s->jobs = n;
	s->procs = 0;
	for (uint32_t i = 0; i < n; i++) {
		double cap = jobs[i].cap_bps < s->capacity_bps ? jobs[i].cap_bps : s->capacity_bps;
		double io_s = jobs[i].bytes > 0 ? jobs[i].bytes / cap : 0;
		double compute_ns = jobs[i].compute_s * (1 + s->slack) * 1e9;
		struct sl_per_job *j = &s->job[i];

		*j = (struct sl_per_job){ .job = jobs[i].job,
					  .procs = jobs[i].procs,
					  .cap_bps = cap,
					  .bytes = jobs[i].bytes,
					  .compute_s = jobs[i].compute_s,
					  .cycle_s = jobs[i].compute_s + io_s,
					  .compute_ns = (sl_time)compute_ns + SL_PER_GUARD_NS };
		j->cycle_ns = j->compute_ns + (io_s > 0 ? sl_per_length(j->bytes, cap) : 0);
		if (j->cycle_s <= 0)
			continue;
		s->procs += j->procs;
		load += j->bytes / j->cycle_s;
	}
	if (s->procs <= 0)
		s->procs = 1;
	s->bound = load > s->capacity_bps ? load / s->capacity_bps : 1;
	jo_sort(s);
}

int sl_per_take(struct sl_per *s, const struct sl_plan_job *jobs, uint32_t n, double capacity_bps)
{
	sl_time longest = 0;
	int err = jo_check(s, jobs, n, capacity_bps);

	if (err)
		return err;
	jo_take(s, jobs, n, capacity_bps);
	for (uint32_t i = 0; i < n; i++)
		if (s->job[i].bytes > 0 && longest < s->job[i].cycle_ns)
			longest = s->job[i].cycle_ns;
	jo_always(s, (double)longest * 1e-9);
	return 0;
}

/* ---- bounds ---- */

static bool jo_possible(const struct sl_per *s, double period, double d)
{
	double bytes = 0;

	for (uint32_t i = 0; i < s->jobs; i++) {
		const struct sl_per_job *j = &s->job[i];
		double n = period / (d * (double)j->cycle_ns);

		if (j->always_bps > 0 || j->bytes <= 0)
			continue;
		if (n - (double)(uint64_t)n > 1e-9)
			n = (double)(uint64_t)n + 1;
		bytes += n * j->bytes;
	}
	return bytes <= s->capacity_bps * period * 1e-9;
}

double sl_per_least_dilation(const struct sl_per *s, double period)
{
	double low = s->bound, high;

	for (uint32_t i = 0; i < s->jobs; i++) {
		const struct sl_per_job *j = &s->job[i];
		double most = (double)(uint64_t)(period / (double)j->cycle_ns);

		if (j->always_bps > 0 || j->bytes <= 0)
			continue;
		if (most < 1)
			return 1e9;
		if (period > low * most * (double)j->cycle_ns)
			low = period / (most * (double)j->cycle_ns);
	}
	if (jo_possible(s, period, low))
		return low;
	for (high = 2 * low; !jo_possible(s, period, high); high *= 2)
		if (high > 1e9)
			return 1e9;
	for (unsigned i = 0; i < 20; i++) {
		double middle = (low + high) / 2;

		if (jo_possible(s, period, middle))
			high = middle;
		else
			low = middle;
	}
	return low;
}

double sl_per_most_efficiency(const struct sl_per *s, double period)
{
	double left = s->capacity_bps * period * 1e-9, work = 0;

	for (uint32_t i = 0; i < s->jobs; i++) {
		const struct sl_per_job *j = &s->job[s->by_rank[i]];
		double n = period * 1e-9;

		if (j->cycle_s <= 0)
			continue;
		if (j->bytes <= 0)
			n /= j->cycle_s;
		else if (j->always_bps > 0)
			n /= j->compute_s + j->bytes / j->always_bps;
		else
			n = (double)(uint64_t)(period / (double)j->cycle_ns);
		if (j->bytes > 0 && n * j->bytes > left)
			n = left / j->bytes;
		left -= n * j->bytes;
		work += n * j->procs * j->compute_s;
	}
	return work / (period * 1e-9) / s->procs;
}
