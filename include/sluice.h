/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsluice: decide which I/O request goes next.
 *
 * A scheduler composes three stages over the requests of many jobs:
 *
 *	admit   may this job send now            open, token-bucket
 *	share   whose turn is it among the jobs  wfq fair fifo round-robin io-sets pool
 *	order   which of its requests, merged    to to-agg sjf mlf aioli auto
 *
 * It is a data structure, not a thread: the caller hands in the time, adds requests, takes
 * batches and reports them done. It never reads a clock, sleeps, locks or does I/O, and
 * allocates only in sl_sched_create() (for order=auto also when that is set, and then it may read
 * the tree that is named). One struct sl_sched is used by one thread at a time; struct sl_service
 * (below) wraps it for services with many threads.
 *
 * Functions return 0 or a negative errno; sl_error() then says in words what was wrong. A
 * call that fails has changed nothing.
 *
 * Life of a request: the caller zeroes a struct sl_request, fills in the upper half and calls
 * sl_add(). From then on the request belongs to the scheduler, until a batch that holds it
 * came out of sl_next() and went back through sl_done(), or sl_cancel() returned 0.
 */
#ifndef SLUICE_H
#define SLUICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SL_VERSION "0.1.0"

typedef int64_t sl_time; /* nanoseconds on a clock of the caller's choice, 0 .. 2^62 */
#define SL_NEVER INT64_MAX

#define SL_MAX_LENGTH (UINT64_C(1) << 40)	/* of one request, bytes */
#define SL_NO_FILE    (UINT64_MAX - UINT32_MAX) /* whose requests say nothing of access patterns */
#define SL_MAX_WEIGHT 1000000U
#define SL_MAX_RATE   (UINT64_C(1) << 50) /* bytes per second */

enum sl_op { SL_READ = 0, SL_WRITE = 1 };

struct sl_request {
	uint64_t job;	 /* as given to sl_job_add() */
	uint64_t client; /* process or rank; not interpreted */
	uint64_t file;	 /* equal numbers are one file; from SL_NO_FILE on it is none */
	uint64_t offset; /* bytes */
	uint64_t length; /* bytes, 1 .. SL_MAX_LENGTH */
	uint32_t op;	 /* enum sl_op */
	uint32_t flags;	 /* the caller's; only requests with equal flags are merged */
	void *user;	 /* the caller's */
	/* Set by the scheduler, for the caller to read. */
	struct sl_request *next; /* in a batch: the next in offset order, or NULL */
	sl_time arrival;	 /* `now` of sl_add() */
	/* Private to the scheduler. */
	struct sl_request *prev_;
	uint64_t seq_;
	void *file_;
	void *run_;
	uint32_t job_;
	uint32_t state_;
};

/*
 * What to do next: one contiguous read or write, made of `count` requests. Valid from
 * sl_next() to sl_done().
 */
struct sl_batch {
	uint64_t job; /* of the first request; with share=pool others may differ */
	uint64_t file;
	uint64_t offset;
	uint64_t length;
	uint32_t op;
	uint32_t flags;
	uint32_t count;
	struct sl_request *first; /* walk with ->next */
};

/* ---- the scheduler ---- */

struct sl_limits {
	uint32_t jobs;	   /* registered at one time; 1 .. 2^20 */
	uint32_t files;	   /* (job, file) pairs with requests waiting or in flight; 1 .. 2^24 */
	uint32_t requests; /* waiting or in flight; 1 .. 2^26 */
};

/*
 * A policy is named with its parameters: "aioli,wait_us=500,batch_bytes=1Mi". Names, ranges
 * and defaults: sluice-policies(7) or `sluice policy show`. NULL means the stage's default:
 * token-bucket, wfq, to-agg.
 */
struct sl_config {
	struct sl_limits limits; /* all 0: 1024 jobs, 4096 files, 65536 requests */
	const char *admit;
	const char *share;
	const char *order;
	uint64_t capacity_bps; /* what the device gives; 0: not known (then `min` is refused) */
	int strict_grants;     /* 0: a job without grant may use what nobody else wants */
	uint32_t lend_us; /* ... for this long: who writes call by call always pauses a little */
	int patterns;	  /* 1: watch what the requests of each job look like: sl_job_pattern() */
	uint64_t piece_bytes; /* clients send their calls in pieces of so much; 0: whole */
	/*
	 * How to get the text of a file that a policy names (order=auto,tree=FILE), malloc'ed; 0 or
	 * negative errno. Called by sl_sched_create(), sl_policy_set() and sl_job_order(). NULL: it
	 * is read.
	 */
	int (*read)(void *arg, const char *name, char **text, size_t *length);
	void *read_arg;
};

struct sl_sched;

/* On failure *s is NULL and a message stands in err (may be NULL). */
int sl_sched_create(struct sl_sched **s, const struct sl_config *config, sl_time now, char *err,
		    size_t err_size);
