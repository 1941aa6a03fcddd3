/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The learner against trees that are known: of Quinlan's book, and of Weka's J48, an implementation
 * by others. tests/data/learn/README.md names the sources of tables and trees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "detect/c45-node.h"
#include "detect/c45.h"

/* A table, its last column being the class. */
struct rig {
	struct sl_table t;
	struct sl_c45 task;
	uint32_t attribute[SL_DECISION_ATTRIBUTES], *row;
};

static void setup(struct rig *r)
{
	r->task = (struct sl_c45){ .table = &r->t,
				   .attribute = r->attribute,
				   .attributes = r->t.columns - 1,
				   .class_ = r->t.columns - 1 };
	r->row = calloc(r->t.rows, sizeof(*r->row));
	assert_non_null(r->row);
	for (uint32_t i = 0; i < r->t.columns; i++)
		r->attribute[i] = i;
	for (uint32_t i = 0; i < r->t.rows; i++)
		r->row[i] = i;
}

static void load(struct rig *r, const char *name)
{
	char path[4096], err[500];

	snprintf(path, sizeof(path), "%s/learn/%s", getenv("SL_DATA"), name);
	if (sl_table_load(path, &r->t, err, sizeof(err)))
		fail_msg("%s", err);
	setup(r);
}

static void from_text(struct rig *r, const char *csv)
{
	char err[500];

	if (sl_table_parse_csv("t.csv", csv, strlen(csv), &r->t, err, sizeof(err)))
		fail_msg("%s", err);
	setup(r);
}

static void finish(struct rig *r)
{
	free(r->row);
	sl_table_free(&r->t);
}

static char *learnt(struct rig *r)
{
	struct sl_decision tree;
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	assert_non_null(f);
	assert_int_equal(sl_c45_learn(&r->task, r->row, r->t.rows, &tree), 0);
	sl_decision_print(f, &tree, "");
	fclose(f);
	sl_decision_free(&tree);
	return text;
}

static void is_tree(struct rig *r, const char *expected)
{
	char *text = learnt(r);

	assert_string_equal(text, expected);
	free(text);
	finish(r);
}

static void play_tennis_is_quinlans_tree(void **state)
{
	struct rig r;

	load(&r, "tennis.csv");
	is_tree(&r, "outlook = sunny\n"
		    "|   humidity = high: no (no 3)\n"
		    "|   humidity = normal: yes (yes 2)\n"
		    "outlook = overcast: yes (yes 4)\n"
		    "outlook = rain\n"
		    "|   wind = weak: yes (yes 3)\n"
		    "|   wind = strong: no (no 2)\n");
}

static void weather_with_numbers_is_j48s_tree(void **state)
{
	struct rig r;

	load(&r, "weather.arff");
	is_tree(&r, "outlook = sunny\n"
		    "|   humidity <= 75: yes (yes 2)\n"
		    "|   humidity > 75: no (no 3)\n"
		    "outlook = overcast: yes (yes 4)\n"
		    "outlook = rainy\n"
		    "|   windy = TRUE: no (no 2)\n"
		    "|   windy = FALSE: yes (yes 3)\n");
}

static void iris_is_j48s_tree(void **state)
{
	struct rig r;

	load(&r, "iris.csv");
	is_tree(&r,
		"petalwidth <= 0.6: Iris-setosa (Iris-setosa 50)\n"
		"petalwidth > 0.6\n"
		"|   petalwidth <= 1.7\n"
		"|   |   petallength <= 4.9: Iris-versicolor (Iris-versicolor 47, Iris-virginica "
		"1)\n"
		"|   |   petallength > 4.9\n"
		"|   |   |   petalwidth <= 1.5: Iris-virginica (Iris-virginica 3)\n"
		"|   |   |   petalwidth > 1.5: Iris-versicolor (Iris-versicolor 2, Iris-virginica "
		"1)\n"
		"|   petalwidth > 1.7: Iris-virginica (Iris-versicolor 1, Iris-virginica 45)\n");
}

