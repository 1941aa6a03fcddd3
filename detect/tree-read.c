/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decision trees from files:
 *
 *	sluice-tree 1                       what this is
 *	# made by sluice train runs.csv     from # to the end of the line: for people
 *	attribute op: read write            name and values
 *	attribute files: number
 *	class: to sjf aioli
 *	tree:
 *	files <= 1: to (to 24)              a test that ends in a leaf: the class, and the weights
 *	files > 1                           of the cases that it was learnt from, by class
 *	|   op = read
 *	|   |   files <= 4: sjf (sjf 10, to 2)
 *	|   |   files > 4: aioli (aioli 8.5)
 *	|   op = write: sjf ()
 *
 * The tests of a node follow each other at one depth, of "|": those on a number are <= and > with
 * the same threshold, in that order, else there is one test for each value. A tree that is a leaf
 * is one line ": to (to 24)". Names with spaces or any of : | # ( ) , < > = in them stand in
 * quotes, "a \"b\"". The weights may be left out, with the parentheses; they are needed only where
 * a value can be unknown.
 */
#include "detect/tree.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/where.h"

struct reader {
	const char *file, *at, *end; /* at: what comes next */
	const char *line_end;
	unsigned line;
	struct sl_decision *t;
	char *err;
	size_t err_size;
};

struct word {
	char text[SL_DECISION_NAME + 1];
	bool quoted;
};

