/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking turns at the positions of descriptors.
 *
 * Threads that share a descriptor share its position. Who reserves a range at it, for the node to
 * read, looks and then moves it: two steps (preload-data.c). Meanwhile no other thread of this
 * process may reserve, nor have the kernel move the position by a call under a lease; those calls
 * do not exclude each other, since each is one step.
 *
 * Files have places, by their inodes; that two of them may have one costs a wait and no more.
 * There can be a holder that never gives its place back: one that left by longjmp(), or, in a child
 * that was not made by fork(), a thread that is no more. So who has waited long enough goes ahead.
 * Nothing in here is a point at which a thread can be cancelled.
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

static struct place {
	_Alignas(64) _Atomic uintptr_t owner; /* who reserves, by the address of its `me` */
	_Atomic uint32_t users;		      /* calls under way that the kernel moves it for */
} places[PLACES];

static __thread char me __attribute__((tls_model("initial-exec")));

static unsigned place_of(uint64_t inode)
{
	return (unsigned)(inode ^ inode >> 6) % PLACES;
}

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
	unsigned at = place_of(inode);
	struct place *p = &places[at];
	uintptr_t nobody = 0;
	int i = 0;

	while (!atomic_compare_exchange_strong(&p->owner, &nobody, (uintptr_t)&me) && patient(i++))
		nobody = 0;
	atomic_store(&p->owner, (uintptr_t)&me);
	for (i = 0; atomic_load(&p->users) && patient(i);)
		i++;
	if (atomic_load(&p->users))
		atomic_store(&p->users, 0);
	return at;
}

void position_unlock(unsigned place)
{
	uintptr_t own = (uintptr_t)&me;

	atomic_compare_exchange_strong(&places[place].owner, &own, 0);
}

unsigned position_use(uint64_t inode)
{
	unsigned at = place_of(inode);
	bool waits = true;

	for (int i = 0;; i++) {
		atomic_fetch_add(&places[at].users, 1);
		if (!atomic_load(&places[at].owner) || !waits)
			return at;
		position_leave(at);
		waits = patient(i);
	}
}

void position_leave(unsigned place)
{
	_Atomic uint32_t *users = &places[place].users;
	uint32_t seen = atomic_load(users);

	/* None, if somebody has not waited for us. */
	while (seen && !atomic_compare_exchange_weak(users, &seen, seen - 1))
		;
}

/* Those who were at it are the parent's. */
void sl_forward_after_fork(void)
{
	for (unsigned i = 0; i < PLACES; i++) {
		atomic_store(&places[i].owner, 0);
		atomic_store(&places[i].users, 0);
	}
}
