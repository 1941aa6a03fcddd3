/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of I/O nodes to the controller and its orders, as text: encoding and decoding, no I/O. A
 * message is the payload of one frame (SL_REPORT, SL_ORDERS): lines of words; the first word of a
 * line is its kind, the others are key=value. Unknown keys are skipped, so either side can be
 * newer.
 *
 *	node name=0 life=83120745 socket=/run/… tcp=io7:4444 capacity=500000000
 *	    layer=1000000000 of=2 draw=1000000 ack=7 term=3 share=wfq (one line)
 *	job id=17 name=4711 title=climate clients=8 procs=64 nodes=4 min=0 max=100000000 weight=1
 *	    uid=1000 account=physics uweight=0 aweight=0 bucket=0 bucket_bps=0 period=0 read=0
 *	    written=1073741824 queued=4194304 waited=1500000 inside=12 idle=0 phase=8 map=0,1
 *	    ops=4200 ops_held=800000000 limits=2 min_ops=0 ops_weight=0 (one line)
 *
 *	epoch number=12 term=3 order=8 layer=500000000 draw=250000000 lease=4000000000 ops_draw=5000
 *	node name=1 life=… socket=/run/… capacity=…
 *	job id=17 rate=250000000 share=500000 bucket_bps=0 turns=1 ops_rate=3000 ops_share=500000
 *	to=0,1
 *
 * Later messages have lines for changes: a job with its id and the words that have changed, a job
 * that has ended, an order that is in force.
 *
 *	job id=17 written=1073807360 waited=1600000
 *	gone id=18
 *	joint id=17 meter=5 bucket=8123 limit=1000 rate=420 held=1
 *	ack draw=1000000 ack=8 term=3
 *
 * A joint limit (rules with `per: user` on operations, calls or one direction) has lines of its
 * own, in orders with the rate of the job at that node: joint id=17 meter=5 bucket=8123 rate=500
 *
 * Names of jobs and nodes have no blanks. A message has any number of jobs; the decoder's caller
 * provides the memory.
 */
#ifndef SL_WIRE_REPORT_H
#define SL_WIRE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sluice.h"
#include "wire/proto.h"

/* How long orders hold, unless they say otherwise. */
#define LEASE_NS INT64_C(4000000000)

#define SL_NODE_NAME_MAX 32
#define SL_MAP_MAX	 16 /* I/O nodes of one job */
#define SL_MAP_TEXT	 (SL_MAP_MAX * SL_NODE_NAME_MAX)
#define SL_SHARE_WHOLE	 1000000U
#define SL_SHARE_TEXT	 128

struct sl_node_report {
	char name[SL_NODE_NAME_MAX]; /* of the node in its layer */
	uint64_t life;		     /* differs each time a node starts */
	char socket[108];	     /* its socket for clients */
	char tcp[96];		     /* and over TCP, HOST:PORT; "": it does not listen */
	uint64_t capacity_bps;	     /* its part of the layer's capacity; 0: unknown */
	/* The layer's capacity, if configured; 0: the sum over nodes. */
	uint64_t layer_bps;
	uint32_t of;	   /* number of nodes of the layer, if configured; 0: unknown */
	uint64_t draw_bps; /* bandwidth that it may use now; 0: unlimited */
	/* The order in force, and the term of its controller; 0: none. */
	uint64_t ack, term;
	char share[SL_SHARE_TEXT]; /* its share policy as given; "": not told */
	uint64_t layer_ops; /* metadata operations a second of the layer; 0: nothing to divide */
};

/* Limits of a job beside those on its bytes (wire/ops.h), of which nodes have shares. */
enum {
	SL_LIMITS_CALLS = 1, /* on data calls, or on the bytes of one direction */
	SL_LIMITS_OPS = 2,   /* on metadata operations; or a min of them */
};

