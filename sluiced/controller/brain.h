/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller without its sockets: reports of I/O nodes in, orders for them out.
 *
 * Soft state. Everything here is learned from reports. A new controller has learned it again when
 * every node has reported once, except the history of phases, which it collects again. Time is an
 * argument. See brain.c for phases and rates, map.c for allocation.
 *
 * A job and a node where it is known are a *pair*, of which there may be hundreds of thousands. The
 * cost of a report is proportional to the pairs in it, the cost of a decision to the *live* jobs:
 * those that do I/O or did so recently. Orders are sent only to nodes whose orders have changed
 * (pairs.c).
 */
#ifndef SL_SLUICED_CONTROLLER_BRAIN_H
#define SL_SLUICED_CONTROLLER_BRAIN_H

#include <stdbool.h>
#include <stdio.h>

#include "base/ds/hash.h"
#include "base/ds/list.h"
#include "detect/period.h"
#include "policy/machine/divide.h"
#include "sched/spec.h"
#include "sluiced/controller/curves.h"
#include "sluiced/controller/runs.h"
#include "wire/report.h"

#define BRAIN_NODES	(1U << 20) /* at most; memory is taken as they come */
#define BRAIN_JOBS	(1U << 24)
#define BRAIN_FEW_NODES 2 /* of a job, that need no memory of their own */

struct brain_config {
	const char *allocate;	/* spec of an allocate policy; NULL: the default */
	const char *grant;	/* spec of a grant policy; NULL or "none": no grants are given */
	uint64_t term;		/* of this controller */
	uint64_t capacity_bps;	/* of all nodes together; 0: as they report */
	uint64_t per_proc_bps;	/* what one process can use; 0: all */
	sl_time gap_ns;		/* without I/O, that ends a phase */
	sl_time settle_ns;	/* time from its start in which all living nodes have reported */
	uint32_t expect;	/* number of nodes of the layer; 0: unknown */
	bool direct;		/* jobs may do without I/O nodes */
	uint32_t compute_nodes; /* of the machine, for allocate=static; 0: the jobs' */
};

struct brain_node {
	/* Each division reads this part of all nodes (divide.c), so it is one cache line. */
	_Alignas(64) double wants_bps; /* what its jobs are given; 0 between two divisions */
	double sent_bps;	       /* as ordered last */
	double held_bps;  /* the most that it may draw: unacknowledged orders may not be in force */
	double ops_wants; /* operations.c: as divided last */
	sl_time heard;
	sl_time lease_ns; /* of the order that it was sent last */
	bool up;
	bool works;  /* jobs want something here */
	bool news;   /* pairs have orders that were not sent to it */
	bool places; /* send it the addresses of other nodes: one has changed */
	bool whole;  /* send it everything: its connection is new */
	char name[SL_NODE_NAME_MAX];
	char socket[108], tcp[96]; /* where clients reach it; tcp "": not so */
	uint64_t life, capacity_bps;
	uint64_t layer_bps;	 /* the layer's capacity by its report; 0: not reported */
	uint64_t layer_ops;	 /* the same of metadata operations */
	uint64_t order;		 /* number of the order that it was sent last */
	uint64_t acked;		 /* the last that it has acknowledged */
	sl_time ordered;	 /* when its lease was renewed last */
	sl_time worked;		 /* when it last reported I/O */
	double ops_draw;	 /* operations.c: as ordered; 0: nothing yet */
	struct sl_list telling;	 /* in brain.telling: it is to be sent orders */
	struct sl_list renewing; /* in brain.renewing or brain.resting, by `ordered` */
	struct sl_list pairs;	 /* brain_part.of_node */
	uint32_t number;	 /* its place in brain.node */
	uint32_t report;	 /* number of its last whole report */
};

/* A pair: what one node has reported of a job. */
struct brain_part {
	struct sl_list of_job, of_node;
	struct brain_job *job;
	uint32_t node, number; /* number: in brain.part */
	uint32_t report;       /* the last whole one that it was in */
	sl_time heard;	       /* when something was said of it; 0: never */
	bool news;	       /* its order has changed */
	bool waits;	       /* always since the report before */
	uint32_t clients, inside;
	uint32_t phase; /* of the clients: so many have said that they are in one */
	uint64_t moved[2], queued_bytes;
	double rate_bps;	  /* of late */
	uint32_t share;		  /* of the job's min and max */
	uint32_t ordered_share;	  /* the same as the node was told last */
	int64_t waited_ns;	  /* as reported last */
	sl_time backlogged_until; /* it can use all that it is given */
	double divided_bps;	  /* its rate here; below 0: it wants nothing here */
	double ordered_bps;	  /* the same as the node was told last */
	double bucket_bps;	  /* of the job's bucket, as ordered; 0: not yet */
	/* operations.c */
	uint64_t ops, ops_held_ns; /* as reported last */
	double ops_rate;	   /* of late */
	sl_time ops_held_until;	   /* it can use all that it is given */
	uint32_t ops_share, ordered_ops_share;
	uint32_t ops_weight;		 /* as reported; 0: the job's */
	double ops_divided, ops_ordered; /* below 0: nothing */
	struct brain_joint *joint;	 /* limits that it shares: joint.c; NULL: none */
};

