/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched/: what a job is entitled to: its min out of the capacity, its max, and the grants of a
 * controller, with their leases.
 */
#include "tests/unit/sched-rig.h"

static const struct sl_config plain = { .order = "to", .capacity_bps = 100 };

/* ---- guarantees and the capacity ---- */

static uint64_t floor_of(struct box *b, uint64_t id)
{
	return stats_of(b, id).min_bps;
}

/* The header of job.c, C = 100: firm 60 + 30 are kept; best effort 40 becomes 10. */
static void best_effort_gets_what_the_firm_leave(void **state)
{
	struct box *b = *state;

	job(b, 3, .min_bps = 40, .best_effort = 1);
	assert_int_equal(floor_of(b, 3), 40);
	job(b, 1, .min_bps = 60);
	assert_int_equal(floor_of(b, 3), 40);
	job(b, 2, .min_bps = 30);
	assert_int_equal(floor_of(b, 1), 60);
	assert_int_equal(floor_of(b, 2), 30);
	assert_int_equal(floor_of(b, 3), 10);
	assert_int_equal(stats(b).floors_bps, 130);
	job(b, 4, .min_bps = 60, .best_effort = 1); /* 10 left for 40 + 60 */
	assert_int_equal(floor_of(b, 3), 4);
	assert_int_equal(floor_of(b, 4), 6);
	ok(b, sl_job_remove(b->s, 1, b->now)); /* 70 left */
	assert_int_equal(floor_of(b, 3), 28);
	assert_int_equal(floor_of(b, 4), 42);
	ok(b,
	   sl_job_set(b->s, 4, &(struct sl_job_conf){ .min_bps = 30, .best_effort = 1 }, b->now));
	assert_int_equal(floor_of(b, 3), 40);
	assert_int_equal(floor_of(b, 4), 30);
}

/* C from 100 to 45: firm 60 + 30 become 30 + 15, best effort nothing; back at 200 all have theirs.
 */
static void a_capacity_that_shrinks_scales_the_guarantees(void **state)
{
	struct box *b = *state;

	job(b, 1, .min_bps = 60);
	job(b, 2, .min_bps = 30);
	job(b, 3, .min_bps = 40, .best_effort = 1);
	ok(b, sl_capacity_set(b->s, 45, b->now));
	assert_int_equal(floor_of(b, 1), 30);
	assert_int_equal(floor_of(b, 2), 15);
	assert_int_equal(floor_of(b, 3), 0);
	assert_int_equal(stats(b).floors_bps, 130);
	assert_int_equal(stats(b).capacity_bps, 45);
	/* What is promised may be lowered, even if it still does not fit, but not raised. */
	refused(b, -EDQUOT, sl_job_set(b->s, 2, &(struct sl_job_conf){ .min_bps = 31 }, b->now));
	ok(b, sl_job_set(b->s, 1, &(struct sl_job_conf){ .min_bps = 45 }, b->now));
	assert_int_equal(floor_of(b, 1), 27); /* 45 of 75, of 45 */
	assert_int_equal(floor_of(b, 2), 18);
	refused(b, -EDQUOT, sl_job_add(b->s, 4, &(struct sl_job_conf){ .min_bps = 1 }, b->now));
	ok(b, sl_capacity_set(b->s, 200, b->now));
	assert_int_equal(floor_of(b, 1), 45);
	assert_int_equal(floor_of(b, 2), 30);
	assert_int_equal(floor_of(b, 3), 40);
}

static void a_guarantee_must_fit_what_is_left_of_the_capacity(void **state)
{
	struct box *b = *state;

	job(b, 1, .min_bps = 60);
	refused(b, -EDQUOT, sl_job_add(b->s, 2, &(struct sl_job_conf){ .min_bps = 41 }, b->now));
	job(b, 2, .min_bps = 40); /* exactly */
	refused(b, -EDQUOT, sl_job_set(b->s, 1, &(struct sl_job_conf){ .min_bps = 61 }, b->now));
	assert_int_equal(floor_of(b, 1), 60);
	ok(b, sl_job_remove(b->s, 2, b->now));
	ok(b, sl_job_set(b->s, 1, &(struct sl_job_conf){ .min_bps = 100 }, b->now));
}

