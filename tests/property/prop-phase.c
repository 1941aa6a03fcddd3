/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phase-level simulator, on random machines.
 *
 * - Fair policies by virtual time (fluid.c) and by asking (granted.c) are the same run.
 * - fair-share and fcfs against a model that steps through time: it moves rate * step bytes in each
 *   step and asks the same policy when anything has happened. A phase of the model ends up to a
 * step late, and can delay all others by that: every end is right to a step for each phase there
 * is.
 * - What must hold for every policy: bytes are those of the workload, whatever the policy; nobody
 * is faster than alone; segments of an application follow each other without gap or overlap, the
 *   bytes in them are those moved, and at no time is the sum of rates above the bandwidth.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "sim/phase.h"
#include "sim/random.h"
#include "tests/property/harness.h"

#define MAX_APPS 24

static double unit(struct hx_rng *g)
{
	return (double)(hx_rand(g) >> 11) * 0x1p-53;
}

static struct sl_vary vary(struct hx_rng *g, double mean)
{
	switch (hx_below(g, 4)) {
	case 0:
		return (struct sl_vary){ .kind = SL_VARY_UNIFORM, .a = mean / 2, .b = mean * 1.5 };
	case 1:
		return (struct sl_vary){ .kind = SL_VARY_EXPONENTIAL, .a = mean };
	default:
		return (struct sl_vary){ .kind = SL_VARY_CONSTANT, .a = mean };
	}
}

/* Volumes are such that all together want between a third of the bandwidth and three times it. */
static void scenario(struct hx_rng *g, struct sl_scenario *s, struct sl_app *apps)
{
	uint32_t n = (uint32_t)hx_range(g, 1, MAX_APPS);
	double load = 3 * pow(9, unit(g) - 1);

	*s = (struct sl_scenario){ .apps = apps, .n_apps = n };
	s->platform.bandwidth_bps = 1e9;
	s->platform.servers = hx_chance(g, 20) ? 2 : 1;
	if (hx_chance(g, 60))
		s->platform.per_proc_bps = 1e9 / (double)hx_range(g, 2, 40);
	for (uint32_t i = 0; i < n; i++) {
		struct sl_app *a = &apps[i];
		double compute_s = hx_chance(g, 50) ? 10 : 1 + 20 * unit(g);

		*a = (struct sl_app){ .procs = (uint32_t)hx_range(g, 1, 8),
				      .iterations = hx_range(g, 1, 20) };
		snprintf(a->name, sizeof(a->name), "app%u", i);
		if (hx_chance(g, 30))
			a->release_s = 30 * unit(g);
		a->compute_s = vary(g, compute_s);
		a->volume_bytes = vary(g, load * compute_s * 1e9 / n);
	}
	if (hx_chance(g, 30)) {
		s->platform.buffer_bytes = 1e9 * (1 + 20 * unit(g));
		s->platform.buffer_bps = 1e9 * (1 + 3 * unit(g));
	}
	if (hx_chance(g, 40)) {
		s->from_s = 20 * unit(g);
		s->to_s = s->from_s + 10 + 50 * unit(g);
	}
	if (s->to_s > 0 && hx_chance(g, 50))
		apps[0].iterations = 0;
}

struct run {
	struct sl_sim_metrics m;
	struct sl_sim_app_metrics app[MAX_APPS];
};

static bool run(const struct sl_scenario *s, const char *policy, bool ask,
		const struct sl_phase_sink *sink, struct run *out)
{
	struct sl_phase_options options = { .policy = policy, .seed = 5, .ask = ask, .sink = sink };
	char err[500];
	int rc = sl_phase_run(s, &options, &out->m, out->app, err, sizeof(err));

	hx_check(!rc, "%s: %s", policy, err);
	return !rc;
}

static bool close_to(double a, double b, double relative)
{
	if (isnan(a) || isnan(b) || isinf(a) || isinf(b))
		return (isnan(a) && isnan(b)) || a == b;
	return fabs(a - b) <= relative * fmax(fabs(a), fabs(b));
}

/* ---- both ways are the same ---- */

