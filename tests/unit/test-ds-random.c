/* SPDX-License-Identifier: Apache-2.0 */
/* base/ds/random: the numbers that the authors' program gives; experiments depend on them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/ds/random.h"

static void the_numbers_are_those_of_splitmix64(void **state)
{
	static const uint64_t from_0[] = { UINT64_C(0xe220a8397b1dcdaf),
					   UINT64_C(0x6e789e6aa1b965f4),
					   UINT64_C(0x06c45d188009454f) };
	static const uint64_t from_1234567[] = { UINT64_C(6457827717110365317),
						 UINT64_C(3203168211198807973),
						 UINT64_C(9817491932198370423) };
	uint64_t a = 0, b = 1234567;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(sl_splitmix64(&a), from_0[i]);
		assert_int_equal(sl_splitmix64(&b), from_1234567[i]);
	}
}

static void a_unit_is_below_1_and_even(void **state)
{
	uint64_t x = 7;
	double sum = 0;

	for (int i = 0; i < 100000; i++) {
		double u = sl_splitmix64_unit(&x);

		assert_true(u >= 0 && u < 1);
		sum += u;
	}
	assert_true(sum > 49700 && sum < 50300); /* 3 standard deviations are 274 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_numbers_are_those_of_splitmix64),
		cmocka_unit_test(a_unit_is_below_1_and_even),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
