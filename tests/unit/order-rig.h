/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow on a bench: one scheduler's pools, two lanes, requests, a clock that the test moves.
 * rig_check() looks at everything that flow.h promises of a flow, so that a test which follows
 * one batch notices damage anywhere else.
 */
#ifndef SL_TEST_ORDER_RIG_H
#define SL_TEST_ORDER_RIG_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "policy/request/order/flow.h"
#include "policy/request/order/quantum.h"

#define K	     UINT64_C(1024)
#define M	     (K * K)
#define RIG_LANES    2
#define RIG_FILES    4
#define RIG_REQUESTS 96
#define US	     1000
#define MS	     1000000

enum { A = 10, B = 20, C = 30, D = 40, E = 50 }; /* files */

/* Values of the parameters in the order of every policy's table; `to` has none of them. */
struct rig_values {
	int64_t batch_bytes, batch_requests, max_age_ms, wait_us, quantum_bytes;
};

#define RIG_DEFAULTS                                  \
	((struct rig_values){ .batch_bytes = 4 << 20, \
			      .batch_requests = 256,  \
			      .max_age_ms = 1000,     \
			      .wait_us = 500,         \
			      .quantum_bytes = 64 << 10 })

/* Those that choose by themselves. */
static const struct sl_order_ops *const rig_policies[] = { &sl_order_to_agg, &sl_order_to,
							   &sl_order_sjf, &sl_order_mlf,
							   &sl_order_aioli };
#define RIG_POLICIES (sizeof(rig_policies) / sizeof(rig_policies[0]))

struct rig {
	struct sl_flow_env env;
	struct sl_flow flow[RIG_LANES];
	int64_t values[RIG_LANES][SL_MAX_PARAMS];
	struct sl_request request[RIG_REQUESTS];
	unsigned used;
	unsigned lane; /* that put, take and done work on */
	sl_time now;
};

static inline void rig_policy(struct rig *g, const struct sl_order_ops *ops,
			      const struct rig_values *v)
{
	int64_t *values = g->values[g->lane];

	values[SL_P_BATCH_BYTES] = v->batch_bytes;
	values[SL_P_BATCH_REQUESTS] = v->batch_requests;
	values[SL_P_MAX_AGE_MS] = v->max_age_ms;
	values[SL_P_WAIT_US] = v->wait_us;
	values[SL_P_QUANTUM_BYTES] = v->quantum_bytes;
	sl_flow_policy(&g->flow[g->lane], ops, values, g->now);
}

/* One parameter (SL_P_*) has this value from now on, the others keep theirs. */
static inline void rig_set(struct rig *g, unsigned param, int64_t value)
{
	struct sl_flow *f = &g->flow[g->lane];

	g->values[g->lane][param] = value;
	sl_flow_policy(f, f->ops, g->values[g->lane], g->now);
}

/* Zeroed, and on a cache line as the host's is. */
static inline void *rig_memory(size_t size)
{
	void *p = aligned_alloc(64, (size + 63) & ~(size_t)63);

	assert_non_null(p);
	return memset(p, 0, (size + 63) & ~(size_t)63);
}

static inline struct rig *rig_open(const struct sl_order_ops *ops, const struct rig_values *v)
{
	struct rig *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	g->env.runs = rig_memory(RIG_REQUESTS * sizeof(struct sl_run));
	g->env.files = rig_memory(RIG_FILES * sizeof(struct sl_file));
	sl_flow_env_init(&g->env, RIG_FILES, RIG_REQUESTS, rig_memory(sl_hash_size(RIG_FILES)));
	for (uint32_t i = RIG_LANES; i-- > 0;) {
		sl_flow_init(&g->flow[i], &g->env, i);
		g->lane = i;
		rig_policy(g, ops, v);
	}
	return g;
}

static inline void rig_close(struct rig *g)
{
	free(g->env.by_id.entry);
	free(g->env.runs);
	free(g->env.files);
	free(g);
}

