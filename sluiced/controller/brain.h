/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller without its sockets: reports of I/O nodes in, orders for them out.
 *
 * Soft state. Everything here is learned from reports, and a new controller has learned it again
 * when every node has reported once; what it has forgotten is history (past phases), which it
 * gathers anew. Time is an argument. See brain.c for phases and rates, map.c for allocation.
 */
#ifndef SL_SLUICED_CONTROLLER_BRAIN_H
#define SL_SLUICED_CONTROLLER_BRAIN_H

#include <stdbool.h>
#include <stdio.h>

#include "base/ds/hash.h"
#include "detect/period.h"
#include "policy/machine/divide.h"
#include "sched/spec.h"
#include "sluiced/controller/curves.h"
#include "wire/report.h"

#define BRAIN_NODES 64
#define BRAIN_JOBS  4096

struct brain_config {
	const char *allocate;	/* spec of an allocate policy; NULL: the default */
	const char *grant;	/* spec of a grant policy; NULL or "none": no grants are given */
	uint64_t term;		/* of this controller */
	uint64_t capacity_bps;	/* of all nodes together; 0: as they report */
	uint64_t per_proc_bps;	/* what one process can use; 0: all */
	sl_time gap_ns;		/* without I/O, that ends a phase */
	sl_time settle_ns;	/* from its start, in which nodes that are there have reported */
	bool direct;		/* jobs may do without I/O nodes */
	uint32_t compute_nodes; /* of the machine, for allocate=static; 0: the jobs' */
};

struct brain_node {
	char name[SL_NODE_NAME_MAX];
	char socket[108], tcp[96]; /* where clients reach it; tcp "": not so */
	uint64_t life, capacity_bps;
	uint64_t layer_bps; /* what it says that all have together; 0: nothing */
	bool up;
	sl_time heard;
	/* What it may draw of the layer's capacity: see divide.c. */
	double wants_bps; /* as divided last */
	double sent_bps;  /* as ordered last */
	double held_bps;  /* at most this: what it has not acknowledged may not be in force */
	uint64_t order;	  /* number of that order */
	uint64_t acked;	  /* the last that it has acknowledged */
	bool news;	  /* it is to be sent orders */
};

/* What one node has reported of a job. */
struct brain_part {
	bool known;
	uint32_t clients, inside;
	uint32_t phase; /* of the clients: so many have said that they are in one */
	uint64_t moved[2], queued_bytes;
	double rate_bps;	  /* of late */
	uint32_t share;		  /* of the job's min and max, as last ordered */
	int64_t waited_ns;	  /* as reported last */
	sl_time backlogged_until; /* it can use all that it is given */
	double divided_bps;	  /* its rate here; below 0: it wants nothing here */
	double ordered_bps;	  /* the same as the node was told last */
};

struct brain_job {
	uint64_t id;
	char name[SL_JOB_NAME_MAX];
	char title[SL_JOB_NAME_MAX];   /* by which it is known when it comes again */
	uint32_t procs, nodes, weight; /* as declared; 0: not */
	uint32_t most_clients;	       /* at one time */
	uint64_t min_bps, max_bps;
	struct brain_part part[BRAIN_NODES];
	uint64_t moved_bytes; /* on all nodes, ever */
	sl_time active;	      /* last known to have I/O */
	/* Time between starts of I/O phases. */
	struct sl_period *period; /* detector; NULL: no memory for one */
	sl_time declared_ns;	  /* by the user; 0: not */
	sl_time found_ns;	  /* by the detector; 0: not yet */
	double confidence;	  /* of that, 0 to 1 */
	double divided_bps;	  /* its rate on all nodes; below 0: it wants nothing */
	sl_time ticket;		  /* share=io-sets: its place in its set; 0: it wants nothing */
	sl_time held_since;	  /* it has the set since then; 0: it has not */
	double owed_bytes;	  /* of its max, that it did not get though it wanted */
	uint64_t owed_from;	  /* moved_bytes when that was last reckoned */
	sl_time owed_at;
	/* phases */
	bool in_io;
	bool partial; /* when this phase began is not known: it tells nothing of the job */
	bool told;    /* that it is over: it need not be concluded from a gap */
	uint64_t phase_from_bytes;
	sl_time steady;			   /* its nodes have been the same since then */
	uint64_t steady_bytes;		   /* moved before that */
	uint32_t served_by;		   /* so many nodes, as last ordered; UINT32_MAX: never */
	struct sl_io_job io;		   /* what the policy is told, and its decision */
	double mean_compute_s, mean_bytes; /* of past instances; 0: none yet */
	/* mapping */
	uint32_t to[SL_MAP_MAX], to_count; /* indices of nodes */
	uint32_t to_before[SL_MAP_MAX], before_count;
	uint64_t map_epoch; /* that of the order; 0: none was given */
	bool pinned;	    /* somebody has said which */
	char *mapped;	    /* by the controller before this one; names by commas, or NULL */
};

