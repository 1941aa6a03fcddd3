/* SPDX-License-Identifier: Apache-2.0 */
/* Medians, quantiles and confidence intervals of the studies and measurements. */
#ifndef SL_LAB_STATISTICS_H
#define SL_LAB_STATISTICS_H

#include <stdint.h>

/* In ascending order. */
void stat_sort(double *values, uint32_t n);
/* The median of n > 0 values, which are sorted for it. */
double stat_median(double *values, unsigned n);
/*
 * The 95 % interval of the median of n values that stat_median() has sorted, by order statistics:
 * whatever their distribution is. With fewer than 6 values it is all of them, and less certain.
 */
void stat_median_interval(const double *sorted, unsigned n, double *low, double *high);
/* Quantile of |t|, Student's with `freedom` >= 1: it is below with that probability. */
double stat_student(uint32_t freedom, double probability);

#endif
