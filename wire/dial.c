/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a controller: see dial.h. */
#include "wire/dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/listen.h"
#include "base/secret.h"
#include "wire/munge.h"

#define GREET_S 5

/* On one machine. */
static int greet_locally(int sock, const struct sl_hello *h)
{
	const struct sl_frame f = { .type = SL_HELLO, .length = SL_HELLO_BYTES, .tag = 1 };
	unsigned char out[SL_FRAME_BYTES + SL_HELLO_BYTES];

	sl_frame_encode(&f, out);
	sl_hello_encode(h, out + SL_FRAME_BYTES);
	return send(sock, out, sizeof(out), MSG_NOSIGNAL) == (ssize_t)sizeof(out) ? 0 : -EPIPE;
}

static int greet(struct dial *d, const struct dial_proof *proof, struct sl_hello *h,
		 char why[DIAL_TEXT])
{
	const struct timeval patience = { .tv_sec = GREET_S }, none = { 0 };
	char secret[SL_SECRET_BYTES], credential[SL_CREDENTIAL_MAX], at[SL_MUNGE_ADDRESS];
	struct sl_frame f;
	int rc;

	if (!proof->secret_file && !proof->munge) {
		snprintf(why, DIAL_TEXT, "over TCP it takes a secret or MUNGE");
		return -EACCES;
	}
	if (sl_nonce(h->nonce))
		return -EIO;
	if (!proof->munge) {
		credential[0] = 0;
		if ((rc = sl_secret_read(proof->secret_file, secret))) {
			snprintf(why, DIAL_TEXT, "cannot use the secret in %.120s",
				 proof->secret_file);
			return rc;
		}
	} else if ((rc = sl_munge_address(d->sock, 1, at)) ||
		   (rc = sl_munge_make(proof->munge, geteuid(), h->nonce, at, secret, credential,
				       why))) {
		return rc;
	}
	setsockopt(d->sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	rc = sl_greet_as(d->sock, h, credential, secret, &d->session, &f);
	setsockopt(d->sock, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
	d->sealed = true;
	if (rc == -EACCES)
		snprintf(why, DIAL_TEXT, "whoever listens there %s",
			 proof->munge ? "cannot read a credential for this user"
				      : "does not know the secret");
	return rc > 0 ? -rc : rc;
}

int dial_controller(struct dial *d, const char *address, const struct dial_proof *proof,
		    const char *who, char why[DIAL_TEXT])
{
	struct sl_hello h = { .version = SL_PROTO_VERSION, .pid = (uint32_t)getpid() };
	int rc, family = AF_UNIX;
	socklen_t size = sizeof(family);

	why[0] = 0;
	*d = (struct dial){ .sock = listen_dial(address) };
	rc = d->sock < 0 ? d->sock : 0;
	if (!rc) {
		listen_keepalive(d->sock);
		snprintf(h.job, sizeof(h.job), "%s", who);
		getsockopt(d->sock, SOL_SOCKET, SO_DOMAIN, &family, &size);
		rc = family == AF_UNIX ? greet_locally(d->sock, &h) : greet(d, proof, &h, why);
	}
	if (!rc)
		return 0;
	if (!why[0])
		snprintf(why, DIAL_TEXT, "%s", strerror(-rc));
	if (d->sock >= 0)
		close(d->sock);
	d->sock = -1;
	return rc;
}

int dial_send(struct dial *d, const char *line, size_t length, uint64_t tag)
{
	const struct sl_frame f = { .type = SL_CONTROL, .length = (uint32_t)length, .tag = tag };
	unsigned char head[SL_SEALED_BYTES];
	struct iovec iov[2] = { { head, dial_head(d) }, { (void *)(uintptr_t)line, length } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };

	sl_frame_encode(&f, head);
	if (d->sealed)
		sl_seal(&d->session.out, head, 0, line, length);
	return sendmsg(d->sock, &m, MSG_NOSIGNAL) == (ssize_t)(iov[0].iov_len + length) ? 0
											: -EPIPE;
}

bool dial_genuine(struct dial *d, const unsigned char *head, const void *payload, size_t length)
{
	uint64_t stamp;

	if (!d->sealed)
		return true;
	if (!sl_unseal(&d->session.in, head, length ? payload : NULL, length, &stamp))
		return false;
	d->session.in.count++;
	return true;
}
