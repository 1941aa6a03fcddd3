/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io-sets: one job at a time within a set of similar periods; the sets share the bandwidth.
 *
 * Source: IO-Sets, Barthélemy et al. 2024, §2.2 (the method, heuristic Set-10) and §3.5 (the server
 * policy). A job's period w_iter is the mean time between the starts of its I/O phases. Its set is
 * S_i with i = log10(w_iter in seconds), rounded to the nearest integer (3.1622 s: S0, 3.1623 s:
 * S1), its priority 10^-i. Jobs of one set are served one after the other; the sets share the
 * device in proportion to their priorities. A job of unknown period is a set of its own, of
 * priority 1/50 plus a small value by job (§3.2).
 *
 * Between sets: credit. In each round every set that has something to send gets one turn, with a
 * credit of quantum * p / p_min bytes, where p_min is the smallest priority present. High
 * priorities go first. A set is served while it has credit. An overdraft is subtracted from its
 * next turns; unused credit expires with the round. When no set has credit, the next round begins.
 *
 * Example, the paper's experiment: A has period 19.2 s (S1, p = 1/10), B to P 384 s (S3, 1/1000).
 * While A and the others want to send, a round is 100 MiB of A and 1 MiB of the others. Among
 * those, B is served alone until its phase ends, then C. With a job X of unknown period (1/50), a
 * round is 100 MiB of A, 20 of X, 1 of B. When B to P are done, p_min is 1/50, and a round is 5 MiB
 * of A and 1 of X. Remaining credit is reduced to that; otherwise X would wait for A's 100.
 *
 * Implementation: measured in bytes / p, a turn is equally long for all sets, quantum / p_min. So
 * each set has a tag in virtual time, which advances by bytes / p. A round is an interval of that
 * time, and a set has credit while its tag is before the end of the interval. This covers debt,
 * skipped rounds and a new p_min. A set of low priority gains nothing by pausing after each turn,
 * as it would with counters that restart. Integers have 128 bits, because priorities may be 10^18
 * apart.
 *
 * Within a set, exclusive=by-id is the paper's server: it serves the lowest job id that is ready.
 * exclusive=by-phase is the original method: a job takes a ticket at the start of a phase, and the
 * lowest ticket is served until its phase ends, which is when the job was not ready for grace_ms. A
 * gap inside the phase is lent to the next ticket (hold=lend) or kept free (hold=idle).
 *
 * Departures: (1) Credit counts bytes, 1 = quantum_bytes; credit=requests is the paper's unit. (2)
 * No turn is longer than 100 quanta. If priorities are further apart, the lowest set is served only
 * once in several rounds. Shares are the same, but a job with a period of days does not cause turns
 * of a million quanta, for which the other sets would wait. (3) No starvation in a set, the paper's
 * open problem: a lane that has waited max_exclusive_ms gets the set for that long, or until it is
 * not ready. So in a set of n, a ready lane is served within n times (max_exclusive_ms and the time
 * to the set's next turn). (4) Bytes that a guarantee sends out of turn are charged to the set, but
 * they cost it at most its next turn, so they do not lock out other jobs of the set.
 *
 * There are at most 20 sets (one holds all jobs of unknown period, which share its turns by a
 * heap), so choosing one is O(1). Enter and leave are O(log lanes); pick and charge O(1), for jobs
 * of unknown period O(log lanes).
 */
#include "policy/policy.h"

#include "base/ds/heap.h"
#include "base/ds/list.h"
#include "base/ds/tree.h"

#define IOS_NONE      UINT32_MAX
#define IOS_LINE      64
#define IOS_ONE	      (INT64_C(1) << 20) /* credit 1 when requests are counted */
#define IOS_MAX_TURN  100		 /* quanta */
#define IOS_SETS      20
#define IOS_OWN	      11       /* the index of the set of all jobs of unknown period */
#define IOS_OWN_P     20000000 /* their priority, 1/50, in 10^-9 */
#define IOS_OWN_PRICE UINT64_C(50000000000)

enum { P_CREDIT, P_QUANTUM, P_EXCLUSIVE, P_HOLD, P_GRACE, P_MAX_EXCLUSIVE };
enum { BY_BYTES, BY_REQUESTS };
enum { BY_PHASE, BY_ID };
enum { LEND, IDLE };

static const struct sl_param params[] = {
	SL_PARAM_CHOICE("credit", BY_BYTES, "The unit of a turn.", "bytes", "requests"),
	SL_PARAM_NUMBER(
		"quantum_bytes", SL_BYTES, 4096, 1 << 30, 1 << 20,
		"Turn of the set with the smallest priority; with credit=requests it is 1."),
	SL_PARAM_CHOICE("exclusive", BY_PHASE,
			"Which job of a set is served first: the one whose I/O phase began first, "
			"or the lowest job id.",
			"by-phase", "by-id"),
	SL_PARAM_CHOICE("hold", LEND,
			"By phase: while the job that has the set pauses, lend the set to the next "
			"job, or keep it idle.",
			"lend", "idle"),
	SL_PARAM_NUMBER(
		"grace_ms", SL_MS, 0, 60000, 100,
		"By phase: a phase ends when the job has had nothing to send for this long."),
	SL_PARAM_NUMBER("max_exclusive_ms", SL_MS, 1, 3600000, 10000,
			"A job that has waited this long in its set gets the set, for as long."),
	{ 0 },
};

/* The cost of a byte, 10^9 / priority: sets -9 .. 1, unknown, 2 .. 9. */
static const uint64_t price[IOS_SETS] = {
	1,
	10,
	100,
	1000,
	10000,
	100000,
	1000000,
	10000000,
	100000000,
	1000000000,
	10000000000,
	IOS_OWN_PRICE,
	100000000000,
	1000000000000,
	10000000000000,
	100000000000000,
	1000000000000000,
	10000000000000000,
	100000000000000000,
	1000000000000000000,
};

struct ios_lane {
	struct sl_list waiting; /* in its set, the longest without service first */
	sl_time since;		/* when it was served or became ready */
	/* For a job that is a set of its own: */
	uint64_t turn; /* number of its next possible turn */
	int64_t credit;
	int64_t grant; /* credit for each turn */
	sl_time left;
	uint8_t set, ready, kept; /* kept: left without being idle */
	/* The second cache line is not needed to pick and charge. */
	struct sl_node node; /* in its set while ready; lo: ticket (0: none) or job */
	uint64_t job;
	sl_time period_ns;
};

_Static_assert(sizeof(struct ios_lane) == 128, "two cache lines");

struct ios_set {
	unsigned __int128 tag; /* in virtual time: bytes served, times price */
	struct sl_tree ready;
	struct sl_node *first;
	struct sl_list waiting;
	sl_time forced_until, away_until;
	uint32_t forced; /* waited too long; or IOS_NONE */
	uint32_t away;	 /* hold=idle: the lane that has the set and pauses; or IOS_NONE */
};

struct ios {
	unsigned __int128 begin, end; /* of the round, in virtual time */
	unsigned __int128 length;     /* of a round with the sets that are present */
	struct ios_lane *lane;
	uint32_t present; /* bit for each set that has ready lanes */
	uint32_t changed; /* `present` has changed since `length` was computed */
	uint32_t picked;
	uint32_t by_requests, by_id, hold_idle;
	int64_t quantum;
	sl_time grace_ns, max_exclusive_ns;
	uint64_t tickets;
	/* Jobs of unknown period: turn n of each, from 1, is at own_begin + (n - 1) * own_length.
	 */
	unsigned __int128 own_begin, own_length;
	struct sl_heap own; /* ready lanes, by turn */
	uint64_t own_now;   /* turn being served */
	struct ios_set set[IOS_SETS];
};

static size_t ios_size(const struct sl_policy_limits *limits)
{
	return sizeof(struct ios) + IOS_LINE + limits->lanes * sizeof(struct ios_lane) +
	       sl_heap_size(limits->lanes);
}

static void ios_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		     sl_time now)
{
	struct ios *s = state;
	char *end = (char *)(s + 1);

	(void)now;
	s->lane = (struct ios_lane *)(end + (-(uintptr_t)end & (IOS_LINE - 1)));
	s->picked = IOS_NONE;
	s->own_now = 1;
	s->by_requests = values[P_CREDIT] == BY_REQUESTS;
	s->by_id = values[P_EXCLUSIVE] == BY_ID;
	s->hold_idle = values[P_EXCLUSIVE] == BY_PHASE && values[P_HOLD] == IDLE;
	s->quantum = s->by_requests ? IOS_ONE : values[P_QUANTUM];
	s->grace_ns = values[P_GRACE] * 1000000;
	s->max_exclusive_ns = values[P_MAX_EXCLUSIVE] * 1000000;
	s->own_length = (unsigned __int128)(uint64_t)s->quantum * IOS_OWN_PRICE;
	sl_heap_init(&s->own, s->lane + limits->lanes, limits->lanes);
	for (uint32_t i = 0; i < limits->lanes; i++)
		sl_list_init(&s->lane[i].waiting);
	for (uint32_t i = 0; i < IOS_SETS; i++) {
		sl_list_init(&s->set[i].waiting);
		s->set[i].forced = s->set[i].away = IOS_NONE;
	}
}

