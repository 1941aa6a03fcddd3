/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fencing: a node executes a request only while its client's lease is valid (wire/proto.h).
 *
 * A client over TCP that hears nothing from its node goes to another one when the lease has
 * expired. If this node was only stopped or cut off and goes on later, it must not overwrite what
 * the client has written elsewhere with the client's old requests. So the node checks the lease
 * right before each system call. But a process can be stopped between the check and the call. For
 * that case, the node arms a kernel timer before the check (CLOCK_BOOTTIME, so that it also runs
 * while the machine sleeps), which sends SIGKILL to this process SL_FENCE_NS later and so ends a
 * stopped process, too. While the node runs, a thread rearms it long before that. The check
 * requires a lease that is valid for SL_FENCE_NS more. Example, with a lease of 8 s and a fence
 * of 3:
 *
 *	 0.0  the client gives back a stamp of 0.0: its lease is valid until 8.0
 *	 4.9  a worker looks at the lease, finds that 4.9 + 3 is before 8.0, and is stopped
 *	 7.9  at the latest, the kernel kills the node: nothing was written
 *	 9.0  the client, which has heard nothing, writes elsewhere
 *
 * The timer is armed with the first call for a client over TCP, and disarmed after IDLE_NS without
 * such calls: arming it for each call would cost more than a small call. So a node that is stopped
 * while it has no such calls is not killed. A thread that enters first increments a counter and
 * then checks whether the timer is armed; the thread that disarms it first marks it disarmed and
 * then checks the counter. So one of the two notices the other.
 *
 * Not covered: a system call that the kernel has begun may take effect at any later time, since
 * SIGKILL does not end a call that waits for a device; a thread that does not run for SL_FENCE_NS
 * between check and call while the thread that arms the timer does; clocks of two machines that
 * differ by more than SL_LEASE_MARGIN_NS in SL_CLIENT_LEASE_NS.
 *
 * Clients on this machine have no lease, because the socket proves that their node is dead. Only
 * fence_cut() ends theirs.
 */
#include "sluiced/ionode/fence.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#define ARM_NS	(SL_FENCE_NS / 8) /* how often it is armed again */
#define IDLE_NS (2 * ARM_NS)

static struct {
	pthread_mutex_t lock;
	pthread_cond_t some;
	timer_t timer;
	atomic_uint inside;	  /* threads */
	_Atomic uint64_t entered; /* how often one did */
	atomic_bool armed;
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

	/* A returned stamp was issued by this node, so it cannot be in the future. */
	if (lease >= 0 && (int64_t)stamp <= now_ns() && (int64_t)stamp + SL_CLIENT_LEASE_NS > lease)
		atomic_store(&c->lease, (int64_t)stamp + SL_CLIENT_LEASE_NS);
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
	atomic_fetch_add(&g.inside, 1);
	atomic_fetch_add_explicit(&g.entered, 1, memory_order_relaxed);
	if (atomic_load(&g.armed))
		return;
	pthread_mutex_lock(&g.lock);
	if (!atomic_load(&g.armed)) {
		arm(now_ns());
		atomic_store(&g.armed, true);
		pthread_cond_signal(&g.some);
	}
	pthread_mutex_unlock(&g.lock);
}

void fence_leave(void)
{
	atomic_fetch_sub(&g.inside, 1);
}

/* The lock is held. No thread has entered for some time. */
static void disarm(void)
{
	const struct itimerspec never = { 0 };

	atomic_store(&g.armed, false);
	if (atomic_load(&g.inside)) /* it may have seen that it was armed */
		atomic_store(&g.armed, true);
	else
		timer_settime(g.timer, 0, &never, NULL);
}

static void *fence_main(void *arg)
{
	uint64_t seen = 0, entered;
	int64_t since = 0, now;

	(void)arg;
	pthread_mutex_lock(&g.lock);
	for (;;) {
		while (!atomic_load(&g.armed))
			pthread_cond_wait(&g.some, &g.lock);
		now = now_ns();
		arm(now);
		entered = atomic_load(&g.entered);
		if (entered != seen || atomic_load(&g.inside))
			since = now;
		seen = entered;
		if (now - since > IDLE_NS)
			disarm();
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
