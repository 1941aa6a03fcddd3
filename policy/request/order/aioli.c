/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aioli: first come, first served between files, offset order and large batches within them.
 *
 * Seed: AGIOS (Boito et al. 2015), §2.1, after Lebre et al. 2006. Quanta and waits: see
 * quantum.h. Queues are considered in the order of their oldest request; the first whose next
 * run in offset order has quantum enough sends it. Synchronous: one batch in flight for each
 * flow, which gives the others time to grow. What is left of the quantum after a batch serves
 * the run that begins where it ended, before any other queue is considered.
 *
 * Example, quantum_bytes=64K: A (older) has a run of 128K, B one of 64K. Round 1: A gets 64K, not
 * enough; B gets 64K and goes. When it is done, A gets 128K, has 192K, and goes with 64K left;
 * if A[128K,192K) has come by then, it is next.
 *
 * Shift: the last batch ended at 1M, and the run at hand begins a little later: the process that
 * should have sent 1M is late, or has only just got its answer, and serving the others first would
 * cost two seeks. Processes that stride through a file together find into step by that. What was
 * passed by, and is older than the run at hand, goes before it: nobody can be waited for that waits.
 * One wait for each end of a batch; after eight in vain there is one in 256 batches.
 *
 * What a wait may cost. A wait can save what a batch that begins elsewhere takes longer than one of
 * its size that goes on where the last one ended, and no wait is longer than that: so waiting never
 * costs more than twice what going at once would have. Both are measured, for reads and writes
 * apart, as means of the last eight or so. Until four batches went on the saving is taken to be all that the
 * others take; until there were four others, wait_us is the only bound. Example: batches of 16 KiB that go on take 0.3 ms on a disk and others 6.6: a wait takes
 * wait_us (0.5 ms). On flash they take 0.10 and 0.18 ms: it waits for 0.08.
 *
 * Departures: the paper grants to all queues in each round, O(files); here to those considered,
 * in arrival order all the same, and after SL_QUANTUM_VISITS too small grants one goes anyway.
 * Offset order goes on from the last batch instead of restarting at the lowest offset. A request
 * older than max_age_ms goes first: none waits longer than max_age_ms + wait_us plus the time to
 * serve what was waiting in the flow when it came.
 */
#include "policy/request/order/quantum.h"

#define VAIN_WAITS 8 /* then one in 256 batches */
#define SAMPLES	   4 /* of each kind, before the saving bounds a wait */
#define MEAN_OF	   8 /* batches */

/* Means of the batches of one kind: those that began where the one before had ended, or others. */
struct aioli_times {
	float ns, bytes;
	uint32_t count; /* at most MEAN_OF */
};

struct aioli_state {
	struct sl_tree queues;	   /* to consider, by the number of their oldest request */
	struct sl_list waiting[2]; /* by operation: those that wait for more, by q->until */
	struct sl_queue *carry;	   /* has quantum left after its batch */
	uint64_t end;		   /* where that batch ended */
	int64_t left;
	const struct sl_queue *last; /* of the batch that ended at `end` */
	const struct sl_run *sent;   /* in flight; NULL: nothing that was sent by this policy */
	sl_time sent_at;
	bool follows;			/* it begins at `end` of `last` */
	struct aioli_times times[2][2]; /* by operation and `follows` */
};

_Static_assert(sizeof(struct aioli_state) <= SL_FLOW_STATE, "policy part of a flow");

static const struct sl_param params[] = {
	SL_BATCH_PARAMS, SL_AGE_PARAM, SL_QUANTUM_PARAMS, { .name = NULL }
};

static struct aioli_state *aioli_state(const struct sl_flow *f)
{
	return (struct aioli_state *)(uintptr_t)f->state;
}

static struct sl_queue *aioli_queue(struct sl_list *l)
{
	return sl_container(l, struct sl_queue, link);
}

static size_t aioli_size(const struct sl_policy_limits *limits)
{
	(void)limits;
	return sizeof(struct aioli_state);
}

static void aioli_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		       sl_time now)
{
	struct aioli_state *st = state;

	(void)limits, (void)values, (void)now;
	*st = (struct aioli_state){ 0 };
	sl_list_init(&st->waiting[SL_READ]);
	sl_list_init(&st->waiting[SL_WRITE]);
}

/* ---- what a wait can save ---- */

