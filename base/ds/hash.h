/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open-addressing table (a, b) -> value for at most n entries, linear probing at a load of at
 * most one half, deletion by shifting back (no tombstones, so it never needs a rebuild).
 * Memory is the caller's: sl_hash_size(n) bytes, aligned to 16. Expected O(1).
 */
#ifndef SL_DS_HASH_H
#define SL_DS_HASH_H

#include <stddef.h>
#include <stdint.h>

struct sl_hash_entry {
	uint64_t a;
	uint32_t b;
	uint32_t value; /* SL_HASH_NONE: free */
};

struct sl_hash {
	struct sl_hash_entry *entry;
	uint32_t mask;
};

#define SL_HASH_NONE UINT32_MAX

size_t sl_hash_size(uint32_t n);
void sl_hash_init(struct sl_hash *h, void *memory, uint32_t n);
uint32_t sl_hash_get(const struct sl_hash *h, uint64_t a, uint32_t b); /* SL_HASH_NONE: absent */
void sl_hash_put(struct sl_hash *h, uint64_t a, uint32_t b, uint32_t value); /* must be absent */
void sl_hash_remove(struct sl_hash *h, uint64_t a, uint32_t b);		     /* nothing if absent */

#endif
