/* SPDX-License-Identifier: Apache-2.0 */
/* See statistics.h. */
#include "lab/statistics.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void stat_sort(double *values, uint32_t n)
{
	qsort(values, n, sizeof(*values), by_value);
}

double stat_median(double *values, unsigned n)
{
	stat_sort(values, n);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void stat_median_interval(const double *sorted, unsigned n, double *low, double *high)
{
	/* The number of values below the median is binomial (n, 1/2); 2.5 % are left on each side.
	 */
	double term = pow(0.5, n), below = term;
	unsigned k = 0;

	while (k + 1 < n / 2 && below + term * (n - k) / (k + 1) <= 0.025) {
		term *= (double)(n - k) / (k + 1);
		below += term;
		k++;
	}
	*low = sorted[k];
	*high = sorted[n - 1 - k];
}

/*
 * Abramowitz and Stegun, 26.7.3 and 26.7.4: with theta = atan(t / sqrt(v)), the probability of
 * |T| < t is a finite sum of powers of cos(theta). It grows with theta, so that the quantile is
 * found by halving.
 */
static double student_within(uint32_t v, double theta)
{
	double s = sin(theta), c = cos(theta), term = v % 2 ? c : 1, sum = 0;

	for (uint32_t k = v % 2 ? 3 : 2; k <= v; k += 2) {
		sum += term;
		term *= c * c * (k - 1) / k;
	}
	return v % 2 ? 2 / M_PI * (theta + s * sum) : s * sum;
}

double stat_student(uint32_t freedom, double probability)
{
	double low = 0, high = M_PI / 2;

	for (int i = 0; i < 100; i++) {
		double theta = (low + high) / 2;

		if (student_within(freedom, theta) < probability)
			low = theta;
		else
			high = theta;
	}
	return tan(low) * sqrt(freedom);
}
