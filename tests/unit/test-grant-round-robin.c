/* SPDX-License-Identifier: Apache-2.0 */
/* grant/round-robin: whose last I/O phase ended longest ago. */
#include "grant-rig.h"

/* The example of round-robin.c. */
static void whose_last_phase_ended_longest_ago_is_first(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_round_robin, 10, END);
	g.now = 100 * SEC;
	grant_add(&g, 10)->io_end = 40 * SEC;
	grant_add(&g, 10)->io_end = 60 * SEC;
	grant_add(&g, 10)->io_end = 50 * SEC; /* it came then */
	grant_expect(&g, 10, 0, 0);
	g.jobs[0].io_end = 100 * SEC;
	g.now = 101 * SEC;
	grant_expect(&g, 0, 0, 10);
	g.jobs[2].io_end = 101 * SEC;
	g.now = 102 * SEC;
	grant_expect(&g, 0, 10, 0);
	assert_int_equal(g.wake, SL_NEVER);
	grant_close(&g);
}

static void when_it_asked_does_not_matter(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_round_robin, 10, END);
	for (unsigned i = 0; i < 3; i++) {
		grant_add(&g, 4)->io_end = (3 - (sl_time)i) * SEC;
		g.jobs[i].asked = (sl_time)i * SEC;
	}
	grant_expect(&g, 2, 4, 4);
	g.jobs[0].io_end = g.jobs[1].io_end = g.jobs[2].io_end; /* equal: by id */
	grant_expect(&g, 4, 4, 2);
	grant_close(&g);
}

static void with_priority_who_has_started_goes_first(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_round_robin, 10, { "priority", 1 }, END);
	for (unsigned i = 0; i < 3; i++)
		grant_add(&g, 8)->io_end = (sl_time)i * SEC;
	grant_expect(&g, 8, 2, 0);
	g.jobs[2].started = true;
	grant_expect(&g, 2, 0, 8);
	g.jobs[1].started = true;
	grant_expect(&g, 0, 8, 2);
	grant_close(&g);
}

/* Each asks again at once after 1 s of I/O: everybody has one turn in n. */
static void everybody_has_a_turn_in_every_round(void **state)
{
	enum { N = 50 };
	unsigned turns[N] = { 0 };
	struct grant g;

	grant_open(&g, &sl_grant_round_robin, 10, END);
	for (unsigned i = 0; i < N; i++)
		grant_add(&g, 10);
	for (unsigned t = 0; t < 10 * N; t++) {
		grant_decide(&g);
		g.now += SEC;
		for (unsigned i = 0; i < N; i++)
			if (g.jobs[i].rate_bps > 0) {
				g.jobs[i].io_end = g.jobs[i].asked = g.now;
				turns[i]++;
			}
		for (unsigned i = 0; i < N; i++)
			assert_in_range(turns[i], t / N, t / N + 1);
	}
	grant_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_last_phase_ended_longest_ago_is_first),
		cmocka_unit_test(when_it_asked_does_not_matter),
		cmocka_unit_test(with_priority_who_has_started_goes_first),
		cmocka_unit_test(everybody_has_a_turn_in_every_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
