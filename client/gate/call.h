/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a caught call is going to move: which files of the layer, in which direction, how much.
 */
#ifndef SL_GATE_CALL_H
#define SL_GATE_CALL_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/conn/turn.h"

struct gate_work {
	uint64_t bytes[2];	 /* by enum sl_op: of files of the layer */
	uint64_t unseen;	 /* bytes that cannot be held: mappings, files we may not look at */
	struct turn_place place; /* of the first file */
	bool nowait;		 /* the program does not want to wait */
};

/* Looks at the files of the process in /proc. Nothing of the layer: all are 0. */
void gate_work_of(const struct seccomp_notif *n, struct gate_work *out);

#endif
