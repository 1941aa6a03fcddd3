/* SPDX-License-Identifier: Apache-2.0 */
/*
 * periodic-throughput and periodic-congestion: plan all I/O of a period ahead, and repeat the
 * period.
 *
 * Gainaru et al. 2014, §3.2, and Aupy, Gainaru, Le Fèvre 2017 ("Periodic I/O scheduling for
 * super-computers", PerSched). Jobs whose instances are all alike get windows in a period, in which
 * they transfer at a constant rate. periodic-throughput maximises SysEfficiency,
 * periodic-congestion minimises the dilation; periodic-plan.c does both.
 *
 * At run time a job has its rate in its windows. Example: period 10 s, window of A from 2 to 4 s. A
 * asks at 11 s: it waits until 12 s and is done at 14 s. It asks again at 23 s, 1 s late: it can
 * use the window until 24 s, and then half of its bytes are left. Now it is *late*: it may use what
 * the windows of others leave free (spare=late), and its next window at 32 s. So a wait is never
 * longer than the longest gap between two windows of the job.
 *
 * A job is late if it missed a window since its last phase ended, or if a window was too short for
 * its phase. A job that asks early waits. With spare=all every job may use free bandwidth, with
 * spare=none no job. A job that is not in the plan always may, and goes first after it has waited
 * for a whole period. Without a plan all jobs are served first come, first served.
 *
 * The gap between two windows of a job is its computing time, plus `slack` for computing that
 * sometimes takes longer, plus 1 us, so that a host that rounds to nanoseconds never makes a job
 * late.
 *
 * rule=literal uses the orders of the paper's text (§3.2.3): the throughput heuristic takes jobs by
 * non-decreasing w / t_io, the congestion heuristic the job with the largest n * (w + t_io). On
 * PerSched's sets 2 to 5 the first order gives SysEfficiency .274 .468 .633 .801, and no window to
 * some jobs of set 2; the opposite order gives .277 .471 .654 .815 (only on set 6, which has
 * bandwidth for all, is the text's order better, .8174 against .8162). The second order serves one
 * job completely before the next, with dilations of 35 and more on sets 2 and 3; smallest first
 * gives 1.43 and 1.24. rule=greedy reverses both orders and does nothing else. rule=search, the
 * default, searches as described in periodic-plan.c: .292 .486 .655 .815, and 1.426 and 1.085.
 *
 * State: about 100 bytes for each of 4096 + 4 * lanes windows, and 150 for each lane. A decision is
 * O(n log windows). A search takes about 0.2 to 0.6 s with the default effort, for 10 jobs or for
 * 1,000 (with 1,000 it tries only few plans, and more effort helps).
 */
#include "policy/machine/grant/periodic.h"

#include <assert.h>

#include "policy/machine/grant/list.h"

#define PE_WINDOWS	    4096
#define PE_WINDOWS_PER_LANE 4

enum { P_RULE, P_LONGEST, P_EPSILON, P_EFFORT, P_SLACK, P_SPARE };

static const struct sl_param params[] = {
	SL_PARAM_CHOICE("rule", SL_PER_RULE_SEARCH,
			"How plans are made: by a search, by the greedy heuristic, or by the "
			"heuristic with the order of the paper's text.",
			"search", "greedy", "literal"),
	SL_PARAM_NUMBER("longest_percent", SL_COUNT, 100, 10000, 1600,
			"Longest period tried, as a multiple of the shortest one with an instance "
			"of every job."),
	SL_PARAM_NUMBER("epsilon_permille", SL_COUNT, 1, 1000, 5,
			"Each period tried is longer than the last one by this part."),
	SL_PARAM_NUMBER("effort", SL_COUNT, 1, 1000000, 300,
			"Bound on the search for a plan, in 10^5 steps: about a millisecond each."),
	SL_PARAM_NUMBER(
		"slack_permille", SL_COUNT, 0, 10000, 0,
		"Plan computing longer by this part, for jobs whose computing time varies."),
	SL_PARAM_CHOICE("spare", SL_PER_SPARE_LATE,
			"Jobs that may use bandwidth that no window needs now: none, those that "
			"missed theirs, or all.",
			"none", "late", "all"),
	{ 0 },
};

/* ---- memory ---- */

/* Reserve a part of the memory; with base NULL, only count its size. */
static void *pe_part(char *base, size_t *at, size_t size)
{
	char *part = base ? base + *at : NULL;

	*at += (size + 15) & ~(size_t)15;
	return part;
}

