/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service on a bench, for the tests of the threaded layer. Nothing in them sleeps to let things
 * happen: a test waits for a condition, with a limit that only a hang reaches, and what must not
 * happen is shown by what can happen only before it, by a bound that holds at every moment of the
 * run, or in one case by a short time in which it could have happened.
 */
#ifndef SL_TEST_SERVICE_RIG_H
#define SL_TEST_SERVICE_RIG_H

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
	struct sl_request r[MAX_REQUESTS];
};

static inline int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static inline void bench_init(struct bench *t)
{
	pthread_condattr_t monotonic;

	memset(t, 0, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&t->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static inline void bench_end(struct bench *t)
{
	sl_service_stop(t->svc);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
}

/* Until *what is at least `least`, under the lock. A hang cannot be torn down: it ends the run. */
static inline void wait_for(struct bench *t, const int *what, int least)
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

static inline void bench_run(void *user, const struct sl_batch *b)
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

static inline void bench_complete(void *user, struct sl_request *r, int64_t result)
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
static inline const struct sl_batch *unpark(struct bench *t)
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

static inline int add_job(struct sl_sched *s, sl_time now, void *arg)
{
	return sl_job_add(s, 1, arg, now);
}

static inline int set_job(struct sl_sched *s, sl_time now, void *arg)
{
	return sl_job_set(s, 1, arg, now);
}

static inline void start(struct bench *t, const struct sl_service_config *wanted,
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

static inline void fill(struct sl_request *r, int n, uint64_t length)
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

static inline void submit(struct bench *t, struct sl_request *r, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(sl_service_submit(t->svc, &r[i]), 0);
}

static inline void stop(struct bench *t)
{
	sl_service_stop(t->svc);
	t->svc = NULL;
}

/* Batches are parked; n requests are submitted. */
static inline void start_parked(struct bench *t, const struct sl_service_config *config, int n,
				uint64_t length)
{
	t->park = true;
	fill(t->r, n, length);
	start(t, config, NULL);
	submit(t, t->r, n);
}

/* The oldest parked batch is done, with this result. */
static inline void serve(struct bench *t, int64_t result)
{
	assert_int_equal(sl_service_done(t->svc, unpark(t), result), 0);
}

/* run() holds its thread until the test lets it go; the others have to do the rest. */
static inline void blocking_run(void *user, const struct sl_batch *b)
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

/* Lets those go that blocking_run() holds. */
static inline void release(struct bench *t)
{
	pthread_mutex_lock(&t->lock);
	t->park = false;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static inline int bench_setup(void **state)
{
	struct bench *t = malloc(sizeof(*t));

	assert_non_null(t);
	bench_init(t);
	*state = t;
	return 0;
}

/* A case that failed has left its service behind: it might wait for ever for a parked batch. */
static inline int bench_teardown(void **state)
{
	struct bench *t = *state;

	if (t->svc)
		return 0;
	bench_end(t);
	free(t);
	return 0;
}

/* A case whose *state is a bench; it starts a service there, and stops it. */
#define CASE(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

#endif
