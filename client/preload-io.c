/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read, write and their kin, as programs call them. Each is forwarded or passed on unchanged:
 * preload-data.c decides. The variants are many because libc has them: the names with 64 are what
 * programs with large file support call, those with _chk what -D_FORTIFY_SOURCE makes of the plain
 * ones, those with two underscores what some libraries use.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include <unistd.h>

#include "client/preload.h"

/* One buffer, positioned or not. */
static inline bool one(int fd, enum sl_op op, const void *buf, size_t count, off_t offset,
		       ssize_t *n)
{
	struct iovec iov = { (void *)(uintptr_t)buf, count };

	return sl_forward(fd, op, &iov, 1, offset, n);
}

/* At an offset that the caller gives: a negative one is an error, which the kernel reports. */
static inline bool one_at(int fd, enum sl_op op, const void *buf, size_t count, off_t offset,
			  ssize_t *n)
{
	return offset >= 0 && one(fd, op, buf, count, offset, n);
}

static inline bool many_at(int fd, enum sl_op op, const struct iovec *iov, int iovcnt, off_t offset,
			   ssize_t *n)
{
	return offset >= 0 && sl_forward(fd, op, iov, iovcnt, offset, n);
}

/* preadv2 and pwritev2: offset -1 is the position. What flags ask for is between kernel and caller.
 */
static inline bool many_v2(int fd, enum sl_op op, const struct iovec *iov, int iovcnt, off_t offset,
			   int flags, ssize_t *n)
{
	return flags == 0 && offset >= SL_HERE && sl_forward(fd, op, iov, iovcnt, offset, n);
}

ssize_t read(int fd, void *buf, size_t count)
{
	ssize_t n;

	return one(fd, SL_READ, buf, count, SL_HERE, &n) ? n : sl_real.read(fd, buf, count);
}

ssize_t write(int fd, const void *buf, size_t count)
{
	ssize_t n;

	return one(fd, SL_WRITE, buf, count, SL_HERE, &n) ? n : sl_real.write(fd, buf, count);
}

ssize_t readv(int fd, const struct iovec *iov, int iovcnt)
{
	ssize_t n;

	return sl_forward(fd, SL_READ, iov, iovcnt, SL_HERE, &n) ? n
								 : sl_real.readv(fd, iov, iovcnt);
}

ssize_t writev(int fd, const struct iovec *iov, int iovcnt)
{
	ssize_t n;

	return sl_forward(fd, SL_WRITE, iov, iovcnt, SL_HERE, &n) ? n
								  : sl_real.writev(fd, iov, iovcnt);
}

#define PREAD(name)                                                    \
	ssize_t name(int fd, void *buf, size_t count, off_t offset)    \
	{                                                              \
		ssize_t n;                                             \
                                                                       \
		return one_at(fd, SL_READ, buf, count, offset, &n)     \
			       ? n                                     \
			       : sl_real.name(fd, buf, count, offset); \
	}
PREAD(pread)
PREAD(pread64)

#define PWRITE(name)                                                      \
	ssize_t name(int fd, const void *buf, size_t count, off_t offset) \
	{                                                                 \
		ssize_t n;                                                \
                                                                          \
		return one_at(fd, SL_WRITE, buf, count, offset, &n)       \
			       ? n                                        \
			       : sl_real.name(fd, buf, count, offset);    \
	}
PWRITE(pwrite)
PWRITE(pwrite64)

#define VECTOR_AT(name, op)                                                     \
	ssize_t name(int fd, const struct iovec *iov, int iovcnt, off_t offset) \
	{                                                                       \
		ssize_t n;                                                      \
                                                                                \
		return many_at(fd, op, iov, iovcnt, offset, &n)                 \
			       ? n                                              \
			       : sl_real.name(fd, iov, iovcnt, offset);         \
	}
VECTOR_AT(preadv, SL_READ)
VECTOR_AT(preadv64, SL_READ)
VECTOR_AT(pwritev, SL_WRITE)
VECTOR_AT(pwritev64, SL_WRITE)

#define VECTOR_V2(name, op)                                                                \
	ssize_t name(int fd, const struct iovec *iov, int iovcnt, off_t offset, int flags) \
	{                                                                                  \
		ssize_t n;                                                                 \
                                                                                           \
		return many_v2(fd, op, iov, iovcnt, offset, flags, &n)                     \
			       ? n                                                         \
			       : sl_real.name(fd, iov, iovcnt, offset, flags);             \
	}
VECTOR_V2(preadv2, SL_READ)
VECTOR_V2(preadv64v2, SL_READ)
VECTOR_V2(pwritev2, SL_WRITE)
VECTOR_V2(pwritev64v2, SL_WRITE)

/* Fortified reads: one that would overflow its buffer goes on to libc, which ends the program. */

ssize_t __read_chk(int fd, void *buf, size_t count, size_t size);
ssize_t __read_chk(int fd, void *buf, size_t count, size_t size)
{
	ssize_t n;

	return count <= size && one(fd, SL_READ, buf, count, SL_HERE, &n)
		       ? n
		       : sl_real.__read_chk(fd, buf, count, size);
}

#define PREAD_CHK(name)                                                             \
	ssize_t name(int fd, void *buf, size_t count, off_t offset, size_t size);   \
	ssize_t name(int fd, void *buf, size_t count, off_t offset, size_t size)    \
	{                                                                           \
		ssize_t n;                                                          \
                                                                                    \
		return count <= size && one_at(fd, SL_READ, buf, count, offset, &n) \
			       ? n                                                  \
			       : sl_real.name(fd, buf, count, offset, size);        \
	}
PREAD_CHK(__pread_chk)
PREAD_CHK(__pread64_chk)

/* Other names that libc has for the same. */
ssize_t __read(int fd, void *buf, size_t count) __attribute__((alias("read")));
ssize_t __write(int fd, const void *buf, size_t count) __attribute__((alias("write")));
ssize_t __pread64(int fd, void *buf, size_t count, off_t offset) __attribute__((alias("pread64")));
ssize_t __pwrite64(int fd, const void *buf, size_t count, off_t offset)
	__attribute__((alias("pwrite64")));
