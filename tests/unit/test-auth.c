/* SPDX-License-Identifier: Apache-2.0 */
/* wire/auth: what proofs and seals depend on, which is everything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "wire/auth.h"

static unsigned char hello[SL_HELLO_BYTES], nonce[SL_NONCE_BYTES];

static void proofs_depend_on_secret_side_and_both_nonces(void **state)
{
	unsigned char first[SL_PROOF_BYTES], other[SL_PROOF_BYTES];

	sl_auth_proof("secret", SL_SIDE_NODE, hello, nonce, first);
	sl_auth_proof("secret", SL_SIDE_NODE, hello, nonce, other);
	assert_true(sl_auth_equal(first, other));
	sl_auth_proof("secret", SL_SIDE_CLIENT, hello, nonce, other);
	assert_false(sl_auth_equal(first, other));
	sl_auth_proof("secres", SL_SIDE_NODE, hello, nonce, other);
	assert_false(sl_auth_equal(first, other));
	for (int i = 0; i < SL_HELLO_BYTES; i++) {
		hello[i] ^= 1;
		sl_auth_proof("secret", SL_SIDE_NODE, hello, nonce, other);
		assert_false(sl_auth_equal(first, other));
		hello[i] ^= 1;
	}
	for (int i = 0; i < SL_NONCE_BYTES; i++) {
		nonce[i] ^= 0x80;
		sl_auth_proof("secret", SL_SIDE_NODE, hello, nonce, other);
		assert_false(sl_auth_equal(first, other));
		nonce[i] ^= 0x80;
	}
}

static void what_one_side_seals_the_other_opens(void **state)
{
	struct sl_session client, node, stranger;
	unsigned char head[SL_SEALED_BYTES] = "header", payload[] = "payload";
	uint64_t stamp;

	sl_auth_session("secret", SL_SIDE_CLIENT, hello, nonce, &client);
	sl_auth_session("secret", SL_SIDE_NODE, hello, nonce, &node);
	sl_auth_session("secres", SL_SIDE_NODE, hello, nonce, &stranger);
	sl_seal(&client.out, head, 4711, payload, sizeof(payload));
	assert_true(sl_unseal(&node.in, head, payload, sizeof(payload), &stamp));
	assert_int_equal(stamp, 4711);
	assert_false(sl_unseal(&stranger.in, head, payload, sizeof(payload), &stamp));
	assert_false(sl_unseal(&client.in, head, payload, sizeof(payload), &stamp)); /* sent back */
	node.in.count++;
	assert_false(sl_unseal(&node.in, head, payload, sizeof(payload), &stamp)); /* again */
}

static void each_bit_is_sealed(void **state)
{
	struct sl_session client, node;
	unsigned char head[SL_SEALED_BYTES] = "header", payload[] = "payload";
	uint64_t stamp;

	sl_auth_session("secret", SL_SIDE_CLIENT, hello, nonce, &client);
	sl_auth_session("secret", SL_SIDE_NODE, hello, nonce, &node);
	sl_seal(&client.out, head, 4711, payload, sizeof(payload));
	for (unsigned i = 0; i < 8 * SL_SEALED_BYTES; i++) {
		head[i / 8] ^= (unsigned char)(1U << i % 8);
		assert_false(sl_unseal(&node.in, head, payload, sizeof(payload), &stamp));
		head[i / 8] ^= (unsigned char)(1U << i % 8);
	}
	for (unsigned i = 0; i < 8 * sizeof(payload); i++) {
		payload[i / 8] ^= (unsigned char)(1U << i % 8);
		assert_false(sl_unseal(&node.in, head, payload, sizeof(payload), &stamp));
		payload[i / 8] ^= (unsigned char)(1U << i % 8);
	}
	assert_false(sl_unseal(&node.in, head, payload, sizeof(payload) - 1, &stamp));
	assert_false(sl_unseal(&node.in, head, NULL, 0, &stamp));
	assert_true(sl_unseal(&node.in, head, payload, sizeof(payload), &stamp));
}

static void all_payloads_but_file_data_are_covered(void **state)
{
	for (int type = SL_HELLO; type < SL_FRAME_TYPES; type++)
		assert_int_equal(sl_seal_covers(&(struct sl_frame){ .type = (uint16_t)type }),
				 type != SL_PWRITE);
	assert_false(sl_seal_covers(&(struct sl_frame){ .type = SL_REPLY, .flags = SL_F_DATA }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proofs_depend_on_secret_side_and_both_nonces),
		cmocka_unit_test(what_one_side_seals_the_other_opens),
		cmocka_unit_test(each_bit_is_sealed),
		cmocka_unit_test(all_payloads_but_file_data_are_covered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
