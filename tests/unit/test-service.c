/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threaded layer. Nothing here sleeps to let things happen: a test waits for a condition,
 * with a limit that only a hang reaches, and what must not happen is shown by what can happen
 * only before it, by a bound that holds at every moment of the run, or in one case by a short
 * time in which it could have happened.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "sluice.h"

#define HANG_S	     60
#define NS_PER_S     INT64_C(1000000000)
#define MAX_PARKED   64
#define MAX_REQUESTS 64

/* A service under test: batches are done at once, or parked until the test wants them done. */
struct bench {
	struct sl_service *svc;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool park;
	bool stopped;
	bool resubmit; /* complete() submits the request again */
	int resubmit_rc;
	int left; /* to resubmit */
	const struct sl_batch *parked[MAX_PARKED];
	int n_parked, runs, completed, most_parked;
	uint64_t parked_bytes, most_bytes, bytes;
	int64_t result[MAX_REQUESTS]; /* by client */
};

static int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void bench_init(struct bench *t)
{
	pthread_condattr_t monotonic;

	memset(t, 0, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&t->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static void bench_end(struct bench *t)
{
	sl_service_stop(t->svc);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
}

/* Until *what is at least `least`, under the lock. A hang cannot be torn down: it ends the run. */
static void wait_for(struct bench *t, const int *what, int least)
{
	struct timespec end;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += HANG_S;
	pthread_mutex_lock(&t->lock);
	while (*what < least && rc == 0)
		rc = pthread_cond_timedwait(&t->changed, &t->lock, &end);
	if (rc) {
		fprintf(stderr, "hang: %d of %d, %d runs, %d completed\n", *what, least, t->runs,
			t->completed);
		abort();
	}
	pthread_mutex_unlock(&t->lock);
}

static void bench_run(void *user, const struct sl_batch *b)
{
	struct bench *t = user;
	bool park;

	pthread_mutex_lock(&t->lock);
	t->runs++;
	park = t->park;
	if (park) {
		t->parked[t->n_parked++] = b;
		t->parked_bytes += b->length;
		if (t->n_parked > t->most_parked)
			t->most_parked = t->n_parked;
		if (t->parked_bytes > t->most_bytes)
			t->most_bytes = t->parked_bytes;
	}
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (!park)
		sl_service_done(t->svc, b, (int64_t)b->length);
}

static void bench_complete(void *user, struct sl_request *r, int64_t result)
{
	struct bench *t = user;
	bool again;

	pthread_mutex_lock(&t->lock);
	t->completed++;
	if (r->client < MAX_REQUESTS)
		t->result[r->client] = result;
	if (result > 0)
		t->bytes += (uint64_t)result;
	again = t->resubmit && t->left-- > 0;
	pthread_mutex_unlock(&t->lock);
	if (again) {
		int rc = sl_service_submit(t->svc, r);

		pthread_mutex_lock(&t->lock);
		t->resubmit_rc = rc;
		pthread_mutex_unlock(&t->lock);
	}
	pthread_mutex_lock(&t->lock);
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

/* The oldest parked batch, to be done by the caller. */
static const struct sl_batch *unpark(struct bench *t)
{
	const struct sl_batch *b;

	wait_for(t, &t->n_parked, 1);
	pthread_mutex_lock(&t->lock);
	b = t->parked[0];
	t->n_parked--;
	memmove(t->parked, t->parked + 1, (size_t)t->n_parked * sizeof(t->parked[0]));
	t->parked_bytes -= b->length;
	pthread_mutex_unlock(&t->lock);
	return b;
}

static int add_job(struct sl_sched *s, sl_time now, void *arg)
{
	return sl_job_add(s, 1, arg, now);
}

static int set_job(struct sl_sched *s, sl_time now, void *arg)
{
	return sl_job_set(s, 1, arg, now);
}

static void start(struct bench *t, const struct sl_service_config *wanted,
		  const struct sl_job_conf *job)
{
	struct sl_service_config config = *wanted;
	struct sl_job_conf none = { 0 };
	char err[256] = "";

	config.run = config.run ? config.run : bench_run;
	config.complete = config.complete ? config.complete : bench_complete;
	config.user = t;
	if (sl_service_start(&t->svc, &config, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(sl_service_with(t->svc, add_job, job ? (void *)job : &none), 0);
}

static void fill(struct sl_request *r, int n, uint64_t length)
{
	memset(r, 0, (size_t)n * sizeof(*r));
	for (int i = 0; i < n; i++) {
		r[i].job = 1;
		r[i].client = (uint64_t)i;
		r[i].offset = (uint64_t)i * length;
		r[i].length = length;
		r[i].op = SL_WRITE;
	}
}

static void submit(struct bench *t, struct sl_request *r, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(sl_service_submit(t->svc, &r[i]), 0);
}

/* ---- many threads ---- */

#define PRODUCERS    4
#define PER_PRODUCER 25000

struct crowd {
	struct bench bench;
	struct sl_request *request;
	atomic_uchar *seen; /* by request: 1 run, 2 completed, as a sum */
	atomic_int completed, twice, refused;
	atomic_bool ended;
};

struct producer {
	struct crowd *crowd;
	int number;
};

static void crowd_run(void *user, const struct sl_batch *b)
{
	struct crowd *c = user;
	uint64_t bytes = 0;
	uint32_t count = 0;

	for (struct sl_request *r = b->first; r; r = r->next) {
		if (atomic_fetch_add(&c->seen[r - c->request], 1) != 0)
			atomic_fetch_add(&c->twice, 1);
		bytes += r->length;
		count++;
	}
	if (bytes != b->length || count != b->count)
		atomic_fetch_add(&c->twice, 1);
	if (sl_service_done(c->bench.svc, b, (int64_t)b->length))
		atomic_fetch_add(&c->refused, 1);
}

static void crowd_complete(void *user, struct sl_request *r, int64_t result)
{
	struct crowd *c = user;

	if (atomic_fetch_add(&c->seen[r - c->request], 2) != 1 || result != (int64_t)r->length)
		atomic_fetch_add(&c->twice, 1);
	atomic_fetch_add(&c->completed, 1);
}

static void *crowd_produce(void *arg)
{
	struct producer *p = arg;
	struct crowd *c = p->crowd;

	for (int i = 0; i < PER_PRODUCER; i++) {
		struct sl_request *r = &c->request[p->number * PER_PRODUCER + i];
		int rc;

		r->job = (uint64_t)p->number + 1;
		r->file = (uint64_t)(i % 8);
		r->offset = (uint64_t)(i / 8) * 4096;
		r->length = 4096;
		r->op = (uint32_t)(p->number & 1);
		/* The limits are small, so that the service has to push back now and then. */
		while ((rc = sl_service_submit(c->bench.svc, r)) == -EAGAIN || rc == -ENOSPC)
			sched_yield();
		if (rc)
			atomic_fetch_add(&c->refused, 1);
	}
	return NULL;
}

static int add_jobs(struct sl_sched *s, sl_time now, void *arg)
{
	struct sl_job_conf conf = { 0 };
	int rc = 0;

	for (uint64_t job = 2; job <= *(uint64_t *)arg && rc == 0; job++)
		rc = sl_job_add(s, job, &conf, now);
	return rc;
}

static void *change_weights(void *arg);

static void nothing_is_lost_or_doubled_among_many_threads(void **state)
{
	static struct crowd c;
	struct sl_service_config config = {
		.sched.limits = { .jobs = 8, .files = 256, .requests = 2048 },
		.run = crowd_run,
		.complete = crowd_complete,
		.threads = 3,
	};
	struct producer producer[PRODUCERS];
	pthread_t thread[PRODUCERS], changer;
	uint64_t jobs = PRODUCERS;

	(void)state;
	bench_init(&c.bench);
	c.request = calloc(PRODUCERS * PER_PRODUCER, sizeof(*c.request));
	c.seen = calloc(PRODUCERS * PER_PRODUCER, sizeof(*c.seen));
	assert_non_null(c.request);
	assert_non_null(c.seen);
	start(&c.bench, &config, NULL);
	assert_int_equal(sl_service_with(c.bench.svc, add_jobs, &jobs), 0);
	for (int i = 0; i < PRODUCERS; i++) {
		producer[i] = (struct producer){ .crowd = &c, .number = i };
		pthread_create(&thread[i], NULL, crowd_produce, &producer[i]);
	}
	pthread_create(&changer, NULL, change_weights, &c);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(thread[i], NULL);
	atomic_store(&c.ended, true);
	pthread_join(changer, NULL);
	bench_end(&c.bench);

	assert_int_equal(atomic_load(&c.completed), PRODUCERS * PER_PRODUCER);
	assert_int_equal(atomic_load(&c.twice), 0);
	assert_int_equal(atomic_load(&c.refused), 0);
	for (int i = 0; i < PRODUCERS * PER_PRODUCER; i++)
		assert_int_equal(atomic_load(&c.seen[i]), 3);
	free(c.seen);
	free(c.request);
}

/* Live changes from a further thread, as long as the producers are at it. */
static void *change_weights(void *arg)
{
	struct crowd *c = arg;
	struct sl_job_conf conf = { .weight = 1 };

	while (!atomic_load(&c->ended)) {
		conf.weight = conf.weight % 100 + 1;
		if (sl_service_with(c->bench.svc, set_job, &conf))
			atomic_fetch_add(&c->refused, 1);
		sched_yield();
	}
	return NULL;
}

/* ---- completion ---- */

static void *done_by_another(void *arg)
{
	struct bench *t = arg;

	for (int i = 0; i < 1000; i++)
		if (sl_service_done(t->svc, unpark(t), 512))
			return NULL;
	return t;
}

static void a_batch_may_be_done_by_another_thread(void **state)
{
	struct sl_service_config config = { .sched.order = "to", .threads = 2 };
	struct sl_request *r = calloc(1000, sizeof(*r));
	pthread_t thread;
	static struct bench t;
	void *ended;

	(void)state;
	assert_non_null(r);
	fill(r, 1000, 512);
	bench_init(&t);
	t.park = true;
	start(&t, &config, NULL);
	pthread_create(&thread, NULL, done_by_another, &t);
	submit(&t, r, 1000);
	pthread_join(thread, &ended);
	assert_ptr_equal(ended, &t);
	wait_for(&t, &t.completed, 1000);
	assert_int_equal(t.bytes, 512000);
	bench_end(&t);
	free(r);
}

static void freeing_complete(void *user, struct sl_request *r, int64_t result)
{
	struct bench *t = user;

	/* Whoever reads the request after this reads what was overwritten, or freed memory. */
	memset(r, 0xff, sizeof(*r));
	free(r);
	pthread_mutex_lock(&t->lock);
	t->bytes += (uint64_t)result;
	t->completed++;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static void complete_may_free_the_request(void **state)
{
	struct sl_service_config config = { .complete = freeing_complete, .threads = 2 };
	static struct bench t;

	(void)state;
	bench_init(&t);
	start(&t, &config, NULL);
	for (int i = 0; i < 2000; i++) {
		struct sl_request *r = malloc(sizeof(*r));

		assert_non_null(r);
		fill(r, 1, 100);
		r->offset = (uint64_t)i * 100;
		assert_int_equal(sl_service_submit(t.svc, r), 0);
	}
	wait_for(&t, &t.completed, 2000);
	assert_int_equal(t.bytes, 200000);
	bench_end(&t);
}

static void complete_may_submit_the_next(void **state)
{
	struct sl_service_config config = { .threads = 1 };
	static struct sl_request r;
	static struct bench t;

	(void)state;
	fill(&r, 1, 4096);
	bench_init(&t);
	t.resubmit = true;
	t.left = 999;
	start(&t, &config, NULL);
	submit(&t, &r, 1);
	wait_for(&t, &t.completed, 1000);
	bench_end(&t);
	assert_int_equal(t.runs, 1000);
	assert_int_equal(t.resubmit_rc, 0);
}

static void a_service_without_complete_is_told_by_done_alone(void **state)
{
	struct sl_service_config config = { .run = bench_run };
	struct sl_job_conf conf = { 0 };
	static struct sl_request r;
	static struct bench t;

	(void)state;
	fill(&r, 1, 4096);
	bench_init(&t);
	t.park = true;
	config.user = &t;
	assert_int_equal(sl_service_start(&t.svc, &config, NULL, 0), 0);
	assert_int_equal(sl_service_with(t.svc, add_job, &conf), 0);
	submit(&t, &r, 1);
	assert_int_equal(sl_service_done(t.svc, unpark(&t), 4096), 0);
	bench_end(&t);
	assert_int_equal(t.completed, 0);
}

/*
 * Three contiguous requests of 100 bytes that are one batch: they wait behind a first one, which
 * is the only one that may be in flight.
 */
static const struct sl_batch *merged_batch(struct bench *t, struct sl_request r[4])
{
	struct sl_service_config config = { .sched.order = "to-agg", .max_inflight = 1 };
	const struct sl_batch *b;

	fill(r, 4, 100);
	r[0].file = 7;
	bench_init(t);
	t->park = true;
	start(t, &config, NULL);
	submit(t, r, 1);
	b = unpark(t);
	submit(t, r + 1, 3);
	assert_int_equal(sl_service_done(t->svc, b, 100), 0);
	b = unpark(t);
	assert_int_equal(b->count, 3);
	return b;
}

static void a_short_result_goes_to_the_first_in_offset_order(void **state)
{
	static struct sl_request r[4];
	static struct bench t;
	const struct sl_batch *b = merged_batch(&t, r);

	(void)state;
	assert_int_equal(sl_service_done(t.svc, b, 150), 0);
	assert_int_equal(t.completed, 4);
	assert_int_equal(t.result[1], 100);
	assert_int_equal(t.result[2], 50);
	assert_int_equal(t.result[3], 0);
	bench_end(&t);
}

static void an_error_goes_to_all_requests_of_the_batch(void **state)
{
	static struct sl_request r[4];
	static struct bench t;
	const struct sl_batch *b = merged_batch(&t, r);

	(void)state;
	assert_int_equal(sl_service_done(t.svc, b, -EIO), 0);
	assert_int_equal(t.completed, 4);
	for (int i = 1; i < 4; i++)
		assert_int_equal(t.result[i], -EIO);
	bench_end(&t);
}

static void more_bytes_than_the_batch_has_are_refused_and_it_stays_in_flight(void **state)
{
	static struct sl_request r[4];
	static struct bench t;
	const struct sl_batch *b = merged_batch(&t, r);

	(void)state;
	assert_int_equal(sl_service_done(t.svc, b, 301), -EINVAL);
	assert_int_equal(t.completed, 1);
	assert_int_equal(sl_service_done(t.svc, b, 300), 0);
	assert_int_equal(t.completed, 4);
	bench_end(&t);
}

static void a_batch_is_done_once(void **state)
{
	static struct sl_request r[4];
	static struct bench t;
	const struct sl_batch *b = merged_batch(&t, r);
	int rc;

	(void)state;
	assert_int_equal(sl_service_done(t.svc, b, 300), 0);
	rc = sl_service_done(t.svc, b, 300);
	assert_true(rc == -EALREADY || rc == -EINVAL);
	assert_int_equal(t.completed, 4);
	bench_end(&t);
}

/* ---- the bounds on what is in flight ---- */

static void no_more_than_max_inflight_batches_are_out(void **state)
{
	struct sl_service_config config = { .sched.order = "to", .threads = 4, .max_inflight = 3 };
	static struct sl_request r[30];
	static struct bench t;

	(void)state;
	fill(r, 30, 4096);
	bench_init(&t);
	t.park = true;
	start(&t, &config, NULL);
	submit(&t, r, 30);
	for (int i = 0; i < 30; i++) {
		/* All that may be out comes out without anything done. */
		wait_for(&t, &t.runs, i + 3 < 30 ? i + 3 : 30);
		assert_int_equal(sl_service_done(t.svc, unpark(&t), 4096), 0);
	}
	bench_end(&t);
	assert_int_equal(t.completed, 30);
	assert_int_equal(t.most_parked, 3);
}

static void no_more_than_max_inflight_bytes_are_out(void **state)
{
	struct sl_service_config config = {
		.sched.order = "to",
		.threads = 4,
		.max_inflight = 16,
		.max_inflight_bytes = 10000,
	};
	static struct sl_request r[40];
	static struct bench t;

	(void)state;
	fill(r, 40, 4096);
	/* Some that fit only alone, and some so large that they never fit. */
	for (int i = 0; i < 40; i++) {
		r[i].offset = (uint64_t)i << 20;
		if (i % 4 == 3)
			r[i].length = i % 8 == 3 ? 9000 : 9999;
	}
	bench_init(&t);
	t.park = true;
	start(&t, &config, NULL);
	submit(&t, r, 40);
	for (int i = 0; i < 40; i++) {
		const struct sl_batch *b = unpark(&t);

		assert_int_equal(sl_service_done(t.svc, b, (int64_t)b->length), 0);
	}
	bench_end(&t);
	assert_int_equal(t.completed, 40);
	assert_true(t.most_bytes <= 10000);
	assert_true(t.most_parked >= 1);
}

static void a_batch_larger_than_max_inflight_bytes_goes_alone(void **state)
{
	struct sl_service_config config = {
		.sched.order = "to",
		.threads = 2,
		.max_inflight_bytes = 10000,
	};
	static struct sl_request r[3];
	static struct bench t;

	(void)state;
	fill(r, 3, 20000);
	bench_init(&t);
	t.park = true;
	start(&t, &config, NULL);
	submit(&t, r, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sl_service_done(t.svc, unpark(&t), 20000), 0);
	bench_end(&t);
	assert_int_equal(t.completed, 3);
	assert_int_equal(t.most_parked, 1);
}

/* run() holds its thread until the test lets it go; the others have to do the rest. */
static void blocking_run(void *user, const struct sl_batch *b)
{
	struct bench *t = user;

	pthread_mutex_lock(&t->lock);
	t->runs++;
	pthread_cond_broadcast(&t->changed);
	while (t->park)
		pthread_cond_wait(&t->changed, &t->lock);
	pthread_mutex_unlock(&t->lock);
	sl_service_done(t->svc, b, (int64_t)b->length);
}

static void as_many_run_at_once_as_there_are_threads(void **state)
{
	struct sl_service_config config = {
		.sched.order = "to",
		.run = blocking_run,
		.threads = 5,
	};
	static struct sl_request r[20];
	static struct bench t;

	(void)state;
	fill(r, 20, 4096);
	bench_init(&t);
	t.park = true;
	start(&t, &config, NULL);
	submit(&t, r, 20);
	wait_for(&t, &t.runs, 5);
	pthread_mutex_lock(&t.lock);
	assert_int_equal(t.runs, 5);
	t.park = false;
	pthread_cond_broadcast(&t.changed);
	pthread_mutex_unlock(&t.lock);
	wait_for(&t, &t.completed, 20);
	bench_end(&t);
}

/* ---- time, and changes while it runs ---- */

#define RATE_BPS INT64_C(20000000)
#define PIECE	 INT64_C(65536)

static void a_max_rate_is_kept(void **state)
{
	struct sl_service_config config = { .sched.order = "to", .threads = 2 };
	struct sl_job_conf conf = { .max_bps = RATE_BPS, .burst_bytes = PIECE };
	static struct sl_request r[60];
	static struct bench t;
	int64_t begin, took, least = (60 - 2) * PIECE * NS_PER_S / RATE_BPS;

	(void)state;
	fill(r, 60, PIECE);
	bench_init(&t);
	start(&t, &config, &conf);
	begin = clock_ns();
	submit(&t, r, 60);
	wait_for(&t, &t.completed, 60);
	took = clock_ns() - begin;
	bench_end(&t);
	/* max * W + burst + L >= bytes in any window W: exact, whatever the machine does. */
	assert_true(took >= least);
}

static int job_stats(struct sl_sched *s, sl_time now, void *arg)
{
	return sl_job_stats(s, 1, now, arg);
}

/* Nearly nothing may go, so all but the first waits: for hours, if nobody changes the limit. */
static void start_throttled(struct bench *t, struct sl_request *r, int n, uint32_t threads)
{
	struct sl_service_config config = { .sched.order = "to", .threads = threads };
	struct sl_job_conf conf = { .max_bps = 10, .burst_bytes = 1 };

	fill(r, n, 4096);
	bench_init(t);
	start(t, &config, &conf);
	submit(t, r, n);
	wait_for(t, &t->completed, 1);
}

static void a_limit_lifted_while_it_runs_takes_effect_at_once(void **state)
{
	struct sl_job_conf conf = { 0 };
	static struct sl_request r[10];
	static struct bench t;

	(void)state;
	start_throttled(&t, r, 10, 2);
	assert_int_equal(sl_service_with(t.svc, set_job, &conf), 0);
	wait_for(&t, &t.completed, 10);
	bench_end(&t);
	assert_int_equal(t.runs, 10);
}

static void a_cancelled_request_is_the_callers_again(void **state)
{
	struct sl_job_conf conf = { 0 };
	struct sl_job_stats st;
	static struct sl_request r[4];
	static struct bench t;

	(void)state;
	start_throttled(&t, r, 4, 1);
	assert_int_equal(sl_service_cancel(t.svc, &r[2]), 0);
	assert_int_equal(sl_service_cancel(t.svc, &r[3]), 0);
	assert_int_equal(sl_service_with(t.svc, job_stats, &st), 0);
	assert_int_equal(st.queued_requests, 1);
	memset(&r[2], 0xff, 2 * sizeof(r[2]));
	assert_int_equal(sl_service_with(t.svc, set_job, &conf), 0);
	bench_end(&t);
	assert_int_equal(t.completed, 2);
	assert_int_equal(t.runs, 2);
}

static void a_request_in_flight_cannot_be_cancelled(void **state)
{
	struct sl_service_config config = { .threads = 1 };
	const struct sl_batch *b;
	static struct sl_request r;
	static struct bench t;

	(void)state;
	fill(&r, 1, 4096);
	bench_init(&t);
	t.park = true;
	start(&t, &config, NULL);
	submit(&t, &r, 1);
	b = unpark(&t);
	assert_int_equal(sl_service_cancel(t.svc, &r), -EBUSY);
	assert_int_equal(sl_service_done(t.svc, b, 4096), 0);
	bench_end(&t);
	assert_int_equal(t.completed, 1);
}

/* Very likely. If not, what a test wants to see is not seen, and the test passes. */
static int nothing(struct sl_sched *s, sl_time now, void *arg)
{
	(void)s;
	(void)now;
	(void)arg;
	return 0;
}

static void let_dispatchers_sleep(struct bench *t)
{
	for (int i = 0; i < 2000; i++) {
		sl_service_with(t->svc, nothing, NULL);
		sched_yield();
	}
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
	struct sl_service_config config = { .run = blocking_run, .threads = 2 };
	struct sl_job_conf conf = { .max_bps = 1000000, .burst_bytes = 1 };
	static struct sl_request r[2];
	static struct bench t;

	(void)state;
	fill(r, 2, 10000);
	r[1].offset = 1 << 20;
	bench_init(&t);
	t.park = true;
	start(&t, &config, &conf);
	let_dispatchers_sleep(&t);
	assert_int_equal(sl_service_with(t.svc, add_two, r), 0);
	wait_for(&t, &t.runs, 2);
	pthread_mutex_lock(&t.lock);
	t.park = false;
	pthread_cond_broadcast(&t.changed);
	pthread_mutex_unlock(&t.lock);
	wait_for(&t, &t.completed, 2);
	bench_end(&t);
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
	struct sl_service_config config = { .threads = 1 };
	sl_time before = clock_ns(), now = 0;
	static struct bench t;

	(void)state;
	bench_init(&t);
	start(&t, &config, NULL);
	assert_int_equal(sl_service_with(t.svc, answer, &now), 42);
	assert_true(now >= before && now <= clock_ns());
	bench_end(&t);
}

/* ---- the end ---- */

static void stop_serves_what_is_throttled_at_its_rate(void **state)
{
	struct sl_service_config config = { .sched.order = "to", .threads = 3 };
	struct sl_job_conf conf = { .max_bps = 1000000, .burst_bytes = 10000 };
	static struct sl_request r[20];
	static struct bench t;
	int64_t begin;

	(void)state;
	fill(r, 20, 10000);
	bench_init(&t);
	start(&t, &config, &conf);
	begin = clock_ns();
	submit(&t, r, 20);
	bench_end(&t);
	assert_int_equal(t.completed, 20);
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
	struct sl_service_config config = { .threads = 2, .max_inflight = 1 };
	static struct sl_request r;
	const struct sl_batch *b;
	pthread_t thread;
	static struct bench t;

	(void)state;
	fill(&r, 1, 4096);
	bench_init(&t);
	t.park = true;
	start(&t, &config, NULL);
	submit(&t, &r, 1);
	b = unpark(&t);
	stop_from_another_thread(&t, &thread);
	let_dispatchers_sleep(&t);
	t.resubmit = true;
	t.left = 1;
	assert_int_equal(sl_service_done(t.svc, b, 4096), 0);
	pthread_join(thread, NULL);
	t.svc = NULL;
	bench_end(&t);
	assert_int_equal(t.completed, 1);
	assert_int_equal(t.resubmit_rc, -ESHUTDOWN);
}

static void a_limit_may_be_lifted_while_it_stops(void **state)
{
	struct sl_job_conf conf = { 0 };
	static struct sl_request r[10];
	pthread_t thread;
	static struct bench t;

	(void)state;
	start_throttled(&t, r, 10, 2);
	stop_from_another_thread(&t, &thread);
	assert_int_equal(sl_service_with(t.svc, set_job, &conf), 0);
	pthread_join(thread, NULL);
	t.svc = NULL;
	bench_end(&t);
	assert_int_equal(t.completed, 10);
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
	struct sl_service_config config = { .complete = slow_complete };
	static struct sl_request r;
	static struct bench t;
	pthread_t thread;
	void *ended;

	(void)state;
	fill(&r, 1, 4096);
	bench_init(&t);
	t.park = true;
	start(&t, &config, NULL);
	submit(&t, &r, 1);
	pthread_create(&thread, NULL, done_parked, &t);
	sl_service_stop(t.svc);
	pthread_mutex_lock(&t.lock);
	t.stopped = true;
	pthread_cond_broadcast(&t.changed);
	pthread_mutex_unlock(&t.lock);
	pthread_join(thread, &ended);
	assert_ptr_equal(ended, &t);
	assert_int_equal(t.completed, 1);
	t.svc = NULL;
	bench_end(&t);
}

static void an_idle_service_stops_and_so_does_none(void **state)
{
	struct sl_service_config config = { .threads = 8 };
	static struct bench t;

	(void)state;
	for (int i = 0; i < 20; i++) {
		bench_init(&t);
		start(&t, &config, NULL);
		bench_end(&t);
	}
	sl_service_stop(NULL);
}

/* ---- errors ---- */

static void check_start(const struct sl_service_config *config, int wanted)
{
	struct sl_service *svc = (struct sl_service *)&svc;
	char err[256] = "";

	assert_int_equal(sl_service_start(&svc, config, err, sizeof(err)), wanted);
	assert_null(svc);
	assert_true(strlen(err) > 10);
	assert_int_equal(sl_service_start(&svc, config, NULL, 0), wanted);
}

static void a_wrong_configuration_is_refused_with_a_message(void **state)
{
	struct sl_service_config config = { .complete = bench_complete };

	(void)state;
	check_start(&config, -EINVAL); /* no run() */
	config.run = bench_run;
	config.threads = 257;
	check_start(&config, -EINVAL);
	config.threads = UINT32_MAX;
	check_start(&config, -EINVAL);
	config.threads = 1;
	config.sched.order = "nonsense";
	check_start(&config, -ENOENT);
}

static void errors_of_the_scheduler_reach_the_submitter(void **state)
{
	struct sl_service_config config = {
		.sched = { .limits = { 1, 1, 2 }, .order = "to" },
		.max_inflight = 1,
	};
	static struct sl_request r[3];
	static struct bench t;
	int rc;

	(void)state;
	fill(r, 3, 4096);
	bench_init(&t);
	t.park = true;
	start(&t, &config, NULL);
	r[0].job = 99;
	assert_int_equal(sl_service_submit(t.svc, &r[0]), -ENOENT);
	r[0].job = 1;
	submit(&t, r, 2);
	rc = sl_service_submit(t.svc, &r[2]);
	assert_true(rc == -EAGAIN || rc == -ENOSPC);
	assert_int_equal(sl_service_done(t.svc, unpark(&t), 4096), 0);
	assert_int_equal(sl_service_submit(t.svc, &r[2]), 0);
	for (int done = 1; done < 3;) {
		const struct sl_batch *b = unpark(&t);

		done += (int)b->count;
		assert_int_equal(sl_service_done(t.svc, b, (int64_t)b->length), 0);
	}
	bench_end(&t);
	assert_int_equal(t.completed, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_or_doubled_among_many_threads),
		cmocka_unit_test(a_batch_may_be_done_by_another_thread),
		cmocka_unit_test(complete_may_free_the_request),
		cmocka_unit_test(complete_may_submit_the_next),
		cmocka_unit_test(a_service_without_complete_is_told_by_done_alone),
		cmocka_unit_test(a_short_result_goes_to_the_first_in_offset_order),
		cmocka_unit_test(an_error_goes_to_all_requests_of_the_batch),
		cmocka_unit_test(more_bytes_than_the_batch_has_are_refused_and_it_stays_in_flight),
		cmocka_unit_test(a_batch_is_done_once),
		cmocka_unit_test(no_more_than_max_inflight_batches_are_out),
		cmocka_unit_test(no_more_than_max_inflight_bytes_are_out),
		cmocka_unit_test(a_batch_larger_than_max_inflight_bytes_goes_alone),
		cmocka_unit_test(as_many_run_at_once_as_there_are_threads),
		cmocka_unit_test(a_max_rate_is_kept),
		cmocka_unit_test(a_limit_lifted_while_it_runs_takes_effect_at_once),
		cmocka_unit_test(a_throttled_request_goes_in_time_while_a_thread_is_busy),
		cmocka_unit_test(a_cancelled_request_is_the_callers_again),
		cmocka_unit_test(a_request_in_flight_cannot_be_cancelled),
		cmocka_unit_test(
			with_gives_the_scheduler_and_the_time_and_returns_what_fn_returned),
		cmocka_unit_test(stop_serves_what_is_throttled_at_its_rate),
		cmocka_unit_test(
			a_stopping_service_refuses_submissions_and_ends_with_the_last_batch),
		cmocka_unit_test(a_limit_may_be_lifted_while_it_stops),
		cmocka_unit_test(
			stop_returns_after_complete_has_returned_on_a_thread_of_the_caller),
		cmocka_unit_test(an_idle_service_stops_and_so_does_none),
		cmocka_unit_test(a_wrong_configuration_is_refused_with_a_message),
		cmocka_unit_test(errors_of_the_scheduler_reach_the_submitter),
	};

	return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
