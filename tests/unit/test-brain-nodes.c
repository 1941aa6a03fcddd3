/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's brain: nodes that come and go, the places of jobs, many of both, and none. */
#include "brain-rig.h"

/* ---- nodes come and go ---- */

static void a_lost_connection_counts_nothing_twice(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	hear(b, 1000, "name=0 life=5", IDLE(7, 900));
	hear(b, 1100, "name=0 life=5", "job id=7 name=j clients=1 written=100 inside=1\n");
	brain_node_gone(b, 0, true, 1150 * MS);
	assert_int_equal(brain_pair(b, job(b, 7), 0)->clients, 0);
	hear(b, 1500, "name=0 life=5", "job id=7 name=j clients=1 written=130 idle=0\n");
	assert_int_equal(job(b, 7)->moved_bytes, 130);
	end(b);
}

static void a_node_with_another_life_counts_from_0(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	hear(b, 1000, "name=0 life=5", IDLE(7, 900));
	hear(b, 1100, "name=0 life=5", "job id=7 name=j clients=1 written=100 inside=1\n");
	brain_node_gone(b, 0, true, 1150 * MS);
	hear(b, 1500, "name=0 life=6", "job id=7 name=j clients=1 written=130 idle=0\n");
	assert_int_equal(job(b, 7)->moved_bytes, 230);
	assert_int_equal(b->nodes, 1);
	/* And so does one that forgot the job. */
	hear(b, 1600, "name=0 life=6", "%s", "");
	hear(b, 1700, "name=0 life=6", "job id=7 name=j clients=1 written=20 idle=0\n");
	assert_int_equal(job(b, 7)->moved_bytes, 250);
	end(b);
}

static void two_nodes_of_one_name_are_one_too_many(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });
	uint64_t epoch;

	assert_int_equal(hear(b, 1000, "name=0 life=5", "%s", ""), 0);
	decide(b, 1000);
	epoch = b->epoch;
	for (int64_t ms = 1050; ms < 3000; ms += 50) {
		assert_int_equal(hear(b, ms, "name=0 life=5", "%s", ""), 0);
		assert_int_equal(hear(b, ms + 25, "name=0 life=6", "%s", ""), -EEXIST);
		decide(b, ms + 25);
	}
	assert_int_equal(b->epoch, epoch);
	/* The first is not heard of any more. */
	assert_int_equal(hear(b, 5900, "name=0 life=6", "%s", ""), -EEXIST);
	assert_int_equal(hear(b, 5960, "name=0 life=6", "%s", ""), 0);
	assert_int_equal(b->node[0]->life, 6);
	end(b);
}

static void a_node_that_is_gone_keeps_its_number_and_a_new_one_gets_another(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	assert_int_equal(hear(b, 1000, "name=n0", "job id=1 name=a nodes=1 clients=1\n"), 0);
	assert_int_equal(hear(b, 1000, "name=n1", "%s", ""), 1);
	assert_int_equal(brain_pin(b, "a", "n1", 1000 * MS), 0);
	decide(b, 1000);
	assert_string_equal(nodes_of(b, 0, 1), "n1");
	brain_node_gone(b, 1, true, 2000 * MS);
	assert_int_equal(hear(b, 2000, "name=new", "%s", ""), 2);
	decide(b, 2000);
	assert_string_equal(nodes_of(b, 0, 1), "n0"); /* where its process is */
	assert_int_equal(hear(b, 2000, "name=n1", "%s", ""), 1);
	end(b);
}

static void a_new_controller_takes_nothing_old_for_new(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	hear(b, 100000, "name=0",
	     "job id=1 name=a clients=1 written=1000000 idle=50000000000\n"
	     "job id=2 name=b clients=1 written=5000000 inside=3\n");
	decide(b, 100000);
	assert_false(job(b, 1)->in_io);
	assert_int_equal(job(b, 1)->io.io_end, 50000 * MS);
	assert_true(job(b, 2)->in_io);
	hear(b, 100100, "name=0",
	     "job id=1 name=a clients=1 written=1000000 inside=1\n"
	     "job id=2 name=b clients=1 written=5000100 idle=0\n");
	hear(b, 101200, "name=0",
	     "job id=1 name=a clients=1 written=1000500 idle=1000000000\n"
	     "job id=2 name=b clients=1 written=5000100 idle=1100000000\n");
	decide(b, 101200);
	/* a's phase was seen from its beginning; of b's, nobody knows how long it was. */
	assert_int_equal(job(b, 1)->io.ended, 1);
	CLOSE(job(b, 1)->mean_bytes, 500);
	CLOSE(job(b, 1)->mean_compute_s, 50.1);
	assert_int_equal(job(b, 2)->io.ended, 0);
	CLOSE(job(b, 2)->mean_bytes, 0);
	assert_int_equal(b->curves.count, 0);
	end(b);
}

