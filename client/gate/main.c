/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice-gate: put a gate before a program, and become that program.
 *
 *	sluice-gate [NAME=VALUE]... -- PATH ARGV0 [ARGUMENT]...
 *	sluice-gate [NAME=VALUE]... --fd N ARGV0 [ARGUMENT]...        (--open-fd: it stays open)
 *	sluice-gate --keep N M       keeper and spare alone, at these sockets: another process, which
 *	                             may be root, installs the filter (integrate/slurm/gate.c)
 *
 * A gate is a seccomp filter (filter.c) that stops data and metadata calls of the program and its
 * children until a supervisor (serve.c) lets them continue. It is for programs that cannot load the
 * preloaded library. `sluice run` starts this program, and so does the preloaded library when a
 * process is about to exec such a program (client/preload/exec.c). The environment is the program's
 * own; NAME=VALUE are further settings for the supervisor.
 *
 *	this process ── clone ──► spare ── clone ──► keeper ── fork ──► supervisor
 *	seccomp(), by another thread: hand.c
 *	listener     ── over a socket ─► keeper
 *	exec PATH
 *
 * Keeper and supervisor are not children of the program, are in a session of their own, and have
 * none of its files open. If anything fails the program runs without a gate, and a line says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/conn/settings.h"
#include "client/gate/filter.h"
#include "client/gate/hand.h"
#include "client/gate/program.h"
#include "client/gate/serve.h"

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* ---- the keeper ---- */

static void detach(int keep)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	static const int limits[] = { RLIMIT_CPU, RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_DATA };
	struct rlimit limit;
	sigset_t none;

	setsid();
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* They are for the program. */
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (getrlimit(limits[i], &limit) == 0) {
			limit.rlim_cur = limit.rlim_max;
			setrlimit(limits[i], &limit);
		}
	if (chdir("/"))
		return;
	dup2(keep, 3);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close_range(4, ~0U, 0);
}

static _Noreturn void keeper(int sock)
{
	const char *wake = getenv("SLUICE_GATE_WAKE");
	struct gate g = { 0 };

	detach(sock);
	sock = 3;
	if (!client_settings()->enabled || !gate_share(&g) || send(sock, "r", 1, MSG_NOSIGNAL) != 1)
		_exit(1);
	g.listener = gate_receive(sock);
	if (g.listener < 0)
		_exit(0); /* it is not needed, or the filter could not be installed */
	if (!wake || strcmp(wake, "async") != 0)
		gate_sync_wake_up(g.listener);
	send(sock, "k", 1, MSG_NOSIGNAL);
	close(sock);
	gate_keep(&g, 0);
}

/* Two processes that are ready to be the keeper. */
static _Noreturn void keepers(int sock, int spare)
{
	pid_t pid = gate_fork();

	if (pid == 0)
		keeper(sock);
	close(sock);
	if (pid < 0)
		_exit(1);
	keeper(spare);
}

/* NAME=VALUE of the command line: settings for the supervisor. */
struct words {
	char **word;
	int count;
};

static void keepers_with(int sock, int spare, void *arg)
{
	const struct words *w = arg;

	for (int i = 0; i < w->count; i++)
		putenv(w->word[i]);
	keepers(sock, spare);
}

/* ---- the program ---- */

/* In the environment that the program is to have. */
static bool has_library(void)
{
	const char *libraries = getenv("LD_PRELOAD");

	return libraries && strstr(libraries, "libsluice_preload.so");
}

/*
 * The library counts the metadata calls of programs that load it. A compiler makes thousands, which
 * would take a fifth longer through the supervisor. So the gate intercepts them only if the program
 * does not load the library, or if the gate is strict.
 */
static unsigned options_for(const char *path, int fd, bool strict)
{
	enum gate_need need = fd < 0 ? gate_look(path, true) : gate_look_fd(fd, true);

	if (strict)
		return GATE_STRICT;
	return need == GATE_NONE && has_library() ? 0 : GATE_OPS;
}

/* argv: beginning with its path, or with the descriptor's number. fd: negative: by path. */
static _Noreturn void become(char **argv, int fd)
{
	int error;

	if (fd >= 0)
		syscall(SYS_execveat, fd, "", argv + 1, environ, AT_EMPTY_PATH);
	else
		execve(argv[0], argv + 1, environ);
	if (fd < 0 && errno == ENOEXEC) { /* a script that does not say of which shell */
		char *path = argv[0];

		argv[0] = (char *)(uintptr_t) "sh";
		argv[1] = path;
		execve("/bin/sh", argv, environ);
		argv[0] = path;
		errno = ENOEXEC;
	}
	error = errno;
	dprintf(2, "sluice: cannot run %s: %s\n", argv[0], strerror(error));
	_exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

static int put_on(const struct words *w, unsigned options)
{
	const char *uring = getenv("SLUICE_IO_URING");

	if (uring && !strcmp(uring, "allow"))
		options |= GATE_URING;
	for (int i = 0; i < w->count; i++)
		if (!strcmp(w->word[i], "SLUICE_IO_URING=allow"))
			options |= GATE_URING;
	return gate_put_on(options, keepers_with, (void *)(uintptr_t)w);
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
	const char *word = getenv("SLUICE_STRICT");
	bool strict = word && !strcmp(word, "1");
	struct words words;
	int at = 1, fd = -1, rc;

	if (argc == 4 && !strcmp(argv[1], "--keep"))
		keepers(atoi(argv[2]), atoi(argv[3]));
	for (; at < argc && argv[at][0] != '-' && strchr(argv[at], '='); at++)
		strict |= !strcmp(argv[at], "SLUICE_STRICT=1");
	if (at + 1 < argc && (!strcmp(argv[at], "--fd") || !strcmp(argv[at], "--open-fd")))
		fd = atoi(argv[at + 1]);
	if (at + 2 >= argc || (fd < 0 && strcmp(argv[at], "--") != 0)) {
		fputs("usage: sluice-gate [NAME=VALUE]... -- PATH ARGV0 [ARGUMENT]...\n", stderr);
		return 2;
	}
	if (fd >= 0 && !strcmp(argv[at], "--fd"))
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	words = (struct words){ .word = argv + 1, .count = at - 1 };
	argv += at + 1;
	rc = put_on(&words, options_for(argv[0], fd, strict));
	if (rc)
		dprintf(2, "sluice: %s is not %s: %s\n", argv[1],
			strict ? "run, since --strict was asked for" : "scheduled", why(rc));
	if (rc && strict)
		return EXIT_NOT_EXECUTABLE;
	become(argv, fd);
}
