/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data path on one machine: shared memory and doorbells.
 *
 * Each client process has a *segment*, made and sealed by the node: slots, each a request and a
 * buffer for its data. The client owns a slot while it is FREE or DONE: it fills it in, sets it to
 * POSTED, and rings the bell of one worker of the node, the one of the CPU it runs on, so that
 * handing over is a switch on one CPU and not a wake-up of another. From then on the slot is the
 * node's, until that sets it to DONE. A client that has several slots under way waits on the
 * `signal` of one of them, the leader, as a futex.
 *
 * Small requests are carried out by the node, merged with others; their data lies in the slot's
 * buffer. Copying a large one twice would cost more than deciding about it, and the client has the
 * same open file: with SL_SLOT_SELF it asks only for its turn. The node answers GO, the client
 * does the I/O from and to its own memory, sets `result` and RAN, and marks the slot as posted
 * again. It rings only if the node is `hungry`: if something waits that may depend on this.
 * Otherwise the node learns of it when it next looks.
 *
 *	FREE ─► POSTED ─► DONE                the node has done it, or refused
 *	FREE ─► POSTED ─► GO ─► RAN           the client has done it; it may post again at once
 *
 * A write at an offset can be repeated if the node dies before it has answered; an append cannot.
 * So the node says in the slot when it begins with one (RUNS). An append that is still POSTED when
 * the node has ended, killed or told to, was not carried out: the client sets it to FREE, and can
 * post it to the next.
 *
 * With SL_SLOT_ANY the turn is for any files, and the client need not tell which: what a program in
 * gate mode asks for, and any program while the node says that it is `calm`: its job is alone, and
 * nothing limits it. Its process has one slot, SL_SHM_LEASE_SLOT, for a *lease*: a turn for
 * more bytes than the call at hand needs, used by later calls of all its threads without asking.
 * All of it is in one word, so that a call costs two changes of memory, one before and one after:
 * what is left of it, the calls under way, and what has been done. The node revokes a lease by
 * setting REVOKED, and so does the client when it has used it up. If no call is under way then, it
 * is over at once; else the last of them reports RAN.
 *
 * The *bells* are one small segment for all clients: for each worker a bit for each client that
 * has posted something to it, and what the worker is doing. The node trusts nothing in here:
 * it copies a request out of its slot before it looks at it.
 *
 * A client is one process. After fork() the child makes a connection of its own.
 */
#ifndef SL_WIRE_SHM_H
#define SL_WIRE_SHM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SL_SHM_SLOTS	  32 /* at most 64: a bit each */
#define SL_SHM_SLOT_BYTES (128U << 10)
#define SL_SHM_SELF_BYTES                                                       \
	0x7ffff000U /* that a client may do in one turn: the kernel's own limit \
		     */
#define SL_SHM_WORKERS 64
#define SL_SHM_CLIENTS 4096
#define SL_SHM_CPUS    1024

enum sl_slot_state {
	SL_SLOT_FREE,
	SL_SLOT_POSTED,
	SL_SLOT_DONE,
	SL_SLOT_GO,
	SL_SLOT_RAN,
	SL_SLOT_RUNS, /* an append: the node carries it out at this moment */
};

enum sl_slot_flags {
	SL_SLOT_APPEND = 1, /* as SL_F_APPEND */
	SL_SLOT_SELF = 2,   /* the client does the I/O; length up to SL_SHM_SELF_BYTES */
	SL_SLOT_ANY = 4,    /* with SELF: on any file */
	SL_SLOT_CALM = 8,   /* with ANY: only while it is calm; else SL_COME_BACK */
};

#define SL_SHM_LEASE_SLOT (SL_SHM_SLOTS - 1)

