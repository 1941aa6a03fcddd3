/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a node or a program, to make them see what is hard to come by:
 *
 *	SHIM=eagain  a pwrite() of 1234 bytes fails with EAGAIN
 *	SHIM=slow    a pwrite() or pwritev() of 100000 bytes or more takes 0.3 s
 *	SHIM=empty   fstat() says that a file has 0 bytes, as a cache of attributes may
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool is(const char *what)
{
	const char *shim = getenv("SHIM");

	return shim && !strcmp(shim, what);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	if (bytes == 1234 && is("eagain")) {
		errno = EAGAIN;
		return -1;
	}
	if (bytes >= 100000 && is("slow"))
		usleep(300000);
	return syscall(SYS_pwrite64, fd, data, bytes, offset);
}

ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
	if (is("slow"))
		usleep(300000);
	return syscall(SYS_pwritev, fd, iov, count, offset, 0L);
}

ssize_t pwritev64(int fd, const struct iovec *iov, int count, off64_t offset)
{
	return pwritev(fd, iov, count, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset)
{
	return pwrite(fd, data, bytes, offset);
}

int fstat(int fd, struct stat *st)
{
	int rc = (int)syscall(SYS_newfstatat, fd, "", st, 0x1000 /* AT_EMPTY_PATH */);

	if (!rc && S_ISREG(st->st_mode) && is("empty"))
		st->st_size = 0;
	return rc;
}

int fstat64(int fd, struct stat64 *st)
{
	return fstat(fd, (struct stat *)st);
}
