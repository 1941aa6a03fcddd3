/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock around the positions of descriptors, for the forward route.
 *
 * Threads that share a descriptor share its position. To reserve a range at it, for the node to
 * read, takes two steps: look at the position, then move it (data.c). Meanwhile no other
 * thread of this process may reserve.
 *
 * Each inode has one of PLACES locks; two files may share one, which costs a wait and no more. A
 * holder may never give its lock back: it left by longjmp(), or, in a child that was not made by
 * fork(), it is a thread that is no more. So after 0.2 s a waiter takes the lock from it. Nothing
 * in here is a cancellation point.
 *
 * Processes that have forked share positions, too. Over TCP, where a read may have to ask the node
 * for the size of the file before it reserves, they keep each other out by flock(2) on a file that
 * all of them can open, the secret. The kernel gives that back when its holder dies; if the holder
 * is stopped, it is not waited for either.
 */
#include "base/oldlibc.h"
#include "client/preload/position.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client/conn/connect.h"
#include "client/preload/preload.h"

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

/* ---- other processes ---- */

static struct {
	_Atomic int fd; /* and 1; 0: none yet */
	_Atomic uint64_t inode;
} shared;

/* Its descriptor, or -1. It may have been closed, and its number mean another file. */
static int shared_fd(const char *file)
{
	int fd = atomic_load(&shared.fd) - 1, high;
	struct stat st;

	if (fd >= 0 && sl_fstat(fd, &st) == 0 && st.st_ino == atomic_load(&shared.inode))
		return fd;
	fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FD_FLOOR);
	if (high >= 0) {
		syscall(SYS_close, fd);
		fd = high;
	}
	if (sl_fstat(fd, &st)) {
		syscall(SYS_close, fd);
		return -1;
	}
	atomic_store(&shared.inode, st.st_ino);
	atomic_store(&shared.fd, fd + 1);
	return fd;
}

static void shared_lock(const char *file)
{
	int fd = shared_fd(file);

	for (int i = 0;
	     fd >= 0 && syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;)
		if (!patient(i++))
			break;
}

static void shared_unlock(void)
{
	int fd = atomic_load(&shared.fd) - 1;
	struct stat st;

	if (fd >= 0 && sl_fstat(fd, &st) == 0 && st.st_ino == atomic_load(&shared.inode))
		syscall(SYS_flock, fd, LOCK_UN);
}

/* ---- threads ---- */

unsigned position_lock(uint64_t inode, const char *file)
{
	unsigned at = (unsigned)(inode ^ inode >> 6) % PLACES;
	uintptr_t nobody = 0;
	int i = 0;

	while (!atomic_compare_exchange_strong(&places[at].owner, &nobody, (uintptr_t)&me) &&
	       patient(i++))
		nobody = 0;
	atomic_store(&places[at].owner, (uintptr_t)&me);
	if (file)
		shared_lock(file);
	return at;
}

void position_unlock(unsigned place)
{
	uintptr_t own = (uintptr_t)&me;

	if (atomic_load_explicit(&shared.fd, memory_order_relaxed))
		shared_unlock();
	atomic_compare_exchange_strong(&places[place].owner, &own, 0);
}

/* The holders were threads of the parent. */
void sl_forward_after_fork(void)
{
	int fd = atomic_exchange(&shared.fd, 0) - 1;
	struct stat st;

	for (unsigned i = 0; i < PLACES; i++)
		atomic_store(&places[i].owner, 0);
	/* It is one open file with the parent's, and would keep nobody out. */
	if (fd >= 0 && sl_fstat(fd, &st) == 0 && st.st_ino == atomic_load(&shared.inode))
		syscall(SYS_close, fd);
}