static void aioli_sample(struct aioli_times *t, sl_time ns, uint64_t bytes)
{
	t->count += t->count < MEAN_OF;
	t->ns += ((float)ns - t->ns) / (float)t->count;
	t->bytes += ((float)bytes - t->bytes) / (float)t->count;
}

static void aioli_sent(struct aioli_state *st, const struct sl_run *run, sl_time now)
{
	const struct sl_queue *q = sl_run_queue(run);

	st->follows = q == st->last && run->range.lo == st->end;
	st->last = q;
	st->sent = run;
	st->sent_at = now;
}

static void aioli_done(struct sl_flow *f, struct sl_run *run, sl_time now)
{
	struct aioli_state *st = aioli_state(f);

	if (run == st->sent && now > st->sent_at)
		aioli_sample(&st->times[run->batch.op][st->follows], now - st->sent_at,
			     run->batch.length);
	st->sent = NULL;
	sl_flow_done(f, run, now);
}

/* How long to wait in this queue at most; 0: not at all. */
static sl_time aioli_patience(const struct sl_flow *f, const struct sl_run *run)
{
	const struct aioli_times *t = aioli_state(f)->times[run->batch.op];
	sl_time most = f->values[SL_P_WAIT_US] * 1000;
	float saved = t[false].ns;

	if (t[false].count < SAMPLES)
		return most;
	if (t[true].count >= SAMPLES)
		saved -= t[true].ns * t[false].bytes / t[true].bytes;
	if (saved <= 0)
		return 0;
	return saved < (float)most ? (sl_time)saved : most;
}

/* ---- queues ---- */

/* Out of the tree or the list of those that wait, whichever it is in. */
static void aioli_unplace(struct aioli_state *st, struct sl_queue *q)
{
	if (q->waiting)
		sl_list_remove(&q->link);
	else if (q->linked)
		sl_tree_remove(&st->queues, &q->key);
	q->waiting = q->linked = 0;
}

/* Into the tree, by its oldest request; or nowhere when nothing waits in it. */
static void aioli_place(struct aioli_state *st, struct sl_queue *q)
{
	uint64_t number;

	if (sl_tree_empty(&q->runs)) {
		aioli_unplace(st, q);
		return;
	}
	number = sl_container(q->ages.next, struct sl_run, queue_age)->number;
	if (q->linked && !q->waiting && q->key.lo == number)
		return;
	aioli_unplace(st, q);
	q->key.lo = number;
	q->key.hi = 0;
	sl_tree_insert(&st->queues, &q->key);
	q->linked = 1;
}

/* Of those that wait the one whose wait ends first, or NULL. */
static struct sl_queue *aioli_waits_least(const struct aioli_state *st)
{
	struct sl_queue *least = NULL;

	for (unsigned op = 0; op < 2; op++) {
		const struct sl_list *l = &st->waiting[op];

		if (!sl_list_empty(l) && (!least || aioli_queue(l->next)->until < least->until))
			least = aioli_queue(l->next);
	}
	return least;
}

/*
 * Where the next batch seeks in any case, what was passed by and is older goes first: its
 * process will soon be where the others are.
 */
static struct sl_run *aioli_head(const struct sl_flow *f, const struct sl_queue *q)
{
	struct sl_run *run = sl_queue_head(q), *first = sl_range_run(sl_tree_first(&q->runs));

	return run->range.lo != q->end && first->number < run->number &&
			       run->range.lo - first->range.lo <= f->batch_bytes
		       ? first
		       : run;
}

static void aioli_changed(struct sl_flow *f, struct sl_queue *q, struct sl_run *joined, sl_time now)
{
	bool come = !joined || joined->range.lo == q->end || sl_run_full(f, joined) ||
		    (joined->batch.count >= q->expected && !q->shift);

	(void)now;
	if (q->waiting && come && joined)
		aioli_head(f, q)->waited = 1; /* what the queue waited for is here */
	if (!q->waiting || come)
		aioli_place(aioli_state(f), q);
}

static sl_time aioli_ready(const struct sl_flow *f, sl_time now)
{
	const struct aioli_state *st = aioli_state(f);
	const struct sl_queue *q;

	(void)now;
	if (f->inflight)
		return SL_NEVER;
	if (!sl_tree_empty(&st->queues))
		return 0;
	q = aioli_waits_least(st);
	return q ? q->until : SL_NEVER;
}

