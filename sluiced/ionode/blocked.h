/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many threads of a process are blocked in a file system, by their state in /proc: a thread in
 * uninterruptible sleep (D) waits for I/O, whatever the file system.
 *
 * Reading the state costs some microseconds per thread, so each sample has a budget of LOOK_THREADS
 * for all jobs together. Jobs get equal parts of it, and so do the processes of a job. The others
 * are estimated from the sampled ones; the next sample begins with other processes and jobs.
 *
 *	2 jobs, of 1 and of 200 processes     64 threads of the one; 64 processes of the other, a thread
 *	                                      each, and each counts for 200 / 64
 *
 * Pure, except for blocked_threads().
 */
#ifndef SL_SLUICED_IONODE_BLOCKED_H
#define SL_SLUICED_IONODE_BLOCKED_H

#include <stdint.h>

#define LOOK_THREADS 128

/* The part of the budget that a job has. */
struct blocked_part {
	uint32_t first, procs; /* its processes first .. first + procs - 1, cyclically */
	uint32_t threads;      /* threads of each process, at most */
};

/* Sample only one job in this many, if there are more jobs than threads in the budget. */
static inline uint32_t blocked_stride(uint32_t jobs)
{
	return jobs ? (jobs + LOOK_THREADS - 1) / LOOK_THREADS : 1;
}

/*
 * jobs: number of sampled jobs; procs: processes of this one, not 0; serial: number of the sample.
 */
static inline struct blocked_part blocked_part(uint32_t jobs, uint32_t procs, uint32_t serial)
{
	uint32_t threads = jobs < LOOK_THREADS ? LOOK_THREADS / jobs : 1;
	struct blocked_part part = { .procs = procs < threads ? procs : threads };

	part.first = (uint32_t)((uint64_t)serial * part.procs % procs);
	part.threads = threads / part.procs;
	return part;
}

/* Blocked threads of a process, estimated from at most this many threads. */
double blocked_threads(uint32_t pid, uint32_t most);

#endif
