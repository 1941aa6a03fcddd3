/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caps, guarantees, shares and grants together have one fixed point, and it is reached.
 *
 * All jobs backlogged on capacity C: job k gets x_k = min(cap, max(floor, λφ)), with λ such that
 * the sum is C, or all at their caps if these do not fill C. φ is the weight; under io-sets 10^-i
 * for the job that holds set i, and 0 for the others. λ is found here by bisection, knowing
 * nothing of how the scheduler gets there. Example, C = 100: weights 1, 1, 2 with a cap of 10 on
 * the last and a floor of 60 on the first: x = 60, 30, 10 with λ = 30.
 *
 * Grants that are not strict: those whose grant is 0 share, in the same way, what the others
 * leave. Strict ones are one more cap. Both end with their lease.
 *
 * And the bookkeeping around it: guarantees beyond the capacity are refused, or scaled down when
 * the capacity shrinks below them.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "tests/property/harness.h"

#define JOBS 10
#define C    UINT64_C(1000000000)

struct point {
	long double cap, floor, phi, x;
	bool last; /* its grant is 0 and grants are not strict */
};

static uint64_t total;

static long double one(const struct point *p, long double lambda)
{
	long double x = lambda * p->phi;

	x = x > p->floor ? x : p->floor;
	return x < p->cap ? x : p->cap;
}

static void solve_class(struct point *p, unsigned n, bool last, long double left)
{
	long double lo = 1e-15L, hi = 1e30L, mid, sum;

	for (unsigned step = 0; step < 300; step++) {
		mid = sqrtl(lo) * sqrtl(hi); /* it may be of any magnitude */
		sum = 0;
		for (unsigned i = 0; i < n; i++)
			if (p[i].last == last)
				sum += one(&p[i], mid);
		if (sum > left)
			hi = mid;
		else
			lo = mid;
	}
	for (unsigned i = 0; i < n; i++)
		if (p[i].last == last)
			p[i].x = one(&p[i], lo);
}

/* Guarantees come before everything, also those of jobs that are last otherwise. */
static void solve(struct point *p, unsigned n, uint64_t capacity)
{
	long double left = (long double)capacity;

	for (unsigned i = 0; i < n; i++)
		left -= p[i].last ? one(&p[i], 0) : 0;
	solve_class(p, n, false, left);
	left = (long double)capacity;
	for (unsigned i = 0; i < n; i++)
		left -= p[i].last ? 0 : p[i].x;
	solve_class(p, n, true, left);
}

/* Runs for a while and compares what each got with its point. */
static void measure(struct hx_world *w, const struct point *p, unsigned n, sl_time warm,
		    sl_time span)
{
	uint64_t before[JOBS];
	sl_time from;

	hx_run(w, w->now + warm);
	from = w->now;
	for (unsigned i = 0; i < n; i++)
		before[i] = w->jobs[i].sent_bytes;
	hx_run(w, from + span);
	for (unsigned i = 0; i < n; i++) {
		long double got =
			(long double)(w->jobs[i].sent_bytes - before[i]) * 1e9L / (long double)span;
		/* 1 %, the edges of the window, and for the small ones 0.01 % of the device */
		long double slack = p[i].x / 100 + (long double)C / 10000 +
				    (long double)w->jobs[i].largest * 4e9L / (long double)span;

		hx_check(got <= p[i].x + slack && got >= p[i].x - slack,
			 "job %u: %.0Lf B/s, should be %.0Lf (cap %.0Lf floor %.0Lf phi %Lg) %s", i,
			 got, p[i].x, p[i].cap, p[i].floor, p[i].phi, w->share);
	}
}

static void begin(struct hx_world *w, uint64_t seed, const char *share, int strict)
{
	struct sl_config c = {
		.share = share, .order = "to", .capacity_bps = C, .strict_grants = strict
	};

	hx_open(w, seed, JOBS, &c);
	w->window = 4;
}

static void finish(struct hx_world *w, uint64_t seed)
{
	hx_check(!hx_failed(), "scenario seed=%" PRIu64, seed);
	if (!hx_failed())
		hx_drain(w);
	total += w->requests;
	hx_close(w);
}

