/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of the phase-level simulator in the middle of a run. See machine.c; phase.c runs it.
 */
#ifndef SL_SIM_MACHINE_H
#define SL_SIM_MACHINE_H

#include "base/ds/heap.h"
#include "sim/alone.h"
#include "sim/metrics.h"
#include "sim/random.h"
#include "sim/server.h"

enum sl_app_state { SL_APP_NOT_YET, SL_APP_COMPUTES, SL_APP_IN_IO, SL_APP_GONE };

/*
 * The data of an application that an event accesses: one cache line, and a second one if it varies.
 * With many applications, fetching these lines dominates the time of an event.
 */
struct sl_machine_app {
	double since_s;		    /* of this state */
	double compute_s, bytes;    /* of this iteration */
	double work_s, moved_bytes; /* in iterations that have ended */
	uint64_t left;		    /* iterations, with this one */
	struct sl_random random;
	enum sl_app_state state;
	bool constant; /* compute_s and bytes are those of every iteration */
	bool lists;    /* they are in lists, by the number of the iteration */
	/* From here on the second line; borrowed from the scenario. */
	struct sl_vary draw_compute_s, draw_bytes;
};

struct sl_machine {
	const struct sl_scenario *s;
	const struct sl_phase_options *options;
	struct sl_machine_app *run;
	struct sl_sim_account *account;
	struct sl_alone *alone;
	bool buffer;	      /* the platform has one: `alone` is followed */
	struct sl_heap timer; /* of applications that compute or are not there yet */
	struct sl_server *server;
	struct sl_heap due; /* servers, by their next events */
	uint32_t *touched;  /* servers to settle at this event */
	uint32_t n_servers, n_touched;
	uint32_t there;	   /* applications that have not gone */
	uint64_t procs;	   /* of those that are there */
	uint32_t crossing; /* I/O phases over the end of the window that are to be waited for */
	double now_s, to_s;
	uint64_t events;
	uint64_t spins; /* since spun_s */
	double spun_s;
	char *err;
	size_t err_size;
};

/* Process all that happens at now_s. 0, or a negative errno with a message in err. */
int sl_machine_event(struct sl_machine *m);
/* The application ends now; settle() once all that do so have. */
void sl_machine_gone(struct sl_machine *m, uint32_t app);
int sl_machine_settle(struct sl_machine *m);
/* The progress of the application, at a time up to the next event. */
struct sl_sim_progress sl_machine_progress(const struct sl_machine *m, uint32_t app, double at_s);
/* Tells the sink, if there is one, what it did since since_s. */
void sl_machine_segment(const struct sl_machine *m, uint32_t app, enum sl_activity what,
			double bytes);
/* A message with the time into err; returns rc. */
int sl_machine_wrong(struct sl_machine *m, int rc, const char *what);

#endif
