/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a data call is forwarded, and how.
 *
 * The program holds descriptors of its own, real ones. A call is forwarded if the descriptor is
 * that of a regular file beneath the root; the node then reads or writes through a duplicate of
 * that very descriptor. Everything else that a program can do with it goes to the kernel: fsync,
 * ftruncate, mmap, locks, splice, io_uring, aio. That needs no help from here: once
 * write() has returned the node has written, through the same open file description and in the
 * same kernel, so order, visibility, and errors that fsync() reports are what they always are. A
 * node that dies takes nothing with it that it had acknowledged.
 *
 * Which descriptor. Numbers change their meaning behind our back: libc closes what it opened
 * itself, others make system calls without libc. So before each use the kernel is asked which
 * file this is (statx) and how it was opened (F_GETFL); if either is not what the entry says, the
 * entry is dropped and made anew. What remains is a number closed and opened again, on the same
 * file, with the same flags, unseen. Then the node works on the earlier open file description,
 * which is the same to reads and writes at an offset; an append leaves the position of the new
 * one where it was, and locks of the earlier one are kept until the process ends.
 *
 * Where. read() and write() use the position of the open file description, which threads and
 * forked processes share. The range is reserved first, by moving the position with lseek(): calls
 * on other threads or in other processes get other ranges, as in the kernel. What was reserved and
 * not moved is given back. Example: position 100, file of 150 bytes, read of 4096: the position
 * moves to 4196, the node reads 50, the position is moved back by 4046 to 150. Two readers at the
 * end of the file at one time may each see the other's reservation and find nothing there, as if
 * they had come in another order. O_APPEND needs no position: the node makes one write(2).
 *
 * What is not exact:
 *	- a transfer of more than a piece (128 KiB) is several for the file system: another that
 *	  overlaps with it may come between the pieces; and when the file system is full a later
 *piece may have been written although an earlier one was not, beyond what was reported;
 *	- a signal handler that leaves by longjmp() while it interrupts us leaves the range
 *reserved; what that thread does from then on goes to the kernel;
 *	- a buffer that is not mapped is SIGSEGV and not EFAULT, as it is for memcpy(); addresses
 *	  that no program has, such as NULL, do give EFAULT.
 *
 * Passed to the kernel, where it does better or we cannot do it: calls without data, pwrite() on
 * O_APPEND (Linux appends, and leaves the position), O_DIRECT with a buffer, length or offset that
 * direct I/O may refuse, writes under a limit on the size of files (it is this process's, not the
 * node's, and comes with a signal), and calls made by a signal handler that interrupted us: the
 * interrupted call holds what the handler would wait for.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "client/preload.h"

#define COUNT_MAX    0x7ffff000U /* of one call, as Linux has it */
#define DIRECT_ALIGN 511U
#define PATIENCE     200   /* yields */
#define LOWEST	     4096U /* no program has anything below */

static __thread volatile sig_atomic_t inside __attribute__((tls_model("initial-exec")));

/* ---- limits ---- */

enum { LIMIT_NOT_READ, LIMIT_NONE, LIMIT_SET };
static _Atomic int size_limit;

void sl_forward_limits(void)
{
	if (sl_fd_own_process())
		atomic_store(&size_limit, LIMIT_NOT_READ);
}

static bool size_limited(void)
{
	struct rlimit l;

	if (atomic_load_explicit(&size_limit, memory_order_relaxed) == LIMIT_NOT_READ)
		atomic_store(&size_limit, getrlimit(RLIMIT_FSIZE, &l) || l.rlim_cur != RLIM_INFINITY
						  ? LIMIT_SET
						  : LIMIT_NONE);
	return atomic_load_explicit(&size_limit, memory_order_relaxed) == LIMIT_SET;
}

/* ---- which descriptor ---- */

static bool beneath_root(int fd)
{
	const char *root = sl_client_root();
	size_t length = root ? strlen(root) : 0;
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (!root || n < (ssize_t)length || memcmp(path, root, length) != 0)
		return false;
	return length == 1 || ((size_t)n > length && path[length] == '/');
}

/* The entry of fd, held, if its data is to be forwarded; else NULL. */
static struct sl_fd *entry_of(int fd)
{
	struct sl_remote now = { 0 };
	struct sl_fd *e = NULL;
	enum sl_fd_state state;
	uint64_t ticket;
	bool ours;

	/* Another thread is finding out, or closing: that takes microseconds, if it ends at all. */
	state = sl_fd_hold(fd, &e);
	for (int i = 0; state == SL_FD_BUSY && i < PATIENCE; i++) {
		sched_yield();
		state = sl_fd_hold(fd, &e);
	}
	switch (state) {
	case SL_FD_MANAGED:
		ours = sl_client_look(fd, &now);
		if (ours && now.dev == e->remote.dev && now.ino == e->remote.ino &&
		    now.open_flags == e->remote.open_flags)
			return e;
		sl_fd_forget(fd);
		sl_fd_release(e);
		break;
	case SL_FD_UNKNOWN:
		break;
	default:
		return NULL;
	}
	if (!sl_fd_claim(fd, &e, &ticket))
		return NULL;
	ours = sl_client_look(fd, &now) && beneath_root(fd);
	if (!ours && syscall(SYS_fcntl, fd, F_GETFD) < 0)
		sl_fd_settle(e, ticket, SL_FD_UNKNOWN, NULL); /* not open at all */
	else if (sl_fd_settle(e, ticket, ours ? SL_FD_MANAGED : SL_FD_PASS, &now) && ours)
		return e;
	return NULL;
}

bool sl_forwards(int fd)
{
	int saved = errno;
	struct sl_fd *e = inside || sl_fd_passes(fd) ? NULL : entry_of(fd);

	if (e)
		sl_fd_release(e);
	errno = saved;
	return e != NULL;
}

/* ---- what memory ---- */

struct span {
	const struct iovec *iov;
	int count;
	size_t total;
	uintptr_t bits; /* of all addresses and lengths together, for alignment */
	struct iovec cut;
};

/* Check the vector, and cut it to what one call may move. False: the kernel shall say what is
 * wrong. */
static bool measure(struct span *s, const struct iovec *iov, int count)
{
	*s = (struct span){ .iov = iov };
	if (count <= 0 || count > IOV_MAX || (uintptr_t)iov < LOWEST)
		return false;
	for (int i = 0; i < count; i++) {
		size_t length = iov[i].iov_len;
		uintptr_t at = (uintptr_t)iov[i].iov_base;

		if (length > SSIZE_MAX || (length && (at < LOWEST || at > INTPTR_MAX - length)))
			return false;
	}
	for (; s->count < count && iov[s->count].iov_len <= COUNT_MAX - s->total; s->count++) {
		s->total += iov[s->count].iov_len;
		s->bits |= (uintptr_t)iov[s->count].iov_base | iov[s->count].iov_len;
	}
	if (s->count == 0) {
		s->cut = (struct iovec){ iov->iov_base, COUNT_MAX };
		s->iov = &s->cut;
		s->count = 1;
		s->total = COUNT_MAX;
		s->bits = (uintptr_t)iov->iov_base | COUNT_MAX;
	}
	return s->total > 0;
}

/* ---- moving ---- */

static off_t seek(int fd, off_t by)
{
	return lseek(fd, by, SEEK_CUR);
}

/* Bytes moved or negative errno, -ENOTCONN: nothing has been done, pass it on. */
static ssize_t move(struct sl_fd *e, int fd, enum sl_op op, const struct span *s, off_t offset)
{
	int flags = e->remote.open_flags, access = flags & O_ACCMODE;
	bool here = offset == SL_HERE, append = op == SL_WRITE && flags & O_APPEND;
	ssize_t n;

	if (access == (op == SL_READ ? O_WRONLY : O_RDONLY) || (append && !here) ||
	    (op == SL_WRITE && size_limited()) || (flags & O_DIRECT && s->bits & DIRECT_ALIGN))
		return -ENOTCONN;
	if (append)
		return sl_client_write(&e->remote, fd, s->iov, s->count, 0, true);
	if (here) {
		offset = seek(fd, (off_t)s->total);
		if (offset < 0)
			return -ENOTCONN; /* not even in the range of offsets */
		offset -= (off_t)s->total;
	}
	if (offset < 0 || offset > INT64_MAX - (off_t)s->total ||
	    (flags & O_DIRECT && offset & DIRECT_ALIGN))
		n = -ENOTCONN;
	else if (op == SL_WRITE)
		n = sl_client_write(&e->remote, fd, s->iov, s->count, offset, false);
	else
		n = sl_client_read(&e->remote, fd, s->iov, s->count, offset);
	if (here && n < (ssize_t)s->total)
		seek(fd, (n > 0 ? (off_t)n : 0) - (off_t)s->total);
	return n;
}

/* Gate mode: the call is the program's own, so it does not matter much which file that is. */
static ssize_t gate(int fd, enum sl_op op, const struct span *s, off_t offset)
{
	struct sl_fd *e = NULL;
	int flags;

	if (sl_fd_hold(fd, &e) != SL_FD_MANAGED && !(e = entry_of(fd)))
		return -ENOTCONN;
	flags = e->remote.open_flags;
	sl_fd_release(e);
	return sl_client_gate(fd, op, s->iov, s->count, offset, flags & O_APPEND);
}

bool sl_forward_slow(int fd, enum sl_op op, const struct iovec *iov, int count, off_t offset,
		     ssize_t *result)
{
	int saved = errno, cancel;
	struct span s;
	struct sl_fd *e;
	ssize_t n = -ENOTCONN;

	if (inside || !measure(&s, iov, count))
		return false;
	/* We hold locks in there; the kernel does not let go of a write to a file either. */
	pthread_testcancel();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	inside = 1;
	e = sl_client_gated() ? NULL : entry_of(fd);
	if (sl_client_gated()) {
		n = gate(fd, op, &s, offset);
	} else if (e) {
		n = move(e, fd, op, &s, offset);
		sl_fd_release(e);
	}
	inside = 0;
	pthread_setcancelstate(cancel, &cancel);
	errno = n < 0 && n != -ENOTCONN ? (int)-n : saved;
	*result = n < 0 ? -1 : n;
	return n != -ENOTCONN;
}

int sl_forward_sync(int fd, bool data_only)
{
	int saved = errno, rc = -ENOTCONN, cancel;
	struct sl_fd *e;

	if (inside || !sl_client_syncs())
		return 0;
	pthread_testcancel();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	inside = 1;
	e = entry_of(fd);
	if (e) {
		rc = sl_client_fsync(&e->remote, fd, data_only);
		sl_fd_release(e);
	}
	inside = 0;
	pthread_setcancelstate(cancel, &cancel);
	errno = saved;
	return rc == -ENOTCONN ? 0 : -rc;
}
