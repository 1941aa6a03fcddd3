/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admit/token-bucket: the paper's example, the bounds in every window by brute force, exactness
 * over hours and at odd rates, live changes, floors. SL_SEED=number repeats a failure.
 */
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
#define USEC  INT64_C(1000)
#define MSEC  INT64_C(1000000)
#define SEC   INT64_C(1000000000)
#define HOUR  (3600 * SEC)
#define LANES 4
#define NONE  UINT64_MAX

static const struct sl_admit_ops *const ops = &sl_admit_token_bucket;

struct bucket {
	unsigned char *block;
	void *state;
	size_t size;
	uint64_t seed, random;
};

static uint64_t rnd(struct bucket *b)
{
	return sl_splitmix64(&b->random);
}

/* Evenly over the orders of magnitude. */
static uint64_t rnd_size(struct bucket *b, uint64_t most)
{
	uint64_t limit = UINT64_C(2) << rnd(b) % (64 - (unsigned)__builtin_clzll(most));
	uint64_t size = rnd(b) % (limit < most ? limit : most);

	return size ? size : most;
}

#define check(b, what)                                                                             \
	do {                                                                                       \
		if (!(what))                                                                       \
			fail_msg("line %d: %s (SL_SEED=%" PRIu64 ")", __LINE__, #what, (b)->seed); \
	} while (0)

static void bucket_open(struct bucket *b, int64_t burst_us)
{
	struct sl_policy_limits limits = { .lanes = LANES };
	int64_t values[] = { burst_us, 200, 200 };
	const char *seed = getenv("SL_SEED");

	b->seed = b->random = seed ? strtoull(seed, NULL, 0) : 1;
	b->size = sl_policy_size(&ops->base, &limits);
	b->block = aligned_alloc(64, (b->size + 16 + 64 + 63) / 64 * 64);
	assert_non_null(b->block);
	b->state = b->block + 16; /* aligned to 16 and no more */
	memset(b->state, 0, b->size);
	memset(b->block + 16 + b->size, 0xa5, 64);
	sl_policy_init(&ops->base, b->state, &limits, values, 0);
}

static void bucket_close(struct bucket *b)
{
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(b->block[16 + b->size + i], 0xa5);
	free(b->block);
}

static void set(struct bucket *b, uint64_t floor_bps, uint64_t cap_bps, uint64_t burst, sl_time now)
{
	struct sl_rates r = { .floor_bps = floor_bps, .cap_bps = cap_bps, .burst_bytes = burst };

	ops->set(b->state, 0, &r, now);
}

static sl_time cap(const struct bucket *b)
{
	return ops->cap(b->state, 0);
}

static sl_time floor_tag(const struct bucket *b)
{
	return ops->floor(b->state, 0);
}

static void charge(struct bucket *b, uint64_t bytes, sl_time now)
{
	ops->charge(b->state, 0, bytes, now);
}

/* A lane that always has something, served at its tag or, if that is past, now. */
static sl_time serve(struct bucket *b, uint64_t bytes, sl_time now)
{
	if (cap(b) > now)
		now = cap(b);
	charge(b, bytes, now);
	return now;
}

/* ---- cap ---- */

/* SDQoS, section 3.2: 64K requests at 100 MB/s, and the example of token-bucket.c. */
static void sixty_four_kib_at_100_mib_each_625_us(void **unused)
{
	static const sl_time at_us[] = { 0, 0, 0, 625, 1250, 1875, 2500 };
	struct bucket b;
	sl_time now = 0;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 0, 100 * MI, 128 * KI, 0);
	for (unsigned i = 0; i < sizeof(at_us) / sizeof(at_us[0]); i++) {
		now = serve(&b, 64 * KI, now);
		assert_int_equal(now, at_us[i] * USEC);
	}
	bucket_close(&b);
}

static void sixty_four_kib_at_100_mb_each_655_36_us(void **unused)
{
	struct bucket b;
	sl_time now = 0;

	(void)unused;
	bucket_open(&b, 0);
	set(&b, 0, 100000000, 0, 0);
	for (unsigned i = 0; i < 15260; i++)
		now = serve(&b, 64 * KI, now);
	/* The smallest burst is 1 ns. */
	assert_int_equal(now, 15259 * INT64_C(655360) - 1);
	bucket_close(&b);
}

