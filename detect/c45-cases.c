/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which branch of a test the cases go to, for C4.5 (c45.c). A case whose value is not known goes to
 * all of them, in parts as large as the share of the others that went there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect/c45-node.h"

/* ---- sums ---- */

double c45_sum(const double *x, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += x[i];
	return sum;
}

uint32_t c45_largest(const double *x, uint32_t n)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < n; i++)
		if (x[i] > x[best])
			best = i;
	return best;
}

double c45_wrong(const double *dist, uint32_t classes)
{
	return c45_sum(dist, classes) - dist[c45_largest(dist, classes)];
}

/* ---- nodes ---- */

static uint32_t cs_branch(const struct c45 *c, const struct c45_node *n, double value)
{
	return c45_values(c, n->attribute) ? (uint32_t)value : value > n->threshold;
}

/* How much of a case with an unknown value goes to each son. */
static void cs_shares(const struct c45 *c, const struct c45_node *n, double *share)
{
	double all = c45_sum(n->bag, n->sons * c->classes);

	for (uint32_t i = 0; i < n->sons; i++)
		share[i] = all > C45_TINY ? c45_sum(&n->bag[i * c->classes], c->classes) / all
					  : 1.0 / n->sons;
}

void c45_distribute(struct c45 *c, struct c45_node *n, const struct c45_cases *cases)
{
	double share[SL_DECISION_VALUES];

	memset(n->dist, 0, c->classes * sizeof(n->dist[0]));
	for (uint32_t i = 0; i < cases->n; i++)
		n->dist[c45_class(c, cases->c[i].row)] += cases->c[i].weight;
	if (!n->sons)
		return;
	memset(n->bag, 0, (size_t)n->sons * c->classes * sizeof(n->bag[0]));
	for (uint32_t i = 0; i < cases->n; i++) {
		double v = c45_value(c, n->attribute, cases->c[i].row);

		if (!isnan(v))
			n->bag[cs_branch(c, n, v) * c->classes + c45_class(c, cases->c[i].row)] +=
				cases->c[i].weight;
	}
	cs_shares(c, n, share);
	for (uint32_t i = 0; i < cases->n; i++)
		if (isnan(c45_value(c, n->attribute, cases->c[i].row)))
			for (uint32_t k = 0; k < n->sons; k++)
				n->bag[k * c->classes + c45_class(c, cases->c[i].row)] +=
					cases->c[i].weight * share[k];
}

bool c45_split(struct c45 *c, const struct c45_node *n, const struct c45_cases *cases,
	       struct c45_cases *part)
{
	double share[SL_DECISION_VALUES];

	memset(part, 0, n->sons * sizeof(part[0]));
	cs_shares(c, n, share);
	for (uint32_t k = 0; k < n->sons; k++) {
		part[k].c = calloc(cases->n + 1, sizeof(part[k].c[0]));
		c->failed = c->failed || !part[k].c;
	}
	if (c->failed) {
		for (uint32_t k = 0; k < n->sons; k++)
			free(part[k].c);
		memset(part, 0, n->sons * sizeof(part[0]));
		return false;
	}
	for (uint32_t i = 0; i < cases->n; i++) {
		double v = c45_value(c, n->attribute, cases->c[i].row);
		struct c45_case it = cases->c[i];
		uint32_t k;

		if (!isnan(v)) {
			k = cs_branch(c, n, v);
			part[k].c[part[k].n++] = it;
			continue;
		}
		for (k = 0; k < n->sons; k++)
			if (share[k] > C45_TINY)
				part[k].c[part[k].n++] =
					(struct c45_case){ it.row, it.weight * share[k] };
	}
	return true;
}