static void client(struct hx_world *w, unsigned job, const struct sl_job_conf *conf)
{
	struct hx_job *j = &w->jobs[job];
	int ret = hx_job_add(w, job, conf);

	hx_check(!ret, "job %u refused: %d %s", job, ret, sl_error(w->s));
	j->size_lo = hx_log_range(&w->rng, 4096, 128 * HX_KIB);
	j->size_hi = hx_log_range(&w->rng, j->size_lo, 256 * HX_KIB);
	j->depth = 32;
	hx_fill(w, job);
}

static void random_point(uint64_t seed, const char *share, int strict, bool grants)
{
	struct hx_rng g = { seed };
	struct point p[JOBS] = { 0 };
	struct sl_job_conf conf[JOBS] = { 0 };
	unsigned n = (unsigned)hx_range(&g, 2, JOBS);
	uint64_t left = C / 10 * 9;
	bool sets = hx_is(share, "io-sets");
	struct hx_world w;

	begin(&w, hx_rand(&g), share, strict);
	for (unsigned i = 0; i < n; i++) {
		conf[i].weight = (uint32_t)hx_log_range(&g, 1, 1000);
		p[i].phi = conf[i].weight;
		p[i].cap = 1e18L;
		if (sets) { /* one job in each set here; a round of all is 4 MB */
			p[i].phi = 1;
			conf[i].period_ns = 1000000;
			for (unsigned k = i; k; k--) {
				conf[i].period_ns *= 10;
				p[i].phi /= 10;
			}
			n = n > 4 ? 4 : n;
		}
		if (hx_chance(&g, 35)) {
			conf[i].max_bps = hx_log_range(&g, C / 500, C);
			p[i].cap = (long double)conf[i].max_bps;
		}
		if (hx_chance(&g, 35)) {
			conf[i].min_bps = hx_log_range(&g, C / 500, left / 2);
			if (conf[i].max_bps && conf[i].min_bps > conf[i].max_bps)
				conf[i].min_bps = conf[i].max_bps;
			left -= conf[i].min_bps;
		}
		client(&w, i, &conf[i]);
		if (grants && hx_chance(&g, 60)) {
			uint64_t grant = hx_chance(&g, 50) ? 0 : hx_log_range(&g, C / 500, C);

			hx_check(!hx_grant(&w, i, grant, SL_NEVER - 1), "grant: %s", sl_error(w.s));
			if (strict && (long double)grant < p[i].cap)
				p[i].cap = (long double)grant;
			p[i].last = !strict && !grant;
		}
		p[i].floor = (long double)conf[i].min_bps;
		if (p[i].floor > p[i].cap)
			p[i].floor = p[i].cap;
	}
	solve(p, n, C);
	measure(&w, p, n, HX_SEC, 4 * HX_SEC);
	finish(&w, seed);
}

/* Several jobs in one set: the first has the set, the others what they were guaranteed. */
static void floors_in_a_set(uint64_t seed)
{
	struct hx_world w;
	struct point p[4] = { { 1e18L, 0, 1, 0, false },
			      { 1e18L, C / 10, 0, 0, false },
			      { 1e18L, 0, 0, 0, false },
			      { 1e18L, 0, .1L, 0, false } };

	begin(&w, seed, "io-sets,exclusive=by-id,max_exclusive_ms=3600000", 0);
	for (unsigned i = 0; i < 4; i++)
		client(&w, i,
		       &(struct sl_job_conf){ .period_ns = i == 3 ? 10 * HX_SEC : HX_SEC,
					      .min_bps = (uint64_t)p[i].floor });
	hx_run(&w, w.now + 5 * HX_SEC);
	hx_check(w.jobs[1].sent_bytes >= C / 10 * 5 / 100 * 99,
		 "a guarantee inside a set got %" PRIu64, w.jobs[1].sent_bytes);
	hx_check(w.jobs[1].sent_bytes <= C / 10 * 5 / 100 * 101,
		 "a job without its turn got %" PRIu64, w.jobs[1].sent_bytes);
	hx_check(!w.jobs[2].sent_bytes, "a job without its turn or guarantee got %" PRIu64,
		 w.jobs[2].sent_bytes);
	hx_check(w.jobs[3].sent_bytes > C / 11 * 5 / 10 * 8, "the other set got %" PRIu64,
		 w.jobs[3].sent_bytes);
	finish(&w, seed);
}