/* A case whose *state is a rig with this policy. */
#define RIG_CASE(ops, name) \
	cmocka_unit_test_prestate_setup_teardown(name, rig_setup, rig_teardown, (void *)&(ops))

static inline int rig_setup(void **state)
{
	*state = rig_open(*state, &RIG_DEFAULTS);
	return 0;
}

static inline int rig_teardown(void **state)
{
	rig_close(*state);
	return 0;
}

static inline struct sl_flow *rig_flow(struct rig *g)
{
	return &g->flow[g->lane];
}

/* A request as the host would have it, not yet added. */
static inline struct sl_request *rig_make(struct rig *g, uint32_t op, uint64_t file,
					  uint64_t offset, uint64_t length)
{
	struct sl_request *r = &g->request[g->used++];

	assert_true(g->used <= RIG_REQUESTS);
	*r = (struct sl_request){
		.job = g->used, .file = file, .offset = offset, .length = length, .op = op
	};
	return r;
}

static inline struct sl_request *rig_add(struct rig *g, struct sl_request *r)
{
	struct sl_flow *f = rig_flow(g);

	r->file_ = sl_flow_file(f, r->file);
	assert_non_null(r->file_);
	r->arrival = g->now;
	r->seq_ = ++g->env.number;
	f->ops->add(f, r, g->now);
	return r;
}

static inline struct sl_request *rig_put(struct rig *g, uint32_t op, uint64_t file, uint64_t offset,
					 uint64_t length)
{
	return rig_add(g, rig_make(g, op, file, offset, length));
}

static inline struct sl_request *rig_put_flags(struct rig *g, uint32_t op, uint64_t file,
					       uint64_t offset, uint64_t length, uint32_t flags)
{
	struct sl_request *r = rig_make(g, op, file, offset, length);

	r->flags = flags;
	return rig_add(g, r);
}

/* ---- what flow.h promises ---- */

