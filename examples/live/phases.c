/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An application as the papers model it: some computing, some I/O, and again.
 *
 *	phases [declare] COMPUTE_S BYTES START END FILE
 *
 * From START on (CLOCK_REALTIME, seconds) it sleeps COMPUTE_S, writes BYTES into FILE with calls of
 * up to 64 KiB, and prints a line "phase BEGIN END BYTES" with the times of the I/O; it stops at
 * the first instance that ends after END. Then it reads the file and compares every word with what
 * the last instance wrote: "verified", or status 1. It knows nothing of Sluice: start it with
 * `sluice run`, or without. Unless "declare" is given: then it says when a phase begins and ends,
 * with what the library that `sluice run` preloads has for that.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern int sl_phase_begin(void) __attribute__((weak));
extern int sl_phase_end(void) __attribute__((weak));

#define CALL (64U << 10)

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void wait_until(double when)
{
	struct timespec ts = { (time_t)when, (long)((when - (double)(time_t)when) * 1e9) };

	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL))
		;
}

/* What stands at an offset: of which instance, and where. */
static void fill(uint64_t *words, uint64_t at, size_t bytes, uint64_t instance)
{
	for (size_t i = 0; i < bytes / 8; i++)
		words[i] = instance << 40 ^ (at / 8 + i);
}

static int check(int fd, uint64_t bytes, uint64_t instance)
{
	static uint64_t got[CALL / 8], want[CALL / 8];

	for (uint64_t at = 0; at < bytes; at += CALL) {
		size_t n = bytes - at < CALL ? (size_t)(bytes - at) : CALL;

		fill(want, at, n, instance);
		if (pread(fd, got, n, (off_t)at) != (ssize_t)n)
			return 1;
		for (size_t i = 0; i < n / 8; i++)
			if (got[i] != want[i])
				return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static uint64_t words[CALL / 8];
	double compute, start, end, t;
	uint64_t bytes, instance = 0;
	int fd, declare = argc > 1 && !strcmp(argv[1], "declare");

	argv += declare;
	if (argc - declare != 6) {
		fprintf(stderr, "usage: phases [declare] COMPUTE_S BYTES START END FILE\n");
		return 2;
	}
	if (declare && (!sl_phase_begin || !sl_phase_end)) {
		fprintf(stderr, "phases: nobody is there to declare phases to\n");
		return 1;
	}
	compute = atof(argv[1]);
	bytes = strtoull(argv[2], NULL, 10) / 8 * 8;
	start = atof(argv[3]);
	end = atof(argv[4]);
	fd = open(argv[5], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || !bytes) {
		perror(argv[5]);
		return 1;
	}
	t = start;
	do {
		double begin = t + compute;

		wait_until(begin);
		begin = now();
		instance++;
		if (declare)
			sl_phase_begin();
		for (uint64_t at = 0; at < bytes; at += CALL) {
			size_t n = bytes - at < CALL ? (size_t)(bytes - at) : CALL;

			fill(words, at, n, instance);
			if (pwrite(fd, words, n, (off_t)at) != (ssize_t)n) {
				perror("write");
				return 1;
			}
		}
		if (declare)
			sl_phase_end();
		t = now();
		printf("phase %.6f %.6f %llu\n", begin, t, (unsigned long long)bytes);
	} while (t < end);
	if (check(fd, bytes, instance)) {
		fprintf(stderr, "%s does not hold what was written\n", argv[5]);
		return 1;
	}
	puts("verified");
	return 0;
}
