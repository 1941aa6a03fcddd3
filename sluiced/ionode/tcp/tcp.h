/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients over TCP, inside the node.
 *
 *	tcp.c     a loop: slots, connections, departures
 *	listen.c  who comes in; start and end
 *	stream.c  bytes in and out of one connection
 *	frame.c   what each frame means
 *	errand.c  what may block and is no data: open, fsync, size
 *
 * Who owns what. A connection belongs to one loop, and so do its slots; the thread that runs the
 * loop takes no lock for them. A slot, one frame on its way to its reply, is lent to the scheduler
 * and whoever executes it (INSIDE) or to the errand threads (ERRAND), and comes back through the
 * `done` of its loop (DONE), under the node's lock. Buffers are of all loops, with a lock.
 */
#ifndef SL_SLUICED_IONODE_TCP_TCP_H
#define SL_SLUICED_IONODE_TCP_TCP_H

#include <sys/socket.h>

#include "base/ds/list.h"
#include "base/secret.h"
#include "sluiced/ionode/node.h"
#include "wire/auth.h"

#define TCP_PEERS	4096
#define TCP_STRANGERS	256	   /* of these, before PROOF */
#define TCP_SLOTS	16	   /* frames of one peer that are not answered yet */
#define TCP_BUFFERS	128	   /* of SL_TCP_DATA_BYTES, for all peers */
#define TCP_CROWD	24	   /* busy peers, for each of which there are four of these */
#define TCP_LINE	8192	   /* longest control line, and 1 */
#define TCP_LOOPS	64	   /* at most; up to so many peers have one each */
#define TCP_READ_BYTES	(1U << 20) /* from one peer before the next has its turn */
#define TCP_ERRANDS	4	   /* threads */
#define TCP_ERRANDS_MAX 64	   /* if some do not come back */

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
	struct tcp_loop *loop;
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
	bool busy, counted;	/* it has read or written since the last tick; it is in tcp->busy */
	uint32_t used, buffers; /* slots that are not free; buffers in them */
	sl_time since;		/* the frame being received, or the connection, began */
	sl_time out_since;	/* the first reply became the first */
	struct tcp_slot *receiving;
	struct tcp_slot *stale; /* that came with a stamp that is too old: frame.c */
	unsigned stale_ticks;	/* for so long there was some */
	size_t received;
	size_t budget;		/* to be received before others have their turn */
	bool drained, short_of; /* nothing more is there; the rest of a payload is waited for */
	bool small;		/* its last request was no piece of a longer call */
	bool sleeps;		/* the next look at its socket may sleep */
	uint32_t held;		/* replies that have not been tried to send */
	struct tcp_slot *out, **out_end;
	size_t have; /* in `in` */
	unsigned char in[SL_SEALED_BYTES + TCP_LINE];
	struct tcp_slot slot[TCP_SLOTS];
	char name[64]; /* address */
};

/*
 * A thread and its connections. The front is one, too: it accepts, and has those who have not
 * proved yet who they are. Then they move to another loop.
 */
struct tcp_loop {
	struct tcp *tcp;
	int event_fd, epoll_fd;
	struct sl_list peers, waiting;
	atomic_uint peers_count;
	bool freed, reading, starved; /* starved: one waits for a buffer that others have */
	bool added;		      /* a request to the scheduler, since it last executed */
	struct tcp_peer *to_flush;
	unsigned char *spare; /* a buffer that it has just used */
	/* Under the node's lock, the last first: what has come back, who comes in. */
	struct tcp_slot *done;
	struct tcp_peer *arrived;
	/* Who runs it, and whether that thread is in a file system since then: tcp.c. */
	_Atomic uint32_t runner;
	_Atomic int64_t since;
	_Atomic pid_t tid;
};

struct tcp {
	struct node *node;
	int listen_fd, root_fd;
	char name[96]; /* where others reach it: HOST:PORT */
	pthread_t errand_thread[TCP_ERRANDS_MAX];
	atomic_bool stop, pause;
	atomic_uint running, reading; /* loops that have not ended; those that read */
	atomic_uint busy;	      /* peers of all loops that read or write */
	char secret[SL_SECRET_BYTES];
	struct tcp_loop front, loop[TCP_LOOPS];
	uint32_t loops;	     /* that have been started; the front's */
	atomic_uint runners; /* numbers given to threads */
	uint32_t strangers_count;
	bool full;		   /* no descriptors: do not accept for a while */
	atomic_uint logged;	   /* lines about refused peers in this second */
	pthread_mutex_t pool_lock; /* over these: */
	unsigned char *memory, *buffer[TCP_BUFFERS];
	atomic_uint buffers; /* free ones */

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
/* And clients are told that all others were not begun. False: a loop is stuck in a file system. */
bool tcp_stop(struct node *n);
int tcp_loop_init(struct tcp *t, struct tcp_loop *l);
void tcp_wake(const struct tcp_loop *l);
/* The front: a connection; one of the strangers goes; one that has proved who it is moves on. */
void tcp_accept(struct tcp *t);
bool tcp_drop_stranger(struct tcp *t);
void tcp_listen(struct tcp *t, bool on);
int tcp_move_on(struct tcp *t, struct tcp_peer *p);

/* tcp.c */
void *tcp_main(void *tcp);		/* the front's thread */
int tcp_loop_start(struct tcp_loop *l); /* one more thread, if it has none that answers */
void tcp_hang_up(struct tcp_loop *l, struct tcp_peer *p, int error);
void tcp_slot_free(struct tcp_loop *l, struct tcp_slot *s);
void tcp_buffer_free(struct tcp_loop *l, struct tcp_slot *s);
void tcp_log_refused(struct tcp_peer *p, const char *why); /* so many a second */
void tcp_done(struct tcp_slot *s); /* give a slot back; the node's lock is held */

/* stream.c; negative errno: hang up */
/* The slot has come back with this result: queue its reply. */
void tcp_reply(struct tcp_slot *s, int64_t result, char *text);
/* A frame that is no answer: the node stops, or only a stamp. Its bytes. */
size_t tcp_unasked(struct tcp_peer *p, uint64_t tag, int status,
		   unsigned char head[SL_SEALED_BYTES]);
int tcp_flush(struct tcp_loop *l, struct tcp_peer *p);
/* 1: a request is in the scheduler; there may be more to read. */
int tcp_input(struct tcp_loop *l, struct tcp_peer *p);
bool tcp_more_comes(const struct tcp_peer *p); /* a frame is under way: replies may wait for it */
void tcp_watch(struct tcp_loop *l, struct tcp_peer *p); /* for what it is ready for now */
bool tcp_alone(const struct tcp_peer *p); /* its loop has no other: calls on its socket may sleep */

/* frame.c */
/* A header has come, and its payload too unless that is data. 0: go on; 1: not now, no room. */
int tcp_frame(struct tcp_loop *l, struct tcp_peer *p, const struct sl_frame *f,
	      unsigned char *payload);
/* All of it has come. */
void tcp_begin(struct tcp_loop *l, struct tcp_slot *s);
/* Begin with what was stale, if the lease is valid by now; or have it sent again, and make room. */
void tcp_refreshed(struct tcp_loop *l, struct tcp_peer *p);
void tcp_give_back_stale(struct tcp_peer *p);
extern const struct node_transport node_tcp;

/* errand.c */
int tcp_errands_start(struct tcp *t);
void tcp_errands_stop(struct tcp *t);
void tcp_errands_tick(struct tcp *t); /* every second */
void tcp_errand(struct tcp *t, struct tcp_slot *s);

#endif
