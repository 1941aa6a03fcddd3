/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model of what a scheduler holds, the device, and the clients of the property tests.
 *
 * A request is free, waiting or flying. Two lists hold it: the waiting requests of its job and
 * the outstanding ones of its (job, file), both in arrival order. When a batch comes out, each
 * of its requests is looked for conflicts among the earlier ones of its (job, file) list: linear
 * in what is outstanding there, which the programs keep small, never in the length of the run.
 *
 * The device is one timeline: a batch of n bytes takes n / device_bps after all before it. If
 * `shuffled`, some batch in flight completes at each of those times, not the first: the device
 * is as fast, but out of order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/property/harness.h"

static void *get(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		abort();
	return p;
}

static void mix(struct hx_world *w, uint64_t v)
{
	w->hash = (w->hash ^ v) * UINT64_C(0x100000001b3);
	w->hash ^= w->hash >> 29;
}

/* Bounds of a batch, from the order policy's parameters. */
static void note_order(struct hx_world *w, const char *policy)
{
	uint64_t bytes = (uint64_t)hx_param("order", policy, "batch_bytes", 0);
	uint64_t requests = (uint64_t)hx_param("order", policy, "batch_requests", 1);

	if (bytes > w->bound_bytes)
		w->bound_bytes = bytes;
	if (requests > w->bound_requests)
		w->bound_requests = requests;
}

void hx_open(struct hx_world *w, uint64_t seed, unsigned njobs, const struct sl_config *config)
{
	char err[256] = "";
	int ret;

	memset(w, 0, sizeof(*w));
	w->rng.state = seed;
	w->limits = config->limits;
	if (!w->limits.jobs && !w->limits.files && !w->limits.requests)
		w->limits = (struct sl_limits){ 1024, 4096, 65536 };
	w->njobs = njobs;
	w->strict = config->strict_grants;
	w->capacity_bps = config->capacity_bps;
	w->device_bps = config->capacity_bps;
	w->window = 1;
	w->alarm = SL_NEVER;
	w->wake = SL_NEVER;
	w->now = 1000 * HX_SEC; /* no clock begins at 0 */
	snprintf(w->admit, sizeof(w->admit), "%s", config->admit ? config->admit : "");
	snprintf(w->share, sizeof(w->share), "%s", config->share ? config->share : "");
	snprintf(w->order, sizeof(w->order), "%s", config->order ? config->order : "");
	w->ever_pool = hx_is(w->share, "pool");
	note_order(w, w->order);
	w->jobs = get(njobs, sizeof(*w->jobs));
	for (unsigned i = 0; i < njobs; i++) {
		w->jobs[i].id = UINT64_C(0x100000001) * i + 17;
		w->jobs[i].grant_bps = SL_GRANT_NONE;
		w->jobs[i].nfiles = 1;
		w->jobs[i].size_lo = w->jobs[i].size_hi = 64 * HX_KIB;
		w->jobs[i].span = HX_MIB;
	}
	w->pool = get(w->limits.requests + 1U, sizeof(*w->pool));
	for (size_t i = 0; i <= w->limits.requests; i++) {
		w->pool[i].next = w->free;
		w->free = &w->pool[i];
	}
	w->flights = get(w->limits.requests, sizeof(*w->flights));
	w->finish = get(w->limits.requests, sizeof(*w->finish));
	ret = sl_sched_create(&w->s, config, w->now, err, sizeof(err));
	if (ret) {
		printf("Bail out! sl_sched_create(%s/%s/%s): %d %s\n", w->admit, w->share, w->order,
		       ret, err);
		exit(1);
	}
}

void hx_close(struct hx_world *w)
{
	sl_sched_destroy(w->s);
	free(w->jobs);
	free(w->pool);
	free(w->flights);
	free(w->finish);
	memset(w, 0, sizeof(*w));
}

static void fail_call(const struct hx_world *w, const char *what, int ret, int expected)
{
	hx_fail("step=%llu t=%lld: %s gives %d (%s), not %d", (unsigned long long)w->steps,
		(long long)w->now, what, ret, ret ? sl_error(w->s) : "", expected);
}

