/* SPDX-License-Identifier: Apache-2.0 */
/* The connection of this process to its node; shared by client.c and connect.c. */
#ifndef SL_CLIENT_CONNECT_H
#define SL_CLIENT_CONNECT_H

#include <stdatomic.h>

#include "client/client.h"
#include "wire/proto.h"
#include "wire/shm.h"

struct conn {
	uint64_t life; /* number of this connection in this process, from 1 */
	uint64_t epoch;
	_Atomic int sock;
	uint64_t sock_ino; /* whether sock is still ours */
	uint32_t index, workers;
	atomic_uint users;
	atomic_bool lost;
	struct sl_segment *segment;
	struct sl_bells *bells;
	_Atomic uint64_t free_slots;
	_Atomic uint32_t slot_waiters, slot_frees;
	_Atomic uint32_t crowded; /* waits to come that do not yield first */
};

/*
 * The connection, made if there is none; NULL with *error when the node cannot be reached within
 * the timeout: -EIO, or -ENOTCONN if fallback is direct. Give back with conn_put().
 */
struct conn *conn_get(int *error);
void conn_put(struct conn *c);
/* It is of no use any more: the next conn_get() makes another. */
void conn_lose(struct conn *c);
bool conn_alive(struct conn *c);
/* The file's reference in this connection into *file; opened at the node if it was not yet. */
int conn_open(struct conn *c, struct sl_remote *r, int fd, uint64_t *file);

#endif
