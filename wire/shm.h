/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forwarding on one machine: shared memory and doorbells.
 *
 * A program whose I/O a node executes has a *segment*, created and sealed by the node: slots, each
 * with a request and a buffer for its data. The client owns a slot while it is FREE or DONE. It
 * fills it in, sets it to POSTED, and rings the bell of the node's worker for its own CPU, so the
 * hand-over is a switch on one CPU and not a wake-up of another CPU. Then the node owns the slot
 * until it sets it to DONE. A client with several slots in flight waits on the `signal` of one of
 * them, the leader, as a futex.
 *
 *	FREE ─► POSTED ─► DONE                the node has done it, or refused
 *
 * A write at an offset can be repeated if the node dies before it answers; an append cannot. So the
 * node sets the slot to RUNS when it begins an append. An append that is still POSTED when the node
 * has ended was not executed: the client sets it to FREE, and can post it to the next node.
 *
 * The *bells* are one small segment for all clients: for each worker a bit for each client that has
 * posted something to it, and what the worker is doing. The node does not trust this memory: it
 * copies a request out of its slot before it checks it.
 *
 * A client is one process. After fork() the child opens its own connection.
 */
#ifndef SL_WIRE_SHM_H
#define SL_WIRE_SHM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SL_SHM_SLOTS	  32 /* at most 64: a bit each */
#define SL_SHM_SLOT_BYTES (128U << 10)
#define SL_SHM_WORKERS	  64
#define SL_SHM_CLIENTS	  4096
#define SL_SHM_CPUS	  1024

enum sl_slot_state {
	SL_SLOT_FREE,
	SL_SLOT_POSTED,
	SL_SLOT_DONE,
	SL_SLOT_RUNS, /* an append: the node carries it out at this moment */
};

enum sl_slot_flags {
	SL_SLOT_APPEND = 1, /* as SL_F_APPEND */
};

struct sl_slot_shm {
	_Alignas(64) _Atomic uint32_t state; /* enum sl_slot_state */
	_Atomic uint32_t signal;  /* a futex: changes when a slot led by this one is answered */
	_Atomic uint32_t waiting; /* the client sleeps on signal */
	uint32_t leader;	  /* slot whose signal to set */
	uint32_t op;		  /* enum sl_op */
	uint32_t flags;		  /* enum sl_slot_flags */
	uint64_t file;		  /* reference, as OPEN's reply gave it */
	uint64_t offset;
	uint64_t length;
	int64_t result; /* bytes moved, or negative errno */
};

struct sl_segment {
	_Alignas(64) _Atomic uint64_t posted[SL_SHM_WORKERS]; /* bit i: slot i is for this worker */
	_Atomic uint32_t moved; /* changes when the client should ask where it belongs */
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
	struct sl_bell bell[SL_SHM_WORKERS];
	uint8_t worker[SL_SHM_CPUS]; /* for a client on this CPU */
};

static inline unsigned char *sl_slot_data(struct sl_segment *seg, unsigned slot)
{
	return (unsigned char *)seg + SL_SEGMENT_DATA + (size_t)slot * SL_SHM_SLOT_BYTES;
}

#endif
