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
 * children until a supervisor (serve.c) has them continued: for programs that the preloaded
 * library cannot be in. `sluice run` starts this program, and so does the preloaded library when
 * a process is about to exec such a program (client/preload/exec.c). The environment is the
 * program's own; NAME=VALUE are further settings for the supervisor.
 *
 *	this process ── clone ──► spare ── clone ──► keeper ── fork ──► supervisor
 *	its other thread: seccomp()
 *	listener     ── over a socket ─► keeper
 *	its other thread: exec PATH
 *
 * The spare becomes the keeper if the other one dies during this; else it ends. Keeper and
 * supervisor are not children of the program, are in a session of their own, and have none of its
 * files open. If anything fails the program runs without a gate, and a line says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
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
#include "client/gate/hand.h"
#include "client/gate/program.h"
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
	pid_t pid = fork_silently();

	if (pid == 0)
		keeper(sock);
	close(sock);
	if (pid < 0)
		_exit(1);
	keeper(spare);
}

static void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

/*
 * Start two processes that are ready to be the keeper: an orphan, and a child of this process,
 * which ends when it is not needed. Both start before the filter is installed, since every later
 * process would be behind it. The child, or negative errno.
 */
static pid_t start_keeper(char **words, int count, int *sock, int *spare)
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
	pid = fork_silently();
	if (pid == 0) {
		for (int i = 0; i < count; i++)
			putenv(words[i]);
		keepers(first[1], second[1]);
	}
	close(first[1]);
	close(second[1]);
	*sock = first[0];
	*spare = second[0];
	if (pid > 0 && gate_ready(*sock) && gate_ready(*spare))
		return pid;
	close(*sock);
	close(*spare);
	if (pid > 0)
		wait_for(pid);
	return -ECHILD;
}

/* ---- the program ---- */

/* In the environment that the program is to have. */
static bool has_library(void)
{
	const char *libraries = getenv("LD_PRELOAD");

	return libraries && strstr(libraries, "libsluice_preload.so");
}

/*
 * The library counts the metadata calls of programs that it is in. A compiler makes thousands, which would take a fifth
 * longer if the supervisor were asked. So they are caught only if the library is not in the program that
 * the gate is put before, or if nothing may pass.
 */
static unsigned options_for(const char *path, int fd, bool strict)
{
	enum gate_need need = fd < 0 ? gate_look(path, true) : gate_look_fd(fd, true);

	if (strict)
		return GATE_STRICT;
	return need == GATE_NONE && has_library() ? 0 : GATE_OPS;
}

/* What is to be executed. */
struct program {
	char **argv;	  /* beginning with its path, or with the descriptor's number */
	int fd;		  /* negative: by path */
	unsigned options; /* of its gate */
	int listener;
	sem_t installed, supervised;
};

static _Noreturn void become(const struct program *p)
{
	char **argv = p->argv;
	int error;

	if (p->fd >= 0)
		syscall(SYS_execveat, p->fd, "", argv + 1, environ, AT_EMPTY_PATH);
	else
		execve(argv[0], argv + 1, environ);
	if (p->fd < 0 && errno == ENOEXEC) { /* a script that does not say of which shell */
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

/*
 * A filter is for a thread, and for good. So another thread installs it and executes the program:
 * that thread becomes the process. If no supervisor can be started, this thread goes on without a
 * gate.
 */
static void *gated(void *arg)
{
	struct program *p = arg;

	p->listener = gate_install(p->options);
	sem_post(&p->installed);
	/* From here on read() and write() wait for the supervisor. */
	while (sem_wait(&p->supervised))
		;
	become(p);
}

static int start_gated(struct program *p)
{
	pthread_t thread;

	sem_init(&p->installed, 0, 0);
	sem_init(&p->supervised, 0, 0);
	if (pthread_create(&thread, NULL, gated, p))
		return -EAGAIN;
	while (sem_wait(&p->installed))
		;
	return p->listener < 0 ? p->listener : 0;
}

/* Does not return if there is a gate then: another thread becomes the program. Negative errno, or
 * 0: there was one before. */
static int put_on(char **words, int count, struct program *p)
{
	const char *uring = getenv("SLUICE_IO_URING");
	int sock = -1, spare = -1, rc;
	bool kept, spared;
	struct gate_kernel k;
	pid_t pid;

	if (uring && !strcmp(uring, "allow"))
		p->options |= GATE_URING;
	for (int i = 0; i < count; i++)
		if (!strcmp(words[i], "SLUICE_IO_URING=allow"))
			p->options |= GATE_URING;
	if (gate_state() != GATE_OFF)
		return 0;
	gate_kernel(&k);
	if (!k.notify)
		return -ENOSYS;
	pid = start_keeper(words, count, &sock, &spare);
	if (pid < 0)
		return pid;
	rc = start_gated(p);
	kept = !rc && gate_hand_over(sock, p->listener);
	spared = !rc && !kept && gate_hand_over(spare, p->listener);
	close(sock);
	close(spare);
	if (!rc)
		close(p->listener);
	if (!spared)
		wait_for(pid); /* it ends, having no listener */
	if (!kept && !spared)
		return rc ? rc : -ECHILD;
	sem_post(&p->supervised);
	for (;;)
		pause();
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
	struct program p;
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
	p = (struct program){ .argv = argv + at + 1, .fd = fd };
	p.options = options_for(p.argv[0], fd, strict);
	rc = put_on(argv + 1, at - 1, &p);
	if (rc)
		dprintf(2, "sluice: %s is not %s: %s\n", p.argv[1],
			strict ? "run, since --strict was asked for" : "scheduled", why(rc));
	if (rc && strict)
		_exit(EXIT_NOT_EXECUTABLE); /* not exit(): the other thread may be behind the filter */
	become(&p);
}
