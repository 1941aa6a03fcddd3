/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charging what leaves the page cache, from the program's side: cached reads, dirty files and their
 * write-back. wire/turn.h is the contract; see wire.c.
 */
#ifndef SL_CLIENT_CONN_WIRE_H
#define SL_CLIENT_CONN_WIRE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/turn.h"

static inline uint32_t wire_charge(const struct sl_turn_job *job)
{
	return atomic_load_explicit(&job->charge, memory_order_relaxed);
}

/* ---- reads; none of these waits ---- */

/* A read is about to be made: what it moves is looked at by wire_read(). When it began, if the
 * kernel does not count what threads read; else 0. */
int64_t wire_read_begin(const struct sl_turn_job *job);
/* It has moved so many bytes: how many of them, and of those before, came from the file system.
 * now: look at once. */
uint64_t wire_read(struct sl_turn_job *job, uint64_t moved, int64_t since_ns, bool now);
/* Whether the page cache has the data. */
bool wire_cached(const struct sl_turn_job *job, int fd, uint64_t length, off_t offset);

/* ---- writes: these wait for credit, and are no cancellation points. All keep errno. ---- */

/* Whether writes to this descriptor are charged when they are written back. */
bool wire_tracks(const struct sl_turn_job *job, int fd);
/* So many bytes have been written. offset < 0: at the position. */
void wire_wrote(struct sl_turn_job *job, int fd, uint64_t bytes, off_t offset);
/* fd is about to be flushed: pay for what is dirty of its file, or of all files. */
#define WIRE_ALL INT_MIN
void wire_flush(int fd);
/* A range of it is about to be flushed. */
void wire_flush_range(int fd, uint64_t bytes);
/* fd is about to be closed; waits: by close() itself. */
void wire_close(int fd, bool waits);
void wire_close_range(unsigned first, unsigned last);

#endif
