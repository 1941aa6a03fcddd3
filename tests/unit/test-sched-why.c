/* SPDX-License-Identifier: Apache-2.0 */
/* sched/why: each stage that can hold a job is named when it does, and only then. */
#include "tests/unit/sched-rig.h"

#include "sched/why.h"

static const struct sl_config plain = { .order = "to" };

static struct sl_why why(struct box *b, uint64_t id)
{
	struct sl_why w;

	assert_int_equal(sl_job_why(b->s, id, b->now, &w), 0);
	return w;
}

static void a_job_with_nothing_waiting_has_no_reason(void **state)
{
	struct box *b = *state;
	struct sl_why w;

	assert_int_equal(sl_job_why(b->s, 1, b->now, &w), -ENOENT);
	job(b, 1, 0);
	assert_int_equal(why(b, 1).kind, SL_WHY_NOTHING);
	put(b, 1, SL_READ, A, 0, 1);
	assert_int_equal(why(b, 1).kind, SL_WHY_TURN);
	expect(b, 1, 0, 1, 1);
	assert_int_equal(why(b, 1).kind, SL_WHY_NOTHING); /* it is in flight */
}

static void a_job_that_has_used_up_its_max_is_held_by_it_until_it_may_send(void **state)
{
	struct box *b = *state;

	job(b, 1, .max_bps = 1 * MB, .burst_bytes = 4096);
	for (uint64_t i = 0; i < 3; i++)
		put(b, 1, SL_WRITE, A, i * MB, MB);
	serve(b, 1, 0, MB, 1);
	nothing(b, 10 * SEC + 1 * SEC - 4096 * US);
	assert_int_equal(why(b, 1).kind, SL_WHY_CAP);
	b->now += 1 * SEC;
	assert_int_equal(why(b, 1).kind, SL_WHY_TURN);
}

static void strict_grants_hold_and_limit(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .order = "to", .strict_grants = 1 });

	job(b, 1, .max_bps = 500 * MB);
	ok(b, sl_job_grant(b->s, 1, 0, b->now + 100 * SEC, b->now));
	put(b, 1, SL_READ, A, 0, 1);
	assert_int_equal(why(b, 1).kind, SL_WHY_HELD);
	ok(b, sl_job_grant(b->s, 1, 1 * MB, b->now + 100 * SEC, b->now));
	for (uint64_t i = 0; i < 3; i++)
		put(b, 1, SL_WRITE, B, i * MB, MB);
	while (sl_next(b->s, b->now, NULL))
		;
	assert_int_equal(why(b, 1).kind, SL_WHY_GRANT);
	box_close(b);
}

static void a_grant_of_0_ranks_behind_others(void **state)
{
	struct box *b = *state;

	job(b, 1, 0);
	job(b, 2, 0);
	ok(b, sl_job_grant(b->s, 1, 0, b->now + SEC, b->now));
	assert_int_equal(why(b, 1).kind, SL_WHY_NOTHING);
	assert_true(why(b, 1).ungranted); /* also while nothing waits */
	assert_false(why(b, 2).ungranted);
	put(b, 1, SL_READ, A, 0, 1);
	put(b, 2, SL_READ, A, 0, 1);
	assert_int_equal(why(b, 1).kind, SL_WHY_RANK);
	assert_int_equal(why(b, 2).kind, SL_WHY_TURN);
}

static void a_job_behind_its_min_says_so(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .order = "to", .capacity_bps = 10 * MB });

	job(b, 1, .min_bps = 5 * MB);
	job(b, 2, 0);
	put(b, 1, SL_READ, A, 0, 1);
	put(b, 2, SL_READ, A, 0, 1);
	b->now += SEC;
	assert_true(why(b, 1).behind);
	assert_false(why(b, 2).behind);
	box_close(b);
}

static void an_order_policy_that_waits_is_named(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .order = "aioli,wait_us=500" });

	job(b, 1, 0);
	put(b, 1, SL_READ, A, 0, 4096);
	put(b, 1, SL_READ, A, 4096, 4096);
	serve(b, 1, 0, 8192, 2);
	/* a stream whose next request is late: the one behind it waits for that */
	put(b, 1, SL_READ, A, 12288, 4096);
	nothing(b, b->now + 500 * US);
	assert_int_equal(why(b, 1).kind, SL_WHY_ORDER);
	b->now += 500 * US;
	serve(b, 1, 12288, 4096, 1);
	box_close(b);
}

static void overlapping_requests_wait_for_the_jobs_own(void **state)
{
	struct box *b = *state;

	job(b, 1, 0);
	put(b, 1, SL_WRITE, A, 0, 10);
	expect(b, 1, 0, 10, 1);
	put(b, 1, SL_READ, A, 5, 1);
	assert_int_equal(why(b, 1).kind, SL_WHY_OWN);
}

