/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of the shared segment: posting to them and waiting for them; client.c. */
#ifndef SL_CLIENT_CONN_SLOTS_H
#define SL_CLIENT_CONN_SLOTS_H

#include "client/conn/connect.h"

#define PIECES 8

/* Part of a transfer, in a slot. */
struct piece {
	size_t at; /* in the transfer */
	size_t length;
	int64_t moved; /* when it is over */
	int slot;
	bool over;
};

/* The pieces under way, oldest first, in a ring. */
struct pieces {
	struct piece piece[PIECES];
	unsigned first, count;
	int leader; /* slot on whose signal we wait */
};

int64_t slots_now_ns(void);
/* A free slot, or -1; slot_wait() waits for one, and gives -1 when there will be none. */
int slot_try(struct conn *c);
int slot_wait(struct conn *c);
void slot_free(struct conn *c, int slot);
/* What is in the slot is for the node from now on. */
void slot_post(struct conn *c, int slot);
/* A piece that the node has answered; NULL: the node is gone. */
struct piece *slots_await(struct conn *c, struct pieces *p);

#endif
