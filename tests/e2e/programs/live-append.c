/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that append records to one file, until SIGTERM comes.
 *
 *	live-append [-t THREADS] [-e] FILE
 *
 * Each record says whose it is and its number. A write that fails ends the program, unless -e was
 * given: then the record counts as unknown, if the error is EIO, and the next one follows. In the
 * end the file is read: each record that was acknowledged has to be there once and in its thread's
 * order, each unknown one at most once, and nothing else. Prints how many of both there were.
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
#include <unistd.h>

#define THREADS_MAX 64
#define RECORDS_MAX (1U << 20) /* of one thread */
#define WORDS	    64

struct thread {
	pthread_t id;
	uint64_t count, unknown_count;
	unsigned char unknown[RECORDS_MAX];
};

static struct thread *all;
static int threads = 4;
static bool errors;
static const char *name;
static atomic_bool stop;

static void fill(uint64_t *record, uint64_t thread, uint64_t number)
{
	for (uint64_t i = 0; i < WORDS; i++)
		record[i] = i < 2 ? (i ? number : thread) : (thread << 32 | number) * (i | 1);
}

static void *run(void *arg)
{
	uint64_t thread = (uint64_t)(uintptr_t)arg, record[WORDS];
	struct thread *t = &all[thread];
	int fd = open(name, O_WRONLY | O_APPEND);

	if (fd < 0) {
		perror("live-append: open");
		exit(1);
	}
	for (; !stop && t->count < RECORDS_MAX; t->count++) {
		ssize_t n;

		fill(record, thread, t->count);
		n = write(fd, record, sizeof(record));
		if (n == (ssize_t)sizeof(record))
			continue;
		fprintf(stderr, "live-append: record %llu of %llu: %zd %s\n",
			(unsigned long long)t->count, (unsigned long long)thread, n,
			n < 0 ? strerror(errno) : "");
		if (n >= 0 || errno != EIO || !errors)
			exit(1);
		t->unknown[t->count] = 1;
		t->unknown_count++;
	}
	close(fd);
	return NULL;
}

/* Whether the file has what it should have. */
static bool check(void)
{
	uint64_t next[THREADS_MAX] = { 0 }, record[WORDS], expected[WORDS];
	int fd = open(name, O_RDONLY);
	ssize_t n;

	while ((n = read(fd, record, sizeof(record))) == (ssize_t)sizeof(record)) {
		uint64_t thread = record[0], number = record[1];

		if (thread >= (uint64_t)threads)
			return false;
		fill(expected, thread, number);
		while (next[thread] < number && all[thread].unknown[next[thread]])
			next[thread]++;
		if (memcmp(record, expected, sizeof(record)) != 0 || number != next[thread]++) {
			fprintf(stderr, "live-append: record %llu of %llu, not %llu\n",
				(unsigned long long)number, (unsigned long long)thread,
				(unsigned long long)next[thread] - 1);
			return false;
		}
	}
	close(fd);
	for (int i = 0; i < threads; i++) {
		while (next[i] < all[i].count && all[i].unknown[next[i]])
			next[i]++;
		if (next[i] != all[i].count) {
			fprintf(stderr, "live-append: %llu records of %d, not %llu\n",
				(unsigned long long)next[i], i, (unsigned long long)all[i].count);
			return false;
		}
	}
	return n == 0;
}

int main(int argc, char **argv)
{
	uint64_t count = 0, unknown = 0;
	sigset_t term;
	int o, fd, signal;

	while ((o = getopt(argc, argv, "t:e")) != -1) {
		if (o == 't')
			threads = atoi(optarg);
		else if (o == 'e')
			errors = true;
		else
			return 2;
	}
	name = argv[optind];
	if (!name || threads < 1 || threads > THREADS_MAX)
		return 2;
	all = calloc((size_t)threads, sizeof(*all));
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (!all || fd < 0 || close(fd))
		return 2;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&all[i].id, NULL, run, (void *)(uintptr_t)i))
			return 2;
	sigwait(&term, &signal);
	stop = true;
	for (int i = 0; i < threads; i++) {
		pthread_join(all[i].id, NULL);
		count += all[i].count - all[i].unknown_count;
		unknown += all[i].unknown_count;
	}
	printf("%llu %llu\n", (unsigned long long)count, (unsigned long long)unknown);
	return !check();
}