struct brain_job {
	uint64_t id;
	char name[SL_JOB_NAME_MAX];
	char *title;	      /* a name that stays the same when it runs again; NULL: its name */
	struct sl_list parts; /* brain_part.of_job */
	struct sl_list live;  /* in brain.live; empty: it is not */
	struct sl_list gone;  /* in brain.gone, since no node knows it */
	uint32_t procs, nodes, weight; /* as declared; 0: not */
	uint32_t most_clients;	       /* at one time */
	uint64_t min_bps, max_bps, min_ops;
	char *account_name;	/* NULL: none */
	uint64_t user, account; /* numbers of its owner */
	uint32_t user_weight, account_weight;
	uint32_t limits;	     /* SL_LIMITS_… */
	uint32_t waiting;	     /* parts that wait: a stretch goes on (periods.c) */
	uint64_t bucket, bucket_bps; /* a limit that it shares: buckets.c; 0: none */
	double bucket_rate_bps;	     /* its part of that on all nodes */
	uint64_t moved_bytes;	     /* on all nodes, ever */
	sl_time active;		     /* last known to have I/O */
	/* Time between starts of I/O phases. */
	struct sl_period *period; /* detector; NULL: it has moved nothing yet */
	sl_time stretch_from;
	uint64_t stretch_bytes;
	sl_time declared_ns; /* by the user; 0: not */
	sl_time found_ns;    /* by the detector; 0: not yet */
	sl_time told_ns;     /* the same as nodes were told */
	double confidence;   /* of that, 0 to 1 */
	double divided_bps;  /* its rate on all nodes; below 0: it wants nothing */
	sl_time ticket;	     /* share=io-sets: its place in its set; 0: it wants nothing */
	sl_time held_since;  /* it has the set since then; 0: it has not */
	double owed_bytes;   /* bytes of its max that it wanted but did not get */
	uint64_t owed_from;  /* moved_bytes when that was last computed */
	sl_time owed_at;
	bool from_last_run; /* found_ns is that of an earlier run (runs.c) */
	/* phases */
	bool in_io;
	bool partial;	    /* the begin of this phase is unknown, so it is not counted */
	bool told;	    /* its end was declared, so no gap is needed */
	uint32_t served_by; /* so many nodes, as last ordered; UINT32_MAX: never */
	uint64_t phase_from_bytes;
	sl_time steady;			   /* its nodes have been the same since then */
	uint64_t steady_bytes;		   /* moved before that */
	struct sl_io_job io;		   /* what the policy is told, and its decision */
	double mean_compute_s, mean_bytes; /* of past instances; 0: none yet */
	/* mapping */
	uint64_t map_epoch; /* that of the order; 0: none was given */
	char *mapped;	    /* by the previous controller; names separated by commas, or NULL */
	uint32_t *to;	    /* indices of nodes: `few`, or room for SL_MAP_MAX */
	uint32_t few[BRAIN_FEW_NODES], to_count;
	bool pinned; /* set by the control line "map" */
};

/* The first argument is the name of a variable. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define brain_for_parts(p, j)                                                                 \
	for (struct brain_part *p = sl_container((j)->parts.next, struct brain_part, of_job); \
	     &p->of_job != &(j)->parts;                                                       \
	     p = sl_container(p->of_job.next, struct brain_part, of_job))
#define brain_for_pairs(p, n)                                                                  \
	for (struct brain_part *p = sl_container((n)->pairs.next, struct brain_part, of_node); \
	     &p->of_node != &(n)->pairs;                                                       \
	     p = sl_container(p->of_node.next, struct brain_part, of_node))
#define brain_for_live(j, b)                                                             \
	for (struct brain_job *j = sl_container((b)->live.next, struct brain_job, live); \
	     &j->live != &(b)->live; j = sl_container(j->live.next, struct brain_job, live))
/* NOLINTEND(bugprone-macro-parentheses) */