static uint8_t ios_set_of(sl_time period_ns)
{
	/* The longest period of set 8: 10^8.5 s rounded down, so the digits of sqrt(10). */
	sl_time longest_ns = 316227766016837933;
	uint8_t i = 18;

	if (period_ns <= 0)
		return IOS_OWN;
	for (; i && period_ns <= longest_ns; i--)
		longest_ns /= 10;
	return i < IOS_OWN ? i : (uint8_t)(i + 1);
}

static const struct ios_lane *ios_of_line(const struct sl_list *waiting)
{
	return sl_container(waiting, struct ios_lane, waiting);
}

static uint32_t ios_number(const struct ios *s, const struct ios_lane *l)
{
	return (uint32_t)(l - s->lane);
}

/* ---- which set has its turn ---- */

/* The tag of a set that is present, not before the begin of the round. */
static unsigned __int128 ios_tag(struct ios *s, unsigned i)
{
	unsigned __int128 tag;

	if (i != IOS_OWN) {
		if (s->set[i].tag < s->begin)
			s->set[i].tag = s->begin;
		return s->set[i].tag;
	}
	tag = s->own_begin + (sl_heap_top(&s->own)->key - 1) * s->own_length;
	if (tag < s->begin) {
		s->own_begin += s->begin - tag;
		tag = s->begin;
	}
	return tag;
}

