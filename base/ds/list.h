/* SPDX-License-Identifier: Apache-2.0 */
/* Circular doubly linked list with a head node. Every operation O(1). */
#ifndef SL_DS_LIST_H
#define SL_DS_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct sl_list {
	struct sl_list *prev, *next;
};

#define sl_container(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline void sl_list_init(struct sl_list *l)
{
	l->prev = l->next = l;
}

static inline bool sl_list_empty(const struct sl_list *l)
{
	return l->next == l;
}

static inline void sl_list_insert_before(struct sl_list *at, struct sl_list *n)
{
	n->prev = at->prev;
	n->next = at;
	at->prev->next = n;
	at->prev = n;
}

static inline void sl_list_push_back(struct sl_list *head, struct sl_list *n)
{
	sl_list_insert_before(head, n);
}

static inline void sl_list_push_front(struct sl_list *head, struct sl_list *n)
{
	sl_list_insert_before(head->next, n);
}

/* A removed node points to itself: removing it again is harmless, sl_list_empty() tells. */
static inline void sl_list_remove(struct sl_list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	sl_list_init(n);
}

/* Take the place of `old` in its list. */
static inline void sl_list_replace(struct sl_list *old, struct sl_list *n)
{
	sl_list_insert_before(old, n);
	sl_list_remove(old);
}

#endif
