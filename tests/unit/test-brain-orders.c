/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's brain: grants, and the shares of a limit over several nodes. */
#include "brain-rig.h"

/* ---- grants ---- */

#define WAITS(ms) " inside=1 waited=" #ms "000000\n"

static void who_came_first_is_served_first_under_fcfs(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fcfs" });

	hear(b, 1000, "name=0 capacity=100", "job id=1 name=a clients=1" WAITS(1) IDLE(2, 9));
	decide(b, 1000);
	assert_int_equal(grant(b, 0, 1), 100);
	assert_true(grant(b, 0, 2) == NO_GRANT); /* it computes: an open door */
	hear(b, 1100, "name=0 capacity=100",
	     "job id=1 name=a clients=1" WAITS(100) "job id=2 name=b clients=1" WAITS(50));
	decide(b, 1100);
	assert_int_equal(grant(b, 0, 1), 100);
	assert_int_equal(grant(b, 0, 2), 0);
	hear(b, 1200, "name=0 capacity=100",
	     "job id=1 name=a clients=1 written=9 idle=0\njob id=2 name=b clients=1" WAITS(150));
	decide(b, 1200); /* no I/O, but a program may pause for so long */
	assert_int_equal(grant(b, 0, 2), 0);
	hear(b, 1300, "name=0 capacity=100",
	     "job id=1 name=a clients=1 written=9 idle=100000000\n"
	     "job id=2 name=b clients=1" WAITS(250));
	decide(b, 1300); /* its grant is not over, but is lent */
	assert_int_equal((uint64_t)job(b, 1)->io.rate_bps, 100);
	assert_true(grant(b, 0, 2) > 50);
	hear(b, 2200, "name=0 capacity=100",
	     "job id=1 name=a clients=1 written=9 idle=1000000000\njob id=2 name=b clients=1" WAITS(
		     1150));
	decide(b, 2200);
	assert_false(job(b, 1)->in_io);
	assert_true(grant(b, 0, 2) > 90);
	end(b);
}

static void fair_share_divides_and_gives_nobody_more_than_its_processes_can_use(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fair-share", .per_proc_bps = 10 });

	hear(b, 1000, "name=0 capacity=100",
	     "job id=1 name=a clients=1 procs=2 inside=1\n"
	     "job id=2 name=b clients=1 procs=50 inside=1\n"
	     "job id=3 name=c clients=4 inside=1\n");
	decide(b, 1000);
	assert_int_equal(grant(b, 0, 1), 20);
	assert_int_equal(grant(b, 0, 2), 40);
	assert_int_equal(grant(b, 0, 3), 40);
	end(b);
}

static void set_10_divides_by_the_periods(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "set-10" });

	hear(b, 1000, "name=0 capacity=11000000",
	     "job id=1 name=a clients=1 period=19200000000 inside=1\n"
	     "job id=2 name=b clients=1 period=384000000000 inside=1\n");
	decide(b, 1000);
	hear(b, 1100, "name=0 capacity=11000000",
	     "job id=1 name=a clients=1 period=19200000000 inside=1\n"
	     "job id=2 name=b clients=1 period=384000000000 inside=1\n"
	     "job id=3 name=c clients=1 period=384000000000 inside=1\n");
	decide(b, 1100);
	CLOSE(grant(b, 0, 1), 10891089);
	CLOSE(grant(b, 0, 2), 108911);
	assert_int_equal(grant(b, 0, 3), 0);
	end(b);
}

static void a_new_period_is_decided_by_at_once(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "set-10" });

	for (int i = 0; i < 2; i++) {
		hear(b, 1000 + i, "name=0 capacity=1000",
		     "job id=1 name=a clients=1 period=10000000000 inside=1\n"
		     "job id=2 name=b clients=1 period=%s inside=1\n",
		     i ? "1000000000000" : "10000000000");
		decide(b, 1000 + i);
	}
	assert_true(grant(b, 0, 2) > 0 && grant(b, 0, 2) < 100);
	end(b);
}

