/* SPDX-License-Identifier: Apache-2.0 */
/* Running a program from slurmstepd: see command.h. */
#include "integrate/slurm/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WRITE_MS 1000

bool command_user(spank_t sp, struct command_user *u)
{
	*u = (struct command_user){ 0 };
	return spank_get_item(sp, S_JOB_UID, &u->uid) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_GID, &u->gid) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_SUPPLEMENTARY_GIDS, &u->groups, &u->count) ==
		       ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_ENV, &u->environment) == ESPANK_SUCCESS;
}

/* Of slurmstepd's own environment, which it has from slurmd, what the programs need. */
const struct command_user *command_root(void)
{
	static const char *const names[] = { "PATH", "SLURM_CONF", "SLUICE_SYSTEM" };
	static char text[3][512], *environment[4];
	static struct command_user root = { .environment = environment };
	int n = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (!value && i == 0)
			value = "/usr/sbin:/usr/bin:/sbin:/bin";
		if (value && snprintf(text[n], sizeof(text[n]), "%s=%s", names[i], value) <
				     (int)sizeof(text[n])) {
			environment[n] = text[n];
			n++;
		}
	}
	environment[n] = NULL;
	return &root;
}

bool command_become(const struct command_user *u)
{
	if (geteuid() != 0 && getuid() == 0 && seteuid(0))
		return false;
	if (getuid() == 0 &&
	    (setgroups((size_t)u->count, u->groups) || setresgid(u->gid, u->gid, u->gid) ||
	     setresuid(u->uid, u->uid, u->uid)))
		return false;
	return getuid() == u->uid && geteuid() == u->uid;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

/* All that comes until the end of file, in time. */
static void read_all(int fd, int64_t until_ms, char out[COMMAND_OUTPUT])
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t at = 0;

	while (at + 1 < COMMAND_OUTPUT) {
		int64_t left_ms = until_ms - now_ms();
		ssize_t n;

		if (left_ms <= 0 || poll(&p, 1, (int)left_ms) <= 0)
			break;
		n = read(fd, out + at, COMMAND_OUTPUT - 1 - at);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	out[at] = 0;
}

static void child(const struct command_user *u, const char *const *words, int out)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (command_become(u) && null >= 0 && dup2(null, 0) >= 0 && dup2(out, 1) >= 0 &&
	    dup2(out, 2) >= 0) {
		syscall(SYS_close_range, 3, ~0U, 0); /* old kernels: slurmstepd's close on exec */
		execvpe(words[0], (char *const *)words, u->environment);
	}
	_exit(127);
}

/* Its status as waitpid() has it; one that does not end in time is killed. */
static int end_of(pid_t pid, int64_t until_ms)
{
	int status = -1;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		int64_t late_ms = now_ms() - until_ms;

		if (late_ms >= 0)
			kill(pid, SIGKILL);
		if (late_ms > WRITE_MS)
			return -1; /* stuck in the kernel: slurmstepd's end will be its own */
		usleep(1000);
	}
	return status;
}

int command_run(const struct command_user *u, const char *const *words, char out[COMMAND_OUTPUT])
{
	int64_t until_ms = now_ms() + COMMAND_MS;
	int ends[2], status = -1;
	pid_t pid;

	*out = 0;
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0)
		child(u, words, ends[1]);
	close(ends[1]);
	if (pid > 0) {
		read_all(ends[0], until_ms, out);
		status = end_of(pid, until_ms);
	}
	close(ends[0]);
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* By a child: a full pipe or a file system that hangs stops that alone. */
void command_write(int fd, const char *text, size_t length)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(write(fd, text, length) == (ssize_t)length ? 0 : 1);
	if (pid > 0)
		end_of(pid, now_ms() + WRITE_MS);
}
