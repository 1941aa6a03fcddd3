/* SPDX-License-Identifier: Apache-2.0 */
/* Queues, runs and the fence of a flow: see flow.h for the ideas. */
#include <assert.h>
#include <string.h>

#include "policy/request/order/flow.h"

static uint64_t end_of(const struct sl_request *r)
{
	return r->offset + r->length;
}

static struct sl_file *file_of(const struct sl_request *r)
{
	return r->file_;
}

/* ---- pools ---- */

void sl_flow_env_init(struct sl_flow_env *env, uint32_t files, uint32_t requests, void *hash_memory)
{
	sl_hash_init(&env->by_id, hash_memory, files);
	sl_list_init(&env->free_runs);
	sl_list_init(&env->idle_files);
	for (uint32_t i = requests; i-- > 0;)
		sl_list_push_front(&env->free_runs, &env->runs[i].age);
	for (uint32_t i = 0; i < files; i++)
		sl_list_push_back(&env->idle_files, &env->files[i].link);
}

/* There are as many runs as requests, and a run holds at least one, so the pool cannot run dry. */
static struct sl_run *run_alloc(struct sl_flow_env *env)
{
	struct sl_run *run = sl_container(env->free_runs.next, struct sl_run, age);

	assert(!sl_list_empty(&env->free_runs));
	sl_list_remove(&run->age);
	return run;
}

void sl_run_free(struct sl_flow_env *env, struct sl_run *run)
{
	run->state = SL_RUN_FREE;
	sl_list_push_front(&env->free_runs, &run->age);
}

static void file_drop(struct sl_flow_env *env, struct sl_file *file)
{
	assert(file->flow);
	sl_hash_remove(&env->by_id, file->id, file->flow->lane);
	sl_list_remove(&file->of_flow);
	file->flow = NULL;
}

struct sl_file *sl_flow_file(struct sl_flow *f, uint64_t id)
{
	struct sl_flow_env *env = f->env;
	uint32_t i = sl_hash_get(&env->by_id, id, f->lane);
	struct sl_file *file;

	if (i != SL_HASH_NONE)
		return &env->files[i];
	if (sl_list_empty(&env->idle_files))
		return NULL;
	file = sl_container(env->idle_files.next, struct sl_file, link);
	sl_list_remove(&file->link);
	if (file->flow)
		file_drop(env, file);
	memset(file, 0, sizeof(*file));
	file->id = id;
	file->flow = f;
	sl_list_push_back(&env->idle_files, &file->link); /* until a request joins */
	sl_list_push_back(&f->files, &file->of_flow);
	sl_hash_put(&env->by_id, id, f->lane, (uint32_t)(file - env->files));
	return file;
}

void sl_file_hold(struct sl_file *file)
{
	if (file->requests++ == 0) {
		sl_list_remove(&file->link);
		file->flow->env->files_busy++;
	}
}

void sl_file_release(struct sl_file *file, uint32_t requests)
{
	file->requests -= requests;
	if (file->requests == 0) {
		sl_list_push_back(&file->flow->env->idle_files, &file->link);
		file->flow->env->files_busy--;
	}
}

void sl_flow_forget_files(struct sl_flow *f)
{
	while (!sl_list_empty(&f->files)) {
		struct sl_file *file = sl_container(f->files.next, struct sl_file, of_flow);

		assert(file->requests == 0);
		file_drop(f->env, file);
		/* Without an owner it is the first to be used again. */
		sl_list_remove(&file->link);
		sl_list_push_front(&f->env->idle_files, &file->link);
	}
}

/* ---- flows ---- */

void sl_flow_init(struct sl_flow *f, struct sl_flow_env *env, uint32_t lane)
{
	memset(f, 0, sizeof(*f));
	f->env = env;
	f->lane = lane;
	f->batch_limit = UINT64_MAX;
	sl_list_init(&f->runs);
	sl_list_init(&f->files);
}

void sl_flow_policy(struct sl_flow *f, const struct sl_order_ops *ops, const int64_t *values,
		    sl_time now)
{
	assert(f->waiting == 0);
	f->ops = ops;
	f->values = values;
	f->batch_bytes = f->batch_requests = 1;
	if (ops->add == sl_flow_add) {
		f->batch_bytes = (uint64_t)values[SL_P_BATCH_BYTES];
		if (f->batch_bytes > f->batch_limit)
			f->batch_bytes = f->batch_limit;
		f->batch_requests = (uint32_t)values[SL_P_BATCH_REQUESTS];
	}
	for (struct sl_list *l = f->files.next; l != &f->files; l = l->next) {
		struct sl_file *file = sl_container(l, struct sl_file, of_flow);

		memset(file->queue, 0, sizeof(file->queue));
	}
	memset(f->state, 0, sizeof(f->state));
	sl_policy_init(&ops->base, f->state, NULL, values, now);
}

