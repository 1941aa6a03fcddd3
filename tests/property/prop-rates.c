/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates hold in every window.
 *
 * In any window of W seconds a job sends at most max * W + burst + L bytes, L its largest
 * request, and one that always has something to send, alone on a fast device, at least
 * max * W - L, L its largest batch; both also across live changes of the rate, where max * W is the
 * integral. Over all pairs of dispatches, so no alignment of windows can hide anything. From
 * these follow the percentages of the design (1 % over 1 s, 1.3 times over 100 ms), which are
 * checked as well, by sliding windows. Example: 100 MB/s in requests of 64 KiB may have sent
 * 100 ms * 100 MB/s + burst + 64 KiB in any 100 ms.
 *
 * A guarantee (min) is held to the same lower bound against competitors of any weight, and must
 * not depend on the past: neither on having got more before, nor on having been idle.
 *
 * The clock has whole nanoseconds, so one nanosecond's worth of bytes is allowed on top.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/property/harness.h"

#define JOBS 16

struct probe {
	struct hx_meter meter[JOBS];
	struct hx_log log[JOBS];
	bool keep_log;
	uint64_t bound[JOBS]; /* over_bound() of the rates so far */
	bool live;
};

static uint64_t total;

static void sent(struct hx_world *w, struct hx_job *j, const struct sl_batch *b)
{
	struct probe *p = w->user;

	hx_meter_send(&p->meter[j - w->jobs], w->now, b->length);
	if (p->keep_log)
		hx_log_send(&p->log[j - w->jobs], w->now, b->length);
}

static void start(struct hx_world *w, struct probe *p, uint64_t seed, const struct sl_config *c)
{
	memset(p, 0, sizeof(*p));
	hx_open(w, seed, JOBS, c);
	w->on_send = sent;
	w->user = p;
}

static void stop(struct hx_world *w, struct probe *p)
{
	if (!hx_failed())
		hx_drain(w);
	total += w->requests;
	for (unsigned i = 0; i < JOBS; i++)
		hx_log_free(&p->log[i]);
	hx_close(w);
}

static void client(struct hx_world *w, unsigned job, uint64_t size, const struct sl_job_conf *conf)
{
	struct hx_job *j = &w->jobs[job];

	if (hx_job_add(w, job, conf))
		hx_fail("job %u refused: %s", job, sl_error(w->s));
	j->size_lo = j->size_hi = size;
	j->depth = 32;
	hx_fill(w, job);
}

/* One nanosecond's worth of bytes, and what dividing may round. */
static uint64_t tick_bytes(uint64_t rate)
{
	return rate / 1000000000 + 2;
}

static uint64_t burst_of(const struct hx_world *w, const struct sl_job_conf *c, uint64_t rate)
{
	uint64_t us = (uint64_t)hx_param("admit", w->admit, "burst_us", 0);

	if (c->burst_bytes)
		return c->burst_bytes;
	return (uint64_t)((unsigned __int128)rate * us / 1000000) + 1;
}

static void check_over(const struct hx_world *w, unsigned job, uint64_t burst, uint64_t rate)
{
	const struct probe *p = w->user;
	const struct hx_meter *m = &p->meter[job];
	/* L is the largest request, whatever requests were merged into. */
	uint64_t bound = burst + w->jobs[job].size_hi + tick_bytes(rate);

	hx_check(hx_meter_over(m) <= (int64_t)bound,
		 "job %u: rate %" PRIu64 " burst %" PRIu64 " L %" PRIu64 ": a window has %" PRId64
		 " B above the rate, allowed %" PRIu64,
		 job, rate, burst, m->largest, hx_meter_over(m), bound);
}

static void check_under(const struct hx_world *w, unsigned job, uint64_t slack, uint64_t rate)
{
	struct probe *p = w->user;
	struct hx_meter *m = &p->meter[job];
	uint64_t bound = m->largest + slack + tick_bytes(rate);

	hx_meter_end(m, w->now);
	hx_check(m->bytes && hx_meter_under(m) <= (int64_t)bound,
		 "job %u: rate %" PRIu64 " L %" PRIu64 ": a window has %" PRId64
		 " B below the rate, allowed %" PRIu64,
		 job, rate, m->largest, hx_meter_under(m), bound);
}

