/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a table, of CSV or (first byte '@' or '%') ARFF, and a tree learnt from what is
 * accepted, by count and by loss. Checked: a message names the file and a line; cells are in range;
 * the trees can be written and read.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detect/c45.h"
#include "tests/fuzz/fuzz.h"

#define ROWS 300 /* more would only be slow */

static void reads_back(const struct sl_decision *t)
{
	struct sl_decision u;
	char *text = NULL, err[500];
	size_t length;
	FILE *f = open_memstream(&text, &length);

	CHECK(f);
	sl_decision_write(f, t);
	CHECK(fclose(f) == 0);
	CHECK(sl_decision_parse("g", text, length, &u, err, sizeof(err)) == 0);
	CHECK(t->nodes == u.nodes);
	free(text);
	sl_decision_free(&u);
}

static double loss(const void *arg, uint32_t row, uint32_t class_)
{
	const struct sl_table *t = arg;
	uint32_t at = (row * 31 + class_ * 7) % 16;

	return at ? fabs(sl_table_cell(t, row, class_ % t->columns)) + at : NAN;
}

static void learn(const struct sl_table *t)
{
	uint32_t attribute[SL_DECISION_ATTRIBUTES], row[ROWS], guess[ROWS], n = 0, class_;
	struct sl_c45 task = { .table = t, .attribute = attribute };
	struct sl_decision tree;

	for (class_ = t->columns; class_-- > 0;)
		if (t->column[class_].values && t->column[class_].values <= SL_DECISION_CLASSES)
			break;
	if (class_ >= t->columns)
		return;
	task.class_ = class_;
	for (uint32_t i = 0; i < t->columns; i++)
		if (i != class_)
			attribute[task.attributes++] = i;
	for (uint32_t i = 0; i < t->rows && n < ROWS; i++)
		if (!isnan(sl_table_cell(t, i, class_)))
			row[n++] = i;
	if (!n)
		return;
	CHECK(sl_c45_learn(&task, row, n, &tree) == 0);
	for (uint32_t i = 0; i < n; i++)
		CHECK(sl_c45_choose(&task, &tree, row[i]) < tree.classes);
	reads_back(&tree);
	sl_decision_free(&tree);
	if (n >= 3)
		CHECK(sl_c45_cross(&task, row, n, 3, 1, guess) == 0);
	task.loss = loss;
	task.loss_arg = t;
	CHECK(sl_c45_learn(&task, row, n, &tree) == 0);
	reads_back(&tree);
	sl_decision_free(&tree);
	for (uint32_t i = 0; i < t->columns; i++)
		if (t->column[i].values && i != class_)
			CHECK(sl_c45_cross_by(&task, row, n, i, guess) <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool arff = size && (data[0] == '@' || data[0] == '%');
	struct sl_table t;
	char err[500] = "";
	const char *text = (const char *)data;
	int rc;

	if (arff)
		rc = sl_table_parse_arff("f", text, size, &t, err, sizeof(err));
	else
		rc = sl_table_parse_csv("f", text, size, &t, err, sizeof(err));

	CHECK(rc == 0 || rc == -EINVAL || rc == -ENOMEM);
	if (rc) {
		char *end;

		CHECK(!t.cell && !t.column && !t.line);
		CHECK(!strncmp(err, "f:", 2));
		CHECK(strtoul(err + 2, &end, 10) >= 1 && !strncmp(end, ": ", 2));
		return 0;
	}
	for (uint32_t i = 0; i < t.rows; i++)
		for (uint32_t k = 0; k < t.columns; k++) {
			double v = sl_table_cell(&t, i, k);

			CHECK(isnan(v) || isfinite(v));
			if (t.column[k].values && !isnan(v))
				CHECK(v >= 0 && v < t.column[k].values);
		}
	learn(&t);
	sl_table_free(&t);
	return 0;
}
