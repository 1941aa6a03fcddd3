/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that write all at once, and wait for each other.
 *
 *	live-rounds [-t THREADS] [-r ROUNDS] [-s SIZE] [-d] FILE
 *
 * In each round each thread makes one pwrite() of SIZE bytes into a file of its own, FILE.0 and so
 * on, with -d opened with O_DIRECT. Exit status 77: there is no O_DIRECT here.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static int rounds = 10, more_flags;
static size_t size = 4096;
static const char *name;

static void *run(void *arg)
{
	char path[4096];
	void *block = aligned_alloc(4096, size);
	int fd;

	snprintf(path, sizeof(path), "%s.%u", name, (unsigned)(uintptr_t)arg);
	fd = open(path, O_RDWR | O_CREAT | more_flags, 0600);
	if (fd < 0 || !block) {
		perror("live-rounds: open");
		exit(errno == EINVAL ? 77 : 1);
	}
	memset(block, 1, size);
	for (int i = 0; i < rounds; i++) {
		pthread_barrier_wait(&barrier);
		if (pwrite(fd, block, size, 0) != (ssize_t)size) {
			perror("live-rounds: pwrite");
			exit(1);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[64];
	int o, threads = 8;

	while ((o = getopt(argc, argv, "t:r:s:d")) != -1) {
		if (o == 't')
			threads = atoi(optarg);
		else if (o == 'r')
			rounds = atoi(optarg);
		else if (o == 's')
			size = (size_t)strtoul(optarg, NULL, 10);
		else if (o == 'd')
			more_flags = O_DIRECT;
		else
			return 2;
	}
	name = argv[optind];
	if (!name || threads < 1 || threads > 64)
		return 2;
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, run, (void *)(uintptr_t)i))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
