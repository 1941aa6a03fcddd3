/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 as FIPS 180-4 defines it, and HMAC over it (RFC 2104), for the greeting of peers: some
 * hundred bytes for each connection, so the code is short rather than fast. It is not taken from a
 * library because it runs inside other programs, into which a preloaded library must not load
 * OpenSSL.
 *
 * A message is padded with 0x80, zeros and its length in bits to blocks of 64 bytes; each block is
 * mixed into eight words by 64 rounds. HMAC is H(key ^ 5c.. | H(key ^ 36.. | message)).
 */
#include "base/ds/sha256.h"

#include <string.h>

static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static inline uint32_t rotate(uint32_t x, int by)
{
	return x >> by | x << (32 - by);
}

static void mix(uint32_t state[8], const unsigned char *block)
{
	uint32_t w[64], v[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | (uint32_t)block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
	memcpy(v, state, sizeof(v));
	for (int i = 0; i < 64; i++) {
		uint32_t e = v[4], a = v[0];
		uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
			      ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
		uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
			      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

void sl_sha256_begin(struct sl_sha256 *s)
{
	*s = (struct sl_sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sl_sha256_add(struct sl_sha256 *s, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;

	while (length) {
		size_t have = s->length % sizeof(s->block), n = sizeof(s->block) - have;

		n = n < length ? n : length;
		memcpy(s->block + have, at, n);
		s->length += n;
		at += n;
		length -= n;
		if (have + n == sizeof(s->block))
			mix(s->state, s->block);
	}
}

void sl_sha256_end(struct sl_sha256 *s, unsigned char out[SL_SHA256_BYTES])
{
	uint64_t bits = s->length * 8;
	unsigned char tail[8];

	sl_sha256_add(s, "\x80", 1);
	while (s->length % sizeof(s->block) != sizeof(s->block) - sizeof(tail))
		sl_sha256_add(s, "", 1);
	for (int i = 0; i < 8; i++)
		tail[i] = (unsigned char)(bits >> (56 - 8 * i));
	sl_sha256_add(s, tail, sizeof(tail));
	for (int i = 0; i < SL_SHA256_BYTES; i++)
		out[i] = (unsigned char)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sl_hmac_begin(struct sl_hmac *h, const void *key, size_t length)
{
	unsigned char pad[64] = { 0 };

	if (length > sizeof(pad)) {
		sl_sha256_begin(&h->inner);
		sl_sha256_add(&h->inner, key, length);
		sl_sha256_end(&h->inner, pad);
	} else {
		memcpy(pad, key, length);
	}
	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36;
	sl_sha256_begin(&h->inner);
	sl_sha256_add(&h->inner, pad, sizeof(pad));
	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36 ^ 0x5c;
	sl_sha256_begin(&h->outer);
	sl_sha256_add(&h->outer, pad, sizeof(pad));
}

void sl_hmac_add(struct sl_hmac *h, const void *bytes, size_t length)
{
	sl_sha256_add(&h->inner, bytes, length);
}

void sl_hmac_end(struct sl_hmac *h, unsigned char out[SL_SHA256_BYTES])
{
	unsigned char inner[SL_SHA256_BYTES];

	sl_sha256_end(&h->inner, inner);
	sl_sha256_add(&h->outer, inner, sizeof(inner));
	sl_sha256_end(&h->outer, out);
}