/* The run that begins where the last batch ended, if the quantum left covers it. */
static struct sl_run *aioli_carry_on(struct sl_flow *f)
{
	struct aioli_state *st = aioli_state(f);
	struct sl_queue *q = st->carry;
	struct sl_run *run;

	st->carry = NULL;
	/* The entry of a file that became idle may have another owner by now. */
	if (!q || q->end != st->end || sl_tree_empty(&q->runs))
		return NULL;
	run = sl_queue_head(q);
	if (run->file->flow != f || run->range.lo != st->end ||
	    (int64_t)run->batch.length > st->left)
		return NULL;
	run->quantum = st->left;
	return run;
}

static bool aioli_shift(const struct sl_flow *f, const struct sl_queue *q, const struct sl_run *run)
{
	return q->end && q->asked != q->end && q->vain < VAIN_WAITS && !sl_run_full(f, run) &&
	       run->range.lo > q->end && run->range.lo - q->end <= f->batch_bytes;
}

/* The list stays in order, though the means change. */
static void aioli_wait(struct aioli_state *st, struct sl_queue *q, uint32_t op, sl_time until)
{
	struct sl_list *waiting = &st->waiting[op];

	aioli_unplace(st, q);
	q->waiting = 1;
	q->until = until;
	if (!sl_list_empty(waiting) && aioli_queue(waiting->prev)->until > until)
		q->until = aioli_queue(waiting->prev)->until;
	sl_list_push_back(waiting, &q->link);
}

static struct sl_run *aioli_choose(struct sl_flow *f, sl_time now)
{
	struct aioli_state *st = aioli_state(f);
	struct sl_node *at = sl_tree_first(&st->queues), *next;

	for (unsigned small = 0; at; at = next) {
		struct sl_queue *q = sl_container(at, struct sl_queue, key);
		struct sl_run *run = aioli_head(f, q);
		sl_time patience;
		bool shift;

		next = sl_tree_next(at);
		if (!sl_quantum_visit(f, q, run) && ++small < SL_QUANTUM_VISITS) {
			next = next ? next : sl_tree_first(&st->queues); /* another round */
			continue;
		}
		patience = aioli_patience(f, run);
		shift = patience && aioli_shift(f, q, run);
		if (!shift && (!patience || !sl_quantum_wait(f, q, run)))
			return run;
		q->shift = shift;
		if (shift) {
			q->vain++;
			q->asked = q->end;
		}
		aioli_wait(st, q, run->batch.op, now + patience);
		next = next ? next : sl_tree_first(&st->queues);
	}
	return NULL;
}

static struct sl_run *aioli_next(struct sl_flow *f, sl_time now)
{
	struct aioli_state *st = aioli_state(f);
	struct sl_run *run = sl_flow_oldest_run(f);
	struct sl_queue *q;

	while ((q = aioli_waits_least(st)) && q->until <= now) {
		q->asked = q->end;	      /* no second wait for the same */
		aioli_head(f, q)->waited = 1; /* it may be another one than when the wait began */
		aioli_place(st, q);
	}
	if (!sl_run_aged(f, run, now)) {
		run = aioli_carry_on(f);
		run = run ? run : aioli_choose(f, now);
	}
	if (!run)
		return NULL;
	aioli_sent(st, run, now);
	q = sl_run_queue(run);
	st->left = run->quantum - (int64_t)run->batch.length;
	st->end = run->range.hi;
	st->carry = st->left > 0 ? q : NULL;
	sl_flow_take(f, run);
	sl_quantum_used(q, run);
	if (q->streak)
		q->vain = 0;
	else if (++q->batches == 0 && q->vain)
		q->vain--;
	aioli_place(st, q);
	return run;
}

const struct sl_order_ops sl_order_aioli = {
	.base = { .name = "aioli",
		  .summary =
			  "files first come first served, growing quanta, waits for larger batches",
		  .source = "AGIOS (Boito et al. 2015), section 2.1, aIOLi (Lebre et al. 2006)",
		  .params = params,
		  .state_size = aioli_size,
		  .init = aioli_init },
	.add = sl_flow_add,
	.ready = aioli_ready,
	.next = aioli_next,
	.done = aioli_done,
	.cancel = sl_flow_cancel,
	.drain = sl_flow_drain,
	.oldest = sl_flow_oldest,
	.changed = aioli_changed,
};
