/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the calls of an application's processes go, and which server has those bytes. Pure; see
 * pattern.c.
 */
#ifndef SL_SIM_PATTERN_H
#define SL_SIM_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

enum sl_spatial { SL_CONTIGUOUS, SL_STRIDED, SL_RANDOM };

struct sl_pattern {
	enum sl_spatial spatial;
	bool per_process; /* a file for each process; else all share one */
	uint32_t procs;	  /* not 0 */
	uint64_t call_bytes;
	uint64_t calls; /* of each process, all together; not 0 */
	uint64_t seed;	/* of random */
};

struct sl_place {
	uint32_t file; /* of the application's, from 0 */
	uint64_t offset;
};

/* Where a process (0 .. procs - 1) makes its call number `call` (0 .. calls - 1). */
struct sl_place sl_pattern_place(const struct sl_pattern *p, uint32_t proc, uint64_t call);

struct sl_striping {
	uint32_t servers;      /* not 0 */
	uint64_t stripe_bytes; /* not 0 */
};

struct sl_piece {
	uint32_t server;
	uint64_t offset, length; /* in the server's part of the file */
};

/*
 * The beginning of [offset, end) that one server has in one piece; first: the server of the file's
 * first stripe.
 */
struct sl_piece sl_striping_piece(const struct sl_striping *s, uint32_t first, uint64_t offset,
				  uint64_t end);

/* One of 0 .. n - 1 for each of them: a permutation, chosen by the seed. */
uint64_t sl_permute(uint64_t i, uint64_t n, uint64_t seed);

#endif
