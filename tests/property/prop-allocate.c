/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants of the allocate policies over random machines: what is given out exists, every number
 * is an option of its job, more I/O nodes never mean less; and mckp is what trying everything
 * finds, to the last tie. Bandwidths are small whole numbers, so that ties are frequent and sums
 * exact.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "policy/machine/allocate/options.h"

enum { JOBS = 40, FEW = 5, POINTS = 12, IONODES = 48 };

static uint64_t decisions;

struct machine {
	struct sl_alloc_machine m;
	struct sl_alloc_job job[JOBS];
	struct sl_curve_point curve[JOBS][POINTS];
	uint32_t n;
};

static void random_curve(struct hx_rng *g, struct machine *w, struct sl_alloc_job *j, uint32_t most)
{
	uint32_t ionodes = (uint32_t)hx_below(g, 3), k = 0;

	while (k < POINTS && ionodes <= IONODES + 2) {
		w->curve[j->job][k++] = (struct sl_curve_point){ .ionodes = ionodes,
								 .bps = (double)hx_below(g, most) };
		ionodes += 1 + (uint32_t)hx_below(g, 1 + ionodes / 2);
	}
	j->curve = w->curve[j->job];
	j->points = k;
}

static void random_machine(struct hx_rng *g, struct machine *w, uint32_t jobs)
{
	static const uint32_t sizes[] = { 1, 2, 6, 8, 9, 12, 16, 24, 60, 64, 240, 5040 };
	bool unknown = hx_chance(g, 40);

	w->n = 1 + (uint32_t)hx_below(g, jobs);
	w->m = (struct sl_alloc_machine){
		.ionodes = (uint32_t)hx_below(g, hx_chance(g, 50) ? 2 * w->n : IONODES + 1),
		.compute_nodes = hx_chance(g, 50) ? (uint32_t)hx_range(g, 1, 10000) : 0,
		.direct = hx_chance(g, 50),
		.uneven = hx_chance(g, 20),
	};
	if (w->m.ionodes > IONODES)
		w->m.ionodes = IONODES;
	for (uint32_t i = 0; i < w->n; i++) {
		struct sl_alloc_job *j = &w->job[i];

		*j = (struct sl_alloc_job){
			.job = i,
			.nodes = sizes[hx_below(g, sizeof(sizes) / sizeof(sizes[0]))],
			.procs = (uint32_t)hx_log_range(g, 1, 100000),
			.running = hx_chance(g, 50),
			.has = (uint32_t)hx_below(g, 5),
		};
		if (!unknown || hx_chance(g, 50))
			random_curve(g, w, j, hx_chance(g, 50) ? 4 : 1000);
	}
}

/* Larger than it must be would hide a mistake, so exactly for these. */
static void decide(const struct sl_allocate_ops *ops, struct machine *w)
{
	struct sl_policy_limits limits = { .lanes = w->n, .ionodes = w->m.ionodes };
	void *state = calloc(1, sl_policy_size(&ops->base, &limits));

	if (!state)
		abort();
	sl_policy_init(&ops->base, state, &limits, NULL, 0);
	ops->decide(state, w->job, w->n, &w->m);
	free(state);
	decisions++;
}

static double value(const struct sl_alloc_job *j, uint32_t n)
{
	double bps = sl_alloc_bps(j, n);

	return bps > 0 ? bps : 0;
}

static double sum(const struct machine *w)
{
	double all = 0;

	for (uint32_t i = 0; i < w->n; i++)
		all += value(&w->job[i], w->n);
	return all;
}

static bool is_option(const struct machine *w, const struct sl_alloc_job *j, uint32_t ionodes)
{
	if (ionodes == 0)
		return w->m.direct;
	if (ionodes == 1 && !w->m.direct)
		return true;
	if (!w->m.uneven && j->nodes % ionodes)
		return false;
	for (uint32_t k = 0; k < j->points; k++)
		if (j->curve[k].ionodes == ionodes)
			return true;
	return !j->points;
}

/* ---- what holds for all ---- */

