/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose threads share a lease. `leases CASE DIR` works in DIR, checks what it finds there
 * and says "fine" in the end; exit 1 with a line of what was wrong.
 *
 *	between     a call at the position that could come between the steps of a larger one
 *	mixed       threads that read and write in many sizes, at offsets and at positions that they
 *	            share; says "READ WRITTEN CALLS" before "fine"
 *	large       the same, with calls that are larger than a lease
 *	forks       a handler makes children with _Fork(), which go on in the middle of a call
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
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"

#define MIB (1U << 20)

/* ---- between ---- */

static int shared_fd;
static atomic_bool armed;
static _Atomic int starts, ends;

static void *write_when_told(void *arg)
{
	static char block[4096];

	(void)arg;
	memset(block, 'b', sizeof(block));
	for (int i = 1;; i++) {
		while (atomic_load(&starts) < i)
			usleep(100);
		if (write(shared_fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			fail("write");
		atomic_store(&ends, i);
	}
	return NULL;
}

/* What the preloaded library calls, too: whenever it has looked at the position, another call is
 * made at that, if there is nothing that keeps it from that. */
off_t lseek(int fd, off_t offset, int whence)
{
	off_t at = syscall(SYS_lseek, fd, offset, whence);

	if (atomic_load(&armed) && fd == shared_fd && !offset && whence == SEEK_CUR) {
		int mine = atomic_fetch_add(&starts, 1) + 1;

		for (int i = 0; i < 30 && atomic_load(&ends) < mine; i++)
			usleep(1000);
	}
	return at;
}

static void between(void)
{
	const size_t bytes = 8 * MIB;
	char *block = malloc(2 * bytes);
	pthread_t thread;
	off_t at, size;

	shared_fd = make("between", O_RDWR | O_TRUNC | O_CREAT);
	memset(block, 'a', bytes);
	if (pwrite(shared_fd, block, bytes, 0) != (ssize_t)bytes)
		fail("pwrite");
	pthread_create(&thread, NULL, write_when_told, NULL);
	atomic_store(&armed, true);
	if (read(shared_fd, block, bytes + 1) <= 0)
		fail("read");
	atomic_store(&armed, false);
	while (atomic_load(&ends) < atomic_load(&starts))
		usleep(1000);
	at = lseek(shared_fd, 0, SEEK_CUR);
	size = lseek(shared_fd, 0, SEEK_END);
	printf("%d looks, position %lld, size %lld\n", starts, (long long)at, (long long)size);
	if (at != size)
		fail("the position is not where the last call left it");
	if (pread(shared_fd, block, 2 * bytes, 0) != size || memchr(block, 0, (size_t)size))
		fail("there is a gap");
}

/* ---- mixed ---- */

#define THREADS 8
#define ROUNDS	4000
#define AREA	(1U << 18)
#define LARGEST (16U << 10)

static _Atomic uint64_t done[2], calls;
static int log_fd, read_fd;
static bool with_large;
static _Atomic uint8_t taken[THREADS * ROUNDS];

struct record {
	uint32_t thread, round;
	char text[92];
};

static void did(int op, ssize_t n, size_t expected, const char *what)
{
	if (n != (ssize_t)expected)
		fail(what);
	atomic_fetch_add(&done[op], (uint64_t)n);
	atomic_fetch_add(&calls, 1);
}

static uint32_t any(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void *mix(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg, me = seed;
	uint32_t rounds = with_large ? ROUNDS / 20 : ROUNDS;
	size_t area = with_large ? 6 * MIB : AREA, most = with_large ? 5 * MIB : LARGEST;
	uint8_t *is = calloc(1, area), *back = malloc(area);
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "mixed-%u", me);
	fd = make(name, O_RDWR | O_TRUNC | O_CREAT);
	did(1, pwrite(fd, is, area, 0), area, "first pwrite");
	for (uint32_t i = 0; i < rounds; i++) {
		size_t size = any(&seed) % (i % 8 ? 600 : most) + 1;
		size_t at = any(&seed) % (area - size);
		struct record r = { me, i, { 0 } };
		ssize_t n;

		if (any(&seed) % 2) {
			memset(is + at, (int)any(&seed), size);
			did(1, pwrite(fd, is + at, size, (off_t)at), size, "pwrite");
		} else {
			did(0, pread(fd, back, size, (off_t)at), size, "pread");
			if (memcmp(back, is + at, size))
				fail("what was read is not what was written");
		}
		/* At a position that all share: each record once and whole. */
		memset(r.text, 'a' + (int)(i % 26), sizeof(r.text));
		did(1, write(log_fd, &r, sizeof(r)), sizeof(r), "write");
		n = read(read_fd, &r, sizeof(r));
		did(0, n, sizeof(r), "read");
		if (r.thread >= THREADS || r.round >= ROUNDS ||
		    atomic_fetch_add(&taken[r.thread * ROUNDS + r.round], 1))
			fail("a record was read twice");
	}
	did(0, pread(fd, back, area, 0), area, "last pread");
	if (memcmp(back, is, area))
		fail("the file in the end");
	close(fd);
	return NULL;
}

static void mixed(void)
{
	static struct record records[THREADS * ROUNDS];
	size_t logged = sizeof(records) / (with_large ? 20 : 1);
	pthread_t thread[THREADS];

	log_fd = make("log", O_RDWR | O_TRUNC | O_CREAT);
	read_fd = make("records", O_RDWR | O_TRUNC | O_CREAT);
	for (uint32_t i = 0; i < THREADS * ROUNDS; i++)
		records[i] = (struct record){ i / ROUNDS, i % ROUNDS, { 'x' } };
	did(1, write(read_fd, records, sizeof(records)), sizeof(records), "records");
	lseek(read_fd, 0, SEEK_SET);
	/* Of threads that are the first to use a number, and at once, one may go past the node. */
	did(0, pread(log_fd, records, 1, 0), 0, "pread of nothing");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, mix, (void *)(uintptr_t)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	did(0, pread(log_fd, records, logged, 0), logged, "log");
	if (lseek(log_fd, 0, SEEK_END) != (off_t)logged)
		fail("the size of the log");
	memset((void *)taken, 0, sizeof(taken));
	for (uint32_t i = 0; i < logged / sizeof(records[0]); i++) {
		const struct record *r = &records[i];

		if (r->thread >= THREADS || r->round >= ROUNDS ||
		    taken[r->thread * ROUNDS + r->round]++)
			fail("a record is lost or doubled");
		for (size_t j = 0; j < sizeof(r->text); j++)
			if (r->text[j] != (char)('a' + r->round % 26))
				fail("a record is not whole");
	}
	printf("%llu %llu %llu\n", (unsigned long long)done[0], (unsigned long long)done[1],
	       (unsigned long long)calls);
}

static void large(void)
{
	with_large = true;
	mixed();
}

/* ---- forks ---- */

static volatile sig_atomic_t children, is_child;

static void fork_now(int signal)
{
	int saved = errno;
	pid_t pid;

	(void)signal;
	if (is_child || children >= 200)
		return;
	pid = _Fork();
	if (pid == 0)
		is_child = 1;
	else if (pid > 0)
		children++;
	errno = saved;
}

static void forks(void)
{
	static char block[4096];
	struct itimerval tick = { { 0, 2000 }, { 0, 2000 } };
	struct sigaction a = { .sa_handler = fork_now, .sa_flags = SA_RESTART };
	int fd = make("forks", O_RDWR | O_TRUNC | O_CREAT), status;
	uint64_t bytes = 0;

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	for (int i = 0; children < 200 || i < 20000; i++) {
		if (pwrite(fd, block, sizeof(block), i % 64 * 4096) != (ssize_t)sizeof(block))
			fail("pwrite");
		bytes += sizeof(block);
		if (is_child)
			_exit(0);
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	while (wait(&status) > 0)
		if (status)
			fail("a child");
	puts("forked");
	fflush(stdout);
	getchar();
	for (int i = 0; i < 20000; i++)
		if (pwrite(fd, block, sizeof(block), i % 64 * 4096) != (ssize_t)sizeof(block))
			fail("pwrite");
	printf("%llu\n", (unsigned long long)bytes + 20000 * sizeof(block));
}

int main(int argc, char **argv)
{
	static const struct program_case cases[] = {
		{ "between", between },
		{ "mixed", mixed },
		{ "large", large },
		{ "forks", forks },
	};

	if (argc != 3 || chdir(argv[2]))
		return 2;
	if (RUN_CASE(argv[1], cases))
		return 2;
	puts("fine");
	return 0;
}
