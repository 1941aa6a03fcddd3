/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/ds/heap: small cases, then random operations against a plain array of keys. The memory
 * has exactly the size asked for, with guard bytes around. SL_SEED=number repeats a failure.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/ds/heap.h"
#include "base/ds/random.h"

#define LIMIT 5000
#define GUARD 64

struct world {
	struct sl_heap heap;
	unsigned char *block; /* guard, memory of the heap, guard */
	size_t size;
	uint32_t n;
	uint64_t key[LIMIT];
	bool in[LIMIT];
	uint32_t count;
	uint64_t seed, random;
	unsigned op;
};

static struct world world;

#define check(w, what)                                                                            \
	do {                                                                                      \
		if (!(what))                                                                      \
			fail_msg("line %d: %s (SL_SEED=%" PRIu64 ", operation %u, %u of %u ids)", \
				 __LINE__, #what, (w)->seed, (w)->op, (w)->count, (w)->n);        \
	} while (0)

static uint64_t rnd(struct world *w)
{
	return sl_splitmix64(&w->random);
}

/* skew: multiples of 16 that shift the memory against cache lines. */
static void world_open(struct world *w, uint32_t n, size_t skew)
{
	const char *seed = getenv("SL_SEED");

	memset(w, 0, sizeof(*w));
	w->seed = seed ? strtoull(seed, NULL, 0) : 1;
	w->random = w->seed ^ ((uint64_t)n << 32);
	w->n = n;
	w->size = sl_heap_size(n);
	w->block = aligned_alloc(64, (skew + w->size + 2 * GUARD + 63) / 64 * 64);
	assert_non_null(w->block);
	w->block += skew;
	memset(w->block, 0xa5, w->size + 2 * GUARD);
	sl_heap_init(&w->heap, w->block + GUARD, n);
}

static void world_close(struct world *w, size_t skew)
{
	for (size_t i = 0; i < GUARD; i++) {
		check(w, w->block[i] == 0xa5);
		check(w, w->block[GUARD + w->size + i] == 0xa5);
	}
	free(w->block - skew);
}

static bool before(const struct sl_heap_entry *a, const struct sl_heap_entry *b)
{
	return a->key != b->key ? a->key < b->key : a->id < b->id;
}

static void check_heap(struct world *w)
{
	const struct sl_heap *h = &w->heap;
	uint32_t inside = 0;

	check(w, h->count == w->count);
	for (uint32_t id = 0; id < w->n; id++) {
		check(w, sl_heap_has(h, id) == w->in[id]);
		if (!w->in[id])
			continue;
		inside++;
		check(w, h->pos[id] < h->count);
		check(w, h->entry[h->pos[id]].id == id);
		check(w, h->entry[h->pos[id]].key == w->key[id]);
	}
	check(w, inside == w->count);
	for (uint32_t i = 1; i < h->count; i++)
		check(w, before(&h->entry[(i - 1) / 4], &h->entry[i]));
}

/* The top against a search through all. */
static void check_top(struct world *w)
{
	const struct sl_heap_entry *top = sl_heap_top(&w->heap);
	uint32_t best = UINT32_MAX;

	for (uint32_t id = 0; id < w->n; id++)
		if (w->in[id] && (best == UINT32_MAX || w->key[id] < w->key[best]))
			best = id;
	if (best == UINT32_MAX) {
		check(w, !top);
		return;
	}
	check(w, top && top->id == best && top->key == w->key[best]);
}

static void set(struct world *w, uint32_t id, uint64_t key)
{
	sl_heap_set(&w->heap, id, key);
	w->count += !w->in[id];
	w->in[id] = true;
	w->key[id] = key;
	w->op++;
}

static void take(struct world *w, uint32_t id)
{
	sl_heap_remove(&w->heap, id);
	w->count -= w->in[id];
	w->in[id] = false;
	w->op++;
}

static void a_heap_of_no_ids_is_empty(void **state)
{
	world_open(&world, 0, 0);
	assert_null(sl_heap_top(&world.heap));
	world_close(&world, 0);
}

static void an_empty_heap_has_no_top_and_ignores_a_removal(void **state)
{
	world_open(&world, 3, 0);
	assert_null(sl_heap_top(&world.heap));
	take(&world, 1);
	check_heap(&world);
	set(&world, 1, 7);
	take(&world, 1);
	take(&world, 1);
	check_heap(&world);
	world_close(&world, 0);
}

static void four_brothers_share_a_cache_line_wherever_the_memory_begins(void **state)
{
	for (size_t skew = 0; skew < 64; skew += 16) {
		world_open(&world, 20, skew);
		assert_int_equal((uintptr_t)&world.heap.entry[1] % 64, 0);
		world_close(&world, skew);
	}
}

static void equal_keys_come_out_by_id(void **state)
{
	world_open(&world, 50, 0);
	for (uint32_t i = 0; i < 50; i++)
		set(&world, i * 7 % 50, 42);
	for (uint32_t i = 0; i < 50; i++) {
		assert_int_equal(sl_heap_top(&world.heap)->id, i);
		take(&world, i);
		check_heap(&world);
	}
	world_close(&world, 0);
}

static void the_greatest_key_is_a_key_like_any_other(void **state)
{
	world_open(&world, 9, 0);
	for (uint32_t i = 9; i-- > 0;)
		set(&world, i, UINT64_MAX);
	check_heap(&world);
	for (uint32_t i = 0; i < 9; i++) {
		assert_int_equal(sl_heap_top(&world.heap)->id, i);
		assert_true(sl_heap_top(&world.heap)->key == UINT64_MAX);
		take(&world, i);
		check_heap(&world);
	}
	world_close(&world, 0);
}

static void the_example_in_the_source_holds(void **state)
{
	static const uint64_t key[6] = { 10, 20, 30, 40, 50, 15 };
	static const uint32_t place[6] = { 5, 0, 2, 3, 4, 1 };

	world_open(&world, 6, 0);
	for (uint32_t i = 0; i < 6; i++)
		set(&world, i, key[i]);
	assert_int_equal(world.heap.pos[1], 5);
	assert_int_equal(world.heap.pos[5], 1);
	set(&world, 0, 35);
	assert_int_equal(world.heap.pos[0], place[0]);
	assert_int_equal(world.heap.pos[5], 0);
	assert_int_equal(world.heap.pos[1], 1);
	check_heap(&world);
	world_close(&world, 0);
}

/* All sequences of keys 0..3 for up to 6 ids, then one id changed to any key or removed. */
static void every_small_heap_and_every_change_of_it_is_right(void **state)
{
	for (uint32_t n = 1; n <= 6; n++) {
		for (uint32_t code = 0; code < 1U << (2 * n); code++) {
			for (uint32_t id = 0; id < n; id++) {
				for (uint32_t change = 0; change < 5; change++) {
					world_open(&world, n, 0);
					for (uint32_t i = 0; i < n; i++)
						set(&world, i, code >> (2 * i) & 3);
					if (change == 4)
						take(&world, id);
					else
						set(&world, id, change);
					check_heap(&world);
					check_top(&world);
					world_close(&world, 0);
				}
			}
		}
	}
}

static void run_mix(uint32_t n, uint64_t keys, unsigned operations, unsigned every, size_t skew)
{
	struct world *w = &world;
	bool growing = true;

	world_open(w, n, skew);
	while (w->op < operations) {
		uint32_t id = (uint32_t)(rnd(w) % n);
		unsigned dice = (unsigned)(rnd(w) % 16);

		if (w->count == n)
			growing = false;
		else if (!w->count)
			growing = true;
		if (dice < 4 && w->count)
			id = sl_heap_top(&w->heap)->id; /* what schedulers do */
		if (dice % 4 < (growing ? 1 : 3))
			take(w, id);
		else
			set(w, id, keys ? rnd(w) % keys : UINT64_MAX - rnd(w) % 3);
		if (w->op % every)
			continue;
		check_heap(w);
		check_top(w);
	}
	check_heap(w);
	world_close(w, skew);
}

static void random_operations_agree_with_a_plain_array(void **state)
{
	for (uint32_t n = 1; n <= 40; n++)
		run_mix(n, n, 5000, 1, n % 4 * 16);
	run_mix(30, 0, 20000, 1, 0);
}

static void random_operations_on_thousands_agree_with_a_plain_array(void **state)
{
	run_mix(LIMIT, UINT64_C(1) << 40, 200000, 200, 16);
	run_mix(LIMIT, 100, 200000, 200, 48);
}

static void a_full_heap_comes_out_sorted(void **state)
{
	struct world *w = &world;

	world_open(w, LIMIT, 32);
	for (uint32_t i = 0; i < LIMIT; i++)
		set(w, i, rnd(w) % 1000);
	check_heap(w);
	for (struct sl_heap_entry last = { 0, 0 }; w->count;) {
		struct sl_heap_entry top = *sl_heap_top(&w->heap);

		check(w, w->count == LIMIT || before(&last, &top));
		take(w, top.id);
		last = top;
	}
	assert_null(sl_heap_top(&w->heap));
	world_close(w, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_heap_of_no_ids_is_empty),
		cmocka_unit_test(an_empty_heap_has_no_top_and_ignores_a_removal),
		cmocka_unit_test(four_brothers_share_a_cache_line_wherever_the_memory_begins),
		cmocka_unit_test(equal_keys_come_out_by_id),
		cmocka_unit_test(the_greatest_key_is_a_key_like_any_other),
		cmocka_unit_test(the_example_in_the_source_holds),
		cmocka_unit_test(every_small_heap_and_every_change_of_it_is_right),
		cmocka_unit_test(random_operations_agree_with_a_plain_array),
		cmocka_unit_test(random_operations_on_thousands_agree_with_a_plain_array),
		cmocka_unit_test(a_full_heap_comes_out_sorted),
	};

	return cmocka_run_group_tests_name("ds-heap", tests, NULL, NULL);
}