static unsigned __int128 ios_least(struct ios *s, uint32_t sets)
{
	unsigned __int128 least = ios_tag(s, (unsigned)__builtin_ctz(sets));

	for (sets &= sets - 1; sets; sets &= sets - 1) {
		unsigned __int128 tag = ios_tag(s, (unsigned)__builtin_ctz(sets));

		if (tag < least)
			least = tag;
	}
	return least;
}

/* Of a round with those present. */
static unsigned __int128 ios_length(const struct ios *s)
{
	uint64_t highest = price[__builtin_ctz(s->present)];
	uint64_t lowest = price[31 - __builtin_clz(s->present)];

	if (lowest / highest > IOS_MAX_TURN)
		lowest = highest * IOS_MAX_TURN;
	return (unsigned __int128)(uint64_t)s->quantum * lowest;
}

/*
 * Other sets are present than before: rounds get another length, and the current one must not be
 * longer.
 */
static void ios_settle(struct ios *s)
{
	unsigned __int128 end;

	s->changed = 0;
	s->length = ios_length(s);
	end = ios_least(s, s->present) + s->length;
	if (s->end > end)
		s->end = end;
}

/* ---- which job of the set is served ---- */

/* hold=idle: whether the set is kept for a job that pauses; then *until may become smaller. */
static bool ios_held(const struct ios *s, const struct ios_set *set, sl_time now, sl_time *until)
{
	const struct ios_lane *longest;
	sl_time limit;

	if (set->away == IOS_NONE || now >= set->away_until ||
	    s->lane[set->away].node.lo > set->first->lo)
		return false;
	if (set->forced != IOS_NONE && now < set->forced_until)
		return false;
	longest = ios_of_line(set->waiting.next);
	limit = longest->since + s->max_exclusive_ns;
	if (now >= limit)
		return false;
	if (limit > set->away_until)
		limit = set->away_until;
	if (limit < *until)
		*until = limit;
	return true;
}