static void a_guarantee_needs_a_known_capacity(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .order = "to" });

	refused(b, -EINVAL, sl_job_add(b->s, 1, &(struct sl_job_conf){ .min_bps = 1 }, b->now));
	refused(b, -EINVAL,
		sl_job_add(b->s, 1, &(struct sl_job_conf){ .min_bps = 1, .best_effort = 1 },
			   b->now));
	job(b, 1, .max_bps = 1);
	ok(b, sl_capacity_set(b->s, 1, b->now));
	ok(b, sl_job_set(b->s, 1, &(struct sl_job_conf){ .min_bps = 1 }, b->now));
	refused(b, -EBUSY, sl_capacity_set(b->s, 0, b->now));
	ok(b, sl_job_remove(b->s, 1, b->now));
	ok(b, sl_capacity_set(b->s, 0, b->now));
	box_close(b);
}

/*
 * Job 1 has all the weight, job 2 a min of 1 MB/s. 10 KB are worth 10 ms of that: it goes first
 * every 10 ms, and in between job 1 has the device.
 */
static void guarantees_go_before_shares(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .order = "to", .capacity_bps = 10 * MB });
	uint64_t sent[3] = { 0 };

	job(b, 1, .weight = SL_MAX_WEIGHT);
	job(b, 2, .min_bps = MB);
	for (uint64_t i = 0; i < 32; i++) {
		put(b, 1, SL_READ, A, i * 10000, 10000);
		put(b, 2, SL_READ, A, i * 10000, 10000);
	}
	for (unsigned i = 0; i < 30; i++, b->now += 5 * MS) {
		const struct sl_batch *t = sl_next(b->s, b->now, NULL);

		assert_non_null(t);
		assert_int_equal(t->job, i & 1 ? 1 : 2);
		sent[t->job] += t->length;
		done(b, t);
	}
	assert_int_equal(sent[2], 150000); /* 1 MB/s over 150 ms */
	assert_int_equal(stats_of(b, 2).floor_bytes, 150000);
	assert_int_equal(stats_of(b, 1).floor_bytes, 0);
	box_close(b);
}

/* The one that is further behind goes first. */
static void of_two_guarantees_the_one_due_first_is_served(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .order = "to", .capacity_bps = 10 * MB });

	job(b, 1, .min_bps = MB);
	job(b, 2, .min_bps = 4 * MB);
	for (uint64_t i = 0; i < 10; i++) {
		put(b, 1, SL_READ, A, i * 10000, 10000); /* 10 ms each */
		put(b, 2, SL_READ, A, i * 10000, 10000); /* 2.5 ms each */
	}
	serve(b, 1, 0, 10000, 1); /* both due now: the smaller lane */
	serve(b, 2, 0, 10000, 1);
	b->now += 10 * MS; /* due: 1 at 10, 2 at 2.5, 5, 7.5, 10 */
	serve(b, 2, 10000, 10000, 1);
	serve(b, 2, 20000, 10000, 1);
	serve(b, 2, 30000, 10000, 1);
	serve(b, 1, 10000, 10000, 1);
	serve(b, 2, 40000, 10000, 1);
	assert_int_equal(stats_of(b, 1).floor_bytes, 20000);
	assert_int_equal(stats_of(b, 2).floor_bytes, 50000);
	box_close(b);
}

