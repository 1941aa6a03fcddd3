/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and their progress: see crew.h. The line is shown only on a terminal, after a second, and
 * removed at the end.
 */
#include "lab/crew.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"

#define PROGRESS_AFTER_S 1.0
#define PROGRESS_STEP_NS 100000000
#define PROGRESS_WIDTH	 40

struct cw_crew {
	struct crew *c;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	uint32_t running; /* threads */
};

static void *cw_thread(void *arg)
{
	struct cw_crew *w = arg;

	w->c->work(w->c->arg);
	pthread_mutex_lock(&w->lock);
	w->running--;
	pthread_cond_signal(&w->ended);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static double cw_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

static void cw_progress(struct crew *c, double passed_s)
{
	uint64_t done = atomic_load(&c->done);
	int full = (int)(done * PROGRESS_WIDTH / c->tasks);

	fprintf(stderr, "\r[%.*s%*s] ", full, "########################################",
		PROGRESS_WIDTH - full, "");
	if (c->unit)
		fprintf(stderr, "%llu of %llu %s", (unsigned long long)done,
			(unsigned long long)c->tasks, c->unit);
	else
		fprintf(stderr, "%.0f %%", 100.0 * (double)done / (double)c->tasks);
	if (done)
		fprintf(stderr, ", %.0f s left",
			passed_s * (double)(c->tasks - done) / (double)done);
	fputs("\033[K", stderr);
	fflush(stderr);
}

/* Until all threads have ended. */
static void cw_wait(struct cw_crew *w)
{
	bool terminal = isatty(STDERR_FILENO), shown = false;
	struct timespec begin;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	pthread_mutex_lock(&w->lock);
	while (w->running) {
		struct timespec until;

		if (!terminal) {
			pthread_cond_wait(&w->ended, &w->lock);
			continue;
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += PROGRESS_STEP_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&w->ended, &w->lock, &until);
		if (w->running && cw_since(&begin) > PROGRESS_AFTER_S) {
			cw_progress(w->c, cw_since(&begin));
			shown = true;
		}
	}
	pthread_mutex_unlock(&w->lock);
	if (shown)
		fputs("\r\033[K", stderr);
}

int crew_run(struct crew *c)
{
	struct cw_crew w = { .c = c,
			     .lock = PTHREAD_MUTEX_INITIALIZER,
			     .ended = PTHREAD_COND_INITIALIZER,
			     .running = c->threads };
	pthread_t *thread = calloc(c->threads, sizeof(*thread));
	uint32_t started = 0;
	int rc = 0;

	if (!thread)
		return cli_fail(c->command, "out of memory.");
	while (started < c->threads &&
	       !(rc = pthread_create(&thread[started], NULL, cw_thread, &w)))
		started++;
	pthread_mutex_lock(&w.lock);
	w.running -= c->threads - started; /* continue with the threads that started, if any */
	pthread_mutex_unlock(&w.lock);
	cw_wait(&w);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	return started ? CLI_OK : cli_fail(c->command, "cannot start a thread: %s.", strerror(rc));
}
