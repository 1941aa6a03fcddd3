/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of a policy.
 *
 * A policy is a pure state machine: it never reads a clock, sleeps, locks, logs, allocates,
 * does I/O or keeps static data. Time comes in as `now` and never runs backwards; decisions
 * and the time of the next one go out. Its state lives in memory that the host provides:
 * sl_policy_size() bytes, aligned to 16, zeroed. So the same object files run in the daemon, in
 * the simulator and in other people's servers, and any number of instances side by side.
 *
 * A *lane* is what admit and share work on: a job, or with share=pool the pool of all jobs
 * that have no limits. Lanes are small numbers, 0 .. limits->lanes-1.
 *
 * To add a policy: one file in the directory of its stage, one line in policies.def, one
 * test tests/unit/test-<stage>-<policy>.c. The manual page is generated from the tables.
 */
#ifndef SL_POLICY_H
#define SL_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

#define SL_MAX_PARAMS 8

/*
 * The first three stages decide about requests, in an I/O node. grant decides about I/O phases and
 * allocate about whole jobs, both for the machine.
 */
enum sl_stage {
	SL_ADMIT,
	SL_SHARE,
	SL_ORDER,
	SL_NODE_STAGES,
	SL_GRANT = SL_NODE_STAGES,
	SL_ALLOCATE,
	SL_STAGES
};

struct sl_policy_limits {
	uint32_t lanes;	  /* jobs */
	uint32_t ionodes; /* allocate only */
};

/* Entries of a table of parameters: a number in a range, or one of the names that follow. */
#define SL_PARAM_NUMBER(name_, unit_, min_, max_, def_, help_)                                   \
	{                                                                                        \
		.name = (name_), .help = (help_), .unit = (unit_), .min = (min_), .max = (max_), \
		.def = (def_)                                                                    \
	}
#define SL_PARAM_CHOICE(name_, def_, help_, ...)                                          \
	{                                                                                 \
		.name = (name_), .help = (help_), .unit = SL_CHOICE, .def = (def_),       \
		.max = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *) - 1, \
		.choices = (const char *const[])                                          \
		{                                                                         \
			__VA_ARGS__                                                       \
		}                                                                         \
	}

/* First member of every stage's table. */
struct sl_policy {
	const char *name, *summary, *source;
	const struct sl_param *params; /* ends with name == NULL; may be NULL */
	size_t size;		       /* of its state; or */
	size_t (*state_size)(const struct sl_policy_limits *);
	/* values: one for each parameter, in range. The policy copies what it keeps.
	 * NULL: a zeroed state is enough. */
	void (*init)(void *state, const struct sl_policy_limits *, const int64_t *values,
		     sl_time now);
};

static inline size_t sl_policy_size(const struct sl_policy *p,
				    const struct sl_policy_limits *limits)
{
	return p->state_size ? p->state_size(limits) : p->size;
}

static inline void sl_policy_init(const struct sl_policy *p, void *state,
				  const struct sl_policy_limits *limits, const int64_t *values,
				  sl_time now)
{
	if (p->init)
		p->init(state, limits, values, now);
}

/* ---- admit: may this lane send now? ---- */

struct sl_rates {
	uint64_t floor_bps;   /* 0: no guarantee */
	uint64_t cap_bps;     /* UINT64_MAX: no limit; 0: may not send */
	uint64_t burst_bytes; /* 0: the policy's default */
	bool merges;	      /* its order policy makes batches of several requests */
};

struct sl_admit_ops {
	struct sl_policy base;
	/* Set the rates of a new or known lane. What the lane has sent so far still counts. */
	void (*set)(void *state, uint32_t lane, const struct sl_rates *rates, sl_time now);
	/* A lane that had nothing waiting has something again. */
	void (*wake)(void *state, uint32_t lane, sl_time now);
	/*
	 * The time from which the lane may send; not after now: it may. SL_NEVER: not until set()
	 * is called.
	 */
	sl_time (*cap)(const void *state, uint32_t lane);
	/* The time from which the lane is behind its guarantee; SL_NEVER: it has none. */
	sl_time (*floor)(const void *state, uint32_t lane);
	/* How large a batch of several requests may be for the bounds on the rate to hold. */
	uint64_t (*batch)(const void *state, uint32_t lane);
	/* The lane sends these bytes now. */
	void (*charge)(void *state, uint32_t lane, uint64_t bytes, sl_time now);
};

