/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often the period detector is right: jobs with a known period, jobs without any.
 *
 *	whole traces: within 5 % of the period in at least 95 % of the jobs that have one, and in at
 *	most 2 % of those that have none a period is found;
 *	online, reports about every 100 ms: the same, at any time of the run.
 *
 * "The period" is the mean time between starts as they came out. For jitter around a grid it is the
 * nominal one, nearly; when each start is late after the one before, ten intervals with a jitter of
 * 20 % have a mean that is 3.7 % (standard deviation) off the nominal, and nobody could tell that.
 *
 * Rates are printed. A rate of 95 % or 2 % is meant of all jobs of the kind; a sample of them has
 * an error, so that a case fails if it is two standard errors beyond.
 */
#include <inttypes.h>

#include "tests/property/period-signals.h"

#define RIGHT  0.05
#define JOBS   300
#define ONLINE 60

static double find_whole(const struct signal *s)
{
	double length = s->t.end_s - s->t.start_s;
	/* As `sluice period` does: 10 Hz, finer if that is too coarse; not more than a test can
	 * take. */
	double fs_hz = fmin(fmax(10, 2048 / length), 8192 / length);
	size_t n = sl_trace_bins(&s->t, fs_hz);
	float *bandwidth = malloc(n * sizeof(*bandwidth));
	double *sums = malloc(2 * n * sizeof(*sums));
	void *work = malloc(sl_period_work_bytes(n));
	struct sl_period_result found;

	if (!bandwidth || !sums || !work)
		abort();
	sl_trace_bin(&s->t, n, sums, bandwidth);
	sl_period_find(bandwidth, n, length / (double)n, work, &found);
	free(work);
	free(sums);
	free(bandwidth);
	return found.period_s;
}

/* Reports every 100 ms, not exactly; asked each time, as a controller does. */
static double find_online(struct hx_rng *g, const struct signal *s)
{
	double length = s->t.end_s - s->t.start_s, confidence;
	size_t n = (size_t)ceil(length / 0.1);
	float *bandwidth = malloc(n * sizeof(*bandwidth));
	double *sums = malloc(2 * n * sizeof(*sums));
	struct sl_period *p = sl_period_new();
	const int64_t begin = 12345 * HX_SEC;
	int64_t period_ns = 0;

	if (!bandwidth || !sums || !p)
		abort();
	sl_trace_bin(&s->t, n, sums, bandwidth);
	sl_period_add(p, begin, 0);
	for (size_t i = 0; i < n; i++) {
		double step = length / (double)n;
		int64_t now =
			begin + (int64_t)(((double)(i + 1) + uniform(g, 0, 0.2)) * step * 1e9);

		sl_period_add(p, now, (uint64_t)((double)bandwidth[i] * step));
		sl_period_get(p, now, &period_ns, &confidence);
	}
	sl_period_free(p);
	free(sums);
	free(bandwidth);
	return (double)period_ns / 1e9;
}

static void random_job(struct hx_rng *g, struct signal *s, double longest_s)
{
	*s = (struct signal){
		.period_s = exp(uniform(g, log(SL_PERIOD_MIN_S), log(longest_s))),
		.periods = (unsigned)hx_range(g, 10, 60),
		.duty = uniform(g, 0.05, 0.6),
	};
}

/* ---- with a period ---- */

static void clean(struct hx_rng *g, struct signal *s)
{
	(void)g;
	(void)s;
}

static void jitter(struct hx_rng *g, struct signal *s)
{
	s->jitter = 0.2;
	s->renewal = hx_chance(g, 50);
}

static void missing(struct hx_rng *g, struct signal *s)
{
	s->jitter = uniform(g, 0, 0.2);
	s->missing = 0.2;
}

static void noise(struct hx_rng *g, struct signal *s)
{
	s->kind = hx_chance(g, 50) ? RATE_NOISE : WRITE_NOISE;
	s->noise = uniform(g, 0.3, 1);
}

static void two_rates(struct hx_rng *g, struct signal *s)
{
	s->second = uniform(g, 0.1, 0.5);
}

static void all_of_it(struct hx_rng *g, struct signal *s)
{
	s->jitter = uniform(g, 0, 0.2);
	s->renewal = hx_chance(g, 50);
	s->missing = uniform(g, 0, 0.2);
	noise(g, s);
	s->second = hx_chance(g, 50) ? uniform(g, 0.1, 0.4) : 0;
}

static const struct {
	const char *name;
	void (*change)(struct hx_rng *g, struct signal *s);
} with[] = {
	{ "clockwork", clean },		{ "jitter of 20 %", jitter },
	{ "20 % missing", missing },	{ "noise up to the mean", noise },
	{ "a second rate", two_rates }, { "all of it", all_of_it },
};

static void check_with(size_t which, bool online)
{
	struct hx_rng g = { hx_seed() + which };
	uint64_t jobs = hx_scaled(online ? ONLINE : JOBS), right = 0, found = 0;
	double rate, least;

	hx_case("%s: %s", online ? "online" : "whole", with[which].name);
	for (uint64_t i = 0; i < jobs; i++) {
		struct signal s;
		double period_s;

		random_job(&g, &s, online ? 60 : SL_PERIOD_MAX_S);
		with[which].change(&g, &s);
		periodic(&g, &s);
		period_s = online ? find_online(&g, &s) : find_whole(&s);
		found += period_s > 0;
		right += fabs(period_s / s.actual_s - 1) < RIGHT;
		free(s.t.intervals);
	}
	rate = (double)right / (double)jobs;
	least = 0.95 - 2 * sqrt(0.95 * 0.05 / (double)jobs);
	printf("# %s, %s: right %.1f %%, wrong %.1f %%, none %.1f %% of %" PRIu64 "\n",
	       online ? "online" : "whole", with[which].name, 100 * rate,
	       100 * (double)(found - right) / (double)jobs,
	       100 * (double)(jobs - found) / (double)jobs, jobs);
	hx_check(rate >= least, "right in %.1f %%", 100 * rate);
	hx_end();
}

/* ---- with none ---- */

static const struct {
	const char *name;
	void (*make)(struct hx_rng *g, struct signal *s);
} without[] = {
	{ "Poisson arrivals", poisson },
	{ "constant", constant },
	{ "a single burst", single_burst },
	{ "a random walk", random_walk },
};

static void check_without(size_t which, bool online)
{
	struct hx_rng g = { hx_seed() + 100 + which };
	uint64_t jobs = hx_scaled(online ? 2 * ONLINE : 2 * JOBS), found = 0;
	double rate, most;

	hx_case("%s: none in %s", online ? "online" : "whole", without[which].name);
	for (uint64_t i = 0; i < jobs; i++) {
		struct signal s;

		random_job(&g, &s, online ? 30 : SL_PERIOD_MAX_S);
		s.kind = (enum noise)hx_below(&g, 3);
		s.noise = uniform(&g, 0, 1);
		without[which].make(&g, &s);
		found += (online ? find_online(&g, &s) : find_whole(&s)) > 0;
		free(s.t.intervals);
	}
	rate = (double)found / (double)jobs;
	most = 0.02 + 2 * sqrt(0.02 * 0.98 / (double)jobs);
	printf("# %s, %s: found in %.1f %% of %" PRIu64 "\n", online ? "online" : "whole",
	       without[which].name, 100 * rate, jobs);
	hx_check(rate <= most, "found in %.1f %%", 100 * rate);
	hx_end();
}

int main(void)
{
	for (int online = 0; online < 2; online++) {
		for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++)
			check_with(i, online);
		for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
			check_without(i, online);
	}
	return hx_finish();
}