static void check(const char *name, const struct machine *w)
{
	const bool oracle = !strcmp(name, "oracle"), keeps = !strcmp(name, "static");
	uint32_t shared = 0;
	uint64_t given = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct sl_alloc_job *j = &w->job[i];

		shared += j->shared;
		given += j->shared ? 0 : j->ionodes;
		hx_check(!j->shared || (j->ionodes == 1 && !w->m.direct),
			 "%s: job %u shares, with %u", name, i, j->ionodes);
		if (!w->m.ionodes && !w->m.direct && (!oracle || !j->points))
			hx_check(!j->ionodes, "%s: %u of no I/O nodes", name, j->ionodes);
		else if (!keeps || !j->running || j->ionodes != j->has)
			hx_check(is_option(w, j, j->ionodes), "%s: %u is no option of job %u", name,
				 j->ionodes, i);
	}
	if (oracle)
		return;
	hx_check(given + (shared > 0) <= w->m.ionodes, "%s: %" PRIu64 " and %u shared of %u", name,
		 given, shared, w->m.ionodes);
	hx_check(!shared || w->n > w->m.ionodes, "%s: sharing, though there are enough", name);
}

static void any_policy(uint64_t runs)
{
	struct hx_rng g = { hx_seed() };
	const struct sl_policy *p;

	for (uint64_t i = 0; i < runs && !hx_failed(); i++) {
		static struct machine w;

		random_machine(&g, &w, JOBS);
		for (unsigned k = 0; (p = sl_policy_at(SL_ALLOCATE, k)); k++) {
			decide((const struct sl_allocate_ops *)p, &w);
			check(p->name, &w);
		}
	}
}

/* mckp is at least as good as any other, and the oracle at least as good as mckp. */
static void best_of_all(uint64_t runs)
{
	struct hx_rng g = { hx_seed() };
	const struct sl_policy *p;

	for (uint64_t i = 0; i < runs && !hx_failed(); i++) {
		static struct machine w;
		double best;

		random_machine(&g, &w, JOBS);
		for (uint32_t k = 0; k < w.n; k++) {
			w.job[k].running = false; /* so that static has to stay with the options */
			if (!w.job[k].points)
				random_curve(&g, &w, &w.job[k], 1000);
		}
		decide(&sl_allocate_mckp, &w);
		best = sum(&w);
		for (unsigned k = 0; (p = sl_policy_at(SL_ALLOCATE, k)); k++) {
			double got;

			if (!w.m.ionodes && !w.m.direct)
				continue;
			decide((const struct sl_allocate_ops *)p, &w);
			got = sum(&w);
			if (!strcmp(p->name, "oracle"))
				hx_check(got > best - 1e-6, "oracle %g, mckp %g", got, best);
			else
				hx_check(best > got - 1e-6, "mckp %g, %s %g", best, p->name, got);
		}
	}
}

/*
 * With curves known, more I/O nodes never mean less bandwidth; but once, without direct access,
 * when there are just enough for the jobs: sharing, which leaves some more to others, ends there.
 */
static void monotone(uint64_t runs)
{
	struct hx_rng g = { hx_seed() };

	for (uint64_t i = 0; i < runs && !hx_failed(); i++) {
		static struct machine w;
		double last = 0;

		random_machine(&g, &w, JOBS);
		for (uint32_t k = 0; k < w.n; k++)
			if (!w.job[k].points)
				random_curve(&g, &w, &w.job[k], 1000);
		for (uint32_t f = !w.m.direct; f <= IONODES; f++) {
			double got;

			w.m.ionodes = f;
			decide(&sl_allocate_mckp, &w);
			got = sum(&w);
			hx_check(got > last - 1e-6 || (!w.m.direct && f == w.n),
				 "%g with %u I/O nodes, %g with one less", got, f, last);
			last = got;
		}
	}
}

/* ---- against everything that could be decided ---- */

struct best {
	double value;
	uint32_t ionodes, moved;
	bool found;
};

static void offer(struct best *b, double all, uint32_t ionodes, uint32_t moved)
{
	/* Values are whole numbers, or such over the number of jobs. */
	const double tiny = 1e-6;

	if (b->found && (all < b->value - tiny ||
			 (all < b->value + tiny &&
			  (ionodes > b->ionodes || (ionodes == b->ionodes && moved >= b->moved)))))
		return;
	*b = (struct best){ all, ionodes, moved, true };
}

