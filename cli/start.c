/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting the node of a layer in the background. It inherits the lock and keeps it as long as it
 * lives; a pipe tells when it is ready, or, by its end, that it has failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/layer.h"

#define READY_MS  15000 /* a node that is not ready by then will not be */
#define STOP_MS	  15000 /* it drains for 10 s at most */
#define LOG_LINES 5

enum { FD_LOCK = 3, FD_READY = 4 }; /* in the node; layer.c looks for the lock there */

/* In the child: a session of its own, nothing inherited but the lock and the pipe. */
static void st_become(int lock, int ready, int log, const char *const *args)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	setsid();
	umask(0077);
	if (chdir("/"))
		_exit(127);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* In a shell that runs through a layer: the node's own I/O must not. */
	unsetenv("SLUICE_SOCKET");
	unsetenv("SLUICE_ROOT");
	/* Out of the way first: their numbers may be those that others are to get. */
	lock = fcntl(lock, F_DUPFD, 10);
	ready = fcntl(ready, F_DUPFD, 10);
	log = fcntl(log, F_DUPFD, 10);
	null = fcntl(null, F_DUPFD, 10);
	if (dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 || dup2(lock, FD_LOCK) < 0 ||
	    dup2(ready, FD_READY) < 0)
		_exit(127);
	close_range(FD_READY + 1, ~0U, 0);
	execv(args[0], (char *const *)(uintptr_t)args);
	dprintf(2, "cannot start %s: %s\n", args[0], strerror(errno));
	_exit(127);
}

/* The last lines of the log, each behind two spaces, to stderr. */
static void st_show_log(int log)
{
	char text[4096];
	off_t size = lseek(log, 0, SEEK_END);
	off_t from = size > (off_t)sizeof(text) - 1 ? size - (off_t)sizeof(text) + 1 : 0;
	ssize_t n = pread(log, text, sizeof(text) - 1, from);
	unsigned lines = 0;
	char *at;

	if (n <= 0)
		return;
	text[n] = 0;
	for (at = text + n - 1; at > text; at--)
		if (at[-1] == '\n' && ++lines == LOG_LINES)
			break;
	for (char *save = NULL, *line = strtok_r(at, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		fprintf(stderr, "  %s\n", line);
}

/* Wait for the byte that says ready. The end of the pipe: the node has ended. */
static int st_wait(struct layer *l, pid_t pid, int ready, int log)
{
	struct pollfd p = { .fd = ready, .events = POLLIN };
	int rc, status = 0;
	char byte;

	do
		rc = poll(&p, 1, READY_MS);
	while (rc < 0 && errno == EINTR);
	if (rc > 0 && read(ready, &byte, 1) == 1)
		return CLI_OK;
	if (rc == 0) {
		kill(pid, SIGKILL);
		cli_fail(l->cmd, "the node was not ready within %d s, and was stopped. It said:",
			 READY_MS / 1000);
	}
	waitpid(pid, &status, 0);
	if (rc != 0 && WIFSIGNALED(status))
		cli_fail(l->cmd,
			 "the node did not start: %s. It said:", strsignal(WTERMSIG(status)));
	else if (rc != 0)
		cli_fail(l->cmd, "the node did not start. It said:");
	st_show_log(log);
	layer_clean(l, true);
	return CLI_FAILED;
}

int layer_start(struct layer *l, const char *const *args, const char *root, pid_t *pid)
{
	char text[PATH_MAX + 16], path[PATH_MAX], old[PATH_MAX];
	int ready[2], log, status;

	layer_clean(l, false); /* what a node that died has left */
	snprintf(path, sizeof(path), "%.200s/log", l->dir);
	snprintf(old, sizeof(old), "%.200s/log.old", l->dir);
	rename(path, old);
	log = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (log < 0 || pipe2(ready, O_CLOEXEC))
		return cli_fail(l->cmd, "cannot start the node: %s.", strerror(errno));
	*pid = fork();
	if (*pid == 0)
		st_become(l->lock, ready[1], log, args);
	close(ready[1]);
	if (*pid < 0)
		status = cli_fail(l->cmd, "cannot start the node: %s.", strerror(errno));
	else {
		snprintf(text, sizeof(text), "%d\n", (int)*pid);
		layer_write(l, "pid", text);
		snprintf(text, sizeof(text), "%s\n", root);
		layer_write(l, "root", text);
		status = st_wait(l, *pid, ready[0], log);
	}
	close(ready[0]);
	close(log);
	return status;
}

void layer_stop(struct layer *l, pid_t pid)
{
	kill(pid, SIGTERM);
	for (int ms = 0; waitpid(pid, NULL, WNOHANG) == 0; ms += 10) {
		if (ms == STOP_MS)
			kill(pid, SIGKILL);
		usleep(10000);
	}
	layer_clean(l, true);
}