/* 57 rows with 326 unknown values. J48: bad (15.27/2.27), bad (10.77/4.77), good (30.96/1.0). */
static void labor_with_unknown_values_is_j48s_tree(void **state)
{
	static const double weight[3] = { 15.27, 10.77, 30.96 }, wrong[3] = { 2.27, 4.77, 1.0 };
	static const uint32_t class_[3] = { 0, 0, 1 };
	struct rig r;
	struct sl_decision t;
	unsigned leaf = 0;

	load(&r, "labor.arff");
	assert_int_equal(sl_c45_learn(&r.task, r.row, r.t.rows, &t), 0);
	assert_int_equal(t.nodes, 5);
	assert_int_equal(sl_decision_leaves(&t), 3);
	assert_string_equal(t.attribute[t.node[0].attribute].name, "wage-increase-first-year");
	assert_true(fabs(t.node[0].threshold - 2.5) < 1e-9);
	for (uint32_t i = 0; i < t.nodes; i++) {
		const struct sl_decision_node *n = &t.node[i];

		if (n->attribute != SL_DECISION_LEAF)
			continue;
		assert_true(leaf < 3);
		assert_int_equal(n->class_, class_[leaf % 3]);
		assert_true(fabs(n->weight - weight[leaf % 3]) < 0.005);
		assert_true(fabs(n->weight - t.count[n->counts + n->class_] - wrong[leaf % 3]) <
			    0.005);
		leaf++;
	}
	assert_int_equal(leaf, 3);
	sl_decision_free(&t);
	finish(&r);
}

static unsigned cross(struct rig *r, uint32_t folds, uint64_t seed)
{
	uint32_t *guess = calloc(r->t.rows, sizeof(*guess));
	unsigned wrong = 0;

	assert_non_null(guess);
	assert_int_equal(sl_c45_cross(&r->task, r->row, r->t.rows, folds, seed, guess), 0);
	for (uint32_t i = 0; i < r->t.rows; i++)
		wrong += guess[i] != (uint32_t)sl_table_cell(&r->t, i, r->task.class_);
	free(guess);
	return wrong;
}

/*
 * J48 is right in 94.73 % of ten times ten folds, with its own random numbers (the Weka manual,
 * Experimenter): 79 errors.
 */
static void cross_validation_of_iris_is_as_good_as_j48s(void **state)
{
	unsigned sum = 0;
	struct rig r;

	load(&r, "iris.csv");
	for (uint64_t seed = 1; seed <= 10; seed++) {
		unsigned wrong = cross(&r, 10, seed);

		assert_in_range(wrong, 4, 11);
		assert_int_equal(cross(&r, 10, seed), wrong);
		sum += wrong;
	}
	assert_in_range(sum, 69, 89);
	finish(&r);
}

/* Leaving one out: each row is judged by a tree from all others, so there is no chance in it. */
static void as_many_folds_as_rows_need_no_chance(void **state)
{
	struct rig r;

	load(&r, "tennis.csv");
	assert_int_equal(cross(&r, r.t.rows, 1), cross(&r, r.t.rows, 2));
	finish(&r);
}

/* Quinlan 1993, section 4.3: 6, 9 and 1 cases without errors, and one leaf with 16 and 1. */
static void expected_errors_are_those_of_the_book(void **state)
{
	assert_true(fabs(c45_more_errors(6, 0, 0.25) - 6 * 0.206) < 0.003);
	assert_true(fabs(c45_more_errors(9, 0, 0.25) - 9 * 0.143) < 0.003);
	assert_true(fabs(c45_more_errors(1, 0, 0.25) - 1 * 0.750) < 0.003);
	assert_true(fabs(1 + c45_more_errors(16, 1, 0.25) - 16 * 0.157) < 0.04);
	assert_true(fabs(1 + c45_more_errors(16, 1, 0.25) - 2.4757) < 1e-4); /* J48's formula */
	assert_true(c45_more_errors(10, 10, 0.25) <= 0);
}

/* x tells all but one row, which y could single out. */
#define NOISE                          \
	"x,y,class\n"                  \
	"1,a,p\n1,a,p\n1,a,p\n1,a,p\n" \
	"1,b,p\n1,b,p\n1,b,p\n1,b,q\n" \
	"2,a,q\n2,a,q\n2,b,q\n2,b,q\n2,a,q\n2,b,q\n2,b,q\n2,b,q\n"

static void what_helps_too_little_is_pruned(void **state)
{
	struct rig r;

	from_text(&r, NOISE);
	is_tree(&r, "x <= 1: p (p 7, q 1)\nx > 1: q (q 8)\n");
}

static void rows_that_contradict_each_other_make_a_leaf(void **state)
{
	struct rig r;

	from_text(&r, "x,class\n1,a\n1,b\n1,b\n1,a\n1,b\n");
	is_tree(&r, ": b (a 2, b 3)\n");
}

static void one_row_makes_a_leaf(void **state)
{
	struct rig r;

	from_text(&r, "x,class\n1,a\n");
	is_tree(&r, ": a (a 1)\n");
}

/* No row has x = c where y is 1: the branch is there all the same, and says what its parent does.
 */
static void a_branch_without_rows_says_what_its_parent_would(void **state)
{
	struct rig r;
	char *text;

	from_text(&r, "y,x,class\n"
		      "1,a,p\n1,a,p\n1,a,p\n1,b,q\n1,b,q\n1,b,q\n1,b,q\n"
		      "2,c,r\n2,c,r\n2,c,r\n2,c,r\n2,a,r\n2,b,r\n2,a,r\n2,b,r\n");
	text = learnt(&r);
	assert_non_null(strstr(text, "x = c: q ()\n"));
	free(text);
	finish(&r);
}

