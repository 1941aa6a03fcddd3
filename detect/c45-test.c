/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How C4.5 chooses a test (Quinlan 1993, chapter 2; of numbers: JAIR 4, 1996), as J48 does it.
 *
 * At a node with cases of several classes, every attribute is tried as a test:
 *
 *	gain   = known/all * (entropy(classes) - sum over branches of share * entropy(branch))
 *	split  = entropy of the shares of the branches, the unknown values being one more
 *	ratio  = gain / split
 *
 * and the test with the largest ratio is taken, of those whose gain is at least the mean of all
 * tests with a gain (an attribute with nearly as many values as there are cases does not count in
 * that mean). A test must send `smallest` cases at least into two branches. Numbers are tested for
 * <= threshold: the threshold with the largest gain, of which log2(candidates)/cases is taken off
 * (release 8); a tenth of the cases of a class, up to 25, must be on either side. The threshold is
 * the greatest value in the table that is not above the middle between two neighbours.
 *
 * Example, the 14 days of "play tennis": 9 yes, 5 no, entropy 0.940. outlook (5 sunny: 2 yes; 4
 * overcast: 4 yes; 5 rain: 3 yes) leaves 0.694: gain 0.247, split 1.577, ratio 0.156; humidity
 * 0.152, ratio 0.152; wind 0.048, 0.049; temperature 0.029, 0.019. The mean gain is 0.119: outlook
 * and humidity are in the choice, outlook is taken.
 *
 * O(attributes * cases * log(cases)) for each node.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect/c45-node.h"

#define MOST_SIDE 25.0 /* cases that a threshold must leave on either side, at most */
#define NEAR_MEAN 1e-3
#define SAME	  1e-5 /* values as near as this cannot be told apart */

/* x log2 x, of which entropies are made: entropy(a, b) * (a + b) = f(a + b) - f(a) - f(b). */
static double ct_f(double x)
{
	return x < C45_TINY ? 0 : x * log2(x);
}

/* Entropy times weight. */
static double ct_entropy(const double *x, uint32_t n)
{
	double sum = 0, all = 0;

	for (uint32_t i = 0; i < n; i++) {
		sum += ct_f(x[i]);
		all += x[i];
	}
	return ct_f(all) - sum;
}

/* ---- tests ---- */

/* What the test with these bags is worth, of all cases here; before: entropy of those known. */
static double ct_gain(const double *bag, uint32_t branches, uint32_t classes, double before,
		      double all)
{
	double after = 0, known = c45_sum(bag, branches * classes), gain;

	for (uint32_t i = 0; i < branches; i++)
		after += ct_entropy(&bag[i * classes], classes);
	gain = known / all * (before - after);
	return gain < C45_TINY ? 0 : gain / known;
}

static double ct_ratio(const double *bag, uint32_t branches, uint32_t classes, double gain,
		       double all)
{
	double split = ct_f(all), known = 0;

	for (uint32_t i = 0; i < branches; i++) {
		double n = c45_sum(&bag[i * classes], classes);

		known += n;
		split -= ct_f(n);
	}
	split -= ct_f(all - known);
	return split / all < C45_TINY ? 0 : gain / (split / all);
}

static void ct_try_values(struct c45 *c, const struct c45_cases *cases, double all, double *bag,
			  struct c45_test *t)
{
	uint32_t values = c45_values(c, t->attribute), enough = 0;
	double *classes = &bag[values * c->classes];

	memset(bag, 0, (values + 1) * c->classes * sizeof(bag[0]));
	for (uint32_t i = 0; i < cases->n; i++) {
		double v = c45_value(c, t->attribute, cases->c[i].row);
		uint32_t class_ = c45_class(c, cases->c[i].row);

		if (isnan(v))
			continue;
		bag[(uint32_t)v * c->classes + class_] += cases->c[i].weight;
		classes[class_] += cases->c[i].weight;
	}
	for (uint32_t i = 0; i < values; i++)
		enough += c45_sum(&bag[i * c->classes], c->classes) >= c->smallest - C45_TINY;
	if (enough < 2)
		return;
	t->branches = values;
	t->gain = ct_gain(bag, values, c->classes, ct_entropy(classes, c->classes), all);
	t->ratio = ct_ratio(bag, values, c->classes, t->gain, all);
}

struct number {
	double value, weight;
	uint32_t class_;
};

