/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's brain: phases, seen and declared, periods, and reports that make no sense. What
 * it orders: test-brain-orders.c; nodes that come and go: test-brain-nodes.c.
 */
#include "brain-rig.h"

/* ---- phases ---- */

static void a_phase_begins_with_a_request_and_ends_with_the_last_before_a_gap(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	hear(b, 9900, "name=0", IDLE(7, 5));
	decide(b, 9900);
	assert_false(job(b, 7)->in_io);
	hear(b, 10000, "name=0", "job id=7 name=j clients=1 inside=4\n");
	decide(b, 10000);
	assert_true(job(b, 7)->in_io);
	hear(b, 12400, "name=0", "job id=7 name=j clients=1 written=1000 idle=300000000\n");
	assert_int_equal(brain_decide(b, 12400 * MS), 13100 * MS);
	assert_true(job(b, 7)->in_io);
	hear(b, 13100, "name=0", "job id=7 name=j clients=1 written=1000 idle=1000000000\n");
	decide(b, 13100);
	assert_false(job(b, 7)->in_io);
	assert_int_equal(job(b, 7)->io.asked, 10000 * MS);
	assert_int_equal(job(b, 7)->io.io_end, 12100 * MS);
	assert_int_equal(job(b, 7)->io.ended, 1);
	CLOSE(job(b, 7)->mean_bytes, 1000);
	CLOSE(job(b, 7)->mean_compute_s, 0.1);
	end(b);
}

static void bytes_that_came_and_went_between_reports_are_a_phase_too(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	hear(b, 1000, "name=0", IDLE(7, 1000));
	hear(b, 5000, "name=0", "job id=7 name=j clients=1 written=300 read=4 idle=40000000\n");
	decide(b, 5000);
	assert_true(job(b, 7)->in_io);
	assert_int_equal(job(b, 7)->io.asked, 4960 * MS);
	hear(b, 6000, "name=0", "job id=7 name=j clients=1 written=300 read=4 idle=1040000000\n");
	decide(b, 6000);
	assert_false(job(b, 7)->in_io);
	CLOSE(job(b, 7)->mean_bytes, 304);
	CLOSE(job(b, 7)->mean_compute_s, 3.96);
	end(b);
}

static void means_follow_the_instances(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });
	uint64_t written = 0;

	hear(b, 0, "name=0", IDLE(7, 0));
	/* Computing for 10, 10, 20 s; 100, 100, 300 bytes. */
	for (int i = 0, at = 0; i < 3; i++) {
		at += i < 2 ? 10000 : 20000;
		hear(b, at, "name=0", "job id=7 name=j clients=1 written=%d inside=1\n",
		     (int)written);
		decide(b, at);
		written += i < 2 ? 100 : 300;
		hear(b, at + 1000, "name=0", "job id=7 name=j clients=1 written=%d idle=0\n",
		     (int)written);
		at += 1000;
		decide(b, at);
		assert_true(job(b, 7)->in_io);
		hear(b, at + 1500, "name=0",
		     "job id=7 name=j clients=1 written=%d idle=1500000000\n", (int)written);
		decide(b, at + 1500);
		assert_false(job(b, 7)->in_io);
	}
	assert_int_equal(job(b, 7)->io.ended, 3);
	CLOSE(job(b, 7)->mean_compute_s, 15);
	CLOSE(job(b, 7)->mean_bytes, 200);
	CLOSE(job(b, 7)->io.work_s, 40);
	end(b);
}

static void a_job_that_waits_inside_is_not_done_however_short_the_gap(void **state)
{
	struct brain *b = brain((struct brain_config){ .gap_ns = 20 * MS });

	hear(b, 1000, "name=0", "job id=7 name=j clients=1 inside=1\n");
	for (int ms = 1000; ms < 1100; ms += 10) {
		decide(b, ms);
		assert_true(job(b, 7)->in_io);
	}
	/* Done at once after the report; the next one says so. */
	hear(b, 1100, "name=0", "job id=7 name=j clients=1 written=5 idle=10000000\n");
	decide(b, 1100);
	assert_true(job(b, 7)->in_io);
	decide(b, 1150); /* nothing was heard since: it may have begun again */
	assert_true(job(b, 7)->in_io);
	hear(b, 1200, "name=0", "job id=7 name=j clients=1 written=5 idle=110000000\n");
	decide(b, 1200);
	assert_false(job(b, 7)->in_io);
	assert_int_equal(job(b, 7)->io.io_end, 1090 * MS);
	end(b);
}

