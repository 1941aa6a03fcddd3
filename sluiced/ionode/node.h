/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An I/O node: the daemon between the clients on this machine and the backing file system.
 *
 * Threads. The *server* thread owns the sockets: it greets clients, takes their descriptors,
 * answers control lines and notices when a client dies. One *worker* per CPU owns the data path: it
 * collects the requests posted to its bell, adds them to the scheduler, and executes the
 * scheduler's next batch, whichever worker collected it. There is no scheduler thread: the worker
 * that will execute a batch makes the decision, under `lock`, which is never held during I/O, a
 * wake-up or a wait. Programs of this machine make their own calls, and have no connection: one
 * more thread tells them when (turn.c).
 *
 * Memory is bounded: data stays in the clients' segments, whose number is bounded; each slot of a
 * segment has its request structure in struct client. Clients that come over TCP have a thread of
 * their own beside all this, and buffers from a pool (tcp.c): their requests enter the scheduler
 * as everybody's do, and are executed by the same workers.
 */
#ifndef SL_SLUICED_IONODE_NODE_H
#define SL_SLUICED_IONODE_NODE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/daemon.h"
#include "base/ds/list.h"
#include "model/device.h"
#include "model/pace.h"
#include "policy/rules.h"
#include "sluice.h"
#include "sluiced/ionode/ops.h"
#include "sluiced/ionode/ring.h"
#include "sluiced/ionode/shadow.h"
#include "sluiced/ionode/window.h"
#include "wire/proto.h"
#include "wire/report.h"
#include "wire/shm.h"

#define NODE_WAKES	  64
#define NODE_HANDS	  (3 * SL_SHM_WORKERS) /* threads that execute: workers, then those of TCP */
#define NODE_BUSY	  (NODE_HANDS + WINDOW_MAX) /* and the ring */
#define NODE_DIRTY_AUTO	  UINT64_MAX
#define NODE_PLACES	  1021	/* of jobs by number, a prime */
#define NODE_FILES	  65536 /* open files of one client */
#define NODE_HANDLE_BYTES 64	/* longer handles are ignored */
/* I/O after a pause of this length is reported at once. */
#define NODE_PAUSE_NS INT64_C(100000000)

struct node_file {
	int fd;		/* -1: free */
	uint32_t busy;	/* requests that use fd */
	uint32_t flags; /* flags of open(2) that matter for merging */
	bool closing, reads, writes;
	uint64_t dev, ino;
	uint64_t id; /* for the scheduler: equal for equal files */
	/* As name_to_handle_at(2) gives it; 0 bytes: the file system has none. */
	int handle_type;
	uint32_t handle_bytes;
	unsigned char handle[NODE_HANDLE_BYTES];
	struct client *owner;
	struct node_file *next; /* of those that are free, or are to be closed */
};

struct adapt;
struct client;
struct closer;
struct node_io;
struct node_turn;
struct ops;
struct peer;
struct node_user;
struct sense;
struct site;
struct site_config;
struct tcp_peer;
struct turns;

/* Who has sent a control line. */
struct node_who {
	struct client *client;	/* NULL: has not greeted */
	struct node_user *user; /* of a layer for all users: site.h */
	uid_t uid;
	pid_t pid;
	bool admin;  /* may do everything */
	bool remote; /* comes over TCP */
};

/* The transport of a client: the functions that the data path needs. The lock is held. */
struct node_transport {
	void (*answer)(struct node *n, struct node_io *io, int64_t result);
};

