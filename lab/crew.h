/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that share a long piece of work, and a line on the terminal that says how far they are.
 */
#ifndef SL_LAB_CREW_H
#define SL_LAB_CREW_H

#include <stdatomic.h>
#include <stdint.h>

struct crew {
	const char *command;	 /* for messages */
	void (*work)(void *arg); /* in each thread; until nothing is left to do */
	void *arg;
	uint32_t threads; /* 1 or more */
	uint64_t tasks;	  /* 1 or more; that work() counts in `done`, all threads together */
	const char *unit; /* what the tasks are; NULL: they are shown as percent */
	atomic_uint_fast64_t done; /* 0 */
};

/*
 * All the work, in so many threads or as many of them as can be started. CLI_OK, or CLI_FAILED
 * after a message if that was none.
 */
int crew_run(struct crew *c);

#endif
