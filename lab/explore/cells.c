/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of an exploration: each kernel on each device with each number of I/O nodes and, with
 * at least one node, each order. A cell is run until its mean is accurate enough, as in AGIOS
 * (Boito et al. 2015, section 3: at least eight executions, with 90 % confidence and 10 % maximum
 * relative error): until half the width of the confidence interval is at most that part of the
 * mean, or the maximum number of runs is reached.
 *
 * Example: 8 runs with mean 2.0 s and standard deviation 0.3 s; t is 1.895 for 90 % and 7 degrees
 * of freedom, so half the width is 1.895 * 0.3 / sqrt(8) = 0.20 s, which is 10 %: enough.
 *
 * Stopping as soon as an interval is narrow favours intervals that are narrow by chance: with runs
 * that vary by 20 to 30 %, 88 % of the intervals contain the mean instead of 90 % (20,000 cells of
 * normally distributed times each). With 10 % or less, or if all runs are made, it is 90 %.
 *
 * With a time limit, runs of a cell may move different amounts. So we average the seconds for all
 * of the data, extrapolated from the bytes moved.
 *
 * Rounds: in each round every cell that needs a run gets one, in random order, so that changes of
 * the machine affect all cells alike.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/clock.h"
#include "lab/explore/explore.h"
#include "lab/statistics.h"
#include "sim/random.h"

#define PROGRESS_AFTER_S 1.0
#define PROGRESS_STEP_S	 0.1

/* ---- cells ---- */

int explore_cells(struct explore *e, const struct explore_spec *spec, bool simulate)
{
	uint64_t most = (uint64_t)spec->n_kernels * spec->n_devices * spec->n_ionodes *
			(spec->n_orders + 1);
	struct explore_cell *c;

	*e = (struct explore){ .spec = spec, .simulate = simulate, .threads = 1 };
	if (most > 10000000)
		return cli_usage(EXPLORE_CMD, "%s: more than 10 million cells.", spec->path);
	e->cell = calloc(most + 1, sizeof(*e->cell));
	if (!e->cell)
		return cli_fail(EXPLORE_CMD, "out of memory.");
	for (uint32_t d = 0; d < spec->n_devices; d++)
		for (uint32_t k = 0; k < spec->n_kernels; k++)
			for (uint32_t i = 0; i < spec->n_ionodes; i++)
				for (uint32_t o = 0; o < spec->n_orders; o++) {
					c = &e->cell[e->n_cells];
					*c = (struct explore_cell){ .kernel = &spec->kernel[k],
								    .device = &spec->device[d],
								    .ionodes = spec->ionodes[i],
								    .order = o };
					if (!c->ionodes)
						c->order = EXPLORE_DIRECT;
					if (c->ionodes || !o)
						e->n_cells++;
				}
	return CLI_OK;
}

void explore_cells_free(struct explore *e)
{
	for (uint32_t i = 0; i < e->n_cells; i++)
		free(e->cell[i].run);
	free(e->cell);
	e->cell = NULL;
	e->n_cells = 0;
}

