/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask the HTTP server of a layer for what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "httpd/guard.h"

#define TOKEN  "0123456789abcdef0123456789abcdef0123456789abcdef"
#define READER "ffffffffffffffffffffffffffffffffffffffffffffffff"
#define COOKIE "sluice_reader_1"

static const struct guard here = {
	.token = TOKEN, .cookie = READER, .cookie_name = COOKIE, .loopback = true, .open = true
};
static const struct guard away = { .token = TOKEN,
				   .cookie = READER,
				   .cookie_name = COOKIE,
				   .host = "io.cluster",
				   .machine = "node7" };

static enum guard_verdict read_as(const struct guard *g, struct guard_request r)
{
	r.host = r.host ? r.host : "localhost:7480";
	return guard_check(g, &r);
}

static void on_loopback_anybody_reads_and_who_knows_the_token_writes(void **state)
{
	assert_int_equal(read_as(&here, (struct guard_request){ 0 }), GUARD_OK);
	assert_int_equal(read_as(&here, (struct guard_request){ .write = true }), GUARD_TOKEN);
	assert_int_equal(read_as(&here, (struct guard_request){ .write = true,
								.authorization = "Bearer " TOKEN }),
			 GUARD_OK);
	assert_int_equal(read_as(&here, (struct guard_request){ .write = true,
								.authorization = "bearer " TOKEN }),
			 GUARD_OK);
	assert_int_equal(read_as(&here, (struct guard_request){ .write = true,
								.authorization = "Basic " TOKEN }),
			 GUARD_TOKEN);
}

static void of_a_layer_for_all_users_everything_needs_the_token_on_loopback_too(void **state)
{
	struct guard all = here;

	all.open = false;
	assert_int_equal(read_as(&all, (struct guard_request){ 0 }), GUARD_TOKEN);
	assert_int_equal(read_as(&all, (struct guard_request){ .token = TOKEN }), GUARD_OK);
	assert_int_equal(read_as(&all, (struct guard_request){ .cookie = COOKIE "=" READER }),
			 GUARD_OK);
	assert_int_equal(
		read_as(&all, (struct guard_request){ .host = "node7:7480", .token = TOKEN }),
		GUARD_HOST);
}

static void elsewhere_everything_needs_the_token(void **state)
{
	assert_int_equal(read_as(&away, (struct guard_request){ 0 }), GUARD_TOKEN);
	assert_int_equal(read_as(&away, (struct guard_request){ .token = TOKEN }), GUARD_OK);
	assert_int_equal(read_as(&away, (struct guard_request){ .token = READER }), GUARD_TOKEN);
	assert_int_equal(read_as(&away, (struct guard_request){ .authorization = "Bearer " TOKEN }),
			 GUARD_OK);
}

static void a_cookie_is_for_reading_alone(void **state)
{
	assert_int_equal(read_as(&away, (struct guard_request){ .cookie = COOKIE "=" READER }),
			 GUARD_OK);
	assert_int_equal(read_as(&away, (struct guard_request){ .cookie = "a=b; " COOKIE "=" READER
									  "; c=d" }),
			 GUARD_OK);
	assert_int_equal(read_as(&away, (struct guard_request){ .cookie = COOKIE "=" READER,
								.write = true }),
			 GUARD_TOKEN);
	/* nor does what opens the door twice as far come in by this one */
	assert_int_equal(read_as(&away, (struct guard_request){ .cookie = COOKIE "=" TOKEN }),
			 GUARD_TOKEN);
	assert_int_equal(read_as(&away, (struct guard_request){ .cookie = COOKIE "=" }),
			 GUARD_TOKEN);
	assert_int_equal(read_as(&away, (struct guard_request){ .cookie = ";;; ;=;" }),
			 GUARD_TOKEN);
	assert_int_equal(read_as(&away, (struct guard_request){ .cookie = "x" COOKIE "=" READER }),
			 GUARD_TOKEN);
	assert_int_equal(read_as(&away, (struct guard_request){ .cookie = COOKIE "2=" READER }),
			 GUARD_TOKEN);
	assert_int_equal(read_as(&away, (struct guard_request){ .cookie = COOKIE }), GUARD_TOKEN);
	/* that of another server on this host, beside it */
	assert_int_equal(
		read_as(&away, (struct guard_request){ .cookie = COOKIE "2=" TOKEN "; " COOKIE
									"=" READER }),
		GUARD_OK);
}

static void a_secret_is_taken_whole_or_not_at_all(void **state)
{
	char long_one[200];

	memset(long_one, 'a', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = 0;
	assert_true(guard_is(TOKEN "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", TOKEN));
	assert_false(guard_is(here.token, TOKEN "0"));
	assert_false(guard_is(here.token, "0123"));
	assert_false(guard_is(here.token, ""));
	assert_false(guard_is(here.token, NULL));
	assert_false(guard_is(here.token, long_one));
}

static void a_name_that_was_made_to_lead_here_is_refused(void **state)
{
	static const char *const bad[] = { "evil.example",
					   "evil.example:7480",
					   "",
					   "localhost.evil",
					   "[::1",
					   "127.0.0.1:x",
					   "localhost:1:2",
					   "node7.cluster",
					   "io.cluster" };
	static const char *const good[] = { "localhost", "LOCALHOST:1", "127.0.0.1:7480",
					    "[::1]:7480", "10.0.0.1" };

	assert_int_equal(guard_check(&here, &(struct guard_request){ 0 }), GUARD_HOST);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(guard_check(&here, &(struct guard_request){ .host = bad[i] }),
				 GUARD_HOST);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(guard_check(&here, &(struct guard_request){ .host = good[i] }),
				 GUARD_OK);
	/* with the token, by the names of this machine too */
	for (size_t i = 7; i < 9; i++)
		assert_int_equal(guard_check(&away, &(struct guard_request){ .host = bad[i],
									     .token = TOKEN }),
				 GUARD_OK);
	assert_int_equal(
		guard_check(&away, &(struct guard_request){ .host = "node77", .token = TOKEN }),
		GUARD_HOST);
}

static void a_page_of_another_origin_is_refused_even_with_the_token(void **state)
{
	static const char *const bad[] = { "http://evil.example",	 "null",
					   "http://localhost:81",	 "localhost:7480",
					   "http://localhost:7480.evil", "" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
			read_as(&here, (struct guard_request){ .origin = bad[i],
							       .authorization = "Bearer " TOKEN }),
			GUARD_ORIGIN);
	assert_int_equal(
		read_as(&here, (struct guard_request){ .origin = "http://localhost:7480" }),
		GUARD_OK);
	assert_int_equal(
		read_as(&here, (struct guard_request){ .origin = "https://localhost:7480" }),
		GUARD_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_loopback_anybody_reads_and_who_knows_the_token_writes),
		cmocka_unit_test(
			of_a_layer_for_all_users_everything_needs_the_token_on_loopback_too),
		cmocka_unit_test(elsewhere_everything_needs_the_token),
		cmocka_unit_test(a_cookie_is_for_reading_alone),
		cmocka_unit_test(a_secret_is_taken_whole_or_not_at_all),
		cmocka_unit_test(a_name_that_was_made_to_lead_here_is_refused),
		cmocka_unit_test(a_page_of_another_origin_is_refused_even_with_the_token),
	};

	return cmocka_run_group_tests_name("http-guard", tests, NULL, NULL);
}