static void there_is_no_rate_without_a_capacity(void **state)
{
	static const struct brain_config configs[] = { { 0 }, { .grant = "fcfs" } };

	for (size_t i = 0; i < COUNT(configs); i++) {
		struct brain *b = brain(configs[i]);

		hear(b, 1000, "name=0 capacity=5", "job id=1 name=a clients=1" WAITS(1));
		hear(b, 1000, "name=1", IDLE(2, 5)); /* a node of unknown capacity */
		decide(b, 1000);
		assert_true(grant(b, 0, 1) == NO_GRANT);
		end(b);
	}
}

static void the_capacity_is_what_the_nodes_that_are_up_have_together(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fcfs" });

	hear(b, 1000, "name=0 capacity=100", "job id=1 name=a clients=1 inside=1\n");
	hear(b, 1000, "name=1 capacity=50", "%s", "");
	decide(b, 1000);
	assert_int_equal(brain_capacity(b), 150);
	assert_int_equal(grant(b, 0, 1), 150); /* wherever it is */
	brain_node_gone(b, 1, true, 1050 * MS);
	decide(b, 1050);
	assert_int_equal(grant(b, 0, 1), 100);
	hear(b, 1100, "name=0 capacity=70", "job id=1 name=a clients=1 inside=1\n");
	decide(b, 1100); /* it was changed while all went on */
	assert_int_equal(grant(b, 0, 1), 70);
	end(b);
}

static void a_grant_is_divided_by_processes_and_what_they_want(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fcfs" });

	for (int i = 0; i < 40; i++) {
		hear(b, 1000 + 50 * i, "name=0 capacity=500",
		     "job id=1 name=a clients=3 inside=1 waited=%d000000 written=%d\n", 50 * i,
		     40 * i);
		hear(b, 1000 + 50 * i, "name=1 capacity=500",
		     "job id=1 name=a clients=1 inside=1 waited=%d000000 written=%d\n", 50 * i,
		     10 * i);
		decide(b, 1000 + 50 * i);
	}
	CLOSE(grant(b, 0, 1), 750);
	CLOSE(grant(b, 1, 1), 250);
	/* At node 1 it has nothing waiting any more, and moves 200 a second. */
	for (int i = 40; i < 80; i++) {
		hear(b, 1000 + 50 * i, "name=0 capacity=500",
		     "job id=1 name=a clients=3 inside=1 waited=%d000000 written=%d\n", 50 * i,
		     40 * i);
		hear(b, 1000 + 50 * i, "name=1 capacity=500",
		     "job id=1 name=a clients=1 waited=1950000000 written=%d\n", 10 * i);
		decide(b, 1000 + 50 * i);
	}
	assert_in_range(grant(b, 0, 1), 745, 755);
	assert_in_range(grant(b, 1, 1), 245, 255);
	end(b);
}

static void a_policy_that_plans_ahead_is_refused(void **state)
{
	struct brain_config c = { .grant = "periodic-throughput", .gap_ns = 1 };
	struct brain *b = malloc(sizeof(*b));
	char err[200] = "";

	assert_int_equal(brain_init(b, &c, 0, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "periodic-throughput plans"));
	c.grant = "fcsf";
	assert_int_equal(brain_init(b, &c, 0, err, sizeof(err)), -ENOENT);
	c.grant = NULL;
	c.allocate = "mckpp";
	assert_int_equal(brain_init(b, &c, 0, err, sizeof(err)), -ENOENT);
	free(b);
}

/* ---- shares ---- */

static void a_grant_is_no_more_than_max_and_the_rest_goes_to_others(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fcfs" });

	hear(b, 1000, "name=0 capacity=30", "job id=1 name=a clients=1 max=40" WAITS(1));
	hear(b, 1001, "name=1 capacity=60", "job id=2 name=b clients=1" WAITS(1));
	decide(b, 1001);
	assert_int_equal(grant(b, 0, 1), 40);
	assert_int_equal(grant(b, 1, 2), 50);
	end(b);
}

