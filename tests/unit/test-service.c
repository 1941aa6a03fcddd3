/* SPDX-License-Identifier: Apache-2.0 */
/* The threaded layer: many threads, completion, the bounds on what is in flight, and errors. */
#include "service-rig.h"

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
	struct bench *t = *state;
	struct sl_service_config config = { .sched.order = "to", .threads = 2 };
	struct sl_request *r = calloc(1000, sizeof(*r));
	pthread_t thread;
	void *ended;

	assert_non_null(r);
	fill(r, 1000, 512);
	t->park = true;
	start(t, &config, NULL);
	pthread_create(&thread, NULL, done_by_another, t);
	submit(t, r, 1000);
	pthread_join(thread, &ended);
	assert_ptr_equal(ended, t);
	wait_for(t, &t->completed, 1000);
	assert_int_equal(t->bytes, 512000);
	stop(t);
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
	struct bench *t = *state;
	struct sl_service_config config = { .complete = freeing_complete, .threads = 2 };

	start(t, &config, NULL);
	for (int i = 0; i < 2000; i++) {
		struct sl_request *r = malloc(sizeof(*r));

		assert_non_null(r);
		fill(r, 1, 100);
		r->offset = (uint64_t)i * 100;
		assert_int_equal(sl_service_submit(t->svc, r), 0);
	}
	wait_for(t, &t->completed, 2000);
	assert_int_equal(t->bytes, 200000);
	stop(t);
}

static void complete_may_submit_the_next(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = { .threads = 1 };

	fill(t->r, 1, 4096);
	t->resubmit = true;
	t->left = 999;
	start(t, &config, NULL);
	submit(t, t->r, 1);
	wait_for(t, &t->completed, 1000);
	stop(t);
	assert_int_equal(t->runs, 1000);
	assert_int_equal(t->resubmit_rc, 0);
}

static void a_service_without_complete_is_told_by_done_alone(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = { .run = bench_run };
	struct sl_job_conf conf = { 0 };

	fill(t->r, 1, 4096);
	t->park = true;
	config.user = t;
	assert_int_equal(sl_service_start(&t->svc, &config, NULL, 0), 0);
	assert_int_equal(sl_service_with(t->svc, add_job, &conf), 0);
	submit(t, t->r, 1);
	serve(t, 4096);
	stop(t);
	assert_int_equal(t->completed, 0);
}

/*
 * Three contiguous requests of 100 bytes that are one batch: they wait behind a first one, which
 * is the only one that may be in flight.
 */
static const struct sl_batch *merged_batch(struct bench *t)
{
	struct sl_service_config config = { .sched.order = "to-agg", .max_inflight = 1 };
	const struct sl_batch *b;

	fill(t->r, 4, 100);
	t->r[0].file = 7;
	t->park = true;
	start(t, &config, NULL);
	submit(t, t->r, 1);
	b = unpark(t);
	submit(t, t->r + 1, 3);
	assert_int_equal(sl_service_done(t->svc, b, 100), 0);
	b = unpark(t);
	assert_int_equal(b->count, 3);
	return b;
}

static void a_short_result_goes_to_the_first_in_offset_order(void **state)
{
	struct bench *t = *state;
	const struct sl_batch *b = merged_batch(t);

	assert_int_equal(sl_service_done(t->svc, b, 150), 0);
	assert_int_equal(t->completed, 4);
	assert_int_equal(t->result[1], 100);
	assert_int_equal(t->result[2], 50);
	assert_int_equal(t->result[3], 0);
	stop(t);
}

static void an_error_goes_to_all_requests_of_the_batch(void **state)
{
	struct bench *t = *state;
	const struct sl_batch *b = merged_batch(t);

	assert_int_equal(sl_service_done(t->svc, b, -EIO), 0);
	assert_int_equal(t->completed, 4);
	for (int i = 1; i < 4; i++)
		assert_int_equal(t->result[i], -EIO);
	stop(t);
}

static void more_bytes_than_the_batch_has_are_refused_and_it_stays_in_flight(void **state)
{
	struct bench *t = *state;
	const struct sl_batch *b = merged_batch(t);

	assert_int_equal(sl_service_done(t->svc, b, 301), -EINVAL);
	assert_int_equal(t->completed, 1);
	assert_int_equal(sl_service_done(t->svc, b, 300), 0);
	assert_int_equal(t->completed, 4);
	stop(t);
}

static void a_batch_is_done_once(void **state)
{
	struct bench *t = *state;
	const struct sl_batch *b = merged_batch(t);
	int rc;

	assert_int_equal(sl_service_done(t->svc, b, 300), 0);
	rc = sl_service_done(t->svc, b, 300);
	assert_true(rc == -EALREADY || rc == -EINVAL);
	assert_int_equal(t->completed, 4);
	stop(t);
}

