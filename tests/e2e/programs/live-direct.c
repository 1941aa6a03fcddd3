/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether what a killed node had in flight can land on newer data.
 *
 *	live-direct FILE
 *
 * With O_DIRECT: fills FILE, says "ready" and waits for a line; somebody makes the device slow
 * meanwhile. Then it writes so much that the device is busy for some seconds, A at offset 0, under
 * which the node is to die, and B at the same place. For eight seconds B has to be there.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK (128 << 10)

static int fd;

static void put(int byte, off_t offset)
{
	char *block = aligned_alloc(4096, BLOCK);

	if (!block)
		exit(1);
	memset(block, byte, BLOCK);
	if (pwrite(fd, block, BLOCK, offset) != BLOCK) {
		perror("live-direct: pwrite");
		exit(1);
	}
	free(block);
}

static void *keep_busy(void *arg)
{
	(void)arg;
	put('z', 16 * BLOCK);
	return NULL;
}

int main(int argc, char **argv)
{
	char line[16], *block = aligned_alloc(4096, 4096);
	pthread_t thread;

	fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_DIRECT, 0600) : -1;
	if (fd < 0 || !block) {
		perror("live-direct: open");
		return 2;
	}
	for (off_t i = 0; i < 32; i++)
		put('0', i * BLOCK);
	if (fsync(fd) || puts("ready") < 0 || fflush(stdout) || !fgets(line, sizeof(line), stdin) ||
	    pthread_create(&thread, NULL, keep_busy, NULL))
		return 2;
	usleep(300000);
	put('A', 0);
	put('B', 0);
	for (int i = 0; i < 80; i++) {
		if (pread(fd, block, 4096, 0) != 4096 || block[0] != 'B') {
			fprintf(stderr, "live-direct: there is '%c'\n", block[0]);
			return 1;
		}
		usleep(100000);
	}
	pthread_join(thread, NULL);
	return 0;
}