/* The percentages, where L and burst are small enough to allow them. */
static void check_percent(const struct hx_world *w, unsigned job, uint64_t burst, uint64_t rate,
			  sl_time begin)
{
	const struct probe *p = w->user;
	uint64_t large = p->meter[job].largest, most, least;

	if (large <= rate / 200) {
		/* what the bucket held at the beginning goes first, whatever its depth */
		sl_time from = begin + (sl_time)(burst / (rate / 1000 + 1) + 1) * HX_MS;

		hx_log_windows(&p->log[job], from, w->now, HX_SEC, &most, &least);
		hx_check(least == UINT64_MAX ||
				 (least >= rate - rate / 100 && most <= rate + rate / 100),
			 "job %u: rate %" PRIu64 ": %" PRIu64 "..%" PRIu64 " B in a second", job,
			 rate, least, most);
	}
	if (burst + large <= rate / 10 * 3 / 10) {
		hx_log_windows(&p->log[job], begin, w->now, 100 * HX_MS, &most, &least);
		hx_check(most <= rate / 10 * 13 / 10,
			 "job %u: rate %" PRIu64 ": %" PRIu64 " B in 100 ms", job, rate, most);
	}
}

static void cap_alone(uint64_t seed, const char *order, uint64_t rate, uint64_t size,
		      uint64_t burst, uint64_t sends, sl_time late_ns)
{
	struct sl_config c = { .order = order };
	struct sl_job_conf conf = { .max_bps = rate, .burst_bytes = burst };
	unsigned __int128 ns = (unsigned __int128)size * sends * HX_SEC / rate;
	struct hx_world w;
	struct probe p;
	sl_time begin, idle;
	struct sl_job_stats st;

	if (ns > (unsigned __int128)1000000 * HX_SEC)
		ns = (unsigned __int128)1000000 * HX_SEC;
	start(&w, &p, seed, &c);
	p.keep_log = true;
	begin = w.now;
	p.meter[0].rate_bps = rate;
	p.meter[0].at = begin;
	w.window = 8;
	w.late_ns = late_ns;
	client(&w, 0, size, &conf);
	hx_run(&w, begin + (sl_time)ns + 1000);
	check_over(&w, 0, burst_of(&w, &conf, rate), rate);
	if (!late_ns) {
		/* Alone on an instant device, a job is held by its max whenever it does not send.
		 */
		hx_check(!sl_job_stats(w.s, w.jobs[0].id, w.now, &st), "no stats");
		idle = (sl_time)((unsigned __int128)burst_of(&w, &conf, rate) * HX_SEC / rate);
		hx_check(st.throttled_ns <= w.now - begin &&
				 st.throttled_ns + idle + 1000 >= (w.now - begin) / 100 * 99,
			 "throttled for %" PRId64 " of %" PRId64 " ns", st.throttled_ns,
			 w.now - begin);
		check_under(&w, 0, 0, rate);
		check_percent(&w, 0, burst_of(&w, &conf, rate), rate, begin);
	} else {
		/* Late questions cost nothing as long as the bucket holds what they missed. */
		uint64_t due =
			(uint64_t)((unsigned __int128)rate * (uint64_t)(w.now - begin) / HX_SEC);

		hx_check(p.meter[0].bytes + due / 100 + size >= due,
			 "rate %" PRIu64 ": %" PRIu64 " of %" PRIu64 " B with late questions", rate,
			 p.meter[0].bytes, due);
	}
	hx_check(!hx_failed(),
		 "scenario seed=%" PRIu64 " rate=%" PRIu64 " size=%" PRIu64 " burst=%" PRIu64, seed,
		 rate, size, burst);
	stop(&w, &p);
}

