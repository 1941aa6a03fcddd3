/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's half of the greeting over TCP (auth.c), for programs, `sluice run --connect` and
 * nodes that report to a controller. Runs inside other people's programs: system calls only.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wire/auth.h"

int sl_nonce(unsigned char nonce[SL_NONCE_BYTES])
{
	long n;

	do
		n = syscall(SYS_getrandom, nonce, SL_NONCE_BYTES, 0);
	while (n < 0 && errno == EINTR);
	return n == SL_NONCE_BYTES ? 0 : -EIO;
}

static int send_all(int sock, const unsigned char *bytes, size_t length)
{
	while (length) {
		ssize_t n = send(sock, bytes, length, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -ENOTCONN;
		bytes += n;
		length -= (size_t)n;
	}
	return 0;
}

int sl_greet_receive(int sock, void *bytes, size_t length)
{
	unsigned char *at = bytes;

	while (length) {
		ssize_t n = recv(sock, at, length, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -ENOTCONN;
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

static int send_frame(int sock, uint16_t type, const void *payload, size_t length)
{
	unsigned char out[SL_FRAME_BYTES + SL_CREDENTIAL_MAX];
	const struct sl_frame f = { .type = type, .length = (uint32_t)length, .tag = 1 };

	sl_frame_encode(&f, out);
	memcpy(out + SL_FRAME_BYTES, payload, length);
	return send_all(sock, out, SL_FRAME_BYTES + length);
}

int sl_greet(int sock, struct sl_hello *h, const char *secret, struct sl_session *s,
	     struct sl_frame *f)
{
	return sl_nonce(h->nonce) ? -ENOTCONN : sl_greet_as(sock, h, "", secret, s, f);
}

int sl_greet_as(int sock, const struct sl_hello *h, const char *credential, const char *secret,
		struct sl_session *s, struct sl_frame *f)
{
	unsigned char hello[SL_HELLO_BYTES], head[SL_FRAME_BYTES];
	unsigned char challenge[SL_NONCE_BYTES + SL_PROOF_BYTES], proof[SL_PROOF_BYTES];

	sl_hello_encode(h, hello);
	if ((credential[0] && send_frame(sock, SL_CREDENTIAL, credential, strlen(credential))) ||
	    send_frame(sock, SL_HELLO, hello, sizeof(hello)) ||
	    sl_greet_receive(sock, head, sizeof(head)) || sl_frame_decode(head, f))
		return -ENOTCONN;
	if (f->type == SL_REPLY && f->status)
		return f->status;
	if (f->type != SL_CHALLENGE || sl_greet_receive(sock, challenge, sizeof(challenge)))
		return -ENOTCONN;
	sl_auth_proof(secret, SL_SIDE_NODE, hello, challenge, proof);
	if (!sl_auth_equal(proof, challenge + SL_NONCE_BYTES))
		return -EACCES;
	sl_auth_proof(secret, SL_SIDE_CLIENT, hello, challenge, proof);
	sl_auth_session(secret, SL_SIDE_CLIENT, hello, challenge, s);
	return send_frame(sock, SL_PROOF, proof, sizeof(proof));
}
