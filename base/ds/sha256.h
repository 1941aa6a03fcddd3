/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104) over memory; see sha256.c. */
#ifndef SL_DS_SHA256_H
#define SL_DS_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SL_SHA256_BYTES 32

struct sl_sha256 {
	uint32_t state[8];
	uint64_t length; /* bytes so far */
	unsigned char block[64];
};

void sl_sha256_begin(struct sl_sha256 *s);
void sl_sha256_add(struct sl_sha256 *s, const void *bytes, size_t length);
void sl_sha256_end(struct sl_sha256 *s, unsigned char out[SL_SHA256_BYTES]);

struct sl_hmac {
	struct sl_sha256 inner, outer;
};

void sl_hmac_begin(struct sl_hmac *h, const void *key, size_t length);
void sl_hmac_add(struct sl_hmac *h, const void *bytes, size_t length);
void sl_hmac_end(struct sl_hmac *h, unsigned char out[SL_SHA256_BYTES]);

#endif
