/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tests of `sluice profile` and their evaluation, after SeRRa (Boito, Kassick, Navaux and
 * Denneulin, "Towards fast profiling of storage devices regarding access sequentiality", SAC 2015):
 * only some sizes are tested and the others estimated, because the time of a request is nearly
 * linear in its size.
 *
 * A test of an operation and a size is a number of pairs of runs, a sequential and a random one, in
 * random order. A run has as many requests as take about 100 ms (less, if the total time is short).
 * Let t and u be the times of a request in the two runs of a pair. The throughputs are geometric
 * means over the pairs, and the logarithm of the ratio is the mean of ln(u / t) with Student's 95 %
 * interval. So a single stall in a run has little effect, and a slow drift affects both runs of a
 * pair.
 *
 *  1. The smallest, the largest and the middle one of the sizes are tested, PAIRS pairs each.
 *  2. The line through the times at the ends is compared with the middle. If it is wrong by more
 *     than 10 % and than the intervals are wide, sequentially or at random or in the ratio,
 *     the middles of both halves are tested in the same way, the worst first.
 *  3. The test with the widest interval gets another pair, until all ratios are within 5 %. Then
 *     lines are compared again with the new figures, and 2 and 3 repeat until no size is added.
 *
 * The measurement ends when the time is over. A size that was not tested is on the line between its
 * tested neighbours. Its interval is the wider one of theirs, plus the error of the line when it
 * was last compared.
 *
 * Example, 8 KiB to 8 MiB on the model hdd: a sequential read of 8 KiB takes 0.118 ms, of 8 MiB
 * 69.955 ms. The line between gives 0.118 + 69.837 * (248 / 8184) = 2.235 ms for 256 KiB, which is
 * what is measured: three sizes of eleven are tested, and the ratio at 16 KiB is
 * 12.787 / 0.187 = 68.5 without a test.
 *
 * Stopping as soon as an interval is narrow favours intervals that are narrow by chance: on a
 * device with 10 % noise, 93 % of the intervals contain the ratio instead of 95 % (2,000 profiles).
 *
 * Departures: SeRRa fits one line to all measurements. Here lines connect neighbours, so a step
 * (for example where a file system begins to split requests) affects only its surroundings. SeRRa
 * gives no intervals.
 */
#include "lab/profile/profile.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lab/statistics.h"
#include "lab/study/sim.h"

#define PAIRS	    5  /* of a test, at first */
#define MOST_PAIRS  30 /* the interval shrinks only with the square root */
#define FEWEST	    2  /* the minimum for an interval */
#define RUN_NS	    100000000
#define RUN_PART    300 /* of the time in all, at most */
#define LINE_ERROR  0.1
#define RATIO_ERROR 0.05
#define WIDEST	    10 /* limit of half an interval: a factor of 22026 */

enum { SEQUENTIAL, RANDOM, RATIO, VALUES };

struct point {
	uint32_t pairs;
	uint32_t requests[2]; /* of a run; 0: not known yet */
	double log_ns[2];     /* mean, of a request */
	double log_ratio;
	double squares[VALUES]; /* of the deviations from these means */
	int64_t pair_ns;	/* that the last pair took */
	double wrong;		/* how wrong the line to the next tested one is */
	bool settled;		/* that line needs no test */
};

struct work {
	const struct profile_plan *plan;
	struct sl_random random;
	struct point point[2][SL_PROFILE_POINTS];
	int64_t run_ns;
};

static int64_t pr_left_ns(const struct work *w)
{
	const struct profile_target *t = &w->plan->target;

	return w->plan->begin_ns + w->plan->time_ns - t->now_ns(t->context);
}

static int64_t pr_measure(struct work *w, uint32_t op, uint32_t i, int mode, uint32_t requests)
{
	const struct profile_target *t = &w->plan->target;

	return t->run(t->context, op, mode == RANDOM, w->plan->size_bytes[i], requests);
}

/* Find the number of requests of a run by test runs that are not counted. */
static int pr_calibrate(struct work *w, uint32_t op, uint32_t i, int mode)
{
	uint64_t most = w->plan->target.file_bytes / w->plan->size_bytes[i] - 1;
	uint32_t n = 2;

	most = most < 1000000 ? most : 1000000;
	for (;;) {
		int64_t ns = pr_measure(w, op, i, mode, n);
		double times;

		if (ns < 0)
			return (int)ns;
		w->point[op][i].requests[mode] = n;
		if (ns > w->run_ns / 2 || n == most)
			return 0;
		/* Flushing takes a fixed time, so do not extrapolate too far. */
		times = (double)w->run_ns / (double)(ns ? ns : 1);
		times = times > 16 ? 16 : times;
		n = (double)n * times < (double)most ? (uint32_t)((double)n * times)
						     : (uint32_t)most;
	}
}

