/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much may be in flight towards the backing store at once.
 *
 * A scheduler decides only over what waits in front of it. If the node passes everything on, the
 * queue builds up inside the file system and every policy is a no-op; if it passes on too little,
 * the device idles. So the number of batches in flight has a limit that is found by measurement,
 * as TCP Vegas finds its own: the time of a batch when little is in flight is the base; while
 * batches take less than 3 times that, one more is allowed; when they take more than 5 times that,
 * only the queue has grown, and one less is. On a device that does one thing at a time this settles
 * at 6, enough to keep it busy; on one that does eight, at 24.
 *
 * The base has to be measured with little in flight, not with what happens to be there: a base
 * that follows the times upwards follows the queue, and the limit follows it to the end. So now and
 * then the limit is WINDOW_MIN for as long as it takes what is in flight to come back and 16 more
 * (as BBR does for its round-trip time). That is done every 512 batches for each one that may be in
 * flight, and so costs less than 1 % whatever the device. The least of the last WINDOW_BASES is the
 * base: devices, and whatever else runs on this machine, have hiccups.
 *
 * A limit that nobody reaches says nothing, and stays.
 *
 * Pure. Example: base 1 ms; with 4 in flight batches take 1.2 ms: 5 may; with 30 they take 5.1 ms:
 * 29.
 */
#ifndef SL_IONODE_WINDOW_H
#define SL_IONODE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice.h"

#define WINDOW_MIN   2
#define WINDOW_MAX   64
#define WINDOW_BASES 4

struct window {
	uint32_t limit;	 /* batches */
	bool fixed;	 /* as it was given */
	uint32_t count;	 /* measured since the last step */
	uint32_t full;	 /* of these, with as many in flight as may be */
	sl_time sum_ns;	 /* of their times, for 64 KiB each */
	sl_time mean_ns; /* of the last steps */
	sl_time base_ns; /* 0: not known */
	/* Measuring the base. */
	sl_time bases[WINDOW_BASES];
	uint32_t next;
	uint32_t batches; /* since it was done last */
	uint32_t resume;  /* limit to go on with; 0: not measuring */
	uint32_t skip;	  /* of those that were in flight already, still to come */
};

void window_init(struct window *w, uint32_t fixed); /* 0: find it */
/* A batch of so many bytes was in flight for so long; others still are. */
void window_measure(struct window *w, uint64_t bytes, sl_time took_ns, uint32_t others);

#endif
