/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How good are the choices? As section 5 of AGIOS (Boito et al. 2015) asks it, of every solution:
 * always one algorithm, the trees, the oracle, which chooses what `best` says.
 *
 *	correct   choices that are the oracle's (Table IV)
 *	faster    situations in which it takes over 10 % less time than `to` does: n, mean, most
 *	slower    over 10 % more
 *	over      how much more time than the fastest algorithm, which the paper does not ask
 *
 * With times 10 for to, 8 for sjf, 25 for aioli: always sjf is faster, by 20 %, always aioli
 * slower, by 150 %, and 212 % over the fastest.
 *
 * The paper judges trees by the rows that they were learnt from. Cross-validation judges
 * every row by a tree that has not seen it; and with --train and --test no tree sees what it is
 * judged by.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/train.h"

#define MUCH 0.1 /* what the paper calls significant */

const char *train_name(const struct train_tree *tree)
{
	return tree->name ? tree->name : "tree";
}

static uint32_t ju_time_column(const struct train *t, const char *algorithm)
{
	char name[SL_DECISION_NAME + 8];

	snprintf(name, sizeof(name), "time_%s", algorithm);
	return sl_table_column(&t->t, name);
}

static double ju_fastest(const struct train *t, uint32_t row)
{
	double fastest = INFINITY;

	for (uint32_t i = 0; i < t->t.columns; i++)
		if (train_is_time(&t->t.column[i]))
			fastest = fmin(fastest, sl_table_cell(&t->t, row, i));
	return fastest;
}

static double ju_time(const struct train *t, uint32_t row, uint32_t column)
{
	return column == SL_DECISION_NONE ? NAN : sl_table_cell(&t->t, row, column);
}

/* Adds one choice: its class (or NONE) and the column of its times. */
static void ju_add(const struct train *t, uint32_t row, uint32_t class_, uint32_t column,
		   struct train_score *s)
{
	double took = ju_time(t, row, column), base = ju_time(t, row, t->base_time), change, over;

	s->rows++;
	s->correct += class_ == (uint32_t)sl_table_cell(&t->t, row, t->class_);
	if (!(took > 0 && base > 0)) /* unknown ones too */
		return;
	s->timed++;
	change = took / base - 1;
	over = took / ju_fastest(t, row) - 1;
	if (change < -MUCH) {
		s->faster++;
		s->faster_mean += -change;
		s->faster_most = fmax(s->faster_most, -change);
	} else if (change > MUCH) {
		s->slower++;
		s->slower_mean += change;
		s->slower_most = fmax(s->slower_most, change);
	}
	s->over_mean += over;
	s->over_most = fmax(s->over_most, over);
}

static void ju_end(struct train_score *s)
{
	s->faster_mean /= s->faster ? s->faster : 1;
	s->slower_mean /= s->slower ? s->slower : 1;
	s->over_mean /= s->timed ? s->timed : 1;
}

static void ju_always(const struct train *t, const char *algorithm, struct train_score *s)
{
	uint32_t class_ = sl_decision_value(&t->t.column[t->class_], algorithm);
	uint32_t column = ju_time_column(t, algorithm);

	memset(s, 0, sizeof(*s));
	snprintf(s->name, sizeof(s->name), "always %s", algorithm);
	for (uint32_t i = 0; i < t->test.n; i++)
		ju_add(t, t->test.row[i], class_, column, s);
	ju_end(s);
}

/* guess NULL: what the rows say. */
static void ju_guesses(const struct train *t, const uint32_t *guess, struct train_score *s)
{
	for (uint32_t i = 0; i < t->test.n; i++) {
		uint32_t row = t->test.row[i];
		uint32_t class_ = guess ? guess[i] : (uint32_t)sl_table_cell(&t->t, row, t->class_);

		ju_add(t, row, class_, t->time_of[class_], s);
	}
	ju_end(s);
}

uint32_t train_solutions(const struct train *t, struct train_score *s)
{
	const struct sl_decision_attribute *c = &t->t.column[t->class_];
	const struct train_tree *chosen = &t->tree[t->chosen];
	uint32_t n = 0;

	if (t->base_time != SL_DECISION_NONE && sl_decision_value(c, "to") == SL_DECISION_NONE)
		ju_always(t, "to", &s[n++]);
	for (uint32_t i = 0; i < c->values; i++)
		ju_always(t, c->value[i], &s[n++]);
	for (uint32_t i = 0; i < t->trees; i++) {
		memset(&s[n], 0, sizeof(s[n]));
		snprintf(s[n].name, sizeof(s[n].name), "%s", train_name(&t->tree[i]));
		ju_guesses(t, t->tree[i].guess, &s[n++]);
	}
	if (!t->held_out && chosen->cross) {
		memset(&s[n], 0, sizeof(s[n]));
		snprintf(s[n].name, sizeof(s[n].name), "%s, crossed", train_name(chosen));
		ju_guesses(t, chosen->cross, &s[n++]);
	}
	memset(&s[n], 0, sizeof(s[n]));
	snprintf(s[n].name, sizeof(s[n].name), "oracle");
	ju_guesses(t, NULL, &s[n++]);
	return n;
}

double train_gain(const struct train *t, const struct train_tree *tree, const char *algorithm)
{
	uint32_t column = ju_time_column(t, algorithm);
	double most = NAN;

	for (uint32_t i = 0; i < t->test.n; i++) {
		double took = ju_time(t, t->test.row[i], t->time_of[tree->guess[i]]);
		double other = ju_time(t, t->test.row[i], column);

		if (took > 0 && other > 0)
			most = fmax(most, 1 - took / other); /* NAN at first: the other one */
	}
	return most;
}

const struct train_score *train_always(const struct train_score *s, uint32_t n,
				       const char *algorithm)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strncmp(s[i].name, "always ", 7) && !strcmp(s[i].name + 7, algorithm))
			return &s[i];
	return NULL;
}
