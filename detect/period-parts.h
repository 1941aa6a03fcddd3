/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the period detector; period.c puts them together. */
#ifndef SL_DETECT_PERIOD_PARTS_H
#define SL_DETECT_PERIOD_PARTS_H

#include "detect/period.h"

/* power[0 .. n/2] of a signal of n bins. See period-spectrum.c. */
void sl_spectrum_find(const float *power, size_t n, double bin_s, struct sl_period_spectrum *out);

#define SL_PHASES_FITS	 64
#define SL_PHASES_EVENTS 2048 /* starts of phases that are looked at, at a time */

struct sl_phases_work {
	float start[SL_PHASES_EVENTS], active[SL_PHASES_EVENTS];
	float volume[SL_PHASES_EVENTS], sorted[SL_PHASES_EVENTS];
};

/*
 * Regular starts of phases, at several resolutions. signal[n] is in units of its mean, less 1 or
 * not, and is overwritten. Returns how many fits there are, at most SL_PHASES_FITS; all of them
 * good enough. See period-phases.c.
 */
unsigned sl_phases_find(float *signal, size_t n, double bin_s, struct sl_phases_work *work,
			struct sl_period_phases *fits);

#endif
