/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server of a layer, `sluice-httpd`: a separate process, which queries the nodes and the
 * controller over their sockets as `sluice status` does. So its failures do not affect data or
 * decisions, and it keeps running when nodes restart.
 *
 *	main.c      options, life and end
 *	http.c      requests and answers: libmicrohttpd, one thread with epoll
 *	routes.c    the paths
 *	sample.c    a thread that queries the layer and keeps the newest answer for all
 *	events.c    connections that wait for a new answer, or for all answers
 *	guard.c     access control
 *	visitors.c  connections, and which of them to close
 *	files.c     the page
 *	errand.c    answers that take time, each in a thread
 *	answers.c   what these are: the last hour, policies, changes
 *	change.c    bodies of requests as control lines
 *	history.c   what jobs did in the last hour
 *	metrics.c   the status for Prometheus
 *	what-if.c   the jobs under other policies, simulated; plan.c is its pure part
 *
 * libmicrohttpd's thread never blocks; the sampler and errands wait for nodes; the main thread
 * handles timeouts. `lock` protects all shared data and is held only briefly; the history has its
 * own lock.
 */
#ifndef SL_HTTPD_SERVER_H
#define SL_HTTPD_SERVER_H

#include <cjson/cJSON.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "httpd/guard.h"
#include "httpd/history.h"
#include "httpd/visitors.h"
#include "layer/layer.h"
#include "wire/status.h"

#define SERVER_API	    1
#define SERVER_CONNECTIONS  128
#define SERVER_SPARE	    64		/* more, that were hung up on and are not gone yet */
#define SERVER_STREAMS	    32		/* of them, that want events */
#define SERVER_STREAMS_EACH 24		/* of these, of one party */
#define SERVER_ERRANDS	    8		/* at a time */
#define SERVER_IDLE_S	    15		/* a connection that neither sends nor takes anything */
#define SERVER_BODY	    (64 * 1024) /* longest body of a request */
#define SERVER_SAMPLE_MS    1000
#define SERVER_ASKED_MS	    50	/* nodes are asked once in that time at most */
#define SERVER_INTERVAL_MIN 200 /* of events, ms */
#define SERVER_INTERVAL_MAX 10000

/* What the layer said at one time; never changed. */
struct snapshot {
	atomic_int users;
	uint64_t number;
	int64_t time_ms;  /* since 1970 */
	int64_t begin_ns; /* monotonic: it is not older */
	char *text;	  /* JSON on one line */
	size_t length;
	struct status *status; /* the same; NULL: no node has answered */
};

struct stream;
struct request;

struct server {
	struct layer layer;
	struct guard guard;
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock;
	bool closing;
	struct visitors visitors;
	/* sample.c */
	pthread_t sampler;
	pthread_cond_t soon;
	struct snapshot *newest; /* never NULL once it has started */
	bool sample_now;
	/* events.c */
	struct stream *streams;
	unsigned streams_count;
	struct request *waiting;
	/* errand.c */
	unsigned errands;
	pthread_cond_t errand_done;
	atomic_bool simulates;
	pthread_mutex_t history_lock;
	struct history history;
};

int64_t server_now_ms(void); /* since 1970 */
int64_t server_monotonic_ns(void);

/* ---- sample.c ---- */

int sample_start(struct server *s);
void sample_stop(struct server *s);		  /* closing is set */
struct snapshot *sample_newest(struct server *s); /* to be given back */
void sample_drop(struct snapshot *snap);
void sample_ask(struct server *s); /* a new one, now; the lock is held */

/* ---- http.c ---- */

enum request_state { REQUEST_NEW, REQUEST_BODY, REQUEST_WAITING, REQUEST_READY };

struct request {
	struct server *server;
	struct MHD_Connection *connection;
	struct visitor *visitor; /* NULL: there was no memory for it */
	const char *method, *path;
	const struct route *route;
	enum request_state state;
	char *body; /* ends with a 0; NULL: none */
	size_t length;
	unsigned long number; /* of its query */
	/* an errand, and what came of it */
	void (*work)(struct request *r);
	unsigned status;
	char *reply;
	size_t reply_length;
	/* while it waits */
	int64_t since_ns, until_ns;
	struct request *next;
};

int http_start(struct server *s, int listen_fd);
void http_stop(struct server *s);
void http_hurry(struct server *s); /* every second: those who take too long */
/* Answers; text of type is copied, or freed by it. */
enum MHD_Result http_static(struct request *r, const char *type, const char *text, size_t length);
enum MHD_Result http_text(struct request *r, unsigned status, const char *type, char *text,
			  size_t length);
enum MHD_Result http_snapshot(struct request *r, struct snapshot *snap);
/* {"error":MESSAGE}, a sentence that says what to do. */
enum MHD_Result http_error(struct request *r, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* That as text, to be freed. */
char *http_error_text(const char *message, size_t *length);
/* A response with the headers that all have; freed by it. */
enum MHD_Result http_send(struct request *r, unsigned status, const char *type,
			  struct MHD_Response *response);
/* ?name=N; otherwise if there is none. False: not a whole number from low to high. */
bool http_number(struct request *r, const char *name, unsigned long low, unsigned long high,
		 unsigned long otherwise, unsigned long *out);

/* ---- routes.c ---- */

struct route {
	const char *method, *path; /* a path that ends with / : and whatever follows */
	bool write;
	enum MHD_Result (*answer)(struct request *r);
};
/* NULL: none, and *known says whether there is the path for another method. */
const struct route *route_find(const char *method, const char *path, bool *known);

/* ---- events.c ---- */

/* Answer with a snapshot that is not older than a moment: the connection waits for it. */
enum MHD_Result events_fresh(struct request *r);
/* Answer with events from now on. */
enum MHD_Result events_stream(struct request *r);
/* A new snapshot exists, or time has passed: resume the connections that wait for it. */
void events_wake(struct server *s);
/* The interval of snapshots that readers need; the lock is held. */
int64_t events_interval_ms(const struct server *s);

/* ---- errand.c, answers.c, what-if.c ---- */

/* Do the work in a thread, then answer with what errand_reply() or errand_error() has left. */
enum MHD_Result errand(struct request *r, void (*work)(struct request *r));
void errand_reply(struct request *r, unsigned status, char *text, size_t length); /* frees it */
void errand_error(struct request *r, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void errand_wait(struct server *s); /* until there is none; closing is set */

enum MHD_Result answer_history(struct request *r);
enum MHD_Result answer_policies(struct request *r);
enum MHD_Result answer_job(struct request *r);
enum MHD_Result answer_policy(struct request *r);
enum MHD_Result answer_what_if(struct request *r);

/* ---- files.c ---- */

struct page_file {
	const char *path, *type, *text;
	size_t length;
};
extern const struct page_file page_files[]; /* ends with a NULL path */

#endif