/* ---- runs ---- */

static void run_start(struct sl_run *run, struct sl_request *r, uint8_t state)
{
	run->batch = (struct sl_batch){ .job = r->job,
					.file = r->file,
					.offset = r->offset,
					.length = r->length,
					.op = r->op,
					.flags = r->flags,
					.count = 1,
					.first = r };
	run->range.lo = r->offset;
	run->range.hi = end_of(r);
	run->file = file_of(r);
	run->last = r;
	run->state = state;
	run->waited = 0;
	run->quantum = 0;
	r->next = r->prev_ = NULL;
	r->run_ = run;
}

static bool can_join(const struct sl_flow *f, const struct sl_run *run, uint32_t flags,
		     uint64_t bytes, uint32_t count)
{
	return run->batch.flags == flags && run->batch.length + bytes <= f->batch_bytes &&
	       run->batch.count + count <= f->batch_requests;
}

static void run_append(struct sl_run *run, struct sl_request *r)
{
	r->run_ = run;
	r->next = NULL;
	r->prev_ = run->last;
	run->last->next = r;
	run->last = r;
}

static void run_prepend(struct sl_run *run, struct sl_request *r)
{
	r->run_ = run;
	r->prev_ = NULL;
	r->next = run->batch.first;
	run->batch.first->prev_ = r;
	run->batch.first = r;
	run->batch.job = r->job;
}

static void run_resize(struct sl_queue *q, struct sl_run *run, uint64_t lo, uint64_t hi)
{
	sl_tree_rekey(&q->runs, &run->range, lo, hi);
	run->batch.offset = lo;
	run->batch.length = hi - lo;
}

static int64_t quantum_now(const struct sl_queue *q, const struct sl_run *run)
{
	return run->quantum + (q->granted - run->granted);
}

/* right begins where left ends: left takes all of it, and the place of the older one. */
static void run_absorb(struct sl_flow *f, struct sl_queue *q, struct sl_run *left,
		       struct sl_run *right)
{
	uint64_t hi = right->range.hi;

	assert(right->batch.first);
	for (struct sl_request *r = right->batch.first; r; r = r->next)
		r->run_ = left; /* at most batch_requests of them */
	left->last->next = right->batch.first;
	right->batch.first->prev_ = left->last;
	left->last = right->last;
	left->batch.count += right->batch.count;
	left->quantum = quantum_now(q, left) + quantum_now(q, right);
	left->granted = q->granted;
	left->waited |= right->waited;
	if (right->number < left->number) {
		left->number = right->number;
		left->oldest = right->oldest;
		sl_list_remove(&left->age);
		sl_list_replace(&right->age, &left->age);
		sl_list_remove(&left->queue_age);
		sl_list_replace(&right->queue_age, &left->queue_age);
	} else {
		sl_list_remove(&right->age);
		sl_list_remove(&right->queue_age);
	}
	if (q->cursor == right)
		q->cursor = left;
	sl_tree_remove(&q->runs, &right->range);
	run_resize(q, left, left->range.lo, hi);
	sl_run_free(f->env, right);
}

/* Keep the cursor on the first run at or after the end of the last batch. */
static void queue_point(struct sl_queue *q, struct sl_run *run)
{
	if (run->range.lo >= q->end && (!q->cursor || run->range.lo < q->cursor->range.lo))
		q->cursor = run;
}

/* r overlaps nothing: let it join a neighbour, or two, or start a run of its own. */
static void queue_join(struct sl_flow *f, struct sl_queue *q, const struct sl_tree_pos *pos,
		       struct sl_request *r, uint64_t number, sl_time since, sl_time now)
{
	struct sl_run *left = sl_range_run(pos->prev), *right = sl_range_run(pos->next), *run;

	if (left && (left->range.hi != r->offset || !can_join(f, left, r->flags, r->length, 1)))
		left = NULL;
	if (right && (right->range.lo != end_of(r) || !can_join(f, right, r->flags, r->length, 1)))
		right = NULL;
	q->bytes += r->length;
	if (left) {
		run = left;
		run_append(run, r);
		run->batch.count++;
		run_resize(q, run, run->range.lo, end_of(r));
		if (right &&
		    can_join(f, left, right->batch.flags, right->batch.length, right->batch.count))
			run_absorb(f, q, left, right);
	} else if (right) {
		run = right;
		run_prepend(run, r);
		run->batch.count++;
		run_resize(q, run, r->offset, run->range.hi);
		queue_point(q, run);
	} else {
		run = run_alloc(f->env);
		run_start(run, r, SL_RUN_WAITING);
		run->granted = q->granted;
		run->number = number;
		run->oldest = since;
		sl_tree_insert_at(&q->runs, pos, &run->range);
		sl_list_push_back(&f->runs, &run->age);
		if (!q->ages.next) /* a new queue is all zero */
			sl_list_init(&q->ages);
		sl_list_push_back(&q->ages, &run->queue_age);
		queue_point(q, run);
	}
	if (f->ops->changed)
		f->ops->changed(f, q, run, now);
}