/* A slot's request on its way through the node. */
struct node_io {
	struct sl_request req; /* first: a request of the scheduler is its node_io */
	struct node_job *job;
	struct client *client; /* NULL: a turn */
	struct node_file *file;
	unsigned char *data; /* in the client's segment, or in a buffer of the node */
	uint32_t slot;
	uint32_t number; /* in the trace */
	uint32_t flags;	 /* enum sl_slot_flags */
	uint64_t offset; /* in the file; req.offset differs for appends. Over TCP: where one ended
			  */
	int64_t result;
	uint32_t leader; /* slot of the client to signal */
	/* Of a turn with a place that was dispatched. */
	const struct sl_batch *batch;
	sl_time since;	     /* when its program may make, or might have made, the call */
	bool over;	     /* its program has made the call, or we stopped waiting for it */
	bool counted;	     /* of the first in a batch: in turns->out */
	uint32_t calls;	     /* of the first in a batch: those that are not over */
	struct sl_list link; /* in turns->due */
};

struct client {
	const struct node_transport *transport;
	uint32_t index;
	int sock; /* closed when nothing of it is left */
	uint32_t pid;
	struct node_job *job;
	uint32_t busy;		    /* slots inside the scheduler */
	bool gone;		    /* its socket is closed; freed when busy reaches 0 */
	_Atomic int64_t lease;	    /* no request of it is begun after this time: fence.h */
	bool phase;		    /* it has said that it is in a phase of I/O */
	struct sl_segment *segment; /* NULL over TCP */
	struct tcp_peer *peer;	    /* its connection over TCP */
	struct node_file *files;    /* NODE_FILES, mapped without reserve; by reference - 1 */
	uint32_t files_used;	    /* highest ever */
	uint32_t files_open;
	struct node_file *files_free; /* of those that were used */
	atomic_uint dying;	      /* files that are being closed */
	uint32_t place;		      /* of its socket in the ring, from 1; 0: it has none */
	struct client *next_gone;
	struct node_io io[SL_SHM_SLOTS];
};

/* The node's state of a job, in addition to the scheduler's. */
/* Counts of a job's segments (wire/turn.h), since the node knows the job. */
struct node_wire {
	uint64_t cached, buffered, flushed; /* bytes */
	uint64_t held_ns;
};

struct node_job {
	uint64_t number;
	char name[SL_JOB_NAME_MAX];
	char title[SL_JOB_NAME_MAX]; /* its name when it comes again; "": the same */
	uid_t uid;		     /* owner; not used in a personal layer */
	struct sl_job_conf given;    /* settings made by an administrator: site.h */
	struct sl_ops_conf given_ops;
	uint32_t clients;	/* processes: connected, or attached to its segment */
	struct node_turn *turn; /* NULL: it has no segment */
	uint32_t procs, nodes;	/* as declared; 0: not known */
	struct sl_job_owner owner;
	bool keep; /* named by the configuration: never forgotten */
	struct node_holder *holders;
	uint32_t inside;	   /* requests in the scheduler, waiting or in flight */
	uint32_t phase;		   /* clients that have declared an I/O phase */
	sl_time last_io;	   /* when the last one was done */
	struct sl_job_conf asked;  /* for the job as a whole */
	struct sl_job_conf rights; /* settings after the rules of the layer */
	struct sl_rules_held rule; /* rules that apply: rules.c */
	/* A limit that it shares with other jobs; 0: none. See rules.c. */
	uint64_t bucket, bucket_bps;
	uint64_t bucket_here_bps; /* its part of that here */
	sl_time bucket_until;	  /* valid until, by order of the controller; 0: not ordered */
	struct {
		sl_time at, waited_ns, backlogged_until;
		uint64_t moved;
		double rate_bps;
		bool wanted;
	} demand; /* of its part */
	struct node_joint
		*joint;		 /* its parts of other limits that it shares: joint.h; NULL: none */
	sl_time found_period_ns; /* by the controller; 0: not */
	uint32_t share;		 /* of its min and max that is this node's; 0: all */
	uint64_t min_here_bps;	 /* the part of its min that holds here; 0: none */
	uint64_t max_here_bps;	 /* the same of its max */
	/* Which nodes serve it, as the controller has ordered; map_epoch 0: nothing was ordered. */
	uint64_t map_epoch;
	uint32_t map_count;
	bool map_turns; /* the nodes give turns; else they execute its I/O */
	char map[SL_MAP_MAX][SL_NODE_NAME_MAX];
	_Atomic uint64_t moves; /* so often was that changed */
	sl_time since, last_seen;
	uint64_t moved[2];     /* bytes, by enum sl_op: less than asked for at the end of a file */
	uint64_t calls;	       /* data calls of its programs */
	struct node_wire wire; /* what its programs count of the page cache */
	struct node_ops ops;   /* metadata operations, and other limits */
	sl_time granted_until; /* the controller limits it */
	uint64_t grant_bps;    /* guaranteed rate by order; SL_GRANT_NONE: not ordered */
	struct {
		uint64_t moved[2], calls, unscheduled, operations, ops_held_ns, cached, wire;
		sl_time held, waited, contended;
	} told; /* of it, in the account of usage */
	struct {
		struct shadow_job job;
		uint64_t moved_bytes; /* that have arrived there */
		sl_time from, until;  /* it was busy, since the last line of the account */
	} shadow;		      /* in observe mode */
	struct {
		uint64_t moved[2], held_ns;		     /* when the last step began */
		double blocked;				     /* threads, summed up over the looks */
		uint32_t looks, blocked_looks, blocked_look; /* blocked_look: the last of these */
	} seen;						     /* with capacity auto */
	uint64_t rate_moved[2], rate_requests; /* values when the rates were last computed */
	uint64_t rate_bps, iops;
	sl_time rate_throttled_ns;    /* when they were */
	uint64_t rate_ops_held_ns;    /* the same of its operations */
	bool throttled, ops_held;     /* for half of the last second */
	struct node_job *next, *same; /* all; those with the same place in by_number */
};

