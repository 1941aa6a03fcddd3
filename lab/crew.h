/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that share a long piece of work, and a progress line on the terminal.
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
	uint64_t tasks;	  /* 1 or more; work() counts finished ones in `done`, over all threads */
	const char *unit; /* name of the tasks; NULL: show percent */
	atomic_uint_fast64_t done; /* 0 */
};

/*
 * Do all the work, with as many of the threads as can be started. Returns CLI_OK, or CLI_FAILED
 * after a message if none could be started.
 */
int crew_run(struct crew *c);

#endif