static void same(const struct sl_scenario *s, const char *policy)
{
	struct run fast, asked;

	if (!run(s, policy, false, NULL, &fast) || !run(s, policy, true, NULL, &asked))
		return;
	hx_check(close_to(fast.m.end_s, asked.m.end_s, 1e-9), "%s: ends at %.12g, or at %.12g",
		 policy, fast.m.end_s, asked.m.end_s);
	hx_check(fast.m.events == asked.m.events, "%s: %" PRIu64 " events, or %" PRIu64, policy,
		 fast.m.events, asked.m.events);
	for (uint32_t i = 0; i < s->n_apps; i++) {
		const struct sl_sim_app_metrics *a = &fast.app[i], *b = &asked.app[i];

		hx_check(close_to(a->dilation, b->dilation, 1e-8) &&
				 close_to(a->stretch, b->stretch, 1e-8) &&
				 close_to(a->bytes, b->bytes, 1e-8) &&
				 a->iterations == b->iterations,
			 "%s: app %u: dilation %.12g or %.12g, stretch %.12g or %.12g", policy, i,
			 a->dilation, b->dilation, a->stretch, b->stretch);
	}
}

/* ---- a model with a time step ---- */

struct stepped {
	struct sl_io_job io[MAX_APPS], *want[MAX_APPS];
	double left_s[MAX_APPS]; /* of computing, or until its release */
	uint64_t done[MAX_APPS]; /* iterations */
	double end_s[MAX_APPS];
	struct sl_random random[MAX_APPS];
	bool wants[MAX_APPS], gone[MAX_APPS], there[MAX_APPS];
	bool changed;
};

static void next_iteration(struct stepped *m, const struct sl_scenario *s, uint32_t i, double t)
{
	const struct sl_app *a = &s->apps[i];

	if (m->done[i] == a->iterations) {
		m->gone[i] = true;
		m->end_s[i] = t;
		return;
	}
	m->left_s[i] += sl_vary_draw(&a->compute_s, m->done[i], &m->random[i]);
	m->io[i].left_bytes = sl_vary_draw(&a->volume_bytes, m->done[i], &m->random[i]);
}

/* One server, no buffer. The policy has no state that it needs from an earlier decision. */
static void decide(struct stepped *m, const struct sl_scenario *s, const struct sl_grant_ops *ops,
		   double t)
{
	uint64_t state[64] = { 0 };
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_apps; i++)
		if (m->wants[i])
			m->want[n++] = &m->io[i];
	if (n)
		ops->decide(state, m->want, n, s->platform.bandwidth_bps, (sl_time)(t * 1e9));
	m->changed = false;
}

static void step(struct stepped *m, const struct sl_scenario *s, uint32_t i, double t, double dt)
{
	if (m->gone[i])
		return;
	if (m->wants[i]) {
		m->io[i].left_bytes -= m->io[i].rate_bps * dt;
		if (m->io[i].left_bytes > 0)
			return;
		m->wants[i] = false;
		m->changed = true;
		m->done[i]++;
		m->left_s[i] = 0;
		next_iteration(m, s, i, t);
		return;
	}
	m->left_s[i] -= dt;
	if (m->left_s[i] > 0)
		return;
	if (!m->there[i]) {
		m->there[i] = true;
		next_iteration(m, s, i, t);
		return;
	}
	m->wants[i] = true;
	m->changed = true;
	m->io[i].asked = (sl_time)((t + m->left_s[i]) * 1e9); /* within the step */
}

struct ends {
	double s[MAX_APPS];
};

static void ended(void *arg, uint32_t app, enum sl_activity what, double from_s, double to_s,
		  double rate_bps)
{
	struct ends *e = arg;

	(void)what, (void)from_s, (void)rate_bps;
	e->s[app] = to_s;
}