struct brain {
	struct brain_config config;
	char *policy[2]; /* grant, allocate as given last; NULL: the default */
	const struct sl_grant_ops *grant;
	const struct sl_grant_ops *ops; /* the same; NULL: no grants */
	void *state;
	const struct sl_allocate_ops *allocate;
	void *allocate_state;
	struct sl_alloc_job *alloc; /* for its decisions, while there is one */
	struct curves curves;
	struct runs runs; /* periods of earlier ones; not kept unless somebody begins it */
	/* pairs.c: each grows by doubling. */
	struct brain_node **node;
	uint32_t nodes, nodes_up, node_room;
	struct brain_job **job;
	uint32_t jobs, job_room; /* all in use are below */
	uint32_t *free_job, free_jobs;
	struct brain_part **part;
	uint32_t parts, part_room;
	uint32_t *free_part, free_parts;
	struct sl_hash by_id, by_name;
	struct sl_hash by_pair; /* pairs but the first of each job, which may be in it */
	uint32_t paired, pair_room;
	void *by_id_memory, *by_pair_memory, *by_name_memory;
	struct sl_list live, gone, telling;
	struct sl_list renewing,
		resting; /* nodes with work, and without: by when they were sent orders */
	struct sl_io_job **want;
	struct brain_job **who;	    /* that `alloc` is about */
	struct sl_report_line line; /* that is being read */
	sl_time since;		    /* its node's report before; 0: there was none */
	uint64_t epoch;
	sl_time wake; /* when the policy wants to decide again */
	sl_time started;
	uint32_t open;		 /* sl_node_orders */
	uint32_t expect;	 /* nodes of the layer, if any node has reported it; 0: unknown */
	bool complete;		 /* as many have reported */
	sl_time settled;	 /* from then on jobs are given nodes */
	bool mapping;		 /* that time has come */
	bool changed;		 /* something has changed since the last decision */
	bool remap;		 /* jobs or nodes have started or ended: assign nodes again */
	sl_time mapped;		 /* when that was done last */
	sl_time swept;		 /* when nodes that are down were looked at */
	sl_time divided_at, due; /* the last decision; the next, if nothing changes before */
	uint32_t wanting;	 /* jobs that wanted something then */
	uint32_t bucketed;	 /* jobs that have a bucket */
	struct sl_list joints;	 /* brain_joint.all */
	uint64_t decisions;
	/* divide.c */
	uint64_t term;		   /* nodes obey the highest */
	char share[SL_SHARE_TEXT]; /* share policy of the nodes, as they report it */
	sl_time max_exclusive_ns;  /* of share=io-sets; 0: shares are by weight */
	uint32_t fair;	       /* of share=fair: enum sl_fair_by; 0: another policy, or by job */
	double capacity_bps;   /* that is divided */
	uint64_t capacity_sum; /* what the nodes report, if it is known */
	uint64_t ops_sum;      /* the same of metadata operations */
	bool capacity_known;
	double negligible_bps;		/* a change of a rate that is not worth an order */
	void *sets;			/* state of set-10 for that */
	struct sl_divide_job *dividing; /* room for all */
	struct brain_job **divided;	/* who they are */
	struct sl_io_job **ordering;
	struct sl_divide_job *dividing_room; /* for levels */
	bool divides_ops;		     /* operations.c: nodes have orders about them */
	bool renew;	   /* divide again: something was acknowledged or has begun */
	sl_time report_ns; /* what nodes are told to leave between two reports */
};

/* 0, or -errno with a message. */
int brain_init(struct brain *b, const struct brain_config *c, sl_time now, char *err, size_t size);
void brain_free(struct brain *b);

/*
 * Handle a node's full report (the text is modified). Returns the index of the node, or -EPROTO;
 * -EEXIST: another node has its name and is up; -ENOSPC: too many nodes. See nodes.c.
 */
int brain_report(struct brain *b, char *text, sl_time now);
/*
 * Handle a node's report of changes (the text is modified). 0, or -EPROTO: the node counts as gone.
 */
int brain_delta(struct brain *b, uint32_t node, char *text, sl_time now);
/*
 * Its connection has ended. dead: the node too; otherwise it may only have lost the connection, and
 * may draw its ordered bandwidth until its lease ends.
 */
void brain_node_gone(struct brain *b, uint32_t node, bool dead, sl_time now);

/*
 * Check whether phases have ended, and decide if anything has changed. Returns when to call again
 * if nothing is reported.
 */
sl_time brain_decide(struct brain *b, sl_time now);
/* The node has acknowledged the order of this number. */
void brain_ack(struct brain *b, uint32_t node, uint64_t order);
/*
 * Write the orders for a node: all if its connection is new, else those that have changed. Renews
 * its lease.
 */
void brain_orders(struct brain *b, uint32_t node, sl_time now, FILE *out);
/* The next node to send orders to: it has new ones, or its lease must be renewed; -1: none. */
int64_t brain_next(struct brain *b, sl_time now);
/* When the next lease is to be renewed; SL_NEVER: there is none. */
sl_time brain_renews(const struct brain *b);
/* Open all nodes, or close them; the orders are sent at once. */
void brain_open(struct brain *b, bool open);
/* A node's connection is new: it is to be sent everything. */
void brain_whole(struct brain *b, uint32_t node);
/* The pair; NULL: the node does not know the job. */
struct brain_part *brain_pair(const struct brain *b, const struct brain_job *j, uint32_t node);
/* The message of a controller that begins to lead: only its term. Returns its length. */
size_t brain_greeting(const struct brain *b, char out[128]);
/* Nodes that are up. */
uint32_t brain_up(const struct brain *b);

/*
 * Serve the job by these nodes (names separated by commas) regardless of the policy; "": by none,
 * it does its own I/O; "auto": by the policy's choice again. 0, -ENOENT: no such job, -EINVAL: no
 * such node.
 */
int brain_pin(struct brain *b, const char *job, const char *nodes, sl_time now);

/*
 * Change policies, given as words of a control line: "grant=fcfs allocate=static". Phases, means
 * and curves are kept. On failure -errno with a message, and nothing has changed.
 */
int brain_policy(struct brain *b, char *words, sl_time now, char *err, size_t size);

/* The capacity that is given out. */
uint64_t brain_capacity(const struct brain *b);

#endif