static void a_request_larger_than_the_bucket_goes_and_makes_debt(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 0, 100 * MI, 128 * KI, 0);
	assert_int_equal(cap(&b), 0);
	charge(&b, 10 * MI, SEC);
	assert_int_equal(cap(&b), SEC + 100 * MSEC - 1250 * USEC);
	bucket_close(&b);
}

static void the_default_burst_is_a_time_at_the_lane_s_rate(void **unused)
{
	struct bucket b;
	uint64_t sent = 0;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 0, 200000000, 0, SEC);
	for (; cap(&b) <= SEC; sent += 1000)
		charge(&b, 1000, SEC);
	assert_int_equal(sent, 1000000 + 1000);
	bucket_close(&b);
}

static void a_full_bucket_does_not_overflow(void **unused)
{
	struct bucket b;
	uint64_t sent = 0;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 0, 1000000, 10000, 0);
	for (; cap(&b) <= 10 * HOUR; sent += 1000)
		charge(&b, 1000, 10 * HOUR);
	assert_int_equal(sent, 10000 + 1000);
	bucket_close(&b);
}

static void no_limit_is_always_and_rate_0_is_never(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 5000);
	assert_int_equal(cap(&b), 0); /* not set yet */
	set(&b, 0, NONE, 0, SEC);
	charge(&b, SL_MAX_LENGTH, SEC);
	assert_int_equal(cap(&b), 0);
	assert_int_equal(floor_tag(&b), SL_NEVER);
	set(&b, 0, 0, 0, SEC);
	assert_int_equal(cap(&b), SL_NEVER);
	assert_int_equal(floor_tag(&b), SL_NEVER);
	bucket_close(&b);
}

#define EVENTS 300

/*
 * In every window: bytes <= max W + burst + L. From one event to another, both included, is the
 * worst place for a window of that length.
 */
static void check_most(struct bucket *b, const sl_time *at, const uint64_t *bytes, uint64_t rate,
		       unsigned __int128 burst_nb, uint64_t largest)
{
	for (unsigned i = 0; i < EVENTS; i++) {
		unsigned __int128 sum = 0;

		for (unsigned j = i; j < EVENTS; j++) {
			sum += bytes[j];
			check(b, sum * (unsigned)SEC <=
					 (unsigned __int128)rate * (uint64_t)(at[j] - at[i]) +
						 burst_nb +
						 (unsigned __int128)largest * (unsigned)SEC);
		}
	}
}

/* And >= max W - L: from just after one event to just before another. */
static void check_least(struct bucket *b, const sl_time *at, const uint64_t *bytes, uint64_t rate,
			uint64_t largest)
{
	for (unsigned i = 0; i < EVENTS; i++) {
		unsigned __int128 sum = largest;

		for (unsigned j = i + 1; j < EVENTS; sum += bytes[j++])
			check(b,
			      at[j] <= at[i] + 1 ||
				      sum * (unsigned)SEC >= (unsigned __int128)rate *
								     (uint64_t)(at[j] - at[i] - 1));
	}
}

static void the_bounds_hold_in_every_window(void **unused)
{
	struct bucket b;

	(void)unused;
	for (unsigned round = 0; round < 200; round++) {
		bool backlogged = round % 2;
		uint64_t largest, rate, burst, bytes[EVENTS];
		unsigned __int128 burst_nb;
		sl_time at[EVENTS], now = 0;

		bucket_open(&b, round % 5 ? 5000 : 0);
		b.random += round;
		largest = rnd_size(&b, round % 3 ? 16 * MI : SL_MAX_LENGTH);
		rate = rnd_size(&b, UINT64_C(1) << 40);
		burst = round % 7 ? rnd_size(&b, 64 * MI) : 0;
		burst_nb = burst ? (unsigned __int128)burst * (unsigned)SEC
				 : (unsigned __int128)rate * (round % 5 ? 5000000 : 0);
		if (burst_nb < rate)
			burst_nb = rate; /* 1 ns */
		if (largest > rate << 20)
			largest = rate << 20; /* keeps the times inside of 64 bits */
		set(&b, 0, rate, burst, 0);
		for (unsigned i = 0; i < EVENTS; i++) {
			bytes[i] = rnd(&b) % 4 ? 1 + rnd(&b) % largest : largest;
			if (!backlogged)
				now += (sl_time)(rnd(&b) % 3 *
						 (rnd(&b) % (largest * SEC / rate + 2)));
			at[i] = now = serve(&b, bytes[i], now);
		}
		check_most(&b, at, bytes, rate, burst_nb, largest);
		if (backlogged)
			check_least(&b, at, bytes, rate, largest);
		bucket_close(&b);
	}
}