struct node_config {
	struct sl_daemon daemon;
	const char *root;
	const char *admit, *share, *order; /* NULL: the stage's default */
	uint64_t capacity_bps;		   /* 0: not known, not paced */
	uint64_t capacity_ops;		   /* operations per second; 0: not limited */
	bool find_ops;			   /* that is to be found */
	struct sl_device_model device;	   /* timing model; bps 0: none */
	uint32_t workers;		   /* 0: one for each CPU */
	uint32_t window;		   /* batches in flight; 0: by measurement */
	const char *name;		   /* of this node in its layer; NULL: "0" */
	uint32_t layer_nodes;		   /* of equal capacity in the layer; 0: as 1 */
	bool stay;			   /* programs do: other nodes are on other machines */
	const char *controller;		   /* where it is: PATH or HOST:PORT; NULL: none */
	const char *controller_secret;	   /* secret file for the controller, over TCP */
	/* Pause of a granted job during which others are not served. */
	uint32_t lend_us;
	bool loss_divides;	  /* without a controller: no more than its own capacity */
	bool ask_always;	  /* every call asks, with file and offset */
	bool charge_calls;	  /* each byte of each call is charged */
	uint64_t dirty;		  /* bytes a job may have dirty; NODE_DIRTY_AUTO: found */
	const char *trace;	  /* file to record to; NULL: none */
	const char *file;	  /* sluice.yaml, whole path; NULL: none */
	const char *usage;	  /* file for the account of usage; NULL: none */
	bool observe;		  /* measure everything, hold nothing */
	bool find;		  /* the capacity is to be found: sense.h */
	const char *sensor;	  /* by this sensor; NULL: by what the file system has */
	struct site_config *site; /* a layer for all users */
};

