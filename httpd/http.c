/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and answers over libmicrohttpd, in one thread that never blocks.
 *
 * libmicrohttpd calls ht_handle() when the headers are there, for each piece of a body, when that
 * is complete, and again when a connection that waited was resumed. A request without access is
 * refused before its body is read; a body that is too long is not read.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "httpd/server.h"
#include "layer/check.h"

#define CONNECTION_MEMORY 32768 /* headers and such; what is longer is refused */

/* ---- connections ---- */

static void ht_is(const struct request *r, enum visitor_state state)
{
	pthread_mutex_lock(&r->server->lock);
	if (r->visitor && r->visitor->state < state)
		visitor_is(r->visitor, state, server_monotonic_ns());
	pthread_mutex_unlock(&r->server->lock);
}

static void ht_connection(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info;
	struct server *s = arg;
	struct visitor *v = *context;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		pthread_mutex_lock(&s->lock);
		if (v)
			visitors_remove(&s->visitors, v);
		pthread_mutex_unlock(&s->lock);
		free(v);
		*context = NULL;
		return;
	}
	v = calloc(1, sizeof(*v));
	if (!v)
		return;
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	v->sock = info->connect_fd;
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	visitor_identify(v, info->client_addr);
	visitor_is(v, VISITOR_ASKS, server_monotonic_ns());
	*context = v;
	pthread_mutex_lock(&s->lock);
	visitors_add(&s->visitors, v);
	visitors_make_room(&s->visitors, SERVER_CONNECTIONS);
	pthread_mutex_unlock(&s->lock);
}

void http_hurry(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	visitors_hurry(&s->visitors, server_monotonic_ns());
	pthread_mutex_unlock(&s->lock);
}

/* ---- answers ---- */

enum MHD_Result http_send(struct request *r, unsigned status, const char *type,
			  struct MHD_Response *response)
{
	static const char *const headers[][2] = {
		{ "Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action "
					     "'none'; frame-ancestors 'none'; "
					     "object-src 'none'" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "Cache-Control", "no-store" },
	};
	enum MHD_Result result;
	const char *token;

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	MHD_add_response_header(response, "Content-Type", type);
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer realm=\"sluice\"");
	/* The page was opened by its address: let what it loads come in, too. */
	token = MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, "token");
	if (status == MHD_HTTP_OK && token && guard_is(r->server->guard.token, token)) {
		char cookie[SL_SECRET_BYTES + 80];
		const struct guard *g = &r->server->guard;

		snprintf(cookie, sizeof(cookie), "%s=%s; HttpOnly; SameSite=Strict; Path=/",
			 g->cookie_name, g->cookie);
		MHD_add_response_header(response, "Set-Cookie", cookie);
	}
	ht_is(r, VISITOR_ANSWERED);
	result = MHD_queue_response(r->connection, status, response);
	MHD_destroy_response(response);
	return result;
}

enum MHD_Result http_static(struct request *r, const char *type, const char *text, size_t length)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		length, (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

	return response ? http_send(r, MHD_HTTP_OK, type, response) : MHD_NO;
}

enum MHD_Result http_text(struct request *r, unsigned status, const char *type, char *text,
			  size_t length)
{
	struct MHD_Response *response =
		text ? MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE) : NULL;

	if (response)
		return http_send(r, status, type, response);
	free(text);
	return MHD_NO;
}

static ssize_t ht_read_snapshot(void *arg, uint64_t position, char *buf, size_t max)
{
	const struct snapshot *snap = arg;
	size_t left = snap->length - (size_t)position;

	left = left < max ? left : max;
	memcpy(buf, snap->text + position, left);
	return (ssize_t)left;
}

static void ht_drop_snapshot(void *arg)
{
	sample_drop(arg);
}

enum MHD_Result http_snapshot(struct request *r, struct snapshot *snap)
{
	unsigned status = snap->status ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
	struct MHD_Response *response = MHD_create_response_from_callback(
		snap->length, 32768, ht_read_snapshot, snap, ht_drop_snapshot);

	if (response)
		return http_send(r, status, "application/json", response);
	sample_drop(snap);
	return MHD_NO;
}

char *http_error_text(const char *message, size_t *length)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, length);
	struct json j;

	*length = 0;
	if (!f)
		return NULL;
	json_begin(&j, f);
	json_object(&j, NULL);
	json_string(&j, "error", message);
	json_end(&j);
	fclose(f);
	return text;
}

enum MHD_Result http_error(struct request *r, unsigned status, const char *format, ...)
{
	char message[1000], *text;
	size_t length;
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	text = http_error_text(message, &length);
	return http_text(r, status, "application/json", text, length);
}

/* ---- requests ---- */

static const char *ht_header(struct request *r, const char *name)
{
	return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

bool http_number(struct request *r, const char *name, unsigned long low, unsigned long high,
		 unsigned long otherwise, unsigned long *out)
{
	const char *text = MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);

	*out = otherwise;
	return !text || !check_count(text, low, high, out);
}

