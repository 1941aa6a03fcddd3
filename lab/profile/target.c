/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets of `sluice profile`: requests to a file, one after the other, or to a model of a
 * device in simulated time.
 *
 * The file has no name (O_TMPFILE, or unlinked at once), so it disappears however the program ends.
 * It is filled first, because reading blocks that were never written does not use the device. It
 * takes at most half of the free space.
 *
 * O_DIRECT avoids the page cache. Without it, pages are dropped before each run of reads, so that
 * reads come from the device too. After filling, mincore() shows whether that works: if the pages
 * are still in memory, as in tmpfs, the figures would be those of memory. Runs of writes end with
 * fdatasync(), included in their time; otherwise they would measure the cache.
 */
#include "lab/profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/clock.h"
#include "base/units.h"

#define CMD	   PROFILE_CMD
#define ALIGNMENT  4096
#define FILL_BYTES (UINT64_C(8) << 20)	/* of a write */
#define LOOK_BYTES (UINT64_C(64) << 20) /* of the file, for pages in memory */
#define RESIDENT   0.1			/* a larger part means that pages were not dropped */

volatile int profile_stop;

/* A random offset for `requests` in a row; for a single one, not where the last one ended. */
static uint64_t place(struct sl_random *r, uint64_t file_bytes, uint64_t size_bytes,
		      uint32_t requests, uint64_t end)
{
	uint64_t slots = file_bytes / size_bytes - (requests - 1), slot;

	do
		slot = sl_random_next(r) % slots;
	while (slots > 1 && slot * size_bytes == end);
	return slot * size_bytes;
}

/* ---- a model ---- */

static void model_send(struct profile_model *m, uint32_t op, uint64_t offset, uint64_t size_bytes)
{
	m->now_ns = sl_device_submit(&m->device, op, 1, offset, size_bytes, m->now_ns);
	m->end = offset + size_bytes;
}

static int64_t model_run(void *context, uint32_t op, bool random, uint64_t size_bytes,
			 uint32_t requests)
{
	struct profile_model *m = context;
	sl_time begin;

	/* The seek to the first one is not part of a sequential run. */
	if (!random)
		model_send(m, op,
			   place(&m->random, m->file_bytes, size_bytes, requests + 1, m->end),
			   size_bytes);
	begin = m->now_ns;
	for (uint32_t i = 0; i < requests; i++) {
		uint64_t offset =
			random ? place(&m->random, m->file_bytes, size_bytes, 1, m->end) : m->end;

		model_send(m, op, offset, size_bytes);
	}
	return m->now_ns - begin;
}

static int64_t model_now(void *context)
{
	return ((struct profile_model *)context)->now_ns;
}

struct profile_target profile_model(struct profile_model *m, const struct sl_device_model *model,
				    uint64_t file_bytes)
{
	*m = (struct profile_model){ .random = sl_random_stream(1, 1), .file_bytes = file_bytes };
	sl_device_init(&m->device, model);
	return (struct profile_target){
		.context = m, .run = model_run, .now_ns = model_now, .file_bytes = file_bytes
	};
}

/* ---- a file ---- */

static int64_t file_now(void *context)
{
	(void)context;
	return sl_clock_ns();
}

/* All of it. 0 or -errno. */
static int file_send(struct profile_file *f, uint32_t op, uint64_t offset, uint64_t size_bytes)
{
	uint64_t done = 0;

	while (done < size_bytes) {
		char *at = (char *)f->buffer + done;
		ssize_t n;

		if (profile_stop)
			return -EINTR;
		n = op == SL_READ ? pread(f->fd, at, size_bytes - done, (off_t)(offset + done))
				  : pwrite(f->fd, at, size_bytes - done, (off_t)(offset + done));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -EIO; /* another process has truncated the file */
		done += n > 0 ? (uint64_t)n : 0;
	}
	f->end = offset + size_bytes;
	return 0;
}

static int64_t file_run(void *context, uint32_t op, bool random, uint64_t size_bytes,
			uint32_t requests)
{
	struct profile_file *f = context;
	int64_t begin;
	int rc = 0;

	if (!f->direct && op == SL_READ)
		posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
	if (!random)
		rc = file_send(f, op, place(&f->random, f->bytes, size_bytes, requests + 1, f->end),
			       size_bytes);
	begin = file_now(NULL);
	for (uint32_t i = 0; i < requests && !rc; i++) {
		uint64_t offset =
			random ? place(&f->random, f->bytes, size_bytes, 1, f->end) : f->end;

		rc = file_send(f, op, offset, size_bytes);
	}
	if (!rc && op == SL_WRITE && fdatasync(f->fd))
		rc = -errno;
	return rc ? rc : file_now(NULL) - begin;
}

/* Create a file and unlink it, with signals blocked meanwhile. 0 or -errno. */
static int file_named(struct profile_file *f, const char *dir)
{
	char name[PATH_MAX];
	sigset_t all, old;
	int rc = 0;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	for (unsigned attempt = 0; attempt < 100 && f->fd < 0; attempt++) {
		if (snprintf(name, sizeof(name), "%s/.sluice-profile-%ld-%u", dir, (long)getpid(),
			     attempt) >= (int)sizeof(name)) {
			rc = -ENAMETOOLONG;
			break;
		}
		f->fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		rc = f->fd < 0 ? -errno : 0;
		if (rc != -EEXIST)
			break;
	}
	if (f->fd >= 0 && unlink(name))
		rc = -errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	return rc;
}