static void pr_add(struct point *p, int which, double *mean, double value)
{
	double delta = value - *mean;

	*mean += delta / p->pairs;
	p->squares[which] += delta * (value - *mean);
}

static int pr_pair(struct work *w, uint32_t op, uint32_t i)
{
	const struct profile_target *t = &w->plan->target;
	struct point *p = &w->point[op][i];
	int first = sl_random_next(&w->random) >> 63 ? RANDOM : SEQUENTIAL;
	int64_t begin;
	double log_ns[2];

	if (w->plan->progress)
		w->plan->progress(w->plan, op, w->plan->size_bytes[i]);
	for (int mode = 0; mode < 2 && !p->pairs; mode++) {
		int rc = pr_calibrate(w, op, i, mode);

		if (rc)
			return rc;
	}
	begin = t->now_ns(t->context);
	for (int k = 0; k < 2; k++) {
		int mode = first ^ k;
		int64_t ns = pr_measure(w, op, i, mode, p->requests[mode]);

		if (ns < 0)
			return (int)ns;
		log_ns[mode] = log((double)(ns ? ns : 1) / p->requests[mode]);
	}
	p->pair_ns = t->now_ns(t->context) - begin;
	p->pairs++;
	for (int mode = 0; mode < 2; mode++)
		pr_add(p, mode, &p->log_ns[mode], log_ns[mode]);
	pr_add(p, RATIO, &p->log_ratio, log_ns[RANDOM] - log_ns[SEQUENTIAL]);
	return 0;
}

/* Half of the interval of a logarithm. */
static double pr_half(const struct point *p, int which)
{
	if (p->pairs < FEWEST)
		return INFINITY;
	return stat_student(p->pairs - 1, 0.95) *
	       sqrt(p->squares[which] / (p->pairs - 1) / p->pairs);
}

/* Time of a request between two tested sizes. */
static double pr_line_ns(const struct work *w, uint32_t op, uint32_t l, uint32_t r, uint32_t i,
			 int mode)
{
	const uint64_t *size = w->plan->size_bytes;
	double x = (double)(size[i] - size[l]) / (double)(size[r] - size[l]);

	return (1 - x) * exp(w->point[op][l].log_ns[mode]) + x * exp(w->point[op][r].log_ns[mode]);
}

/*
 * The middle m was tested: compute the error of the line from l to r, and whether it exceeds noise.
 */
static void pr_compare(struct work *w, uint32_t op, uint32_t l, uint32_t m, uint32_t r)
{
	struct point *p = w->point[op];
	const struct point *at[] = { &p[l], &p[m], &p[r] };
	double wrong[VALUES], most = 0;
	bool settled = true;

	for (int mode = 0; mode < 2; mode++)
		wrong[mode] = log(pr_line_ns(w, op, l, r, m, mode)) - p[m].log_ns[mode];
	wrong[RATIO] = wrong[RANDOM] - wrong[SEQUENTIAL];
	for (int which = 0; which < VALUES; which++) {
		double squares = 0;

		for (int i = 0; i < 3; i++)
			squares += pr_half(at[i], which) * pr_half(at[i], which);
		settled &= fabs(wrong[which]) <= fmax(LINE_ERROR, sqrt(squares));
		most = fmax(most, fabs(wrong[which]));
	}
	p[l].wrong = p[m].wrong = most;
	p[l].settled = p[m].settled = settled;
}

/* Run a pair for each of these tests that has fewer than PAIRS, while time is left. */
static int pr_round(struct work *w, uint32_t op, const uint32_t *which, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		struct point *p = &w->point[op][which[k]];
		int rc;

		if (p->pairs >= PAIRS || pr_left_ns(w) < p->pair_ns)
			continue;
		rc = pr_pair(w, op, which[k]);
		if (rc)
			return rc;
	}
	return 0;
}

/* Ends and middle. */
static int pr_begin(struct work *w)
{
	uint32_t last = w->plan->sizes - 1, middle = last / 2;
	uint32_t which[] = { 0, last, middle };
	uint32_t n = last == 0 ? 1 : last == 1 ? 2 : 3;

	for (uint32_t pair = 0; pair < PAIRS; pair++) {
		for (uint32_t op = 0; op < 2; op++) {
			int rc = w->plan->op[op] ? pr_round(w, op, which, n) : 0;

			if (rc)
				return rc;
		}
	}
	for (uint32_t op = 0; op < 2; op++)
		for (uint32_t k = 0; k < n; k++)
			if (w->plan->op[op] && w->point[op][which[k]].pairs < FEWEST)
				return -ETIME;
	return 0;
}

static uint32_t pr_next(const struct work *w, uint32_t op, uint32_t i)
{
	do
		i++;
	while (i < w->plan->sizes && !w->point[op][i].pairs);
	return i;
}