/* Job 2 had nothing to send for 1 s: it is due at once, and then every 10 ms, not 20 times. */
static void a_job_that_was_idle_is_not_behind_its_guarantee(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .order = "to", .capacity_bps = 10 * MB });

	job(b, 1, .weight = SL_MAX_WEIGHT);
	job(b, 2, .min_bps = MB);
	b->now += SEC;
	for (uint64_t i = 0; i < 4; i++) {
		put(b, 1, SL_READ, A, i * 10000, 10000);
		put(b, 2, SL_READ, A, i * 10000, 10000);
	}
	serve(b, 2, 0, 10000, 1);
	serve(b, 1, 0, 10000, 1);
	serve(b, 1, 10000, 10000, 1);
	b->now += 10 * MS;
	serve(b, 2, 10000, 10000, 1);
	serve(b, 1, 20000, 10000, 1);
	box_close(b);
}

/*
 * wfq keeps the device for job 1 for 10 ms, since it just went idle and would be next. Job 2 has
 * sent 10 KB of its 2 MB/s: the next is due after 5 ms, and that is when to ask again.
 */
static void a_guarantee_ends_what_share_waits_for(void **state)
{
	struct box *b = box_open(&(struct sl_config){
		.order = "to", .share = "wfq,anticipate_us=10000", .capacity_bps = 10 * MB });

	job(b, 1, 0);
	job(b, 2, .min_bps = 2 * MB);
	put(b, 2, SL_READ, A, 0, 10000);
	put(b, 2, SL_READ, A, 10000, 10000);
	put(b, 1, SL_READ, A, 0, 1000);
	serve(b, 2, 0, 10000, 1);
	serve(b, 1, 0, 1000, 1);
	nothing(b, b->now + 5 * MS);
	b->now += 5 * MS;
	serve(b, 2, 10000, 10000, 1);
	box_close(b);
}

/* ---- limits of a job ---- */

/*
 * max 1 MB/s, a burst of 1 byte (1 us): after 1 MB the next may go 1 s - 1 us later. It is held
 * from when the first was sent until then.
 */
static void a_job_is_held_by_its_max_and_the_time_is_counted(void **state)
{
	struct box *b = *state;
	sl_time begin = b->now, free_at = begin + SEC - US;

	job(b, 1, .max_bps = MB, .burst_bytes = 1);
	put(b, 1, SL_WRITE, A, 0, MB);
	put(b, 1, SL_WRITE, A, MB, MB);
	serve(b, 1, 0, MB, 1);
	nothing(b, free_at);
	b->now = begin + 300 * MS;
	nothing(b, free_at);
	assert_int_equal(stats_of(b, 1).throttled_ns, 300 * MS); /* while it lasts */
	assert_int_equal(stats_of(b, 1).waiting_ns, 300 * MS);
	b->now = free_at - 1;
	nothing(b, free_at);
	b->now = free_at;
	serve(b, 1, MB, MB, 1);
	assert_int_equal(stats_of(b, 1).throttled_ns, SEC - US);
	nothing(b, SL_NEVER);
	b->now += 5 * SEC; /* nothing to send: not held */
	assert_int_equal(stats_of(b, 1).throttled_ns, SEC - US);
	assert_int_equal(stats_of(b, 1).waiting_ns, SEC - US);
	assert_int_equal(stats_of(b, 1).max_bps, MB);
}

/* Nobody asks until 5 s: the max held it for 1 s - 1 us of that. */
static void time_after_the_limit_is_over_is_not_counted_as_held(void **state)
{
	struct box *b = *state;

	job(b, 1, .max_bps = MB, .burst_bytes = 1);
	put(b, 1, SL_WRITE, A, 0, MB);
	put(b, 1, SL_WRITE, A, MB, MB);
	serve(b, 1, 0, MB, 1);
	b->now += 5 * SEC;
	assert_int_equal(stats_of(b, 1).throttled_ns, SEC - US);
	serve(b, 1, MB, MB, 1);
	assert_int_equal(stats_of(b, 1).throttled_ns, SEC - US);
}

static void cancelling_what_is_held_ends_the_wait(void **state)
{
	struct box *b = *state;
	struct sl_request *r;

	job(b, 1, .max_bps = MB, .burst_bytes = 1);
	put(b, 1, SL_WRITE, A, 0, MB);
	serve(b, 1, 0, MB, 1);
	r = put(b, 1, SL_WRITE, A, MB, MB);
	nothing(b, b->now + SEC - US);
	b->now += 100 * MS;
	ok(b, sl_cancel(b->s, r, b->now));
	nothing(b, SL_NEVER);
	b->now += SEC;
	assert_int_equal(stats_of(b, 1).throttled_ns, 100 * MS);
}

