/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four-ary min-heap of (key, id), ids 0 .. n-1, each at most once inside; the key of any id
 * can be changed or removed by id. Ties: the smaller id first, so that runs repeat exactly.
 * Memory is the caller's: sl_heap_size(n) bytes, aligned to 16. All operations O(log n), with
 * keys in the heap itself so that a comparison touches no other memory.
 */
#ifndef SL_DS_HEAP_H
#define SL_DS_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_heap_entry {
	uint64_t key;
	uint32_t id;
};

struct sl_heap {
	struct sl_heap_entry *entry; /* entry[0] is the smallest */
	uint32_t *pos;		     /* by id: index in entry, or SL_HEAP_OUT */
	uint32_t count;
};

#define SL_HEAP_OUT UINT32_MAX

size_t sl_heap_size(uint32_t n);
void sl_heap_init(struct sl_heap *h, void *memory, uint32_t n);
void sl_heap_set(struct sl_heap *h, uint32_t id, uint64_t key); /* insert, or change the key */
void sl_heap_remove(struct sl_heap *h, uint32_t id);		/* nothing if it is not inside */

static inline bool sl_heap_has(const struct sl_heap *h, uint32_t id)
{
	return h->pos[id] != SL_HEAP_OUT;
}

static inline const struct sl_heap_entry *sl_heap_top(const struct sl_heap *h)
{
	return h->count ? &h->entry[0] : NULL;
}

#endif