struct node {
	const struct node_config *config;
	pthread_mutex_t lock; /* over the scheduler, jobs, busy counts and pacing */
	struct sl_sched *sched;
	struct node_job *jobs;
	struct node_job *by_number[NODE_PLACES]; /* the same jobs */
	/*
	 * Limits that jobs share (joint.c): jobs with one, the last division, and room for the
	 * next.
	 */
	uint32_t joint_jobs, joint_room;
	sl_time joint_at;
	bool joint_wanted;
	struct joint_part *joint_part;
	struct sl_divide_job *joint_divide;
	uint64_t epoch;
	sl_time started;
	uint64_t capacity_bps; /* as configured or set since; 0: not paced */
	bool open;	       /* `sluice open`: everything passes */
	bool observe;	       /* measure everything, hold nothing */
	bool passing;	       /* that, or observe mode: see pass.h */
	bool find;	       /* capacity_bps is found: see sense.h */
	uint64_t layer_bps;    /* of all nodes together */
	struct sl_pace pace;   /* to the part of the layer's that it may draw now; bps 0: all */
	uint32_t executing;    /* batches between sl_next() and sl_done() */
	uint32_t waiting;      /* requests in the scheduler before that */
	uint32_t active;       /* jobs that have some of either */
	const struct sl_batch *handed; /* by the ring's thread, for a worker to execute */
	atomic_uint crew; /* workers that there are: more than `workers` if some are stuck */
	struct {
		const struct sl_batch *batch; /* NULL: none */
		sl_time since;
		pid_t tid; /* of the thread that executes it; 0: the ring does */
		bool stuck;
	} busy[NODE_BUSY];     /* what they execute, then what is in the ring; stuck.c */
	uint32_t stuck;	       /* of these */
	struct sl_list parked; /* batches of files that are stuck, by their first node_io */
	bool slow;	       /* the last batch that was executed took long */
	uint32_t slowness;     /* how many of the last ones did: worker.c */
	struct turns *turns;
	struct ops *ops; /* the scheduler of operations */
	uint32_t turn_serial;
	uint32_t charge;	   /* enum sl_turn_charge: what the file system and the user say */
	uint64_t background_bytes; /* dirty ones at which the kernel begins to write back */
	struct {
		_Atomic uint32_t *word;
		int count;
		uint32_t bits;
	} wake[NODE_WAKES]; /* whom to wake when the lock is given back */
	uint32_t wake_count;
	struct sl_bells *bells;
	int bells_fd;
	uint32_t workers;
	atomic_uint clients_high; /* all indices in use are below */
	struct client *_Atomic client[SL_SHM_CLIENTS];
	bool leaving;	  /* accept no new requests */
	atomic_bool stop; /* begin no requests */
	int listen_fd, stop_fd, epoll_fd;
	int closed_fd;	      /* readable when files have been closed, for: */
	struct peer *closing; /* those that wait for it */
	struct sl_list peers; /* all of server.c */
	bool full;	      /* no descriptors left: nobody is accepted for a while */
	bool paused;	      /* some peers are not read, because a user has sent too much */
	bool idle;	      /* no job was known when the last second had passed */
	struct closer *closer;
	struct node_trace *trace; /* NULL: nothing is recorded */
	struct adapt *adapt;	  /* what order=auto is told */
	struct ring *ring;	  /* NULL: no io_uring */
	struct link *link;	  /* to the controller; NULL: none */
	struct rules *rules;	  /* of the configuration file; NULL: there is none */
	struct usage *usage;	  /* account of what jobs use; NULL: none is kept */
	struct site *site;	  /* NULL: a personal layer */
	struct sense *sense;	  /* what is measured of the file system; NULL: nothing */
	struct tcp *tcp;	  /* NULL: no clients over TCP */
	struct window window;	  /* limit of flying */
	uint32_t flying;	  /* batches in the ring */
	uint32_t flying_stuck;	  /* of these: they do not count for the window */
	struct sl_device device;  /* with a model: its timeline */
	char *policy[3];	  /* admit, share, order as last set; NULL: the default */
	uint64_t rate_decisions, decisions_per_s;
};

sl_time node_now(void);

