/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler for services with many threads: any thread may submit; the service calls run() with
 * a batch; any thread may report it done.
 *
 * One mutex protects a struct sl_sched. It is held only for operations of that data structure,
 * never during run() or complete(). Dispatcher threads take batches and call run(). This is a host,
 * so it reads the clock (CLOCK_MONOTONIC): before it takes the lock, and corrected under the lock,
 * so that the scheduler never sees time run backwards.
 *
 * Wake-ups. A submission, a completion or a change may allow a batch. Its caller checks whether a
 * dispatcher sleeps. If none does, there is nothing to do, because each dispatcher asks the
 * scheduler again before it sleeps. Otherwise the caller asks the scheduler itself. It wakes one
 * sleeper if there is a batch, which is then *held* for the first dispatcher that comes, or if the
 * next time to ask is earlier than any sleeper's alarm. A dispatcher that takes a batch does the
 * same for the next batch. So each decision costs at most one wake-up; a request that is throttled,
 * or waits for a better batch, costs none; at most one wake-up is under way at any time; and while
 * all dispatchers work there is no system call. (A dispatcher that leaves its alarm to run a batch
 * wakes another one to set the next alarm: with more than one dispatcher, a throttled batch costs
 * two wake-ups.)
 *
 * Example, 2 dispatchers asleep, nothing throttled: submit(A) decides A, holds it and wakes one.
 * submit(B), submit(C) see that a wake-up is under way and only queue. The first dispatcher takes
 * A, finds B, holds it and wakes the second, runs A; the second takes B and decides C. No
 * dispatcher sleeps now, so C goes to the first that ends.
 *
 * A batch is also held when it would exceed max_inflight_bytes, because its length is known only
 * after sl_next(). It goes first when there is room, so no size starves.
 *
 * Stopping. A request is inside until its batch is done. Dispatchers end when the service is
 * stopping and no request is inside. A caller's thread that still wakes a sleeper or runs
 * complete() without the lock counts as a guest; sl_service_stop() waits for guests before it frees
 * the memory. Dispatchers need no count, because they are joined.
 *
 * Cost: submit takes the lock once, a batch run and done on one thread twice; all O(1) beside
 * the scheduler's own operations.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "sluice.h"

#define SV_MAX_THREADS 256U
/* The default of 50 us is half the distance of 4 KiB requests at 40 MB/s. */
#define SV_TIMER_SLACK_NS 1000UL
#define SV_NS_PER_S	  INT64_C(1000000000)

struct sl_service {
	pthread_mutex_t lock; /* protects all members below, except those set once at the start */
	pthread_cond_t more;  /* dispatchers sleep here */
	pthread_cond_t gone;  /* sl_service_stop() waits here for the last guest */
	struct sl_sched *sched;
	sl_time last;		     /* the latest time the scheduler has seen */
	sl_time alarm;		     /* the earliest alarm of a sleeper */
	const struct sl_batch *held; /* decided and not yet run */
	uint64_t inflight_bytes;
	uint32_t inflight; /* batches between run() and done */
	/*
	 * The threads inside sv_sleep() are asleep + waking. At least `waking` of them are about to
	 * leave and will ask the scheduler, so no other thread has to be woken for a change that
	 * they will see.
	 */
	uint32_t asleep;
	uint32_t waking;
	uint32_t guests;
	bool stopping;
	/* Set once. */
	void (*run)(void *user, const struct sl_batch *b);
	void (*complete)(void *user, struct sl_request *r, int64_t result);
	void *user;
	uint64_t max_inflight_bytes;
	uint32_t max_inflight;
	uint32_t threads;
	pthread_t thread[];
};

/* The service that this thread is a dispatcher of. It is joined, so it is never a guest there. */
static _Thread_local const struct sl_service *sv_mine;

static sl_time sv_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SV_NS_PER_S + t.tv_nsec;
}

/* With the lock held. The result is never before a time that the scheduler has seen. */
static sl_time sv_advance(struct sl_service *svc, sl_time now)
{
	if (now > svc->last)
		svc->last = now;
	return svc->last;
}

/* Read the clock before taking the lock, to hold the lock for less time. */
static sl_time sv_lock(struct sl_service *svc)
{
	sl_time now = sv_clock();

	pthread_mutex_lock(&svc->lock);
	return sv_advance(svc, now);
}

static bool sv_empty(const struct sl_service *svc)
{
	struct sl_sched_stats st;

	sl_sched_stats(svc->sched, &st);
	return st.requests == 0;
}

