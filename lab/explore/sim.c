/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs on device models, by the request-level simulator (sim/requests.c), on all cores. N I/O nodes
 * are N servers over which files are striped, each with the daemon's scheduler and a device, like a
 * layer with a device model. Direct access uses `servers` devices, each serving in order of
 * arrival.
 *
 * Run i of every cell has seed + i, so all orders see the same random numbers. Threads take the
 * next run; rows are written in a fixed order, so the file does not depend on the number of
 * threads. Runs are not shuffled, because simulations do not disturb each other.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "lab/explore/explore.h"

static volatile sig_atomic_t si_interrupted;

static void si_on_signal(int number)
{
	si_interrupted = number;
}

struct si_task {
	struct explore_cell *cell;
	struct explore_run run;
	bool done;
};

struct si_work {
	struct explore *e;
	struct si_task *task;
	uint32_t n, next, written;
	uint64_t done, total; /* of all rounds */
	pthread_mutex_t lock;
	struct explore_progress progress;
	int status;
};

static int si_wrong(const struct explore_cell *c, int rc, const char *err)
{
	cli_fail(EXPLORE_CMD, "%s: %s.", c->kernel->name, err);
	return rc == -EINVAL || rc == -E2BIG || rc == -ERANGE ? CLI_USAGE : CLI_FAILED;
}

static int si_policy(const struct explore_spec *s, const struct explore_cell *c,
		     struct sl_requests_policy *p, char *err, size_t err_size)
{
	char text[3 * EXPLORE_TEXT];
	int n;

	if (c->order == EXPLORE_DIRECT)
		return sl_requests_policy_parse("order=to,share=fifo", p, err, err_size);
	n = snprintf(text, sizeof(text), "order=%s%s%s%s%s", s->order[c->order],
		     s->share ? ",share=" : "", s->share ? s->share : "", s->admit ? ",admit=" : "",
		     s->admit ? s->admit : "");
	if (n < 0 || (size_t)n >= sizeof(text)) {
		snprintf(err, err_size, "the texts of its policies are too long");
		return -EINVAL;
	}
	return sl_requests_policy_parse(text, p, err, err_size);
}

static int si_run(const struct explore *e, const struct explore_cell *c, uint32_t number,
		  struct explore_run *out)
{
	const struct explore_spec *spec = e->spec;
	const struct explore_kernel *k = c->kernel;
	struct sl_requests s = spec->platform;
	struct sl_requests_policy policy = { 0 };
	struct sl_requests_result result;
	char err[SL_REQUESTS_TEXT] = "";
	int rc;

	s.name = NULL;
	s.striping =
		(struct sl_striping){ c->ionodes ? c->ionodes : spec->servers, spec->stripe_bytes };
	s.capacity_bps /= s.striping.servers;
	s.device = c->device->model;
	s.seed = spec->seed + number;
	s.n_apps = k->apps;
	s.apps = calloc(k->apps, sizeof(*s.apps));
	if (!s.apps)
		return cli_fail(EXPLORE_CMD, "out of memory.");
	for (uint32_t i = 0; i < k->apps; i++) {
		s.apps[i] = (struct sl_requests_app){ .procs = k->procs,
						      .op = k->op,
						      .spatial = k->spatial,
						      .per_process = k->per_process,
						      .call_bytes = k->request_bytes,
						      .calls = k->data_bytes / k->request_bytes,
						      .phases = 1,
						      .depth = 1,
						      .jitter_ns = spec->jitter_ns };
		snprintf(s.apps[i].name, sizeof(s.apps[i].name), "app-%u", i + 1);
	}
	rc = si_policy(spec, c, &policy, err, sizeof(err));
	if (!rc)
		rc = sl_requests_run(&s, &policy, NULL, &result, NULL, err, sizeof(err));
	sl_requests_policy_free(&policy);
	free(s.apps);
	if (rc)
		return si_wrong(c, rc, err);
	*out = (struct explore_run){ (double)result.makespan_ns / 1e9, result.bytes };
	return CLI_OK;
}

/* Call with the lock held. */
static void si_done(struct si_work *w, struct si_task *t, int status)
{
	t->done = true;
	w->done++;
	if (status && !w->status)
		w->status = status;
	while (!w->status && w->written < w->n && w->task[w->written].done) {
		w->status = explore_add(w->e, w->task[w->written].cell, &w->task[w->written].run);
		w->written++;
	}
	explore_progress(&w->progress, w->done, w->total, "");
}

static void *si_thread(void *arg)
{
	struct si_work *w = arg;

	pthread_mutex_lock(&w->lock);
	while (!w->status && !si_interrupted && w->next < w->n) {
		struct si_task *t = &w->task[w->next++];
		uint32_t number = t->cell->runs;
		int status;

		pthread_mutex_unlock(&w->lock);
		status = si_run(w->e, t->cell, number, &t->run);
		pthread_mutex_lock(&w->lock);
		si_done(w, t, status);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static int si_threads(struct si_work *w)
{
	uint32_t threads = w->e->threads < w->n ? w->e->threads : w->n, started = 1;
	pthread_t *thread = calloc((size_t)threads + 1, sizeof(*thread));

	if (!thread)
		return cli_fail(EXPLORE_CMD, "out of memory.");
	/* This thread works too, alone if no other can be started. */
	while (started < threads && !pthread_create(&thread[started], NULL, si_thread, w))
		started++;
	si_thread(w);
	for (uint32_t i = 1; i < started; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	if (si_interrupted && !w->status)
		w->status = cli_fail(EXPLORE_CMD, "interrupted.");
	return w->status;
}

static uint64_t si_runs(const struct explore *e)
{
	uint64_t runs = 0;

	for (uint32_t i = 0; i < e->n_cells; i++)
		runs += e->cell[i].runs;
	return runs;
}

static int si_rounds(struct si_work *w)
{
	struct explore *e = w->e;
	uint32_t n;
	int status = CLI_OK;

	do {
		n = 0;
		for (uint32_t i = 0; i < e->n_cells; i++)
			if (explore_needs_run(e->spec, &e->cell[i]))
				w->task[n++] = (struct si_task){ .cell = &e->cell[i] };
		w->n = n;
		w->next = w->written = 0;
		w->done = si_runs(e);
		w->total = 0;
		for (uint32_t i = 0; i < e->n_cells; i++)
			w->total +=
				e->cell[i].runs < e->spec->least ? e->spec->least : e->cell[i].runs;
		w->total = w->total < w->done + n ? w->done + n : w->total;
	} while (n && !(status = si_threads(w)));
	return status;
}

int explore_simulate(struct explore *e)
{
	struct sigaction on = { .sa_handler = si_on_signal }, old_int, old_term;
	struct si_work w = { .e = e, .lock = PTHREAD_MUTEX_INITIALIZER };
	int status;

	w.task = calloc((size_t)e->n_cells + 1, sizeof(*w.task));
	if (!w.task)
		return cli_fail(EXPLORE_CMD, "out of memory.");
	si_interrupted = 0;
	sigaction(SIGINT, &on, &old_int);
	sigaction(SIGTERM, &on, &old_term);
	explore_progress_begin(&w.progress);
	status = si_rounds(&w);
	explore_progress_end(&w.progress);
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	free(w.task);
	return status;
}
