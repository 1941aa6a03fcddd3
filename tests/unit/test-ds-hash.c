/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/ds/hash: small cases, then random operations against a plain array. The memory has
 * exactly the size asked for, with guard bytes around. SL_SEED=number repeats a failure.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/ds/hash.h"
#include "base/ds/random.h"

#define LIMIT 2000
#define GUARD 64

struct pair {
	uint64_t a;
	uint32_t b;
	uint32_t value; /* SL_HASH_NONE: not inside */
};

struct world {
	struct sl_hash hash;
	unsigned char *block; /* guard, memory of the table, guard */
	size_t size;
	uint32_t n, count;
	uint64_t seed, random;
	unsigned op;
	struct pair pair[2 * LIMIT]; /* the keys in use; at most n of them inside */
};

static struct world world;

#define check(w, what)                                                                        \
	do {                                                                                  \
		if (!(what))                                                                  \
			fail_msg("line %d: %s (SL_SEED=%" PRIu64 ", operation %u, %u of %u)", \
				 __LINE__, #what, (w)->seed, (w)->op, (w)->count, (w)->n);    \
	} while (0)

static uint64_t rnd(struct world *w)
{
	return sl_splitmix64(&w->random);
}

static void world_open(struct world *w, uint32_t n)
{
	const char *seed = getenv("SL_SEED");

	memset(w, 0, sizeof(*w));
	w->seed = seed ? strtoull(seed, NULL, 0) : 1;
	w->random = w->seed ^ ((uint64_t)n << 32);
	w->n = n;
	w->size = sl_hash_size(n);
	w->block = aligned_alloc(16, w->size + 2 * GUARD);
	assert_non_null(w->block);
	memset(w->block, 0xa5, w->size + 2 * GUARD);
	sl_hash_init(&w->hash, w->block + GUARD, n);
}

static void world_close(struct world *w)
{
	for (size_t i = 0; i < GUARD; i++) {
		check(w, w->block[i] == 0xa5);
		check(w, w->block[GUARD + w->size + i] == 0xa5);
	}
	free(w->block);
}

static void put(struct world *w, struct pair *p, uint32_t value)
{
	sl_hash_put(&w->hash, p->a, p->b, value);
	p->value = value;
	w->count++;
	w->op++;
}

static void take(struct world *w, struct pair *p)
{
	sl_hash_remove(&w->hash, p->a, p->b);
	w->count -= p->value != SL_HASH_NONE;
	p->value = SL_HASH_NONE;
	w->op++;
}

/* Every key is found or absent as it should be, and nothing else is in the table. */
static void check_hash(struct world *w, uint32_t keys)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < keys; i++)
		check(w, sl_hash_get(&w->hash, w->pair[i].a, w->pair[i].b) == w->pair[i].value);
	for (uint64_t i = 0; i <= w->hash.mask; i++)
		used += w->hash.entry[i].value != SL_HASH_NONE;
	check(w, used == w->count);
}

static void the_table_is_at_most_half_full_and_a_power_of_two(void **state)
{
	static const uint32_t n[] = { 0, 1, 2, 3, 4, 5, 1000, 1024, 1025, UINT32_C(1) << 31 };
	static const uint64_t places[] = { 1, 2, 4, 8, 8, 16, 2048, 2048, 4096, UINT64_C(1) << 32 };

	for (unsigned i = 0; i < sizeof(n) / sizeof(n[0]); i++)
		assert_true(sl_hash_size(n[i]) == places[i] * sizeof(struct sl_hash_entry));
}

static void a_table_for_nothing_finds_nothing(void **state)
{
	world_open(&world, 0);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(sl_hash_get(&world.hash, i, i), SL_HASH_NONE);
	sl_hash_remove(&world.hash, 0, 0);
	world_close(&world);
}