static void a_bandwidth_is_that_of_the_nodes_it_was_reached_with(void **state)
{
	struct brain *b = brain((struct brain_config){ .allocate = "one" });

	hear(b, 1000, "name=0", "job id=1 name=a clients=1 inside=1\n");
	hear(b, 1000, "name=1", "%s", "");
	decide(b, 1000);
	hear(b, 2000, "name=0", "job id=1 name=a clients=1 written=900000000 inside=1\n");
	assert_int_equal(brain_pin(b, "a", "1,0", 2000 * MS), 0);
	decide(b, 2000);
	hear(b, 4000, "name=0", "job id=1 name=a clients=1 written=1000000000 idle=0\n");
	hear(b, 5200, "name=0", "job id=1 name=a clients=1 written=1000000000 idle=1200000000\n");
	decide(b, 5200);
	assert_false(job(b, 1)->in_io);
	assert_int_equal(b->curves.count, 1);
	assert_int_equal(b->curves.curve[0].points, 1);
	assert_int_equal(b->curves.curve[0].point[0].ionodes, 2);
	CLOSE(b->curves.curve[0].point[0].bps, 50e6);
	end(b);
}

static void a_new_controller_leaves_jobs_where_they_are(void **state)
{
	struct brain *b = brain((struct brain_config){ .settle_ns = 500 * MS });

	hear(b, 0, "name=0",
	     "job id=1 name=a clients=1 map=2,0\njob id=2 name=b clients=1 map=0\n");
	assert_int_equal(brain_decide(b, 0), 500 * MS);
	assert_string_equal(nodes_of(b, 0, 1), "untold");
	hear(b, 200, "name=1", "job id=3 name=c clients=1\njob id=1 name=a map=2,0\n");
	hear(b, 300, "name=2", "job id=1 name=a clients=1 map=2,0\n");
	decide(b, 300);
	assert_string_equal(nodes_of(b, 1, 3), "untold");
	decide(b, 500);
	assert_string_equal(nodes_of(b, 0, 1), "2"); /* a has one compute node: one is its number */
	assert_string_equal(nodes_of(b, 0, 2), "0");
	assert_string_equal(nodes_of(b, 1, 3), "1");
	end(b);
}

static void the_jobs_of_a_node_that_is_gone_are_served_by_others(void **state)
{
	struct brain *b = brain((struct brain_config){ .allocate = "one" });

	for (int i = 0; i < 2; i++) {
		hear(b, 1000 + i, "name=0", "job id=1 name=a clients=1\n");
		hear(b, 1000 + i, "name=1", "job id=2 name=b clients=1\n");
		decide(b, 1000 + i);
	}
	assert_string_equal(nodes_of(b, 0, 1), "0");
	assert_string_equal(nodes_of(b, 1, 2), "1");
	brain_node_gone(b, 1, true, 1100 * MS);
	hear(b, 1200, "name=0", "job id=1 name=a clients=1\njob id=2 name=b clients=1\n");
	decide(b, 1200);
	assert_string_equal(nodes_of(b, 0, 2), "0");
	/* When it is back, who comes next gets it. */
	hear(b, 1300, "name=1 life=2", "%s", "");
	hear(b, 1300, "name=0",
	     "job id=1 name=a clients=1\njob id=2 name=b clients=1\njob id=3 name=c clients=1\n");
	decide(b, 1300);
	assert_string_equal(nodes_of(b, 0, 3), "1");
	end(b);
}

static void a_job_has_as_many_nodes_as_its_min_needs(void **state)
{
	struct brain *b = brain((struct brain_config){ .allocate = "one" });

	for (int i = 0; i < 2; i++) {
		hear(b, 1000 + i, "name=0 capacity=30",
		     "job id=1 name=a clients=3 min=50\njob id=2 name=b clients=1 min=30\n"
		     "job id=3 name=c clients=1 min=1000\n");
		hear(b, 1000 + i, "name=1 capacity=30", "%s", "");
		hear(b, 1000 + i, "name=2 capacity=30", "%s", "");
		decide(b, 1000 + i);
	}
	assert_int_equal(job(b, 1)->to_count, 2);
	assert_int_equal(job(b, 2)->to_count, 1);
	assert_int_equal(job(b, 3)->to_count, 3);
	end(b);
}

