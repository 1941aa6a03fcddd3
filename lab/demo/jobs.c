/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job is a few processes that alternate between writing and computing in step, as parallel
 * programs do: a round of I/O begins when all have computed and ends when all have written. Each
 * process rewrites its own file in each round, with 4 MiB calls, through the client library (as the
 * preloaded library does for other programs). Computing is simulated by sleeping, because the
 * machine may have fewer CPUs than processes.
 *
 *	process 0  |write...|compute|write..|compute|
 *	process 1  |write|..|compute|write..|compute|
 *	            \_I/O__/         \_I/O_/
 *
 * The data depend on job, process, round and offset, so the files can be checked afterwards for
 * lost or misplaced writes.
 */
#include "lab/demo/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/clock.h"
#include "client/conn/client.h"

#define CALL_BYTES (4U << 20)
#define START_NS   100000000 /* time for all processes to get the order */

struct shared {
	pthread_barrier_t step[DEMO_JOBS];
	struct demo_time time[DEMO_JOBS];
};

struct process {
	const struct private *p;
	const struct demo_job *job;
	unsigned number, index; /* of the job, in the job */
	uint32_t rounds;
	bool direct;
	struct shared *shared;
};

static void sleep_until(sl_time when)
{
	struct timespec ts = { when / 1000000000, when % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* ---- contents ---- */

static void fill(uint64_t *words, uint64_t offset, size_t bytes, unsigned job, unsigned index,
		 uint32_t round)
{
	uint64_t seed = (uint64_t)job << 56 | (uint64_t)index << 48 | (uint64_t)round << 40;

	for (size_t i = 0; i < bytes / 8; i++)
		words[i] = (seed + offset / 8 + i) * UINT64_C(0x9e3779b97f4a7c15);
}

static int file_open(const struct private *p, const struct demo_job *job, unsigned index, int flags)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s.%u", p->dir, job->name, index);
	return open(path, flags | O_CLOEXEC, 0600);
}

/* ---- a process ---- */

static bool write_all(const struct process *q, struct sl_remote *remote, int fd, void *buffer,
		      uint32_t round)
{
	for (uint64_t at = 0; at < q->job->bytes; at += CALL_BYTES) {
		uint64_t left = q->job->bytes - at;
		struct iovec iov = { buffer, left < CALL_BYTES ? left : CALL_BYTES };
		ssize_t n;

		fill(buffer, at, iov.iov_len, q->number, q->index, round);
		n = q->direct ? pwrite(fd, buffer, iov.iov_len, (off_t)at)
			      : sl_client_write(remote, fd, &iov, iov.iov_len, (off_t)at, false);
		if (n < 0 && q->direct)
			n = -errno;
		if (n != (ssize_t)iov.iov_len) {
			cli_fail(q->p->cmd, "%s: a write gave %s.", q->job->name,
				 n < 0 ? strerror((int)-n) : "less than asked for");
			return false;
		}
	}
	return true;
}

static int process_main(void *arg, int sock)
{
	const struct process *q = arg;
	pthread_barrier_t *step = &q->shared->step[q->number];
	struct demo_time *time = &q->shared->time[q->number];
	struct sl_remote remote = { 0 };
	static uint64_t buffer[CALL_BYTES / 8];
	int fd = file_open(q->p, q->job, q->index, O_RDWR | O_CREAT);
	sl_time start, begin;

	if (fd < 0 || !sl_client_look(fd, &remote))
		return cli_fail(q->p->cmd, "cannot make a file in %s: %s.", q->p->dir,
				strerror(errno));
	if (!private_receive(sock, &start, sizeof(start)))
		return CLI_FAILED;
	sleep_until(start);
	for (uint32_t i = 0; i < q->rounds; i++) {
		pthread_barrier_wait(step);
		begin = sl_clock_ns();
		if (!write_all(q, &remote, fd, buffer, i))
			return CLI_FAILED;
		pthread_barrier_wait(step);
		if (q->index == 0)
			time->io_ns += sl_clock_ns() - begin;
		sleep_until(sl_clock_ns() + q->job->compute_ns);
	}
	if (q->index == 0)
		time->time_ns = sl_clock_ns() - start;
	return private_send(sock, "d", 1) ? CLI_OK : CLI_FAILED;
}

/* ---- all jobs ---- */

static int start_job(struct private *p, struct process *q, const char *conf)
{
	char text[100];
	pthread_barrierattr_t attr;

	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&q->shared->step[q->number], &attr, q->job->procs);
	snprintf(text, sizeof(text), "period=%s%s%s", q->job->period, conf ? "," : "",
		 conf ? conf : "");
	for (q->index = 0; q->index < q->job->procs; q->index++)
		if (private_spawn(p, q->job->name, text, process_main, q) < 0)
			return CLI_FAILED;
	return CLI_OK;
}

static int run_processes(struct private *p)
{
	sl_time start = sl_clock_ns() + START_NS;
	char byte;

	for (unsigned i = 0; i < p->procs; i++)
		private_send(p->proc[i].sock, &start, sizeof(start));
	for (unsigned i = 0; i < p->procs; i++)
		if (!private_receive(p->proc[i].sock, &byte, 1))
			return private_interrupted ? CLI_FAILED
						   : cli_fail(p->cmd, "a process has ended early.");
	return CLI_OK;
}

int demo_jobs_run(struct private *p, const struct demo_job job[DEMO_JOBS], unsigned which,
		  uint32_t rounds, const char *const conf[DEMO_JOBS], bool direct,
		  struct demo_time out[DEMO_JOBS])
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = CLI_OK;

	if (shared == MAP_FAILED)
		return cli_fail(p->cmd, "out of memory.");
	for (unsigned i = 0; i < DEMO_JOBS && !status; i++) {
		struct process q = { .p = p,
				     .job = &job[i],
				     .number = i,
				     .rounds = rounds ? rounds : job[i].rounds,
				     .direct = direct,
				     .shared = shared };

		if (which & 1U << i)
			status = start_job(p, &q, conf ? conf[i] : NULL);
	}
	if (!status)
		status = run_processes(p);
	private_stop_procs(p, 0);
	for (unsigned i = 0; i < DEMO_JOBS; i++)
		if (which & 1U << i)
			out[i] = shared->time[i];
	munmap(shared, sizeof(*shared));
	return status;
}

/* ---- verifying ---- */

static bool file_right(int fd, const struct demo_job *job, unsigned number, unsigned index,
		       unsigned char *got, uint64_t *want)
{
	for (uint64_t at = 0; at < job->bytes; at += CALL_BYTES) {
		size_t n = job->bytes - at < CALL_BYTES ? (size_t)(job->bytes - at) : CALL_BYTES;

		fill(want, at, n, number, index, job->rounds - 1);
		if (pread(fd, got, n, (off_t)at) != (ssize_t)n || memcmp(got, want, n) != 0)
			return false;
	}
	return true;
}

int demo_jobs_verify(const struct private *p, const struct demo_job job[DEMO_JOBS])
{
	static unsigned char got[CALL_BYTES];
	static uint64_t want[CALL_BYTES / 8];
	int status = CLI_OK;

	for (unsigned i = 0; i < DEMO_JOBS; i++)
		for (unsigned k = 0; k < job[i].procs && !status; k++) {
			int fd = file_open(p, &job[i], k, O_RDONLY);

			if (fd < 0 || !file_right(fd, &job[i], i, k, got, want))
				status = cli_fail(p->cmd,
						  "%s.%u does not contain the data that was "
						  "written. This is a bug.",
						  job[i].name, k);
			if (fd >= 0)
				close(fd);
		}
	return status;
}
