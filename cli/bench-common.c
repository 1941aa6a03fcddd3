/* SPDX-License-Identifier: Apache-2.0 */
/* What the measurements share: see bench-common.h. */
#include "cli/bench-common.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, unsigned n)
{
	qsort(values, n, sizeof(*values), by_value);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double bench_rounded(double value, double parts)
{
	return round(value * parts) / parts;
}

void bench_json_begin(struct json *j, const char *name)
{
	json_begin(j, stdout);
	json_object(j, NULL);
	json_string(j, "bench", name);
	json_array(j, "rows");
}