struct sl_job_report {
	uint64_t id;
	char name[SL_JOB_NAME_MAX];
	/* A name that stays the same when it runs again; "": same as name. */
	char title[SL_JOB_NAME_MAX];
	uint32_t clients, procs, nodes; /* procs, nodes: as declared; 0: not */
	uint64_t min_bps, max_bps;	/* as asked for; 0: none */
	uint32_t weight;
	uint32_t uid; /* of its user */
	char account[SL_OWNER_MAX];
	uint32_t user_weight, account_weight; /* of these; 0: as 1 */
	/* A limit that it shares with all jobs that name the same bucket; 0: none. */
	uint64_t bucket, bucket_bps;
	int64_t period_ns;
	uint64_t moved[2];     /* bytes since the node knows the job, by enum sl_op */
	uint64_t queued_bytes; /* waiting */
	int64_t waited_ns;     /* time with waiting requests, since the node knows the job */
	uint32_t inside;       /* requests waiting or in flight */
	int64_t idle_ns;       /* since the last of them was done; 0 while there are some */
	uint32_t phase;	       /* clients that have declared an I/O phase */
	/* Nodes that serve it by the last order, separated by commas; "-": none; "": no order. */
	char map[SL_MAP_TEXT];
	/* Metadata operations, and the time that they were held, since the node knows the job. */
	uint64_t ops, ops_held_ns;
	uint32_t limits;  /* SL_LIMITS_… */
	uint64_t min_ops; /* of all classes */
	uint32_t
		ops_weight; /* weight of its operations, if classes have their own; 0: its weight */
};

/* Orders for a node about a job. */
struct sl_job_orders {
	uint64_t id;
	uint64_t rate_bps;   /* guaranteed rate, for the time of the lease; UINT64_MAX: none */
	int64_t period_ns;   /* detected period, for a job that has declared none; 0: none */
	uint32_t share;	     /* this node's part of min and max, in units of 1/SL_SHARE_WHOLE */
	uint64_t bucket_bps; /* this job's part of its bucket's limit at this node; 0: unknown */
	uint32_t to_count;  /* nodes that serve it; 0: it does its own I/O; UINT32_MAX: no change */
	uint32_t turns;	    /* 1: the nodes only give turns, because there is no allocate policy */
	uint64_t ops_rate;  /* operations a second it gets before all others; UINT64_MAX: none */
	uint32_t ops_share; /* of its limits on operations that is this node's, of SL_SHARE_WHOLE */
	char to[SL_MAP_MAX][SL_NODE_NAME_MAX];
};

/* Orders for the node as a whole. */
struct sl_node_orders {
	uint64_t epoch;	    /* number of the decision */
	uint64_t term;	    /* of the controller: a node obeys the highest */
	uint64_t order;	    /* number of this change of draw_bps, to be acknowledged */
	uint64_t layer_bps; /* capacity of the layer; 0: not known, and nothing is divided */
	uint64_t draw_bps;  /* this node's present part of it, for the time of the lease */
	int64_t every_ns;   /* time between two reports while jobs are active; 0: unchanged */
	int64_t lease_ns;   /* how long these orders are valid; 0: not given */
	uint32_t whole;	    /* 1: orders for jobs that are not listed end */
	/*
	 * odd: open, let everything pass; even: closed; 0: never set. Incremented with each change.
	 */
	uint32_t open;
	uint64_t ops_draw; /* of the layer's operations a second, this node's; 0: not told */
};

/* A limit that the job shares with all jobs of the same bucket, at one node. */
struct sl_joint {
	uint64_t id;
	uint32_t meter;		/* enum sl_meter */
	uint64_t bucket, limit; /* bucket 0: there is none any more. limit: of all together */
	uint64_t rate;		/* that the job makes there; in orders: that it may */
	uint32_t held;		/* the limit holds it */
};

/* Encoders write lines to f. */
void sl_report_put_node(FILE *f, const struct sl_node_report *n);
void sl_report_put_job(FILE *f, const struct sl_job_report *j);
/*
 * Write the changed words, if any besides the idle time has changed. Returns whether there was a
 * change.
 */
bool sl_report_put_change(FILE *f, const struct sl_job_report *j,
			  const struct sl_job_report *before);