void sl_sched_destroy(struct sl_sched *s); /* requests still inside are the caller's again */
const char *
sl_error(const struct sl_sched *s); /* of the last call that failed; borrowed until the next */

/* What a job is entitled to. All zero: no limits, weight 1, period not known. */
struct sl_job_conf {
	uint64_t min_bps;     /* guaranteed; 0: none */
	uint64_t max_bps;     /* never more; 0: no limit */
	uint64_t burst_bytes; /* depth of the bucket under max; 0: the policy's burst_us */
	uint32_t weight;      /* 1 .. SL_MAX_WEIGHT; 0 means 1 */
	uint32_t best_effort; /* 1: accept a min that does not fit the capacity, scaled down */
	sl_time period_ns;    /* mean time between starts of I/O phases (w_iter); 0: not known */
	/* For share=fair: whose job it is. Equal numbers are one user, one account; 0: not known. */
	uint64_t user, account;
	uint32_t user_weight,
		account_weight; /* of these, as weight: the last that was told holds */
	uint32_t nodes;		/* compute nodes; 0: not known, as 1 */
};

int sl_job_add(struct sl_sched *s, uint64_t job, const struct sl_job_conf *conf, sl_time now);
int sl_job_get(const struct sl_sched *s, uint64_t job, struct sl_job_conf *conf);
int sl_job_set(struct sl_sched *s, uint64_t job, const struct sl_job_conf *conf, sl_time now);
int sl_job_remove(struct sl_sched *s, uint64_t job, sl_time now); /* -EBUSY while it has requests */
/* Order policy of one job; NULL returns it to the scheduler's own. */
int sl_job_order(struct sl_sched *s, uint64_t job, const char *policy, sl_time now);
/*
 * A lease from a global scheduler: rate_bps until `until`, then none again. Rate 0 means "not
 * now"; SL_GRANT_NONE takes the grant away.
 */
#define SL_GRANT_NONE UINT64_MAX
int sl_job_grant(struct sl_sched *s, uint64_t job, uint64_t rate_bps, sl_time until, sl_time now);

/* Change the policy of a stage ("admit", "share", "order") with all requests inside kept. */
int sl_policy_set(struct sl_sched *s, const char *stage, const char *policy, sl_time now);
/*
 * How many times faster the device serves sequential than random requests of this size, in
 * thousandths; 0: not known. For order=auto; between the sizes told, the nearest counts.
 */
int sl_ratio_set(struct sl_sched *s, uint32_t op, uint64_t bytes, uint32_t ratio_milli);
int sl_capacity_set(struct sl_sched *s, uint64_t capacity_bps, sl_time now);

int sl_add(struct sl_sched *s, struct sl_request *r, sl_time now);
/*
 * The next batch, or NULL: then *wake (may be NULL) is when to ask again, SL_NEVER if only an
 * sl_add(), sl_done() or a change can bring one.
 */
const struct sl_batch *sl_next(struct sl_sched *s, sl_time now, sl_time *wake);
int sl_done(struct sl_sched *s, const struct sl_batch *b,
	    sl_time now); /* b and its requests are free after this */
int sl_cancel(struct sl_sched *s, struct sl_request *r, sl_time now); /* -EBUSY once in flight */

#define SL_LATENCY_BUCKETS 64 /* two for each power of two, from 1024 ns: sl_latency_bound_ns() */

struct sl_job_stats {
	uint64_t queued_requests, queued_bytes; /* waiting */
	uint64_t inflight_requests, inflight_bytes;
	uint64_t served_requests[2], served_bytes[2]; /* by enum sl_op */
	uint64_t batches;	   /* merge ratio = (served + in flight requests) / batches */
	uint64_t borrowed_bytes;   /* sent while its grant was 0, because nobody else wanted */
	uint64_t floor_bytes;	   /* sent because it was behind its min */
	sl_time throttled_ns;	   /* had something to send and was held by max or a strict grant */
	sl_time waiting_ns;	   /* had something to send, whatever it waited for */
	sl_time contended_ns;	   /* of that, while another job had requests inside, too */
	uint64_t min_bps, max_bps; /* in force: after scaling to the capacity and grants; 0: none */
	uint32_t held;		   /* 1: a strict grant of 0 lets nothing through */
	uint64_t latency[SL_LATENCY_BUCKETS]; /* sl_add() to sl_done() */
};

int sl_job_stats(const struct sl_sched *s, uint64_t job, sl_time now, struct sl_job_stats *out);

/* What a job's last few hundred requests look like, and how they are ordered; detect/pattern.c. */
struct sl_job_pattern {
	const char *spatiality; /* contiguous, strided, random; unknown: too few requests yet */
	const char *size;	/* small, large (32 KiB and up), unknown: of its calls */
	uint32_t op;		/* enum sl_op: of most requests */
	uint32_t files;		/* in use */
	uint64_t call_bytes;	/* mean; 0: not known */
	uint64_t requests;	/* seen in all; 0: nothing is watched, or there was none */
	const char *order;	/* policy that orders them; static */
	char reason[120];	/* of order=auto for that policy; else empty */
};
int sl_job_pattern(const struct sl_sched *s, uint64_t job, struct sl_job_pattern *out);
sl_time sl_latency_bound_ns(unsigned bucket); /* upper bound of a bucket */
sl_time sl_latency_percentile_ns(const struct sl_job_stats *st, unsigned ppm); /* 990000: p99 */

