/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C4.5: decision trees from tables (J. R. Quinlan, C4.5: Programs for Machine Learning, 1993;
 * release 8: Improved Use of Continuous Attributes in C4.5, JAIR 4, 1996). AGIOS used Weka's J48,
 * which is the same; the choices below are those of J48, down to its tolerances, so that trees can
 * be compared line by line.
 *
 * Growing: at a node with cases of several classes the best test is taken (c45-test.c), its cases
 * go into the branches, and so on, until all are of a class or no test is of use. Cases whose value
 * is not known go into all branches, with weights as the others went: of 12 cases, 8 with files <=
 * 1 and 3 with more, that of which it is not known counts 8/11 here and 3/11 there.
 *
 * Pruning is in c45-prune.c; leaves that lose least, which is not C4.5, in c45-loss.c. Growing is
 * O(attributes * cases * log(cases)) for each level of the tree.
 */
#include "detect/c45.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect/c45-node.h"

/* ---- nodes ---- */

void c45_make_leaf(struct c45_node *n)
{
	for (uint32_t i = 0; i < n->sons; i++)
		c45_free(n->son[i]);
	free(n->son);
	free(n->bag);
	n->son = NULL;
	n->bag = NULL;
	n->sons = 0;
	n->attribute = SL_DECISION_LEAF;
}

void c45_free(struct c45_node *n)
{
	if (!n)
		return;
	c45_make_leaf(n);
	free(n->dist);
	free(n->at.c);
	free(n);
}

/* Takes the cases over. NULL: out of memory. */
static struct c45_node *c4_grow(struct c45 *c, struct c45_cases cases, unsigned depth)
{
	struct c45_node *n = calloc(1, sizeof(*n));
	double *dist = calloc(c->classes, sizeof(*dist));
	struct c45_test test = { 0 };
	struct c45_cases part[SL_DECISION_VALUES];
	double all;

	c->failed = c->failed || !n || !dist;
	if (c->failed) {
		free(n);
		free(dist);
		free(cases.c);
		return NULL;
	}
	n->at = cases;
	n->dist = dist;
	n->attribute = SL_DECISION_LEAF;
	c45_distribute(c, n, &cases);
	all = c45_sum(dist, c->classes);
	if (all >= 2 * c->smallest - C45_TINY && c45_wrong(dist, c->classes) > C45_TINY &&
	    depth < SL_DECISION_DEPTH)
		c45_best_test(c, &cases, all, &test);
	if (!test.branches)
		return n;
	n->attribute = test.attribute;
	n->threshold = test.threshold;
	n->son = calloc(test.branches, sizeof(struct c45_node *));
	n->bag = calloc((size_t)test.branches * c->classes, sizeof(n->bag[0]));
	c->failed = c->failed || !n->son || !n->bag;
	if (c->failed)
		return n;
	n->sons = test.branches;
	c45_distribute(c, n, &cases);
	if (c45_split(c, n, &cases, part))
		for (uint32_t i = 0; i < n->sons; i++)
			n->son[i] = c4_grow(c, part[i], depth + 1);
	return n;
}

/* ---- the result ---- */

static bool c4_copy_names(const struct c45 *c, struct sl_decision *out)
{
	const struct sl_table *t = c->task->table;
	const struct sl_decision_attribute *class_ = &t->column[c->task->class_];

	out->attribute = calloc(c->task->attributes + 1, sizeof(out->attribute[0]));
	out->class_ = calloc(c->classes, sizeof(out->class_[0]));
	if (!out->attribute || !out->class_)
		return false;
	memcpy(out->class_, class_->value, c->classes * sizeof(out->class_[0]));
	out->classes = c->classes;
	for (uint32_t i = 0; i < c->task->attributes; i++) {
		const struct sl_decision_attribute *from = &t->column[c->task->attribute[i]];
		struct sl_decision_attribute *to = &out->attribute[out->attributes++];

		memcpy(to->name, from->name, sizeof(to->name));
		if (!from->values)
			continue;
		to->value = malloc(from->values * sizeof(to->value[0]));
		if (!to->value)
			return false;
		memcpy(to->value, from->value, from->values * sizeof(to->value[0]));
		to->values = from->values;
	}
	return true;
}

/* Every node says what most of its cases are; leaves that no case came to, what the one above says.
 */
static void c4_say(const struct c45 *c, struct c45_node *n, uint32_t above)
{
	n->says =
		c45_sum(n->dist, c->classes) <= C45_TINY ? above : c45_largest(n->dist, c->classes);
	for (uint32_t i = 0; i < n->sons; i++)
		c4_say(c, n->son[i], n->says);
}

static uint32_t c4_copy(struct c45 *c, const struct c45_node *n, struct sl_decision *out)
{
	uint32_t at = sl_decision_add(out), last = SL_DECISION_NONE;

	if (at == SL_DECISION_NONE) {
		c->failed = true;
		return at;
	}
	out->node[at].class_ = n->says;
	if (!n->sons && c45_sum(n->dist, c->classes) > C45_TINY)
		memcpy(&out->count[out->node[at].counts], n->dist, c->classes * sizeof(n->dist[0]));
	if (n->sons) {
		out->node[at].attribute = n->attribute;
		out->node[at].threshold = n->threshold;
	}
	for (uint32_t i = 0; i < n->sons; i++) {
		uint32_t child = c4_copy(c, n->son[i], out);

		if (c->failed)
			return at;
		out->node[child].value = i;
		if (last == SL_DECISION_NONE)
			out->node[at].child = child;
		else
			out->node[last].next = child;
		last = child;
	}
	return at;
}

int sl_c45_learn(const struct sl_c45 *task, const uint32_t *row, uint32_t n,
		 struct sl_decision *out)
{
	struct c45 c = { .task = task,
			 .classes = task->table->column[task->class_].values,
			 .all = n,
			 .row = row,
			 .smallest = task->smallest ? task->smallest : 2,
			 .confidence = task->confidence > 0 ? task->confidence : 0.25 };
	struct c45_cases cases = { calloc(n, sizeof(cases.c[0])), n };
	struct c45_node *root = NULL;

	assert(c.classes && n);
	memset(out, 0, sizeof(*out));
	c.failed = !cases.c;
	for (uint32_t i = 0; i < n && !c.failed; i++)
		cases.c[i] = (struct c45_case){ row[i], 1 };
	if (!c.failed)
		root = c4_grow(&c, cases, 0);
	if (!c.failed && !task->unpruned && !task->loss) {
		c45_collapse(&c, root);
		c45_prune(&c, root);
	}
	c.failed = c.failed || !c4_copy_names(&c, out);
	if (!c.failed && task->loss)
		c45_lose_least(&c, root);
	else if (!c.failed)
		c4_say(&c, root, 0);
	if (!c.failed)
		c4_copy(&c, root, out);
	c45_free(root);
	if (c.failed) {
		sl_decision_free(out);
		return -ENOMEM;
	}
	sl_decision_weigh(out);
	return 0;
}
