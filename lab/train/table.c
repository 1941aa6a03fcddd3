/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input of `sluice train`: the columns of the class and of the attributes, and the selected
 * rows.
 *
 * Without a column `best`, the class is made from the times of the algorithms: the fastest, or the
 * simplest (to, to-agg, sjf, mlf, aioli) of those that take at most `margin` more. With 1.00 s for
 * to, 0.995 s for aioli and a margin of 1 %, that is to.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "lab/train/train.h"

#define TIME	 "time_"
#define BASE	 "to"
#define AUTO	 "auto"
#define BEST	 "best"
#define MAX_LIST 4096

/* The attributes of the paper, section 4, and the first tree without: T2 has no data per file. */
static const struct {
	const char *name;
	unsigned without;
} attributes[] = {
	{ "op", TRAIN_TREES },	       { "files", 2 },		{ "file_bytes", 1 },
	{ "spatiality", TRAIN_TREES }, { "size", TRAIN_TREES }, { "ratio", TRAIN_TREES },
};
static const char *const tree_names[TRAIN_TREES] = { "T1", "T2", "T3" };

#define ATTRIBUTES (sizeof(attributes) / sizeof(attributes[0]))

/* ---- the class ---- */

static bool tt_is_any_time(const struct sl_decision_attribute *c)
{
	return !c->values && !strncmp(c->name, TIME, strlen(TIME)) && c->name[strlen(TIME)];
}

/* auto uses a tree itself, so it cannot be a class. */
bool train_is_time(const struct sl_decision_attribute *c)
{
	size_t n = strlen(TIME AUTO);

	return tt_is_any_time(c) &&
	       !(!strncmp(c->name, TIME AUTO, n) && (!c->name[n] || c->name[n] == ','));
}

static const char *tt_algorithm(const struct sl_decision_attribute *c)
{
	return c->name + strlen(TIME);
}

/* From simple to complicated; unknown ones are last. */
static unsigned tt_rank(const char *algorithm)
{
	static const char *const order[] = { "to", "to-agg", "sjf", "mlf", "aioli" };
	unsigned i = 0;

	while (i < sizeof(order) / sizeof(order[0]) && strcmp(order[i], algorithm) != 0)
		i++;
	return i;
}

/* A column at the end; its cells are unknown. */
static bool tt_add_column(struct sl_table *t, const char *name)
{
	double *cell = malloc((size_t)t->rows * (t->columns + 1) * sizeof(*cell));
	struct sl_decision_attribute *column =
		realloc(t->column, (t->columns + 1) * sizeof(*column));

	if (column)
		t->column = column;
	if (!cell || !column) {
		free(cell);
		return false;
	}
	for (uint32_t i = 0; i < t->rows; i++) {
		memcpy(&cell[(size_t)i * (t->columns + 1)], &t->cell[(size_t)i * t->columns],
		       t->columns * sizeof(*cell));
		cell[(size_t)i * (t->columns + 1) + t->columns] = NAN;
	}
	free(t->cell);
	t->cell = cell;
	memset(&column[t->columns], 0, sizeof(*column));
	strcpy(column[t->columns++].name, name);
	return true;
}

static double tt_best(const struct sl_table *t, uint32_t row, const uint32_t *time, uint32_t n,
		      double margin)
{
	double fastest = INFINITY, best = NAN;

	for (uint32_t i = 0; i < n; i++)
		fastest = fmin(fastest, sl_table_cell(t, row, time[i])); /* NAN is left out */
	for (uint32_t i = 0; i < n; i++)
		if (sl_table_cell(t, row, time[i]) <= fastest * (1 + margin) &&
		    (isnan(best) ||
		     tt_rank(tt_algorithm(&t->column[time[i]])) <
			     tt_rank(tt_algorithm(&t->column[time[(uint32_t)best]]))))
			best = i;
	return best;
}