/* Ten hours of 4 KiB at rates that divide nothing: not a request more or less. */
static void nothing_is_lost_to_rounding_over_hours(void **unused)
{
	static const struct {
		uint64_t rate, bytes;
	} c[] = { { 7, 4096 },
		  { 1, 1 },
		  { 999983, 4096 },
		  { 3, 7 },
		  { 40961, 4096 },
		  { 1000003, 1 },
		  { 100000007, UINT64_C(65537) } };
	struct bucket b;

	(void)unused;
	for (unsigned i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		uint64_t n = 0, limit = 3000000;
		sl_time now = 0;

		bucket_open(&b, 0);
		set(&b, 0, c[i].rate, 0, 0);
		while (now < 10 * HOUR && n < limit) {
			now = serve(&b, c[i].bytes, now);
			n++;
		}
		/* The last one went at n - 1 times bytes / rate, within the nanosecond. */
		assert_true((unsigned __int128)(uint64_t)(now + 1) * c[i].rate >=
			    (unsigned __int128)(n - 1) * c[i].bytes * (unsigned)SEC);
		assert_true((unsigned __int128)(uint64_t)now * c[i].rate <=
			    (unsigned __int128)(n - 1) * c[i].bytes * (unsigned)SEC);
		bucket_close(&b);
	}
}

static void extreme_lengths_and_rates_do_not_overflow(void **unused)
{
	/* The burst is 10 s. */
	static const struct {
		uint64_t rate;
		sl_time after_100_tib;
	} c[] = {
		{ 1, SL_NEVER / 2 - 10 * SEC },
		{ 1000, SL_NEVER / 2 - 10 * SEC },
		{ UINT64_C(1) << 34, SEC + 6400 * SEC - 10 * SEC },
		{ UINT64_C(1) << 42, SEC + 25 * SEC - 10 * SEC },
		{ SL_MAX_RATE, 0 }, /* 98 ms */
	};
	struct bucket b;

	(void)unused;
	for (unsigned i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		sl_time last = 0;

		bucket_open(&b, 10000000);
		set(&b, c[i].rate, c[i].rate, 0, SEC);
		for (unsigned n = 0; n < 100; n++) {
			charge(&b, SL_MAX_LENGTH, SEC);
			assert_true(cap(&b) >= last);
			assert_true(floor_tag(&b) > SEC && floor_tag(&b) <= SL_NEVER / 2);
			last = cap(&b);
		}
		assert_int_equal(last, c[i].after_100_tib);
		bucket_close(&b);
	}
}

static void a_cap_above_the_largest_rate_is_no_limit(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 0);
	set(&b, NONE, SL_MAX_RATE + 1, NONE, 0);
	charge(&b, SL_MAX_LENGTH, 0);
	assert_int_equal(cap(&b), 0);
	assert_int_equal(floor_tag(&b), SEC / 1024); /* the floor counts as 2^50 B/s */
	set(&b, 0, 1000, NONE, 0);
	charge(&b, SL_MAX_LENGTH, 0);
	assert_int_equal(cap(&b), 0); /* a bucket that is never empty */
	bucket_close(&b);
}

/* ---- live changes of the cap ---- */

static void debt_stays_the_same_bytes_at_another_rate(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 0);
	set(&b, 0, 1000, 100, 0);
	charge(&b, 5000, SEC);		/* 5 s of debt */
	set(&b, 0, 2500, 100, 2 * SEC); /* 4000 bytes left of it */
	assert_int_equal(cap(&b), 2 * SEC + 1600 * MSEC - 40 * MSEC);
	set(&b, 0, 10, 100, 2 * SEC);
	assert_int_equal(cap(&b), 2 * SEC + 400 * SEC - 10 * SEC);
	bucket_close(&b);
}

