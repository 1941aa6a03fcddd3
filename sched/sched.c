/* SPDX-License-Identifier: Apache-2.0 */
/* The hot path: add, next, done, cancel; and creation. See sched.h for the ideas. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"

int sl_fail(struct sl_sched *s, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->message, sizeof(s->message), fmt, ap);
	va_end(ap);
	s->error = s->message;
	return error;
}

const char *sl_error(const struct sl_sched *s)
{
	return s->error;
}

/* Backpressure is frequent, so its message is not formatted. */
static int full(struct sl_sched *s, const char *message)
{
	s->error = message;
	return -ENOSPC;
}

struct sl_slot *sl_slot_find(const struct sl_sched *s, uint64_t job)
{
	uint32_t i = sl_hash_get(&s->by_job, job, 0);

	return i == SL_HASH_NONE ? NULL : &s->slots[i];
}

/* ---- lanes ---- */

static void *share_of(const struct sl_sched *s, const struct sl_lane *l)
{
	return s->share_state[l->class];
}

/* The lane is held from now on, until its cap tag at most, even if sl_next() is called later. */
static void throttle(struct sl_lane *l, struct sl_slot *slot, bool held, sl_time cap, sl_time now)
{
	if (l->throttled_since >= 0) {
		slot->stats.throttled_ns += sl_throttled_ns(l, now);
		l->throttled_since = -1;
	}
	if (held) {
		l->throttled_since = now;
		l->throttled_until = cap;
	}
}

void sl_lane_leave(struct sl_sched *s, struct sl_lane *l, bool idle, sl_time now)
{
	if (!l->ready)
		return;
	l->ready = 0;
	l->kept = !idle;
	s->share->leave(share_of(s, l), l->index, idle, now);
	if (l->has_floor)
		sl_heap_remove(&s->floors, l->index);
}

/* Give up the place that share keeps for the lane: its last request was cancelled. */
static void lane_give_up(struct sl_sched *s, struct sl_lane *l, sl_time now)
{
	if (!l->kept)
		return;
	l->kept = 0;
	s->share->enter(share_of(s, l), l->index, &l->member, now);
	s->share->leave(share_of(s, l), l->index, true, now);
}

void sl_lane_class(struct sl_sched *s, struct sl_lane *l, uint8_t class, sl_time now)
{
	if (class == l->class)
		return;
	sl_lane_leave(s, l, true, now);
	lane_give_up(s, l, now);
	l->class = class;
}

void sl_lane_update(struct sl_sched *s, struct sl_lane *l, sl_time now)
{
	sl_time order = l->flow.ops->ready(&l->flow, now);
	sl_time cap = l->limited ? s->admit->cap(s->admit_state, l->index) : 0;
	sl_time at = order > cap ? order : cap;

	if (l->limited)
		throttle(l, &s->slots[l->index], order <= now && cap > now, cap, now);
	if (at > now) {
		bool idle = l->flow.waiting == 0 || cap > now;

		sl_lane_leave(s, l, idle, now);
		if (idle)
			lane_give_up(s, l, now);
		if (at != SL_NEVER)
			sl_heap_set(&s->timers, l->index, (uint64_t)at);
		else if (sl_heap_has(&s->timers, l->index))
			sl_heap_remove(&s->timers, l->index);
		return;
	}
	if (l->ready)
		return;
	l->ready = 1;
	l->kept = 0;
	if (sl_heap_has(&s->timers, l->index))
		sl_heap_remove(&s->timers, l->index);
	l->member.oldest = l->flow.ops->oldest(&l->flow);
	s->share->enter(share_of(s, l), l->index, &l->member, now);
	if (l->has_floor)
		sl_heap_set(&s->floors, l->index,
			    (uint64_t)s->admit->floor(s->admit_state, l->index));
}