#define RIG_TRUE(cond, file, line)                                                          \
	do {                                                                                \
		if (!(cond)) {                                                              \
			print_error("%s:%d: flow is damaged: %s\n", (file), (line), #cond); \
			_fail((file), (line));                                              \
		}                                                                           \
	} while (0)

static inline uint32_t rig_check_run(const struct sl_flow *f, const struct sl_run *run,
				     const char *file, int line)
{
	const struct sl_batch *b = &run->batch;
	const struct sl_request *before = NULL;
	uint64_t at = b->offset;
	uint32_t count = 0;

	for (const struct sl_request *r = b->first; r; before = r, r = r->next, count++) {
		RIG_TRUE(r->offset == at, file, line);
		RIG_TRUE(r->prev_ == before, file, line);
		RIG_TRUE(r->op == b->op && r->flags == b->flags && r->file == b->file, file, line);
		RIG_TRUE(r->file_ == run->file, file, line);
		at += r->length;
	}
	RIG_TRUE(run->last == before && b->job == b->first->job, file, line);
	RIG_TRUE(at == b->offset + b->length && count == b->count, file, line);
	RIG_TRUE(run->range.lo == b->offset && run->range.hi == at, file, line);
	RIG_TRUE(run->file->flow == f && run->file->id == b->file, file, line);
	if (run->state == SL_RUN_WAITING)
		RIG_TRUE(count == 1 || (count <= f->batch_requests && b->length <= f->batch_bytes),
			 file, line);
	return count;
}

/* The runs of a queue stand in its own list by age as well. */
static inline void rig_check_ages(const struct sl_queue *q, uint32_t runs, const char *file,
				  int line)
{
	uint64_t number = 0;
	uint32_t n = 0;

	if (q->ages.next) /* else it is new */
		for (struct sl_list *l = q->ages.next; l != &q->ages; l = l->next, n++) {
			const struct sl_run *run = sl_container(l, struct sl_run, queue_age);

			RIG_TRUE(sl_run_queue(run) == q && run->number >= number, file, line);
			number = run->number;
		}
	RIG_TRUE(n == runs, file, line);
}

static inline void rig_check_(struct rig *g, const char *file, int line)
{
	struct sl_flow *f = rig_flow(g);
	uint32_t waiting = 0, runs = 0, inflight = 0, aged = 0;
	const struct sl_run *before = NULL;

	for (struct sl_list *l = f->files.next; l != &f->files; l = l->next) {
		struct sl_file *e = sl_container(l, struct sl_file, of_flow);
		uint32_t requests = 0, in_queues = 0;

		for (int op = 0; op < 2; op++) {
			struct sl_queue *q = &e->queue[op];
			uint64_t bytes = 0, end = 0;
			bool cursor_found = !q->cursor;
			uint32_t before_q = runs;

			for (struct sl_node *n = sl_tree_first(&q->runs); n; n = sl_tree_next(n)) {
				struct sl_run *run = sl_range_run(n);

				RIG_TRUE(run->state == SL_RUN_WAITING, file, line);
				RIG_TRUE(run->batch.op == (uint32_t)op, file, line);
				RIG_TRUE(op == SL_READ || n->lo >= end, file, line);
				end = n->hi;
				cursor_found |= run == q->cursor;
				in_queues += rig_check_run(f, run, file, line);
				bytes += run->batch.length;
				runs++;
				RIG_TRUE(!sl_tree_overlap(&e->inflight[SL_WRITE], n->lo, n->hi),
					 file, line);
				RIG_TRUE(op == SL_READ || !sl_tree_overlap(&e->inflight[SL_READ],
									   n->lo, n->hi),
					 file, line);
				RIG_TRUE(!sl_tree_overlap(&e->queue[!op].runs, n->lo, n->hi), file,
					 line);
			}
			RIG_TRUE(bytes == q->bytes && cursor_found, file, line);
			rig_check_ages(q, runs - before_q, file, line);
			for (struct sl_node *n = sl_tree_first(&e->inflight[op]); n;
			     n = sl_tree_next(n)) {
				struct sl_run *run = sl_range_run(n);

				RIG_TRUE(run->state == SL_RUN_INFLIGHT, file, line);
				requests += rig_check_run(f, run, file, line);
				inflight++;
			}
		}
		for (struct sl_request *r = e->blocked; r; r = r->next) {
			RIG_TRUE(r->file_ == e, file, line);
			RIG_TRUE(r->next || e->blocked_last == r, file, line);
			in_queues++;
		}
		waiting += in_queues;
		/* `to` keeps what waits in a list of its own. */
		RIG_TRUE(f->ops->add == sl_flow_add ? e->requests == requests + in_queues
						    : e->requests >= requests && !in_queues,
			 file, line);
		RIG_TRUE((e->requests == 0) == !sl_list_empty(&e->link), file, line);
	}
	RIG_TRUE(inflight == f->inflight, file, line);
	if (f->ops->add == sl_flow_add)
		RIG_TRUE(waiting == f->waiting, file, line);
	/* Parts of a run that was cut share its number. */
	for (struct sl_list *l = f->runs.next; l != &f->runs; l = l->next, aged++) {
		const struct sl_run *run = sl_container(l, struct sl_run, age);

		RIG_TRUE(!before ||
				 (before->number <= run->number && before->oldest <= run->oldest),
			 file, line);
		before = run;
	}
	RIG_TRUE(aged == runs, file, line);
}

#define rig_check(g) rig_check_(g, __FILE__, __LINE__)

/* ---- driving it ---- */

static inline struct sl_run *rig_take_(struct rig *g, const char *file, int line)
{
	struct sl_flow *f = rig_flow(g);
	struct sl_run *run;

	if (f->ops->ready(f, g->now) > g->now)
		return NULL;
	run = f->ops->next(f, g->now);
	rig_check_(g, file, line);
	/* Who says NULL must say when to ask again, or the host would ask for ever. */
	if (!run)
		RIG_TRUE(f->ops->ready(f, g->now) > g->now, file, line);
	return run;
}

static inline void rig_done_(struct rig *g, struct sl_run *run, const char *file, int line)
{
	struct sl_flow *f = rig_flow(g);

	f->ops->done(f, run, g->now);
	sl_run_free(&g->env, run);
	rig_check_(g, file, line);
}

static inline void rig_cancel_(struct rig *g, struct sl_request *r, const char *file, int line)
{
	struct sl_flow *f = rig_flow(g);

	f->ops->cancel(f, r, g->now);
	rig_check_(g, file, line);
}

/* The next batch is this one. */
static inline struct sl_run *rig_expect_(struct rig *g, uint32_t op, uint64_t id, uint64_t offset,
					 uint64_t length, uint32_t count, const char *file,
					 int line)
{
	struct sl_run *run = rig_take_(g, file, line);
	const struct sl_batch *b;

	if (!run) {
		print_error("%s:%d: no batch; ready at %" PRId64 ", now %" PRId64 "\n", file, line,
			    rig_flow(g)->ops->ready(rig_flow(g), g->now), g->now);
		_fail(file, line);
	}
	b = &run->batch;
	if (b->op != op || b->file != id || b->offset != offset || b->length != length ||
	    b->count != count) {
		print_error("%s:%d: %s file %" PRIu64 " [%" PRIu64 ", +%" PRIu64 ") of %u,\n"
			    "not %s file %" PRIu64 " [%" PRIu64 ", +%" PRIu64 ") of %u\n",
			    file, line, b->op ? "write" : "read", b->file, b->offset, b->length,
			    b->count, op ? "write" : "read", id, offset, length, count);
		_fail(file, line);
	}
	return run;
}

/* It is this one, and it is executed at once. */
static inline void rig_serve_(struct rig *g, uint32_t op, uint64_t id, uint64_t offset,
			      uint64_t length, uint32_t count, const char *file, int line)
{
	rig_done_(g, rig_expect_(g, op, id, offset, length, count, file, line), file, line);
}

/* Nothing now, and again at `at`. */
static inline void rig_nothing_(struct rig *g, sl_time at, const char *file, int line)
{
	struct sl_run *run = rig_take_(g, file, line);
	sl_time ready = rig_flow(g)->ops->ready(rig_flow(g), g->now);

	if (run) {
		print_error("%s:%d: a batch [%" PRIu64 ", +%" PRIu64 ") of file %" PRIu64
			    ", there should be none\n",
			    file, line, run->batch.offset, run->batch.length, run->batch.file);
		_fail(file, line);
	}
	if (ready != at) {
		print_error("%s:%d: ready at %" PRId64 ", not at %" PRId64 "\n", file, line, ready,
			    at);
		_fail(file, line);
	}
}

#define rig_take(g)	   rig_take_(g, __FILE__, __LINE__)
#define rig_done(g, run)   rig_done_(g, run, __FILE__, __LINE__)
#define rig_cancel(g, r)   rig_cancel_(g, r, __FILE__, __LINE__)
#define rig_expect(g, ...) rig_expect_(g, __VA_ARGS__, __FILE__, __LINE__)
#define rig_serve(g, ...)  rig_serve_(g, __VA_ARGS__, __FILE__, __LINE__)
#define rig_nothing(g, at) rig_nothing_(g, at, __FILE__, __LINE__)

/* As sl_policy_set() does it: everything waiting leaves and joins again. */
static inline void rig_switch(struct rig *g, const struct sl_order_ops *ops,
			      const struct rig_values *v)
{
	struct sl_flow *f = rig_flow(g);
	struct sl_request *chain = f->ops->drain(f), *next;

	rig_policy(g, ops, v);
	for (; chain; chain = next) {
		next = chain->next;
		f->ops->add(f, chain, g->now);
	}
	rig_check(g);
}

#endif