/* worker.c */
extern const struct node_transport node_shm; /* clients on this machine */
uint32_t node_cpus(void); /* that this process may use, as far as there can be workers for them */
int node_workers_start(struct node *n, pthread_t *threads);
void node_workers_tick(struct node *n); /* every second */
void node_wake_one(struct node *n);	/* wake a worker that sleeps or is about to, if any */
void node_wake_all(struct node *n);
/* Lock held: set the state of a slot; its client is woken when the lock is given back. */
void node_tell(struct node *n, struct client *c, uint32_t slot, uint32_t leader, uint32_t state);
/* Release the lock, then wake the clients that were signalled. */
void node_unlock(struct node *n);
/* Lock held: answer the waiting requests of this client with SL_COME_BACK. */
void node_send_back(struct node *n, struct client *c);
/* Lock held: collect posted requests and counters of clients. */
void node_collect(struct node *n, sl_time now);
/* Lock held: wake so many that wait on this futex for one of the bits when the lock is given back.
 */
void node_wake_later(struct node *n, _Atomic uint32_t *word, int count, uint32_t bits);
void node_wakes_now(struct node *n); /* the same, now: the word is about to be unmapped */
/* Lock held: charge these bytes to the capacity; negative: give them back. */
void node_pace(struct node *n, int64_t bytes, sl_time now);
/* A batch has been executed; the lock is held. */
void node_finish(struct node *n, const struct sl_batch *b);
/* A client's read or write of one of its files, however it has come. */
struct node_call {
	uint64_t file; /* reference */
	uint64_t offset, length;
	uint32_t op, flags;    /* enum sl_op, enum sl_slot_flags */
	uint32_t slot, leader; /* slots of the client: the call's, and the one that is told */
	unsigned char *data;
};
/* Check it and hand it to the scheduler; the lock is held. Negative errno: it is not in there. */
int node_take(struct node *n, struct client *c, const struct node_call *call, sl_time now);
/* A request of this job has entered the scheduler; the lock is held. */
void node_entered(struct node *n, struct node_job *j, sl_time now);
/*
 * Decide and execute what may go now; the lock is not held. Returns when to call again (for turns
 * only if the caller is their thread). bell: that of the calling worker; NULL: the caller does not
 * execute.
 */
sl_time node_go_on(struct node *n, struct sl_bell *bell, bool turns);
/*
 * This thread, which is no worker, has added a request; the lock is not held. It executes one batch
 * if one may go now and the file system has been quick so far; the rest is for workers. place: a
 * small number of its own. back() is called when it has executed, before it is told to anybody.
 */
void node_go_here(struct node *n, uint32_t place, void (*back)(void));

/* exec.c: no lock is held */
/* Do the I/O of a batch; each node_io gets its result. */
void node_execute(const struct sl_batch *b);
/* The merged operation has returned n: give each request its part, or do it again by itself. */
void node_settle(const struct sl_batch *b, ssize_t n);
bool node_one_file(const struct sl_batch *b);
bool node_batch_holds(const struct sl_batch *b); /* the leases of all its clients */
bool node_batch_far(const struct sl_batch *b);	 /* one of them has a lease: it needs the fence */

/* server.c */
int node_serve(struct node *n); /* until a signal in node->stop_fd ends it */
/* When all is over; their sockets are closed when this process ends, and not before. */
void node_forget_peers(struct node *n);

/* usage.c: the account of what jobs use, if one is kept. 0 or -errno. No lock is held. */
int usage_start(struct node *n);
void usage_tick(struct node *n);  /* now and then */
void usage_flush(struct node *n); /* what has been used until now; on the same thread */
void usage_stop(struct node *n);

/* files.c */
int files_start(struct node *n);
void files_tick(struct node *n); /* every second */
struct client *client_alloc(uint32_t pid);
void client_free(struct client *c); /* one that the scheduler has never heard of */
/* Lock held: it is gone and not busy; it leaves its job, and what it has is closed and freed. */
void client_release(struct node *n, struct client *c);
/*
 * Make an open descriptor known as one of the client's files; it is closed if that cannot be, or if
 * it is not what the frame says, unless that is NULL. Returns the reference or negative errno.
 */