/* The worst line that needs a test; false: there is none. */
static bool pr_worst(const struct work *w, uint32_t *op, uint32_t *l, uint32_t *r)
{
	double worst = 0;

	for (uint32_t o = 0; o < 2; o++) {
		for (uint32_t i = 0, next; w->plan->op[o] && i < w->plan->sizes; i = next) {
			const struct point *p = &w->point[o][i];

			next = pr_next(w, o, i);
			if (next >= w->plan->sizes || next - i < 2 || p->settled ||
			    p->wrong <= worst)
				continue;
			worst = p->wrong;
			*op = o;
			*l = i;
			*r = next;
		}
	}
	return worst > 0;
}

/* Compare again, with all measurements since. */
static void pr_compare_all(struct work *w, uint32_t op, uint32_t l, uint32_t r)
{
	uint32_t m = l + (r - l) / 2;

	if (r - l < 2 || !w->point[op][m].pairs)
		return;
	pr_compare(w, op, l, m, r);
	pr_compare_all(w, op, l, m);
	pr_compare_all(w, op, m, r);
}

/* Add a test in the middle of the worst line: 1 if it was made, 0 if none is needed or possible. */
static int pr_refine(struct work *w)
{
	uint32_t op = 0, l = 0, r = 0, m;
	int rc = 0;

	if (!pr_worst(w, &op, &l, &r))
		return 0;
	m = l + (r - l) / 2;
	/* It takes at most as long as a test of a larger size, plus the runs to calibrate. */
	if (pr_left_ns(w) < (PAIRS + 2) * w->point[op][r].pair_ns)
		return 0;
	for (uint32_t pair = 0; pair < PAIRS && !rc; pair++)
		rc = pr_round(w, op, &m, 1);
	if (!rc && w->point[op][m].pairs < FEWEST) {
		w->point[op][m].pairs = 0; /* the time is over: treat it as not begun */
		return 0;
	}
	return rc ? rc : 1;
}

/* Add a pair to the widest interval: 1 if it was made, 0 if none is needed or possible. */
static int pr_narrow(struct work *w)
{
	uint32_t op = 2, at = 0;
	double widest = RATIO_ERROR;
	int rc;

	for (uint32_t o = 0; o < 2; o++) {
		for (uint32_t i = 0; i < w->plan->sizes; i++) {
			const struct point *p = &w->point[o][i];

			if (!p->pairs || p->pairs >= MOST_PAIRS || pr_half(p, RATIO) <= widest ||
			    pr_left_ns(w) < p->pair_ns)
				continue;
			widest = pr_half(p, RATIO);
			op = o;
			at = i;
		}
	}
	if (op == 2)
		return 0;
	rc = pr_pair(w, op, at);
	return rc ? rc : 1;
}

static void pr_conclude(const struct work *w, uint32_t op, struct sl_profile *out)
{
	const struct point *p = w->point[op];
	uint32_t l = 0, r = 0;

	for (uint32_t i = 0; i < w->plan->sizes; i++) {
		struct sl_profile_point *to = &out->point[op][i];
		double size = (double)w->plan->size_bytes[i], ns[2], half;

		if (p[i].pairs) {
			l = i;
			r = pr_next(w, op, i);
			half = pr_half(&p[i], RATIO);
		} else {
			half = fmax(pr_half(&p[l], RATIO), pr_half(&p[r], RATIO)) + p[l].wrong;
		}
		half = fmin(half, WIDEST);
		for (int mode = 0; mode < 2; mode++)
			ns[mode] = p[i].pairs ? exp(p[i].log_ns[mode])
					      : pr_line_ns(w, op, l, r, i, mode);
		*to = (struct sl_profile_point){
			.size_bytes = w->plan->size_bytes[i],
			.sequential_bps = size * 1e9 / ns[SEQUENTIAL],
			.random_bps = size * 1e9 / ns[RANDOM],
			.runs = p[i].pairs,
		};
		to->low = to->sequential_bps / to->random_bps * exp(-half);
		to->high = to->sequential_bps / to->random_bps * exp(half);
	}
	out->points[op] = w->plan->sizes;
}

int profile_run(const struct profile_plan *plan, struct sl_profile *out)
{
	struct work w = { .plan = plan, .random = sl_random_stream(plan->seed, 0) };
	int rc;

	w.run_ns = plan->time_ns / RUN_PART < RUN_NS ? plan->time_ns / RUN_PART : RUN_NS;
	rc = pr_begin(&w);
	if (rc)
		return rc;
	do {
		for (uint32_t op = 0; op < 2; op++)
			if (plan->op[op])
				pr_compare_all(&w, op, 0, plan->sizes - 1);
		rc = pr_refine(&w);
		rc = rc ? rc : pr_narrow(&w);
	} while (rc > 0);
	if (rc)
		return rc;
	for (uint32_t op = 0; op < 2; op++)
		if (plan->op[op])
			pr_conclude(&w, op, out);
	out->confidence = 95;
	return 0;
}
