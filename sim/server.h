/* SPDX-License-Identifier: Apache-2.0 */
/* One I/O server of the phase-level simulator: its transfers, and its burst buffer. See server.c.
 */
#ifndef SL_SIM_SERVER_H
#define SL_SIM_SERVER_H

#include "sim/fluid.h"
#include "sim/granted.h"

struct sl_server {
	struct sl_fluid *fluid; /* of these two, one */
	struct sl_granted *granted;
	double drain_bps, fill_bps, buffer_bytes;
	double level_bytes;		  /* of the buffer */
	double moved_bytes, since_s;	  /* kept for the buffer and the sink only */
	const struct sl_phase_sink *sink; /* NULL: nobody wants to know what was moved */
	double next_s;
	bool full;
	bool touched; /* for its user */
};

/*
 * part: of how many servers it is one. fair: without the policy, whose rates would be the same.
 * 0 or -ENOMEM.
 */
int sl_server_create(struct sl_server *v, const struct sl_platform *p, uint32_t part,
		     const struct sl_spec *policy, bool fair, const struct sl_granted_app *apps,
		     uint32_t n, bool detect, const struct sl_phase_sink *sink);
void sl_server_destroy(struct sl_server *v);

/* As in granted.h. */
void sl_server_join(struct sl_server *v, uint32_t app);
void sl_server_leave(struct sl_server *v, uint32_t app, double now_s);
void sl_server_start(struct sl_server *v, uint32_t app, double compute_s, double bytes,
		     struct sl_granted_past past, double now_s);
void sl_server_advance(struct sl_server *v, double now_s);
uint32_t sl_server_end(struct sl_server *v);
int sl_server_settle(struct sl_server *v, double now_s); /* sets next_s */
struct sl_sim_found sl_server_found(const struct sl_server *v, uint32_t app);
double sl_server_left_bytes(const struct sl_server *v, uint32_t app, double now_s);

#endif