static void changes_of_rate_do_not_round(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 0);
	set(&b, 0, 7, 0, 0);
	charge(&b, 1000, 0);
	for (uint64_t i = 0; i < 10000; i++)
		set(&b, 0, i % 2 ? 999983 : 13 + i, 0, 0);
	set(&b, 0, 1000, 0, 0);
	assert_int_equal(cap(&b), SEC - 1);
	bucket_close(&b);
}

/* A new rate must not refill the bucket, however often it is set. */
static void the_bound_holds_across_changes_of_rate(void **unused)
{
	struct bucket b;
	uint64_t rate = 0, allowed_nb = 0, sent = 0;
	sl_time now = 0;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 0, rate, 10000, now);
	for (unsigned i = 0; i < 20000; i++) {
		sl_time step = (sl_time)(rnd(&b) % (uint64_t)MSEC);

		allowed_nb += rate * (uint64_t)step;
		now += step;
		if (rnd(&b) % 3 == 0) {
			rate = rnd(&b) % 4 ? 1 + rnd(&b) % 1000000 : 0;
			set(&b, 0, rate, 10000, now);
		}
		while (cap(&b) <= now) {
			uint64_t bytes = 1 + rnd(&b) % 3000;

			charge(&b, bytes, now);
			sent += bytes;
		}
		check(&b, sent <= allowed_nb / (uint64_t)SEC + 1 + 10000 + 3000);
	}
	assert_true(sent >= allowed_nb / (uint64_t)SEC - 10000);
	bucket_close(&b);
}

static void a_new_burst_counts_at_once(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 0);
	set(&b, 0, 1000, 1000, 0);
	charge(&b, 3000, 0);
	assert_int_equal(cap(&b), 2 * SEC);
	set(&b, 0, 1000, 2500, 0);
	assert_int_equal(cap(&b), 500 * MSEC);
	bucket_close(&b);
}

static void debt_is_kept_while_the_rate_is_0(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 0);
	set(&b, 0, 1000, 1000, 0);
	charge(&b, 5000, 0);
	set(&b, 0, 0, 1000, SEC); /* 4000 of it left */
	assert_int_equal(cap(&b), SL_NEVER);
	charge(&b, 1000, 20 * SEC); /* should not happen, and counts */
	set(&b, 0, 0, 1000, 30 * SEC);
	set(&b, 0, 500, 1000, 100 * SEC);
	assert_int_equal(cap(&b), 100 * SEC + 10 * SEC - 2 * SEC);
	bucket_close(&b);
}

static void a_lane_without_limits_and_guarantee_is_forgotten(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 0);
	set(&b, 100, 1000, 0, 0);
	charge(&b, 1000000, 0);
	set(&b, 0, NONE, 0, SEC);
	set(&b, 100, 1000, 0, SEC);
	assert_int_equal(cap(&b), SEC - 1);
	assert_int_equal(floor_tag(&b), SEC);
	bucket_close(&b);
}

static void lanes_do_not_know_each_other(void **unused)
{
	struct sl_rates r = { .floor_bps = 10, .cap_bps = 1000, .burst_bytes = 1000 };
	struct bucket b;

	(void)unused;
	bucket_open(&b, 0);
	for (uint32_t i = 0; i < LANES; i++)
		ops->set(b.state, i, &r, 0);
	for (uint32_t i = 0; i < LANES; i++)
		ops->charge(b.state, i, 2000 + 1000 * (uint64_t)i, 0);
	for (uint32_t i = 0; i < LANES; i++) {
		assert_int_equal(ops->cap(b.state, i), SEC + i * SEC);
		assert_int_equal(ops->floor(b.state, i), 200 * SEC + i * 100 * SEC);
	}
	bucket_close(&b);
}

/* ---- floor ---- */

static void a_backlogged_lane_served_at_its_floor_gets_exactly_that(void **unused)
{
	struct bucket b;
	uint64_t n = 0;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 999983, NONE, 0, 0);
	assert_int_equal(floor_tag(&b), 0);
	for (; floor_tag(&b) < HOUR; n++)
		charge(&b, 4096, floor_tag(&b));
	/* 999983 * 3600 / 4096 */
	assert_int_equal(n, 878892);
	bucket_close(&b);
}

