/* SPDX-License-Identifier: Apache-2.0 */
/* The threaded layer: what waits for its time, changes while it runs, and the end of a service. */
#include "service-rig.h"

static int nothing(struct sl_sched *s, sl_time now, void *arg)
{
	(void)s;
	(void)now;
	(void)arg;
	return 0;
}

/* Very likely. If not, what a test wants to see is not seen, and the test passes. */
static void let_dispatchers_sleep(struct bench *t)
{
	for (int i = 0; i < 2000; i++) {
		sl_service_with(t->svc, nothing, NULL);
		sched_yield();
	}
}

/* Nearly nothing may go, so all but the first waits: for hours, if nobody changes the limit. */
static void start_throttled(struct bench *t, int n, uint32_t threads)
{
	struct sl_service_config config = { .sched.order = "to", .threads = threads };
	struct sl_job_conf conf = { .max_bps = 10, .burst_bytes = 1 };

	fill(t->r, n, 4096);
	start(t, &config, &conf);
	submit(t, t->r, n);
	wait_for(t, &t->completed, 1);
}

/* ---- time, and changes while it runs ---- */

#define RATE_BPS INT64_C(20000000)
#define PIECE	 INT64_C(65536)

static void a_max_rate_is_kept(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = { .sched.order = "to", .threads = 2 };
	struct sl_job_conf conf = { .max_bps = RATE_BPS, .burst_bytes = PIECE };
	int64_t begin, took, least = (60 - 2) * PIECE * NS_PER_S / RATE_BPS;

	fill(t->r, 60, PIECE);
	start(t, &config, &conf);
	begin = clock_ns();
	submit(t, t->r, 60);
	wait_for(t, &t->completed, 60);
	took = clock_ns() - begin;
	stop(t);
	/* max * W + burst + L >= bytes in any window W: exact, whatever the machine does. */
	assert_true(took >= least);
}

static int job_stats(struct sl_sched *s, sl_time now, void *arg)
{
	return sl_job_stats(s, 1, now, arg);
}

static void a_limit_lifted_while_it_runs_takes_effect_at_once(void **state)
{
	struct bench *t = *state;
	struct sl_job_conf conf = { 0 };

	start_throttled(t, 10, 2);
	assert_int_equal(sl_service_with(t->svc, set_job, &conf), 0);
	wait_for(t, &t->completed, 10);
	stop(t);
	assert_int_equal(t->runs, 10);
}

static void a_cancelled_request_is_the_callers_again(void **state)
{
	struct bench *t = *state;
	struct sl_job_conf conf = { 0 };
	struct sl_job_stats st;

	start_throttled(t, 4, 1);
	assert_int_equal(sl_service_cancel(t->svc, &t->r[2]), 0);
	assert_int_equal(sl_service_cancel(t->svc, &t->r[3]), 0);
	assert_int_equal(sl_service_with(t->svc, job_stats, &st), 0);
	assert_int_equal(st.queued_requests, 1);
	memset(&t->r[2], 0xff, 2 * sizeof(t->r[2]));
	assert_int_equal(sl_service_with(t->svc, set_job, &conf), 0);
	stop(t);
	assert_int_equal(t->completed, 2);
	assert_int_equal(t->runs, 2);
}

static void a_request_in_flight_cannot_be_cancelled(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = { .threads = 1 };
	const struct sl_batch *b;

	start_parked(t, &config, 1, 4096);
	b = unpark(t);
	assert_int_equal(sl_service_cancel(t->svc, t->r), -EBUSY);
	assert_int_equal(sl_service_done(t->svc, b, 4096), 0);
	stop(t);
	assert_int_equal(t->completed, 1);
}

static int add_two(struct sl_sched *s, sl_time now, void *arg)
{
	struct sl_request *r = arg;
	int rc = sl_add(s, &r[0], now);

	return rc ? rc : sl_add(s, &r[1], now);
}

/* The one that would wake up for it is busy, so another has to do so in its place. */
static void a_throttled_request_goes_in_time_while_a_thread_is_busy(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = { .run = blocking_run, .threads = 2 };
	struct sl_job_conf conf = { .max_bps = 1000000, .burst_bytes = 1 };

	fill(t->r, 2, 10000);
	t->r[1].offset = 1 << 20;
	t->park = true;
	start(t, &config, &conf);
	let_dispatchers_sleep(t);
	assert_int_equal(sl_service_with(t->svc, add_two, t->r), 0);
	wait_for(t, &t->runs, 2);
	release(t);
	wait_for(t, &t->completed, 2);
	stop(t);
}

static int answer(struct sl_sched *s, sl_time now, void *arg)
{
	struct sl_sched_stats st;

	sl_sched_stats(s, &st);
	*(sl_time *)arg = now;
	return st.requests == 0 ? 42 : -EIO;
}

static void with_gives_the_scheduler_and_the_time_and_returns_what_fn_returned(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = { .threads = 1 };
	sl_time before = clock_ns(), now = 0;

	start(t, &config, NULL);
	assert_int_equal(sl_service_with(t->svc, answer, &now), 42);
	assert_true(now >= before && now <= clock_ns());
	stop(t);
}

