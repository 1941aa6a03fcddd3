/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched/: how admit, share and order go together: the life of a request, its latency, the counters
 * and tables. What is refused, and jobs: test-sched-input.c. Guarantees, limits and grants:
 * test-sched-rates.c. Live changes of policies and lanes: test-sched-change.c.
 */
#include "tests/unit/sched-rig.h"

static const struct sl_config plain = { .order = "to", .capacity_bps = 100 };

/* ---- creation ---- */

static void defaults_are_what_the_header_says(void **state)
{
	struct sl_sched *s;
	struct sl_sched_stats st;

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
	set_policy(b, "order", "to-agg");
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
	serve_any(b, 40, served);
	assert_in_range(served[1], 29, 31);
}

/* Job 2 pauses while job 1 sends 10 MB: that is not made up for afterwards. */
static void a_job_gains_nothing_by_having_been_idle(void **state)
{
	struct box *b = *state;
	unsigned served[3] = { 0 }, later[3] = { 0 };

	job(b, 1, 0);
	job(b, 2, 0);
	for (uint64_t i = 0; i < 30; i++)
		put(b, 1, SL_READ, A, i * MB, MB);
	put(b, 2, SL_READ, A, 0, MB);
	serve_any(b, 11, served);
	assert_int_equal(served[2], 1);
	assert_int_equal(stats_of(b, 2).served_requests[SL_READ], 1);
	for (uint64_t i = 1; i < 11; i++)
		put(b, 2, SL_READ, A, i * MB, MB);
	serve_any(b, 10, later);
	assert_in_range(later[2], 5, 6);
}

static void fifo_is_arrival_order_over_all_jobs(void **state)
{
	struct box *b = *state;

	set_policy(b, "share", "fifo");
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

/* 8 MiB of job 1 while job 2 is away: within wfq's slack, so nothing else would hide it. */
static unsigned served_of_two_after_it_was_away(struct box *b)
{
	unsigned served[3] = { 0 };

	for (unsigned i = 0; i < 8; i++) {
		put(b, 1, SL_READ, A, i * M, M);
		serve(b, 1, i * M, M, 1);
	}
	for (unsigned i = 0; i < 8; i++) {
		put(b, 1, SL_READ, B, i * 2 * M, M);
		put(b, 2, SL_READ, C, i * 2 * M, M);
	}
	serve_any(b, 8, served);
	return served[2];
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

/* The oldest of job 1 is cancelled: its next came after job 2's. */
static void a_cancelled_request_does_not_keep_its_jobs_place_in_fifo(void **state)
{
	struct box *b = *state;
	struct sl_request *r;

	set_policy(b, "share", "fifo");
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
	static const char *const want[] = { "admit/token-bucket", "admit/open", "share/wfq",
					    "share/fair",	  "share/fifo", "share/round-robin",
					    "share/io-sets",	  "share/pool", "order/to-agg",
					    "order/to",		  "order/sjf",	"order/mlf",
					    "order/aioli",	  "order/auto" };
	struct sl_policy_info info;
	const char *name;
	unsigned i = 0, k = 0;

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

#define CASE(name) BOX_CASE(plain, name)

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
