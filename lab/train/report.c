/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `sluice train`: the tree, how often it is wrong, and the tables of AGIOS. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/json.h"
#include "lab/train/train.h"

static const char *const compared[] = { "aioli", "sjf" }; /* in Table VII */

static double tp_percent(double part, double all)
{
	return all > 0 ? 100 * part / all : 0;
}

static void tp_counts(const struct train *t, const struct train_rows *rows, uint32_t *count)
{
	memset(count, 0, SL_DECISION_CLASSES * sizeof(*count));
	for (uint32_t i = 0; i < rows->n; i++)
		count[(uint32_t)sl_table_cell(&t->t, rows->row[i], t->class_)]++;
}

/* ---- text ---- */

static void tp_attributes(const struct train *t, const struct train_tree *tree)
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);
	unsigned column = (unsigned)printf("%s by ", train_name(tree));

	for (uint32_t i = 0; f && i < tree->task.attributes; i++)
		fprintf(f, "%s%s", i ? ", " : "", t->t.column[tree->attribute[i]].name);
	if (f) {
		fputs(t->by_time ? "; leaves lose least time" : "", f);
		fclose(f);
	}
	cli_wrap(stdout, text ? text : "", column, 2);
	free(text);
}

static void tp_head(const struct train *t)
{
	const struct sl_decision_attribute *c = &t->t.column[t->class_];
	const struct train_tree *tree = &t->tree[t->chosen];
	uint32_t count[SL_DECISION_CLASSES];
	const char *before = " ";

	tp_counts(t, &t->train, count);
	printf("%s: %u row%s%s%s, %s%s:", t->path, t->train.n, t->train.n == 1 ? "" : "s",
	       t->train.where ? " with " : "", t->train.where ? t->train.where : "", c->name,
	       t->derived ? " (from the times)" : "");
	for (uint32_t i = 0; i < c->values; i++) {
		if (!count[i])
			continue;
		printf("%s%s %u", before, c->value[i], count[i]);
		before = ", ";
	}
	putchar('\n');
	tp_attributes(t, tree);
	putchar('\n');
}

static void tp_tree(const struct train *t)
{
	const struct train_tree *tree = &t->tree[t->chosen];
	uint32_t leaves = sl_decision_leaves(&tree->tree);

	sl_decision_print(stdout, &tree->tree, "");
	printf("\n%u lea%s, %u node%s. Wrong in %u of the %u rows it was learnt from (%.2f%%)",
	       leaves, leaves == 1 ? "f" : "ves", tree->tree.nodes,
	       tree->tree.nodes == 1 ? "" : "s", tree->wrong_train, t->train.n,
	       tp_percent(tree->wrong_train, t->train.n));
	if (tree->cross)
		printf(",\nin %u (%.2f%%) by %u-fold cross-validation with seed %" PRIu64,
		       tree->wrong_cross, tp_percent(tree->wrong_cross, t->train.n), t->folds,
		       t->seed);
	puts(".");
}

static void tp_columns(const struct train *t)
{
	for (uint32_t i = 0; i < t->trees; i++)
		printf(" %9s", train_name(&t->tree[i]));
	putchar('\n');
}

static void tp_all_trees(const struct train *t)
{
	printf("\n%-32s", "Trees, all rows");
	tp_columns(t);
	printf("%-32s", "  leaves");
	for (uint32_t i = 0; i < t->trees; i++)
		printf(" %9u", sl_decision_leaves(&t->tree[i].tree));
	printf("\n%-32s", "  wrong, cross-validated");
	for (uint32_t i = 0; i < t->trees; i++)
		printf(" %8.2f%%", tp_percent(t->tree[i].wrong_cross, t->train.n));
	putchar('\n');
}

/* Table V. */
static void tp_held_out(const struct train *t)
{
	printf("\n%-32s", "Wrong in rows not learnt from");
	tp_columns(t);
	printf("  learnt with %s, tested with %s\n%-32s", t->train.where, t->test.where, "");
	for (uint32_t i = 0; i < t->trees; i++)
		printf(" %8.2f%%", tp_percent(t->tree[i].wrong_test, t->test.n));
	printf("\n  learnt with %s, tested with %s\n%-32s", t->test.where, t->train.where, "");
	for (uint32_t i = 0; i < t->trees; i++)
		printf(" %8.2f%%", tp_percent(t->tree[i].wrong_other, t->train.n));
	putchar('\n');
}

