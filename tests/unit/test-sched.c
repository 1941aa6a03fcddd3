/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched/: how admit, share and order go together; jobs, grants, counters, limits, bad input.
 * Live changes of policies and lanes are in test-sched-change.c.
 */
#include "tests/unit/sched-rig.h"

static const struct sl_config plain = { .order = "to", .capacity_bps = 100 };

static int setup(void **state)
{
	*state = box_open(&plain);
	return 0;
}

static int teardown(void **state)
{
	box_close(*state);
	return 0;
}

/* ---- creation ---- */

static void defaults_are_what_the_header_says(void **state)
{
	struct sl_sched *s;
	struct sl_sched_stats st;

	(void)state;
	assert_int_equal(sl_sched_create(&s, &(struct sl_config){ 0 }, 0, NULL, 0), 0);
	sl_sched_stats(s, &st);
	assert_string_equal(st.admit, "token-bucket");
	assert_string_equal(st.share, "wfq");
	assert_string_equal(st.order, "to-agg");
	assert_string_equal(sl_error(s), "");
	for (uint64_t i = 0; i < 1024; i++)
		assert_int_equal(sl_job_add(s, i, NULL, 0), 0);
	assert_int_equal(sl_job_add(s, 1024, NULL, 0), -ENOSPC);
	sl_sched_destroy(s);
	sl_sched_destroy(NULL);
}