/* Whether a batch may run now; it is in svc->held. Else *wake is when to ask again. */
static bool sv_decide(struct sl_service *svc, sl_time now, sl_time *wake)
{
	*wake = SL_NEVER;
	if (svc->inflight >= svc->max_inflight)
		return false;
	if (!svc->held)
		svc->held = sl_next(svc->sched, now, wake);
	if (!svc->held)
		return false;
	return svc->inflight == 0 ||
	       svc->inflight_bytes + svc->held->length <= svc->max_inflight_bytes;
}

/* Whether a sleeper must be woken after a change; sv_unlock() does it. */
static bool sv_wanted(struct sl_service *svc, sl_time now)
{
	sl_time wake;

	if (!svc->asleep || svc->waking)
		return false;
	if (!sv_decide(svc, now, &wake) && wake >= svc->alarm && !(svc->stopping && sv_empty(svc)))
		return false;
	svc->asleep--;
	svc->waking++;
	return true;
}

static void sv_leave(struct sl_service *svc)
{
	pthread_mutex_lock(&svc->lock);
	if (--svc->guests == 0 && svc->stopping)
		pthread_cond_signal(&svc->gone);
	pthread_mutex_unlock(&svc->lock);
}

/*
 * Unlock, then wake a sleeper if sv_wanted() returned true. After the unlock, because the sleeper
 * takes the lock first.
 */
static void sv_unlock(struct sl_service *svc, bool wanted)
{
	bool guest = wanted && sv_mine != svc;

	svc->guests += guest;
	pthread_mutex_unlock(&svc->lock);
	if (wanted)
		pthread_cond_signal(&svc->more);
	if (guest)
		sv_leave(svc);
}

/* Only the thread with the earliest wake time sets an alarm; the others sleep until called. */
static void sv_sleep(struct sl_service *svc, sl_time wake)
{
	bool timed = wake < svc->alarm;

	svc->asleep++;
	if (timed) {
		struct timespec t = { .tv_sec = wake / SV_NS_PER_S, .tv_nsec = wake % SV_NS_PER_S };

		svc->alarm = wake;
		pthread_cond_timedwait(&svc->more, &svc->lock, &t);
		/* Not if another one has set an earlier alarm since. */
		if (svc->alarm == wake)
			svc->alarm = SL_NEVER;
	} else {
		pthread_cond_wait(&svc->more, &svc->lock);
	}
	if (svc->waking)
		svc->waking--;
	else
		svc->asleep--;
}

static void *sv_dispatch(void *arg)
{
	struct sl_service *svc = arg;
	sl_time now, wake;

	sv_mine = svc;
	prctl(PR_SET_TIMERSLACK, SV_TIMER_SLACK_NS);
	now = sv_lock(svc);
	for (;;) {
		const struct sl_batch *b;

		if (sv_decide(svc, now, &wake)) {
			b = svc->held;
			svc->held = NULL;
			svc->inflight++;
			svc->inflight_bytes += b->length;
			sv_unlock(svc, sv_wanted(svc, now));
			svc->run(svc->user, b);
			now = sv_lock(svc);
		} else if (svc->stopping && sv_empty(svc)) {
			break;
		} else {
			sv_sleep(svc, wake);
			now = sv_advance(svc, sv_clock());
		}
	}
	pthread_cond_broadcast(&svc->more);
	pthread_mutex_unlock(&svc->lock);
	return NULL;
}

int sl_service_submit(struct sl_service *svc, struct sl_request *r)
{
	sl_time now = sv_lock(svc);
	int rc = svc->stopping ? -ESHUTDOWN : sl_add(svc->sched, r, now);

	sv_unlock(svc, rc == 0 && sv_wanted(svc, now));
	return rc;
}

int sl_service_cancel(struct sl_service *svc, struct sl_request *r)
{
	sl_time now = sv_lock(svc);
	int rc = sl_cancel(svc->sched, r, now);

	sv_unlock(svc, rc == 0 && sv_wanted(svc, now));
	return rc;
}

int sl_service_with(struct sl_service *svc, int (*fn)(struct sl_sched *s, sl_time now, void *arg),
		    void *arg)
{
	sl_time now = sv_lock(svc);
	int rc = fn(svc->sched, now, arg);

	/* Also after an error, because part of the change may have been made. */
	sv_unlock(svc, sv_wanted(svc, now));
	return rc;
}

/* Gives the result of the batch to each of its requests: bytes in offset order, an error to all. */
static void sv_complete(const struct sl_service *svc, struct sl_request *r, int64_t result)
{
	struct sl_request *next;

	for (; r; r = next) {
		int64_t part = result;

		next = r->next; /* complete() may free r */
		if (part > 0 && (uint64_t)part > r->length)
			part = (int64_t)r->length;
		svc->complete(svc->user, r, part);
		if (part > 0)
			result -= part;
	}
}

