/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: the node's side of wire/turn.h. Segments of jobs, their modes and processes are
 * turn-job.c's; credit, slots and the thread that serves them are turn.c's. The node's lock is
 * held in all of these, unless it says otherwise.
 */
#ifndef SL_SLUICED_IONODE_TURN_H
#define SL_SLUICED_IONODE_TURN_H

#include <limits.h>

#include "sluiced/ionode/node.h"
#include "wire/turn.h"

/*
 * State of a job that the node needs after a restart. In a personal layer it is in the segment. In
 * a layer for all users the user could change it there, so it is in a file of the node.
 */
struct turn_kept {
	uint64_t magic, local;
	char name[SL_JOB_NAME_MAX], title[SL_JOB_NAME_MAX];
	struct sl_job_conf asked, given;
	struct sl_ops_conf ops, given_ops;
	struct sl_job_owner owner;
	uint32_t procs, nodes, uid, keep;
};

/*
 * What the programs of one user share with the node: in a personal layer there is one room, in a
 * layer for all users one for each. A room is never freed, so the turns' thread may walk the list
 * without the lock.
 */
struct turn_room {
	uid_t uid;
	struct sl_turn_node *page;
	char *path, *dir; /* of the page; of the segments */
	uint32_t rings;	  /* of the page, when it was last looked at */
	uint32_t hits;	  /* so often it woke the node in this second */
	uint32_t out;	  /* of turns->out, this user's */
	uint32_t work;	  /* calls with a place that were taken in this round */
	bool rests;	  /* there were too many: of the thread of turns */
	sl_time rest_ns;  /* until then; 0: not decided */
	struct turn_room *_Atomic next;
};

struct node_turn {
	struct sl_turn_job *shm;
	struct turn_room *room;
	struct node_job *job;
	uint32_t index;			    /* in turns->by_index */
	uint64_t local;			    /* its number among those of its user: of the file */
	struct turn_kept kept;		    /* as it is in the file */
	struct node_io lease;		    /* its request for credit */
	struct node_io slot[SL_TURN_SLOTS]; /* its requests with a place */
	uint32_t again[SL_TURN_SLOTS];	    /* of the request that slot[] stands for */
	uint32_t slot_next;		    /* where the look at the slots begins */
	uint64_t going;			    /* a bit for each slot whose call has been let go */
	sl_time lead_ns;		    /* when `lead` changed last */
	int64_t lead;	      /* of its credit, what it was given while such a call was late */
	bool slots_wait;      /* a posted slot was not taken: the job owes something */
	int64_t credit;	      /* when it was last looked at */
	sl_time used_ns;      /* when it last asked, or was seen to use credit */
	sl_time paid_ns;      /* when its max has made up for its leases */
	uint64_t spare_bytes; /* charged, taken back, and to be given again */
	int64_t lent;	      /* of what it was given, what it can still have */
	uint64_t counted[2], counted_calls; /* of the segment's counts, among the job's */
	struct node_wire counted_wire;	    /* the same */
	uint32_t procs;			    /* processes that are attached */
	uint32_t phases;		    /* of these, in a phase of I/O */
	sl_time procs_ns;		    /* when they were counted */
	bool mute;			    /* a call took too long: its calls hold up nobody */
	bool waits;			    /* it has asked, and got nothing since */
	bool active;			    /* in turns->active */
	struct sl_list link;
};

struct turns {
	struct turn_room *_Atomic rooms;
	sl_time hits_ns; /* when they began to be counted */
	bool no_waitv;	 /* the kernel cannot wait for several rooms */
	struct node_turn *by_index[SL_TURN_JOBS];
	struct sl_list active; /* jobs that have asked, owe something or hold credit */
	uint32_t active_count;
	struct sl_list due; /* node_io.link: dispatched, to be let go when a device model says */
	uint32_t out;	    /* batches with a place that have been let go and are not done */
	uint32_t waiting;   /* requests of turns in the scheduler that were not dispatched */
	pthread_t thread;
	atomic_bool idle; /* the thread sleeps until it is rung: turn_tick() stamps for it */
};

/* ---- turn.c ---- */

int turn_start(struct node *n); /* no lock is held; -errno */
/* No lock is held: every program goes on without the node from here on. */
void turn_stop(struct node *n);
void turn_join(struct node *n); /* after node->stop is set */
/* Take what was asked since the last time. */
void turn_collect(struct node *n, sl_time now);
/* The scheduler has dispatched a batch of turns; modelled: not before that time. */
void turn_dispatched(struct node *n, const struct sl_batch *b, sl_time modelled, sl_time now);
/* Let go what a device model has held until now. When the next one is due, or SL_NEVER. */
sl_time turn_due(struct node *n, sl_time now);
/* As many calls with a place are under way as may be. */
bool turn_full(const struct node *n);
/*
 * Once a second, of another thread, with the lock: stamp for a thread that sleeps, wake it if there
 * is work.
 */
