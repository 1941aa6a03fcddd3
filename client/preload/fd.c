/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that change their meaning: open, close, dup and the like.
 *
 * What was known of a number is forgotten, in both tables: turnfd.c, which open() tells the path,
 * for the turn route; fdtable.c, which finds out when data is moved, for the forward route. To
 * forget too much is harmless, and it is done before the number is given away, while it is still
 * ours.
 *
 * In the forward route the library has a descriptor of its own, the connection. Programs such as
 * daemons close descriptors that they do not know, but must not close this one. close() of it
 * gives EBADF, as if it were not open; ranges are closed around it; and if the program wants its
 * number, the connection moves to another.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/conn/ops.h"
#include "client/conn/turn.h"
#include "client/conn/wire.h"
#include "client/preload/meta.h"
#include "client/preload/preload.h"

/* Opened by anything but a path. */
static int opened(int fd)
{
	if (fd >= 0 && sl_forwarding) {
		turnfd_forget(fd);
		sl_fd_forget(fd);
	}
	return fd;
}

static enum sl_class class_of(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? SL_CREATE : SL_LOOKUP;
}

/* open() has returned fd. */
static int opened_path(int fd, int dir, const char *path, int flags, int64_t since)
{
	if (!sl_forwarding)
		return fd;
	if (fd >= 0) {
		sl_fd_forget(fd);
		if (sl_forwarding_all)
			turnfd_forget(fd);
		else
			turnfd_opened(fd, dir, path, flags);
	}
	if (fd >= 0 && turnfd_state(fd) != TURNFD_UNKNOWN) { /* ours: nothing else is known yet */
		turn_touch();
		if (sl_ops_here) {
			part_by_path(dir, path);
			ops_made(class_of(flags), since);
		}
	} else {
		sl_meta_made(fd < 0, class_of(flags), dir, path, since);
	}
	return fd;
}

/* ---- open ---- */

/* The mode is there only if the file may be made; without it, what is passed on does not matter. */
#define MODE(last, flags)                                                  \
	({                                                                 \
		mode_t mode_ = 0;                                          \
		if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) { \
			va_list ap_;                                       \
			va_start(ap_, last);                               \
			mode_ = va_arg(ap_, mode_t);                       \
			va_end(ap_);                                       \
		}                                                          \
		mode_;                                                     \
	})

int open(const char *path, int flags, ...)
{
	int64_t since = ops_since();

	return opened_path(sl_real.open(path, flags, MODE(flags, flags)), AT_FDCWD, path, flags,
			   since);
}

int open64(const char *path, int flags, ...)
{
	int64_t since = ops_since();

	return opened_path(sl_real.open64(path, flags, MODE(flags, flags)), AT_FDCWD, path, flags,
			   since);
}

int openat(int dir, const char *path, int flags, ...)
{
	int64_t since = ops_since();

	return opened_path(sl_real.openat(dir, path, flags, MODE(flags, flags)), dir, path, flags,
			   since);
}

int openat64(int dir, const char *path, int flags, ...)
{
	int64_t since = ops_since();

	return opened_path(sl_real.openat64(dir, path, flags, MODE(flags, flags)), dir, path, flags,
			   since);
}

int creat(const char *path, mode_t mode)
{
	int64_t since = ops_since();

	return opened_path(SL_LATE(creat)(path, mode), AT_FDCWD, path, O_CREAT, since);
}

int creat64(const char *path, mode_t mode)
{
	int64_t since = ops_since();

	return opened_path(SL_LATE(creat64)(path, mode), AT_FDCWD, path, O_CREAT, since);
}

int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
	int64_t since = ops_since();

	return opened_path(SL_LATE(__open_2)(path, flags), AT_FDCWD, path, flags, since);
}

int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags)
{
	int64_t since = ops_since();

	return opened_path(SL_LATE(__open64_2)(path, flags), AT_FDCWD, path, flags, since);
}

int __openat_2(int dir, const char *path, int flags);
int __openat_2(int dir, const char *path, int flags)
{
	int64_t since = ops_since();

	return opened_path(SL_LATE(__openat_2)(dir, path, flags), dir, path, flags, since);
}

int __openat64_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags)
{
	int64_t since = ops_since();

	return opened_path(SL_LATE(__openat64_2)(dir, path, flags), dir, path, flags, since);
}

/* ---- close ---- */

/* `waits`: the program waits for what closing the file writes back. */
static void closing(int fd, bool waits)
{
	int saved = errno;

	if (sl_forwarding) {
		wire_close(fd, waits);
		turnfd_forget(fd);
		sl_fd_forget(fd);
	}
	errno = saved;
}

static bool own(int fd)
{
	int saved = errno;
	bool is = sl_forwarding && sl_client_owns(fd);

	errno = saved;
	return is;
}

int close(int fd)
{
	if (own(fd)) {
		errno = EBADF;
		return -1;
	}
	closing(fd, true);
	return sl_real.close(fd);
}

int close_range(unsigned first, unsigned last, int flags)
{
	int saved = errno, rc = 0;
	unsigned ours;

	if (!sl_forwarding || (unsigned)flags & CLOSE_RANGE_CLOEXEC || first > last)
		return SL_LATE(close_range)(first, last, flags);
	wire_close_range(first, last);
	turnfd_forget_range(first, last);
	sl_fd_forget_range(first, last);
	ours = (unsigned)sl_client_fd(); /* none: UINT_MAX */
	errno = saved;
	if (ours == UINT_MAX || ours < first || ours > last)
		return SL_LATE(close_range)(first, last, flags);
	if (ours > first)
		rc = SL_LATE(close_range)(first, ours - 1, flags);
	if (rc == 0 && ours < last)
		rc = SL_LATE(close_range)(ours + 1, last, flags);
	return rc;
}

