/* SPDX-License-Identifier: Apache-2.0 */
/* The way to a node on another machine: TCP. See tcp.c. */
#ifndef SL_CLIENT_TCP_H
#define SL_CLIENT_TCP_H

#include "client/connect.h"

extern const struct transport conn_tcp;

/* Connect to HOST:PORT: a socket, or negative errno. Waits up to timeout_s. */
int tcp_dial(const char *address, int timeout_s);
/* After the greeting: how long to wait for a peer is decided by tcp_silent() from now on. */
void tcp_settle(int sock);
/* True if the other machine has not been heard of for long; false if it merely has no answer yet.
 */
bool tcp_silent(int sock);
/* The node's fsync of this file, 0: of all there are; 0, GONE, or negative errno. */
int tcp_sync(struct conn *c, uint64_t file, bool data_only);

/*
 * sync.c: the node has taken data of this file and not synced it. The lock is held. False: that
 * cannot be remembered, and it has to be synced now.
 */
bool sync_note_write(const struct sl_remote *r, uint64_t epoch);
/* This node is about to be left for another: have it sync what it has taken. The lock is held. */
void sync_leave(struct conn *c);

#endif