static void a_job_that_declares_no_size_has_that_of_its_processes(void **state)
{
	struct brain *b = brain((struct brain_config){ .allocate = "size" });

	hear(b, 1000, "name=0",
	     "job id=1 name=a clients=6 inside=1\n"
	     "job id=2 name=b clients=2 inside=1\n");
	hear(b, 1000, "name=1", "other\n");
	hear(b, 1000, "name=2", "other\n");
	hear(b, 1000, "name=3", "other\n");
	decide(b, 1000);
	assert_int_equal(job(b, 1)->to_count, 3);
	assert_int_equal(job(b, 2)->to_count, 1);
	end(b);
}

static void a_curve_is_kept_by_the_title_of_a_job(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	for (int i = 1; i <= 2; i++) { /* two runs, with numbers of their own */
		int at = i * 10000;

		hear(b, at, "name=0", "job id=%d name=%d title=sim clients=4\n", i, i);
		decide(b, at);
		hear(b, at + 100, "name=0", "job id=%d name=%d title=sim clients=4 inside=1\n", i,
		     i);
		decide(b, at + 100);
		hear(b, at + 1100, "name=0",
		     "job id=%d name=%d title=sim clients=4 written=1000 idle=0\n", i, i);
		decide(b, at + 1100);
		hear(b, at + 2200, "name=0",
		     "job id=%d name=%d title=sim clients=4 written=1000 idle=1100000000\n", i, i);
		decide(b, at + 2200);
	}
	assert_int_equal(b->curves.count, 1);
	assert_string_equal(b->curves.curve[0].name, "sim");
	assert_int_equal(b->curves.curve[0].procs, 4);
	assert_int_equal(b->curves.curve[0].phases[0], 2);
	end(b);
}

static void another_policy_decides_at_once_and_phases_are_kept(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fcfs" });
	char words[] = "grant=fair-share allocate=one", none[] = "grant=none";
	char bad[][40] = { "grant=fcsf",
			   "grant=fcfs grant=fcfs",
			   "share=wfq",
			   "grant",
			   "grant=periodic-throughput",
			   "allocate=one grant=",
			   "grant=none allocate=nothing" };
	char err[200];

	hear(b, 1000, "name=0 capacity=100", "job id=1 name=a clients=1 inside=1\n");
	decide(b, 1000);
	hear(b, 1100, "name=0 capacity=100",
	     "job id=1 name=a clients=1 inside=1\njob id=2 name=b clients=1 inside=1\n");
	decide(b, 1100);
	assert_int_equal(grant(b, 0, 2), 0);
	for (size_t i = 0; i < COUNT(bad); i++) {
		err[0] = 0;
		assert_true(brain_policy(b, bad[i], 1150 * MS, err, sizeof(err)) < 0);
		assert_true(err[0]);
		assert_string_equal(b->grant->base.name, "fcfs");
		assert_string_not_equal(b->allocate->base.name, "one");
	}
	assert_int_equal(brain_policy(b, words, 1200 * MS, err, sizeof(err)), 0);
	decide(b, 1200);
	assert_int_equal(grant(b, 0, 1), 50);
	assert_int_equal(grant(b, 0, 2), 50);
	assert_string_equal(b->allocate->base.name, "one");
	assert_int_equal(job(b, 1)->io.asked, 1000 * MS);
	assert_int_equal(brain_policy(b, none, 1300 * MS, err, sizeof(err)), 0);
	decide(b, 1300);
	assert_true(grant(b, 0, 1) == NO_GRANT);
	end(b);
}

