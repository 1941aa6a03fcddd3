/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: how programs on this machine ask a node when they may make their own system calls.
 *
 * The program makes every data call itself, unsplit, on its own descriptor, at its own position.
 * The node only decides when. Both sides share two kinds of files next to the node's socket S:
 *
 *	S.turn           struct sl_turn_node: one page for the node, its bell and its sign of life
 *	S.jobs/NUMBER    struct sl_turn_job: one segment for each job, NUMBER in 16 hex digits
 *
 * A process opens and maps both at its first data call on a file of the layer. There is no
 * connection, so nothing has to be set up, torn down, or inherited over fork and exec.
 *
 * The *mode* of a job says what a call has to do first:
 *
 *	OPEN     nothing: there is no capacity, limit, grant or congestion
 *	LEASED   debit its length from `credit`. It may go if the credit is above 0, and may make it
 *	         negative: one debt for each job. Otherwise it asks, and waits until it is above 0
 *	PLACED   ask with its file and offset, in a slot, because the node must see each call (a
 *	         trace, a device model, a window of fixed size)
 *	FORWARD  the node makes the calls (wire/shm.h)
 *	GONE     the node has ended normally, or has removed the job: the call goes at once, and the
 *	         process looks for a new segment from time to time
 *
 * After the call the process counts it in the cache line of its CPU; in LEASED mode it returns the
 * credit for bytes that were not moved. In LEASED mode too, a call whose data is not in the page
 * cache asks with its file and offset, so that `order` and the window decide about it; then it does
 * not debit the credit.
 *
 * Asking for credit: set `asked`, set the job's bit in the node's `ready`, wake the node if it
 * `sleeping`s, and wait on `grants` as a futex. The node adds a lease of a millisecond or two to
 * `credit` when admit, share and its pacer allow it, and wakes one waiter; a waiter that goes wakes
 * the next while the credit is above 0. A job that uses its leases stays in the scheduler for some
 * milliseconds even if it has not asked again, so a program with one synchronous call at a time
 * gets its share. Unused credit is taken back.
 *
 *	credit 0      write 4K: asks; the node adds 64K and wakes it     credit 64K
 *	write 4K                                                         credit 60K
 *	write 1M      goes, since 60K > 0                                credit -964K
 *	write 4K      asks; the node has to grant 964K first
 *
 * Charging (`charge`). The load of a file system is the I/O that passes the page cache, not calls.
 * So in LEASED mode, by bits of `charge`:
 *
 *	READS    a read from the page cache is free. It goes while the credit is above 0, or if its
 *	         data is known to be cached; the bytes that it moved from the file system are
 *	         debited afterwards. (Without WRITES, for a job with a max: debited before, and
 *	         returned if not used.)
 *	WRITES   a buffered write goes at once and makes bytes `dirty`. While the job has more than
 *	         `dirty_most` of them, or flushes a file, the program pays for `step` bytes after
 *	         `step` bytes of its own files from the credit, and starts to write each of them
 *	         back (client/conn/wire.c). So the file system sees them in the order of leases.
 *
 *	THROUGH  a write without credit goes at once while fewer than `dirty_most` bytes are `left`;
 *	         its bytes are added to `left`. So a burst does not wait, and its job pays before
 *	         the next one
 *
 * While a thread waits for write-back that was paid for (`writing_ns`), in fsync() or for its oldest
 * step, the job cannot ask, though it would. Then it stays in the scheduler, and may be given as many
 * bytes as it waits for: its share does not depend on how long the file system takes.
 *
 * Dirty bytes of closed files and of ended processes are `left`: the kernel writes them at some
 * time, and the node takes them from the job's credit, a lease at a time.
 *
 * Slots: TAKEN by a thread (compare and swap from FREE), filled in, POSTED; the node sets GO when
 * the scheduler has dispatched it, wakes `grants`; the thread makes the call and sets DONE with
 * what moved, and rings. The node sets FREE. The node frees the slots of threads that have died. If
 * no slot is free, the call goes by credit.
 *
 * The node updates `alive_ns` at least once a second. If a waiting process finds the stamp older
 * than SL_TURN_SILENT_NS for as long as the user's timeout, it sets `given_up`: then no call of the
 * job waits until the stamp is fresh again. No program ever gets an error for it.
 *
 * A restarted node maps the same files and continues with the jobs that it finds there.
 *
 * Programs can write any number in here. The numbers affect only the bytes of their own job.
 */
