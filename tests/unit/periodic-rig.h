/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the periodic policies have in common: one policy and its plan, jobs, a check
 * that a plan can be carried out, and a small machine that carries it out.
 */
#ifndef SL_TEST_PERIODIC_RIG_H
#define SL_TEST_PERIODIC_RIG_H

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/ds/random.h"
#include "policy/machine/grant/periodic.h"

#define SEC    INT64_C(1000000000)
#define GB     1e9
#define NEAR_1 1e-9

static const struct sl_grant_ops *const both[] = { &sl_grant_periodic_throughput,
						   &sl_grant_periodic_congestion };

struct setting {
	const char *name;
	int64_t value;
};
#define END ((struct setting){ NULL, 0 })

struct rig {
	const struct sl_grant_ops *ops;
	struct sl_per *s;
	uint32_t lanes;
	double capacity;
};

/* rig_open(r, ops, lanes, capacity, { "name", value }, .., END): the others have their defaults. */
#define rig_open(r, ops, lanes, capacity, ...) \
	rig_open_with(r, ops, lanes, capacity, (const struct setting[]){ __VA_ARGS__ })

static inline void rig_open_with(struct rig *r, const struct sl_grant_ops *ops, uint32_t lanes,
				 double capacity, const struct setting *setting)
{
	struct sl_policy_limits limits = { .lanes = lanes };
	const struct sl_param *params = ops->base.params;
	int64_t values[SL_MAX_PARAMS];
	size_t size = sl_policy_size(&ops->base, &limits);

	for (unsigned i = 0; params[i].name; i++) {
		values[i] = params[i].def;
		for (const struct setting *x = setting; x->name; x++)
			if (!strcmp(x->name, params[i].name))
				values[i] = x->value;
	}
	*r = (struct rig){ .ops = ops, .lanes = lanes, .capacity = capacity };
	/* As large as it says and no larger: a sanitizer sees what is beyond. */
	r->s = aligned_alloc(16, size);
	assert_non_null(r->s);
	memset(r->s, 0, size);
	sl_policy_init(&ops->base, r->s, &limits, values, 0);
}

static inline void rig_close(struct rig *r)
{
	free(r->s);
}

static inline int rig_plan(struct rig *r, const struct sl_plan_job *jobs, uint32_t n)
{
	return r->ops->plan(r->s, jobs, n, r->capacity, 0);
}

/* ---- a plan can be carried out ---- */

struct rig_step {
	sl_time at;
	double rate;
};

static inline int rig_by_time(const void *a, const void *b)
{
	const struct rig_step *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->rate > y->rate) - (x->rate < y->rate); /* ends before beginnings */
}

/* The bandwidth at every moment of the period. */
static inline void rig_check_bandwidth(const struct rig *r)
{
	const struct sl_per *s = r->s;
	struct rig_step *step = calloc(4 * (size_t)s->windows + 1, sizeof(*step));
	size_t n = 0;
	double sum = 0;

	assert_non_null(step);
	for (uint32_t i = 0; i < s->windows; i++) {
		const struct sl_per_window *w = &s->window[i];
		sl_time start = w->start % s->period_ns, end = start + w->end - w->start;

		step[n++] = (struct rig_step){ start, w->rate_bps };
		step[n++] =
			(struct rig_step){ end < s->period_ns ? end : s->period_ns, -w->rate_bps };
		if (end > s->period_ns) {
			step[n++] = (struct rig_step){ 0, w->rate_bps };
			step[n++] = (struct rig_step){ end - s->period_ns, -w->rate_bps };
		}
	}
	qsort(step, n, sizeof(*step), rig_by_time);
	for (size_t i = 0; i < n; i++) {
		sum += step[i].rate;
		if (sum > r->capacity)
			fail_msg("at %lld of %lld: %g of %g", (long long)step[i].at,
				 (long long)s->period_ns, sum, r->capacity);
	}
	free(step);
}

