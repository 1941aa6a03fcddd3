/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the CPU time of a scheduling decision.
 *
 * A request costs one sl_add(), its part of an sl_next(), and its part of an sl_done(). There is no
 * I/O: a batch is done as soon as it is decided, and each of its requests is added again at once
 * with a new offset. So the number of requests inside never changes ("steady state, all jobs
 * backlogged"):
 *
 *	fill up; warm up; repeat { b = next; done(b); for each request of b: add }
 *
 * Time is virtual: it advances by 1 us for each request served, and to the wake-up time if no
 * request may go (so waits of mlf and aioli end). With requests of 64 KiB this is a device of 65.5
 * GB/s, which is the capacity of the `min+max` rows. There each job has a max that it never
 * reaches, and a min of half its equal part, so guarantees make half of the decisions under io-sets
 * and at least an eighth under wfq.
 *
 * Clocks are read at the ends of a repetition only; the figure is CPU time of this thread, the
 * median of several repetitions. Random offsets come from one multiplication and are part of the
 * figure (about 1 ns). Interleaved with it runs a baseline to compare machines: a binary heap of
 * 10,000 keys whose top is replaced, the minimum for a weighted queue.
 */
#include "lab/bench/measure.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "lab/bench/common.h"
#include "lab/statistics.h"
#include "policy/policy.h"
#include "sched/spec.h"

#define CMD		 "bench sched"
#define REQUEST_BYTES	 UINT64_C(65536)
#define REQUEST_NS	 1000 /* virtual time of one request */
#define CAPACITY_BPS	 (REQUEST_BYTES * UINT64_C(1000000000) / REQUEST_NS)
#define RANDOM_RANGE_LOG 24 /* random offsets: this many bits times 64 KiB, that is 1 TiB */
#define HEAP_KEYS	 10000U

struct world {
	struct sl_sched *s;
	struct sl_request *request;
	uint64_t *end; /* by file: next offset of its stream */
	sl_time now;
	uint64_t random;
	bool random_offsets;
	uint64_t served, batches;
};

struct bench_heap {
	uint64_t key[HEAP_KEYS + 2]; /* from 1 */
	uint64_t random;
};

/* Knuth's MMIX generator; the upper bits are the good ones. */
static uint64_t draw(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 20;
}

/* ---- baseline ---- */

static void heap_down(struct bench_heap *h, uint32_t i, uint64_t key)
{
	for (uint32_t c; (c = 2 * i) <= HEAP_KEYS; i = c) {
		c += c < HEAP_KEYS && h->key[c + 1] < h->key[c];
		if (h->key[c] >= key)
			break;
		h->key[i] = h->key[c];
	}
	h->key[i] = key;
}

struct bench_heap *bench_heap_create(void)
{
	struct bench_heap *h = malloc(sizeof(*h));

	if (!h)
		return NULL;
	h->random = 1;
	for (uint32_t i = 1; i <= HEAP_KEYS; i++)
		h->key[i] = draw(&h->random) & 0xffffff;
	for (uint32_t i = HEAP_KEYS / 2; i > 0; i--)
		heap_down(h, i, h->key[i]);
	return h;
}

double bench_heap_measure(struct bench_heap *h, int64_t for_ns)
{
	int64_t begin = bench_cpu_ns(), took;
	uint64_t n = 0;

	do {
		for (unsigned i = 0; i < 4096; i++)
			heap_down(h, 1, h->key[1] + (draw(&h->random) & 0xffffff));
		n += 4096;
		took = bench_cpu_ns() - begin;
	} while (took < for_ns);
	return (double)took / (double)n;
}

/* ---- the measured loops ---- */

static void aim(struct world *w, struct sl_request *r)
{
	uint64_t *end = r->user;

	if (w->random_offsets) {
		r->offset = (draw(&w->random) & ((1U << RANDOM_RANGE_LOG) - 1)) * REQUEST_BYTES;
	} else {
		r->offset = *end;
		*end += REQUEST_BYTES;
	}
}

static int world_run(struct world *w, uint64_t requests)
{
	uint64_t until = w->served + requests;

	while (w->served < until) {
		sl_time wake = SL_NEVER;
		const struct sl_batch *b = sl_next(w->s, w->now, &wake);
		struct sl_request *r, *next;

		if (!b) {
			if (wake == SL_NEVER)
				return cli_fail(CMD,
						"the scheduler has stopped with %" PRIu64
						" requests served; this is a bug.",
						w->served);
			w->now = wake;
			continue;
		}
		w->now += REQUEST_NS * (sl_time)b->count;
		w->served += b->count;
		w->batches++;
		r = b->first;
		if (sl_done(w->s, b, w->now))
			return cli_fail(CMD, "%s", sl_error(w->s));
		for (; r; r = next) {
			next = r->next;
			aim(w, r);
			if (sl_add(w->s, r, w->now))
				return cli_fail(CMD, "%s", sl_error(w->s));
		}
	}
	return CLI_OK;
}

struct bucket {
	const struct sl_admit_ops *ops;
	void *state;
	uint32_t jobs, job;
	sl_time now;
	uint64_t refused;
};

static void bucket_run(struct bucket *b, uint64_t requests)
{
	while (requests--) {
		b->now += REQUEST_NS;
		if (b->ops->cap(b->state, b->job) <= b->now)
			b->ops->charge(b->state, b->job, REQUEST_BYTES, b->now);
		else
			b->refused++;
		b->job = b->job + 1 == b->jobs ? 0 : b->job + 1;
	}
}

static int run(struct world *w, struct bucket *b, uint64_t requests)
{
	if (w)
		return world_run(w, requests);
	bucket_run(b, requests);
	return CLI_OK;
}

/* Exactly one of w and b is not NULL. */
static int measure(struct world *w, struct bucket *b, uint64_t outstanding,
		   const struct bench_times *t, struct bench_heap *heap, struct bench_result *out)
{
	double ns[BENCH_MAX_REPETITIONS], heap_ns[BENCH_MAX_REPETITIONS];
	uint64_t n = 0, chunk = outstanding < 1000 ? 1000 : outstanding, slice;
	uint64_t served, batches;
	int64_t begin = bench_cpu_ns(), took;
	int status;

	do {
		if ((status = run(w, b, chunk)))
			return status;
		n += chunk;
		took = bench_cpu_ns() - begin;
	} while (took < t->warm_ns);
	slice = (uint64_t)((double)n / (double)took * (double)t->slice_ns) + 1;
	served = w ? w->served : 0;
	batches = w ? w->batches : 0;
	for (unsigned i = 0; i < t->repetitions; i++) {
		heap_ns[i] = bench_heap_measure(heap, t->heap_ns);
		/* The heap has evicted it from the nearest caches. */
		if ((status = run(w, b, slice / 8 + 1)))
			return status;
		begin = bench_cpu_ns();
		if ((status = run(w, b, slice)))
			return status;
		ns[i] = (double)(bench_cpu_ns() - begin) / (double)slice;
	}
	out->ns = stat_median(ns, t->repetitions);
	out->ns_min = ns[0];
	out->heap_ns = stat_median(heap_ns, t->repetitions);
	out->merge_ratio = w ? (double)(w->served - served) / (double)(w->batches - batches) : 1.0;
	return CLI_OK;
}

/* ---- rows ---- */

static int64_t order_wait_us(const char *order, bool wait)
{
	const struct sl_policy *p = sl_policy_find(SL_ORDER, order, strlen(order));

	for (const struct sl_param *q = p->params; q && q->name; q++)
		if (!strcmp(q->name, "wait_us"))
			return wait ? q->def : 0;
	return -1;
}

static void job_conf(const struct bench_row *row, uint32_t job, struct sl_job_conf *c)
{
	static const sl_time period_ns[] = { 100000000,	   1000000000,	  10000000000,
					     100000000000, 1000000000000, 10000000000000 };

	*c = (struct sl_job_conf){ .weight = 1 + job % 8 };
	if (!row->no_periods)
		c->period_ns = period_ns[job % (sizeof(period_ns) / sizeof(period_ns[0]))];
	if (row->limits) {
		c->min_bps = CAPACITY_BPS / row->jobs / 2;
		c->max_bps = CAPACITY_BPS * 4;
	}
}

static int world_fill(struct world *w, const struct bench_row *row)
{
	assert(row->jobs > 0 && row->files > 0);
	for (uint32_t i = 0; i < row->jobs; i++) {
		struct sl_job_conf c;

		job_conf(row, i, &c);
		if (sl_job_add(w->s, i + 1, &c, w->now))
			return cli_fail(CMD, "%s", sl_error(w->s));
	}
	for (uint32_t i = 0; i < row->outstanding; i++) {
		struct sl_request *r = &w->request[i];

		*r = (struct sl_request){ .job = 1 + i % row->jobs,
					  .file = 1000 + i % row->files,
					  .length = REQUEST_BYTES,
					  .op = SL_WRITE,
					  .user = &w->end[i % row->files] };
		aim(w, r);
		if (sl_add(w->s, r, w->now))
			return cli_fail(CMD, "%s", sl_error(w->s));
	}
	return CLI_OK;
}

/* The figure is valid only if no cap has held a job. */
static int world_check(const struct world *w, const struct bench_row *row, struct bench_result *out)
{
	uint64_t bytes = 0, floor_bytes = 0;

	for (uint32_t i = 0; i < row->jobs; i++) {
		struct sl_job_stats st;

		if (sl_job_stats(w->s, i + 1, w->now, &st) || st.throttled_ns)
			return cli_fail(CMD, "job %u was held by its max; this is a bug.", i + 1);
		bytes += st.served_bytes[SL_WRITE];
		floor_bytes += st.floor_bytes;
	}
	out->floor_ratio = (double)floor_bytes / (double)bytes;
	return CLI_OK;
}

static int measure_world(const struct bench_row *row, const struct bench_times *t,
			 struct bench_heap *heap, struct bench_result *out)
{
	struct world w = { .random = 42, .random_offsets = row->random };
	char order[40], err[200];
	struct sl_config config = { .limits = { row->jobs, row->files, row->outstanding },
				    .admit = "token-bucket",
				    .share = row->share,
				    .order = row->order,
				    .capacity_bps = CAPACITY_BPS };
	int status;

	out->wait_us = order_wait_us(row->order, row->wait);
	if (out->wait_us >= 0) {
		snprintf(order, sizeof(order), "%s,wait_us=%" PRId64, row->order, out->wait_us);
		config.order = order;
	}
	if (sl_sched_create(&w.s, &config, 0, err, sizeof(err)))
		return cli_fail(CMD, "%s", err);
	w.request = calloc(row->outstanding, sizeof(*w.request));
	w.end = calloc(row->files, sizeof(*w.end));
	if (!w.request || !w.end)
		status = cli_fail(CMD, "out of memory.");
	else if (!(status = world_fill(&w, row)))
		status = measure(&w, NULL, row->outstanding, t, heap, out);
	if (!status)
		status = world_check(&w, row, out);
	sl_sched_destroy(w.s);
	free(w.request);
	free(w.end);
	return status;
}

static int measure_admit(const struct bench_row *row, const struct bench_times *t,
			 struct bench_heap *heap, struct bench_result *out)
{
	struct sl_policy_limits limits = { .lanes = row->jobs };
	struct bucket b = { .jobs = row->jobs };
	struct sl_spec spec;
	char err[200];
	size_t size;
	int status;

	if (sl_spec_parse(SL_ADMIT, "token-bucket", &spec, err, sizeof(err)))
		return cli_fail(CMD, "%s", err);
	b.ops = (const struct sl_admit_ops *)spec.policy;
	size = (sl_policy_size(spec.policy, &limits) + 63) & ~(size_t)63;
	b.state = aligned_alloc(64, size);
	if (!b.state)
		return cli_fail(CMD, "out of memory.");
	memset(b.state, 0, size);
	sl_policy_init(spec.policy, b.state, &limits, spec.values, 0);
	for (uint32_t i = 0; i < row->jobs; i++) {
		struct sl_rates rates = { .floor_bps = CAPACITY_BPS / row->jobs / 2,
					  .cap_bps = CAPACITY_BPS * 4 };

		b.ops->set(b.state, i, &rates, 0);
		b.ops->wake(b.state, i, 0);
	}
	out->wait_us = -1;
	status = measure(NULL, &b, row->jobs, t, heap, out);
	if (!status && b.refused)
		status = cli_fail(CMD, "admit has refused what its rate allows; this is a bug.");
	free(b.state);
	return status;
}

int bench_measure(const struct bench_row *row, const struct bench_times *t, struct bench_heap *heap,
		  struct bench_result *out)
{
	return row->kind == BENCH_ADMIT ? measure_admit(row, t, heap, out)
					: measure_world(row, t, heap, out);
}