static void what_others_gave_counts_but_only_up_to_the_horizon(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 1000000, NONE, 0, SEC);
	charge(&b, 50000, SEC);
	assert_int_equal(floor_tag(&b), SEC + 50 * MSEC);
	charge(&b, 100000, SEC);
	assert_int_equal(floor_tag(&b), SEC + 150 * MSEC);
	charge(&b, 100000, SEC);
	assert_int_equal(floor_tag(&b), SEC + 200 * MSEC);
	for (unsigned i = 0; i < 1000; i++)
		charge(&b, 100000, SEC);
	assert_int_equal(floor_tag(&b), SEC + 200 * MSEC);
	bucket_close(&b);
}

static void one_large_request_may_go_beyond_the_horizon(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 1000000, NONE, 0, SEC);
	charge(&b, 3000000, SEC);
	assert_int_equal(floor_tag(&b), 4 * SEC);
	charge(&b, 3000000, SEC); /* not another 3 s on top */
	assert_int_equal(floor_tag(&b), 4 * SEC);
	bucket_close(&b);
}

/* The example of token-bucket.c. */
static void a_lane_that_could_not_be_served_is_repaid_up_to_the_debt(void **unused)
{
	struct bucket b;
	unsigned n = 0;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 100000000, NONE, 0, SEC);
	charge(&b, 1000000, 2 * SEC);
	assert_int_equal(floor_tag(&b), 1810 * MSEC);
	for (; floor_tag(&b) <= 2 * SEC; n++)
		charge(&b, 1000000, 2 * SEC);
	assert_int_equal(n, 20);
	bucket_close(&b);
}

static void an_idle_lane_is_not_behind(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 1000000, NONE, 0, SEC);
	ops->wake(b.state, 0, 2 * SEC);
	assert_int_equal(floor_tag(&b), 2 * SEC);
	charge(&b, 100000, 2 * SEC);
	ops->wake(b.state, 0, 2 * SEC + MSEC); /* nor does it lose what it got */
	assert_int_equal(floor_tag(&b), 2 * SEC + 100 * MSEC);
	bucket_close(&b);
}

static void a_changed_floor_keeps_what_was_sent_and_what_is_due(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 1000000, NONE, 0, SEC);
	charge(&b, 100000, SEC); /* 100 ms ahead */
	set(&b, 2000000, NONE, 0, SEC);
	assert_int_equal(floor_tag(&b), SEC + 50 * MSEC);
	set(&b, 100, NONE, 0, SEC); /* 1000 s, but what is beyond the horizon was a present */
	assert_int_equal(floor_tag(&b), SEC + 200 * MSEC);
	set(&b, 100, NONE, 0, SEC);
	assert_int_equal(floor_tag(&b), SEC + 200 * MSEC);
	set(&b, 50, NONE, 0, 1300 * MSEC); /* 100 ms behind: 10 bytes */
	assert_int_equal(floor_tag(&b), 1100 * MSEC);
	set(&b, 1, NONE, 0, 1300 * MSEC); /* 10 s, no more than the debt */
	assert_int_equal(floor_tag(&b), 1100 * MSEC);
	set(&b, 100, NONE, 0, 1300 * MSEC); /* 0.2 bytes */
	assert_int_equal(floor_tag(&b), 1298 * MSEC);
	bucket_close(&b);
}

static void a_lower_floor_does_not_forget_a_large_request(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 1000000, NONE, 0, SEC);
	charge(&b, 3000000, SEC); /* 3 s ahead, more than the horizon */
	set(&b, 900000, NONE, 0, SEC);
	assert_int_equal(floor_tag(&b), 4 * SEC);
	set(&b, 1800000, NONE, 0, SEC);
	assert_int_equal(floor_tag(&b), 2500 * MSEC);
	bucket_close(&b);
}

static void tags_are_never_negative(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 1000, 1000, 0, 0);
	assert_int_equal(cap(&b), 0);
	set(&b, 1, 1000, 0, 50 * MSEC); /* 50 bytes due, 50 s */
	assert_int_equal(floor_tag(&b), 0);
	charge(&b, 1, 60 * MSEC);
	assert_int_equal(floor_tag(&b), SEC);
	bucket_close(&b);
}