/* ---- the end ---- */

static void stop_serves_what_is_throttled_at_its_rate(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = { .sched.order = "to", .threads = 3 };
	struct sl_job_conf conf = { .max_bps = 1000000, .burst_bytes = 10000 };
	int64_t begin;

	fill(t->r, 20, 10000);
	start(t, &config, &conf);
	begin = clock_ns();
	submit(t, t->r, 20);
	stop(t);
	assert_int_equal(t->completed, 20);
	assert_true(clock_ns() - begin >= (20 - 2) * 10000 * NS_PER_S / 1000000);
}

static void *stopper(void *arg)
{
	struct bench *t = arg;

	sl_service_stop(t->svc);
	return NULL;
}

/* A request of a job that is not there goes nowhere, but tells when the service is stopping. */
static bool until_stopping(struct bench *t)
{
	int64_t end = clock_ns() + HANG_S * NS_PER_S;
	struct sl_request r;
	int rc;

	fill(&r, 1, 4096);
	r.job = 999;
	while ((rc = sl_service_submit(t->svc, &r)) == -ENOENT && clock_ns() < end)
		sched_yield();
	return rc == -ESHUTDOWN;
}

/* Something is in flight or throttled, so the service stays until the test has let that go. */
static void stop_from_another_thread(struct bench *t, pthread_t *thread)
{
	pthread_create(thread, NULL, stopper, t);
	assert_true(until_stopping(t));
}

static void a_stopping_service_refuses_submissions_and_ends_with_the_last_batch(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = { .threads = 2, .max_inflight = 1 };
	const struct sl_batch *b;
	pthread_t thread;

	start_parked(t, &config, 1, 4096);
	b = unpark(t);
	stop_from_another_thread(t, &thread);
	let_dispatchers_sleep(t);
	t->resubmit = true;
	t->left = 1;
	assert_int_equal(sl_service_done(t->svc, b, 4096), 0);
	pthread_join(thread, NULL);
	t->svc = NULL;
	assert_int_equal(t->completed, 1);
	assert_int_equal(t->resubmit_rc, -ESHUTDOWN);
}

static void a_limit_may_be_lifted_while_it_stops(void **state)
{
	struct bench *t = *state;
	struct sl_job_conf conf = { 0 };
	pthread_t thread;

	start_throttled(t, 10, 2);
	stop_from_another_thread(t, &thread);
	assert_int_equal(sl_service_with(t->svc, set_job, &conf), 0);
	pthread_join(thread, NULL);
	t->svc = NULL;
	assert_int_equal(t->completed, 10);
}

/* Runs on a thread of the test, which the service does not join. */
static void slow_complete(void *user, struct sl_request *r, int64_t result)
{
	struct bench *t = user;
	struct timespec end;
	int rc = 0;

	(void)r;
	(void)result;
	if (!until_stopping(t))
		return;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += 50000000;
	end.tv_sec += end.tv_nsec / NS_PER_S;
	end.tv_nsec %= NS_PER_S;
	pthread_mutex_lock(&t->lock);
	while (!t->stopped && rc == 0)
		rc = pthread_cond_timedwait(&t->changed, &t->lock, &end);
	t->completed = t->stopped ? -1 : 1;
	pthread_mutex_unlock(&t->lock);
}

static void *done_parked(void *arg)
{
	struct bench *t = arg;

	return sl_service_done(t->svc, unpark(t), 4096) ? NULL : t;
}

static void stop_returns_after_complete_has_returned_on_a_thread_of_the_caller(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = { .complete = slow_complete };
	pthread_t thread;
	void *ended;

	start_parked(t, &config, 1, 4096);
	pthread_create(&thread, NULL, done_parked, t);
	sl_service_stop(t->svc);
	pthread_mutex_lock(&t->lock);
	t->stopped = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	pthread_join(thread, &ended);
	assert_ptr_equal(ended, t);
	assert_int_equal(t->completed, 1);
	t->svc = NULL;
}

static void an_idle_service_stops_and_so_does_none(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = { .threads = 8 };

	for (int i = 0; i < 20; i++) {
		start(t, &config, NULL);
		stop(t);
	}
	sl_service_stop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_max_rate_is_kept),
		CASE(a_limit_lifted_while_it_runs_takes_effect_at_once),
		CASE(a_throttled_request_goes_in_time_while_a_thread_is_busy),
		CASE(a_cancelled_request_is_the_callers_again),
		CASE(a_request_in_flight_cannot_be_cancelled),
		CASE(with_gives_the_scheduler_and_the_time_and_returns_what_fn_returned),
		CASE(stop_serves_what_is_throttled_at_its_rate),
		CASE(a_stopping_service_refuses_submissions_and_ends_with_the_last_batch),
		CASE(a_limit_may_be_lifted_while_it_stops),
		CASE(stop_returns_after_complete_has_returned_on_a_thread_of_the_caller),
		CASE(an_idle_service_stops_and_so_does_none),
	};

	return cmocka_run_group_tests_name("service/stop", tests, NULL, NULL);
}
