/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts DIR MB TAG: two threads write MB megabytes each, by 64 KiB, one of them with the tag; each
 * prints its milliseconds. Then one byte more of the main thread, which has no tag, and what bad
 * calls of sl_tag_set() return.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int (*tag_set)(const char *);
static const char *dir;
static int megabytes;

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *body(void *arg)
{
	static char data[65536];
	const char *tag = arg;
	char path[PATH_MAX];
	long begin = now_ms();
	int fd;

	if (tag && tag_set(tag))
		abort();
	snprintf(path, sizeof(path), "%s/%s", dir, tag ? "tagged" : "rest");
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	for (int i = 0; i < megabytes * 16; i++)
		if (write(fd, data, sizeof(data)) != (ssize_t)sizeof(data))
			abort();
	close(fd);
	if (tag && tag_set(NULL))
		abort();
	return (void *)(now_ms() - begin);
}

int main(int argc, char **argv)
{
	char longest[40];
	pthread_t tagged, rest;
	void *a, *b;

	if (argc < 4)
		return 2;
	dir = argv[1];
	megabytes = atoi(argv[2]);
	*(void **)&tag_set = dlsym(RTLD_DEFAULT, "sl_tag_set");
	if (!tag_set)
		return 3;
	if (pthread_create(&tagged, NULL, body, argv[3]) || pthread_create(&rest, NULL, body, NULL))
		return 4;
	pthread_join(tagged, &a);
	pthread_join(rest, &b);
	printf("%ld %ld\n", (long)a, (long)b);
	memset(longest, 'x', sizeof(longest));
	longest[32] = 0;
	printf("%d %d %d\n", tag_set("a b"), tag_set(longest), tag_set(""));
	return 0;
}
