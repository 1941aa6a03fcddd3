/* SPDX-License-Identifier: Apache-2.0 */
/* The measures of a run, as the papers define them. See metrics.c. */
#ifndef SL_SIM_METRICS_H
#define SL_SIM_METRICS_H

#include "sim/phase.h"

/* The progress of one application at a point of time: parts of an iteration count. */
struct sl_sim_progress {
	double compute_s, bytes;
	double io_s; /* what these bytes would have taken alone: alone.c */
};

/* All that is measured of one application. */
struct sl_sim_account {
	uint32_t procs;
	double release_s, end_s;
	uint64_t iterations;			/* that have ended */
	struct sl_sim_progress from, to, total; /* when the window began and ended; at end_s */
	double paper_io_s; /* I/O alone in the window, as Barthélemy et al. 2024 counts it:
			      sl_paper_part() */
	struct sl_sim_found found;
};

/* The part of an I/O phase from begin_s to end_s that counts with SL_WINDOW_PAPER. */
double sl_paper_part(double of, double begin_s, double end_s, double from_s, double to_s);

/*
 * Everything of `out` but end_s, wall_s and events. procs: N, or 0 for what the n applications use
 * together; to_s: not 0. apps: n of them, or NULL.
 */
void sl_metrics(const struct sl_sim_account *accounts, uint32_t n, uint64_t procs, double from_s,
		double to_s, enum sl_window_mode mode, struct sl_sim_metrics *out,
		struct sl_sim_app_metrics *apps);

#endif
