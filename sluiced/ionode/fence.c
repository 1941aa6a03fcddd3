/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fencing: a node executes a request only while its client's lease is valid (wire/proto.h).
 *
 * A client over TCP that does not hear of its node goes elsewhere when the lease has run out. If
 *this node has only been stopped, or cut off, and goes on later, it must not write what it still
 *has of the client over what the client has written elsewhere. So the lease is looked at right
 *before each system call. But a process can be stopped between the look and the call. Against that,
 *a timer of the kernel (CLOCK_BOOTTIME, so that it runs while the machine sleeps, too) is armed
 * before the look, which delivers SIGKILL to this process SL_FENCE_NS later: it ends a stopped
 * process, too. As long as the node runs, a thread arms it again long before that. The look
 * asks for a lease that is valid for SL_FENCE_NS more. Example, with a lease of 8 s and a fence of
 *3:
 *
 *	 0.0  the client gives back a stamp of 0.0: its lease is valid until 8.0
 *	 4.9  a worker looks at the lease, finds that 4.9 + 3 is before 8.0, and is stopped
 *	 7.9  at the latest, the kernel kills the node: nothing was written
 *	 9.0  the client, which has heard nothing, writes elsewhere
 *
 * The timer is armed only while calls for clients over TCP are about to be made or being made. A
 * node that is stopped while it has nothing to do for them is not killed.
 *
 * What remains. A system call that the kernel has begun: it may take effect whenever the file
 *system lets it, for SIGKILL does not end a call that waits for a device. A thread that, between
 *look and call, is kept from running for SL_FENCE_NS while the thread that arms the timer runs. And
 *clocks of two machines that differ by more than SL_LEASE_MARGIN_NS in SL_LEASE_NS.
 *
 * Clients on this machine have no lease: that their node is dead is proved by its socket. Only
 * fence_cut() ends theirs.
 */
#include "sluiced/ionode/fence.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#define ARM_NS	(SL_FENCE_NS / 8) /* how often it is armed again */
#define IDLE_NS INT64_C(2000000000)

static struct {
	pthread_mutex_t lock;
	pthread_cond_t some;
	timer_t timer;
	unsigned inside; /* threads */
	int64_t entered; /* when the last one did */
	bool sleeping;	 /* the thread that arms it, until somebody enters */
} g = { .lock = PTHREAD_MUTEX_INITIALIZER, .some = PTHREAD_COND_INITIALIZER };

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

uint64_t fence_stamp(void)
{
	return (uint64_t)now_ns();
}

void fence_renew(struct client *c, uint64_t stamp)
{
	int64_t lease = atomic_load_explicit(&c->lease, memory_order_relaxed);

	/* What it gives back it was given: so that is not in the future. */
	if (lease >= 0 && (int64_t)stamp <= now_ns() && (int64_t)stamp + SL_LEASE_NS > lease)
		atomic_store(&c->lease, (int64_t)stamp + SL_LEASE_NS);
}

void fence_cut(struct client *c)
{
	atomic_store(&c->lease, -1);
}

bool fence_holds(const struct client *c)
{
	int64_t lease = atomic_load(&c->lease);

	return lease == FENCE_ALWAYS || (lease >= 0 && now_ns() + SL_FENCE_NS < lease);
}

/* The lock is held. */
static void arm(int64_t now)
{
	const int64_t at = now + SL_FENCE_NS;
	const struct itimerspec its = { .it_value = { at / 1000000000, at % 1000000000 } };

	timer_settime(g.timer, TIMER_ABSTIME, &its, NULL);
}

void fence_enter(void)
{
	int64_t now = now_ns();

	pthread_mutex_lock(&g.lock);
	g.entered = now;
	if (g.inside++ == 0)
		arm(now);
	if (g.sleeping)
		pthread_cond_signal(&g.some);
	pthread_mutex_unlock(&g.lock);
}

void fence_leave(void)
{
	const struct itimerspec never = { 0 };

	pthread_mutex_lock(&g.lock);
	if (--g.inside == 0)
		timer_settime(g.timer, 0, &never, NULL);
	pthread_mutex_unlock(&g.lock);
}

static void *fence_main(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&g.lock);
	for (;;) {
		int64_t now = now_ns();

		if (g.inside)
			arm(now);
		/* While requests come it need not be woken for each of them. */
		g.sleeping = !g.inside && now - g.entered > IDLE_NS;
		while (g.sleeping && !g.inside)
			pthread_cond_wait(&g.some, &g.lock);
		g.sleeping = false;
		pthread_mutex_unlock(&g.lock);
		nanosleep(&(struct timespec){ 0, ARM_NS }, NULL);
		pthread_mutex_lock(&g.lock);
	}
	return NULL;
}

int fence_start(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	pthread_t thread;
	int rc;

	if (timer_create(CLOCK_BOOTTIME, &ev, &g.timer))
		return -errno;
	rc = pthread_create(&thread, NULL, fence_main, NULL);
	if (!rc)
		pthread_detach(thread);
	return -rc;
}