int hx_job_add(struct hx_world *w, unsigned job, const struct sl_job_conf *conf)
{
	struct hx_job *j = &w->jobs[job];
	int ret = sl_job_add(w->s, j->id, conf, w->now);

	w->steps++;
	if (!ret) {
		hx_check(!j->present, "step=%llu: job %u added twice", (unsigned long long)w->steps,
			 job);
		j->present = true;
		j->conf = *conf;
		j->grant_bps = SL_GRANT_NONE;
		j->order[0] = 0;
		memset(j->served, 0, sizeof(j->served));
		memset(j->served_bytes, 0, sizeof(j->served_bytes));
		j->batches = 0;
		j->slowest = 0;
		w->jobs_present++;
	}
	return ret;
}

int hx_job_set(struct hx_world *w, unsigned job, const struct sl_job_conf *conf)
{
	int ret = sl_job_set(w->s, w->jobs[job].id, conf, w->now);

	w->steps++;
	w->changes++;
	w->moving |= w->ever_pool;
	if (!ret)
		w->jobs[job].conf = *conf;
	return ret;
}

int hx_job_remove(struct hx_world *w, unsigned job)
{
	struct hx_job *j = &w->jobs[job];
	int expected = !j->present ? -ENOENT : j->waiting || j->flying ? -EBUSY : 0;
	int ret = sl_job_remove(w->s, j->id, w->now);

	w->steps++;
	if (ret != expected)
		fail_call(w, "sl_job_remove", ret, expected);
	if (!ret) {
		j->present = false;
		w->jobs_present--;
	}
	return ret;
}

int hx_grant(struct hx_world *w, unsigned job, uint64_t bps, sl_time until)
{
	int ret = sl_job_grant(w->s, w->jobs[job].id, bps, until, w->now);

	w->steps++;
	w->changes++;
	w->moving |= w->ever_pool;
	if (!ret) {
		w->jobs[job].grant_bps = bps;
		w->jobs[job].grant_until = until;
	}
	return ret;
}

int hx_policy(struct hx_world *w, const char *stage, const char *policy)
{
	char *text = stage[0] == 'a' ? w->admit : stage[0] == 's' ? w->share : w->order;
	int ret = sl_policy_set(w->s, stage, policy, w->now);

	w->steps++;
	w->changes++;
	w->moving |= w->ever_pool;
	if (!ret) {
		snprintf(text, sizeof(w->admit), "%s", policy);
		w->ever_pool |= hx_is(w->share, "pool");
		note_order(w, w->order);
	}
	return ret;
}

int hx_job_order(struct hx_world *w, unsigned job, const char *policy)
{
	int ret = sl_job_order(w->s, w->jobs[job].id, policy, w->now);

	w->steps++;
	w->changes++;
	if (!ret) {
		snprintf(w->jobs[job].order, sizeof(w->jobs[job].order), "%s",
			 policy ? policy : "");
		if (policy)
			note_order(w, policy);
	}
	return ret;
}

/* ---- requests ---- */

int hx_add(struct hx_world *w, unsigned job, unsigned file, uint64_t offset, uint64_t length,
	   uint32_t op, uint32_t flags)
{
	struct hx_job *j = &w->jobs[job];
	struct hx_file *f = &j->files[file];
	struct hx_request *q = w->free;
	bool full = w->outstanding >= w->limits.requests;
	/* The pool needs one entry for all its jobs, so afterwards entries may be short. */
	bool files_full = (!f->first || w->ever_pool) && w->files >= w->limits.files;
	int ret, expected = !j->present ? -ENOENT : full || files_full ? -ENOSPC : 0;

	memset(&q->r, 0, sizeof(q->r));
	q->r.job = j->id;
	q->r.client = hx_rand(&w->rng);
	q->r.file = file * UINT64_C(0x9e3779b97f4a7c15) + 3; /* the same file for every job */
	q->r.offset = offset;
	q->r.length = length;
	q->r.op = op;
	q->r.flags = flags;
	q->r.user = q;
	q->given = q->r;
	ret = sl_add(w->s, &q->r, w->now);
	w->steps++;
	if (ret != expected && !(w->ever_pool && files_full && !full && j->present))
		fail_call(w, "sl_add", ret, expected);
	if (ret)
		return ret;
	w->free = q->next;
	q->number = w->numbers++;
	q->added = w->now;
	q->ahead = hx_in_pool(w, j) ? w->outstanding : j->waiting;
	q->state = HX_WAITING;
	q->job = job;
	q->file = file;
	q->next = NULL;
	q->prev = j->last;
	*(j->last ? &j->last->next : &j->first) = q;
	j->last = q;
	if (!f->first)
		w->files++;
	q->fnext = NULL;
	q->fprev = f->last;
	*(f->last ? &f->last->fnext : &f->first) = q;
	f->last = q;
	j->waiting++;
	j->waiting_bytes += length;
	w->outstanding++;
	w->requests++;
	return 0;
}