/* The job that has the set now; *forced: it has waited too long. Inline, because pick calls it. */
static inline __attribute__((always_inline)) uint32_t
ios_holder(const struct ios *s, const struct ios_set *set, sl_time now, bool *forced)
{
	const struct ios_lane *longest = ios_of_line(set->waiting.next);

	*forced = false;
	if (set->forced != IOS_NONE && now < set->forced_until)
		return set->forced;
	*forced =
		now - longest->since >= s->max_exclusive_ns &&
		(&longest->node != set->first || (set->away != IOS_NONE && now < set->away_until));
	return ios_number(s, *forced ? longest : sl_container(set->first, struct ios_lane, node));
}

static uint32_t ios_choose(const struct ios *s, struct ios_set *set, sl_time now)
{
	bool forced;
	uint32_t lane = ios_holder(s, set, now, &forced);

	if (forced) {
		set->forced = lane;
		set->forced_until = now + s->max_exclusive_ns;
	}
	return lane;
}

static int64_t ios_pick(void *state, sl_time now, sl_time *wake)
{
	struct ios *s = state;
	uint32_t sets = s->present;
	sl_time until = *wake;

	if (s->hold_idle)
		for (uint32_t m = sets & ~(1U << IOS_OWN); m; m &= m - 1)
			if (ios_held(s, &s->set[__builtin_ctz(m)], now, &until))
				sets &= ~(m & -m);
	if (!sets) {
		*wake = until;
		return -1;
	}
	if (s->changed)
		ios_settle(s);
	for (;;) {
		for (uint32_t m = sets; m; m &= m - 1) {
			unsigned i = (unsigned)__builtin_ctz(m);

			if (ios_tag(s, i) >= s->end)
				continue;
			s->picked = i == IOS_OWN ? sl_heap_top(&s->own)->id
						 : ios_choose(s, &s->set[i], now);
			return s->picked;
		}
		s->begin = ios_least(s, sets);
		s->end = s->begin + s->length;
	}
}

/* ---- ahead(): what ios_pick() would choose, without changing the state ---- */

static unsigned __int128 ios_stands(const struct ios *s, unsigned i)
{
	unsigned __int128 tag = s->set[i].tag;

	if (i == IOS_OWN)
		tag = s->own_begin + (sl_heap_top(&s->own)->key - 1) * s->own_length;
	return tag < s->begin ? s->begin : tag;
}

/* The end of the round with those present. */
static unsigned __int128 ios_round_end(const struct ios *s)
{
	unsigned __int128 least = ios_stands(s, (unsigned)__builtin_ctz(s->present));

	if (!s->changed)
		return s->end;
	for (uint32_t m = s->present & (s->present - 1); m; m &= m - 1) {
		unsigned __int128 tag = ios_stands(s, (unsigned)__builtin_ctz(m));

		least = tag < least ? tag : least;
	}
	least += ios_length(s);
	return s->end < least ? s->end : least;
}

/*
 * The job that has the lane's set. If that is the lane itself: the set that has its turn before,
 * which is one of higher priority with credit, or any with credit if the lane's set has none left
 * in this round.
 */
static bool ios_ahead(const void *state, uint32_t lane, sl_time now, struct sl_ahead *out)
{
	const struct ios *s = state;
	unsigned own = s->lane[lane].set;
	const struct ios_set *set = &s->set[own];
	unsigned __int128 end;
	sl_time until = SL_NEVER;
	bool credit, forced;

	if (!s->lane[lane].ready)
		return false;
	if (own == IOS_OWN)
		out->lane = sl_heap_top(&s->own)->id;
	else if (s->hold_idle && ios_held(s, set, now, &until))
		out->lane = set->away;
	else
		out->lane = ios_holder(s, set, now, &forced);
	if (out->lane != lane)
		return true;
	end = ios_round_end(s);
	credit = ios_stands(s, own) < end;
	for (uint32_t m = s->present; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		if (i == own && credit)
			break;
		if (i == own || ios_stands(s, i) >= end ||
		    (s->hold_idle && i != IOS_OWN && ios_held(s, &s->set[i], now, &until)))
			continue;
		out->lane = i == IOS_OWN ? (int64_t)sl_heap_top(&s->own)->id : -1;
		out->set = i < IOS_OWN ? (int)i - 9 : (int)i - 10;
		return true;
	}
	return false;
}