/* ---- the fence ---- */

bool sl_flow_inflight_conflict(const struct sl_request *r)
{
	const struct sl_file *file = file_of(r);

	return sl_tree_overlap(&file->inflight[SL_WRITE], r->offset, end_of(r)) ||
	       (r->op == SL_WRITE &&
		sl_tree_overlap(&file->inflight[SL_READ], r->offset, end_of(r)));
}

/* Let r into its queue, unless it overlaps something there or in flight, one of the two writing. */
static bool fence_pass(struct sl_flow *f, struct sl_request *r, uint64_t number, sl_time since,
		       sl_time now)
{
	struct sl_file *file = file_of(r);
	uint64_t lo = r->offset, hi = end_of(r);
	struct sl_queue *q = &file->queue[r->op];
	struct sl_tree_pos pos;

	if (sl_flow_inflight_conflict(r) || sl_tree_overlap(&file->queue[!r->op].runs, lo, hi))
		return false;
	sl_tree_find(&q->runs, lo, hi, &pos);
	if (r->op == SL_WRITE &&
	    ((pos.prev && pos.prev->hi > lo) || (pos.next && pos.next->lo < hi)))
		return false;
	queue_join(f, q, &pos, r, number, since, now);
	return true;
}

/* Something has left the file: the first of the line may go, and then the next. */
static void fence_open(struct sl_flow *f, struct sl_file *file, sl_time now)
{
	struct sl_request *r, *next;

	while ((r = file->blocked)) {
		next = r->next;
		if (!fence_pass(f, r, ++f->env->number, now, now))
			return;
		file->blocked = next;
		if (next)
			next->prev_ = NULL;
	}
}

void sl_flow_add(struct sl_flow *f, struct sl_request *r, sl_time now)
{
	struct sl_file *file = file_of(r);

	sl_file_hold(file);
	f->waiting++;
	if (!file->blocked && fence_pass(f, r, r->seq_, r->arrival, now))
		return;
	r->run_ = NULL;
	r->next = NULL;
	r->prev_ = file->blocked ? file->blocked_last : NULL;
	if (file->blocked)
		file->blocked_last->next = r;
	else
		file->blocked = r;
	file->blocked_last = r;
}

/* ---- in flight and back ---- */

void sl_flow_take(struct sl_flow *f, struct sl_run *run)
{
	struct sl_queue *q = sl_run_queue(run);
	struct sl_node *next = sl_tree_next(&run->range);

	q->streak = run->range.lo == q->end && q->end ? q->streak + 1 : 0;
	q->end = run->range.hi;
	q->cursor = sl_range_run(next);
	q->bytes -= run->batch.length;
	sl_tree_remove(&q->runs, &run->range);
	sl_list_remove(&run->age);
	sl_list_remove(&run->queue_age);
	sl_tree_insert(&run->file->inflight[run->batch.op], &run->range);
	run->state = SL_RUN_INFLIGHT;
	f->waiting -= run->batch.count;
	f->inflight++;
}

struct sl_run *sl_flow_take_single(struct sl_flow *f, struct sl_request *r)
{
	struct sl_run *run = run_alloc(f->env);

	run_start(run, r, SL_RUN_INFLIGHT);
	sl_tree_insert(&run->file->inflight[r->op], &run->range);
	f->waiting--;
	f->inflight++;
	return run;
}

void sl_flow_done(struct sl_flow *f, struct sl_run *run, sl_time now)
{
	struct sl_file *file = run->file;

	sl_tree_remove(&file->inflight[run->batch.op], &run->range);
	f->inflight--;
	fence_open(f, file, now);
	sl_file_release(file, run->batch.count);
}

sl_time sl_flow_ready(const struct sl_flow *f, sl_time now)
{
	(void)now;
	return sl_list_empty(&f->runs) ? SL_NEVER : 0;
}

/* While runs is empty all that waits is blocked, and its turn is not before the next number. */
uint64_t sl_flow_oldest(const struct sl_flow *f)
{
	const struct sl_run *run = sl_flow_oldest_run(f);

	return run ? run->number : f->env->number + 1;
}

/* ---- leaving unserved ---- */

static void blocked_remove(struct sl_file *file, struct sl_request *r)
{
	if (r->prev_)
		r->prev_->next = r->next;
	else
		file->blocked = r->next;
	if (r->next)
		r->next->prev_ = r->prev_;
	else
		file->blocked_last = r->prev_;
}

