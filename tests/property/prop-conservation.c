/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing is lost, duplicated or invented, whatever happens.
 *
 * Random calls in random order against one scheduler after the other: every combination of
 * policies with random and extreme parameters, bursts of overlapping requests from 1 B to
 * 16 MiB, completions in any order, cancels, and all live changes at any moment. The model
 * checks each call: batches are contiguous, of one file, operation and flags, within their
 * bounds; a request that conflicts with an earlier one of its job comes out after that is done;
 * limits answer -ENOSPC and change nothing; the counters agree. At the end all limits are
 * lifted and everything must come out.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tests/property/harness.h"

#define JOBS 12

static uint64_t total_requests, total_batches, merged, mixed, cancelled, refused;

static struct sl_job_conf random_conf(struct hx_world *w)
{
	struct hx_rng *g = &w->rng;
	struct sl_job_conf c = { 0 };

	if (hx_chance(g, 30))
		c.max_bps = hx_log_range(g, 1, hx_chance(g, 20) ? SL_MAX_RATE : 10000000000);
	if (w->capacity_bps && hx_chance(g, 30))
		c.min_bps = hx_log_range(g, 1, w->capacity_bps);
	if (c.min_bps && hx_chance(g, 50))
		c.best_effort = 1;
	if (hx_chance(g, 30))
		c.burst_bytes = hx_log_range(g, 1, 64 * HX_MIB);
	if (hx_chance(g, 50))
		c.weight = (uint32_t)hx_log_range(g, 1, SL_MAX_WEIGHT);
	if (hx_chance(g, 50))
		c.period_ns = (sl_time)hx_log_range(g, 1, 10000000000000);
	return c;
}

static void set_job(struct hx_world *w, unsigned job)
{
	struct sl_job_conf c = random_conf(w), before, after;
	int ret;

	if (!w->jobs[job].present) {
		ret = hx_job_add(w, job, &c);
		hx_check(!ret || ret == -EDQUOT || ret == -ENOSPC || ret == -EINVAL,
			 "step=%" PRIu64 ": sl_job_add gives %d (%s)", w->steps, ret,
			 sl_error(w->s));
		return;
	}
	hx_check(!sl_job_get(w->s, w->jobs[job].id, &before), "sl_job_get");
	ret = hx_job_set(w, job, &c);
	hx_check(!sl_job_get(w->s, w->jobs[job].id, &after), "sl_job_get");
	if (ret) {
		hx_check(!memcmp(&before, &after, sizeof(before)),
			 "step=%" PRIu64 ": a refused sl_job_set changed the job", w->steps);
		hx_check((c.min_bps && !c.best_effort) || (c.max_bps && c.min_bps > c.max_bps),
			 "step=%" PRIu64 ": sl_job_set gives %d (%s)", w->steps, ret,
			 sl_error(w->s));
	}
}

static void change_policy(struct hx_world *w)
{
	static const char *const stages[] = { "admit", "share", "order" };
	const char *stage = stages[hx_below(&w->rng, 3)];
	char policy[128];
	int ret;

	hx_random_policy(&w->rng, stage, policy, sizeof(policy));
	ret = hx_policy(w, stage, policy);
	if (ret == -ENOSPC && w->ever_pool && w->files > w->limits.files)
		return; /* the pool counts its files once, the jobs each for itself */
	hx_check(!ret, "step=%" PRIu64 ": sl_policy_set %s %s gives %d (%s)", w->steps, stage,
		 policy, ret, sl_error(w->s));
}