static int tt_derive(struct train *t, double margin)
{
	uint32_t time[SL_DECISION_CLASSES], n = 0;
	struct sl_decision_attribute *c;

	for (uint32_t i = 0; i < t->t.columns && n < SL_DECISION_CLASSES; i++)
		if (train_is_time(&t->t.column[i]))
			time[n++] = i;
	if (t->t.columns == SL_DECISION_ATTRIBUTES || !tt_add_column(&t->t, BEST))
		return cli_fail(TRAIN_CMD, "no memory, or too many columns in %s.", t->path);
	t->class_ = t->t.columns - 1;
	t->derived = true;
	c = &t->t.column[t->class_];
	c->value = calloc(n + 1, sizeof(c->value[0]));
	if (!c->value)
		return cli_fail(TRAIN_CMD, "no memory.");
	for (; c->values < n; c->values++)
		strcpy(c->value[c->values], tt_algorithm(&t->t.column[time[c->values]]));
	for (uint32_t i = 0; i < t->t.rows; i++)
		t->t.cell[(size_t)i * t->t.columns + t->class_] =
			tt_best(&t->t, i, time, n, margin);
	return CLI_OK;
}

int train_classes(struct train *t, const char *class_, double margin)
{
	const struct sl_decision_attribute *c;
	bool times = false;
	int status = CLI_OK;

	for (uint32_t i = 0; i < t->t.columns; i++)
		times = times || train_is_time(&t->t.column[i]);
	t->class_ = sl_table_column(&t->t, class_ ? class_ : BEST);
	if (t->class_ == SL_DECISION_NONE && class_)
		return cli_fail(TRAIN_CMD, "%s:1: no column '%s' (--class).", t->path, class_);
	if (t->class_ == SL_DECISION_NONE && times)
		status = tt_derive(t, margin);
	else if (t->class_ == SL_DECISION_NONE)
		t->class_ = t->t.columns - 1;
	if (status)
		return status;
	c = &t->t.column[t->class_];
	if (!c->values)
		return cli_fail(
			TRAIN_CMD,
			"%s:1: the class '%s' contains numbers; it must contain names. --class "
			"selects another column, or columns time_ALGORITHM make one.",
			t->path, c->name);
	if (c->values > SL_DECISION_CLASSES)
		return cli_fail(TRAIN_CMD, "%s:1: '%s' has %u classes; the maximum is %u.", t->path,
				c->name, c->values, SL_DECISION_CLASSES);
	for (uint32_t i = 0; i < t->t.columns; i++)
		for (uint32_t row = 0; train_is_time(&t->t.column[i]) && row < t->t.rows; row++)
			if (sl_table_cell(&t->t, row, i) <= 0)
				return cli_fail(TRAIN_CMD,
						"%s:%u: %s is %g; a time must be above 0.", t->path,
						t->t.line[row], t->t.column[i].name,
						sl_table_cell(&t->t, row, i));
	t->base_time = sl_table_column(&t->t, TIME BASE);
	for (uint32_t i = 0; i < c->values; i++) {
		char name[SL_DECISION_NAME + sizeof(TIME)];

		snprintf(name, sizeof(name), TIME "%s", c->value[i]);
		t->time_of[i] = sl_table_column(&t->t, name);
		if (t->time_of[i] != SL_DECISION_NONE && t->t.column[t->time_of[i]].values)
			return cli_fail(TRAIN_CMD, "%s:1: '%s' must contain numbers, in seconds.",
					t->path, name);
	}
	return CLI_OK;
}

/* ---- attributes ---- */

static void tt_use(struct train *t, const char *name, const uint32_t *column, uint32_t n)
{
	struct train_tree *tree = &t->tree[t->trees++];

	tree->name = name;
	memcpy(tree->attribute, column, n * sizeof(column[0]));
	tree->task = (struct sl_c45){
		.table = &t->t, .attribute = tree->attribute, .attributes = n, .class_ = t->class_
	};
}

