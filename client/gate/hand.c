/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter belongs to a thread and cannot be removed. So a second thread of this process installs
 * it. When a keeper has its listener, that thread extends it to all threads; if no keeper has it,
 * the thread ends, and the process continues without a gate.
 *
 *	this process ── clone ──► spare ── clone ──► keeper
 *	thread: seccomp()
 *	listener     ── over a socket ─► keeper, or spare
 *	thread: seccomp(TSYNC), end
 *
 * The spare replaces the keeper if the keeper dies in this moment; otherwise it exits. After the
 * filter is installed, every new process would be behind it.
 */
#include "client/gate/hand.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/gate/filter.h"

/* ---- the listener ---- */

int gate_receive(int sock)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *h;
	int listener;

	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) != 1 || !(h = CMSG_FIRSTHDR(&m)))
		return -1;
	memcpy(&listener, CMSG_DATA(h), sizeof(listener));
	return listener;
}

static bool send_listener(int sock, int listener)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	char byte = 'l';
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &listener, sizeof(listener));
	return sendmsg(sock, &m, MSG_NOSIGNAL) == 1;
}

/* The keeper has got so far. */
static bool is_ready(int sock)
{
	char byte;

	return recv(sock, &byte, 1, 0) == 1;
}

static bool hand_over(int sock, int listener)
{
	return send_listener(sock, listener) && is_ready(sock);
}

/* ---- the keepers ---- */

pid_t gate_fork(void)
{
	return (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
}

static void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

/*
 * Start two processes that are ready to be the keeper: an orphan, and a child of this process. The
 * child, or negative errno.
 */
static pid_t start_keepers(gate_keepers *keepers, void *arg, int *sock, int *spare)
{
	int first[2], second[2], error;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, first))
		return -errno;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, second)) {
		error = errno;
		close(first[0]);
		close(first[1]);
		return -error;
	}
	pid = gate_fork();
	if (pid == 0) {
		keepers(first[1], second[1], arg);
		_exit(1);
	}
	close(first[1]);
	close(second[1]);
	*sock = first[0];
	*spare = second[0];
	if (pid > 0 && is_ready(*sock) && is_ready(*spare))
		return pid;
	close(*sock);
	close(*spare);
	if (pid > 0)
		wait_for(pid);
	return -ECHILD;
}

/* ---- the filter ---- */

struct helper {
	pthread_t thread;
	unsigned options;
	int listener;
	sem_t installed, decided;
	bool kept; /* a keeper has the listener */
	int rc;
};

static void *help(void *arg)
{
	struct helper *h = arg;

	h->listener = gate_install(h->options);
	h->rc = h->listener < 0 ? h->listener : 0;
	sem_post(&h->installed);
	/* From here on read() and write() of this thread wait for the supervisor. */
	while (sem_wait(&h->decided))
		;
	if (!h->rc)
		h->rc = h->kept ? gate_spread() : -ECHILD;
	return NULL;
}

static int start_helper(struct helper *h)
{
	sigset_t all, old;
	int rc;

	sem_init(&h->installed, 0, 0);
	sem_init(&h->decided, 0, 0);
	/* Handlers of this process do not run behind the filter. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&h->thread, NULL, help, h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return -rc;
	while (sem_wait(&h->installed))
		;
	return 0;
}

int gate_put_on(unsigned options, gate_keepers *keepers, void *arg)
{
	struct helper h = { .options = options };
	int sock = -1, spare = -1, rc;
	bool spared = false;
	struct gate_kernel k;
	pid_t pid;

	if (gate_state() != GATE_OFF)
		return 0;
	gate_kernel(&k);
	if (!k.notify)
		return -ENOSYS;
	pid = start_keepers(keepers, arg, &sock, &spare);
	if (pid < 0)
		return pid;
	rc = start_helper(&h);
	if (!rc && h.listener >= 0) {
		h.kept = hand_over(sock, h.listener);
		if (!h.kept)
			spared = h.kept = hand_over(spare, h.listener);
		close(h.listener);
	}
	close(sock);
	close(spare);
	if (!spared)
		wait_for(pid); /* it ends, having no listener */
	if (rc)
		return rc;
	sem_post(&h.decided);
	pthread_join(h.thread, NULL);
	return h.rc;
}
