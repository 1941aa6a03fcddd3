/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parallel application that does nothing but write: PROCS processes, each with a file of its own,
 * which it writes again and again with calls of CALL bytes.
 *
 *	stream PROCS CALL PATTERN BYTES CONTROL INDEX FILE
 *	stream check CALL PATTERN SEED FILE CALLS
 *
 * PATTERN is seq, stride or random. CONTROL is a file of doubles that somebody else writes
 * meanwhile: times START and END (CLOCK_REALTIME, seconds; 0: not known yet), and from the third on
 * how many bytes/s an application may write with all its processes, 0: none yet; this one is that
 * with INDEX, or has no limit if that is negative. It ends after BYTES of each process, or at END
 * if BYTES is 0. Process K writes FILE.K and prints "proc K CALLS BYTES BEGIN END": calls made,
 * bytes of those that were done between START and END, and when it began and ended. It knows
 * nothing of Sluice.
 *
 * What a call writes follows from its number, and where it writes too. So `check` knows from the
 * number of CALLS what has to be in the file, and compares every word: status 1 if it is something
 * else.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPAN	(1U << 20)   /* bytes of a file */
#define CALLMAX (256U << 10) /* bytes of a call */
#define NAP	0.02	     /* seconds after which the rate is looked at again */
#define SAVED	0.1	     /* seconds of the rate that may be made up for */

struct stream {
	size_t call;
	const char *pattern;
	uint64_t bytes, seed;
	const volatile double *window; /* start, end */
	const volatile double *rate;   /* NULL: no limit */
	unsigned procs;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void nap(double seconds)
{
	struct timespec ts = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	if (seconds > 0)
		nanosleep(&ts, NULL);
}

static uint64_t mix(uint64_t x)
{
	x = (x + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
	return (x ^ x >> 31) * 0x94d049bb133111eb;
}

/* Which part of the file call number i writes; an odd stride meets all of a power of two. */
static uint64_t place(const struct stream *s, uint64_t i)
{
	uint64_t parts = SPAN / s->call;

	if (!strcmp(s->pattern, "stride"))
		return i * 7 % parts;
	return strcmp(s->pattern, "random") ? i % parts : mix(i ^ s->seed) % parts;
}

static void fill(uint64_t *words, const struct stream *s, uint64_t i)
{
	uint64_t first = mix(s->seed ^ i << 20);

	for (size_t w = 0; w < s->call / 8; w++)
		words[w] = first + w;
}

/* Wait until a call may be made. */
static void pace(const struct stream *s, double *credit, double *last)
{
	for (;;) {
		double rate = *s->rate / s->procs, t = now(), most = rate * SAVED;

		*credit += (t - *last) * rate;
		*last = t;
		most = most < (double)s->call ? (double)s->call : most;
		*credit = *credit > most ? most : *credit;
		if (*credit >= (double)s->call) {
			*credit -= (double)s->call;
			return;
		}
		t = rate > 0 ? ((double)s->call - *credit) / rate : NAP;
		nap(t < NAP ? t : NAP);
	}
}

static int work(const struct stream *s, unsigned k, const char *file)
{
	static uint64_t words[CALLMAX / 8];
	uint64_t calls = 0, counted = 0;
	double begin, last, credit = 0, t;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s.%u", file, k);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0) {
		perror(path);
		return 1;
	}
	/* The first call needs no rate, which is found out for those who are seen. */
	begin = last = now();
	do {
		fill(words, s, calls);
		if (s->rate && calls)
			pace(s, &credit, &last);
		if (pwrite(fd, words, s->call, (off_t)(place(s, calls) * s->call)) !=
		    (ssize_t)s->call) {
			perror(path);
			return 1;
		}
		calls++;
		t = now();
		if (s->window[0] > 0 && t >= s->window[0] && t <= s->window[1])
			counted += s->call;
	} while (s->bytes ? calls * s->call < s->bytes : !(s->window[0] > 0) || t < s->window[1]);
	printf("proc %u %llu %llu %.6f %.6f\n", k, (unsigned long long)calls,
	       (unsigned long long)counted, begin, t);
	return fflush(stdout) ? 1 : 0;
}

static int check(const struct stream *s, const char *file, uint64_t calls)
{
	static uint64_t want[CALLMAX / 8], got[CALLMAX / 8], by[SPAN / 512];
	int fd = open(file, O_RDONLY);

	for (uint64_t i = 0; i < calls; i++)
		by[place(s, i)] = i + 1;
	for (uint64_t p = 0; p < SPAN / s->call; p++) {
		if (!by[p])
			continue;
		fill(want, s, by[p] - 1);
		if (pread(fd, got, s->call, (off_t)(p * s->call)) != (ssize_t)s->call ||
		    memcmp(want, got, s->call) != 0) {
			fprintf(stderr, "%s does not hold what was written, at %llu\n", file,
				(unsigned long long)(p * s->call));
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct stream s = { 0 };
	int fd, status, failed = 0;

	if (argc != 8 && !(argc == 7 && !strcmp(argv[1], "check"))) {
		fprintf(stderr, "usage: stream PROCS CALL PATTERN BYTES CONTROL INDEX FILE\n"
				"       stream check CALL PATTERN SEED FILE CALLS\n");
		return 2;
	}
	s.call = strtoul(argv[2], NULL, 10);
	s.pattern = argv[3];
	if (s.call < 512 || s.call > CALLMAX || s.call & (s.call - 1)) {
		fprintf(stderr, "stream: CALL is a power of two, 512 to 256 KiB\n");
		return 2;
	}
	if (argc == 7) {
		s.seed = strtoull(argv[4], NULL, 10);
		return check(&s, argv[5], strtoull(argv[6], NULL, 10));
	}
	s.procs = (unsigned)strtoul(argv[1], NULL, 10);
	s.bytes = strtoull(argv[4], NULL, 10);
	fd = open(argv[5], O_RDONLY);
	s.window = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (s.window == MAP_FAILED) {
		perror(argv[5]);
		return 1;
	}
	if (atoi(argv[6]) >= 0)
		s.rate = s.window + 2 + atoi(argv[6]);
	for (unsigned k = 0; k < s.procs; k++) {
		pid_t pid = fork();

		s.seed = k;
		if (!pid)
			exit(work(&s, k, argv[7]));
		failed |= pid < 0;
	}
	while (wait(&status) > 0)
		failed |= status;
	return failed ? 1 : 0;
}