void turn_look(struct node *n, sl_time now);
/* The next time that something has to be looked at again, or SL_NEVER. */
sl_time turn_wake(const struct node *n, sl_time now);
static inline bool turn_is(const struct node_io *io)
{
	return !io->client;
}
/* Cancel what waits of the job and give its credit back. */
void turn_revoke(struct node *n, struct node_turn *t, sl_time now);
/* Its calls that are under way are not waited for any more. */
void turn_abandon(struct node *n, struct node_turn *t);
/*
 * Wake threads that wait for these bits of `grants`, when the lock is given back: one for credit,
 * all for others.
 */
#define TURN_ALL_BITS UINT32_MAX
void turn_signal(struct node *n, struct node_turn *t, uint32_t bits);
/* Whether a thread has given up this slot, now in that state, without the DONE that ends it. */
bool turn_slot_left(const struct node_turn *t, uint32_t slot, uint32_t state);
/* Look at it from now on. */
void turn_activate(struct node *n, struct node_turn *t);
void turn_deactivate(struct node *n, struct node_turn *t); /* not any longer */

/* What a lease of this job is. */
uint64_t turn_lease(const struct node *n, const struct node_turn *t);

/* ---- turn-wire.c ---- */

/* No lock is held, at the start: what is charged on this file system. */
void turn_wire_start(struct node *n);
/* What is charged of this job, and how much of it may be dirty. */
void turn_wire_set(const struct node *n, struct node_turn *t);
/* Dirty bytes that nobody pays for: take a lease's worth from the credit. True: there are more. */
bool turn_wire_left(struct node *n, struct node_turn *t);
/* Nothing is charged any more. */
void turn_wire_drop(struct node_turn *t);
/* No process of the job is left, and has not been for a while. */
void turn_wire_over(struct node_turn *t);
/* Count what its programs say of the page cache. first: nothing of it is this node's. */
void turn_wire_account(struct node_turn *t, bool first);
/*
 * Of a job: what it has dirty, what reads had from the page cache, and what the file system has
 * seen.
 */
void turn_wire_bytes(const struct node_job *j, uint64_t *dirty, uint64_t *cached, uint64_t *wire);
/* "wire" or "calls". */
const char *turn_wire_charge(const struct node *n);

/* ---- turn-room.c ---- */

/* The room of a user, made if there is none. NULL: it cannot be; *error says why. */
struct turn_room *turn_room(struct node *n, uid_t uid, int *error);
/* The rooms that another node at this socket has left: call `adopt` for each of their segments. */
int turn_rooms_find(struct node *n, void (*adopt)(struct node *, struct turn_room *, const char *));
/* Pages of users that were cut are put in order. */
void turn_rooms_check(struct node *n);

void turn_kept_write(const struct node *n, const struct turn_kept *kept);
bool turn_kept_read(const struct node *n, uid_t uid, uint64_t local, struct turn_kept *kept);
void turn_kept_remove(const struct node *n, uid_t uid, uint64_t local);

/* ---- turn-job.c ---- */

/*
 * Whether the segment has its size. -EFBIG: it was larger, and is not any more; -EIO: it was cut.
 */
int turn_job_check(const struct node *n, const struct node_job *j);
/* Make the job's segment. -errno: it has none, and its programs are not scheduled. */
int turn_job_make(struct node *n, struct node_job *j);
/*
 * Rules or what they see of the job have changed: programs that start from now on know the paths of
 * rules.
 */
void turn_job_patterns(const struct node *n, const struct node_job *j);
/* Its programs go on by themselves, and look for a new segment. */
void turn_job_forget(struct node *n, struct node_job *j);
/* Whether its programs have moved more than the scheduler has charged it for: then it is kept. */
bool turn_owes(const struct node_job *j, sl_time now);
/*
 * Look which of its processes live; in a layer for all users no more often than that is done
 * anyhow.
 */
void turn_recount(struct node *n, struct node_job *j, sl_time now);
/* Jobs whose programs have outlived another node at this socket. */
int turn_adopt(struct node *n); /* 0 or -errno: there can be no turns */
/* What the job asks for has changed: keep it for the node after this one. */
void turn_job_keep(const struct node *n, struct node_job *j);
/* Limits, capacity, grants or nodes may have changed: set the modes of all jobs. */
void turn_modes(struct node *n, sl_time now);
/* Count what jobs have moved until now, and their processes. */
void turn_account(struct node *n, sl_time now);
/* Whether something is to see every single call. */
bool turn_sees_all(const struct node *n);
/* CPUs that a count can be of: lines of a segment from there on are 0. */
uint32_t turn_cpus(void);
/* Once a second: forget slots of threads that have ended. */
void turn_tick(struct node *n, sl_time now);

#endif