void sl_lane_changed(struct sl_sched *s, struct sl_lane *l, sl_time now)
{
	sl_lane_update(s, l, now);
	if (!l->ready)
		return;
	l->member.oldest = l->flow.ops->oldest(&l->flow);
	s->share->update(share_of(s, l), l->index, &l->member, now);
}

void sl_lane_add(struct sl_sched *s, struct sl_lane *l, struct sl_request *r, sl_time now)
{
	l->flow.ops->add(&l->flow, r, now);
	if (!l->ready)
		sl_lane_update(s, l, now);
}

/* ---- add ---- */

/* A job has its first request inside, or its last has gone. */
static void enter(struct sl_sched *s, struct sl_slot *slot, sl_time now)
{
	if (++s->jobs_inside == 2)
		s->several_since = now;
	if (slot->inside_first == SL_NEVER)
		slot->inside_first = now;
}

static void leave(struct sl_sched *s, struct sl_slot *slot, sl_time now)
{
	if (s->jobs_inside-- == 2)
		s->several_ns += now - s->several_since;
	slot->inside_last = now;
}

static void end_wait(const struct sl_sched *s, struct sl_slot *slot, sl_time now)
{
	slot->stats.waiting_ns += now - slot->waiting_since;
	slot->stats.contended_ns += sl_several_ns(s, now) - slot->several_then;
}

int sl_add(struct sl_sched *s, struct sl_request *r, sl_time now)
{
	struct sl_slot *slot = sl_slot_find(s, r->job);

	now = sl_clock(s, now);
	if (!slot)
		return sl_fail(s, -ENOENT,
			       "request: no job %" PRIu64 "; register it with sl_job_add()",
			       r->job);
	if (r->state_ != SL_REQUEST_FREE)
		return sl_fail(s, -EALREADY, "request: already in a scheduler, or not zeroed");
	if (r->op > SL_WRITE)
		return sl_fail(s, -EINVAL, "request: operation %u is neither read nor write",
			       r->op);
	if (r->length == 0 || r->length > SL_MAX_LENGTH)
		return sl_fail(s, -EINVAL,
			       "request: length %" PRIu64 "; it must be 1 to %" PRIu64 " bytes",
			       r->length, SL_MAX_LENGTH);
	if (r->offset > UINT64_MAX - r->length)
		return sl_fail(s, -EOVERFLOW,
			       "request: offset %" PRIu64 " + length %" PRIu64 " is beyond 2^64",
			       r->offset, r->length);
	if (s->requests == s->limits.requests)
		return full(s,
			    "request: the limit of requests is reached; try again after sl_done()");
	if (s->parked)
		return full(s, "request: the limit of files is reached; come back after sl_done()");
	r->file_ = sl_flow_file(&slot->lane->flow, r->file);
	if (!r->file_)
		return full(s, "request: the limit of files is reached; come back after sl_done()");
	r->arrival = now;
	r->seq_ = ++s->env.number;
	r->job_ = (uint32_t)(slot - s->slots);
	r->state_ = SL_REQUEST_WAITING;
	s->requests++;
	if (slot->requests++ == 0)
		enter(s, slot, now);
	if (slot->stats.queued_requests++ == 0) {
		slot->waiting_since = now;
		slot->several_then = sl_several_ns(s, now);
	}
	slot->stats.queued_bytes += r->length;
	if (s->patterns || (slot->lane->choice && slot->lane == &slot->own))
		sl_watch_add(s, slot, r, now);
	if (slot->lane->choice && slot->lane != &slot->own)
		sl_watch_add(s, sl_pool_slot(s), r, now);
	if (slot->lane->limited && slot->lane->flow.waiting == 0)
		s->admit->wake(s->admit_state, slot->lane->index, now);
	sl_lane_add(s, slot->lane, r, now);
	return 0;
}

/* ---- next ---- */

enum via { BY_FLOOR, BY_SHARE, BY_BORROWING };

static bool granted(const struct sl_slot *slot)
{
	return slot->grant_bps != SL_GRANT_NONE && slot->grant_bps;
}