static int tr_fail(struct reader *r, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int tr_fail(struct reader *r, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	sl_where(r->err, r->err_size, r->file, r->line, format, args);
	va_end(args);
	return rc;
}

/* ---- words ---- */

/* To the next line that has something in it; false: there is none. */
static bool tr_line(struct reader *r)
{
	while (r->at < r->end) {
		const char *nl = memchr(r->at, '\n', (size_t)(r->end - r->at)), *p = r->at;

		r->line++;
		r->line_end = nl ? nl : r->end;
		while (p < r->line_end && isspace((unsigned char)*p))
			p++;
		if (p < r->line_end && *p != '#') {
			r->at = p;
			return true;
		}
		r->at = nl ? nl + 1 : r->end;
	}
	r->line_end = r->end;
	return false;
}

static void tr_next_line(struct reader *r)
{
	r->at = r->line_end < r->end ? r->line_end + 1 : r->end;
}

static void tr_space(struct reader *r)
{
	while (r->at < r->line_end && isspace((unsigned char)*r->at))
		r->at++;
	if (r->at < r->line_end && *r->at == '#')
		r->at = r->line_end;
}

static bool tr_sign(struct reader *r, const char *sign)
{
	size_t n = strlen(sign);

	tr_space(r);
	if ((size_t)(r->line_end - r->at) < n || memcmp(r->at, sign, n) != 0)
		return false;
	r->at += n;
	return true;
}

static bool tr_at_end(struct reader *r)
{
	tr_space(r);
	return r->at == r->line_end;
}

static int tr_end(struct reader *r)
{
	if (!tr_at_end(r))
		return tr_fail(r, -EINVAL, "unexpected '%.*s'.",
			       (int)(r->line_end - r->at < 40 ? r->line_end - r->at : 40), r->at);
	tr_next_line(r);
	return 0;
}

static int tr_word(struct reader *r, const char *what, struct word *w)
{
	size_t n = 0;

	tr_space(r);
	w->quoted = r->at < r->line_end && *r->at == '"';
	r->at += w->quoted;
	for (; r->at < r->line_end; r->at++) {
		char c = *r->at;

		if (w->quoted ? c == '"'
			      : isspace((unsigned char)c) || strchr(":|#(),<>=\"\\", c) != NULL)
			break;
		if (w->quoted && c == '\\' && r->at + 1 < r->line_end)
			c = *++r->at;
		if (iscntrl((unsigned char)c))
			return tr_fail(r, -EINVAL, "a control character in the name of %s.", what);
		if (n == SL_DECISION_NAME)
			return tr_fail(r, -EINVAL, "the name of %s is longer than %u bytes.", what,
				       (unsigned)SL_DECISION_NAME);
		w->text[n++] = c;
	}
	w->text[n] = 0;
	if (w->quoted && r->at == r->line_end)
		return tr_fail(r, -EINVAL, "a quote is not closed.");
	r->at += w->quoted;
	if (!n)
		return tr_fail(r, -EINVAL, "the name of %s is missing.", what);
	return 0;
}

static int tr_number(struct reader *r, const char *what, double *out)
{
	struct word w;
	char *end;
	int rc = tr_word(r, what, &w);

	if (rc)
		return rc;
	*out = strtod(w.text, &end);
	if (*end || !isfinite(*out) || w.quoted)
		return tr_fail(r, -EINVAL, "'%s' is no number; %s must be one.", w.text, what);
	return 0;
}

/* ---- the head ---- */

static int tr_names(struct reader *r, const char *what, uint32_t most,
		    char (**names)[SL_DECISION_NAME + 1], uint32_t *n)
{
	while (!tr_at_end(r)) {
		struct word w;
		void *more;
		int rc = tr_word(r, what, &w);

		if (rc)
			return rc;
		for (uint32_t i = 0; i < *n; i++)
			if (!strcmp((*names)[i], w.text))
				return tr_fail(r, -EINVAL, "%s '%s' stands here twice.", what,
					       w.text);
		if (*n == most)
			return tr_fail(r, -EINVAL, "more than %u of %s.", most, what);
		more = realloc(*names, (*n + 1) * sizeof((*names)[0]));
		if (!more)
			return tr_fail(r, -ENOMEM, "no memory.");
		*names = more;
		memcpy((*names)[(*n)++], w.text, sizeof(w.text));
	}
	return *n ? 0 : tr_fail(r, -EINVAL, "the names of %s are missing.", what);
}

static int tr_attribute(struct reader *r)
{
	struct sl_decision *t = r->t;
	struct sl_decision_attribute *a;
	const char *before;
	struct word w;
	void *more;
	int rc = tr_word(r, "an attribute", &w);

	if (rc)
		return rc;
	if (sl_decision_attribute(t, w.text) != SL_DECISION_NONE)
		return tr_fail(r, -EINVAL, "attribute '%s' stands here twice.", w.text);
	if (t->attributes == SL_DECISION_ATTRIBUTES)
		return tr_fail(r, -EINVAL, "more than %u attributes.", SL_DECISION_ATTRIBUTES);
	if (!tr_sign(r, ":"))
		return tr_fail(r, -EINVAL, "a ':' is missing after the attribute '%s'.", w.text);
	more = realloc(t->attribute, (t->attributes + 1) * sizeof(t->attribute[0]));
	if (!more)
		return tr_fail(r, -ENOMEM, "no memory.");
	t->attribute = more;
	a = &t->attribute[t->attributes++];
	memset(a, 0, sizeof(*a));
	memcpy(a->name, w.text, sizeof(w.text));
	tr_space(r);
	before = r->at;
	rc = tr_word(r, "a value", &w);
	if (rc)
		return rc;
	if (!w.quoted && !strcmp(w.text, "number"))
		return tr_end(r);
	r->at = before;
	rc = tr_names(r, "a value", SL_DECISION_VALUES, &a->value, &a->values);
	return rc ? rc : tr_end(r);
}

static int tr_head(struct reader *r)
{
	struct word w;
	int rc;

	if (!tr_line(r) || !tr_sign(r, "sluice-tree"))
		return tr_fail(r, -EINVAL,
			       "this is no tree: the first line must be 'sluice-tree 1'.");
	if (!tr_sign(r, "1") || !tr_at_end(r))
		return tr_fail(r, -EINVAL, "only version 1 of trees can be read.");
	tr_next_line(r);
	for (;;) {
		if (!tr_line(r))
			return tr_fail(r, -EINVAL, "the file ends before 'tree:'.");
		rc = tr_word(r, "a line", &w);
		if (rc)
			return rc;
		if (!strcmp(w.text, "attribute")) {
			rc = tr_attribute(r);
		} else if (!strcmp(w.text, "class") && tr_sign(r, ":")) {
			if (r->t->classes)
				return tr_fail(r, -EINVAL, "the classes stand here twice.");
			rc = tr_names(r, "a class", SL_DECISION_CLASSES, &r->t->class_,
				      &r->t->classes);
			rc = rc ? rc : tr_end(r);
		} else if (!strcmp(w.text, "tree") && tr_sign(r, ":")) {
			if (!r->t->classes)
				return tr_fail(
					r, -EINVAL,
					"a line 'class: NAME...' must come before the tree.");
			return tr_end(r);
		} else {
			return tr_fail(
				r, -EINVAL,
				"'attribute NAME: ...', 'class: ...' or 'tree:' is expected here.");
		}
		if (rc)
			return rc;
	}
}

/* ---- the tree ---- */

static int tr_class(struct reader *r, uint32_t *out)
{
	struct word w;
	int rc = tr_word(r, "a class", &w);

	if (rc)
		return rc;
	for (*out = 0; *out < r->t->classes; ++*out)
		if (!strcmp(r->t->class_[*out], w.text))
			return 0;
	return tr_fail(r, -EINVAL, "'%s' is none of the classes.", w.text);
}

/* After the ':'. */
static int tr_leaf(struct reader *r, uint32_t node)
{
	struct sl_decision *t = r->t;
	double *count = &t->count[t->node[node].counts];
	uint32_t c;
	int rc = tr_class(r, &t->node[node].class_);

	if (rc)
		return rc;
	if (tr_sign(r, "(") && !tr_sign(r, ")")) {
		do {
			rc = tr_class(r, &c);
			rc = rc ? rc : tr_number(r, "a weight", &count[c]);
			if (rc)
				return rc;
			if (count[c] < 0 || count[c] > 1e15)
				return tr_fail(r, -EINVAL, "a weight must be from 0 to 1e15.");
		} while (tr_sign(r, ","));
		if (!tr_sign(r, ")"))
			return tr_fail(r, -EINVAL, "a ')' is missing after the weights.");
	}
	return tr_end(r);
}

struct test {
	uint32_t attribute, value;
	double threshold;
};

static int tr_test(struct reader *r, struct test *test)
{
	const struct sl_decision_attribute *a;
	struct word w;
	int rc = tr_word(r, "an attribute", &w);

	*test = (struct test){ 0 };
	if (rc)
		return rc;
	test->attribute = sl_decision_attribute(r->t, w.text);
	if (test->attribute == SL_DECISION_NONE)
		return tr_fail(r, -EINVAL, "'%s' is none of the attributes.", w.text);
	a = &r->t->attribute[test->attribute];
	if (!a->values) {
		if (tr_sign(r, "<="))
			test->value = 0;
		else if (tr_sign(r, ">"))
			test->value = 1;
		else
			return tr_fail(r, -EINVAL, "'<=' or '>' is missing: '%s' is a number.",
				       a->name);
		return tr_number(r, "a threshold", &test->threshold);
	}
	if (!tr_sign(r, "="))
		return tr_fail(r, -EINVAL, "'=' is missing after '%s'.", a->name);
	rc = tr_word(r, "a value", &w);
	if (rc)
		return rc;
	test->value = sl_decision_value(a, w.text);
	if (test->value == SL_DECISION_NONE)
		return tr_fail(r, -EINVAL, "'%s' is no value of '%s'.", w.text, a->name);
	return 0;
}

/* Is this test the one that should come k-th at the node? */
static int tr_fits(struct reader *r, uint32_t node, const struct test *test, uint32_t k)
{
	const struct sl_decision_node *n = &r->t->node[node];
	const struct sl_decision_attribute *a = &r->t->attribute[n->attribute];

	if (test->attribute != n->attribute)
		return tr_fail(r, -EINVAL, "a test of '%s' is missing before this line.", a->name);
	if (!a->values) {
		if (test->value != k)
			return tr_fail(r, -EINVAL, "'%s %s' is expected here.", a->name,
				       k ? ">" : "<=");
		if (test->threshold < n->threshold || test->threshold > n->threshold)
			return tr_fail(r, -EINVAL, "'%s > %.17g' is expected here.", a->name,
				       n->threshold);
		return 0;
	}
	for (uint32_t i = n->child; i != SL_DECISION_NONE; i = r->t->node[i].next)
		if (r->t->node[i].value == test->value)
			return tr_fail(r, -EINVAL, "'%s = %s' was there before.", a->name,
				       a->value[test->value]);
	return 0;
}

static unsigned tr_depth(struct reader *r)
{
	unsigned depth = 0;

	while (tr_sign(r, "|"))
		depth++;
	tr_space(r);
	return depth;
}

/* All tests of a node, with what is beneath; its first line is the next. */
static int tr_node(struct reader *r, uint32_t node, unsigned depth)
{
	uint32_t last = SL_DECISION_NONE, branches = 1;

	if (depth > SL_DECISION_DEPTH)
		return tr_fail(r, -EINVAL, "the tree is deeper than %u.", SL_DECISION_DEPTH);
	for (uint32_t k = 0; k < branches; k++) {
		struct test test;
		uint32_t child;
		int rc;

		if (!tr_line(r))
			return tr_fail(r, -EINVAL, "the file ends within the tree.");
		if (tr_depth(r) != depth)
			return tr_fail(r, -EINVAL, "a test with %u '|' before it is expected here.",
				       depth);
		if (k == 0 && depth == 0 && tr_sign(r, ":"))
			return tr_leaf(r, node);
		rc = tr_test(r, &test);
		if (rc)
			return rc;
		if (k == 0) {
			const struct sl_decision_attribute *a = &r->t->attribute[test.attribute];

			r->t->node[node].attribute = test.attribute;
			r->t->node[node].threshold = test.threshold;
			branches = a->values ? a->values : 2;
		}
		rc = tr_fits(r, node, &test, k);
		if (rc)
			return rc;
		child = sl_decision_add(r->t);
		if (child == SL_DECISION_NONE)
			return tr_fail(r, -ENOMEM, "the tree has more than %u nodes, or no memory.",
				       SL_DECISION_NODES);
		r->t->node[child].value = test.value;
		if (last == SL_DECISION_NONE)
			r->t->node[node].child = child;
		else
			r->t->node[last].next = child;
		last = child;
		if (tr_sign(r, ":")) {
			rc = tr_leaf(r, child);
		} else {
			rc = tr_end(r);
			rc = rc ? rc : tr_node(r, child, depth + 1);
		}
		if (rc)
			return rc;
	}
	return 0;
}

int sl_decision_parse(const char *file, const char *text, size_t length, struct sl_decision *out,
		      char *err, size_t err_size)
{
	struct reader r = { .file = file,
			    .at = text,
			    .end = text + length,
			    .line_end = text,
			    .t = out,
			    .err = err,
			    .err_size = err_size };
	int rc;

	memset(out, 0, sizeof(*out));
	rc = tr_head(&r);
	if (!rc && sl_decision_add(out) == SL_DECISION_NONE)
		rc = tr_fail(&r, -ENOMEM, "no memory.");
	if (!rc)
		rc = tr_node(&r, 0, 0);
	if (!rc && tr_line(&r))
		rc = tr_fail(&r, -EINVAL, "the tree was complete before this line.");
	if (rc)
		sl_decision_free(out);
	else
		sl_decision_weigh(out);
	if (rc && r.line == 0) /* an empty file */
		snprintf(err, err_size, "%s:1: this is no tree: the file is empty.", file);
	return rc;
}
