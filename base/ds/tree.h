/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intrusive red-black tree of intervals [lo, hi), ordered by (lo, hi), each node knowing the
 * largest hi below it, so that "what overlaps [a, b)" is answered in O(log n). Used as a plain
 * ordered map as well: lo is then the key and hi breaks ties. Equal keys keep insertion order.
 */
#ifndef SL_DS_TREE_H
#define SL_DS_TREE_H

#include <stdbool.h>
#include <stdint.h>

struct sl_node {
	uintptr_t parent_; /* lowest bit: red */
	struct sl_node *child_[2];
	uint64_t lo, hi; /* set by the caller before insertion, fixed while inside */
	uint64_t max_;	 /* largest hi in this subtree */
};

struct sl_tree {
	struct sl_node *root;
};

/* Where a new node would go, and its neighbours: one descent serves search and insertion. */
struct sl_tree_pos {
	struct sl_node *prev, *next; /* last node <= key, first node > key */
	struct sl_node *parent_;
	unsigned side_;
};

static inline bool sl_tree_empty(const struct sl_tree *t)
{
	return !t->root;
}

void sl_tree_find(const struct sl_tree *t, uint64_t lo, uint64_t hi, struct sl_tree_pos *pos);
/* Insert n where sl_tree_find(t, n->lo, n->hi, pos) said; the tree is unchanged since then. */
void sl_tree_insert_at(struct sl_tree *t, const struct sl_tree_pos *pos, struct sl_node *n);
void sl_tree_insert(struct sl_tree *t, struct sl_node *n);
void sl_tree_remove(struct sl_tree *t, struct sl_node *n);
/* Change the key of a node inside t; in place when its order among its neighbours allows it. */
void sl_tree_rekey(struct sl_tree *t, struct sl_node *n, uint64_t lo, uint64_t hi);

struct sl_node *sl_tree_first(const struct sl_tree *t);
struct sl_node *sl_tree_last(const struct sl_tree *t);
struct sl_node *sl_tree_next(const struct sl_node *n);
struct sl_node *sl_tree_prev(const struct sl_node *n);
/* Some node with n->lo < hi and n->hi > lo, or NULL. */
struct sl_node *sl_tree_overlap(const struct sl_tree *t, uint64_t lo, uint64_t hi);

#endif
