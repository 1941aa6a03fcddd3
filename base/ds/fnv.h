/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FNV-1a with 64 bits (Fowler, Noll and Vo): a hash of short texts. It is not keyed: if an attacker
 * may choose texts that collide, use base/ds/siphash.h.
 *
 *	sl_fnv(SL_FNV, "a", 1) = af63dc4c8601ec8c
 */
#ifndef SL_DS_FNV_H
#define SL_DS_FNV_H

#include <stddef.h>
#include <stdint.h>

#define SL_FNV UINT64_C(0xcbf29ce484222325) /* to begin with */

/* Continue from h: hashing pieces one after the other gives the hash of their concatenation. */
static inline uint64_t sl_fnv(uint64_t h, const void *bytes, size_t length)
{
	const unsigned char *b = bytes;

	for (size_t i = 0; i < length; i++)
		h = (h ^ b[i]) * UINT64_C(0x100000001b3);
	return h;
}

#endif
