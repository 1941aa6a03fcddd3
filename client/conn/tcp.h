/* SPDX-License-Identifier: Apache-2.0 */
/* The way to a node on another machine: TCP. See tcp.c. */
#ifndef SL_CLIENT_CONN_TCP_H
#define SL_CLIENT_CONN_TCP_H

#include "client/conn/connect.h"

extern const struct transport conn_tcp;

/* Connect to HOST:PORT: a socket, or negative errno. Waits up to timeout_s. */
int tcp_dial(const char *address, int timeout_s);
int64_t tcp_now(void); /* CLOCK_BOOTTIME: leases run out while a machine sleeps, too */
/* After the greeting, with the stamp of WELCOME. */
void tcp_settle(struct conn *c, uint64_t stamp);

/* The lock is held for all that follows. GONE: the connection is lost, and the node is done with
 * us. */
/* One line of text, its answer into `text`, 0-terminated: the status, or GONE. */
int tcp_ask(struct conn *c, const char *line, char *text, size_t size);
/* Its size as the node has it: 0, GONE or negative errno. */
int tcp_size(struct conn *c, uint64_t file, uint64_t *size);
void tcp_abandon(struct conn *c);
/* The node's fsync of this file, 0: of all there are; 0, GONE, or negative errno. */
int tcp_sync(struct conn *c, uint64_t file, bool data_only);

/*
 * sync.c: the node has taken data of this file and not synced it. The lock is held. False: that
 * cannot be remembered, and it has to be synced now.
 */
bool sync_note_write(const struct sl_remote *r, uint64_t epoch);
/*
 * We are about to leave this node for another: have it sync the data that it took. The lock is
 * held.
 */
void sync_leave(struct conn *c);

#endif
