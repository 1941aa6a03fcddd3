/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data calls as a program makes them, with all that can go wrong. `calls CASE DIR` works in DIR and
 * prints what each call answered; the tests run it with the preloaded library and without, and
 * compare what it printed and what is in DIR.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cases.h"

static char pattern[1 << 20], buffer[3 << 20];

static void show(const char *what, long long result)
{
	int error = errno;

	printf("%s: %lld", what, result);
	if (result < 0)
		printf(" %s", strerrorname_np(error));
	putchar('\n');
	errno = 0;
}

#define SHOW(call) (errno = 0, show(#call, (long long)(call)))

static unsigned sum(const void *bytes, size_t length)
{
	unsigned s = 1;

	for (size_t i = 0; i < length; i++)
		s = s * 31 + ((const unsigned char *)bytes)[i];
	return s;
}

/* ---- plain ---- */

static void positions(void)
{
	int fd = make("a", O_RDWR | O_CREAT | O_TRUNC), two;

	SHOW(write(fd, pattern, 1000000));
	SHOW(lseek(fd, 0, SEEK_CUR));
	SHOW(write(fd, pattern, 0));
	SHOW(lseek(fd, -5, SEEK_CUR));
	SHOW(write(fd, "hello", 5));
	SHOW(read(fd, buffer, 10));
	SHOW(lseek(fd, 999990, SEEK_SET));
	SHOW(read(fd, buffer, 4096));
	SHOW(lseek(fd, 0, SEEK_CUR));
	SHOW(read(fd, buffer, 4096));
	SHOW(lseek(fd, 0, SEEK_CUR));
	SHOW(pread(fd, buffer, sizeof(buffer), 500000));
	printf("%u\n", sum(buffer, 500000));
	SHOW(pwrite(fd, pattern, 300000, 2000000));
	SHOW(lseek(fd, 0, SEEK_CUR));
	SHOW(pread(fd, buffer, sizeof(buffer), 0));
	printf("%u\n", sum(buffer, 2300000));
	two = dup(fd);
	SHOW(lseek(two, 100, SEEK_SET));
	SHOW(read(fd, buffer, 100));
	SHOW(write(two, "dup", 3));
	SHOW(lseek(fd, 0, SEEK_CUR));
	SHOW(ftruncate(fd, 150));
	SHOW(pread(two, buffer, 1000, 100));
	SHOW(lseek(fd, 1 << 20, SEEK_SET));
	SHOW(write(fd, "behind a hole", 13));
	SHOW(close(fd));
	SHOW(read(two, buffer, 1));
	SHOW(close(two));
	SHOW(close(two));
	SHOW(read(two, buffer, 1));
	SHOW(write(-1, buffer, 1));
	errno = 123;
	fd = make("a", O_RDWR);
	if (write(fd, "x", 1) != 1 || pread(fd, buffer, 9, 0) != 9)
		printf("failed\n");
	printf("errno after success: %d\n", errno);
	close(fd);
}

static void vectors(void)
{
	int fd = make("v", O_RDWR | O_CREAT | O_TRUNC);
	struct iovec many[IOV_MAX + 1],
		out[4] = { { pattern, 7 }, { NULL, 0 }, { pattern + 7, 299993 }, { pattern, 1 } },
		in[3] = { { buffer, 100 }, { buffer + 100, 0 }, { buffer + 100, 1000000 } };

	SHOW(writev(fd, out, 4));
	SHOW(lseek(fd, 0, SEEK_SET));
	SHOW(readv(fd, in, 3));
	printf("%u\n", sum(buffer, 300001));
	SHOW(pwritev(fd, out, 3, 400000));
	SHOW(preadv(fd, in, 3, 400000));
	printf("%u\n", sum(buffer, 300000));
	SHOW(lseek(fd, 10, SEEK_SET));
	SHOW(preadv2(fd, in, 1, -1, 0));
	SHOW(pwritev2(fd, out, 1, -1, 0));
	SHOW(lseek(fd, 0, SEEK_CUR));
	SHOW(pwritev2(fd, out, 1, 20, RWF_DSYNC));
	SHOW(preadv2(fd, in, 1, 20, 0));
	SHOW(preadv2(fd, in, 1, 20, 0x40000000));
	SHOW(preadv2(fd, in, 1, -2, 0));
	for (int i = 0; i <= IOV_MAX; i++)
		many[i] = (struct iovec){ pattern + i, 3 };
	SHOW(writev(fd, many, IOV_MAX));
	SHOW(writev(fd, many, IOV_MAX + 1));
	SHOW(writev(fd, many, 0));
	SHOW(writev(fd, many, -1));
	SHOW(readv(fd, many, -1));
	many[1].iov_len = SIZE_MAX;
	SHOW(pwritev(fd, many, 2, 0));
	close(fd);
}

