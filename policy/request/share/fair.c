/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fair: equal shares for accounts, then for the users of each account, then for the jobs of each
 * user.
 *
 * ThemisIO (Wang et al., SC 2023) shares a burst buffer by such policies: job-fair, user-fair,
 * size-fair, and combinations of levels. A group is *active* while it has something to send. At
 * each level a job's group gets its weight over the sum of the weights of the active groups at that
 * level; the share of the job is the product over all levels. So bandwidth that a group does not
 * use goes to its nearest siblings, and a job that is alone gets everything.
 *
 *	by=account:user:job, all weights 1, all have something to send
 *
 *	physics   alice   a1                1/2 · 1/2 · 1/1 = 1/4
 *	          bob     b1 b2             1/2 · 1/2 · 1/2 = 1/8 each
 *	biology   carol   c1 … c8           1/2 · 1/1 · 1/8 = 1/16 each
 *
 *	When alice stops, bob gets all of physics: 1/4 for each of b1 and b2; carol's do not change.
 *
 * ThemisIO chooses at random with these probabilities, and counts requests. Here each group serves
 * its members by hierarchical start-time fair queueing (Goyal et al. 1996, section 3) and counts
 * bytes, which is exact at each level for any request size and number of processes. Nothing is
 * recomputed when jobs come and go. Bound: for two groups i and j beside each other, while both are
 * active, |S_i / w_i - S_j / w_j| <= L (1/w_i + 1/w_j), with S the bytes of all their jobs and L
 * the largest batch (wfq.c has the bound of one level; a group is to its parent what a lane is to
 * wfq).
 *
 * weigh=nodes multiplies the weight of a job by its compute nodes (size-fair). The weight of a user
 * or an account is 1 unless the host sets it. All jobs of unknown users count as one user, and all
 * jobs of unknown accounts as one account.
 *
 * by= names the levels; the job is always the last. A group is created with its first job and
 * deleted with its last.
 *
 * Enter, leave, charge and pick: O(levels · log lanes).
 */
#include "policy/policy.h"

#include <assert.h>

#include "base/ds/hash.h"
#include "base/ds/tree.h"
#include "policy/request/share/fair.h"
#include "policy/request/share/sfq.h"

#define FAIR_LEVELS 2 /* above the job */

enum { P_BY, P_WEIGH, P_SLACK_BYTES };

#define BY_NAMES \
	"user:job", "account:user:job", "account:job", "job", "user", "account:user", "account"
static const uint8_t by_levels[] = { SL_FAIR_USER,    SL_FAIR_USER | SL_FAIR_ACCOUNT,
				     SL_FAIR_ACCOUNT, 0,
				     SL_FAIR_USER,    SL_FAIR_USER | SL_FAIR_ACCOUNT,
				     SL_FAIR_ACCOUNT };
#define BY_MAX (sizeof(by_levels) / sizeof(by_levels[0]) - 1)
_Static_assert(sizeof((const char *[]){ BY_NAMES }) / sizeof(char *) == BY_MAX + 1,
	       "a name for each");

static const struct sl_param params[] = {
	SL_PARAM_CHOICE(
		"by", 0,
		"The levels at which shares are equal, outermost first; the last is the job.",
		BY_NAMES),
	SL_PARAM_CHOICE("weigh", 0,
			"A job's share is in proportion to its weight, or to its weight times its "
			"compute nodes.",
			"weight", "nodes"),
	SL_PARAM_NUMBER("slack_bytes", SL_BYTES, 0, INT64_C(1) << 40, 16 << 20,
			"How far a job, user or account may get from its share by waiting or by a "
			"min, so that it is evened out later."),
	{ 0 },
};

/* A lane, or a group of them. */
struct fair_node {
	struct sl_node place; /* in `ready` of its parent, by start tag */
	struct sl_sfq sfq;
	struct sl_tree ready; /* its members that have something to send */
	uint64_t v;	      /* their virtual time */
	uint64_t key;	      /* of the user or account */
	uint32_t parent;      /* 0: none */
	uint32_t members;     /* all members, ready or not */
	uint32_t next_free;   /* of a group that is not in use */
	bool inside;	      /* a lane that is ready */
};

/* Lanes are nodes 0 .. lanes-1, then comes the root, then groups. */
struct fair {
	struct fair_node *node;
	struct sl_hash groups; /* (key, parent) */
	uint32_t lanes;
	uint32_t used; /* nodes, ever */
	uint32_t free; /* 0: none */
	uint32_t by;   /* enum sl_fair_by */
	uint64_t slack_bytes;
};