static void nobody_is_sent_to_a_node_that_has_promised_all_it_has(void **state)
{
	struct brain *b = brain((struct brain_config){ .allocate = "static" });

	for (int i = 0; i < 3; i++) {
		/* b was there first, and with two nodes. */
		hear(b, 1000 + i, "name=0 capacity=20", "job id=2 name=b clients=2 nodes=2\n%s",
		     i ? "job id=1 name=a clients=2 nodes=2 min=40\n" : "");
		hear(b, 1000 + i, "name=1 capacity=20", "%s", "");
		hear(b, 1000 + i, "name=2 capacity=20", "%s", "");
		decide(b, 1000 + i);
	}
	assert_int_equal(job(b, 1)->to_count, 2);
	assert_int_equal(job(b, 2)->to_count, 1);
	assert_true(job(b, 2)->to[0] != job(b, 1)->to[0] && job(b, 2)->to[0] != job(b, 1)->to[1]);
	/* If all have, it cannot be helped. */
	hear(b, 1100, "name=0 capacity=20",
	     "job id=2 name=b clients=2 nodes=2\njob id=1 name=a clients=2 nodes=2 min=60\n");
	decide(b, 1100);
	assert_true(job(b, 2)->to_count > 0);
	end(b);
}

static void a_job_can_be_pinned_to_nodes(void **state)
{
	struct brain *b = brain((struct brain_config){ .allocate = "one" });

	hear(b, 1000, "name=0", "job id=1 name=a clients=1\n");
	hear(b, 1000, "name=1", "%s", "");
	decide(b, 1000);
	assert_int_equal(brain_pin(b, "x", "1", 1000 * MS), -ENOENT);
	assert_int_equal(brain_pin(b, "a", "1,2", 1000 * MS), -EINVAL);
	decide(b, 1001);
	assert_string_equal(nodes_of(b, 0, 1), "0");
	assert_int_equal(brain_pin(b, "a", "1,0", 1001 * MS), 0);
	decide(b, 1002);
	assert_string_equal(nodes_of(b, 0, 1), "1,0");
	assert_int_equal(brain_pin(b, "a", "", 1002 * MS), 0);
	decide(b, 1003);
	assert_string_equal(nodes_of(b, 0, 1), "none");
	assert_int_equal(brain_pin(b, "a", "1", 1003 * MS), 0);
	hear(b, 1100, "name=0", "job id=1 name=a\n"); /* none of its processes is there */
	decide(b, 1100);
	hear(b, 1200, "name=0", "job id=1 name=a clients=1\n");
	decide(b, 1200);
	assert_string_equal(nodes_of(b, 0, 1), "1");
	assert_int_equal(brain_pin(b, "a", "auto", 1200 * MS), 0);
	decide(b, 1204);
	assert_string_equal(nodes_of(b, 0, 1), "1"); /* which it has */
	end(b);
}

static void what_was_declared_is_heard_from_where_the_job_is(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	hear(b, 1000, "name=0", "job id=1 name=a clients=2 procs=64 nodes=4 max=100\n");
	hear(b, 1000, "name=1", "job id=1 name=a\n");
	assert_int_equal(job(b, 1)->procs, 64);
	assert_int_equal(job(b, 1)->max_bps, 100);
	decide(b, 1000);
	b->changed = false;
	hear(b, 1100, "name=0", "job id=1 name=a clients=2 procs=64 nodes=4 max=100\n");
	hear(b, 1100, "name=1", "job id=1 name=a\n");
	assert_false(b->changed); /* no flapping */
	end(b);
}

/* ---- many, and none any more ---- */