static void shares_are_as_in_the_example(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	for (int i = 0; i < 60; i++) {
		hear(b, 1000 + 100 * i, "name=0",
		     "job id=1 name=a clients=1 max=100000000 written=%d\n", 6000000 * i);
		hear(b, 1000 + 100 * i, "name=1",
		     "job id=1 name=a clients=1 max=100000000 written=%d\n", 2000000 * i);
		hear(b, 1000 + 100 * i, "name=2", "job id=1 name=a clients=1 max=100000000\n");
		hear(b, 1000 + 100 * i, "name=3", "job id=1 name=a max=100000000\n");
		decide(b, 1000 + 100 * i);
	}
	CLOSE(share(b, 0, 1), .7275);
	CLOSE(share(b, 1, 1), .2425);
	CLOSE(share(b, 2, 1), .03);
	CLOSE(share(b, 3, 1), 1); /* nobody is there; who comes finds an open door */
	end(b);
}

static void a_job_that_did_nothing_yet_has_equal_shares_where_it_is(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	hear(b, 1000, "name=0", "job id=1 name=a clients=1 max=100\n");
	hear(b, 1000, "name=1", "job id=1 name=a max=100\n");
	hear(b, 1000, "name=2", "job id=1 name=a clients=5 max=100\n");
	decide(b, 1000);
	CLOSE(share(b, 0, 1), .5);
	CLOSE(share(b, 2, 1), .5);
	end(b);
}

static void shares_are_the_whole_on_64_nodes_too(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });
	double sum = 0;

	for (int t = 0; t < 2; t++)
		for (int i = 0; i < 64; i++) {
			char name[16];

			snprintf(name, sizeof(name), "name=%d", i);
			hear(b, 1000 + 100 * t, name,
			     "job id=1 name=a clients=1 max=100 written=%d\n", i ? 0 : 1000 * t);
		}
	decide(b, 1100);
	for (uint32_t i = 0; i < 64; i++) {
		assert_true(share(b, i, 1) > 0 && share(b, i, 1) <= 1);
		sum += share(b, i, 1);
	}
	CLOSE(sum, 1);
	assert_true(share(b, 0, 1) > .7);
	end(b);
}

static void what_a_job_misses_of_its_max_it_may_make_up_for_within_bounds(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fcfs" });
	double most = 0;

	for (int i = 0; i < 60; i++) { /* half of its max, though more waits */
		hear(b, 1000 + 100 * i, "name=0 capacity=1000",
		     "job id=1 name=a clients=1 max=1000 written=%d queued=5 inside=1\n", 50 * i);
		decide(b, 1000 + 100 * i);
		most = fmax(most, share(b, 0, 1));
		assert_true(grant(b, 0, 1) <= 1000); /* others have been granted the rest */
	}
	CLOSE(most, 1.25);
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_came_first_is_served_first_under_fcfs),
		cmocka_unit_test(
			fair_share_divides_and_gives_nobody_more_than_its_processes_can_use),
		cmocka_unit_test(set_10_divides_by_the_periods),
		cmocka_unit_test(a_new_period_is_decided_by_at_once),
		cmocka_unit_test(there_is_no_rate_without_a_capacity),
		cmocka_unit_test(the_capacity_is_what_the_nodes_that_are_up_have_together),
		cmocka_unit_test(a_grant_is_divided_by_processes_and_what_they_want),
		cmocka_unit_test(a_policy_that_plans_ahead_is_refused),
		cmocka_unit_test(a_grant_is_no_more_than_max_and_the_rest_goes_to_others),
		cmocka_unit_test(a_job_that_declares_no_size_has_that_of_its_processes),
		cmocka_unit_test(a_curve_is_kept_by_the_title_of_a_job),
		cmocka_unit_test(another_policy_decides_at_once_and_phases_are_kept),
		cmocka_unit_test(shares_are_as_in_the_example),
		cmocka_unit_test(a_job_that_did_nothing_yet_has_equal_shares_where_it_is),
		cmocka_unit_test(shares_are_the_whole_on_64_nodes_too),
		cmocka_unit_test(what_a_job_misses_of_its_max_it_may_make_up_for_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
