/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-2-4: a keyed hash of 64 bits for short messages; see siphash.c. */
#ifndef SL_DS_SIPHASH_H
#define SL_DS_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t sl_siphash(const uint64_t key[2], const void *bytes, size_t length);

#endif
