/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that wait for the next snapshot, or for all snapshots (server-sent events, HTML
 * standard 9.2). They are suspended in libmicrohttpd without a thread. The sampler resumes them, or
 * the main thread after a timeout.
 *
 *	event: status        every interval, with what GET /api/v1/status gives
 *	event: down          the same when no node answers
 *	: alive              when there was nothing to say for HEARTBEAT_MS
 *
 * Nothing is queued for a reader: a slow reader gets the newest snapshot when it has received the
 * last one, and misses those in between. libmicrohttpd closes the connection of a reader that
 * receives nothing for SERVER_IDLE_S. All connections share a snapshot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "httpd/server.h"

#define HEARTBEAT_MS 5000
#define WAIT_MS	     2000 /* time to wait for a new snapshot; then an old one is used */

struct stream {
	struct server *server;
	struct MHD_Connection *connection;
	bool suspended;
	int64_t interval_ms, sent_ms, spoke_ms; /* monotonic; sent: the last snapshot */
	uint64_t number;			/* of that */
	/* what is being sent: head, the snapshot, "\n\n" */
	char head[64];
	struct snapshot *snap; /* NULL: only head */
	size_t at, total;
	struct stream *next;
};

/* ---- one message ---- */

/*
 * Snapshots are made at the requested interval within some ms; a small difference does not justify
 * waiting for the next one.
 */
static bool ev_new(const struct stream *st, int64_t now_ms)
{
	return st->server->newest->number > st->number &&
	       now_ms - st->sent_ms >= st->interval_ms * 9 / 10;
}

static bool ev_due(const struct stream *st, int64_t now_ms)
{
	return ev_new(st, now_ms) || now_ms - st->spoke_ms >= HEARTBEAT_MS;
}

/* The lock is held, and one is due. */
static void ev_begin(struct stream *st, int64_t now_ms)
{
	struct snapshot *newest = st->server->newest;

	st->at = 0;
	st->spoke_ms = now_ms;
	if (!ev_new(st, now_ms)) {
		snprintf(st->head, sizeof(st->head), ": alive\n\n");
		st->total = strlen(st->head);
		return;
	}
	atomic_fetch_add(&newest->users, 1);
	st->snap = newest;
	st->number = newest->number;
	snprintf(st->head, sizeof(st->head),
		 "event: %s\nid: %llu\ndata: ", newest->status ? "status" : "down",
		 (unsigned long long)newest->number);
	st->total = strlen(st->head) + newest->length + 2;
	st->sent_ms = now_ms;
}

static size_t ev_copy(struct stream *st, char *buf, size_t max)
{
	size_t head = strlen(st->head), length = st->snap ? st->snap->length : 0, done = 0;

	while (done < max && st->at < st->total) {
		const char *from = "\n\n";
		size_t at = st->at, part = 2;

		if (at < head) {
			from = st->head;
			part = head;
		} else if (at - head < length) {
			from = st->snap->text;
			part = length;
			at -= head;
		} else {
			at -= head + length;
		}
		part -= at;
		part = part < max - done ? part : max - done;
		memcpy(buf + done, from + at, part);
		done += part;
		st->at += part;
	}
	if (st->at == st->total) {
		sample_drop(st->snap);
		st->snap = NULL;
	}
	return done;
}

