/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processes at once, each a client of its own.
 *
 *	live-many PROCESSES FILE
 *
 * Forks; when all are there each writes its part of FILE, reads it again and compares, and then
 * stays. When all have done so it says "all there" and waits for the end of its input, so that one
 * can look at the node meanwhile. Fails if one of them did not get what it wrote.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART  32768
#define PIECE 4096

static int part(const char *path, unsigned number)
{
	unsigned char mine[PIECE], again[PIECE];
	int fd = open(path, O_RDWR);

	if (fd < 0)
		return 1;
	for (unsigned i = 0; i < PART / PIECE; i++) {
		off_t at = (off_t)number * PART + i * PIECE;

		for (unsigned k = 0; k < PIECE; k++)
			mine[k] = (unsigned char)(number * 31 + i * 7 + k * 13 + (k >> 8));
		if (pwrite(fd, mine, PIECE, at) != PIECE || pread(fd, again, PIECE, at) != PIECE ||
		    memcmp(mine, again, PIECE) != 0)
			return 2;
	}
	return 0;
}

/* Begins when everybody is there; stays until `end` is closed. */
static int child(const char *path, unsigned number, const int go[2], const int report[2],
		 const int end[2])
{
	char result, byte;

	close(go[1]);
	close(end[1]);
	if (read(go[0], &byte, 1) != 0)
		return 3;
	result = (char)part(path, number);
	if (write(report[1], &result, 1) != 1 || read(end[0], &byte, 1) != 0)
		return 4;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned processes = argc == 3 ? (unsigned)atoi(argv[1]) : 0, failed = 0, status_sum = 0;
	int go[2], report[2], end[2], fd, status;
	char byte;

	if (!processes || pipe(go) || pipe(report) || pipe(end))
		return 2;
	fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)processes * PART))
		return 2;
	for (unsigned i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(child(argv[2], i, go, report, end));
		if (pid < 0)
			return 2; /* the others end with our pipes */
	}
	close(go[1]);
	close(report[1]);
	for (unsigned i = 0; i < processes; i++)
		if (read(report[0], &byte, 1) != 1 || byte != 0)
			failed++;
	printf(failed ? "%u failed\n" : "all there\n", failed);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	close(end[1]);
	while (wait(&status) > 0) {
		if (status && !status_sum++)
			fprintf(stderr, "live-many: one ended with status %#x\n", (unsigned)status);
	}
	return failed || status_sum;
}
