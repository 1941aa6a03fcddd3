/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that always has THREADS requests outstanding.
 *
 *	live-load [-t THREADS] [-s SIZE] [-T SECONDS] [-d] [-v] FILE
 *
 * Each thread has a file of its own, FILE.0 and so on, and writes SIZE bytes after SIZE bytes into
 * it, round and round in its first 4 MiB, until the time is over or
 * SIGTERM comes. With -d the files are opened
 * with O_DIRECT. With -v each round of writes, in another order each time, is read again and
 * compared; the contents say which thread, round and place they belong to. Prints the bytes moved;
 * fails at the first call that fails, is short, or returns what was not written.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REGION	    (4U << 20)
#define THREADS_MAX 256

static size_t size = 128 << 10;
static double seconds = 10;
static int more_flags;
static bool verify;
static const char *name;
static atomic_bool stop;
static _Atomic uint64_t moved;

static void fail(const char *what, uint64_t offset, ssize_t n)
{
	fprintf(stderr, "live-load: %s at %llu: %s\n", what, (unsigned long long)offset,
		n < 0 ? strerror(errno) : "short or wrong");
	exit(1);
}

static void fill(uint64_t *block, uint64_t thread, uint64_t round, uint64_t offset)
{
	for (size_t i = 0; i < size / sizeof(*block); i++)
		block[i] =
			(thread << 48 | round << 32 | (offset + i)) * UINT64_C(0x9e3779b97f4a7c15);
}

static void check(int fd, const uint64_t *expected, uint64_t *block, uint64_t offset)
{
	ssize_t n = pread(fd, block, size, (off_t)offset);

	if (n != (ssize_t)size || memcmp(block, expected, size) != 0)
		fail("read", offset, n);
	moved += size;
}

static void one_round(int fd, uint64_t thread, uint64_t round, uint64_t *block, uint64_t *again)
{
	uint64_t blocks = REGION / size;

	for (uint64_t i = 0; i < blocks && !stop; i++) {
		/* 7 and the powers of two have no common divisor: each block once. */
		uint64_t at = verify ? (i * 7 + round) % blocks * size : i * size;
		ssize_t n;

		if (verify)
			fill(block, thread, round, at);
		n = pwrite(fd, block, size, (off_t)at);
		if (n != (ssize_t)size)
			fail("write", at, n);
		moved += size;
	}
	for (uint64_t i = 0; i < blocks && verify && !stop; i++) {
		fill(block, thread, round, i * size);
		check(fd, block, again, i * size);
	}
}

static void *run(void *arg)
{
	uint64_t thread = (uint64_t)(uintptr_t)arg, *block, *again;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s.%u", name, (unsigned)thread);
	fd = open(path, O_RDWR | O_CREAT | more_flags, 0600);
	block = aligned_alloc(4096, size);
	again = aligned_alloc(4096, size);
	if (fd < 0 || !block || !again)
		fail("open", 0, -1);
	fill(block, thread, 0, 0);
	for (uint64_t round = 1; !stop; round++)
		one_round(fd, thread, round & 0xffff, block, again);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];
	int o, threads = 16;
	struct timespec wait;
	sigset_t term;

	while ((o = getopt(argc, argv, "t:s:T:dv")) != -1) {
		if (o == 't')
			threads = atoi(optarg);
		else if (o == 's')
			size = (size_t)strtoul(optarg, NULL, 10);
		else if (o == 'T')
			seconds = atof(optarg);
		else if (o == 'd')
			more_flags = O_DIRECT;
		else if (o == 'v')
			verify = true;
		else
			return 2;
	}
	name = argv[optind];
	if (!name || threads < 1 || threads > THREADS_MAX || size < 4096 || size > REGION ||
	    size & (size - 1))
		return 2;
	wait.tv_sec = (time_t)seconds;
	wait.tv_nsec = (long)((seconds - (double)wait.tv_sec) * 1e9);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, run, (void *)(uintptr_t)i))
			fail("thread", 0, -1);
	while (sigtimedwait(&term, NULL, &wait) < 0 && errno == EINTR)
		; /* it was stopped, and goes on */
	stop = true;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%llu\n", (unsigned long long)moved);
	return 0;
}