struct brain {
	struct brain_config config;
	char *policy[2]; /* grant, allocate as given last; NULL: the default */
	const struct sl_grant_ops *grant;
	const struct sl_grant_ops *ops; /* the same; NULL: no grants */
	void *state;
	const struct sl_allocate_ops *allocate;
	void *allocate_state;
	struct sl_alloc_job alloc[BRAIN_JOBS]; /* for its decisions */
	struct curves curves;
	struct brain_node node[BRAIN_NODES];
	uint32_t nodes;
	struct brain_job *job[BRAIN_JOBS];
	uint32_t jobs; /* all in use are below */
	struct sl_hash by_id;
	void *by_id_memory;
	struct sl_io_job *want[BRAIN_JOBS];
	uint64_t epoch;
	sl_time wake;	 /* when the policy wants to decide again */
	sl_time settled; /* from then on jobs are given nodes */
	bool mapping;	 /* that time has come */
	bool changed;	 /* since the last decision */
	bool shifted;	 /* a job's rates are to be divided in another way than was ordered */
	uint64_t decisions;
	/* divide.c */
	uint64_t term;			/* nodes obey the highest */
	char share[SL_SHARE_TEXT];	/* share policy of the nodes, as they report it */
	sl_time max_exclusive_ns;	/* of share=io-sets; 0: shares are by weight */
	double capacity_bps;		/* that is divided */
	double negligible_bps;		/* a change of a rate that is not worth an order */
	void *sets;			/* state of set-10 for that */
	struct sl_divide_job *dividing; /* BRAIN_JOBS */
	struct brain_job **divided;	/* who they are */
	struct sl_io_job **ordering;
	bool renew; /* divide again: something was acknowledged or has begun */
};

/* 0, or -errno with a message. */
int brain_init(struct brain *b, const struct brain_config *c, sl_time now, char *err, size_t size);
void brain_free(struct brain *b);

/*
 * A node's report, changed by reading. Returns the index of the node, or -EPROTO; -EEXIST: another
 * node has its name and is up; -ENOSPC: there are too many. See nodes.c.
 */
int brain_report(struct brain *b, char *text, sl_time now);
/* Its connection is gone. */
void brain_node_gone(struct brain *b, uint32_t node, sl_time now);

/*
 * Look whether phases have ended, and decide if anything has changed. Returns when to call again
 * though nothing is reported.
 */
sl_time brain_decide(struct brain *b, sl_time now);
/* The node has said that it obeys the order of this number. */
void brain_ack(struct brain *b, uint32_t node, uint64_t order);
/* The orders in force for a node: all of them, each time, so that one that is lost does no harm. */
void brain_orders(const struct brain *b, uint32_t node, FILE *out);

/*
 * Serve the job by these nodes, names by commas, whatever the policy says; "": by none, it does its
 * own I/O; "auto": by those of the policy again. 0, -ENOENT: no such job, -EINVAL: no such node.
 */
int brain_pin(struct brain *b, const char *job, const char *nodes, sl_time now);

/*
 * Other policies from now on, as words of a control line: "grant=fcfs allocate=static". Phases,
 * means and curves are kept. All of it, or -errno with a message, and nothing has changed.
 */
int brain_policy(struct brain *b, char *words, sl_time now, char *err, size_t size);

/* The capacity that is given out. */
uint64_t brain_capacity(const struct brain *b);

#endif
