/* SPDX-License-Identifier: Apache-2.0 */
/* grant/max-sys-eff-literal: low beta * efficiency, as the paper's text has it. */
#include "grant-rig.h"

/* The example of max-sys-eff-literal.c. */
static void who_computes_least_is_first(void **state)
{
	struct grant *g = *state;

	grant_past(g, grant_add(g, 10), 50, 45, 40);
	g->jobs[0].procs = 100;
	grant_past(g, grant_add(g, 10), 60, 58, 55);
	g->jobs[1].procs = 10;
	grant_expect(g, 0, 10);
	g->jobs[0].procs = 11; /* 8.8, against 9.17 */
	grant_expect(g, 10, 0);
	assert_int_equal(g->wake, SL_NEVER);
}

static void a_job_in_its_first_instance_is_first(void **state)
{
	struct grant *g = *state;

	grant_past(g, grant_add(g, 10), 1000, 2, 1);
	grant_add(g, 10)->procs = 4096;
	grant_add(g, 10)->released = g->now; /* just come: no time has passed */
	grant_expect(g, 0, 10, 0);
}

static void with_priority_who_has_started_goes_first(void **state)
{
	struct grant *g = *state;

	grant_with(g, "priority", 1);
	grant_past(g, grant_add(g, 10), 100, 60, 50);
	grant_past(g, grant_add(g, 10), 100, 60, 40);
	grant_expect(g, 0, 10);
	g->jobs[0].started = true;
	grant_expect(g, 10, 0);
}

#define CASE(name) GRANT_CASE(sl_grant_max_sys_eff_literal, name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(who_computes_least_is_first),
		CASE(a_job_in_its_first_instance_is_first),
		CASE(with_priority_who_has_started_goes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