int hx_add_next(struct hx_world *w, unsigned job)
{
	struct hx_job *j = &w->jobs[job];
	unsigned file = (unsigned)hx_below(&w->rng, j->nfiles);
	uint64_t length = hx_log_range(&w->rng, j->size_lo, j->size_hi);
	uint64_t offset = j->files[file].cursor;

	if (hx_chance(&w->rng, j->random_percent))
		offset = hx_below(&w->rng, j->span);
	else
		j->files[file].cursor += length;
	return hx_add(w, job, file, offset, length, hx_chance(&w->rng, j->write_percent), 0);
}

static void unlink_waiting(struct hx_world *w, struct hx_request *q)
{
	struct hx_job *j = &w->jobs[q->job];

	*(q->prev ? &q->prev->next : &j->first) = q->next;
	*(q->next ? &q->next->prev : &j->last) = q->prev;
	j->waiting--;
	j->waiting_bytes -= q->given.length;
}

static void release(struct hx_world *w, struct hx_request *q)
{
	struct hx_file *f = &w->jobs[q->job].files[q->file];

	*(q->fprev ? &q->fprev->fnext : &f->first) = q->fnext;
	*(q->fnext ? &q->fnext->fprev : &f->last) = q->fprev;
	if (!f->first)
		w->files--;
	q->state = HX_FREE;
	memset(&q->r, 0xa5, sizeof(q->r)); /* whoever still looks at it shall not like it */
	q->next = w->free;
	w->free = q;
	w->outstanding--;
}

int hx_cancel(struct hx_world *w, struct hx_request *q)
{
	int expected = q->state == HX_WAITING ? 0 : -EBUSY;
	int ret = sl_cancel(w->s, &q->r, w->now);

	w->steps++;
	if (ret != expected)
		fail_call(w, "sl_cancel", ret, expected);
	if (!ret) {
		unlink_waiting(w, q);
		release(w, q);
	}
	return ret;
}

static bool conflict(const struct hx_request *a, const struct hx_request *b)
{
	return (a->given.op == SL_WRITE || b->given.op == SL_WRITE) &&
	       a->given.offset < b->given.offset + b->given.length &&
	       b->given.offset < a->given.offset + a->given.length;
}

static const struct hx_request *conflicting(struct hx_world *w, const struct hx_request *q)
{
	for (const struct hx_request *p = w->jobs[q->job].files[q->file].first; p != q;
	     p = p->fnext)
		if (conflict(p, q))
			return p;
	return NULL;
}

bool hx_in_pool(const struct hx_world *w, const struct hx_job *j)
{
	return hx_is(w->share, "pool") && !j->conf.min_bps && !j->conf.max_bps &&
	       (j->grant_bps == SL_GRANT_NONE || j->grant_until <= w->now);
}

const char *hx_order_of(const struct hx_world *w, const struct hx_job *j)
{
	return j->order[0] && !hx_in_pool(w, j) ? j->order : w->order;
}

/* Whether something in flight of this job on this file is in the way of q. */
static bool held_by(const struct hx_file *f, const struct hx_request *q)
{
	for (const struct hx_request *p = f->first; p; p = p->fnext)
		if (p->state == HX_FLYING && conflict(p, q))
			return true;
	return false;
}

static const struct hx_request *oldest_of(const struct hx_file *f)
{
	const struct hx_request *p = f->first;

	while (p && p->state == HX_FLYING)
		p = p->fnext;
	return p;
}

/* The pool is one flow: jobs of it stand in each other's line. */
static bool pool_sendable(struct hx_world *w)
{
	const struct hx_request *oldest = NULL, *q;
	uint64_t flying = 0;
	bool held = false, oldest_held = false;

	for (unsigned file = 0; file < HX_FILES; file++) {
		const struct hx_request *first = NULL;

		for (unsigned i = 0; i < w->njobs; i++) {
			q = hx_in_pool(w, &w->jobs[i]) ? oldest_of(&w->jobs[i].files[file]) : NULL;
			if (q && (!first || q->number < first->number))
				first = q;
			flying += hx_in_pool(w, &w->jobs[i]) ? w->jobs[i].flying : 0;
		}
		if (!first)
			continue;
		held = false;
		for (unsigned i = 0; !held && i < w->njobs; i++)
			held = hx_in_pool(w, &w->jobs[i]) &&
			       held_by(&w->jobs[i].files[file], first);
		if (!held && hx_is(w->order, "aioli"))
			return !flying;
		if (!held && !hx_is(w->order, "to"))
			return true;
		if (!oldest || first->number < oldest->number) {
			oldest = first;
			oldest_held = held;
		}
	}
	return hx_is(w->order, "to") && oldest && !oldest_held;
}

