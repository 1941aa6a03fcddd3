/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errands: answers that take time, because a node has to be queried or a result computed. Each has
 * its own thread while its connection waits; few run at a time. libmicrohttpd keeps a suspended
 * connection, so the request stays valid until its errand is done.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "httpd/server.h"

static void *er_main(void *arg)
{
	struct request *r = arg;
	struct server *s = r->server;

	r->work(r);
	pthread_mutex_lock(&s->lock);
	s->errands--;
	r->state = REQUEST_READY;
	MHD_resume_connection(r->connection);
	pthread_cond_broadcast(&s->errand_done);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

enum MHD_Result errand(struct request *r, void (*work)(struct request *r))
{
	struct server *s = r->server;
	bool taken = false;
	pthread_t thread;

	if (r->state == REQUEST_READY) {
		char *text = r->reply;

		r->reply = NULL;
		return http_text(r, r->status, "application/json", text, r->reply_length);
	}
	r->work = work;
	r->state = REQUEST_WAITING;
	pthread_mutex_lock(&s->lock);
	if (s->errands < SERVER_ERRANDS && !s->closing) {
		taken = true;
		/* Do this first: the thread may be done before this one continues. */
		MHD_suspend_connection(r->connection);
		if (pthread_create(&thread, NULL, er_main, r) == 0) {
			s->errands++;
			pthread_detach(thread);
		} else {
			errand_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "no thread; try again");
			r->state = REQUEST_READY;
			MHD_resume_connection(r->connection);
		}
	}
	pthread_mutex_unlock(&s->lock);
	if (taken)
		return MHD_YES;
	return http_error(r, MHD_HTTP_SERVICE_UNAVAILABLE,
			  "too many requests at a time; try again");
}

void errand_reply(struct request *r, unsigned status, char *text, size_t length)
{
	r->status = text ? status : MHD_HTTP_INTERNAL_SERVER_ERROR;
	r->reply = text;
	r->reply_length = text ? length : 0;
}

void errand_error(struct request *r, unsigned status, const char *format, ...)
{
	char message[1000], *text = NULL;
	size_t length = 0;
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	text = http_error_text(message, &length);
	errand_reply(r, status, text, length);
}

void errand_wait(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->errands)
		pthread_cond_wait(&s->errand_done, &s->lock);
	pthread_mutex_unlock(&s->lock);
}
