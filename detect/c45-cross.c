/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stratified cross-validation: the rows are shuffled, put in order of their class, and dealt to the
 * folds like cards, so that each fold has as much of every class as can be; each fold is then
 * judged by a tree that was learnt from the others. With 10 rows a a a a a a b b b b and 2 folds:
 * a b a b ..., 3 a and 2 b each.
 *
 * Rows that are nearly alike, as those of one device, are dealt to different folds, and what is
 * learnt from one helps with the other. So there is a second way, with one fold for each value of a
 * column: all rows of a device are judged by a tree that has not seen that device.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/ds/random.h"
#include "detect/c45.h"

uint32_t sl_c45_choose(const struct sl_c45 *task, const struct sl_decision *t, uint32_t row)
{
	double value[SL_DECISION_ATTRIBUTES];

	for (uint32_t i = 0; i < task->attributes; i++)
		value[i] = sl_table_cell(task->table, row, task->attribute[i]);
	return sl_decision_choose(t, value, NULL);
}

/* fold[i] of row[i]. */
static void cr_deal(const struct sl_c45 *task, const uint32_t *row, uint32_t n, uint32_t folds,
		    uint64_t seed, uint32_t *order, uint32_t *fold)
{
	uint32_t classes = task->table->column[task->class_].values, card = 0;

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = (uint32_t)(sl_splitmix64(&seed) % i), keep = order[i - 1];

		order[i - 1] = order[k];
		order[k] = keep;
	}
	for (uint32_t c = 0; c < classes; c++)
		for (uint32_t i = 0; i < n; i++)
			if ((uint32_t)sl_table_cell(task->table, row[order[i]], task->class_) == c)
				fold[order[i]] = card++ % folds;
}

/* Each fold by a tree of the others; a fold without rows is left out. */
static int cr_judge(const struct sl_c45 *task, const uint32_t *row, uint32_t n, uint32_t folds,
		    const uint32_t *fold, uint32_t *guess)
{
	uint32_t *others = malloc(n * sizeof(*others));
	int rc = others ? 0 : -ENOMEM;

	for (uint32_t f = 0; f < folds && !rc; f++) {
		struct sl_decision t;
		uint32_t m = 0;

		for (uint32_t i = 0; i < n; i++)
			if (fold[i] != f)
				others[m++] = row[i];
		if (m == n)
			continue;
		rc = sl_c45_learn(task, others, m, &t);
		if (rc)
			break;
		for (uint32_t i = 0; i < n; i++)
			if (fold[i] == f)
				guess[i] = sl_c45_choose(task, &t, row[i]);
		sl_decision_free(&t);
	}
	free(others);
	return rc;
}

int sl_c45_cross(const struct sl_c45 *task, const uint32_t *row, uint32_t n, uint32_t folds,
		 uint64_t seed, uint32_t *guess)
{
	uint32_t *order = malloc(n * sizeof(*order)), *fold = calloc(n, sizeof(*fold));
	int rc = order && fold ? 0 : -ENOMEM;

	if (!rc) {
		cr_deal(task, row, n, folds, seed, order, fold);
		rc = cr_judge(task, row, n, folds, fold, guess);
	}
	free(order);
	free(fold);
	return rc;
}

int sl_c45_cross_by(const struct sl_c45 *task, const uint32_t *row, uint32_t n, uint32_t column,
		    uint32_t *guess)
{
	uint32_t values = task->table->column[column].values, first = 0;
	uint32_t *fold = malloc(n * sizeof(*fold));
	bool several = false;
	int rc;

	if (!fold)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		double v = sl_table_cell(task->table, row[i], column);

		fold[i] = isnan(v) ? values : (uint32_t)v; /* the unknown are one more */
		first = i ? first : fold[i];
		several = several || fold[i] != first;
	}
	rc = several ? cr_judge(task, row, n, values + 1, fold, guess) : -EINVAL;
	free(fold);
	return rc;
}
