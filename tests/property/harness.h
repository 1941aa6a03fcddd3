/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the property tests share: random numbers, virtual time, a model device, clients, and a
 * model of what the scheduler holds that is checked at every call.
 *
 * The model is deliberately naive. It knows every request handed in, in arrival order, per job
 * and per (job, file), and nothing of how the scheduler works; so it can say of any batch
 * whether it is made of requests that were waiting, whether it is contiguous, and whether an
 * earlier conflicting request is still outstanding. Every program gets these checks for free by
 * going through hx_add(), hx_next(), hx_done() and hx_cancel().
 *
 * Worked example: job 1 writes [0, 4096) and then reads [2048, 3072) of one file. A batch with
 * the read while the write waits or is in flight is reported as
 *
 *	# seed=7 case="..." step=2 t=0: request 1 overtakes 0
 */
#ifndef HX_HARNESS_H
#define HX_HARNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sluice.h"

#define HX_FILES 8 /* per job */
#define HX_MS	 INT64_C(1000000)
#define HX_SEC	 INT64_C(1000000000)
#define HX_KIB	 UINT64_C(1024)
#define HX_MIB	 (UINT64_C(1) << 20)

/* ---- random numbers: splitmix64, so that a seed says all ---- */

struct hx_rng {
	uint64_t state;
};
uint64_t hx_rand(struct hx_rng *g);
uint64_t hx_below(struct hx_rng *g, uint64_t n);
uint64_t hx_range(struct hx_rng *g, uint64_t lo, uint64_t hi);	   /* both included */
uint64_t hx_log_range(struct hx_rng *g, uint64_t lo, uint64_t hi); /* every magnitude as often */
bool hx_chance(struct hx_rng *g, unsigned percent);

/* ---- TAP ---- */