static void a_node_that_has_fallen_silent_does_not_keep_a_phase_open(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	hear(b, 1000, "name=0", "job id=7 name=j clients=1 inside=1\n");
	decide(b, 4900);
	assert_true(job(b, 7)->in_io);
	decide(b, 5000);
	assert_false(job(b, 7)->in_io);
	end(b);
}

static void a_phase_on_two_nodes_is_one(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	hear(b, 0, "name=0", IDLE(7, 0));
	hear(b, 0, "name=1", IDLE(7, 0));
	hear(b, 2000, "name=0", "job id=7 name=j clients=1 inside=1\n");
	hear(b, 2900, "name=0", "job id=7 name=j clients=1 written=10 idle=500000000\n");
	hear(b, 2900, "name=1", "job id=7 name=j clients=1 written=30 idle=0\n");
	decide(b, 2900);
	hear(b, 3600, "name=0", "job id=7 name=j clients=1 written=10 idle=1200000000\n");
	hear(b, 3600, "name=1", "job id=7 name=j clients=1 written=30 idle=700000000\n");
	decide(b, 3600);
	assert_true(job(b, 7)->in_io);
	hear(b, 3900, "name=0", "job id=7 name=j clients=1 written=10 idle=1500000000\n");
	hear(b, 3900, "name=1", "job id=7 name=j clients=1 written=30 idle=1000000000\n");
	decide(b, 3900);
	assert_int_equal(job(b, 7)->io.ended, 1);
	CLOSE(job(b, 7)->mean_bytes, 40);
	end(b);
}

/* ---- phases that programs declare ---- */

static void a_declared_phase_begins_and_ends_at_once_and_outlasts_a_gap(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fcfs" });

	hear(b, 0, "name=0 capacity=100", IDLE(7, 0) IDLE(8, 0));
	hear(b, 4000, "name=0 capacity=100",
	     "job id=7 name=j clients=2 phase=1 idle=4000000000\n"
	     "job id=8 name=k clients=1 inside=1\n");
	decide(b, 4000);
	assert_true(job(b, 7)->in_io);
	assert_int_equal((uint64_t)job(b, 7)->io.rate_bps, 100); /* before its first request */
	assert_true(grant(b, 0, 7) == NO_GRANT);
	assert_int_equal(grant(b, 0, 8), 100); /* what it is granted and does not use is lent */
	/* It writes for a second, and then pauses for more than a gap. */
	for (int ms = 5000; ms <= 9000; ms += 50) {
		hear(b, ms, "name=0 capacity=100",
		     "job id=7 name=j clients=2 phase=1 written=500 idle=%d000000\n"
		     "job id=8 name=k clients=1 inside=1\n",
		     ms - 5000);
		decide(b, ms);
		assert_true(job(b, 7)->in_io);
	}
	hear(b, 9010, "name=0 capacity=100",
	     "job id=7 name=j clients=2 phase=0 written=600 idle=0\n"
	     "job id=8 name=k clients=1 inside=1\n");
	decide(b, 9010);
	assert_false(job(b, 7)->in_io);
	assert_int_equal(grant(b, 0, 8), 100);
	assert_int_equal(job(b, 7)->io.asked, 4000 * MS);
	assert_int_equal(job(b, 7)->io.io_end, 9010 * MS);
	CLOSE(job(b, 7)->mean_bytes, 600);
	CLOSE(job(b, 7)->mean_compute_s, 4);
	end(b);
}

