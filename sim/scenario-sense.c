/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check that a scenario is consistent: jobs have different names, there are enough processors at
 * any time, and the end can be reached. Also compute the I/O load.
 *
 * Processors: jobs arrive at their release and leave when they are done, which depends on the
 * policy. Before the run we can only check their need if each were alone: a job released at r with
 * n iterations is there from r to r + n * (w + vol / min(b beta, B)), by its means. Example: N =
 * 10; 8 processors from 0 to 100 s and 5 from 50 s on are 13 at 50 s: too many. If the second came
 * at 100 s, both would fit, unless the first is delayed: the run would tell (machine.c).
 *
 * O(n), and O(n log n) where releases must be looked at.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ds/fnv.h"
#include "sim/random.h"
#include "sim/scenario.h"

double sl_scenario_asks_bps(const struct sl_scenario *s)
{
	double bps = 0;

	for (uint32_t i = 0; i < s->n_apps; i++) {
		const struct sl_app *a = &s->apps[i];
		double bytes = sl_vary_mean(&a->volume_bytes);
		double cap_bps = sl_app_cap_bps(&s->platform, a);

		if (bytes > 0)
			bps += bytes / (sl_vary_mean(&a->compute_s) + bytes / cap_bps);
	}
	return bps;
}

uint64_t sl_scenario_procs(const struct sl_scenario *s)
{
	uint64_t procs = 0;

	for (uint32_t i = 0; i < s->n_apps; i++)
		procs += s->apps[i].procs;
	return procs;
}

static int ss_wrong(struct sl_scenario_fault *f, uint32_t app, uint32_t other)
{
	f->app = app;
	f->other = other;
	return -EINVAL;
}

static int ss_no_memory(struct sl_scenario_fault *f)
{
	snprintf(f->text, sizeof(f->text), "no memory");
	return -ENOMEM;
}

/* ---- names ---- */

static uint64_t ss_hash(const char *name)
{
	uint64_t h = sl_fnv(SL_FNV, name, strlen(name));

	return h ^ h >> 32;
}

static int ss_names(const struct sl_scenario *s, struct sl_scenario_fault *f)
{
	uint64_t size = 16;
	uint32_t *table;
	int rc = 0;

	while (size < 2 * (uint64_t)s->n_apps)
		size *= 2;
	table = calloc(size, sizeof(*table)); /* number of an application + 1; 0: free */
	if (!table)
		return ss_no_memory(f);
	for (uint32_t i = 0; i < s->n_apps && !rc; i++) {
		uint64_t at = ss_hash(s->apps[i].name) & (size - 1);

		while (table[at] && strcmp(s->apps[table[at] - 1].name, s->apps[i].name) != 0)
			at = (at + 1) & (size - 1);
		if (table[at]) {
			snprintf(f->text, sizeof(f->text), "two jobs are called '%s'",
				 s->apps[i].name);
			rc = ss_wrong(f, i, table[at] - 1);
		}
		table[at] = i + 1;
	}
	free(table);
	return rc;
}

/* ---- time ---- */

/* Its end, if it were alone; INFINITY: that of the window. */
static double ss_end_s(const struct sl_scenario *s, const struct sl_app *a)
{
	return a->iterations
		       ? a->release_s + (double)a->iterations * sl_app_alone_s(&s->platform, a)
		       : INFINITY;
}

static int ss_ends(const struct sl_scenario *s, struct sl_scenario_fault *f)
{
	for (uint32_t i = 0; i < s->n_apps; i++) {
		const struct sl_app *a = &s->apps[i];

		if (!a->iterations || ss_end_s(s, a) <= SL_SIM_LATEST_S)
			continue;
		snprintf(f->text, sizeof(f->text),
			 "%" PRIu64 " iterations of %.4g s, of which %.4g s are I/O at %.4g bytes "
			 "per second, would end after %g s, the longest that a run can be; is a "
			 "unit missing?",
			 a->iterations, sl_app_alone_s(&s->platform, a),
			 sl_app_alone_s(&s->platform, a) - sl_vary_mean(&a->compute_s),
			 sl_app_cap_bps(&s->platform, a), SL_SIM_LATEST_S);
		return ss_wrong(f, i, i);
	}
	return 0;
}

/* ---- processors ---- */

struct change {
	double at_s;
	int64_t procs;
};

/* At the same time, departures come before arrivals. */
static int ss_by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->at_s != y->at_s)
		return x->at_s > y->at_s ? 1 : -1;
	return (x->procs > y->procs) - (x->procs < y->procs);
}

static int ss_procs(const struct sl_scenario *s, struct sl_scenario_fault *f)
{
	struct change *c;
	uint32_t n = 0;
	int64_t there = 0;
	int rc = 0;

	if (!s->platform.procs || sl_scenario_procs(s) <= s->platform.procs)
		return 0;
	c = calloc(2 * (size_t)s->n_apps, sizeof(*c));
	if (!c)
		return ss_no_memory(f);
	for (uint32_t i = 0; i < s->n_apps; i++) {
		const struct sl_app *a = &s->apps[i];

		c[n++] = (struct change){ a->release_s, a->procs };
		c[n++] = (struct change){ ss_end_s(s, a), -(int64_t)a->procs };
	}
	qsort(c, n, sizeof(*c), ss_by_time);
	for (uint32_t i = 0; i < n && !rc; i++) {
		there += c[i].procs;
		if (there <= (int64_t)s->platform.procs ||
		    (i + 1 < n && c[i + 1].at_s == c[i].at_s))
			continue;
		snprintf(f->text, sizeof(f->text),
			 "the jobs need %" PRId64 " processors at %g s, platform.procs is %" PRIu64,
			 there, c[i].at_s, s->platform.procs);
		rc = ss_wrong(f, SL_SCENARIO_PLATFORM, SL_SCENARIO_PLATFORM);
	}
	free(c);
	return rc;
}

int sl_scenario_sense(const struct sl_scenario *s, struct sl_scenario_fault *f)
{
	int rc = ss_names(s, f);

	if (!rc)
		rc = ss_ends(s, f);
	return rc ? rc : ss_procs(s, f);
}