bool hx_sendable(struct hx_world *w, unsigned job)
{
	const struct hx_job *j = &w->jobs[job];
	const char *order = hx_order_of(w, j);

	if (!j->first)
		return false;
	if (hx_in_pool(w, j))
		return pool_sendable(w);
	if (hx_is(order, "aioli") && j->flying)
		return false;
	if (hx_is(order, "to"))
		return !held_by(&j->files[j->first->file], j->first);
	for (unsigned i = 0; i < HX_FILES; i++) {
		const struct hx_request *q = oldest_of(&j->files[i]);

		if (q && !held_by(&j->files[i], q))
			return true;
	}
	return false;
}

static struct hx_request *ours(struct hx_world *w, struct sl_request *r)
{
	uintptr_t at = (uintptr_t)r, low = (uintptr_t)w->pool;

	if (at < low || at > (uintptr_t)&w->pool[w->limits.requests] ||
	    (at - low) % sizeof(*w->pool)) {
		hx_fail("step=%llu: a batch holds %p, which is no request",
			(unsigned long long)w->steps, (void *)r);
		hx_end();
		exit(hx_finish());
	}
	return (struct hx_request *)at;
}

static void check_member(struct hx_world *w, const struct sl_batch *b, struct hx_request *q,
			 uint64_t at)
{
	const struct sl_request *g = &q->given, *r = &q->r;
	unsigned long long n = q->number;
	const struct hx_job *j = &w->jobs[q->job], *first;
	const struct hx_request *earlier;
	unsigned long long step = w->steps;

	hx_check(q->state == HX_WAITING, "step=%llu: request %llu sent while %s", step, n,
		 q->state == HX_FREE ? "free" : "in flight");
	if (q->state != HX_WAITING) {
		hx_end();
		exit(hx_finish());
	}
	hx_check(r->job == g->job && r->client == g->client && r->file == g->file &&
			 r->offset == g->offset && r->length == g->length && r->op == g->op &&
			 r->flags == g->flags && r->user == g->user,
		 "step=%llu: request %llu was changed", step, n);
	hx_check(r->arrival == q->added, "step=%llu: arrival of %llu is %lld, not %lld", step, n,
		 (long long)r->arrival, (long long)q->added);
	hx_check(g->offset == at, "step=%llu: batch has a gap or overlap before %llu", step, n);
	hx_check(g->file == b->file && g->op == b->op && g->flags == b->flags,
		 "step=%llu: %llu is of another file, operation or flags than its batch", step, n);
	if (g->job != b->job) {
		first = &w->jobs[ours(w, b->first)->job];
		hx_check(hx_is(w->share, "pool"), "step=%llu: jobs mixed in a batch", step);
		hx_check(!j->conf.min_bps && !j->conf.max_bps && !first->conf.min_bps &&
				 !first->conf.max_bps,
			 "step=%llu: a limited job is mixed with another", step);
	}
	earlier = conflicting(w, q);
	hx_check(!earlier, "step=%llu t=%lld: request %llu overtakes %llu (%s)", step,
		 (long long)w->now, n, earlier ? (unsigned long long)earlier->number : 0,
		 earlier && earlier->state == HX_WAITING ? "waiting" : "in flight");
}