static void a_declared_phase_lasts_until_the_last_process_on_all_nodes_has_ended_it(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	hear(b, 0, "name=0", IDLE(7, 0));
	hear(b, 0, "name=1", IDLE(7, 0));
	hear(b, 1000, "name=0", "job id=7 name=j clients=2 phase=2\n");
	hear(b, 1001, "name=1", "job id=7 name=j clients=1 phase=1\n");
	decide(b, 1001);
	hear(b, 1200, "name=0", "job id=7 name=j clients=2 phase=0 written=10 idle=0\n");
	decide(b, 1200);
	assert_true(job(b, 7)->in_io);
	hear(b, 1300, "name=1", "job id=7 name=j clients=1 phase=0 written=10 idle=0\n");
	decide(b, 1300);
	assert_false(job(b, 7)->in_io);
	assert_int_equal(job(b, 7)->io.ended, 1);
	/* What a node has inside is not over, whoever says so. */
	hear(b, 2000, "name=0", "job id=7 name=j clients=2 phase=1 written=10\n");
	hear(b, 2100, "name=0", "job id=7 name=j clients=2 phase=0 inside=1 written=10\n");
	decide(b, 2100);
	assert_true(job(b, 7)->in_io);
	hear(b, 2200, "name=0", "job id=7 name=j clients=2 written=20 idle=0\n");
	decide(b, 2200); /* another process of it writes and says nothing: by the gap, then */
	assert_true(job(b, 7)->in_io);
	hear(b, 3200, "name=0", "job id=7 name=j clients=2 written=20 idle=1000000000\n");
	hear(b, 3200, "name=1", "job id=7 name=j clients=1 written=10 idle=1900000000\n");
	decide(b, 3200);
	assert_false(job(b, 7)->in_io);
	end(b);
}

static void what_is_found_before_a_declared_phase_is_another_one(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	hear(b, 0, "name=0", IDLE(7, 0));
	hear(b, 5000, "name=0", "job id=7 name=j clients=1 written=7 idle=0\n");
	decide(b, 5000);
	hear(b, 5500, "name=0", "job id=7 name=j clients=1 written=7 phase=1 idle=500000000\n");
	decide(b, 5500);
	assert_int_equal(job(b, 7)->io.ended, 1);
	assert_int_equal(job(b, 7)->io.io_end, 5000 * MS);
	assert_int_equal(job(b, 7)->io.asked, 5500 * MS);
	/* A process that dies in its phase has ended it; a node that does leaves it to the gap. */
	hear(b, 6000, "name=0", "job id=7 name=j clients=0 written=7 idle=1000000000\n");
	decide(b, 6000);
	assert_int_equal(job(b, 7)->io.ended, 2);
	hear(b, 7000, "name=0", "job id=7 name=j clients=1 written=7 phase=1 idle=1\n");
	brain_node_gone(b, 0, true, 7100 * MS);
	decide(b, 7100);
	assert_true(job(b, 7)->in_io);
	decide(b, 8000);
	assert_false(job(b, 7)->in_io);
	end(b);
}

/* ---- periods ---- */

/* What the next orders of node 0 say of letting everything pass. */
static uint32_t open_word(struct brain *b, int64_t ms)
{
	struct sl_orders_line l;
	char *text = NULL, *at;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	uint32_t open = 0;

	assert_non_null(f);
	brain_orders(b, 0, ms * MS, f);
	fclose(f);
	at = text;
	while (sl_orders_next(&at, &l) == SL_LINE_EPOCH)
		open = l.epoch.open;
	free(text);
	return open;
}

static void open_and_close_are_news_each_time(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });
	uint32_t first, again;

	hear(b, 0, "name=0", "%s", "");
	decide(b, 0);
	assert_int_equal(open_word(b, 0), 0);
	brain_open(b, true);
	first = open_word(b, 1);
	brain_open(b, true);
	again = open_word(b, 2);
	assert_true(first & 1 && again & 1 && again > first);
	brain_open(b, false);
	first = open_word(b, 3);
	brain_open(b, false);
	again = open_word(b, 4);
	assert_true(!(first & 1) && !(again & 1) && again > first && first > 0);
	end(b);
}

/* 200 ms of I/O every 2 s, for half a minute, seen every 50 ms. */
static void work_in_periods(struct brain *b, int64_t declared_ns)
{
	uint64_t moved = 0;

	for (int64_t ms = 0; ms <= 30000; ms += 50) {
		bool io = ms % 2000 < 200;

		moved += io ? 5000000 : 0;
		hear(b, ms, "name=0 life=1",
		     "job id=7 name=j7 clients=1 period=%lld written=%llu inside=%d "
		     "idle=%lld000000\n",
		     (long long)declared_ns, (unsigned long long)moved, io,
		     (long long)(io ? 0 : ms % 2000 - 150));
		brain_decide(b, ms * MS);
	}
}

static void the_period_of_a_job_is_found_and_its_nodes_are_told(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });
	struct sl_job_orders o = { 0 };

	work_in_periods(b, 0);
	assert_true(order(b, 0, 7, &o));
	assert_true(o.period_ns > 1900 * MS && o.period_ns < 2100 * MS);
	assert_int_equal(job(b, 7)->io.period_ns, o.period_ns);
	assert_true(job(b, 7)->confidence > 0.5);
	end(b);
}

