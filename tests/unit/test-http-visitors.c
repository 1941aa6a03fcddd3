/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the HTTP server, and who has to go when there are too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include "httpd/visitors.h"

enum { MALLORY = 1000, CAROL = 1001 };

/* shutdown() of descriptor -1 does nothing. */
static struct visitor *come(struct visitors *all, struct visitor *v, uint32_t uid, int64_t now_ns)
{
	*v = (struct visitor){ .sock = -1, .uid = uid };
	visitor_is(v, VISITOR_ASKS, now_ns);
	visitors_add(all, v);
	return v;
}

static void the_party_that_has_most_loses_its_oldest(void **state)
{
	struct visitors all = { 0 };
	struct visitor v[10];

	come(&all, &v[0], CAROL, 0);
	for (int i = 1; i < 8; i++)
		come(&all, &v[i], MALLORY, i);
	visitors_make_room(&all, 8);
	assert_int_equal(all.count, 8);
	come(&all, &v[8], CAROL, 8);
	visitors_make_room(&all, 8);
	assert_true(v[1].out);
	come(&all, &v[9], MALLORY, 9);
	visitors_make_room(&all, 8);
	assert_true(v[2].out);
	assert_false(v[0].out || v[8].out || v[9].out);
	assert_int_equal(all.count, 8);
	visitors_remove(&all, &v[1]); /* it had been counted out */
	assert_int_equal(all.count, 8);
	visitors_remove(&all, &v[9]);
	assert_int_equal(all.count, 7);
}

static void who_is_answered_stays_longer_than_who_does_not_ask_and_a_stream_longest(void **state)
{
	struct visitors all = { 0 };
	struct visitor v[4];

	for (int i = 0; i < 4; i++)
		come(&all, &v[i], MALLORY, i);
	visitor_is(&v[0], VISITOR_STREAM, 0);
	visitor_is(&v[1], VISITOR_ANSWERED, 1);
	assert_int_equal(visitors_like(&all, &v[3], VISITOR_STREAM), 1);
	assert_int_equal(visitors_like(&all, &v[3], VISITOR_STATES), 4);
	visitors_make_room(&all, 3);
	assert_true(v[2].out);
	visitors_make_room(&all, 2);
	assert_true(v[3].out);
	visitors_make_room(&all, 1);
	assert_true(v[1].out);
	assert_false(v[0].out);
}

static void remote_parties_are_addresses_and_networks_of_ipv6(void **state)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000201) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct visitors all = { 0 };
	struct visitor v[4];

	for (int i = 0; i < 4; i++)
		come(&all, &v[i], UINT32_MAX, i);
	v[0].sock = v[1].sock = v[2].sock = v[3].sock = socket(AF_INET6, SOCK_STREAM, 0);
	visitor_identify(&v[0], (struct sockaddr *)&four);
	inet_pton(AF_INET6, "::ffff:192.0.2.2", &six.sin6_addr);
	visitor_identify(&v[1], (struct sockaddr *)&six);
	inet_pton(AF_INET6, "2001:db8::1", &six.sin6_addr);
	visitor_identify(&v[2], (struct sockaddr *)&six);
	inet_pton(AF_INET6, "2001:db8::2:1", &six.sin6_addr);
	visitor_identify(&v[3], (struct sockaddr *)&six);
	close(v[0].sock);
	assert_int_equal(visitors_like(&all, &v[0], VISITOR_STATES), 1);
	assert_int_equal(visitors_like(&all, &v[1], VISITOR_STATES), 1);
	assert_int_equal(visitors_like(&all, &v[2], VISITOR_STATES), 2);
}

static void on_this_machine_a_party_is_a_user_whatever_the_address(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET }, from[2];
	socklen_t length = sizeof(at);
	struct visitors all = { 0 };
	struct visitor v[2];
	int server = socket(AF_INET, SOCK_STREAM, 0), client[2];

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(server, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(server, 2), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&at, &length), 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct sockaddr_in own = { .sin_family = AF_INET,
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK + i) };

		client[i] = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(bind(client[i], (struct sockaddr *)&own, sizeof(own)), 0);
		assert_int_equal(connect(client[i], (struct sockaddr *)&at, sizeof(at)), 0);
		come(&all, &v[i], 0, i);
		length = sizeof(from[i]);
		v[i].sock = accept(server, (struct sockaddr *)&from[i], &length);
		assert_true(v[i].sock >= 0);
		visitor_identify(&v[i], (struct sockaddr *)&from[i]);
	}
	assert_memory_not_equal(v[0].address, v[1].address, sizeof(v[0].address));
	assert_int_equal(v[0].uid, getuid());
	assert_int_equal(visitors_like(&all, &v[0], VISITOR_STATES), 2);
	for (int i = 0; i < 2; i++) {
		close(v[i].sock);
		close(client[i]);
	}
	close(server);
}

static void a_request_and_an_answer_have_their_time(void **state)
{
	struct visitors all = { 0 };
	struct visitor v[3];

	for (int i = 0; i < 3; i++)
		come(&all, &v[i], MALLORY, 0);
	visitor_is(&v[1], VISITOR_ANSWERED, 0);
	visitor_is(&v[2], VISITOR_STREAM, 0);
	visitors_hurry(&all, VISITOR_ASKS_NS);
	assert_int_equal(all.count, 3);
	visitors_hurry(&all, VISITOR_ASKS_NS + 1);
	assert_true(v[0].out);
	assert_int_equal(all.count, 2);
	visitors_hurry(&all, VISITOR_ANSWER_NS + 1);
	assert_true(v[1].out);
	assert_false(v[2].out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_party_that_has_most_loses_its_oldest),
		cmocka_unit_test(
			who_is_answered_stays_longer_than_who_does_not_ask_and_a_stream_longest),
		cmocka_unit_test(remote_parties_are_addresses_and_networks_of_ipv6),
		cmocka_unit_test(on_this_machine_a_party_is_a_user_whatever_the_address),
		cmocka_unit_test(a_request_and_an_answer_have_their_time),
	};

	return cmocka_run_group_tests_name("http-visitors", tests, NULL, NULL);
}