#ifndef SL_WIRE_TURN_H
#define SL_WIRE_TURN_H

#include <stdatomic.h>
#include <stdint.h>

#include "sluice.h"
#include "wire/ops.h"
#include "wire/proto.h"

#define SL_TURN_MAGIC	  UINT64_C(0x344e5255544c53) /* "SLTURN4" */
#define SL_TURN_JOBS	  4096			     /* jobs of a node: a bit each */
#define SL_TURN_CPUS	  1024			     /* further CPUs share these */
#define SL_TURN_SLOTS	  64
#define SL_TURN_PROCS	  256
#define SL_TURN_NODES	  16   /* most nodes of a job */
#define SL_TURN_TAGS	  2048 /* bytes: patterns of parts */
#define SL_TURN_SILENT_NS INT64_C(3000000000)

/*
 * `grants` is waited for and woken by bits (FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET): a waiter for
 * credit and one whose slot is to GO sleep on the same word, and a wake-up of one must not go to
 * the other. A plain FUTEX_WAKE of all is right, too.
 */
#define SL_TURN_CREDIT_BIT     1U
#define SL_TURN_SLOT_BIT(slot) (2U << (slot) % 31)

enum sl_turn_mode {
	SL_TURN_GONE,
	SL_TURN_OPEN,
	SL_TURN_LEASED,
	SL_TURN_PLACED,
	SL_TURN_FORWARD,
	SL_TURN_MODES = 0xff,	 /* mask of the values above */
	SL_TURN_METERED = 0x100, /* flag: the job has a max on data calls, on reads or on writes */
};

/* Bits of `charge`; 0: charge the length of each call. */
enum sl_turn_charge {
	SL_TURN_READS = 1,
	SL_TURN_WRITES = 2,
	SL_TURN_BLOCKS = 4, /* the kernel counts for each thread what it has read from the device */
	SL_TURN_CLOSES = 8, /* closing a file writes it back */
	SL_TURN_THROUGH = 16, /* writes go through at once; they may be paid for later */
};

struct sl_turn_node {
	uint64_t magic, bytes;		     /* bytes: of this struct */
	_Atomic uint64_t epoch;		     /* changes with each life of the node */
	_Atomic int64_t alive_ns;	     /* CLOCK_MONOTONIC */
	_Atomic uint64_t pid_space;	     /* inode of its PID namespace; 0: not known */
	_Alignas(64) _Atomic uint32_t rings; /* a futex: changes with every wake-up */
	_Atomic uint32_t sleeping;	     /* it sleeps and wants to be woken */
	_Alignas(64) _Atomic uint64_t ready[SL_TURN_JOBS / 64]; /* jobs that have asked */
};

/* Bytes and calls of one direction, added to by one instruction: client/conn/account.h. */
struct sl_turn_count {
	uint64_t bytes, calls;
};

struct sl_turn_cpu {
	_Alignas(64) struct sl_turn_count moved[2]; /* by enum sl_op */
	struct sl_turn_count locked[2]; /* the same, by locked adds: threads without rseq */
};

enum sl_turn_slot_state {
	SL_TURN_FREE,
	SL_TURN_TAKEN,
	SL_TURN_POSTED,
	SL_TURN_GO,
	SL_TURN_DONE,
};

struct sl_turn_slot {
	_Alignas(64) _Atomic uint32_t state; /* enum sl_turn_slot_state */
	uint32_t tid;			     /* of the thread that has it */
	uint32_t op;			     /* enum sl_op */
	uint32_t again;			     /* changes each time it is posted */
	uint64_t file;			     /* equal for equal files, below SL_NO_FILE */
	uint64_t offset, length;
	int64_t moved; /* bytes, or negative errno */
	int64_t ended; /* CLOCK_MONOTONIC ns */
};

