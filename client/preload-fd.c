/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that change their meaning: open, close, dup and the like.
 *
 * All that these do is to forget what was known of a number; what it means is found out when data
 * is moved through it (preload-data.c), so that opening a file elsewhere costs nothing. To forget
 * too much is harmless, and it is done before the number is given away, while it is still ours.
 *
 * The library has a descriptor of its own, the connection. The program must not lose it by
 * closing what it does not know, as daemons do: closing it gives EBADF, as if it were not there,
 * ranges are closed around it, and if the program wants that very number, it moves.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "client/preload.h"

static int opened(int fd)
{
	if (fd >= 0 && sl_forwarding)
		sl_fd_forget(fd);
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
	return opened(sl_real.open(path, flags, MODE(flags, flags)));
}

int open64(const char *path, int flags, ...)
{
	return opened(sl_real.open64(path, flags, MODE(flags, flags)));
}

int openat(int dir, const char *path, int flags, ...)
{
	return opened(sl_real.openat(dir, path, flags, MODE(flags, flags)));
}

int openat64(int dir, const char *path, int flags, ...)
{
	return opened(sl_real.openat64(dir, path, flags, MODE(flags, flags)));
}

int creat(const char *path, mode_t mode)
{
	return opened(sl_real.creat(path, mode));
}

int creat64(const char *path, mode_t mode)
{
	return opened(sl_real.creat64(path, mode));
}

int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
	return opened(sl_real.__open_2(path, flags));
}

int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags)
{
	return opened(sl_real.__open64_2(path, flags));
}

int __openat_2(int dir, const char *path, int flags);
int __openat_2(int dir, const char *path, int flags)
{
	return opened(sl_real.__openat_2(dir, path, flags));
}

int __openat64_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags)
{
	return opened(sl_real.__openat64_2(dir, path, flags));
}

/* ---- close ---- */

static void closing(int fd)
{
	int saved = errno;

	if (sl_forwarding)
		sl_fd_forget(fd);
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
	closing(fd);
	return sl_real.close(fd);
}

int close_range(unsigned first, unsigned last, int flags)
{
	int saved = errno, rc = 0;
	unsigned ours;

	if (!sl_forwarding || (unsigned)flags & CLOSE_RANGE_CLOEXEC || first > last)
		return sl_real.close_range(first, last, flags);
	sl_fd_forget_range(first, last);
	ours = (unsigned)sl_client_fd(); /* none: UINT_MAX */
	errno = saved;
	if (ours == UINT_MAX || ours < first || ours > last)
		return sl_real.close_range(first, last, flags);
	if (ours > first)
		rc = sl_real.close_range(first, ours - 1, flags);
	if (rc == 0 && ours < last)
		rc = sl_real.close_range(ours + 1, last, flags);
	return rc;
}

void closefrom(int first)
{
	/* libc's goes on where the kernel has no close_range(), and would close the connection too.
	 */
	if (close_range(first > 0 ? (unsigned)first : 0, ~0U, 0) == 0)
		return;
	if (!sl_real.closefrom)
		sl_real_resolve();
	sl_real.closefrom(first);
}

/* ---- dup ---- */

/* `to` is about to be something else. */
static void replacing(int to)
{
	if (own(to))
		sl_client_move_fd();
	closing(to);
}

int dup(int fd)
{
	return opened(sl_real.dup(fd));
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
	return opened(sl_real.dup3(from, to, flags));
}

/* ---- fcntl ---- */

#define FCNTL(name)                                                         \
	int name(int fd, int command, ...)                                  \
	{                                                                   \
		va_list ap;                                                 \
		void *argument;                                             \
                                                                            \
		va_start(ap, command);                                      \
		argument = va_arg(ap, void *);                              \
		va_end(ap);                                                 \
		if (command == F_SETFL)                                     \
			closing(fd); /* O_APPEND and O_DIRECT may change */ \
		if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)       \
			return opened(sl_real.name(fd, command, argument)); \
		return sl_real.name(fd, command, argument);                 \
	}
FCNTL(fcntl)
FCNTL(fcntl64)

/* ---- streams: see also preload-stdio.c ---- */

static void closing_stream(FILE *f)
{
	int saved = errno, fd = f && sl_forwarding ? fileno(f) : -1;

	if (fd >= 0)
		sl_fd_forget(fd);
	errno = saved;
}

int fclose(FILE *f)
{
	closing_stream(f);
	if (!sl_real.fclose)
		sl_real_resolve();
	return sl_real.fclose(f);
}

/* Before it, for the node; and after it, for what was flushed in between. */
#define FREOPEN(name)                                           \
	FILE *name(const char *path, const char *mode, FILE *f) \
	{                                                       \
		FILE *new;                                      \
                                                                \
		closing_stream(f);                              \
		if (!sl_real.name)                              \
			sl_real_resolve();                      \
		new = sl_real.name(path, mode, f);              \
		closing_stream(new);                            \
		return new;                                     \
	}
FREOPEN(freopen)
FREOPEN(freopen64)

/* ---- limits ---- */

static int limited(int result)
{
	if (sl_forwarding)
		sl_forward_limits();
	return result;
}

int setrlimit(__rlimit_resource_t what, const struct rlimit *limit)
{
	return limited(sl_real.setrlimit(what, limit));
}

int setrlimit64(__rlimit_resource_t what, const struct rlimit64 *limit)
{
	return limited(sl_real.setrlimit64(what, limit));
}

int prlimit(pid_t pid, enum __rlimit_resource what, const struct rlimit *new, struct rlimit *old)
{
	return limited(sl_real.prlimit(pid, what, new, old));
}

int prlimit64(pid_t pid, enum __rlimit_resource what, const struct rlimit64 *new,
	      struct rlimit64 *old)
{
	return limited(sl_real.prlimit64(pid, what, new, old));
}

/* Other names that libc has for the same. */
int __open(const char *path, int flags, ...) __attribute__((alias("open"), nonnull(1)));
int __open64(const char *path, int flags, ...) __attribute__((alias("open64"), nonnull(1)));
int __close(int fd) __attribute__((alias("close")));
int __dup2(int from, int to) __attribute__((alias("dup2"), nothrow, leaf));
int __fcntl(int fd, int command, ...) __attribute__((alias("fcntl")));