static void a_job_is_expected_to_have_the_period_of_its_last_run(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });
	struct sl_job_orders o = { 0 };
	sl_time found;

	assert_int_equal(runs_begin(&b->runs), 0);
	work_in_periods(b, 0);
	found = job(b, 7)->found_ns;
	assert_false(job(b, 7)->from_last_run);
	assert_true(b->runs.changed);
	/* Another number, the same title; others have another user or title. */
	hear(b, 60000, "name=0",
	     "job id=8 name=j8 title=j7 clients=1\njob id=9 name=j9 title=j7 uid=5 clients=1\n"
	     "job id=10 name=j10 clients=1\njob id=11 name=j11 title=j7 clients=1 "
	     "period=60000000000\n");
	decide(b, 60000);
	hear(b, 60500, "name=0", "job id=8 clients=1 inside=1 written=1\n");
	decide(b, 60500);
	assert_true(job(b, 8)->from_last_run);
	/* A change by less than a 20th is not written down. */
	assert_true(job(b, 8)->io.period_ns > found - found / 20 &&
		    job(b, 8)->io.period_ns < found + found / 20);
	assert_true(order(b, 0, 8, &o));
	assert_int_equal(o.period_ns, job(b, 8)->io.period_ns);
	assert_int_equal(job(b, 9)->io.period_ns, 0);
	assert_int_equal(job(b, 10)->io.period_ns, 0);
	assert_int_equal(job(b, 11)->io.period_ns, 60000 * MS);
	end(b);
}

static void a_period_is_written_down_when_it_is_found_and_not_with_each_decision(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });
	char title[16];

	assert_int_equal(runs_begin(&b->runs), 0);
	work_in_periods(b, 0);
	assert_true(job(b, 7)->found_ns > 0);
	for (unsigned i = 0; i < RUNS_MAX; i++) {
		snprintf(title, sizeof(title), "other-%u", i);
		runs_add(&b->runs, 1, title, 1000 * MS);
	}
	b->runs.changed = false;
	decide(b, 60000);
	assert_false(b->runs.changed);
	end(b);
}

/*
 * 60 s of I/O every 300 s. Of each 2 s of them the job is served for 1.5 s, and then waits for others: their period is
 * not its own.
 */
static void the_turns_of_others_are_no_period_of_a_job_that_waits(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });
	int64_t waited = 0;
	uint64_t moved = 0;

	for (int64_t ms = 0; ms <= 965000; ms += 50) {
		int64_t in = ms % 300000;
		bool io = in < 60000;

		moved += io && in % 2000 < 1500 ? 5000000 : 0;
		waited += io ? 45 * MS : 0;
		hear(b, ms, "name=0 life=1",
		     "job id=7 name=j7 clients=1 written=%llu inside=%d waited=%lld "
		     "idle=%lld000000\n",
		     (unsigned long long)moved, io, (long long)waited,
		     (long long)(io ? 0 : in - 59950));
		brain_decide(b, ms * MS);
		if (ms < 900000)
			assert_int_equal(job(b, 7)->found_ns, 0);
	}
	assert_int_equal(job(b, 7)->waiting, 0);
	brain_decide(b, 970000 * MS);
	assert_true(job(b, 7)->found_ns > 290000 * MS && job(b, 7)->found_ns < 310000 * MS);
	end(b);
}

static void what_the_user_has_declared_is_not_overruled(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	work_in_periods(b, 60000 * MS);
	assert_int_equal(job(b, 7)->io.period_ns, 60000 * MS);
	end(b);
}

/* ---- what makes no sense ---- */

static void a_bad_report_is_refused_and_its_node_counts_as_gone(void **state)
{
	static const char *const bad[] = {
		"",
		"job id=1 name=a\n",
		"node\n",
		"node name=\n",
		"node name=a,b\n",
		"node name=0 life=x\n",
		"node name=0 capacity=-1\n",
		"node name=0\njob\n",
		"node name=0\njob id=1\n",
		"node name=0\njob id=1 name=a clients=-1\n",
		"node name=0\njob id=1 name=a clients=4294967296\n",
		"node name=0\njob id=1 name=a written=18446744073709551616\n",
		"node name=0\njob id=1 name=a clients\n",
		"node name=0\njob id=1 name=a idle=9223372036854775808\n",
		"node name=0\njob id=1 name=a\nnode name=1\n",
		"node name=01234567890123456789012345678901\n",
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct brain *b = brain((struct brain_config){ 0 });
		char text[200];

		hear(b, 900, "name=0", "job id=1 name=a clients=1\n");
		brain_decide(b, 900 * MS);
		snprintf(text, sizeof(text), "%s", bad[i]);
		if (brain_report(b, text, 1000 * MS) != -EPROTO)
			fail_msg("taken: %s", bad[i]);
		if (strstr(bad[i], "name=0\n"))
			assert_false(b->node[0]->up);
		brain_decide(b, 1000 * MS);
		/* It may report again. */
		assert_int_equal(hear(b, 1100, "name=0", "job id=1 name=a clients=1\n"), 0);
		assert_true(b->node[0]->up);
		end(b);
	}
}

