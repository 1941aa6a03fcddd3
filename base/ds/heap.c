/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four-ary min-heap with the keys inside, for "which of these is next" (tags, deadlines).
 *
 * The children of place i are the places 4i+1 .. 4i+4; no child is smaller than its parent.
 * Example, ids 0..5 with keys 10 20 30 40 50 15:
 *
 *	place     0     1     2     3     4     5
 *	key      10    15    30    40    50    20
 *	id        0     5     2     3     4     1       pos[1] = 5, pos[5] = 1
 *
 * sl_heap_set(0, 35): place 0 becomes a hole; the smallest of its children, 15, is smaller than
 * 35 and moves up; below the hole at place 1 is only 20, it moves up; 35 ends at place 5. Moving
 * a hole writes each entry once where swapping writes it twice.
 *
 * Four children because four entries of 16 bytes are one cache line: a level costs one line, and
 * there are half as many levels as in a binary heap (Johnson, "Priority queues with update and
 * finding minimum spanning trees", 1975; LaMarca and Ladner, "The influence of caches on the
 * performance of heaps", 1996). Entries are aligned so that siblings share a line.
 *
 * Places behind the last hold an entry greater than any real one, so the minimum of four siblings
 * is always taken over four, without a branch on their number.
 *
 * Cost: O(log4 n) levels for a change, at most 4 comparisons each; top and has O(1).
 */
#include "base/ds/heap.h"

#include <string.h>

#define HP_ARY	((size_t)4)
#define HP_LINE 64

/*
 * An entry as one wide number that orders as entries do: the key, the id, and below these a number
 * k that comes along. Such numbers are compared and selected without a branch; a branch on which of
 * four siblings is the smallest would be mispredicted most of the time.
 */
static inline unsigned __int128 hp_wide(const struct sl_heap_entry *e, uint32_t k)
{
	return (unsigned __int128)e->key << 64 | (uint64_t)e->id << 32 | k;
}

static inline unsigned __int128 hp_min(unsigned __int128 a, unsigned __int128 b)
{
	return a < b ? a : b;
}

/* Three more than n: the brothers of the last place. */
static size_t hp_entries_size(uint32_t n)
{
	return ((size_t)n + HP_ARY - 1) * sizeof(struct sl_heap_entry);
}

size_t sl_heap_size(uint32_t n)
{
	/* The memory is aligned to 16, place 1 to 64: up to 48 bytes stay unused in front. */
	return HP_LINE - sizeof(struct sl_heap_entry) + hp_entries_size(n) +
	       (size_t)n * sizeof(uint32_t);
}

void sl_heap_init(struct sl_heap *h, void *memory, uint32_t n)
{
	uintptr_t place1 = (uintptr_t)memory + sizeof(struct sl_heap_entry);
	size_t skip = (size_t)(-place1 & (HP_LINE - 1));

	h->entry = (struct sl_heap_entry *)((char *)memory + skip);
	h->pos = (uint32_t *)((char *)h->entry + hp_entries_size(n));
	h->count = 0;
	memset(h->entry, 0xff, hp_entries_size(n));
	memset(h->pos, 0xff, (size_t)n * sizeof(uint32_t)); /* SL_HEAP_OUT */
}

static inline void hp_place(struct sl_heap *h, size_t i, struct sl_heap_entry e)
{
	h->entry[i] = e;
	h->pos[e.id] = (uint32_t)i;
}

static inline bool hp_less(struct sl_heap_entry a, struct sl_heap_entry b)
{
	return hp_wide(&a, 0) < hp_wide(&b, 0);
}

/* Place i is a hole: let it rise to where e fits. */
static void hp_rise(struct sl_heap *h, size_t i, struct sl_heap_entry e)
{
	while (i) {
		size_t up = (i - 1) / HP_ARY;

		if (!hp_less(e, h->entry[up]))
			break;
		hp_place(h, i, h->entry[up]);
		i = up;
	}
	hp_place(h, i, e);
}

/* Place i is a hole: let it sink to where e fits. */
static void hp_sink(struct sl_heap *h, size_t i, struct sl_heap_entry e)
{
	/* Copies, because the compiler must assume that the stores below change h. */
	struct sl_heap_entry *entry = h->entry;
	uint32_t *pos = h->pos;
	size_t count = h->count, first;
	unsigned __int128 wide = hp_wide(&e, 0);

	while ((first = HP_ARY * i + 1) < count) {
		const struct sl_heap_entry *c = &entry[first];
		const char *below = (const char *)entry + (HP_ARY * first + 1) * sizeof(*entry);
		unsigned __int128 min;
		uint32_t id;

		/* Prefetch the children of all four, before the smallest is known. */
		__builtin_prefetch(below);
		__builtin_prefetch(below + HP_LINE);
		__builtin_prefetch(below + 2 * HP_LINE);
		__builtin_prefetch(below + 3 * HP_LINE);
		min = hp_min(hp_min(hp_wide(&c[0], 0), hp_wide(&c[1], 1)),
			     hp_min(hp_wide(&c[2], 2), hp_wide(&c[3], 3)));
		if (min > wide)
			break;
		id = (uint32_t)(min >> 32);
		entry[i].key = (uint64_t)(min >> 64);
		entry[i].id = id;
		pos[id] = (uint32_t)i;
		i = first + (uint32_t)min;
	}
	hp_place(h, i, e);
}

void sl_heap_set(struct sl_heap *h, uint32_t id, uint64_t key)
{
	struct sl_heap_entry e = { .key = key, .id = id };
	uint32_t i = h->pos[id];

	if (i == SL_HEAP_OUT)
		hp_rise(h, h->count++, e);
	else if (key < h->entry[i].key)
		hp_rise(h, i, e);
	else
		hp_sink(h, i, e);
}

void sl_heap_remove(struct sl_heap *h, uint32_t id)
{
	uint32_t i = h->pos[id];
	struct sl_heap_entry last;

	if (i == SL_HEAP_OUT)
		return;
	h->pos[id] = SL_HEAP_OUT;
	last = h->entry[--h->count];
	memset(&h->entry[h->count], 0xff, sizeof(last));
	if (i == h->count)
		return;
	/* The last entry may come from another branch and be smaller than the one above. */
	if (i && hp_less(last, h->entry[(i - 1) / HP_ARY]))
		hp_rise(h, i, last);
	else
		hp_sink(h, i, last);
}
