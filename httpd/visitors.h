/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of the HTTP server, and which one to close when there are too many. The number is
 * limited, so a client that opens many and sends or reads a byte from time to time could lock out
 * others (Slowloris). Therefore a new connection is always accepted, and one of the *party* with
 * most connections is closed; a party is a remote address or, on this machine, a user. Of that
 * party it is the oldest connection without a request, else the oldest one that is being answered,
 * and a stream of events last.
 *
 *	8 at most; mallory has 7 that say nothing, prometheus 1; carol comes:
 *	mallory's oldest goes. Mallory comes again: the same. Nobody else has to go.
 *
 * A connection is also closed if its request is not complete after VISITOR_ASKS_NS, or its answer
 * not received after VISITOR_ANSWER_NS.
 *
 * No lock, no clock: the caller has both.
 */
#ifndef SL_HTTPD_VISITORS_H
#define SL_HTTPD_VISITORS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define VISITOR_ASKS_NS	  INT64_C(20000000000)
#define VISITOR_ANSWER_NS INT64_C(120000000000)

enum visitor_state { VISITOR_ASKS, VISITOR_ANSWERED, VISITOR_STREAM, VISITOR_STATES };

struct visitor {
	int sock;
	unsigned char address[16]; /* IPv4 is mapped; of IPv6 the network */
	uint32_t uid;		   /* whose process it is, on this machine; UINT32_MAX: not known */
	enum visitor_state state;
	int64_t since_ns; /* of that state */
	bool out;	  /* it was hung up on, and will be gone in a moment */
	struct visitor *next;
};

struct visitors {
	struct visitor *first;
	unsigned count; /* but those that are out */
};

/* Identifies the visitor by the socket: fills in address and uid. */
void visitor_identify(struct visitor *v, const struct sockaddr *peer);
void visitors_add(struct visitors *all, struct visitor *v);
void visitors_remove(struct visitors *all, struct visitor *v);
void visitor_is(struct visitor *v, enum visitor_state state, int64_t now_ns);
/* Hang up until there are `most` at most. */
void visitors_make_room(struct visitors *all, unsigned most);
/* Hang up on those that take too long. */
void visitors_hurry(struct visitors *all, int64_t now_ns);
/* Connections of its party in that state. */
unsigned visitors_like(const struct visitors *all, const struct visitor *v,
		       enum visitor_state state);

#endif