static void many_caps(uint64_t seed)
{
	struct hx_rng g = { seed };
	struct sl_config c = { .order = "to", .capacity_bps = 10000000000 };
	struct sl_job_conf conf[JOBS];
	uint64_t ahead = 4 * HX_MIB;
	struct hx_world w;
	struct probe p;

	start(&w, &p, seed, &c);
	w.window = 4;
	w.shuffled = true;
	for (unsigned i = 0; i < JOBS; i++) {
		conf[i] = (struct sl_job_conf){ .max_bps = hx_log_range(&g, 100000, 200000000),
						.burst_bytes = hx_chance(&g, 50)
								       ? hx_log_range(&g, 1, HX_MIB)
								       : 0,
						.weight = (uint32_t)hx_log_range(&g, 1, 1000) };
		p.meter[i].rate_bps = conf[i].max_bps;
		p.meter[i].at = w.now;
		client(&w, i, hx_log_range(&g, 4096, HX_MIB), &conf[i]);
	}
	hx_run(&w, w.now + 2 * HX_SEC);
	/* The device gives more than all caps, so only the bursts of the others delay a job. */
	for (unsigned i = 0; i < JOBS; i++)
		ahead += burst_of(&w, &conf[i], conf[i].max_bps) + w.jobs[i].largest;
	for (unsigned i = 0; i < JOBS; i++) {
		uint64_t burst = burst_of(&w, &conf[i], conf[i].max_bps);
		uint64_t wait =
			(uint64_t)((unsigned __int128)conf[i].max_bps * ahead / (w.device_bps / 2));

		check_over(&w, i, burst, conf[i].max_bps);
		/* What a job misses while others are served, only its bucket can keep for it. */
		if (burst >= wait)
			check_under(&w, i, wait, conf[i].max_bps);
	}
	hx_check(!hx_failed(), "scenario seed=%" PRIu64, seed);
	stop(&w, &p);
}

/* ---- live changes ---- */

static void new_rate(struct hx_world *w)
{
	struct probe *p = w->user;
	struct sl_job_conf conf = w->jobs[0].conf;
	uint64_t burst;

	conf.max_bps = hx_log_range(&w->rng, 100000, 1000000000);
	if (w->strict)
		hx_check(!hx_grant(w, 0, conf.max_bps, w->now + 2 * HX_SEC), "grant: %s",
			 sl_error(w->s));
	else
		hx_check(!hx_job_set(w, 0, &conf), "new rate refused: %s", sl_error(w->s));
	hx_meter_rate(&p->meter[0], w->now, conf.max_bps);
	burst = burst_of(w, &conf, conf.max_bps) + tick_bytes(conf.max_bps);
	if (burst > p->bound[0])
		p->bound[0] = burst;
	w->alarm = w->now + (sl_time)hx_log_range(&w->rng, 1000, HX_SEC);
}

static void live_rate(uint64_t seed, int strict, uint64_t burst, uint64_t size)
{
	struct sl_config c = { .order = "to", .strict_grants = strict };
	struct sl_job_conf conf = { .max_bps = strict ? SL_MAX_RATE : 1000000,
				    .burst_bytes = burst };
	struct hx_world w;
	struct probe p;

	start(&w, &p, seed, &c);
	p.meter[0].rate_bps = 1000000;
	p.meter[0].at = w.now;
	p.bound[0] = burst_of(&w, &conf, 1000000) + 2;
	w.window = 8;
	w.tick = new_rate;
	w.alarm = w.now + 10 * HX_MS;
	client(&w, 0, size, &conf);
	if (strict)
		hx_check(!hx_grant(&w, 0, 1000000, w.now + 2 * HX_SEC), "grant: %s", sl_error(w.s));
	hx_run(&w, w.now + 20 * HX_SEC);
	check_over(&w, 0, p.bound[0], 1000000000);
	/* Where the burst shrinks with the rate, what was lent for the larger one is paid back
	 * first. */
	check_under(&w, 0, burst ? 0 : p.bound[0], 1000000000);
	hx_check(!hx_failed(), "scenario seed=%" PRIu64 " burst=%" PRIu64 " size=%" PRIu64, seed,
		 burst, size);
	stop(&w, &p);
}

/* ---- guarantees ---- */

/* What a guaranteed job may have to wait for: the batches in flight and one of each other. */
static uint64_t floor_slack(const struct hx_world *w, uint64_t rate)
{
	uint64_t bytes = 0, large = 0;

	for (unsigned i = 0; i < JOBS; i++) {
		if (w->jobs[i].conf.min_bps)
			bytes += w->jobs[i].largest;
		if (w->jobs[i].largest > large)
			large = w->jobs[i].largest;
	}
	bytes += (w->window + 1) * large;
	return (uint64_t)((unsigned __int128)bytes * rate / w->device_bps);
}

