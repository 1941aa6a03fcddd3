/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gate (client/gate/main.c) that root puts before a task before Slurm makes it the user's.
 *
 *	task, root ── clone ──► spare ── clone ──► keeper ── fork ──► supervisor    all the user's
 *	seccomp(), by another thread: client/gate/hand.c
 *	listener   ── over a socket ─► keeper
 *	the user's, exec
 *
 * Root may install a filter without no_new_privs, so programs that change their user id (sudo,
 * ping, a site's own) work as before; the user cannot take it off, nor be without it. The
 * supervisor has to be the user's: it reads the arguments of the job's calls.
 */
#include "integrate/slurm/gate.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "client/gate/filter.h"
#include "client/gate/hand.h"

struct start {
	const struct command_user *user;
	const char *program;
};

static void keepers(int sock, int spare, void *arg)
{
	const struct start *s = arg;
	char numbers[2][16];
	const char *const words[] = { s->program, "--keep", numbers[0], numbers[1], NULL };
	sigset_t none;
	/* Above all that the task has open: the two are all that it is given. */
	int first = fcntl(sock, F_DUPFD, 3), second = fcntl(spare, F_DUPFD, 3);

	snprintf(numbers[0], sizeof(numbers[0]), "%d", first);
	snprintf(numbers[1], sizeof(numbers[1]), "%d", second);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (first >= 0 && second >= 0 && command_become(s->user))
		execve(s->program, (char *const *)words, s->user->environment);
	_exit(127);
}

int gate_before_task(const struct command_user *u, const char *program, bool strict)
{
	struct start s = { .user = u, .program = program };

	return gate_put_on(strict ? GATE_STRICT : 0, keepers, &s);
}
