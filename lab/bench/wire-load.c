/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loads of `sluice bench wire`: processes that repeat one operation on one file, and print at
 * the end what they moved. In the layer they are started by `sluice run`, as users do.
 *
 *	direct    1 MiB writes with O_DIRECT
 *	dread     1 MiB reads with O_DIRECT
 *	buffered  1 MiB writes, nothing else
 *	ckpt      32 MiB of 1 MiB writes, then fsync, repeatedly. A checkpoint counts when it is on
 *	          the device; if it is partly outside the measured time, it counts in proportion to
 *	          the part inside
 *	small     4 KiB and fsync every 50 ms: the times of both together
 *	reread    reads a file of 32 MiB that the page cache has
 *	burst     writes 8 MiB into a new file, waits 100 ms, deletes it and waits for as long again: the
 *	          allowance is paid back by then where writes go through. Only the writes count
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/clock.h"
#include "lab/bench/common.h"
#include "lab/bench/wire.h"
#include "lab/private.h"
#include "lab/statistics.h"

#define MIB	  (1 << 20)
#define FILE_MIB  64
#define CKPT_MIB  32
#define BURST_MIB 8
#define SMALL	  4096
/* Time for other loads to finish the checkpoint during which the measured time ends. */
#define TAIL_S	 2
#define TIMES	 100000
#define PAUSE_MS 50
#define ARGS	 24

/* ---- in the load's process ---- */

struct load {
	int fd;
	unsigned char *data; /* 1 MiB */
	double from, until;  /* bytes moved before `from` do not count */
	double bytes, spent_s;
	double *times;
	unsigned count;
};

static bool ends(const struct load *l)
{
	return sl_clock_s() >= l->until;
}

static bool move_mib(struct load *l, unsigned i, bool write)
{
	off_t at = (off_t)i * MIB;
	ssize_t n = write ? pwrite(l->fd, l->data, MIB, at) : pread(l->fd, l->data, MIB, at);

	if (n > 0 && sl_clock_s() >= l->from)
		l->bytes += (double)n;
	return n == MIB;
}

static bool fill(struct load *l, unsigned mib)
{
	for (unsigned i = 0; i < mib; i++)
		if (!move_mib(l, i, true))
			return false;
	l->bytes = 0;
	return fsync(l->fd) == 0;
}

static bool stream(struct load *l, unsigned mib, bool write)
{
	for (unsigned i = 0; !ends(l); i++)
		if (!move_mib(l, i % mib, write))
			return false;
	return true;
}

static bool checkpoints(struct load *l)
{
	double begin = sl_clock_s(), end, within, bytes = 0;

	while (begin < l->until + TAIL_S) {
		if (!fill(l, CKPT_MIB))
			return false;
		end = sl_clock_s();
		within = fmin(end, l->until) - fmax(begin, l->from);
		bytes += within > 0 ? within / (end - begin) * CKPT_MIB * MIB : 0;
		begin = end;
	}
	l->bytes = bytes;
	l->spent_s = l->until - l->from;
	return true;
}

static bool small(struct load *l)
{
	while (!ends(l) && l->count < TIMES) {
		double begin = sl_clock_s();

		if (pwrite(l->fd, l->data, SMALL, (off_t)(l->count % 64) * SMALL) != SMALL ||
		    fsync(l->fd))
			return false;
		l->times[l->count++] = sl_clock_s() - begin;
		l->bytes += SMALL;
		poll(NULL, 0, PAUSE_MS);
	}
	return true;
}

static bool burst(struct load *l)
{
	while (!ends(l)) {
		double begin = sl_clock_s();

		for (unsigned i = 0; i < BURST_MIB; i++)
			if (!move_mib(l, i, true))
				return false;
		l->spent_s += sl_clock_s() - begin;
		poll(NULL, 0, 2 * PAUSE_MS);
		if (ftruncate(l->fd, 0))
			return false;
		poll(NULL, 0, 2 * PAUSE_MS);
	}
	return true;
}

static bool load_run(struct load *l, const char *pattern)
{
	if (!strcmp(pattern, "direct"))
		return stream(l, FILE_MIB, true);
	if (!strcmp(pattern, "dread") || !strcmp(pattern, "reread"))
		return stream(l, pattern[0] == 'd' ? FILE_MIB : CKPT_MIB, false);
	if (!strcmp(pattern, "buffered"))
		return stream(l, FILE_MIB, true);
	if (!strcmp(pattern, "ckpt"))
		return checkpoints(l);
	return !strcmp(pattern, "small") ? small(l) : burst(l);
}

