/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access patterns, after section 3 of AGIOS (Boito et al. 2015), and striping.
 *
 * With 4 processes (a, b, c, d) and 3 calls each:
 *
 *	shared, contiguous   a0 a1 a2 b0 b1 b2 c0 c1 c2 d0 d1 d2     a part of the file each
 *	shared, strided      a0 b0 c0 d0 a1 b1 c1 d1 a2 b2 c2 d2     1D-strided
 *	shared, random       c1 a0 d2 ...                            each place once
 *	per process          a0 a1 a2 in a's file, ...
 *
 * A strided file per process has the holes that the shared one would have there: a0 ... a1 ... a2.
 * The paper has no random pattern; it is here because the decision tree must distinguish it from
 * the others.
 *
 * Stripes go round the servers. Stripe k of a file is on server (first + k) % servers, and a
 * server keeps its stripes of a file side by side: with 4 servers and 32 KiB, byte 131072 (stripe
 * 4) lies at 32768 of its server's part, behind stripe 0. What is contiguous in the file is then
 * contiguous on each server.
 *
 * Permutation: three rounds of multiply-add by an odd number and a shifted xor, each a bijection
 * of k bits; what falls outside 0 .. n-1 goes through again, which ends, since a bijection comes
 * back to where it began. With 2^k < 2n: twice at most on average. Places are distinct by that,
 * without a table.
 */
#include "sim/pattern.h"

#include "sim/random.h"

uint64_t sl_permute(uint64_t i, uint64_t n, uint64_t seed)
{
	unsigned bits = n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 1;
	uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
	unsigned shift = (bits + 1) / 2;

	do {
		struct sl_random r = { seed };

		for (unsigned round = 0; round < 3; round++) {
			uint64_t key = sl_random_next(&r);

			i = (i * (key | 1) + (key >> 32)) & mask;
			i ^= i >> shift;
		}
	} while (i >= n);
	return i;
}

struct sl_place sl_pattern_place(const struct sl_pattern *p, uint32_t proc, uint64_t call)
{
	uint32_t file = p->per_process ? proc : 0;
	uint64_t index;

	if (p->spatial == SL_STRIDED)
		index = call * p->procs + (p->per_process ? 0 : proc);
	else
		index = call + (p->per_process ? 0 : proc * p->calls);
	if (p->spatial == SL_RANDOM)
		index = sl_permute(index, p->calls * (p->per_process ? 1 : p->procs),
				   p->seed + file);
	return (struct sl_place){ file, index * p->call_bytes };
}

struct sl_piece sl_striping_piece(const struct sl_striping *s, uint32_t first, uint64_t offset,
				  uint64_t end)
{
	uint64_t stripe = offset / s->stripe_bytes, into = offset % s->stripe_bytes;
	uint64_t left = s->stripe_bytes - into;

	if (s->servers == 1) /* its stripes follow each other */
		return (struct sl_piece){ 0, offset, end - offset };
	return (struct sl_piece){ .server = (uint32_t)((first + stripe) % s->servers),
				  .offset = stripe / s->servers * s->stripe_bytes + into,
				  .length = end - offset < left ? end - offset : left };
}
