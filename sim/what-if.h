/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if: jobs that were seen, as a scenario for `sluice sim`. The dashboard makes it of the jobs
 * that run now, `sluice report --what-if` of those of an account.
 *
 * A job is an application of the phase-level simulator: it computes for the mean time between its
 * I/O phases, then moves their mean volume. Pure.
 */
#ifndef SL_SIM_WHAT_IF_H
#define SL_SIM_WHAT_IF_H

#include <stddef.h>

struct what_if_job {
	const char *name;
	double procs, compute_s, bytes; /* bytes: of a phase */
};

/* From one phase to the next, alone on the machine. */
double what_if_period_s(const struct what_if_job *job, double bandwidth_bps);
/* The scenario as text, to be freed; NULL: no memory. At least one job. */
char *what_if_scenario(const struct what_if_job *job, size_t jobs, double bandwidth_bps);

#endif
