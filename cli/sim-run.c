/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A study on all cores: threads take the next of policies x repetitions, and each result has its
 * own place, so that what comes out does not depend on how many there are. Repetition i of every
 * policy has seed + i: the policies meet the same workloads, and differences between them are
 * not blurred by differences between workloads.
 */
#include "cli/sim.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define PROGRESS_AFTER_S 1.0
#define PROGRESS_STEP_NS 100000000
#define PROGRESS_WIDTH	 40

static int rn_summarize(struct sim_study *s)
{
	double *values = malloc(s->repeat * sizeof(values[0]));

	if (!values)
		return cli_fail(SIM_CMD, "out of memory.");
	for (uint32_t p = 0; p < s->n_policies; p++) {
		struct sim_policy *policy = &s->policy[p];

		for (enum sim_measure m = 0; m < SIM_MEASURES; m++) {
			for (uint32_t i = 0; i < s->repeat; i++)
				values[i] = sim_value(&policy->run[i], m);
			policy->measure[m] = sim_estimate(values, s->repeat);
			for (uint32_t i = 0; i < s->repeat; i++)
				values[i] -= sim_value(&s->policy[0].run[i], m);
			policy->against[m] = sim_estimate(values, s->repeat);
		}
		policy->events = 0;
		policy->wall_s = 0;
		for (uint32_t i = 0; i < s->repeat; i++) {
			policy->events += policy->run[i].events;
			policy->wall_s += policy->run[i].wall_s;
		}
	}
	free(values);
	return CLI_OK;
}

/* ---- threads ---- */

struct rn_failure {
	int error;
	char text[SIM_TEXT];
};

struct rn_work {
	struct sim_study *study;
	uint64_t tasks;
	atomic_uint_fast64_t next, done;
	atomic_bool stop;	    /* a chosen policy failed */
	struct rn_failure *failure; /* by policy: of its smallest repetition */
	uint32_t *failed_at;	    /* that repetition; UINT32_MAX: none */
	pthread_mutex_t lock;
	pthread_cond_t ended;
	uint32_t running; /* threads */
};

static void rn_failed(struct rn_work *w, uint32_t p, uint32_t repetition, int rc, const char *text)
{
	const char *spec = w->study->policy[p].spec;
	size_t length = strlen(spec);

	pthread_mutex_lock(&w->lock);
	if (repetition < w->failed_at[p]) {
		w->failed_at[p] = repetition;
		w->failure[p].error = rc;
		/* The policy is named where this is reported, if not here. */
		if (!strncmp(text, spec, length) && !strncmp(text + length, ": ", 2))
			text += length + 2;
		snprintf(w->failure[p].text, SIM_TEXT, "%s", text);
	}
	if (w->study->chosen)
		atomic_store(&w->stop, true);
	pthread_mutex_unlock(&w->lock);
}

