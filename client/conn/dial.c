/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connect to a node: its socket, the greeting, frames.
 *
 * How long to wait. A peer that does not answer the greeting within ANSWER_TIMEOUT_S is treated
 * as dead. Hanging up is safe then, since nothing has been requested yet. Later, hanging up on a
 * live node would be wrong: it may still execute a request after other nodes have moved on. So on
 * a Unix socket a silent node is waited for; the connection ends when the socket is closed, which
 * the kernel does when the node's last thread has ended. Over TCP there are leases: tcp.c.
 *
 * A process without a free descriptor or memory cannot connect. This does not concern the node and
 * has its own error.
 */
#include "client/conn/dial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/peer.h"
#include "base/secret.h"
#include "client/conn/settings.h"
#include "client/conn/tcp.h"

#define ANSWER_TIMEOUT_S 10
#define GREET_TIMEOUT_S	 3    /* over TCP, where another node may be tried */
#define REST_MS		 1000 /* of an answer that has begun */
#define DIAL_LINE	 256

/* Of this process alone. */
static bool lack(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS ||
	       error == ETOOMANYREFS;
}

static void set_timeout(int sock, int ms)
{
	const struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

static int dial_within(const char *address, int timeout_ms)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	bool tcp = !strncmp(address, TCP_PREFIX, strlen(TCP_PREFIX));
	int sock, high;

	sock = tcp ? tcp_dial(address + strlen(TCP_PREFIX), (timeout_ms + 999) / 1000)
		   : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0) {
		int error = tcp ? -sock : errno;

		return lack(error) ? -error : -ENOTCONN;
	}
	high = fcntl(sock, F_DUPFD_CLOEXEC, FD_FLOOR);
	if (high >= 0) {
		syscall(SYS_close, sock);
		sock = high;
	}
	if (tcp)
		return sock;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", address);
	set_timeout(sock, timeout_ms);
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr))) {
		int error = errno;

		syscall(SYS_close, sock);
		return lack(error) ? -error : -ENOTCONN;
	}
	/* A process of another user may listen there: send nothing to it. */
	if (sl_peer_trust(sock, addr.sun_path)) {
		syscall(SYS_close, sock);
		return -ENOTCONN;
	}
	return sock;
}

int dial_socket(const char *address)
{
	bool tcp = !strncmp(address, TCP_PREFIX, strlen(TCP_PREFIX));

	return dial_within(address, (tcp ? GREET_TIMEOUT_S : ANSWER_TIMEOUT_S) * 1000);
}

/* ---- frames ---- */

int dial_send(int sock, const void *bytes, size_t length, int fd)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, length };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control.space);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	}
	/* Frames that we send are far smaller than a socket buffer: all or nothing. */
	do
		n = sendmsg(sock, &m, MSG_NOSIGNAL);
	while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n == (ssize_t)length)
		return 0;
	/* EBADF means the descriptor to send: the socket has been checked before. */
	return n < 0 && (lack(errno) || (fd >= 0 && errno == EBADF)) ? -errno : -ENOTCONN;
}

/* Take up to two descriptors of a message; close any others. */
static void take_descriptors(struct msghdr *m, int fds[2])
{
	int got[2] = { -1, -1 };

	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h))
		if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS)
			memcpy(got, CMSG_DATA(h),
			       h->cmsg_len >= CMSG_LEN(sizeof(got)) ? sizeof(got) : sizeof(int));
	for (int i = 0; i < 2; i++) {
		if (got[i] >= 0 && fds && fds[i] < 0)
			fds[i] = got[i];
		else if (got[i] >= 0)
			syscall(SYS_close, got[i]);
	}
}

/*
 * Receive some bytes; descriptors in the message go to fds, unless it is NULL. -EMFILE: this
 * process had no room for them.
 */
static ssize_t receive(int sock, void *bytes, size_t length, int fds[2])
{
	struct iovec iov = { bytes, length };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control.space) };
	ssize_t n;

	do
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -EAGAIN : -ENOTCONN;
	if (n == 0)
		return -ENOTCONN;
	take_descriptors(&m, fds);
	return m.msg_flags & MSG_CTRUNC ? -EMFILE : n;
}

static int receive_all(int sock, void *bytes, size_t length, int fds[2])
{
	for (size_t have = 0; have < length;) {
		ssize_t n = receive(sock, (char *)bytes + have, length - have, fds);

		if (n < 0)
			return n == -EMFILE ? -EMFILE : -ENOTCONN;
		have += (size_t)n;
	}
	return 0;
}

