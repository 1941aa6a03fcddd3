/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mckp: give I/O nodes to the jobs that gain most: maximise the sum of the jobs' bandwidths.
 *
 * GekkoFWD (Bez et al. 2021, section 3.1): a multiple-choice knapsack. Each job is a class, its
 * options (options.c) are the items, I/O nodes the weight, the bandwidth of its curve the value.
 * Exactly one item of each class is taken. A job without a curve has one item: the number that
 * static would give it. When jobs share a node because there are too few (no direct access),
 * sharing is an item of weight 0 and value bw(1) / jobs, and the policy divides the other F - 1
 * nodes. Among solutions with the same bandwidth it takes the one with the fewest I/O nodes; among
 * these, one that moves the fewest running jobs.
 *
 * The solution is exact, by dynamic programming. best[i][w] is the largest bandwidth of the first i
 * jobs with exactly w nodes: the maximum, over the options of job i, of best[i-1][w - nodes] +
 * value. All rows are kept, and the chosen options are read back from the last row to the first.
 *
 * Example: F 4; A has 0: 10, 2: 30, 4: 35; B has 0: 5, 1: 12, 2: 13.
 *
 *	w          0   1   2   3   4
 *	best[1]   10   -  30   -  35
 *	best[2]   15  22  35  42  43     43 = 30 + 13 with 2 and 2
 *
 * An option with no more bandwidth than one with fewer nodes is left out: the other option is never
 * worse, and saves nodes. Values are whole numbers stored in doubles, so equal sums compare equal
 * in whatever order they were added. They are bandwidths times a power of two, chosen so that the
 * sum stays below 2^52 / jobs (for 512 jobs the sum is exact to 2^-42 of itself). The lower digits
 * count the jobs that move: the value of an option is bandwidth x K, less 1 if it moves the job,
 * with K > n. So one maximum of doubles decides by both, and the inner loop has no branch.
 *
 * O(F x options of all jobs), memory O(n x F). 512 jobs on 256 I/O nodes: `sluice bench control`;
 * the paper's solver needs 2.7 s.
 */
#include "policy/machine/allocate/options.h"

#define NOTHING (-1e300)	   /* no choice of options has this weight */
#define WHOLE	4503599627370496.0 /* 2^52 */

struct mc_option {
	uint32_t ionodes; /* weight */
	double value;
};

struct mckp {
	uint32_t jobs, ionodes;	   /* limits */
	struct mc_option *options; /* of one job, rising weight and value */
	double *rows;		   /* jobs + 1 times ionodes + 1 */
	void *scratch;
};

/* The data of one decision. */
struct mc_problem {
	struct mckp *s;
	const struct sl_alloc_machine *m;
	uint32_t n, capacity;
	bool shares;
	double scale, moves; /* of a bandwidth; K */
};

static size_t mc_aligned(size_t size)
{
	return (size + 15) & ~(size_t)15;
}

static size_t mc_options_size(const struct sl_policy_limits *l)
{
	return mc_aligned(((size_t)l->ionodes + 2) * sizeof(struct mc_option));
}

static size_t mc_rows_size(const struct sl_policy_limits *l)
{
	return mc_aligned(((size_t)l->lanes + 1) * ((size_t)l->ionodes + 1) * sizeof(double));
}

static size_t mc_size(const struct sl_policy_limits *limits)
{
	return mc_aligned(sizeof(struct mckp)) + mc_options_size(limits) + mc_rows_size(limits) +
	       sl_alloc_size(limits);
}

static void mc_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		    sl_time now)
{
	char *at = (char *)state + mc_aligned(sizeof(struct mckp));
	struct mckp *s = state;

	(void)values, (void)now;
	s->jobs = limits->lanes;
	s->ionodes = limits->ionodes;
	s->options = (struct mc_option *)(void *)at;
	at += mc_options_size(limits);
	s->rows = (double *)(void *)at;
	at += mc_rows_size(limits);
	s->scratch = at;
}

/* ---- the items of a class ---- */

static void mc_add(const struct mc_problem *p, const struct sl_alloc_job *j, uint32_t *count,
		   uint32_t weight, double bps)
{
	struct mc_option *o = &p->s->options[*count];
	double whole = (double)(int64_t)(bps * p->scale + 0.5);
	uint32_t ionodes = weight || !p->shares ? weight : 1;

	o->ionodes = weight;
	o->value = whole * p->moves - (j->running && ionodes != j->has);
	/*
	 * The option before has fewer nodes. Values less than K - 1 apart have the same bandwidth
	 * (K > 3).
	 */
	if (!*count || o->value - o[-1].value >= p->moves - 1)
		++*count;
}

