/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of the server; sluice-api(7) describes them. */
#include <stdio.h>
#include <string.h>

#include "httpd/metrics.h"
#include "httpd/server.h"

static enum MHD_Result rt_file(struct request *r)
{
	for (const struct page_file *f = page_files; f->path; f++)
		if (!strcmp(f->path, r->path))
			return http_static(r, f->type, f->text, f->length);
	return http_error(r, MHD_HTTP_NOT_FOUND, "there is no such file");
}

static enum MHD_Result rt_metrics(struct request *r)
{
	struct snapshot *snap = sample_newest(r->server);
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);

	if (f) {
		metrics_write(f, r->server->layer.name, snap->status,
			      (double)(server_monotonic_ns() - snap->begin_ns) / 1e9);
		fclose(f);
	}
	sample_drop(snap);
	return http_text(r, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text, length);
}

static const struct route rt_files = { .method = "GET", .answer = rt_file };

static const struct route routes[] = {
	{ "GET", "/api/v1/status", false, events_fresh },
	{ "GET", "/api/v1/events", false, events_stream },
	{ "GET", "/api/v1/history", false, answer_history },
	{ "GET", "/api/v1/policies", false, answer_policies },
	{ "GET", "/metrics", false, rt_metrics },
	{ "POST", "/api/v1/jobs/", true, answer_job },
	{ "POST", "/api/v1/policy", true, answer_policy },
	{ "POST", "/api/v1/what-if", true, answer_what_if },
};

static bool rt_matches(const struct route *route, const char *path)
{
	size_t length = strlen(route->path);

	if (route->path[length - 1] == '/')
		return !strncmp(path, route->path, length) && path[length];
	return !strcmp(path, route->path);
}

const struct route *route_find(const char *method, const char *path, bool *known)
{
	bool head = !strcmp(method, "HEAD"); /* libmicrohttpd leaves the body out */

	*known = false;
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (!rt_matches(&routes[i], path))
			continue;
		*known = true;
		if (!strcmp(method, routes[i].method) ||
		    (head && !routes[i].write && routes[i].answer != events_stream))
			return &routes[i];
	}
	for (const struct page_file *f = page_files; f->path; f++)
		if (!strcmp(f->path, path)) {
			*known = true;
			return head || !strcmp(method, "GET") ? &rt_files : NULL;
		}
	return NULL;
}