static void account_next(struct sl_sched *s, const struct sl_batch *b, enum via via, sl_time now)
{
	s->decisions++;
	for (struct sl_request *r = b->first; r; r = r->next) {
		struct sl_slot *slot = &s->slots[r->job_];
		struct sl_job_stats *st = &slot->stats;

		r->state_ = SL_REQUEST_INFLIGHT;
		if (granted(slot))
			s->granted_last = now;
		if (--st->queued_requests == 0)
			end_wait(s, slot, now);
		st->queued_bytes -= r->length;
		st->inflight_requests++;
		st->inflight_bytes += r->length;
		if (via == BY_FLOOR)
			st->floor_bytes += r->length;
		else if (via == BY_BORROWING)
			st->borrowed_bytes += r->length;
		if (slot->decision != s->decisions) { /* once for each job in it */
			slot->decision = s->decisions;
			st->batches++;
		}
	}
	s->inflight++;
	s->inflight_bytes += b->length;
}

/* In this order: guarantees, then the granted, then the others unless grants are strict. */
static struct sl_lane *choose(struct sl_sched *s, sl_time now, enum via *via, sl_time *wake)
{
	const struct sl_heap_entry *top = sl_heap_top(&s->floors);
	int classes = s->strict_grants ? SL_UNGRANTED : SL_CLASSES;

	if (top && top->key <= (uint64_t)now) {
		*via = BY_FLOOR;
		return &s->slots[top->id].own;
	}
	if (top && top->key < (uint64_t)*wake)
		*wake = (sl_time)top->key;
	for (int class = 0; class < classes; class ++) {
		sl_time at = SL_NEVER;
		int64_t lane;

		/*
		 * The job with the grant will be back soon (deceptive idleness, see
		 * ARCHITECTURE.md).
		 */
		if (class == SL_UNGRANTED && s->lend_ns && now - s->granted_last < s->lend_ns) {
			at = s->granted_last + s->lend_ns;
			*wake = at < *wake ? at : *wake;
			break;
		}
		lane = s->share->pick(s->share_state[class], now, &at);

		if (lane >= 0) {
			*via = class == SL_GRANTED ? BY_SHARE : BY_BORROWING;
			return &s->slots[lane].own;
		}
		if (at < *wake)
			*wake = at;
		if (at != SL_NEVER)
			/* The policy keeps the device free; jobs without grant may not use it. */
			break;
	}
	return NULL;
}

/* Handle grants that have expired, and lanes that have become ready. */
static void catch_up(struct sl_sched *s, sl_time now)
{
	const struct sl_heap_entry *top;

	while ((top = sl_heap_top(&s->leases)) && top->key <= (uint64_t)now)
		sl_grant_end(s, &s->slots[top->id], now);
	while ((top = sl_heap_top(&s->timers)) && top->key <= (uint64_t)now)
		sl_lane_update(s, &s->slots[top->id].own, now);
}

const struct sl_batch *sl_next(struct sl_sched *s, sl_time now, sl_time *wake)
{
	const struct sl_heap_entry *top;
	sl_time at = SL_NEVER;
	struct sl_lane *l;
	enum via via;

	now = sl_clock(s, now);
	catch_up(s, now);
	while (!s->remap && (l = choose(s, now, &via, &at))) {
		struct sl_run *run = l->flow.ops->next(&l->flow, now);

		if (!run) { /* its order policy prefers to wait */
			sl_lane_update(s, l, now);
			continue;
		}
		account_next(s, &run->batch, via, now);
		if (l->choice)
			sl_choice_sent(s, l, now);
		if (l->limited) {
			s->admit->charge(s->admit_state, l->index, run->batch.length, now);
			if (l->has_floor)
				sl_heap_set(&s->floors, l->index,
					    (uint64_t)s->admit->floor(s->admit_state, l->index));
		}
		if (l->flow.waiting)
			l->member.oldest = l->flow.ops->oldest(&l->flow);
		s->share->charge(share_of(s, l), l->index, &l->member, run->batch.length,
				 run->batch.count, now);
		sl_lane_update(s, l, now);
		return &run->batch;
	}
	if (wake) {
		if ((top = sl_heap_top(&s->timers)) && top->key < (uint64_t)at)
			at = (sl_time)top->key;
		if ((top = sl_heap_top(&s->leases)) && top->key < (uint64_t)at)
			at = (sl_time)top->key;
		*wake = s->remap ? SL_NEVER : at;
	}
	return NULL;
}

