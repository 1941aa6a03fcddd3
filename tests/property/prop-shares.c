/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares hold in every window.
 *
 * wfq: while jobs i and j both have something to send, the bytes S they get in any window obey
 * |S_i/w_i - S_j/w_j| <= L_i/w_i + L_j/w_j, L the largest batch of each. With V_i the bytes sent so
 * far over the weight, the difference V_i - V_j must stay within a band that wide, so it is enough
 * to remember its extremes for each pair: no windows are walked. The band starts anew when one
 * of the two had been idle, which is also the test that idling gains nothing. Example: weights 3
 * and 1, batches of 3 MiB: the band is 1 + 3 MiB wide.
 *
 * io-sets: sets get bytes in proportion to 10^-i, from 10:1 to 10^6:1; within a set only the job
 * that has it is served, by the lowest id or by who began first, as long as it has requests.
 * round-robin: batches of two backlogged jobs differ by one. fifo: requests in arrival order.
 *
 * Every job has 32 requests outstanding against a window of at most 8: otherwise no share is
 * possible ("deceptive idleness").
 */
#include <inttypes.h>
#include <string.h>

#include "tests/property/harness.h"

#define JOBS 16

struct pairs {
	long double v[JOBS];
	struct {
		long double low, high;
		bool both; /* have had something to send since low and high began */
	} pair[JOBS][JOBS];
	uint64_t decisions;
	uint64_t turns; /* round-robin: counts batches, not bytes */
	uint64_t last;	/* fifo: number of the last request */
};

static uint64_t total;

static void client(struct hx_world *w, unsigned job, uint32_t weight, sl_time period,
		   uint64_t size_lo, uint64_t size_hi)
{
	struct hx_job *j = &w->jobs[job];
	struct sl_job_conf conf = { .weight = weight, .period_ns = period };

	hx_check(!hx_job_add(w, job, &conf), "job %u refused: %s", job, sl_error(w->s));
	j->size_lo = size_lo;
	j->size_hi = size_hi;
	j->depth = 32;
	hx_fill(w, job);
}

static void begin(struct hx_world *w, uint64_t seed, const char *share, const char *order)
{
	struct sl_config c = { .share = share, .order = order };

	hx_open(w, seed, JOBS, &c);
	w->window = 8;
	w->device_bps = 1000000000;
}

static void finish(struct hx_world *w, uint64_t seed)
{
	hx_check(!hx_failed(), "scenario seed=%" PRIu64 " %s", seed, w->share);
	w->tick = NULL;
	w->on_send = NULL;
	if (!hx_failed())
		hx_drain(w);
	total += w->requests;
	hx_close(w);
}

static void until_decisions(struct hx_world *w, uint64_t n)
{
	sl_time limit = w->now + 100000 * HX_SEC;

	while (w->decisions < n && !hx_failed()) {
		hx_run(w, w->now + HX_MS);
		hx_check(w->now < limit, "only %" PRIu64 " decisions of %" PRIu64, w->decisions, n);
	}
}

/* ---- wfq, round-robin ---- */

