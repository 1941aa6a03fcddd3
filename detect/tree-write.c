/* SPDX-License-Identifier: Apache-2.0 */
/* Printing decision trees, in the format that tree-read.c reads. */
#include "detect/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The shortest that reads back as the same number. */
static void de_number(FILE *f, double x)
{
	char text[40];

	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	fputs(text, f);
}

/* A count, which may be a fraction, where cases with unknown values went several ways. */
static void de_count(FILE *f, double x)
{
	if (x == floor(x) && x < 1e15)
		fprintf(f, "%.0f", x);
	else
		de_number(f, x);
}

static void de_name(FILE *f, const char *name)
{
	if (*name && !strpbrk(name, " \t\"\\:|#(),<>=") && strcmp(name, "number") != 0) {
		fputs(name, f);
		return;
	}
	putc('"', f);
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			putc('\\', f);
		putc(*name, f);
	}
	putc('"', f);
}

static void de_print_leaf(FILE *f, const struct sl_decision *t, const struct sl_decision_node *n)
{
	const double *count = &t->count[n->counts];
	const char *before = "";

	fputs(": ", f);
	de_name(f, t->class_[n->class_]);
	fputs(" (", f);
	for (uint32_t i = 0; i < t->classes; i++) {
		if (count[i] <= 0)
			continue;
		fputs(before, f);
		de_name(f, t->class_[i]);
		putc(' ', f);
		de_count(f, count[i]);
		before = ", ";
	}
	fputs(")\n", f);
}

static void de_print(FILE *f, const struct sl_decision *t, const struct sl_decision_node *n,
		     const char *indent, unsigned depth)
{
	const struct sl_decision_attribute *a;

	if (n->attribute == SL_DECISION_LEAF) {
		fputs(indent, f);
		de_print_leaf(f, t, n);
		return;
	}
	a = &t->attribute[n->attribute];
	for (uint32_t i = n->child; i != SL_DECISION_NONE; i = t->node[i].next) {
		const struct sl_decision_node *c = &t->node[i];

		fputs(indent, f);
		for (unsigned k = 0; k < depth; k++)
			fputs("|   ", f);
		de_name(f, a->name);
		if (a->values) {
			fputs(" = ", f);
			de_name(f, a->value[c->value]);
		} else {
			fputs(c->value ? " > " : " <= ", f);
			de_number(f, n->threshold);
		}
		if (c->attribute == SL_DECISION_LEAF) {
			de_print_leaf(f, t, c);
		} else {
			putc('\n', f);
			de_print(f, t, c, indent, depth + 1);
		}
	}
}

void sl_decision_print(FILE *f, const struct sl_decision *t, const char *indent)
{
	de_print(f, t, &t->node[0], indent, 0);
}

void sl_decision_write(FILE *f, const struct sl_decision *t)
{
	fputs("sluice-tree 1\n", f);
	for (uint32_t i = 0; i < t->attributes; i++) {
		const struct sl_decision_attribute *a = &t->attribute[i];

		fputs("attribute ", f);
		de_name(f, a->name);
		putc(':', f);
		for (uint32_t k = 0; k < a->values; k++) {
			putc(' ', f);
			de_name(f, a->value[k]);
		}
		fputs(a->values ? "\n" : " number\n", f);
	}
	fputs("class:", f);
	for (uint32_t i = 0; i < t->classes; i++) {
		putc(' ', f);
		de_name(f, t->class_[i]);
	}
	fputs("\ntree:\n", f);
	sl_decision_print(f, t, "");
}
