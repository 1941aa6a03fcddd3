/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for another libc (musl-gcc): writes 1,000,000 bytes with write() in each of three
 * threads and in a forked child, reads them back, writes a line with stdio, and becomes the command
 * that it was given. Usage: musl DIRECTORY COMMAND [ARGUMENT]...
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 1000000

static const char *dir;

static void need(int condition, const char *what)
{
	if (condition)
		return;
	perror(what);
	exit(3);
}

static void *work(void *name)
{
	char path[4096], *data = malloc(BYTES), *back = malloc(BYTES);
	int fd, failed;

	snprintf(path, sizeof(path), "%s/%s", dir, (const char *)name);
	memset(data, *(const char *)name, BYTES);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	need(fd >= 0, "open");
	need(write(fd, data, BYTES) == BYTES, "write");
	need(pread(fd, back, BYTES, 0) == BYTES, "pread");
	need(!memcmp(data, back, BYTES), "compare");
	failed = close(fd);
	need(!failed, "close");
	free(data);
	free(back);
	return NULL;
}

int main(int argc, char **argv)
{
	static char *names[] = { "a", "b", "c" };
	char path[4096];
	pthread_t t[3];
	pid_t child;
	int status;
	FILE *f;

	need(argc > 2, "arguments");
	dir = argv[1];
	for (int i = 0; i < 3; i++)
		need(!pthread_create(&t[i], NULL, work, names[i]), "thread");
	for (int i = 0; i < 3; i++)
		need(!pthread_join(t[i], NULL), "join");
	child = fork();
	if (!child) {
		work("d");
		_exit(0);
	}
	need(waitpid(child, &status, 0) == child && status == 0, "child");
	snprintf(path, sizeof(path), "%s/line", dir);
	f = fopen(path, "w");
	need(f && fputs("a line\n", f) >= 0 && !fclose(f), "stdio");
	execvp(argv[2], argv + 2);
	need(0, "exec");
}
