/* SPDX-License-Identifier: Apache-2.0 */
/* Two controllers, of which one leads: see standby.c. */
#ifndef SL_CONTROLLER_STANDBY_H
#define SL_CONTROLLER_STANDBY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/dial.h"

#define STANDBY_POLICY 512

/* What is known of the other one. */
struct standby_news {
	bool met;   /* it has answered since we watch */
	bool lost;  /* it has ended, or does not answer any more */
	bool leads; /* it says so */
	uint64_t term;
	uint32_t nodes;		     /* that are up, as it sees it */
	char policy[STANDBY_POLICY]; /* grant and allocate, as words of a control line */
};

struct standby {
	const char *peer; /* where the other is; NULL: there is none */
	struct dial_proof proof;
	int event_fd; /* readable when there is news */
	pthread_t thread;
	bool started;
	int stop_fd;
	pthread_mutex_t lock;
	struct standby_news news;
};

/* Watch the other one from now on. 0 or -errno. */
int standby_start(struct standby *s);
void standby_stop(struct standby *s);
/* What is known by now; the event is taken. */
void standby_look(struct standby *s, struct standby_news *out);

/* The answer to the control line "peer", which the other one asks again and again. */
int standby_answer(char *out, size_t size, const struct standby_news *own);

#endif