static void change(struct hx_world *w)
{
	struct hx_rng *g = &w->rng;
	unsigned job = (unsigned)hx_below(g, w->njobs);
	char policy[128];
	int ret;

	switch (hx_below(g, 10)) {
	case 0:
	case 1:
	case 2:
		set_job(w, job);
		break;
	case 3:
		change_policy(w);
		break;
	case 4:
		if (!w->jobs[job].present)
			break;
		hx_random_policy(g, "order", policy, sizeof(policy));
		ret = hx_job_order(w, job, hx_chance(g, 30) ? NULL : policy);
		hx_check(!ret, "step=%" PRIu64 ": sl_job_order %s gives %d (%s)", w->steps, policy,
			 ret, sl_error(w->s));
		break;
	case 5:
		w->steps++;
		{
			uint64_t bps = hx_chance(g, 20) ? 0 : hx_log_range(g, 1000, 10000000000);

			ret = sl_capacity_set(w->s, bps, w->now);
			if (!ret)
				w->capacity_bps = bps;
			/* With guarantees given, the capacity cannot become unknown. */
			hx_check(!ret || !bps, "step=%" PRIu64 ": sl_capacity_set gives %d (%s)",
				 w->steps, ret, sl_error(w->s));
		}
		break;
	case 6:
	case 7:
		if (!w->jobs[job].present)
			break;
		ret = hx_grant(w, job,
			       hx_chance(g, 30)	  ? 0
			       : hx_chance(g, 30) ? SL_GRANT_NONE
						  : hx_log_range(g, 1, 10000000000),
			       w->now + (sl_time)hx_log_range(g, 1, 10000000000));
		hx_check(!ret, "step=%" PRIu64 ": sl_job_grant gives %d (%s)", w->steps, ret,
			 sl_error(w->s));
		break;
	default:
		hx_job_remove(w, job);
	}
}

/* Where the last orderly burst stopped. */
static unsigned last_file;
static uint64_t last_end;
static uint32_t last_op;

static void burst(struct hx_world *w)
{
	struct hx_rng *g = &w->rng;
	unsigned job = (unsigned)hx_below(g, w->njobs), file = (unsigned)hx_below(g, HX_FILES);
	unsigned n = (unsigned)hx_log_range(g, 1, 24);
	uint64_t length = hx_log_range(g, 1, 16 * HX_MIB);
	uint64_t at = hx_below(g, 4) * HX_MIB + hx_below(g, 3) * length;
	bool backwards = hx_chance(g, 20), scattered = hx_chance(g, 30);
	uint32_t op = hx_chance(g, 50), flags = hx_chance(g, 10);

	if (hx_chance(g, 25)) { /* where another job stopped: a pool can merge them */
		file = last_file;
		at = last_end;
		op = last_op;
		flags = 0;
	}
	if (hx_chance(g, 2)) /* at the very end of what a file can be */
		at = UINT64_MAX - SL_MAX_LENGTH;
	while (n--) {
		if (hx_add(w, job, file, at, length, op, flags)) {
			refused++;
			return;
		}
		if (scattered) {
			length = hx_log_range(g, 1, 4 * HX_MIB);
			at = hx_below(g, 16 * HX_MIB);
			op = hx_chance(g, 50);
			file = (unsigned)hx_below(g, HX_FILES);
		} else {
			at = backwards && at >= length ? at - length : at + length;
			last_file = file;
			last_end = at;
			last_op = op;
		}
		if (hx_chance(g, 5)) /* a neighbour that must not be merged */
			flags = !flags;
		if (hx_chance(g, 5))
			w->now += (sl_time)hx_log_range(g, 1, 1000000);
	}
}

static void cancel(struct hx_world *w)
{
	struct hx_request *q = &w->pool[hx_below(&w->rng, w->limits.requests)];

	if (q->state != HX_FREE)
		cancelled += !hx_cancel(w, q);
}

