/* SPDX-License-Identifier: Apache-2.0 */
/*
 * splitmix64 (Steele, Lea and Flood 2014): random numbers of 64 bits from a state of 64, which may
 * be any number; the same state gives the same numbers for ever. Not for secrets.
 */
#ifndef SL_BASE_DS_RANDOM_H
#define SL_BASE_DS_RANDOM_H

#include <stdint.h>

#define SL_GOLDEN UINT64_C(0x9e3779b97f4a7c15) /* 2^64 over the golden ratio, odd */

/* A bijection that turns a difference of one bit into a difference of half of the bits. */
static inline uint64_t sl_mix64(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline uint64_t sl_splitmix64(uint64_t *state)
{
	return sl_mix64(*state += SL_GOLDEN);
}

/* From 0 to just below 1, in steps of 2^-53. */
static inline double sl_splitmix64_unit(uint64_t *state)
{
	return (double)(sl_splitmix64(state) >> 11) * 0x1p-53;
}

#endif
