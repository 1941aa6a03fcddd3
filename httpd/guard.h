/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may ask the HTTP server of a layer for what. Pure: headers in, a verdict out.
 *
 * A page of a stranger in the browser of a user must neither read nor change anything. It cannot
 * set the header Host: so a name that was made to lead here (DNS rebinding) is refused. It cannot
 * leave out Origin where it could read the answer or send a body: so a foreign one is refused. And
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
 * Browsers send cookies by themselves, to every port of a host. So the cookie holds another secret,
 * which is good for reading alone; and its name is each server's own, or that of one would replace
 * that of another on the same host. Its port would not do as a name: two tunnels (ssh -L) may lead
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
	bool open;		      /* who gets there may read */
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

/* Whether text, of any length, is that secret; in a time that does not depend on where it differs.
 */
bool guard_is(const char secret[SL_SECRET_BYTES], const char *text);

#endif
