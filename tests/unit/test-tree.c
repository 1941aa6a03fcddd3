/* SPDX-License-Identifier: Apache-2.0 */
/* Decision trees as files, and what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "detect/tree.h"

#define HEAD                            \
	"sluice-tree 1\n"               \
	"attribute op: read write\n"    \
	"attribute files: number\n"     \
	"class: to sjf \"very fast\"\n" \
	"tree:\n"
#define TREE                                           \
	HEAD "files <= 1.5: to (to 3, sjf 1)\n"        \
	     "files > 1.5\n"                           \
	     "|   op = read: sjf (sjf 12)\n"           \
	     "|   op = write\n"                        \
	     "|   |   files <= 40: \"very fast\" ()\n" \
	     "|   |   files > 40: to (to 0.25)\n"

static struct sl_decision parsed(const char *text)
{
	struct sl_decision t;
	char err[500];

	if (sl_decision_parse("f", text, strlen(text), &t, err, sizeof(err)))
		fail_msg("%s", err);
	return t;
}

static uint32_t says(const struct sl_decision *t, double op, double files)
{
	return sl_decision_choose(t, (double[]){ op, files }, NULL);
}

static void a_tree_leads_to_its_leaves(void **state)
{
	struct sl_decision t = parsed(TREE);

	assert_int_equal(t.nodes, 7);
	assert_int_equal(sl_decision_leaves(&t), 4);
	assert_int_equal(says(&t, 0, 1), 0);
	assert_int_equal(says(&t, 0, 1.5), 0);
	assert_int_equal(says(&t, 0, 2), 1);
	assert_int_equal(says(&t, 1, 40), 2);
	assert_int_equal(says(&t, 1, 41), 0);
	sl_decision_free(&t);
}

/* The example at the head of tree.c: 4/16 go one way, 12/16 the other. */
static void where_a_value_is_not_known_all_ways_are_weighed(void **state)
{
	struct sl_decision t = parsed(HEAD "files <= 1: to (to 3, sjf 1)\nfiles > 1: sjf (sjf 12)");
	double share[3];

	assert_int_equal(sl_decision_choose(&t, (double[]){ 0, NAN }, share), 1);
	assert_true(fabs(share[0] - 3.0 / 16) < 1e-12);
	assert_true(fabs(share[1] - 13.0 / 16) < 1e-12);
	assert_true(fabs(share[2]) < 1e-12);
	sl_decision_free(&t);
}

static void a_value_that_no_one_knew_is_not_known(void **state)
{
	struct sl_decision t = parsed(HEAD "op = read: to (to 1)\nop = write: sjf (sjf 2)\n");

	assert_int_equal(says(&t, 7, 0), 1);
	assert_int_equal(says(&t, -1, 0), 1);
	sl_decision_free(&t);
}

static void weights_may_be_left_out(void **state)
{
	struct sl_decision t = parsed(HEAD "op = write: sjf\nop = read # first\n"
					   "| files <= 3: to\n|files > 3: sjf\n");

	assert_int_equal(says(&t, 0, 3), 0);
	assert_int_equal(says(&t, 0, 4), 1);
	assert_int_equal(says(&t, NAN, NAN), 1); /* 1/2 + 1/4 */
	sl_decision_free(&t);
}

static void a_tree_may_be_one_leaf(void **state)
{
	struct sl_decision t = parsed(HEAD ": \"very fast\" (to 1)\n");

	assert_int_equal(t.nodes, 1);
	assert_int_equal(says(&t, NAN, NAN), 2);
	sl_decision_free(&t);
}

static void what_is_written_is_what_was_read(void **state)
{
	struct sl_decision t = parsed(TREE);
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	assert_non_null(f);
	sl_decision_write(f, &t);
	fclose(f);
	assert_string_equal(text, TREE);
	free(text);
	sl_decision_free(&t);
}

static void bad(const char *text, const char *message)
{
	struct sl_decision t;
	char err[500] = "";

	assert_int_equal(sl_decision_parse("f", text, strlen(text), &t, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, message);
	assert_null(t.node);
}

static void a_bad_head_is_said_with_its_line(void **state)
{
	bad("", "f:1: this is no tree: the file is empty.");
	bad("hello\n", "f:1: this is no tree: the first line must be 'sluice-tree 1'.");
	bad("sluice-tree 2\n", "f:1: only version 1 of trees can be read.");
	bad("sluice-tree 1\n", "f:1: the file ends before 'tree:'.");
	bad("sluice-tree 1\n\nnode\n",
	    "f:3: 'attribute NAME: ...', 'class: ...' or 'tree:' is expected here.");
	bad("sluice-tree 1\ntree:\n", "f:2: a line 'class: NAME...' must come before the tree.");
	bad("sluice-tree 1\nclass: a a\n", "f:2: a class 'a' stands here twice.");
	bad("sluice-tree 1\nclass:\n", "f:2: the names of a class are missing.");
	bad("sluice-tree 1\nattribute a b c\n", "f:2: a ':' is missing after the attribute 'a'.");
	bad("sluice-tree 1\nattribute a: number\nattribute a: b\n",
	    "f:3: attribute 'a' stands here twice.");
	bad("sluice-tree 1\nclass: \"a\n", "f:2: a quote is not closed.");
}

static void a_bad_tree_is_said_with_its_line(void **state)
{
	bad(HEAD, "f:5: the file ends within the tree.");
	bad(HEAD "x = 1: to\n", "f:6: 'x' is none of the attributes.");
	bad(HEAD "op = read: fast\n", "f:6: 'fast' is none of the classes.");
	bad(HEAD "op = append: to\n", "f:6: 'append' is no value of 'op'.");
	bad(HEAD "op <= 3: to\n", "f:6: '=' is missing after 'op'.");
	bad(HEAD "files = 3: to\n", "f:6: '<=' or '>' is missing: 'files' is a number.");
	bad(HEAD "files <= few: to\n", "f:6: 'few' is no number; a threshold must be one.");
	bad(HEAD "files <= inf: to\n", "f:6: 'inf' is no number; a threshold must be one.");
	bad(HEAD "files > 3: to\n", "f:6: 'files <=' is expected here.");
	bad(HEAD "files <= 3: to\nfiles > 4: to\n", "f:7: 'files > 3' is expected here.");
	bad(HEAD "files <= 3: to\nop = read: to\n",
	    "f:7: a test of 'files' is missing before this line.");
	bad(HEAD "op = read: to\nop = read: to\n", "f:7: 'op = read' was there before.");
	bad(HEAD "op = read: to\n", "f:6: the file ends within the tree.");
	bad(HEAD "op = read\nop = write: to\n",
	    "f:7: a test with 1 '|' before it is expected here.");
	bad(HEAD ": to\n: to\n", "f:7: the tree was complete before this line.");
	bad(HEAD ": to (to 1\n", "f:6: a ')' is missing after the weights.");
	bad(HEAD ": to (to -1)\n", "f:6: a weight must be from 0 to 1e15.");
	bad(HEAD ": to to\n", "f:6: unexpected 'to'.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_leads_to_its_leaves),
		cmocka_unit_test(where_a_value_is_not_known_all_ways_are_weighed),
		cmocka_unit_test(a_value_that_no_one_knew_is_not_known),
		cmocka_unit_test(weights_may_be_left_out),
		cmocka_unit_test(a_tree_may_be_one_leaf),
		cmocka_unit_test(what_is_written_is_what_was_read),
		cmocka_unit_test(a_bad_head_is_said_with_its_line),
		cmocka_unit_test(a_bad_tree_is_said_with_its_line),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