static void *rn_thread(void *arg)
{
	struct rn_work *w = arg;
	struct sim_study *s = w->study;
	uint64_t task;

	/* The first repetition of all policies comes first: what cannot run is known soon. */
	while (!atomic_load(&w->stop) && (task = atomic_fetch_add(&w->next, 1)) < w->tasks) {
		uint32_t p = (uint32_t)(task % s->n_policies);
		uint32_t repetition = (uint32_t)(task / s->n_policies);
		struct sim_policy *policy = &s->policy[p];
		struct sl_phase_options options = {
			.policy = policy->spec,
			.seed = s->seed + repetition,
			.window = s->window,
			.sink = !repetition && policy->trace ? &policy->trace->sink : NULL,
		};
		char err[SIM_TEXT] = "";
		int rc = sl_phase_run(&s->scenario, &options, &policy->run[repetition],
				      repetition ? NULL : policy->apps, err, sizeof(err));

		if (rc)
			rn_failed(w, p, repetition, rc, err[0] ? err : strerror(-rc));
		atomic_fetch_add(&w->done, 1);
	}
	pthread_mutex_lock(&w->lock);
	w->running--;
	pthread_cond_signal(&w->ended);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static double rn_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

static void rn_progress(const struct rn_work *w, double passed_s)
{
	uint64_t done = atomic_load(&w->done);
	int full = (int)(done * PROGRESS_WIDTH / w->tasks);

	fprintf(stderr, "\r[%.*s%*s] %llu of %llu runs", full,
		"########################################", PROGRESS_WIDTH - full, "",
		(unsigned long long)done, (unsigned long long)w->tasks);
	if (done)
		fprintf(stderr, ", %.0f s left",
			passed_s * (double)(w->tasks - done) / (double)done);
	fputs("\033[K", stderr);
	fflush(stderr);
}

/* Until all threads have ended. */
static void rn_wait(struct rn_work *w)
{
	bool terminal = isatty(STDERR_FILENO), shown = false;
	struct timespec begin;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	pthread_mutex_lock(&w->lock);
	while (w->running) {
		struct timespec until;

		if (!terminal) {
			pthread_cond_wait(&w->ended, &w->lock);
			continue;
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += PROGRESS_STEP_NS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&w->ended, &w->lock, &until);
		if (w->running && rn_since(&begin) > PROGRESS_AFTER_S) {
			rn_progress(w, rn_since(&begin));
			shown = true;
		}
	}
	pthread_mutex_unlock(&w->lock);
	if (shown)
		fputs("\r\033[K", stderr);
}

static bool rn_is_misuse(int error)
{
	return error == -EINVAL || error == -ENOENT || error == -ERANGE || error == -ELOOP;
}

/* Chosen policies must run. Of those that were not, some are for other scenarios: move them back.
 */
static int rn_report(struct sim_study *s, const struct rn_work *w)
{
	uint32_t kept = 0, n = s->n_policies;
	struct sim_policy *sorted = malloc(n * sizeof(sorted[0]));

	if (!sorted)
		return cli_fail(SIM_CMD, "out of memory.");
	for (uint32_t p = 0; p < n; p++) {
		const struct rn_failure *f = &w->failure[p];

		if (w->failed_at[p] == UINT32_MAX) {
			sorted[kept++] = s->policy[p];
			continue;
		}
		if (s->chosen || f->error == -ENOMEM) {
			cli_fail(SIM_CMD, "%s: %s.", s->policy[p].spec, f->text);
			free(sorted);
			return rn_is_misuse(f->error) ? CLI_USAGE : CLI_FAILED;
		}
		s->policy[p].left_out = strdup(f->text);
	}
	s->n_policies = kept;
	for (uint32_t p = 0; p < n; p++)
		if (w->failed_at[p] != UINT32_MAX)
			sorted[kept + s->n_left_out++] = s->policy[p];
	memcpy(s->policy, sorted, n * sizeof(sorted[0]));
	free(sorted);
	if (kept)
		return CLI_OK;
	cli_fail(SIM_CMD, "no policy can run this: %s.", w->failure[0].text);
	return rn_is_misuse(w->failure[0].error) ? CLI_USAGE : CLI_FAILED;
}

static int rn_threads(struct rn_work *w)
{
	struct sim_study *s = w->study;
	uint32_t threads = s->threads < w->tasks ? s->threads : (uint32_t)w->tasks, started = 0;
	pthread_t *thread = calloc(threads, sizeof(*thread));
	int rc = 0;

	if (!thread)
		return cli_fail(SIM_CMD, "out of memory.");
	w->running = threads;
	while (started < threads && !(rc = pthread_create(&thread[started], NULL, rn_thread, w)))
		started++;
	if (rc) { /* what there is will do, if there is any */
		pthread_mutex_lock(&w->lock);
		w->running -= threads - started;
		pthread_mutex_unlock(&w->lock);
	}
	rn_wait(w);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	if (!started)
		return cli_fail(SIM_CMD, "cannot start a thread: %s.", strerror(rc));
	return rn_report(s, w);
}

static int rn_prepare(struct sim_study *s)
{
	uint32_t rows = 0, blocks = 0;

	sim_page_limits(s, &rows, &blocks);
	for (uint32_t p = 0; p < s->n_policies; p++) {
		struct sim_policy *policy = &s->policy[p];

		policy->run = calloc(s->repeat, sizeof(policy->run[0]));
		policy->apps = calloc(s->scenario.n_apps + 1, sizeof(policy->apps[0]));
		if (s->trace)
			policy->trace = sim_trace_create(rows, blocks);
		if (!policy->run || !policy->apps || (s->trace && !policy->trace))
			return cli_fail(SIM_CMD, "out of memory.");
	}
	return CLI_OK;
}

int sim_run(struct sim_study *s)
{
	struct rn_work w = {
		.study = s,
		.tasks = (uint64_t)s->n_policies * s->repeat,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.ended = PTHREAD_COND_INITIALIZER,
		.failure = calloc(s->n_policies, sizeof(w.failure[0])),
		.failed_at = malloc(s->n_policies * sizeof(w.failed_at[0])),
	};
	int status = CLI_FAILED;

	if (!w.failure || !w.failed_at) {
		cli_fail(SIM_CMD, "out of memory.");
	} else {
		memset(w.failed_at, 0xff, s->n_policies * sizeof(w.failed_at[0]));
		status = rn_prepare(s);
		if (!status)
			status = rn_threads(&w);
		if (!status)
			status = rn_summarize(s);
	}
	free(w.failure);
	free(w.failed_at);
	return status;
}
