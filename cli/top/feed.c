/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that queries the status of a layer periodically and keeps the newest answer. A query of
 * a stopped node waits for seconds; in its own thread it does not delay the keys.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/top/top.h"
#include "layer/status.h"

struct top_feed {
	pthread_t thread;
	pthread_mutex_t lock; /* protects all members below */
	pthread_cond_t turn;  /* signalled for a new query or the end */
	struct layer layer;
	double every_s;
	struct status *status;
	bool gone, asking, now, stop;
	int fd;
};

/* With the lock held: wait until the next query is due or requested. */
static void tf_sleep(struct top_feed *f)
{
	struct timespec until;
	long long ns = (long long)(f->every_s * 1e9);

	clock_gettime(CLOCK_MONOTONIC, &until);
	ns += until.tv_nsec;
	until.tv_sec += (time_t)(ns / 1000000000);
	until.tv_nsec = (long)(ns % 1000000000);
	while (!f->stop && !f->now &&
	       pthread_cond_timedwait(&f->turn, &f->lock, &until) != ETIMEDOUT)
		;
	f->now = false;
}

static void *tf_main(void *arg)
{
	struct top_feed *f = arg;
	const uint64_t one = 1;

	pthread_mutex_lock(&f->lock);
	while (!f->stop) {
		struct status *status;

		f->asking = true;
		pthread_mutex_unlock(&f->lock);
		status = status_ask(&f->layer, STATUS_WAIT_MS);
		pthread_mutex_lock(&f->lock);
		f->asking = false;
		status_free(f->status);
		f->status = status;
		f->gone = !status;
		if (write(f->fd, &one, sizeof(one)) < 0)
			break; /* cannot fail: the counter is far from its maximum */
		tf_sleep(f);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

struct top_feed *top_feed_start(const struct layer *l, double every_s)
{
	struct top_feed *f = calloc(1, sizeof(*f));
	pthread_condattr_t attr;
	sigset_t all, before;

	if (!f)
		return NULL;
	f->layer = *l;
	f->every_s = every_s;
	f->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->turn, &attr);
	pthread_condattr_destroy(&attr);
	/* Signals are for the thread that has the screen. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (f->fd < 0 || pthread_create(&f->thread, NULL, tf_main, f)) {
		if (f->fd >= 0)
			close(f->fd);
		free(f);
		f = NULL;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return f;
}

int top_feed_fd(const struct top_feed *f)
{
	return f->fd;
}

struct status *top_feed_take(struct top_feed *f, bool *gone)
{
	uint64_t count;
	struct status *status;

	pthread_mutex_lock(&f->lock);
	if (read(f->fd, &count, sizeof(count)) < 0)
		count = 0;
	status = f->status;
	f->status = NULL;
	*gone = f->gone;
	pthread_mutex_unlock(&f->lock);
	return status;
}

void top_feed_now(struct top_feed *f)
{
	pthread_mutex_lock(&f->lock);
	f->now = true;
	pthread_cond_signal(&f->turn);
	pthread_mutex_unlock(&f->lock);
}

void top_feed_stop(struct top_feed *f)
{
	bool asking;

	pthread_mutex_lock(&f->lock);
	f->stop = true;
	asking = f->asking;
	pthread_cond_signal(&f->turn);
	pthread_mutex_unlock(&f->lock);
	if (asking) /* do not wait for a node that may be stopped: the process is about to end */
		return;
	pthread_join(f->thread, NULL);
	status_free(f->status);
	pthread_cond_destroy(&f->turn);
	pthread_mutex_destroy(&f->lock);
	close(f->fd);
	free(f);
}