/* ---- the bounds on what is in flight ---- */

static void no_more_than_max_inflight_batches_are_out(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = { .sched.order = "to", .threads = 4, .max_inflight = 3 };

	start_parked(t, &config, 30, 4096);
	for (int i = 0; i < 30; i++) {
		/* All that may be out comes out without anything done. */
		wait_for(t, &t->runs, i + 3 < 30 ? i + 3 : 30);
		serve(t, 4096);
	}
	stop(t);
	assert_int_equal(t->completed, 30);
	assert_int_equal(t->most_parked, 3);
}

static void no_more_than_max_inflight_bytes_are_out(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = {
		.sched.order = "to",
		.threads = 4,
		.max_inflight = 16,
		.max_inflight_bytes = 10000,
	};

	fill(t->r, 40, 4096);
	/* Some that fit only alone, and some so large that they never fit. */
	for (int i = 0; i < 40; i++) {
		t->r[i].offset = (uint64_t)i << 20;
		if (i % 4 == 3)
			t->r[i].length = i % 8 == 3 ? 9000 : 9999;
	}
	t->park = true;
	start(t, &config, NULL);
	submit(t, t->r, 40);
	for (int i = 0; i < 40; i++) {
		const struct sl_batch *b = unpark(t);

		assert_int_equal(sl_service_done(t->svc, b, (int64_t)b->length), 0);
	}
	stop(t);
	assert_int_equal(t->completed, 40);
	assert_true(t->most_bytes <= 10000);
	assert_true(t->most_parked >= 1);
}

static void a_batch_larger_than_max_inflight_bytes_goes_alone(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = {
		.sched.order = "to",
		.threads = 2,
		.max_inflight_bytes = 10000,
	};

	start_parked(t, &config, 3, 20000);
	for (int i = 0; i < 3; i++)
		serve(t, 20000);
	stop(t);
	assert_int_equal(t->completed, 3);
	assert_int_equal(t->most_parked, 1);
}

static void as_many_run_at_once_as_there_are_threads(void **state)
{
	struct bench *t = *state;
	struct sl_service_config config = {
		.sched.order = "to",
		.run = blocking_run,
		.threads = 5,
	};

	start_parked(t, &config, 20, 4096);
	wait_for(t, &t->runs, 5);
	pthread_mutex_lock(&t->lock);
	assert_int_equal(t->runs, 5);
	pthread_mutex_unlock(&t->lock);
	release(t);
	wait_for(t, &t->completed, 20);
	stop(t);
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
	struct bench *t = *state;
	struct sl_service_config config = {
		.sched = { .limits = { 1, 1, 2 }, .order = "to" },
		.max_inflight = 1,
	};
	int rc;

	fill(t->r, 3, 4096);
	t->park = true;
	start(t, &config, NULL);
	t->r[0].job = 99;
	assert_int_equal(sl_service_submit(t->svc, &t->r[0]), -ENOENT);
	t->r[0].job = 1;
	submit(t, t->r, 2);
	rc = sl_service_submit(t->svc, &t->r[2]);
	assert_true(rc == -EAGAIN || rc == -ENOSPC);
	serve(t, 4096);
	assert_int_equal(sl_service_submit(t->svc, &t->r[2]), 0);
	for (int done = 1; done < 3;) {
		const struct sl_batch *b = unpark(t);

		done += (int)b->count;
		assert_int_equal(sl_service_done(t->svc, b, (int64_t)b->length), 0);
	}
	stop(t);
	assert_int_equal(t->completed, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_or_doubled_among_many_threads),
		CASE(a_batch_may_be_done_by_another_thread),
		CASE(complete_may_free_the_request),
		CASE(complete_may_submit_the_next),
		CASE(a_service_without_complete_is_told_by_done_alone),
		CASE(a_short_result_goes_to_the_first_in_offset_order),
		CASE(an_error_goes_to_all_requests_of_the_batch),
		CASE(more_bytes_than_the_batch_has_are_refused_and_it_stays_in_flight),
		CASE(a_batch_is_done_once),
		CASE(no_more_than_max_inflight_batches_are_out),
		CASE(no_more_than_max_inflight_bytes_are_out),
		CASE(a_batch_larger_than_max_inflight_bytes_goes_alone),
		CASE(as_many_run_at_once_as_there_are_threads),
		cmocka_unit_test(a_wrong_configuration_is_refused_with_a_message),
		CASE(errors_of_the_scheduler_reach_the_submitter),
	};

	return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
