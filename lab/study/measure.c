/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measures of `sluice sim`, and their means over the repetitions.
 *
 * The confidence interval of a mean of n values is +- t * s / sqrt(n), with the sample's
 * standard deviation s and t from Student's distribution with n - 1 degrees of freedom:
 *
 *	1, 2, 6:  mean 3, s = 2.6458, t = 4.3027, interval 3 +- 6.5724
 */
#include "lab/study/sim.h"
#include "lab/statistics.h"

#include <math.h>

const struct sim_measure_info sim_measures[SIM_MEASURES] = {
	[SIM_SYS_EFFICIENCY] = { "sys_efficiency", "sys eff",
				 "share of the processors' time that is computing", 1 },
	[SIM_UPPER_LIMIT] = { "upper_limit", "limit",
			      "value of sys eff if each application were alone", 0 },
	[SIM_DILATION] = { "dilation", "dilation",
			   "run time over that alone, of the worst application", -1 },
	[SIM_MAX_STRETCH] = { "max_stretch", "max str",
			      "time over what the work done takes alone, in the window: the worst",
			      -1 },
	[SIM_GEOMEAN_STRETCH] = { "geomean_stretch", "geo str",
				  "the same: geometric mean of the applications", -1 },
	[SIM_IO_SLOWDOWN] = { "io_slowdown", "io slow",
			      "time not computing over that of the I/O alone: geometric mean", -1 },
	[SIM_UTILIZATION] = { "utilization", "util",
			      "share of the processors' time in the window that is computing", 1 },
};

double sim_value(const struct sl_sim_metrics *m, enum sim_measure which)
{
	switch (which) {
	case SIM_SYS_EFFICIENCY:
		return m->sys_efficiency;
	case SIM_UPPER_LIMIT:
		return m->upper_limit;
	case SIM_DILATION:
		return m->dilation;
	case SIM_MAX_STRETCH:
		return m->max_stretch;
	case SIM_GEOMEAN_STRETCH:
		return m->geomean_stretch;
	case SIM_IO_SLOWDOWN:
		return m->io_slowdown;
	case SIM_UTILIZATION:
		return m->utilization;
	case SIM_MEASURES:
		break;
	}
	return NAN;
}

struct sim_estimate sim_estimate(const double *values, uint32_t n)
{
	struct sim_estimate e = { NAN, NAN };
	double sum = 0, squares = 0;
	uint32_t known = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (isnan(values[i]))
			continue;
		sum += values[i];
		known++;
	}
	if (!known)
		return e;
	e.mean = sum / known;
	if (known < 2 || !isfinite(e.mean))
		return e;
	for (uint32_t i = 0; i < n; i++)
		if (!isnan(values[i]))
			squares += (values[i] - e.mean) * (values[i] - e.mean);
	e.ci95 = stat_student(known - 1, 0.95) * sqrt(squares / (known - 1) / known);
	return e;
}
