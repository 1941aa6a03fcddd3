/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers over TCP prove to each other that they know the secret of the layer, without sending it,
 * and seal their frames from then on. Pure: no I/O, no clock; nonces are arguments. See auth.c.
 */
#ifndef SL_WIRE_AUTH_H
#define SL_WIRE_AUTH_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/proto.h"

#define SL_SEAL_BYTES (SL_SEALED_BYTES - SL_FRAME_BYTES) /* stamp and seal */

enum sl_side { SL_SIDE_CLIENT, SL_SIDE_NODE };

/* The state of the seals of one direction of a connection. */
struct sl_seal {
	uint64_t key[2];
	uint64_t count; /* frames so far */
};

struct sl_session {
	struct sl_seal out, in;
};

/* Compute the proof of `side` that it knows the secret; hello: HELLO's payload as it was sent. */
void sl_auth_proof(const char *secret, enum sl_side side, const unsigned char hello[SL_HELLO_BYTES],
		   const unsigned char nonce[SL_NONCE_BYTES], unsigned char proof[SL_PROOF_BYTES]);
/* Compare in constant time. */
bool sl_auth_equal(const unsigned char a[SL_PROOF_BYTES], const unsigned char b[SL_PROOF_BYTES]);
/* The keys of this connection, as `side` uses them. */
void sl_auth_session(const char *secret, enum sl_side side,
		     const unsigned char hello[SL_HELLO_BYTES],
		     const unsigned char nonce[SL_NONCE_BYTES], struct sl_session *s);

/* Whether the seal of such a frame covers its payload too: all except file data. */
bool sl_seal_covers(const struct sl_frame *f);
/*
 * Append to the encoded header the stamp, and the seal over header, stamp, number of the frame and
 * payload (NULL if not covered). Counts the frame.
 */
void sl_seal(struct sl_seal *s, unsigned char head[SL_SEALED_BYTES], uint64_t stamp,
	     const void *payload, size_t length);
/*
 * Whether it is the next frame of the peer. Does not count it: the caller adds 1 when it accepts
 * it.
 */
bool sl_unseal(const struct sl_seal *s, const unsigned char head[SL_SEALED_BYTES],
	       const void *payload, size_t length, uint64_t *stamp);

/*
 * greet.c: the client's half of the greeting, over a socket that blocks and has timeouts. HELLO is
 * sent with a fresh nonce.
 *	0           both sides have proved it; WELCOME, or an answer to PROOF, is next
 *	-EACCES     the peer does not know the secret; it has learnt nothing
 *	-ENOTCONN   it is gone, or does not speak the protocol of a node
 *	positive    the status of a REPLY with which it refused; f->length bytes of text follow
 * sl_greet_as() takes the nonce that is in *h, and sends a credential before HELLO, "" for none.
 */
int sl_greet(int sock, struct sl_hello *h, const char *secret, struct sl_session *s,
	     struct sl_frame *f);
int sl_greet_as(int sock, const struct sl_hello *h, const char *credential, const char *secret,
		struct sl_session *s, struct sl_frame *f);
/* All of it; 0 or -ENOTCONN. */
int sl_greet_receive(int sock, void *bytes, size_t length);
int sl_nonce(unsigned char nonce[SL_NONCE_BYTES]); /* 0 or negative errno */

#endif
