/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of the controller. Nobody is waited for: what a peer does not take at once waits in a
 * buffer of its own, and what it has not sent whole waits in another, which is no larger than its
 * frame needs.
 *
 * Who is hung up:
 *
 *	over TCP, whoever has not proved to know the secret after PATIENCE ticks, or has sent
 *anything but HELLO and PROOF before, or is the oldest of more than STRANGERS such peers a node
 *that was not heard for PATIENCE ticks: its machine is down or cannot be reached who has taken
 *nothing of what waits for it for PATIENCE ticks, or lets more wait than OUT_MAX
 *
 * Ticks, and not times: a controller that was stopped itself does not take its nodes for silent.
 *
 * Example: a node's machine loses power at 10.0 s. No connection tells that; the tenth tick without
 * a report is at 15.0 s at the latest, and the jobs it served are given other nodes.
 */
#include "sluiced/controller/peer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE  10 /* ticks: 5 s */
#define STRANGERS 64
#define IN_BYTES  4096 /* at first; enough for a HELLO */
#define OUT_MAX	  (4 * SL_MAX_PAYLOAD)

/* ---- life ---- */

static bool allowed(int sock, bool unix_socket)
{
	struct ucred cred = { 0 };
	socklen_t length = sizeof(cred);

	return !unix_socket || (!getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &length) &&
				cred.uid == geteuid());
}

/* Its connection ends; the loop finds out and frees it. */
static void turn_out_oldest(const struct peers *all)
{
	struct peer *oldest = NULL;

	for (struct peer *p = all->first; p; p = p->next)
		if (!p->known && !p->turned_out)
			oldest = p;
	if (!oldest)
		return;
	oldest->turned_out = true;
	shutdown(oldest->sock, SHUT_RDWR);
}

void peer_accept(struct peers *all, int listen_fd, bool unix_socket)
{
	/* cppcheck-suppress nullPointer */
	int sock = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct peer *p;

	if (sock < 0) {
		if (errno == EMFILE || errno == ENFILE)
			usleep(10000);
		return;
	}
	p = calloc(1, sizeof(*p));
	if (p)
		p->in = malloc(IN_BYTES);
	if (p && p->in && allowed(sock, unix_socket)) {
		struct epoll_event ev = { .events = EPOLLIN, .data.ptr = p };

		p->all = all;
		p->sock = sock;
		p->node = -1;
		p->unix_socket = p->known = unix_socket;
		p->in_size = IN_BYTES;
		if (epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, sock, &ev) == 0) {
			all->strangers += !p->known;
			if (all->strangers > STRANGERS)
				turn_out_oldest(all);
			p->next = all->first;
			all->first = p;
			return; /* NOLINT(clang-analyzer-unix.Malloc): in the list */
		}
	}
	if (p)
		free(p->in);
	free(p);
	close(sock);
}

void peer_free(struct peer *p)
{
	struct peer **at = &p->all->first;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->all->strangers -= !p->known;
	close(p->sock);
	free(p->in);
	free(p->out);
	free(p);
}

void peer_known(struct peer *p)
{
	p->all->strangers -= !p->known;
	p->known = true;
}

const char *peer_tick(struct peer *p)
{
	p->age++;
	p->silent++;
	p->stuck = peer_waits(p) ? p->stuck + 1 : 0;
	return !p->known && p->age > PATIENCE	      ? "it has not said who it is"
	       : p->node >= 0 && p->silent > PATIENCE ? "nothing was heard of it for 5 s"
	       : p->stuck > PATIENCE		      ? "it does not read"
						      : NULL;
}

/* ---- in ---- */

/* Room for a frame of `whole` bytes and a 0. */
static int make_room(struct peer *p, size_t whole)
{
	unsigned char *in;

	if (!p->known && whole >= p->in_size)
		return -EPROTO;
	if (whole < p->in_size)
		return 0;
	in = realloc(p->in, whole + 1);
	if (!in)
		return -ENOMEM;
	p->in = in;
	p->in_size = whole + 1;
	return 0;
}

