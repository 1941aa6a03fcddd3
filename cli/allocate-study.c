/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice allocate --study`: the study of GekkoFWD (Bez et al. 2021, section 3.2, Figures 2 and 3).
 *
 * Sets of jobs are drawn at random from the curves; for each number of I/O nodes every policy
 * decides for every set, and what counts is the sum of the bandwidths (Equation 2). Reported are
 * least, median and most over the sets, and the same of the ratios to static, set by set.
 *
 * The curves of a set are different ones while there are enough, as in the paper; of fewer than a
 * set has, each is drawn anew for every job. Set i is the same for all policies and numbers of I/O
 * nodes. Threads take one number of I/O nodes after the other, and each has its own place for
 * results, so that what comes out does not depend on how many there are.
 */
#include "cli/allocate.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define PROGRESS_AFTER_S 1.0
#define PROGRESS_STEP_NS 100000000
#define PROGRESS_WIDTH	 40
#define SAME		 1e-9 /* apart, as part of it: the order of adding */

/* ---- sets ---- */

struct st_draw {
	uint64_t state;
	uint32_t *order; /* all that can be drawn */
	uint32_t n;
};

/* splitmix64 */
static uint64_t st_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint32_t st_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((st_random(state) >> 32) * n >> 32);
}

static void st_set(struct st_draw *d, uint32_t *pick, uint32_t sample)
{
	for (uint32_t i = 0; i < sample; i++) {
		uint32_t k, chosen;

		if (sample > d->n) {
			pick[i] = d->order[st_below(&d->state, d->n)];
			continue;
		}
		/* Any order to begin with is as good: what was drawn before stays where it is. */
		k = i + st_below(&d->state, d->n - i);
		chosen = d->order[k];
		d->order[k] = d->order[i];
		pick[i] = d->order[i] = chosen;
	}
}

/* ---- one number of I/O nodes ---- */

struct st_work {
	struct study *s;
	atomic_uint_fast64_t next, done; /* numbers of I/O nodes; sets */
	atomic_bool failed;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	uint32_t running;
};

struct st_room {
	struct allocate_run *run; /* one for each policy */
	double *sum;		  /* by policy and set */
	double *ratio;		  /* by set */
	uint32_t *pick;
	struct st_draw draw;
};

static int st_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts them. */
static void st_figures(double *values, uint32_t n, double out[STUDY_FIGURES])
{
	if (!n) {
		out[STUDY_LEAST] = out[STUDY_MEDIAN] = out[STUDY_MOST] = NAN;
		return;
	}
	qsort(values, n, sizeof(values[0]), st_by_value);
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
		atomic_fetch_add_explicit(&w->done, 1, memory_order_relaxed);
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

static void *st_thread(void *arg)
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
	pthread_mutex_lock(&w->lock);
	w->running--;
	pthread_cond_signal(&w->ended);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void st_progress(struct st_work *w, double passed_s)
{
	const uint64_t all = (uint64_t)w->s->count * w->s->a->repeat;
	const uint64_t done = atomic_load(&w->done);
	int full = (int)(done * PROGRESS_WIDTH / all);

	fprintf(stderr, "\r[%.*s%*s] %.0f %%", full, "########################################",
		PROGRESS_WIDTH - full, "", 100.0 * (double)done / (double)all);
	if (done)
		fprintf(stderr, ", %.0f s left", passed_s * (double)(all - done) / (double)done);
	fputs("\033[K", stderr);
	fflush(stderr);
}

/* Until all threads have ended. */
static void st_wait(struct st_work *w)
{
	bool terminal = isatty(STDERR_FILENO), shown = false;
	double passed_s = 0;

	pthread_mutex_lock(&w->lock);
	while (w->running) {
		struct timespec until;

		if (!terminal) {
			pthread_cond_wait(&w->ended, &w->lock);
			continue;
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += PROGRESS_STEP_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_cond_timedwait(&w->ended, &w->lock, &until) != ETIMEDOUT)
			continue;
		passed_s += PROGRESS_STEP_NS / 1e9;
		shown = passed_s > PROGRESS_AFTER_S;
		if (shown)
			st_progress(w, passed_s);
	}
	pthread_mutex_unlock(&w->lock);
	if (shown)
		fputs("\r\033[K", stderr);
}

static int st_threads(struct st_work *w)
{
	const struct study *s = w->s;
	uint32_t threads = s->a->threads < s->count ? s->a->threads : s->count, started = 0;
	pthread_t *thread = calloc(threads, sizeof(*thread));
	int rc = 0;

	if (!thread)
		return cli_fail(ALLOCATE_CMD, "out of memory.");
	w->running = threads;
	while (started < threads && !(rc = pthread_create(&thread[started], NULL, st_thread, w)))
		started++;
	pthread_mutex_lock(&w->lock);
	w->running -= threads - started; /* what there is will do, if there is any */
	pthread_mutex_unlock(&w->lock);
	st_wait(w);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	if (!started)
		return cli_fail(ALLOCATE_CMD, "cannot start a thread: %s.", strerror(rc));
	return atomic_load(&w->failed) ? cli_fail(ALLOCATE_CMD, "out of memory.") : CLI_OK;
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
	struct st_work w = { .s = out,
			     .lock = PTHREAD_MUTEX_INITIALIZER,
			     .ended = PTHREAD_COND_INITIALIZER };
	int status;

	*out = (struct study){ .a = a, .count = a->to - a->from + 1 };
	for (uint32_t p = 0; p < a->n_policies; p++)
		st_policy(out, a->policy[p]);
	out->n_policies = out->n_all;
	out->is_static = st_policy(out, &sl_allocate_static);
	out->is_oracle = st_policy(out, &sl_allocate_oracle);
	out->point = calloc((size_t)out->count * out->n_all, sizeof(out->point[0]));
	if (!out->point)
		return cli_fail(ALLOCATE_CMD, "out of memory.");
	status = st_threads(&w);
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
