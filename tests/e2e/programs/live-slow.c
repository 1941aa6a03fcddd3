/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library to be preloaded into a node: calls that reach a slow file system.
 *
 *	SLOW_PWRITE_MS   how long pwrite() takes; how many a call met at it, itself included, goes
 *	                 to the file SLOW_MEAN, as the mean of all calls so far
 *	SLOW_CLOSE_MS    how long close() of a regular file below the directory SLOW_BELOW takes
 */
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int now, calls, sum;

static int ms(const char *name)
{
	const char *value = getenv(name);

	return value ? atoi(value) : 0;
}

static void note(int met)
{
	const char *path = getenv("SLOW_MEAN");
	char text[16];
	int fd, n;

	n = snprintf(text, sizeof(text), "%.2f\n",
		     (double)(atomic_fetch_add(&sum, met) + met) /
			     (atomic_fetch_add(&calls, 1) + 1));
	fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	if (fd < 0)
		return;
	if (write(fd, text, (size_t)n) < 0)
		perror("live-slow");
	syscall(SYS_close, fd);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset);
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset)
{
	ssize_t n;

	note(atomic_fetch_add(&now, 1) + 1);
	usleep((useconds_t)ms("SLOW_PWRITE_MS") * 1000);
	n = syscall(SYS_pwrite64, fd, bytes, length, offset);
	atomic_fetch_sub(&now, 1);
	return n;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
	return pwrite64(fd, bytes, length, offset);
}

/* The node has files of its own elsewhere: they are not on the slow file system. */
static int is_slow(int fd)
{
	const char *below = getenv("SLOW_BELOW");
	char link[32], path[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (!below || fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_nlink)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	return n > (ssize_t)strlen(below) && !strncmp(path, below, strlen(below));
}

int close(int fd)
{
	if (ms("SLOW_CLOSE_MS") && is_slow(fd))
		usleep((useconds_t)ms("SLOW_CLOSE_MS") * 1000);
	return (int)syscall(SYS_close, fd);
}
