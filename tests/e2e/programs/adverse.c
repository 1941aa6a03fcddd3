/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs under which things go wrong: nodes that die, numbers that change hands, handlers that do
 * not come back. `adverse CASE DIR` works in DIR, checks what it finds there and says so; exit 1
 * with a line of what was wrong. Where the test has to do something meanwhile, a line says when.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"

#define RECORD	4096
#define THREADS 16
#define EACH	250

static void tell(const char *line)
{
	puts(line);
	fflush(stdout);
}

static off_t size_of(const char *name)
{
	struct stat st;

	if (stat(name, &st))
		fail("stat %s", name);
	return st.st_size;
}

static int shared_fd;

/* ---- a number that is closed under a call, and means another file then ---- */

#define LONG (8U << 20)

static ssize_t long_result;
static int long_error;

static void *long_write(void *arg)
{
	char *block = malloc(LONG);

	(void)arg;
	memset(block, 'A', LONG);
	long_result = pwrite(shared_fd, block, LONG, 0);
	long_error = errno;
	free(block);
	return NULL;
}

static void *long_write_here(void *arg)
{
	char *block = malloc(LONG);

	(void)arg;
	memset(block, 'A', LONG);
	long_result = write(shared_fd, block, LONG);
	long_error = errno;
	free(block);
	return NULL;
}

static int bulk_fd;

static void *bulk_write(void *arg)
{
	char *block = calloc(1, LONG);

	(void)arg;
	pwrite(bulk_fd, block, LONG, 0);
	free(block);
	return NULL;
}

static void replace(void *(*writer)(void *))
{
	pthread_t t, bulk;
	int number, other;

	number = shared_fd = make("first", O_RDWR | O_TRUNC | O_CREAT);
	if (pwrite(shared_fd, "x", 1, 0) != 1)
		fail("pwrite");
	if (bulk_fd) {
		pthread_create(&bulk, NULL, bulk_write, NULL);
		usleep(100000);
	}
	pthread_create(&t, NULL, writer, NULL);
	usleep(500000); /* the node is slow: it is in the middle by then, or has not begun */
	close(shared_fd);
	other = make("other", O_RDWR | O_TRUNC | O_CREAT);
	if (other != number)
		fail("%d was not the first free number, %d was", number, other);
	tell("replaced");
	pthread_join(t, NULL);
	if (bulk_fd)
		pthread_join(bulk, NULL);
	if (size_of("other"))
		fail("the other file has %lld bytes", (long long)size_of("other"));
	if (lseek(other, 0, SEEK_CUR))
		fail("the position of the other file is %lld",
		     (long long)lseek(other, 0, SEEK_CUR));
	if (long_result >= 0 && size_of("first") < long_result)
		fail("%zd bytes were written, and %lld are there", long_result,
		     (long long)size_of("first"));
}

/* The node has the file, and carries on. */
static void replaced(void)
{
	replace(long_write);
	errno = long_error;
	if (long_result != LONG || size_of("first") != LONG)
		fail("%zd of %u bytes", long_result, LONG);
}

/* The node dies, too: nobody has the file. */
static void replaced_alone(void)
{
	replace(long_write);
	errno = long_error;
	if (long_result == LONG || (long_result < 0 && long_error != EIO))
		fail("%zd", long_result);
}

static void replaced_here(void)
{
	replace(long_write_here);
	errno = long_error;
	if (long_result == LONG || (long_result < 0 && long_error != EIO))
		fail("%zd", long_result);
}

/* As these, but nothing has been moved yet. */
static void replaced_idle(void)
{
	bulk_fd = make("bulk", O_RDWR | O_TRUNC | O_CREAT);
	replaced_alone();
}

static void replaced_here_idle(void)
{
	bulk_fd = make("bulk", O_RDWR | O_TRUNC | O_CREAT);
	replaced_here();
}

/* ---- one descriptor, many threads ---- */

static size_t record_bytes = RECORD;
static int record_count = EACH;

static void *record_thread(void *arg)
{
	uint32_t *block = malloc(record_bytes), first = (uint32_t)(uintptr_t)arg * EACH + 1;

	for (uint32_t i = 0; i < (uint32_t)record_count; i++) {
		for (size_t k = 0; k < record_bytes / 4; k++)
			block[k] = first + i;
		if (write(shared_fd, block, record_bytes) != (ssize_t)record_bytes)
			fail("write");
	}
	free(block);
	return NULL;
}

/* Each record is there once and whole, and there is nothing else. */
static void check_records(const char *name, int threads)
{
	static unsigned char seen[THREADS * EACH + 1];
	uint32_t *block = malloc(record_bytes);
	int fd = make(name, O_RDONLY | O_CREAT), count = 0;

	while (read(fd, block, record_bytes) == (ssize_t)record_bytes) {
		for (size_t k = 1; k < record_bytes / 4; k++)
			if (block[k] != block[0])
				fail("record %d is torn", count);
		if (block[0] == 0)
			fail("there is a gap at record %d", count);
		if (block[0] > THREADS * EACH || seen[block[0]]++)
			fail("record %u is there twice", block[0]);
		count++;
	}
	if (count != threads * record_count)
		fail("%d records of %d", count, threads * record_count);
	free(block);
	close(fd);
}