/* How far from the exact ends the model is, in steps for each phase of all applications. */
static double steps_off(const struct sl_scenario *s, const struct sl_grant_ops *ops, double dt,
			const struct ends *exact, double until_s)
{
	struct stepped *m = calloc(1, sizeof(*m));
	uint32_t gone = 0;
	double t = 0, phases = 0, off_s = 0;

	if (!m)
		abort();
	for (uint32_t i = 0; i < s->n_apps; i++) {
		m->random[i] = sl_random_stream(5, i);
		m->left_s[i] = s->apps[i].release_s;
		m->io[i] = (struct sl_io_job){ .job = i, .procs = s->apps[i].procs };
		m->io[i].cap_bps = sl_app_cap_bps(&s->platform, &s->apps[i]);
		phases += 2.0 * (double)s->apps[i].iterations + 1;
	}
	for (; gone < s->n_apps && t < until_s; t += dt) {
		if (m->changed)
			decide(m, s, ops, t);
		gone = 0;
		for (uint32_t i = 0; i < s->n_apps; i++) {
			step(m, s, i, t + dt, dt);
			gone += m->gone[i];
		}
	}
	hx_check(gone == s->n_apps, "the model does not end by %g", until_s);
	for (uint32_t i = 0; i < s->n_apps; i++)
		off_s = fmax(off_s, fabs(m->end_s[i] - exact->s[i]));
	free(m);
	return off_s / (phases * dt);
}

static void against_steps(const struct sl_scenario *s, const char *policy)
{
	const struct sl_policy *p = sl_policy_find(SL_GRANT, policy, strlen(policy));
	struct ends exact = { { 0 } };
	struct sl_phase_sink sink = { .segment = ended, .arg = &exact };
	struct run r;
	double off = INFINITY;

	if (!run(s, policy, false, &sink, &r))
		return;
	/* Who of two was first can be wrong in long steps; in shorter ones it cannot be for ever.
	 */
	for (double dt = 4e-3; off > 1 && dt > 4e-6; dt /= 10)
		off = steps_off(s, (const struct sl_grant_ops *)p, dt, &exact, 2 * r.m.end_s + 1);
	hx_check(off <= 1, "%s: ends are off by %g steps for each phase", policy, off);
}

/* ---- what holds for every policy ---- */

struct trail {
	const struct sl_scenario *s;
	double until_s[MAX_APPS], bytes[MAX_APPS], compute_s[MAX_APPS];
	double last_s;
	double total_bytes, moved_bytes;
	bool wrong, over;
};

static void follow(void *arg, uint32_t app, enum sl_activity what, double from_s, double to_s,
		   double rate_bps)
{
	struct trail *t = arg;

	t->wrong |= to_s < t->last_s || to_s <= from_s || rate_bps < 0;
	t->wrong |= what != SL_TRANSFERS && rate_bps > 0;
	/* Phases of less than a nanosecond make no segment. */
	t->wrong |= fabs(from_s - t->until_s[app]) > 1e-7;
	t->last_s = to_s;
	t->until_s[app] = to_s;
	t->bytes[app] += rate_bps * (to_s - from_s);
	t->total_bytes += rate_bps * (to_s - from_s);
	if (what == SL_COMPUTES)
		t->compute_s[app] += to_s - from_s;
}

/* Between two events, on one server. */
static void moved(void *arg, double from_s, double to_s, double bytes)
{
	struct trail *t = arg;
	const struct sl_platform *p = &t->s->platform;
	double most_bps = p->buffer_bytes > 0 ? p->buffer_bps : p->bandwidth_bps;

	/* A transfer that is within a nanosecond of its end ends. */
	t->over |= bytes > most_bps / p->servers * ((to_s - from_s) * (1 + 1e-9) + 1e-8);
	t->moved_bytes += bytes;
}