static void more_confidence_prunes_less(void **state)
{
	struct sl_decision less, more, none;
	struct rig r;

	load(&r, "labor.arff");
	r.task.confidence = 0.05;
	assert_int_equal(sl_c45_learn(&r.task, r.row, r.t.rows, &less), 0);
	r.task.confidence = 0.5;
	assert_int_equal(sl_c45_learn(&r.task, r.row, r.t.rows, &more), 0);
	r.task.unpruned = true;
	assert_int_equal(sl_c45_learn(&r.task, r.row, r.t.rows, &none), 0);
	assert_true(less.nodes <= more.nodes);
	assert_true(more.nodes <= none.nodes);
	assert_true(less.nodes < none.nodes);
	sl_decision_free(&less);
	sl_decision_free(&more);
	sl_decision_free(&none);
	finish(&r);
}

/* ---- tables ---- */

static void bad(const char *text, bool arff, const char *message)
{
	struct sl_table t;
	char err[500] = "";
	int rc = arff ? sl_table_parse_arff("t", text, strlen(text), &t, err, sizeof(err))
		      : sl_table_parse_csv("t", text, strlen(text), &t, err, sizeof(err));

	assert_int_equal(rc, -EINVAL);
	assert_string_equal(err, message);
	assert_null(t.cell);
}

static void bad_csv_is_said_with_its_line(void **state)
{
	bad("", false, "t:1: the table is empty: the first line must name the columns.");
	bad("a,b\n", false, "t:1: the table has no rows.");
	bad("a,a\n1,2\n", false, "t:1: two columns have the name 'a'.");
	bad("a,,b\n1,2,3\n", false, "t:1: column 2 has no name.");
	bad("a,b\n1,2\n\n1\n", false, "t:4: 1 cells for 2 columns; 'b' is the first without.");
	bad("a,b\n1,2,3\n", false, "t:2: more cells than the 2 columns.");
	bad("a,b\n1,\"x\n", false, "t:2: a quote is not closed.");
	bad("a,b\n1,\"x\"y\n", false, "t:2: a comma is missing after a quoted cell.");
	bad("a,b\n1,x\001\n", false, "t:2: a control character (0x01) in a cell.");
}

static void bad_arff_is_said_with_its_line(void **state)
{
	bad("% x\n", true, "t:1: the file ends before '@data'.");
	bad("x\n", true, "t:1: '@relation', '@attribute' or '@data' is expected here.");
	bad("@data\n1\n", true, "t:1: no '@attribute' stands before '@data'.");
	bad("@attribute a string\n", true,
	    "t:1: attribute 'a' must be 'numeric' or a list of values in braces; strings, dates "
	    "and "
	    "relations cannot be learnt from.");
	bad("@attribute a {x,y\n", true, "t:1: a '}' is missing at the end of the line.");
	bad("@attribute a {x,x}\n", true, "t:1: value 'x' of 'a' stands here twice.");
	bad("@attribute a {x}\n@data\n\n%\ny\n", true, "t:5: 'y' is no value of 'a'.");
	bad("@attribute a real\n@data\ny\n", true, "t:3: 'y' is no number; 'a' must be one.");
	bad("@attribute a real\n@data\n{0 1}\n", true, "t:3: sparse rows cannot be read.");
	bad("@attribute a real\n@attribute b real\n@data\n1\n", true,
	    "t:4: 1 cells for 2 attributes.");
	bad("@attribute a real\n@data\n", true, "t:2: the table has no rows.");
}

static void cells_may_be_quoted_unknown_or_numbers(void **state)
{
	static const char csv[] = "# a comment\r\nn, name ,class\r\n"
				  " 1.5e3 ,\"a, \"\"b\"\"\",x\r\n?,,y\r\n-2,?,x\r\n3,\"\",y";
	struct sl_table t;
	char err[500];

	assert_int_equal(sl_table_parse_csv("t", csv, strlen(csv), &t, err, sizeof(err)), 0);
	assert_int_equal(t.rows, 4);
	assert_int_equal(t.columns, 3);
	assert_int_equal(t.line[0], 3);
	assert_string_equal(t.column[1].name, "name");
	assert_int_equal(t.column[0].values, 0);
	assert_true(fabs(sl_table_cell(&t, 0, 0) - 1500) < 1e-9);
	assert_true(isnan(sl_table_cell(&t, 1, 0)));
	assert_int_equal(t.column[1].values, 1);
	assert_string_equal(t.column[1].value[0], "a, \"b\"");
	assert_true(isnan(sl_table_cell(&t, 1, 1)));
	assert_true(isnan(sl_table_cell(&t, 2, 1)));
	assert_true(isnan(sl_table_cell(&t, 3, 1)));
	assert_int_equal(t.column[2].values, 2);
	sl_table_free(&t);
}

