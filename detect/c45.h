/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learning a decision tree from a table, by C4.5: see c45.c. Tables come from CSV or ARFF files:
 * see c45-table.c.
 *
 *	struct sl_table table;
 *	struct sl_decision tree;
 *	struct sl_c45 task = { .table = &table, .attribute = which, .attributes = 4, .class_ = 4 };
 *
 *	sl_table_load("runs.csv", &table, err, sizeof(err));
 *	sl_c45_learn(&task, rows, n, &tree);
 *	sl_c45_cross(&task, rows, n, 10, 1, guess);
 */
#ifndef SL_DETECT_C45_H
#define SL_DETECT_C45_H

#include <stdbool.h>
#include <stdint.h>

#include "detect/tree.h"

#define SL_TABLE_ROWS 1000000

/* cell[row * columns + column]: a number, or which value from 0; NAN: not known. */
struct sl_table {
	struct sl_decision_attribute *column;
	uint32_t columns, rows;
	double *cell;
	uint32_t *line; /* of each row in the file */
};

/* By its name, ".arff" or else CSV. 0, or -errno with a message in err that names file and line. */
int sl_table_load(const char *path, struct sl_table *out, char *err, size_t err_size);
int sl_table_parse_csv(const char *file, const char *text, size_t length, struct sl_table *out,
		       char *err, size_t err_size);
int sl_table_parse_arff(const char *file, const char *text, size_t length, struct sl_table *out,
			char *err, size_t err_size);
void sl_table_free(struct sl_table *t);
/* Its index, or SL_DECISION_NONE. */
uint32_t sl_table_column(const struct sl_table *t, const char *name);

static inline double sl_table_cell(const struct sl_table *t, uint32_t row, uint32_t column)
{
	return t->cell[(size_t)row * t->columns + column];
}

struct sl_c45 {
	const struct sl_table *table;
	const uint32_t *attribute; /* columns to decide by */
	uint32_t attributes;
	uint32_t class_;   /* column to be told: with values, none unknown in the rows used */
	uint32_t smallest; /* cases that two branches of a test must have; 0: 2 */
	double confidence; /* of pruning, up to 0.5: less prunes more; 0: 0.25 */
	bool unpruned;
	/*
	 * What it costs to say this class of a row, 0 or more; NAN: not known. Leaves then say what
	 * costs least, and there is no pruning but that branches that say the same become one.
	 * NULL: C4.5, leaves say the class that most of their cases have.
	 */
	double (*loss)(const void *arg, uint32_t row, uint32_t class_);
	const void *loss_arg;
};

/*
 * Learns from these rows, at least one. The tree's attributes are those of the task, in its order.
 * 0 or -ENOMEM; *out is empty then.
 */
int sl_c45_learn(const struct sl_c45 *task, const uint32_t *row, uint32_t n,
		 struct sl_decision *out);
/* What a tree of sl_c45_learn() for this task says of a row. */
uint32_t sl_c45_choose(const struct sl_c45 *task, const struct sl_decision *t, uint32_t row);
/*
 * Cross-validation: guess[i] is what a tree learnt without row[i] says of it. folds: 2 .. n; each
 * has as much of every class as can be; which row is where comes from the seed. 0 or -ENOMEM.
 */
int sl_c45_cross(const struct sl_c45 *task, const uint32_t *row, uint32_t n, uint32_t folds,
		 uint64_t seed, uint32_t *guess);
/*
 * The same with a fold for each value of a column that has names. -EINVAL: these rows have but one,
 * so that nothing would be left to learn from.
 */
int sl_c45_cross_by(const struct sl_c45 *task, const uint32_t *row, uint32_t n, uint32_t column,
		    uint32_t *guess);

#endif