/* ---- done, cancel ---- */

static unsigned latency_bucket(sl_time ns)
{
	unsigned log2, i;

	if (ns < 1024)
		return 0;
	log2 = 63U - (unsigned)__builtin_clzll((unsigned long long)ns);
	i = 2 * (log2 - 10) + (unsigned)(ns >> (log2 - 1) & 1) + 1;
	return i < SL_LATENCY_BUCKETS ? i : SL_LATENCY_BUCKETS - 1;
}

sl_time sl_latency_bound_ns(unsigned bucket)
{
	if (bucket == 0)
		return 1024;
	if (bucket >= SL_LATENCY_BUCKETS - 1)
		return SL_NEVER;
	return bucket & 1 ? INT64_C(3) << (9 + bucket / 2) : INT64_C(1) << (10 + bucket / 2);
}

static struct sl_run *run_in_flight(const struct sl_sched *s, const struct sl_batch *b)
{
	uintptr_t at = (uintptr_t)b - (uintptr_t)&s->env.runs[0].batch;
	struct sl_run *run;

	if (at >= (uintptr_t)s->limits.requests * sizeof(*run) || at % sizeof(*run))
		return NULL;
	run = &s->env.runs[at / sizeof(*run)];
	return run->state == SL_RUN_INFLIGHT ? run : NULL;
}

int sl_done(struct sl_sched *s, const struct sl_batch *b, sl_time now)
{
	struct sl_run *run = run_in_flight(s, b);
	struct sl_lane *l;

	now = sl_clock(s, now);
	if (!run)
		return sl_fail(s, -EINVAL,
			       "done: not a batch in flight; was it reported done before?");
	l = sl_container(run->file->flow, struct sl_lane, flow);
	for (struct sl_request *r = b->first; r; r = r->next) {
		struct sl_slot *slot = &s->slots[r->job_];
		struct sl_job_stats *st = &slot->stats;

		r->state_ = SL_REQUEST_FREE;
		if (granted(slot))
			s->granted_last = now;
		if (--slot->requests == 0)
			leave(s, slot, now);
		st->inflight_requests--;
		st->inflight_bytes -= r->length;
		st->served_requests[r->op]++;
		st->served_bytes[r->op] += r->length;
		st->latency[latency_bucket(now - r->arrival)]++;
	}
	s->requests -= b->count;
	s->inflight--;
	s->inflight_bytes -= b->length;
	l->flow.ops->done(&l->flow, run, now);
	if (l->choice)
		sl_choice_done(s, l, b->length, b->count, now);
	sl_run_free(&s->env, run);
	if (!l->ready)
		sl_lane_update(s, l, now);
	if (s->parked)
		sl_unpark(s, now);
	if (s->remap)
		sl_remap_try(s, now);
	return 0;
}

static bool unpark_one(struct sl_sched *s, struct sl_request *r)
{
	for (struct sl_request **p = &s->parked; *p; p = &(*p)->next)
		if (*p == r) {
			*p = r->next;
			return true;
		}
	return false;
}

static bool file_is_ours(const struct sl_sched *s, const void *file)
{
	uintptr_t at = (uintptr_t)file - (uintptr_t)s->env.files;

	return file && at < (uintptr_t)s->limits.files * sizeof(struct sl_file);
}

