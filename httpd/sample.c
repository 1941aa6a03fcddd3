/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler: a thread that asks the layer once a second, more often if somebody wants events more
 * often, and keeps the newest answer. However many connections there are, nodes are asked by one.
 *
 * A node that is stuck is waited for (10 s, see client/conn/dial.c); meanwhile the newest answer stays
 * what it was, and its time_ms tells how old it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
	cJSON_Delete(snap->tree);
	cJSON_free(snap->text);
	free(snap);
}

static struct snapshot *sm_make(const struct layer *l)
{
	struct snapshot *snap = calloc(1, sizeof(*snap));
	char listen[300], why[128];

	if (!snap)
		return NULL;
	atomic_init(&snap->users, 1);
	snap->begin_ns = server_monotonic_ns();
	snap->tree = status_merge(l, STATUS_WAIT_MS);
	snap->time_ms = server_now_ms();
	snap->up = snap->tree;
	if (!snap->tree) {
		snap->tree = cJSON_CreateObject();
		snprintf(why, sizeof(why), "no node of layer '%s' answers", l->name);
		cJSON_AddStringToObject(snap->tree, "error", why);
	}
	cJSON_AddStringToObject(snap->tree, "name", l->name);
	if (!listen_address(l, listen))
		cJSON_AddStringToObject(snap->tree, "listen", listen);
	cJSON_AddNumberToObject(snap->tree, "api", SERVER_API);
	cJSON_AddNumberToObject(snap->tree, "time_ms", (double)snap->time_ms);
	snap->text = cJSON_PrintUnformatted(snap->tree);
	if (!snap->text) {
		sample_drop(snap);
		return NULL;
	}
	snap->length = strlen(snap->text);
	return snap;
}

/* ---- the thread ---- */

void sample_ask(struct server *s)
{
	s->sample_now = true;
	pthread_cond_signal(&s->soon);
}

/*
 * Until the next one is due, an interval after the last that was, or one is asked for, but not at
 * once after any other. False: it was asked for.
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
static enum history_io sm_in_io(const cJSON *job)
{
	const cJSON *in_io = cJSON_GetObjectItemCaseSensitive(job, "in_io");

	return !cJSON_IsBool(in_io)  ? HISTORY_UNKNOWN
	       : cJSON_IsTrue(in_io) ? HISTORY_IN_IO
				     : HISTORY_IDLE;
}

static double sm_number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* Which nodes have answered, by name and process: FNV-1a. */
static uint64_t sm_who(const cJSON *tree)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	const cJSON *node;
	char text[64];

	cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(tree, "ionodes"))
	{
		const char *state =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(node, "state"));
		const char *name =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(node, "name"));

		if (!state || strcmp(state, "up") != 0)
			continue;
		snprintf(text, sizeof(text), "%s %.0f,", name ? name : "", sm_number(node, "pid"));
		for (const char *c = text; *c; c++)
			hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	}
	return hash;
}

static void sm_remember(struct server *s, const struct snapshot *snap)
{
	const cJSON *job;

	pthread_mutex_lock(&s->history_lock);
	history_begin(&s->history, server_monotonic_ns() / 1000000, sm_who(snap->tree));
	cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(snap->tree, "jobs"))
	{
		const char *name =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(job, "job"));

		if (name)
			history_job(&s->history, name,
				    sm_number(job, "read_bytes") + sm_number(job, "write_bytes"),
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
	if (old && old->up != snap->up)
		log_info("layer=%s %s", s->layer.name, snap->up ? "answers" : "does not answer");
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

		/* Those that are asked for do not shift those that readers of events wait for. */
		if (sm_wait(s, regular_ns))
			regular_ns = server_monotonic_ns();
		snap = sm_make(&s->layer);
		if (!snap)
			continue;
		if (snap->up)
			sm_remember(s, snap);
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
		if (s->newest->up)
			sm_remember(s, s->newest);
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
