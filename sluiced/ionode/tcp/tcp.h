/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients over TCP, inside the node.
 *
 *	tcp.c     the thread: slots, connections, departures
 *	listen.c  its start and end
 *	stream.c  bytes in and out of one connection
 *	frame.c   what each frame means
 *	errand.c  what may block and is no data: open, fsync, size
 *
 * Who owns what. Everything in here belongs to the TCP thread, which takes no lock for it. A slot,
 * one frame on its way to its reply, is lent to the scheduler and the workers (INSIDE) or to the
 * errand threads (ERRAND), and comes back through `done` (DONE), under the node's lock.
 */
#ifndef SL_SLUICED_IONODE_TCP_TCP_H
#define SL_SLUICED_IONODE_TCP_TCP_H

#include <sys/socket.h>

#include "base/ds/list.h"
#include "base/secret.h"
#include "sluiced/ionode/node.h"
#include "wire/auth.h"

#define TCP_PEERS	4096
#define TCP_STRANGERS	256  /* of these, before PROOF */
#define TCP_SLOTS	16   /* frames of one peer that are not answered yet */
#define TCP_BUFFERS	256  /* of SL_TCP_DATA_BYTES, for all peers */
#define TCP_LINE	8192 /* longest control line, and 1 */
#define TCP_ERRANDS	4    /* threads */
#define TCP_ERRANDS_MAX 64   /* if some do not come back */

struct tcp_peer;

enum tcp_where { TCP_RECEIVING, TCP_INSIDE, TCP_ERRAND, TCP_DONE, TCP_REPLY };

struct tcp_slot {
	struct tcp_peer *peer;
	struct tcp_slot *next; /* in the queue that it is in */
	bool used;
	enum tcp_where where;  /* changed by other threads under the node's lock only */
	struct sl_frame f;     /* the request */
	unsigned char *buffer; /* NULL: it has none */
	int64_t result;	       /* of an errand: a reference, 0, or negative errno */
	char *text;	       /* payload of the reply, malloc'ed, if that is not in the buffer */
	size_t length, sent;   /* of the reply: payload, and bytes of all that are sent */
	size_t head_bytes;
	unsigned char head[SL_SEALED_BYTES];
};

struct tcp_peer {
	struct tcp *tcp;
	struct sl_list link;	/* strangers or peers */
	struct sl_list waiting; /* for a slot or a buffer, when paused */
	struct tcp_peer *next;	/* to be flushed */
	struct client *client;	/* after PROOF; its frames are sealed from then on */
	bool challenged;	/* after HELLO, of which these are payload and answer: */
	unsigned char hello[SL_HELLO_BYTES], nonce[SL_NONCE_BYTES];
	struct sl_session session;
	int sock;
	uint32_t events; /* of epoll, as registered */
	bool paused, ending, gone, to_flush;
	uint32_t used, buffers; /* slots that are not free; buffers in them */
	sl_time since;		/* the frame being received, or the connection, began */
	sl_time out_since;	/* the first reply became the first */
	struct tcp_slot *receiving;
	size_t received;
	struct tcp_slot *out, **out_end;
	size_t have; /* in `in` */
	unsigned char in[SL_SEALED_BYTES + TCP_LINE];
	struct tcp_slot slot[TCP_SLOTS];
	char name[64]; /* address */
};

struct tcp {
	struct node *node;
	int listen_fd, event_fd, epoll_fd, root_fd;
	char name[96]; /* where others reach it: HOST:PORT */
	pthread_t thread, errand_thread[TCP_ERRANDS_MAX];
	atomic_bool stop, pause, quiet; /* quiet: what is inside is all there will be */
	char secret[SL_SECRET_BYTES];
	struct tcp_slot *done; /* under the node's lock; the last first */

	struct sl_list strangers, peers, waiting;
	uint32_t strangers_count, peers_count;
	bool freed, reading, full; /* full: no descriptors, do not accept for a while */
	unsigned logged, unlogged; /* lines about refused peers in this second */
	struct tcp_peer *to_flush;
	unsigned char *memory, *buffer[TCP_BUFFERS];
	uint32_t buffers; /* free ones */

	pthread_mutex_t errand_lock;
	pthread_cond_t errand_some;
	struct tcp_slot *errand, **errand_end;
	bool errand_stop;
	uint32_t errands;		      /* threads that there are */
	uint64_t errands_taken, errands_seen; /* errands, and at the last tick */
};

/* listen.c */
int tcp_start(struct node *n);	/* as the configuration says; it says itself what is wrong */
void tcp_pause(struct node *n); /* no new requests from now on; those inside are still answered */
void tcp_stop(struct node *n);	/* and clients are told that all others were not begun */

/* tcp.c */
void *tcp_main(void *tcp);
void tcp_slot_free(struct tcp *t, struct tcp_slot *s);
void tcp_log_refused(struct tcp_peer *p, const char *why); /* so many a second */
void tcp_done(struct tcp *t, struct tcp_slot *s); /* give a slot back; the node's lock is held */

/* stream.c; negative errno: hang up */
/* The slot has come back with this result: queue its reply. */
void tcp_reply(struct tcp_slot *s, int64_t result, char *text);
/* A frame that says that the node stops: its bytes. */
size_t tcp_goodbye(struct tcp_peer *p, unsigned char head[SL_SEALED_BYTES]);
int tcp_flush(struct tcp *t, struct tcp_peer *p);
int tcp_input(struct tcp *t, struct tcp_peer *p);
void tcp_watch(struct tcp *t, struct tcp_peer *p); /* for what it is ready for now */

/* frame.c */
/* A header has come, and its payload too unless that is data. 0: go on; 1: not now, no room. */
int tcp_frame(struct tcp *t, struct tcp_peer *p, const struct sl_frame *f, unsigned char *payload);
/* All of it has come. */
void tcp_begin(struct tcp *t, struct tcp_slot *s);
/* Whether such a frame can be taken now: a slot is free, and a buffer if it needs one. */
bool tcp_room(const struct tcp *t, const struct tcp_peer *p, bool buffer);
extern const struct node_transport node_tcp;

/* errand.c */
int tcp_errands_start(struct tcp *t);
void tcp_errands_stop(struct tcp *t);
void tcp_errands_tick(struct tcp *t); /* every second */
void tcp_errand(struct tcp *t, struct tcp_slot *s);

#endif