uint64_t hx_seed(void);		   /* SL_SEED, or the same in every run */
uint64_t hx_scaled(uint64_t work); /* by SL_SCALE percent; at least 1 */
void hx_case(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* begins one test */
void hx_end(void);							  /* and ends it */
void hx_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool hx_failed(void); /* in this case, so far */
int hx_finish(void);  /* prints the plan; for main() to return */
#define hx_check(cond, ...)                   \
	do {                                  \
		if (!(cond))                  \
			hx_fail(__VA_ARGS__); \
	} while (0)

/* ---- policies as text ---- */

/* A random policy of a stage with random parameters, often extreme ones. */
void hx_random_policy(struct hx_rng *g, const char *stage, char *buf, size_t size);
/* What parameter has in policy, written or by default; fallback if it has no such parameter. */
int64_t hx_param(const char *stage, const char *policy, const char *param, int64_t fallback);
bool hx_is(const char *policy, const char *name); /* "aioli,wait_us=5" is "aioli" */

/* ---- the model ---- */

enum hx_state { HX_FREE, HX_WAITING, HX_FLYING };

struct hx_request {
	struct sl_request r;	 /* first: the scheduler's pointers are ours */
	struct sl_request given; /* as it was handed in */
	uint64_t number;	 /* in arrival order */
	sl_time added;
	uint64_t ahead; /* requests that waited when it came: of its job, or of the pool */
	enum hx_state state;
	unsigned job, file;		  /* indices */
	struct hx_request *prev, *next;	  /* waiting, of the job, in arrival order */
	struct hx_request *fprev, *fnext; /* outstanding, of job and file, in arrival order */
};

struct hx_file {
	struct hx_request *first, *last;
	uint64_t cursor; /* where a sequential client goes on */
};

struct hx_job {
	uint64_t id;
	bool present;
	struct sl_job_conf conf;
	uint64_t grant_bps; /* SL_GRANT_NONE: none */
	sl_time grant_until;
	char order[128]; /* of its own, or "" */
	/* Its client: keeps `depth` requests outstanding while on. */
	unsigned depth;
	uint64_t size_lo, size_hi; /* log-uniform */
	unsigned nfiles, write_percent, random_percent;
	uint64_t span; /* bytes of a file that random offsets cover */
	/* What it holds. */
	struct hx_request *first, *last;
	struct hx_file files[HX_FILES];
	uint64_t waiting, waiting_bytes, flying, flying_bytes;
	uint64_t served[2], served_bytes[2], batches;
	sl_time slowest;			    /* from sl_add() to sl_done() */
	uint64_t sent_bytes, sent_batches, largest; /* dispatched so far */
};

struct hx_flight {
	const struct sl_batch *b;
	struct sl_batch copy;
};

struct hx_world {
	struct sl_sched *s;
	struct hx_rng rng;
	sl_time now, wake; /* wake: of the last sl_next() that gave nothing */
	char admit[128], share[128], order[128];
	struct sl_limits limits;
	int strict;
	uint64_t capacity_bps;
	/* Jobs and requests. */
	struct hx_job *jobs;
	unsigned njobs;
	struct hx_request *pool, *free;
	uint64_t numbers, outstanding, files, jobs_present;
	bool ever_pool;
	bool moving; /* jobs may be about to change between lane and pool, once nothing flies */
	uint64_t bound_bytes,
		bound_requests; /* of batches, the largest ever in force; 0: unknown */
	/* The device: one timeline of device_bps, 0 for instant; `window` batches in flight. */
	uint64_t device_bps;
	unsigned window;
	bool shuffled; /* batches complete in any order */
	sl_time busy_until, *finish;
	uint64_t busy_rest; /* what busy_until leaves out, in bytes * 10^9 */
	unsigned nfinish;   /* completion times due, ascending, as many as flights */
	struct hx_flight *flights;
	unsigned nflights;
	uint64_t flying_bytes;
	/* Hooks and results. */
	void (*on_send)(struct hx_world *w, struct hx_job *j, const struct sl_batch *b);
	void (*on_null)(struct hx_world *w); /* sl_next() gave nothing, w->wake says when */
	void (*tick)(struct hx_world *w);    /* at `alarm`; sets the next one */
	sl_time alarm;
	sl_time late_ns; /* hx_run() asks up to this much later than it was told to */
	void *user;
	uint64_t decisions, requests, steps, nulls, changes;
	uint64_t merged, mixed; /* batches of several requests, of several jobs */
	uint64_t hash;		/* of all decisions and wake times */
};

/* A scheduler for njobs jobs at most, of which none is present yet. NULL policies: defaults. */
void hx_open(struct hx_world *w, uint64_t seed, unsigned njobs, const struct sl_config *config);
void hx_close(struct hx_world *w);

int hx_job_add(struct hx_world *w, unsigned job, const struct sl_job_conf *conf);
int hx_job_set(struct hx_world *w, unsigned job, const struct sl_job_conf *conf);
int hx_job_remove(struct hx_world *w, unsigned job);
int hx_grant(struct hx_world *w, unsigned job, uint64_t bps, sl_time until);
int hx_policy(struct hx_world *w, const char *stage, const char *policy);
int hx_job_order(struct hx_world *w, unsigned job, const char *policy);
/* Hands in one request and checks the answer against the limits. */
int hx_add(struct hx_world *w, unsigned job, unsigned file, uint64_t offset, uint64_t length,
	   uint32_t op, uint32_t flags);
int hx_add_next(struct hx_world *w, unsigned job); /* as the job's client would */
bool hx_next(struct hx_world *w);		   /* takes a batch into flight, if there is one */
void hx_done(struct hx_world *w, unsigned flight);
int hx_cancel(struct hx_world *w, struct hx_request *q);
/*
 * Whether the job has a request that nothing but limits and deliberate waits can hold back. The
 * line behind a conflict is no loss of work: per file, or for the whole job under order=to.
 */
bool hx_sendable(struct hx_world *w, unsigned job);
bool hx_in_pool(const struct hx_world *w, const struct hx_job *j);
const char *hx_order_of(const struct hx_world *w, const struct hx_job *j);
void hx_check_stats(struct hx_world *w, unsigned job);
void hx_check_totals(struct hx_world *w);

/* Closed-loop clients against the model device until the time given. */
void hx_run(struct hx_world *w, sl_time until);
void hx_fill(struct hx_world *w, unsigned job); /* up to its depth */
/* Lifts all limits, completes everything and checks that nothing is left inside. */
void hx_drain(struct hx_world *w);

/* ---- exact bounds over all windows, in one pass ---- */

/*
 * Dispatches of one job at ascending times. over: the most by which the bytes of any window
 * [a, b] exceed rate * (b - a), or its integral if the rate changed; under: the most by which the
 * bytes strictly inside (a, b) fall short of it. Both in bytes, rounded up.
 */
struct hx_meter {
	uint64_t rate_bps;
	sl_time at;    /* up to here `line` is known */
	__int128 sum;  /* bytes * 10^9, so that rate * ns needs no division */
	__int128 line; /* integral of the rate, alike */
	__int128 low, high;
	__int128 over, under;
	uint64_t bytes, largest;
	bool begun;
};
void hx_meter_rate(struct hx_meter *m, sl_time now, uint64_t rate_bps); /* from now on */
void hx_meter_send(struct hx_meter *m, sl_time now, uint64_t bytes);
void hx_meter_restart(struct hx_meter *m, sl_time now); /* windows before now do not count */
void hx_meter_end(struct hx_meter *m, sl_time now);	/* it could have sent until now */
int64_t hx_meter_over(const struct hx_meter *m);
int64_t hx_meter_under(const struct hx_meter *m);

/* Dispatches kept for windows of a fixed width. */
struct hx_log {
	struct hx_sent {
		sl_time t;
		uint64_t bytes;
	} * sent;
	size_t n, size;
};
void hx_log_send(struct hx_log *l, sl_time now, uint64_t bytes);
/* The most and the least bytes in any [t, t + width) between from and to. */
void hx_log_windows(const struct hx_log *l, sl_time from, sl_time to, sl_time width, uint64_t *most,
		    uint64_t *least);
void hx_log_free(struct hx_log *l);

#endif