static enum MHD_Result ht_refuse(struct request *r, enum guard_verdict verdict)
{
	switch (verdict) {
	case GUARD_HOST:
		return http_error(r, MHD_HTTP_MISDIRECTED_REQUEST,
				  "wrong host name; use the address that "
				  "'sluice dashboard' prints");
	case GUARD_ORIGIN:
		return http_error(r, MHD_HTTP_FORBIDDEN,
				  "requests from pages of another origin are refused");
	default:
		return http_error(r, MHD_HTTP_UNAUTHORIZED,
				  "the token is missing or wrong; 'sluice dashboard' prints it, to "
				  "be sent as 'Authorization: Bearer TOKEN'");
	}
}

static enum MHD_Result ht_too_long(struct request *r)
{
	return http_error(r, MHD_HTTP_CONTENT_TOO_LARGE, "a body has at most %d bytes",
			  SERVER_BODY);
}

/* The headers are there: whether it may, and what it is. Without an answer it goes on. */
static enum MHD_Result ht_begin(struct request *r)
{
	const struct guard_request asked = {
		.host = ht_header(r, "Host"),
		.origin = ht_header(r, "Origin"),
		.authorization = ht_header(r, "Authorization"),
		.cookie = ht_header(r, "Cookie"),
		.token = MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, "token"),
		.write = strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0,
	};
	enum guard_verdict verdict = guard_check(&r->server->guard, &asked);
	const char *length = ht_header(r, "Content-Length");
	unsigned long bytes;
	bool known;

	if (verdict != GUARD_OK) {
		log_debug("method=%s path=%.100s refused=%d", r->method, r->path, (int)verdict);
		return ht_refuse(r, verdict);
	}
	r->route = route_find(r->method, r->path, &known);
	if (!r->route && known)
		return http_error(r, MHD_HTTP_METHOD_NOT_ALLOWED, "%.20s is not for this path",
				  r->method);
	if (!r->route)
		return http_error(r, MHD_HTTP_NOT_FOUND,
				  "unknown path; sluice-api(7) lists the paths that there "
				  "is");
	if (length && check_count(length, 0, SERVER_BODY, &bytes))
		return ht_too_long(r);
	r->state = REQUEST_BODY;
	return MHD_YES;
}

static enum MHD_Result ht_take(struct request *r, const char *data, size_t *size)
{
	char *body;

	/*
	 * The length of a chunked body is known only at its end: read it, up to a limit, to be able
	 * to answer.
	 */
	if (r->length + *size > SERVER_BODY) {
		r->length += *size;
		*size = 0;
		return r->length > 16 * SERVER_BODY ? MHD_NO : MHD_YES;
	}
	body = realloc(r->body, r->length + *size + 1);
	if (!body)
		return MHD_NO;
	memcpy(body + r->length, data, *size);
	r->body = body;
	r->length += *size;
	body[r->length] = 0;
	*size = 0;
	return MHD_YES;
}

static enum MHD_Result ht_handle(void *arg, struct MHD_Connection *connection, const char *url,
				 const char *method, const char *version, const char *data,
				 size_t *size, void **state)
{
	struct request *r = *state;

	(void)version;
	if (!r) {
		*state = r = calloc(1, sizeof(*r));
		if (!r)
			return MHD_NO;
		r->server = arg;
		r->visitor = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
				     ->socket_context;
	}
	r->connection = connection;
	r->method = method;
	r->path = url;
	if (r->state == REQUEST_NEW)
		return ht_begin(r);
	if (*size)
		return ht_take(r, data, size);
	if (r->length > SERVER_BODY)
		return ht_too_long(r);
	ht_is(r, VISITOR_ANSWERED);
	return r->route->answer(r);
}

static void ht_done(void *arg, struct MHD_Connection *connection, void **state,
		    enum MHD_RequestTerminationCode why)
{
	struct request *r = *state;

	(void)arg;
	(void)connection;
	(void)why;
	if (!r)
		return;
	pthread_mutex_lock(&r->server->lock);
	if (r->visitor)
		visitor_is(r->visitor, VISITOR_ASKS, server_monotonic_ns());
	pthread_mutex_unlock(&r->server->lock);
	free(r->body);
	free(r->reply);
	free(r);
	*state = NULL;
}

/* ---- life ---- */

static void ht_log(void *arg, const char *format, va_list args)
{
	char line[500];

	(void)arg;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = 0;
	log_debug("http: %s", line);
}

int http_start(struct server *s, int listen_fd)
{
	s->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
			MHD_USE_ERROR_LOG,
		0, NULL, NULL, ht_handle, s, MHD_OPTION_EXTERNAL_LOGGER, ht_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)(SERVER_CONNECTIONS + SERVER_SPARE), MHD_OPTION_NOTIFY_CONNECTION,
		ht_connection, s, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SERVER_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_NOTIFY_COMPLETED, ht_done, NULL, MHD_OPTION_END);
	return s->daemon ? 0 : errno ? -errno : -EIO;
}

void http_stop(struct server *s)
{
	MHD_stop_daemon(s->daemon);
}
