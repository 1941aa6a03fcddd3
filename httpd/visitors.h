/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of the HTTP server, and who has to go when there are too many. Connections are few,
 * so somebody who opens them and then sends or reads a byte now and then could keep everybody else
 * out (Slowloris). Therefore the newest one always comes in, and the one that goes is of the
 * *party* that has most: of a remote address, or, on this machine, of a user. Of that party it is
 * the oldest one that has not asked yet; else the oldest that is being answered; a stream of events
 * last.
 *
 *	8 at most; mallory has 7 that say nothing, prometheus 1; carol comes:
 *	mallory's oldest goes. Mallory comes again: the same. Nobody else has to go.
 *
 * A request that is not complete after VISITOR_ASKS_NS, or an answer that is not taken after
 * VISITOR_ANSWER_NS, ends its connection also without a crowd.
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