/* Job 1 is held; job 2 has the device meanwhile. */
static void a_held_job_does_not_hold_up_the_others(void **state)
{
	struct box *b = *state;

	job(b, 1, .max_bps = MB, .burst_bytes = 1);
	job(b, 2, 0);
	for (uint64_t i = 0; i < 4; i++) {
		put(b, 1, SL_WRITE, A, i * MB, MB);
		put(b, 2, SL_WRITE, A, i * MB, MB);
	}
	serve(b, 1, 0, MB, 1);
	for (uint64_t i = 0; i < 4; i++)
		serve(b, 2, i * MB, MB, 1);
	nothing(b, b->now + SEC - US);
}

static void a_max_that_is_lifted_lets_the_job_go(void **state)
{
	struct box *b = *state;

	job(b, 1, .max_bps = MB, .burst_bytes = 1);
	put(b, 1, SL_WRITE, A, 0, 100 * MB);
	put(b, 1, SL_WRITE, A, 100 * MB, MB);
	serve(b, 1, 0, 100 * MB, 1);
	nothing(b, b->now + 100 * SEC - US);
	b->now += SEC;
	ok(b, sl_job_set(b->s, 1, &(struct sl_job_conf){ 0 }, b->now));
	assert_int_equal(stats_of(b, 1).throttled_ns, SEC);
	serve(b, 1, 100 * MB, MB, 1);
	assert_int_equal(stats_of(b, 1).max_bps, 0);
}

/*
 * max 1 MB/s, burst 8K, half of which is for merging: a batch is 4K at the most. Two go at once
 * (the bucket of 4K is not in debt after the first), the third 4096 us later. Without the max all
 * that waits is merged anew.
 */
static void batches_of_a_limited_job_are_bounded_by_its_burst(void **state)
{
	struct box *b = *state;

	set_policy(b, "order", "to-agg");
	job(b, 1, .max_bps = MB, .burst_bytes = 8 * K);
	for (uint64_t i = 0; i < 20; i++)
		put(b, 1, SL_WRITE, A, i * K, K);
	serve(b, 1, 0, 4 * K, 4);
	serve(b, 1, 4 * K, 4 * K, 4);
	nothing(b, b->now + 4096 * US);
	b->now += 4096 * US;
	serve(b, 1, 8 * K, 4 * K, 4);
	ok(b, sl_job_set(b->s, 1, &(struct sl_job_conf){ 0 }, b->now));
	serve(b, 1, 12 * K, 8 * K, 8);
	nothing(b, SL_NEVER);
}

/* ---- grants ---- */

static struct box *granting(int strict, const char *admit)
{
	struct box *b = box_open(&(struct sl_config){
		.order = "to", .admit = admit, .capacity_bps = 10 * MB, .strict_grants = strict });

	job(b, 1, 0);
	job(b, 2, 0);
	job(b, 3, 0);
	return b;
}

/* 1: grant of 0, 2: granted, 3: no grant at all. 2 and 3 share; 1 gets what they leave. */
static void who_has_no_grant_gets_what_nobody_else_wants(void **state)
{
	struct box *b = granting(0, NULL);

	ok(b, sl_job_grant(b->s, 1, 0, b->now + SEC, b->now));
	ok(b, sl_job_grant(b->s, 2, 5, b->now + SEC, b->now));
	for (uint64_t i = 0; i < 2; i++)
		for (uint64_t j = 1; j <= 3; j++)
			put(b, j, SL_READ, A, i, 1);
	for (unsigned i = 0; i < 4; i++) {
		const struct sl_batch *t = sl_next(b->s, b->now, NULL);

		assert_non_null(t);
		assert_int_not_equal(t->job, 1);
		done(b, t);
	}
	serve(b, 1, 0, 1, 1);
	put(b, 3, SL_READ, A, 2, 1);
	serve(b, 3, 2, 1, 1);
	serve(b, 1, 1, 1, 1);
	assert_int_equal(stats_of(b, 1).borrowed_bytes, 2);
	assert_int_equal(stats_of(b, 2).borrowed_bytes, 0);
	assert_int_equal(stats_of(b, 3).borrowed_bytes, 0);
	box_close(b);
}

