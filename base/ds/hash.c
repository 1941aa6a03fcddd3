/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash table with open addressing and linear probing, from (a, b) to a number. Used to find a
 * job by its number or a file by (file, job).
 *
 * An entry is stored at its home (the place that its hash gives) or, if that is taken, at the next
 * free place behind it, cyclically. Lookups rely on this invariant: no free place is between the
 * home of an entry and its place. Removal preserves it without tombstones (Knuth, TAOCP 3, section
 * 6.4, algorithm R): the hole is filled with the next entry behind it whose home is not behind the
 * hole; that entry's place becomes the new hole, and so on until a free place is found.
 *
 * Example with 8 places and homes P:2 Q:2 R:3 S:5, put in this order:
 *
 *	place    2  3  4  5             remove P: Q (home 2) may go to 2, the hole is at 3;
 *	         P  Q  R  S             R (home 3) may go to 3, the hole is at 4; S (home 5) is
 *	         Q  R  -  S             at home and stays; place 6 is free: done.
 *
 * Cost: with at most half of the places taken, on average 1.5 places are looked at to find an entry
 * and 2.5 to find that there is none (Knuth); four places share a cache line. Two multiplications
 * mix the key, because file numbers are often pointers, consecutive inode numbers, or differ only
 * in the high bits, and would otherwise collide.
 */
#include "base/ds/hash.h"

#include <stdbool.h>
#include <string.h>

/*
 * A power of two, at least 2n; one place for n = 0, so that a lookup ends at a free place. Places
 * have 32-bit numbers: n is at most 2^31.
 */
static size_t hs_places(uint32_t n)
{
	size_t places = 1;

	while (places < 2 * (size_t)n)
		places *= 2;
	return places;
}

/* Odd constants without a pattern: fractions of the golden ratio and of the square root of 3. */
static inline uint32_t hs_home(const struct sl_hash *h, uint64_t a, uint32_t b)
{
	uint64_t x = a ^ (b * UINT64_C(0x9e3779b97f4a7c15));

	/* A product propagates differences only upwards; the shifts bring them down again. */
	x ^= x >> 32;
	x *= UINT64_C(0xbb67ae8584caa73b);
	x ^= x >> 29;
	x *= UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(x >> 32) & h->mask;
}

/* The place of (a, b), or the free one where it belongs. */
static inline uint32_t hs_find(const struct sl_hash *h, uint64_t a, uint32_t b)
{
	uint32_t i = hs_home(h, a, b);

	while (h->entry[i].value != SL_HASH_NONE && (h->entry[i].a != a || h->entry[i].b != b))
		i = (i + 1) & h->mask;
	return i;
}

size_t sl_hash_size(uint32_t n)
{
	return hs_places(n) * sizeof(struct sl_hash_entry);
}

void sl_hash_init(struct sl_hash *h, void *memory, uint32_t n)
{
	h->entry = memory;
	h->mask = (uint32_t)(hs_places(n) - 1);
	memset(memory, 0xff, sl_hash_size(n)); /* SL_HASH_NONE everywhere */
}

uint32_t sl_hash_get(const struct sl_hash *h, uint64_t a, uint32_t b)
{
	return h->entry[hs_find(h, a, b)].value;
}

void sl_hash_put(struct sl_hash *h, uint64_t a, uint32_t b, uint32_t value)
{
	h->entry[hs_find(h, a, b)] = (struct sl_hash_entry){ .a = a, .b = b, .value = value };
}

void sl_hash_remove(struct sl_hash *h, uint64_t a, uint32_t b)
{
	uint32_t hole = hs_find(h, a, b), i = hole;

	if (h->entry[hole].value == SL_HASH_NONE)
		return;
	for (;;) {
		const struct sl_hash_entry *e;
		uint32_t home;

		i = (i + 1) & h->mask;
		e = &h->entry[i];
		if (e->value == SL_HASH_NONE)
			break;
		home = hs_home(h, e->a, e->b);
		/* Going back to the hole must not carry it before its home. */
		if (((i - home) & h->mask) >= ((i - hole) & h->mask)) {
			h->entry[hole] = *e;
			hole = i;
		}
	}
	h->entry[hole].value = SL_HASH_NONE;
}
