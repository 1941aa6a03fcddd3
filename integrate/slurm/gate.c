/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gate (client/gate/main.c) that root puts before a task before Slurm makes it the user's.
 *
 *	task, root ── clone ──► spare ── clone ──► keeper ── fork ──► supervisor    all the user's
 *	seccomp()
 *	listener   ── over a socket ─► keeper
 *	the user's, exec
 *
 * Root may install a filter without no_new_privs, so programs that change their user id (sudo,
 * ping, a site's own) work as before; the user cannot take it off, nor be without it. The
 * supervisor has to be the user's: it reads the arguments of the job's calls.
 */
#include "integrate/slurm/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/gate/filter.h"
#include "client/gate/hand.h"

/* As fork(), but no signal is sent when it ends: the task may wait for SIGCHLD. */
static pid_t fork_silently(void)
{
	return (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
}

static _Noreturn void keepers(const struct command_user *u, const char *program, int sock,
			      int spare)
{
	char numbers[2][16];
	const char *const words[] = { program, "--keep", numbers[0], numbers[1], NULL };
	sigset_t none;
	/* Above all that the task has open: the two are all that it is given. */
	int first = fcntl(sock, F_DUPFD, 3), second = fcntl(spare, F_DUPFD, 3);

	snprintf(numbers[0], sizeof(numbers[0]), "%d", first);
	snprintf(numbers[1], sizeof(numbers[1]), "%d", second);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (first >= 0 && second >= 0 && command_become(u))
		execve(program, (char *const *)words, u->environment);
	_exit(127);
}

static void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

int gate_put_on(const struct command_user *u, const char *program, bool strict)
{
	int first[2], second[2], listener, rc = 0;
	bool spared = true;
	pid_t pid;

	if (gate_state() != GATE_OFF)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, first))
		return -errno;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, second)) {
		rc = -errno;
		close(first[0]);
		close(first[1]);
		return rc;
	}
	pid = fork_silently();
	if (pid == 0)
		keepers(u, program, first[1], second[1]);
	close(first[1]);
	close(second[1]);
	if (pid < 0 || !gate_ready(first[0]) || !gate_ready(second[0])) {
		rc = -ECHILD;
	} else {
		listener = gate_install(strict ? GATE_STRICT : 0);
		/* From here on read() and write() wait for the supervisor. */
		rc = listener < 0 ? listener : 0;
		if (listener >= 0 && !gate_hand_over(first[0], listener))
			spared = !gate_hand_over(second[0], listener);
		if (listener >= 0)
			close(listener);
	}
	close(first[0]);
	close(second[0]);
	if (pid > 0 && spared)
		wait_for(pid); /* it ends, having no listener */
	return rc;
}
