/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C4.5's pruning (Quinlan 1993, chapter 4), as J48 does it.
 *
 * First, a test whose branches together are not wrong less often than one leaf is dropped. Then,
 * from the leaves up, each test is compared with what could replace it, by errors that are expected
 * of cases not seen: of N cases with E errors, the errors at the upper end of the interval in which
 * their rate lies with the confidence given (25 %). A leaf replaces the test if it is not expected
 * to be worse by more than 0.1; so does the largest branch, which then gets the cases of the others
 * too, and is pruned again.
 *
 * Example: N = 6, E = 0 gives 6 * (1 - 0.25^(1/6)) = 1.24 errors, N = 9 1.28, N = 1 0.75. Three
 * such leaves are expected to be wrong 3.27 times; one leaf with N = 16, E = 1: 2.48 times (the
 * book has 2.51, J48 and this the interval of a normal distribution). It replaces them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect/c45-node.h"

#define SLIGHTLY 0.1

/* ---- errors ---- */

/* z with P(Z > z) = p of a normal Z, by bisection: exact to rounding, and this is no hot path. */
static double pr_normal_tail(double p)
{
	double low = 0, high = 40;

	for (int i = 0; i < 100; i++) {
		double z = (low + high) / 2;

		if (erfc(z / sqrt(2)) / 2 > p)
			low = z;
		else
			high = z;
	}
	return low;
}

/* What comes to `wrong` at the upper end of the interval. */
double c45_more_errors(double cases, double wrong, double confidence)
{
	double z, f, upper;

	if (wrong < 1) { /* exact for none, in between up to one */
		double none = cases * (1 - pow(confidence, 1 / cases));

		if (wrong <= 0)
			return none;
		return none + wrong * (c45_more_errors(cases, 1, confidence) - none);
	}
	if (wrong + 0.5 >= cases)
		return cases > wrong ? cases - wrong : 0;
	z = pr_normal_tail(confidence);
	f = (wrong + 0.5) / cases;
	upper = (f + z * z / (2 * cases) +
		 z * sqrt(f / cases - f * f / cases + z * z / (4 * cases * cases))) /
		(1 + z * z / cases);
	return upper * cases - wrong;
}

static double pr_expected(const struct c45 *c, const double *dist)
{
	double n = c45_sum(dist, c->classes), wrong = c45_wrong(dist, c->classes);

	return n <= C45_TINY ? 0 : wrong + c45_more_errors(n, wrong, c->confidence);
}

static double pr_expected_beneath(const struct c45 *c, const struct c45_node *n)
{
	double sum = 0;

	if (!n->sons)
		return pr_expected(c, n->dist);
	for (uint32_t i = 0; i < n->sons; i++)
		sum += pr_expected_beneath(c, n->son[i]);
	return sum;
}

static double pr_wrong_beneath(const struct c45 *c, const struct c45_node *n)
{
	double sum = 0;

	if (!n->sons)
		return c45_wrong(n->dist, c->classes);
	for (uint32_t i = 0; i < n->sons; i++)
		sum += pr_wrong_beneath(c, n->son[i]);
	return sum;
}

void c45_collapse(const struct c45 *c, struct c45_node *n)
{
	if (!n->sons)
		return;
	if (pr_wrong_beneath(c, n) >= c45_wrong(n->dist, c->classes) - 1e-3) {
		c45_make_leaf(n);
		return;
	}
	for (uint32_t i = 0; i < n->sons; i++)
		c45_collapse(c, n->son[i]);
}

/* ---- the largest branch in place of its parent ---- */

/* What would be expected of n if these cases came to it. */
static double pr_expected_with(struct c45 *c, const struct c45_node *n,
			       const struct c45_cases *cases)
{
	struct c45_cases part[SL_DECISION_VALUES];
	struct c45_node with = *n;
	double sum = 0;

	with.dist = calloc(c->classes, sizeof(with.dist[0]));
	with.bag = calloc((size_t)(n->sons + 1) * c->classes, sizeof(with.bag[0]));
	c->failed = c->failed || !with.dist || !with.bag;
	if (!c->failed) {
		c45_distribute(c, &with, cases);
		if (!n->sons) {
			sum = pr_expected(c, with.dist);
		} else if (c45_split(c, &with, cases, part)) {
			for (uint32_t i = 0; i < n->sons; i++) {
				sum += pr_expected_with(c, n->son[i], &part[i]);
				free(part[i].c);
			}
		}
	}
	free(with.dist);
	free(with.bag);
	return sum;
}

/* The node keeps its tests, and gets these cases; takes them over. */
static void pr_give(struct c45 *c, struct c45_node *n, struct c45_cases cases)
{
	struct c45_cases part[SL_DECISION_VALUES];

	if (n->at.c != cases.c)
		free(n->at.c);
	n->at = cases;
	c45_distribute(c, n, &cases);
	if (n->sons && c45_split(c, n, &cases, part))
		for (uint32_t i = 0; i < n->sons; i++)
			pr_give(c, n->son[i], part[i]);
}

static void pr_raise(struct c45 *c, struct c45_node *n, uint32_t largest)
{
	struct c45_node *branch = n->son[largest];

	n->son[largest] = NULL;
	c45_make_leaf(n);
	n->attribute = branch->attribute;
	n->threshold = branch->threshold;
	n->sons = branch->sons;
	n->son = branch->son;
	n->bag = branch->bag;
	branch->sons = 0;
	branch->son = NULL;
	branch->bag = NULL;
	c45_free(branch);
	pr_give(c, n, n->at);
}

static uint32_t pr_largest_branch(const struct c45 *c, const struct c45_node *n)
{
	uint32_t best = 0;
	double most = -1;

	for (uint32_t i = 0; i < n->sons; i++) {
		double weight = c45_sum(&n->bag[i * c->classes], c->classes);

		if (weight > most) {
			most = weight;
			best = i;
		}
	}
	return best;
}

void c45_prune(struct c45 *c, struct c45_node *n)
{
	uint32_t largest;
	double leaf, branch, tests;

	if (!n->sons || c->failed)
		return;
	for (uint32_t i = 0; i < n->sons; i++)
		c45_prune(c, n->son[i]);
	largest = pr_largest_branch(c, n);
	branch = pr_expected_with(c, n->son[largest], &n->at);
	leaf = pr_expected(c, n->dist);
	tests = pr_expected_beneath(c, n);
	if (c->failed)
		return;
	if (leaf <= tests + SLIGHTLY + C45_TINY && leaf <= branch + SLIGHTLY + C45_TINY) {
		c45_make_leaf(n);
	} else if (branch <= tests + SLIGHTLY + C45_TINY) {
		pr_raise(c, n, largest);
		c45_prune(c, n);
	}
}
