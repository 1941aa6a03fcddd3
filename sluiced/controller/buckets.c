/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that several jobs share (rules with `per: user` and the like, policy/rules.c): one
 * *bucket* for all jobs that name it, wherever they run. Nodes report for each job its bucket and
 * the bucket's limit; here it is divided among jobs by what they can use and by weight, then each
 * job's part over its nodes, as divide.c does with the capacity. A node obeys it as a limit of the
 * job. The sum over all parts is the bucket's limit, and STANDBY of it for those that do nothing now,
 * so that they can begin.
 *
 *	bucket 60M; a at nodes 0 and 1, b at node 2, c idle at node 2
 *	a 30M: 15M and 15M     b 30M     c .6M
 *
 * A part that is lowered is in force when the node has the order, half a millisecond later than one
 * that is raised elsewhere may be: not counted.
 *
 * O(jobs x nodes + jobs log jobs).
 */
#include "sluiced/controller/private.h"

#include <stdlib.h>

#define STANDBY	 0.02
#define AGAIN_NS INT64_C(50000000)

static int by_bucket(const void *a, const void *b)
{
	const struct brain_job *x = *(struct brain_job *const *)a,
			       *y = *(struct brain_job *const *)b;

	return x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
}

static bool differs(double x, double y)
{
	return x > y * 1.005 || x < y * 0.995;
}

static void order(struct brain *b, struct brain_job *j, uint32_t node, double bps)
{
	struct brain_part *p = &j->part[node];

	if (!p->known || !differs(bps, p->bucket_bps))
		return;
	p->bucket_bps = bps;
	b->node[node].news = b->shifted = true;
}

/* A job's part over its nodes; idle_bps: for each node where it does nothing. */
static void over_nodes(struct brain *b, struct brain_job *j, double bps, double idle_bps,
		       sl_time now)
{
	struct sl_divide_job part[BRAIN_NODES];
	uint32_t at[BRAIN_NODES], n = 0;

	j->bucket_rate_bps = bps;
	for (uint32_t i = 0; i < b->nodes; i++) {
		double want = divide_part_wants(b, &j->part[i], now);

		if (!(want > 0)) {
			order(b, j, i, idle_bps);
			continue;
		}
		at[n] = i;
		part[n++] = (struct sl_divide_job){
			.max_bps = SL_ALL,
			.want_bps = want,
			.weight = j->part[i].clients ? j->part[i].clients : 1,
		};
	}
	sl_divide(part, n, bps, NULL, now);
	for (uint32_t i = 0; i < n; i++)
		order(b, j, at[i], part[i].rate_bps);
}

static bool divide(struct brain *b, struct brain_job **job, uint32_t count, sl_time now)
{
	double limit = (double)job[0]->bucket_bps;
	uint32_t idle = 0;
	bool wanted = false;

	for (uint32_t i = 0; i < count; i++) {
		struct sl_divide_job *d = &b->dividing[i];
		double want = 0;

		for (uint32_t k = 0; k < b->nodes; k++) {
			double here = divide_part_wants(b, &job[i]->part[k], now);

			idle += job[i]->part[k].known && !(here > 0);
			want += here;
		}
		*d = (struct sl_divide_job){ .max_bps = job[i]->max_bps ? (double)job[i]->max_bps
									: SL_ALL,
					     .want_bps = want < SL_ALL ? want : SL_ALL,
					     .weight = job[i]->weight ? job[i]->weight : 1 };
		wanted |= want > 0;
	}
	sl_divide(b->dividing, count, limit, NULL, now);
	for (uint32_t i = 0; i < count; i++)
		over_nodes(b, job[i], b->dividing[i].rate_bps, STANDBY * limit / (idle ? idle : 1),
			   now);
	return wanted;
}

sl_time buckets_divide(struct brain *b, sl_time now)
{
	uint32_t count = 0, first = 0;
	bool wanted = false;

	for (uint32_t i = 0; i < b->jobs; i++)
		if (b->job[i] && b->job[i]->bucket)
			b->divided[count++] = b->job[i];
	qsort(b->divided, count, sizeof(struct brain_job *), by_bucket);
	for (uint32_t i = 1; i <= count; i++) {
		if (i < count && b->divided[i]->bucket == b->divided[first]->bucket)
			continue;
		wanted |= divide(b, b->divided + first, i - first, now);
		first = i;
	}
	return wanted ? now + AGAIN_NS : SL_NEVER;
}
