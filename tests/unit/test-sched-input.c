/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched/: bad input, which is refused and changes nothing; full tables; jobs that come, go and
 * leave nothing to the next one in their slot.
 */
#include "tests/unit/sched-rig.h"

static const struct sl_config plain = { .order = "to", .capacity_bps = 100 };

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
	set_policy(b, "order", "to-agg");
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
	serve_any(b, 2, served);
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

#define CASE(name) BOX_CASE(plain, name)

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests_name("sched/input", tests, NULL, NULL);
}
