/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build a periodic plan of given length and order, and compute its value.
 *
 * Gainaru et al. 2014, §3.2: jobs get instances one after the other until no more fits. For the
 * orders see enum sl_per_order. With n instances of a job in a period T,
 *
 *	SysEfficiency = sum of procs * n * compute / T over sum of procs
 *	Dilation      = largest T / (n * (compute + I/O alone))
 *
 * Example: two jobs of 1 s computing and 1 s of I/O at full bandwidth. T = 2: the first has its
 * window in 0 .. 1, the second in 1 .. 2; each computes while the other transfers. Both are 1/2
 * efficient, as they would be alone: SysEfficiency 0.5, dilation 1.
 *
 * Slow transfers are our addition. For a dilation of D (`stretch`) a job needs n = ceil(T / (D *
 * cycle)) instances, so each may take T / n, and its I/O T / n - compute. At that rate the job uses
 * only the bandwidth that it needs, and others fit beside it. With `few`, only jobs with that many
 * instances or fewer are slowed down, keeping their n: otherwise a big job that can use all
 * bandwidth would stop all others for a while. PerSched's set 5 has such a job; slowing it improves
 * the dilation from 1.023 to 1.010.
 *
 * The point where the search for a job's first window begins (`offset`) is our addition too: with 0
 * for all, the jobs would begin together and collide again in every period.
 *
 * O(windows * log jobs), plus the cost of packing.
 */
#include "policy/machine/grant/periodic.h"

#include <errno.h>

#define BU_RANK_BITS 22

static uint64_t bu_key(const struct sl_per *s, const struct sl_per_job *j)
{
	uint64_t progress = j->n * (uint64_t)j->cycle_ns, rank = j->rank;
	/* Less than 2: except for guards, n * cycle is not longer than the period. */
	uint64_t part = (uint64_t)((double)progress / (double)s->now.period_ns * 0x1p40);

	if (rank >= 1U << BU_RANK_BITS)
		rank = (1U << BU_RANK_BITS) - 1;
	switch (s->now.order) {
	case SL_PER_WORTHY:
		return j->n ? ((rank + 1) << 41) + part : rank;
	case SL_PER_REVERSED:
		return (((1U << BU_RANK_BITS) - rank) << 41) + part;
	case SL_PER_READY:
		return j->n ? (uint64_t)(s->pack.window[j->tail].end + j->compute_ns) : 0;
	case SL_PER_LARGEST:
		return UINT64_MAX - progress;
	case SL_PER_BALANCED:
		break;
	}
	return progress;
}

static double bu_limit(const struct sl_per_try *t, const struct sl_per_job *j)
{
	double period = (double)t->period_ns, n = period / (double)j->cycle_ns, io, rate;

	if (n < t->few + 1.0) {
		n = n < 1 ? 1 : (double)(uint32_t)n;
	} else if (t->stretch > 0) {
		n /= t->stretch;
		if ((double)(uint64_t)n < n)
			n = (double)(uint64_t)n + 1;
	} else {
		return j->cap_bps;
	}
	io = period / n - (double)j->compute_ns;
	rate = j->bytes / io * 1e9;
	return io > 0 && rate < j->cap_bps ? rate : j->cap_bps;
}

static sl_time bu_offset(const struct sl_per_try *t, const struct sl_per_job *j, uint32_t number)
{
	double cycle = (double)j->cycle_ns * (t->stretch > 1 ? t->stretch : 1);

	return (sl_time)(cycle * (double)t->offset[number]) % t->period_ns;
}

static double bu_instances(const struct sl_per_job *j, sl_time period_ns)
{
	double period_s = (double)period_ns * 1e-9;

	if (j->bytes <= 0)
		return j->cycle_s > 0 ? period_s / j->cycle_s : 0;
	if (j->always_bps > 0)
		return period_s / (j->compute_s + j->bytes / j->always_bps);
	return j->n;
}

/*
 * Compute efficiency and dilation of the jobs in s->pack, ignoring jobs without computing or I/O.
 */
static void bu_judge(const struct sl_per *s, double *efficiency, double *dilation)
{
	double period_s = (double)s->pack.period_ns * 1e-9, work = 0, worst = 1;

	for (uint32_t i = 0; i < s->jobs; i++) {
		const struct sl_per_job *j = &s->job[i];
		double n = bu_instances(j, s->pack.period_ns);

		if (j->cycle_s <= 0)
			continue;
		work += j->procs * j->compute_s * n;
		if (n <= 0)
			worst = __builtin_inf();
		else if (period_s > worst * n * j->cycle_s)
			worst = period_s / (n * j->cycle_s);
	}
	*efficiency = work / period_s / s->procs;
	*dilation = worst;
}

/* Ties are broken by the other objective. */
static double bu_value(const struct sl_per *s)
{
	double efficiency, dilation;

	bu_judge(s, &efficiency, &dilation);
	if (dilation > 1e9) /* a job has no window: the worst plan */
		dilation = 1e9;
	if (!s->throughput)
		return dilation - efficiency * 1e-7;
	if (dilation >= 1e9 && s->now.order != SL_PER_REVERSED)
		return 1 - efficiency;
	return -efficiency + dilation * 1e-17;
}

