/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice allocate --study`: the study of GekkoFWD (Bez et al. 2021, section 3.2, Figures 2 and 3).
 *
 * Sets of jobs are drawn at random from the curves. For each number of I/O nodes every policy
 * decides for every set; the result is the sum of the bandwidths (Equation 2). We report minimum,
 * median and maximum over the sets, and the same of the ratios to static, set by set.
 *
 * If there are enough curves, the curves of a set are all different, as in the paper; otherwise
 * they are drawn with replacement. Set i is the same for all policies and numbers of I/O nodes.
 * Each thread takes one number of I/O nodes after the other, and each number has its own place for
 * results, so the results do not depend on the number of threads.
 */
#include "lab/allocate/allocate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/ds/random.h"
#include "lab/crew.h"
#include "lab/statistics.h"

#define SAME 1e-9 /* relative difference caused by the order of additions */

/* ---- sets ---- */

struct st_draw {
	uint64_t state;
	uint32_t *order; /* all that can be drawn */
	uint32_t n;
};

static uint32_t st_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((sl_splitmix64(state) >> 32) * n >> 32);
}

static void st_set(struct st_draw *d, uint32_t *pick, uint32_t sample)
{
	for (uint32_t i = 0; i < sample; i++) {
		uint32_t k, chosen;

		if (sample > d->n) {
			pick[i] = d->order[st_below(&d->state, d->n)];
			continue;
		}
		/* Any initial order is good: the array stays permuted by earlier draws. */
		k = i + st_below(&d->state, d->n - i);
		chosen = d->order[k];
		d->order[k] = d->order[i];
		pick[i] = d->order[i] = chosen;
	}
}

/* ---- one number of I/O nodes ---- */

struct st_work {
	struct study *s;
	struct crew crew;	   /* whose tasks are sets */
	atomic_uint_fast64_t next; /* number of I/O nodes */
	atomic_bool failed;
};

struct st_room {
	struct allocate_run *run; /* one for each policy */
	double *sum;		  /* by policy and set */
	double *ratio;		  /* by set */
	uint32_t *pick;
	struct st_draw draw;
};

/* Sorts them. */
static void st_figures(double *values, uint32_t n, double out[STUDY_FIGURES])
{
	if (!n) {
		out[STUDY_LEAST] = out[STUDY_MEDIAN] = out[STUDY_MOST] = NAN;
		return;
	}
	stat_sort(values, n);
	out[STUDY_LEAST] = values[0];
	out[STUDY_MEDIAN] = (values[(n - 1) / 2] + values[n / 2]) / 2;
	out[STUDY_MOST] = values[n - 1];
}

static void st_summarize(const struct study *s, struct st_room *r, struct study_point *point)
{
	const uint32_t repeat = s->a->repeat;
	const double *base = r->sum + (size_t)s->is_static * repeat;
	const double *bound = r->sum + (size_t)s->is_oracle * repeat;

	for (uint32_t p = 0; p < s->n_all; p++) {
		const double *sum = r->sum + (size_t)p * repeat;
		uint32_t n = 0, reached = 0;

		for (uint32_t i = 0; i < repeat; i++) {
			reached += sum[i] >= bound[i] * (1 - SAME);
			if (base[i] > 0)
				r->ratio[n++] = sum[i] / base[i];
		}
		st_figures(r->ratio, n, point[p].ratio);
		point[p].reached = (double)reached / repeat;
	}
	for (uint32_t p = 0; p < s->n_all; p++)
		st_figures(r->sum + (size_t)p * repeat, repeat, point[p].bandwidth);
}

static void st_number(struct st_work *w, struct st_room *r, uint32_t number)
{
	const struct study *s = w->s;
	const struct allocate *a = s->a;
	struct sl_alloc_machine m = a->machine;

	m.ionodes = a->from + number;
	r->draw.state = a->seed;
	memcpy(r->draw.order, a->chosen, a->n_chosen * sizeof(a->chosen[0]));
	for (uint32_t i = 0; i < a->repeat; i++) {
		st_set(&r->draw, r->pick, a->sample);
		for (uint32_t p = 0; p < s->n_all; p++)
			r->sum[(size_t)p * a->repeat + i] =
				allocate_decide(&r->run[p], a, r->pick, &m);
		atomic_fetch_add_explicit(&w->crew.done, 1, memory_order_relaxed);
	}
	st_summarize(s, r, &s->point[(size_t)number * s->n_all]);
}

/* ---- threads ---- */

static void st_room_close(struct st_room *r, const struct study *s)
{
	for (uint32_t p = 0; r->run && p < s->n_all; p++)
		allocate_run_close(&r->run[p]);
	free(r->run);
	free(r->sum);
	free(r->ratio);
	free(r->pick);
	free(r->draw.order);
}

static int st_room_open(struct st_room *r, const struct study *s)
{
	const struct allocate *a = s->a;

	*r = (struct st_room){
		.run = calloc(s->n_all, sizeof(r->run[0])),
		.sum = calloc((size_t)s->n_all * a->repeat, sizeof(r->sum[0])),
		.ratio = calloc(a->repeat, sizeof(r->ratio[0])),
		.pick = calloc(a->sample, sizeof(r->pick[0])),
		.draw = { .order = calloc(a->n_chosen, sizeof(uint32_t)), .n = a->n_chosen },
	};
	if (!r->run || !r->sum || !r->ratio || !r->pick || !r->draw.order)
		return -ENOMEM;
	for (uint32_t p = 0; p < s->n_all; p++)
		if (allocate_run_open(&r->run[p], s->policy[p], a->sample, a->to))
			return -ENOMEM;
	return 0;
}

static void st_work(void *arg)
{
	struct st_work *w = arg;
	const struct study *s = w->s;
	struct st_room r;
	uint64_t number;

	if (st_room_open(&r, s))
		atomic_store(&w->failed, true);
	/* The largest first: they take longest. */
	while (!atomic_load(&w->failed) && (number = atomic_fetch_add(&w->next, 1)) < s->count)
		st_number(w, &r, (uint32_t)(s->count - 1 - number));
	st_room_close(&r, s);
}

/* ---- the study ---- */

static uint32_t st_policy(struct study *s, const struct sl_allocate_ops *ops)
{
	for (uint32_t p = 0; p < s->n_all; p++)
		if (s->policy[p] == ops)
			return p;
	s->policy[s->n_all] = ops;
	return s->n_all++;
}

int study_run(const struct allocate *a, struct study *out)
{
	const uint32_t count = a->to - a->from + 1;
	struct st_work w = { .s = out,
			     .crew = { .command = ALLOCATE_CMD,
				       .work = st_work,
				       .arg = &w,
				       .threads = a->threads < count ? a->threads : count,
				       .tasks = (uint64_t)count * a->repeat } };
	int status;

	*out = (struct study){ .a = a, .count = count };
	for (uint32_t p = 0; p < a->n_policies; p++)
		st_policy(out, a->policy[p]);
	out->n_policies = out->n_all;
	out->is_static = st_policy(out, &sl_allocate_static);
	out->is_oracle = st_policy(out, &sl_allocate_oracle);
	out->point = calloc((size_t)out->count * out->n_all, sizeof(out->point[0]));
	if (!out->point)
		return cli_fail(ALLOCATE_CMD, "out of memory.");
	status = crew_run(&w.crew);
	if (!status && atomic_load(&w.failed))
		status = cli_fail(ALLOCATE_CMD, "out of memory.");
	if (status)
		study_free(out);
	return status;
}

void study_free(struct study *s)
{
	free(s->point);
	s->point = NULL;
}

int64_t study_reaches(const struct study *s, uint32_t policy)
{
	int64_t from = -1;

	for (uint32_t i = s->count; i-- > 0; from = s->a->from + i)
		if (study_at(s, i, policy)->bandwidth[STUDY_MEDIAN] <
		    study_at(s, i, s->is_oracle)->bandwidth[STUDY_MEDIAN] * (1 - SAME))
			break;
	return from;
}

int64_t study_reaches_always(const struct study *s, uint32_t policy)
{
	int64_t from = -1;

	for (uint32_t i = s->count; i-- > 0; from = s->a->from + i)
		if (study_at(s, i, policy)->reached < 1)
			break;
	return from;
}
