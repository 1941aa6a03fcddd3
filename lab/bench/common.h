/* SPDX-License-Identifier: Apache-2.0 */
/* What the measurements of `sluice bench` share: figures, and the frame of their JSON. */
#ifndef SL_LAB_BENCH_COMMON_H
#define SL_LAB_BENCH_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

/* The ways programs can reach a layer, as of `sluice run --mode`: the default first, NULL last. */
#define BENCH_MODES 2
extern const char *const bench_modes[BENCH_MODES + 1];

/* To 1/parts: bench_rounded(1.26, 10) is 1.3. */
double bench_rounded(double value, double parts);

int64_t bench_cpu_ns(void); /* CPU time of this thread */
/*
 * Every word of the filter occurs among the words of the label, one with "=" as a whole. The label
 * begins and ends with a space.
 */
bool bench_holds(const char *label, const char *filter);

/*
 * Of --rows LIST: a bit for each of `names` (NULL at the end) that the list has, words with commas
 * between them; list NULL: all. Wrong words are reported; returns an exit status.
 */
int bench_rows(const char *cmd, const char *list, const char *const *names, unsigned *bits);

/* {"bench": NAME, "rows": [ to standard output; json_end() twice ends it. */
void bench_json_begin(struct json *j, const char *name);

#endif
