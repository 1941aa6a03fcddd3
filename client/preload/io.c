/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read, write and their kin, as programs call them.
 *
 * In the turn route each of them is the real function with the program's own arguments: so errors,
 * signals, cancellation and limits are exactly as without Sluice. Before it, the call may have to
 * wait for its turn; after it, it is counted (turn.h). In the forward route data.c decides
 * whether the node makes the call.
 *
 * The variants are many because libc has them: the names with 64 are what programs with large file
 * support call, those with _chk what -D_FORTIFY_SOURCE makes of the plain ones, those with two
 * underscores what some libraries use.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include <sys/uio.h>
#include <unistd.h>

#include "client/conn/turn.h"
#include "client/preload/preload.h"

/*
 * The body of a function: `call` is the real one, `forward` whether the node has made it, with its
 * result in n. iov NULL: length is in bytes; else it is the number of vectors.
 */
#define BODY(fd, op, iov, length, offset, how, forward, call)                             \
	do {                                                                              \
		struct sl_turn_job *job_ = turn_open(fd);                                 \
		struct turn turn_;                                                        \
		ssize_t n;                                                                \
                                                                                          \
		if (__builtin_expect(job_ != NULL, 1)) {                                  \
			n = (call);                                                       \
			if (__builtin_expect(n > 0, 1))                                   \
				account(job_, op, (uint64_t)n);                           \
			return n;                                                         \
		}                                                                         \
		if (turnfd_state(fd) == TURNFD_PASS)                                      \
			return (call);                                                    \
		switch (turn_begin(&turn_, fd, op, iov, (size_t)(length), offset, how)) { \
		case TURN_FORWARD:                                                        \
			if (forward)                                                      \
				return n;                                                 \
			return (call);                                                    \
		case TURN_CLOSED:                                                         \
			(fd) = -1; /* the kernel says EBADF */                            \
			return (call);                                                    \
		case TURN_PASS:                                                           \
			return (call);                                                    \
		default:                                                                  \
			n = (call);                                                       \
			turn_end(&turn_, n);                                              \
			return n;                                                         \
		}                                                                         \
	} while (0)

/* One buffer, positioned or not, through the node. */
static bool one(int fd, enum sl_op op, const void *buf, size_t count, off_t offset, ssize_t *n)
{
	struct iovec iov = { (void *)(uintptr_t)buf, count };

	return sl_forward(fd, op, &iov, 1, offset, n);
}

/* At an offset that the caller gives: a negative one is an error, which the kernel reports. */
static bool one_at(int fd, enum sl_op op, const void *buf, size_t count, off_t offset, ssize_t *n)
{
	return offset >= 0 && one(fd, op, buf, count, offset, n);
}

static bool many_at(int fd, enum sl_op op, const struct iovec *iov, int iovcnt, off_t offset,
		    ssize_t *n)
{
	return offset >= 0 && sl_forward(fd, op, iov, iovcnt, offset, n);
}

/* preadv2 and pwritev2: offset -1 is the position. What flags ask for is between kernel and caller.
 */
static bool many_v2(int fd, enum sl_op op, const struct iovec *iov, int iovcnt, off_t offset,
		    int flags, ssize_t *n)
{
	return flags == 0 && offset >= SL_HERE && sl_forward(fd, op, iov, iovcnt, offset, n);
}

ssize_t read(int fd, void *buf, size_t count)
{
	BODY(fd, SL_READ, NULL, count, SL_HERE, TURN_CANCELS,
	     one(fd, SL_READ, buf, count, SL_HERE, &n), sl_real.read(fd, buf, count));
}

ssize_t write(int fd, const void *buf, size_t count)
{
	BODY(fd, SL_WRITE, NULL, count, SL_HERE, TURN_CANCELS,
	     one(fd, SL_WRITE, buf, count, SL_HERE, &n), sl_real.write(fd, buf, count));
}

ssize_t readv(int fd, const struct iovec *iov, int iovcnt)
{
	BODY(fd, SL_READ, iov, iovcnt, SL_HERE, TURN_CANCELS,
	     sl_forward(fd, SL_READ, iov, iovcnt, SL_HERE, &n), sl_real.readv(fd, iov, iovcnt));
}