int sl_cancel(struct sl_sched *s, struct sl_request *r, sl_time now)
{
	struct sl_slot *slot;
	struct sl_lane *l;
	bool parked;

	now = sl_clock(s, now);
	if (r->state_ == SL_REQUEST_INFLIGHT)
		return sl_fail(s, -EBUSY, "cancel: the request is in flight");
	if (r->state_ != SL_REQUEST_WAITING)
		return sl_fail(s, -ENOENT, "cancel: the request is not in the scheduler");
	parked = !r->file_ && unpark_one(s, r);
	if (!parked && !file_is_ours(s, r->file_))
		return sl_fail(s, -ENOENT, "cancel: the request is in another scheduler");
	slot = &s->slots[r->job_];
	l = slot->lane;
	if (!parked) {
		l->flow.ops->cancel(&l->flow, r, now);
		sl_lane_changed(s, l, now);
	}
	r->state_ = SL_REQUEST_FREE;
	r->next = NULL;
	s->requests--;
	if (--slot->stats.queued_requests == 0)
		end_wait(s, slot, now);
	if (--slot->requests == 0)
		leave(s, slot, now);
	slot->stats.queued_bytes -= r->length;
	if (s->parked)
		sl_unpark(s, now);
	return 0;
}

/* ---- creation ---- */

static size_t largest_state(enum sl_stage stage, const struct sl_policy_limits *limits)
{
	const struct sl_policy *p;
	size_t largest = 0;

	for (unsigned i = 0; (p = sl_policy_at(stage, i)); i++)
		if (sl_policy_size(p, limits) > largest)
			largest = sl_policy_size(p, limits);
	return largest;
}

static size_t carve(size_t *total, size_t bytes)
{
	size_t at = *total;

	*total += (bytes + 63) & ~(size_t)63;
	return at;
}

static int check_limits(struct sl_limits *l, char *err, size_t err_size)
{
	if (!l->jobs && !l->files && !l->requests)
		*l = (struct sl_limits){ .jobs = 1024, .files = 4096, .requests = 65536 };
	if (l->jobs >= 1 && l->jobs <= 1U << 20 && l->files >= 1 && l->files <= 1U << 24 &&
	    l->requests >= 1 && l->requests <= 1U << 26)
		return 0;
	snprintf(err, err_size,
		 "limits: %u jobs, %u files, %u requests; the maxima are 2^20, 2^24 and 2^26, the "
		 "minimum is 1",
		 l->jobs, l->files, l->requests);
	return -EINVAL;
}

static int no_memory(size_t bytes, char *err, size_t err_size)
{
	snprintf(err, err_size, "out of memory: these limits need %zu bytes", bytes);
	return -ENOMEM;
}