/* ---- losses ---- */

/* x tells a from b; what a choice loses stands in the columns p and q. */
#define LOSSES                          \
	"x,p,q,class\n"                 \
	"1,0,40,p\n1,5,0,q\n1,5,0,q\n"  \
	"2,3,0,q\n2,30,0,q\n2,30,?,q\n" \
	"3,0,2,p\n3,0,2,p\n3,0,0.1,p\n"

static double loss(const void *arg, uint32_t row, uint32_t class_)
{
	const struct rig *r = arg;

	return sl_table_cell(&r->t, row,
			     sl_table_column(&r->t, r->t.column[r->task.class_].value[class_]));
}

/*
 * Of all rows, none of which counts for more than 0.1, p loses 0.4 / 9 = 0.04 and q as much / 8. At x
 * = 1 p loses (10 + 0.04) / 4, q (40 + 0.05) / 4, though two rows of three are q's; at 2 q, at 3 p.
 */
static void leaves_say_what_loses_least(void **state)
{
	uint32_t x = 0;
	struct rig r;

	from_text(&r, LOSSES);
	r.task.attribute = &x;
	r.task.attributes = 1;
	r.task.unpruned = true;
	r.task.loss = loss;
	r.task.loss_arg = &r;
	is_tree(&r, "x <= 2\n"
		    "|   x <= 1: p (p 1, q 2)\n"
		    "|   x > 1: q (q 3)\n"
		    "x > 2: p (p 3)\n");
}

/* p is best at 2 and loses little at 3, where q would lose nothing: one leaf, and no test. */
static void branches_that_say_the_same_are_joined(void **state)
{
	uint32_t x = 0;
	struct rig r;

	from_text(&r, "x,p,q,class\n"
		      "1,9,0,q\n1,9,0,q\n1,9,0,q\n"
		      "2,0,50,p\n2,0,50,p\n2,0,50,p\n2,0,50,p\n2,0,50,p\n2,0,50,p\n"
		      "3,.005,0,q\n3,.005,0,q\n3,.005,0,q\n");
	r.task.attribute = &x;
	r.task.attributes = 1;
	r.task.loss = loss;
	r.task.loss_arg = &r;
	is_tree(&r, "x <= 1: q (q 3)\nx > 1: p (q 3, p 6)\n");
}

/* Two devices with opposite truths: whoever has seen the one alone is always wrong on the other. */
static void each_value_can_be_judged_by_a_tree_without_it(void **state)
{
	uint32_t guess[8], x = 0;
	struct rig r;

	from_text(&r, "x,device,class\n1,a,p\n1,a,p\n2,a,q\n2,a,q\n"
		      "1,b,q\n1,b,q\n2,b,p\n2,b,p\n");
	r.task.attribute = &x;
	r.task.attributes = 1;
	assert_int_equal(sl_c45_cross_by(&r.task, r.row, 8, 1, guess), 0);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_not_equal(guess[i], (uint32_t)sl_table_cell(&r.t, i, 2));
	assert_int_equal(sl_c45_cross_by(&r.task, r.row, 4, 1, guess), -EINVAL);
	finish(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(play_tennis_is_quinlans_tree),
		cmocka_unit_test(weather_with_numbers_is_j48s_tree),
		cmocka_unit_test(iris_is_j48s_tree),
		cmocka_unit_test(labor_with_unknown_values_is_j48s_tree),
		cmocka_unit_test(cross_validation_of_iris_is_as_good_as_j48s),
		cmocka_unit_test(as_many_folds_as_rows_need_no_chance),
		cmocka_unit_test(expected_errors_are_those_of_the_book),
		cmocka_unit_test(what_helps_too_little_is_pruned),
		cmocka_unit_test(rows_that_contradict_each_other_make_a_leaf),
		cmocka_unit_test(one_row_makes_a_leaf),
		cmocka_unit_test(a_branch_without_rows_says_what_its_parent_would),
		cmocka_unit_test(more_confidence_prunes_less),
		cmocka_unit_test(bad_csv_is_said_with_its_line),
		cmocka_unit_test(bad_arff_is_said_with_its_line),
		cmocka_unit_test(cells_may_be_quoted_unknown_or_numbers),
		cmocka_unit_test(leaves_say_what_loses_least),
		cmocka_unit_test(branches_that_say_the_same_are_joined),
		cmocka_unit_test(each_value_can_be_judged_by_a_tree_without_it),
	};

	return cmocka_run_group_tests_name("c45", tests, NULL, NULL);
}
