/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking and making decision trees; tree-write.c prints them.
 *
 * With all values known, one walks down to a leaf: O(depth, times the values of an attribute).
 * Where one is not known, C4.5 (Quinlan 1993, chapter 3) goes all ways at once, each with the share
 * of the cases that went there when the tree was learnt, and adds up what the leaves say: with
 *
 *	files <= 1: to (to 3, sjf 1)
 *	files > 1: sjf (sjf 12)
 *
 * and files not known, 4/16 * (to 3/4, sjf 1/4) + 12/16 * sjf 1: to 3/16, sjf 13/16, so sjf.
 */
#include "detect/tree.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- asking ---- */

static const struct sl_decision_node *de_branch(const struct sl_decision *t,
						const struct sl_decision_node *n, double value)
{
	const struct sl_decision_attribute *a = &t->attribute[n->attribute];
	uint32_t want, i;

	if (isnan(value))
		return NULL;
	if (!a->values)
		want = value > n->threshold;
	else if (value >= 0 && value < a->values)
		want = (uint32_t)value;
	else
		return NULL; /* none that was known when it was learnt */
	for (i = n->child; t->node[i].value != want; i = t->node[i].next)
		;
	return &t->node[i];
}

static void de_leaf(const struct sl_decision *t, const struct sl_decision_node *n, double part,
		    double *share)
{
	if (n->weight <= 0) {
		share[n->class_] += part;
		return;
	}
	for (uint32_t i = 0; i < t->classes; i++)
		share[i] += part * t->count[n->counts + i] / n->weight;
}

/* Of the cases at n, how many went to its child; all alike if nothing is known of them. */
static double de_share(const struct sl_decision *t, const struct sl_decision_node *n,
		       const struct sl_decision_node *child)
{
	uint32_t values = t->attribute[n->attribute].values;

	return n->weight > 0 ? child->weight / n->weight : 1.0 / (values ? values : 2);
}

static void de_gather(const struct sl_decision *t, const struct sl_decision_node *n,
		      const double *values, double part, double *share)
{
	while (n->attribute != SL_DECISION_LEAF) {
		const struct sl_decision_node *next = de_branch(t, n, values[n->attribute]);

		if (!next) {
			for (uint32_t i = n->child; i != SL_DECISION_NONE; i = t->node[i].next)
				if (t->node[i].weight > 0 || n->weight <= 0)
					de_gather(t, &t->node[i], values,
						  part * de_share(t, n, &t->node[i]), share);
			return;
		}
		n = next;
	}
	de_leaf(t, n, part, share);
}

uint32_t sl_decision_choose(const struct sl_decision *t, const double *values, double *share)
{
	const struct sl_decision_node *n = &t->node[0];
	double own[SL_DECISION_CLASSES];
	uint32_t best = 0;

	/* With a single leaf, the name in the leaf counts. */
	while (n->attribute != SL_DECISION_LEAF) {
		const struct sl_decision_node *next = de_branch(t, n, values[n->attribute]);

		if (!next)
			break;
		n = next;
	}
	if (!share)
		share = own;
	memset(share, 0, t->classes * sizeof(share[0]));
	de_gather(t, n, values, 1, share);
	if (n->attribute == SL_DECISION_LEAF)
		return n->class_;
	for (uint32_t i = 1; i < t->classes; i++)
		if (share[i] > share[best])
			best = i;
	return best;
}

uint32_t sl_decision_attribute(const struct sl_decision *t, const char *name)
{
	for (uint32_t i = 0; i < t->attributes; i++)
		if (!strcmp(t->attribute[i].name, name))
			return i;
	return SL_DECISION_NONE;
}

uint32_t sl_decision_value(const struct sl_decision_attribute *a, const char *name)
{
	for (uint32_t i = 0; i < a->values; i++)
		if (!strcmp(a->value[i], name))
			return i;
	return SL_DECISION_NONE;
}

uint32_t sl_decision_leaves(const struct sl_decision *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nodes; i++)
		n += t->node[i].attribute == SL_DECISION_LEAF;
	return n;
}

/* ---- making ---- */

/* Room for one more of n; doubled at powers of two. */
static bool de_grow(void **array, uint32_t n, size_t size)
{
	void *more;

	if (n & (n - 1))
		return true;
	more = realloc(*array, (n ? 2 * (size_t)n : 1) * size);
	if (more)
		*array = more;
	return more != NULL;
}

uint32_t sl_decision_add(struct sl_decision *t)
{
	if (t->nodes >= SL_DECISION_NODES ||
	    !de_grow((void **)&t->node, t->nodes, sizeof(t->node[0])) ||
	    !de_grow((void **)&t->count, t->nodes, t->classes * sizeof(t->count[0])))
		return SL_DECISION_NONE;
	t->counts = t->nodes * t->classes;
	memset(&t->count[t->counts], 0, t->classes * sizeof(t->count[0]));
	t->node[t->nodes] = (struct sl_decision_node){ .attribute = SL_DECISION_LEAF,
						       .child = SL_DECISION_NONE,
						       .next = SL_DECISION_NONE,
						       .counts = t->counts };
	t->counts += t->classes;
	return t->nodes++;
}

void sl_decision_weigh(struct sl_decision *t)
{
	/* Children come after their parents. */
	for (uint32_t i = t->nodes; i-- > 0;) {
		struct sl_decision_node *n = &t->node[i];

		n->weight = 0;
		if (n->attribute == SL_DECISION_LEAF)
			for (uint32_t k = 0; k < t->classes; k++)
				n->weight += t->count[n->counts + k];
		else
			for (uint32_t k = n->child; k != SL_DECISION_NONE; k = t->node[k].next)
				n->weight += t->node[k].weight;
	}
}

void sl_decision_free(struct sl_decision *t)
{
	for (uint32_t i = 0; i < t->attributes; i++)
		free(t->attribute[i].value);
	free(t->attribute);
	free(t->class_);
	free(t->node);
	free(t->count);
	memset(t, 0, sizeof(*t));
}