uint32_t sl_fair_by(const int64_t *values)
{
	return by_levels[values[P_BY]] | (values[P_WEIGH] ? SL_FAIR_NODES : 0U);
}

static uint32_t fair_nodes(uint32_t lanes)
{
	return lanes + 1 + FAIR_LEVELS * lanes;
}

static size_t fair_size(const struct sl_policy_limits *limits)
{
	return sizeof(struct fair) + 16 + fair_nodes(limits->lanes) * sizeof(struct fair_node) +
	       16 + sl_hash_size(FAIR_LEVELS * limits->lanes);
}

static char *aligned(char *at)
{
	return at + (-(uintptr_t)at & 15);
}

static uint32_t root_of(const struct fair *f)
{
	return f->lanes;
}

static void fair_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		      sl_time now)
{
	struct fair *f = state;

	(void)now;
	f->node = (struct fair_node *)aligned((char *)(f + 1));
	f->lanes = limits->lanes;
	f->used = limits->lanes + 1;
	f->by = sl_fair_by(values);
	f->slack_bytes = (uint64_t)values[P_SLACK_BYTES];
	sl_hash_init(&f->groups, aligned((char *)(f->node + fair_nodes(limits->lanes))),
		     FAIR_LEVELS * limits->lanes);
}

/* ---- groups ---- */

/* The group of that user or account, one level below `parent`; created if there is none. */
static uint32_t group(struct fair *f, uint32_t parent, uint64_t key, uint32_t weight)
{
	uint32_t i = sl_hash_get(&f->groups, key, parent);

	if (i == SL_HASH_NONE) {
		i = f->free ? f->free : f->used++;
		assert(i < fair_nodes(f->lanes));
		f->free = f->free ? f->node[i].next_free : 0;
		f->node[i] = (struct fair_node){ .key = key, .parent = parent };
		f->node[parent].members++;
		sl_hash_put(&f->groups, key, parent, i);
	}
	sl_sfq_weigh(&f->node[i].sfq, f->slack_bytes, weight ? weight : 1);
	return i;
}

/* A member of group i has left. Free the group if it was the last, and so on upwards. */
static void give_up(struct fair *f, uint32_t i)
{
	struct fair_node *n = &f->node[i];

	while (--n->members == 0 && i != root_of(f)) {
		uint32_t parent = n->parent;

		sl_hash_remove(&f->groups, n->key, parent);
		n->parent = 0;
		n->next_free = f->free;
		f->free = i;
		i = parent;
		n = &f->node[i];
	}
}

static uint32_t lane_weight(const struct fair *f, const struct sl_member *m)
{
	uint64_t weight =
		(uint64_t)m->weight * ((f->by & SL_FAIR_NODES) && m->nodes ? m->nodes : 1);

	return weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
}

/* Whether the lane is in the right group; if so, update the weights. */
static bool at_home(struct fair *f, uint32_t lane, const struct sl_member *m)
{
	const bool level[] = { f->by & SL_FAIR_USER, f->by & SL_FAIR_ACCOUNT };
	const uint64_t key[] = { m->user, m->account };
	const uint32_t weight[] = { m->user_weight, m->account_weight };
	uint32_t i = f->node[lane].parent;

	if (!i)
		return false;
	for (int k = 0; k < FAIR_LEVELS; k++) {
		if (!level[k])
			continue;
		if (f->node[i].key != key[k])
			return false;
		sl_sfq_weigh(&f->node[i].sfq, f->slack_bytes, weight[k] ? weight[k] : 1);
		i = f->node[i].parent;
	}
	sl_sfq_weigh(&f->node[lane].sfq, f->slack_bytes, lane_weight(f, m));
	return true;
}

/* Put the lane, which must not be ready, into the right group. */
static void join(struct fair *f, uint32_t lane, const struct sl_member *m)
{
	struct fair_node *n = &f->node[lane];
	uint32_t to = root_of(f), from = n->parent;

	if (f->by & SL_FAIR_ACCOUNT)
		to = group(f, to, m->account, m->account_weight);
	if (f->by & SL_FAIR_USER)
		to = group(f, to, m->user, m->user_weight);
	sl_sfq_weigh(&n->sfq, f->slack_bytes, lane_weight(f, m));
	n->parent = to;
	n->sfq.tag = f->node[to].v;
	n->sfq.kept = false;
	f->node[to].members++;
	if (from)
		give_up(f, from);
}

/* ---- turns ---- */