void closefrom(int first)
{
	/* libc's goes on where the kernel has no close_range(), and would close the connection too.
	 */
	if (close_range(first > 0 ? (unsigned)first : 0, ~0U, 0) == 0)
		return;
	SL_LATE(closefrom)(first);
}

/* ---- dup ---- */

/* `to` is about to be something else. */
static void replacing(int to)
{
	if (own(to))
		sl_client_move_fd();
	if (sl_forwarding)
		turnfd_replace(to);
	closing(to, false);
}

int dup(int fd)
{
	return opened(SL_LATE(dup)(fd));
}

int dup2(int from, int to)
{
	if (from != to)
		replacing(to);
	return from != to ? opened(sl_real.dup2(from, to)) : sl_real.dup2(from, to);
}

int dup3(int from, int to, int flags)
{
	if (from != to)
		replacing(to);
	return opened(SL_LATE(dup3)(from, to, flags));
}

/* ---- fcntl ---- */

#define FCNTL(name)                                                                \
	int name(int fd, int command, ...)                                         \
	{                                                                          \
		va_list ap;                                                        \
		void *argument;                                                    \
                                                                                   \
		va_start(ap, command);                                             \
		argument = va_arg(ap, void *);                                     \
		va_end(ap);                                                        \
		if (command == F_SETFL)                                            \
			closing(fd, false); /* O_APPEND and O_DIRECT may change */ \
		if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)              \
			return opened(sl_real.name(fd, command, argument));        \
		return sl_real.name(fd, command, argument);                        \
	}
FCNTL(fcntl)
FCNTL(fcntl64)

/* ---- streams: see also stdio.c ---- */

static void closing_stream(FILE *f)
{
	int saved = errno, fd = f && sl_forwarding ? fileno(f) : -1;

	if (fd >= 0) {
		turnfd_forget(fd);
		sl_fd_forget(fd);
	}
	errno = saved;
}

/* "r", "r+": the file has to be there. */
static int flags_of(const char *mode)
{
	return mode[0] == 'r' ? 0 : O_CREAT;
}

/* Other flags do not matter: no stream is opened for direct or synchronous I/O. */
#define FOPEN(name)                                                                             \
	FILE *name(const char *path, const char *mode)                                          \
	{                                                                                       \
		int64_t since = ops_since();                                                    \
		FILE *f;                                                                        \
                                                                                                \
		f = SL_LATE(name)(path, mode);                                                  \
		opened_path(f ? fileno(f) : -1, AT_FDCWD, path, f ? flags_of(mode) : 0, since); \
		return f;                                                                       \
	}
FOPEN(fopen)
FOPEN(fopen64)

int fclose(FILE *f)
{
	closing_stream(f);
	return SL_LATE(fclose)(f);
}

/* Before it, for the node; and after it, for what was flushed in between. */
#define FREOPEN(name)                                           \
	FILE *name(const char *path, const char *mode, FILE *f) \
	{                                                       \
		FILE *new;                                      \
                                                                \
		closing_stream(f);                              \
		new = SL_LATE(name)(path, mode, f);             \
		closing_stream(new);                            \
		return new;                                     \
	}
FREOPEN(freopen)
FREOPEN(freopen64)

/* ---- the working directory ---- */

#define CHDIR(name, type)                  \
	int name(type where)               \
	{                                  \
		int rc;                    \
                                           \
		turnfd_chdir();            \
		rc = SL_LATE(name)(where); \
		turnfd_chdir();            \
		return rc;                 \
	}
CHDIR(chdir, const char *)
CHDIR(fchdir, int)

/* ---- seccomp ---- */

/* A filter that the program sets for itself may kill it for a system call of ours. */
static void sealing(void)
{
	int saved = errno;

	if (sl_forwarding && !sl_forwarding_all)
		turn_seal();
	errno = saved;
}

int prctl(int option, ...)
{
	unsigned long arg[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_SECCOMP)
		sealing();
	return SL_LATE(prctl)(option, arg[0], arg[1], arg[2], arg[3]);
}

/* libc has no seccomp(): libseccomp and others make the call by its number. */
long syscall(long number, ...)
{
	unsigned long arg[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (__builtin_expect(number == SYS_seccomp, 0) && arg[0] <= SECCOMP_SET_MODE_FILTER)
		sealing();
	if (__builtin_expect(number == SYS_prctl, 0) && arg[0] == PR_SET_SECCOMP)
		sealing();
	return SL_LATE(syscall)(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* ---- limits ---- */

static int limited(int result)
{
	if (sl_forwarding)
		sl_forward_limits();
	return result;
}

int setrlimit(__rlimit_resource_t what, const struct rlimit *limit)
{
	return limited(SL_LATE(setrlimit)(what, limit));
}

int setrlimit64(__rlimit_resource_t what, const struct rlimit64 *limit)
{
	return limited(SL_LATE(setrlimit64)(what, limit));
}

int prlimit(pid_t pid, enum __rlimit_resource what, const struct rlimit *new, struct rlimit *old)
{
	return limited(SL_LATE(prlimit)(pid, what, new, old));
}

int prlimit64(pid_t pid, enum __rlimit_resource what, const struct rlimit64 *new,
	      struct rlimit64 *old)
{
	return limited(SL_LATE(prlimit64)(pid, what, new, old));
}

/* Other names that libc has for the same. */
int __open(const char *path, int flags, ...) __attribute__((alias("open"), nonnull(1)));
int __open64(const char *path, int flags, ...) __attribute__((alias("open64"), nonnull(1)));
int __close(int fd) __attribute__((alias("close")));
int __dup2(int from, int to) __attribute__((alias("dup2"), nothrow, leaf));
int __fcntl(int fd, int command, ...) __attribute__((alias("fcntl")));