int dial_receive(const struct conn *c, void *bytes, size_t length)
{
	for (size_t have = 0; have < length;) {
		ssize_t n = receive(c->sock, (char *)bytes + have, length - have, NULL);

		if (n == -EAGAIN) {
			conn_let_end();
			continue;
		}
		if (n < 0)
			return -ENOTCONN;
		have += (size_t)n;
	}
	return 0;
}

int dial_ask(struct conn *c, const char *line, char *text, size_t size)
{
	struct sl_frame f = { .type = SL_CONTROL, .tag = 4, .length = (uint32_t)strlen(line) };
	unsigned char out[SL_FRAME_BYTES + DIAL_LINE];

	if (c->via == &conn_tcp) {
		int status = tcp_ask(c, line, text, size);

		return status == GONE ? -ENOTCONN : status;
	}
	if (f.length > DIAL_LINE || !conn_ours(c))
		return -ENOTCONN;
	sl_frame_encode(&f, out);
	memcpy(out + SL_FRAME_BYTES, line, f.length);
	if (dial_send(c->sock, out, SL_FRAME_BYTES + f.length, -1) ||
	    dial_receive(c, out, SL_FRAME_BYTES) || sl_frame_decode(out, &f) ||
	    f.type != SL_REPLY || f.length >= size || dial_receive(c, text, f.length))
		return -ENOTCONN;
	text[f.length] = 0;
	return f.status;
}

/* ---- the greeting ---- */

