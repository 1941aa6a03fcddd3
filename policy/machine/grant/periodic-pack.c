/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pack transfers at constant rates into one period.
 *
 * Gainaru et al. 2014, §3.2.3: "adding greedily an instance" means to find the first instant where
 * the volume can be transferred contiguously with a constant bandwidth. The period is a circle: a
 * transfer that does not end in it continues at its beginning. It is represented by a sorted array
 * of edges, the times at which the free bandwidth changes.
 *
 * The rate of a transfer that starts at s is the least free bandwidth on its way, so the rate falls
 * the longer the transfer lasts. A walk from s follows the edges, keeps the minimum, and ends where
 * the volume fits. We walk from the time when the job is ready, and from each later edge that could
 * be better. The best place is the one with the first end, not the first start: the volume is the
 * same, and the job can continue sooner. But a job that always waits for a faster rate leaves small
 * gaps behind that no other job fills. So each second of delay costs `eager` seconds more.
 *
 * Example: capacity 10, and 8 are taken from 0 to 6. A job of 30 bytes that can use 10 is ready at
 * 0. If it starts at 0 the rate is 2 and it ends at 15; if it starts at 6 the rate is 10 and it
 * ends at 9. With eager = 0 it starts at 6 (9 against 15); with eager = 1 it is a tie, 9 + 6 = 15;
 * with a larger value it starts at 0.
 *
 * A job computes between two of its windows, and also between its last window and the first one of
 * the next period. This is the only condition to check, because a job's windows are made in order.
 *
 * Finding a place is O(log edges + edges looked at), entering it O(edges): a memmove of 16 bytes
 * for each. An insertion that has looked at PK_MAX_STEPS edges takes the best place found so far.
 */
#include "policy/machine/grant/periodic.h"

#include <string.h>

#define PK_MAX_STEPS 65536
#define PK_SLOWEST   1e-6 /* part of a job's cap; a lower rate is a rounding error */
#define PK_FAR	     (1LL << 60)

sl_time sl_per_length(double bytes, double rate_bps)
{
	double ns = bytes / rate_bps * 1e9;

	if (!(ns < (double)PK_FAR))
		return PK_FAR;
	return ns < 1 ? 1 : (sl_time)ns + ((double)(sl_time)ns < ns);
}

void sl_per_pack_open(struct sl_per_pack *p, sl_time period_ns, double capacity_bps)
{
	p->period_ns = period_ns;
	p->edge[0] = (struct sl_per_edge){ .at = 0, .free_bps = capacity_bps };
	p->edges = 1;
	p->windows = 0;
}

/* The edge at or before a time within the period. */
static uint32_t pk_find(const struct sl_per_pack *p, sl_time at)
{
	uint32_t low = 0, high = p->edges;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (p->edge[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static sl_time pk_until(const struct sl_per_pack *p, uint32_t edge)
{
	return edge + 1 < p->edges ? p->edge[edge + 1].at : p->period_ns;
}

/* A time, the edge before it, and the number of the period that contains this edge. */
struct pk_place {
	sl_time at, base;
	uint32_t edge;
};

static void pk_advance(const struct sl_per_pack *p, struct pk_place *x)
{
	x->at = x->base + pk_until(p, x->edge);
	if (++x->edge == p->edges) {
		x->edge = 0;
		x->base += p->period_ns;
	}
}

/* When a transfer that starts at x ends, or `before` if that would be earlier. */
static sl_time pk_walk(struct sl_per_pack *p, const struct sl_per_job *j, struct pk_place x,
		       sl_time before)
{
	const sl_time start = x.at;
	double rate = j->limit_bps;
	sl_time end = start + sl_per_length(j->bytes, rate);

	for (;; pk_advance(p, &x)) {
		p->steps++;
		if (p->edge[x.edge].free_bps < rate) {
			rate = p->edge[x.edge].free_bps;
			if (rate < j->cap_bps * PK_SLOWEST)
				return before;
			end = start + sl_per_length(j->bytes, rate);
		}
		if (end >= before)
			return before;
		if (end <= x.base + pk_until(p, x.edge))
			return end;
	}
}

/* The edge at this time; created if there is none. */
static uint32_t pk_cut(struct sl_per_pack *p, sl_time at)
{
	uint32_t i = pk_find(p, at), rest = p->edges - i - 1;

	if (p->edge[i].at == at)
		return i;
	memmove(&p->edge[i + 2], &p->edge[i + 1], rest * sizeof(p->edge[0]));
	p->edge[i + 1] = (struct sl_per_edge){ .at = at, .free_bps = p->edge[i].free_bps };
	p->edges++;
	p->steps += 4 + rest / 16;
	return i + 1;
}

static void pk_take(struct sl_per_pack *p, sl_time start, sl_time end, double rate_bps)
{
	uint32_t i = pk_cut(p, start);
	uint32_t last = end < p->period_ns ? pk_cut(p, end) : p->edges;

	for (; i < last; i++) {
		p->steps++;
		p->edge[i].free_bps -= rate_bps;
		if (p->edge[i].free_bps < 0)
			p->edge[i].free_bps = 0; /* rounding */
	}
}

static void pk_enter(struct sl_per_pack *p, struct sl_per_job *j, const struct sl_per_window *w)
{
	sl_time start = w->start % p->period_ns, end = start + (w->end - w->start);

	if (j->n++)
		p->window[j->tail].next = p->windows;
	else
		j->head = p->windows;
	j->tail = p->windows;
	p->window[p->windows++] = *w;
	if (end <= p->period_ns) {
		pk_take(p, start, end, w->rate_bps);
	} else {
		pk_take(p, start, p->period_ns, w->rate_bps);
		pk_take(p, 0, end - p->period_ns, w->rate_bps);
	}
}

bool sl_per_pack_insert(struct sl_per_pack *p, struct sl_per_job *j, uint32_t number,
			sl_time offset)
{
	const sl_time shortest = sl_per_length(j->bytes, j->limit_bps);
	const uint64_t enough = p->steps + PK_MAX_STEPS;
	const sl_time whole = p->period_ns - j->compute_ns;
	sl_time start = 0, end = 0, best = PK_FAR; /* best: cost of start and end */
	struct pk_place x;

	if (p->windows == p->max_windows || p->edges + 4 > p->max_edges)
		return false;
	x.at = j->n ? p->window[j->tail].end + j->compute_ns : offset;
	x.base = x.at - x.at % p->period_ns;
	x.edge = pk_find(p, x.at - x.base);
	for (const sl_time ready = x.at; p->steps < enough; pk_advance(p, &x)) {
		sl_time delay = (sl_time)(p->eager * (double)(x.at - ready));
		sl_time latest = (j->n ? p->window[j->head].start : x.at) + whole;
		sl_time before = best - delay < latest + 1 ? best - delay : latest + 1, e;

		if (x.at >= ready + p->period_ns || x.at + shortest >= best - delay ||
		    (j->n && x.at + shortest > latest))
			break;
		e = pk_walk(p, j, x, before);
		if (e < before) {
			start = x.at;
			end = e;
			best = e + delay;
		}
	}
	if (best == PK_FAR)
		return false;
	pk_enter(p, j,
		 &(struct sl_per_window){ .start = start,
					  .end = end,
					  .rate_bps = j->bytes / (double)(end - start) * 1e9,
					  .job = number,
					  .next = SL_PER_NONE });
	return true;
}