static void take(struct hx_world *w, const struct sl_batch *b)
{
	struct hx_flight *fl = &w->flights[w->nflights];
	unsigned long long step = w->steps;
	uint64_t at = b->offset, n = 0;
	struct hx_job *j;
	bool mixed = false;

	if (!b->first) {
		hx_fail("step=%llu: an empty batch", step);
		return;
	}
	for (struct sl_request *r = b->first; r; r = r->next) {
		struct hx_request *q = ours(w, r);

		check_member(w, b, q, at);
		mixed |= q->given.job != b->job;
		at += q->given.length;
		n++;
		unlink_waiting(w, q);
		q->state = HX_FLYING; /* so a chain that bites its tail ends */
		w->jobs[q->job].flying++;
		w->jobs[q->job].flying_bytes += q->given.length;
	}
	j = &w->jobs[ours(w, b->first)->job];
	hx_check(b->job == j->id, "step=%llu: batch names job %llu", step,
		 (unsigned long long)b->job);
	hx_check(n == b->count, "step=%llu: count is %u, chain has %llu", step, b->count,
		 (unsigned long long)n);
	hx_check(at - b->offset == b->length, "step=%llu: length is %llu, chain has %llu", step,
		 (unsigned long long)b->length, (unsigned long long)(at - b->offset));
	hx_check(n == 1 || (b->length <= w->bound_bytes && n <= w->bound_requests),
		 "step=%llu: batch of %llu B in %llu requests, bounds %llu and %llu", step,
		 (unsigned long long)b->length, (unsigned long long)n,
		 (unsigned long long)w->bound_bytes, (unsigned long long)w->bound_requests);
	for (unsigned i = 0; i < w->nflights; i++)
		hx_check(w->flights[i].b != b, "step=%llu: batch handed out twice", step);
	j->batches++;
	j->sent_batches++;
	j->sent_bytes += b->length;
	if (b->length > j->largest)
		j->largest = b->length;
	w->flying_bytes += b->length;
	w->decisions++;
	w->merged += n > 1;
	w->mixed += mixed;
	fl->b = b;
	fl->copy = *b;
	if (w->device_bps) {
		__int128 work = (__int128)b->length * HX_SEC + w->busy_rest;

		if (w->busy_until < w->now) {
			w->busy_until = w->now;
			work -= w->busy_rest;
		}
		w->busy_until += (sl_time)(work / (__int128)w->device_bps);
		w->busy_rest = (uint64_t)(work % (__int128)w->device_bps);
	} else {
		w->busy_until = w->now;
	}
	w->finish[w->nflights++] = w->busy_until;
	mix(w, (uint64_t)w->now);
	mix(w, b->job);
	mix(w, b->file + b->op);
	mix(w, b->offset);
	mix(w, b->length);
	mix(w, b->count);
	if (w->on_send)
		w->on_send(w, j, b);
}

bool hx_next(struct hx_world *w)
{
	sl_time wake = -1;
	const struct sl_batch *b = sl_next(w->s, w->now, &wake);

	w->steps++;
	if (b) {
		take(w, b);
		return true;
	}
	w->nulls++;
	w->wake = wake;
	mix(w, (uint64_t)wake);
	hx_check(wake > w->now, "step=%llu: nothing at %lld, but to ask again at %lld (%s/%s/%s)",
		 (unsigned long long)w->steps, (long long)w->now, (long long)wake, w->admit,
		 w->share, w->order);
	if (w->on_null)
		w->on_null(w);
	return false;
}

void hx_done(struct hx_world *w, unsigned flight)
{
	struct hx_flight fl = w->flights[flight];
	struct hx_request *chain = NULL, *q;
	uint64_t n = 0;
	int ret;

	hx_check(!memcmp(fl.b, &fl.copy, sizeof(fl.copy)), "step=%llu: a batch changed in flight",
		 (unsigned long long)w->steps);
	for (struct sl_request *r = fl.copy.first; r; r = r->next) {
		q = ours(w, r);
		hx_check(q->state == HX_FLYING && n++ < fl.copy.count,
			 "step=%llu: the chain of a batch changed in flight",
			 (unsigned long long)w->steps);
		q->next = chain;
		chain = q;
	}
	hx_check(n == fl.copy.count, "step=%llu: the chain of a batch changed in flight",
		 (unsigned long long)w->steps);
	ret = sl_done(w->s, fl.b, w->now);
	w->steps++;
	if (ret)
		fail_call(w, "sl_done", ret, 0);
	w->nflights--;
	memmove(&w->flights[flight], &w->flights[flight + 1],
		(w->nflights - flight) * sizeof(*w->flights));
	memmove(w->finish, w->finish + 1, w->nflights * sizeof(*w->finish));
	w->flying_bytes -= fl.copy.length;
	for (; (q = chain);) {
		struct hx_job *j = &w->jobs[q->job];

		chain = q->next;
		j->flying--;
		j->flying_bytes -= q->given.length;
		j->served[q->given.op]++;
		if (w->now - q->added > j->slowest)
			j->slowest = w->now - q->added;
		j->served_bytes[q->given.op] += q->given.length;
		release(w, q);
	}
}
