/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing model of a storage device: the completion time of a read or write that is sent now.
 *
 * Pure: time is an argument, everything is integers, so a run repeats to the nanosecond.
 * See device.c for the model and where its numbers come from.
 */
#ifndef SL_MODEL_DEVICE_H
#define SL_MODEL_DEVICE_H

#include "sluice.h"

#define SL_DEVICE_STREAMS 16
#define SL_DEVICE_DEPTH	  32

struct sl_device_model {
	const char *name, *summary;
	uint64_t bps[2];    /* bandwidth, by enum sl_op; not 0 */
	sl_time seek_ns[2]; /* cost if the operation does not continue a known stream; >= -op_ns */
	sl_time op_ns;	    /* fixed cost of every operation */
	uint32_t streams;   /* ends of streams the device remembers, 1 .. SL_DEVICE_STREAMS */
	uint32_t depth;	    /* operations it prepares at a time, 1 .. SL_DEVICE_DEPTH; 0: 1 */
};

struct sl_device {
	const struct sl_device_model *model; /* borrowed for the device's life */
	sl_time free_at;		     /* when all operations sent so far are done */
	sl_time busy_ns;		     /* time with anything to do */
	uint64_t ops, seeks, bytes;
	uint32_t known; /* streams in use */
	struct {
		uint64_t file, end;
	} stream[SL_DEVICE_STREAMS];   /* last used first */
	uint32_t slot;		       /* of the next operation in done[] */
	sl_time done[SL_DEVICE_DEPTH]; /* when the last `depth` operations are done: a ring */
};

/* The i-th preset, NULL after the last: hdd, raid, ssd, and the clusters of AGIOS. */
const struct sl_device_model *sl_device_preset(unsigned i);
const struct sl_device_model *sl_device_find(const char *name); /* or NULL */

void sl_device_init(struct sl_device *d, const struct sl_device_model *model);
/* Time of one operation on an idle device; bytes > 0. */
sl_time sl_device_cost_ns(const struct sl_device_model *m, uint32_t op, uint64_t bytes, int seek);
/*
 * An operation (bytes up to SL_MAX_LENGTH, on a device of at least 1 MB/s) is sent at `now`, which
 * never runs backwards; returns when it is done.
 */
sl_time sl_device_submit(struct sl_device *d, uint32_t op, uint64_t file, uint64_t offset,
			 uint64_t bytes, sl_time now);

#endif
