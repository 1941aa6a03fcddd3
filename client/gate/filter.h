/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's seccomp filter: which system calls wait for the supervisor, and whether this process
 * is behind a gate. client/gate/main.c has the whole picture, calls.c the table of calls.
 */
#ifndef SL_GATE_FILTER_H
#define SL_GATE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * With a gate that is not strict, data calls made from this address pass without the supervisor:
 * the preloaded library maps its system call there (stub.c) after it has waited for the turn
 * itself. A process has nothing else at that address, on x86-64 and with 39 bits on aarch64.
 */
#define GATE_STUB UINT64_C(0x5354550000)

/* What this kernel can do. */
struct gate_kernel {
	bool notify;   /* Linux 5.9: everything that a gate needs */
	bool killable; /* 5.19: signals do not end the wait */
};
void gate_kernel(struct gate_kernel *k);

enum {
	GATE_URING = 1,	 /* io_uring is allowed, and not seen */
	GATE_STRICT = 2, /* no call passes by its address, and metadata calls are caught */
	GATE_OPS = 4,	 /* metadata calls are caught */
};
/*
 * Put a gate before this process and all its children, for good. The listener, or negative errno;
 * -EBUSY: there is a listener already. Sets no_new_privs unless the process may do without.
 */
int gate_install(unsigned options);
/*
 * The filters of this thread become those of all threads of this process, which have had the same
 * ones or fewer. For a thread that has called gate_install(). 0, or negative errno.
 */
int gate_spread(void);

enum gate_state {
	GATE_OFF,
	GATE_ON,	/* catches data calls */
	GATE_ON_OPS,	/* and metadata calls */
	GATE_ON_STRICT, /* both, also those of the library */
};
/* Whether this process is behind a gate of Sluice. Keeps errno. */
enum gate_state gate_state(void);
/* Have the supervisor run on the CPU of the program; false: the kernel cannot (before Linux 6.6).
 */
bool gate_sync_wake_up(int listener);

#endif
