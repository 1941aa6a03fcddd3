/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves that lose least, instead of leaves that are right most often. Beyond C4.5 and AGIOS (Boito
 * et al. 2015), whose trees count a choice that takes twice the time as one mistake, and one that
 * takes 2 % more as one mistake, too.
 *
 * With a task that knows what each choice loses in each row, a node says the class with the least
 * mean loss in its cases, as if there were one more case with the mean of all rows: two rows alone
 * do not say much. No row counts for more than 10 % in that mean: a class that takes twenty times
 * as long in a few rows is not by that a bad choice in all others. Example: of all rows to-agg
 * loses 3 % and aioli 10 %. At a leaf of three rows aioli loses 0, 0 and 40 %, to-agg 5, 5 and 5 %:
 * aioli is right twice, but (40 + 10) / 4 = 12.5 % are more than (15 + 3) / 4 = 4.5 %; the leaf
 * says to-agg.
 *
 * C4.5's pruning asks whether a test makes fewer mistakes, and drops tests that save time; it is
 * not done then. Branches that all say the same become one leaf, which changes no choice.
 *
 * O(cases * classes) for each level of the tree.
 */
#include <math.h>

#include "detect/c45-node.h"

#define PRIOR 1	  /* cases that are like all rows, */
#define MOST  0.1 /* where none of them loses more than so much */

/* Mean of all rows with a known loss, by class; NAN: there is none. */
static void lo_means(const struct c45 *c, double *mean)
{
	const struct sl_c45 *task = c->task;

	for (uint32_t k = 0; k < c->classes; k++) {
		double sum = 0, n = 0;

		for (uint32_t i = 0; i < c->all; i++) {
			double loss = task->loss(task->loss_arg, c->row[i], k);

			sum += isnan(loss) ? 0 : fmin(loss, MOST);
			n += !isnan(loss);
		}
		mean[k] = n > 0 ? sum / n : NAN;
	}
}

static uint32_t lo_least(const struct c45 *c, const struct c45_node *n, const double *mean)
{
	const struct sl_c45 *task = c->task;
	uint32_t best = c45_largest(n->dist, c->classes);
	double least = INFINITY;

	for (uint32_t k = 0; k < c->classes; k++) {
		double sum = PRIOR * mean[k], weight = PRIOR;

		for (uint32_t i = 0; i < n->at.n; i++) {
			double loss = task->loss(task->loss_arg, n->at.c[i].row, k);

			sum += isnan(loss) ? 0 : n->at.c[i].weight * loss;
			weight += isnan(loss) ? 0 : n->at.c[i].weight;
		}
		if (sum / weight < least) { /* not if the mean is unknown */
			least = sum / weight;
			best = k;
		}
	}
	return best;
}

static bool lo_is_empty(const struct c45 *c, const struct c45_node *n)
{
	return c45_sum(n->dist, c->classes) <= C45_TINY;
}

/*
 * If all sons are leaves that say the same, it is what the node says; those that no case came to
 * have nothing to say.
 */
static void lo_merge(const struct c45 *c, struct c45_node *n)
{
	uint32_t says = SL_DECISION_NONE;

	for (uint32_t i = 0; i < n->sons; i++) {
		const struct c45_node *son = n->son[i];

		if (son->sons)
			return;
		if (lo_is_empty(c, son))
			continue;
		if (says != SL_DECISION_NONE && says != son->says)
			return;
		says = son->says;
	}
	n->says = says == SL_DECISION_NONE ? n->says : says;
	c45_make_leaf(n);
}

static void lo_say(const struct c45 *c, struct c45_node *n, uint32_t above, const double *mean)
{
	n->says = lo_is_empty(c, n) ? above : lo_least(c, n, mean);
	if (!n->sons)
		return;
	for (uint32_t i = 0; i < n->sons; i++)
		lo_say(c, n->son[i], n->says, mean);
	if (!c->task->unpruned)
		lo_merge(c, n);
}

void c45_lose_least(const struct c45 *c, struct c45_node *root)
{
	double mean[SL_DECISION_CLASSES];

	lo_means(c, mean);
	lo_say(c, root, 0, mean);
}
