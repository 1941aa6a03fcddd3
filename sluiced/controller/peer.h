/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the controller: see peer.c. */
#ifndef SL_SLUICED_CONTROLLER_PEER_H
#define SL_SLUICED_CONTROLLER_PEER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/secret.h"
#include "wire/auth.h"

#define PEER_TICK_NS INT64_C(500000000)

struct peer {
	struct peers *all;
	int sock;
	bool unix_socket, known;  /* known: it has said HELLO, if it has to */
	bool greeted, challenged; /* over TCP, after HELLO, of which these are payload and answer */
	bool sealed;		  /* all that comes and goes is */
	char *credential;	  /* until it is open */
	char secret[SL_SECRET_BYTES]; /* that it has to know */
	uint64_t number;	      /* none other has it, or had it */
	struct sl_session session;
	unsigned char hello[SL_HELLO_BYTES], nonce[SL_NONCE_BYTES];
	int node;		     /* index in the brain, or -1 */
	bool ionode;		     /* it has reported as one, whether it was listened to or not */
	bool turned_out;	     /* its end is near */
	bool watched;		     /* for room to send, too */
	bool late;		     /* there are newer orders than it was sent */
	unsigned age, silent, stuck; /* ticks: since it came, was heard, took something */
	size_t have, in_want, sent, out_length; /* in_want: bytes of the frame that comes */
	unsigned char *in;
	char *out; /* what it has not taken yet, from `sent` on */
	struct peer *next;
};

struct peers {
	int epoll_fd;
	struct peer *first; /* the newest */
	unsigned strangers; /* that are not known */
	uint64_t count;	    /* so many there were */
	void *owner;
};

/* Of those that wait at the socket, one; it is in the list, unless it may not come. */
void peer_accept(struct peers *all, int listen_fd, bool unix_socket);
void peer_free(struct peer *p);
/* It has said who it is, and may. */
void peer_known(struct peer *p);

/* HELLO over TCP has come: it is kept. */
int peer_hello(struct peer *p, const char *hello);
/* Answer it with a proof and ask for one. */
int peer_challenge(struct peer *p, const char *secret);
/* Whether it does; then frames are sealed from now on. */
bool peer_proves(struct peer *p, const char *proof);

/* All that has come; a frame's payload has a 0 behind it. 0, or -errno: it is to be hung up. */
int peer_input(struct peer *p,
	       int (*frame)(struct peer *p, const struct sl_frame *f, char *payload));

/* Answer a frame, or NULL: of one's own accord. It is sent when the peer takes it; 0 or -errno. */
int peer_reply(struct peer *p, const struct sl_frame *to, int status, const char *text,
	       size_t length);
/* More of what waits. */
int peer_output(struct peer *p);
bool peer_waits(const struct peer *p);

/* Every PEER_TICK_NS; NULL, or why it is to be hung up. */
const char *peer_tick(struct peer *p);

#endif
