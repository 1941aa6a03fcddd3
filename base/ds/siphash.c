/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012): four
 * words of state, two rounds for each 8 bytes of the message, four at the end. About 1.5 cycles for
 * a byte, so it is for headers and short texts and not for data.
 */
#include "base/ds/siphash.h"

static inline uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline void rounds(uint64_t v[4], int count)
{
	while (count--) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

static inline void take(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	rounds(v, 2);
	v[0] ^= word;
}

static inline uint64_t word_of(const unsigned char *at, size_t bytes)
{
	uint64_t word = 0;

	for (size_t i = 0; i < bytes; i++)
		word |= (uint64_t)at[i] << 8 * i;
	return word;
}

uint64_t sl_siphash(const uint64_t key[2], const void *bytes, size_t length)
{
	uint64_t v[4] = { key[0] ^ UINT64_C(0x736f6d6570736575),
			  key[1] ^ UINT64_C(0x646f72616e646f6d),
			  key[0] ^ UINT64_C(0x6c7967656e657261),
			  key[1] ^ UINT64_C(0x7465646279746573) };
	const unsigned char *at = bytes;
	size_t left = length;

	for (; left >= 8; at += 8, left -= 8)
		take(v, word_of(at, 8));
	take(v, word_of(at, left) | (uint64_t)length << 56);
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
