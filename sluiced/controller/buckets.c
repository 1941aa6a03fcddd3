/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that several jobs share (rules with `per: user` and the like, policy/rules.c): one
 * *bucket* for all jobs that name it, wherever they run. Nodes report for each job its bucket and
 * the bucket's limit; here it is divided among jobs by what they can use and by weight, then each
 * job's part over its nodes, as divide.c does with the capacity. A node obeys it as a limit of the
 * job. The sum over all parts is the bucket's limit, plus STANDBY of it for idle jobs, so that they
 * can begin.
 *
 *	bucket 60M; a at nodes 0 and 1, b at node 2, c idle at node 2
 *	a 30M: 15M and 15M     b 30M     c .6M
 *
 * A lowered part takes effect when the node receives the order, which may be half a millisecond
 * after another part was raised; this is ignored.
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

static void order(struct brain *b, struct brain_part *p, double bps)
{
	if (!differs(bps, p->bucket_bps))
		return;
	p->bucket_bps = bps;
	pairs_news(b, p);
}

/* A job's part over its nodes; idle_bps: for each node where it does nothing. */
static void over_nodes(struct brain *b, struct brain_job *j, double bps, double idle_bps,
		       sl_time now)
{
	struct sl_divide_job few[DIVIDE_FEW], *part = few;
	uint32_t places = 0, n = 0;

	j->bucket_rate_bps = bps;
	brain_for_parts(p, j)
	{
		places++;
	}
	if (places > DIVIDE_FEW && !(part = malloc(places * sizeof(*part))))
		return;
	brain_for_parts(p, j)
	{
		double want = divide_wants(b, p, now);

		if (want > 0)
			part[n++] = (struct sl_divide_job){
				.max_bps = SL_ALL,
				.want_bps = want,
				.weight = p->clients ? p->clients : 1,
			};
	}
	sl_divide(part, n, bps, NULL, now);
	n = 0;
	brain_for_parts(p, j)
	{
		order(b, p, divide_wants(b, p, now) > 0 ? part[n++].rate_bps : idle_bps);
	}
	if (part != few)
		free(part);
}

static bool divide(struct brain *b, struct brain_job **job, uint32_t count, sl_time now)
{
	double limit = (double)job[0]->bucket_bps;
	uint32_t idle = 0;
	bool wanted = false;

	for (uint32_t i = 0; i < count; i++) {
		struct sl_divide_job *d = &b->dividing[i];
		double want = 0;

		brain_for_parts(p, job[i])
		{
			double here = divide_wants(b, p, now);

			idle += !(here > 0);
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

	for (uint32_t i = 0; b->bucketed && i < b->jobs; i++)
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
