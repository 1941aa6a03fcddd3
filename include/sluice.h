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
 * It is a data structure, not a thread: the caller hands in the time, adds requests, takes batches
 * and reports them done. It never reads a clock, sleeps, locks or does I/O, and allocates only in
 * sl_sched_create() (setting order=auto also allocates, and may read the file of a tree). One
 * struct sl_sched is used by one thread at a time; struct sl_service (below) wraps it for services
 * with many threads.
 *
 * Functions return 0 or a negative errno; sl_error() then returns a message. A call that fails has
 * changed nothing.
 *
 * Life of a request: the caller zeroes a struct sl_request, fills in the upper half and calls
 * sl_add(). Then the request belongs to the scheduler, until sl_next() has returned a batch that
 * contains it and sl_done() was called for the batch, or until sl_cancel() returned 0.
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

#define SL_MAX_LENGTH (UINT64_C(1) << 40) /* of one request, bytes */
/* Requests of such files are ignored by pattern detection. */
#define SL_NO_FILE    (UINT64_MAX - UINT32_MAX)
#define SL_MAX_WEIGHT 1000000U
#define SL_MAX_RATE   (UINT64_C(1) << 50) /* bytes per second */

enum sl_op { SL_READ = 0, SL_WRITE = 1 };

struct sl_request {
	uint64_t job;	 /* as given to sl_job_add() */
	uint64_t client; /* process or rank; not interpreted */
	uint64_t file;	 /* equal numbers: the same file; SL_NO_FILE and above: no file */
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
	uint64_t capacity_bps; /* bandwidth of the device; 0: unknown (then `min` is refused) */
	/* 0: a job without grant may use bandwidth that no other job wants. */
	int strict_grants;
	/* But only after a pause this long: a synchronous writer always pauses briefly. */
	uint32_t lend_us;
	int patterns; /* 1: detect the access pattern of each job: sl_job_pattern() */
	/* Clients split their calls into pieces of this size; 0: no splitting. */
	uint64_t piece_bytes;
	/*
	 * Returns the malloc'ed text of a file that a policy names (order=auto,tree=FILE); 0 or
	 * negative errno. Called by sl_sched_create(), sl_policy_set() and sl_job_order(). NULL:
	 * the library reads the file.
	 */
	int (*read)(void *arg, const char *name, char **text, size_t *length);
	void *read_arg;
};

struct sl_sched;

/* On failure *s is NULL and err (may be NULL) gets a message. */
int sl_sched_create(struct sl_sched **s, const struct sl_config *config, sl_time now, char *err,
		    size_t err_size);
void sl_sched_destroy(struct sl_sched *s); /* requests still inside are the caller's again */
const char *
sl_error(const struct sl_sched *s); /* of the last call that failed; borrowed until the next */

/* Limits and guarantees of a job. All zero: no limits, weight 1, unknown period. */
struct sl_job_conf {
	uint64_t min_bps;     /* guarantee; 0: none */
	uint64_t max_bps;     /* limit; 0: none */
	uint64_t burst_bytes; /* depth of the bucket under max; 0: the policy's burst_us */
	uint32_t weight;      /* 1 .. SL_MAX_WEIGHT; 0 means 1 */
	/* 1: scale down a min that does not fit the capacity, instead of refusing it. */
	uint32_t best_effort;
	sl_time period_ns; /* mean time between starts of I/O phases (w_iter); 0: not known */
	/* For share=fair: the owner of the job. Equal numbers: same user or account; 0: unknown. */
	uint64_t user, account;
	uint32_t user_weight,
		account_weight; /* like weight; the value set last applies to the user or account */
	uint32_t nodes;		/* compute nodes; 0: not known, as 1 */
};

int sl_job_add(struct sl_sched *s, uint64_t job, const struct sl_job_conf *conf, sl_time now);
int sl_job_get(const struct sl_sched *s, uint64_t job, struct sl_job_conf *conf);
int sl_job_set(struct sl_sched *s, uint64_t job, const struct sl_job_conf *conf, sl_time now);
int sl_job_remove(struct sl_sched *s, uint64_t job, sl_time now); /* -EBUSY while it has requests */
/* Set the order policy of one job; NULL: the scheduler's policy. */
int sl_job_order(struct sl_sched *s, uint64_t job, const char *policy, sl_time now);
/*
 * A lease from a global scheduler: rate_bps until `until`, then no grant. Rate 0 means "not now";
 * SL_GRANT_NONE removes the grant.
 */
