/* SPDX-License-Identifier: Apache-2.0 */
/* See sense.h. */
#include "ionode/sense.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ionode/turn.h"

#define STEP_MS 100
#define IDLE_MS 1000

struct sense {
	struct node *node;
	pthread_t thread;
	int stop_fd;
	sl_time last;
	struct shadow_job **shadow; /* room for `room` */
	size_t room;
};

static bool make_room(struct sense *s, size_t jobs)
{
	struct shadow_job **more;

	if (jobs <= s->room)
		return true;
	more = realloc(s->shadow, 2 * jobs * sizeof(struct shadow_job *));
	if (!more)
		return false;
	s->shadow = more;
	s->room = 2 * jobs;
	return true;
}

/* What the job has moved since the last step arrives in its shadow. */
static void arrive(struct node_job *j, sl_time since, sl_time now)
{
	uint64_t moved = j->moved[SL_READ] + j->moved[SL_WRITE];
	struct shadow_job *s = &j->shadow.job;

	s->weight = j->asked.weight;
	s->min_bps = (double)j->asked.min_bps;
	s->max_bps = (double)j->asked.max_bps;
	s->arrived_bytes = (double)(moved - j->shadow.moved_bytes);
	j->shadow.moved_bytes = moved;
	if (s->arrived_bytes <= 0)
		return;
	if (!j->shadow.from)
		j->shadow.from = since;
	j->shadow.until = now;
}

/* The lock is held. */
static void shadow(struct sense *s, sl_time now)
{
	struct node *n = s->node;
	size_t jobs = 0;

	for (struct node_job *j = n->jobs; j; j = j->next)
		jobs++;
	if (!make_room(s, jobs))
		return;
	jobs = 0;
	for (struct node_job *j = n->jobs; j; j = j->next) {
		arrive(j, s->last, now);
		s->shadow[jobs++] = &j->shadow.job;
	}
	shadow_step(s->shadow, jobs, (double)n->capacity_bps, (double)(now - s->last) / 1e9);
}

/* Whether there is anything to look at. */
static bool step(struct sense *s)
{
	struct node *n = s->node;
	bool busy = false;
	sl_time now;

	pthread_mutex_lock(&n->lock);
	now = node_now();
	turn_account(n, now);
	if (n->config->observe)
		shadow(s, now);
	for (const struct node_job *j = n->jobs; j; j = j->next)
		busy |= j->clients != 0;
	node_unlock(n);
	s->last = now;
	return busy;
}

static void *sense_main(void *arg)
{
	struct sense *s = arg;
	struct pollfd stop = { .fd = s->stop_fd, .events = POLLIN };
	bool busy = false;

	while (!stop.revents)
		if (poll(&stop, 1, busy ? STEP_MS : IDLE_MS) == 0)
			busy = step(s);
	return NULL;
}

int sense_start(struct node *n)
{
	struct sense *s;
	int rc;

	if (!n->config->observe)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->node = n;
	s->last = node_now();
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	rc = s->stop_fd < 0 ? -errno : -pthread_create(&s->thread, NULL, sense_main, s);
	if (rc) {
		free(s);
		return rc;
	}
	n->sense = s;
	return 0;
}

void sense_stop(struct node *n)
{
	struct sense *s = n->sense;

	if (!s)
		return;
	eventfd_write(s->stop_fd, 1);
	pthread_join(s->thread, NULL);
	close(s->stop_fd);
	free(s->shadow);
	free(s);
	n->sense = NULL;
}
