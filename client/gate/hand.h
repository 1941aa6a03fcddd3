/* SPDX-License-Identifier: Apache-2.0 */
/* Putting a gate before this process: its keepers are started, and get the filter's listener. */
#ifndef SL_GATE_HAND_H
#define SL_GATE_HAND_H

#include <sys/types.h>

/* As fork(), but no signal is sent when it ends: the program may wait for SIGCHLD. */
pid_t gate_fork(void);
/*
 * For a child of gate_fork() that does not return: it becomes the spare at one socket, and starts
 * the keeper at the other. Each sends a byte when it is ready, and one when it has the listener.
 */
typedef void gate_keepers(int keeper, int spare, void *arg);
/*
 * Put a gate before this process. options: of gate_install(). 0: it is there, or there was one
 * before. Negative errno: there is none, and the process is as it was.
 */
int gate_put_on(unsigned options, gate_keepers *keepers, void *arg);

/* The keeper's side: the listener, or -1 if there is to be none. */
int gate_receive(int sock);

#endif
