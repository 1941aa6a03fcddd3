/* SPDX-License-Identifier: Apache-2.0 */
/* A bare file server over TCP and its client: see bare.h. */
#include "lab/bench/bare.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"

#define CALL_MAX (1U << 20)

struct bare_request {
	uint64_t at;
	uint32_t size;
	uint16_t file;
	uint16_t write;
};

static clockid_t bare_clock; /* of the server */
static const char *bare_dir; /* in the server */

/* ---- both ends ---- */

static bool receive_all(int sock, void *data, size_t size)
{
	return size == 0 || recv(sock, data, size, MSG_WAITALL) == (ssize_t)size;
}

static bool send_all(int sock, const void *head, size_t head_size, const void *data, size_t size)
{
	struct iovec iov[2] = { { (void *)(uintptr_t)head, head_size },
				{ (void *)(uintptr_t)data, size } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	size_t left = head_size + size;

	while (left) {
		ssize_t n = sendmsg(sock, &m, MSG_NOSIGNAL);

		if (n < 0)
			return false;
		left -= (size_t)n;
		for (unsigned i = 0; i < 2; i++) {
			size_t part = (size_t)n < iov[i].iov_len ? (size_t)n : iov[i].iov_len;

			iov[i].iov_base = (char *)iov[i].iov_base + part;
			iov[i].iov_len -= part;
			n -= (ssize_t)part;
		}
	}
	return true;
}

static void no_delay(int sock)
{
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

/* ---- the server ---- */

static bool serve_one(int sock, const struct bare_request *r, int fd, char *buffer)
{
	int64_t result;

	if (r->size > CALL_MAX || (r->write && !receive_all(sock, buffer, r->size)))
		return false;
	result = r->write ? pwrite(fd, buffer, r->size, (off_t)r->at)
			  : pread(fd, buffer, r->size, (off_t)r->at);
	return send_all(sock, &result, sizeof(result), buffer,
			!r->write && result > 0 ? (size_t)result : 0);
}

/* A connection has one file. */
static void *serve(void *arg)
{
	int sock = (int)(intptr_t)arg, fd = -1;
	char *buffer = aligned_alloc(4096, CALL_MAX);
	struct bare_request r;

	no_delay(sock);
	while (buffer && receive_all(sock, &r, sizeof(r))) {
		char path[PATH_MAX + 16];

		if (fd < 0) {
			snprintf(path, sizeof(path), "%s/%u", bare_dir, r.file);
			fd = open(path, O_RDWR | O_CLOEXEC);
		}
		if (!serve_one(sock, &r, fd, buffer))
			break;
	}
	if (fd >= 0)
		close(fd);
	close(sock);
	free(buffer);
	return NULL;
}

static int server_main(void *arg, int parent)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t length = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned port;

	bare_dir = arg;
	if (listener < 0 || bind(listener, (struct sockaddr *)&at, length) ||
	    listen(listener, 64) || getsockname(listener, (struct sockaddr *)&at, &length))
		return CLI_FAILED; /* cppcheck-suppress resourceLeak ; the process ends */
	port = ntohs(at.sin_port);
	if (!private_send(parent, &port, sizeof(port)))
		return CLI_FAILED; /* cppcheck-suppress resourceLeak ; the process ends */
	for (;;) {
		int sock = accept4(listener, (struct sockaddr *)&at, &length, SOCK_CLOEXEC);
		pthread_t thread;

		if (sock < 0)
			return CLI_FAILED;
		if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)sock))
			close(sock);
		else
			pthread_detach(thread);
	}
}

unsigned bare_start(struct private *p)
{
	int number = private_spawn(p, "bare", NULL, server_main, p->dir);
	unsigned port = 0;

	if (number >= 0 && (!private_receive(p->proc[number].sock, &port, sizeof(port)) ||
			    clock_getcpuclockid(p->proc[number].pid, &bare_clock)))
		port = 0;
	if (!port && !private_interrupted)
		cli_fail(p->cmd, "cannot start a bare server on 127.0.0.1.");
	return port;
}

int64_t bare_cpu_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(bare_clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- the client ---- */

int bare_connect(unsigned port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (sock < 0)
		return -1;
	if (connect(sock, (struct sockaddr *)&at, sizeof(at))) {
		int error = errno;

		close(sock);
		errno = error;
		return -1;
	}
	no_delay(sock);
	return sock;
}

ssize_t bare_call(int sock, bool write, unsigned file, void *buffer, uint32_t size, uint64_t at)
{
	struct bare_request r = { at, size, (uint16_t)file, write };
	int64_t result;

	if (!send_all(sock, &r, sizeof(r), buffer, write ? size : 0) ||
	    !receive_all(sock, &result, sizeof(result)))
		return -1;
	if (!write && result > 0 && !receive_all(sock, buffer, (size_t)result))
		return -1;
	return (ssize_t)result;
}