/* The file that a pattern reads is there; it was written without the layer. */
int bench_load(int argc, char **argv)
{
	static _Alignas(4096) unsigned char data[MIB];
	static double times[TIMES];
	bool direct = argc == 5 && (!strcmp(argv[1], "direct") || !strcmp(argv[1], "dread"));
	struct load l = { .times = times, .data = data };
	double begin, took;

	if (argc != 5)
		return cli_usage(WIRE_CMD, "usage: load PATTERN FILE WARM SECONDS.");
	l.fd = open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC | (direct ? O_DIRECT : 0), 0600);
	if (l.fd < 0)
		return cli_fail(WIRE_CMD, "cannot open %s: %s.", argv[2], strerror(errno));
	memset(l.data, 7, MIB);
	if (!strcmp(argv[1], "fill"))
		return fill(&l, FILE_MIB) ? CLI_OK
					  : cli_fail(WIRE_CMD, "cannot write %s.", argv[2]);
	begin = l.from = sl_clock_s() + strtod(argv[3], NULL);
	l.until = begin + strtod(argv[4], NULL);
	if (!load_run(&l, argv[1]))
		return cli_fail(WIRE_CMD, "%s: %s.", argv[2], strerror(errno));
	took = l.spent_s > 0 ? l.spent_s : sl_clock_s() - begin;
	stat_median(l.times, l.count ? l.count : 1);
	printf("%.0f %.6f %.3f %.3f\n", l.bytes, took, l.times[l.count / 2] * 1e3,
	       l.times[l.count ? l.count * 99 / 100 : 0] * 1e3);
	close(l.fd);
	return CLI_OK;
}

/* ---- starting them ---- */

static bool start_one(struct wire_load *l, const char *file, const char *warm, const char *seconds)
{
	const char *args[ARGS] = { "sluice" };
	unsigned n = 1;
	int out[2];

	if (l->job) {
		args[n++] = "run";
		args[n++] = "--job";
		args[n++] = l->job;
		for (unsigned i = 0; i < 4 && l->options[i]; i++)
			args[n++] = l->options[i];
		args[n++] = "--";
		args[n++] = "/proc/self/exe";
	}
	args[n++] = "bench";
	args[n++] = "load";
	args[n++] = l->pattern;
	args[n++] = file;
	args[n++] = warm;
	args[n++] = seconds;
	if (pipe2(out, O_CLOEXEC))
		return false;
	fflush(NULL);
	l->pid = fork();
	if (l->pid == 0) {
		char self[4096];
		ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

		self[length > 0 ? length : 0] = 0;
		for (unsigned i = 0; args[i]; i++)
			if (!strcmp(args[i], "/proc/self/exe"))
				args[i] = self; /* after exec it would be that of another program */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (dup2(out[1], 1) == 1)
			execv(self, (char *const *)(uintptr_t)args);
		_exit(127);
	}
	close(out[1]);
	l->out = out[0];
	return l->pid > 0;
}

/* After an interrupt: kill the child; its pid is valid until we wait for it. */
static bool end_one(struct wire_load *l)
{
	char text[200] = "";
	size_t have = 0;
	int status = 0;
	ssize_t n;

	while ((n = read(l->out, text + have, sizeof(text) - 1 - have)) > 0 ||
	       (n < 0 && errno == EINTR)) {
		have += n > 0 ? (size_t)n : 0;
		if (private_interrupted)
			kill(l->pid, SIGTERM);
	}
	close(l->out);
	while (waitpid(l->pid, &status, 0) < 0 && errno == EINTR)
		;
	l->pid = 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
	       (!strcmp(l->pattern, "fill") || sscanf(text, "%lf %lf %lf %lf", &l->bytes,
						      &l->seconds, &l->p50_ms, &l->p99_ms) == 4);
}

bool wire_wait(struct wire_load *load, unsigned count)
{
	bool ok = true;

	for (unsigned i = 0; i < count; i++)
		ok = end_one(&load[i]) && ok;
	if (!ok && !private_interrupted)
		cli_fail(WIRE_CMD, "a load has failed.");
	return ok && !private_interrupted;
}

bool wire_start(struct wire_load *load, unsigned count, const char *dir, double warm_s,
		double seconds)
{
	char file[5000], warm[32], text[32];

	snprintf(warm, sizeof(warm), "%.3f", warm_s);
	snprintf(text, sizeof(text), "%.3f", seconds);
	for (unsigned i = 0; i < count; i++) {
		snprintf(file, sizeof(file), "%s/load-%u", dir, i);
		if (start_one(&load[i], file, warm, text))
			continue;
		cli_fail(WIRE_CMD, "cannot start a process: %s.", strerror(errno));
		wire_wait(load, i);
		return false;
	}
	return true;
}
