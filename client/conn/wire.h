/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charge the I/O that passes the page cache, from the program's side: cached reads, dirty files and
 * their write-back. wire/turn.h is the contract; see wire.c.
 */
#ifndef SL_CLIENT_CONN_WIRE_H
#define SL_CLIENT_CONN_WIRE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "wire/turn.h"

static inline uint32_t wire_charge(const struct sl_turn_job *job)
{
	return atomic_load_explicit(&job->charge, memory_order_relaxed);
}

/* ---- reads; none of these waits ---- */

/* What this thread has read lately: see wire.c. */
struct wire_reads {
	uint64_t base;	 /* bytes that the kernel had counted */
	uint64_t bytes;	 /* read since */
	uint64_t window; /* bytes to come that are charged, or have been */
	uint64_t quiet;	 /* bytes until the next look, if all that it read was cached; else 0 */
	long slept;	 /* so often had the thread */
	uint32_t modes;	 /* of the job: in other modes nothing is looked at */
	bool known;
	const struct sl_turn_job *job; /* if there are parts: of the last call */
};
extern __thread struct wire_reads wire_reads
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* The next call of this thread is of this job, one of several parts of a job. */
static inline void wire_of_job(const struct sl_turn_job *job)
{
	if (wire_reads.job == job)
		return;
	wire_reads.job = job;
	wire_reads.known = false;
	wire_reads.quiet = 0;
}

/* The last reads of this thread were cached: the next one needs no credit. */
static inline bool wire_quiet(const struct sl_turn_job *job)
{
	return wire_reads.quiet &&
	       wire_reads.modes == atomic_load_explicit(&job->modes, memory_order_relaxed);
}
/* A quiet thread has read so many bytes. False: call wire_read() instead. */
static inline bool wire_read_quietly(uint64_t moved)
{
	if (wire_reads.bytes + moved >= wire_reads.quiet)
		return false;
	wire_reads.bytes += moved;
	return true;
}
/*
 * A read is about to be made: what it moves is looked at by wire_read(). When it began, if the
 * kernel does not count what threads read, and the thread is not quiet; else 0.
 */
int64_t wire_read_begin(const struct sl_turn_job *job);
/*
 * It has moved so many bytes: how many of them, and of those before, came from the file system.
 * now: look at once.
 */
uint64_t wire_read(struct sl_turn_job *job, uint64_t moved, int64_t since_ns, bool now);
/* It has bypassed the page cache. */
void wire_read_direct(const struct sl_turn_job *job, uint64_t moved);
/* Whether the page cache has the data. */
bool wire_cached(const struct sl_turn_job *job, int fd, uint64_t length, off_t offset);

/* preadv2() of one vector, which never waits: replaced behind a gate (preload/stub.c). */
extern ssize_t (*wire_peek)(int fd, const struct iovec *iov, uint64_t offset, int flags)
	__attribute__((visibility("hidden")));

/* ---- writes: these wait for credit, and are no cancellation points. All keep errno. ---- */

/* Whether writes to this descriptor are charged when they are written back. */
bool wire_tracks(const struct sl_turn_job *job, int fd);
/* Whether a write without credit may go: it is paid for later. */
static inline bool wire_may_owe(const struct sl_turn_job *job)
{
	return wire_charge(job) & SL_TURN_THROUGH &&
	       atomic_load_explicit(&job->left, memory_order_relaxed) <
		       atomic_load_explicit(&job->dirty_most, memory_order_relaxed);
}
/* One has moved so many bytes. */
void wire_owe(struct sl_turn_job *job, uint64_t bytes);
/* So many bytes have been written. offset < 0: at the position. */
void wire_wrote(struct sl_turn_job *job, int fd, uint64_t bytes, off_t offset);
/* fd is about to be flushed: pay for what is dirty of its file, or of all files. */
#define WIRE_ALL INT_MIN
int64_t wire_flush(int fd);
/* The flush is over; since: what wire_flush() has returned. */
void wire_flushed(int fd, int64_t since_ns);
/* A range of it is about to be flushed. */
void wire_flush_range(int fd, uint64_t bytes);
/* msync(): real is the one that the library has replaced. */
typedef int wire_msync_call(void *address, size_t length, int flags);
int wire_msync(void *address, size_t length, int flags, wire_msync_call *real);
/* Bytes whose write-back is started at once. */
uint64_t wire_step(const struct sl_turn_job *job);
/* fd is about to be closed; waits: by close() itself. */
void wire_close(int fd, bool waits);
void wire_close_range(unsigned first, unsigned last);

#endif
