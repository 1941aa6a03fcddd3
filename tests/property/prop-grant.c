/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grant policies over whole runs of a few applications.
 *
 * A world is a handful of applications that compute and then want I/O, on a machine of capacity
 * B. It runs from event to event, a phase begins or ends, with the rates that are decided at each.
 * Every decision is checked: no job over its cap, all together not over B, nobody at 0 while some
 * is left. With max_stall, what a job loses in a phase is bounded by that and by the bytes of
 * those that asked before it, over its cap.
 *
 * How good a policy is for its objective is judged against a search of all decisions: at every
 * event, every order of the jobs that want I/O, each served in turn with min(cap, what is left).
 * Branches end that could not be better if all applications went on alone. Orders that give the
 * same rates are one. Example: three jobs that could use 6 of 10: each may be first, and then each
 * of the other two second; 6 branches. The search does not consider to let bandwidth idle or to
 * change between events; nor do the policies.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "sched/spec.h"
#include "tests/property/harness.h"

#define APPS   4
#define NODES  3000000
#define B      100.0
#define NEARLY 0.999

struct app {
	uint32_t procs;
	double cap, compute_s, bytes, release_s;
	unsigned instances;
};

struct world {
	const struct app *apps;
	unsigned n;
	double capacity, t;
	double stall_s; /* max_stall; 0: none */
	struct now {
		bool wants;	/* I/O; else it computes */
		double until_s; /* of computing */
		double asked_s, io_end_s, left, rate, end_s;
		unsigned ended;
		bool started;
	} now[APPS];
};

static uint64_t decisions;

static void world_open(struct world *w, const struct app *apps, unsigned n, double capacity)
{
	memset(w, 0, sizeof(*w));
	w->apps = apps;
	w->n = n;
	w->capacity = capacity;
	for (unsigned i = 0; i < n; i++) {
		w->now[i].until_s = apps[i].release_s + apps[i].compute_s;
		w->now[i].io_end_s = apps[i].release_s;
	}
}

static bool over(const struct world *w, unsigned i)
{
	return w->now[i].ended == w->apps[i].instances;
}

/* What others asked for before or together with it may still be late as well. */
static void check_loss(const struct world *w, unsigned i, double end_s)
{
	const struct app *p = &w->apps[i];
	double lost = end_s - w->now[i].asked_s - p->bytes / p->cap, allowed = w->stall_s;

	for (unsigned k = 0; k < w->n; k++)
		if (k != i)
			allowed += w->apps[k].bytes / p->cap;
	hx_check(lost <= allowed * (1 + 1e-6), "t=%g: application %u lost %g s in a phase, of %g",
		 w->t, i + 1, lost, allowed);
}

/* To the next event at the present rates, but not beyond `limit`; false: all is over. */
static bool world_step(struct world *w, double limit)
{
	double next = INFINITY;

	for (unsigned i = 0; i < w->n; i++) {
		const struct now *a = &w->now[i];

		if (over(w, i))
			continue;
		if (!a->wants)
			next = fmin(next, a->until_s);
		else if (a->rate > 0)
			next = fmin(next, w->t + a->left / a->rate);
	}
	if (isinf(next))
		return false;
	next = fmin(next, limit);
	for (unsigned i = 0; i < w->n; i++) {
		struct now *a = &w->now[i];
		const struct app *p = &w->apps[i];

		if (over(w, i))
			continue;
		if (!a->wants && a->until_s <= next) {
			a->wants = true;
			a->started = false;
			a->asked_s = next;
			a->left = p->bytes;
			a->rate = 0;
		} else if (a->wants && a->rate > 0) {
			a->started = true;
			a->left -= a->rate * (next - w->t);
			if (a->left > 1e-9 * p->bytes)
				continue;
			if (w->stall_s > 0)
				check_loss(w, i, next);
			a->wants = false;
			a->end_s = a->io_end_s = next;
			a->until_s = next + p->compute_s;
			a->ended++;
		}
	}
	w->t = next;
	return true;
}

