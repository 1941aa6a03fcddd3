/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the share policies have in common: one instance of a policy, its lanes, and
 * the steps that a host would take. Jobs are named by letters: lane 0 is A. The state has exactly
 * the size that the policy asked for, is aligned to 16 and no more, and has guards on both sides.
 */
#ifndef SL_TEST_SHARE_RIG_H
#define SL_TEST_SHARE_RIG_H

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

#define KI    UINT64_C(1024)
#define MI    (KI * KI)
#define GI    (KI * MI)
#define TI    (KI * GI)
#define SEC   INT64_C(1000000000)
#define MSEC  INT64_C(1000000)
#define LANES 64
#define GUARD 64

struct share {
	const struct sl_share_ops *ops;
	unsigned char *block;
	void *state;
	size_t size;
	uint32_t lanes;
	int64_t values[SL_MAX_PARAMS];
	sl_time now, wake;
	struct sl_member *m;
	bool *ready;
	uint64_t *sent;	   /* bytes */
	char log[256 + 1]; /* of share_run() */
	uint64_t seed, random;
};

static inline uint64_t rnd(struct share *s)
{
	return sl_splitmix64(&s->random);
}

static inline uint64_t rnd_below(struct share *s, uint64_t n)
{
	return rnd(s) % n;
}

struct setting {
	const char *name;
	int64_t value;
};
#define END ((struct setting){ NULL, 0 })

static inline void share_set(struct share *s, const struct setting *setting)
{
	const struct sl_param *params = s->ops->base.params;

	for (unsigned i = 0; params && params[i].name; i++)
		if (strcmp(params[i].name, setting->name) == 0) {
			assert_in_range(setting->value, params[i].min, params[i].max);
			s->values[i] = setting->value;
			return;
		}
	fail_msg("%s has no parameter %s", s->ops->base.name, setting->name);
}

/* share_open(s, ops, lanes, { "name", value }, .., END): other parameters have their defaults. */
#define share_open(s, ops, lanes, ...) \
	share_open_with(s, ops, lanes, (const struct setting[]){ __VA_ARGS__ })

static inline void share_open_with(struct share *s, const struct sl_share_ops *ops, uint32_t lanes,
				   const struct setting *setting)
{
	struct sl_policy_limits limits = { .lanes = lanes };
	const char *seed = getenv("SL_SEED");

	memset(s, 0, sizeof(*s));
	s->ops = ops;
	s->lanes = lanes;
	s->seed = s->random = seed ? strtoull(seed, NULL, 0) : 1;
	for (unsigned i = 0; ops->base.params && ops->base.params[i].name; i++)
		s->values[i] = ops->base.params[i].def;
	for (; setting->name; setting++)
		share_set(s, setting);
	s->size = sl_policy_size(&ops->base, &limits);
	s->block = aligned_alloc(64, (s->size + 2 * GUARD + 16 + 63) / 64 * 64);
	assert_non_null(s->block);
	memset(s->block, 0xa5, s->size + 2 * GUARD + 16);
	s->state = s->block + GUARD + 16;
	memset(s->state, 0, s->size);
	s->m = calloc(lanes, sizeof(*s->m));
	s->ready = calloc(lanes, sizeof(*s->ready));
	s->sent = calloc(lanes, sizeof(*s->sent));
	assert_true(s->m && s->ready && s->sent);
	for (uint32_t i = 0; i < lanes; i++)
		s->m[i] = (struct sl_member){ .job = i + 1, .oldest = i, .weight = 1 };
	sl_policy_init(&ops->base, s->state, &limits, s->values, 0);
}

static inline void share_close(struct share *s)
{
	for (size_t i = 0; i < GUARD; i++) {
		assert_int_equal(s->block[i], 0xa5);
		assert_int_equal(s->block[GUARD + 16 + s->size + i], 0xa5);
	}
	free(s->block);
	free(s->m);
	free(s->ready);
	free(s->sent);
}

static inline void share_enter(struct share *s, uint32_t lane)
{
	assert_false(s->ready[lane]);
	s->ready[lane] = true;
	s->ops->enter(s->state, lane, &s->m[lane], s->now);
}

static inline void share_leave(struct share *s, uint32_t lane, bool idle)
{
	assert_true(s->ready[lane]);
	s->ready[lane] = false;
	s->ops->leave(s->state, lane, idle, s->now);
}

static inline void share_update(struct share *s, uint32_t lane)
{
	s->ops->update(s->state, lane, &s->m[lane], s->now);
}

static inline int64_t share_pick(struct share *s)
{
	int64_t lane;

	s->wake = SL_NEVER;
	lane = s->ops->pick(s->state, s->now, &s->wake);
	assert_true(lane >= -1 && lane < s->lanes);
	if (lane >= 0)
		assert_true(s->ready[lane]);
	return lane;
}

static inline void share_charge(struct share *s, uint32_t lane, uint64_t bytes)
{
	assert_true(s->ready[lane]);
	s->sent[lane] += bytes;
	s->ops->charge(s->state, lane, &s->m[lane], bytes, 1, s->now);
}

/* One decision; there must be somebody. Who it was. */
static inline uint32_t share_serve(struct share *s, uint64_t bytes)
{
	int64_t lane = share_pick(s);

	if (lane < 0) {
		fail_msg("nobody was chosen (SL_SEED=%" PRIu64 ")", s->seed);
		abort(); /* not reached */
	}
	share_charge(s, (uint32_t)lane, bytes);
	return (uint32_t)lane;
}

/* n decisions of as many bytes each; who was chosen, as letters, '-' for nobody. */
static inline const char *share_run(struct share *s, unsigned n, uint64_t bytes)
{
	assert_true(n < sizeof(s->log));
	for (unsigned i = 0; i < n; i++) {
		int64_t lane = share_pick(s);

		s->log[i] = lane < 0 ? '-' : (char)('A' + lane);
		if (lane >= 0)
			share_charge(s, (uint32_t)lane, bytes);
	}
	s->log[n] = '\0';
	return s->log;
}

/* For conditions inside random tests. */
#define check(s, what)                                                                             \
	do {                                                                                       \
		if (!(what))                                                                       \
			fail_msg("line %d: %s (SL_SEED=%" PRIu64 ")", __LINE__, #what, (s)->seed); \
	} while (0)

#endif
