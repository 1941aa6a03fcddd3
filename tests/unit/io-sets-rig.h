/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of share/io-sets have in common: periods that make a known set, lanes that enter
 * a set, and one instance a case, which is opened by the case and closed behind it.
 */
#ifndef SL_TEST_IO_SETS_RIG_H
#define SL_TEST_IO_SETS_RIG_H

#include "share-rig.h"

#define BY_REQUESTS  ((struct setting){ "credit", INT64_C(1) })
#define BY_ID	     ((struct setting){ "exclusive", INT64_C(1) })
#define HOLD_IDLE    ((struct setting){ "hold", INT64_C(1) })
#define LIMIT_MS(ms) ((struct setting){ "max_exclusive_ms", INT64_C(ms) })
#define FAR	     LIMIT_MS(3600000)

/* A job whose number is a multiple of this has priority 1/50 exactly, its period being unknown. */
#define PLAIN UINT64_C(10007)

/* Of sets -9 .. 9; also what a byte costs there. */
static const sl_time period_of[] = {
	INT64_C(1),
	INT64_C(10),
	INT64_C(100),
	INT64_C(1000),
	INT64_C(10000),
	INT64_C(100000),
	INT64_C(1000000),
	INT64_C(10000000),
	INT64_C(100000000),
	INT64_C(1000000000),
	INT64_C(10000000000),
	INT64_C(100000000000),
	INT64_C(1000000000000),
	INT64_C(10000000000000),
	INT64_C(100000000000000),
	INT64_C(1000000000000000),
	INT64_C(10000000000000000),
	INT64_C(100000000000000000),
	INT64_C(1000000000000000000),
};

/* Lane enters as a job of set S_i. */
static inline void enter_set(struct share *s, uint32_t lane, int i)
{
	s->m[lane].period_ns = period_of[i + 9];
	share_enter(s, lane);
}

/* Lane enters as a job of unknown period, of priority 1/50. */
static inline void enter_plain(struct share *s, uint32_t lane)
{
	s->m[lane].job = PLAIN * (lane + 1);
	share_enter(s, lane);
}

static inline void change_period(struct share *s, uint32_t lane, sl_time period_ns)
{
	s->m[lane].period_ns = period_ns;
	share_update(s, lane);
}

#define open_lanes(s, lanes, ...) share_open(s, &sl_share_io_sets, lanes, __VA_ARGS__)

/* open_sets(s, SETS(i, j, ..), settings, END): A enters as a job of S_i, then B of S_j, .. */
#define SETS(...)		((const int[]){ __VA_ARGS__ }), sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)
#define open_sets(s, sets, ...) open_sets_with(s, sets, (const struct setting[]){ __VA_ARGS__ })

static inline void open_sets_with(struct share *s, const int *set, size_t n,
				  const struct setting *setting)
{
	share_open_with(s, &sl_share_io_sets, (uint32_t)n, setting);
	for (uint32_t lane = 0; lane < n; lane++)
		enter_set(s, lane, set[lane]);
}

/* The next decisions, of as many bytes each, are for these. */
#define expect(s, bytes, order) \
	assert_string_equal(share_run(s, (unsigned)strlen(order), bytes), order)

static inline int io_sets_setup(void **state)
{
	*state = test_calloc(1, sizeof(struct share));
	return 0;
}

static inline int io_sets_teardown(void **state)
{
	struct share *s = *state;

	if (s->block) /* else it could not be opened */
		share_close(s);
	test_free(s);
	return 0;
}

/* A case that opens the instance in *state, once. */
#define CASE(name) cmocka_unit_test_setup_teardown(name, io_sets_setup, io_sets_teardown)

#endif
