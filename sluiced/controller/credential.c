/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials, opened by a thread: see credential.h. Both sides of a socket pair, a message each.
 */
#include "sluiced/controller/credential.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void *worker(void *arg)
{
	const struct credentials *c = arg;
	struct credential_asked a;
	ssize_t n;

	while ((n = recv(c->worker_fd, &a, sizeof(a), 0)) != 0) {
		struct credential_found f = { .peer = a.peer };

		if (n != sizeof(a))
			continue;
		f.rc = sl_munge_take(c->munge, geteuid(), a.nonce, a.address, a.text, f.secret,
				     f.why);
		if (send(c->worker_fd, &f, sizeof(f), MSG_NOSIGNAL) < 0)
			break;
	}
	close(c->worker_fd);
	return NULL;
}

int credential_start(struct credentials *c)
{
	pthread_t thread;
	int fd[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return -errno;
	c->fd = fd[0];
	c->worker_fd = fd[1];
	rc = pthread_create(&thread, NULL, worker, c);
	/* Nobody waits for its end: it may be waiting for munged. */
	return rc ? -rc : -pthread_detach(thread);
}

void credential_stop(struct credentials *c)
{
	if (c->munge)
		close(c->fd);
}

bool credential_ask(const struct credentials *c, const struct credential_asked *asked)
{
	return send(c->fd, asked, sizeof(*asked), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(*asked);
}

bool credential_next(const struct credentials *c, struct credential_found *found)
{
	return recv(c->fd, found, sizeof(*found), MSG_DONTWAIT) == sizeof(*found);
}