static void share(int threads)
{
	pthread_t t[THREADS];

	shared_fd = make("shared", O_RDWR | O_TRUNC | O_CREAT);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, record_thread, (void *)(intptr_t)i);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	check_records("shared", threads);
}

static void shared(void)
{
	share(THREADS);
}

/* Records that are larger than what is done at once. */
static void shared_large(void)
{
	record_bytes = 5U << 20;
	record_count = 6;
	share(2);
}

static atomic_bool stop;

static void *end_reader(void *arg)
{
	char block[65536];

	(void)arg;
	while (!stop)
		if (read(shared_fd, block, sizeof(block)) < 0)
			fail("read");
	return NULL;
}

/* A reader that is always at the end, and a writer that goes on from there. */
static void read_and_write(void)
{
	uint32_t block[RECORD / 4];
	pthread_t t;

	shared_fd = make("both", O_RDWR | O_TRUNC | O_CREAT);
	pthread_create(&t, NULL, end_reader, NULL);
	for (uint32_t i = 1; i <= 2000; i++) {
		for (size_t k = 0; k < RECORD / 4; k++)
			block[k] = i;
		if (write(shared_fd, block, RECORD) != RECORD)
			fail("write");
	}
	stop = true;
	pthread_join(t, NULL);
	record_count = 2000;
	check_records("both", 1);
}

/* ---- signals ---- */

static void no_op(int signal)
{
	(void)signal;
}

static void tick_every(long microseconds, void (*handler)(int))
{
	const struct itimerval every = { { 0, microseconds }, { 0, microseconds } };
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

/* A profiler's timer, say: no wait lasts as long as it was meant to. */
static void timer(void)
{
	static char block[65536];
	int fd = make("timer", O_RDWR | O_TRUNC | O_CREAT);

	tick_every(5000, no_op);
	for (int i = 0; i < 200; i++) {
		memset(block, i, sizeof(block));
		if (pwrite(fd, block, sizeof(block), (off_t)i * sizeof(block)) != sizeof(block))
			fail("pwrite %d", i);
	}
}

#define LEAVERS 6

static __thread sigjmp_buf way_out;

static void leave(int signal)
{
	(void)signal;
	siglongjmp(way_out, 1);
}

static atomic_int entered, left;

static void *leaver(void *arg)
{
	char *block = calloc(1, LONG);

	if (sigsetjmp(way_out, 1) == 0) {
		entered++; /* from here on there is a way out */
		pwrite(shared_fd, block, LONG, (off_t)((intptr_t)arg * LONG));
	}
	left++;
	pause();
	return NULL;
}

/* Threads whose handlers leave by siglongjmp() never give back what they had. */
static void leavers(void)
{
	pthread_t t[LEAVERS];

	signal(SIGUSR1, leave);
	shared_fd = make("leavers", O_RDWR | O_TRUNC | O_CREAT);
	for (int i = 0; i < LEAVERS; i++) {
		pthread_create(&t[i], NULL, leaver, (void *)(intptr_t)i);
		while (entered <= i)
			usleep(1000);
		usleep(100000);
		pthread_kill(t[i], SIGUSR1);
	}
	while (left < LEAVERS)
		usleep(1000);
	for (int i = 0; i < 100; i++)
		if (pwrite(shared_fd, "x", 1, i) != 1)
			fail("pwrite");
}

static int forked;

/* The child comes back from here into the middle of a call of ours. */
static void fork_now(int signal)
{
	int saved = errno;

	(void)signal;
	if (forked < 40 && fork() == 0)
		forked = 1000;
	else
		forked++;
	errno = saved;
}

static void handler_forks(void)
{
	static char block[300000], back[300000];
	int fd = make("forks", O_RDWR | O_TRUNC | O_CREAT), status, children = 0;

	tick_every(7000, fork_now);
	for (int i = 0; forked < 1000 && (forked < 40 || i < 300); i++) {
		size_t bytes = i % 2 ? sizeof(block) : 4000;
		off_t at = (off_t)(i % 7) * 300000;

		memset(block, 'a' + i % 7, bytes);
		if (pwrite(fd, block, bytes, at) != (ssize_t)bytes)
			fail("pwrite %d", i);
		if (pread(fd, back, bytes, at) != (ssize_t)bytes || memcmp(block, back, bytes))
			fail("pread %d", i);
	}
	if (forked >= 1000)
		_exit(0);
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	for (; wait(&status) > 0; children++)
		if (status)
			fail("a child ended with %x", status);
	if (children < 40)
		fail("%d children", children);
}

static void *write_on(void *arg)
{
	static char block[1 << 20];
	int fd = *(int *)arg;

	for (int i = 0;; i++)
		if (write(fd, block, sizeof(block)) != sizeof(block) ||
		    (i % 16 == 0 && lseek(fd, 0, SEEK_SET)))
			fail("write");
	return NULL;
}

/* A child does not wait for threads that only its parent has: each millisecond would be a switch.
 */
static void forks_beside(void)
{
	int fd = make("beside", O_RDWR | O_TRUNC | O_CREAT), status, waited = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, write_on, &fd))
		fail("pthread_create");
	sleep(1);
	for (int i = 0; i < 20; i++) {
		if (fork() == 0) {
			int own = make("beside", O_RDONLY | O_CREAT);
			struct rusage before, after;
			char byte;

			getrusage(RUSAGE_SELF, &before);
			if (read(own, &byte, 1) != 1)
				_exit(2);
			getrusage(RUSAGE_SELF, &after);
			_exit(after.ru_nvcsw - before.ru_nvcsw >= 150);
		}
		if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > 1)
			fail("a child ended with %x", status);
		waited += WEXITSTATUS(status);
	}
	if (waited)
		fail("%d children waited", waited);
}

