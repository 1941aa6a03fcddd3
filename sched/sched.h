/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of a scheduler: how the three stages are put together.
 *
 * Every job has a slot, and every slot a lane. A lane is what admit and share see; it owns the
 * flow that order works on. A job uses the lane of its own slot, or with share=pool, while it has
 * no limits, the lane of the last slot, which belongs to no job.
 *
 * A lane is *ready* when its order policy offers a batch now and its cap tag is not after now.
 * Ready lanes are known to share, and those with a guarantee stand in `floors` by floor tag;
 * lanes that will be ready by themselves stand in `timers` by the time of that. So a decision
 * looks at three tops and asks share: no list of jobs is ever walked.
 *
 * Share has two states: one for the lanes that a grant (or no grant at all) lets through, one
 * for those whose grant is 0, which get what the others leave.
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
	uint8_t kept;	 /* not ready, but share was told to keep its place */
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
	uint64_t decision;     /* the last that it had a part in */
	sl_time waiting_since; /* if it has queued requests */
	sl_time several_then;  /* sl_several_ns() at that time */
	sl_time inside_first; /* it had requests since then; SL_NEVER: none since sl_job_inside() */
	sl_time inside_last;  /* and until then, if it has none now */
	struct sl_job_stats stats;
	struct sl_job_conf conf;
	uint64_t grant_bps;
	struct sl_spec order;	 /* of this job alone, if order.policy */
	struct sl_access *watch; /* NULL: it had no request yet, or nobody watches */
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
	sl_time several_since; /* these are several, if they are */
	sl_time several_ns;    /* how long they were before */
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
	struct sl_heap timers; /* lanes by the time they become ready */
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

/* How long the lane has been held by its cap in the present hold. */
static inline sl_time sl_throttled_ns(const struct sl_lane *l, sl_time now)
{
	sl_time end = now < l->throttled_until ? now : l->throttled_until;

	return l->throttled_since >= 0 && end > l->throttled_since ? end - l->throttled_since : 0;
}

/* For how long, until now, several jobs have had requests inside at the same time. */
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
/* The same after something was taken out: its oldest request may be another one now. */
void sl_lane_changed(struct sl_sched *s, struct sl_lane *l, sl_time now);
/* Not ready from here on; sl_lane_update() makes it so again. */
void sl_lane_leave(struct sl_sched *s, struct sl_lane *l, bool idle, sl_time now);
/* Granted or not: which of share's two states knows it. */
void sl_lane_class(struct sl_sched *s, struct sl_lane *l, uint8_t class, sl_time now);
void sl_lane_add(struct sl_sched *s, struct sl_lane *l, struct sl_request *r, sl_time now);

/* Rates and class of a job's own lane from its conf, its grant and the capacity. */
void sl_slot_rates(struct sl_sched *s, struct sl_slot *slot, sl_time now);
void sl_grant_end(struct sl_sched *s, struct sl_slot *slot, sl_time now);

/* ---- watch.c: patterns ---- */

/* Memory for all that may be watched; 0 or -ENOMEM. */
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
	uint32_t look;			  /* requests until the pattern is looked at */
	uint32_t between;		  /* two looks */
	struct sl_access_pattern pattern; /* at the last look that counted */
	double ratio;			  /* NAN: not known */
};

/* The memory and the tree that order=auto needs. 0, or -errno with a message in err. Nothing has
 * changed for the lanes yet. text: of the spec; NULL: the default. */
int sl_auto_prepare(struct sl_sched *s, const char *text, const struct sl_spec *spec, char *err,
		    size_t err_size);
void sl_auto_free(struct sl_sched *s);
/* The lane has another spec from now on (prepared): begin anew. To be attached then. */
void sl_choice_begin(struct sl_sched *s, struct sl_lane *l, const struct sl_spec *order);
/* A batch goes, or is done. */
void sl_choice_sent(struct sl_sched *s, struct sl_lane *l, sl_time now);
void sl_choice_done(struct sl_sched *s, struct sl_lane *l, uint64_t bytes, uint32_t requests,
		    sl_time now);
void sl_choice_reason(const struct sl_choice *c, char *out, size_t size);

/* auto-tree.c: a tree whose attributes and classes mean something here. */
struct sl_advisor *sl_advisor_get(struct sl_sched *s, const char *name, char *err, size_t err_size);
const struct sl_advisor *sl_advisor_find(const struct sl_sched *s, int64_t hash); /* or NULL */
/* An arm, and what speaks for each. */
unsigned sl_advisor_ask(const struct sl_advisor *a, const struct sl_access_pattern *p, double ratio,
			double share[SL_AUTO_ARMS]);
void sl_advisors_free(struct sl_sched *s);

/* ---- change.c: live changes ---- */

/*
 * Take what waits out of a lane, and put it back under this order policy (borrowed). Share hears
 * of it only if the lane is not ready afterwards: who waits for its turn goes on waiting.
 */
struct sl_request *sl_lane_detach(struct sl_lane *l);
void sl_lane_attach(struct sl_sched *s, struct sl_lane *l, const struct sl_spec *order,
		    struct sl_request *chain, sl_time now);
const struct sl_spec *sl_slot_order(const struct sl_sched *s, const struct sl_slot *slot);
/* If this job is in the wrong lane: move all that are, now or when nothing is in flight. */
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