static int map_memory(struct conn *c, const struct sl_welcome *w, int fds[2])
{
	if (fds[1] < 0 || w->segment_bytes != SL_SEGMENT_BYTES ||
	    w->bells_bytes != sizeof(struct sl_bells) || w->workers < 1 ||
	    w->workers > SL_SHM_WORKERS || w->client >= SL_SHM_CLIENTS)
		return EPROTO;
	c->segment = mmap(NULL, SL_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	if (c->segment == MAP_FAILED) {
		c->segment = NULL;
		return lack(errno) ? -errno : EPROTO;
	}
	c->bells =
		mmap(NULL, sizeof(struct sl_bells), PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	if (c->bells == MAP_FAILED) {
		c->bells = NULL;
		return lack(errno) ? -errno : EPROTO;
	}
	c->via = &conn_shm;
	c->index = w->client;
	c->workers = w->workers;
	atomic_store(&c->free_slots, (UINT64_C(1) << SL_SHM_SLOTS) - 1);
	set_timeout(c->sock, 1000);
	return 0;
}

/* The node's own message, if it sent one. */
static int refused(const struct conn *c, const struct sl_frame *f, char refusal[REFUSAL_BYTES])
{
	size_t length = f->length < REFUSAL_BYTES ? f->length : REFUSAL_BYTES - 1;

	if (f->status == 0)
		return EPROTO;
	snprintf(refusal, REFUSAL_BYTES, "errno %d", f->status);
	if (length) {
		memset(refusal, 0, REFUSAL_BYTES);
		receive_all(c->sock, refusal, length, NULL);
	}
	for (char *at = refusal; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	return f->status;
}

static int take_welcome(struct conn *c, const unsigned char *payload, int fds[2])
{
	struct sl_welcome w;

	if (sl_welcome_decode(payload, SL_WELCOME_BYTES, &w) ||
	    !(w.caps & SL_CAP_SHM) != client_settings()->tcp)
		return EPROTO;
	c->epoch = w.epoch;
	return fds ? map_memory(c, &w, fds) : 0;
}

static int answer_to_hello(struct conn *c, int fds[2], char refusal[REFUSAL_BYTES])
{
	unsigned char head[SL_FRAME_BYTES], payload[SL_WELCOME_BYTES];
	struct sl_frame f;
	int rc = receive_all(c->sock, head, sizeof(head), fds);

	if (rc)
		return rc;
	if (sl_frame_decode(head, &f))
		return -ENOTCONN;
	if (f.type == SL_REPLY)
		return refused(c, &f, refusal);
	if (f.type != SL_WELCOME || receive_all(c->sock, payload, sizeof(payload), NULL))
		return EPROTO;
	return take_welcome(c, payload, fds);
}

/* The answer to PROOF: a REPLY that refuses, or WELCOME, sealed. */
static int answer_to_proof(struct conn *c, char refusal[REFUSAL_BYTES])
{
	unsigned char head[SL_SEALED_BYTES], payload[SL_WELCOME_BYTES];
	struct sl_frame f;
	uint64_t stamp;
	int rc;

	if (sl_greet_receive(c->sock, head, SL_FRAME_BYTES) || sl_frame_decode(head, &f))
		return -ENOTCONN;
	if (f.type == SL_REPLY)
		return refused(c, &f, refusal);
	if (f.type != SL_WELCOME ||
	    sl_greet_receive(c->sock, head + SL_FRAME_BYTES, SL_SEAL_BYTES) ||
	    sl_greet_receive(c->sock, payload, sizeof(payload)) ||
	    !sl_unseal(&c->session.in, head, payload, sizeof(payload), &stamp))
		return -ENOTCONN;
	c->session.in.count++;
	c->via = &conn_tcp;
	rc = take_welcome(c, payload, NULL);
	if (!rc)
		tcp_settle(c, stamp);
	return rc;
}

static int greet_tcp(struct conn *c, struct sl_hello *hello, char refusal[REFUSAL_BYTES])
{
	char secret[SL_SECRET_BYTES];
	struct sl_frame f;
	int rc;

	if (sl_secret_read(client_settings()->secret_file, secret)) {
		snprintf(refusal, REFUSAL_BYTES,
			 "cannot use the secret in SLUICE_SECRET_FILE=%.80s",
			 client_settings()->secret_file);
		return EPERM;
	}
	rc = sl_greet(c->sock, hello, secret, &c->session, &f);
	if (rc > 0)
		return refused(c, &f, refusal);
	if (rc == -EACCES) {
		snprintf(refusal, REFUSAL_BYTES, "it does not know our secret");
		return EACCES;
	}
	return rc ? rc : answer_to_proof(c, refusal);
}

int dial_greet(struct conn *c, char refusal[REFUSAL_BYTES])
{
	struct sl_frame f = { .type = SL_HELLO, .length = SL_HELLO_BYTES, .tag = 1 };
	unsigned char bytes[SL_FRAME_BYTES + SL_HELLO_BYTES];
	struct sl_hello hello = client_settings()->hello;
	int fds[2] = { -1, -1 }, rc;

	snprintf(refusal, REFUSAL_BYTES, "it does not speak as this library does");
	hello.pid = (uint32_t)getpid();
	if (client_settings()->tcp)
		return greet_tcp(c, &hello, refusal);
	sl_frame_encode(&f, bytes);
	sl_hello_encode(&hello, bytes + SL_FRAME_BYTES);
	rc = dial_send(c->sock, bytes, sizeof(bytes), -1);
	if (!rc)
		rc = answer_to_hello(c, fds, refusal);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			syscall(SYS_close, fds[i]);
	return rc;
}

/* ---- control lines ---- */

#define CONTROL_BYTES 4096

int sl_client_control_begin(const char *socket_path, const char *line, int timeout_ms)
{
	struct sl_frame f = { .type = SL_CONTROL, .length = (uint32_t)strlen(line) };
	unsigned char whole[SL_FRAME_BYTES + CONTROL_BYTES]; /* each send would wake the node */
	int sock;

	if (strlen(socket_path) >= SOCKET_BYTES || f.length > CONTROL_BYTES)
		return -ENAMETOOLONG;
	sock = dial_within(socket_path, timeout_ms > 0 ? timeout_ms : 1);
	if (sock < 0)
		return sock;
	sl_frame_encode(&f, whole);
	memcpy(whole + SL_FRAME_BYTES, line, f.length);
	if (!dial_send(sock, whole, SL_FRAME_BYTES + f.length, -1))
		return sock;
	close(sock);
	return -ENOTCONN;
}

int sl_client_control_end(int sock, int timeout_ms, char **answer)
{
	unsigned char head[SL_FRAME_BYTES];
	struct sl_frame f;
	int rc = -ENOTCONN;

	*answer = NULL;
	if (sock < 0)
		return sock;
	set_timeout(sock, timeout_ms > 0 ? timeout_ms : 1); /* 0 would mean no timeout */
	if (!receive_all(sock, head, sizeof(head), NULL) && !sl_frame_decode(head, &f)) {
		if (timeout_ms < REST_MS)
			set_timeout(sock, REST_MS);
		*answer = calloc(1, (size_t)f.length + 1);
		rc = !*answer ? -ENOMEM : receive_all(sock, *answer, f.length, NULL);
		rc = rc ? rc : -f.status;
	}
	close(sock);
	return rc;
}

int sl_client_control(const char *socket_path, const char *line, char **answer)
{
	int sock = sl_client_control_begin(socket_path, line, ANSWER_TIMEOUT_S * 1000);

	return sl_client_control_end(sock, ANSWER_TIMEOUT_S * 1000, answer);
}
