/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers of one I/O server, at the rates that a grant policy decides. See granted.c; fluid.h has
 * the same calls for max-min fairness, which needs no policy.
 *
 * Applications are numbers, 0 .. n-1 of this server. At any time t, in this order: advance(t),
 * end() until there is none, any starts, settle(t).
 */
#ifndef SL_SIM_GRANTED_H
#define SL_SIM_GRANTED_H

#include "sched/spec.h"
#include "sim/phase.h"

#define SL_NO_TRANSFER UINT32_MAX

struct sl_granted;

/* An application, copied; numbers as in the scenario. */
struct sl_granted_app {
	uint64_t job;
	uint32_t procs;
	double cap_bps; /* INFINITY: as much as there is */
	double release_s, period_s;
	double compute_s, bytes; /* means, for plans */
};

/*
 * detect: the policy is told the periods that are found in what is moved, and not period_s. On
 * failure *g is NULL, and -ENOMEM.
 */
int sl_granted_create(struct sl_granted **g, const struct sl_spec *policy,
		      const struct sl_granted_app *apps, uint32_t n, double restart_s, bool detect,
		      const struct sl_phase_sink *sink);
void sl_granted_destroy(struct sl_granted *g);

void sl_granted_capacity(struct sl_granted *g, double bps); /* from the next settle() on */
/* The application comes to the machine, and leaves it (its transfer, if any, is given up). */
void sl_granted_join(struct sl_granted *g, uint32_t app);
void sl_granted_leave(struct sl_granted *g, uint32_t app, double now_s);

/* Sums over the instances that have ended, for the policy. */
struct sl_granted_past {
	uint64_t ended;
	double work_s, alone_s;
};
void sl_granted_start(struct sl_granted *g, uint32_t app, double compute_s, double bytes,
		      struct sl_granted_past past, double now_s);
void sl_granted_advance(struct sl_granted *g, double now_s);
uint32_t sl_granted_end(struct sl_granted *g); /* that has ended, or SL_NO_TRANSFER */
/* Asks the policy. 0, or a negative errno with which planning has failed. */
int sl_granted_settle(struct sl_granted *g, double now_s);

double sl_granted_next_s(const struct sl_granted *g); /* next end or decision; INFINITY: none */
/*
 * Of all together: granted now, of these without those that restart, until the first of them is
 * through with that, or INFINITY; and moved until the last advance().
 */
double sl_granted_rate_bps(const struct sl_granted *g);
double sl_granted_moving_bps(const struct sl_granted *g);
double sl_granted_moves_s(const struct sl_granted *g);
double sl_granted_moved_bytes(const struct sl_granted *g);
/* With detect: what was found last of the application. All 0: nothing. */
struct sl_sim_found sl_granted_found(const struct sl_granted *g, uint32_t app);
/* Progress of a transfer; between advance(t) calls, at any later time before next_s(). */
double sl_granted_left_bytes(const struct sl_granted *g, uint32_t app, double now_s);

#endif
