/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of the controller. It never waits for a peer: bytes that a peer does not accept at
 * once are kept in a buffer of that peer, and an incomplete frame is kept in another buffer, no
 * larger than the frame. A peer without either has no buffer.
 *
 * The controller hangs up on
 *
 *	- a TCP peer that has not proved to know the secret after PATIENCE ticks, that has sent
 *	  anything but HELLO and PROOF before, or that is the oldest of more than STRANGERS such
 *	  peers;
 *	- a node that was silent for PATIENCE ticks: its machine is down or cannot be reached;
 *	- a peer that has read nothing for PATIENCE ticks although bytes wait for it, or for which
 *	  more than OUT_MAX bytes wait.
 *
 * Time is counted in ticks, so a controller that was stopped itself does not consider its nodes
 * silent.
 *
 * Example: a node's machine loses power at 10.0 s, and its connection stays open. The tenth tick
 * without a report is at 15.0 s at the latest; then the node's jobs get other nodes.
 */
#include "sluiced/controller/peer.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/listen.h"

#define PATIENCE  10 /* ticks: 5 s */
#define STRANGERS 1024
#define IN_BYTES  4096 /* of a frame of one that is not known yet; enough for a HELLO */
#define SHARED	  (64U << 10)
#define OUT_MAX	  (4 * SL_MAX_PAYLOAD)

/* ---- life ---- */

static bool allowed(int sock, bool unix_socket)
{
	struct ucred cred = { 0 };
	socklen_t length = sizeof(cred);

	return !unix_socket || (!getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &length) &&
				(cred.uid == geteuid() || cred.uid == 0));
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
	if (p && allowed(sock, unix_socket)) {
		struct epoll_event ev = { .events = EPOLLIN, .data.ptr = p };

		p->all = all;
		p->sock = sock;
		p->node = -1;
		p->number = ++all->count;
		p->unix_socket = p->known = unix_socket;
		if (!unix_socket)
			listen_keepalive(sock);
		if (epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, sock, &ev) == 0) {
			all->strangers += !p->known;
			if (all->strangers > STRANGERS)
				turn_out_oldest(all);
			p->next = all->first;
			all->first = p;
			return; /* NOLINT(clang-analyzer-unix.Malloc): in the list */
		}
	}
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
	explicit_bzero(p->secret, sizeof(p->secret));
	free(p->credential);
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

static size_t head_of(const struct peer *p)
{
	return p->sealed ? SL_SEALED_BYTES : SL_FRAME_BYTES;
}

static bool genuine(struct peer *p, const unsigned char *at, const struct sl_frame *f)
{
	uint64_t stamp;

	if (!p->sealed)
		return true;
	if (!sl_unseal(&p->session.in, at, f->length ? at + SL_SEALED_BYTES : NULL, f->length,
		       &stamp))
		return false;
	p->session.in.count++;
	return true;
}

/* The frames that are whole in so many bytes, behind which is room for a 0. Those that are left. */
static int take_frames(struct peer *p, unsigned char *at, size_t *have,
		       int (*frame)(struct peer *p, const struct sl_frame *f, char *payload))
{
	struct sl_frame f;

	while (*have >= head_of(p)) {
		unsigned char behind, *end;
		const size_t head = head_of(p);
		size_t whole;
		int rc = sl_frame_decode(at, &f);

		if (rc)
			return rc;
		whole = head + f.length;
		if (!p->known && whole >= IN_BYTES)
			return -EPROTO;
		if (*have < whole) {
			p->in_want = whole;
			return 0;
		}
		end = at + whole;
		behind = *end;
		*end = 0;
		rc = genuine(p, at, &f) ? frame(p, &f, (char *)at + head) : -EBADMSG;
		*end = behind;
		if (rc)
			return rc;
		*have -= whole;
		memmove(at, end, *have);
	}
	p->in_want = head_of(p);
	return 0;
}

/* Keep what is not whole yet, with room for all of it. */
static int put_aside(struct peer *p, const unsigned char *at, size_t have)
{
	unsigned char *in;

	if (!have) {
		free(p->in);
		p->in = NULL;
		p->have = 0;
		return 0;
	}
	in = realloc(p->in, p->in_want + 1);
	if (!in)
		return -ENOMEM;
	if (at != p->in)
		memcpy(in, at, have);
	p->in = in;
	p->have = have;
	return 0;
}