/* Fill s->options; returns their number. jobs[].ionodes and shared still hold static's result. */
static uint32_t mc_options(const struct mc_problem *p, const struct sl_alloc_job *j)
{
	const struct sl_curve_point *first;
	uint32_t count = 0, k = 0;

	if (!j->points) {
		mc_add(p, j, &count, j->shared ? 0 : j->ionodes, 0);
		return count;
	}
	first = sl_alloc_point(j, p->m->direct ? 0 : 1);
	if (p->shares)
		mc_add(p, j, &count, 0, first ? first->bps / p->n : 0);
	else
		mc_add(p, j, &count, p->m->direct ? 0 : 1, first ? first->bps : 0);
	while (k < j->points &&
	       (p->shares ? !j->curve[k].ionodes : j->curve[k].ionodes <= p->s->options[0].ionodes))
		k++;
	for (; k < j->points && j->curve[k].ionodes <= p->capacity; k++)
		if (sl_alloc_divides(j, j->curve[k].ionodes, p->m))
			mc_add(p, j, &count, j->curve[k].ionodes, j->curve[k].bps);
	return count;
}

/* The largest power of two that keeps every sum below 2^52. */
static void mc_scale(struct mc_problem *p, const struct sl_alloc_job *jobs)
{
	double sum = 0;

	for (p->moves = 4; p->moves <= p->n; p->moves *= 2)
		;
	for (uint32_t i = 0; i < p->n; i++) {
		double most = 0;

		for (uint32_t k = 0; k < jobs[i].points; k++)
			most = jobs[i].curve[k].bps > most ? jobs[i].curve[k].bps : most;
		sum += most;
	}
	p->scale = 1;
	if (!(sum > 0))
		return;
	while (sum * p->scale * p->moves < WHOLE / 2)
		p->scale *= 2;
	while (sum * p->scale * p->moves >= WHOLE)
		p->scale /= 2;
}

/* ---- the rows ---- */

/*
 * Compute the row `to` after a job from the row `from`, which is filled up to `reach`. Returns the
 * new reach.
 */
static uint32_t mc_row(const struct mc_problem *p, const struct mc_option *options, uint32_t count,
		       const double *restrict from, uint32_t reach, double *restrict to)
{
	uint32_t most = options[count - 1].ionodes;
	uint32_t end = most < p->capacity - reach ? reach + most : p->capacity;

	for (uint32_t w = 0; w <= end; w++)
		to[w] = NOTHING;
	for (uint32_t k = 0; k < count && options[k].ionodes <= p->capacity; k++) {
		const uint32_t room = p->capacity - options[k].ionodes;
		const uint32_t last = reach < room ? reach : room;
		double *restrict shifted = to + options[k].ionodes;
		const double value = options[k].value;

		for (uint32_t w = 0; w <= last; w++) {
			double sum = from[w] + value;

			shifted[w] = sum > shifted[w] ? sum : shifted[w];
		}
	}
	return end;
}

/* The smallest number of nodes that reaches the largest bandwidth of the row. */
static uint32_t mc_best(const struct mc_problem *p, const double *row, uint32_t reach)
{
	uint32_t best = 0;

	for (uint32_t w = 1; w <= reach; w++)
		if (row[w] > row[best] &&
		    (row[best] <= NOTHING / 2 ||
		     (int64_t)(row[w] + p->moves - 1) / (int64_t)p->moves >
			     (int64_t)(row[best] + p->moves - 1) / (int64_t)p->moves))
			best = w;
	return best;
}

static void mc_decide(void *state, struct sl_alloc_job *jobs, uint32_t n,
		      const struct sl_alloc_machine *m)
{
	struct mckp *s = state;
	const size_t width = (size_t)s->ionodes + 1;
	struct mc_problem p = { .s = s,
				.m = m,
				.n = n,
				.capacity = sl_alloc_capacity(n, m),
				.shares = sl_alloc_shares(n, m) };
	uint32_t reach = 0, w;

	sl_alloc_static(s->scratch, jobs, n, m, false);
	if (!m->ionodes && !m->direct)
		return; /* no job can use an I/O node */
	mc_scale(&p, jobs);
	s->rows[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t count = mc_options(&p, &jobs[i]);

		reach = mc_row(&p, s->options, count, s->rows + i * width, reach,
			       s->rows + (i + 1) * width);
	}
	w = mc_best(&p, s->rows + n * width, reach);
	for (uint32_t i = n; i-- > 0;) {
		const double *row = s->rows + i * width;
		uint32_t count = mc_options(&p, &jobs[i]), k = 0;

		while (k + 1 < count &&
		       (s->options[k].ionodes > w ||
			row[w - s->options[k].ionodes] + s->options[k].value != row[width + w]))
			k++;
		w -= s->options[k].ionodes;
		jobs[i].shared = p.shares && !s->options[k].ionodes;
		jobs[i].ionodes = jobs[i].shared ? 1 : s->options[k].ionodes;
	}
}

const struct sl_allocate_ops sl_allocate_mckp = {
	.base = { .name = "mckp",
		  .summary = "where they gain most: the largest sum of bandwidths",
		  .source = "GekkoFWD (Bez et al. 2021), section 3.1, MCKP",
		  .state_size = mc_size,
		  .init = mc_init },
	.decide = mc_decide,
};
