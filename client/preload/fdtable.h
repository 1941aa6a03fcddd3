/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the preloaded library knows of each descriptor number of this process: see fdtable.c.
 *
 * Nothing here waits or locks: when two threads get into each other's way, one of them does not
 * get the entry and passes its call on to the kernel, which is correct and merely unscheduled.
 */
#ifndef SL_CLIENT_PRELOAD_FDTABLE_H
#define SL_CLIENT_PRELOAD_FDTABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/conn/client.h"

enum sl_fd_state {
	SL_FD_UNKNOWN, /* to be looked at when data is moved */
	SL_FD_PASS,    /* not ours: every call goes to the kernel */
	SL_FD_BUSY,    /* a thread is changing the entry */
	SL_FD_MANAGED, /* a file beneath the root: `remote` is valid */
	SL_FD_DOOMED,  /* closed while calls were under way: the last of them tells the node */
};

struct sl_fd {
	_Alignas(64) _Atomic uint64_t word; /* state, users, process, version: fdtable.c */
	struct sl_remote remote;	    /* constant while held, but for its node reference */
};

bool sl_fd_passes(int fd); /* its state is PASS; holds nothing */
/*
 * The state of a number. If it is MANAGED, *entry is held for the caller until sl_fd_release():
 * what it says of the descriptor stays, even if the number is closed meanwhile.
 */
enum sl_fd_state sl_fd_hold(int fd, struct sl_fd **entry);
void sl_fd_release(struct sl_fd *entry);
/*
 * Take an UNKNOWN number for finding out what it is. False: somebody else does just that, or the
 * number is beyond the table, or this is the child of a vfork, which must not write into the
 * table of its parent. Must be followed by sl_fd_settle().
 */
bool sl_fd_claim(int fd, struct sl_fd **entry, uint64_t *ticket);
/*
 * Enter the outcome: UNKNOWN, PASS, or MANAGED with what is in *remote; then the entry is held.
 * False: the number was closed meanwhile, and the outcome is of no use.
 */
bool sl_fd_settle(struct sl_fd *entry, uint64_t ticket, enum sl_fd_state state,
		  const struct sl_remote *remote);
/* The number is being closed, or means something else from now on. */
void sl_fd_forget(int fd);
void sl_fd_forget_range(unsigned first, unsigned last);
/* False in the child of a vfork: memory is shared with the parent, descriptors are not. */
bool sl_fd_own_process(void);

#endif