static void floors(uint64_t seed, const char *share, unsigned percent)
{
	struct hx_rng g = { seed };
	struct sl_config c = { .share = share, .order = "to", .capacity_bps = 1000000000 };
	uint64_t left = c.capacity_bps / 100 * percent;
	struct hx_world w;
	struct probe p;
	unsigned n = (unsigned)hx_range(&g, 1, 8);

	start(&w, &p, seed, &c);
	w.window = 4;
	for (unsigned i = 0; i < JOBS; i++) {
		struct sl_job_conf conf = { .weight = i < n ? 1 : SL_MAX_WEIGHT,
					    .period_ns = i < n ? 10000 * HX_SEC : HX_SEC / 100 };

		if (i < n) {
			conf.min_bps = i + 1 < n ? hx_range(&g, 1, left / 2) : left;
			left -= conf.min_bps;
		}
		p.meter[i].rate_bps = conf.min_bps;
		p.meter[i].at = w.now;
		client(&w, i, hx_log_range(&g, 4096, 256 * HX_KIB), &conf);
	}
	hx_run(&w, w.now + 2 * HX_SEC);
	for (unsigned i = 0; i < n; i++)
		check_under(&w, i, floor_slack(&w, p.meter[i].rate_bps), p.meter[i].rate_bps);
	hx_check(!hx_failed(), "scenario seed=%" PRIu64, seed);
	stop(&w, &p);
}

static void crowd_comes(struct hx_world *w)
{
	struct sl_job_conf heavy = { .weight = SL_MAX_WEIGHT };
	struct probe *p = w->user;

	for (unsigned i = 1; i < 4; i++)
		client(w, i, HX_MIB, &heavy);
	hx_meter_restart(&p->meter[0], w->now);
	w->alarm = SL_NEVER;
}

static void floor_after_plenty(uint64_t seed)
{
	struct sl_config c = { .order = "to", .capacity_bps = 1000000000 };
	struct sl_job_conf conf = { .min_bps = 50000000 };
	struct hx_world w;
	uint64_t horizon;
	struct probe p;

	start(&w, &p, seed, &c);
	p.meter[0].rate_bps = conf.min_bps;
	p.meter[0].at = w.now;
	w.window = 4;
	client(&w, 0, 64 * HX_KIB, &conf);
	w.tick = crowd_comes;
	w.alarm = w.now + 10 * HX_SEC;
	hx_run(&w, w.now + 20 * HX_SEC);
	horizon = (uint64_t)hx_param("admit", w.admit, "horizon_ms", 0) * (conf.min_bps / 1000);
	check_under(&w, 0, horizon + floor_slack(&w, conf.min_bps), conf.min_bps);
	stop(&w, &p);
}

static void idler_returns(struct hx_world *w)
{
	w->jobs[0].depth = w->jobs[0].depth ? 0 : 32;
	hx_fill(w, 0);
	w->alarm = w->now + 3 * HX_SEC;
}

static void floor_after_idling(uint64_t seed)
{
	struct sl_config c = { .order = "to", .capacity_bps = 1000000000 };
	struct sl_job_conf idle = { .min_bps = 500000000 }, busy = { .min_bps = 400000000 };
	struct hx_world w;
	struct probe p;

	start(&w, &p, seed, &c);
	p.meter[1].rate_bps = busy.min_bps;
	p.meter[1].at = w.now;
	w.window = 4;
	client(&w, 0, 64 * HX_KIB, &idle);
	client(&w, 1, 64 * HX_KIB, &busy);
	client(&w, 2, 64 * HX_KIB, &(struct sl_job_conf){ .weight = SL_MAX_WEIGHT });
	w.tick = idler_returns;
	w.alarm = w.now + 3 * HX_SEC;
	hx_run(&w, w.now + 20 * HX_SEC);
	/* The returning one may have a burst of its own; it is not 3 s of 500 MB/s. */
	check_under(&w, 1, 10000000, busy.min_bps);
	stop(&w, &p);
}

