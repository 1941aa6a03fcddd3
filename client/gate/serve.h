/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor of a gate and its keeper: see serve.c and keeper.c. */
#ifndef SL_GATE_SERVE_H
#define SL_GATE_SERVE_H

#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/gate/call.h"

#define GATE_SLOTS 16384 /* calls that the supervisor has received and not answered */

/*
 * Memory that the keeper and the supervisor share. The kernel writes a caught call right into a
 * place of it: so the keeper finds every call that a supervisor received and did not answer,
 * wherever that was when it was killed.
 */
struct gate_shared {
	_Atomic uint64_t beats; /* the supervisor lives */
	_Atomic uint64_t past;	/* bytes of the layer that the keeper let go, not counted yet */
	struct gate_work work[GATE_SLOTS];
};

struct gate {
	int listener;
	size_t stride; /* of places */
	char *places;  /* GATE_SLOTS, each a struct seccomp_notif; id 0: none */
	struct gate_shared *shared;
};

static inline struct seccomp_notif *gate_place(const struct gate *g, unsigned slot)
{
	return (struct seccomp_notif *)(void *)(g->places + slot * g->stride);
}

bool gate_share(struct gate *g);		     /* make that memory */
bool gate_answer(const struct gate *g, uint64_t id); /* let the call go; false: it is no more */
bool gate_deserted(const struct gate *g, int timeout_ms); /* no process is behind it any more */

/* The supervisor. keeper: its parent, which may have been killed since. */
_Noreturn void gate_serve(struct gate *g, pid_t keeper);
/* The keeper, of a supervisor that is there already; 0: it starts one. */
_Noreturn void gate_keep(struct gate *g, pid_t supervisor);

#endif
