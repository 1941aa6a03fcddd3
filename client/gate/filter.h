/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's seccomp filter: which system calls wait for the supervisor, and whether this process
 * is behind a gate. client/gate/main.c has the whole picture.
 */
#ifndef SL_GATE_FILTER_H
#define SL_GATE_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "sluice.h"

/* What a caught call looks like. */
enum gate_shape {
	GATE_ONE,      /* fd, buffer, length */
	GATE_ONE_AT,   /* the same, and an offset */
	GATE_MANY,     /* fd, vectors, their number */
	GATE_MANY_AT,  /* the same, and an offset */
	GATE_MANY_AT2, /* the same, and flags */
	GATE_SENDFILE, /* out, in, offset, length */
	GATE_COPY,     /* in, offset, out, offset, length: copy_file_range and splice */
	GATE_SUBMIT,   /* context, number, control blocks */
	GATE_MAP,      /* address, length, protection, flags, fd, offset */
};

/* Numbers by ABI: native, x32 (without its bit) and i386. */
struct gate_call {
	int native, x32, i386;
	uint8_t shape; /* enum gate_shape */
	uint8_t op;    /* enum sl_op; of the shapes of one file */
};

/* The caught call; NULL: it is none. small: the program's pointers have 32 bits. */
const struct gate_call *gate_call_of(uint32_t arch, int number, bool *small);

/* What this kernel can do. */
struct gate_kernel {
	bool notify;   /* Linux 5.9: everything that a gate needs */
	bool killable; /* 5.19: signals do not end the wait */
};
void gate_kernel(struct gate_kernel *k);

enum { GATE_URING = 1 }; /* io_uring is allowed, and not seen */
/*
 * Put a gate before this process and all its children, for good. The listener, or negative errno;
 * -EBUSY: there is a listener already. Sets no_new_privs unless the process may do without.
 */
int gate_install(unsigned options);
/* Whether this process is behind a gate of Sluice. */
bool gate_is_on(void);
/* Have the supervisor run on the CPU of the program; false: the kernel cannot (before Linux 6.6).
 */
bool gate_sync_wake_up(int listener);

#endif
