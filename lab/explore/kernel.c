/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of a live kernel. It opens its file, waits for the order to begin, makes its calls one
 * after the other, and reports when it has finished. It knows nothing of layers: it is started by
 * `sluice run`, or directly.
 *
 * Contents: the word at offset o of a file is mark + o / 8 * STEP, with a different mark for each
 * file of each run. Data read is checked at once, data written is checked afterwards, so lost or
 * misplaced calls are found. Both only add, which is far faster than any device.
 *
 * A metadata kernel has a directory of its own and makes one call after the other there, in the
 * phases of mdtest: create all files, stat each, unlink each. A call that fails, or a file that is
 * not empty, is an error.
 *
 * Direct access in a layer with a modelled device: the device models are in memory that all
 * processes share, and a call ends when its device has finished, as in a node.
 */
#include "lab/explore/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/clock.h"
#include "lab/private.h"
#include "layer/check.h"
#include "sim/random.h"

#define STEP  UINT64_C(0x9e3779b97f4a7c15)
#define ALIGN 4096

static void ek_sleep_until(sl_time when)
{
	struct timespec ts = { when / 1000000000, when % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

struct sl_pattern kernel_pattern(const struct explore_kernel *k, uint64_t seed)
{
	return (struct sl_pattern){ .spatial = k->spatial,
				    .per_process = k->per_process,
				    .procs = k->procs,
				    .call_bytes = k->request_bytes,
				    .calls = k->data_bytes / k->request_bytes,
				    .seed = seed };
}

void kernel_path(const char *dir, uint32_t app, uint32_t file, char out[PATH_MAX + 64])
{
	snprintf(out, PATH_MAX + 64, "%s/app-%u.%u", dir, app, file);
}

/* ---- contents ---- */

static uint64_t ek_mark(const struct kernel_task *t, uint32_t file)
{
	struct sl_random r = sl_random_stream(t->seed, (uint64_t)t->app << 32 | file);

	return sl_random_next(&r);
}

static void ek_fill(uint64_t *words, uint64_t mark, uint64_t offset, uint64_t bytes)
{
	uint64_t word = mark + offset / 8 * STEP;

	for (uint64_t i = 0; i < bytes / 8; i++, word += STEP)
		words[i] = word;
}

static bool ek_right(const uint64_t *words, uint64_t mark, uint64_t offset, uint64_t bytes)
{
	uint64_t word = mark + offset / 8 * STEP, wrong = 0;

	for (uint64_t i = 0; i < bytes / 8; i++, word += STEP)
		wrong |= words[i] ^ word;
	return !wrong;
}

static void *ek_buffer(uint64_t bytes)
{
	return aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN);
}

/* Transfer all bytes: 0 or an errno; -1: the file is too short. */
static int ek_transfer(int fd, uint32_t op, char *data, uint64_t bytes, uint64_t offset)
{
	for (uint64_t done = 0; done < bytes;) {
		ssize_t n = op == SL_WRITE
				    ? pwrite(fd, data + done, bytes - done, (off_t)(offset + done))
				    : pread(fd, data + done, bytes - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : op == SL_WRITE ? ENOSPC : -1;
		done += (uint64_t)n;
	}
	return 0;
}

/* ---- before and after ---- */

static int ek_prepare_file(const struct kernel_task *t, uint32_t file, void *buffer)
{
	struct sl_pattern p = kernel_pattern(&t->kernel, t->seed);
	uint32_t first = t->kernel.per_process ? file : 0;
	uint32_t end = t->kernel.per_process ? file + 1 : t->kernel.procs;
	char path[PATH_MAX + 64];
	int fd, rc = 0;

	kernel_path(t->dir, t->app, file, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	for (uint32_t proc = first; !rc && proc < end; proc++)
		for (uint64_t call = 0; !rc && call < p.calls; call++) {
			uint64_t offset = sl_pattern_place(&p, proc, call).offset;

			if (private_interrupted) {
				rc = EINTR;
				break;
			}
			ek_fill(buffer, ek_mark(t, file), offset, p.call_bytes);
			rc = ek_transfer(fd, SL_WRITE, buffer, p.call_bytes, offset);
		}
	/* Drop the file from the page cache, because we have just written it. */
	if (!rc && fsync(fd) && errno != EINVAL)
		rc = errno;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (close(fd) && !rc)
		rc = errno;
	return -rc;
}

int kernel_prepare(const struct kernel_task *t)
{
	uint32_t files = t->kernel.per_process ? t->kernel.procs : 1;
	void *buffer = ek_buffer(t->kernel.request_bytes);
	int rc = buffer ? 0 : -ENOMEM;

	for (uint32_t file = 0; !rc && file < files; file++)
		rc = ek_prepare_file(t, file, buffer);
	free(buffer);
	return rc;
}

bool kernel_verify(const struct kernel_task *t, uint64_t calls)
{
	struct sl_pattern p = kernel_pattern(&t->kernel, t->seed);
	uint32_t file = sl_pattern_place(&p, t->proc, 0).file;
	char path[PATH_MAX + 64];
	void *buffer = ek_buffer(p.call_bytes);
	bool right = buffer;
	int fd;

	kernel_path(t->dir, t->app, file, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (uint64_t call = 0; right && call < calls && !private_interrupted; call++) {
		uint64_t offset = sl_pattern_place(&p, t->proc, call).offset;

		right = fd >= 0 && !ek_transfer(fd, SL_READ, buffer, p.call_bytes, offset) &&
			ek_right(buffer, ek_mark(t, file), offset, p.call_bytes);
	}
	if (fd >= 0)
		close(fd);
	free(buffer);
	return right;
}

/* ---- the process ---- */

struct ek_process {
	struct kernel_task task;
	struct sl_pattern pattern;
	struct kernel_devices *devices;
	int sock, fd;
	void *buffer;
};

static bool ek_read_all(int sock, void *data, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = read(sock, (char *)data + have, size - have);

		if (n <= 0 && !(n < 0 && errno == EINTR))
			return false;
		have += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool ek_tell(const struct ek_process *q, struct kernel_result r)
{
	return send(q->sock, &r, sizeof(r), MSG_NOSIGNAL) == (ssize_t)sizeof(r);
}

/* The time at which the devices have finished it. */
static sl_time ek_devices(const struct ek_process *q, uint32_t file, uint64_t offset)
{
	const struct kernel_task *t = &q->task;
	uint64_t id = (uint64_t)t->app << 32 | file, end = offset + t->kernel.request_bytes;
	sl_time now, done = 0;

	pthread_mutex_lock(&q->devices->lock);
	now = sl_clock_ns();
	while (offset < end) {
		struct sl_piece piece =
			sl_striping_piece(&t->striping, file % t->striping.servers, offset, end);
		/* Its pointers are valid only in this process. */
		struct sl_device d = q->devices->device[piece.server];
		sl_time at;

		d.model = &t->model;
		at = sl_device_submit(&d, t->kernel.op, id, piece.offset, piece.length, now);
		q->devices->device[piece.server] = d;
		done = at > done ? at : done;
		offset += piece.length;
	}
	pthread_mutex_unlock(&q->devices->lock);
	return done;
}

static struct kernel_result ek_calls(struct ek_process *q, sl_time start)
{
	const struct explore_kernel *k = &q->task.kernel;
	struct kernel_result r = { .step = KERNEL_CALL };

	for (; r.calls < q->pattern.calls; r.calls++) {
		struct sl_place at = sl_pattern_place(&q->pattern, q->task.proc, r.calls);
		uint64_t mark = ek_mark(&q->task, at.file);
		sl_time done = 0;

		if (k->limit_ns && sl_clock_ns() - start >= k->limit_ns)
			break;
		if (k->op == SL_WRITE)
			ek_fill(q->buffer, mark, at.offset, k->request_bytes);
		if (q->devices)
			done = ek_devices(q, at.file, at.offset);
		r.error = ek_transfer(q->fd, k->op, q->buffer, k->request_bytes, at.offset);
		if (r.error)
			return r;
		if (k->op == SL_READ && !ek_right(q->buffer, mark, at.offset, k->request_bytes)) {
			r.step = KERNEL_WRONG;
			return r;
		}
		if (done)
			ek_sleep_until(done);
	}
	r.step = KERNEL_FINE;
	if (k->fsync && fsync(q->fd)) {
		r.step = KERNEL_SYNC;
		r.error = errno;
	}
	r.end_ns = sl_clock_ns();
	return r;
}

/* ---- metadata ---- */

static void ek_item(const struct ek_process *q, uint64_t item, char path[PATH_MAX + 96])
{
	char dir[PATH_MAX + 64];

	kernel_path(q->task.dir, q->task.app, q->task.proc, dir);
	snprintf(path, PATH_MAX + 96, "%s/%llu", dir, (unsigned long long)item);
}

/* One call; a step and the error if it failed. */
static struct kernel_result ek_meta_call(const struct ek_process *q, uint64_t call)
{
	uint64_t items = q->task.kernel.data_bytes / 3;
	struct kernel_result r = { .step = KERNEL_CALL, .calls = call };
	char path[PATH_MAX + 96];
	struct stat st = { 0 };
	int fd, rc;

	ek_item(q, call % items, path);
	switch (call / items) {
	case 0:
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		rc = fd < 0 ? -1 : close(fd);
		break;
	case 1:
		rc = stat(path, &st);
		break;
	default:
		rc = unlink(path);
	}
	if (rc)
		r.error = errno;
	else
		r.step = st.st_size ? KERNEL_WRONG : KERNEL_FINE;
	return r;
}

static struct kernel_result ek_meta_calls(const struct ek_process *q, sl_time start)
{
	const struct explore_kernel *k = &q->task.kernel;
	uint64_t items = k->data_bytes / 3, call = 0;
	struct kernel_result r = { .step = KERNEL_FINE };

	for (; call < k->data_bytes; call++) {
		if (k->limit_ns && sl_clock_ns() - start >= k->limit_ns)
			break;
		r = ek_meta_call(q, call);
		if (r.step != KERNEL_FINE)
			return r;
	}
	r.calls = call;
	r.end_ns = sl_clock_ns();
	if (call == k->data_bytes)
		return r;
	/* Its time was over before: remove what it has created and not removed. */
	for (uint64_t item = call > 2 * items ? call - 2 * items : 0; item < items && item < call;
	     item++) {
		char path[PATH_MAX + 96];

		ek_item(q, item, path);
		unlink(path);
	}
	return r;
}

/* Its directory; the first call connects the process. */
static struct kernel_result ek_meta_open(const struct ek_process *q)
{
	struct kernel_result r = { .step = KERNEL_FINE };
	char dir[PATH_MAX + 64];

	kernel_path(q->task.dir, q->task.app, q->task.proc, dir);
	if (mkdir(dir, 0700) && errno != EEXIST)
		r = (struct kernel_result){ .step = KERNEL_OPEN, .error = errno };
	return r;
}

/* ---- the steps of a process ---- */

/* A process connects with its first data call, so begin that call now. */
static struct kernel_result ek_touch(struct ek_process *q)
{
	const struct explore_kernel *k = &q->task.kernel;
	struct sl_place at = sl_pattern_place(&q->pattern, q->task.proc, 0);
	uint64_t bytes = k->direct ? ALIGN : 8;
	struct kernel_result r = { .step = KERNEL_CALL };

	ek_fill(q->buffer, ek_mark(&q->task, at.file), at.offset, bytes);
	r.error = ek_transfer(q->fd, k->op, q->buffer, bytes, at.offset);
	if (!r.error)
		r.step = KERNEL_FINE;
	return r;
}

static struct kernel_result ek_open(struct ek_process *q)
{
	const struct kernel_task *t = &q->task;
	size_t size = sizeof(*q->devices) + t->striping.servers * sizeof(struct sl_device);
	struct kernel_result r = { .step = KERNEL_OPEN };
	char path[PATH_MAX + 64];

	q->pattern = kernel_pattern(&t->kernel, t->seed);
	q->buffer = ek_buffer(t->kernel.request_bytes);
	if (t->devices_fd >= 0)
		q->devices = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, t->devices_fd, 0);
	if (!q->buffer || q->devices == MAP_FAILED) {
		r.step = KERNEL_MEMORY;
		return r;
	}
	kernel_path(t->dir, t->app, sl_pattern_place(&q->pattern, t->proc, 0).file, path);
	q->fd = open(path,
		     O_CLOEXEC | O_RDWR | (t->kernel.op == SL_WRITE ? O_CREAT : 0) |
			     (t->kernel.direct ? O_DIRECT : 0),
		     0600);
	if (q->fd < 0)
		r.error = errno;
	else
		r.step = KERNEL_FINE;
	return r;
}

int explore_kernel_main(const char *fd)
{
	bool meta;
	struct ek_process q = { .fd = -1 };
	struct kernel_result r;
	struct kernel_order order;
	unsigned long sock;

	if (check_count(fd, 3, INT_MAX, &sock))
		return cli_usage(EXPLORE_CMD, "--kernel is for 'sluice explore' itself.");
	q.sock = (int)sock;
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (!ek_read_all(q.sock, &q.task, sizeof(q.task)))
		return CLI_FAILED;
	meta = explore_is_meta(&q.task.kernel);
	r = meta ? ek_meta_open(&q) : ek_open(&q);
	while (ek_tell(&q, r) && r.step == KERNEL_FINE &&
	       ek_read_all(q.sock, &order, sizeof(order))) {
		if (order.what == 'g') {
			ek_sleep_until(order.start_ns);
			ek_tell(&q, meta ? ek_meta_calls(&q, order.start_ns)
					 : ek_calls(&q, order.start_ns));
			break;
		}
		r = meta ? ek_meta_open(&q) : ek_touch(&q);
	}
	_exit(CLI_OK); /* no cleanup is needed, and the process may be killed at any time */
}