/* ---- descriptors ---- */

static void full_table(void)
{
	const struct rlimit few = { 64, 64 };
	int fd = make("full", O_RDWR | O_TRUNC | O_CREAT), last = -1, n;

	setrlimit(RLIMIT_NOFILE, &few);
	while ((n = dup(2)) >= 0)
		last = n;
	if (write(fd, "hello", 5) != 5)
		fail("write with no descriptor left");
	/* One is not enough for what a node sends. */
	close(last);
	if (write(fd, "hello", 5) != 5)
		fail("write with one descriptor left");
	if (dup(2) != last)
		fail("a descriptor was lost");
	close(last);
	for (int i = 0; i < 10; i++)
		close(last - i);
	if (write(fd, "hello", 5) != 5)
		fail("write with some left");
	if (size_of("full") != 15)
		fail("%lld bytes", (long long)size_of("full"));
}

/* One thread waits for its turn, and looks whether the node lives; another opens and closes. */
static void *opener(void *arg)
{
	(void)arg;
	while (!stop) {
		int fd = make("small", O_RDWR | O_CREAT);

		if (pwrite(fd, "x", 1, 0) != 1)
			fail("pwrite");
		close(fd);
	}
	return NULL;
}

static void openers(void)
{
	static char block[1 << 20];
	pthread_t t[8];

	shared_fd = make("large", O_RDWR | O_TRUNC | O_CREAT);
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, opener, NULL);
	for (int i = 0; i < 3; i++)
		if (pwrite(shared_fd, block, sizeof(block), 0) != sizeof(block))
			fail("pwrite");
	stop = true;
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

/* Opens a file while the node is stopped for longer than anybody waits for an answer. */
static void stopped(void)
{
	int fd = make("before", O_RDWR | O_TRUNC | O_CREAT);

	if (write(fd, "x", 1) != 1)
		fail("write");
	printf("%d connected\n", (int)getpid());
	fflush(stdout);
	getchar();
	fd = make("after", O_RDWR | O_TRUNC | O_CREAT);
	if (write(fd, "x", 1) != 1)
		fail("write");
}

/* ---- small things ---- */

/* What the file system says reaches the program, also if it is "try again". */
static void try_again(void)
{
	char block[1234] = { 0 };
	int fd = make("again", O_RDWR | O_TRUNC | O_CREAT);

	errno = 0;
	if (pwrite(fd, block, sizeof(block), 0) != -1 || errno != EAGAIN)
		fail("pwrite");
}

/* The size that this machine knows is none: the data is there. */
static void unknown_size(void)
{
	char block[100] = { 0 };
	int fd = make("unknown", O_RDWR | O_CREAT);

	if (pread(fd, block, sizeof(block), 0) != 50 || memcmp(block, "00000", 5))
		fail("pread");
	memset(block, 0, sizeof(block));
	if (read(fd, block, sizeof(block)) != 50 || memcmp(block, "00000", 5))
		fail("read");
	if (lseek(fd, 0, SEEK_CUR) != 50)
		fail("position %lld", (long long)lseek(fd, 0, SEEK_CUR));
}

int main(int argc, char **argv)
{
	static const struct program_case cases[] = {
		{ "replaced", replaced },
		{ "replaced-alone", replaced_alone },
		{ "replaced-here", replaced_here },
		{ "replaced-idle", replaced_idle },
		{ "replaced-here-idle", replaced_here_idle },
		{ "shared", shared },
		{ "shared-large", shared_large },
		{ "read-and-write", read_and_write },
		{ "timer", timer },
		{ "leavers", leavers },
		{ "handler-forks", handler_forks },
		{ "forks-beside", forks_beside },
		{ "full-table", full_table },
		{ "openers", openers },
		{ "stopped", stopped },
		{ "try-again", try_again },
		{ "unknown-size", unknown_size },
	};

	if (argc != 3 || chdir(argv[2]))
		return 2;
	if (RUN_CASE(argv[1], cases))
		return 2;
	tell("fine");
	return 0;
}
