/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data structure that order policies work on, and the functions that they share.
 *
 * A *flow* holds the requests of one lane, waiting and in flight. Each file of it has two
 * *queues*, reads and writes, and each queue keeps *runs*, sorted by offset: a run is a chain
 * of contiguous requests with equal flags, that is, a batch in the making (aIOLi's "virtual
 * request"). A run never outgrows what one batch may hold, so the policy only has to choose a
 * run; it goes out whole, and its struct sl_batch is what the host gets to see.
 *
 * Joining a run is one descent in the tree of its queue: O(log runs). Contiguous streams make
 * few runs, so for them it is nearly constant. All runs of a flow stand also in one list by
 * age, which gives arrival order and bounds starvation at no further cost.
 *
 * The fence. Two requests of a flow that overlap, one of them writing, are executed in arrival
 * order: the second does not wait in a queue but behind the first, in file->blocked, until
 * nothing it overlaps is waiting or in flight. Requests that are not blocked are therefore free of
 * conflicts, so that queues may be reordered at will and write runs never overlap. Once
 * something is blocked on a file, everything newer on that file lines up behind it: overlaps
 * are rare, and a plain line cannot be overtaken. The age of a request, which bounds how long it
 * can be passed over (max_age_ms), counts from when it is let into its queue.
 *
 * Example, batch_bytes=8K, all writes of 4K: offsets 0, 8K, 4K, 4K. 0 and 8K are two runs; the
 * first 4K joins the run of 0, which is then full and does not swallow 8K; the second 4K
 * overlaps and is blocked until the batch [0, 8K) is done.
 */
#ifndef SL_POLICY_REQUEST_ORDER_FLOW_H
#define SL_POLICY_REQUEST_ORDER_FLOW_H

#include "base/ds/hash.h"
#include "base/ds/list.h"
#include "base/ds/tree.h"
#include "policy/policy.h"

#define SL_FLOW_STATE 160 /* bytes for the policy in each flow */

enum sl_run_state { SL_RUN_FREE, SL_RUN_WAITING, SL_RUN_INFLIGHT };

/* Three cache lines; a search in a tree touches the first only. */
struct sl_run {
	_Alignas(64) struct sl_node range; /* in queue->runs, or in file->inflight[op] */
	struct sl_file *file;
	struct sl_request *last;
	struct sl_batch batch;	  /* what the host sees */
	uint64_t number;	  /* of its oldest request: smaller is earlier */
	sl_time oldest;		  /* since when that has been waiting in its queue */
	struct sl_list age;	  /* in flow->runs; free: link of the pool */
	struct sl_list queue_age; /* in queue->ages */
	int64_t quantum;	  /* mlf, aioli: bytes it may send, as of `granted` */
	int64_t granted;	  /* queue->granted when quantum was brought up to date */
	uint8_t state;		  /* enum sl_run_state */
	uint8_t waited;		  /* mlf, aioli: its queue has waited for it to grow once */
};

struct sl_queue {
	struct sl_tree runs;
	struct sl_list ages;   /* its runs, oldest first */
	struct sl_run *cursor; /* first run at or after `end`; NULL: start over at the first */
	uint64_t end;	       /* where its last batch ended */
	uint64_t bytes;	       /* waiting */
	/* The policy's own data; zero when the queue is new to it. */
	struct sl_list link;
	struct sl_node key;
	int64_t granted;   /* bytes granted to it in all its visits */
	int64_t step;	   /* bytes of the next grant */
	sl_time until;	   /* it waits for a better batch until then */
	uint64_t asked;	   /* aioli: it waited when its last batch ended here */
	uint32_t expected; /* requests in its last batch */
	uint32_t streak;   /* batches that began where the one before had ended */
	uint8_t linked;
	uint8_t waiting;
	uint8_t shift;	 /* aioli: it waits for the run that begins at `end` */
	uint8_t vain;	 /* aioli: such waits since a batch last began where one had ended */
	uint8_t batches; /* aioli: which did not */
};

struct sl_file {
	uint64_t id;
	struct sl_flow *flow;
	struct sl_tree inflight[2]; /* runs, by operation */
	struct sl_request *blocked; /* by ->next, in arrival order */
	struct sl_request *blocked_last;
	uint32_t requests;   /* waiting, blocked or in flight */
	struct sl_list link; /* in env->idle_files while it has no requests, else alone */
	struct sl_list of_flow;
	struct sl_queue queue[2];
};

/* Pools and numbers that the flows of one scheduler share. Memory is the host's. */
struct sl_flow_env {
	struct sl_run *runs;
	struct sl_file *files;
	struct sl_hash by_id; /* (file id, lane) -> index in files */
	struct sl_list free_runs;
	struct sl_list idle_files; /* least recently used first */
	uint64_t number;	   /* of the last arrival */
	uint32_t files_busy;	   /* with requests */
};

struct sl_flow {
	const struct sl_order_ops *ops;
	const int64_t *values; /* of the policy's parameters; the host's */
	struct sl_flow_env *env;
	uint64_t batch_bytes; /* the policy's, but not more than batch_limit */
	uint64_t batch_limit; /* the host's: what the lane's rate allows */
	uint32_t batch_requests;
	uint32_t lane;
	uint32_t waiting;     /* requests, blocked ones included */
	uint32_t inflight;    /* batches */
	struct sl_list runs;  /* waiting, oldest first */
	struct sl_list files; /* all entries of this flow, idle ones too */
	_Alignas(16) unsigned char state[SL_FLOW_STATE];
};

/* ---- for the host ---- */

void sl_flow_env_init(struct sl_flow_env *env, uint32_t files, uint32_t requests,
		      void *hash_memory);
void sl_flow_init(struct sl_flow *f, struct sl_flow_env *env, uint32_t lane);
/* Set the policy, and batch_limit, of a flow in which nothing waits. values: borrowed until the
 * next call. */
void sl_flow_policy(struct sl_flow *f, const struct sl_order_ops *ops, const int64_t *values,
		    sl_time now);
/* The entry of a file, taken from the pool if it is new; NULL: all are in use. */
struct sl_file *sl_flow_file(struct sl_flow *f, uint64_t id);
/* Give the entries of a flow without requests back to the pool. */
void sl_flow_forget_files(struct sl_flow *f);
void sl_run_free(struct sl_flow_env *env, struct sl_run *run);
/* Merge sort of a chain by seq_. */
struct sl_request *sl_request_sort(struct sl_request *chain);

/* ---- for the policies ---- */

/* add, cancel, done, drain, oldest of every policy that keeps requests in queues */
void sl_flow_add(struct sl_flow *f, struct sl_request *r, sl_time now);
void sl_flow_cancel(struct sl_flow *f, struct sl_request *r, sl_time now);
void sl_flow_done(struct sl_flow *f, struct sl_run *run, sl_time now);
struct sl_request *sl_flow_drain(struct sl_flow *f);
uint64_t sl_flow_oldest(const struct sl_flow *f);
/* ready of those that never wait */
sl_time sl_flow_ready(const struct sl_flow *f, sl_time now);

/* A waiting run goes in flight. */
void sl_flow_take(struct sl_flow *f, struct sl_run *run);
/* A run of this one request, straight in flight. */
struct sl_run *sl_flow_take_single(struct sl_flow *f, struct sl_request *r);
/* Whether r overlaps something in flight, one of the two writing. */
bool sl_flow_inflight_conflict(const struct sl_request *r);
void sl_file_hold(struct sl_file *file); /* one more request */
void sl_file_release(struct sl_file *file, uint32_t requests);

static inline struct sl_queue *sl_run_queue(const struct sl_run *run)
{
	return &run->file->queue[run->batch.op];
}

static inline struct sl_run *sl_range_run(struct sl_node *n)
{
	return n ? sl_container(n, struct sl_run, range) : NULL;
}

/* The next run in offset order, going around at the end; the queue is not empty. */
static inline struct sl_run *sl_queue_head(const struct sl_queue *q)
{
	return q->cursor ? q->cursor : sl_range_run(sl_tree_first(&q->runs));
}

static inline struct sl_run *sl_flow_oldest_run(const struct sl_flow *f)
{
	return sl_list_empty(&f->runs) ? NULL : sl_container(f->runs.next, struct sl_run, age);
}

static inline bool sl_run_full(const struct sl_flow *f, const struct sl_run *run)
{
	return run->batch.count >= f->batch_requests || run->batch.length >= f->batch_bytes;
}

/* The first parameters of every policy that merges, in this order. */
enum { SL_P_BATCH_BYTES, SL_P_BATCH_REQUESTS, SL_P_MAX_AGE_MS };

#define SL_BATCH_PARAMS                                                                       \
	{ .name = "batch_bytes",                                                              \
	  .help = "A batch is not merged beyond this size; a single request may be larger.",  \
	  .unit = SL_BYTES,                                                                   \
	  .min = 1,                                                                           \
	  .max = 1 << 30,                                                                     \
	  .def = 4 << 20 },                                                                   \
	{                                                                                     \
		.name = "batch_requests",                                                     \
		.help = "A batch is not merged beyond this many requests.", .unit = SL_COUNT, \
		.min = 1, .max = 1024, .def = 256                                             \
	}
#define SL_AGE_PARAM                                                                               \
	{                                                                                          \
		.name = "max_age_ms",                                                              \
		.help = "A request that has waited this long goes before all that came after it.", \
		.unit = SL_MS, .min = 0, .max = 3600000, .def = 1000                               \
	}

static inline bool sl_run_aged(const struct sl_flow *f, const struct sl_run *run, sl_time now)
{
	return now - run->oldest >= f->values[SL_P_MAX_AGE_MS] * 1000000;
}

#endif