ssize_t writev(int fd, const struct iovec *iov, int iovcnt)
{
	BODY(fd, SL_WRITE, iov, iovcnt, SL_HERE, TURN_CANCELS,
	     sl_forward(fd, SL_WRITE, iov, iovcnt, SL_HERE, &n), sl_real.writev(fd, iov, iovcnt));
}

#define PREAD(name)                                                  \
	ssize_t name(int fd, void *buf, size_t count, off_t offset)  \
	{                                                            \
		BODY(fd, SL_READ, NULL, count, offset, TURN_CANCELS, \
		     one_at(fd, SL_READ, buf, count, offset, &n),    \
		     sl_real.name(fd, buf, count, offset));          \
	}
PREAD(pread)
PREAD(pread64)

#define PWRITE(name)                                                      \
	ssize_t name(int fd, const void *buf, size_t count, off_t offset) \
	{                                                                 \
		BODY(fd, SL_WRITE, NULL, count, offset, TURN_CANCELS,     \
		     one_at(fd, SL_WRITE, buf, count, offset, &n),        \
		     sl_real.name(fd, buf, count, offset));               \
	}
PWRITE(pwrite)
PWRITE(pwrite64)

#define VECTOR_AT(name, op)                                                     \
	ssize_t name(int fd, const struct iovec *iov, int iovcnt, off_t offset) \
	{                                                                       \
		BODY(fd, op, iov, iovcnt, offset, TURN_CANCELS,                 \
		     many_at(fd, op, iov, iovcnt, offset, &n),                  \
		     SL_LATE(name)(fd, iov, iovcnt, offset));                   \
	}
VECTOR_AT(preadv, SL_READ)
VECTOR_AT(preadv64, SL_READ)
VECTOR_AT(pwritev, SL_WRITE)
VECTOR_AT(pwritev64, SL_WRITE)

/* A program that does not want to wait for the device does not want to wait for its turn either. */
#define VECTOR_V2(name, op)                                                                \
	ssize_t name(int fd, const struct iovec *iov, int iovcnt, off_t offset, int flags) \
	{                                                                                  \
		BODY(fd, op, iov, iovcnt, offset,                                          \
		     TURN_CANCELS | (flags & RWF_NOWAIT ? TURN_NOWAIT : 0),                \
		     many_v2(fd, op, iov, iovcnt, offset, flags, &n),                      \
		     SL_LATE(name)(fd, iov, iovcnt, offset, flags));                       \
	}
VECTOR_V2(preadv2, SL_READ)
VECTOR_V2(preadv64v2, SL_READ)
VECTOR_V2(pwritev2, SL_WRITE)
VECTOR_V2(pwritev64v2, SL_WRITE)

/* Fortified reads: one that would overflow its buffer goes on to libc, which ends the program. */

ssize_t __read_chk(int fd, void *buf, size_t count, size_t size);
ssize_t __read_chk(int fd, void *buf, size_t count, size_t size)
{
	BODY(fd, SL_READ, NULL, count, SL_HERE, TURN_CANCELS,
	     count <= size && one(fd, SL_READ, buf, count, SL_HERE, &n),
	     SL_LATE(__read_chk)(fd, buf, count, size));
}

#define PREAD_CHK(name)                                                            \
	ssize_t name(int fd, void *buf, size_t count, off_t offset, size_t size);  \
	ssize_t name(int fd, void *buf, size_t count, off_t offset, size_t size)   \
	{                                                                          \
		BODY(fd, SL_READ, NULL, count, offset, TURN_CANCELS,               \
		     count <= size && one_at(fd, SL_READ, buf, count, offset, &n), \
		     SL_LATE(name)(fd, buf, count, offset, size));                 \
	}
PREAD_CHK(__pread_chk)
PREAD_CHK(__pread64_chk)

/* Other names that libc has for the same. */
ssize_t __read(int fd, void *buf, size_t count) __attribute__((alias("read")));
ssize_t __write(int fd, const void *buf, size_t count) __attribute__((alias("write")));
ssize_t __pread64(int fd, void *buf, size_t count, off_t offset) __attribute__((alias("pread64")));
ssize_t __pwrite64(int fd, const void *buf, size_t count, off_t offset)
	__attribute__((alias("pwrite64")));
