/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phase-level simulator: a scenario under one grant policy, event by event, with no time
 * step. See phase.c for the model and for how exact it is, metrics.c for the measures.
 */
#ifndef SL_SIM_PHASE_H
#define SL_SIM_PHASE_H

#include "sim/scenario.h"

enum sl_window_mode {
	SL_WINDOW_EXACT, /* the bytes really moved inside the window count */
	SL_WINDOW_PAPER, /* as Barthélemy et al. 2024: of a phase that crosses an end, pro rata by
			    its mean */
};

enum sl_activity { SL_COMPUTES, SL_TRANSFERS, SL_STALLED };

/*
 * Called with each activity of an application, in order of `to_s`. rate: mean bytes per second, 0
 * unless transferring.
 */
struct sl_phase_sink {
	void (*segment)(void *arg, uint32_t app, enum sl_activity what, double from_s, double to_s,
			double rate_bps);
	void *arg;
	/* Called with the bytes that an I/O server took between two events; may be NULL. */
	void (*moved)(void *arg, double from_s, double to_s, double bytes);
};

struct sl_sim_metrics {
	/* Gainaru et al. 2014, section 2.2: over the whole run */
	double sys_efficiency, upper_limit, dilation;
	/* Barthélemy et al. 2024, section 4.3: over the window */
	double max_stretch, geomean_stretch, io_slowdown, utilization;
	double end_s;	 /* virtual time of the last event */
	double wall_s;	 /* what it took to compute */
	uint64_t events; /* starts and ends of I/O phases */
};

/* A period that was detected online. */
struct sl_sim_found {
	double period_s, confidence;
	double first_s; /* when one was found first */
};

/* Measures of one application, in the order of the scenario. NAN: it has done too little. */
struct sl_sim_app_metrics {
	double efficiency, dilation, stretch, io_slowdown;
	uint64_t iterations;
	double bytes;
	double end_s;		   /* virtual time at which it left */
	struct sl_sim_found found; /* with `detect` */
};

struct sl_phase_options {
	const char *policy; /* spec of a grant policy: "fair-share", "min-max,gamma=50" */
	uint64_t seed;	    /* of the distributions: equal seeds, equal workload */
	enum sl_window_mode window;
	const struct sl_phase_sink *sink; /* may be NULL */
	bool detect; /* periods, as the controller does, instead of telling those of the scenario */
	bool ask;    /* the policy, even if it is fair and its rates can be had faster; for tests */
};

/*
 * apps: n_apps entries, or NULL. 0, or -errno with a message in err. Many threads may run the
 * same scenario.
 */
int sl_phase_run(const struct sl_scenario *s, const struct sl_phase_options *options,
		 struct sl_sim_metrics *out, struct sl_sim_app_metrics *apps, char *err,
		 size_t err_size);

#endif
