/* SPDX-License-Identifier: Apache-2.0 */
/* The time of an application's I/O alone on the machine, with its burst buffer. See alone.c. */
#ifndef SL_SIM_ALONE_H
#define SL_SIM_ALONE_H

#include "sim/scenario.h"

struct sl_alone {
	double cap_bps;	     /* of the application: what it can use */
	double drain_bps;    /* of the buffer, to the disks */
	double buffer_bytes; /* 0: there is none, and cap_bps is at most drain_bps */
	double level_bytes;  /* in the buffer when the last I/O phase ended */
	double io_s;	     /* all I/O phases that have ended */
};

/* At its release, with nothing in the buffer. */
struct sl_alone sl_alone_at_release(const struct sl_platform *p, const struct sl_app *a);
/* Seconds of the I/O phase that follows compute_s of computing, or of its first `bytes`. */
double sl_alone_phase_s(const struct sl_alone *a, double compute_s, double bytes);
/* The phase has ended. */
void sl_alone_ended(struct sl_alone *a, double compute_s, double bytes);

#endif
