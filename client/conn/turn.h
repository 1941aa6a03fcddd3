/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The turn route: the program makes its own calls when the node allows it. wire/turn.h is the
 * contract; turn.c asks and waits, attach.c finds the job's segment.
 */
#ifndef SL_CLIENT_CONN_TURN_H
#define SL_CLIENT_CONN_TURN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "client/conn/account.h"
#include "client/conn/part.h"
#include "client/conn/turnfd.h"

/*
 * The segments that this process uses, for each part of its job. Mappings are never removed,
 * because a thread may be using them.
 */
struct turn_route {
	struct sl_turn_job *_Atomic job; /* NULL: none yet */
	_Atomic uint64_t open;	 /* the word of `mode` and `moved` while no call has to ask */
	_Atomic int64_t next_ns; /* when to look for a segment again */
	_Atomic uint64_t inode;	 /* of the segment in use */
};
extern struct turn_route turn_routes[TURN_PARTS] __attribute__((visibility("hidden")));
#define turn_own turn_routes[0] /* of the job itself: read by the fast paths */
/* In `open` while there are parts: then no word of a job equals it. */
#define TURN_SLOW UINT64_C(0x80000000)
void turn_slow(void); /* there are parts now */

/*
 * The page of a node is mapped right below each of its jobs' segments, so that a thread that waits
 * in a segment rings the node of that segment, also after the process has moved to another node.
 */
#define TURN_NODE_ROOM 65536 /* the largest page size */
static inline struct sl_turn_node *turn_node_of(const struct sl_turn_job *job)
{
	return (struct sl_turn_node *)((uintptr_t)job - TURN_NODE_ROOM);
}

/* `mode` and `moved` of a job as one word, so that one comparison looks at both. */
typedef uint64_t __attribute__((may_alias)) turn_word;
static inline uint64_t turn_word_of(struct sl_turn_job *job)
{
	return __atomic_load_n((turn_word *)&job->mode, __ATOMIC_RELAXED);
}

/* The job, if fd is a file of the layer and a call on it need not ask; else NULL. */
static inline struct sl_turn_job *turn_open(int fd)
{
	struct sl_turn_job *job = atomic_load_explicit(&turn_own.job, memory_order_acquire);

	if (__builtin_expect(
		    job && turnfd_ours(turnfd_state(fd)) &&
			    turn_word_of(job) ==
				    atomic_load_explicit(&turn_own.open, memory_order_relaxed),
		    1))
		return job;
	return NULL;
}

enum turn_kind {
	TURN_PASS,     /* not a file of the layer, or there is no node: the call is not counted */
	TURN_FORWARD,  /* the node makes the call: client/preload/data.c */
	TURN_CLOSED,   /* the program closed fd while the call waited: EBADF */
	TURN_OPEN,     /* the rest: make the call, then turn_end() */
	TURN_LEASED,   /* its length has been debited */
	TURN_PLACED,   /* it has a slot */
	TURN_LATE,     /* the node has been silent for too long */
	TURN_READ,     /* bytes moved from the file system are debited afterwards */
	TURN_BUFFERED, /* its bytes are charged when they are written back */
	TURN_OWED,     /* its bytes are left to the node to charge */
	TURN_WAITS,    /* of turn_begin_other(): the call would have to wait */
};

struct turn {
	struct sl_turn_job *job;
	uint64_t length;
	int64_t since_ns; /* of the call, if it is timed; else 0 */
	off_t offset;	  /* of a buffered write */
	int fd;
	uint32_t again; /* of the slot */
	uint8_t kind, op, slot;
	bool nowait; /* the call must not wait after it either */
};

enum {
	TURN_CANCELS = 1, /* the function is a cancellation point: so is waiting for a turn */
	TURN_NOWAIT = 2,  /* do not wait: go into debt instead */
	TURN_NOSLOT = 4,  /* the call has two files: hold no slot while waiting for another */
};

/*
 * Wait until a call on fd may be made. iov NULL: a call of n bytes; else n vectors. offset < 0: at
 * the position. Keeps errno. May be left by longjmp() or cancellation at any time.
 */
enum turn_kind turn_begin(struct turn *t, int fd, enum sl_op op, const struct iovec *iov, size_t n,
			  off_t offset, unsigned how);
/*
 * Whether at least 8 bytes of the program's memory can be read: the kernel should report a bad
 * address (EFAULT) instead of a crash here.
 */
bool turn_readable(const void *memory, size_t bytes);
/*
 * The same for a call of another process, on a file of the layer: see client/gate/. PASS: there is
 * no node. place NULL: if the call had to wait, nothing is done, and the answer is WAITS.
 */
struct turn_place {
	uint64_t file, offset;
};
enum turn_kind turn_begin_other(struct turn *t, enum sl_op op, uint64_t length,
				const struct turn_place *place, unsigned how);
uint64_t turn_file_number(const struct statx *sx); /* equal for equal files */
/* The call returned n. Keeps errno. */
void turn_end(const struct turn *t, ssize_t n);

/* Wait for credit and take it. False: the job need not pay. Not a cancellation point. */
bool turn_pay(struct sl_turn_job *job, uint64_t bytes);
/* `bytes` have moved without credit: later calls of the job pay for them. */
void turn_owe(struct sl_turn_job *job, uint64_t bytes);
/* Take credit if available. */
bool turn_debit(struct sl_turn_job *job, uint64_t bytes);
/*
 * One metadata operation takes the next number of a queue of the job. True: credit covers it, or no
 * node grants credit.
 */
bool turn_operation(struct sl_turn_job *job, unsigned queue, uint64_t *number);
/* Wait until credit covers it. Not a cancellation point. */
void turn_operation_wait(struct sl_turn_job *job, unsigned queue, uint64_t number);
/* Ask for a lease for the job without waiting. */
void turn_want(struct sl_turn_job *job, enum sl_op op);

/*
 * attach.c: the segment to use now, of the part that this thread's call is of; or NULL: the call
 * goes at once.
 */
struct sl_turn_job *turn_attach(void);
/* The one that is in use already for calls on this descriptor, or NULL. */
struct sl_turn_job *turn_job_for(int fd);
bool turn_current(struct sl_turn_job *job); /* false: turn_attach() would find another one */
/* The node has given a sign of life in the last SL_TURN_SILENT_NS. */
bool turn_fresh(const struct sl_turn_job *job, int64_t now);
/*
 * A thread has waited there for long: if its node has died or is stopped, ask other nodes where the
 * job is now.
 */
void turn_elsewhere(struct sl_turn_job *job);
/* The entry of this process in the job's table, or NULL. */
struct sl_turn_proc *turn_proc(struct sl_turn_job *job);
void turn_touch(void); /* a file of the layer was opened: a child of fork() enters itself */
void turn_ring(const struct sl_turn_job *job); /* the node has something to look at */
int64_t turn_now_ns(void);
/* The program is about to limit its own system calls (seccomp): make the necessary ones now. */
void turn_seal(void);
bool turn_sealed(void);
bool turn_foreign(void); /* this process and its threads are not in the job's tables */
/* sl_client_phase() of this route. 0, or -ENOTCONN. */
int turn_phase(bool begin);
bool turn_forwards(void); /* the mode of the job is FORWARD */

#endif
