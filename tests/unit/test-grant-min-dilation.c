/* SPDX-License-Identifier: Apache-2.0 */
/* grant/min-dilation: who was delayed most. */
#include "grant-rig.h"

/* The example of min-dilation.c. */
static void who_was_delayed_most_is_first(void **state)
{
	struct grant *g = *state;

	grant_past(g, grant_add(g, 6), 50, 40, 30);
	grant_past(g, grant_add(g, 6), 60, 30, 20);
	grant_past(g, grant_add(g, 6), 20, 18, 1);
	grant_expect(g, 4, 6, 0);
	assert_int_equal(g->wake, SL_NEVER);
}

static void size_and_work_do_not_matter(void **state)
{
	struct grant *g = *state;

	grant_past(g, grant_add(g, 10), 100, 50, 49);
	grant_past(g, grant_add(g, 10), 100, 49, 1);
	g->jobs[0].procs = 100000;
	g->jobs[0].left_bytes = 1;
	grant_expect(g, 0, 10);
	g->jobs[1].alone_s = 50; /* equal: by id */
	grant_expect(g, 10, 0);
}

static void a_job_in_its_first_instance_counts_as_not_delayed_when_it_asks(void **state)
{
	struct grant *g = *state;

	grant_add(g, 10)->released = g->now - 30 * SEC;
	g->jobs[0].compute_s = 30;
	grant_past(g, grant_add(g, 10), 100, 99, 1);
	grant_expect(g, 0, 10);
	grant_past(g, &g->jobs[1], 100, 100, 1); /* both 1: by id */
	grant_expect(g, 10, 0);
}

/* Counted as 1 for ever, the second of these would never be served. */
static void a_job_in_its_first_instance_does_not_starve(void **state)
{
	struct grant *g = *state;

	grant_past(g, grant_add(g, 10), 100, 90, 1);
	grant_add(g, 10)->released = g->now - 30 * SEC;
	g->jobs[1].compute_s = 30;
	grant_expect(g, 10, 0);
	g->now += 4 * SEC; /* 30 of 34 s: 0.882, against 90 of 104: 0.865 */
	grant_expect(g, 10, 0);
	g->jobs[0].alone_s += 4; /* 0.904 */
	grant_expect(g, 0, 10);
	g->jobs[1].left_bytes = 60; /* 4 s of the transfer are done: 1 */
	grant_expect(g, 10, 0);
}

static void with_priority_who_has_started_goes_first(void **state)
{
	struct grant *g = *state;

	grant_with(g, "priority", 1);
	grant_past(g, grant_add(g, 10), 100, 10, 1);
	grant_past(g, grant_add(g, 10), 100, 90, 1);
	grant_expect(g, 10, 0);
	g->jobs[1].started = true;
	grant_expect(g, 0, 10);
	g->jobs[0].started = true;
	grant_expect(g, 10, 0);
}

#define CASE(name) GRANT_CASE(sl_grant_min_dilation, name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(who_was_delayed_most_is_first),
		CASE(size_and_work_do_not_matter),
		CASE(a_job_in_its_first_instance_counts_as_not_delayed_when_it_asks),
		CASE(a_job_in_its_first_instance_does_not_starve),
		CASE(with_priority_who_has_started_goes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