static void a_job_that_no_node_knows_is_forgotten_after_a_minute(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fcfs" });

	hear(b, 1000, "name=0 capacity=9", "job id=1 name=a clients=1 inside=1\n");
	hear(b, 2000, "name=0 capacity=9", "%s", "");
	decide(b, 60999);
	assert_non_null(job(b, 1));
	hear(b, 61000, "name=0 capacity=9", "job id=2 name=b\n");
	decide(b, 61000);
	assert_null(job(b, 1));
	hear(b, 61100, "name=0 capacity=9",
	     "job id=2 name=b\njob id=3 name=c clients=1 inside=1\n");
	decide(b, 61100);
	assert_int_equal(b->jobs, 2); /* in the place of the first */
	assert_int_equal(grant(b, 0, 3), 9);
	/* One that a node knows stays, whatever it does. */
	hear(b, 999000, "name=0 capacity=9", "job id=2 name=b\n");
	decide(b, 999000);
	assert_non_null(job(b, 2));
	end(b);
}

static void there_is_room_for_a_thousand_nodes(void **state)
{
	struct brain *b = brain((struct brain_config){ .allocate = "one" });
	char name[16];

	for (int t = 0; t < 2; t++)
		for (int i = 0; i < 1000; i++) {
			snprintf(name, sizeof(name), "name=n%d", i);
			assert_int_equal(hear(b, 1000 + t, name, "job id=%d name=j%d clients=1\n",
					      i + 1, i + 1),
					 i);
		}
	decide(b, 1002);
	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_string_equal(nodes_of(b, i, i + 1), name); /* each its own */
	}
	assert_true(b->report_ns >= 50 * MS);
	end(b);
}

static void many_jobs_are_granted_no_more_than_there_is(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fair-share" });
	char *text = malloc(20000 * 100), *at;
	uint64_t sum = 0;

	for (int t = 0; t < 3; t++) {
		at = text + sprintf(text, "node name=0 socket=/s capacity=1000000000\n");
		for (unsigned i = 0; i < 1000; i++)
			at += sprintf(at, "job id=%u name=j%u clients=1 inside=1 written=%u\n",
				      i * 7919 + 1, i, i * (unsigned)t);
		assert_int_equal(brain_report(b, text, (1000 + 100 * t) * MS), 0);
		decide(b, 1000 + 100 * t);
	}
	assert_int_equal(b->jobs, 1000);
	for (unsigned i = 0; i < 1000; i++)
		sum += (uint64_t)job(b, i * 7919 + 1)->io.rate_bps;
	assert_true(sum <= 1000000000 && sum > 999999000);
	/* There is room for more, as they come. */
	at = text + sprintf(text, "node name=0 socket=/s capacity=1000000000\n");
	for (unsigned i = 0; i < 20000; i++)
		at += sprintf(at, "job id=%u name=k%u clients=1\n", i + 10000000, i);
	assert_int_equal(brain_report(b, text, 2000 * MS), 0);
	decide(b, 2000);
	assert_non_null(job(b, 10000000 + 19999));
	free(text);
	end(b);
}

static void orders_go_to_the_nodes_that_know_the_job(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });
	struct sl_job_orders o;

	hear(b, 1000, "name=0", "job id=1 name=a clients=1\n");
	hear(b, 1000, "name=1", "job id=2 name=b clients=1\n");
	decide(b, 1000);
	assert_true(order(b, 0, 1, &o) && !order(b, 0, 2, &o));
	assert_true(order(b, 1, 2, &o) && !order(b, 1, 1, &o));
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lost_connection_counts_nothing_twice),
		cmocka_unit_test(a_node_with_another_life_counts_from_0),
		cmocka_unit_test(two_nodes_of_one_name_are_one_too_many),
		cmocka_unit_test(a_node_that_is_gone_keeps_its_number_and_a_new_one_gets_another),
		cmocka_unit_test(a_new_controller_takes_nothing_old_for_new),
		cmocka_unit_test(a_bandwidth_is_that_of_the_nodes_it_was_reached_with),
		cmocka_unit_test(a_new_controller_leaves_jobs_where_they_are),
		cmocka_unit_test(the_jobs_of_a_node_that_is_gone_are_served_by_others),
		cmocka_unit_test(a_job_has_as_many_nodes_as_its_min_needs),
		cmocka_unit_test(nobody_is_sent_to_a_node_that_has_promised_all_it_has),
		cmocka_unit_test(a_job_can_be_pinned_to_nodes),
		cmocka_unit_test(what_was_declared_is_heard_from_where_the_job_is),
		cmocka_unit_test(a_job_that_no_node_knows_is_forgotten_after_a_minute),
		cmocka_unit_test(there_is_room_for_a_thousand_nodes),
		cmocka_unit_test(many_jobs_are_granted_no_more_than_there_is),
		cmocka_unit_test(orders_go_to_the_nodes_that_know_the_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
