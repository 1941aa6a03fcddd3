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
/* The node's fsync of this file; 0, GONE, or negative errno. */
int tcp_sync(struct conn *c, uint64_t file, bool data_only);

/*
 * Data that a node has taken and not synced yet, by file and by the node's life.
 * The lock of the connection is held.
 */
void tcp_note_write(const struct sl_remote *r, uint64_t epoch);
/* Whether data of this file may be lost if the node's life is this one now (0: it has none). */
bool tcp_lost(const struct sl_remote *r, uint64_t epoch);
bool tcp_unsynced(const struct sl_remote *r);
void tcp_note_synced(const struct sl_remote *r);

#endif
