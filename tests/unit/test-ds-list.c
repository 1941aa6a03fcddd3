/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/ds/list: each operation by itself, then random operations against an array.
 * SL_SEED=number repeats a failure.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/ds/list.h"
#include "base/ds/random.h"

#define NODES 16

struct item {
	int number;
	struct sl_list link;
};

/* The list holds exactly these, forwards and backwards. */
static bool holds(const struct sl_list *head, struct sl_list *const *want, unsigned count)
{
	const struct sl_list *at = head;

	for (unsigned i = 0; i < count; i++) {
		if (at->next != want[i] || want[i]->prev != at)
			return false;
		at = want[i];
	}
	return at->next == head && head->prev == at && sl_list_empty(head) == (count == 0);
}

static void a_new_list_is_empty(void **state)
{
	struct sl_list head;

	sl_list_init(&head);
	assert_true(sl_list_empty(&head));
	assert_true(holds(&head, NULL, 0));
}

static void the_front_comes_before_the_back(void **state)
{
	struct sl_list head, n[4];

	sl_list_init(&head);
	sl_list_push_back(&head, &n[0]);
	assert_true(holds(&head, (struct sl_list *[]){ &n[0] }, 1));
	sl_list_push_back(&head, &n[1]);
	sl_list_push_front(&head, &n[2]);
	sl_list_insert_before(&n[1], &n[3]);
	assert_true(holds(&head, (struct sl_list *[]){ &n[2], &n[0], &n[3], &n[1] }, 4));
}

static void a_removed_node_may_be_removed_again(void **state)
{
	struct sl_list head, n[3];

	sl_list_init(&head);
	for (unsigned i = 0; i < 3; i++)
		sl_list_push_back(&head, &n[i]);
	sl_list_remove(&n[1]);
	assert_true(sl_list_empty(&n[1]));
	sl_list_remove(&n[1]);
	assert_true(holds(&head, (struct sl_list *[]){ &n[0], &n[2] }, 2));
	sl_list_remove(&n[0]);
	sl_list_remove(&n[2]);
	assert_true(holds(&head, NULL, 0));
}

static void a_replacement_stands_where_the_old_node_stood(void **state)
{
	struct sl_list head, n[3], other;

	sl_list_init(&head);
	for (unsigned i = 0; i < 3; i++)
		sl_list_push_back(&head, &n[i]);
	sl_list_replace(&n[1], &other);
	assert_true(holds(&head, (struct sl_list *[]){ &n[0], &other, &n[2] }, 3));
	assert_true(sl_list_empty(&n[1]));
}

static void an_only_node_can_be_replaced(void **state)
{
	struct sl_list head, n, other;

	sl_list_init(&head);
	sl_list_push_front(&head, &n);
	sl_list_replace(&n, &other);
	assert_true(holds(&head, (struct sl_list *[]){ &other }, 1));
}

static void the_container_of_a_link_is_found(void **state)
{
	struct item item = { .number = 17 };

	assert_ptr_equal(sl_container(&item.link, struct item, link), &item);
	assert_int_equal(sl_container(&item.link, struct item, link)->number, 17);
}

static uint64_t rnd(uint64_t *random)
{
	return sl_splitmix64(random);
}

static void random_operations_agree_with_an_array(void **state)
{
	const char *env = getenv("SL_SEED");
	uint64_t seed = env ? strtoull(env, NULL, 0) : 1, random = seed;
	struct sl_list head, n[NODES], *want[NODES] = { NULL };
	unsigned count = 0;

	sl_list_init(&head);
	for (unsigned i = 0; i < NODES; i++)
		sl_list_init(&n[i]);
	for (unsigned op = 0; op < 200000; op++) {
		struct sl_list *x = &n[rnd(&random) % NODES];
		unsigned at =
			(unsigned)(rnd(&random) % (count + 1)); /* a place; count: behind all */
		bool outside = true;

		for (unsigned i = 0; i < count; i++)
			if (want[i] == x) {
				outside = false;
				at = i;
			}
		if (outside && at < count && rnd(&random) % 4 == 0) {
			sl_list_replace(want[at], x);
			want[at] = x;
		} else if (outside) {
			if (at == 0)
				sl_list_push_front(&head, x);
			else if (at == count)
				sl_list_push_back(&head, x);
			else
				sl_list_insert_before(want[at], x);
			memmove(&want[at + 1], &want[at], (count - at) * sizeof(want[0]));
			want[at] = x;
			count++;
		} else {
			sl_list_remove(x);
			count--;
			memmove(&want[at], &want[at + 1], (count - at) * sizeof(want[0]));
		}
		if (!holds(&head, want, count))
			fail_msg("operation %u with %u nodes (SL_SEED=%" PRIu64 ")", op, count,
				 seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_list_is_empty),
		cmocka_unit_test(the_front_comes_before_the_back),
		cmocka_unit_test(a_removed_node_may_be_removed_again),
		cmocka_unit_test(a_replacement_stands_where_the_old_node_stood),
		cmocka_unit_test(an_only_node_can_be_replaced),
		cmocka_unit_test(the_container_of_a_link_is_found),
		cmocka_unit_test(random_operations_agree_with_an_array),
	};

	return cmocka_run_group_tests_name("ds-list", tests, NULL, NULL);
}