/*
 * Input is read into memory that all peers share. Only an incomplete frame has to be kept, so most
 * peers need no memory.
 */
int peer_input(struct peer *p,
	       int (*frame)(struct peer *p, const struct sl_frame *f, char *payload))
{
	static unsigned char shared[SHARED + 1];
	bool aside = p->have;
	unsigned char *at = aside ? p->in : shared;
	size_t room = aside ? p->in_want - p->have : SHARED, have;
	ssize_t k = recv(p->sock, at + p->have, room, MSG_DONTWAIT);
	int rc;

	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (k <= 0)
		return -ECONNRESET;
	p->silent = 0;
	have = p->have + (size_t)k;
	rc = take_frames(p, at, &have, frame);
	return rc ? rc : put_aside(p, at, have);
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

/* Without a copy. How many bytes the peer has taken, or -errno. */
static ssize_t send_now(const struct peer *p, const void *head, size_t head_length,
			const char *text, size_t length)
{
	struct iovec iov[2] = { { (void *)head, head_length }, { (void *)text, length } };
	const struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n = sendmsg(p->sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n >= 0 ? n : errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

int peer_reply(struct peer *p, const struct sl_frame *to, int status, const char *text,
	       size_t length)
{
	static const char large[] = "the answer is too large";
	struct sl_frame f = { .type = SL_REPLY, .tag = to ? to->tag : 0, .status = status };
	unsigned char head[SL_SEALED_BYTES];
	size_t gone = 0;
	int rc;

	if (length > SL_MAX_PAYLOAD) {
		f.status = EMSGSIZE;
		text = large;
		length = sizeof(large) - 1;
	}
	f.length = (uint32_t)length;
	sl_frame_encode(&f, head);
	if (p->sealed)
		sl_seal(&p->session.out, head, 0, length ? text : NULL, length);
	if (!peer_waits(p)) {
		ssize_t n = send_now(p, head, head_of(p), text, length);

		if (n < 0)
			return (int)n;
		gone = (size_t)n;
	}
	if (gone < head_of(p) && (rc = put(p, head + gone, head_of(p) - gone)))
		return rc;
	gone = gone > head_of(p) ? gone - head_of(p) : 0;
	if (gone < length && (rc = put(p, text + gone, length - gone)))
		return rc;
	return peer_waits(p) ? peer_output(p) : 0;
}

/* ---- who it is ---- */

int peer_hello(struct peer *p, const char *hello)
{
	if (p->known || p->greeted)
		return -EPROTO;
	p->greeted = true;
	memcpy(p->hello, hello, SL_HELLO_BYTES);
	return 0;
}

int peer_challenge(struct peer *p, const char *secret)
{
	const struct sl_frame f = { .type = SL_CHALLENGE,
				    .tag = 1,
				    .length = SL_NONCE_BYTES + SL_PROOF_BYTES };
	unsigned char head[SL_FRAME_BYTES], proof[SL_PROOF_BYTES];
	int rc;

	if ((rc = sl_nonce(p->nonce)))
		return rc;
	p->challenged = true;
	snprintf(p->secret, sizeof(p->secret), "%s", secret);
	sl_auth_proof(p->secret, SL_SIDE_NODE, p->hello, p->nonce, proof);
	sl_frame_encode(&f, head);
	if ((rc = put(p, head, sizeof(head))) || (rc = put(p, p->nonce, SL_NONCE_BYTES)) ||
	    (rc = put(p, proof, sizeof(proof))))
		return rc;
	return peer_output(p);
}

bool peer_proves(struct peer *p, const char *proof)
{
	unsigned char wanted[SL_PROOF_BYTES];

	if (!p->challenged || p->known)
		return false;
	sl_auth_proof(p->secret, SL_SIDE_CLIENT, p->hello, p->nonce, wanted);
	if (!sl_auth_equal(wanted, (const unsigned char *)proof))
		return false;
	sl_auth_session(p->secret, SL_SIDE_NODE, p->hello, p->nonce, &p->session);
	p->sealed = true;
	return true;
}