/* Insert node i into its parent's tree. A group becomes ready with its first ready member. */
static void make_ready(struct fair *f, uint32_t i)
{
	for (bool first = true; first && i != root_of(f);) {
		struct fair_node *n = &f->node[i], *parent = &f->node[n->parent];

		first = sl_tree_empty(&parent->ready);
		sl_sfq_enter(&n->sfq, parent->v);
		n->place.lo = n->sfq.tag;
		n->place.hi = i;
		sl_tree_insert(&parent->ready, &n->place);
		i = n->parent;
	}
}

static void make_unready(struct fair *f, uint32_t i, bool idle)
{
	for (bool last = true; last && i != root_of(f);) {
		struct fair_node *n = &f->node[i], *parent = &f->node[n->parent];

		sl_tree_remove(&parent->ready, &n->place);
		n->sfq.kept = !idle;
		last = sl_tree_empty(&parent->ready);
		i = n->parent;
	}
}

static void fair_enter(void *state, uint32_t lane, const struct sl_member *m, sl_time now)
{
	struct fair *f = state;

	(void)now;
	if (!at_home(f, lane, m))
		join(f, lane, m);
	f->node[lane].inside = true;
	make_ready(f, lane);
}

static void fair_leave(void *state, uint32_t lane, bool idle, sl_time now)
{
	struct fair *f = state;

	(void)now;
	f->node[lane].inside = false;
	make_unready(f, lane, idle);
}

static void fair_update(void *state, uint32_t lane, const struct sl_member *m, sl_time now)
{
	struct fair *f = state;
	bool inside = f->node[lane].inside;

	(void)now;
	if (at_home(f, lane, m))
		return;
	if (inside)
		make_unready(f, lane, true);
	join(f, lane, m);
	if (inside)
		make_ready(f, lane);
}

static void fair_forget(void *state, uint32_t lane)
{
	struct fair *f = state;
	uint32_t parent = f->node[lane].parent;

	f->node[lane] = (struct fair_node){ .parent = 0 };
	if (parent)
		give_up(f, parent);
}

static int64_t fair_pick(void *state, sl_time now, sl_time *wake)
{
	const struct fair *f = state;
	uint32_t i = root_of(f);

	(void)now, (void)wake;
	do {
		const struct sl_node *first = sl_tree_first(&f->node[i].ready);

		if (!first)
			/*
			 * Only the root can be empty: other groups without ready members are not
			 * ready.
			 */
			return -1;
		i = (uint32_t)first->hi;
	} while (i >= f->lanes);
	return i;
}

/*
 * The virtual time of a group would overflow after some TiB: move its members back. Those that are
 * ready keep their distances, so the tree stays in order. O(lanes).
 */
static void move_back(struct fair *f, uint32_t i, uint64_t by)
{
	struct fair_node *parent = &f->node[i];

	for (uint32_t k = 0; k < f->used; k++)
		if (f->node[k].parent == i)
			sl_sfq_move_back(&f->node[k].sfq, by);
	for (struct sl_node *n = sl_tree_first(&parent->ready); n; n = sl_tree_next(n))
		n->lo -= by;
	parent->v -= by;
}

static void fair_charge(void *state, uint32_t lane, const struct sl_member *m, uint64_t bytes,
			uint32_t requests, sl_time now)
{
	struct fair *f = state;

	(void)m, (void)requests, (void)now;
	for (uint32_t i = lane; i != root_of(f); i = f->node[i].parent) {
		struct fair_node *n = &f->node[i], *parent = &f->node[n->parent];
		uint64_t first = sl_tree_first(&parent->ready)->lo;

		/* Do not take the tag of `n`: a guarantee may have chosen one that is far ahead. */
		if (first > parent->v)
			parent->v = first;
		if (__builtin_expect(parent->v > SL_SFQ_TURN, 0))
			move_back(f, n->parent, first);
		sl_sfq_charge(&n->sfq, parent->v, bytes);
		sl_tree_rekey(&parent->ready, &n->place, n->sfq.tag, i);
	}
}

const struct sl_share_ops sl_share_fair = {
	.base = { .name = "fair",
		  .summary = "equal shares of accounts, of their users, and of the users' jobs",
		  .source = "ThemisIO (Wang et al. 2023); hierarchical start-time fair queueing "
			    "(Goyal et al. 1996)",
		  .params = params,
		  .state_size = fair_size,
		  .init = fair_init },
	.enter = fair_enter,
	.leave = fair_leave,
	.update = fair_update,
	.forget = fair_forget,
	.pick = fair_pick,
	.charge = fair_charge,
};