static int ct_by_value(const void *a, const void *b)
{
	const struct number *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* bag: 2 * classes; sorted: room for all cases. */
static void ct_try_thresholds(struct c45 *c, const struct c45_cases *cases, double all, double *bag,
			      struct number *sorted, struct c45_test *t)
{
	double *below = bag, *above = &bag[c->classes], *best = &bag[2 * (size_t)c->classes];
	double known, least, before, weight_below = 0;
	uint32_t n = 0, at = 0, candidates = 0;

	memset(bag, 0, 4 * (size_t)c->classes * sizeof(bag[0]));
	for (uint32_t i = 0; i < cases->n; i++) {
		double v = c45_value(c, t->attribute, cases->c[i].row);
		uint32_t class_ = c45_class(c, cases->c[i].row);

		if (isnan(v))
			continue;
		sorted[n++] = (struct number){ v, cases->c[i].weight, class_ };
		above[class_] += cases->c[i].weight;
	}
	known = c45_sum(above, c->classes);
	least = 0.1 * known / c->classes;
	least = least <= c->smallest ? c->smallest : least > MOST_SIDE ? MOST_SIDE : least;
	if (n < 2 * least)
		return;
	qsort(sorted, n, sizeof(sorted[0]), ct_by_value);
	before = ct_entropy(above, c->classes);
	for (uint32_t i = 0; i + 1 < n; i++) {
		double gain;

		below[sorted[i].class_] += sorted[i].weight;
		above[sorted[i].class_] -= sorted[i].weight;
		weight_below += sorted[i].weight;
		if (sorted[i].value + SAME >= sorted[i + 1].value ||
		    weight_below < least - C45_TINY || known - weight_below < least - C45_TINY)
			continue;
		candidates++;
		gain = ct_gain(bag, 2, c->classes, before, all);
		if (gain > t->gain + C45_TINY) {
			t->gain = gain;
			at = i;
			memcpy(best, bag, 2 * (size_t)c->classes * sizeof(bag[0]));
		}
	}
	if (!candidates)
		return;
	t->gain -= log2(candidates) / all;
	if (t->gain <= C45_TINY)
		return;
	t->branches = 2;
	t->threshold = sorted[at].value + (sorted[at + 1].value - sorted[at].value) / 2;
	if (t->threshold >= sorted[at + 1].value)
		t->threshold = sorted[at].value;
	t->ratio = ct_ratio(best, 2, c->classes, t->gain, all);
}

/* The greatest value there is that is not above the threshold. */
static double ct_real_threshold(const struct c45 *c, const struct c45_test *t)
{
	double best = -INFINITY;

	for (uint32_t i = 0; i < c->all; i++) {
		double v = c45_value(c, t->attribute, c->row[i]);

		if (v > best && v <= t->threshold)
			best = v;
	}
	return best;
}

/* Does it have so many values that its gain means little? */
static bool ct_many_values(const struct c45 *c, uint32_t attribute)
{
	uint32_t values = c45_values(c, attribute);

	return values && values >= 0.3 * c->all;
}

void c45_best_test(struct c45 *c, const struct c45_cases *cases, double all, struct c45_test *best)
{
	uint32_t n = c->task->attributes, widest = 4, useful = 0;
	struct c45_test *test = calloc(n ? n : 1, sizeof(*test));
	struct number *sorted = malloc(cases->n * sizeof(*sorted));
	double mean = 0, *bag;
	bool all_many = true;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t values = c45_values(c, i);

		widest = values + 1 > widest ? values + 1 : widest;
		all_many = all_many && ct_many_values(c, i);
	}
	bag = malloc(widest * (size_t)c->classes * sizeof(*bag));
	best->branches = 0;
	c->failed = c->failed || !test || !sorted || !bag;
	for (uint32_t i = 0; i < n && !c->failed; i++) {
		test[i].attribute = i;
		if (c45_values(c, i))
			ct_try_values(c, cases, all, bag, &test[i]);
		else
			ct_try_thresholds(c, cases, all, bag, sorted, &test[i]);
		if (test[i].branches && (all_many || !ct_many_values(c, i))) {
			mean += test[i].gain;
			useful++;
		}
	}
	for (uint32_t i = 0; i < n && useful && !c->failed; i++)
		if (test[i].branches && test[i].gain >= mean / useful - NEAR_MEAN &&
		    test[i].ratio > (best->branches ? best->ratio : 0) + C45_TINY)
			*best = test[i];
	if (best->branches && !c45_values(c, best->attribute))
		best->threshold = ct_real_threshold(c, best);
	free(test);
	free(sorted);
	free(bag);
}
