/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer for a measurement: see private-layer.h. `sluice up` and `sluice down` start and stop it,
 * as users do, in its own runtime directory, so that other layers are not affected.
 *
 * Members of a layer outlive the process that started them. A second process therefore waits at a
 * pipe: one byte means that the measurement has ended normally; the end of the pipe without it
 * means that the measurement was killed, and then this process stops the layer.
 */
#include "lab/private-layer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "layer/layer.h"
#include "layer/listen.h"

#define ARGS 32

static int pl_watch = -1; /* the pipe */
static pid_t pl_watcher;
static clockid_t pl_clock[LAYER_MEMBERS]; /* CPU time of the members */
static size_t pl_clocks;

/* ---- commands ---- */

static void pl_become(const struct private *p, const char *const *args)
{
	char said[128];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), log;

	setsid(); /* keep the terminal's signals away from it */
	snprintf(said, sizeof(said), "%s/said", p->runtime);
	log = open(said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (null >= 0 && log >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 && dup2(log, 2) >= 0)
		execv("/proc/self/exe", (char *const *)(uintptr_t)args);
	_exit(127);
}

int private_layer_command(const struct private *p, const char *const *args)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		pl_become(p, args);
	if (pid < 0)
		return cli_fail(p->cmd, "cannot start a process: %s.", strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_FAILED;
}

static int pl_not_up(const struct private *p)
{
	char path[128], text[1000] = "";
	FILE *f;
	size_t n = 0;

	if (private_interrupted)
		return CLI_FAILED;
	snprintf(path, sizeof(path), "%s/said", p->runtime);
	if ((f = fopen(path, "r"))) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return cli_fail(p->cmd, "a layer did not start%s%s", *text ? ": " : ".", text);
}

/* Remember the CPU clocks of the members. */
static int pl_members(const struct private *p)
{
	struct layer_member m[LAYER_MEMBERS];
	struct layer l;
	size_t count;
	int status = cli_result(p->cmd, layer_open(&l, NULL, false), layer_error());

	if (status)
		return status;
	count = layer_members(&l, m);
	layer_close(&l);
	pl_clocks = 0;
	for (size_t i = 0; i < count; i++)
		if (m[i].pid && !clock_getcpuclockid(m[i].pid, &pl_clock[pl_clocks]))
			pl_clocks++;
	return CLI_OK;
}

int private_layer_up(struct private *p, const char *const *options)
{
	const char *args[ARGS] = { "sluice", "up" };
	unsigned n = 2;

	while (options && *options && n < ARGS - 2)
		args[n++] = *options++;
	args[n] = p->dir;
	if (private_layer_command(p, args))
		return pl_not_up(p);
	return pl_members(p);
}

int64_t private_layer_cpu_ns(void)
{
	int64_t sum = 0;

	for (size_t i = 0; i < pl_clocks; i++) {
		struct timespec t;

		if (!clock_gettime(pl_clock[i], &t))
			sum += t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
	}
	return sum;
}

int private_layer_listens(const struct private *p, char address[300], char secret[PATH_MAX])
{
	struct layer l;
	int status = cli_result(p->cmd, layer_open(&l, NULL, false), layer_error());

	if (status)
		return status;
	snprintf(secret, PATH_MAX, "%.200s/secret", l.dir);
	if (layer_address(&l, address))
		status = cli_fail(p->cmd, "cannot find the address of the layer.");
	layer_close(&l);
	return status;
}

void private_layer_down(struct private *p)
{
	static const char *const args[] = { "sluice", "down", "--all", "--if-up", NULL };

	private_layer_command(p, args);
}

/* ---- life ---- */

static void pl_wait(struct private *p, int pipe)
{
	char byte;
	ssize_t n;

	setsid();
	/*
	 * Close the inherited descriptors: a reader of the measurement's output must not wait for
	 * us, and we must not keep the lock of its file of runs.
	 */
	if (dup2(pipe, 0) < 0)
		_exit(1);
	pipe = 0;
	close_range(1, ~0U, 0);
	while ((n = read(pipe, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n != 1) {
		p->procs = 0; /* they died with their parent, and their pids may have been reused */
		private_layer_down(p);
		private_end(p, CLI_OK);
	}
	_exit(0);
}

int private_layer_begin(struct private *p)
{
	int ends[2];

	setenv("SLUICE_RUNTIME", p->runtime, 1);
	if (pipe2(ends, O_CLOEXEC))
		return cli_fail(p->cmd, "cannot make a pipe: %s.", strerror(errno));
	fflush(NULL);
	pl_watcher = fork();
	if (pl_watcher == 0) {
		close(ends[1]);
		pl_wait(p, ends[0]);
	}
	close(ends[0]);
	pl_watch = ends[1];
	if (pl_watcher < 0)
		return cli_fail(p->cmd, "cannot start a process: %s.", strerror(errno));
	return CLI_OK;
}

void private_layer_end(struct private *p)
{
	if (pl_watch < 0)
		return;
	private_layer_down(p);
	if (write(pl_watch, "e", 1) != 1) {
		/* The watcher has ended before us. */
	}
	close(pl_watch);
	pl_watch = -1;
	while (pl_watcher > 0 && waitpid(pl_watcher, NULL, 0) < 0 && errno == EINTR)
		;
}