/* A cap takes a set away and back all the time; the shares of the others must not feel it. */
static void cap_on_the_lowest_set(uint64_t seed, const char *share, uint64_t max_bps, sl_time span)
{
	struct hx_world w;
	struct point p[3] = { { 1e18L, 0, 1, 0, false },
			      { 1e18L, 0, .01L, 0, false },
			      { (long double)max_bps, 0, .001L, 0, false } };

	begin(&w, seed, share, 0);
	for (unsigned i = 0; i < 3; i++)
		client(&w, i,
		       &(struct sl_job_conf){ .period_ns = i == 0   ? HX_MS
							   : i == 1 ? 100 * HX_MS
								    : HX_SEC,
					      .max_bps = i == 2 ? max_bps : 0 });
	solve(p, 3, C);
	measure(&w, p, 3, HX_SEC, span);
	finish(&w, seed);
}

static void in_force(struct hx_world *w, unsigned job, uint64_t min_bps, const char *when)
{
	struct sl_job_stats st;

	hx_check(!sl_job_stats(w->s, w->jobs[job].id, w->now, &st), "no stats");
	hx_check(st.min_bps + 1 >= min_bps && st.min_bps <= min_bps,
		 "%s: min of job %u in force is %" PRIu64 ", not %" PRIu64, when, job, st.min_bps,
		 min_bps);
}

static void guarantees_fit(uint64_t seed)
{
	struct sl_job_conf a = { .min_bps = C / 10 * 6 }, b = { .min_bps = C / 10 * 5 }, soft = b;
	struct point p[3] = { { 1e18L, (long double)C * .3L, 1, 0, false },
			      { 1e18L, (long double)C * .2L, 1, 0, false },
			      { 1e18L, 0, 1000, 0, false } };
	struct hx_world w;
	struct sl_sched_stats st;
	int ret;

	begin(&w, seed, "wfq", 0);
	client(&w, 0, &a);
	ret = hx_job_add(&w, 1, &b);
	hx_check(ret == -EDQUOT && sl_error(w.s)[0], "too much gives %d", ret);
	hx_check_totals(&w);
	soft.best_effort = 1;
	client(&w, 1, &soft);
	in_force(&w, 0, C / 10 * 6, "firm beside best effort");
	in_force(&w, 1, C / 10 * 4, "best effort");
	ret = hx_job_set(&w, 1, &b);
	hx_check(ret == -EDQUOT, "making it firm gives %d", ret);
	in_force(&w, 1, C / 10 * 4, "after a refusal");
	b.min_bps = C / 10 * 4;
	ret = hx_job_set(&w, 1, &b);
	hx_check(!ret, "what fits gives %d", ret);
	client(&w, 2, &(struct sl_job_conf){ .weight = 1000 });
	ret = sl_capacity_set(w.s, 0, w.now);
	hx_check(ret < 0, "the capacity can be forgotten under guarantees");
	/* Half the capacity: all guarantees are halved, and held on a device of half the speed. */
	ret = sl_capacity_set(w.s, C / 2, w.now);
	hx_check(!ret, "sl_capacity_set gives %d", ret);
	w.capacity_bps = w.device_bps = C / 2;
	in_force(&w, 0, C / 10 * 3, "half the capacity");
	in_force(&w, 1, C / 10 * 2, "half the capacity");
	sl_sched_stats(w.s, &st);
	hx_check(st.floors_bps == C, "floors asked for are %" PRIu64, st.floors_bps);
	solve(p, 3, C / 2);
	measure(&w, p, 3, HX_SEC, 4 * HX_SEC);
	ret = sl_capacity_set(w.s, C, w.now);
	hx_check(ret == 0, "the capacity cannot be set back: %d", ret);
	w.capacity_bps = w.device_bps = C;
	in_force(&w, 0, C / 10 * 6, "all of it back");
	in_force(&w, 1, C / 10 * 4, "all of it back");
	finish(&w, seed);

	hx_open(&w, seed, JOBS, &(struct sl_config){ .capacity_bps = 0 });
	ret = hx_job_add(&w, 0, &a);
	hx_check(ret < 0 && sl_error(w.s)[0], "min without capacity gives %d", ret);
	a.best_effort = 1;
	ret = hx_job_add(&w, 0, &a);
	hx_check(ret < 0, "min without capacity, best effort, gives %d", ret);
	hx_close(&w);
}