void sl_report_put_gone(FILE *f, uint64_t id);
void sl_joint_put(FILE *f, const struct sl_joint *j);
void sl_report_put_ack(FILE *f, const struct sl_node_report *n);
void sl_orders_put_epoch(FILE *f, const struct sl_node_orders *o);
void sl_orders_put_job(FILE *f, const struct sl_job_orders *j);

/*
 * Decode one line and move *text behind it. Returns the kind of line, or -EPROTO. The text is
 * modified: strings are terminated in place.
 */
enum sl_line {
	SL_LINE_END,
	SL_LINE_NODE,
	SL_LINE_JOB,
	SL_LINE_EPOCH,
	SL_LINE_GONE, /* job.id */
	SL_LINE_ACK,  /* node.draw_bps, ack and term */
	SL_LINE_JOINT,
	SL_LINE_OTHER
};
/* Words that a line about a job has. */
enum {
	SL_HAS_CLIENTS = 1 << 3,
	SL_HAS_PROCS = 1 << 4,
	SL_HAS_NODES = 1 << 5,
	SL_HAS_MIN = 1 << 6,
	SL_HAS_MAX = 1 << 7,
	SL_HAS_WEIGHT = 1 << 8,
	SL_HAS_PERIOD = 1 << 9,
	SL_HAS_READ = 1 << 10,
	SL_HAS_WRITTEN = 1 << 11,
	SL_HAS_QUEUED = 1 << 12,
	SL_HAS_WAITED = 1 << 13,
	SL_HAS_INSIDE = 1 << 14,
	SL_HAS_PHASE = 1 << 16,
	SL_HAS_UID = 1 << 18,
	SL_HAS_ACCOUNT = 1 << 19,
	SL_HAS_USER_WEIGHT = 1 << 20,
	SL_HAS_ACCOUNT_WEIGHT = 1 << 21,
	SL_HAS_BUCKET = 1 << 22,
	SL_HAS_BUCKET_BPS = 1 << 23,
	SL_HAS_OPS = 1 << 24,
	SL_HAS_OPS_HELD = 1 << 25,
	SL_HAS_LIMITS = 1 << 26,
	SL_HAS_MIN_OPS = 1 << 27,
	SL_HAS_OPS_WEIGHT = 1 << 28,
};
struct sl_report_line {
	uint32_t has; /* of a job's words */
	struct sl_node_report node;
	struct sl_job_report job;
	struct sl_joint joint;
};
int sl_report_next(char **text, struct sl_report_line *out);
struct sl_orders_line {
	struct sl_node_orders epoch;
	struct sl_node_report node; /* name and socket */
	struct sl_job_orders job;
	struct sl_joint joint;
};
int sl_orders_next(char **text, struct sl_orders_line *out);

/* ---- how a node applies its orders ---- */

/* A job's min or max at a node that has this share of it. */
static inline uint64_t sl_share_part(uint64_t whole, uint32_t share)
{
	uint64_t part = (uint64_t)((unsigned __int128)whole * share / SL_SHARE_WHOLE);

	return whole && !part ? 1 : part;
}

/*
 * The part of an ordered rate that the job is guaranteed. A hundredth is left to the share policy,
 * so that a job that starts does not have to wait until the controller knows it.
 */
static inline uint64_t sl_rate_floor(uint64_t rate_bps)
{
	return rate_bps - rate_bps / 100;
}

/*
 * With share=fair the controller has divided the capacity by the accounts and users of all nodes.
 * The jobs of this node share in proportion to their ordered rates, whichever user they belong to.
 * A guarantee of the rate would not suffice: a large request of another job delays a job by more
 * than the guarantee makes up for.
 */
static inline void sl_rate_weight(struct sl_job_conf *conf, uint64_t rate_bps, uint64_t layer_bps)
{
	uint64_t weight = (uint64_t)((unsigned __int128)rate_bps * SL_MAX_WEIGHT / layer_bps);

	conf->weight = weight < 1 ? 1 : weight > SL_MAX_WEIGHT ? SL_MAX_WEIGHT : (uint32_t)weight;
	conf->user = conf->account = 0;
	conf->user_weight = conf->account_weight = 0;
	conf->nodes = 0;
}

#endif