static void step(struct hx_world *w)
{
	struct hx_rng *g = &w->rng;
	uint64_t dice = hx_below(g, 1000);

	if (dice < 180) {
		burst(w);
	} else if (dice < 560) {
		for (uint64_t n = hx_log_range(g, 1, 16); n && hx_next(w);)
			n--;
	} else if (dice < 830) {
		for (uint64_t n = hx_log_range(g, 1, 16); n && w->nflights; n--)
			hx_done(w, (unsigned)hx_below(g, w->nflights));
	} else if (dice < 930) {
		if (w->wake > w->now && w->wake < w->now + 1000 * HX_SEC && hx_chance(g, 50))
			w->now = w->wake;
		else
			w->now += (sl_time)hx_log_range(g, 1, 10000000000);
	} else if (dice < 960) {
		cancel(w);
	} else if (dice < 990) {
		change(w);
	} else {
		for (unsigned i = 0; i < w->njobs; i++)
			hx_check_stats(w, i);
		hx_check_totals(w);
	}
}

static void scenario(uint64_t seed, unsigned steps, const char *admit, const char *share,
		     const char *order)
{
	struct hx_rng g = { seed };
	struct sl_config config = { .admit = admit, .share = share, .order = order };
	struct hx_world w;

	config.limits.jobs = (uint32_t)hx_range(&g, 1, JOBS);
	config.limits.files = (uint32_t)hx_log_range(&g, 1, 100);
	config.limits.requests = (uint32_t)hx_log_range(&g, 1, 500);
	config.strict_grants = hx_chance(&g, 30);
	config.capacity_bps = hx_chance(&g, 30) ? 0 : hx_log_range(&g, 1000, 10000000000);
	last_file = last_op = 0;
	last_end = 0;
	hx_open(&w, hx_rand(&g), JOBS, &config);
	for (unsigned i = 0; i < JOBS; i++)
		if (hx_chance(&g, 80))
			set_job(&w, i);
	for (unsigned i = 0; i < steps && !hx_failed(); i++)
		step(&w);
	if (!hx_failed())
		hx_drain(&w);
	hx_check(!hx_failed(), "scenario seed=%" PRIu64 " began with %s/%s/%s, is %s/%s/%s", seed,
		 admit, share, order, w.admit, w.share, w.order);
	total_requests += w.requests;
	total_batches += w.decisions;
	merged += w.merged;
	mixed += w.mixed;
	hx_close(&w);
}

int main(void)
{
	struct sl_policy_info a, s, o;
	char admit[128], share[128], order[128];
	struct hx_rng g = { hx_seed() };

	/* Every combination by name, with default parameters. */
	for (unsigned i = 0; !sl_policy_info(i, &a); i++)
		for (unsigned j = 0; !strcmp(a.stage, "admit") && !sl_policy_info(j, &s); j++) {
			if (strcmp(s.stage, "share") != 0)
				continue;
			hx_case("requests are conserved under admit=%s share=%s and each order",
				a.name, s.name);
			for (unsigned k = 0; !sl_policy_info(k, &o); k++)
				for (uint64_t n = hx_scaled(30);
				     !strcmp(o.stage, "order") && n && !hx_failed(); n--)
					scenario(hx_rand(&g), 2000, a.name, s.name, o.name);
			hx_end();
		}
	for (unsigned i = 1; i <= 4; i++) {
		hx_case("requests are conserved under random policies and parameters, part %u", i);
		for (uint64_t n = hx_scaled(450); n && !hx_failed(); n--) {
			hx_random_policy(&g, "admit", admit, sizeof(admit));
			hx_random_policy(&g, "share", share, sizeof(share));
			hx_random_policy(&g, "order", order, sizeof(order));
			scenario(hx_rand(&g), 2000, admit, share, order);
		}
		hx_end();
	}
	hx_case("the streams above had all that they were meant to have");
	hx_check(merged && mixed && cancelled && refused,
		 "merged %" PRIu64 ", of several jobs %" PRIu64 ", cancelled %" PRIu64
		 ", refused %" PRIu64,
		 merged, mixed, cancelled, refused);
	hx_end();
	printf("# %" PRIu64 " requests in %" PRIu64 " batches\n", total_requests, total_batches);
	return hx_finish();
}
