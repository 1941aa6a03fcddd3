/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a controller: see dial.h. */
#include "wire/dial.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/listen.h"
#include "base/secret.h"
#include "wire/auth.h"

#define GREET_S 5

static int greet(int sock, const char *secret_file, const char *who)
{
	const struct timeval patience = { .tv_sec = GREET_S }, none = { 0 };
	struct sl_hello h = { .version = SL_PROTO_VERSION, .pid = (uint32_t)getpid() };
	struct sl_frame f = { .type = SL_HELLO, .length = SL_HELLO_BYTES, .tag = 1 };
	unsigned char out[SL_FRAME_BYTES + SL_HELLO_BYTES];
	char secret[SL_SECRET_BYTES];
	struct sl_session session; /* reports and orders are not sealed */
	int rc;

	snprintf(h.job, sizeof(h.job), "%s", who);
	if (!secret_file) {
		sl_frame_encode(&f, out);
		sl_hello_encode(&h, out + SL_FRAME_BYTES);
		return send(sock, out, sizeof(out), MSG_NOSIGNAL) == (ssize_t)sizeof(out) ? 0
											  : -EPIPE;
	}
	if (sl_secret_read(secret_file, secret))
		return -EACCES;
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	rc = sl_greet(sock, &h, secret, &session, &f);
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
	return rc > 0 ? -rc : rc;
}

int controller_dial(const char *address, const char *secret_file, const char *who)
{
	int sock = listen_dial(address), rc;

	if (sock < 0)
		return sock;
	listen_keepalive(sock);
	rc = greet(sock, secret_file, who);
	if (!rc)
		return sock;
	close(sock);
	return rc;
}
