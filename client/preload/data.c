/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forward route, in which the node makes the calls: decide whether it makes this one, and how.
 *
 * The program holds descriptors of its own, real ones. A call is forwarded if the descriptor is
 * that of a regular file beneath the root; the node then reads or writes through a duplicate of
 * that very descriptor. All other operations on it go to the kernel: fsync, ftruncate, mmap, locks,
 * splice, io_uring, aio. They work unchanged: once write() has returned, the node has written
 * through the same open file description and in the same kernel, so order, visibility and the
 * errors of fsync() are as usual. No acknowledged data is lost when a node dies.
 *
 * Which descriptor. Numbers can change their meaning without our knowledge: libc closes descriptors
 * that it opened itself, and some code makes system calls without libc. So before each use the
 * kernel is asked which file this is (statx) and how it was opened (F_GETFL); if either differs
 * from the entry, the entry is replaced. One case remains undetected: a number closed and opened
 * again, for the same file with the same flags. Then the node works on the earlier open file
 * description. For reads and writes at an offset this is equivalent; an append does not move the
 * position of the new one, and locks of the earlier one are kept until the process ends.
 *
 * Where. read() and write() use the position of the open file description, which threads and
 * forked processes share. The range is reserved first, by moving the position with lseek(): calls
 * on other threads or in other processes get other ranges, as in the kernel. A read reserves no
 * more than the file has: else a write through the same description would leave a gap. Example:
 * position 100, file of 150 bytes, read of 4096: the position moves to 150, the node reads 50.
 * Looking and reserving are two steps, so threads of this process do it one at a time
 * (position.c). O_APPEND needs no position: the node makes one write(2).
 *
 * A reserved range is always transferred at its offset, by this process itself if there is no node.
 * Bytes that were not moved are returned, unless the range behind them is reserved: then the next
 * call would overwrite that range, and a gap is less harmful.
 *
 * What is not exact:
 *	- a transfer of more than a piece (128 KiB) is several for the file system: another that
 *	  overlaps with it may come between the pieces; and when the file system is full a later
 *	  piece may have been written although an earlier one was not, beyond what was reported;
 *	- a signal handler that leaves by longjmp() while it interrupts us leaves the range
 *	  reserved; what that thread does from then on goes to the kernel;
 *	- a reader at the end of the file and a writer, on one description but in two processes:
 *	  the writer may leave a gap;
 *	- a process that is killed while its write at a position shared with others waits leaves a
 * gap;
 *	- a buffer that is not mapped is SIGSEGV and not EFAULT, as it is for memcpy(); addresses
 *	  that no program has, such as NULL, do give EFAULT.
 *
 * Passed to the kernel, because it does better or we cannot do it: calls without data, pwrite() on
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
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/oldlibc.h"
#include "client/preload/position.h"
#include "client/preload/preload.h"

#define COUNT_MAX    0x7ffff000U /* of one call, as Linux has it */
#define DIRECT_ALIGN 511U
#define PATIENCE     200   /* yields */
#define LOWEST	     4096U /* no program has anything below */

static __thread volatile sig_atomic_t inside __attribute__((tls_model("initial-exec")));

/* ---- cancellation ---- */

/* A thread has enabled asynchronous cancellation: from then on, all threads pay for blocking it. */
static atomic_bool cancels_anywhere;

int pthread_setcanceltype(int type, int *old)
{
	if (type == PTHREAD_CANCEL_ASYNCHRONOUS)
		atomic_store(&cancels_anywhere, true);
	return SL_LATE(pthread_setcanceltype)(type, old);
}

struct uncancelled {
	int state, type;
	bool anywhere;
};

/*
 * The kernel does not interrupt a write to a file either. The cancel state alone does not prevent
 * asynchronous cancellation: in glibc the signal for it may be under way already.
 */
static void uncancelled_begin(struct uncancelled *u)
{
	u->anywhere = atomic_load_explicit(&cancels_anywhere, memory_order_relaxed);
	if (u->anywhere)
		SL_LATE(pthread_setcanceltype)(PTHREAD_CANCEL_DEFERRED, &u->type);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &u->state);
}

static void uncancelled_end(const struct uncancelled *u)
{
	int was;

	pthread_setcancelstate(u->state, &was);
	if (u->anywhere)
		SL_LATE(pthread_setcanceltype)(u->type, &was);
}

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

bool sl_beneath_root(int fd)
{
	const char *root = sl_client_root();
	size_t length = root ? strlen(root) : 0;
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (!root || n < (ssize_t)length || memcmp(path, root, length) != 0)
		return false;
	return length == 1 || (size_t)n == length || path[length] == '/';
}

