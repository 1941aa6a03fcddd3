/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ten thousand jobs that come and go, priorities over six orders of magnitude, a million requests;
 * and the same calls give the same decisions.
 *
 * The share bound is checked for all pairs of jobs at once: V_i - V_j <= L_i/w_i + L_j/w_j for all
 * i and j is the same as max(V_i - L_i/w_i) <= min(V_j + L_j/w_j), V the bytes over the weight
 * since all were backlogged. Example: V = 5 and 2, L/w = 2 and 1: 3 <= 3, just within.
 *
 * Determinism is what replaying a trace rests on: a hash over all batches and wake times of a run
 * with live changes must come out the same twice, also in memory that was used before.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/property/harness.h"

static uint64_t total;

static void client(struct hx_world *w, unsigned job, unsigned depth)
{
	struct hx_rng *g = &w->rng;
	struct hx_job *j = &w->jobs[job];
	struct sl_job_conf conf = { .weight = (uint32_t)hx_log_range(g, 1, SL_MAX_WEIGHT) };
	sl_time period = 1000000;

	for (uint64_t k = hx_below(g, 7); k; k--)
		period *= 10;
	conf.period_ns = hx_chance(g, 90) ? period : 0;
	hx_check(!hx_job_add(w, job, &conf), "job %u refused: %s", job, sl_error(w->s));
	j->size_lo = 512;
	j->size_hi = 64 * HX_KIB;
	j->depth = depth;
	hx_fill(w, job);
}

static void begin(struct hx_world *w, uint64_t seed, const char *share, unsigned jobs,
		  unsigned depth)
{
	struct sl_config c = { .limits = { jobs, jobs + 100, jobs * depth + 100 },
			       .share = share,
			       .order = "to" };

	hx_open(w, seed, jobs, &c);
	w->device_bps = 10000000000;
	w->window = 4;
	for (unsigned i = 0; i < jobs; i++)
		client(w, i, depth);
}

static void finish(struct hx_world *w)
{
	w->tick = NULL;
	w->alarm = SL_NEVER;
	if (!hx_failed())
		hx_drain(w);
	total += w->requests;
	hx_close(w);
}

static void run_requests(struct hx_world *w, uint64_t n)
{
	while (w->requests < n && !hx_failed())
		hx_run(w, w->now + HX_MS);
}

static void fair_to_all(uint64_t seed, unsigned jobs, uint64_t requests)
{
	long double high = -1e30L, low = 1e30L, v, step;
	struct hx_world w;

	begin(&w, seed, "wfq", jobs, 16);
	run_requests(&w, (uint64_t)jobs * 16 + requests);
	for (unsigned i = 0; i < jobs; i++) {
		const struct hx_job *j = &w.jobs[i];

		v = (long double)j->sent_bytes / j->conf.weight;
		step = (long double)j->size_hi / j->conf.weight;
		high = v - step > high ? v - step : high;
		low = v + step < low ? v + step : low;
	}
	hx_check(high <= low + 1e-3L, "two of %u jobs are %Lg further apart than allowed", jobs,
		 high - low);
	finish(&w);
}

/* Every job ends when its requests are served, and another one begins in its place. */
static void turnover(struct hx_world *w)
{
	for (unsigned n = 0; n < 64; n++) {
		unsigned job = (unsigned)hx_below(&w->rng, w->njobs);
		struct hx_job *j = &w->jobs[job];

		if (j->present && (j->waiting || j->flying)) {
			j->depth = 0;
		} else if (j->present) {
			hx_job_remove(w, job);
		} else {
			j->id += 1000003; /* a new job, not the old one again */
			client(w, job, (unsigned)hx_range(&w->rng, 1, 8));
		}
	}
	w->alarm = w->now + 100000;
}

static void come_and_go(uint64_t seed, const char *share, unsigned jobs, uint64_t requests)
{
	struct hx_world w;

	begin(&w, seed, share, jobs, 8);
	w.tick = turnover;
	w.alarm = w.now;
	run_requests(&w, (uint64_t)jobs * 8 + requests);
	hx_check_totals(&w);
	for (unsigned i = 0; i < jobs; i += 97)
		hx_check_stats(&w, i);
	finish(&w);
}

static void shake(struct hx_world *w)
{
	static const char *const stages[] = { "admit", "share", "order" };
	struct hx_rng *g = &w->rng;
	unsigned job = (unsigned)hx_below(g, w->njobs);
	struct sl_job_conf c = w->jobs[job].conf;
	const char *stage = stages[hx_below(g, 3)];
	char policy[128];

	switch (hx_below(g, 4)) {
	case 0:
		hx_random_policy(g, stage, policy, sizeof(policy));
		hx_check(!hx_policy(w, stage, policy), "%s: %s", policy, sl_error(w->s));
		break;
	case 1:
		c.max_bps = hx_chance(g, 50) ? 0 : hx_log_range(g, 1000000, 1000000000);
		hx_check(!hx_job_set(w, job, &c), "job: %s", sl_error(w->s));
		break;
	case 2:
		hx_check(!hx_grant(w, job, hx_below(g, 2) * 100000000, w->now + HX_MS), "grant: %s",
			 sl_error(w->s));
		break;
	default:
		if (w->jobs[job].first)
			hx_cancel(w, w->jobs[job].first);
		hx_fill(w, job);
	}
	w->alarm = w->now + (sl_time)hx_log_range(g, 1000, 1000000);
}

static uint64_t decisions(uint64_t seed, uint64_t requests)
{
	struct hx_world w;
	uint64_t hash;

	begin(&w, seed, "wfq", 50, 16);
	w.window = 8;
	w.shuffled = true;
	w.tick = shake;
	w.alarm = w.now;
	for (unsigned i = 0; i < 50; i++) {
		w.jobs[i].random_percent = 30;
		w.jobs[i].write_percent = 50;
		w.jobs[i].nfiles = 2;
	}
	run_requests(&w, requests);
	hash = w.hash;
	finish(&w);
	return hash;
}

int main(void)
{
	struct hx_rng g = { hx_seed() };
	uint64_t seed = hx_rand(&g), one;
	void *dirt;

	hx_case("ten thousand jobs share by weight, all pairs of them");
	fair_to_all(hx_rand(&g), 10000, hx_scaled(400000));
	hx_end();
	hx_case("ten thousand jobs come and go under wfq");
	come_and_go(hx_rand(&g), "wfq", 10000, hx_scaled(300000));
	hx_end();
	hx_case("ten thousand jobs of priorities a million to one come and go under io-sets");
	come_and_go(hx_rand(&g), "io-sets", 10000, hx_scaled(300000));
	hx_end();
	hx_case("ten thousand jobs come and go under round-robin, fifo and pool");
	come_and_go(hx_rand(&g), "round-robin", 10000, hx_scaled(100000));
	come_and_go(hx_rand(&g), "fifo", 10000, hx_scaled(100000));
	come_and_go(hx_rand(&g), "pool", 10000, hx_scaled(100000));
	hx_end();
	hx_case("the same calls give the same decisions");
	one = decisions(seed, 2000 + hx_scaled(50000));
	dirt = malloc(64 * HX_MIB);
	if (dirt)
		memset(dirt, 0xff, 64 * HX_MIB);
	free(dirt);
	hx_check(decisions(seed, 2000 + hx_scaled(50000)) == one,
		 "the second run decides otherwise");
	hx_check(decisions(seed + 1, 2000 + hx_scaled(50000)) != one,
		 "another seed decides the same");
	hx_end();
	printf("# %" PRIu64 " requests\n", total);
	return hx_finish();
}