/* ---- share: whose turn is it? ---- */

/* A lane as the share stage sees it; borrowed for the call. */
struct sl_member {
	uint64_t job;
	uint64_t oldest;   /* number of its oldest waiting request: smaller is earlier */
	sl_time period_ns; /* w_iter; 0: not known */
	uint32_t weight;   /* 1 .. SL_MAX_WEIGHT */
	uint32_t nodes;	   /* compute nodes of the job; 0: not known */
	/* The owner of the job; equal numbers: same owner; 0: unknown. A weight of 0 means 1. */
	uint64_t user, account;
	uint32_t user_weight, account_weight;
};

/* The lane or set that is served before a ready lane. */
struct sl_ahead {
	int64_t lane; /* -1: a set of them */
	int set;      /* of io-sets: log10 of the period in seconds */
};

struct sl_share_ops {
	struct sl_policy base;
	bool pools; /* lanes without limits are one: see share/pool.c */
	/* The lane is ready: it has a batch to send, and may. */
	void (*enter)(void *state, uint32_t lane, const struct sl_member *m, sl_time now);
	/*
	 * The lane is not ready any more. idle: it has nothing waiting, or its cap holds it; it
	 * gets no credit for that time. Not idle: its order policy waits for a better batch, or for
	 * one in flight; the lane keeps its place.
	 */
	void (*leave)(void *state, uint32_t lane, bool idle, sl_time now);
	/* Weight, period or the oldest request changed; the lane may be ready or not. */
	void (*update)(void *state, uint32_t lane, const struct sl_member *m, sl_time now);
	/* The lane is gone; it is not ready. Its number may come back as another job. */
	void (*forget)(void *state, uint32_t lane);
	/* Returns a ready lane, or -1: then call again at *wake (unchanged for SL_NEVER). */
	int64_t (*pick)(void *state, sl_time now, sl_time *wake);
	/* A ready lane sends now, whether pick() chose it or not. m: the lane afterwards. */
	void (*charge)(void *state, uint32_t lane, const struct sl_member *m, uint64_t bytes,
		       uint32_t requests, sl_time now);
	/*
	 * To explain a wait: which lane or set is served before this ready lane now. False: the
	 * policy can name none. NULL: it never can.
	 */
	bool (*ahead)(const void *state, uint32_t lane, sl_time now, struct sl_ahead *out);
};

/* ---- order: which of a flow's requests, merged into what? ---- */

struct sl_flow;	 /* order/flow.h: the waiting and in-flight requests of one lane */
struct sl_queue; /* order/flow.h: the waiting ones of one file and operation */
struct sl_run;	 /* order/flow.h: a batch in the making, waiting or in flight */

struct sl_order_ops {
	struct sl_policy base; /* state_size, init: of the policy's part of one flow */
	bool chooses;	       /* auto: the host runs one of the others in its place */
	/* A request joins the flow. Cannot fail: the host has checked the limits. */
	void (*add)(struct sl_flow *f, struct sl_request *r, sl_time now);
	/* The time from which next() may return a batch; SL_NEVER: not before another call. */
	sl_time (*ready)(const struct sl_flow *f, sl_time now);
	/*
	 * Returns a batch, which is in flight from now on. NULL: the policy decided to wait, and
	 * ready() is later than now.
	 */
	struct sl_run *(*next)(struct sl_flow *f, sl_time now);
	/* A batch of next() has been executed. */
	void (*done)(struct sl_flow *f, struct sl_run *run, sl_time now);
	/* A waiting request leaves the flow unserved. */
	void (*cancel)(struct sl_flow *f, struct sl_request *r, sl_time now);
	/* All waiting requests leave, chained by ->next in arrival order. */
	struct sl_request *(*drain)(struct sl_flow *f);
	/* Number of the oldest waiting request. Called only while a request waits. */
	uint64_t (*oldest)(const struct sl_flow *f);
	/*
	 * Called by flow.c when what waits in q changed outside of next(): `joined` has grown or is
	 * new, or is NULL after a cancel. May be NULL.
	 */
	void (*changed)(struct sl_flow *f, struct sl_queue *q, struct sl_run *joined, sl_time now);
};

/* ---- grant: which jobs may do I/O now, and at what rate? ---- */

/*
 * A job that wants to do I/O: its description by the host, and the policy's decision. An *instance*
 * is some computing and the I/O phase after it; `work_s` and `alone_s` are sums over the instances
 * that have ended, so both are 0 during the first.
 */