/* Table IV, and the content of figure 5 and its text. */
static void tp_solutions(const struct train *t, const struct train_score *s, uint32_t n)
{
	bool times = t->base_time != SL_DECISION_NONE;
	int width = 16;

	for (uint32_t i = 0; i < n; i++)
		width = (int)strlen(s[i].name) > width ? (int)strlen(s[i].name) : width;
	printf("\n%-*s %9s", width, t->held_out ? "Rows held out" : "All rows", "correct");
	if (times)
		printf("   %-16s   %-16s  %s\n%-*s%5s %5s %5s  %5s %5s %5s  %7s %6s",
		       "faster than to", "slower than to", "over fastest", width + 10, "", "n",
		       "mean", "most", "n", "mean", "most", "mean", "most");
	putchar('\n');
	for (uint32_t i = 0; i < n; i++) {
		printf("%-*s %4u %3.0f%%", width, s[i].name, s[i].correct,
		       tp_percent(s[i].correct, s[i].rows));
		if (s[i].based)
			printf(" %5u %4.0f%% %4.0f%%  %5u %4.0f%% %4.0f%%  %6.1f%% %5.0f%%",
			       s[i].faster, 100 * s[i].faster_mean, 100 * s[i].faster_most,
			       s[i].slower, 100 * s[i].slower_mean, 100 * s[i].slower_most,
			       100 * s[i].over_mean, 100 * s[i].over_most);
		putchar('\n');
	}
	if (times)
		puts("faster, slower: by over 10%, in n situations. over fastest: more time than "
		     "the\nbest choice takes.");
}

static void tp_change(uint32_t of, uint32_t with)
{
	char text[32];

	if (!with)
		snprintf(text, sizeof(text), "%u for 0", of);
	else
		snprintf(text, sizeof(text), "%.0f%% %s", fabs(100.0 * of / with - 100),
			 of < with ? "less" : "more");
	printf(" %9s", text);
}

static const struct train_score *tp_of_tree(const struct train *t, const struct train_score *s,
					    uint32_t n, uint32_t tree)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(s[i].name, train_name(&t->tree[tree])))
			return &s[i];
	return &s[0]; /* not reached: every tree has a score */
}

/* Table VII. */
static void tp_against(const struct train *t, const struct train_score *s, uint32_t n)
{
	bool head = false;

	for (unsigned k = 0; k < sizeof(compared) / sizeof(compared[0]); k++) {
		const struct train_score *one = train_always(s, n, compared[k]);
		char text[64];

		if (!one || !one->based)
			continue;
		if (!head) {
			printf("\n%-32s", "Against one for all");
			tp_columns(t);
		}
		head = true;
		snprintf(text, sizeof(text), "  faster than %s, up to", compared[k]);
		printf("%-32s", text);
		for (uint32_t i = 0; i < t->trees; i++) {
			double gain = train_gain(t, &t->tree[i], compared[k]);

			if (isnan(gain)) /* nothing that it says has times */
				printf(" %9s", "-");
			else
				printf(" %8.1f%%", 100 * gain);
		}
		printf("\n%-32s", "    situations faster than to");
		for (uint32_t i = 0; i < t->trees; i++)
			tp_change(tp_of_tree(t, s, n, i)->faster, one->faster);
		printf("\n%-32s", "    situations slower than to");
		for (uint32_t i = 0; i < t->trees; i++)
			tp_change(tp_of_tree(t, s, n, i)->slower, one->slower);
		putchar('\n');
	}
}

/* Print the verdicts. */
static void tp_verdicts(const struct train *t)
{
	struct train_verdict v[TRAIN_VERDICTS];
	uint32_t n = train_verdicts(t, v);
	char text[600];

	if (n)
		putchar('\n');
	for (uint32_t i = 0; i < n; i++) {
		const char *name = t->tree[t->chosen].name;
		bool strange = !strcmp(v[i].rows, "new device");
		int k;

		name = name ? name : "the tree";
		if (v[i].times)
			k = snprintf(text, sizeof(text),
				     "In rows %s %s takes %.2f%% more time than the fastest, "
				     "always %s %.2f%%",
				     train_unseen(&v[i]), name, 100 * v[i].tree, v[i].constant,
				     100 * v[i].other);
		else
			k = snprintf(text, sizeof(text),
				     "In rows %s %s is wrong in %.2f%%, always %s in %.2f%%",
				     train_unseen(&v[i]), name, 100 * v[i].tree, v[i].constant,
				     100 * v[i].other);
		snprintf(text + k, sizeof(text) - (size_t)k, "%s%s%s%s",
			 train_is_worse(&v[i]) ? ": WORSE. Use " : ".",
			 !train_is_worse(&v[i]) ? ""
			 : v[i].times		? "order="
						: "always ",
			 train_is_worse(&v[i]) ? v[i].constant : "",
			 !train_is_worse(&v[i]) ? ""
			 : strange		? " on other devices, or learn from runs on them."
						: " instead, or learn from more runs.");
		cli_wrap(stdout, text, 0, 0);
	}
}

