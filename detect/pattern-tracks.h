/* SPDX-License-Identifier: Apache-2.0 */
/* What pattern.c remembers of requests, and pattern-opinion.c has an opinion about. */
#ifndef SL_DETECT_PATTERN_TRACKS_H
#define SL_DETECT_PATTERN_TRACKS_H

#include <stdbool.h>

#include "detect/pattern.h"

#define WAYS 4U
#define RUNS 4U
#define BITS 2048U

struct key {
	uint64_t file, client;
};

struct track {
	uint64_t end[RUNS], start[RUNS]; /* end NO_END: unused */
	uint64_t run_start;		 /* of the last run begun */
	int64_t stride;			 /* of the last jump */
	uint64_t bytes;			 /* of what is counted */
	int64_t last_ns;
	uint32_t gap_ns; /* shortest time between pieces of a call */
	uint32_t epoch;	 /* of the last use; 0: free */
	uint16_t on, regular, odd;
	uint16_t calls;
	uint8_t pieces; /* of the call under way */
	uint8_t next;	/* run to give up next */
	uint8_t last;	/* run used last */
	uint8_t state;
	uint8_t regulars, odds; /* bit i: run i began with such a jump */
	uint8_t runs;		/* in use */
};

/* Votes of a file's tracks, while sl_access_get() counts. */
struct ballot {
	uint64_t file;
	uint32_t spatial[SL_ACCESS_SPATIALS];
	uint32_t small, large;
};

struct sl_access {
	uint64_t *tags; /* of each set: 16 bits of the hash of each way, to be compared at once */
	uint32_t *full; /* of each set: the epoch in which there is no free way */
	struct key *key;
	struct track *track;
	struct ballot *ballot;
	uint32_t *slot;	      /* hash of files, index into ballot + 1 */
	uint32_t sets, slots; /* powers of two */
	uint64_t large_bytes, transfer_bytes;
	uint64_t requests;
	uint32_t epoch; /* from 2, so that 0 is before the last */
	uint32_t epoch_requests;
	sl_time epoch_ns;
	uint32_t dropped[2]; /* by epoch & 1 */
	uint32_t ops[2];
	uint64_t bits[2][BITS / 64];
};

static inline uint64_t ac_hash(uint64_t x)
{
	x *= UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static inline bool ac_in_use(const struct sl_access *a, const struct track *t)
{
	return t->epoch + 1 >= a->epoch;
}

#endif
