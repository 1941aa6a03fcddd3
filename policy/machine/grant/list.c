/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that the grant policies share: serving jobs in the order of a key, and by weight.
 *
 * In order (Gainaru et al. 2014, §3.1): at each event the jobs that want I/O are put in the order
 * of the policy, and each in turn gets min(cap, what is left). We need to know only which jobs come
 * before the one that takes the last of the bandwidth; their order among each other does not
 * matter. So instead of sorting, we divide the array by a pivot as in quickselect. If the jobs
 * before the pivot can use all that is left, the others get nothing and we continue among those
 * before. Else those before get their caps, and we continue behind the pivot. O(n) on average.
 *
 * Example: capacity 10, keys A 3, B 1, C 2, D 4, caps 6 each; pivot A. Before it B and C can use
 * 12 of 10: D and A get 0. Pivot C: before it B can use 6, which it gets; C gets the other 4.
 *
 * By weight: a job gets min(cap, level * weight). The array is divided by cap / weight, the level
 * at which a job reaches its cap. If the capacity suffices for the pivot's level, the jobs before
 * it get their caps and we continue behind it; else we continue before it. O(n) on average as well.
 *
 * Example: capacity 10, equal weights, caps 1 2 6 9; pivot 6: a level of 6 would take 1 + 2 + 6 +
 * 6, too much. Pivot 2: 1 + 2 + 2 + 2 fits, so 1 and 2 are at their caps; 7 is left for 6 and 9.
 * Pivot 6 again: 6 + 6 does not fit. So the level is 7 / 2: 1 2 3.5 3.5.
 *
 * Bounded stall (the paper relies on time-outs instead). The stall of a job is (time since its
 * phase began) - (bytes transferred / cap). A job whose stall has reached max_stall is *late*: it
 * goes before all others until its phase ends, and late jobs go in the order in which their phases
 * began. So a late job waits only for late jobs that began earlier, and no policy can starve a job.
 * Stall is time lost, not time since the phase began: a long transfer at full rate is never late.
 * Late jobs go before those that have started (`priority`).
 */
#include "policy/machine/grant/list.h"

/* A smaller part of the capacity is a rounding error, not bandwidth. */
#define GR_NOTHING 1e-12
/* A late job at full rate keeps its stall; rounding must not make the stall look smaller. */
#define GR_SLACK 1e-3
/* A double above this many ns does not fit sl_time. */
#define GR_FAR 4e18

const struct sl_param sl_grant_list_params[] = { SL_GRANT_PRIORITY, SL_GRANT_MAX_STALL, { 0 } };

void sl_grant_list_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
			sl_time now)
{
	struct sl_grant_list *l = state;

	(void)limits, (void)now;
	l->priority = values[0];
	l->max_stall_ns = values[1] * 1000000;
}

/* ---- dividing the array ---- */

static void gr_swap(struct sl_io_job **jobs, uint32_t a, uint32_t b)
{
	struct sl_io_job *j = jobs[a];

	jobs[a] = jobs[b];
	jobs[b] = j;
}

static bool gr_before(double a_key, const struct sl_io_job *a, double b_key,
		      const struct sl_io_job *b)
{
	return a_key != b_key ? a_key < b_key : a->job < b->job;
}

static double gr_key(const struct sl_io_job *j)
{
	return j->rate_bps;
}

static double gr_level(const struct sl_io_job *j)
{
	return j->cap_bps / j->rate_bps;
}

/*
 * Move the jobs before the pivot to its front, and return its index. The pivot is the median of
 * three pseudo-random elements, so no pattern in the array makes the division uneven repeatedly.
 */
static inline uint32_t gr_divide(struct sl_io_job **jobs, uint32_t n,
				 double (*key)(const struct sl_io_job *))
{
	uint32_t last = n - 1, m = 0, p[3];
	uint64_t x = n;
	double pivot;

	for (unsigned i = 0; i < 3; i++) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		p[i] = (uint32_t)(((x >> 32) * n) >> 32);
	}
	for (unsigned i = 0; i < 2; i++) { /* the largest to p[2], then to p[1] */
		for (unsigned k = 0; k < 2 - i; k++) {
			uint32_t a = p[k], b = p[k + 1];

			if (gr_before(key(jobs[b]), jobs[b], key(jobs[a]), jobs[a])) {
				p[k] = b;
				p[k + 1] = a;
			}
		}
	}
	gr_swap(jobs, p[1], last);
	pivot = key(jobs[last]);
	for (uint32_t i = 0; i < last; i++)
		if (gr_before(key(jobs[i]), jobs[i], pivot, jobs[last]))
			gr_swap(jobs, i, m++);
	gr_swap(jobs, m, last);
	return m;
}