int64_t client_file_add(struct node *n, struct client *c, int fd, const struct sl_frame *open);
/* Closed at once, or when its last request is done, or soon: as long as client_closing(). */
void client_file_close(struct node *n, struct client *c, uint64_t ref);
bool client_closing(const struct client *c);
/* Lock held: its file of that reference; NULL: there is none, or it is being closed. */
struct node_file *client_file(const struct client *c, uint64_t ref);
/* Lock held: one request less that uses it. */
void client_file_put(struct node *n, struct node_file *f);

/* control.c: answer one line. *answer is malloc'ed. Returns 0 or a positive errno. */
int node_control(struct node *n, const struct node_who *who, char *line, char **answer);
/*
 * reason.c: why the job is as fast as it is, in a few words; the lock is held. all_bps: of all
 * jobs.
 */
#define NODE_REASON 128
const char *node_reason(const struct node *n, const struct node_who *who, const struct node_job *j,
			uint64_t all_bps, sl_time now, char out[NODE_REASON]);
/* job.c; the lock is held, except by node_jobs_tick() */
struct node_job *node_job_find(const struct node *n, uint64_t number);
/* uid: whose it is; in a personal layer it says nothing. */
struct node_job *node_job_add(struct node *n, const char *name, uid_t uid,
			      const struct sl_job_conf *conf, int *error);
/* Whether the user may have one more: those of the user that have ended make room. */
bool node_job_fits(struct node *n, uid_t uid, uint32_t most);
/* Change the settings of a job. -EDQUOT, -EINVAL: refused, nothing has changed. */
int node_job_ask(struct node *n, struct node_job *j, const struct sl_job_conf *conf, sl_time now);
/* Set the owner of a job. */
void node_job_owner(struct node *n, struct node_job *j, const struct sl_job_owner *owner);
/* Rules, its owner or its title have changed. */
void node_job_rules(struct node *n, struct node_job *j, sl_time now);
/* Set the node's bandwidth; bytes drawn before still count. */
void node_draw(struct node *n, uint64_t bps, sl_time now);
/* The rate that the controller has ordered for the job, until then; SL_GRANT_NONE: none. */
void node_job_rate(struct node *n, struct node_job *j, uint64_t bps, sl_time until, sl_time now);
/* The capacity of a layer of so many nodes like this one, as configured. */
uint64_t node_of_layer(const struct node_config *config, uint64_t bps);
/* Apply this node's part of the job's settings. */
int node_job_apply(struct node *n, struct node_job *j, sl_time now);
/* Make its clients ask for their node. */
void node_clients_moved(struct node *n, struct node_job *j);
/* Keep the job while this process lives, although it has done no I/O yet. */
void node_job_hold(struct node_job *j, pid_t pid);
/* No process holds it any more, nor is it kept. */
void node_job_end(const struct node *n, struct node_job *j);
/* A client begins or ends a phase of I/O; the controller hears of it at once. */
void node_job_phase(struct node *n, struct client *c, bool in);
void node_job_phases(struct node *n, struct node_job *j, int more);
/* Add to the number of the job's processes at this node. */
void node_job_clients(struct node *n, struct node_job *j, int more);
bool node_process_ended(pid_t pid); /* turn-job.c: also if nobody has waited for it yet */
struct node_job *node_job_join(struct node *n, const struct sl_hello *h, int *error);
/*
 * Lock held: what is promised to jobs that nobody uses, but for one, is free for others; whether
 * there was any.
 */
bool node_release_mins(struct node *n, const struct node_job *but);
void node_job_leave(struct node *n, struct node_job *j);
bool node_jobs_tick(struct node *n); /* true: a second has passed */

#endif