static void a_table_for_one_holds_any_one_key(void **state)
{
	static const uint64_t a[] = { 0, 1, UINT64_C(1) << 63, UINT64_MAX };
	static const uint32_t b[] = { 0, 1, UINT32_C(1) << 31, UINT32_MAX };

	world_open(&world, 1);
	for (unsigned i = 0; i < 16; i++) {
		struct pair p = { a[i / 4], b[i % 4], SL_HASH_NONE };

		assert_int_equal(sl_hash_get(&world.hash, p.a, p.b), SL_HASH_NONE);
		put(&world, &p, i);
		for (unsigned j = 0; j < 16; j++)
			assert_int_equal(sl_hash_get(&world.hash, a[j / 4], b[j % 4]),
					 j == i ? i : SL_HASH_NONE);
		take(&world, &p);
		take(&world, &p);
		assert_int_equal(world.count, 0);
	}
	world_close(&world);
}

static void both_halves_of_the_key_count(void **state)
{
	world_open(&world, 4);
	sl_hash_put(&world.hash, 1, 2, 12);
	sl_hash_put(&world.hash, 2, 1, 21);
	sl_hash_put(&world.hash, 1, 1, 11);
	sl_hash_put(&world.hash, 2, 2, 0); /* 0 is a value */
	sl_hash_remove(&world.hash, 1, 1);
	assert_int_equal(sl_hash_get(&world.hash, 1, 2), 12);
	assert_int_equal(sl_hash_get(&world.hash, 2, 1), 21);
	assert_int_equal(sl_hash_get(&world.hash, 2, 2), 0);
	assert_int_equal(sl_hash_get(&world.hash, 1, 1), SL_HASH_NONE);
	world_close(&world);
}

/*
 * With 4 keys in 8 places clusters cover every shape, around the end of the table too: all
 * choices of 4 out of 12 keys, each in all 24 orders of removal.
 */
static void every_order_of_removal_from_small_clusters_is_right(void **state)
{
	struct world *w = &world;

	world_open(w, 4);
	for (uint32_t i = 0; i < 12; i++)
		w->pair[i] = (struct pair){ i, 7, SL_HASH_NONE };
	for (uint32_t set = 0; set < 1U << 12; set++) {
		if (__builtin_popcount(set) != 4)
			continue;
		for (uint32_t order = 0; order < 24; order++) {
			struct pair *in[4];
			uint32_t k = 0, code = order;

			for (uint32_t i = 0; i < 12; i++)
				if (set >> i & 1)
					in[k++] = &w->pair[i];
			for (uint32_t i = 0; i < 4; i++)
				put(w, in[i], i);
			check_hash(w, 12);
			for (uint32_t left = 4; left; left--) {
				uint32_t which = code % left;

				code /= left;
				take(w, in[which]);
				in[which] = in[left - 1];
				check_hash(w, 12);
			}
		}
	}
	world_close(w);
}

/* The key that stands for number i, of several kinds that occur. */
static struct pair make_key(struct world *w, unsigned kind, uint32_t i)
{
	struct pair p = { .a = i, .b = 0, .value = SL_HASH_NONE };

	switch (kind) {
	case 0: /* inode numbers in sequence, one job */
		break;
	case 1: /* pointers */
		p.a = UINT64_C(0x7f0000000000) + (uint64_t)i * 4096;
		break;
	case 2: /* the high bits only */
		p.a = (uint64_t)i << 48;
		break;
	case 3: /* one file, many jobs */
		p.a = 99;
		p.b = i;
		break;
	case 4: /* few files of few jobs */
		p.a = i % 64;
		p.b = i / 64;
		break;
	default:
		p.a = rnd(w) << 12 | i; /* differs in i at least */
		p.b = (uint32_t)rnd(w);
	}
	return p;
}

#define KINDS 6

