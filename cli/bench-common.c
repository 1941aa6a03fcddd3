/* SPDX-License-Identifier: Apache-2.0 */
/* What the measurements share: see bench-common.h. */
#include "cli/bench-common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

int64_t bench_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

bool bench_holds(const char *label, const char *filter)
{
	char word[64];

	while (*(filter += strspn(filter, " "))) {
		size_t n = strcspn(filter, " ");
		bool whole = memchr(filter, '=', n);

		if (n > sizeof(word) - 3)
			return false;
		snprintf(word, sizeof(word), "%s%.*s%s", whole ? " " : "", (int)n, filter,
			 whole ? " " : "");
		if (!strstr(label, word))
			return false;
		filter += n;
	}
	return true;
}

void bench_json_begin(struct json *j, const char *name)
{
	json_begin(j, stdout);
	json_object(j, NULL);
	json_string(j, "bench", name);
	json_array(j, "rows");
}
