/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a scheduler: how the three stages work together.
 *
 * Every job has a slot, and every slot a lane. A lane is what admit and share see; it owns the
 * flow that order works on. A job uses the lane of its own slot, or with share=pool, while it has
 * no limits, the lane of the last slot, which belongs to no job.
 *
 * A lane is *ready* when its order policy offers a batch now and its cap tag is not after now.
 * Share knows the ready lanes; those with a guarantee are also in the heap `floors`, by floor tag.
 * Lanes that will become ready at a known time are in the heap `timers`. So a decision looks at the
 * tops of three heaps and asks share; it never walks a list of jobs.
 *
 * Share has two states: one for the lanes with a grant (or all lanes if there are no grants), and
 * one for the lanes whose grant is 0, which get what the others leave.
 */
#ifndef SL_SCHED_H
#define SL_SCHED_H

#include "base/ds/hash.h"
#include "base/ds/heap.h"
#include "detect/pattern.h"
#include "policy/policy.h"
#include "policy/request/order/auto.h"
#include "policy/request/order/flow.h"
#include "sched/spec.h"

#define SL_RATIOS 41

enum sl_request_state { SL_REQUEST_FREE, SL_REQUEST_WAITING, SL_REQUEST_INFLIGHT };
enum { SL_GRANTED, SL_UNGRANTED, SL_CLASSES };

struct sl_choice;
struct sl_advisor;

struct sl_lane {
	struct sl_flow flow;
	struct sl_choice *choice; /* order=auto; else NULL */
	struct sl_member member;
	uint32_t index;
	uint8_t ready;
	uint8_t kept;	 /* not ready, but share keeps its place */
	uint8_t limited; /* has a floor or a cap: admit must be asked */
	uint8_t has_floor;
	uint8_t class;
	sl_time throttled_since; /* -1: it is not */
	sl_time throttled_until; /* its cap tag */
};

struct sl_slot {
	struct sl_lane own;
	struct sl_lane *lane; /* &own, or the pool's; NULL: the slot is free */
	uint64_t job;
	uint32_t requests; /* waiting or in flight */
	uint32_t next_free;
	uint64_t decision;     /* the last decision that examined it */
	sl_time waiting_since; /* if it has queued requests */
	sl_time several_then;  /* sl_several_ns() at that time */
	/* Since when it has had requests; SL_NEVER: none since sl_job_inside() */
	sl_time inside_first;
	sl_time inside_last; /* until when, if it has none now */
	struct sl_job_stats stats;
	struct sl_job_conf conf;
	uint64_t grant_bps;
	struct sl_spec order;	 /* of this job alone, if order.policy */
	struct sl_access *watch; /* NULL: it had no request yet, or watching is off */
};

struct sl_sched {
	struct sl_limits limits;
	struct sl_policy_limits policy_limits;
	sl_time now;
	uint32_t requests;
	uint32_t jobs;
	uint32_t free_slot;
	uint32_t inflight; /* batches */
	uint64_t inflight_bytes;
	uint32_t jobs_inside;  /* with requests waiting or in flight */
	sl_time several_since; /* since when there are several, if there are */
	sl_time several_ns;    /* total time with several before that */
	uint64_t decisions;
	uint64_t capacity_bps;
	uint64_t firm_bps;   /* sum of min, as asked for */
	uint64_t effort_bps; /* of those with best_effort */
	bool strict_grants;
	sl_time lend_ns;
	sl_time granted_last; /* a job with a grant was served, or done with */
	bool remap;	      /* jobs change lanes as soon as nothing is in flight */
	bool pooling;	      /* share=pool, or about to be */

	const struct sl_admit_ops *admit;
	const struct sl_share_ops *share;
	void *admit_state;
	void *share_state[SL_CLASSES];
	struct sl_spec share_spec; /* to come, when remap */
	struct sl_spec order_spec[2];
	unsigned order_now; /* which of the two */

	struct sl_hash by_job;
	struct sl_heap timers; /* lanes by the time at which they become ready */
	struct sl_heap floors; /* ready lanes by floor tag */
	struct sl_heap leases; /* slots by the end of their grant */
	struct sl_flow_env env;
	struct sl_request *parked; /* by ->next: waiting for a free file entry after a remap */
	struct sl_slot *slots;	   /* limits.jobs, and the pool's */
	bool patterns;
	struct sl_access_conf watch_conf;
	size_t watch_bytes;	   /* of a slot */
	unsigned char *watch_all;  /* of all slots; NULL: nothing is watched */
	struct sl_choice *choices; /* of all lanes; NULL: auto was never asked for */
	struct sl_advisor *advisors;
	uint32_t ratio_milli[2][SL_RATIOS]; /* by operation and log2 of the size; 0: not known */
	int (*read)(void *arg, const char *name, char **text, size_t *length);
	void *read_arg;
	const char *error;
	char message[200];
};

static inline sl_time sl_clock(struct sl_sched *s, sl_time now)
{
	if (now > s->now) /* time that runs backwards stands still */
		s->now = now;
	return s->now;
}

/* How long the cap has been holding the lane, in the present hold. */
static inline sl_time sl_throttled_ns(const struct sl_lane *l, sl_time now)
{
	sl_time end = now < l->throttled_until ? now : l->throttled_until;

	return l->throttled_since >= 0 && end > l->throttled_since ? end - l->throttled_since : 0;
}

