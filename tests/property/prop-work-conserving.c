/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No request waits while the device could take it, unless something that says so says so.
 *
 * Whenever sl_next() gives nothing, each job that has a request free to go must have an excuse:
 * its max (by a bucket of our own, in exact fractions), a strict grant of 0, a wait of its order
 * policy (mlf, aioli: at most wait_us after anything happened to the job), a wait of share
 * (anticipate_us, or hold=idle for the grace time). The time to ask again must not be later than
 * the first of these ends, so SL_NEVER is right only without any; and asking at that time may
 * come to nothing only a few times in a row.
 *
 * The bucket: a tag T in ns; the job may send when T <= now, and sending n bytes makes
 * T = max(T, now - burst / max) + n / max. Example, max 100 B/s, burst 0: 50 B at 1 s make
 * T = 1.5 s, and nothing may go before.
 */
#include <inttypes.h>
#include <string.h>

#include "tests/property/harness.h"

#define JOBS 8

struct watch {
	struct {
		long double tag;
		uint64_t seen;	 /* what had happened to the job when it was last looked at */
		sl_time changed; /* when that was first seen, with no limit on the job */
		bool limited;	 /* at that time */
	} job[JOBS];
	uint64_t seen;
	sl_time changed;
	unsigned streak;
	sl_time told; /* when to ask again */
	bool live;
	uint64_t excused, idle_nulls;
};

static uint64_t total, excused_total, nulls_total;

static void sent(struct hx_world *w, struct hx_job *j, const struct sl_batch *b)
{
	struct watch *v = w->user;
	long double *tag = &v->job[j - w->jobs].tag;
	long double burst, rate = (long double)j->conf.max_bps;

	if (!j->conf.max_bps)
		return;
	burst = j->conf.burst_bytes
			? (long double)j->conf.burst_bytes * 1e9L / rate
			: (long double)hx_param("admit", w->admit, "burst_us", 0) * 1e3L;
	if (!hx_is(hx_order_of(w, j), "to"))
		burst /= 2; /* the other half is for what a batch of several overdraws */
	if (*tag < (long double)w->now - burst)
		*tag = (long double)w->now - burst;
	*tag += (long double)b->length * 1e9L / rate;
}

/* Until when share may hold back what it has. */
static sl_time share_wait_ns(const struct hx_world *w)
{
	sl_time us = hx_param("share", w->share, "anticipate_us", 0);

	if (hx_param("share", w->share, "hold", 0) == 1) /* lend, idle */
		us += hx_param("share", w->share, "grace_us", 0) +
		      1000 * hx_param("share", w->share, "grace_ms", 0);
	return us * 1000;
}

/* Held by its max or by a strict grant; two nanoseconds may be lost to rounding. */
static bool limited(const struct hx_world *w, unsigned job)
{
	const struct watch *v = w->user;
	const struct hx_job *j = &w->jobs[job];

	return (w->strict && j->grant_bps == 0 && j->grant_until > w->now) ||
	       (j->conf.max_bps && v->job[job].tag + 2 > (long double)w->now);
}

/* When the last excuse of a job that could send ends; 0: it has none. */
static sl_time excuse(struct hx_world *w, unsigned job)
{
	struct watch *v = w->user;
	const struct hx_job *j = &w->jobs[job];
	const char *order = hx_order_of(w, j);
	sl_time end = 0, at;

	if (w->strict && j->grant_bps == 0 && j->grant_until > w->now)
		end = j->grant_until;
	if (j->conf.max_bps && !hx_is(w->admit, "open") &&
	    v->job[job].tag + 2 > (long double)w->now) {
		at = (sl_time)v->job[job].tag + 3;
		end = at > end ? at : end;
	}
	if (hx_is(order, "mlf") || hx_is(order, "aioli") || hx_is(order, "auto")) {
		/* In the pool, whatever happens to another job can make it wait. */
		at = hx_in_pool(w, j) ? v->changed : v->job[job].changed;
		if (j->conf.max_bps && v->job[job].tag > (long double)at)
			at = (sl_time)v->job[job].tag + 3;
		if (j->grant_bps != SL_GRANT_NONE && j->grant_until > at)
			at = j->grant_until;
		at += hx_param("order", order, "wait_us", 0) * 1000;
		end = at > end ? at : end;
	}
	at = v->changed + share_wait_ns(w);
	end = at > end ? at : end;
	return end > w->now ? end : 0;
}

