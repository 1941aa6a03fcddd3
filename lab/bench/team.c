/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start the workers of a row and run them in slices: see worker.h. Each worker is
 *
 *	sluice run OPTIONS -- sluice bench worker SOCKET SEGMENT NUMBER
 *
 * so the benchmark measures what programs experience, and does not depend on the implementation of
 * `sluice run`.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cli.h"
#include "lab/bench/worker.h"
#include "layer/layer.h"

#define ARGS	 24
#define START_NS 1000000 /* time for all workers to read the order of a slice */

struct become {
	const struct bench_team *team;
	const char *const *options;
};

static int team_become(void *arg, int sock)
{
	const struct become *b = arg;
	char program[PATH_MAX], number[3][16];
	const char *args[ARGS] = { "sluice", "run" };
	unsigned n = 2;
	/* Without O_CLOEXEC. */
	int fds[2] = { fcntl(sock, F_DUPFD, 3), fcntl(b->team->fd, F_DUPFD, 3) };

	if (fds[0] < 0 || fds[1] < 0 ||
	    cli_result(b->team->p->cmd, layer_program(program), layer_error()))
		return CLI_FAILED;
	snprintf(number[0], sizeof(number[0]), "%d", fds[0]);
	snprintf(number[1], sizeof(number[1]), "%d", fds[1]);
	snprintf(number[2], sizeof(number[2]), "%u", b->team->count);
	for (const char *const *o = b->options; *o && n < ARGS - 8; o++)
		args[n++] = *o;
	args[n++] = "--";
	args[n++] = program;
	args[n++] = "bench";
	args[n++] = "worker";
	for (unsigned i = 0; i < 3; i++)
		args[n++] = number[i];
	execv(program, (char *const *)(uintptr_t)args);
	return cli_fail(b->team->p->cmd, "cannot start %s: %s.", program, strerror(errno));
}

int bench_team_begin(struct bench_team *t, struct private *p, const struct bench_load *load)
{
	*t = (struct bench_team){ .p = p, .from = p->procs, .segment = MAP_FAILED };
	t->fd = memfd_create("sluice-bench", MFD_CLOEXEC);
	if (t->fd >= 0 && !ftruncate(t->fd, sizeof(*t->segment)))
		t->segment = mmap(NULL, sizeof(*t->segment), PROT_READ | PROT_WRITE, MAP_SHARED,
				  t->fd, 0);
	if (t->segment == MAP_FAILED)
		return cli_fail(p->cmd, "cannot make a segment: %s.", strerror(errno));
	t->segment->load = *load;
	return CLI_OK;
}

int bench_team_add(struct bench_team *t, const char *const *options)
{
	struct become b = { t, options };

	if (t->count == BENCH_WORKERS)
		return cli_fail(t->p->cmd, "too many processes.");
	if (private_spawn(t->p, "bench", NULL, team_become, &b) < 0)
		return CLI_FAILED;
	t->count++;
	return CLI_OK;
}

int bench_team_ready(struct bench_team *t)
{
	struct bench_report r;

	for (unsigned i = 0; i < t->count; i++)
		if (!private_receive(t->p->proc[t->from + i].sock, &r, sizeof(r)))
			return CLI_FAILED; /* the process has reported why */
	return CLI_OK;
}

static bool team_start(struct bench_team *t, const struct bench_order *o)
{
	for (unsigned i = 0; i < t->count; i++)
		if (!private_send(t->p->proc[t->from + i].sock, o, sizeof(*o)))
			return false;
	return true;
}

bool bench_team_start(struct bench_team *t, enum bench_way way, int64_t length_ns, bool count)
{
	struct bench_order o = { bench_clock_ns() + START_NS, length_ns, way, count };

	return team_start(t, &o);
}

bool bench_team_slice(struct bench_team *t, enum bench_way way, int64_t length_ns, bool count,
		      struct bench_sum *sum)
{
	struct bench_order o = { bench_clock_ns() + START_NS, length_ns, way, count };
	int64_t end_ns = 0;
	struct bench_report r;

	*sum = (struct bench_sum){ 0 };
	if (!team_start(t, &o))
		return false;
	for (unsigned i = 0; i < t->count; i++) {
		if (!private_receive(t->p->proc[t->from + i].sock, &r, sizeof(r)))
			return false;
		sum->bytes += r.bytes;
		sum->cpu_ns += r.cpu_ns;
		end_ns = r.end_ns > end_ns ? r.end_ns : end_ns;
	}
	/* Includes the time that a process waited for a CPU. */
	sum->mib_s = (double)sum->bytes / 1048576 / ((double)(end_ns - o.start_ns) / 1e9);
	return true;
}

void bench_team_end(struct bench_team *t)
{
	private_stop_procs(t->p, t->from);
	if (t->segment != MAP_FAILED)
		munmap(t->segment, sizeof(*t->segment));
	if (t->fd >= 0)
		close(t->fd);
}

/* ---- files ---- */

static int write_file(const struct private *p, const char *path, uint64_t bytes)
{
	static char block[1 << 20];
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ssize_t n = fd < 0 ? -1 : 0;

	memset(block, 7, sizeof(block));
	for (uint64_t at = 0; n >= 0 && at < bytes; at += (uint64_t)n) {
		size_t size = bytes - at < sizeof(block) ? (size_t)(bytes - at) : sizeof(block);

		n = private_interrupted ? -1 : pwrite(fd, block, size, (off_t)at);
	}
	if (fd >= 0)
		close(fd);
	if (n >= 0)
		return CLI_OK;
	return private_interrupted
		       ? CLI_FAILED
		       : cli_fail(p->cmd, "cannot write %s: %s.", path, strerror(errno));
}

int bench_files(const struct private *p, unsigned workers, uint64_t span)
{
	char path[PATH_MAX + 16];
	int status = CLI_OK;

	for (unsigned i = 0; i < workers && !status; i++) {
		snprintf(path, sizeof(path), "%s/%u", p->dir, i);
		status = write_file(p, path, span);
	}
	return status;
}

int bench_small_files(const struct private *p, unsigned workers)
{
	char path[PATH_MAX + 48];
	int status = CLI_OK;

	for (unsigned i = 0; i < workers; i++)
		for (unsigned k = 0; k < BENCH_SMALL_SET && !status; k++) {
			snprintf(path, sizeof(path), "%s/o-%u-%u", p->dir, i, k);
			status = write_file(p, path, BENCH_SMALL);
		}
	return status;
}