/* With every admit policy: a strict grant of 0 is not now, whatever is idle. */
static void a_strict_grant_of_zero_is_not_now(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct box *b = granting(1, i ? "open" : "token-bucket");
		sl_time end = b->now + 2 * SEC;

		ok(b, sl_job_grant(b->s, 1, 0, end, b->now));
		put(b, 1, SL_READ, A, 0, 1);
		nothing(b, end);
		b->now = end;
		serve(b, 1, 0, 1, 1); /* expired: as if there had been none */
		assert_int_equal(stats_of(b, 1).borrowed_bytes, 0);
		if (!i)
			assert_int_equal(stats_of(b, 1).throttled_ns, 2 * SEC);
		box_close(b);
	}
}

/* 1 MB/s granted strictly: 5 MB/s of max or not, the grant rules while it lasts. */
static void a_strict_grant_is_a_limit_while_it_lasts(void **state)
{
	struct box *b = granting(1, "token-bucket,burst_us=0");

	ok(b, sl_job_set(b->s, 1, &(struct sl_job_conf){ .max_bps = 5 * MB, .min_bps = 2 * MB },
			 b->now));
	ok(b, sl_job_grant(b->s, 1, MB, b->now + 10 * SEC, b->now));
	assert_int_equal(stats_of(b, 1).max_bps, MB);
	assert_int_equal(stats_of(b, 1).min_bps, MB); /* a floor is not above the cap */
	put(b, 1, SL_READ, A, 0, MB);
	put(b, 1, SL_READ, A, MB, MB);
	serve(b, 1, 0, MB, 1);
	nothing(b, b->now + SEC - 1); /* a burst of one nanosecond */
	ok(b, sl_job_grant(b->s, 1, SL_GRANT_NONE, 0, b->now));
	assert_int_equal(stats_of(b, 1).max_bps, 5 * MB);
	assert_int_equal(stats_of(b, 1).min_bps, 2 * MB);
	nothing(b, b->now + SEC / 5 - 1); /* what it has sent counts at the new rate */
	box_close(b);
}

static void a_grant_that_is_not_strict_is_no_limit(void **state)
{
	struct box *b = granting(0, NULL);

	ok(b, sl_job_grant(b->s, 1, 1, b->now + SEC, b->now));
	for (uint64_t i = 0; i < 3; i++) {
		put(b, 1, SL_READ, A, i * MB, MB);
		serve(b, 1, i * MB, MB, 1);
	}
	assert_int_equal(stats_of(b, 1).max_bps, 0);
	box_close(b);
}

/* 2 has a grant and writes call by call; 1, without, waits until 2 has paused for 3 ms. */
static void a_granted_job_that_pauses_keeps_its_turn_for_a_while(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .order = "to", .lend_us = 3000 });
	sl_time wake = 0, t0 = b->now;

	job(b, 1, 0);
	job(b, 2, 0);
	ok(b, sl_job_grant(b->s, 1, 0, t0 + SEC, b->now));
	ok(b, sl_job_grant(b->s, 2, 5, t0 + SEC, b->now));
	put(b, 1, SL_READ, A, 0, 1);
	put(b, 2, SL_READ, A, 0, 1);
	serve(b, 2, 0, 1, 1); /* and done, at the same time */
	assert_null(sl_next(b->s, b->now, &wake));
	assert_int_equal(wake, b->now + 3000000);
	b->now += 2999999;
	assert_null(sl_next(b->s, b->now, &wake));
	put(b, 2, SL_READ, A, 1, 1);
	serve(b, 2, 1, 1, 1);
	b->now += 3000000;
	serve(b, 1, 0, 1, 1);
	box_close(b);
}

