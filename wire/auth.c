/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The greeting over TCP, and the seals of frames.
 *
 *	client                                    node
 *	HELLO, with a nonce            ──────►
 *	                               ◄──────    CHALLENGE: nonce, proof of the node
 *	PROOF: proof of the client     ──────►
 *	                               ◄──────    WELCOME, sealed; all that follows is sealed
 *
 * A proof is HMAC-SHA-256 with the secret as key over a label of the side, the payload of HELLO and
 * the node's nonce. The node proves first: an attacker that has taken the port of a dead node gets
 * only a HELLO (the name of the job, process id, limits) and a random number, but no usable proof.
 * Labels differ, so a side's proof cannot be reflected to it. Both nonces are in each proof, so a
 * proof is useless in another connection.
 *
 * An attacker who gets a CHALLENGE can test guessed secrets against that proof offline. So a secret
 * must be random, like the one that `sluice up` makes (2^144 possibilities).
 *
 * The session's keys come from the same HMAC with a third label, one of 128 bits for each
 * direction. The seal of a frame is SipHash-2-4 over the header, the stamp, the number of the frame
 * in its direction, and the SipHash of the payload, unless that is file data. So an attacker on the
 * network cannot change, drop, repeat or reorder requests and answers, or redirect data. File data
 * itself is not protected against an attacker who can change packets, and nothing is encrypted.
 */
#include "wire/auth.h"

#include <string.h>

#include "base/ds/sha256.h"
#include "base/ds/siphash.h"

static void keyed(const char *secret, const char *label, const unsigned char hello[SL_HELLO_BYTES],
		  const unsigned char nonce[SL_NONCE_BYTES], unsigned char out[SL_PROOF_BYTES])
{
	struct sl_hmac h;

	sl_hmac_begin(&h, secret, strlen(secret));
	sl_hmac_add(&h, label, strlen(label) + 1);
	sl_hmac_add(&h, hello, SL_HELLO_BYTES);
	sl_hmac_add(&h, nonce, SL_NONCE_BYTES);
	sl_hmac_end(&h, out);
}

void sl_auth_proof(const char *secret, enum sl_side side, const unsigned char hello[SL_HELLO_BYTES],
		   const unsigned char nonce[SL_NONCE_BYTES], unsigned char proof[SL_PROOF_BYTES])
{
	keyed(secret, side == SL_SIDE_NODE ? "sluice 4 node" : "sluice 4 client", hello, nonce,
	      proof);
}

bool sl_auth_equal(const unsigned char a[SL_PROOF_BYTES], const unsigned char b[SL_PROOF_BYTES])
{
	volatile unsigned char differ = 0;

	for (int i = 0; i < SL_PROOF_BYTES; i++)
		differ = (unsigned char)(differ | (unsigned char)(a[i] ^ b[i]));
	return differ == 0;
}

static uint64_t word(const unsigned char *at)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

static void put(unsigned char *at, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		at[i] = (unsigned char)(value >> 8 * i);
}

void sl_auth_session(const char *secret, enum sl_side side,
		     const unsigned char hello[SL_HELLO_BYTES],
		     const unsigned char nonce[SL_NONCE_BYTES], struct sl_session *s)
{
	unsigned char keys[SL_PROOF_BYTES];
	struct sl_seal of[2];

	keyed(secret, "sluice 4 keys", hello, nonce, keys);
	for (int i = 0; i < 2; i++)
		of[i] = (struct sl_seal){ .key = { word(keys + 16 * i), word(keys + 16 * i + 8) } };
	s->out = of[side == SL_SIDE_NODE];
	s->in = of[side != SL_SIDE_NODE];
}

bool sl_seal_covers(const struct sl_frame *f)
{
	return f->type != SL_PWRITE && !(f->type == SL_REPLY && f->flags & SL_F_DATA);
}

static uint64_t seal_of(const struct sl_seal *s, const unsigned char head[SL_SEALED_BYTES],
			const void *payload, size_t length)
{
	/* A different key for the payload, so that a payload cannot pass as a header. */
	const uint64_t inner[2] = { s->key[0] ^ UINT64_C(0x5c5c5c5c5c5c5c5c),
				    s->key[1] ^ UINT64_C(0x3636363636363636) };
	unsigned char all[SL_FRAME_BYTES + 3 * 8];

	memcpy(all, head, SL_FRAME_BYTES + 8);
	put(all + SL_FRAME_BYTES + 8, s->count);
	put(all + SL_FRAME_BYTES + 16, payload ? sl_siphash(inner, payload, length) : 0);
	return sl_siphash(s->key, all, sizeof(all));
}

void sl_seal(struct sl_seal *s, unsigned char head[SL_SEALED_BYTES], uint64_t stamp,
	     const void *payload, size_t length)
{
	put(head + SL_FRAME_BYTES, stamp);
	put(head + SL_FRAME_BYTES + 8, seal_of(s, head, payload, length));
	s->count++;
}

bool sl_unseal(const struct sl_seal *s, const unsigned char head[SL_SEALED_BYTES],
	       const void *payload, size_t length, uint64_t *stamp)
{
	*stamp = word(head + SL_FRAME_BYTES);
	return word(head + SL_FRAME_BYTES + 8) == seal_of(s, head, payload, length);
}