static void pairs_sent(struct hx_world *w, struct hx_job *j, const struct sl_batch *b)
{
	struct pairs *p = w->user;
	unsigned i = (unsigned)(j - w->jobs);

	p->v[i] += p->turns ? 1 : (long double)b->length / (long double)j->conf.weight;
	/* The bytes are counted from here on: `waiting` is what was left after this batch. */
	for (unsigned k = 0; k < JOBS; k++) {
		const struct hx_job *o = &w->jobs[k];
		long double d, band;

		if (k == i || !o->present)
			continue;
		d = i < k ? p->v[i] - p->v[k] : p->v[k] - p->v[i];
		{
			unsigned a = i < k ? i : k, z = i < k ? k : i;

			if (!p->pair[a][z].both || !o->waiting) {
				/* This batch is the last that does not count, or the first that
				 * does. */
				p->pair[a][z].low = p->pair[a][z].high = d;
				p->pair[a][z].both = j->waiting && o->waiting;
				continue;
			}
			if (d < p->pair[a][z].low)
				p->pair[a][z].low = d;
			if (d > p->pair[a][z].high)
				p->pair[a][z].high = d;
			band = p->pair[a][z].high - p->pair[a][z].low;
			if (p->turns)
				hx_check(band <= 1.001L, "jobs %u and %u: %Lg batches apart", a, z,
					 band);
			else
				/* and what is less than a tag can say */
				hx_check(band <= (long double)j->largest / j->conf.weight +
							 (long double)o->largest / o->conf.weight +
							 2e-6L,
					 "t=%" PRId64
					 " jobs %u and %u: weights %u and %u, L %" PRIu64
					 " and %" PRIu64 ": %Lg apart, allowed %Lg",
					 w->now, i, k, j->conf.weight, o->conf.weight, j->largest,
					 o->largest, band,
					 (long double)j->largest / j->conf.weight +
						 (long double)o->largest / o->conf.weight);
			p->pair[a][z].both = j->waiting != 0;
		}
	}
	if (!j->waiting) /* idle: what it has against others starts anew */
		for (unsigned k = 0; k < JOBS; k++)
			p->pair[i < k ? i : k][i < k ? k : i].both = false;
}

static void on_off(struct hx_world *w)
{
	unsigned job = (unsigned)hx_below(&w->rng, w->njobs);
	struct hx_job *j = &w->jobs[job];
	struct sl_job_conf conf = j->conf;

	if (j->present) {
		if (!j->waiting && !j->flying && hx_chance(&w->rng, 50)) {
			/* Another job in its place: it inherits nothing. */
			hx_job_remove(w, job);
			j->id += 1000003;
			conf.weight = (uint32_t)hx_log_range(&w->rng, 1, SL_MAX_WEIGHT);
			hx_check(!hx_job_add(w, job, &conf), "job refused: %s", sl_error(w->s));
		}
		j->depth = j->depth ? 0 : 32;
		hx_fill(w, job);
	}
	w->alarm = w->now + (sl_time)hx_log_range(&w->rng, 100000, 100000000);
}

static void band(uint64_t seed, const char *share, const char *order, bool idling,
		 uint64_t decisions)
{
	struct hx_rng g = { seed };
	struct pairs p = { .turns = hx_is(share, "round-robin") };
	unsigned n = (unsigned)hx_range(&g, 2, JOBS);
	struct hx_world w;

	begin(&w, seed, share, order);
	w.window = (unsigned)hx_range(&g, 1, 8);
	w.shuffled = hx_chance(&g, 50);
	w.user = &p;
	w.on_send = pairs_sent;
	for (unsigned i = 0; i < n; i++) {
		uint64_t size = hx_log_range(&g, 1, 16 * HX_MIB);

		client(&w, i, (uint32_t)hx_log_range(&g, 1, SL_MAX_WEIGHT), 0, size,
		       hx_log_range(&g, size, 16 * HX_MIB));
	}
	if (idling) {
		w.tick = on_off;
		w.alarm = w.now + HX_MS;
	}
	until_decisions(&w, decisions);
	finish(&w, seed);
}

/* Two jobs, the lighter one gets at least 1,000 batches: their bytes are within 1 % of the weights.
 */
static void percent(uint64_t seed, uint32_t weight, uint64_t light, uint64_t heavy)
{
	struct hx_world w;
	long double ratio;

	begin(&w, seed, "wfq", "to");
	client(&w, 0, 1, 0, light, light);
	client(&w, 1, weight, 0, heavy, heavy);
	while (w.jobs[0].sent_batches < 1000 && !hx_failed())
		hx_run(&w, w.now + 10 * HX_MS);
	ratio = (long double)w.jobs[1].sent_bytes / (long double)w.jobs[0].sent_bytes /
		(long double)weight;
	hx_check(ratio > .99L && ratio < 1.01L, "weights 1 and %u: bytes are %.4Lf of that", weight,
		 ratio);
	finish(&w, seed);
}

/* ---- fifo ---- */

