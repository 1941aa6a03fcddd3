/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of I/O that the program declares: see phase.c. */
#ifndef SL_CLIENT_CONN_PHASE_H
#define SL_CLIENT_CONN_PHASE_H

#include "client/conn/connect.h"

/* Tell the node, if it does not know. The lock is held. A positive errno: its answer; -ENOTCONN. */
int phase_tell(struct conn *c);
void phase_forget(void); /* a child of fork() has none */

#endif
