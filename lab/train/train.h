/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of `sluice train`: see train.c. */
#ifndef SL_LAB_TRAIN_TRAIN_H
#define SL_LAB_TRAIN_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "detect/c45.h"

#define TRAIN_CMD   "train"
#define TRAIN_TREES 3

/* A selection of rows: "device=edel,procs=8", or all. */
struct train_rows {
	const char *where; /* NULL: all */
	uint32_t *row, n;
};

struct train_tree {
	const char *name; /* T1, T2, T3, or NULL: of columns that were named */
	uint32_t attribute[SL_DECISION_ATTRIBUTES];
	struct sl_c45 task;
	struct sl_decision tree;  /* learnt from the rows to train by */
	struct sl_decision other; /* with --test: learnt from those */
	uint32_t *guess;	  /* of `tree`, for each test row */
	uint32_t *cross;   /* of cross-validation, for each training row; NULL: too few rows */
	uint32_t *strange; /* by a tree without that row's device; NULL: there is only one device */
	uint32_t wrong_train, wrong_cross, wrong_test;
	uint32_t wrong_other; /* of `other`, in the rows to train by */
};

struct train {
	const char *path;
	struct sl_table t;
	uint32_t class_;		       /* column */
	bool derived;			       /* from the times */
	uint32_t time_of[SL_DECISION_CLASSES]; /* column of the times of a class, or NONE */
	uint32_t base_time; /* column of the times of `to`; NONE: times are not compared */
	struct train_tree tree[TRAIN_TREES];
	uint32_t trees, chosen;
	struct train_rows train, test; /* the same rows, if nothing is held out */
	bool held_out;
	uint32_t folds;
	uint64_t seed;
	/* Leaves choose the class with the least time, not the most frequent best. */
	bool by_time;
	uint32_t repeats; /* of the chosen tree's cross-validation: with seed, seed + 1, ... */
};

/* ---- table.c: the table, its rows and columns. Errors are reported; an exit status. ---- */

/* A column time_ALGORITHM, of one that can be chosen: not of auto. */
bool train_is_time(const struct sl_decision_attribute *c);
/* Finds the class and the times, or makes the class from them. class_: its name, or NULL. */
int train_classes(struct train *t, const char *class_, double margin);
/* The columns of the trees. wanted: T1 .. T3 or NULL; list: names of columns, or NULL. */
int train_attributes(struct train *t, const char *wanted, const char *list);
int train_select(const struct train *t, const char *option, struct train_rows *rows);
/* Warns of rows that are alike but for their class. */
void train_contradictions(const struct train *t);

/* ---- judge.c ---- */

/* The additional time of a class in a row, relative to the fastest; NAN: unknown. */
double train_loss(const void *train, uint32_t row, uint32_t class_);

/* The score of one solution on the test rows; see judge.c. */
struct train_score {
	char name[SL_DECISION_NAME + 24];
	uint32_t rows, correct;
	uint32_t timed; /* rows with times of this choice, */
	uint32_t based; /* and of the base */
	uint32_t faster, slower;
	double faster_mean, faster_most, slower_mean, slower_most; /* of 1 */
	double over_mean, over_most; /* more time than the fastest choice, of 1 */
};

/* The solutions that are compared, as many as there are; each as the report shows it. */
#define TRAIN_SOLUTIONS (SL_DECISION_CLASSES + TRAIN_TREES + 4)
uint32_t train_solutions(const struct train *t, struct train_score *s);
/* The largest relative gain of a tree over always using that algorithm; NAN: no times. */
double train_gain(const struct train *t, const struct train_tree *tree, const char *algorithm);
const char *train_name(const struct train_tree *tree);

/* The chosen tree compared with the best constant choice; see judge.c. */
struct train_verdict {
	const char *rows; /* "crossed", "new device" or "held out" */
	char constant[SL_DECISION_NAME + 1];
	bool times;	    /* the figures are mean time over the fastest, else wrong choices */
	double tree, other; /* of 1 */
};
#define TRAIN_VERDICTS 2
/* "that it has not seen": after "rows". */
const char *train_unseen(const struct train_verdict *v);
uint32_t train_verdicts(const struct train *t, struct train_verdict *v);
static inline bool train_is_worse(const struct train_verdict *v)
{
	return v->tree > v->other + 1e-9;
}
/* "always aioli": the one that trees are compared with; NULL: there is none. */
const struct train_score *train_always(const struct train_score *s, uint32_t n,
				       const char *algorithm);

/* ---- report.c ---- */

void train_report(const struct train *t);
void train_json(const struct train *t);

#endif