/* 1/N * sum of beta * efficiency when it ended, or would at best. */
static double sys_eff(const struct world *w)
{
	double sum = 0, procs = 0;

	for (unsigned i = 0; i < w->n; i++) {
		const struct app *p = &w->apps[i];
		const struct now *a = &w->now[i];
		double alone = p->compute_s + p->bytes / p->cap, end = a->end_s;

		if (!over(w, i)) {
			end = a->wants ? w->t + a->left / p->cap : a->until_s + p->bytes / p->cap;
			end += alone * (p->instances - a->ended - 1);
		}
		sum += p->procs * p->compute_s * p->instances / (end - p->release_s);
		procs += p->procs;
	}
	return sum / procs;
}

static double dilation(const struct world *w)
{
	double most = 1;

	for (unsigned i = 0; i < w->n; i++) {
		const struct app *p = &w->apps[i];
		double alone = (p->compute_s + p->bytes / p->cap) * p->instances;

		most = fmax(most, (w->now[i].end_s - p->release_s) / alone);
	}
	return most;
}

/* ---- under a policy ---- */

static sl_time ns(double s)
{
	return (sl_time)(s * 1e9);
}

static double decide(struct world *w, const struct sl_grant_ops *ops, void *state)
{
	struct sl_io_job jobs[APPS], *list[APPS];
	double sum = 0, wake;
	bool waits = false;
	uint32_t n = 0;
	sl_time next;

	for (unsigned i = 0; i < w->n; i++) {
		const struct app *p = &w->apps[i];
		const struct now *a = &w->now[i];
		double alone = p->compute_s + p->bytes / p->cap;

		if (!a->wants)
			continue;
		jobs[n] = (struct sl_io_job){
			.job = i + 1,
			.procs = p->procs,
			.cap_bps = p->cap,
			.released = ns(p->release_s),
			.asked = ns(a->asked_s),
			.io_end = ns(a->io_end_s),
			.period_ns = ns(alone),
			.ended = a->ended,
			.work_s = p->compute_s * a->ended,
			.alone_s = alone * a->ended,
			.compute_s = p->compute_s,
			.bytes = p->bytes,
			.left_bytes = a->left,
			.started = a->started,
			.rate_bps = NAN,
		};
		list[n] = &jobs[n];
		n++;
	}
	next = ops->decide(state, list, n, w->capacity, ns(w->t));
	decisions++;
	for (uint32_t i = 0; i < n; i++) {
		hx_check(jobs[i].rate_bps >= 0 && jobs[i].rate_bps <= jobs[i].cap_bps * (1 + 1e-9),
			 "%s: rate %g of %g", ops->base.name, jobs[i].rate_bps, jobs[i].cap_bps);
		sum += jobs[i].rate_bps;
		waits = waits || jobs[i].rate_bps == 0;
		w->now[jobs[i].job - 1].rate = jobs[i].rate_bps;
	}
	hx_check(sum <= w->capacity * (1 + 1e-9), "%s: %g of %g", ops->base.name, sum, w->capacity);
	hx_check(!waits || sum >= w->capacity * (1 - 1e-9), "%s: a job waits, and only %g of %g",
		 ops->base.name, sum, w->capacity);
	hx_check(next > ns(w->t), "%s: decide again in the past", ops->base.name);
	wake = next == SL_NEVER ? INFINITY : (double)next * 1e-9;
	return fmax(wake, w->t + 1e-9);
}

static void run(struct world *w, const struct sl_grant_ops *ops, const int64_t *values)
{
	struct sl_policy_limits limits = { .lanes = APPS };
	void *state = calloc(1, sl_policy_size(&ops->base, &limits));

	if (!state)
		abort();
	sl_policy_init(&ops->base, state, &limits, values, 0);
	while (!hx_failed() && world_step(w, decide(w, ops, state)))
		;
	for (unsigned i = 0; i < w->n; i++)
		hx_check(over(w, i), "%s: application %u has not ended", ops->base.name, i + 1);
	free(state);
}

/* ---- under all decisions ---- */

struct search {
	double best;
	uint64_t nodes;
};

static void search(struct search *s, const struct world *w);