static void appends(void)
{
	int fd = make("p", O_RDWR | O_CREAT | O_TRUNC | O_APPEND), other = make("p", O_WRONLY);

	SHOW(write(fd, pattern, 1000));
	SHOW(lseek(fd, 0, SEEK_CUR));
	SHOW(pwrite(other, "x", 1, 4999));
	SHOW(write(fd, pattern, 500000));
	SHOW(lseek(fd, 0, SEEK_CUR));
	SHOW(lseek(fd, 0, SEEK_SET));
	SHOW(read(fd, buffer, 10));
	SHOW(write(fd, "end", 3));
	SHOW(lseek(fd, 0, SEEK_CUR));
	SHOW(pwrite(fd, "append all the same", 19, 3));
	SHOW(lseek(fd, 0, SEEK_END));
	SHOW(fcntl(fd, F_SETFL, 0));
	SHOW(lseek(fd, 10, SEEK_SET));
	SHOW(write(fd, "in place", 8));
	SHOW(fcntl(fd, F_SETFL, O_APPEND));
	SHOW(write(fd, "again", 5));
	SHOW(lseek(fd, 0, SEEK_CUR));
	SHOW(pwrite(dup(fd), "", 0, 0));
	close(fd);
	close(other);
}

static void errors(void)
{
	int fd = make("e", O_RDWR | O_CREAT | O_TRUNC), r = make("e", O_RDONLY);
	int w = make("e", O_WRONLY), path = make("e", O_PATH), dir = make(".", O_RDONLY);
	char *none = NULL;

	SHOW(write(fd, pattern, 100));
	SHOW(write(r, pattern, 1));
	SHOW(pwrite(r, pattern, 1, 0));
	SHOW(read(w, buffer, 1));
	SHOW(pread(w, buffer, 1, 0));
	SHOW(read(path, buffer, 1));
	SHOW(read(dir, buffer, 1));
	SHOW(pread(fd, buffer, 1, -1));
	SHOW(pwrite(fd, buffer, 1, -5));
	SHOW(pwrite(fd, buffer, 10, INT64_MAX));
	SHOW(pwrite(fd, buffer, 10, INT64_MAX - 3));
	SHOW(pread(fd, buffer, 10, INT64_MAX - 10));
	SHOW(write(fd, none, 10));
	SHOW(read(fd, (void *)16, 10));
	SHOW(pread(fd, buffer, SIZE_MAX / 2 + 5, 0));
	SHOW(lseek(fd, 0, SEEK_CUR));
	SHOW(lseek(fd, INT64_MAX / 2, SEEK_SET));
	SHOW(write(fd, pattern, 10) > 0);
	SHOW(read(fd, buffer, 10));
	SHOW(ftruncate(fd, 4096));
	close(fd);
	SHOW(pwrite(fd, pattern, 1, 0));
}

static void large(void)
{
	int fd = make("l", O_RDWR | O_CREAT | O_TRUNC);
	struct stat st;

	SHOW(pwrite(fd, pattern, 1 << 20, 5LL << 30));
	SHOW(lseek(fd, (5LL << 30) - 10, SEEK_SET));
	SHOW(read(fd, buffer, 20));
	printf("%u\n", sum(buffer, 20));
	SHOW(write(fd, "over 4 GiB", 10));
	SHOW(pread(fd, buffer, 1 << 20, 5LL << 30));
	printf("%u\n", sum(buffer, 1 << 20));
	fstat(fd, &st);
	printf("size %lld, sparse %d\n", (long long)st.st_size, st.st_blocks < 4096);
	SHOW(ftruncate(fd, 4096));
	close(fd);
}