/* The windows of a job: its volume each, at no more than its cap, with its computing between. */
static inline void rig_check_job(const struct rig *r, const struct sl_plan_job *job,
				 const struct sl_per_job *j)
{
	const struct sl_per *s = r->s;
	const struct sl_per_window *w = &s->window[j->first];

	assert_true(job->job == j->job);
	assert_true(j->first + j->count <= s->windows);
	if (job->bytes <= 0) {
		assert_int_equal(j->count, 0);
		return;
	}
	if (j->always_bps > 0) {
		assert_int_equal(j->count, 1);
		assert_true(w->end - w->start == s->period_ns);
		assert_true(w->rate_bps <= job->cap_bps);
		return;
	}
	for (uint32_t i = 0; i < j->count; i++) {
		double bytes = (double)(w[i].end - w[i].start) * 1e-9 * w[i].rate_bps;
		sl_time next = i + 1 < j->count ? w[i + 1].start : w[0].start + s->period_ns;

		assert_true(w[i].start >= 0 && w[i].start < w[i].end);
		assert_true(w[i].rate_bps <= job->cap_bps * (1 + NEAR_1));
		assert_true(bytes <= job->bytes * (1 + NEAR_1) &&
			    bytes >= job->bytes * (1 - NEAR_1));
		assert_true((double)(next - w[i].end) >= job->compute_s * 1e9);
	}
	assert_true(!j->count || w[0].start < s->period_ns);
}

/* Feasible, and what it says of itself is so. */
static inline void rig_check(const struct rig *r, const struct sl_plan_job *jobs, uint32_t n)
{
	const struct sl_per *s = r->s;
	double period_s = (double)s->period_ns * 1e-9, work = 0, procs = 0, worst = 1;

	assert_int_equal(s->jobs, n);
	assert_true(s->period_ns > 0);
	for (uint32_t i = 0; i < n; i++) {
		const struct sl_per_job *j = &s->job[i];
		double cap = jobs[i].cap_bps < r->capacity ? jobs[i].cap_bps : r->capacity;
		double alone = jobs[i].compute_s + (jobs[i].bytes > 0 ? jobs[i].bytes / cap : 0);
		double count = j->count;

		rig_check_job(r, &jobs[i], j);
		if (alone <= 0)
			continue;
		if (jobs[i].bytes <= 0)
			count = period_s / alone;
		else if (j->always_bps > 0)
			count = period_s / (jobs[i].compute_s + jobs[i].bytes / j->always_bps);
		procs += jobs[i].procs;
		work += jobs[i].procs * jobs[i].compute_s * count;
		if (period_s > worst * count * alone)
			worst = period_s / (count * alone);
	}
	rig_check_bandwidth(r);
	if (procs > 0) {
		double efficiency = work / period_s / procs;

		assert_true(s->sys_efficiency <= efficiency + 1e-6 &&
			    s->sys_efficiency >= efficiency - 1e-6);
		if (worst < 1e9)
			assert_true(s->dilation <= worst * (1 + 1e-6) &&
				    s->dilation >= worst * (1 - 1e-6));
	}
}

/* ---- a machine with jobs that compute and transfer for ever ---- */

struct rig_app {
	struct sl_io_job io;
	sl_time computes_until; /* 0: it does I/O */
	sl_time from;		/* of what is measured */
	uint64_t instances;	/* since then */
	sl_time longest_wait; /* from asking to the end of the transfer, less what it takes alone */
};

/* Extra computing of instance k of app i, in ns. */
typedef sl_time rig_jitter(uint32_t i, uint64_t k);

/*
 * Runs until `until` and counts instances whose I/O ends at `from` or later. Every decision is
 * checked: no job over its cap, all together not over the capacity, later calls later.
 */
