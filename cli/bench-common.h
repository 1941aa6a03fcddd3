/* SPDX-License-Identifier: Apache-2.0 */
/* What the measurements of `sluice bench` share: figures, and the frame of their JSON. */
#ifndef SL_CLI_BENCH_COMMON_H
#define SL_CLI_BENCH_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

/* The median of n > 0 values, which are sorted for it. */
double bench_median(double *values, unsigned n);
/* To 1/parts: bench_rounded(1.26, 10) is 1.3. */
double bench_rounded(double value, double parts);

int64_t bench_cpu_ns(void); /* CPU time of this thread */
/*
 * Every word of the filter occurs among the words of the label, one with "=" as a whole. The label
 * begins and ends with a space.
 */
bool bench_holds(const char *label, const char *filter);

/* {"bench": NAME, "rows": [ to standard output; json_end() twice ends it. */
void bench_json_begin(struct json *j, const char *name);

#endif