static void a_floor_taken_away_and_given_back_does_not_start_anew(void **unused)
{
	struct bucket b;

	(void)unused;
	bucket_open(&b, 5000);
	set(&b, 1000, 2000, 0, SEC);
	charge(&b, 100, SEC);
	set(&b, 0, 0, 0, SEC); /* as when a grant ends */
	assert_int_equal(floor_tag(&b), SL_NEVER);
	set(&b, 1000, 2000, 0, 5 * SEC);
	assert_int_equal(floor_tag(&b), 5 * SEC + 100 * MSEC);
	bucket_close(&b);
}

/* tag' = min(max(tag, now - debt) + n / floor, now + max(horizon, n / floor)), in nanobytes. */
static void floors_follow_the_formula(void **unused)
{
	struct bucket b;

	(void)unused;
	for (unsigned round = 0; round < 50; round++) {
		uint64_t rate, n;
		__int128 tag, ahead, step, now_n; /* times rate: exact */
		sl_time now = HOUR;

		bucket_open(&b, 5000);
		b.random += round;
		rate = rnd_size(&b, UINT64_C(1) << 40);
		set(&b, rate, NONE, 0, now);
		tag = (__int128)now * rate;
		for (unsigned i = 0; i < 2000; i++) {
			sl_time horizon = 200 * MSEC;

			now += (sl_time)(rnd(&b) % (100 * MSEC));
			n = 1 + rnd(&b) % (rate / 10 + 1);
			now_n = (__int128)now * rate;
			step = (__int128)n * SEC;
			if (tag < now_n - (__int128)200 * MSEC * rate)
				tag = now_n - (__int128)200 * MSEC * rate;
			tag += step;
			ahead = step > (__int128)horizon * rate ? step : (__int128)horizon * rate;
			if (tag > now_n + ahead)
				tag = now_n + ahead;
			charge(&b, n, now);
			check(&b, floor_tag(&b) == (sl_time)(tag / rate));
		}
		bucket_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sixty_four_kib_at_100_mib_each_625_us),
		cmocka_unit_test(sixty_four_kib_at_100_mb_each_655_36_us),
		cmocka_unit_test(a_request_larger_than_the_bucket_goes_and_makes_debt),
		cmocka_unit_test(the_default_burst_is_a_time_at_the_lane_s_rate),
		cmocka_unit_test(a_full_bucket_does_not_overflow),
		cmocka_unit_test(no_limit_is_always_and_rate_0_is_never),
		cmocka_unit_test(the_bounds_hold_in_every_window),
		cmocka_unit_test(nothing_is_lost_to_rounding_over_hours),
		cmocka_unit_test(extreme_lengths_and_rates_do_not_overflow),
		cmocka_unit_test(a_cap_above_the_largest_rate_is_no_limit),
		cmocka_unit_test(debt_stays_the_same_bytes_at_another_rate),
		cmocka_unit_test(changes_of_rate_do_not_round),
		cmocka_unit_test(the_bound_holds_across_changes_of_rate),
		cmocka_unit_test(a_new_burst_counts_at_once),
		cmocka_unit_test(debt_is_kept_while_the_rate_is_0),
		cmocka_unit_test(a_lane_without_limits_and_guarantee_is_forgotten),
		cmocka_unit_test(lanes_do_not_know_each_other),
		cmocka_unit_test(a_backlogged_lane_served_at_its_floor_gets_exactly_that),
		cmocka_unit_test(what_others_gave_counts_but_only_up_to_the_horizon),
		cmocka_unit_test(one_large_request_may_go_beyond_the_horizon),
		cmocka_unit_test(a_lane_that_could_not_be_served_is_repaid_up_to_the_debt),
		cmocka_unit_test(an_idle_lane_is_not_behind),
		cmocka_unit_test(a_changed_floor_keeps_what_was_sent_and_what_is_due),
		cmocka_unit_test(a_lower_floor_does_not_forget_a_large_request),
		cmocka_unit_test(tags_are_never_negative),
		cmocka_unit_test(a_floor_taken_away_and_given_back_does_not_start_anew),
		cmocka_unit_test(floors_follow_the_formula),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
