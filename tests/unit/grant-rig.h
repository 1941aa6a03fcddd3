/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the grant policies have in common: one instance of a policy and the jobs that
 * want I/O. Every decision is checked for what holds under any policy: no job over its cap, all
 * together not over the capacity, and nobody with rate 0 while some is left.
 */
#ifndef SL_TEST_GRANT_RIG_H
#define SL_TEST_GRANT_RIG_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/ds/random.h"
#include "policy/policy.h"

#define SEC   INT64_C(1000000000)
#define MSEC  INT64_C(1000000)
#define GUARD 64
#define JOBS  10000

struct grant {
	const struct sl_grant_ops *ops;
	unsigned char *block;
	void *state;
	size_t size;
	int64_t values[SL_MAX_PARAMS];
	double capacity;
	sl_time now, wake;
	struct sl_io_job *jobs; /* job i has the id i + 1 */
	struct sl_io_job **order;
	uint32_t n;
	uint64_t seed, random;
};

static inline uint64_t rnd(struct grant *g)
{
	return sl_splitmix64(&g->random);
}

static inline uint64_t rnd_below(struct grant *g, uint64_t n)
{
	return rnd(g) % n;
}

static inline double rnd_real(struct grant *g, double from, double to)
{
	return from + (to - from) * (double)(rnd(g) >> 11) / 9007199254740992.0;
}

struct setting {
	const char *name;
	int64_t value;
};
#define END ((struct setting){ NULL, 0 })

static inline void grant_set(struct grant *g, const struct setting *setting)
{
	const struct sl_param *params = g->ops->base.params;

	for (unsigned i = 0; params && params[i].name; i++)
		if (strcmp(params[i].name, setting->name) == 0) {
			assert_in_range(setting->value, params[i].min, params[i].max);
			g->values[i] = setting->value;
			return;
		}
	fail_msg("%s has no parameter %s", g->ops->base.name, setting->name);
}

/* grant_open(g, ops, capacity, { "name", value }, .., END): the others have their defaults. */
#define grant_open(g, ops, capacity, ...) \
	grant_open_with(g, ops, capacity, (const struct setting[]){ __VA_ARGS__ })

static inline void grant_open_with(struct grant *g, const struct sl_grant_ops *ops, double capacity,
				   const struct setting *setting)
{
	struct sl_policy_limits limits = { .lanes = JOBS };
	const char *seed = getenv("SL_SEED");

	memset(g, 0, sizeof(*g));
	g->ops = ops;
	g->capacity = capacity;
	g->now = 1000 * SEC;
	g->seed = g->random = seed ? strtoull(seed, NULL, 0) : 1;
	for (unsigned i = 0; ops->base.params && ops->base.params[i].name; i++)
		g->values[i] = ops->base.params[i].def;
	for (; setting->name; setting++)
		grant_set(g, setting);
	g->size = sl_policy_size(&ops->base, &limits);
	g->block = aligned_alloc(64, (g->size + 2 * GUARD + 16 + 63) / 64 * 64);
	assert_non_null(g->block);
	memset(g->block, 0xa5, g->size + 2 * GUARD + 16);
	g->state = g->block + GUARD + 16;
	memset(g->state, 0, g->size);
	g->jobs = calloc(JOBS, sizeof(*g->jobs));
	g->order = calloc(JOBS, sizeof(struct sl_io_job *));
	assert_true(g->jobs && g->order);
	sl_policy_init(&ops->base, g->state, &limits, g->values, 0);
}

static inline void grant_close(struct grant *g)
{
	for (size_t i = 0; i < GUARD; i++) {
		assert_int_equal(g->block[i], 0xa5);
		assert_int_equal(g->block[GUARD + 16 + g->size + i], 0xa5);
	}
	free(g->block);
	free(g->jobs);
	free(g->order);
}

/* The parameter has this value, and the policy begins anew. */
static inline void grant_with(struct grant *g, const char *name, int64_t value)
{
	struct sl_policy_limits limits = { .lanes = JOBS };

	grant_set(g, &(struct setting){ name, value });
	memset(g->state, 0, g->size);
	sl_policy_init(&g->ops->base, g->state, &limits, g->values, 0);
}

/* A case whose *state is an instance of this policy, with capacity 10. */
#define GRANT_CASE(ops, name) \
	cmocka_unit_test_prestate_setup_teardown(name, grant_setup, grant_teardown, (void *)&(ops))

static inline int grant_setup(void **state)
{
	struct grant *g = test_calloc(1, sizeof(*g));

	grant_open(g, *state, 10, END);
	*state = g;
	return 0;
}

static inline int grant_teardown(void **state)
{
	grant_close(*state);
	test_free(*state);
	return 0;
}

/* One more job that has just asked for 100 bytes, with 1 processor and 1 s of computing. */
static inline struct sl_io_job *grant_add(struct grant *g, double cap)
{
	struct sl_io_job *j = &g->jobs[g->n];

	assert_true(g->n < JOBS);
	*j = (struct sl_io_job){ .job = ++g->n,
				 .procs = 1,
				 .cap_bps = cap,
				 .asked = g->now,
				 .compute_s = 1,
				 .bytes = 100,
				 .left_bytes = 100 };
	return j;
}

/* It came `since` s ago, has ended one instance, which takes `alone` s alone, `work` of it
 * computing. */
static inline void grant_past(struct grant *g, struct sl_io_job *j, double since, double alone,
			      double work)
{
	j->released = g->now - (sl_time)(since * 1e9);
	j->ended = 1;
	j->alone_s = alone;
	j->work_s = work;
}

/* For conditions inside random tests. */
#define check(g, what)                                                                             \
	do {                                                                                       \
		if (!(what))                                                                       \
			fail_msg("line %d: %s (SL_SEED=%" PRIu64 ")", __LINE__, #what, (g)->seed); \
	} while (0)

/* Decides over all jobs, handed over in random order: that must not matter. */
static inline void grant_decide(struct grant *g)
{
	double sum = 0;
	bool waits = false;

	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t k = (uint32_t)rnd_below(g, i + 1);

		g->order[i] = g->order[k];
		g->order[k] = &g->jobs[i];
		g->jobs[i].rate_bps = -1;
	}
	g->wake = g->ops->decide(g->state, g->order, g->n, g->capacity, g->now);
	for (uint32_t i = 0; i < g->n; i++) {
		check(g, g->jobs[i].rate_bps >= 0);
		check(g, g->jobs[i].rate_bps <= g->jobs[i].cap_bps * (1 + 1e-9));
		sum += g->jobs[i].rate_bps;
		waits = waits || g->jobs[i].rate_bps == 0;
	}
	check(g, sum <= g->capacity * (1 + 1e-9));
	check(g, !waits || sum >= g->capacity * (1 - 1e-9));
	check(g, g->wake > g->now);
}

/* grant_expect(g, rate of job 1, rate of job 2, ..): decides, and these are the rates. */
#define grant_expect(g, ...)                                                                    \
	grant_expect_with(g, (const double[]){ __VA_ARGS__ },                                   \
			  (uint32_t)(sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double)), \
			  __LINE__)

static inline void grant_expect_with(struct grant *g, const double *rates, uint32_t n, int line)
{
	grant_decide(g);
	assert_int_equal(n, g->n);
	for (uint32_t i = 0; i < n; i++) {
		double off = g->jobs[i].rate_bps - rates[i];

		if (off > 1e-9 * g->capacity || off < -1e-9 * g->capacity)
			fail_msg("line %d: job %" PRIu32 " has %g, not %g", line, i + 1,
				 g->jobs[i].rate_bps, rates[i]);
	}
}

#endif
