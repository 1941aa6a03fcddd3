/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access control of the HTTP server of a layer. Pure: headers in, a verdict out.
 *
 * A foreign page in the browser of a user must not read or change anything. It cannot set the
 * header Host, so a name that was redirected here (DNS rebinding) is refused. It cannot omit Origin
 * in requests whose answer it could read or that have a body, so a foreign Origin is refused. And
 * it does not know the token.
 *
 *	          reads                               writes
 *	loopback  free for all users of this machine  "Authorization: Bearer TOKEN"
 *	          (who, without a dashboard, could
 *	          not ask: sockets are their owner's)
 *	          (of a layer for all users: as
 *	          elsewhere)
 *	else      Bearer, ?token=TOKEN, or the        "Authorization: Bearer TOKEN"
 *	          cookie that this sets
 *
 * Browsers send cookies automatically, to every port of a host. So the cookie holds another secret,
 * which allows only reading. Its name is unique to the server; otherwise servers on the same host
 * would overwrite each other's cookie. The port is not unique enough: two tunnels (ssh -L) may lead
 * to the same port of two machines.
 */
#ifndef SL_HTTPD_GUARD_H
#define SL_HTTPD_GUARD_H

#include <stdbool.h>

#include "base/secret.h"

struct guard {
	char token[SL_SECRET_BYTES];  /* reads and writes */
	char cookie[SL_SECRET_BYTES]; /* reads */
	char cookie_name[32];	      /* no secret */
	bool loopback;		      /* it listens there alone */
	bool open;		      /* everybody who can connect may read */
	char host[256];		      /* as it was told to listen, without port; "": none */
	char machine[256];	      /* name of this machine */
};

/* Headers and such of a request; NULL: it has none. Borrowed for the call. */
struct guard_request {
	const char *host, *origin, *authorization, *cookie, *token;
	bool write;
};

enum guard_verdict {
	GUARD_OK,
	GUARD_HOST,   /* it was meant for another host */
	GUARD_ORIGIN, /* a foreign page asks */
	GUARD_TOKEN,  /* the token is missing or wrong */
};

enum guard_verdict guard_check(const struct guard *g, const struct guard_request *r);

/* Whether text, of any length, equals the secret; compares in constant time.
 */
bool guard_is(const char secret[SL_SECRET_BYTES], const char *text);

#endif