/* Total time, until now, in which several jobs had requests inside. */
static inline sl_time sl_several_ns(const struct sl_sched *s, sl_time now)
{
	return s->several_ns +
	       (s->jobs_inside > 1 && now > s->several_since ? now - s->several_since : 0);
}

int sl_fail(struct sl_sched *s, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
struct sl_slot *sl_slot_find(const struct sl_sched *s, uint64_t job);

/* Bring share, floors and timers up to date with what the lane has and may do. */
void sl_lane_update(struct sl_sched *s, struct sl_lane *l, sl_time now);
/* The same after a request was taken out, when the oldest request may have changed. */
void sl_lane_changed(struct sl_sched *s, struct sl_lane *l, sl_time now);
/* Mark the lane as not ready; sl_lane_update() can make it ready again. */
void sl_lane_leave(struct sl_sched *s, struct sl_lane *l, bool idle, sl_time now);
/* Move the lane to the other of share's two states: granted or not. */
void sl_lane_class(struct sl_sched *s, struct sl_lane *l, uint8_t class, sl_time now);
void sl_lane_add(struct sl_sched *s, struct sl_lane *l, struct sl_request *r, sl_time now);

/* Rates and class of a job's own lane from its conf, its grant and the capacity. */
void sl_slot_rates(struct sl_sched *s, struct sl_slot *slot, sl_time now);
void sl_grant_end(struct sl_sched *s, struct sl_slot *slot, sl_time now);

/* ---- watch.c: patterns ---- */

/* Allocate memory to watch all jobs; 0 or -ENOMEM. */
int sl_watch_start(struct sl_sched *s);
void sl_watch_add(struct sl_sched *s, struct sl_slot *slot, const struct sl_request *r,
		  sl_time now);

/* ---- auto.c: order=auto ---- */

/* One for each lane. */
struct sl_choice {
	struct sl_auto by;
	const struct sl_advisor *advisor;
	const int64_t *values;
	uint64_t turn;			  /* decisions of all when the lane's last batch was done */
	uint32_t look;			  /* requests until the pattern is examined */
	uint32_t between;		  /* requests between two examinations */
	struct sl_access_pattern pattern; /* at the last examination that counted */
	double ratio;			  /* NAN: not known */
};

/*
 * Prepare the memory and the tree for order=auto, without changing the lanes. text: of the spec;
 * NULL: the default. Returns 0, or -errno with a message in err.
 */
int sl_auto_prepare(struct sl_sched *s, const char *text, const struct sl_spec *spec, char *err,
		    size_t err_size);
void sl_auto_free(struct sl_sched *s);
/* Restart the choice for a lane with a new, prepared spec. The caller then attaches the lane. */
void sl_choice_begin(struct sl_sched *s, struct sl_lane *l, const struct sl_spec *order);
/* A batch is sent, or done. */
void sl_choice_sent(struct sl_sched *s, struct sl_lane *l, sl_time now);
void sl_choice_done(struct sl_sched *s, struct sl_lane *l, uint64_t bytes, uint32_t requests,
		    sl_time now);
void sl_choice_reason(const struct sl_choice *c, char *out, size_t size);

/* auto-tree.c: a tree whose attributes and classes mean something here. */
struct sl_advisor *sl_advisor_get(struct sl_sched *s, const char *name, char *err, size_t err_size);
const struct sl_advisor *sl_advisor_find(const struct sl_sched *s, int64_t hash); /* or NULL */
/* Returns the tree's arm; shares: the tree's weight of each arm. */
unsigned sl_advisor_ask(const struct sl_advisor *a, const struct sl_access_pattern *p, double ratio,
			double share[SL_AUTO_ARMS]);
void sl_advisors_free(struct sl_sched *s);

/* ---- change.c: live changes ---- */

/*
 * Take the waiting requests out of a lane, and put them back under this order policy (borrowed).
 * Share is told only if the lane is not ready afterwards, so a lane that waits for its turn keeps
 * its place.
 */
struct sl_request *sl_lane_detach(struct sl_lane *l);
void sl_lane_attach(struct sl_sched *s, struct sl_lane *l, const struct sl_spec *order,
		    struct sl_request *chain, sl_time now);
const struct sl_spec *sl_slot_order(const struct sl_sched *s, const struct sl_slot *slot);
/*
 * If this job is in the wrong lane, move all jobs that are, now or as soon as nothing is in flight.
 */
void sl_remap_check(struct sl_sched *s, struct sl_slot *slot, sl_time now);
void sl_remap_try(struct sl_sched *s, sl_time now);
void sl_unpark(struct sl_sched *s, sl_time now);

static inline const struct sl_order_ops *sl_order_ops(const struct sl_spec *spec)
{
	return (const struct sl_order_ops *)spec->policy;
}

/* The policy that runs in the flow of a lane with this spec. */
static inline const struct sl_order_ops *sl_lane_ops(const struct sl_lane *l,
						     const struct sl_spec *spec)
{
	return l->choice ? sl_auto_ops(l->choice->by.running) : sl_order_ops(spec);
}

static inline struct sl_slot *sl_pool_slot(const struct sl_sched *s)
{
	return &s->slots[s->limits.jobs];
}

#endif
