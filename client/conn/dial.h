/* SPDX-License-Identifier: Apache-2.0 */
/* A socket to a node, the greeting, and frames over it: see dial.c. */
#ifndef SL_CLIENT_CONN_DIAL_H
#define SL_CLIENT_CONN_DIAL_H

#include "client/conn/connect.h"

#define REFUSAL_BYTES 128

/*
 * A socket connected to a path or tcp:HOST:PORT. -ENOTCONN: nobody answers there; any other error
 * is that of this process, which has no descriptor or memory left.
 */
int dial_socket(const char *address);
/*
 * HELLO and WELCOME: fills in *c. -ENOTCONN and others as above; positive: the errno with which
 * the node refused us, and `refusal` says why.
 */
int dial_greet(struct conn *c, char refusal[REFUSAL_BYTES]);
/*
 * Send bytes, with a descriptor if fd >= 0. -ENOTCONN: the connection is gone; any other error:
 * nothing has been sent, and the connection is as it was.
 */
int dial_send(int sock, const void *bytes, size_t length, int fd);
/*
 * One line of text over the connection, and its answer into `text`, 0-terminated. The lock is
 * held, or no other thread knows the connection yet. The status of the reply, or -ENOTCONN.
 */
int dial_ask(struct conn *c, const char *line, char *text, size_t size);
/*
 * Over a Unix socket: receive exactly length bytes of the node's answer, after the greeting.
 * Waits as long as the node lives; the lock is held. -ENOTCONN.
 */
int dial_receive(const struct conn *c, void *bytes, size_t length);

#endif