static void mapped(void)
{
	int fd = make("m", O_RDWR | O_CREAT | O_TRUNC);
	char *map;

	SHOW(write(fd, pattern, 300000));
	map = mmap(NULL, 300000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	printf("%u\n", sum(map, 300000));
	SHOW(pwrite(fd, "written", 7, 200000));
	printf("%.7s\n", map + 200000);
	memcpy(map + 100, "mapped", 6);
	SHOW(pread(fd, buffer, 6, 100));
	printf("%.6s\n", buffer);
	SHOW(msync(map, 300000, MS_SYNC));
	memset(map + 65536, 'm', 65536);
	SHOW(msync(map + 65536, 131072, MS_SYNC));
	SHOW(msync(map, 300000, MS_SYNC | MS_ASYNC));
	SHOW(msync(map + 1, 4096, MS_SYNC));
	munmap(map + 65536, 65536);
	SHOW(msync(map, 300000, MS_SYNC));
	SHOW(msync(map, 300000, MS_ASYNC));
	SHOW(msync(map, 0, MS_SYNC));
	SHOW(fsync(fd));
	SHOW(fdatasync(fd));
	close(fd);
}

/* ---- the kernel's other ways to the same file ---- */

static void direct(void)
{
	int fd = open("d", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0644);
	char *page =
		mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0) {
		printf("no O_DIRECT here: %s\n", strerrorname_np(errno));
		return;
	}
	memcpy(page, pattern, 1 << 20);
	SHOW(write(fd, page, 1 << 20));
	SHOW(pwrite(fd, page, 4096, 8192));
	SHOW(pwrite(fd, page + 1, 4096, 0) >= -1); /* file systems differ; not the library */
	SHOW(pwrite(fd, page, 4096, 1 << 20));
	SHOW(lseek(fd, 0, SEEK_SET));
	SHOW(read(fd, page, 1 << 20));
	printf("%u\n", sum(page, 1 << 20));
	SHOW(read(fd, page, 8192));
	SHOW(read(fd, page, 8192));
	close(fd);
}

static void limit(void)
{
	struct rlimit l = { 100000, 100000 };
	int fd = make("s", O_RDWR | O_CREAT | O_TRUNC);

	SHOW(write(fd, pattern, 10));
	signal(SIGXFSZ, SIG_IGN);
	SHOW(setrlimit(RLIMIT_FSIZE, &l));
	SHOW(write(fd, pattern, 200000));
	SHOW(write(fd, pattern, 1));
	SHOW(pwrite(fd, pattern, 10, 99995));
	close(fd);
}

/* Run with DIR on a small file system. */
static void full(void)
{
	int fd = make("f", O_RDWR | O_CREAT | O_TRUNC);
	long long n, total = 0;

	while ((n = write(fd, pattern, 65536)) > 0)
		total += n;
	show("write", n);
	printf("position is what was written: %d\n", lseek(fd, 0, SEEK_CUR) == total);
	SHOW(write(fd, pattern, 1));
	SHOW(ftruncate(fd, 65536));
	SHOW(pwrite(fd, pattern, 4096, 65536));
	SHOW(lseek(fd, 0, SEEK_SET));
	SHOW(read(fd, buffer, 1 << 20));
	printf("%u\n", sum(buffer, 69632));
	close(fd);
}

static void locks(void)
{
	/* A lock ends with the last descriptor of the open file description. */
	for (int i = 0; i < 200; i++) {
		int fd = make("k", O_RDWR | O_CREAT), other = make("k", O_RDWR);

		if (flock(fd, LOCK_EX) || write(fd, "locked", 6) != 6 || close(fd) ||
		    flock(other, LOCK_EX | LOCK_NB)) {
			printf("round %d: %s\n", i, strerrorname_np(errno));
			return;
		}
		close(other);
	}
	printf("all locks were released\n");
}

int main(int argc, char **argv)
{
	static const struct program_case cases[] = {
		{ "positions", positions }, { "vectors", vectors }, { "appends", appends },
		{ "errors", errors },	    { "large", large },	    { "mapped", mapped },
		{ "direct", direct },	    { "limit", limit },	    { "full", full },
		{ "locks", locks },
	};

	if (argc != 3 || chdir(argv[2]))
		return 2;
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (char)(i * i >> 7 ^ i);
	return RUN_CASE(argv[1], cases);
}
