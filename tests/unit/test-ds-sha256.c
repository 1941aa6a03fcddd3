/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/ds/sha256 and siphash: the vectors of FIPS 180-4, RFC 4231 and the paper on SipHash; and
 * messages in several parts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/ds/sha256.h"
#include "base/ds/siphash.h"

static void is(const unsigned char got[SL_SHA256_BYTES], const char *want)
{
	char text[2 * SL_SHA256_BYTES + 1];

	for (int i = 0; i < SL_SHA256_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", got[i]);
	assert_string_equal(text, want);
}

static void sha(const char *message, const char *want)
{
	unsigned char out[SL_SHA256_BYTES];
	struct sl_sha256 s;

	sl_sha256_begin(&s);
	sl_sha256_add(&s, message, strlen(message));
	sl_sha256_end(&s, out);
	is(out, want);
}

static void messages_of_the_standard(void **state)
{
	sha("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sha("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void a_million_in_parts_of_all_lengths(void **state)
{
	unsigned char out[SL_SHA256_BYTES];
	char part[200];
	struct sl_sha256 s;
	size_t left = 1000000;

	memset(part, 'a', sizeof(part));
	sl_sha256_begin(&s);
	for (size_t n = 0; left; n = (n + 1) % sizeof(part)) {
		size_t now = n < left ? n : left;

		sl_sha256_add(&s, part, now);
		left -= now;
	}
	sl_sha256_end(&s, out);
	is(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void mac(const void *key, size_t length, const char *message, const char *want)
{
	unsigned char out[SL_SHA256_BYTES];
	struct sl_hmac h;

	sl_hmac_begin(&h, key, length);
	sl_hmac_add(&h, message, 1);
	sl_hmac_add(&h, message + 1, strlen(message) - 1);
	sl_hmac_end(&h, out);
	is(out, want);
}

/* RFC 4231, cases 1, 2, 6 and 7. */
static void hmac_of_the_rfc(void **state)
{
	unsigned char key[131];

	memset(key, 0x0b, 20);
	mac(key, 20, "Hi There",
	    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	mac("Jefe", 4, "what do ya want for nothing?",
	    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	mac(key, sizeof(key), "Test Using Larger Than Block-Size Key - Hash Key First",
	    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	mac(key, sizeof(key),
	    "This is a test using a larger than block-size key and a larger than block-size data. "
	    "The key needs to be hashed before being used by the HMAC algorithm.",
	    "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

/* Key 00 01 .. 0f, message 00 01 .. n - 1: from the reference implementation. */
static void siphash_of_the_paper(void **state)
{
	static const uint64_t key[2] = { UINT64_C(0x0706050403020100),
					 UINT64_C(0x0f0e0d0c0b0a0908) };
	unsigned char message[16];

	for (unsigned i = 0; i < sizeof(message); i++)
		message[i] = (unsigned char)i;
	assert_int_equal(sl_siphash(key, message, 0), UINT64_C(0x726fdb47dd0e0e31));
	assert_int_equal(sl_siphash(key, message, 1), UINT64_C(0x74f839c593dc67fd));
	assert_int_equal(sl_siphash(key, message, 8), UINT64_C(0x93f5f5799a932462));
	assert_int_equal(sl_siphash(key, message, 15), UINT64_C(0xa129ca6149be45e5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_of_the_standard),
		cmocka_unit_test(a_million_in_parts_of_all_lengths),
		cmocka_unit_test(hmac_of_the_rfc),
		cmocka_unit_test(siphash_of_the_paper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
