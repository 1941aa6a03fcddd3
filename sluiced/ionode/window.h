/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much may be in flight towards the backing store at once.
 *
 * A scheduler decides only over what waits in front of it. If the node passes everything on, the
 * queue builds up inside the file system and every policy is a no-op; if it passes on too little,
 * the device idles. So the number of batches in flight has a limit that is found by measurement:
 * the node goes to and fro between `low` and twice that, a few dozen batches each, and compares
 * the throughput. If twice as much in flight brings more than 3 % more, low grows by a quarter; if
 * it brings less than 1 % more, for some time, low shrinks by one. So the limit becomes what the
 * device can do at a time, and no more: 2 (the least) for one that does one thing after the other,
 * about 8 for one that does eight; and what it costs is known to be little, whatever the device and
 * whatever the reason for which more in flight is faster.
 *
 * Times would tell sooner than throughput (TCP Vegas), but the times of batches on a busy machine
 * are mostly those that threads wait for a CPU, and a limit drawn from them is too low by far.
 *
 * A shrink that has to be taken back at once is not tried again so soon: each time twice as many
 * comparisons have to ask for it, up to 64. A limit that nobody reaches says nothing, and stays.
 *
 * Pure: time is an argument. Example: low 4; with 4 in flight 1000 MB/s, with 8 1200: 5. Later low
 * is 8; with 8 1600 MB/s, with 16 1605, four times in a row: 7.
 */
#ifndef SL_SLUICED_IONODE_WINDOW_H
#define SL_SLUICED_IONODE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice.h"

#define WINDOW_MIN 2
#define WINDOW_MAX 64

struct window {
	uint32_t limit; /* batches, now: low or twice that */
	bool fixed;	/* as it was given */
	uint32_t low;
	/* The stretch under way. */
	bool high;	/* at twice low */
	uint32_t skip;	/* batches until the change has taken effect */
	uint32_t count; /* batches since then */
	uint32_t full;	/* of these, with as many in flight as may be */
	uint64_t work;	/* bytes, and so many for each batch */
	sl_time since;	/* its begin */
	/* The comparison under way, by `high`. */
	uint32_t stretches;
	uint64_t done[2]; /* work */
	sl_time took_ns[2];
	/* Votes for less. */
	uint32_t votes, needed;
	bool shrunk; /* by the last one that changed anything */
};

void window_init(struct window *w, uint32_t fixed); /* 0: find it */
/* A batch of so many bytes came back; others are still in flight. */
void window_measure(struct window *w, uint64_t bytes, uint32_t others, sl_time now);

#endif