/* The entry of fd, held, if its data is to be forwarded; else NULL. */
static struct sl_fd *entry_of(int fd)
{
	struct sl_remote now = { 0 };
	struct sl_fd *e = NULL;
	enum sl_fd_state state;
	uint64_t ticket;
	bool ours;

	/* Another thread resolves or closes the entry: microseconds, if it ends at all. */
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
	ours = sl_client_look(fd, &now) && sl_beneath_root(fd);
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

static bool addressable(const struct iovec *iov)
{
	size_t length = iov->iov_len;
	uintptr_t at = (uintptr_t)iov->iov_base;

	return length <= SSIZE_MAX && (!length || (at >= LOWEST && at <= INTPTR_MAX - length));
}

/*
 * Check the vector, and cut it to what one call may move. False: pass the call on, so that the
 * kernel reports the error.
 */
static bool measure_many(struct span *s, const struct iovec *iov, int count)
{
	if (count <= 0 || count > IOV_MAX || (uintptr_t)iov < LOWEST)
		return false;
	for (int i = 0; i < count; i++)
		if (!addressable(&iov[i]))
			return false;
	*s = (struct span){ .iov = iov };
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

/* The same; nearly always there is one buffer. */
static inline bool measure(struct span *s, const struct iovec *iov, int count)
{
	if (count != 1 || (uintptr_t)iov < LOWEST || iov->iov_len > COUNT_MAX || !addressable(iov))
		return measure_many(s, iov, count);
	s->iov = iov;
	s->count = 1;
	s->total = iov->iov_len;
	s->bits = (uintptr_t)iov->iov_base | iov->iov_len;
	return s->total > 0;
}

/* ---- the position ---- */

struct range {
	off_t offset;
	size_t length;
};

/*
 * What a read at the position may reserve: no more than the file has. Over TCP the size as this
 * machine knows it can be too small, not having what the node has written: then the node is asked,
 * and `size` is its answer. The lock is held. False: ask.
 */
static bool within(int fd, off_t at, size_t total, const uint64_t *size, size_t *length)
{
	uint64_t end = size ? *size : 0;
	struct stat st;

	if (!size && sl_fstat(fd, &st) == 0)
		end = (uint64_t)st.st_size;
	if (!size && sl_client_far() && (uint64_t)at + total > end)
		return false;
	*length = at < 0 || (uint64_t)at >= end ? 0
		  : end - (uint64_t)at < total	? (size_t)(end - (uint64_t)at)
						: total;
	return true;
}

/* 0; or negative errno: nothing has been reserved, -ENOTCONN: the call is the kernel's. */
static int reserve(struct sl_fd *e, int fd, enum sl_op op, size_t total, struct range *r)
{
	uint64_t size, *known = NULL;
	off_t end = -1;
	bool ask;
	int rc;

	do {
		unsigned place =
			position_lock(e->remote.ino, op == SL_READ ? sl_client_common() : NULL);

		r->length = total;
		ask = op == SL_READ &&
		      !within(fd, lseek(fd, 0, SEEK_CUR), total, known, &r->length);
		if (r->length && !ask)
			end = lseek(fd, (off_t)r->length, SEEK_CUR);
		position_unlock(place);
		if (ask && (rc = sl_client_size(&e->remote, fd, &size)))
			return rc;
		known = &size;
	} while (ask);
	r->offset = end - (off_t)r->length;
	if (end < 0)
		return -ENOTCONN;
	if (e->remote.still(&e->remote) || sl_client_same(fd, &e->remote))
		return 0;
	/* The number has just become another file, whose position this was. */
	lseek(fd, -(off_t)r->length, SEEK_CUR);
	return -ENOTCONN;
}

static void give_back(const struct sl_fd *e, int fd, const struct range *r, size_t used)
{
	unsigned place;

	if (!sl_client_same(fd, &e->remote))
		return;
	place = position_lock(e->remote.ino, sl_client_common());
	if (lseek(fd, 0, SEEK_CUR) == r->offset + (off_t)r->length)
		lseek(fd, (off_t)used - (off_t)r->length, SEEK_CUR);
	position_unlock(place);
}

/* ---- moving ---- */

/* At an offset: bytes moved or negative errno, -ENOTCONN: nothing has been done, pass it on. */
static ssize_t move_at(struct sl_fd *e, int fd, enum sl_op op, const struct span *s, size_t total,
		       off_t offset)
{
	bool direct = e->remote.open_flags & O_DIRECT;

	if (offset < 0 || offset > INT64_MAX - (off_t)s->total ||
	    (direct && (offset | (off_t)s->bits) & DIRECT_ALIGN))
		return -ENOTCONN;
	/* Direct I/O must keep its alignment, beyond the end of the file too. */
	total = direct ? s->total : total;
	if (op == SL_WRITE)
		return sl_client_write(&e->remote, fd, s->iov, total, offset, false);
	return sl_client_read(&e->remote, fd, s->iov, total, offset);
}

/* At the position. */
static ssize_t move_here(struct sl_fd *e, int fd, enum sl_op op, const struct span *s)
{
	ssize_t n = sl_client_given_up();
	struct range r;

	if (n)
		return n;
	n = reserve(e, fd, op, s->total, &r);
	if (n)
		return n;
	n = move_at(e, fd, op, s, r.length, r.offset);
	/* Another file, where nothing is reserved: pass the call to the kernel. */
	if (n == -ENOTCONN && !sl_client_same(fd, &e->remote))
		return -ENOTCONN;
	if (n == -ENOTCONN) {
		n = op == SL_WRITE ? SL_LATE(pwritev)(fd, s->iov, s->count, r.offset)
				   : SL_LATE(preadv)(fd, s->iov, s->count, r.offset);
		n = n < 0 ? -errno : n;
	}
	/* The file may have grown meanwhile. */
	n = n > (ssize_t)r.length ? (ssize_t)r.length : n;
	if (n < (ssize_t)r.length)
		give_back(e, fd, &r, n > 0 ? (size_t)n : 0);
	return n;
}

/* Programs read with buffers far larger than their files; what is not there should not count. */
static size_t there(int fd, enum sl_op op, const struct span *s, off_t offset)
{
	struct stat st;

	if (op == SL_WRITE || sl_client_far() || sl_fstat(fd, &st))
		return s->total;
	if (offset >= st.st_size)
		return 0;
	return (uint64_t)(st.st_size - offset) < s->total ? (size_t)(st.st_size - offset)
							  : s->total;
}

static ssize_t move(struct sl_fd *e, int fd, enum sl_op op, const struct span *s, off_t offset)
{
	int flags = e->remote.open_flags, access = flags & O_ACCMODE;
	bool here = offset == SL_HERE, append = op == SL_WRITE && flags & O_APPEND;
	size_t total;

	if (access == (op == SL_READ ? O_WRONLY : O_RDONLY) || (append && !here) ||
	    (op == SL_WRITE && size_limited()) || (flags & O_DIRECT && s->bits & DIRECT_ALIGN))
		return -ENOTCONN;
	if (append)
		return sl_client_write(&e->remote, fd, s->iov, s->total, 0, true);
	if (here)
		return move_here(e, fd, op, s);
	total = there(fd, op, s, offset);
	return total ? move_at(e, fd, op, s, total, offset) : -ENOTCONN;
}

bool sl_forward(int fd, enum sl_op op, const struct iovec *iov, int count, off_t offset,
		ssize_t *result)
{
	ssize_t n = -ENOTCONN;
	struct uncancelled u;
	int saved = errno;
	struct sl_fd *e;
	struct span s;

	if (!sl_forwarding || inside || sl_fd_passes(fd) || !measure(&s, iov, count))
		return false;
	sl_testcancel();
	inside = 1;
	uncancelled_begin(&u);
	e = entry_of(fd);
	if (e) {
		n = move(e, fd, op, &s, offset);
		sl_fd_release(e);
	}
	inside = 0;
	uncancelled_end(&u);
	errno = n < 0 && n != -ENOTCONN ? (int)-n : saved;
	*result = n < 0 ? -1 : n;
	return n != -ENOTCONN;
}

int sl_forward_sync(int fd, bool data_only)
{
	int saved = errno, rc = -ENOTCONN;
	struct uncancelled u;
	struct sl_fd *e;

	if (inside || !sl_client_far())
		return 0;
	sl_testcancel();
	uncancelled_begin(&u);
	inside = 1;
	e = fd == SL_ALL ? NULL : entry_of(fd);
	if (fd == SL_ALL)
		rc = sl_client_sync();
	if (e) {
		rc = sl_client_fsync(&e->remote, fd, data_only);
		sl_fd_release(e);
	}
	inside = 0;
	uncancelled_end(&u);
	errno = saved;
	return rc == -ENOTCONN ? 0 : -rc;
}