/* Every order of those that want I/O, from place `k` on; rates that were tried are not again. */
static void orders(struct search *s, const struct world *w, unsigned *who, unsigned n, unsigned k,
		   double (*tried)[APPS], unsigned *count)
{
	double left = w->capacity, rates[APPS] = { 0 };
	struct world next;

	if (k < n) {
		for (unsigned i = k; i < n; i++) {
			unsigned x = who[k];

			who[k] = who[i];
			who[i] = x;
			orders(s, w, who, n, k + 1, tried, count);
			who[i] = who[k];
			who[k] = x;
		}
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		rates[who[i]] = fmin(left, w->apps[who[i]].cap);
		left -= rates[who[i]];
	}
	for (unsigned i = 0; i < *count; i++)
		if (!memcmp(tried[i], rates, sizeof(rates)))
			return;
	memcpy(tried[(*count)++], rates, sizeof(rates));
	next = *w;
	for (unsigned i = 0; i < w->n; i++)
		next.now[i].rate = rates[i];
	if (world_step(&next, INFINITY))
		search(s, &next);
	else
		s->best = fmax(s->best, sys_eff(&next));
}

static void search(struct search *s, const struct world *w)
{
	double tried[24][APPS];
	unsigned who[APPS], n = 0, count = 0;

	if (sys_eff(w) <= s->best || ++s->nodes > NODES)
		return;
	for (unsigned i = 0; i < w->n; i++)
		if (w->now[i].wants)
			who[n++] = i;
	orders(s, w, who, n, 0, tried, &count);
}

/* ---- properties ---- */

static double real(struct hx_rng *g, double lo, double hi)
{
	return lo + (hi - lo) * (double)hx_below(g, 1000001) * 1e-6;
}

static unsigned random_apps(struct hx_rng *g, struct app *apps, double capacity)
{
	unsigned n = 2 + (unsigned)hx_below(g, APPS - 1);
	double longest = 0;

	for (unsigned i = 0; i < n; i++) {
		apps[i] = (struct app){ .procs = (uint32_t)hx_log_range(g, 64, 4096),
					.cap = capacity * real(g, 0.3, 1),
					.compute_s = real(g, 2, 30),
					.release_s = real(g, 0, 20) };
		apps[i].bytes = apps[i].cap * apps[i].compute_s * real(g, 0.1, 1.2);
		longest = fmax(longest, apps[i].compute_s + apps[i].bytes / apps[i].cap);
	}
	for (unsigned i = 0; i < n; i++) {
		double alone = apps[i].compute_s + apps[i].bytes / apps[i].cap;

		apps[i].instances = (unsigned)fmin(5, 2 * longest / alone);
	}
	return n;
}

static const char *const all[] = {
	"max-sys-eff",	"target-dilation", "max-sys-eff-literal",
	"min-dilation", "min-max",	   "round-robin",
	"fcfs",		"fair-share",	   "set-10",
};
enum { LISTS = 7, POLICIES = 9 }; /* the last two serve nobody in turn */

struct score {
	double least, sum, log_dilation;
	uint64_t below; /* .95 */
};

static void parse(const char *text, struct sl_spec *spec)
{
	char err[200];

	if (sl_spec_parse(SL_GRANT, text, spec, err, sizeof(err))) {
		hx_fail("%s", err);
		abort();
	}
}

/* The optimum of a set, and what every policy reaches; false: the search was given up. */
static bool judge(const struct app *apps, unsigned n, double *got, double *dilations, double *best)
{
	struct search s = { 0 };
	struct sl_spec spec;
	struct world w;
	double most = 0;

	for (unsigned p = 0; p < POLICIES; p++) {
		world_open(&w, apps, n, B);
		parse(all[p], &spec);
		run(&w, (const struct sl_grant_ops *)spec.policy, spec.values);
		got[p] = sys_eff(&w);
		dilations[p] = dilation(&w);
		most = p < LISTS ? fmax(most, got[p]) : most;
	}
	/* A bound to begin with; the search must find what the policies have found. */
	s.best = most * NEARLY;
	world_open(&w, apps, n, B);
	search(&s, &w);
	if (s.nodes > NODES)
		return false;
	hx_check(s.best >= most * (1 - 1e-9), "the search found %.6f, a policy %.6f", s.best, most);
	*best = s.best;
	return true;
}