static bool moves(const struct sl_alloc_job *j, uint32_t ionodes)
{
	return j->running && j->has != ionodes;
}

static void try_all(struct best *b, struct machine *w, const bool *fixed, uint32_t i, double all,
		    uint32_t ionodes, uint32_t moved)
{
	const bool shares = !w->m.direct && w->n > w->m.ionodes;
	struct sl_alloc_job *j = &w->job[i];
	const struct sl_alloc_job was = *j;

	if (ionodes + shares > w->m.ionodes)
		return;
	if (i == w->n) {
		offer(b, all, ionodes, moved);
		return;
	}
	for (uint32_t k = 0; k <= w->m.ionodes; k++) {
		if (fixed[i] ? was.shared || k != was.ionodes : !is_option(w, j, k))
			continue;
		j->ionodes = k;
		j->shared = false;
		try_all(b, w, fixed, i + 1, all + value(j, w->n), ionodes + k, moved + moves(j, k));
	}
	if (fixed[i] ? was.shared : shares) {
		j->ionodes = 1;
		j->shared = true;
		try_all(b, w, fixed, i + 1, all + value(j, w->n), ionodes, moved + moves(j, 1));
	}
	*j = was;
}

/* Jobs without a curve get what static gives when nobody is running. */
static void fix_unknown(struct machine *w, bool *fixed)
{
	static struct machine copy;

	copy = *w;
	for (uint32_t i = 0; i < copy.n; i++)
		copy.job[i].running = false;
	decide(&sl_allocate_static, &copy);
	for (uint32_t i = 0; i < w->n; i++) {
		fixed[i] = !w->job[i].points;
		w->job[i].ionodes = copy.job[i].ionodes;
		w->job[i].shared = copy.job[i].shared;
	}
}

static void brute_force(uint64_t runs)
{
	struct hx_rng g = { hx_seed() };
	uint64_t ties = 0;

	for (uint64_t i = 0; i < runs && !hx_failed(); i++) {
		uint32_t ionodes = 0, moved = 0;
		struct best b = { 0 };
		static struct machine w;
		bool fixed[FEW];

		random_machine(&g, &w, FEW);
		w.m.ionodes = (uint32_t)hx_below(&g, 12);
		if (!w.m.ionodes && !w.m.direct)
			continue;
		fix_unknown(&w, fixed);
		try_all(&b, &w, fixed, 0, 0, 0, 0);
		decide(&sl_allocate_mckp, &w);
		check("mckp", &w);
		for (uint32_t k = 0; k < w.n; k++) {
			ionodes += w.job[k].shared ? 0 : w.job[k].ionodes;
			moved += moves(&w.job[k], w.job[k].ionodes);
		}
		hx_check(b.found, "nothing is possible");
		hx_check(sum(&w) > b.value - 1e-6 && sum(&w) < b.value + 1e-6,
			 "%.9g, and %.9g is possible", sum(&w), b.value);
		hx_check(ionodes == b.ionodes, "%u I/O nodes, and %u are enough", ionodes,
			 b.ionodes);
		hx_check(moved == b.moved, "%u jobs move, and %u would do", moved, b.moved);
		ties += moved > 0;
	}
	hx_check(ties > 0 || runs < 10, "no job was ever moved");
}

int main(void)
{
	hx_case("any policy gives out what there is, as options of the jobs");
	any_policy(hx_scaled(20000));
	hx_end();
	hx_case("mckp has the most bandwidth of all, and the oracle is its bound");
	best_of_all(hx_scaled(20000));
	hx_end();
	hx_case("more I/O nodes never mean less bandwidth");
	monotone(hx_scaled(500));
	hx_end();
	hx_case("mckp is what trying everything finds: bandwidth, nodes and moves");
	brute_force(hx_scaled(20000));
	hx_end();
	printf("# %" PRIu64 " decisions\n", decisions);
	return hx_finish();
}
