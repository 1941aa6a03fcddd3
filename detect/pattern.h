/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the requests of a stream (a job, or all that a node gets) look like: contiguous, 1D-strided
 * or random, small or large, on how many files. From the last few hundred requests of each process
 * in each file; see pattern.c.
 *
 * Pure: time is an argument, memory is the caller's, nothing else is touched.
 *
 *	struct sl_access_conf conf = { .large_bytes = 32768 };
 *	struct sl_access *a = sl_access_init(malloc(sl_access_bytes(&conf)), &conf);
 *	sl_access_add(a, &request, now);        each request, as it arrives
 *	sl_access_get(a, &pattern);             now and then
 */
#ifndef SL_DETECT_PATTERN_H
#define SL_DETECT_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

#define SL_ACCESS_TRACKS      128U /* by default: 20 KiB a stream */
#define SL_ACCESS_TRACKS_MAX  65536U
#define SL_ACCESS_LARGE_BYTES 32768U /* by default: AGIOS's stripe */

struct sl_access_conf {
	uint32_t tracks;	 /* (file, process) pairs watched at a time; 0: the default */
	uint64_t large_bytes;	 /* a call of so much is large; 0: the default */
	uint64_t transfer_bytes; /* calls come in pieces of so much; 0: in one */
};

enum sl_access_spatial {
	SL_ACCESS_UNKNOWN, /* too few requests yet */
	SL_ACCESS_CONTIGUOUS,
	SL_ACCESS_STRIDED,
	SL_ACCESS_RANDOM,
	SL_ACCESS_SPATIALS
};
enum sl_access_size { SL_ACCESS_NO_SIZE, SL_ACCESS_SMALL, SL_ACCESS_LARGE };

struct sl_access_pattern {
	enum sl_access_spatial spatial; /* of most files */
	enum sl_access_size size;	/* of most files */
	uint32_t op;			/* enum sl_op: of most requests */
	uint32_t files; /* in use: exact up to what is watched, then within a few % */
	uint32_t votes[SL_ACCESS_SPATIALS]; /* files, of those watched */
	uint64_t call_bytes;		    /* mean of the calls; 0: not known */
	uint64_t request_bytes;		    /* mean of the requests; 0: not known */
	uint64_t requests;		    /* seen in all */
};

struct sl_access;

size_t sl_access_bytes(const struct sl_access_conf *conf);
/* In memory of that size, aligned as malloc does. Nothing is to be freed but that. */
struct sl_access *sl_access_init(void *memory, const struct sl_access_conf *conf);

/* job and flags of the request do not matter, nor does what is private to the scheduler. O(1). */
void sl_access_add(struct sl_access *a, const struct sl_request *r, sl_time now);
/* O(tracks): a microsecond or two. */
void sl_access_get(struct sl_access *a, struct sl_access_pattern *out);

/* "contiguous", "strided", "random", "unknown"; "small", "large", "unknown". */
const char *sl_access_spatial_name(enum sl_access_spatial s);
const char *sl_access_size_name(enum sl_access_size s);

#endif
