/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A study on all cores: threads take the next of policies x repetitions, and each result has its
 * own place, so the results do not depend on the number of threads. Repetition i of every policy
 * has seed + i: all policies see the same workloads, so differences between workloads do not hide
 * differences between policies.
 */
#include "lab/study/sim.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "lab/crew.h"

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
	struct crew crew;
	atomic_uint_fast64_t next;
	atomic_bool stop;	    /* a chosen policy failed */
	struct rn_failure *failure; /* by policy: of its smallest repetition */
	uint32_t *failed_at;	    /* that repetition; UINT32_MAX: none */
	pthread_mutex_t lock;	    /* over both */
};

static void rn_failed(struct rn_work *w, uint32_t p, uint32_t repetition, int rc, const char *text)
{
	const char *spec = w->study->policy[p].spec;
	size_t length = strlen(spec);

	pthread_mutex_lock(&w->lock);
	if (repetition < w->failed_at[p]) {
		w->failed_at[p] = repetition;
		w->failure[p].error = rc;
		/* If the text does not name the policy, the caller does. */
		if (!strncmp(text, spec, length) && !strncmp(text + length, ": ", 2))
			text += length + 2;
		snprintf(w->failure[p].text, SIM_TEXT, "%s", text);
	}
	if (w->study->chosen)
		atomic_store(&w->stop, true);
	pthread_mutex_unlock(&w->lock);
}

static void rn_work(void *arg)
{
	struct rn_work *w = arg;
	struct sim_study *s = w->study;
	uint64_t task;

	/*
	 * The first repetition of all policies comes first, so that policies that cannot run are
	 * found early.
	 */
	while (!atomic_load(&w->stop) && (task = atomic_fetch_add(&w->next, 1)) < w->crew.tasks) {
		uint32_t p = (uint32_t)(task % s->n_policies);
		uint32_t repetition = (uint32_t)(task / s->n_policies);
		struct sim_policy *policy = &s->policy[p];
		struct sl_phase_options options = {
			.policy = policy->spec,
			.seed = s->seed + repetition,
			.window = s->window,
			.detect = s->detect,
			.sink = !repetition && policy->trace ? &policy->trace->sink : NULL,
		};
		char err[SIM_TEXT] = "";
		int rc = sl_phase_run(&s->scenario, &options, &policy->run[repetition],
				      repetition ? NULL : policy->apps, err, sizeof(err));

		if (rc)
			rn_failed(w, p, repetition, rc, err[0] ? err : strerror(-rc));
		atomic_fetch_add(&w->crew.done, 1);
	}
}

static bool rn_is_misuse(int error)
{
	return error == -EINVAL || error == -ENOENT || error == -ERANGE || error == -ELOOP;
}

/*
 * Policies that the user chose must run. If all were taken, some cannot run this scenario: move
 * them to the end.
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
	const uint64_t tasks = (uint64_t)s->n_policies * s->repeat;
	struct rn_work w = {
		.study = s,
		.crew = { .command = SIM_CMD,
			  .work = rn_work,
			  .arg = &w,
			  .threads = s->threads < tasks ? s->threads : (uint32_t)tasks,
			  .tasks = tasks,
			  .unit = "runs" },
		.lock = PTHREAD_MUTEX_INITIALIZER,
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
			status = crew_run(&w.crew);
		if (!status)
			status = rn_report(s, &w);
		if (!status)
			status = rn_summarize(s);
	}
	free(w.failure);
	free(w.failed_at);
	return status;
}
