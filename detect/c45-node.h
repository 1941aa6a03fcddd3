/* SPDX-License-Identifier: Apache-2.0 */
/* What growing (c45.c) and pruning (c45-prune.c) share. */
#ifndef SL_DETECT_C45_NODE_H
#define SL_DETECT_C45_NODE_H

#include "detect/c45.h"

/* A row, or the part of it that is here: where a value is not known, a row goes several ways. */
struct c45_case {
	uint32_t row;
	double weight;
};

struct c45_cases {
	struct c45_case *c;
	uint32_t n;
};

struct c45_node {
	uint32_t attribute; /* of the task's; SL_DECISION_LEAF */
	double threshold;
	uint32_t sons; /* of a test; 0: a leaf */
	struct c45_node **son;
	double *bag;	     /* weight by son and class: sons * classes */
	double *dist;	     /* weight by class */
	uint32_t says;	     /* class; of a node without cases, that of the one above */
	struct c45_cases at; /* that it was grown from */
};

struct c45 {
	const struct sl_c45 *task;
	uint32_t classes;
	uint32_t all; /* rows that are learnt from */
	const uint32_t *row;
	double smallest, confidence;
	bool failed; /* out of memory: what comes out is of no use */
};

/* Differences below this are those of rounding. */
#define C45_TINY 1e-6

static inline double c45_value(const struct c45 *c, uint32_t attribute, uint32_t row)
{
	return sl_table_cell(c->task->table, row, c->task->attribute[attribute]);
}
static inline uint32_t c45_class(const struct c45 *c, uint32_t row)
{
	return (uint32_t)sl_table_cell(c->task->table, row, c->task->class_);
}
static inline uint32_t c45_values(const struct c45 *c, uint32_t attribute)
{
	return c->task->table->column[c->task->attribute[attribute]].values;
}

double c45_sum(const double *x, uint32_t n);
uint32_t c45_largest(const double *x, uint32_t n);
/* Weight of what is not of the largest class. */
double c45_wrong(const double *dist, uint32_t classes);
/* bag and dist of the node from these cases, by its test. */
void c45_distribute(struct c45 *c, struct c45_node *n, const struct c45_cases *cases);
/* The cases for each son; to be freed one by one. False: out of memory, all are empty. */
bool c45_split(struct c45 *c, const struct c45_node *n, const struct c45_cases *cases,
	       struct c45_cases *part);
void c45_free(struct c45_node *n);
void c45_make_leaf(struct c45_node *n);

/* c45-test.c: branches is 0 if no test is of use. all: the weight of the cases. */
struct c45_test {
	uint32_t attribute, branches;
	double threshold, gain, ratio;
};
void c45_best_test(struct c45 *c, const struct c45_cases *cases, double all, struct c45_test *best);

/* c45-prune.c */
void c45_collapse(const struct c45 *c, struct c45_node *n);
void c45_prune(struct c45 *c, struct c45_node *n);
double c45_more_errors(double cases, double wrong, double confidence);

/* c45-loss.c: what each node says, and fewer of them. The task knows losses. */
void c45_lose_least(const struct c45 *c, struct c45_node *root);

#endif