int sl_sched_create(struct sl_sched **out, const struct sl_config *config, sl_time now, char *err,
		    size_t err_size)
{
	struct sl_limits limits = config->limits;
	struct sl_policy_limits pl;
	struct sl_spec admit, share, order;
	struct sl_sched *s;
	size_t total = 0, at_slots, at_runs, at_files, at_hash, at_fhash, at_admit,
	       at_share[SL_CLASSES];
	size_t at_heap[3];
	char scratch[200], *base;
	int rc;

	*out = NULL;
	if (!err) {
		err = scratch;
		err_size = sizeof(scratch);
	}
	if ((rc = check_limits(&limits, err, err_size)) ||
	    (rc = sl_spec_parse(SL_ADMIT, config->admit, &admit, err, err_size)) ||
	    (rc = sl_spec_parse(SL_SHARE, config->share, &share, err, err_size)) ||
	    (rc = sl_spec_parse(SL_ORDER, config->order, &order, err, err_size)))
		return rc;
	if (now < 0 || now > INT64_C(1) << 62 || config->capacity_bps > SL_MAX_RATE) {
		snprintf(err, err_size, "%s",
			 config->capacity_bps <= SL_MAX_RATE
				 ? "time: must be 0 to 2^62"
				 : "capacity: must be at most 2^50 bytes/s");
		return -ERANGE;
	}
	pl.lanes = limits.jobs + 1;
	carve(&total, sizeof(*s));
	at_slots = carve(&total, pl.lanes * sizeof(struct sl_slot));
	at_runs = carve(&total, limits.requests * sizeof(struct sl_run));
	at_files = carve(&total, limits.files * sizeof(struct sl_file));
	at_hash = carve(&total, sl_hash_size(limits.jobs));
	at_fhash = carve(&total, sl_hash_size(limits.files));
	for (int i = 0; i < 3; i++)
		at_heap[i] = carve(&total, sl_heap_size(pl.lanes));
	at_admit = carve(&total, largest_state(SL_ADMIT, &pl));
	for (int i = 0; i < SL_CLASSES; i++)
		at_share[i] = carve(&total, largest_state(SL_SHARE, &pl));

	base = aligned_alloc(64, total);
	if (!base)
		return no_memory(total, err, err_size);
	memset(base, 0, total);
	s = (struct sl_sched *)base;
	s->limits = limits;
	s->policy_limits = pl;
	s->now = now;
	s->capacity_bps = config->capacity_bps;
	s->strict_grants = config->strict_grants != 0;
	s->lend_ns = (sl_time)config->lend_us * 1000;
	s->granted_last = INT64_MIN / 2;
	s->error = "";
	s->slots = (struct sl_slot *)(base + at_slots);
	s->env.runs = (struct sl_run *)(base + at_runs);
	s->env.files = (struct sl_file *)(base + at_files);
	sl_hash_init(&s->by_job, base + at_hash, limits.jobs);
	sl_flow_env_init(&s->env, limits.files, limits.requests, base + at_fhash);
	sl_heap_init(&s->timers, base + at_heap[0], pl.lanes);
	sl_heap_init(&s->floors, base + at_heap[1], pl.lanes);
	sl_heap_init(&s->leases, base + at_heap[2], pl.lanes);
	s->admit_state = base + at_admit;
	for (int i = 0; i < SL_CLASSES; i++)
		s->share_state[i] = base + at_share[i];

	s->order_spec[0] = order;
	s->admit = (const struct sl_admit_ops *)admit.policy;
	sl_policy_init(&s->admit->base, s->admit_state, &pl, admit.values, now);
	s->share = (const struct sl_share_ops *)share.policy;
	s->pooling = s->share->pools;
	for (int i = 0; i < SL_CLASSES; i++)
		sl_policy_init(&s->share->base, s->share_state[i], &pl, share.values, now);
	for (uint32_t i = 0; i < pl.lanes; i++) {
		struct sl_lane *l = &s->slots[i].own;

		l->index = i;
		l->member.weight = 1;
		l->throttled_since = -1;
		sl_flow_init(&l->flow, &s->env, i);
		s->slots[i].next_free = i + 1;
	}
	s->watch_conf.transfer_bytes = config->piece_bytes;
	s->patterns = config->patterns != 0;
	s->read = config->read;
	s->read_arg = config->read_arg;
	if ((rc = sl_auto_prepare(s, config->order, &order, err, err_size))) {
		sl_sched_destroy(s);
		return rc;
	}
	for (uint32_t i = 0; i < pl.lanes; i++) {
		sl_choice_begin(s, &s->slots[i].own, &s->order_spec[0]);
		sl_flow_policy(&s->slots[i].own.flow, sl_lane_ops(&s->slots[i].own, &order),
			       s->order_spec[0].values, now);
	}
	if (s->patterns && sl_watch_start(s)) {
		total = s->watch_bytes * pl.lanes;
		sl_sched_destroy(s);
		return no_memory(total, err, err_size);
	}
	*out = s;
	return 0;
}

void sl_sched_destroy(struct sl_sched *s)
{
	if (s)
		sl_auto_free(s);
	free(s);
}