int explore_add_known(struct explore_cell *c, const struct explore_run *run)
{
	if (c->runs == c->room) {
		uint32_t room = c->room ? 2 * c->room : 8;
		struct explore_run *more = reallocarray(c->run, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		c->run = more;
		c->room = room;
	}
	c->run[c->runs++] = *run;
	return 0;
}

int explore_add(struct explore *e, struct explore_cell *c, const struct explore_run *run)
{
	if (explore_add_known(c, run))
		return cli_fail(EXPLORE_CMD, "out of memory.");
	return e->csv ? explore_csv_add(e, c, c->runs - 1) : CLI_OK;
}

const char *explore_policy(const struct explore_spec *s, const struct explore_cell *c)
{
	return c->order == EXPLORE_DIRECT ? "direct" : s->order[c->order];
}

const struct explore_cell *explore_sibling(const struct explore *e, const struct explore_cell *c,
					   uint32_t order)
{
	/* The cells of different orders are adjacent. */
	int64_t at = c - e->cell + (int64_t)order - (int64_t)c->order;

	if (c->order == EXPLORE_DIRECT || order >= e->spec->n_orders || at < 0)
		return NULL;
	return &e->cell[at];
}

double explore_ratio(const struct explore *e, const struct explore_cell *c)
{
	const struct explore_spec *s = e->spec;
	const struct sl_device_model *m = &c->device->model;
	uint64_t bytes = c->kernel->request_bytes;
	uint32_t op = c->kernel->op;

	if (explore_is_meta(c->kernel))
		return 0;
	if (!c->device->name[0])
		return s->ratio[op];
	/* For the size that a device sees without merging. */
	if (e->simulate && s->platform.transfer_bytes && bytes > s->platform.transfer_bytes)
		bytes = s->platform.transfer_bytes;
	if (e->simulate && (c->ionodes ? c->ionodes : s->servers) > 1 && bytes > s->stripe_bytes)
		bytes = s->stripe_bytes;
	return (double)sl_device_cost_ns(m, op, bytes, 1) /
	       (double)sl_device_cost_ns(m, op, bytes, 0);
}

/* ---- means ---- */

static struct explore_estimate ce_estimate(const struct explore_spec *s,
					   const struct explore_cell *c,
					   double (*of)(const struct explore_cell *c, uint32_t run))
{
	struct explore_estimate e = { NAN, NAN };
	double squares = 0;

	if (!c->runs)
		return e;
	e.mean = 0;
	for (uint32_t i = 0; i < c->runs; i++)
		e.mean += of(c, i) / c->runs;
	if (c->runs < 2)
		return e;
	for (uint32_t i = 0; i < c->runs; i++)
		squares += (of(c, i) - e.mean) * (of(c, i) - e.mean);
	e.half = stat_student(c->runs - 1, s->confidence) * sqrt(squares / (c->runs - 1) / c->runs);
	return e;
}

static double ce_run_mb_s(const struct explore_cell *c, uint32_t run)
{
	return (double)c->run[run].bytes / c->run[run].seconds / 1e6;
}

static double ce_run_seconds(const struct explore_cell *c, uint32_t run)
{
	return c->run[run].seconds * (double)explore_bytes(c->kernel) / (double)c->run[run].bytes;
}

struct explore_estimate explore_seconds(const struct explore_spec *s, const struct explore_cell *c)
{
	return ce_estimate(s, c, ce_run_seconds);
}

struct explore_estimate explore_mb_s(const struct explore_spec *s, const struct explore_cell *c)
{
	return ce_estimate(s, c, ce_run_mb_s);
}

bool explore_needs_run(const struct explore_spec *s, const struct explore_cell *c)
{
	struct explore_estimate e;

	if (c->runs < s->least || c->runs >= s->most)
		return c->runs < s->least;
	e = explore_seconds(s, c);
	return !(e.half <= s->error * e.mean);
}

/* ---- rounds ---- */

uint32_t explore_round(const struct explore *e, uint64_t round, uint32_t *numbers)
{
	struct sl_random random = sl_random_stream(e->spec->seed, round);
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->n_cells; i++)
		if (explore_needs_run(e->spec, &e->cell[i]))
			numbers[n++] = i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t other = (uint32_t)(sl_random_next(&random) % i), swap = numbers[other];

		numbers[other] = numbers[i - 1];
		numbers[i - 1] = swap;
	}
	return n;
}

/* ---- progress ---- */

void explore_progress_begin(struct explore_progress *p)
{
	*p = (struct explore_progress){ .terminal = isatty(STDERR_FILENO),
					.begin_s = sl_clock_s(),
					.first = UINT64_MAX };
}

void explore_progress(struct explore_progress *p, uint64_t done, uint64_t total, const char *what)
{
	double now = sl_clock_s();

	if (p->first == UINT64_MAX)
		p->first = done;
	if (!p->terminal || now - p->begin_s < PROGRESS_AFTER_S ||
	    now - p->last_s < PROGRESS_STEP_S)
		return;
	p->last_s = now;
	p->shown = true;
	fprintf(stderr, "\r%llu of %llu runs", (unsigned long long)done, (unsigned long long)total);
	if (done > p->first)
		fprintf(stderr, ", %.0f s left",
			(now - p->begin_s) * (double)(total - done) / (double)(done - p->first));
	fprintf(stderr, "%s%.50s\033[K", what[0] ? ": " : "", what);
	fflush(stderr);
}

void explore_progress_end(struct explore_progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
}
