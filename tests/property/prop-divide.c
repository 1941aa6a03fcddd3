/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants of dividing one bandwidth among many, over random jobs: nothing is given out twice or
 * left idle, nobody has more than its max, guarantees and grants come first, and what is left is
 * divided by weight or by sets.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "policy/machine/divide.h"

enum { JOBS = 60 };

struct machine {
	struct sl_divide_job job[JOBS];
	uint32_t n;
	double capacity;
};

static struct sl_io_job *ordering[JOBS];
static char sets_state[256];

static double min2(double a, double b)
{
	return a < b ? a : b;
}

static double some(struct hx_rng *g, double most)
{
	return (double)hx_log_range(g, 1, (uint64_t)most);
}

static void random_machine(struct hx_rng *g, struct machine *m)
{
	double mins = 0, grants = 0;

	m->n = 1 + (uint32_t)hx_below(g, JOBS);
	m->capacity = some(g, 1e12);
	for (uint32_t i = 0; i < m->n; i++) {
		m->job[i] = (struct sl_divide_job){
			.min_bps = hx_chance(g, 20) ? some(g, m->capacity) : 0,
			.granted_bps = hx_chance(g, 20) ? some(g, m->capacity) : 0,
			.max_bps = hx_chance(g, 30) ? some(g, 2 * m->capacity) : SL_ALL,
			.want_bps = hx_chance(g, 10)   ? 0
				    : hx_chance(g, 60) ? SL_ALL
						       : some(g, 2 * m->capacity),
			.weight = some(g, 1000000),
			.period_ns =
				hx_chance(g, 20) ? 0 : (sl_time)hx_log_range(g, 1, INT64_MAX / 2),
			.since = (sl_time)hx_below(g, 1000000),
		};
		mins += m->job[i].min_bps;
		grants += m->job[i].granted_bps;
	}
	for (uint32_t i = 0; i < m->n; i++) { /* sums that fit, as a rule */
		if (mins > m->capacity / 3 && hx_chance(g, 90))
			m->job[i].min_bps *= m->capacity / 3 / mins;
		if (grants > m->capacity / 2 && hx_chance(g, 90))
			m->job[i].granted_bps *= m->capacity / 2 / grants;
	}
}

static double limit(const struct sl_divide_job *j)
{
	return j->want_bps > 0 ? j->max_bps : 0;
}

static void check_bounds(const struct machine *m)
{
	double sum = 0, could = 0, mins = 0, firsts = 0, slack = 1e-6 * m->capacity;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct sl_divide_job *j = &m->job[i];

		hx_check(j->rate_bps >= 0 && j->rate_bps <= limit(j) + slack, "job %u: %g of %g", i,
			 j->rate_bps, limit(j));
		sum += j->rate_bps;
		could += min2(limit(j), m->capacity);
		mins += min2(j->min_bps, min2(j->max_bps, j->want_bps));
		firsts += min2(j->min_bps > j->granted_bps ? j->min_bps : j->granted_bps,
			       min2(j->max_bps, j->want_bps));
	}
	hx_check(sum <= m->capacity + slack, "%g of %g given out", sum, m->capacity);
	hx_check(sum >= min2(could, m->capacity) - slack, "%g of %g idle, %g could be used",
		 m->capacity - sum, m->capacity, could);
	for (uint32_t i = 0; i < m->n; i++) {
		const struct sl_divide_job *j = &m->job[i];
		double able = min2(j->max_bps, j->want_bps);

		if (mins <= m->capacity)
			hx_check(j->rate_bps >= min2(j->min_bps, able) - slack, "min of %u", i);
		if (firsts <= m->capacity)
			hx_check(j->rate_bps >= min2(j->granted_bps, able) - slack, "grant of %u",
				 i);
	}
}

/* Who has more than its weight's part of what another has, has it by a guarantee or a grant. */
static void check_weights(const struct machine *m)
{
	double slack = 1e-6 * m->capacity;

	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t k = 0; k < m->n; k++) {
			const struct sl_divide_job *a = &m->job[i], *b = &m->job[k];
			double firsts = a->min_bps > a->granted_bps ? a->min_bps : a->granted_bps;
			bool full = b->rate_bps >= min2(b->max_bps, b->want_bps) - slack;

			hx_check(full || a->rate_bps <= firsts + slack ||
					 a->rate_bps <= b->rate_bps / b->weight * a->weight + slack,
				 "%u has %g by %g, %u has %g by %g and wants more", i, a->rate_bps,
				 a->weight, k, b->rate_bps, b->weight);
		}
}

/* In a set of periods one after the other; unknown periods are sets of their own. */
static void check_sets(const struct machine *m)
{
	double slack = 1e-6 * m->capacity;

	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t k = 0; k < m->n; k++) {
			const struct sl_divide_job *a = &m->job[i], *b = &m->job[k];
			double firsts = b->min_bps > b->granted_bps ? b->min_bps : b->granted_bps;

			if (!a->period_ns || a->period_ns != b->period_ns || a->since >= b->since ||
			    a->rate_bps >= min2(a->max_bps, a->want_bps) - slack)
				continue;
			hx_check(b->rate_bps <= firsts + slack, "%u goes before %u in its set", k,
				 i);
		}
}

int main(void)
{
	struct hx_rng g = { hx_seed() };
	struct machine m;

	hx_case("what is left is divided by weight");
	for (uint64_t i = 0, runs = hx_scaled(3000); i < runs && !hx_failed(); i++) {
		random_machine(&g, &m);
		sl_divide(m.job, m.n, m.capacity, NULL, 0);
		check_bounds(&m);
		check_weights(&m);
	}
	hx_end();
	hx_case("what is left is divided by sets of periods");
	for (uint64_t i = 0, runs = hx_scaled(3000); i < runs && !hx_failed(); i++) {
		struct sl_divide_how how = { .sets = sets_state, .order = ordering };

		random_machine(&g, &m);
		for (uint32_t k = 0; k < m.n; k++) /* so that sets have several members */
			m.job[k].period_ns =
				hx_chance(&g, 10) ? 0 : (sl_time)1000000000 << 7 * hx_below(&g, 4);
		sl_divide(m.job, m.n, m.capacity, &how, 1000000);
		check_bounds(&m);
		check_sets(&m);
	}
	hx_end();
	return hx_finish();
}
