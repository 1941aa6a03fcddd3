/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice replay --name LAYER`: repeat the recorded reads and writes through a layer that is up, to
 * compare other policies, limits or storage under the same load.
 *
 * Each recorded job becomes a process of a separate job, replay-1, replay-2, … in the order of the
 * recording, with its initial settings. Each recorded file becomes a file in a new directory of the
 * layer, which is removed afterwards. A process has as many threads as the job had requests under
 * way at once (up to 32, what a client can have). They take its requests in order. A request is
 * sent at its recorded time divided by the speed, or as soon as a thread is free (then it is late).
 * So a slower layer does not reduce the load, unlike with real programs: the recorded times are the
 * demand.
 *
 * Example: speed 2, requests recorded at 0, 10 and 11 ms; sent at 0, 5 and 5.5 ms. If each takes
 * 8 ms and there is one thread, the second is 3 ms late, the third 10.5.
 *
 * The data written at an offset of a file depend only on that offset. So requests may be reordered
 * and all data read can still be checked: each byte is as written, or 0.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/clock.h"
#include "lab/replay/live.h"

#define PATTERN 65521
#define THREADS 32 /* what a client can have under way */

static int rl_no_memory(void)
{
	return cli_fail(REPLAY_CMD, "out of memory.");
}

static const unsigned char *rl_data(const struct rl *l, uint32_t file, uint64_t offset)
{
	return l->pattern + (offset + file * UINT64_C(4099)) % PATTERN;
}

/* ---- in a process ---- */

static void rl_wait_for(sl_time when)
{
	struct timespec ts = { when / 1000000000, when % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* Whether the data read equal the data written, or nothing was written there. */
static bool rl_right(const struct rl *l, const struct rl_op *op, const unsigned char *got, size_t n)
{
	const unsigned char *want = rl_data(l, op->file, op->offset);

	if (!memcmp(got, want, n))
		return true;
	for (size_t i = 0; i < n; i++)
		if (got[i] && got[i] != want[i])
			return false;
	return true;
}

static void rl_do(struct rl *l, const struct rl_op *op, unsigned char *buffer)
{
	sl_time due = l->start_ns, sent, now;
	struct rl_file *f = &l->file[op->file];
	struct iovec iov = { buffer, op->length };
	ssize_t n;
	bool right = true;

	if (l->speed > 0)
		due += (sl_time)((double)op->at_ns / l->speed);
	rl_wait_for(due);
	sent = sl_clock_ns();
	if (op->op == SL_WRITE) {
		iov.iov_base = (void *)(uintptr_t)rl_data(l, op->file, op->offset);
		n = sl_client_write(&f->remote, f->fd, &iov, iov.iov_len, (off_t)op->offset, false);
	} else {
		n = sl_client_read(&f->remote, f->fd, &iov, iov.iov_len, (off_t)op->offset);
		right = n <= 0 || rl_right(l, op, buffer, (size_t)n);
	}
	now = sl_clock_ns();
	pthread_mutex_lock(&l->lock);
	l->report.requests++;
	l->report.wrong += !right;
	l->report.busy_ns += now - sent;
	if (l->speed > 0)
		l->report.late_ns += sent - due;
	l->report.last_ns = now > l->report.last_ns ? now : l->report.last_ns;
	if (n > 0)
		l->report.bytes[op->op] += (uint64_t)n;
	if (n < 0 || (n < (ssize_t)op->length && op->op == SL_WRITE)) {
		if (!l->report.failed++)
			l->report.error = n < 0 ? (int)-n : EIO;
	}
	pthread_mutex_unlock(&l->lock);
}

static void *rl_thread(void *arg)
{
	struct rl *l = arg;
	unsigned char *buffer = malloc(REPLAY_MAX_LENGTH);

	while (buffer) {
		const struct rl_op *op;

		pthread_mutex_lock(&l->lock);
		op = l->at == UINT32_MAX ? NULL : &l->op[l->at];
		l->at = op ? op->next : UINT32_MAX;
		pthread_mutex_unlock(&l->lock);
		if (!op)
			break;
		rl_do(l, op, buffer);
	}
	free(buffer);
	return NULL;
}

static int rl_open(const struct rl *l, uint32_t file, int flags)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%u", l->p.dir, file);
	return open(path, O_RDWR | O_CLOEXEC | flags, 0600);
}

static int rl_main(void *arg, int sock)
{
	struct rl *l = arg;
	pthread_t thread[THREADS];
	uint32_t started = 0;
	bool ready = true;

	for (uint32_t i = l->mine->first; i != UINT32_MAX && ready; i = l->op[i].next) {
		struct rl_file *f = &l->file[l->op[i].file];

		if (f->fd < 0)
			f->fd = rl_open(l, l->op[i].file, f->flags);
		ready = f->fd >= 0 && sl_client_look(f->fd, &f->remote);
	}
	if (!ready)
		return cli_fail(REPLAY_CMD, "cannot open a file in %s: %s.", l->p.dir,
				strerror(errno));
	l->at = l->mine->first;
	pthread_mutex_init(&l->lock, NULL);
	if (!private_send(sock, "r", 1) ||
	    !private_receive(sock, &l->start_ns, sizeof(l->start_ns)))
		return CLI_FAILED;
	l->report.first_ns = l->start_ns;
	while (started < l->mine->threads && started < THREADS &&
	       !pthread_create(&thread[started], NULL, rl_thread, l))
		started++;
	for (uint32_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	sl_client_bye();
	return private_send(sock, &l->report, sizeof(l->report)) ? CLI_OK : CLI_FAILED;
}

/* ---- in the parent ---- */

static int rl_make_files(struct rl *l)
{
	for (uint32_t i = 0; i < l->files; i++) {
		int fd = rl_open(l, i, O_CREAT),
		    rc = fd < 0 ? -1 : ftruncate(fd, (off_t)l->file[i].size);
		int error = errno;

		if (fd >= 0)
			close(fd);
		if (rc)
			return cli_fail(REPLAY_CMD,
					"cannot make a file of %" PRIu64 " bytes in %s: %s.",
					l->file[i].size, l->p.dir, strerror(error));
	}
	return CLI_OK;
}

/* Register the job with its settings at the node; without its guarantee if the node refuses it. */
static int rl_register(struct rl *l, const struct rl_job *j, pid_t pid)
{
	const struct sl_job_conf *c = &j->conf;
	char line[400], *answer = NULL;

	for (int attempt = 0; attempt < 2; attempt++) {
		snprintf(line, sizeof(line),
			 "job %s pid=%d min=%" PRIu64 " max=%" PRIu64 " burst=%" PRIu64
			 " weight=%u period=%" PRId64 "ns best_effort=%u",
			 j->name, (int)pid, attempt ? 0 : c->min_bps, c->max_bps, c->burst_bytes,
			 c->weight ? c->weight : 1, c->period_ns, c->best_effort);
		if (!c->min_bps || attempt)
			return cli_result(REPLAY_CMD, layer_ask(l->layer, line, NULL),
					  layer_error());
		if (!sl_client_control(l->layer->socket, line, &answer)) {
			free(answer);
			return CLI_OK;
		}
		fprintf(stderr, "sluice replay: %s goes without its min: %s.\n", j->name,
			answer ? answer : "the node refuses it");
		free(answer);
	}
	return CLI_FAILED;
}

static int rl_run(struct rl *l)
{
	sl_time start;
	char byte;
	int status;

	for (uint32_t i = 0; i < l->jobs; i++) {
		if (!l->job[i].count)
			continue;
		l->mine = &l->job[i];
		if (private_spawn(&l->p, l->job[i].name, NULL, rl_main, l) < 0)
			return CLI_FAILED;
		if ((status = rl_register(l, &l->job[i], l->p.proc[l->p.procs - 1].pid)))
			return status;
	}
	for (unsigned i = 0; i < l->p.procs; i++)
		if (!private_receive(l->p.proc[i].sock, &byte, 1))
			return CLI_FAILED; /* it has said why */
	start = sl_clock_ns() + 20000000;
	for (unsigned i = 0; i < l->p.procs; i++)
		private_send(l->p.proc[i].sock, &start, sizeof(start));
	for (uint32_t i = 0, k = 0; i < l->jobs; i++) {
		if (!l->job[i].count)
			continue;
		if (!private_receive(l->p.proc[k++].sock, &l->job[i].report,
				     sizeof(l->job[i].report)))
			return private_interrupted ? CLI_FAILED
						   : cli_fail(REPLAY_CMD, "%s has ended early.",
							      l->job[i].name);
	}
	return CLI_OK;
}

/* Check all data written, reading directly and not through the node. */
static int rl_verify(struct rl *l)
{
	unsigned char *got = malloc(REPLAY_MAX_LENGTH);
	uint64_t wrong = 0;
	uint32_t open_file = UINT32_MAX;
	int fd = -1;

	for (uint32_t i = 0; got && i < l->ops && !private_interrupted; i++) {
		const struct rl_op *op = &l->op[i];

		if (op->op != SL_WRITE)
			continue;
		if (open_file != op->file) {
			if (fd >= 0)
				close(fd);
			fd = rl_open(l, op->file, 0);
			open_file = op->file;
		}
		wrong += pread(fd, got, op->length, (off_t)op->offset) != (ssize_t)op->length ||
			 memcmp(got, rl_data(l, op->file, op->offset), op->length) != 0;
	}
	if (fd >= 0)
		close(fd);
	if (!got)
		return rl_no_memory();
	free(got);
	return wrong ? cli_fail(REPLAY_CMD,
				"%" PRIu64 " writes are not in the files as they were "
				"written. This is a bug.",
				wrong)
		     : CLI_OK;
}

static int rl_judge(const struct rl *l)
{
	uint64_t failed = 0, wrong = 0;
	int error = 0;

	for (uint32_t i = 0; i < l->jobs; i++) {
		failed += l->job[i].report.failed;
		wrong += l->job[i].report.wrong;
		error = error ? error : l->job[i].report.error;
	}
	if (wrong)
		return cli_fail(REPLAY_CMD,
				"%" PRIu64
				" reads returned data that was never written. This is a bug.",
				wrong);
	if (failed)
		return cli_fail(REPLAY_CMD, "%" PRIu64 " requests failed, the first with: %s.",
				failed, strerror(error));
	return CLI_OK;
}

static void rl_raise_file_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

/* Bytes that are never 0, each value equally often. */
static unsigned char *rl_pattern(void)
{
	size_t size = (size_t)PATTERN + REPLAY_MAX_LENGTH;
	unsigned char *bytes = malloc(size);
	uint64_t x = 1;

	for (size_t i = 0; bytes && i < PATTERN; i++) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		bytes[i] = (unsigned char)(1 + (x >> 33) % 255);
	}
	for (size_t i = PATTERN; bytes && i < size; i++)
		bytes[i] = bytes[i - PATTERN];
	return bytes;
}

int replay_live(struct replay_trace *t, struct layer *layer, double speed, bool json)
{
	struct rl *l = calloc(1, sizeof(*l));
	char root[PATH_MAX];
	int status;

	if (!l || !(l->pattern = rl_pattern())) {
		free(l);
		return rl_no_memory();
	}
	l->layer = layer;
	l->speed = speed;
	status = replay_load(l, t);
	if (!status && layer_root(layer, root))
		status = cli_result(REPLAY_CMD, layer_not_up(layer, true), layer_error());
	if (!status) {
		rl_raise_file_limit();
		status = private_begin(&l->p, REPLAY_CMD, root);
		strcpy(l->p.socket, layer->socket);
		if (!status)
			status = rl_make_files(l);
		if (!status)
			status = rl_run(l);
		if (!status)
			status = rl_judge(l);
		if (!status)
			status = rl_verify(l);
		status = private_end(&l->p, status);
	}
	if (!status)
		replay_print(l, json);
	free(l->op);
	free(l->file);
	free(l->pattern);
	free(l);
	return status;
}
