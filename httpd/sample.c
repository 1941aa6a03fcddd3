/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler: a thread that queries the layer once a second, or more often if a reader of events
 * needs it, and keeps the newest answer. So the load on nodes does not depend on the number of
 * connections.
 *
 * The sampler waits for a stuck node (10 s, see client/conn/dial.c); meanwhile the last answer
 * stays, and its time_ms shows its age.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ds/fnv.h"
#include "base/log.h"
#include "httpd/server.h"
#include "layer/listen.h"
#include "layer/status.h"

int64_t server_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t server_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- snapshots ---- */

struct snapshot *sample_newest(struct server *s)
{
	struct snapshot *snap;

	pthread_mutex_lock(&s->lock);
	snap = s->newest;
	atomic_fetch_add(&snap->users, 1);
	pthread_mutex_unlock(&s->lock);
	return snap;
}

void sample_drop(struct snapshot *snap)
{
	if (!snap || atomic_fetch_sub(&snap->users, 1) > 1)
		return;
	status_free(snap->status);
	free(snap->text);
	free(snap);
}

/* The status as the page and /api/v1/status have it, on one line. */
static char *sm_text(const struct layer *l, const struct snapshot *snap, size_t *length)
{
	char listen[300], why[128], *text = NULL;
	FILE *f = open_memstream(&text, length);
	struct json j;

	if (!f)
		return NULL;
	json_begin_line(&j, f);
	json_object(&j, NULL);
	if (snap->status) {
		status_put(&j, snap->status, STATUS_OF_LAYER);
	} else {
		snprintf(why, sizeof(why), "no node of layer '%s' answers", l->name);
		json_string(&j, "error", why);
	}
	json_string(&j, "name", l->name);
	if (!layer_address(l, listen))
		json_string(&j, "listen", listen);
	json_uint(&j, "api", SERVER_API);
	json_int(&j, "time_ms", snap->time_ms);
	json_end(&j);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

static struct snapshot *sm_make(const struct layer *l)
{
	struct snapshot *snap = calloc(1, sizeof(*snap));

	if (!snap)
		return NULL;
	atomic_init(&snap->users, 1);
	snap->begin_ns = server_monotonic_ns();
	snap->status = status_of_layer(l, STATUS_WAIT_MS);
	snap->time_ms = server_now_ms();
	snap->text = sm_text(l, snap, &snap->length);
	if (!snap->text) {
		sample_drop(snap);
		return NULL;
	}
	return snap;
}

/* ---- the thread ---- */

void sample_ask(struct server *s)
{
	s->sample_now = true;
	pthread_cond_signal(&s->soon);
}

/*
 * Wait until the next sample is due or requested, but not directly after another one. False: it was
 * requested.
 */
static bool sm_wait(struct server *s, int64_t regular_ns)
{
	int64_t soonest_ns, now_ns, at_ns;
	bool due = false;

	pthread_mutex_lock(&s->lock);
	soonest_ns = s->newest->begin_ns + SERVER_ASKED_MS * INT64_C(1000000);
	while (!s->closing) {
		at_ns = regular_ns + events_interval_ms(s) * 1000000;
		now_ns = server_monotonic_ns();
		due = now_ns >= at_ns;
		if (due || (s->sample_now && now_ns >= soonest_ns))
			break;
		if (s->sample_now && soonest_ns < at_ns)
			at_ns = soonest_ns;
		pthread_cond_timedwait(&s->soon, &s->lock,
				       &(struct timespec){ .tv_sec = at_ns / 1000000000,
							   .tv_nsec = at_ns % 1000000000 });
	}
	s->sample_now = false;
	pthread_mutex_unlock(&s->lock);
	return due;
}

/* What the controller calls a phase, if there is one. */
static enum history_io sm_in_io(const struct status_job *job)
{
	return isnan(job->in_io) ? HISTORY_UNKNOWN : job->in_io != 0 ? HISTORY_IN_IO : HISTORY_IDLE;
}

/* Which nodes have answered, by name and process. */
static uint64_t sm_who(const struct status *s)
{
	uint64_t hash = SL_FNV;
	char text[64];

	for (size_t i = 0; i < s->ionodes_count; i++) {
		const struct status_ionode *n = &s->ionodes[i];

		if (strcmp(n->state, "up") != 0)
			continue;
		snprintf(text, sizeof(text), "%s %.0f,", n->name, n->pid);
		hash = sl_fnv(hash, text, strlen(text));
	}
	return hash;
}

static void sm_remember(struct server *s, const struct status *status)
{
	pthread_mutex_lock(&s->history_lock);
	history_begin(&s->history, server_monotonic_ns() / 1000000, sm_who(status));
	for (size_t i = 0; i < status->jobs_count; i++) {
		const struct status_job *job = &status->jobs[i];

		history_job(&s->history, job->job, job->read_bytes + job->write_bytes,
			    sm_in_io(job));
	}
	history_end(&s->history);
	pthread_mutex_unlock(&s->history_lock);
}

static void sm_publish(struct server *s, struct snapshot *snap)
{
	struct snapshot *old;

	pthread_mutex_lock(&s->lock);
	old = s->newest;
	if (old && !old->status != !snap->status)
		log_info("layer=%s %s", s->layer.name,
			 snap->status ? "answers" : "does not answer");
	snap->number = old ? old->number + 1 : 1;
	s->newest = snap;
	pthread_mutex_unlock(&s->lock);
	sample_drop(old);
	events_wake(s);
}

static bool sm_closing(struct server *s)
{
	bool closing;

	pthread_mutex_lock(&s->lock);
	closing = s->closing;
	pthread_mutex_unlock(&s->lock);
	return closing;
}

static void *sm_main(void *arg)
{
	struct server *s = arg;

	int64_t regular_ns = server_monotonic_ns();

	while (!sm_closing(s)) {
		struct snapshot *snap;

		/*
		 * Requested samples do not shift the periodic ones that readers of events wait for.
		 */
		if (sm_wait(s, regular_ns))
			regular_ns = server_monotonic_ns();
		snap = sm_make(&s->layer);
		if (!snap)
			continue;
		if (snap->status)
			sm_remember(s, snap->status);
		sm_publish(s, snap);
	}
	return NULL;
}

int sample_start(struct server *s)
{
	pthread_condattr_t attr;
	int rc;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	rc = pthread_cond_init(&s->soon, &attr);
	pthread_condattr_destroy(&attr);
	if (!rc)
		rc = -history_init(&s->history);
	s->newest = rc ? NULL : sm_make(&s->layer);
	if (s->newest) {
		s->newest->number = 1;
		if (s->newest->status)
			sm_remember(s, s->newest->status);
	}
	if (!rc && !s->newest)
		rc = ENOMEM;
	if (!rc)
		rc = pthread_create(&s->sampler, NULL, sm_main, s);
	return -rc;
}

void sample_stop(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	pthread_cond_signal(&s->soon);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->sampler, NULL);
	sample_drop(s->newest);
	history_free(&s->history);
}