static size_t pe_layout(struct sl_per *s, char *base, uint32_t lanes)
{
	size_t n = lanes, windows = PE_WINDOWS + PE_WINDOWS_PER_LANE * n, edges = 2 * windows + 4;
	size_t at = 0;

	pe_part(base, &at, sizeof(*s));
	s->job = pe_part(base, &at, n * sizeof(*s->job));
	s->by_id = pe_part(base, &at, n * sizeof(*s->by_id));
	s->id = pe_part(base, &at, n * sizeof(*s->id));
	s->by_rank = pe_part(base, &at, n * sizeof(*s->by_rank));
	s->window = pe_part(base, &at, (windows + n) * sizeof(*s->window));
	s->pack.window = pe_part(base, &at, windows * sizeof(*s->window));
	s->pack.edge = pe_part(base, &at, edges * sizeof(*s->pack.edge));
	s->pack.max_windows = (uint32_t)windows;
	s->pack.max_edges = (uint32_t)edges;
	s->now.offset = pe_part(base, &at, n * sizeof(float));
	for (unsigned i = 0; i < SL_PER_ELITE; i++)
		s->elite[i].offset = pe_part(base, &at, n * sizeof(float));
	s->heap.entry = pe_part(base, &at, sl_heap_size(lanes));
	return at;
}

static size_t pe_size(const struct sl_policy_limits *limits)
{
	struct sl_per s;

	return pe_layout(&s, NULL, limits->lanes);
}

static void pe_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		    sl_time now)
{
	struct sl_per *s = state;

	pe_layout(s, state, limits->lanes);
	sl_heap_init(&s->heap, s->heap.entry, limits->lanes);
	s->lanes = limits->lanes;
	s->rule = (uint32_t)values[P_RULE];
	s->longest = (double)values[P_LONGEST] / 100;
	s->growth = 1 + (double)values[P_EPSILON] / 1000;
	s->effort = (uint64_t)values[P_EFFORT] * 100000;
	s->slack = (double)values[P_SLACK] / 1000;
	s->spare = (uint32_t)values[P_SPARE];
	s->origin = now;
}

static void pe_init_throughput(void *state, const struct sl_policy_limits *limits,
			       const int64_t *values, sl_time now)
{
	struct sl_per *s = state;

	pe_init(state, limits, values, now);
	s->throughput = true;
}

/*
 * A plan is equally good from any starting point. The job with the longest cycle would wait longest
 * for its first window, so the plan starts such that this window begins when the job first asks.
 */
static sl_time pe_shift(const struct sl_per *s)
{
	const struct sl_per_job *slowest = NULL;

	for (uint32_t i = 0; i < s->jobs; i++)
		if (s->job[i].count && (!slowest || slowest->cycle_ns < s->job[i].cycle_ns))
			slowest = &s->job[i];
	return slowest ? s->window[slowest->first].start - slowest->compute_ns : 0;
}

static int pe_plan(void *state, const struct sl_plan_job *jobs, uint32_t n, double capacity_bps,
		   sl_time now)
{
	struct sl_per *s = state;
	int err = sl_per_plan(s, jobs, n, capacity_bps);

	if (!err)
		s->origin = now - pe_shift(s);
	return err;
}

/* ---- where in its plan a job is ---- */

static const struct sl_per_job *pe_find(const struct sl_per *s, uint64_t job)
{
	uint32_t n = s->period_ns ? s->jobs : 0, at = 0;
	const struct sl_per_job *j;

	if (!n)
		return NULL;
	/* Without branches: a predictor could not guess the half. */
	for (; n > 1; n -= n / 2)
		at += n / 2 * (s->id[at + n / 2] <= job);
	j = &s->job[s->by_id[at]];
	return j->job == job && j->count ? j : NULL;
}

/*
 * The last window that has begun, counted from the origin, the time until its end, and the next
 * one.
 */
struct pe_turn {
	int64_t number;
	sl_time end, next;
	double rate_bps;
};

/*
 * `near`: the period of a nearby time, to avoid the division, which costs more than all the rest.
 */
static int64_t pe_period(const struct sl_per *s, sl_time rel, int64_t near)
{
	sl_time in = rel - near * s->period_ns;

	assert(s->period_ns > 0);
	if (in >= 0 && in < s->period_ns)
		return near;
	if (in < 0 && in >= -s->period_ns)
		return near - 1;
	return rel / s->period_ns - (rel % s->period_ns < 0);
}

static struct pe_turn pe_turn(const struct sl_per *s, const struct sl_per_job *j, sl_time at,
			      int64_t near)
{
	const struct sl_per_window *w = &s->window[j->first];
	sl_time rel = at - s->origin - w[0].start;
	int64_t period = pe_period(s, rel, near);
	sl_time base = s->origin + period * s->period_ns, in = rel - period * s->period_ns;
	uint32_t low = 0, high = j->count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (w[middle].start - w[0].start <= in)
			low = middle;
		else
			high = middle;
	}
	return (struct pe_turn){
		.number = period * j->count + low,
		.end = base + w[low].end,
		.next = low + 1 < j->count ? base + w[low + 1].start
					   : base + s->period_ns + w[0].start,
		.rate_bps = w[low].rate_bps,
	};
}