/*
 * A process of the job. Filled in when it attaches; the node clears those that have ended.
 * Processes in another PID namespace, whose pids mean other processes to the node, are not listed
 * here and take no slots.
 */
struct sl_turn_proc {
	_Atomic uint32_t pid;
	_Atomic uint32_t phase; /* it has declared an I/O phase */
	_Atomic uint64_t dirty; /* its part of the job's */
};

struct sl_turn_job {
	uint64_t magic, bytes;		    /* bytes: of this struct */
	uint64_t job;			    /* its number */
	uint32_t index;			    /* its bit in `ready` */
	_Atomic uint32_t modes;		    /* changes when `mode` does */
	_Alignas(64) _Atomic uint32_t mode; /* enum sl_turn_mode: sl_turn_mode_of() */
	_Atomic uint32_t moved;		    /* changes when `home` does */
	_Atomic uint32_t charge;	    /* enum sl_turn_charge */
	_Atomic uint32_t ops;		    /* enum sl_ops_mode: what operations have to do */
	_Atomic uint64_t dirty_most;	    /* bytes that may be dirty before a writer waits */
	_Atomic uint64_t step;		    /* bytes whose write-back is started at once */
	_Alignas(64) _Atomic int64_t credit;
	_Alignas(64) _Atomic int64_t
		dirty;		   /* bytes that were written and not charged, with `left` */
	_Atomic uint64_t left;	   /* part of these that no process owns any more */
	_Atomic uint64_t cached;   /* bytes read from the page cache, not charged */
	_Atomic uint64_t buffered; /* bytes of writes that were not charged at the call */
	_Atomic uint64_t flushed;  /* bytes that were charged when written back */
	/* A thread waits for the file system to write back what was paid for: since then
	 * (CLOCK_MONOTONIC; 0: none does), and so many bytes. */
	_Atomic int64_t writing_ns;
	_Atomic uint64_t writing;
	_Alignas(64) _Atomic uint32_t grants; /* a futex: changes when waiters should check */
	_Atomic uint32_t waiting;	      /* a hint: a thread sleeps on it */
	_Atomic uint32_t asked;		      /* since the node last looked */
	_Atomic uint32_t asked_op;	      /* enum sl_op of who asked */
	_Atomic uint32_t given_up;	      /* the node has been silent for too long */
	/* Bytes moved without a turn because the node was silent. */
	_Atomic uint64_t unscheduled;
	_Atomic uint64_t held_ns; /* total time that calls have waited */
	/* What a node needs to continue with the job after a restart. */
	char name[SL_JOB_NAME_MAX], title[SL_JOB_NAME_MAX];
	struct sl_job_conf asked_conf;
	uint32_t procs_declared, nodes_declared;
	struct sl_job_owner owner;
	/*
	 * Sockets of the nodes that serve it: unit u of U takes its turns at home[u * homes / U].
	 * None: this node.
	 */
	_Atomic uint32_t homes;
	char home[SL_TURN_NODES][108];
	/*
	 * Lines of "TAG PATTERN": files below the layer's directory that are of a part of the job
	 * (client/conn/part.h). Written before programs can see the segment.
	 */
	char tags[SL_TURN_TAGS];
	struct sl_turn_proc proc[SL_TURN_PROCS];
	struct sl_turn_slot slot[SL_TURN_SLOTS];
	struct sl_turn_cpu cpu[SL_TURN_CPUS];
	struct sl_turn_ops operations; /* wire/ops.h */
	struct sl_turn_ops_cpu ops_cpu[SL_TURN_CPUS];
};

static inline enum sl_turn_mode sl_turn_mode_of(const struct sl_turn_job *job)
{
	return (enum sl_turn_mode)(atomic_load_explicit(&job->mode, memory_order_relaxed) &
				   SL_TURN_MODES);
}

#endif