/*
 * The word of a lease, of 4 MiB at most:
 *
 *	bits  0..22  bytes moved, by calls of the operation that it was asked for with
 *	     23..44  bytes left
 *	     45..52  users: calls under way
 *	     53..62  calls that did not have to ask; after 1023 it is used up
 *	     63      REVOKED
 *
 * Example: 64 KiB, asked for by a write of 4 KiB: users 1, left 61440. Another write of 4 KiB
 * begins: users 2, calls 1, left 57344; and ends: users 1, moved 4096.
 */
#define SL_LEASE_MOVED	  ((UINT64_C(1) << 23) - 1)
#define SL_LEASE_LEFT	  23
#define SL_LEASE_LEFT_MAX ((UINT64_C(1) << 22) - 1)
#define SL_LEASE_USER	  (UINT64_C(1) << 45)
#define SL_LEASE_USERS	  (UINT64_C(0xff) << 45)
#define SL_LEASE_CALL	  (UINT64_C(1) << 53)
#define SL_LEASE_CALLS	  (UINT64_C(0x3ff) << 53)
#define SL_LEASE_REVOKED  (UINT64_C(1) << 63)

struct sl_lease {
	_Alignas(64) _Atomic uint64_t word;
	_Atomic uint64_t other; /* bytes moved by calls of the other operation */
};

static inline uint64_t sl_lease_left(uint64_t word)
{
	return word >> SL_LEASE_LEFT & SL_LEASE_LEFT_MAX;
}

struct sl_slot_shm {
	_Atomic uint32_t state;	  /* enum sl_slot_state */
	_Atomic uint32_t signal;  /* a futex: changes when a slot led by this one is answered */
	_Atomic uint32_t waiting; /* the client sleeps on signal */
	uint32_t leader;	  /* slot whose signal to give */
	uint32_t op;		  /* enum sl_op */
	uint32_t flags;		  /* enum sl_slot_flags */
	uint64_t file;		  /* reference, as OPEN's reply gave it */
	uint64_t offset;	  /* of a lease: bytes that the call which asks takes itself */
	uint64_t length;
	int64_t result; /* bytes moved, or negative errno */
	int64_t ended;	/* SL_SLOT_SELF: when the client was done, CLOCK_MONOTONIC ns */
};

struct sl_segment {
	_Alignas(64) _Atomic uint64_t posted[SL_SHM_WORKERS]; /* bit i: slot i is for this worker */
	_Atomic uint32_t moved; /* changes when the client should ask where it belongs */
	struct sl_lease lease;
	_Alignas(64) struct sl_slot_shm slot[SL_SHM_SLOTS];
	/* then, from SL_SEGMENT_DATA on, SL_SHM_SLOT_BYTES for each slot */
};

#define SL_SEGMENT_DATA	 ((sizeof(struct sl_segment) + 4095) & ~(size_t)4095)
#define SL_SEGMENT_BYTES (SL_SEGMENT_DATA + (size_t)SL_SHM_SLOTS * SL_SHM_SLOT_BYTES)

struct sl_bell {
	_Alignas(64) _Atomic uint32_t rings; /* a futex: changes with every wake-up */
	_Atomic uint32_t sleeping;
	_Atomic uint32_t executing; /* inside a system call that may take long */
	_Alignas(64) _Atomic uint64_t ready[SL_SHM_CLIENTS / 64]; /* clients that have posted */
};

struct sl_bells {
	_Alignas(64) _Atomic uint32_t hungry; /* the node wants to know what has been done */
	_Atomic uint32_t calm; /* sl_calm_job() of the one that is alone, and wants leases; or 0 */
	struct sl_bell bell[SL_SHM_WORKERS];
	uint8_t worker[SL_SHM_CPUS]; /* for a client on this CPU */
};

/* Not 0. Should two jobs have the same, one may have leases where it gains nothing by them. */
static inline uint32_t sl_calm_job(uint64_t number)
{
	return (uint32_t)number | 1;
}

static inline unsigned char *sl_slot_data(struct sl_segment *seg, unsigned slot)
{
	return (unsigned char *)seg + SL_SEGMENT_DATA + (size_t)slot * SL_SHM_SLOT_BYTES;
}

#endif