static void leases(uint64_t seed, int strict)
{
	struct point p[3] = { { 1e18L, 0, 1, 0, false },
			      { 1e18L, 0, 1, 0, false },
			      { 1e18L, 0, 2, 0, false } };
	struct hx_world w;
	struct sl_job_stats st;
	sl_time until;

	begin(&w, seed, "wfq", strict);
	for (unsigned i = 0; i < 3; i++)
		client(&w, i, &(struct sl_job_conf){ .weight = i < 2 ? 1 : 2 });
	hx_run(&w, w.now + HX_SEC);
	until = w.now + 2 * HX_SEC;
	hx_check(!hx_grant(&w, 0, 0, until), "grant: %s", sl_error(w.s));
	hx_check(!hx_grant(&w, 1, 100000000, until), "grant: %s", sl_error(w.s));
	p[0].last = !strict;
	p[0].cap = strict ? 0 : 1e18L;
	p[1].cap = strict ? 1e8L : 1e18L;
	solve(p, 3, C);
	measure(&w, p, 3, HX_SEC / 10, HX_SEC);
	hx_run(&w, until);
	p[0].last = false;
	p[0].cap = p[1].cap = 1e18L;
	solve(p, 3, C);
	measure(&w, p, 3, 10 * HX_MS, HX_SEC);
	/* Alone, a job without grant borrows all there is, and it is counted; strict, it gets
	 * nothing. */
	w.jobs[1].depth = w.jobs[2].depth = 0;
	hx_run(&w, w.now + HX_SEC);
	hx_check(!hx_grant(&w, 0, 0, w.now + 2 * HX_SEC), "grant: %s", sl_error(w.s));
	p[0].cap = strict ? 0 : 1e18L;
	p[0].last = !strict;
	p[1].phi = p[2].phi = 0;
	solve(p, 3, C);
	measure(&w, p, 3, HX_SEC / 10, HX_SEC);
	hx_check(!sl_job_stats(w.s, w.jobs[0].id, w.now, &st), "no stats");
	hx_check(strict || st.borrowed_bytes > C / 2, "borrowed %" PRIu64, st.borrowed_bytes);
	hx_check(!strict || st.throttled_ns > HX_SEC, "throttled %" PRId64, st.throttled_ns);
	finish(&w, seed);
}

int main(void)
{
	struct hx_rng g = { hx_seed() };

	hx_case("random caps, guarantees and weights reach their fixed point under wfq");
	for (uint64_t n = hx_scaled(30); n && !hx_failed(); n--)
		random_point(hx_rand(&g), "wfq", 0, false);
	hx_end();
	hx_case("random caps and guarantees reach their fixed point under io-sets");
	for (uint64_t n = hx_scaled(20); n && !hx_failed(); n--)
		random_point(hx_rand(&g), "io-sets,quantum_bytes=4096", 0, false);
	hx_end();
	hx_case("a cap on the lowest set leaves the shares of the others alone");
	cap_on_the_lowest_set(hx_rand(&g), "io-sets,quantum_bytes=4096", 3000000, 4 * HX_SEC);
	cap_on_the_lowest_set(hx_rand(&g), "io-sets,quantum_bytes=65536", 3000000, 20 * HX_SEC);
	cap_on_the_lowest_set(hx_rand(&g), "io-sets,quantum_bytes=65536", 500000, 20 * HX_SEC);
	hx_end();
	hx_case("jobs whose grant is 0 get what the others leave, and their guarantee");
	for (uint64_t n = hx_scaled(20); n && !hx_failed(); n--)
		random_point(hx_rand(&g), "wfq", 0, true);
	hx_end();
	hx_case("strict grants are caps");
	for (uint64_t n = hx_scaled(20); n && !hx_failed(); n--)
		random_point(hx_rand(&g), "wfq", 1, true);
	hx_end();
	hx_case("guarantees override exclusivity inside a set, and nothing else does");
	floors_in_a_set(hx_rand(&g));
	hx_end();
	hx_case("guarantees must fit the capacity, and are scaled when it shrinks");
	guarantees_fit(hx_rand(&g));
	hx_end();
	hx_case("a grant ends with its lease");
	leases(hx_rand(&g), 0);
	hx_end();
	hx_case("a strict grant ends with its lease");
	leases(hx_rand(&g), 1);
	hx_end();
	printf("# %" PRIu64 " requests\n", total);
	return hx_finish();
}
