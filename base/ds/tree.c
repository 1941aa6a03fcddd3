/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ordered map and interval index: an intrusive red-black tree (Guibas and Sedgewick, 1978)
 * whose nodes carry the largest hi of their subtree (Cormen et al., "Introduction to
 * Algorithms", section "Interval trees").
 *
 * Example: [0,4) [2,9) [5,6) [8,12), the node with [2,9) on top, [5,6) below [8,12).
 *
 *	          [2,9) max 12
 *	         /            \
 *	   [0,4) max 4     [8,12) max 12
 *	                   /
 *	              [5,6) max 6
 *
 * Which intervals overlap [a, b)? Only nodes that begin before b can. They are to the left of the
 * descent to b: at each turn to the right, a node and its left subtree, in order. The first of
 * these that reaches beyond a contains the answer. [9,10): 2 < 10, but [2,9) and its left reach 9
 * and 4: turn right; 8 < 10, [8,12) reaches 12 > 9 and [5,6) on its left does not: it is [8,12).
 * [12,20): nothing in the tree reaches behind 12. So the overlap found is the first one in order,
 * and sl_tree_next() leads to the others. Most queries find nothing, without a branch that depends
 * on the keys.
 *
 * Cost: find, insert, remove, rekey, overlap O(log n); a removal makes at most three rotations, an
 * insertion two. max_ is updated by walking up from the change only as far as necessary: an
 * insertion stops at the first ancestor that already reaches as far, a removal at the first that
 * reaches further than the removed node. If intervals hardly overlap, this takes O(1) steps on
 * average, O(log n) at worst.
 *
 * Departures from the textbook: one code path for left and right, the side being an index; no
 * sentinel (the tree has no memory of its own); the descents compute the side instead of branching
 * on it, because with random keys every second such branch is predicted wrongly, and prefetch both
 * children before the side is known, because memory latency dominates.
 */
#include "base/ds/tree.h"

#include <stddef.h>

#define TR_RED ((uintptr_t)1)

static inline struct sl_node *tr_parent(const struct sl_node *n)
{
	return (struct sl_node *)(n->parent_ & ~TR_RED);
}

static inline bool tr_red(const struct sl_node *n)
{
	return n->parent_ & TR_RED;
}

/* The parent changes, the colour stays. */
static inline void tr_set_parent(struct sl_node *n, const struct sl_node *p)
{
	n->parent_ = (uintptr_t)p | (n->parent_ & TR_RED);
}

static inline unsigned tr_side(const struct sl_node *p, const struct sl_node *n)
{
	return p->child_[1] == n;
}

/* Let p (or the tree, if it is NULL) point to n where it pointed to old. */
static inline void tr_replace(struct sl_tree *t, struct sl_node *p, const struct sl_node *old,
			      struct sl_node *n)
{
	struct sl_node **link = p ? &p->child_[tr_side(p, old)] : &t->root;

	*link = n;
}

/* Is the key of n at most (lo, hi)? As one wide number: a subtraction, without a branch. */
static inline bool tr_at_most(const struct sl_node *n, uint64_t lo, uint64_t hi)
{
	return ((unsigned __int128)n->lo << 64 | n->hi) <= ((unsigned __int128)lo << 64 | hi);
}

static inline uint64_t tr_max(const struct sl_node *n)
{
	uint64_t max = n->hi;

	for (unsigned d = 0; d < 2; d++) {
		const struct sl_node *c = n->child_[d];

		if (c && c->max_ > max)
			max = c->max_;
	}
	return max;
}

/* A node at or below n has come to reach `hi`. */
static inline void tr_raise(struct sl_node *n, uint64_t hi)
{
	for (; n && n->max_ < hi; n = tr_parent(n))
		n->max_ = hi;
}

/*
 * A node at or below n that reached `hi` no longer does: update ancestors up to `end` (not
 * included). A subtree that reaches further did not depend on it.
 */
static inline void tr_lower(struct sl_node *n, uint64_t hi, const struct sl_node *end)
{
	for (; n != end && n->max_ == hi; n = tr_parent(n)) {
		uint64_t max = tr_max(n);

		if (max == hi)
			return;
		n->max_ = max;
	}
}

/*
 * p goes down to side d and its other child takes its place, with its colour; p gets the
 * colour of that child. All of the rebalancing needs exactly this exchange.
 */
static inline void tr_rotate(struct sl_tree *t, struct sl_node *p, unsigned d)
{
	struct sl_node *up = p->child_[!d], *inner = up->child_[d];
	uintptr_t colour = up->parent_ & TR_RED;

	tr_replace(t, tr_parent(p), p, up);
	up->parent_ = p->parent_;
	up->child_[d] = p;
	p->parent_ = (uintptr_t)up | colour;
	p->child_[!d] = inner;
	if (inner)
		tr_set_parent(inner, p);
	up->max_ = p->max_;
	p->max_ = tr_max(p);
}

void sl_tree_find(const struct sl_tree *t, uint64_t lo, uint64_t hi, struct sl_tree_pos *pos)
{
	struct sl_node *prev = NULL, *next = NULL, *parent = NULL, *n = t->root;
	bool right = false;

	/* Files are mostly accessed forwards: expect that all intervals are left of the key. */
	if (n && n->max_ <= lo) {
		while (n && tr_at_most(n, lo, hi)) {
			prev = parent = n;
			n = n->child_[1];
		}
		right = prev;
	}
	while (n) {
		struct sl_node *child0 = n->child_[0], *child1 = n->child_[1];

		__builtin_prefetch(child0);
		__builtin_prefetch(child1);
		right = tr_at_most(n, lo, hi);
		parent = n;
		prev = right ? n : prev;
		next = right ? next : n;
		n = right ? child1 : child0;
	}
	pos->prev = prev;
	pos->next = next;
	pos->parent_ = parent;
	pos->side_ = right;
}

void sl_tree_insert_at(struct sl_tree *t, const struct sl_tree_pos *pos, struct sl_node *n)
{
	struct sl_node *p = pos->parent_;

	n->child_[0] = n->child_[1] = NULL;
	n->max_ = n->hi;
	n->parent_ = 0;
	if (!p) {
		t->root = n;
		return;
	}
	n->parent_ = (uintptr_t)p | TR_RED;
	p->child_[pos->side_] = n;
	tr_raise(p, n->hi);

	/* n is red; the only thing that may be wrong is that p is red as well. */
	while (tr_red(p)) {
		struct sl_node *g = tr_parent(p); /* exists: the root is black */
		unsigned d = tr_side(g, p);
		struct sl_node *uncle = g->child_[!d];

		if (!uncle || !tr_red(uncle)) {
			if (p->child_[!d] == n)
				tr_rotate(t, p, d);
			tr_rotate(t, g, !d);
			return;
		}
		p->parent_ &= ~TR_RED;
		uncle->parent_ &= ~TR_RED;
		p = tr_parent(g);
		if (!p)
			return;
		g->parent_ |= TR_RED;
		n = g;
	}
}

void sl_tree_insert(struct sl_tree *t, struct sl_node *n)
{
	struct sl_tree_pos pos;

	sl_tree_find(t, n->lo, n->hi, &pos);
	sl_tree_insert_at(t, &pos, n);
}

/* The paths through side d of p are one black node short. */
static void tr_rebalance(struct sl_tree *t, struct sl_node *p, unsigned d)
{
	for (;;) {
		struct sl_node *s = p->child_[!d], *near,
			       *far; /* s exists: the other paths are longer */

		if (tr_red(s)) {
			tr_rotate(t, p, d);
			s = p->child_[!d];
		}
		near = s->child_[d];
		far = s->child_[!d];
		if (far && tr_red(far)) {
			tr_rotate(t, p, d);
			far->parent_ &= ~TR_RED;
			return;
		}
		if (near && tr_red(near)) {
			tr_rotate(t, s, !d);
			tr_rotate(t, p, d);
			s->parent_ &= ~TR_RED;
			return;
		}
		s->parent_ |= TR_RED;
		if (tr_red(p)) {
			p->parent_ &= ~TR_RED;
			return;
		}
		s = p;
		p = tr_parent(s);
		if (!p)
			return;
		d = tr_side(p, s);
	}
}

void sl_tree_remove(struct sl_tree *t, struct sl_node *n)
{
	struct sl_node *left = n->child_[0], *right = n->child_[1];
	struct sl_node *p = tr_parent(n), *child, *top;
	uintptr_t red = n->parent_ & TR_RED; /* colour of the place that disappears */
	unsigned d = 0;

	/* After this, `child` has moved up to side d of p; `top` is the lowest that lost n. */
	if (!left || !right) {
		child = left ? left : right;
		top = p;
		if (p) {
			d = tr_side(p, n);
			p->child_[d] = child;
		} else {
			t->root = child;
		}
	} else {
		struct sl_node *s = right; /* the next in order takes the place of n */

		while (s->child_[0])
			s = s->child_[0];
		child = s->child_[1];
		red = s->parent_ & TR_RED;
		tr_replace(t, p, n, s);
		if (s == right) {
			p = s;
			d = 1;
		} else {
			p = tr_parent(s);
			p->child_[0] = child;
			s->child_[1] = right;
			tr_set_parent(right, s);
		}
		s->child_[0] = left;
		tr_set_parent(left, s);
		s->parent_ = n->parent_;
		s->max_ = n->max_;
		tr_lower(p, s->hi, s);
		top = s;
	}
	tr_lower(top, n->hi, NULL);

	/* An only child is red and its parent black: it takes over the colour. */
	if (child)
		child->parent_ = (uintptr_t)p;
	else if (!red && p)
		tr_rebalance(t, p, d);
}

void sl_tree_rekey(struct sl_tree *t, struct sl_node *n, uint64_t lo, uint64_t hi)
{
	const struct sl_node *beside;
	uint64_t old_hi = n->hi;
	bool stays;

	/* Only the neighbour on the side to which the key moves can be in the way. */
	if (tr_at_most(n, lo, hi)) {
		beside = sl_tree_next(n);
		stays = !beside || lo < beside->lo || (lo == beside->lo && hi <= beside->hi);
	} else {
		beside = sl_tree_prev(n);
		stays = !beside || tr_at_most(beside, lo, hi);
	}
	if (!stays) {
		sl_tree_remove(t, n);
		n->lo = lo;
		n->hi = hi;
		sl_tree_insert(t, n);
		return;
	}
	n->lo = lo;
	n->hi = hi;
	if (hi > old_hi)
		tr_raise(n, hi);
	else if (hi < old_hi)
		tr_lower(n, old_hi, NULL);
}

static struct sl_node *tr_end(struct sl_node *n, unsigned d)
{
	while (n && n->child_[d])
		n = n->child_[d];
	return n;
}

static struct sl_node *tr_neighbour(const struct sl_node *n, unsigned d)
{
	struct sl_node *p;

	if (n->child_[d])
		return tr_end(n->child_[d], !d);
	while ((p = tr_parent(n)) && p->child_[d] == n)
		n = p;
	return p;
}

struct sl_node *sl_tree_first(const struct sl_tree *t)
{
	return tr_end(t->root, 0);
}

struct sl_node *sl_tree_last(const struct sl_tree *t)
{
	return tr_end(t->root, 1);
}

struct sl_node *sl_tree_next(const struct sl_node *n)
{
	return tr_neighbour(n, 1);
}

struct sl_node *sl_tree_prev(const struct sl_node *n)
{
	return tr_neighbour(n, 0);
}

struct sl_node *sl_tree_overlap(const struct sl_tree *t, uint64_t lo, uint64_t hi)
{
	struct sl_node *n = t->root;

	if (!n || n->max_ <= lo)
		return NULL;
	/* Down to where `hi` would stand, until something left of there ends behind lo. */
	while (n) {
		struct sl_node *left = n->child_[0], *right = n->child_[1];
		bool before = n->lo < hi;
		uint64_t reach = n->hi;

		__builtin_prefetch(left);
		__builtin_prefetch(right);
		if (left && left->max_ > reach)
			reach = left->max_;
		reach &= -(uint64_t)before;
		if (reach > lo)
			break;
		n = before ? right : left;
	}
	if (!n)
		return NULL;
	/* Now it is n or below its left; all of these begin before hi. Take the first. */
	for (;;) {
		struct sl_node *left = n->child_[0];

		if (left && left->max_ > lo)
			n = left;
		else if (n->hi > lo)
			return n;
		else
			n = n->child_[1];
	}
}