static void fifo_sent(struct hx_world *w, struct hx_job *j, const struct sl_batch *b)
{
	struct pairs *p = w->user;
	uint64_t number = ((struct hx_request *)b->first)->number;

	(void)j;
	hx_check(!p->last || number > p->last, "request %" PRIu64 " after %" PRIu64, number,
		 p->last);
	p->last = number;
}

static void fifo(uint64_t seed)
{
	struct pairs p = { 0 };
	struct hx_world w;

	begin(&w, seed, "fifo", "to");
	w.user = &p;
	w.on_send = fifo_sent;
	for (unsigned i = 0; i < JOBS; i++)
		client(&w, i, 1 + i * 1000, 0, 4096, HX_MIB);
	w.tick = on_off;
	w.alarm = w.now + HX_MS;
	until_decisions(&w, hx_scaled(20000));
	finish(&w, seed);
}

/* ---- io-sets ---- */

/* Sets 0 and -k, one job in each, so long that a round's end does not matter. */
static void set_ratio(uint64_t seed, unsigned k, unsigned between, const char *share,
		      uint64_t quantum)
{
	uint64_t ratio = 1, mid = 1, rounds = 20 + hx_scaled(k < 5 ? 600 : 200);
	/* 0.5 %, and a round more or less in those that were counted */
	long double got, slack = .005L + 2 / (long double)(rounds - 1);
	struct hx_world w;

	for (unsigned i = 0; i < k; i++)
		ratio *= 10;
	for (unsigned i = 0; i < between; i++)
		mid *= 10;
	begin(&w, seed, share, "to");
	w.device_bps = 100000000000;
	client(&w, 0, 1, HX_SEC, quantum, quantum);
	client(&w, 1, 1, HX_SEC / (sl_time)ratio, ratio < 256 ? quantum : 16 * HX_MIB,
	       ratio < 256 ? quantum : 16 * HX_MIB);
	if (between)
		client(&w, 2, 1, HX_SEC / (sl_time)mid, quantum, mid < 256 ? quantum : 4 * HX_MIB);
	/* Whole rounds only: from one batch of the lowest set to a later one. */
	while (w.jobs[0].sent_batches < rounds && !hx_failed()) {
		unsigned n = (unsigned)w.jobs[0].sent_batches;

		if (n == 1 && w.jobs[1].batches) /* begin to count behind the first */
			w.jobs[1].sent_bytes = w.jobs[2].sent_bytes = 0;
		while (w.jobs[0].sent_batches == n && !hx_failed())
			hx_run(&w, w.now + 100000);
	}
	got = (long double)w.jobs[1].sent_bytes /
	      (long double)((w.jobs[0].sent_batches - 1) * quantum) / (long double)ratio;
	hx_check(got > 1 - slack && got < 1 + slack, "10^%u : 1 is off by %.4Lf", k, got);
	if (between) {
		got = (long double)w.jobs[2].sent_bytes /
		      (long double)((w.jobs[0].sent_batches - 1) * quantum) / (long double)mid;
		hx_check(got > 1 - slack && got < 1 + slack,
			 "10^%u : 1 in the middle is off by %.4Lf", between, got);
	}
	finish(&w, seed);
}

/* Whoever is served, nobody with a better claim to the same set may have been waiting. */
static void by_id_sent(struct hx_world *w, struct hx_job *j, const struct sl_batch *b)
{
	(void)b;
	for (struct hx_job *o = w->jobs; o < j; o++)
		hx_check(!o->present || o->conf.period_ns != j->conf.period_ns || !o->waiting,
			 "t=%" PRId64 ": job %u served while %u, of its set, has %" PRIu64
			 " waiting",
			 w->now, (unsigned)(j - w->jobs), (unsigned)(o - w->jobs), o->waiting);
}

static void by_phase_sent(struct hx_world *w, struct hx_job *j, const struct sl_batch *b)
{
	struct hx_job **holder = w->user;
	unsigned set = j->conf.period_ns == HX_SEC ? 0 : 1;

	(void)b;
	/* With hold=lend others may fill a gap; but while the holder has requests it is served. */
	if (holder[set] && holder[set] != j)
		hx_check(!holder[set]->waiting, "t=%" PRId64 ": job %u served while %u has the set",
			 w->now, (unsigned)(j - w->jobs), (unsigned)(holder[set] - w->jobs));
	if (!holder[set] || !holder[set]->depth)
		holder[set] = j;
}