static void a_scheduler_that_makes_no_sense_is_not_created(void **state)
{
	static const struct {
		struct sl_config c;
		int rc;
		sl_time now;
	} bad[] = {
		{ { .limits = { 1, 1, 0 } }, -EINVAL, 0 },
		{ { .limits = { 1, 0, 1 } }, -EINVAL, 0 },
		{ { .limits = { 0, 1, 1 } }, -EINVAL, 0 },
		{ { .limits = { (1U << 20) + 1, 1, 1 } }, -EINVAL, 0 },
		{ { .limits = { 1, (1U << 24) + 1, 1 } }, -EINVAL, 0 },
		{ { .limits = { 1, 1, (1U << 26) + 1 } }, -EINVAL, 0 },
		{ { .limits = { 1, 1, 1 }, .admit = "closed" }, -ENOENT, 0 },
		{ { .limits = { 1, 1, 1 }, .share = "to" }, -ENOENT, 0 },
		{ { .limits = { 1, 1, 1 }, .order = "mlf,no_such=1" }, -ENOENT, 0 },
		{ { .limits = { 1, 1, 1 }, .order = "mlf,wait_us" }, -EINVAL, 0 },
		{ { .limits = { 1, 1, 1 }, .order = "mlf,wait_us=-1" }, -ERANGE, 0 },
		{ { .limits = { 1, 1, 1 }, .order = "to-agg,batch_bytes=0" }, -ERANGE, 0 },
		{ { .limits = { 1, 1, 1 }, .capacity_bps = SL_MAX_RATE + 1 }, -ERANGE, 0 },
		{ { .limits = { 1, 1, 1 } }, -ERANGE, -1 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sl_sched *s = (struct sl_sched *)1;
		char err[200] = "";
		int rc = sl_sched_create(&s, &bad[i].c, bad[i].now, err, sizeof(err));

		if (rc != bad[i].rc)
			fail_msg("case %u: %d, not %d: %s", i, rc, bad[i].rc, err);
		assert_null(s);
		assert_string_not_equal(err, "");
		assert_int_equal(sl_sched_create(&s, &bad[i].c, bad[i].now, NULL, 0), rc);
	}
}

static void schedulers_side_by_side_know_nothing_of_each_other(void **state)
{
	struct box *b = *state, *other = box_open(&plain);
	struct sl_request *r;

	job(b, 1, 0);
	refused(other, -ENOENT, sl_add(other->s, make(b, 1, SL_READ, A, 0, 1), 0));
	job(other, 1, 0);
	r = put(b, 1, SL_WRITE, A, 0, 4);
	put(other, 1, SL_WRITE, A, 0, 4);
	refused(other, -ENOENT, sl_cancel(other->s, r, b->now));
	assert_int_equal(stats(other).requests, 1);
	expect(b, 1, 0, 4, 1);
	refused(b, -EINVAL, sl_done(b->s, expect(other, 1, 0, 4, 1), b->now));
	box_close(other);
}

static void a_scheduler_may_be_destroyed_with_requests_inside(void **state)
{
	struct box *b = *state;

	job(b, 1, 0);
	put(b, 1, SL_WRITE, A, 0, 4);
	put(b, 1, SL_WRITE, A, 0, 4);
	expect(b, 1, 0, 4, 1); /* teardown does it */
}

/* ---- the life of a request ---- */

static void nothing_waiting_means_ask_when_something_happens(void **state)
{
	struct box *b = *state;

	nothing(b, SL_NEVER);
	assert_null(sl_next(b->s, b->now, NULL));
	job(b, 1, 0);
	nothing(b, SL_NEVER);
}

static void a_request_can_be_used_again_after_done_and_after_cancel(void **state)
{
	struct box *b = *state;
	struct sl_request *r;

	job(b, 1, 0);
	r = put(b, 1, SL_WRITE, A, 0, 4);
	assert_int_equal(r->arrival, b->now);
	serve(b, 1, 0, 4, 1);
	ok(b, sl_add(b->s, r, b->now));
	ok(b, sl_cancel(b->s, r, b->now));
	ok(b, sl_add(b->s, r, b->now));
	serve(b, 1, 0, 4, 1);
	assert_int_equal(stats_of(b, 1).served_requests[SL_WRITE], 2);
}

static void time_that_runs_backwards_stands_still(void **state)
{
	struct box *b = *state;
	struct sl_request *r = make(b, 1, SL_READ, A, 0, 1);

	job(b, 1, 0);
	ok(b, sl_add(b->s, r, b->now - SEC));
	assert_int_equal(r->arrival, b->now);
	ok(b, sl_done(b->s, expect(b, 1, 0, 1, 1), b->now - SEC));
	assert_int_equal(stats_of(b, 1).latency[0], 1);
}

static void counters_follow_a_request_through_its_life(void **state)
{
	struct box *b = *state;
	const struct sl_batch *t;
	struct sl_request *r;

	job(b, 1, 0);
	ok(b, sl_policy_set(b->s, "order", "to-agg", b->now));
	for (uint64_t i = 0; i < 3; i++)
		put(b, 1, SL_READ, A, i * 10, 10);
	r = put(b, 1, SL_WRITE, B, 0, 7);
	assert_int_equal(stats_of(b, 1).queued_requests, 4);
	assert_int_equal(stats_of(b, 1).queued_bytes, 37);
	assert_int_equal(stats(b).requests, 4);
	assert_int_equal(stats(b).files, 2);
	t = expect(b, 1, 0, 30, 3);
	assert_int_equal(stats_of(b, 1).queued_requests, 1);
	assert_int_equal(stats_of(b, 1).queued_bytes, 7);
	assert_int_equal(stats_of(b, 1).inflight_requests, 3);
	assert_int_equal(stats_of(b, 1).inflight_bytes, 30);
	assert_int_equal(stats_of(b, 1).batches, 1);
	assert_int_equal(stats(b).inflight_batches, 1);
	assert_int_equal(stats(b).inflight_bytes, 30);
	assert_int_equal(stats(b).decisions, 1);
	assert_int_equal(stats(b).requests, 4);
	b->now += 2000; /* [1536, 2048) is bucket 2 */
	done(b, t);
	assert_int_equal(stats_of(b, 1).inflight_requests, 0);
	assert_int_equal(stats_of(b, 1).inflight_bytes, 0);
	assert_int_equal(stats_of(b, 1).served_requests[SL_READ], 3);
	assert_int_equal(stats_of(b, 1).served_bytes[SL_READ], 30);
	assert_int_equal(stats_of(b, 1).served_bytes[SL_WRITE], 0);
	assert_int_equal(stats_of(b, 1).latency[2], 3);
	assert_int_equal(stats(b).inflight_batches, 0);
	assert_int_equal(stats(b).inflight_bytes, 0);
	assert_int_equal(stats(b).requests, 1);
	assert_int_equal(stats(b).files, 1);
	ok(b, sl_cancel(b->s, r, b->now));
	assert_int_equal(stats_of(b, 1).queued_requests, 0);
	assert_int_equal(stats_of(b, 1).queued_bytes, 0);
	assert_int_equal(stats_of(b, 1).served_bytes[SL_WRITE], 0);
	assert_int_equal(stats(b).requests, 0);
	assert_int_equal(stats(b).files, 0);
	assert_int_equal(stats(b).decisions, 1);
	assert_int_equal(stats(b).jobs, 1);
}

/* ---- latency ---- */

/* 1024, 1536, 2048, 3072, 4096, ...: every bound is twice the one before the last. */
static void bounds_of_latency_double_every_second_bucket(void **state)
{
	(void)state;
	assert_int_equal(sl_latency_bound_ns(0), 1024);
	assert_int_equal(sl_latency_bound_ns(1), 1536);
	for (unsigned i = 2; i < SL_LATENCY_BUCKETS - 1; i++)
		assert_int_equal(sl_latency_bound_ns(i), 2 * sl_latency_bound_ns(i - 2));
	assert_int_equal(sl_latency_bound_ns(SL_LATENCY_BUCKETS - 1), SL_NEVER);
	assert_int_equal(sl_latency_bound_ns(1000), SL_NEVER);
}

static void a_latency_is_counted_below_its_bound_and_not_below_the_one_before(void **state)
{
	struct box *b = *state;

	job(b, 1, 0);
	for (unsigned i = 0; i < SL_LATENCY_BUCKETS; i++) {
		sl_time least = i ? sl_latency_bound_ns(i - 1) : 0;
		sl_time most =
			i < SL_LATENCY_BUCKETS - 1 ? sl_latency_bound_ns(i) - 1 : least * 100;

		for (int k = 0; k < 2; k++) {
			const struct sl_batch *t;

			b->used = 0;
			put(b, 1, SL_READ, A, 0, 1);
			t = expect(b, 1, 0, 1, 1);
			b->now += k ? most : least;
			done(b, t);
			assert_int_equal(stats_of(b, 1).latency[i], k + 1);
		}
	}
}

/* 90 of 1 us, 9 of 3 us, 1 of 1 ms: p50 and p90 1024, p91 and p99 3072, above that 2^20. */
static void percentiles_are_upper_bounds_of_buckets(void **state)
{
	struct sl_job_stats st = { 0 };

	(void)state;
	assert_int_equal(sl_latency_percentile_ns(&st, 500000), 0);
	st.latency[0] = 90;
	st.latency[3] = 9; /* [2048, 3072) */
	st.latency[20] = 1;
	assert_int_equal(sl_latency_percentile_ns(&st, 0), 1024);
	assert_int_equal(sl_latency_percentile_ns(&st, 500000), 1024);
	assert_int_equal(sl_latency_percentile_ns(&st, 900000), 1024);
	assert_int_equal(sl_latency_percentile_ns(&st, 900001), 3072);
	assert_int_equal(sl_latency_percentile_ns(&st, 990000), 3072);
	assert_int_equal(sl_latency_percentile_ns(&st, 990001), sl_latency_bound_ns(20));
	assert_int_equal(sl_latency_percentile_ns(&st, 1000000), sl_latency_bound_ns(20));
	assert_int_equal(sl_latency_percentile_ns(&st, UINT_MAX), sl_latency_bound_ns(20));
}

/* ---- bad input ---- */

struct photo {
	struct sl_sched_stats s;
	struct sl_job_stats j;
};

static void take_photo(struct box *b, struct photo *p)
{
	memset(p, 0, sizeof(*p));
	sl_sched_stats(b->s, &p->s);
	assert_int_equal(sl_job_stats(b->s, 1, b->now, &p->j), 0);
}

static void a_bad_request_is_refused_and_changes_nothing(void **state)
{
	struct box *b = *state;
	struct photo before, after;
	struct sl_request *in, good = { .job = 1, .file = A, .length = 4 }, r;

	job(b, 1, 0);
	in = put(b, 1, SL_WRITE, A, 0, 4);
	take_photo(b, &before);
	r = good, r.job = 2;
	refused(b, -ENOENT, sl_add(b->s, &r, b->now));
	refused(b, -EALREADY, sl_add(b->s, in, b->now));
	r = good, r.op = 2;
	refused(b, -EINVAL, sl_add(b->s, &r, b->now));
	r = good, r.length = 0;
	refused(b, -EINVAL, sl_add(b->s, &r, b->now));
	r = good, r.length = SL_MAX_LENGTH + 1;
	refused(b, -EINVAL, sl_add(b->s, &r, b->now));
	r = good, r.offset = UINT64_MAX - 3;
	refused(b, -EOVERFLOW, sl_add(b->s, &r, b->now));
	r = good, r.length = UINT64_MAX;
	refused(b, -EINVAL, sl_add(b->s, &r, b->now));
	take_photo(b, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	r = good, r.offset = UINT64_MAX - 4; /* the last that fits */
	ok(b, sl_add(b->s, &r, b->now));
	r = good, r.offset = 8, r.length = SL_MAX_LENGTH, r.op = SL_WRITE;
	ok(b, sl_add(b->s, &(struct sl_request){ .job = 1, .file = A, .length = 1 }, b->now));
	ok(b, sl_add(b->s, &r, b->now));
}

static void a_completion_that_makes_no_sense_is_refused_and_changes_nothing(void **state)
{
	struct box *b = *state;
	const struct sl_batch *t, *u;
	struct sl_batch copy;
	struct photo before, after;

	job(b, 1, 0);
	put(b, 1, SL_WRITE, A, 0, 4);
	put(b, 1, SL_WRITE, B, 0, 4);
	t = expect(b, 1, 0, 4, 1);
	u = expect(b, 1, 0, 4, 1);
	done(b, t);
	copy = *u;
	take_photo(b, &before);
	refused(b, -EINVAL, sl_done(b->s, t, b->now)); /* twice */
	refused(b, -EINVAL, sl_done(b->s, NULL, b->now));
	refused(b, -EINVAL, sl_done(b->s, &copy, b->now));
	refused(b, -EINVAL, sl_done(b->s, (const struct sl_batch *)((const char *)u + 8), b->now));
	take_photo(b, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	done(b, u);
	refused(b, -EINVAL, sl_done(b->s, u, b->now));
}

static void a_batch_in_the_making_cannot_be_reported_done(void **state)
{
	struct box *b = *state;
	const struct sl_batch *t;

	job(b, 1, 0);
	ok(b, sl_policy_set(b->s, "order", "to-agg", b->now));
	put(b, 1, SL_WRITE, A, 0, 4);
	t = expect(b, 1, 0, 4, 1);
	done(b, t);
	put(b, 1, SL_WRITE, A, 0, 4); /* its run is the one that was just freed */
	refused(b, -EINVAL, sl_done(b->s, t, b->now));
	serve(b, 1, 0, 4, 1);
}

static void what_is_in_flight_or_not_inside_cannot_be_cancelled(void **state)
{
	struct box *b = *state;
	const struct sl_batch *t;
	struct sl_request *r;

	job(b, 1, 0);
	refused(b, -ENOENT, sl_cancel(b->s, make(b, 1, SL_READ, A, 0, 1), b->now));
	r = put(b, 1, SL_WRITE, A, 0, 4);
	t = expect(b, 1, 0, 4, 1);
	refused(b, -EBUSY, sl_cancel(b->s, r, b->now));
	done(b, t);
	refused(b, -ENOENT, sl_cancel(b->s, r, b->now));
	ok(b, sl_add(b->s, r, b->now));
	ok(b, sl_cancel(b->s, r, b->now));
	refused(b, -ENOENT, sl_cancel(b->s, r, b->now));
	nothing(b, SL_NEVER);
}

static void a_bad_job_is_refused_and_changes_nothing(void **state)
{
	static const struct {
		struct sl_job_conf c;
		int rc;
	} bad[] = {
		{ { .weight = SL_MAX_WEIGHT + 1 }, -ERANGE },
		{ { .min_bps = SL_MAX_RATE + 1 }, -ERANGE },
		{ { .max_bps = SL_MAX_RATE + 1 }, -ERANGE },
		{ { .burst_bytes = SL_MAX_LENGTH + 1 }, -ERANGE },
		{ { .best_effort = 2 }, -ERANGE },
		{ { .period_ns = -1 }, -ERANGE },
		{ { .min_bps = 11, .max_bps = 10 }, -EINVAL },
		{ { .min_bps = 81 }, -EDQUOT }, /* 20 of 100 are promised */
	};
	struct box *b = *state;
	struct photo before, after;
	struct sl_job_conf conf, same;

	job(b, 1, .min_bps = 20, .max_bps = 50, .weight = 3);
	job(b, 2, 0);
	ok(b, sl_job_get(b->s, 1, &conf));
	take_photo(b, &before);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		refused(b, bad[i].rc, sl_job_add(b->s, 9, &bad[i].c, b->now));
		refused(b, bad[i].rc, sl_job_set(b->s, 2, &bad[i].c, b->now));
	}
	refused(b, -EEXIST, sl_job_add(b->s, 1, NULL, b->now));
	refused(b, -ENOENT, sl_job_set(b->s, 9, &conf, b->now));
	refused(b, -ENOENT, sl_job_remove(b->s, 9, b->now));
	refused(b, -ENOENT, sl_job_order(b->s, 9, "to", b->now));
	refused(b, -ENOENT, sl_job_order(b->s, 1, "fifo", b->now));
	refused(b, -ERANGE, sl_job_order(b->s, 1, "to-agg,batch_requests=0", b->now));
	refused(b, -ENOENT, sl_job_grant(b->s, 9, 5, SL_NEVER, b->now));
	refused(b, -ERANGE, sl_job_grant(b->s, 1, SL_MAX_RATE + 1, SL_NEVER, b->now));
	refused(b, -ERANGE, sl_capacity_set(b->s, SL_MAX_RATE + 1, b->now));
	refused(b, -EBUSY, sl_capacity_set(b->s, 0, b->now));
	refused(b, -ENOENT, sl_policy_set(b->s, "grant", "none", b->now));
	refused(b, -ENOENT, sl_policy_set(b->s, "share", "to", b->now));
	refused(b, -ENOENT, sl_policy_set(b->s, "share", "wfq,slack=1", b->now));
	refused(b, -ERANGE, sl_policy_set(b->s, "order", "sjf,max_age_ms=999999999", b->now));
	assert_int_equal(sl_job_get(b->s, 9, &same), -ENOENT);
	assert_int_equal(sl_job_stats(b->s, 9, b->now, &after.j), -ENOENT);
	take_photo(b, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	ok(b, sl_job_get(b->s, 1, &same));
	assert_memory_equal(&conf, &same, sizeof(conf));
}

/* ---- limits ---- */

static void limits_are_refused_with_enospc_and_free_again(void **state)
{
	struct box *b = box_open(&(struct sl_config){
		.limits = { .jobs = 2, .files = 2, .requests = 3 }, .order = "to-agg" });
	const struct sl_batch *t;
	struct sl_request *r;

	(void)state;
	job(b, 1, 0);
	job(b, 2, 0);
	refused(b, -ENOSPC, sl_job_add(b->s, 3, NULL, b->now));
	put(b, 1, SL_READ, A, 0, 1);
	put(b, 2, SL_READ, A, 0, 1);
	r = make(b, 1, SL_READ, B, 0, 1);
	refused(b, -ENOSPC, sl_add(b->s, r, b->now)); /* (1, A) and (2, A) */
	put(b, 1, SL_READ, A, 8, 1);
	refused(b, -ENOSPC, sl_add(b->s, make(b, 1, SL_READ, A, 16, 1), b->now));
	t = expect(b, 1, 0, 1, 1);
	refused(b, -ENOSPC, sl_add(b->s, make(b, 1, SL_READ, A, 16, 1), b->now));
	done(b, t);
	refused(b, -ENOSPC, sl_add(b->s, r, b->now));
	serve(b, 2, 0, 1, 1);
	ok(b, sl_add(b->s, r, b->now)); /* the entry of (2, A) is free */
	refused(b, -EBUSY, sl_job_remove(b->s, 1, b->now));
	ok(b, sl_job_remove(b->s, 2, b->now));
	job(b, 3, 0);
	refused(b, -ENOSPC, sl_job_add(b->s, 2, NULL, b->now));
	box_close(b);
}

/* ---- jobs ---- */

static void a_job_is_removed_when_it_has_no_requests(void **state)
{
	struct box *b = *state;
	const struct sl_batch *t;
	struct sl_request *r;

	job(b, 1, 0);
	r = put(b, 1, SL_READ, A, 0, 1);
	refused(b, -EBUSY, sl_job_remove(b->s, 1, b->now));
	t = expect(b, 1, 0, 1, 1);
	refused(b, -EBUSY, sl_job_remove(b->s, 1, b->now));
	done(b, t);
	ok(b, sl_job_remove(b->s, 1, b->now));
	refused(b, -ENOENT, sl_add(b->s, r, b->now));
	refused(b, -ENOENT, sl_job_remove(b->s, 1, b->now));
	assert_int_equal(stats(b).jobs, 0);
}

/*
 * Job 1 leaves with 1 s of debt under its max, a grant, an order of its own, counters and the
 * only entry for files in its name. Its slot comes back as job 2, and nothing of that with it.
 */
static void a_slot_that_comes_back_has_nothing_of_the_job_before(void **state)
{
	struct box *b =
		box_open(&(struct sl_config){ .limits = { .jobs = 1, .files = 1, .requests = 8 },
					      .order = "to-agg",
					      .capacity_bps = 100 * MB,
					      .strict_grants = 1 });
	struct sl_job_stats st, none = { .max_bps = MB };

	(void)state;
	job(b, 1, .min_bps = MB, .max_bps = MB, .burst_bytes = 1, .weight = 7);
	ok(b, sl_job_order(b->s, 1, "to", b->now));
	put(b, 1, SL_WRITE, A, 0, MB);
	serve(b, 1, 0, MB, 1);
	ok(b, sl_job_grant(b->s, 1, 0, b->now + SEC, b->now));
	ok(b, sl_job_remove(b->s, 1, b->now));
	assert_int_equal(stats(b).floors_bps, 0);
	job(b, 2, .max_bps = MB, .burst_bytes = 8); /* half of it is for merging */
	st = stats_of(b, 2);
	assert_memory_equal(&st, &none, sizeof(st));
	put(b, 2, SL_WRITE, B, 0, 1);
	put(b, 2, SL_WRITE, B, 1, 1);
	serve(b, 2, 0, 2, 2);
	nothing(b, SL_NEVER); /* the lease of job 1 is gone, too */
	box_close(b);
}

/*
 * Job 1 has sent 4 MiB alone, in a batch of two of file A, and is gone. Job 3 has its slot: it
 * alternates with job 2 from the start, and its single request of A is not made to wait for two.
 */
static void a_slot_that_comes_back_owes_nothing_to_share_and_order(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .limits = { 2, 8, 64 }, .order = "aioli" });
	unsigned served[4] = { 0 };

	(void)state;
	job(b, 1, 0);
	job(b, 2, 0);
	put(b, 1, SL_READ, A, 0, 2 * M);
	put(b, 1, SL_READ, A, 2 * M, 2 * M);
	serve(b, 1, 0, 4 * M, 2);
	ok(b, sl_job_remove(b->s, 1, b->now));
	job(b, 3, 0);
	for (uint64_t i = 0; i < 10; i++)
		put(b, 2, SL_READ, B, 2 * i * M, M);
	put(b, 3, SL_READ, A, 100 * M, M);
	for (int i = 0; i < 2; i++) {
		const struct sl_batch *t = sl_next(b->s, b->now, NULL);

		assert_non_null(t);
		served[t->job]++;
		done(b, t);
	}
	assert_int_equal(served[2], 1);
	assert_int_equal(served[3], 1);
	box_close(b);
}

static void a_weight_of_zero_means_one(void **state)
{
	struct sl_job_conf c;
	struct box *b = *state;

	job(b, 1, 0);
	ok(b, sl_job_get(b->s, 1, &c));
	assert_int_equal(c.weight, 1);
}

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

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

	ok(b, sl_policy_set(b->s, "order", "to-agg", b->now));
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

	(void)state;
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
	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

/* ---- share and order in the composition ---- */

/* Weights 3 : 1, backlogged: of 40 requests of equal size 30 and 10, within one. */
static void weights_divide_the_bytes(void **state)
{
	struct box *b = *state;
	unsigned served[3] = { 0 };

	job(b, 1, .weight = 3);
	job(b, 2, .weight = 1);
	for (uint64_t i = 0; i < 40; i++) {
		put(b, 1, SL_READ, A, i * 2 * K, K);
		put(b, 2, SL_READ, A, i * 2 * K, K);
	}
	for (unsigned i = 0; i < 40; i++) {
		const struct sl_batch *t = sl_next(b->s, b->now, NULL);

		assert_non_null(t);
		served[t->job]++;
		done(b, t);
	}
	assert_in_range(served[1], 29, 31);
}

/* Job 2 pauses while job 1 sends 10 MB: that is not made up for afterwards. */
static void a_job_gains_nothing_by_having_been_idle(void **state)
{
	struct box *b = *state;
	unsigned served[3] = { 0 };

	job(b, 1, 0);
	job(b, 2, 0);
	for (uint64_t i = 0; i < 30; i++)
		put(b, 1, SL_READ, A, i * MB, MB);
	put(b, 2, SL_READ, A, 0, MB);
	for (int i = 0; i < 11; i++) {
		const struct sl_batch *t = sl_next(b->s, b->now, NULL);

		assert_non_null(t);
		done(b, t);
	}
	assert_int_equal(stats_of(b, 2).served_requests[SL_READ], 1);
	for (uint64_t i = 1; i < 11; i++)
		put(b, 2, SL_READ, A, i * MB, MB);
	for (int i = 0; i < 10; i++) {
		const struct sl_batch *t = sl_next(b->s, b->now, NULL);

		assert_non_null(t);
		served[t->job]++;
		done(b, t);
	}
	assert_in_range(served[2], 5, 6);
}

static void fifo_is_arrival_order_over_all_jobs(void **state)
{
	struct box *b = *state;

	ok(b, sl_policy_set(b->s, "share", "fifo", b->now));
	job(b, 1, 0);
	job(b, 2, 0);
	put(b, 2, SL_READ, A, 0, 1);
	put(b, 1, SL_READ, A, 1, 1);
	put(b, 1, SL_READ, A, 2, 1);
	put(b, 2, SL_READ, A, 3, 1);
	put(b, 1, SL_READ, A, 4, 1);
	serve(b, 2, 0, 1, 1);
	serve(b, 1, 1, 1, 1);
	serve(b, 1, 2, 1, 1);
	serve(b, 2, 3, 1, 1);
	serve(b, 1, 4, 1, 1);
}

/* The oldest of job 1 is cancelled: its next came after job 2's. */
/* 8 MiB of job 1 while job 2 is away: within wfq's slack, so nothing else would hide it. */
static unsigned served_of_two_after_it_was_away(struct box *b)
{
	unsigned of_two = 0;

	for (unsigned i = 0; i < 8; i++) {
		put(b, 1, SL_READ, A, i * M, M);
		serve(b, 1, i * M, M, 1);
	}
	for (unsigned i = 0; i < 8; i++) {
		put(b, 1, SL_READ, B, i * 2 * M, M);
		put(b, 2, SL_READ, C, i * 2 * M, M);
	}
	for (unsigned i = 0; i < 8; i++) {
		const struct sl_batch *t = sl_next(b->s, b->now, NULL);

		of_two += t->job == 2;
		done(b, t);
	}
	return of_two;
}

static void who_cancels_its_last_request_gains_nothing_by_being_away(void **state)
{
	struct box *b = *state;

	job(b, 1, 0);
	job(b, 2, 0);
	ok(b, sl_cancel(b->s, put(b, 2, SL_READ, C, 0, M), b->now));
	assert_int_equal(served_of_two_after_it_was_away(b), 4);
}

static void nor_does_who_cancels_it_while_its_order_policy_waits(void **state)
{
	struct box *b = *state;
	struct sl_request *r;

	job(b, 1, 0);
	job(b, 2, 0);
	ok(b, sl_job_order(b->s, 2, "mlf", b->now));
	put(b, 2, SL_READ, C, 0, K);
	put(b, 2, SL_READ, C, K, K);
	serve(b, 2, 0, 2 * K, 2); /* two came together: more is likely to come than one */
	r = put(b, 2, SL_READ, C, 2 * K, K);
	nothing(b, b->now + 500 * US);
	ok(b, sl_cancel(b->s, r, b->now));
	nothing(b, SL_NEVER);
	ok(b, sl_job_order(b->s, 2, NULL, b->now));
	assert_int_equal(served_of_two_after_it_was_away(b), 4);
}

static void a_cancelled_request_does_not_keep_its_jobs_place_in_fifo(void **state)
{
	struct box *b = *state;
	struct sl_request *r;

	ok(b, sl_policy_set(b->s, "share", "fifo", b->now));
	job(b, 1, 0);
	job(b, 2, 0);
	r = put(b, 1, SL_READ, A, 0, 1);
	put(b, 2, SL_READ, A, 1, 1);
	put(b, 1, SL_READ, A, 2, 1);
	ok(b, sl_cancel(b->s, r, b->now));
	serve(b, 2, 1, 1, 1);
	serve(b, 1, 2, 1, 1);
}

/* aioli holds back job 1's batch for 500 us: job 2 is served, and the wake time is that. */
static void a_wait_of_order_makes_a_job_not_ready(void **state)
{
	struct box *b = *state;
	sl_time t0 = b->now;

	job(b, 1, 0);
	job(b, 2, 0);
	ok(b, sl_job_order(b->s, 1, "aioli", b->now));
	put(b, 1, SL_READ, A, 0, 1);
	put(b, 1, SL_READ, A, 1, 1);
	serve(b, 1, 0, 2, 2);
	put(b, 1, SL_READ, A, 100, 1);
	nothing(b, t0 + 500 * US);
	put(b, 2, SL_READ, A, 0, 1);
	serve(b, 2, 0, 1, 1);
	nothing(b, t0 + 500 * US);
	b->now = t0 + 500 * US;
	serve(b, 1, 100, 1, 1);
	nothing(b, SL_NEVER);
	assert_int_equal(stats_of(b, 1).throttled_ns, 0); /* that was no throttling */
}

/* Across jobs there is no order to keep, within one there is. */
static void overlaps_are_ordered_within_a_job_only(void **state)
{
	struct box *b = *state;
	const struct sl_batch *t;

	job(b, 1, 0);
	job(b, 2, 0);
	put(b, 1, SL_WRITE, A, 0, 4);
	put(b, 1, SL_WRITE, A, 2, 4);
	t = expect(b, 1, 0, 4, 1);
	nothing(b, SL_NEVER);
	put(b, 2, SL_WRITE, A, 0, 4);
	expect(b, 2, 0, 4, 1);
	nothing(b, SL_NEVER);
	done(b, t);
	expect(b, 1, 2, 4, 1);
}

/* ---- the tables ---- */

static void policies_are_listed_in_the_order_of_the_io_path(void **state)
{
	static const char *const want[] = {
		"admit/token-bucket", "admit/open",    "share/wfq",  "share/fifo",
		"share/round-robin",  "share/io-sets", "share/pool", "order/to-agg",
		"order/to",	      "order/sjf",     "order/mlf",  "order/aioli",
		"order/auto"
	};
	struct sl_policy_info info;
	const char *name;
	unsigned i = 0, k = 0;

	(void)state;
	for (; !sl_policy_info(i, &info); i++) {
		if (strcmp(info.stage, "allocate") != 0 &&
		    strcmp(info.stage, "grant") != 0) { /* those come first */
			assert_true(k < sizeof(want) / sizeof(want[0]));
			assert_true(!strncmp(want[k], info.stage, strlen(info.stage)));
			assert_string_equal(want[k] + strlen(info.stage) + 1, info.name);
			k++;
		} else {
			assert_int_equal(k, 0);
		}
		assert_true(info.summary[0] && info.source[0]);
		for (const struct sl_param *p = info.params; p && p->name; p++) {
			assert_true(p->help && p->help[0]);
			assert_true(p->min <= p->def && p->def <= p->max);
			assert_true((p->unit == SL_CHOICE) == (p->choices != NULL));
		}
	}
	assert_int_equal(k, sizeof(want) / sizeof(want[0]));
	assert_int_equal(sl_policy_info(i, &info), -ENOENT);
	assert_int_equal(sl_policy_info(UINT32_MAX, &info), -ENOENT);
	assert_int_equal(sl_policy_default("share", &name), 0);
	assert_string_equal(name, "wfq");
	assert_int_equal(sl_policy_default("grant", &name), 0);
	assert_string_equal(name, "none");
	assert_int_equal(sl_policy_default("allocation", &name), -ENOENT);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_what_the_header_says),
		cmocka_unit_test(a_scheduler_that_makes_no_sense_is_not_created),
		CASE(schedulers_side_by_side_know_nothing_of_each_other),
		CASE(a_scheduler_may_be_destroyed_with_requests_inside),
		CASE(nothing_waiting_means_ask_when_something_happens),
		CASE(a_request_can_be_used_again_after_done_and_after_cancel),
		CASE(time_that_runs_backwards_stands_still),
		CASE(counters_follow_a_request_through_its_life),
		cmocka_unit_test(bounds_of_latency_double_every_second_bucket),
		CASE(a_latency_is_counted_below_its_bound_and_not_below_the_one_before),
		cmocka_unit_test(percentiles_are_upper_bounds_of_buckets),
		CASE(a_bad_request_is_refused_and_changes_nothing),
		CASE(a_completion_that_makes_no_sense_is_refused_and_changes_nothing),
		CASE(a_batch_in_the_making_cannot_be_reported_done),
		CASE(what_is_in_flight_or_not_inside_cannot_be_cancelled),
		CASE(a_bad_job_is_refused_and_changes_nothing),
		cmocka_unit_test(limits_are_refused_with_enospc_and_free_again),
		CASE(a_job_is_removed_when_it_has_no_requests),
		cmocka_unit_test(a_slot_that_comes_back_has_nothing_of_the_job_before),
		cmocka_unit_test(a_slot_that_comes_back_owes_nothing_to_share_and_order),
		CASE(a_weight_of_zero_means_one),
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
		CASE(weights_divide_the_bytes),
		CASE(a_job_gains_nothing_by_having_been_idle),
		CASE(fifo_is_arrival_order_over_all_jobs),
		CASE(a_cancelled_request_does_not_keep_its_jobs_place_in_fifo),
		CASE(who_cancels_its_last_request_gains_nothing_by_being_away),
		CASE(nor_does_who_cancels_it_while_its_order_policy_waits),
		CASE(a_wait_of_order_makes_a_job_not_ready),
		CASE(overlaps_are_ordered_within_a_job_only),
		cmocka_unit_test(policies_are_listed_in_the_order_of_the_io_path),
	};

	return cmocka_run_group_tests_name("sched", tests, NULL, NULL);
}