struct sl_sched_stats {
	uint64_t jobs, files, requests, inflight_batches, inflight_bytes; /* now */
	uint64_t decisions;						  /* batches handed out */
	uint64_t floors_bps; /* sum of all min asked for */
	uint64_t capacity_bps;
	const char *admit, *share, *order; /* names; static */
};
void sl_sched_stats(const struct sl_sched *s, struct sl_sched_stats *out);

/* ---- the policies, as data ---- */

struct sl_policy_info {
	const char *stage, *name, *summary, *source; /* source: paper and section */
	const struct sl_param *params;		     /* ends with name == NULL; may be NULL */
	int simulator_only; /* it needs to know all jobs in advance: a controller refuses it */
};
enum sl_unit { SL_COUNT, SL_BYTES, SL_US, SL_MS, SL_CHOICE, SL_FILE };
struct sl_param {
	const char *name, *help;
	enum sl_unit unit;
	int64_t min, max, def;
	const char *const *choices; /* SL_CHOICE: names of 0 .. max, else NULL */
};
/* The i-th policy of all stages in their order on the I/O path; 0 or -ENOENT. */
int sl_policy_info(unsigned i, struct sl_policy_info *out);
int sl_policy_default(const char *stage, const char **name);

/* ---- for services with threads: submit anywhere, get called back with a batch ---- */

struct sl_service;

struct sl_service_config {
	struct sl_config sched;
	/*
	 * Called on one of the library's threads, with no lock held. Do the I/O here and then call
	 * sl_service_done(), or start it and call sl_service_done() from anywhere later.
	 */
	void (*run)(void *user, const struct sl_batch *b);
	/* Called once for each request after its batch was reported done; may free it. */
	void (*complete)(void *user, struct sl_request *r, int64_t result);
	void *user;
	uint32_t threads;	     /* that call run(); 0: 1 */
	uint32_t max_inflight;	     /* batches between run() and done; 0: 2 * threads */
	uint64_t max_inflight_bytes; /* 0: no limit; one batch always goes */
};

int sl_service_start(struct sl_service **svc, const struct sl_service_config *config, char *err,
		     size_t err_size);
int sl_service_submit(struct sl_service *svc, struct sl_request *r);
int sl_service_cancel(struct sl_service *svc,
		      struct sl_request *r); /* 0: complete() is not called */
/*
 * result: bytes moved or negative errno, for the whole batch; divided among its requests in offset
 * order
 */
int sl_service_done(struct sl_service *svc, const struct sl_batch *b, int64_t result);
/*
 * Anything else of the scheduler, under the service's lock: fn gets the scheduler and the time
 * and must not block. Returns what fn returned.
 */
int sl_service_with(struct sl_service *svc, int (*fn)(struct sl_sched *s, sl_time now, void *arg),
		    void *arg);
void sl_service_stop(struct sl_service *svc); /* serves what is inside, then ends the threads */

/* ---- for programs that are run by `sluice run`: optional ---- */

/*
 * From here to sl_phase_end() this process is in a phase of I/O. The layer then need not find out
 * by itself when a phase begins, and wait for a pause to see that it is over: grants begin and end
 * with the phase. A job is in one as long as one of its processes is. Any thread may call; a phase
 * in a phase, and an end without one, are nothing. The library that `sluice run` preloads has
 * these, too, for programs that are not linked with libsluice: dlsym(RTLD_DEFAULT,
 * "sl_phase_begin").
 *
 * 0; -ENOTCONN: not under `sluice run`, nobody was told; another negative errno: as for I/O.
 */
int sl_phase_begin(void);
int sl_phase_end(void);

/*
 * From here on I/O of this thread belongs to a part of the job, as if it were a job of its own by
 * the name JOB:TAG: `sluice set JOB:TAG max=100M`, or `tags` in sluice.yaml, give it limits and a
 * weight, which hold beside those of the rest of the job; `sluice status` and `report` show it. A
 * tag has 1 to 31 letters, digits and - _ . ; NULL or "": the job itself again. A new thread has no
 * tag, a child of fork() that of its parent. It does not matter whether the job is known by then.
 *
 * 0; -ENOTCONN: not under `sluice run`; -EINVAL: a bad tag, or JOB:TAG is longer than 63; -ENOSPC:
 * the process has used 15 tags; -EOPNOTSUPP: the calls of this process are forwarded, or held by a
 * strict gate.
 */
int sl_tag_set(const char *tag);

#ifdef __cplusplus
}
#endif
#endif