static ssize_t ev_read(void *arg, uint64_t position, char *buf, size_t max)
{
	struct stream *st = arg;
	struct server *s = st->server;
	ssize_t n = MHD_CONTENT_READER_END_OF_STREAM;

	(void)position;
	pthread_mutex_lock(&s->lock);
	if (!s->closing) {
		int64_t now_ms = server_monotonic_ns() / 1000000;

		if (st->at == st->total && ev_due(st, now_ms))
			ev_begin(st, now_ms);
		n = (ssize_t)ev_copy(st, buf, max);
		if (n == 0) {
			MHD_suspend_connection(st->connection);
			st->suspended = true;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}

static void ev_free(void *arg)
{
	struct stream *st = arg, **at;
	struct server *s = st->server;

	pthread_mutex_lock(&s->lock);
	at = &s->streams;
	while (*at != st)
		at = &(*at)->next;
	*at = st->next;
	s->streams_count--;
	pthread_mutex_unlock(&s->lock);
	sample_drop(st->snap);
	free(st);
}

enum MHD_Result events_stream(struct request *r)
{
	struct server *s = r->server;
	struct MHD_Response *response;
	unsigned long interval_ms;
	struct stream *st;
	bool full;

	if (!http_number(r, "interval_ms", SERVER_INTERVAL_MIN, SERVER_INTERVAL_MAX,
			 SERVER_SAMPLE_MS, &interval_ms))
		return http_error(r, MHD_HTTP_BAD_REQUEST,
				  "interval_ms is a whole number from %d to %d",
				  SERVER_INTERVAL_MIN, SERVER_INTERVAL_MAX);
	st = calloc(1, sizeof(*st));
	if (!st)
		return MHD_NO;
	*st = (struct stream){ .server = s,
			       .connection = r->connection,
			       .interval_ms = (int64_t)interval_ms };
	st->spoke_ms = server_monotonic_ns() / 1000000;
	st->sent_ms = st->spoke_ms - SERVER_INTERVAL_MAX; /* the first at once */
	pthread_mutex_lock(&s->lock);
	full = s->streams_count == SERVER_STREAMS || !r->visitor ||
	       visitors_like(&s->visitors, r->visitor, VISITOR_STREAM) >= SERVER_STREAMS_EACH;
	if (!full) {
		visitor_is(r->visitor, VISITOR_STREAM, server_monotonic_ns());
		st->next = s->streams;
		s->streams = st;
		s->streams_count++;
		/* It may need snapshots more often than they are made now. */
		pthread_cond_signal(&s->soon);
	}
	pthread_mutex_unlock(&s->lock);
	if (full) {
		free(st);
		return http_error(r, MHD_HTTP_SERVICE_UNAVAILABLE,
				  "there are too many readers of events already (%d of one user or "
				  "address, %d in all); close one, or ask for /api/v1/status "
				  "again and again",
				  SERVER_STREAMS_EACH, SERVER_STREAMS);
	}
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 32768, ev_read, st, ev_free);
	if (!response) {
		ev_free(st);
		return MHD_NO;
	}
	return http_send(r, MHD_HTTP_OK, "text/event-stream", response);
}

int64_t events_interval_ms(const struct server *s)
{
	int64_t least = SERVER_SAMPLE_MS;

	for (const struct stream *st = s->streams; st; st = st->next)
		least = st->interval_ms < least ? st->interval_ms : least;
	return least;
}

/* ---- one snapshot ---- */

enum MHD_Result events_fresh(struct request *r)
{
	struct server *s = r->server;
	struct snapshot *snap;

	pthread_mutex_lock(&s->lock);
	if (r->state != REQUEST_READY && !s->closing) {
		r->state = REQUEST_WAITING;
		r->since_ns = server_monotonic_ns();
		r->until_ns = r->since_ns + WAIT_MS * INT64_C(1000000);
		r->next = s->waiting;
		s->waiting = r;
		MHD_suspend_connection(r->connection);
		sample_ask(s);
		pthread_mutex_unlock(&s->lock);
		return MHD_YES;
	}
	snap = s->newest;
	atomic_fetch_add(&snap->users, 1);
	pthread_mutex_unlock(&s->lock);
	return http_snapshot(r, snap);
}

void events_wake(struct server *s)
{
	int64_t now_ns = server_monotonic_ns(), now_ms = now_ns / 1000000;
	struct request **at;

	pthread_mutex_lock(&s->lock);
	for (struct stream *st = s->streams; st; st = st->next)
		if (st->suspended && (s->closing || ev_due(st, now_ms))) {
			st->suspended = false;
			MHD_resume_connection(st->connection);
		}
	at = &s->waiting;
	while (*at) {
		struct request *r = *at;

		if (!s->closing && s->newest->begin_ns < r->since_ns && now_ns < r->until_ns) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		r->state = REQUEST_READY;
		MHD_resume_connection(r->connection);
	}
	pthread_mutex_unlock(&s->lock);
}