int main(void)
{
	static const uint64_t rates[] = { 1000,	     4321,	 1000000,    99999989,
					  100000000, 1000000000, 2147483647, 10000000000 };
	struct hx_rng g = { hx_seed() };

	hx_case("a capped job alone gets its rate in every window, 1 kB/s to 10 GB/s, 1 B to 16 "
		"MiB");
	for (unsigned r = 0; r < sizeof(rates) / sizeof(rates[0]); r++)
		for (uint64_t size = 1; size <= 16 * HX_MIB; size *= 16)
			cap_alone(hx_rand(&g), "to", rates[r], size,
				  rates[r] / size > 100000 ? 100 * size : 0, hx_scaled(2000), 0);
	for (uint64_t n = hx_scaled(100); n && !hx_failed(); n--)
		cap_alone(hx_rand(&g), "to", hx_log_range(&g, 1000, 10000000000),
			  hx_log_range(&g, 64, 16 * HX_MIB), hx_log_range(&g, 1, 64 * HX_KIB),
			  hx_scaled(2000), 0);
	hx_end();

	hx_case("asking late costs no bandwidth up to the burst and never gives more");
	for (uint64_t n = hx_scaled(30); n && !hx_failed(); n--)
		cap_alone(hx_rand(&g), "to", hx_log_range(&g, 1000000, 10000000000),
			  hx_log_range(&g, 64 * HX_KIB, HX_MIB), 20000000, hx_scaled(20000),
			  1000000);
	hx_end();

	hx_case("a cap holds in every window where requests are merged, with L the largest "
		"request");
	for (uint64_t n = hx_scaled(60); n && !hx_failed(); n--) {
		static const char *const orders[] = { "to-agg", "sjf", "mlf,wait_us=0",
						      "aioli,wait_us=0" };
		uint64_t rate = hx_log_range(&g, 1000000, 10000000000);
		uint64_t size = hx_log_range(&g, 512, HX_MIB);

		cap_alone(hx_rand(&g), orders[hx_below(&g, 4)], rate, size,
			  hx_chance(&g, 50) ? 0 : hx_log_range(&g, 1, 64 * size), hx_scaled(4000),
			  0);
	}
	hx_end();

	hx_case("a cap stays exact over hours");
	cap_alone(hx_rand(&g), "to", 999999937, 16 * HX_MIB, 1, hx_scaled(60) * 1000, 0);
	cap_alone(hx_rand(&g), "to", 1000003, 256 * HX_KIB, 1, hx_scaled(60) * 1000, 0);
	hx_end();

	hx_case("16 capped jobs on one device each keep their own rate");
	for (uint64_t n = hx_scaled(6); n && !hx_failed(); n--)
		many_caps(hx_rand(&g));
	hx_end();

	hx_case("across live changes the integral of the rate holds in every window");
	for (uint64_t n = hx_scaled(20); n && !hx_failed(); n--)
		live_rate(hx_rand(&g), 0, hx_chance(&g, 50) ? 0 : hx_log_range(&g, 1, 16 * HX_MIB),
			  hx_log_range(&g, 32 * HX_KIB, 16 * HX_MIB));
	hx_end();

	hx_case("across strict grants the integral of what was granted holds in every window");
	for (uint64_t n = hx_scaled(20); n && !hx_failed(); n--)
		live_rate(hx_rand(&g), 1, hx_chance(&g, 50) ? 0 : hx_log_range(&g, 1, 16 * HX_MIB),
			  hx_log_range(&g, 32 * HX_KIB, 16 * HX_MIB));
	hx_end();

	hx_case("a guarantee holds in every window against weights of a million to one");
	for (uint64_t n = hx_scaled(6); n && !hx_failed(); n--)
		floors(hx_rand(&g), "wfq", (unsigned)hx_range(&g, 10, 95));
	hx_end();
	hx_case("a guarantee holds in every window against sets of higher priority");
	for (uint64_t n = hx_scaled(6); n && !hx_failed(); n--)
		floors(hx_rand(&g), "io-sets", (unsigned)hx_range(&g, 10, 95));
	hx_end();
	hx_case("guarantees that fill the capacity hold in every window");
	for (uint64_t n = hx_scaled(6); n && !hx_failed(); n--)
		floors(hx_rand(&g), "wfq", 100);
	hx_end();
	hx_case("a guarantee does not suffer from having got more before");
	floor_after_plenty(hx_rand(&g));
	hx_end();
	hx_case("a guarantee saves up nothing while its job is idle");
	floor_after_idling(hx_rand(&g));
	hx_end();
	printf("# %" PRIu64 " requests\n", total);
	return hx_finish();
}