/* Cut r out of its run: what is left of it keeps the run, what is right of it gets a new one. */
static void run_cut(struct sl_flow *f, struct sl_queue *q, struct sl_run *run, struct sl_request *r)
{
	struct sl_request *left = r->prev_, *right = r->next;
	struct sl_run *rest = run;
	uint64_t hi = run->range.hi;

	q->bytes -= r->length;
	if (!left && !right) {
		if (q->cursor == run)
			q->cursor = sl_range_run(sl_tree_next(&run->range));
		sl_tree_remove(&q->runs, &run->range);
		sl_list_remove(&run->age);
		sl_list_remove(&run->queue_age);
		sl_run_free(f->env, run);
		return;
	}
	run->batch.count--;
	if (!left) {
		right->prev_ = NULL;
		run->batch.first = right;
		run->batch.job = right->job;
		run_resize(q, run, right->offset, hi);
		queue_point(q, run);
		return;
	}
	left->next = NULL;
	run->last = left;
	run_resize(q, run, run->range.lo, end_of(left));
	if (!right)
		return;
	/* r's place in the pool is free for the run of the right part: see run_alloc(). */
	rest = run_alloc(f->env);
	*rest = *run;
	rest->batch.first = right;
	rest->batch.job = right->job;
	right->prev_ = NULL;
	rest->batch.count = 0;
	for (struct sl_request *m = right; m; m = m->next) {
		m->run_ = rest;
		rest->batch.count++;
		rest->last = m;
	}
	run->batch.count -= rest->batch.count;
	rest->quantum = 0;
	rest->granted = q->granted;
	rest->range.lo = rest->batch.offset = right->offset;
	rest->range.hi = hi;
	rest->batch.length = hi - right->offset;
	sl_tree_insert(&q->runs, &rest->range);
	sl_list_push_front(&run->age, &rest->age); /* right behind the left part */
	sl_list_push_front(&run->queue_age, &rest->queue_age);
	queue_point(q, rest);
}

void sl_flow_cancel(struct sl_flow *f, struct sl_request *r, sl_time now)
{
	struct sl_file *file = file_of(r);
	struct sl_queue *q = &file->queue[r->op];

	if (r->run_) {
		run_cut(f, q, r->run_, r);
		if (f->ops->changed)
			f->ops->changed(f, q, NULL, now);
	} else {
		blocked_remove(file, r);
	}
	f->waiting--;
	fence_open(f, file, now);
	sl_file_release(file, 1);
}

static void chain_push(struct sl_request **chain, struct sl_request *first)
{
	while (first) {
		struct sl_request *next = first->next;

		first->next = *chain;
		*chain = first;
		first = next;
	}
}

struct sl_request *sl_flow_drain(struct sl_flow *f)
{
	struct sl_request *chain = NULL;

	while (!sl_list_empty(&f->runs)) {
		struct sl_run *run = sl_flow_oldest_run(f);

		chain_push(&chain, run->batch.first);
		sl_list_remove(&run->age);
		sl_run_free(f->env, run);
	}
	for (struct sl_list *l = f->files.next, *after; l != &f->files; l = after) {
		struct sl_file *file = sl_container(l, struct sl_file, of_flow);

		after = l->next;
		chain_push(&chain, file->blocked);
		file->blocked = NULL;
		memset(file->queue, 0, sizeof(file->queue));
	}
	sl_policy_init(&f->ops->base, f->state, NULL, f->values, 0); /* it held on to the queues */
	f->waiting = 0;
	for (struct sl_request *r = chain; r; r = r->next)
		sl_file_release(file_of(r), 1);
	return sl_request_sort(chain);
}

static struct sl_request *merge(struct sl_request *a, struct sl_request *b)
{
	struct sl_request *head = NULL, **tail = &head;

	while (a && b) {
		struct sl_request **least = a->seq_ < b->seq_ ? &a : &b;

		*tail = *least;
		*least = (*least)->next;
		tail = &(*tail)->next;
	}
	*tail = a ? a : b;
	return head;
}

struct sl_request *sl_request_sort(struct sl_request *chain)
{
	struct sl_request *stack[64] = { NULL }, *merged = NULL;

	/* stack[i] is empty or a sorted chain of 2^i requests. */
	for (struct sl_request *next; chain; chain = next) {
		unsigned i = 0;

		next = chain->next;
		chain->next = NULL;
		merged = chain;
		for (; stack[i]; i++) {
			merged = merge(stack[i], merged);
			stack[i] = NULL;
		}
		stack[i] = merged;
	}
	merged = NULL;
	for (unsigned i = 0; i < 64; i++)
		if (stack[i])
			merged = merge(stack[i], merged);
	return merged;
}