static void nothing(struct hx_world *w)
{
	struct watch *v = w->user;
	uint64_t all = w->numbers + w->decisions + w->changes;
	bool news = false;

	for (unsigned i = 0; i < w->njobs; i++) {
		const struct hx_job *j = &w->jobs[i];
		uint64_t seen = j->sent_batches * 3 + j->waiting * 5 + j->flying * 7 +
				j->served[0] * 11 + j->served[1] * 13 + j->sent_bytes * 17;

		if (seen != v->job[i].seen || v->job[i].limited)
			v->job[i].changed = w->now;
		news |= seen != v->job[i].seen;
		v->job[i].seen = seen;
		/* Order is not asked, and does not begin to wait, while a limit holds the job. */
		v->job[i].limited = limited(w, i);
	}
	if (news || all != v->seen) {
		v->seen = all;
		v->changed = w->now;
		v->streak = 0;
	} else if (w->now == v->told && ++v->streak > 2 * JOBS + 16) {
		hx_fail("t=%" PRId64 ": woken %u times in a row for nothing (%s/%s/%s)", w->now,
			v->streak, w->admit, w->share, w->order);
	}
	for (unsigned i = 0; i < w->njobs; i++)
		if (w->jobs[i].grant_bps != SL_GRANT_NONE && w->jobs[i].grant_until <= w->now) {
			w->jobs[i].grant_bps =
				SL_GRANT_NONE; /* back to the pool, if there is one */
			w->moving |= w->ever_pool;
			v->job[i].changed = w->now;
		}
	v->told = w->wake;
	if (!w->nflights)
		w->moving = false;
	if (w->moving)
		return;
	for (unsigned i = 0; i < w->njobs; i++) {
		sl_time end;

		if (!w->jobs[i].present || !hx_sendable(w, i))
			continue;
		/* It may have chosen aioli, which has one batch in flight. */
		if (w->nflights && hx_is(hx_order_of(w, &w->jobs[i]), "auto"))
			continue;
		v->idle_nulls++;
		end = excuse(w, i);
		hx_check(end,
			 "t=%" PRId64 " step=%" PRIu64
			 ": nothing to send, but job %u has (%s/%s/%s)",
			 w->now, w->steps, i, w->admit, w->share, hx_order_of(w, &w->jobs[i]));
		hx_check(!end || w->wake <= end,
			 "t=%" PRId64 " step=%" PRIu64 ": wake at +%" PRId64
			 ", but job %u is free at +%" PRId64 " (%s/%s/%s)",
			 w->now, w->steps, w->wake - w->now, i, end - w->now, w->admit, w->share,
			 hx_order_of(w, &w->jobs[i]));
		v->excused++;
	}
}

static void live_change(struct hx_world *w)
{
	static const char *const stages[] = { "admit", "share", "order" };
	struct hx_rng *g = &w->rng;
	unsigned job = (unsigned)hx_below(g, w->njobs);
	struct sl_job_conf c = w->jobs[job].conf;
	const char *stage = stages[hx_below(g, 3)];
	char policy[128];

	w->moving = true; /* jobs with a grant leave the pool, and so on */
	switch (hx_below(g, 4)) {
	case 0:
		hx_random_policy(g, stage, policy, sizeof(policy));
		hx_check(!hx_policy(w, stage, policy), "policy %s: %s", policy, sl_error(w->s));
		break;
	case 1:
		c.weight = (uint32_t)hx_log_range(g, 1, SL_MAX_WEIGHT);
		c.period_ns = (sl_time)hx_log_range(g, 1, 10000000000000);
		hx_check(!hx_job_set(w, job, &c), "job: %s", sl_error(w->s));
		break;
	case 2:
		hx_random_policy(g, "order", policy, sizeof(policy));
		hx_check(!hx_job_order(w, job, policy), "order: %s", sl_error(w->s));
		break;
	default:
		hx_check(!hx_grant(w, job, hx_chance(g, 60) ? 0 : SL_GRANT_NONE,
				   w->now + (sl_time)hx_log_range(g, 1, 1000000000)),
			 "grant: %s", sl_error(w->s));
	}
}

/* Clients pause and come back; now and then something else changes. */
static void tick(struct hx_world *w)
{
	struct watch *v = w->user;
	struct hx_rng *g = &w->rng;
	unsigned job = (unsigned)hx_below(g, w->njobs);

	w->jobs[job].depth = hx_chance(g, 40) ? 0 : (unsigned)hx_log_range(g, 1, 40);
	hx_fill(w, job);
	if (v->live && hx_chance(g, 30))
		live_change(w);
	else if (w->strict && !w->jobs[job].conf.max_bps && hx_chance(g, 20)) {
		/* Not with a max: a grant of 0 stops the clock of its bucket, and ours runs on. */
		w->moving = true;
		hx_check(!hx_grant(w, job, hx_chance(g, 60) ? 0 : SL_GRANT_NONE,
				   w->now + (sl_time)hx_log_range(g, 1, 1000000000)),
			 "grant: %s", sl_error(w->s));
	}
	w->alarm = w->now + (sl_time)hx_log_range(g, 1, 20000000);
}