static void exclusive(uint64_t seed, bool by_id)
{
	struct hx_job *holder[2] = { NULL, NULL };
	struct hx_world w;

	begin(&w, seed,
	      by_id ? "io-sets,exclusive=by-id,max_exclusive_ms=3600000"
		    : "io-sets,exclusive=by-phase,max_exclusive_ms=3600000,grace_ms=1",
	      "to");
	w.user = holder;
	w.on_send = by_id ? by_id_sent : by_phase_sent;
	for (unsigned i = 0; i < JOBS; i++)
		client(&w, i, 1, i % 2 ? HX_SEC : 10 * HX_SEC, 4096, HX_MIB);
	if (by_id) {
		w.tick = on_off;
		w.alarm = w.now + HX_MS;
	} else { /* everybody's phase ends in turn, and the next one has the set */
		for (unsigned i = 0; i < JOBS - 4 && !hx_failed(); i++) {
			unsigned set = i % 2;

			until_decisions(&w, w.decisions + 500);
			if (holder[set])
				holder[set]->depth = 0;
		}
	}
	until_decisions(&w, w.decisions + hx_scaled(20000));
	finish(&w, seed);
}

int main(void)
{
	struct hx_rng g = { hx_seed() };

	hx_case("bytes follow the weights in every window under wfq, weights to a million");
	for (uint64_t n = hx_scaled(20); n && !hx_failed(); n--)
		band(hx_rand(&g), "wfq", "to", false, 10000);
	hx_end();
	hx_case("bytes follow the weights in every window when batches are merged");
	for (uint64_t n = hx_scaled(10); n && !hx_failed(); n--)
		band(hx_rand(&g), "wfq", hx_chance(&g, 50) ? "to-agg" : "sjf", false, 5000);
	hx_end();
	hx_case("a job that was idle gains and loses nothing by it");
	for (uint64_t n = hx_scaled(20); n && !hx_failed(); n--)
		band(hx_rand(&g), "wfq", "to", true, 10000);
	hx_end();
	hx_case("bytes are within 1 percent of the weights from 10:1 to a million to one");
	percent(hx_rand(&g), 10, 4096, 4096);
	percent(hx_rand(&g), 100, 4096, 4096);
	percent(hx_rand(&g), 1000, 1, 1);
	percent(hx_rand(&g), 1000, 4096, HX_MIB);
	percent(hx_rand(&g), 100000, 128, HX_MIB);
	percent(hx_rand(&g), 1000000, 16, 16 * HX_MIB);
	percent(hx_rand(&g), 999983, 17, HX_MIB);
	hx_end();
	hx_case("round-robin gives backlogged jobs batches in turn");
	for (uint64_t n = hx_scaled(10); n && !hx_failed(); n--)
		band(hx_rand(&g), "round-robin", "to", hx_chance(&g, 50), 5000);
	hx_end();
	hx_case("fifo serves all jobs in the order of arrival");
	fifo(hx_rand(&g));
	hx_end();
	hx_case("sets get bytes by priority, 10:1 to a million to one");
	for (unsigned k = 1; k <= 6 && !hx_failed(); k++)
		set_ratio(hx_rand(&g), k, 0, "io-sets,quantum_bytes=65536", 65536);
	set_ratio(hx_rand(&g), 4, 2, "io-sets,quantum_bytes=65536", 65536);
	set_ratio(hx_rand(&g), 2, 1, "io-sets", HX_MIB);
	hx_end();
	hx_case("in a set the lowest job id is served alone");
	exclusive(hx_rand(&g), true);
	hx_end();
	hx_case("in a set the job that came first is served alone until its phase ends");
	exclusive(hx_rand(&g), false);
	hx_end();
	printf("# %" PRIu64 " requests\n", total);
	return hx_finish();
}
