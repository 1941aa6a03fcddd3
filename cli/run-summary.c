/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice run --summary`: stay as the parent of the program, and print at its end the bytes that
 * went through the layer, how long it was held and why, and the bytes that bypassed the layer.
 *
 *	sluice: job run-812: 0B read, 512MB written through the layer; held 25s, 24s of it by
 *	its max; unscheduled: 0B, and at most 72KB unseen (other files and pipes included)
 *
 * With the preloaded library, the bytes that bypassed the layer are only known as an upper bound:
 * the kernel counts all that processes have read and written (/proc/self/io includes children that
 * were waited for), including other files and pipes. Behind a gate every call is seen.
 *
 * The parent behaves like the program: it forwards signals, stops and exits as the program does,
 * and if it is killed the program is killed too.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run.h"
#include "layer/status.h"

/* More than programs usually read from libraries and write to terminals. */
#define UNSEEN_MUCH 1048576

static pid_t child;

/*
 * The job's bytes and waits, and the kernel's count of the bytes that this process and its children
 * have read and written.
 */
struct sums {
	double read, write, unscheduled, throttled_s, waiting_s, ops_held_s, all;
	bool answered;
};

static double rs_io(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	unsigned long long value;
	double sum = 0;
	char key[32];

	while (f && fscanf(f, "%31s %llu", key, &value) == 2)
		if (!strcmp(key, "rchar:") || !strcmp(key, "wchar:"))
			sum += (double)value;
	if (f)
		fclose(f);
	return sum;
}

static void rs_sums(const struct layer *l, const char *name, struct sums *s)
{
	struct status *status = status_ask(l, STATUS_WAIT_MS);
	const struct status_job *job = status ? status_job_find(status, name) : NULL;

	*s = (struct sums){ .all = rs_io(), .answered = status };
	if (job) {
		s->read = job->read_bytes;
		s->write = job->write_bytes;
		s->unscheduled = job->unscheduled_bytes;
		s->throttled_s = job->throttled_s;
		s->waiting_s = job->waiting_s;
		s->ops_held_s = job->ops_held_s;
	}
	status_free(status);
}

static double rs_rest(double after, double before)
{
	return after > before ? after - before : 0;
}

static void rs_held(const struct sums *a, const struct sums *b)
{
	double by_max = rs_rest(b->throttled_s, a->throttled_s);
	double held = rs_rest(b->waiting_s, a->waiting_s);
	double by_ops = rs_rest(b->ops_held_s, a->ops_held_s);
	char all[STATUS_CELL], max[STATUS_CELL], ops[STATUS_CELL];

	held = held > by_max ? held : by_max;
	status_time(all, held);
	status_time(max, by_max);
	status_time(ops, by_ops);
	if (held <= 0 && by_ops <= 0)
		fputs("not held; ", stderr);
	else if (by_max > 0)
		fprintf(stderr, "held %s, %s of it by its max; ", all, max);
	else if (held > 0)
		fprintf(stderr, "held %s for its turn; ", all);
	if (by_ops > 0)
		fprintf(stderr, "held %s by limits on operations or calls; ", ops);
}

static void rs_print(const struct layer *l, const char *name, const struct sums *a,
		     const struct sums *b, bool exact)
{
	double read = rs_rest(b->read, a->read), write = rs_rest(b->write, a->write);
	char cell[STATUS_CELL], root[PATH_MAX];

	if (!b->answered) {
		fprintf(stderr, "sluice: job %s: the layer no longer answers\n", name);
		return;
	}
	status_short(cell, read);
	fprintf(stderr, "sluice: job %s: %sB read, ", name, cell);
	status_short(cell, write);
	fprintf(stderr, "%sB written through the layer; ", cell);
	rs_held(a, b);
	status_short(cell, rs_rest(b->unscheduled, a->unscheduled));
	fprintf(stderr, "unscheduled: %sB", cell);
	if (!exact) {
		status_short(cell, rs_rest(b->all - a->all, read + write));
		fprintf(stderr, ", and at most %sB unseen (other files and pipes included)", cell);
		if (rs_rest(b->all, a->all) >= UNSEEN_MUCH && read + write == 0 &&
		    !layer_root(l, root))
			fprintf(stderr, "; the layer is for files below %s", root);
	}
	fputc('\n', stderr);
}

static void rs_pass_on(int number)
{
	kill(child, number);
}

static void rs_signals(void)
{
	static const int passed[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM };
	struct sigaction sa = { .sa_handler = rs_pass_on, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
		struct sigaction was;

		/* Signals that the caller ignores are ignored in the program, too. */
		if (sigaction(passed[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
			sigaction(passed[i], &sa, NULL);
	}
	/* The terminal sends these to the program itself. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

static int rs_wait(void)
{
	int status;

	for (;;) {
		if (waitpid(child, &status, WUNTRACED) < 0) {
			if (errno != EINTR)
				return 0;
		} else if (WIFSTOPPED(status)) {
			raise(SIGSTOP);
			kill(child, SIGCONT);
		} else {
			return status;
		}
	}
}

/* Exit as the program did. */
static int rs_end(int status)
{
	const struct rlimit none = { 0, 0 };

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

bool run_summary(const struct layer *l, const char *job, bool exact, int *status)
{
	pid_t parent = getpid();
	struct sums before, after;
	sigset_t all, was;

	rs_sums(l, job, &before);
	fflush(NULL);
	/* A signal that arrives before the handlers are installed must not be lost. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &was);
	child = fork();
	if (child <= 0) {
		sigprocmask(SIG_SETMASK, &was, NULL);
		if (child == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != parent)
			_exit(1);
		return false;
	}
	rs_signals();
	sigprocmask(SIG_SETMASK, &was, NULL);
	*status = rs_wait();
	rs_sums(l, job, &after);
	rs_print(l, job, &before, &after, exact);
	*status = rs_end(*status);
	return true;
}
