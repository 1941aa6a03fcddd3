/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for LD_PRELOAD: a file system in which fsync() takes 150 ms longer, and one call of pwrite() in six
 * 90 ms longer. Preloaded behind Sluice's, which waits for its turn before it comes here.
 */
#include <dlfcn.h>
#include <sys/types.h>
#include <time.h>

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, 0);
}

int fsync(int fd)
{
	pause_ms(150);
	return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

static ssize_t slow_pwrite(const char *name, int fd, const void *data, size_t size, off_t at)
{
	static unsigned calls;

	if (calls++ % 6 == 0)
		pause_ms(90);
	return ((ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, name))(fd, data,
										      size, at);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
	return slow_pwrite("pwrite", fd, data, size, at);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t at)
{
	return slow_pwrite("pwrite64", fd, data, size, at);
}