#define SL_GRANT_NONE UINT64_MAX
int sl_job_grant(struct sl_sched *s, uint64_t job, uint64_t rate_bps, sl_time until, sl_time now);

/* Change the policy of a stage ("admit", "share", "order"), keeping all requests. */
int sl_policy_set(struct sl_sched *s, const char *stage, const char *policy, sl_time now);
/*
 * How many times faster the device serves sequential than random requests of this size, in
 * thousandths; 0: unknown. For order=auto; for other sizes, the nearest one is used.
 */
int sl_ratio_set(struct sl_sched *s, uint32_t op, uint64_t bytes, uint32_t ratio_milli);
int sl_capacity_set(struct sl_sched *s, uint64_t capacity_bps, sl_time now);

int sl_add(struct sl_sched *s, struct sl_request *r, sl_time now);
/*
 * Returns the next batch, or NULL. Then *wake (may be NULL) is when to call again; SL_NEVER: only
 * after sl_add(), sl_done() or a change.
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
	uint64_t batches; /* merge ratio = (served + in flight requests) / batches */
	/* Sent while its grant was 0, with bandwidth that no other job wanted. */
	uint64_t borrowed_bytes;
	uint64_t floor_bytes;	   /* sent because it was behind its min */
	sl_time throttled_ns;	   /* time in which max or a strict grant held its requests */
	sl_time waiting_ns;	   /* time in which it had requests to send, for any reason */
	sl_time contended_ns;	   /* part of waiting_ns in which another job had requests inside */
	uint64_t min_bps, max_bps; /* in force: after scaling to the capacity and grants; 0: none */
	uint32_t held;		   /* 1: a strict grant of 0 holds all requests */
	uint64_t latency[SL_LATENCY_BUCKETS]; /* sl_add() to sl_done() */
};

int sl_job_stats(const struct sl_sched *s, uint64_t job, sl_time now, struct sl_job_stats *out);

/*
 * The access pattern of a job's last few hundred requests, and their order policy;
 * detect/pattern.c.
 */
struct sl_job_pattern {
	const char *spatiality; /* contiguous, strided, random; unknown: too few requests yet */
	const char *size;	/* small, large (32 KiB and up), unknown: of its calls */
	uint32_t op;		/* enum sl_op: of most requests */
	uint32_t files;		/* in use */
	uint64_t call_bytes;	/* mean; 0: not known */
	uint64_t requests;	/* total seen; 0: detection is off, or there were none */
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
	int simulator_only; /* it must know all jobs in advance, so a controller refuses it */
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

/* ---- for services with threads: any thread submits, the library calls run() with a batch ---- */

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
 * Call fn under the service's lock, for any other function of the scheduler. fn gets the scheduler
 * and the time and must not block. Returns the result of fn.
 */
int sl_service_with(struct sl_service *svc, int (*fn)(struct sl_sched *s, sl_time now, void *arg),
		    void *arg);
/* Serves the requests inside, then ends the threads. */
void sl_service_stop(struct sl_service *svc);

/* ---- for programs run by `sluice run` (optional) ---- */

/*
 * Until sl_phase_end() this process is in an I/O phase. The layer then does not have to detect the
 * begin of the phase, and to wait for a pause to detect its end: grants begin and end with the
 * phase. A job is in a phase while one of its processes is. Any thread may call; nested begins and
 * unmatched ends are ignored. The library that `sluice run` preloads has these functions too, for
 * programs that are not linked with libsluice: dlsym(RTLD_DEFAULT, "sl_phase_begin").
 *
 * Returns 0; -ENOTCONN: not under `sluice run`, no effect; another negative errno: as for I/O.
 */
int sl_phase_begin(void);
int sl_phase_end(void);

/*
 * From now on I/O of this thread belongs to a part of the job, which is treated as a separate job
 * of the name JOB:TAG. `sluice set JOB:TAG max=100M`, or `tags` in sluice.yaml, set its limits and
 * weight, independent of those of the rest of the job; `sluice status` and `report` show it. A tag
 * has 1 to 31 letters, digits and - _ . ; NULL or "": the job itself again. A new thread has no
 * tag; a child of fork() has that of its parent. The job need not be registered yet.
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