static int tt_listed(struct train *t, const char *list)
{
	char copy[MAX_LIST], *save = NULL;
	uint32_t column[SL_DECISION_ATTRIBUTES], n = 0;

	if (strlen(list) >= sizeof(copy))
		return cli_usage(TRAIN_CMD, "--attributes is too long.");
	strcpy(copy, list);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		struct sl_guess guess = { .word = word };
		uint32_t c = sl_table_column(&t->t, word);

		for (uint32_t i = 0; i < t->t.columns; i++)
			sl_consider(&guess, t->t.column[i].name);
		if (c == SL_DECISION_NONE)
			return cli_unknown(TRAIN_CMD, "column", &guess);
		if (c == t->class_)
			return cli_usage(TRAIN_CMD,
					 "'%s' is the class, so it cannot be an attribute.", word);
		for (uint32_t i = 0; i < n; i++)
			if (column[i] == c)
				return cli_usage(TRAIN_CMD, "'%s' is in --attributes twice.", word);
		column[n++] = c;
	}
	if (!n)
		return cli_usage(TRAIN_CMD, "--attributes names no column.");
	tt_use(t, NULL, column, n);
	return CLI_OK;
}

int train_attributes(struct train *t, const char *wanted, const char *list)
{
	uint32_t column[SL_DECISION_ATTRIBUTES], n = 0, known = 0, want = 0;
	const char *missing[TRAIN_TREES] = { NULL };

	if (list)
		return tt_listed(t, list);
	while (want < TRAIN_TREES && strcmp(tree_names[want], wanted ? wanted : "T2") != 0)
		want++;
	if (want == TRAIN_TREES)
		return cli_usage(TRAIN_CMD, "--tree must be T1, T2 or T3, not '%s'.", wanted);
	for (unsigned i = 0; i < ATTRIBUTES; i++)
		known += sl_table_column(&t->t, attributes[i].name) != SL_DECISION_NONE;
	if (!known && !wanted) { /* a table of something else */
		for (uint32_t i = 0; i < t->t.columns; i++)
			if (i != t->class_ && !tt_is_any_time(&t->t.column[i]))
				column[n++] = i;
		if (!n)
			return cli_fail(TRAIN_CMD, "%s:1: no columns for attributes.", t->path);
		tt_use(t, NULL, column, n);
		return CLI_OK;
	}
	for (unsigned k = 0; k < TRAIN_TREES; k++) {
		n = 0;
		for (unsigned i = 0; i < ATTRIBUTES; i++) {
			if (k >= attributes[i].without)
				continue;
			column[n] = sl_table_column(&t->t, attributes[i].name);
			if (column[n++] == SL_DECISION_NONE && !missing[k])
				missing[k] = attributes[i].name;
		}
		if (k == want && missing[k])
			return cli_fail(TRAIN_CMD,
					"%s:1: no column '%s', which %s needs; "
					"--attributes names others.",
					t->path, missing[k], tree_names[k]);
		if (missing[k])
			continue;
		if (k == want)
			t->chosen = t->trees;
		tt_use(t, tree_names[k], column, n);
	}
	return CLI_OK;
}

/* ---- rows ---- */

struct clause {
	uint32_t column;
	bool unlike;
	double value;
};

/* "procs=8": a value of the column, or its number. */
static int tt_clause(const struct train *t, const char *option, char *text, struct clause *c)
{
	char *equal = strchr(text, '='), *end;
	const struct sl_decision_attribute *a;
	struct sl_guess guess = { .word = text };

	if (!equal || equal == text || !equal[1])
		return cli_usage(TRAIN_CMD, "%s '%s' must be COLUMN=VALUE or COLUMN!=VALUE.",
				 option, text);
	c->unlike = equal[-1] == '!';
	equal[c->unlike ? -1 : 0] = 0;
	c->column = sl_table_column(&t->t, text);
	for (uint32_t i = 0; i < t->t.columns; i++)
		sl_consider(&guess, t->t.column[i].name);
	if (c->column == SL_DECISION_NONE)
		return cli_unknown(TRAIN_CMD, "column", &guess);
	a = &t->t.column[c->column];
	if (a->values) {
		uint32_t value = sl_decision_value(a, equal + 1);

		c->value = value;
		if (value == SL_DECISION_NONE)
			return cli_fail(TRAIN_CMD, "%s: no row of %s has %s=%s.", option, t->path,
					a->name, equal + 1);
		return CLI_OK;
	}
	c->value = strtod(equal + 1, &end);
	if (*end)
		return cli_usage(TRAIN_CMD, "%s: '%s' is a number, '%s' is not.", option, a->name,
				 equal + 1);
	return CLI_OK;
}

