/* SPDX-License-Identifier: Apache-2.0 */
/* Handing a filter's listener over to its keeper, by a pair of sockets. */
#ifndef SL_GATE_HAND_H
#define SL_GATE_HAND_H

#include <stdbool.h>

/* The keeper's side: the listener, or -1 if there is to be none. */
int gate_receive(int sock);
/* The other side: wait for one byte, which says that the keeper has got so far. */
bool gate_ready(int sock);
/* Send the listener, and wait until the keeper has it. */
bool gate_hand_over(int sock, int listener);

#endif