int peer_input(struct peer *p,
	       int (*frame)(struct peer *p, const struct sl_frame *f, char *payload))
{
	ssize_t k = recv(p->sock, p->in + p->have, p->in_size - 1 - p->have, MSG_DONTWAIT);
	struct sl_frame f;

	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (k <= 0)
		return -ECONNRESET;
	p->silent = 0;
	p->have += (size_t)k;
	while (p->have >= SL_FRAME_BYTES) {
		unsigned char behind, *end;
		size_t whole;
		int rc = sl_frame_decode(p->in, &f);

		if (rc)
			return rc;
		whole = SL_FRAME_BYTES + f.length;
		rc = make_room(p, whole);
		if (rc)
			return rc;
		if (p->have < whole)
			break;
		end = p->in + whole;
		behind = *end;
		*end = 0;
		rc = frame(p, &f, (char *)p->in + SL_FRAME_BYTES);
		*end = behind;
		if (rc)
			return rc;
		p->have -= whole;
		memmove(p->in, end, p->have);
	}
	return 0;
}

/* ---- out ---- */

bool peer_waits(const struct peer *p)
{
	return p->sent < p->out_length;
}

static int watch(struct peer *p)
{
	struct epoll_event ev = { .events = EPOLLIN | (peer_waits(p) ? EPOLLOUT : 0),
				  .data.ptr = p };

	if (p->watched == peer_waits(p))
		return 0;
	p->watched = peer_waits(p);
	return epoll_ctl(p->all->epoll_fd, EPOLL_CTL_MOD, p->sock, &ev) ? -errno : 0;
}

static int put(struct peer *p, const void *data, size_t length)
{
	char *out;

	if (!length)
		return 0;
	if (p->out_length + length > OUT_MAX)
		return -ENOBUFS;
	out = realloc(p->out, p->out_length + length);
	if (!out)
		return -ENOMEM;
	p->out = out;
	memcpy(out + p->out_length, data, length);
	p->out_length += length;
	return 0;
}

int peer_output(struct peer *p)
{
	while (peer_waits(p)) {
		ssize_t n = send(p->sock, p->out + p->sent, p->out_length - p->sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return watch(p);
		if (n < 0)
			return -errno;
		p->sent += (size_t)n;
		p->stuck = 0;
	}
	free(p->out);
	p->out = NULL;
	p->sent = p->out_length = 0;
	return watch(p);
}

int peer_reply(struct peer *p, const struct sl_frame *to, int status, const char *text,
	       size_t length)
{
	static const char large[] = "the answer is too large";
	struct sl_frame f = { .type = SL_REPLY, .tag = to ? to->tag : 0, .status = status };
	unsigned char head[SL_FRAME_BYTES];
	int rc;

	if (length > SL_MAX_PAYLOAD) {
		f.status = EMSGSIZE;
		text = large;
		length = sizeof(large) - 1;
	}
	f.length = (uint32_t)length;
	sl_frame_encode(&f, head);
	rc = put(p, head, sizeof(head));
	if (!rc)
		rc = put(p, text, length);
	return rc ? rc : peer_output(p);
}

/* ---- who it is ---- */

int peer_challenge(struct peer *p, const struct sl_frame *to, const char *hello, const char *secret)
{
	const struct sl_frame f = { .type = SL_CHALLENGE,
				    .tag = to->tag,
				    .length = SL_NONCE_BYTES + SL_PROOF_BYTES };
	unsigned char head[SL_FRAME_BYTES], proof[SL_PROOF_BYTES];
	int rc;

	if (p->known || p->challenged)
		return -EPROTO;
	if ((rc = sl_nonce(p->nonce)))
		return rc;
	p->challenged = true;
	memcpy(p->hello, hello, SL_HELLO_BYTES);
	sl_auth_proof(secret, SL_SIDE_NODE, p->hello, p->nonce, proof);
	sl_frame_encode(&f, head);
	if ((rc = put(p, head, sizeof(head))) || (rc = put(p, p->nonce, SL_NONCE_BYTES)) ||
	    (rc = put(p, proof, sizeof(proof))))
		return rc;
	return peer_output(p);
}

bool peer_proves(const struct peer *p, const char *proof, const char *secret)
{
	unsigned char wanted[SL_PROOF_BYTES];

	sl_auth_proof(secret, SL_SIDE_CLIENT, p->hello, p->nonce, wanted);
	return p->challenged && !p->known && sl_auth_equal(wanted, (const unsigned char *)proof);
}