static void numbers_out_of_all_reason_do_no_harm(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fair-share" });

	hear(b, 1000, "name=0 capacity=18446744073709551615", IDLE(1, 0));
	hear(b, 1100, "name=0 capacity=18446744073709551615",
	     "job id=1 name=a clients=4294967295 procs=4294967295 nodes=4294967295 "
	     "min=18446744073709551615 max=18446744073709551615 weight=4294967295 "
	     "period=-9223372036854775808 read=18446744073709551615 "
	     "written=18446744073709551615 queued=18446744073709551615 "
	     "idle=-9223372036854775808\n");
	hear(b, 1100, "name=1 capacity=18446744073709551615",
	     "job id=1 name=a clients=4294967295 written=18446744073709551615 "
	     "idle=9223372036854775807\n");
	decide(b, 1100);
	assert_true(job(b, 1)->active <= 1100 * MS);
	assert_true(grant(b, 0, 1) <= 2 * SL_MAX_RATE);
	assert_true(share(b, 0, 1) <= 1.25);
	decide(b, 9000);
	assert_false(job(b, 1)->in_io);
	/* For a sanitizer: times that overflow when something is added to them. */
	for (int64_t ms = 9100; ms < 9300; ms += 100) {
		hear(b, ms, "name=0",
		     "job id=1 name=a clients=1 period=9223372036854775807 inside=1\n");
		decide(b, ms);
	}
	assert_true(job(b, 1)->in_io && job(b, 1)->declared_ns > 0);
	end(b);
	b = brain((struct brain_config){ .gap_ns = INT64_MAX });
	hear(b, 1000, "name=0", "job id=1 name=a clients=1 inside=1\n");
	decide(b, 1000);
	assert_true(job(b, 1)->in_io);
	end(b);
}

static void nothing_known_nothing_decided(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fcfs" });

	decide(b, 0);
	decide(b, 1000);
	brain_node_gone(b, 5, true, 0);
	brain_node_gone(b, 100, true, 0);
	assert_int_equal(brain_capacity(b), 0);
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_phase_begins_with_a_request_and_ends_with_the_last_before_a_gap),
		cmocka_unit_test(bytes_that_came_and_went_between_reports_are_a_phase_too),
		cmocka_unit_test(means_follow_the_instances),
		cmocka_unit_test(a_job_that_waits_inside_is_not_done_however_short_the_gap),
		cmocka_unit_test(a_node_that_has_fallen_silent_does_not_keep_a_phase_open),
		cmocka_unit_test(a_phase_on_two_nodes_is_one),
		cmocka_unit_test(a_declared_phase_begins_and_ends_at_once_and_outlasts_a_gap),
		cmocka_unit_test(
			a_declared_phase_lasts_until_the_last_process_on_all_nodes_has_ended_it),
		cmocka_unit_test(what_is_found_before_a_declared_phase_is_another_one),
		cmocka_unit_test(a_bad_report_is_refused_and_its_node_counts_as_gone),
		cmocka_unit_test(numbers_out_of_all_reason_do_no_harm),
		cmocka_unit_test(nothing_known_nothing_decided),
		cmocka_unit_test(open_and_close_are_news_each_time),
		cmocka_unit_test(the_period_of_a_job_is_found_and_its_nodes_are_told),
		cmocka_unit_test(a_job_is_expected_to_have_the_period_of_its_last_run),
		cmocka_unit_test(
			a_period_is_written_down_when_it_is_found_and_not_with_each_decision),
		cmocka_unit_test(the_turns_of_others_are_no_period_of_a_job_that_waits),
		cmocka_unit_test(what_the_user_has_declared_is_not_overruled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