/* ---- charging ---- */

static void ios_charge_own(struct ios *s, uint32_t lane, int64_t cost, bool picked)
{
	struct ios_lane *l = &s->lane[lane];
	uint64_t next = sl_heap_top(&s->own)->key, turns = 1;

	if (next > s->own_now)
		s->own_now = next;
	l->credit -= cost;
	if (l->credit > 0)
		return;
	if (!picked) {
		/* At most one turn ahead of the others, however many bytes it sent out of turn. */
		if (l->turn <= next)
			l->turn = next + 1;
		l->credit = l->grant;
	} else {
		if (l->credit + l->grant <= 0)
			turns = (uint64_t)(-l->credit / l->grant) + 1;
		l->turn += turns;
		l->credit += (int64_t)turns * l->grant;
	}
	sl_heap_set(&s->own, lane, l->turn);
}

static void ios_charge(void *state, uint32_t lane, const struct sl_member *m, uint64_t bytes,
		       uint32_t requests, sl_time now)
{
	struct ios *s = state;
	struct ios_lane *l = &s->lane[lane];
	struct ios_set *set = &s->set[l->set];
	int64_t cost = s->by_requests ? requests * IOS_ONE : (int64_t)bytes;
	bool picked = s->picked == lane;
	unsigned __int128 from;

	(void)m;
	s->picked = IOS_NONE;
	if (l->set == IOS_OWN) {
		ios_charge_own(s, lane, cost, picked);
		return;
	}
	if (s->changed)
		ios_settle(s);
	from = ios_tag(s, l->set);
	set->tag = from + (unsigned __int128)(uint64_t)cost * price[l->set];
	if (!picked && set->tag >= s->end + s->length)
		set->tag = from < s->end + s->length ? s->end + s->length - 1 : from;
	l->since = now;
	sl_list_remove(&l->waiting);
	sl_list_push_back(&set->waiting, &l->waiting);
}

/* ---- entering and leaving ---- */

/*
 * Jobs of unknown period are present: a new one does not begin before the present round. Shift and
 * subtract, because a 128-bit division is a call into the compiler's library; O(log turns since
 * own_now was set).
 */
static void ios_own_now(struct ios *s)
{
	unsigned __int128 tag = s->own_begin + (s->own_now - 1) * s->own_length, behind;
	unsigned k = 0;

	if (tag >= s->begin)
		return;
	behind = s->begin - tag + s->own_length - 1;
	while (s->own_length << k <= behind)
		k++;
	while (k--)
		if (s->own_length << k <= behind) {
			behind -= s->own_length << k;
			s->own_now += UINT64_C(1) << k;
		}
}

/*
 * Insert the lane at the end of the list. A lane that kept its place goes back to it, which is
 * mostly near the front (its turn had come, and then its order policy waited) or near the end (it
 * was just served).
 */
static void ios_line_up(struct ios_set *set, struct ios_lane *l, sl_time now)
{
	struct sl_list *line = &set->waiting, *at = line->prev;

	if (!l->kept)
		l->since = now;
	l->kept = 0;
	if (!sl_list_empty(line) && ios_of_line(line->next)->since >= l->since)
		at = line;
	while (at != line && ios_of_line(at)->since > l->since)
		at = at->prev;
	sl_list_push_front(at, &l->waiting);
}

static void ios_in(struct ios *s, uint32_t lane, sl_time now)
{
	struct ios_lane *l = &s->lane[lane];
	struct ios_set *set = &s->set[l->set];

	l->ready = 1;
	if (!(s->present & 1U << l->set)) {
		s->present |= 1U << l->set;
		s->changed = 1;
	}
	if (l->set == IOS_OWN) {
		if (s->own.count)
			ios_own_now(s);
		if (l->turn < s->own_now) {
			l->turn = s->own_now;
			l->credit = l->grant;
		}
		sl_heap_set(&s->own, lane, l->turn);
		l->kept = 0;
		return;
	}
	sl_tree_insert(&set->ready, &l->node);
	if (!set->first || l->node.lo < set->first->lo)
		set->first = &l->node;
	ios_line_up(set, l, now);
	if (set->away == lane)
		set->away = IOS_NONE;
}