static inline void rig_run(struct rig *r, const struct sl_plan_job *jobs, struct rig_app *apps,
			   uint32_t n, sl_time from, sl_time until, rig_jitter *jitter)
{
	struct sl_io_job **io = calloc((size_t)n + 1, sizeof(*io));
	sl_time now = 0;

	assert_non_null(io);
	for (uint32_t i = 0; i < n; i++)
		apps[i] = (struct rig_app){
			.io = { .job = jobs[i].job,
				.procs = jobs[i].procs,
				.cap_bps = jobs[i].cap_bps,
				.compute_s = jobs[i].compute_s,
				.bytes = jobs[i].bytes },
			.computes_until = (sl_time)(jobs[i].compute_s * 1e9) + 1,
		};
	while (now < until) {
		sl_time next = until, wake;
		uint32_t active = 0;
		double sum = 0;

		for (uint32_t i = 0; i < n; i++) {
			struct rig_app *a = &apps[i];

			if (a->computes_until && a->computes_until <= now) {
				a->computes_until = 0;
				a->io.asked = now;
				a->io.left_bytes = a->io.bytes;
				a->io.started = false;
			}
			if (!a->computes_until)
				io[active++] = &a->io;
			else if (next > a->computes_until)
				next = a->computes_until;
		}
		wake = r->ops->decide(r->s, io, active, r->capacity, now);
		assert_true(wake > now);
		next = next < wake ? next : wake;
		for (uint32_t i = 0; i < n; i++) {
			struct sl_io_job *j = &apps[i].io;
			sl_time ends;

			if (apps[i].computes_until)
				continue;
			assert_true(j->rate_bps >= 0 && j->rate_bps <= j->cap_bps * (1 + NEAR_1));
			sum += j->rate_bps;
			if (j->rate_bps <= 0)
				continue;
			ends = now + sl_per_length(j->left_bytes, j->rate_bps);
			next = next < ends ? next : ends;
		}
		assert_true(sum <= r->capacity * (1 + NEAR_1));
		for (uint32_t i = 0; i < n; i++) {
			struct rig_app *a = &apps[i];
			sl_time wait;

			if (a->computes_until)
				continue;
			a->io.left_bytes -= a->io.rate_bps * (double)(next - now) * 1e-9;
			if (a->io.left_bytes > 1e-9 * a->io.bytes)
				continue;
			wait = next - a->io.asked - sl_per_length(a->io.bytes, a->io.cap_bps);
			if (a->longest_wait < wait)
				a->longest_wait = wait;
			a->io.ended++;
			a->io.io_end = next;
			if (next >= from)
				a->instances++;
			a->computes_until = next + (sl_time)(a->io.compute_s * 1e9) + 1 +
					    (jitter ? jitter(i, a->io.ended) : 0);
		}
		now = next;
	}
	free(io);
}

/* What the machine did: as bu_judge() in periodic-build.c, of what was counted. */
static inline void rig_measure(const struct rig *r, const struct sl_plan_job *jobs,
			       const struct rig_app *apps, uint32_t n, sl_time span_ns,
			       double *efficiency, double *dilation)
{
	double span_s = (double)span_ns * 1e-9, work = 0, procs = 0;

	(void)r;
	*dilation = 0;
	for (uint32_t i = 0; i < n; i++) {
		double alone = jobs[i].compute_s + jobs[i].bytes / jobs[i].cap_bps;
		double count = (double)apps[i].instances;

		work += jobs[i].procs * jobs[i].compute_s * count;
		procs += jobs[i].procs;
		if (span_s > *dilation * count * alone)
			*dilation = span_s / (count * alone);
	}
	*efficiency = work / span_s / procs;
}

/* ---- PerSched's sets ---- */

/*
 * vlefevre/IO-scheduling-simu (MIT), src/sets: kinds of jobs `w vol procs`, and how many of which
 * are in sets 1 to 6; and the published results for w * 64, vol * 100, procs / 64, B = 300, b = 1.
 */
static const struct {
	double w, vol, procs;
} kinds[] = { { 1.2, 235.8, 4096 }, { 240, 423.4, 8192 }, { 7554, 34304, 32768 } };

static const struct {
	unsigned count[3];
	double sys_efficiency, dilation;
} sets[] = {
	{ { 10, 0, 0 }, 0.0973, 1.896 }, { { 8, 1, 0 }, 0.2898, 1.428 },
	{ { 6, 2, 0 }, 0.4798, 1.087 },	 { { 4, 3, 0 }, 0.6474, 1.014 },
	{ { 2, 0, 1 }, 0.8152, 1.024 },	 { { 2, 4, 0 }, 0.8142, 1.005 },
};
#define SETS  (sizeof(sets) / sizeof(sets[0]))
#define SET_B (300 * GB)

static inline uint32_t persched(unsigned set, struct sl_plan_job *jobs)
{
	uint32_t n = 0;

	for (unsigned k = 0; k < 3; k++)
		for (unsigned i = 0; i < sets[set].count[k]; i++, n++) {
			double cap = kinds[k].procs / 64 * GB;

			jobs[n] = (struct sl_plan_job){
				.job = n + 1,
				.procs = (uint32_t)(kinds[k].procs / 64),
				.cap_bps = cap < SET_B ? cap : SET_B,
				.compute_s = kinds[k].w * 64,
				.bytes = kinds[k].vol * 100 * GB,
			};
		}
	return n;
}

static inline bool close_to(double a, double b, double relative)
{
	return fabs(a - b) <= relative * fabs(b);
}

static inline uint64_t rnd(uint64_t *x)
{
	return sl_splitmix64(x);
}

#endif