int sl_per_build(struct sl_per *s)
{
	const struct sl_heap_entry *top;
	double capacity_bps = s->capacity_bps;

	for (uint32_t i = 0; i < s->jobs; i++) {
		struct sl_per_job *j = &s->job[i];

		j->n = 0;
		j->limit_bps = bu_limit(&s->now, j);
		capacity_bps -= j->always_bps;
		if (j->bytes > 0 && j->always_bps <= 0)
			sl_heap_set(&s->heap, i, bu_key(s, j));
	}
	sl_per_pack_open(&s->pack, s->now.period_ns, capacity_bps);
	s->pack.eager = s->now.eager;
	while ((top = sl_heap_top(&s->heap))) {
		uint32_t i = top->id;
		struct sl_per_job *j = &s->job[i];

		if (s->pack.steps > 2 * s->effort)
			break;
		s->pack.steps += 4;
		if (sl_per_pack_insert(&s->pack, j, i, bu_offset(&s->now, j, i)))
			sl_heap_set(&s->heap, i, bu_key(s, j));
		else
			sl_heap_remove(&s->heap, i);
	}
	if (top) {
		while ((top = sl_heap_top(&s->heap)))
			sl_heap_remove(&s->heap, top->id);
		return -ENOSPC;
	}
	s->now.value = bu_value(s);
	return 0;
}

void sl_per_keep(struct sl_per *s)
{
	s->windows = 0;
	s->period_ns = s->pack.period_ns;
	for (uint32_t i = 0; i < s->jobs; i++) {
		struct sl_per_job *j = &s->job[i];

		j->first = s->windows;
		j->instances = bu_instances(j, s->period_ns);
		if (j->always_bps > 0)
			s->window[s->windows++] = (struct sl_per_window){ .start = 0,
									  .end = s->period_ns,
									  .rate_bps = j->always_bps,
									  .job = i,
									  .next = SL_PER_NONE };
		for (uint32_t k = j->n ? j->head : SL_PER_NONE; k != SL_PER_NONE;
		     k = s->pack.window[k].next) {
			struct sl_per_window *w = &s->window[s->windows++];

			*w = s->pack.window[k];
			if (s->pack.window[j->head].start >= s->period_ns) {
				w->start -= s->period_ns;
				w->end -= s->period_ns;
			}
		}
		j->count = s->windows - j->first;
	}
	bu_judge(s, &s->sys_efficiency, &s->dilation);
	s->best = s->now.value;
}

/*
 * Place the jobs on shelves, longest first; a shelf is as long as its first job. O(jobs log jobs)
 * for any input, so there is a plan even if a search would take too long.
 */
int sl_per_shelves(struct sl_per *s)
{
	double avail_bps = s->capacity_bps, left_bps = 0;
	sl_time from = 0, end = 0, longest = 0;
	const struct sl_heap_entry *top;

	for (uint32_t i = 0; i < s->jobs; i++) {
		s->job[i].n = 0;
		avail_bps -= s->job[i].always_bps;
	}
	for (uint32_t i = 0; i < s->jobs; i++) {
		struct sl_per_job *j = &s->job[i];

		j->limit_bps = j->cap_bps < avail_bps ? j->cap_bps : avail_bps;
		if (j->bytes > 0 && j->always_bps <= 0)
			sl_heap_set(&s->heap, i, ~(uint64_t)sl_per_length(j->bytes, j->limit_bps));
	}
	sl_per_pack_open(&s->pack, 0, 0);
	while ((top = sl_heap_top(&s->heap))) {
		struct sl_per_job *j = &s->job[top->id];
		sl_time length = sl_per_length(j->bytes, j->limit_bps);

		if (j->limit_bps > left_bps) {
			from = end;
			end += length;
			left_bps = avail_bps;
		}
		left_bps -= j->limit_bps;
		j->n = 1;
		j->head = j->tail = s->pack.windows;
		s->pack.window[s->pack.windows++] =
			(struct sl_per_window){ .start = from,
						.end = from + length,
						.rate_bps = j->bytes / (double)length * 1e9,
						.job = top->id,
						.next = SL_PER_NONE };
		if (longest < length + j->compute_ns)
			longest = length + j->compute_ns;
		sl_heap_remove(&s->heap, top->id);
		if (end > SL_PER_MAX_NS || longest > SL_PER_MAX_NS)
			break;
	}
	s->pack.period_ns = end > longest ? end : longest;
	if (top) {
		while ((top = sl_heap_top(&s->heap)))
			sl_heap_remove(&s->heap, top->id);
		return -ERANGE;
	}
	if (!s->pack.period_ns)
		s->pack.period_ns = 1; /* nobody does I/O */
	s->now.order = SL_PER_BALANCED;
	s->now.value = bu_value(s);
	return 0;
}