static int file_create(struct profile_file *f, const char *dir, bool buffered)
{
	struct stat st;
	int rc = 0, flags;

	if (stat(dir, &st))
		return cli_fail(CMD, "%s: %s.", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return cli_fail(CMD, "%s is not a directory.", dir);
	f->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (f->fd < 0)
		rc = errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT ? file_named(f, dir)
									       : -errno;
	if (rc)
		return cli_fail(CMD, "cannot make a file in %s: %s.", dir, strerror(-rc));
	flags = fcntl(f->fd, F_GETFL);
	f->direct = !buffered && flags >= 0 && !fcntl(f->fd, F_SETFL, flags | O_DIRECT);
	return CLI_OK;
}

/* The largest size of the file that leaves half of the free space. */
static int file_room(const struct profile_file *f, const char *dir, const struct profile_room *room,
		     uint64_t *bytes)
{
	char has[32], needs[32], largest[32];
	struct statvfs fs;
	uint64_t free_bytes;

	if (fstatvfs(f->fd, &fs))
		return cli_fail(CMD, "%s: %s.", dir, strerror(errno));
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (free_bytes / 2 < room->least_bytes)
		return cli_fail(CMD,
				"%s has %s left; a test with requests of up to %s needs twice %s. "
				"Smaller --sizes need less.",
				dir, sl_format_bytes(has, sizeof(has), free_bytes),
				sl_format_bytes(largest, sizeof(largest), room->largest_bytes),
				sl_format_bytes(needs, sizeof(needs), room->least_bytes));
	*bytes = room->most_bytes < free_bytes / 2 ? room->most_bytes : free_bytes / 2;
	return CLI_OK;
}

/* Use different bytes in each write, to prevent deduplication. */
static void file_renew(struct profile_file *f, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += ALIGNMENT)
		*(uint64_t *)(void *)((char *)f->buffer + at) = sl_random_next(&f->random);
}

static int file_fill(struct profile_file *f, const char *dir, const struct profile_room *room,
		     uint64_t bytes)
{
	int64_t begin = file_now(NULL), passed = 0;
	char much[32];
	int rc = 0;

	while (f->bytes < bytes && !rc) {
		uint64_t n = bytes - f->bytes < FILL_BYTES ? bytes - f->bytes : FILL_BYTES;

		passed = file_now(NULL) - begin;
		if (f->bytes >= room->least_bytes && passed > room->fill_ns)
			break;
		if (passed > room->time_ns / 2) {
			return cli_fail(CMD,
					"writing %s to %s took half of the time already, and more "
					"is needed. Give more --time, or smaller --sizes.",
					sl_format_bytes(much, sizeof(much), f->bytes), dir);
		}
		file_renew(f, n);
		rc = file_send(f, SL_WRITE, f->bytes, n);
		if (rc == -EINVAL && f->direct && !f->bytes) {
			/* open() accepted O_DIRECT, but it does not work. */
			f->direct = false;
			rc = fcntl(f->fd, F_SETFL, O_RDWR) ? -errno : 0;
			continue;
		}
		f->bytes += rc ? 0 : n;
	}
	f->bytes -= f->bytes % ALIGNMENT;
	if (!rc && fsync(f->fd))
		rc = -errno;
	if (rc == -EINTR && profile_stop)
		return CLI_FAILED;
	if (rc)
		return cli_fail(CMD, "cannot write %s to a file in %s: %s.",
				sl_format_bytes(much, sizeof(much), bytes), dir, strerror(-rc));
	return CLI_OK;
}

/* The part of the file's first pages that is in memory. */
static double file_resident(const struct profile_file *f)
{
	static unsigned char in[LOOK_BYTES / ALIGNMENT];
	size_t bytes = f->bytes < LOOK_BYTES ? f->bytes : LOOK_BYTES;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page, n = 0;
	void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, f->fd, 0);

	if (at == MAP_FAILED)
		return 0; /* without mmap there are probably no pages either */
	if (!mincore(at, bytes, in))
		for (size_t i = 0; i < pages; i++)
			n += in[i] & 1;
	munmap(at, bytes);
	return (double)n / (double)pages;
}

static void file_trust(struct profile_file *f)
{
	if (!f->direct)
		posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
	if (file_resident(f) > RESIDENT)
		snprintf(f->why, sizeof(f->why),
			 f->direct ? "the file system keeps in memory even data written with "
				     "O_DIRECT, as tmpfs does: this is the speed of memory"
				   : "O_DIRECT is missing and pages in the page cache cannot be "
				     "dropped "
				     "there: this is the speed of memory");
}

int profile_file_open(struct profile_file *f, const char *dir, const struct profile_room *room)
{
	uint64_t bytes = 0;
	int status;

	*f = (struct profile_file){ .fd = -1, .random = sl_random_stream(1, 2) };
	f->buffer_bytes = room->largest_bytes > FILL_BYTES ? room->largest_bytes : FILL_BYTES;
	f->buffer = aligned_alloc(ALIGNMENT, f->buffer_bytes);
	if (!f->buffer)
		return cli_fail(CMD, "no memory.");
	for (uint64_t i = 0; i < f->buffer_bytes / sizeof(uint64_t); i++)
		((uint64_t *)f->buffer)[i] = sl_random_next(&f->random);
	if ((status = file_create(f, dir, room->buffered)) ||
	    (status = file_room(f, dir, room, &bytes)) || (status = file_fill(f, dir, room, bytes)))
		return status;
	file_trust(f);
	return CLI_OK;
}

void profile_file_close(struct profile_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->buffer);
	*f = (struct profile_file){ .fd = -1 };
}

struct profile_target profile_file(struct profile_file *f)
{
	return (struct profile_target){
		.context = f, .run = file_run, .now_ns = file_now, .file_bytes = f->bytes
	};
}
