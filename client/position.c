/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock around the positions of descriptors, for the forward route.
 *
 * Threads that share a descriptor share its position. To reserve a range at it, for the node to
 * read, takes two steps: look at the position, then move it (preload-data.c). Meanwhile no other
 * thread of this process may reserve.
 *
 * Each inode has one of PLACES locks; two files may share one, which costs a wait and no more. A
 * holder may never give its lock back: it left by longjmp(), or, in a child that was not made by
 * fork(), it is a thread that is no more. So after 0.2 s a waiter takes the lock from it. Nothing
 * in here is a cancellation point.
 */
#include "client/position.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client/preload.h"

#define PLACES	 64U
#define PATIENCE 200 /* yields */

/* The thread that reserves, by the address of its `me`. */
static struct {
	_Alignas(64) _Atomic uintptr_t owner;
} places[PLACES];

static __thread char me __attribute__((tls_model("initial-exec")));

/* Waits a moment; false: that has been long enough, 0.2 s or more. */
static bool patient(int times)
{
	if (times < PATIENCE)
		sched_yield();
	else /* nanosleep() is a point of cancellation */
		syscall(SYS_nanosleep, &(struct timespec){ 0, 1000000 }, NULL);
	return times < 2 * PATIENCE;
}

unsigned position_lock(uint64_t inode)
{
	unsigned at = (unsigned)(inode ^ inode >> 6) % PLACES;
	uintptr_t nobody = 0;
	int i = 0;

	while (!atomic_compare_exchange_strong(&places[at].owner, &nobody, (uintptr_t)&me) &&
	       patient(i++))
		nobody = 0;
	atomic_store(&places[at].owner, (uintptr_t)&me);
	return at;
}

void position_unlock(unsigned place)
{
	uintptr_t own = (uintptr_t)&me;

	atomic_compare_exchange_strong(&places[place].owner, &own, 0);
}

/* The holders were threads of the parent. */
void sl_forward_after_fork(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		atomic_store(&places[i].owner, 0);
}
