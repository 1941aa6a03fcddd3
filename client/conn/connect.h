/* SPDX-License-Identifier: Apache-2.0 */
/* The connection of this process to its node; shared by all of its files. */
#ifndef SL_CLIENT_CONN_CONNECT_H
#define SL_CLIENT_CONN_CONNECT_H

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>

#include "client/conn/client.h"
#include "wire/auth.h"
#include "wire/proto.h"
#include "wire/shm.h"

#define FD_FLOOR 512 /* avoid small numbers, which programs may expect to be free */

/* Not errno values, because a file system could return any errno. */
#define GONE  INT_MIN	    /* the node */
#define AGAIN (INT_MIN + 1) /* nothing was done: try again, with the connection of then */
#define LATER (INT_MIN + 2) /* see struct transport */

struct conn;

/* A read or write on its way. */
struct transfer {
	const struct iovec *iov;
	size_t total, done; /* done: what has certainly been moved */
	off_t offset;
	uint32_t op;
	bool append;
	bool unknown;  /* an append was under way when the node was lost */
	int64_t since; /* approximately when it began to wait for a node; 0: it did not wait */
	int fd;	       /* the program's own */
	const struct sl_remote *remote;
};

#define PIECES 8 /* of a transfer, under way at once */

/* Part of a transfer. */
struct piece {
	size_t at; /* in the transfer */
	size_t length;
	int64_t moved; /* when it is over: bytes, or negative errno */
	uint64_t id;   /* slot or tag */
	bool over;
};

/* The pieces under way, oldest first, in a ring. */
struct pieces {
	struct piece piece[PIECES];
	unsigned first, count;
	int leader; /* shared memory: slot on whose signal we wait; -1: none yet */
};

/* A way to a node: shared memory (slots.c), TCP (tcp.c). Results: 0, negative errno, GONE. */
struct transport {
	bool far;	    /* the node may be on another machine, and we have a lease */
	unsigned pieces;    /* under way at once, at most PIECES */
	size_t piece_bytes; /* at most */
	/* Make the file known to the node, or forget it there. The lock is held. */
	int (*open)(struct conn *c, const struct sl_remote *r, int fd, uint64_t *file);
	int (*close)(struct conn *c, uint64_t file);
	/* Move what is left, by move_pieces(). 0: all moved, or the end of the file. */
	int (*move)(struct conn *c, uint64_t file, struct transfer *t);
	/* For move_pieces(): send this piece. LATER: only when another one has been answered. */
	int (*post)(struct conn *c, uint64_t file, struct transfer *t, struct pieces *p,
		    struct piece *piece);
	/* Finish an answered piece. skip: discard what was read. */
	int (*reap)(struct conn *c, struct transfer *t, struct pieces *p, bool skip);
};

struct conn {
	const struct transport *via;
	uint64_t life; /* number of this connection in this process, from 1 */
	uint64_t epoch;
	_Atomic int sock;
	uint64_t sock_ino; /* whether sock is still ours */
	uint32_t index, workers;
	uint32_t pid, process; /* whose it is: see conn_inherited() */
	atomic_uint users;
	atomic_bool lost;
	atomic_bool left;      /* for another node: current users may finish */
	char address[108];     /* to which it was made */
	uint32_t moved_seen;   /* segment->moved or told, when the node was last asked */
	_Atomic uint32_t told; /* over TCP: as segment->moved, from the last reply */
	struct sl_segment *segment;
	struct sl_bells *bells;
	_Atomic uint64_t free_slots;
	_Atomic uint32_t slot_waiters, slot_frees;
	_Atomic uint32_t crowded; /* waits to come that do not yield first */
	/* Over TCP: */
	struct sl_session session;
	uint64_t stamp;		       /* the newest of the node */
	int64_t heard, renewed, began; /* tcp_now(): when it came, was given back; of this call */
	int pending;		       /* bytes of answers that were there when we could not send */
	size_t have, held;	       /* in `in`: received and not used; in `out`: not sent */
	unsigned char in[SL_SEALED_BYTES];	     /* a header, or its beginning */
	unsigned char out[PIECES * SL_SEALED_BYTES]; /* headers of reads, which leave together */
	bool ended;				     /* the node is done with us */
	bool one_piece;				     /* at a time: the node is crowded */
	uint64_t tags;				     /* the last one used */
	bool phase; /* the node was told that the program is in a phase of I/O */
};

extern const struct transport conn_shm;

/* The lock over the connection's socket. Signals are blocked while it is held. */
void conn_lock(sigset_t *old);
void conn_unlock(const sigset_t *old);
/*
 * Between waits, with the lock held: let a pending signal without a handler end the program.
 */
void conn_let_end(void);
/* Whether a signal is pending; the lock is held. */
bool conn_signalled(void);
/*
 * True in a child that a signal handler has forked in the middle of our code: the connection is the
 * parent's, and the shared memory is empty.
 */
bool conn_inherited(const struct conn *c);
bool conn_ours(const struct conn *c); /* the number still is the connection's */
/* Over a Unix socket: pass the descriptor; and return when the node has closed it. */
int conn_pass(struct conn *c, const struct sl_remote *r, int fd, uint64_t *file);
int conn_take_back(struct conn *c, uint64_t file);
/* client.c: cut what is left of the transfer into pieces and move them; as transport->move(). */
int move_pieces(struct conn *c, uint64_t file, struct transfer *t, struct pieces *p);

/*
 * The connection, made if there is none; NULL with *error when the node cannot be reached within
 * the timeout: -EIO, or -ENOTCONN if fallback is direct. Give back with conn_put().
 */
struct conn *conn_get(int *error);
void conn_put(struct conn *c);
/*
 * Call f with a connection until it returns neither GONE nor AGAIN. Without a node, f is called
 * once more, with NULL and the error of conn_get().
 */
int conn_with(int (*f)(struct conn *c, int error, void *arg), void *arg);
/* The current one, or NULL if this process has none; given back in the same way. */
struct conn *conn_held(void);
/* The connection is broken: the next conn_get() makes another. */
void conn_lose(struct conn *c);
/* Calls under way may finish on it: the next conn_get() makes another. */
void conn_retire(struct conn *c);
bool conn_ready(void); /* conn_get() would not wait */
/* False only if the node has exited; a silent node counts as alive. */
bool conn_alive(struct conn *c);
/*
 * The file's reference in this connection into *file; opened at the node if it was not yet. GONE:
 * try again with another connection; any other error: the node does not take this file.
 */
int conn_open(struct conn *c, struct sl_remote *r, int fd, uint64_t *file);

#endif