/* ---- in order ---- */

double sl_grant_serve(struct sl_io_job **jobs, uint32_t n, double left_bps)
{
	const double nothing = left_bps * GR_NOTHING;
	double left = left_bps;

	while (n && left > nothing) {
		uint32_t m = gr_divide(jobs, n, gr_key);
		double used = 0;

		for (uint32_t i = 0; i < m; i++)
			used += jobs[i]->cap_bps;
		if (used >= left) {
			for (uint32_t i = m; i < n; i++)
				jobs[i]->rate_bps = 0;
			n = m;
			continue;
		}
		for (uint32_t i = 0; i < m; i++)
			jobs[i]->rate_bps = jobs[i]->cap_bps;
		left -= used;
		jobs += m;
		n -= m;
		jobs[0]->rate_bps = left < jobs[0]->cap_bps ? left : jobs[0]->cap_bps;
		left -= jobs[0]->rate_bps;
		jobs++;
		n--;
	}
	for (uint32_t i = 0; i < n; i++)
		jobs[i]->rate_bps = 0;
	return left > nothing ? left : 0;
}

static uint32_t gr_started(struct sl_io_job **jobs, uint32_t n)
{
	uint32_t m = 0;

	for (uint32_t i = 0; i < n; i++)
		if (jobs[i]->started)
			gr_swap(jobs, i, m++);
	return m;
}

double sl_grant_stall_ns(const struct sl_io_job *j, sl_time now)
{
	return (double)(now - j->asked) - (j->bytes - j->left_bytes) / j->cap_bps * 1e9;
}

uint32_t sl_grant_late(const struct sl_grant_list *l, struct sl_io_job **jobs, uint32_t n,
		       double *left_bps, sl_time now)
{
	const double limit_ns = (double)l->max_stall_ns * (1 - GR_SLACK);
	uint32_t late = 0;

	if (!l->max_stall_ns)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		if (sl_grant_stall_ns(jobs[i], now) < limit_ns)
			continue;
		jobs[i]->rate_bps = (double)(jobs[i]->asked - now); /* its key from here on */
		gr_swap(jobs, i, late++);
	}
	*left_bps = sl_grant_serve(jobs, late, *left_bps);
	return late;
}

sl_time sl_grant_wake(const struct sl_grant_list *l, struct sl_io_job **jobs, uint32_t n,
		      sl_time now)
{
	double first = GR_FAR;

	if (!l->max_stall_ns)
		return SL_NEVER;
	for (uint32_t i = 0; i < n; i++) {
		double loses = 1 - jobs[i]->rate_bps / jobs[i]->cap_bps;
		double room = (double)l->max_stall_ns - sl_grant_stall_ns(jobs[i], now);

		if (loses > GR_NOTHING && room < first * loses)
			first = room / loses;
	}
	return first < GR_FAR ? now + (sl_time)first + 1 : SL_NEVER;
}

sl_time sl_grant_in_order(const struct sl_grant_list *l, struct sl_io_job **jobs, uint32_t n,
			  double capacity_bps, sl_time now)
{
	double left = capacity_bps;
	uint32_t late = sl_grant_late(l, jobs, n, &left, now);
	uint32_t going = l->priority ? gr_started(jobs + late, n - late) : 0;

	left = sl_grant_serve(jobs + late, going, left);
	sl_grant_serve(jobs + late + going, n - late - going, left);
	return sl_grant_wake(l, jobs + late, n - late, now);
}

/* ---- by weight ---- */

void sl_grant_by_weight(struct sl_io_job **jobs, uint32_t n, double capacity_bps)
{
	double left = capacity_bps, behind = 0; /* weight of the jobs after these n */
	struct sl_io_job **end = jobs + n;

	while (n) {
		uint32_t m = gr_divide(jobs, n, gr_level);
		double level = gr_level(jobs[m]), caps = jobs[m]->cap_bps, weights = 0;

		for (uint32_t i = 0; i < m; i++)
			caps += jobs[i]->cap_bps;
		for (uint32_t i = m + 1; i < n; i++)
			weights += jobs[i]->rate_bps;
		if (caps + (weights + behind) * level > left) {
			behind += weights + jobs[m]->rate_bps;
			n = m;
			continue;
		}
		for (uint32_t i = 0; i <= m; i++)
			jobs[i]->rate_bps = jobs[i]->cap_bps;
		left -= caps;
		jobs += m + 1;
		n -= m + 1;
	}
	if (left < 0)
		left = 0;
	for (; jobs < end; jobs++)
		jobs[0]->rate_bps *= left / behind;
}
