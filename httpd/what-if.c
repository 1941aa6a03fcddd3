/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /api/v1/what-if: the jobs as they are now under other grant policies. plan.c makes the
 * scenario; a separate process, `sluice sim`, simulates it with low priority and bounded memory and
 * time, and ends at the latest with this process. Only one runs at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/log.h"
#include "httpd/change.h"
#include "httpd/plan.h"
#include "httpd/server.h"

#define RUN_MS	   10000
#define STEP_MS	   100
#define MEMORY	   (512UL << 20)
#define OUTPUT_MAX (1U << 20)

/* A file in memory with that text in it, at its beginning. */
static int wi_memory(const char *name, const char *text)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	size_t length = text ? strlen(text) : 0;

	if (fd >= 0 && write(fd, text, length) == (ssize_t)length && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The contents, to be freed. */
static char *wi_read(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = size >= 0 && size < OUTPUT_MAX ? calloc(1, (size_t)size + 1) : NULL;

	if (text && pread(fd, text, (size_t)size, 0) == size)
		return text;
	free(text);
	return NULL;
}

static bool wi_closing(struct server *s)
{
	bool closing;

	pthread_mutex_lock(&s->lock);
	closing = s->closing;
	pthread_mutex_unlock(&s->lock);
	return closing;
}

enum { LATE = -1, BROKEN = -2 };

/* Its exit status; LATE: it was stopped; BROKEN: it did not end by itself. */
static int wi_wait(struct server *s, pid_t pid)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int ms = 0, status;
	bool ended;

	while (p.fd >= 0 && ms < RUN_MS && !wi_closing(s) && poll(&p, 1, STEP_MS) == 0)
		ms += STEP_MS;
	if (p.fd >= 0)
		close(p.fd);
	ended = p.revents & POLLIN;
	if (!ended)
		kill(pid, SIGKILL); /* ours, and not waited for yet: nobody else has the number */
	if (waitpid(pid, &status, 0) != pid)
		return BROKEN;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (ended)
		log_warn("what-if signal=%d", WTERMSIG(status));
	return ended ? BROKEN : LATE;
}

/*
 * In the child: the simulator, and nothing of the server's but these two files. Above all not the
 * lock of the dashboard, nor the signals that its threads hold back. It ends with the thread that
 * waits for it (which a SIGKILL ends, too), or nobody would be left to stop it in time.
 */
static void wi_become(pid_t parent, int in, int out, const char *const *args)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setpriority(PRIO_PROCESS, 0, 10);
#ifndef __SANITIZE_ADDRESS__ /* which reserves terabytes */
	setrlimit(RLIMIT_AS, &(struct rlimit){ MEMORY, MEMORY });
#endif
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(127);
	close_range(3, ~0U, 0);
	execv(args[0], (char *const *)(uintptr_t)args);
	_exit(127);
}

static int wi_run(struct server *s, const char *program, const char *scenario, char *const *policy,
		  char **printed)
{
	const char *args[2 * CHANGE_POLICIES + 8] = {
		program, "sim", "-", "--json", "--jobs", "1"
	};
	int in = wi_memory("scenario", scenario), out = wi_memory("answer", NULL), status = BROKEN;
	pid_t parent = getpid(), pid = -1;
	size_t n = 6;

	for (size_t i = 0; policy[i]; i++) {
		args[n++] = "--policy";
		args[n++] = policy[i];
	}
	if (in >= 0 && out >= 0)
		pid = fork(); /* posix_spawn() cannot say whom the child is to end with */
	if (pid == 0)
		wi_become(parent, in, out, args);
	if (pid > 0)
		status = wi_wait(s, pid);
	*printed = out >= 0 ? wi_read(out) : NULL;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return status;
}

static void wi_simulate(struct request *r, struct plan *plan, char *const *policy)
{
	char program[PATH_MAX], *printed = NULL, *text = NULL;
	size_t length = 0;
	int status;

	if (layer_program(program)) {
		errand_error(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "%s", layer_error());
		return;
	}
	status = wi_run(r->server, program, plan->scenario, policy, &printed);
	if (status == CLI_OK && printed)
		text = plan_answer(plan, printed, &length);
	if (text) {
		errand_reply(r, MHD_HTTP_OK, text, length);
	} else if (status == LATE) {
		errand_error(r, MHD_HTTP_SERVICE_UNAVAILABLE,
			     "the simulation took longer than %d s; name fewer policies",
			     RUN_MS / 1000);
	} else if (status == BROKEN || status == CLI_OK || !printed || !*printed) {
		errand_error(r, MHD_HTTP_INTERNAL_SERVER_ERROR,
			     "the simulator failed; see log-dashboard in the directory of the "
			     "layer, and try again");
	} else {
		log_warn("what-if status=%d: %.300s", status, printed);
		errand_error(r, MHD_HTTP_CONFLICT, "the simulator refuses: %.*s",
			     (int)strcspn(printed, "\n"), printed);
	}
	free(printed);
}

static void wi_plan(struct request *r, char *const *policy)
{
	struct server *s = r->server;
	struct snapshot *snap = sample_newest(s);
	char err[PLAN_TEXT] = "";
	struct plan plan;
	int rc = -ENOTCONN;

	if (snap->status) {
		pthread_mutex_lock(&s->history_lock);
		rc = plan_make(snap->status, &s->history, &plan, err);
		pthread_mutex_unlock(&s->history_lock);
	}
	if (rc == -ENOTCONN)
		errand_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "no node of layer '%s' answers",
			     s->layer.name);
	else if (rc)
		errand_error(r, MHD_HTTP_CONFLICT, "%s", *err ? err : strerror(-rc));
	else
		wi_simulate(r, &plan, policy);
	if (!rc)
		plan_free(&plan);
	sample_drop(snap);
}

static void wi_work(struct request *r)
{
	struct server *s = r->server;
	char *policy[CHANGE_POLICIES + 1], err[CHANGE_TEXT];

	if (change_what_if(r->body, r->length, policy, err)) {
		errand_error(r, MHD_HTTP_BAD_REQUEST, "%s", err);
		return;
	}
	if (atomic_exchange(&s->simulates, true)) {
		errand_error(r, MHD_HTTP_TOO_MANY_REQUESTS,
			     "another simulation is under way; try again");
	} else {
		wi_plan(r, policy);
		atomic_store(&s->simulates, false);
	}
	change_what_if_free(policy);
}

enum MHD_Result answer_what_if(struct request *r)
{
	return errand(r, wi_work);
}