int sl_service_done(struct sl_service *svc, const struct sl_batch *b, int64_t result)
{
	bool wanted, guest = sv_mine != svc;
	struct sl_request *first;
	uint64_t length;
	sl_time now;
	int rc = -EINVAL;

	if (!b)
		return rc;
	now = sv_lock(svc);
	/* After sl_done() the scheduler may reuse the batch, and we own its requests. */
	first = b->first;
	length = b->length;
	/* A held batch has not been run: the caller has its address from an earlier use. */
	if (b != svc->held && (result < 0 || (uint64_t)result <= length))
		rc = sl_done(svc->sched, b, now);
	if (rc) {
		pthread_mutex_unlock(&svc->lock);
		return rc;
	}
	svc->inflight--;
	svc->inflight_bytes -= length;
	wanted = sv_wanted(svc, now);
	svc->guests += guest;
	pthread_mutex_unlock(&svc->lock);

	if (wanted)
		pthread_cond_signal(&svc->more);
	if (svc->complete)
		sv_complete(svc, first, result);
	if (guest)
		sv_leave(svc);
	return 0;
}

void sl_service_stop(struct sl_service *svc)
{
	if (!svc)
		return;
	assert(sv_mine != svc); /* from run() or complete() it would wait for itself */
	pthread_mutex_lock(&svc->lock);
	svc->stopping = true;
	pthread_cond_broadcast(&svc->more);
	pthread_mutex_unlock(&svc->lock);
	for (uint32_t i = 0; i < svc->threads; i++)
		pthread_join(svc->thread[i], NULL);

	pthread_mutex_lock(&svc->lock);
	while (svc->guests)
		pthread_cond_wait(&svc->gone, &svc->lock);
	pthread_mutex_unlock(&svc->lock);
	pthread_cond_destroy(&svc->gone);
	pthread_cond_destroy(&svc->more);
	pthread_mutex_destroy(&svc->lock);
	sl_sched_destroy(svc->sched);
	free(svc);
}

__attribute__((format(printf, 4, 5))) static int sv_fail(int rc, char *err, size_t err_size,
							 const char *format, ...)
{
	va_list args;

	if (err && err_size) {
		va_start(args, format);
		vsnprintf(err, err_size, format, args);
		va_end(args);
	}
	return rc;
}

/* With all signals blocked, so that the host's handlers do not run on the library's threads. */
static int sv_start_threads(struct sl_service *svc, uint32_t threads)
{
	sigset_t all, before;
	int rc = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (svc->threads < threads && rc == 0) {
		rc = pthread_create(&svc->thread[svc->threads], NULL, sv_dispatch, svc);
		if (rc == 0)
			pthread_setname_np(svc->thread[svc->threads++], "sluice");
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

int sl_service_start(struct sl_service **out, const struct sl_service_config *config, char *err,
		     size_t err_size)
{
	uint32_t threads = config->threads ? config->threads : 1;
	pthread_condattr_t monotonic;
	struct sl_service *svc;
	int rc;

	*out = NULL;
	if (!config->run)
		return sv_fail(-EINVAL, err, err_size,
			       "run: the function that does the I/O is missing");
	if (threads > SV_MAX_THREADS)
		return sv_fail(-EINVAL, err, err_size, "threads: %u is above the maximum, %u",
			       threads, SV_MAX_THREADS);
	svc = calloc(1, sizeof(*svc) + threads * sizeof(svc->thread[0]));
	if (!svc)
		return sv_fail(-ENOMEM, err, err_size, "out of memory for a service of %u threads",
			       threads);
	svc->last = sv_clock();
	rc = sl_sched_create(&svc->sched, &config->sched, svc->last, err, err_size);
	if (rc) {
		free(svc);
		return rc;
	}
	svc->alarm = SL_NEVER;
	svc->run = config->run;
	svc->complete = config->complete;
	svc->user = config->user;
	svc->max_inflight = config->max_inflight ? config->max_inflight : 2 * threads;
	svc->max_inflight_bytes =
		config->max_inflight_bytes ? config->max_inflight_bytes : UINT64_MAX;
	/* These cannot fail on Linux: they allocate nothing and the arguments are constant. */
	pthread_mutex_init(&svc->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&svc->more, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_cond_init(&svc->gone, NULL);

	rc = sv_start_threads(svc, threads);
	if (rc) {
		uint32_t started = svc->threads;

		sl_service_stop(svc);
		return sv_fail(rc, err, err_size, "only %u of %u threads could be started", started,
			       threads);
	}
	*out = svc;
	return 0;
}