/* Jobs 1 and 2, of these periods, have had four requests waiting, and `first` was served one. */
static struct box *two_under_io_sets(sl_time period_1, sl_time period_2, uint64_t bytes,
				     uint64_t first)
{
	struct box *b = box_open(&(struct sl_config){ .order = "to", .share = "io-sets" });

	job(b, 1, .period_ns = period_1);
	job(b, 2, .period_ns = period_2);
	for (uint64_t i = 0; i < 4; i++) {
		put(b, 1, SL_READ, A, i * bytes, bytes);
		put(b, 2, SL_READ, B, i * bytes, bytes);
	}
	serve(b, first, 0, bytes, 1);
	return b;
}

static void io_sets_names_the_job_that_has_the_set(void **state)
{
	struct box *b = two_under_io_sets(10 * SEC, 12 * SEC, MB, 1);

	assert_int_equal(why(b, 2).kind, SL_WHY_JOB);
	assert_int_equal(why(b, 2).job, 1);
	assert_int_equal(why(b, 1).kind, SL_WHY_TURN);
	box_close(b);
}

static void io_sets_names_the_set_that_goes_first(void **state)
{
	struct box *b = two_under_io_sets(100 * SEC, 1 * SEC, MB, 2);

	assert_int_equal(why(b, 1).kind, SL_WHY_SET);
	assert_int_equal(why(b, 1).set, 0);
	assert_int_equal(why(b, 2).kind, SL_WHY_TURN);
	box_close(b);
}

static void io_sets_names_the_job_of_unknown_period_whose_turn_it_is(void **state)
{
	struct box *b = two_under_io_sets(0, 0, 2 * M, 1);

	assert_int_equal(why(b, 1).kind, SL_WHY_JOB);
	assert_int_equal(why(b, 1).job, 2);
	assert_int_equal(why(b, 2).kind, SL_WHY_TURN);
	box_close(b);
}

/*
 * Random jobs on two schedulers that are told the same; one of them is asked for reasons all the
 * time. Both decide the same; and whoever is sent next had nobody before it.
 */
static uint64_t seed;

