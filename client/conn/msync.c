/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msync(MS_SYNC): pay for the dirty pages of a mapped file before they are written back. wire.c
 * does the same for files that were written by calls.
 *
 * Stores to memory are not calls, so they are not counted. /proc/self/smaps says how much of each
 * mapping is dirty; this call writes back each page that is dirty now, once. A range is written
 * back in chunks, and each chunk is paid for first, so that the file system sees them in the order
 * of leases:
 *
 *	msync(64 MiB, of which 8 MiB are dirty)    pay 1 MiB, msync(8 MiB), pay 1 MiB, msync(8 MiB), …
 *
 * The call for the whole range comes last. An error of a chunk is returned at once, because the
 * kernel reports a write error only once.
 *
 * Reading smaps costs about 10 ns for each page that the process has mapped below the end of the
 * range, of any file. It takes at most a quarter of the time; between two reads, a range of the
 * same mapping is charged by its length, up to BETWEEN.
 *
 * Not charged: pages of a mapping that munmap(), exit or the kernel's own write-back leave to the
 * kernel, and those that fsync() of the file writes back. Charged twice: mapped pages that calls
 * have written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/conn/settings.h"
#include "client/conn/turn.h"
#include "client/conn/wire.h"

#define ROOM	16384 /* of the text: a mapping's line is no longer than 4.2 KiB */
#define CHUNK	16    /* steps of write-back */
#define BETWEEN 65536
#define PART	4 /* part of the time for reading smaps */

struct look {
	uint64_t begin, end; /* the range */
	uint64_t dirty;	     /* bytes in it, of files of the layer */
	bool ours;	     /* the mapping of the last line that named one */
	uint64_t overlap;    /* bytes of it in the range */
	uint64_t low, high;  /* the mapping */
	bool over;	     /* the rest of the text is behind the range */
};

/* The last look; a torn read mischarges one call. */
static struct {
	_Atomic uint64_t begin, end; /* a mapping of the layer */
	_Atomic int64_t next_ns;
} last;

static const char *number(const char *at, unsigned base, uint64_t *out)
{
	for (*out = 0;; at++) {
		unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
				 : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a' + 10)
							    : 16;

		if (digit >= base)
			return at;
		*out = *out * base + digit;
	}
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* "7f0000000000-7f0000100000 rw-s 00000000 08:01 1234    /scratch/a" */
static void mapping(struct look *l, const char *line)
{
	const char *at = number(line, 16, &l->low), *path;

	at = number(at + (*at == '-'), 16, &l->high);
	path = strchr(at, '/');
	l->over = l->low >= l->end;
	l->overlap = l->high > l->begin && !l->over
			     ? smaller(l->high, l->end) - (l->low > l->begin ? l->low : l->begin)
			     : 0;
	l->ours =
		l->overlap && strlen(at) > 5 && at[4] == 's' && path && turnfd_path(AT_FDCWD, path);
	if (!l->ours)
		return;
	part_by_path(AT_FDCWD, path);
	atomic_store_explicit(&last.begin, l->low, memory_order_relaxed);
	atomic_store_explicit(&last.end, l->high, memory_order_relaxed);
}

/* "Shared_Dirty:        128 kB" */
static void line(struct look *l, const char *text)
{
	const char *value = strchr(text, ':');
	uint64_t kib;

	if (text[0] < 'A' || text[0] > 'Z') {
		mapping(l, text);
		return;
	}
	if (!l->ours || !value ||
	    (strncmp(text, "Shared_Dirty:", 13) && strncmp(text, "Private_Dirty:", 14)))
		return;
	number(value + 1 + strspn(value + 1, " "), 10, &kib);
	kib = smaller(kib << 10, l->overlap);
	l->overlap -= kib; /* both kinds together are at most the size of the range */
	l->dirty += kib;
}

static void read_smaps(struct look *l, int fd, char *text)
{
	size_t have = 0;
	ssize_t n;

	while (!l->over && (n = syscall(SYS_read, fd, text + have, (size_t)ROOM - 1 - have)) > 0) {
		char *at = text, *end;

		have += (size_t)n;
		text[have] = 0;
		for (; (end = strchr(at, '\n')); at = end + 1) {
			*end = 0;
			line(l, at);
		}
		have -= (size_t)(at - text);
		if (have == ROOM - 1)
			have = 0; /* no such line is known */
		memmove(text, at, have);
	}
}

/* Dirty bytes of the layer's files in the range. */
static uint64_t dirty_in(uintptr_t begin, size_t length)
{
	struct look l = { .begin = begin, .end = begin + length };
	int64_t now = turn_now_ns();
	char *text;
	int fd;

	if (now < atomic_load_explicit(&last.next_ns, memory_order_relaxed))
		return begin >= atomic_load_explicit(&last.begin, memory_order_relaxed) &&
				       l.end <=
					       atomic_load_explicit(&last.end, memory_order_relaxed)
			       ? smaller(length, BETWEEN)
			       : 0;
	fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/smaps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	text = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (text != MAP_FAILED) {
		read_smaps(&l, fd, text);
		munmap(text, ROOM);
	}
	syscall(SYS_close, fd);
	atomic_store_explicit(&last.next_ns, turn_now_ns() + (PART - 1) * (turn_now_ns() - now),
			      memory_order_relaxed);
	return l.dirty;
}

static bool waits(const struct sl_turn_job *job)
{
	enum sl_turn_mode mode = sl_turn_mode_of(job);

	return mode == SL_TURN_LEASED || mode == SL_TURN_PLACED;
}

/* Whether dirty pages of a file of the layer may have to be paid for. */
static bool may_pay(void)
{
	const struct sl_turn_job *job;
	const struct settings *s;

	if (turn_sealed())
		return false;
	s = client_settings();
	job = atomic_load_explicit(&turn_own.job, memory_order_acquire);
	return s->enabled && !s->gated && !s->forward && (!job || waits(job));
}

/* Also with a max, or if calls are charged, because stores to memory were not charged at a call. */
static struct sl_turn_job *paying(void)
{
	struct sl_turn_job *job = turn_attach();

	return job && waits(job) ? job : NULL;
}

/* 0; or -1 with errno: the kernel's error. */
static int pay(struct sl_turn_job *job, char *at, size_t length, uint64_t dirty,
	       wire_msync_call *real)
{
	uint64_t most = CHUNK * wire_step(job), bytes;
	size_t part, page = getauxval(AT_PAGESZ);

	for (; dirty; dirty -= bytes, at += part, length -= part) {
		bytes = smaller(dirty, most);
		part = (size_t)((unsigned __int128)length * bytes / dirty) & ~(page - 1);
		if (!turn_pay(job, bytes))
			return 0; /* the job need not pay any more */
		atomic_fetch_add_explicit(&job->flushed, bytes, memory_order_relaxed);
		if (bytes == dirty)
			return 0; /* the caller writes these back */
		if (part && real(at, part, MS_SYNC) && errno != ENOMEM)
			return -1;
	}
	return 0;
}

int wire_msync(void *address, size_t length, int flags, wire_msync_call *real)
{
	uintptr_t begin = (uintptr_t)address;
	struct sl_turn_job *job;
	int saved = errno;
	uint64_t dirty;

	if (flags == MS_SYNC && length && begin % getauxval(AT_PAGESZ) == 0 &&
	    begin + length > begin && may_pay()) {
		dirty = dirty_in(begin, length);
		job = dirty ? paying() : NULL;
		if (job && pay(job, address, length, dirty, real))
			return -1;
		errno = saved;
	}
	return real(address, length, flags);
}
