/* SPDX-License-Identifier: Apache-2.0 */
/* Code that the measurements of `sluice bench` share: figures, and the frame of their JSON. */
#ifndef SL_LAB_BENCH_COMMON_H
#define SL_LAB_BENCH_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

/* The values of `sluice run --mode`: the default first, NULL last. */
#define BENCH_MODES 2
extern const char *const bench_modes[BENCH_MODES + 1];

/* Round to 1/parts: bench_rounded(1.26, 10) is 1.3. */
double bench_rounded(double value, double parts);

int64_t bench_cpu_ns(void); /* CPU time of this thread */
/*
 * Whether the label contains every word of the filter; a word with "=" must match as a whole. The
 * label begins and ends with a space.
 */
bool bench_holds(const char *label, const char *filter);

/*
 * Parse --rows LIST, words separated by commas: sets a bit for each of `names` (NULL at the end) in
 * the list; list NULL: all. Errors are printed; returns an exit status.
 */
int bench_rows(const char *cmd, const char *list, const char *const *names, unsigned *bits);

/* {"bench": NAME, "rows": [ to standard output; json_end() twice ends it. */
void bench_json_begin(struct json *j, const char *name);

#endif