void train_report(const struct train *t)
{
	struct train_score s[TRAIN_SOLUTIONS];
	uint32_t n = train_solutions(t, s);

	tp_head(t);
	tp_tree(t);
	if (t->held_out)
		tp_held_out(t);
	else if (t->trees > 1 && t->tree[0].cross)
		tp_all_trees(t);
	tp_solutions(t, s, n);
	if (t->base_time != SL_DECISION_NONE)
		tp_against(t, s, n);
	tp_verdicts(t);
}

/* ---- JSON ---- */

static void tp_json_tree(struct json *j, const struct train *t, const struct train_tree *tree)
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	json_object(j, NULL);
	json_string(j, "name", train_name(tree));
	json_array(j, "attributes");
	for (uint32_t i = 0; i < tree->task.attributes; i++)
		json_string(j, NULL, t->t.column[tree->attribute[i]].name);
	json_end(j);
	json_uint(j, "leaves", sl_decision_leaves(&tree->tree));
	json_uint(j, "nodes", tree->tree.nodes);
	json_uint(j, "wrong_training", tree->wrong_train);
	if (tree->cross)
		json_uint(j, "wrong_cross_validation", tree->wrong_cross);
	if (t->held_out) {
		json_uint(j, "wrong_test", tree->wrong_test);
		json_uint(j, "wrong_reversed", tree->wrong_other);
	}
	for (unsigned k = 0; k < sizeof(compared) / sizeof(compared[0]); k++) {
		char key[32];

		snprintf(key, sizeof(key), "faster_than_%s", compared[k]);
		if (t->base_time != SL_DECISION_NONE)
			json_double(j, key, train_gain(t, tree, compared[k]));
	}
	if (f) {
		sl_decision_print(f, &tree->tree, "");
		fclose(f);
		json_string(j, "text", text);
		free(text);
	}
	json_end(j);
}

static void tp_json_score(struct json *j, const struct train_score *s)
{
	json_object(j, NULL);
	json_string(j, "name", s->name);
	json_uint(j, "rows", s->rows);
	json_uint(j, "correct", s->correct);
	if (s->timed) {
		json_uint(j, "timed", s->timed);
		if (s->based) {
			json_uint(j, "faster", s->faster);
			json_double(j, "faster_mean", s->faster_mean);
			json_double(j, "faster_most", s->faster_most);
			json_uint(j, "slower", s->slower);
			json_double(j, "slower_mean", s->slower_mean);
			json_double(j, "slower_most", s->slower_most);
		}
		json_double(j, "over_fastest_mean", s->over_mean);
		json_double(j, "over_fastest_most", s->over_most);
	}
	json_end(j);
}

static void tp_json_verdicts(struct json *j, const struct train *t)
{
	struct train_verdict v[TRAIN_VERDICTS];
	uint32_t n = train_verdicts(t, v);

	json_array(j, "verdicts");
	for (uint32_t i = 0; i < n; i++) {
		json_object(j, NULL);
		json_string(j, "rows", v[i].rows);
		json_string(j, "by", v[i].times ? "over_fastest_mean" : "wrong");
		json_double(j, "tree", v[i].tree);
		json_string(j, "constant", v[i].constant);
		json_double(j, "always_constant", v[i].other);
		json_string(j, "recommended",
			    train_is_worse(&v[i]) ? v[i].constant
						  : train_name(&t->tree[t->chosen]));
		json_end(j);
	}
	json_end(j);
}

void train_json(const struct train *t)
{
	const struct sl_decision_attribute *c = &t->t.column[t->class_];
	struct train_score s[TRAIN_SOLUTIONS];
	uint32_t n = train_solutions(t, s), count[SL_DECISION_CLASSES];
	struct json j;

	tp_counts(t, &t->train, count);
	json_begin(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "file", t->path);
	json_string(&j, "class", c->name);
	json_bool(&j, "class_from_times", t->derived);
	json_uint(&j, "rows", t->train.n);
	if (t->held_out) {
		json_string(&j, "train", t->train.where);
		json_string(&j, "test", t->test.where);
		json_uint(&j, "test_rows", t->test.n);
	}
	json_object(&j, "classes");
	for (uint32_t i = 0; i < c->values; i++)
		json_uint(&j, c->value[i], count[i]);
	json_end(&j);
	json_string(&j, "leaves", t->by_time ? "time" : "count");
	json_uint(&j, "folds", t->folds);
	json_uint(&j, "seed", t->seed);
	json_string(&j, "chosen", train_name(&t->tree[t->chosen]));
	json_array(&j, "trees");
	for (uint32_t i = 0; i < t->trees; i++)
		tp_json_tree(&j, t, &t->tree[i]);
	json_end(&j);
	json_array(&j, "solutions");
	for (uint32_t i = 0; i < n; i++)
		tp_json_score(&j, &s[i]);
	json_end(&j);
	tp_json_verdicts(&j, t);
	json_end(&j);
}