static void ios_out(struct ios *s, uint32_t lane)
{
	struct ios_lane *l = &s->lane[lane];
	struct ios_set *set = &s->set[l->set];

	l->ready = 0;
	if (l->set == IOS_OWN) {
		sl_heap_remove(&s->own, lane);
	} else {
		if (set->first == &l->node)
			set->first = sl_tree_next(&l->node);
		sl_tree_remove(&set->ready, &l->node);
		sl_list_remove(&l->waiting);
		if (set->forced == lane)
			set->forced = IOS_NONE;
	}
	if (l->set == IOS_OWN ? !s->own.count : !set->first) {
		s->present &= ~(1U << l->set);
		s->changed = 1;
	}
}

/* Set the lane, which is in no set, to the description m. */
static void ios_describe(struct ios *s, uint32_t lane, const struct sl_member *m)
{
	struct ios_lane *l = &s->lane[lane];
	uint8_t set = ios_set_of(m->period_ns);

	if (l->set != set && s->set[l->set].away == lane)
		s->set[l->set].away = IOS_NONE;
	l->set = set;
	l->period_ns = m->period_ns;
	l->job = m->job;
	l->grant = s->quantum + s->quantum * (int64_t)(m->job % 10007) / IOS_OWN_P;
}

static void ios_enter(void *state, uint32_t lane, const struct sl_member *m, sl_time now)
{
	struct ios *s = state;
	struct ios_lane *l = &s->lane[lane];

	if (!l->grant || l->period_ns != m->period_ns || l->job != m->job)
		ios_describe(s, lane, m);
	if (s->by_id)
		l->node.lo = l->job;
	else if (!l->node.lo || (!l->kept && now - l->left >= s->grace_ns))
		l->node.lo = ++s->tickets;
	ios_in(s, lane, now);
}

static void ios_leave(void *state, uint32_t lane, bool idle, sl_time now)
{
	struct ios *s = state;
	struct ios_lane *l = &s->lane[lane];
	struct ios_set *set = &s->set[l->set];
	bool has_set = l->set != IOS_OWN && set->first == &l->node;

	ios_out(s, lane);
	l->left = now;
	l->kept = !idle;
	if (s->hold_idle && has_set &&
	    (set->away == IOS_NONE || now >= set->away_until ||
	     s->lane[set->away].node.lo > l->node.lo)) {
		set->away = lane;
		set->away_until = now + s->grace_ns;
	}
}

static void ios_update(void *state, uint32_t lane, const struct sl_member *m, sl_time now)
{
	struct ios *s = state;
	struct ios_lane *l = &s->lane[lane];

	if (!l->ready || ios_set_of(m->period_ns) == l->set) {
		ios_describe(s, lane, m);
		return;
	}
	ios_out(s, lane);
	ios_describe(s, lane, m);
	ios_in(s, lane, now);
}

static void ios_forget(void *state, uint32_t lane)
{
	struct ios *s = state;
	struct ios_lane *l = &s->lane[lane];

	if (s->set[l->set].away == lane)
		s->set[l->set].away = IOS_NONE;
	*l = (struct ios_lane){ 0 };
	sl_list_init(&l->waiting);
}

const struct sl_share_ops sl_share_io_sets = {
	.base = { .name = "io-sets",
		  .summary = "jobs of similar period one at a time, frequent ones get most",
		  .source = "IO-Sets (Barthélemy et al. 2024), sections 2.2 and 3.5",
		  .params = params,
		  .state_size = ios_size,
		  .init = ios_init },
	.enter = ios_enter,
	.leave = ios_leave,
	.update = ios_update,
	.forget = ios_forget,
	.pick = ios_pick,
	.charge = ios_charge,
	.ahead = ios_ahead,
};