struct sl_io_job {
	uint64_t job;
	uint32_t procs;	   /* beta; not 0 */
	bool started;	   /* some of the present instance has been transferred */
	double cap_bps;	   /* what it can use: min(b * beta, capacity) */
	sl_time released;  /* when it came to the machine */
	sl_time asked;	   /* when its present I/O phase began */
	sl_time io_end;	   /* when its last one ended; `released` before the first */
	sl_time period_ns; /* w_iter, between starts of I/O phases; 0: not known */
	uint64_t ended;	   /* instances */
	double work_s;	   /* computing in them */
	double alone_s;	   /* what they would have taken alone on the machine */
	double compute_s;  /* of the present instance */
	double bytes;	   /* of the present instance */
	double left_bytes; /* not yet transferred of these; above 0 */
	double rate_bps;   /* the decision */
};

/* A job as a plan sees it: one instance, repeated. */
struct sl_plan_job {
	uint64_t job;
	uint32_t procs;
	double cap_bps, compute_s, bytes;
};

struct sl_grant_ops {
	struct sl_policy base;
	/*
	 * decide() gives all jobs the same rate, but none more than its cap (max-min fairness). A
	 * host may then compute the rates itself, in O(log n) per event.
	 */
	bool fair;
	/*
	 * For a policy that plans ahead: the host passes all jobs before the first decision, and
	 * again when they change. NULL for others. Returns 0 or a negative errno.
	 */
	int (*plan)(void *state, const struct sl_plan_job *jobs, uint32_t n, double capacity_bps,
		    sl_time now);
	/*
	 * Called when an I/O phase begins or ends, and at the time that the last call returned.
	 * Sets rate_bps of each of the n jobs (0: it must wait): at most its cap each, and at most
	 * the capacity in sum. May reorder the array. Returns when to decide again if nothing else
	 * happens: later than now, or SL_NEVER.
	 */
	sl_time (*decide)(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
			  sl_time now);
	/* The job has ended. NULL: the policy keeps no state of jobs. */
	void (*forget)(void *state, uint64_t job);
};

/* ---- allocate: how many I/O nodes does each job get? ---- */

/* A point of a job's curve: the bandwidth that it reaches with this number of I/O nodes. */
struct sl_curve_point {
	uint32_t ionodes; /* 0: direct access */
	double bps;	  /* any unit, if it is the same for all jobs */
};

struct sl_alloc_job {
	uint64_t job;
	uint32_t nodes, procs;		    /* compute nodes and processes; not 0 */
	const struct sl_curve_point *curve; /* borrowed; rising ionodes */
	uint32_t points;		    /* 0: the curve is unknown */
	bool running;			    /* it has `has` I/O nodes now */
	uint32_t has;
	uint32_t ionodes; /* the decision */
	bool shared;	  /* the decision: it shares one I/O node with others like it */
};

struct sl_alloc_machine {
	uint32_t ionodes;	/* to give out */
	uint32_t compute_nodes; /* of the whole machine; 0: what the jobs have */
	bool direct;		/* a job may get none and access the file system itself */
	bool uneven;		/* a number need not divide the job's compute nodes */
};

struct sl_allocate_ops {
	struct sl_policy base; /* state: scratch, sized by limits of jobs and I/O nodes */
	/*
	 * Called when a job has started or ended. Sets ionodes and shared of each of the n jobs.
	 * The sum is at most m->ionodes (jobs that share a node count once; oracle ignores the
	 * limit). A job that shares has ionodes 1. allocate/options.c says which numbers a job may
	 * get.
	 */
	void (*decide)(void *state, struct sl_alloc_job *jobs, uint32_t n,
		       const struct sl_alloc_machine *m);
};

/* ---- registry.c, from policies.def ---- */

#define SL_POLICY(stage, Stage, symbol) extern const struct sl_##stage##_ops sl_##stage##_##symbol;
#include "policies.def"
#undef SL_POLICY

const char *sl_stage_name(enum sl_stage stage);
int sl_stage_find(const char *name); /* or -ENOENT */
/* The i-th policy of a stage, the default one first; NULL after the last. */
const struct sl_policy *sl_policy_at(enum sl_stage stage, unsigned i);
const struct sl_policy *sl_policy_find(enum sl_stage stage, const char *name, size_t name_length);

#endif
