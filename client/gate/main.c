/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice-gate: put a gate before a program, and become that program.
 *
 *	sluice-gate [NAME=VALUE]... -- PATH ARGV0 [ARGUMENT]...
 *	sluice-gate [NAME=VALUE]... --fd N ARGV0 [ARGUMENT]...        (--open-fd: it stays open)
 *
 * A gate is a seccomp filter (filter.c) that stops data calls of the program and its children until
 * a supervisor (serve.c) has them continued: for programs that the preloaded library cannot be in.
 * `sluice run` starts this program, and so does the preloaded library when a process is about to
 * exec such a program (client/preload/exec.c). The environment is the program's own; NAME=VALUE is what
 * the supervisor has to know besides.
 *
 *	this process ── clone, clone ──► keeper ── fork ──► supervisor
 *	seccomp()
 *	listener     ── over a socket ─► keeper
 *	exec PATH
 *
 * Keeper and supervisor are no children of the program, are in a session of their own, and have
 * nothing of the program open. If anything fails the program runs without a gate, and a line says
 * so.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/conn/settings.h"
#include "client/gate/filter.h"
#include "client/gate/serve.h"

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* As fork(), but no signal is sent when it ends: the program may wait for SIGCHLD. */
static pid_t fork_silently(void)
{
	return (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
}

/* ---- the keeper ---- */

static void detach(int keep)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct rlimit cpu;
	sigset_t none;

	setsid();
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (getrlimit(RLIMIT_CPU, &cpu) == 0) {
		cpu.rlim_cur = cpu.rlim_max;
		setrlimit(RLIMIT_CPU, &cpu);
	}
	if (chdir("/"))
		return;
	dup2(keep, 3);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close_range(4, ~0U, 0);
}

static int receive_listener(int sock)
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

static _Noreturn void keeper(int sock)
{
	struct gate g = { 0 };

	detach(sock);
	sock = 3;
	if (!client_settings()->enabled || !gate_share(&g) || send(sock, "r", 1, 0) != 1)
		_exit(1);
	g.listener = receive_listener(sock);
	if (g.listener < 0)
		_exit(1); /* the filter could not be installed */
	gate_sync_wake_up(g.listener);
	send(sock, "k", 1, 0);
	close(sock);
	gate_keep(&g, 0);
}

/* The socket to a keeper that is ready; or negative errno. */
static int start_keeper(char **words, int count)
{
	int pair[2], status = 0;
	char byte;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid = fork_silently();
	if (pid == 0) {
		for (int i = 0; i < count; i++)
			putenv(words[i]);
		pid = fork_silently();
		if (pid == 0)
			keeper(pair[1]);
		_exit(pid < 0 ? 1 : 0);
	}
	close(pair[1]);
	while (pid > 0 && waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
	if (pid < 0 || status || recv(pair[0], &byte, 1, 0) != 1) {
		close(pair[0]);
		return -ECHILD;
	}
	return pair[0];
}

/* ---- the program ---- */

/* 0, or negative errno. */
static int put_on(char **words, int count)
{
	const char *uring = getenv("SLUICE_IO_URING");
	unsigned options = uring && !strcmp(uring, "allow") ? GATE_URING : 0;
	int sock, listener, rc = 0;
	struct gate_kernel k;
	char byte;

	for (int i = 0; i < count; i++)
		if (!strcmp(words[i], "SLUICE_IO_URING=allow"))
			options |= GATE_URING;
	if (gate_is_on())
		return 0;
	gate_kernel(&k);
	if (!k.notify)
		return -ENOSYS;
	sock = start_keeper(words, count);
	if (sock < 0)
		return sock;
	listener = gate_install(options);
	/* From here on read() and write() wait for the supervisor. */
	if (listener < 0 || !send_listener(sock, listener) || recv(sock, &byte, 1, 0) != 1)
		rc = listener < 0 ? listener : 0;
	close(sock);
	if (listener >= 0)
		close(listener);
	return rc;
}

static const char *why(int error)
{
	switch (error) {
	case -ENOSYS:
		return "this kernel has no seccomp user notification (Linux 5.9)";
	case -EBUSY:
		return "another program supervises its system calls";
	case -ECHILD:
		return "the supervisor could not be started";
	default:
		return strerror(-error);
	}
}

int main(int argc, char **argv)
{
	int at = 1, fd = -1, rc;

	while (at < argc && argv[at][0] != '-' && strchr(argv[at], '='))
		at++;
	if (at + 1 < argc && (!strcmp(argv[at], "--fd") || !strcmp(argv[at], "--open-fd")))
		fd = atoi(argv[at + 1]);
	if (at + 2 >= argc || (fd < 0 && strcmp(argv[at], "--") != 0)) {
		fputs("usage: sluice-gate [NAME=VALUE]... -- PATH ARGV0 [ARGUMENT]...\n", stderr);
		return 2;
	}
	if (fd >= 0 && !strcmp(argv[at], "--fd"))
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	rc = put_on(argv + 1, at - 1);
	if (rc)
		dprintf(2, "sluice: %s is not scheduled: %s\n", argv[at + 2], why(rc));
	if (fd >= 0)
		syscall(SYS_execveat, fd, "", argv + at + 2, environ, AT_EMPTY_PATH);
	else
		execve(argv[at + 1], argv + at + 2, environ);
	rc = errno;
	dprintf(2, "sluice: cannot run %s: %s\n", argv[at + 1], strerror(rc));
	return rc == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}
