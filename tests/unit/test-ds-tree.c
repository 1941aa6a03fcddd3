/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/ds/tree: small cases exhaustively, then random operations against a sorted array, with
 * the colours, links and max_ of the whole tree checked. SL_SEED=number repeats a failure.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/ds/random.h"
#include "base/ds/tree.h"

#define LIMIT 4096

/* The tree, and beside it the nodes in the order they should have. */
struct world {
	struct sl_tree tree;
	struct sl_node *order[LIMIT];
	unsigned count;
	uint64_t seed, random;
	unsigned op;
};

#define check(w, what)                                                                        \
	do {                                                                                  \
		if (!(what))                                                                  \
			fail_msg("line %d: %s (SL_SEED=%" PRIu64 ", operation %u, %u nodes)", \
				 __LINE__, #what, (w)->seed, (w)->op, (w)->count);            \
	} while (0)

static uint64_t rnd(struct world *w)
{
	return sl_splitmix64(&w->random);
}

static unsigned below(struct world *w, unsigned n)
{
	return (unsigned)(rnd(w) % n);
}

static void world_init(struct world *w, uint64_t stream)
{
	const char *seed = getenv("SL_SEED");

	memset(w, 0, sizeof(*w));
	w->seed = seed ? strtoull(seed, NULL, 0) : 1;
	w->random = w->seed ^ (stream << 32);
}

/* ---- the model ---- */

static bool key_at_most(uint64_t lo, uint64_t hi, const struct sl_node *n)
{
	return lo < n->lo || (lo == n->lo && hi <= n->hi);
}

static bool key_less(uint64_t lo, uint64_t hi, const struct sl_node *n)
{
	return lo < n->lo || (lo == n->lo && hi < n->hi);
}

/* How many nodes are <= (lo, hi): where a new one goes. */
static unsigned rank_of(const struct world *w, uint64_t lo, uint64_t hi)
{
	unsigned i = 0;

	while (i < w->count && !key_less(lo, hi, w->order[i]))
		i++;
	return i;
}

static void model_insert(struct world *w, struct sl_node *n)
{
	unsigned i = rank_of(w, n->lo, n->hi);

	memmove(&w->order[i + 1], &w->order[i], (w->count - i) * sizeof(w->order[0]));
	w->order[i] = n;
	w->count++;
}

static unsigned model_remove(struct world *w, const struct sl_node *n)
{
	unsigned i = 0;

	while (w->order[i] != n)
		i++;
	w->count--;
	memmove(&w->order[i], &w->order[i + 1], (w->count - i) * sizeof(w->order[0]));
	return i;
}

/* ---- the invariants ---- */

/* Walks in order from place *at; returns the number of black nodes on every path below. */
static unsigned check_subtree(struct world *w, const struct sl_node *n,
			      const struct sl_node *parent, unsigned *at)
{
	bool red;
	unsigned left, right;
	uint64_t max;

	if (!n)
		return 1;
	red = n->parent_ & 1;
	check(w, (n->parent_ & ~(uintptr_t)1) == (uintptr_t)parent);
	check(w, !red || (parent && !(parent->parent_ & 1)));
	max = n->hi;
	for (unsigned d = 0; d < 2; d++)
		if (n->child_[d] && n->child_[d]->max_ > max)
			max = n->child_[d]->max_;
	check(w, n->max_ == max);
	left = check_subtree(w, n->child_[0], n, at);
	check(w, *at < w->count && w->order[*at] == n);
	(*at)++;
	right = check_subtree(w, n->child_[1], n, at);
	check(w, left == right);
	return left + !red;
}

static void check_tree(struct world *w)
{
	unsigned at = 0;

	check_subtree(w, w->tree.root, NULL, &at);
	check(w, at == w->count);
	check(w, sl_tree_empty(&w->tree) == (w->count == 0));
}

/* Walking by first, next, last, prev visits the same nodes. */
static void check_walks(struct world *w)
{
	const struct sl_node *n = sl_tree_first(&w->tree);

	for (unsigned i = 0; i < w->count; i++, n = sl_tree_next(n))
		check(w, n == w->order[i]);
	check(w, !n);
	n = sl_tree_last(&w->tree);
	for (unsigned i = w->count; i-- > 0; n = sl_tree_prev(n))
		check(w, n == w->order[i]);
	check(w, !n);
}

static void check_find(struct world *w, uint64_t lo, uint64_t hi)
{
	unsigned i = rank_of(w, lo, hi);
	struct sl_tree_pos pos;

	sl_tree_find(&w->tree, lo, hi, &pos);
	check(w, pos.prev == (i ? w->order[i - 1] : NULL));
	check(w, pos.next == (i < w->count ? w->order[i] : NULL));
}

/* tree.c promises more than the header: the first overlap in order. */
static void check_overlap(struct world *w, uint64_t lo, uint64_t hi)
{
	const struct sl_node *first = NULL;

	for (unsigned i = 0; i < w->count && !first; i++)
		if (w->order[i]->lo < hi && w->order[i]->hi > lo)
			first = w->order[i];
	check(w, sl_tree_overlap(&w->tree, lo, hi) == first);
}

/* ---- operations on both ---- */

static void insert(struct world *w, struct sl_node *n, uint64_t lo, uint64_t hi)
{
	memset(n, 0xa5, sizeof(*n)); /* a node needs no preparation but its key */
	n->lo = lo;
	n->hi = hi;
	if (w->op & 1) {
		struct sl_tree_pos pos;

		sl_tree_find(&w->tree, lo, hi, &pos);
		sl_tree_insert_at(&w->tree, &pos, n);
	} else {
		sl_tree_insert(&w->tree, n);
	}
	model_insert(w, n);
	w->op++;
}

static void take(struct world *w, struct sl_node *n)
{
	sl_tree_remove(&w->tree, n);
	model_remove(w, n);
	memset(n, 0x5a, sizeof(*n));
	w->op++;
}

/* Stays in its place if it fits there, else goes behind its equals. */
static void rekey(struct world *w, struct sl_node *n, uint64_t lo, uint64_t hi)
{
	unsigned i = model_remove(w, n);
	bool stays = (!i || !key_less(lo, hi, w->order[i - 1])) &&
		     (i == w->count || key_at_most(lo, hi, w->order[i]));

	sl_tree_rekey(&w->tree, n, lo, hi);
	check(w, n->lo == lo && n->hi == hi);
	if (stays) {
		memmove(&w->order[i + 1], &w->order[i], (w->count - i) * sizeof(w->order[0]));
		w->order[i] = n;
		w->count++;
	} else {
		model_insert(w, n);
	}
	w->op++;
}

/* ---- cases ---- */

static struct world world;

static void an_empty_tree_has_nothing(void **state)
{
	struct sl_tree_pos pos;

	world_init(&world, 0);
	check_tree(&world);
	check_walks(&world);
	sl_tree_find(&world.tree, 1, 2, &pos);
	assert_null(pos.prev);
	assert_null(pos.next);
	assert_null(sl_tree_overlap(&world.tree, 0, UINT64_MAX));
}

static void one_node_is_its_own_first_and_last(void **state)
{
	struct sl_node n;

	world_init(&world, 0);
	insert(&world, &n, 5, 9);
	check_tree(&world);
	assert_ptr_equal(sl_tree_first(&world.tree), &n);
	assert_ptr_equal(sl_tree_last(&world.tree), &n);
	assert_null(sl_tree_next(&n));
	assert_null(sl_tree_prev(&n));
	take(&world, &n);
	assert_true(sl_tree_empty(&world.tree));
}

static void equal_keys_keep_the_order_of_insertion(void **state)
{
	struct sl_node n[20];
	struct sl_tree_pos pos;
	const struct sl_node *at;

	world_init(&world, 0);
	for (unsigned i = 0; i < 20; i++)
		insert(&world, &n[i], 7, 8);
	at = sl_tree_first(&world.tree);
	for (unsigned i = 0; i < 20; i++, at = sl_tree_next(at))
		assert_ptr_equal(at, &n[i]);
	sl_tree_find(&world.tree, 7, 8, &pos);
	assert_ptr_equal(pos.prev, &n[19]);
	assert_null(pos.next);
	sl_tree_find(&world.tree, 7, 7, &pos);
	assert_null(pos.prev);
	assert_ptr_equal(pos.next, &n[0]);
}

static void intervals_that_only_touch_do_not_overlap(void **state)
{
	struct sl_node n[4];

	world_init(&world, 0);
	/* The example at the head of tree.c. */
	insert(&world, &n[0], 2, 9);
	insert(&world, &n[1], 0, 4);
	insert(&world, &n[2], 8, 12);
	insert(&world, &n[3], 5, 6);
	assert_ptr_equal(sl_tree_overlap(&world.tree, 6, 7), &n[0]);
	assert_ptr_equal(sl_tree_overlap(&world.tree, 9, 10), &n[2]);
	assert_ptr_equal(sl_tree_overlap(&world.tree, 0, 1), &n[1]);
	assert_null(sl_tree_overlap(&world.tree, 12, 100));
	take(&world, &n[1]);
	assert_null(sl_tree_overlap(&world.tree, 0, 2));
	assert_ptr_equal(sl_tree_overlap(&world.tree, 0, 3), &n[0]);
}

static void rekey_moves_a_node_only_when_it_must(void **state)
{
	struct sl_node n[3];

	world_init(&world, 0);
	for (unsigned i = 0; i < 3; i++)
		insert(&world, &n[i], 10 * i, 10 * i + 5);
	rekey(&world, &n[1], 12, 40); /* grows: max_ follows */
	check_tree(&world);
	assert_ptr_equal(sl_tree_overlap(&world.tree, 30, 31), &n[1]);
	rekey(&world, &n[1], 12, 13); /* shrinks again */
	check_tree(&world);
	assert_null(sl_tree_overlap(&world.tree, 30, 31));
	rekey(&world, &n[1], 20, 25); /* as n[2], before which it stands: stays there */
	assert_ptr_equal(sl_tree_next(&n[1]), &n[2]);
	rekey(&world, &n[0], 20, 26); /* must pass both */
	assert_ptr_equal(sl_tree_last(&world.tree), &n[0]);
	rekey(&world, &n[1], 20, 26); /* must pass n[2]: then goes behind its equal too */
	assert_ptr_equal(sl_tree_last(&world.tree), &n[1]);
	check_tree(&world);
}

/* Steps to the next permutation in lexical order; false after the last. */
static bool permute(unsigned *a, unsigned n)
{
	unsigned i = n - 1, j = n - 1, t;

	while (i && a[i - 1] > a[i])
		i--;
	if (!i)
		return false;
	while (a[j] < a[i - 1])
		j--;
	t = a[i - 1], a[i - 1] = a[j], a[j] = t;
	for (j = n - 1; i < j; i++, j--)
		t = a[i], a[i] = a[j], a[j] = t;
	return true;
}

static void every_order_of_five_in_and_five_out_is_right(void **state)
{
	static const uint64_t length[5] = { 9, 1, 3, 0, 1 };
	unsigned in[5] = { 0, 1, 2, 3, 4 };
	struct sl_node n[5];

	do {
		unsigned out[5] = { 0, 1, 2, 3, 4 };

		do {
			world_init(&world, 0);
			for (unsigned i = 0; i < 5; i++) {
				insert(&world, &n[in[i]], in[i], in[i] + length[in[i]]);
				check_tree(&world);
			}
			for (unsigned i = 0; i < 5; i++) {
				take(&world, &n[out[i]]);
				check_tree(&world);
				check_overlap(&world, i, i + 1);
			}
		} while (permute(out, 5));
	} while (permute(in, 5));
}

static void any_one_of_up_to_70_can_go(void **state)
{
	struct sl_node n[70];

	/* Three shapes: sorted, reverse, and inside out. */
	for (unsigned shape = 0; shape < 3; shape++) {
		for (unsigned size = 1; size <= 70; size++) {
			for (unsigned victim = 0; victim < size; victim++) {
				world_init(&world, 0);
				for (unsigned i = 0; i < size; i++) {
					unsigned at = shape == 0   ? i
						      : shape == 1 ? 100 - i
						      : i & 1	   ? 100 + i
								   : 100 - i;

					insert(&world, &n[i], at, at + 2);
				}
				take(&world, &n[victim]);
				check_tree(&world);
			}
		}
	}
}

/* ---- random ---- */

static struct sl_node node[LIMIT];
static bool inside[LIMIT];

struct mix {
	uint64_t domain, length; /* keys are below domain, intervals shorter than length */
	unsigned nodes, operations, every; /* all is checked after so many operations */
};

static void random_key(struct world *w, const struct mix *m, uint64_t *lo, uint64_t *hi)
{
	*lo = rnd(w) % m->domain;
	*hi = *lo + rnd(w) % m->length;
	if (rnd(w) % 64 == 0) {
		/* The ends of the number line, and a hi that only breaks ties. */
		*lo = rnd(w) & 1 ? UINT64_MAX : 0;
		*hi = rnd(w) & 1 ? UINT64_MAX : rnd(w) % m->length;
	}
}

static void run_mix(const struct mix *m)
{
	struct world *w = &world;
	bool growing = true;

	world_init(w, m->nodes);
	memset(inside, 0, sizeof(inside));
	while (w->op < m->operations) {
		unsigned i = below(w, m->nodes), dice = below(w, 16);
		uint64_t lo, hi;

		if (w->count == m->nodes)
			growing = false;
		else if (!w->count)
			growing = true;
		random_key(w, m, &lo, &hi);
		if (!inside[i]) {
			if (dice < (growing ? 16 : 4)) {
				insert(w, &node[i], lo, hi);
				inside[i] = true;
			}
		} else if (dice < (growing ? 2 : 10)) {
			take(w, &node[i]);
			inside[i] = false;
		} else if (dice < 13) {
			if (dice & 1) { /* near: mostly in place */
				lo = node[i].lo + below(w, 3);
				hi = node[i].hi + below(w, 5);
				hi -= hi >= 2 ? 2 : 0;
			}
			rekey(w, &node[i], lo, hi);
		}
		if (w->op % m->every)
			continue;
		check_tree(w);
		random_key(w, m, &lo, &hi);
		check_find(w, lo, hi);
		check_overlap(w, lo, hi);
		check_overlap(w, lo, lo + 1);
		if (w->op % (8 * m->every) == 0)
			check_walks(w);
	}
	while (w->count)
		take(w, w->order[below(w, w->count)]);
	check_tree(w);
}

static void random_operations_on_few_nodes_agree_with_a_sorted_array(void **state)
{
	for (unsigned n = 1; n <= 12; n++)
		run_mix(&(struct mix){ 8, 4, n, 10000, 1 });
}

static void random_operations_with_many_equal_keys_agree_with_a_sorted_array(void **state)
{
	run_mix(&(struct mix){ 10, 3, 60, 100000, 1 });
}

static void random_operations_with_long_intervals_agree_with_a_sorted_array(void **state)
{
	run_mix(&(struct mix){ 1000, 800, 100, 100000, 1 });
}

static void random_operations_on_thousands_agree_with_a_sorted_array(void **state)
{
	run_mix(&(struct mix){ UINT64_C(1) << 40, UINT64_C(1) << 28, LIMIT, 100000, 100 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_tree_has_nothing),
		cmocka_unit_test(one_node_is_its_own_first_and_last),
		cmocka_unit_test(equal_keys_keep_the_order_of_insertion),
		cmocka_unit_test(intervals_that_only_touch_do_not_overlap),
		cmocka_unit_test(rekey_moves_a_node_only_when_it_must),
		cmocka_unit_test(every_order_of_five_in_and_five_out_is_right),
		cmocka_unit_test(any_one_of_up_to_70_can_go),
		cmocka_unit_test(random_operations_on_few_nodes_agree_with_a_sorted_array),
		cmocka_unit_test(random_operations_with_many_equal_keys_agree_with_a_sorted_array),
		cmocka_unit_test(random_operations_with_long_intervals_agree_with_a_sorted_array),
		cmocka_unit_test(random_operations_on_thousands_agree_with_a_sorted_array),
	};

	return cmocka_run_group_tests_name("ds-tree", tests, NULL, NULL);
}
