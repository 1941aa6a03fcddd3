/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs of a node: registered with the scheduler when their first process connects, kept for a
 * while after the last has gone (jobs are made of many short processes), then forgotten.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ionode/node.h"

#define KEEP_NS (60 * INT64_C(1000000000))

static struct node_job *job_find(struct node *n, uint64_t number)
{
	for (struct node_job *j = n->jobs; j; j = j->next)
		if (j->number == number)
			return j;
	return NULL;
}

struct node_job *node_job_join(struct node *n, const struct sl_hello *h, int *error)
{
	struct sl_job_conf conf = { .min_bps = h->min_bps,
				    .max_bps = h->max_bps,
				    .burst_bytes = h->burst_bytes,
				    .weight = h->weight,
				    .period_ns = h->period_ns,
				    .best_effort = h->best_effort };
	uint64_t number = sl_job_number(h->job);
	struct node_job *j = job_find(n, number);

	if (!j) {
		j = calloc(1, sizeof(*j));
		*error = j ? sl_job_add(n->sched, number, &conf, node_now()) : -ENOMEM;
		if (*error) {
			free(j);
			return NULL;
		}
		j->number = number;
		memcpy(j->name, h->job, sizeof(j->name));
		j->since = node_now();
		j->next = n->jobs;
		n->jobs = j;
	}
	j->clients++;
	return j;
}

void node_job_leave(struct node *n, struct node_job *j)
{
	(void)n;
	j->clients--;
	j->last_seen = node_now();
}

/* Once a second: bandwidth of the last second, and who has been gone for long. */
void node_jobs_tick(struct node *n)
{
	static sl_time last;
	sl_time now = node_now();

	if (now - last < 1000000000)
		return;
	pthread_mutex_lock(&n->lock);
	for (struct node_job **p = &n->jobs, *j; (j = *p);) {
		struct sl_job_stats st;
		uint64_t bytes;

		sl_job_stats(n->sched, j->number, now, &st);
		bytes = st.served_bytes[SL_READ] + st.served_bytes[SL_WRITE];
		j->rate_bps = (uint64_t)((unsigned __int128)(bytes - j->rate_bytes) * 1000000000 /
					 (uint64_t)(now - last));
		j->rate_bytes = bytes;
		if (j->clients == 0 && now - j->last_seen > KEEP_NS &&
		    sl_job_remove(n->sched, j->number, now) == 0) {
			*p = j->next;
			free(j);
			continue;
		}
		p = &j->next;
	}
	pthread_mutex_unlock(&n->lock);
	last = now;
}
