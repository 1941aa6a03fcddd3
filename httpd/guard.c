/* SPDX-License-Identifier: Apache-2.0 */
/* Access control: see guard.h. */
#include "httpd/guard.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool guard_is(const char secret[SL_SECRET_BYTES], const char *text)
{
	char padded[SL_SECRET_BYTES] = { 0 };
	size_t length = text ? strlen(text) : 0;

	if (!length || length >= sizeof(padded))
		return false;
	memcpy(padded, text, length + 1);
	return sl_secret_equal(secret, padded);
}

/* The host of "host:port", "[::1]:port" or "host", without brackets. False: malformed. */
static bool gd_host(const char *text, char out[256])
{
	const char *end, *after;

	if (text[0] == '[') {
		end = strchr(++text, ']');
		after = end ? end + 1 : NULL;
	} else {
		after = end = text + strcspn(text, ":");
	}
	if (!end || end == text || end - text > 255 || (*after && *after != ':'))
		return false;
	for (after += *after == ':'; *after; after++)
		if (!isdigit((unsigned char)*after))
			return false;
	snprintf(out, 256, "%.*s", (int)(end - text), text);
	return true;
}

static bool gd_is_address(const char *host)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/*
 * An address cannot be rebound by DNS. Valid names are those of this machine, also with its domain;
 * on loopback only "localhost". Ports are not checked, because a tunnel (ssh -L) may have another
 * one.
 */
static bool gd_ours(const struct guard *g, const char *header)
{
	size_t length = strlen(g->machine);
	char host[256];

	if (!header || !gd_host(header, host))
		return false;
	if (!strcasecmp(host, "localhost") || gd_is_address(host))
		return true;
	if (g->loopback)
		return false;
	return (g->host[0] && !strcasecmp(host, g->host)) ||
	       (length && !strncasecmp(host, g->machine, length) &&
		(!host[length] || host[length] == '.'));
}

/* "http://" and what Host says; https: behind a proxy. */
static bool gd_same_origin(const char *origin, const char *host)
{
	if (!strncasecmp(origin, "http://", 7))
		origin += 7;
	else if (!strncasecmp(origin, "https://", 8))
		origin += 8;
	else
		return false;
	return !strcasecmp(origin, host);
}

static bool gd_bearer(const struct guard *g, const char *header)
{
	static const char scheme[] = "Bearer ";

	return header && !strncasecmp(header, scheme, sizeof(scheme) - 1) &&
	       guard_is(g->token, header + sizeof(scheme) - 1);
}

/* "a=b; sluice_reader_1f2e3d4c=SECRET; c=d" */
static bool gd_cookie(const struct guard *g, const char *header)
{
	size_t name = strlen(g->cookie_name);
	char value[SL_SECRET_BYTES];

	for (const char *at = header; at && *at;) {
		size_t length;

		at += strspn(at, "; ");
		length = strcspn(at, ";");
		if (!strncmp(at, g->cookie_name, name) && at[name] == '=' &&
		    length - (name + 1) < sizeof(value)) {
			length -= name + 1;
			at += name + 1;
			memcpy(value, at, length);
			value[length] = 0;
			if (guard_is(g->cookie, value))
				return true;
		}
		at += length;
	}
	return false;
}

enum guard_verdict guard_check(const struct guard *g, const struct guard_request *r)
{
	bool bearer;

	if (!gd_ours(g, r->host))
		return GUARD_HOST;
	if (r->origin && !gd_same_origin(r->origin, r->host))
		return GUARD_ORIGIN;
	bearer = gd_bearer(g, r->authorization);
	if (r->write)
		return bearer ? GUARD_OK : GUARD_TOKEN;
	if (g->open || bearer || guard_is(g->token, r->token) || gd_cookie(g, r->cookie))
		return GUARD_OK;
	return GUARD_TOKEN;
}