static uint64_t roll(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static void one_stream(const char *share, uint64_t first)
{
	static const sl_time periods[] = { 0, 0, SEC, 2 * SEC, 10 * SEC, 15 * SEC, 1000 * SEC };
	struct sl_config config = { .order = "to", .share = share };
	struct box *asked = box_open(&config), *other = box_open(&config);
	uint64_t jobs = 2 + roll(6);
	unsigned named = 0;

	for (uint64_t j = 1; j <= jobs; j++) {
		sl_time period = periods[roll(sizeof(periods) / sizeof(periods[0]))];

		job(asked, j, .period_ns = period);
		job(other, j, .period_ns = period);
	}
	while (asked->used < BOX_REQUESTS) {
		const struct sl_batch *a, *b;
		struct sl_why before[9];

		for (uint64_t n = roll(8); n && asked->used < BOX_REQUESTS; n--) {
			uint64_t id = 1 + roll(jobs), bytes = UINT64_C(4096) << roll(10);

			put(asked, id, SL_READ, id, asked->used * (M << 3), bytes);
			put(other, id, SL_READ, id, other->used * (M << 3), bytes);
		}
		for (uint64_t n = roll(8); n; n--) {
			for (uint64_t j = 1; j <= jobs; j++) {
				before[j] = why(asked, j);
				named += before[j].kind == SL_WHY_JOB ||
					 before[j].kind == SL_WHY_SET;
			}
			a = sl_next(asked->s, asked->now, NULL);
			b = sl_next(other->s, other->now, NULL);
			assert_int_equal(!a, !b);
			if (!a || !b)
				break;
			assert_int_equal(a->job, b->job);
			if (before[a->job].kind != SL_WHY_TURN)
				fail_msg("%s: job %" PRIu64
					 " is next, but waited for %d; SL_SEED=%" PRIu64,
					 share, a->job, (int)before[a->job].kind, first);
			done(asked, a);
			done(other, b);
		}
		asked->now += (sl_time)roll(30) * MS;
		other->now = asked->now;
	}
	if (strncmp(share, "io-sets", 7) != 0)
		assert_int_equal(named, 0);
	box_close(asked);
	box_close(other);
}

static void asking_changes_nothing_and_nobody_is_before_the_one_that_is_next(void **state)
{
	static const char *const shares[] = {
		"wfq",
		"fifo",
		"round-robin",
		"io-sets",
		"io-sets,exclusive=by-id",
		"io-sets,hold=idle,grace_ms=50",
		"io-sets,max_exclusive_ms=40",
		"io-sets,hold=idle,max_exclusive_ms=30",
	};
	const char *given = getenv("SL_SEED");

	for (uint64_t i = 1; i <= 400; i++) {
		uint64_t first =
			given ? strtoull(given, NULL, 10) : i * UINT64_C(0x9e3779b97f4a7c15);

		for (size_t k = 0; k < sizeof(shares) / sizeof(shares[0]); k++) {
			seed = first;
			one_stream(shares[k], first);
		}
	}
}

static void waiting_is_contended_only_while_another_job_is_inside(void **state)
{
	struct box *b = *state;
	const sl_time begin = b->now;
	sl_time first, last;

	job(b, 1, 0);
	job(b, 2, 0);
	put(b, 1, SL_READ, A, 0, 1);
	b->now += 100 * MS; /* alone */
	put(b, 2, SL_READ, A, 0, 1);
	b->now += 200 * MS;
	assert_int_equal(stats_of(b, 1).contended_ns, 200 * MS); /* while it lasts */
	serve(b, 1, 0, 1, 1);
	assert_int_equal(stats_of(b, 1).waiting_ns, 300 * MS);
	assert_int_equal(stats_of(b, 1).contended_ns, 200 * MS);
	b->now += 50 * MS; /* alone */
	serve(b, 2, 0, 1, 1);
	assert_int_equal(stats_of(b, 2).waiting_ns, 250 * MS);
	assert_int_equal(stats_of(b, 2).contended_ns, 200 * MS);
	/* One after the other: no more of it. */
	put(b, 1, SL_READ, A, 1, 1);
	b->now += 100 * MS;
	serve(b, 1, 1, 1, 1);
	put(b, 2, SL_READ, A, 1, 1);
	b->now += 100 * MS;
	assert_int_equal(stats_of(b, 1).contended_ns, 200 * MS);
	assert_int_equal(stats_of(b, 2).contended_ns, 200 * MS);
	assert_int_equal(stats_of(b, 2).waiting_ns, 350 * MS);

	assert_true(sl_job_inside(b->s, 1, b->now, &first, &last));
	assert_int_equal(first, begin);
	assert_int_equal(last, begin + 450 * MS);
	assert_false(sl_job_inside(b->s, 1, b->now, &first, &last));
	assert_true(sl_job_inside(b->s, 2, b->now, &first, &last));
	assert_int_equal(first, begin + 100 * MS);
	assert_int_equal(last, b->now);
	b->now += 10 * MS; /* job 2 still has one */
	assert_true(sl_job_inside(b->s, 2, b->now, &first, &last));
	assert_int_equal(first, b->now - 10 * MS);
	assert_int_equal(last, b->now);
	assert_false(sl_job_inside(b->s, 3, b->now, &first, &last));
}

static void a_cancelled_request_counts_as_long_as_it_was_inside(void **state)
{
	struct box *b = *state;
	struct sl_request *r;

	job(b, 1, 0);
	job(b, 2, 0);
	r = put(b, 1, SL_READ, A, 0, 1);
	put(b, 2, SL_READ, A, 0, 1);
	b->now += 100 * MS;
	ok(b, sl_cancel(b->s, r, b->now));
	b->now += 100 * MS;
	assert_int_equal(stats_of(b, 1).contended_ns, 100 * MS);
	assert_int_equal(stats_of(b, 2).contended_ns, 100 * MS);
	assert_int_equal(stats_of(b, 2).waiting_ns, 200 * MS);
}

#define CASE(name) BOX_CASE(plain, name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_job_with_nothing_waiting_has_no_reason),
		CASE(a_job_that_has_used_up_its_max_is_held_by_it_until_it_may_send),
		cmocka_unit_test(strict_grants_hold_and_limit),
		CASE(a_grant_of_0_ranks_behind_others),
		cmocka_unit_test(a_job_behind_its_min_says_so),
		cmocka_unit_test(an_order_policy_that_waits_is_named),
		CASE(overlapping_requests_wait_for_the_jobs_own),
		cmocka_unit_test(io_sets_names_the_job_that_has_the_set),
		cmocka_unit_test(io_sets_names_the_set_that_goes_first),
		cmocka_unit_test(io_sets_names_the_job_of_unknown_period_whose_turn_it_is),
		CASE(waiting_is_contended_only_while_another_job_is_inside),
		CASE(a_cancelled_request_counts_as_long_as_it_was_inside),
		cmocka_unit_test(asking_changes_nothing_and_nobody_is_before_the_one_that_is_next),
	};

	return cmocka_run_group_tests_name("sched-why", tests, NULL, NULL);
}