static void near_the_optimum(uint64_t sets)
{
	struct score score[POLICIES];
	struct hx_rng g = { hx_seed() };
	uint64_t searched = 0;

	memset(score, 0, sizeof(score));
	for (unsigned p = 0; p < POLICIES; p++)
		score[p].least = 1;
	for (uint64_t set = 0; set < sets && !hx_failed(); set++) {
		double got[POLICIES], dilations[POLICIES], best;
		struct app apps[APPS];
		unsigned n = random_apps(&g, apps, B);

		if (!judge(apps, n, got, dilations, &best))
			continue;
		searched++;
		for (unsigned p = 0; p < POLICIES; p++) {
			score[p].least = fmin(score[p].least, got[p] / best);
			score[p].sum += got[p] / best;
			score[p].below += got[p] < 0.95 * best;
			score[p].log_dilation += log(dilations[p]);
		}
	}
	printf("# part of the best system efficiency, %" PRIu64 " of %" PRIu64 " sets:\n", searched,
	       sets);
	for (unsigned p = 0; p < POLICIES; p++)
		printf("# %-20s mean %.4f least %.3f, %3" PRIu64 " below .95; dilation %.3f\n",
		       all[p], score[p].sum / (double)searched, score[p].least, score[p].below,
		       exp(score[p].log_dilation / (double)searched));
	hx_check(searched * 10 > sets * 9, "%" PRIu64 " searches were given up", sets - searched);
	hx_check(score[0].least > 0.85, "%s: %.3f of the best", all[0], score[0].least);
	for (unsigned p = 0; p < 2; p++) { /* max-sys-eff, target-dilation */
		hx_check(score[p].sum > 0.99 * (double)searched, "%s: mean below .99", all[p]);
		hx_check(score[p].below <= 1 + searched / 100, "%s: %" PRIu64 " sets below .95",
			 all[p], score[p].below);
		for (unsigned k = 2; k < POLICIES; k++)
			hx_check(score[p].sum > score[k].sum || searched < 30,
				 "%s is better than %s", all[k], all[p]);
	}
}

/* Any policy with any parameters; those that plan ahead have tests of their own. */
static void any_policy(uint64_t runs)
{
	struct hx_rng g = { hx_seed() };

	for (uint64_t i = 0; i < runs && !hx_failed(); i++) {
		struct app apps[APPS];
		struct sl_spec spec;
		struct world w;
		char text[200];
		unsigned n = random_apps(&g, apps, B);
		const struct sl_grant_ops *ops;

		hx_random_policy(&g, "grant", text, sizeof(text));
		parse(text, &spec);
		ops = (const struct sl_grant_ops *)spec.policy;
		if (ops->plan)
			continue;
		world_open(&w, apps, n, B);
		run(&w, ops, spec.values);
		if (hx_failed())
			printf("# under %s\n", text);
	}
}

/* Policies that would let a job wait for ever, and applications that are always back. */
static void bounded_stall(uint64_t runs)
{
	struct hx_rng g = { hx_seed() };

	for (uint64_t i = 0; i < runs && !hx_failed(); i++) {
		const char *policy = all[hx_below(&g, 6)];
		uint64_t ms = hx_log_range(&g, 1, 100000);
		struct app apps[APPS];
		struct sl_spec spec;
		struct world w;
		char text[200];
		unsigned n = random_apps(&g, apps, B);

		for (unsigned k = 0; k < n; k++) {
			apps[k].instances = 1 + (unsigned)hx_below(&g, 200);
			if (hx_chance(&g, 50))
				apps[k].compute_s *= 0.01;
		}
		snprintf(text, sizeof(text), "%s,max_stall_ms=%" PRIu64 ",priority=%s", policy, ms,
			 hx_chance(&g, 50) ? "yes" : "no");
		parse(text, &spec);
		world_open(&w, apps, n, B);
		w.stall_s = (double)ms * 1e-3;
		run(&w, (const struct sl_grant_ops *)spec.policy, spec.values);
		if (hx_failed())
			printf("# under %s\n", text);
	}
}

int main(void)
{
	hx_case("any policy gives out what there is, and no more");
	any_policy(hx_scaled(3000));
	hx_end();
	hx_case("with max_stall no job loses more in a phase than that and what is before it");
	bounded_stall(hx_scaled(1000));
	hx_end();
	hx_case("max-sys-eff and target-dilation are near the best of all decisions");
	near_the_optimum(hx_scaled(300));
	hx_end();
	printf("# %" PRIu64 " decisions\n", decisions);
	return hx_finish();
}