static void holds(const struct sl_scenario *s, const char *policy, const struct run *fair)
{
	struct trail t = { .s = s };
	struct sl_phase_sink sink = { .segment = follow, .arg = &t, .moved = moved };
	bool buffer = s->platform.buffer_bytes > 0;
	struct run r;

	for (uint32_t i = 0; i < s->n_apps; i++)
		t.until_s[i] = s->apps[i].release_s;
	if (!run(s, policy, false, &sink, &r))
		return;
	hx_check(!t.wrong, "%s: segments do not fit together", policy);
	for (uint32_t i = 0; i < s->n_apps; i++) {
		const struct sl_sim_app_metrics *a = &r.app[i];

		hx_check(close_to(t.bytes[i], a->bytes, 1e-6),
			 "%s: app %u: %g bytes in segments, "
			 "%g moved",
			 policy, i, t.bytes[i], a->bytes);
		hx_check(!s->apps[i].iterations || close_to(a->bytes, fair->app[i].bytes, 1e-12),
			 "%s: app %u: %g bytes, but %g under fair-share", policy, i, a->bytes,
			 fair->app[i].bytes);
		hx_check(isnan(a->dilation) || a->dilation > 1 - 1e-6, "%s: app %u: dilation %g",
			 policy, i, a->dilation);
		/* Of a part of the run this holds without a buffer only: sim/alone.c. */
		hx_check(buffer || isnan(a->stretch) || a->stretch > 1 - 1e-6,
			 "%s: app %u: stretch %g", policy, i, a->stretch);
		hx_check(buffer || isnan(a->io_slowdown) || a->io_slowdown > 1 - 1e-6,
			 "%s: app %u: I/O slowdown %g", policy, i, a->io_slowdown);
	}
	hx_check(!t.over && close_to(t.moved_bytes, t.total_bytes, 1e-6) &&
			 t.total_bytes <= 1e9 * r.m.end_s * (1 + 1e-6) + s->platform.buffer_bytes,
		 "%s: more bytes than bandwidth", policy);
	hx_check(r.m.sys_efficiency <= r.m.upper_limit * (1 + 1e-6),
		 "%s: efficiency %g above the limit of %g", policy, r.m.sys_efficiency,
		 r.m.upper_limit);
	hx_check(r.m.utilization >= 0 && r.m.utilization <= 1 + 1e-6, "%s: utilization %g", policy,
		 r.m.utilization);
}

/* ---- the cases ---- */

static void each_scenario(uint64_t runs, void (*check)(struct sl_scenario *s, struct hx_rng *g))
{
	uint64_t seed = hx_seed();

	for (uint64_t i = 0; i < runs && !hx_failed(); i++) {
		struct hx_rng g = { seed + i * 7919 };
		struct sl_app apps[MAX_APPS];
		struct sl_scenario s;

		scenario(&g, &s, apps);
		check(&s, &g);
		if (hx_failed())
			printf("# scenario %" PRIu64 "\n", i);
	}
}

static void check_same(struct sl_scenario *s, struct hx_rng *g)
{
	(void)g;
	same(s, "fair-share");
	same(s, "none");
}

static void check_steps(struct sl_scenario *s, struct hx_rng *g)
{
	s->platform.servers = 1;
	s->platform.buffer_bytes = s->from_s = s->to_s = 0;
	s->n_apps = s->n_apps > 6 ? 6 : s->n_apps;
	for (uint32_t i = 0; i < s->n_apps; i++) {
		struct sl_app *a = &s->apps[i];

		/* Without ties, of which the model would make an order of its own. */
		a->iterations = 1 + hx_below(g, 4);
		a->compute_s.kind = a->volume_bytes.kind = SL_VARY_UNIFORM;
		a->compute_s.b = a->compute_s.a * 1.5;
		a->volume_bytes.b = a->volume_bytes.a * 1.5;
	}
	against_steps(s, "fair-share");
	against_steps(s, "fcfs");
}

static void check_all(struct sl_scenario *s, struct hx_rng *g)
{
	const struct sl_policy *p;
	struct run fair;

	if (hx_chance(g, 30))
		s->platform.restart_s = 0.01;
	if (!run(s, "fair-share", false, NULL, &fair))
		return;
	/* Plans are made whenever an application comes or goes, and each takes a while. */
	for (unsigned i = 0; (p = sl_policy_at(SL_GRANT, i)); i++)
		if (!((const struct sl_grant_ops *)p)->plan || s->n_apps <= 3)
			holds(s, p->name, &fair);
}

int main(void)
{
	hx_case("fair policies: by virtual time and by asking is the same run");
	each_scenario(hx_scaled(3000), check_same);
	hx_end();
	hx_case("exact runs are those of a model in small steps");
	each_scenario(hx_scaled(150), check_steps);
	hx_end();
	hx_case("under every policy: bytes, order and bandwidth");
	each_scenario(hx_scaled(300), check_all);
	hx_end();
	return hx_finish();
}