/* Whether a window that this phase should have used has ended; `at` is the present turn. */
static bool pe_late(const struct sl_per *s, const struct sl_per_job *j, const struct sl_io_job *io,
		    const struct pe_turn *at, sl_time now, int64_t near)
{
	struct pe_turn due = pe_turn(s, j, io->asked, near);

	if (due.end <= io->asked) { /* asked between two windows */
		sl_time before = io->io_end < io->asked ? io->io_end : io->asked;

		if (due.number > pe_turn(s, j, before, near).number)
			return true;
		due.number++;
	}
	return at->number > due.number || (at->number == due.number && at->end <= now);
}

/* ---- decisions ---- */

enum pe_class { PE_FIRST, PE_WINDOW, PE_SPARE, PE_WAITS };

/* Sets the rate of a PE_WINDOW job; for others, a key in the order in which they asked. */
static enum pe_class pe_class(const struct sl_per *s, struct sl_io_job *io, sl_time now,
			      int64_t near, sl_time *wake)
{
	const struct sl_per_job *j = pe_find(s, io->job);
	struct pe_turn turn;

	io->rate_bps = (double)(io->asked - now);
	if (!j) {
		if (!s->period_ns || now - io->asked >= s->period_ns)
			return PE_FIRST;
		if (*wake > io->asked + s->period_ns)
			*wake = io->asked + s->period_ns;
		return PE_SPARE;
	}
	turn = pe_turn(s, j, now, near);
	if (now < turn.end) {
		if (*wake > turn.end)
			*wake = turn.end;
		io->rate_bps = turn.rate_bps < io->cap_bps ? turn.rate_bps : io->cap_bps;
		return PE_WINDOW;
	}
	if (*wake > turn.next)
		*wake = turn.next;
	if (s->spare == SL_PER_SPARE_ALL ||
	    (s->spare == SL_PER_SPARE_LATE && pe_late(s, j, io, &turn, now, near)))
		return PE_SPARE;
	io->rate_bps = 0;
	return PE_WAITS;
}

static void pe_swap(struct sl_io_job **jobs, uint32_t a, uint32_t b)
{
	struct sl_io_job *j = jobs[a];

	jobs[a] = jobs[b];
	jobs[b] = j;
}

static sl_time pe_decide(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
			 sl_time now)
{
	const struct sl_per *s = state;
	/* Partition the array: first, in a window, may use spare bandwidth, must wait. */
	uint32_t first = 0, inside = 0, spare = n, i = 0;
	const int64_t near = s->period_ns ? (now - s->origin) / s->period_ns : 0;
	sl_time wake = SL_NEVER;
	double left;

	for (uint32_t waits = n; i < waits;) {
		switch (pe_class(s, jobs[i], now, near, &wake)) {
		case PE_FIRST:
			pe_swap(jobs, i, inside);
			pe_swap(jobs, inside++, first++);
			i++;
			break;
		case PE_WINDOW:
			pe_swap(jobs, i++, inside++);
			break;
		case PE_SPARE:
			i++;
			break;
		case PE_WAITS:
			pe_swap(jobs, i, --waits);
			spare = waits;
			break;
		}
	}
	left = sl_grant_serve(jobs, first, capacity_bps);
	for (i = first; i < inside; i++) {
		if (jobs[i]->rate_bps > left)
			jobs[i]->rate_bps = left;
		left -= jobs[i]->rate_bps;
	}
	sl_grant_serve(jobs + inside, spare - inside, left);
	return wake;
}

const struct sl_grant_ops sl_grant_periodic_throughput = {
	.base = { .name = "periodic-throughput",
		  .summary =
			  "simulator only: a repeated plan for one period, for as much computing "
			  "as possible",
		  .source =
			  "Scheduling the I/O of HPC applications under congestion (Gainaru et al. "
			  "2014), section 3.2",
		  .params = params,
		  .state_size = pe_size,
		  .init = pe_init_throughput },
	.plan = pe_plan,
	.decide = pe_decide,
};

const struct sl_grant_ops sl_grant_periodic_congestion = {
	.base = { .name = "periodic-congestion",
		  .summary = "simulator only: a repeated plan for one period, for the slowest job",
		  .source =
			  "Scheduling the I/O of HPC applications under congestion (Gainaru et al. "
			  "2014), section 3.2",
		  .params = params,
		  .state_size = pe_size,
		  .init = pe_init },
	.plan = pe_plan,
	.decide = pe_decide,
};