static void run_mix(uint32_t n, unsigned kind, unsigned operations, unsigned every)
{
	struct world *w = &world;
	uint32_t keys = 2 * n;

	world_open(w, n);
	for (uint32_t i = 0; i < keys; i++)
		w->pair[i] = make_key(w, kind, i);
	while (w->op < operations) {
		struct pair *p = &w->pair[rnd(w) % keys];

		check(w, sl_hash_get(&w->hash, p->a, p->b) == p->value);
		if (p->value == SL_HASH_NONE && w->count < n)
			put(w, p, (uint32_t)rnd(w) >> 1);
		else
			take(w, p);
		check(w, sl_hash_get(&w->hash, p->a, p->b) == p->value);
		if (w->op % every == 0)
			check_hash(w, keys);
	}
	for (uint32_t i = 0; i < keys; i++)
		take(w, &w->pair[i]);
	check_hash(w, keys);
	world_close(w);
}

static void random_operations_agree_with_a_plain_array(void **state)
{
	for (unsigned kind = 0; kind < KINDS; kind++) {
		for (uint32_t n = 1; n <= 32; n++)
			run_mix(n, kind, 2000, 1);
		run_mix(LIMIT, kind, 50000, 500);
	}
}

/* How many places are looked at to find all keys inside, in w->pair[0 .. n-1]. */
static uint64_t places_to_find_all(struct world *w)
{
	struct sl_hash_entry alone[2048];
	struct sl_hash other;
	uint64_t looked = 0;

	assert_true(sizeof(alone) >= w->size);
	sl_hash_init(&other, alone, w->n);
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t home = 0, at = 0;

		/* A key's home is where it lands in an empty table of the same size. */
		sl_hash_put(&other, w->pair[i].a, w->pair[i].b, 0);
		while (alone[home].value == SL_HASH_NONE)
			home++;
		sl_hash_remove(&other, w->pair[i].a, w->pair[i].b);
		while (w->hash.entry[at].value != i)
			at++;
		looked += ((at - home) & w->hash.mask) + 1;
	}
	return looked;
}

/*
 * Knuth: 1.5 places for a key that is inside, at half load. A mixing that piled up any of these
 * kinds of key would need many times that; 2.0 leaves room for chance.
 */
static void usual_kinds_of_keys_spread_evenly(void **state)
{
	struct world *w = &world;

	for (unsigned kind = 0; kind < KINDS; kind++) {
		uint64_t looked;

		world_open(w, 1024);
		for (uint32_t i = 0; i < w->n; i++) {
			w->pair[i] = make_key(w, kind, i);
			put(w, &w->pair[i], i);
		}
		looked = places_to_find_all(w);
		if (looked > 2 * w->n)
			fail_msg("keys of kind %u: %" PRIu64 " places for %u keys", kind, looked,
				 w->n);
		world_close(w);
	}
}

static void keys_a_power_of_two_apart_spread_evenly(void **state)
{
	struct world *w = &world;

	for (unsigned shift = 0; shift <= 54; shift++) {
		uint64_t looked;

		world_open(w, 1024);
		for (uint32_t i = 0; i < w->n; i++) {
			w->pair[i] = (struct pair){ (uint64_t)i << shift, 3, SL_HASH_NONE };
			put(w, &w->pair[i], i);
		}
		looked = places_to_find_all(w);
		if (looked > 2 * w->n)
			fail_msg("keys 2^%u apart: %" PRIu64 " places for %u keys", shift, looked,
				 w->n);
		world_close(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_at_most_half_full_and_a_power_of_two),
		cmocka_unit_test(a_table_for_nothing_finds_nothing),
		cmocka_unit_test(a_table_for_one_holds_any_one_key),
		cmocka_unit_test(both_halves_of_the_key_count),
		cmocka_unit_test(every_order_of_removal_from_small_clusters_is_right),
		cmocka_unit_test(random_operations_agree_with_a_plain_array),
		cmocka_unit_test(usual_kinds_of_keys_spread_evenly),
		cmocka_unit_test(keys_a_power_of_two_apart_spread_evenly),
	};

	return cmocka_run_group_tests_name("ds-hash", tests, NULL, NULL);
}
