/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluate the choices as in section 5 of AGIOS (Boito et al. 2015), for every solution: always one
 * algorithm, the trees, and the oracle, which chooses the value of `best`.
 *
 *	correct   choices that are the oracle's (Table IV)
 *	faster    situations in which it takes over 10 % less time than `to` does: n, mean, most
 *	slower    over 10 % more
 *	over      how much more time than the fastest algorithm (not in the paper)
 *
 * With times 10 for to, 8 for sjf, 25 for aioli: always sjf is faster, by 20 %, always aioli
 * slower, by 150 %, and 212 % over the fastest.
 *
 * The paper evaluates trees on the rows that they were learnt from. Cross-validation evaluates
 * every row with a tree that has not seen it; with --train and --test, training and test rows are
 * separate.
 *
 * Verdicts: is the tree useful on rows that it has not seen? A tree that is right more often than a
 * constant choice may still lose more time where it is wrong. So we compare the mean time over the
 * fastest (without times: the wrong choices) with that of the best constant of the training rows:
 * in cross-validation; on a device that the tree was not trained with; and in the rows of --test.
 * The random division of rows into folds matters: on the shipped table the mean over the fastest is
 * 2.2 to 5.4 % with ten seeds, so cross-validation is averaged over ten divisions. Without --test
 * the constant is evaluated on the rows that it was chosen by, which favours it slightly: it is one
 * of a handful, the tree one of thousands.
 *
 * Example: the shipped table without device edel loses 5.6 % on edel, always to-agg 2.0 %.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/train/train.h"

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

double train_loss(const void *train, uint32_t row, uint32_t class_)
{
	const struct train *t = train;

	return ju_time(t, row, t->time_of[class_]) / ju_fastest(t, row) - 1;
}

/* Add one choice: its class (or NONE) and the column of its times. */
static void ju_add(const struct train *t, uint32_t row, uint32_t class_, uint32_t column,
		   struct train_score *s)
{
	double took = ju_time(t, row, column), base = ju_time(t, row, t->base_time), change, over;

	s->rows++;
	s->correct += class_ == (uint32_t)sl_table_cell(&t->t, row, t->class_);
	if (!(took > 0)) /* unknown ones too */
		return;
	s->timed++;
	over = took / ju_fastest(t, row) - 1;
	s->over_mean += over;
	s->over_most = fmax(s->over_most, over);
	if (!(base > 0))
		return;
	s->based++;
	change = took / base - 1;
	if (change < -MUCH) {
		s->faster++;
		s->faster_mean += -change;
		s->faster_most = fmax(s->faster_most, -change);
	} else if (change > MUCH) {
		s->slower++;
		s->slower_mean += change;
		s->slower_most = fmax(s->slower_most, change);
	}
}

static void ju_end(struct train_score *s)
{
	s->faster_mean /= s->faster ? s->faster : 1;
	s->slower_mean /= s->slower ? s->slower : 1;
	s->over_mean /= s->timed ? s->timed : 1;
}

static void ju_always(const struct train *t, const struct train_rows *rows, const char *algorithm,
		      struct train_score *s)
{
	uint32_t class_ = sl_decision_value(&t->t.column[t->class_], algorithm);
	uint32_t column = ju_time_column(t, algorithm);

	memset(s, 0, sizeof(*s));
	snprintf(s->name, sizeof(s->name), "always %s", algorithm);
	for (uint32_t i = 0; i < rows->n; i++)
		ju_add(t, rows->row[i], class_, column, s);
	ju_end(s);
}

/* Score the choices for the test rows; guess NULL: the oracle. */
static void ju_guesses(const struct train *t, const uint32_t *guess, const char *name,
		       const char *more, struct train_score *s)
{
	memset(s, 0, sizeof(*s));
	snprintf(s->name, sizeof(s->name), "%s%s", name, more);
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
		ju_always(t, &t->test, "to", &s[n++]);
	for (uint32_t i = 0; i < c->values; i++)
		ju_always(t, &t->test, c->value[i], &s[n++]);
	for (uint32_t i = 0; i < t->trees; i++)
		ju_guesses(t, t->tree[i].guess, train_name(&t->tree[i]), "", &s[n++]);
	if (!t->held_out && chosen->cross)
		ju_guesses(t, chosen->cross, train_name(chosen), ", crossed", &s[n++]);
	if (!t->held_out && chosen->strange)
		ju_guesses(t, chosen->strange, train_name(chosen), ", new device", &s[n++]);
	ju_guesses(t, NULL, "oracle", "", &s[n++]);
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

/* ---- verdicts ---- */

/* Lower is better. NAN: not all rows have times, so the means are not comparable. */
static double ju_figure(const struct train_score *s, bool times)
{
	if (!times)
		return 1 - (double)s->correct / s->rows;
	return s->timed == s->rows ? s->over_mean : NAN;
}

/* The best constant of the training rows, and its score on the test rows. */
static bool ju_constant(const struct train *t, struct train_verdict *v)
{
	const struct sl_decision_attribute *c = &t->t.column[t->class_];
	uint32_t n = v->times ? t->t.columns : c->values;
	double best = INFINITY;
	struct train_score s;

	for (uint32_t i = 0; i < n; i++) {
		const char *name = v->times ? t->t.column[i].name + strlen("time_") : c->value[i];

		if (v->times && !train_is_time(&t->t.column[i]))
			continue;
		ju_always(t, &t->train, name, &s);
		if (!(ju_figure(&s, v->times) < best))
			continue;
		best = ju_figure(&s, v->times);
		snprintf(v->constant, sizeof(v->constant), "%s", name);
	}
	if (isinf(best))
		return false;
	ju_always(t, &t->test, v->constant, &s);
	v->other = ju_figure(&s, v->times);
	return !isnan(v->other);
}

/* The mean over several divisions, stored one after the other. */
static double ju_unseen(const struct train *t, const uint32_t *guess, uint32_t deals, bool times)
{
	struct train_score s;
	double sum = 0;

	for (uint32_t i = 0; i < deals; i++) {
		ju_guesses(t, guess + (size_t)i * t->test.n, "", "", &s);
		sum += ju_figure(&s, times);
	}
	return sum / deals;
}

const char *train_unseen(const struct train_verdict *v)
{
	return strcmp(v->rows, "new device") != 0 ? "that it has not seen"
						  : "of a device that it has not seen";
}

uint32_t train_verdicts(const struct train *t, struct train_verdict *v)
{
	const struct train_tree *tree = &t->tree[t->chosen];
	const struct {
		const char *rows;
		const uint32_t *guess;
		uint32_t times;
	} by[] = {
		{ "held out", t->held_out ? tree->guess : NULL, 1 },
		{ "crossed", t->held_out ? NULL : tree->cross, t->repeats },
		{ "new device", t->held_out ? NULL : tree->strange, 1 },
	};
	uint32_t n = 0;

	for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
		if (!by[i].guess)
			continue;
		v[n] = (struct train_verdict){ .rows = by[i].rows, .times = true };
		v[n].tree = ju_unseen(t, by[i].guess, by[i].times, true);
		if (isnan(v[n].tree) || !ju_constant(t, &v[n])) {
			v[n].times = false;
			v[n].tree = ju_unseen(t, by[i].guess, by[i].times, false);
			ju_constant(t, &v[n]);
		}
		n++;
	}
	return n;
}