static void scenario(uint64_t seed, uint64_t requests, const char *admit, const char *share,
		     const char *order, bool live)
{
	struct hx_rng g = { seed };
	struct sl_config c = { .admit = admit,
			       .share = share,
			       .order = order,
			       .limits = { JOBS, 1000, 1000 },
			       .strict_grants = hx_chance(&g, 50),
			       .capacity_bps = hx_log_range(&g, 10000000, 10000000000) };
	struct watch v = { .live = live };
	struct hx_world w;

	hx_open(&w, hx_rand(&g), JOBS, &c);
	w.window = (unsigned)hx_log_range(&g, 1, 16);
	w.shuffled = hx_chance(&g, 50);
	w.user = &v;
	w.on_send = sent;
	w.on_null = nothing;
	w.tick = tick;
	w.alarm = w.now;
	for (unsigned i = 0; i < JOBS; i++) {
		struct sl_job_conf conf = { .weight =
						    (uint32_t)hx_log_range(&g, 1, SL_MAX_WEIGHT) };
		struct hx_job *j = &w.jobs[i];

		if (!live && hx_chance(&g, 40))
			conf.max_bps = hx_log_range(&g, 100000, c.capacity_bps);
		if (hx_chance(&g, 20))
			conf.burst_bytes = hx_log_range(&g, 1, HX_MIB);
		if (hx_chance(&g, 20))
			conf.min_bps = hx_log_range(
				&g, 1, (conf.max_bps ? conf.max_bps : c.capacity_bps) / JOBS);
		if (hx_chance(&g, 60))
			conf.period_ns = (sl_time)hx_log_range(&g, 1000, 10000000000000);
		conf.best_effort = 1;
		v.job[i].tag = (long double)w.now;
		hx_check(!hx_job_add(&w, i, &conf), "job refused: %s", sl_error(w.s));
		j->nfiles = (unsigned)hx_range(&g, 1, HX_FILES);
		j->size_lo = hx_log_range(&g, 1, HX_MIB);
		j->size_hi = hx_log_range(&g, j->size_lo, 2 * HX_MIB);
		j->write_percent = (unsigned)hx_below(&g, 101);
		j->random_percent = hx_chance(&g, 50) ? 0 : (unsigned)hx_below(&g, 101);
	}
	while (w.requests < requests && !hx_failed() && w.now < 2000 * HX_SEC)
		hx_run(&w, w.now + HX_MS);
	w.on_null = NULL; /* draining lifts limits, of which it knows nothing */
	if (!hx_failed())
		hx_drain(&w);
	hx_check(!hx_failed(), "scenario seed=%" PRIu64 " %s/%s/%s live=%d strict=%d", seed, admit,
		 share, order, live, c.strict_grants);
	total += w.requests;
	excused_total += v.excused;
	nulls_total += w.nulls;
	hx_close(&w);
}

int main(void)
{
	struct sl_policy_info s, o;
	char admit[128], share[128], order[128];
	struct hx_rng g = { hx_seed() };

	for (unsigned j = 0; !sl_policy_info(j, &s); j++) {
		if (strcmp(s.stage, "share") != 0)
			continue;
		hx_case("the device is never idle without an excuse under share=%s and each order",
			s.name);
		for (unsigned k = 0; !sl_policy_info(k, &o); k++)
			for (uint64_t n = hx_scaled(4);
			     !strcmp(o.stage, "order") && n && !hx_failed(); n--)
				scenario(hx_rand(&g), 4000, "token-bucket", s.name, o.name, false);
		hx_end();
	}
	hx_case("the device is never idle without an excuse under random policies and parameters");
	for (uint64_t n = hx_scaled(60); n && !hx_failed(); n--) {
		hx_random_policy(&g, "admit", admit, sizeof(admit));
		hx_random_policy(&g, "share", share, sizeof(share));
		hx_random_policy(&g, "order", order, sizeof(order));
		scenario(hx_rand(&g), 4000, admit, share, order, false);
	}
	hx_end();
	hx_case("the device is never idle without an excuse while policies change");
	for (uint64_t n = hx_scaled(60); n && !hx_failed(); n--) {
		hx_random_policy(&g, "admit", admit, sizeof(admit));
		hx_random_policy(&g, "share", share, sizeof(share));
		hx_random_policy(&g, "order", order, sizeof(order));
		scenario(hx_rand(&g), 4000, admit, share, order, true);
	}
	hx_end();
	printf("# %" PRIu64 " requests, %" PRIu64 " times nothing, %" PRIu64 " excuses\n", total,
	       nulls_total, excused_total);
	return hx_finish();
}