/* A new lease replaces the old one; one that ends now or before takes it away. */
static void leases_are_renewed_and_end(void **state)
{
	struct box *b = granting(1, NULL);
	sl_time t0 = b->now;

	put(b, 1, SL_READ, A, 0, 1);
	put(b, 1, SL_READ, A, 1, 1);
	ok(b, sl_job_grant(b->s, 1, 0, t0 + SEC, b->now));
	ok(b, sl_job_grant(b->s, 1, 0, t0 + 3 * SEC, b->now));
	b->now = t0 + SEC;
	nothing(b, t0 + 3 * SEC);
	ok(b, sl_job_grant(b->s, 1, 0, b->now, b->now));
	serve(b, 1, 0, 1, 1);
	ok(b, sl_job_grant(b->s, 1, 0, SL_NEVER, b->now));
	nothing(b, SL_NEVER);
	ok(b, sl_job_grant(b->s, 1, SL_GRANT_NONE, SL_NEVER, b->now));
	serve(b, 1, 1, 1, 1);
	box_close(b);
}

/* A guarantee goes before a grant of 0 that is not strict, and is not borrowed. */
static void a_guarantee_overrides_a_missing_grant(void **state)
{
	struct box *b = granting(0, NULL);

	ok(b, sl_job_set(b->s, 1, &(struct sl_job_conf){ .min_bps = MB }, b->now));
	ok(b, sl_job_grant(b->s, 1, 0, b->now + SEC, b->now));
	put(b, 1, SL_READ, A, 0, MB);
	put(b, 2, SL_READ, A, 0, MB);
	put(b, 1, SL_READ, A, MB, MB);
	serve(b, 1, 0, MB, 1);	/* due */
	serve(b, 2, 0, MB, 1);	/* granted */
	serve(b, 1, MB, MB, 1); /* what is left */
	assert_int_equal(stats_of(b, 1).floor_bytes, MB);
	assert_int_equal(stats_of(b, 1).borrowed_bytes, MB);
	box_close(b);
}

#define CASE(name) BOX_CASE(plain, name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(best_effort_gets_what_the_firm_leave),
		CASE(a_capacity_that_shrinks_scales_the_guarantees),
		CASE(a_guarantee_must_fit_what_is_left_of_the_capacity),
		cmocka_unit_test(a_guarantee_needs_a_known_capacity),
		cmocka_unit_test(guarantees_go_before_shares),
		cmocka_unit_test(of_two_guarantees_the_one_due_first_is_served),
		cmocka_unit_test(a_job_that_was_idle_is_not_behind_its_guarantee),
		cmocka_unit_test(a_guarantee_ends_what_share_waits_for),
		CASE(a_job_is_held_by_its_max_and_the_time_is_counted),
		CASE(time_after_the_limit_is_over_is_not_counted_as_held),
		CASE(cancelling_what_is_held_ends_the_wait),
		CASE(a_held_job_does_not_hold_up_the_others),
		CASE(a_max_that_is_lifted_lets_the_job_go),
		CASE(batches_of_a_limited_job_are_bounded_by_its_burst),
		cmocka_unit_test(who_has_no_grant_gets_what_nobody_else_wants),
		cmocka_unit_test(a_strict_grant_of_zero_is_not_now),
		cmocka_unit_test(a_strict_grant_is_a_limit_while_it_lasts),
		cmocka_unit_test(a_grant_that_is_not_strict_is_no_limit),
		cmocka_unit_test(a_granted_job_that_pauses_keeps_its_turn_for_a_while),
		cmocka_unit_test(leases_are_renewed_and_end),
		cmocka_unit_test(a_guarantee_overrides_a_missing_grant),
	};

	return cmocka_run_group_tests_name("sched/rates", tests, NULL, NULL);
}