static bool tt_matches(const struct train *t, uint32_t row, const struct clause *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		double v = sl_table_cell(&t->t, row, c[i].column);
		bool same = fabs(v - c[i].value) < 1e-9; /* unknown is never the same */

		if (same == c[i].unlike)
			return false;
	}
	return true;
}

int train_select(const struct train *t, const char *option, struct train_rows *rows)
{
	char copy[MAX_LIST] = "", *save = NULL;
	struct clause clause[16] = { 0 };
	unsigned n = 0;
	uint32_t unknown = 0, line = 0;

	if (rows->where && strlen(rows->where) >= sizeof(copy))
		return cli_usage(TRAIN_CMD, "%s is too long.", option);
	if (rows->where)
		strcpy(copy, rows->where);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		int status;

		if (n == sizeof(clause) / sizeof(clause[0]))
			return cli_usage(TRAIN_CMD, "%s has too many conditions.", option);
		status = tt_clause(t, option, word, &clause[n++]);
		if (status)
			return status;
	}
	rows->row = calloc(t->t.rows, sizeof(rows->row[0]));
	if (!rows->row)
		return cli_fail(TRAIN_CMD, "no memory.");
	for (uint32_t i = 0; i < t->t.rows; i++) {
		if (!tt_matches(t, i, clause, n))
			continue;
		if (!isnan(sl_table_cell(&t->t, i, t->class_))) {
			rows->row[rows->n++] = i;
		} else {
			line = unknown++ ? line : t->t.line[i];
		}
	}
	if (unknown)
		cli_warn(TRAIN_CMD, "%s:%u: the class is unknown; %u such row%s left out.", t->path,
			 line, unknown, unknown == 1 ? " is" : "s are");
	if (!rows->n)
		return cli_fail(TRAIN_CMD, "%s: no row is left of %s%s%s.", t->path,
				rows->where ? option : "the table", rows->where ? " " : "",
				rows->where ? rows->where : "");
	return CLI_OK;
}

/* ---- rows that contradict each other ---- */

static int tt_compare(const void *a, const void *b, void *arg)
{
	const struct train *t = arg;
	const struct train_tree *tree = &t->tree[t->chosen];
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	for (uint32_t i = 0; i < tree->task.attributes; i++) {
		double v = sl_table_cell(&t->t, x, tree->attribute[i]);
		double w = sl_table_cell(&t->t, y, tree->attribute[i]);

		if (isnan(v) != isnan(w))
			return isnan(v) ? 1 : -1;
		if (v < w || v > w)
			return v < w ? -1 : 1;
	}
	return 0;
}

static int tt_order(const void *a, const void *b, void *arg)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = tt_compare(a, b, arg);

	return order ? order : (x > y) - (x < y);
}

void train_contradictions(const struct train *t)
{
	const struct sl_decision_attribute *c = &t->t.column[t->class_];
	uint32_t *row = malloc(t->train.n * sizeof(*row)), n = 0, first = 0, here = 0, there = 0;

	if (!row)
		return;
	memcpy(row, t->train.row, t->train.n * sizeof(*row));
	qsort_r(row, t->train.n, sizeof(*row), tt_order, (void *)t);
	for (uint32_t i = 1; i < t->train.n; i++) {
		if (tt_compare(&row[first], &row[i], (void *)t) != 0)
			first = i;
		if (sl_table_cell(&t->t, row[first], t->class_) <
			    sl_table_cell(&t->t, row[i], t->class_) ||
		    sl_table_cell(&t->t, row[first], t->class_) >
			    sl_table_cell(&t->t, row[i], t->class_)) {
			if (!n++) {
				there = row[first];
				here = row[i];
			}
		}
	}
	if (n)
		cli_warn(TRAIN_CMD,
			 "%s:%u: %s is '%s', but '%s' in line %u, which is equal in all columns "
			 "that %s "
			 "uses. %u such row%s.",
			 t->path, t->t.line[here], c->name,
			 c->value[(uint32_t)sl_table_cell(&t->t, here, t->class_)],
			 c->value[(uint32_t)sl_table_cell(&t->t, there, t->class_)],
			 t->t.line[there], train_name(&t->tree[t->chosen]), n, n == 1 ? "" : "s");
	free(row);
}
