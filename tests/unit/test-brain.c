/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's brain: reports as text in, orders as text out, time as an argument. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/brain.h"

#define MS	     INT64_C(1000000)
#define NO_GRANT     UINT64_MAX
#define NOT_TOLD     UINT32_MAX
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))
#define NEAR(a, b)   (fabs((double)(a) - (double)(b)) <= 1e-3 * fabs((double)(b)) + 1e-6)
#define CLOSE(a, b)  assert_true(NEAR(a, b))
#define IDLE(id, ms) "job id=" #id " name=j" #id " clients=1 idle=" #ms "000000\n"

/* ---- the rig ---- */

static struct brain *brain(struct brain_config c)
{
	struct brain *b = malloc(sizeof(*b));
	char err[200] = "";

	assert_non_null(b);
	c.gap_ns = c.gap_ns ? c.gap_ns : 1000 * MS;
	if (brain_init(b, &c, 0, err, sizeof(err)))
		fail_msg("%s", err);
	return b;
}

static void end(struct brain *b)
{
	brain_free(b);
	free(b);
}

/* A report of a node at a time in ms; its jobs as text with a %. */
static int hear(struct brain *b, int64_t ms, const char *node, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static int hear(struct brain *b, int64_t ms, const char *node, const char *format, ...)
{
	char text[2000];
	va_list args;
	int n = snprintf(text, sizeof(text), "node %s socket=/s\n", node);

	va_start(args, format);
	vsnprintf(text + n, sizeof(text) - (size_t)n, format, args);
	va_end(args);
	return brain_report(b, text, ms * MS);
}

static void decide(struct brain *b, int64_t ms)
{
	assert_true(brain_decide(b, ms * MS) > ms * MS);
}

static struct brain_job *job(const struct brain *b, uint64_t id)
{
	for (uint32_t i = 0; i < b->jobs; i++)
		if (b->job[i] && b->job[i]->id == id)
			return b->job[i];
	return NULL;
}

/* The order of a node about a job; false: there is none. */
static bool order(const struct brain *b, uint32_t node, uint64_t id, struct sl_job_orders *out)
{
	struct sl_orders_line l;
	char *text = NULL, *at;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool found = false;
	int what;

	brain_orders(b, node, f);
	fclose(f);
	at = text;
	while ((what = sl_orders_next(&at, &l)) > 0)
		if (what == SL_LINE_JOB && l.job.id == id) {
			*out = l.job;
			found = true;
		}
	assert_int_equal(what, SL_LINE_END);
	free(text);
	return found;
}

static uint64_t grant(const struct brain *b, uint32_t node, uint64_t id)
{
	struct sl_job_orders o = { 0 };

	assert_true(order(b, node, id, &o));
	return o.grant_bps;
}

static double share(const struct brain *b, uint32_t node, uint64_t id)
{
	struct sl_job_orders o = { 0 };

	assert_true(order(b, node, id, &o));
	return (double)o.share / SL_SHARE_WHOLE;
}

/* "0,2": the nodes of a job as ordered; "none", "untold". */
static const char *nodes_of(const struct brain *b, uint32_t node, uint64_t id)
{
	static char out[SL_MAP_TEXT];
	struct sl_job_orders o = { 0 };

	assert_true(order(b, node, id, &o));
	if (o.to_count == NOT_TOLD || !o.to_count)
		return o.to_count ? "untold" : "none";
	out[0] = 0;
	for (uint32_t i = 0; i < o.to_count; i++) {
		strcat(out, i ? "," : "");
		strcat(out, o.to[i]);
	}
	return out;
}

/* ---- phases ---- */

static void a_phase_begins_with_a_request_and_ends_with_the_last_before_a_gap(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
	hear(b, 1000, "name=0", "job id=7 name=j clients=1 inside=1\n");
	decide(b, 2900);
	assert_true(job(b, 7)->in_io);
	decide(b, 3000);
	assert_false(job(b, 7)->in_io);
	end(b);
}

static void a_phase_on_two_nodes_is_one(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	(void)state;
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

	(void)state;
	hear(b, 0, "name=0 capacity=100", IDLE(7, 0) IDLE(8, 0));
	hear(b, 4000, "name=0 capacity=100",
	     "job id=7 name=j clients=2 phase=1 idle=4000000000\n"
	     "job id=8 name=k clients=1 inside=1\n");
	decide(b, 4000);
	assert_true(job(b, 7)->in_io);
	assert_int_equal(grant(b, 0, 7), 100); /* before its first request */
	assert_int_equal(grant(b, 0, 8), 0);
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

	(void)state;
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

	(void)state;
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
	brain_node_gone(b, 0, 7100 * MS);
	decide(b, 7100);
	assert_true(job(b, 7)->in_io);
	decide(b, 8000);
	assert_false(job(b, 7)->in_io);
	end(b);
}

/* ---- grants ---- */

static void who_came_first_is_served_first_under_fcfs(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fcfs" });

	(void)state;
	hear(b, 1000, "name=0 capacity=100", "job id=1 name=a clients=1 inside=1\n" IDLE(2, 9));
	decide(b, 1000);
	assert_int_equal(grant(b, 0, 1), 100);
	assert_true(grant(b, 0, 2) == NO_GRANT); /* it computes: an open door */
	hear(b, 1100, "name=0 capacity=100",
	     "job id=1 name=a clients=1 inside=1\njob id=2 name=b clients=1 inside=1\n");
	decide(b, 1100);
	assert_int_equal(grant(b, 0, 1), 100);
	assert_int_equal(grant(b, 0, 2), 0);
	hear(b, 1200, "name=0 capacity=100",
	     "job id=1 name=a clients=1 written=9 idle=0\njob id=2 name=b clients=1 inside=1\n");
	decide(b, 1200); /* no I/O, but not for long enough */
	assert_int_equal(grant(b, 0, 2), 0);
	hear(b, 2200, "name=0 capacity=100",
	     "job id=1 name=a clients=1 written=9 idle=1000000000\njob id=2 name=b clients=1 "
	     "inside=1\n");
	decide(b, 2200);
	assert_true(grant(b, 0, 1) == NO_GRANT);
	assert_int_equal(grant(b, 0, 2), 100);
	end(b);
}

static void fair_share_divides_and_gives_nobody_more_than_its_processes_can_use(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fair-share", .per_proc_bps = 10 });

	(void)state;
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

	(void)state;
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

	(void)state;
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

static void there_is_no_grant_without_policy_or_capacity(void **state)
{
	static const struct brain_config configs[] = { { 0 },
						       { .grant = "none" },
						       { .grant = "fcfs" } };

	(void)state;
	for (size_t i = 0; i < COUNT(configs); i++) {
		struct brain *b = brain(configs[i]);

		hear(b, 1000, "name=0 capacity=5", "job id=1 name=a clients=1 inside=1\n");
		hear(b, 1000, i == 2 ? "name=1" : "name=1 capacity=5", IDLE(2, 5));
		decide(b, 1000);
		assert_true(grant(b, 0, 1) == NO_GRANT);
		end(b);
	}
}

static void the_capacity_is_what_the_nodes_that_are_up_have_together(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fcfs" });

	(void)state;
	hear(b, 1000, "name=0 capacity=100", "job id=1 name=a clients=1 inside=1\n");
	hear(b, 1000, "name=1 capacity=50", "%s", "");
	decide(b, 1000);
	assert_int_equal(brain_capacity(b), 150);
	assert_int_equal(grant(b, 0, 1), 100); /* what its node has */
	brain_node_gone(b, 1, 1050 * MS);
	decide(b, 1050);
	assert_int_equal(grant(b, 0, 1), 100);
	hear(b, 1100, "name=0 capacity=70", "job id=1 name=a clients=1 inside=1\n");
	decide(b, 1100); /* it was changed while all went on */
	assert_int_equal(grant(b, 0, 1), 70);
	end(b);
}

static void a_grant_is_divided_as_the_job_s_io_is(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fcfs" });

	(void)state;
	for (int i = 0; i < 40; i++) {
		hear(b, 1000 + 100 * i, "name=0 capacity=500",
		     "job id=1 name=a clients=1 inside=1 written=%d\n", 3000 * i);
		hear(b, 1000 + 100 * i, "name=1 capacity=500",
		     "job id=1 name=a clients=1 inside=1 written=%d\n", 1000 * i);
		decide(b, 1000 + 100 * i);
	}
	CLOSE(grant(b, 0, 1), 750);
	CLOSE(grant(b, 1, 1), 250);
	end(b);
}

static void a_policy_that_plans_ahead_is_refused(void **state)
{
	struct brain_config c = { .grant = "periodic-throughput", .gap_ns = 1 };
	struct brain *b = malloc(sizeof(*b));
	char err[200] = "";

	(void)state;
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

static void a_grant_is_no_more_than_what_the_nodes_can_give_that_serve_the_job(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fcfs" });

	(void)state;
	hear(b, 1000, "name=0 capacity=30", "job id=1 name=a clients=1 inside=1\n");
	hear(b, 1000, "name=1 capacity=60", "job id=2 name=b clients=1 inside=1\n");
	decide(b, 1000);
	/* The first asked for all, and can use 30. */
	assert_int_equal(brain_pin(b, "a", "0", 1001 * MS), 0);
	assert_int_equal(brain_pin(b, "b", "1", 1001 * MS), 0);
	decide(b, 1001);
	assert_int_equal(grant(b, 0, 1), 30);
	assert_int_equal(grant(b, 1, 2), 60);
	assert_int_equal(brain_pin(b, "a", "0,1", 1002 * MS), 0);
	hear(b, 1002, "name=1 capacity=60",
	     "job id=1 name=a clients=1 inside=1\njob id=2 name=b clients=1 inside=1\n");
	decide(b, 1002);
	assert_int_equal(grant(b, 0, 1) + grant(b, 1, 1), 90);
	assert_int_equal(grant(b, 1, 2), 0);
	/* A node whose capacity nobody knows is no bound. */
	assert_int_equal(brain_pin(b, "a", "0", 1003 * MS), 0);
	hear(b, 1003, "name=0", "job id=1 name=a clients=1 inside=1\n");
	decide(b, 1003);
	assert_true(grant(b, 0, 1) == NO_GRANT);
	end(b);
}

static void a_job_that_declares_no_size_has_that_of_its_processes(void **state)
{
	struct brain *b = brain((struct brain_config){ .allocate = "size" });

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
	for (int t = 0; t < 2; t++)
		for (int i = 0; i < BRAIN_NODES; i++) {
			char name[16];

			snprintf(name, sizeof(name), "name=%d", i);
			hear(b, 1000 + 100 * t, name,
			     "job id=1 name=a clients=1 max=100 written=%d\n", i ? 0 : 1000 * t);
		}
	decide(b, 1100);
	for (uint32_t i = 0; i < BRAIN_NODES; i++) {
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

	(void)state;
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

/* ---- nodes come and go ---- */

static void a_lost_connection_counts_nothing_twice(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	(void)state;
	hear(b, 1000, "name=0 life=5", IDLE(7, 900));
	hear(b, 1100, "name=0 life=5", "job id=7 name=j clients=1 written=100 inside=1\n");
	brain_node_gone(b, 0, 1150 * MS);
	assert_int_equal(job(b, 7)->part[0].clients, 0);
	hear(b, 1500, "name=0 life=5", "job id=7 name=j clients=1 written=130 idle=0\n");
	assert_int_equal(job(b, 7)->moved_bytes, 130);
	end(b);
}

static void a_node_with_another_life_counts_from_0(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	(void)state;
	hear(b, 1000, "name=0 life=5", IDLE(7, 900));
	hear(b, 1100, "name=0 life=5", "job id=7 name=j clients=1 written=100 inside=1\n");
	brain_node_gone(b, 0, 1150 * MS);
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

	(void)state;
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
	assert_int_equal(hear(b, 3900, "name=0 life=6", "%s", ""), -EEXIST);
	assert_int_equal(hear(b, 3960, "name=0 life=6", "%s", ""), 0);
	assert_int_equal(b->node[0].life, 6);
	end(b);
}

static void who_was_gone_for_longest_gives_way_to_a_new_node(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });
	char name[40];

	(void)state;
	for (int i = 0; i < BRAIN_NODES; i++) {
		snprintf(name, sizeof(name), "name=n%d", i);
		assert_int_equal(hear(b, 1000 + i, name, "job id=1 name=a nodes=1 clients=1\n"), i);
	}
	assert_int_equal(hear(b, 2000, "name=new", "%s", ""), -ENOSPC);
	assert_int_equal(brain_pin(b, "a", "n7", 2000 * MS), 0);
	decide(b, 2000);
	assert_string_equal(nodes_of(b, 0, 1), "n7");
	brain_node_gone(b, 9, 2000 * MS);
	brain_node_gone(b, 7, 2000 * MS);
	assert_int_equal(hear(b, 2000, "name=new", "%s", ""), 7); /* last heard before n9 */
	assert_int_equal(b->nodes, BRAIN_NODES);
	decide(b, 2000);
	assert_string_equal(nodes_of(b, 0, 1), "n0");
	assert_int_equal(job(b, 1)->part[7].clients, 0);
	/* And it is known when it comes again, as another. */
	assert_int_equal(hear(b, 2000, "name=n7", "%s", ""), 9);
	assert_int_equal(hear(b, 2000, "name=n9", "%s", ""), -ENOSPC);
	end(b);
}

static void a_new_controller_takes_nothing_old_for_new(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
	for (int i = 0; i < 2; i++) {
		hear(b, 1000 + i, "name=0", "job id=1 name=a clients=1\n");
		hear(b, 1000 + i, "name=1", "job id=2 name=b clients=1\n");
		decide(b, 1000 + i);
	}
	assert_string_equal(nodes_of(b, 0, 1), "0");
	assert_string_equal(nodes_of(b, 1, 2), "1");
	brain_node_gone(b, 1, 1100 * MS);
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

static void there_is_room_for_64_nodes_and_no_more(void **state)
{
	struct brain *b = brain((struct brain_config){ .allocate = "one" });
	char name[16];

	(void)state;
	for (int t = 0; t < 2; t++)
		for (int i = 0; i < BRAIN_NODES; i++) {
			snprintf(name, sizeof(name), "name=n%d", i);
			assert_int_equal(hear(b, 1000 + t, name, "job id=%d name=j%d clients=1\n",
					      i + 1, i + 1),
					 i);
		}
	assert_int_equal(hear(b, 1002, "name=other", "%s", ""), -ENOSPC);
	decide(b, 1002);
	for (uint32_t i = 0; i < BRAIN_NODES; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_string_equal(nodes_of(b, i, i + 1), name); /* each its own */
	}
	end(b);
}

static void many_jobs_are_granted_no_more_than_there_is(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fair-share" });
	char *text = malloc(BRAIN_JOBS * 100), *at;
	uint64_t sum = 0;

	(void)state;
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
	/* More than there is room for: the rest is not managed, and nothing breaks. */
	at = text + sprintf(text, "node name=0 socket=/s capacity=1000000000\n");
	for (unsigned i = 0; i < BRAIN_JOBS + 10; i++)
		at += sprintf(at, "job id=%u name=k%u clients=1\n", i + 10000000, i);
	assert_int_equal(brain_report(b, text, 2000 * MS), 0);
	decide(b, 2000);
	assert_int_equal(b->jobs, BRAIN_JOBS);
	free(text);
	end(b);
}

static void orders_go_to_the_nodes_that_know_the_job(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });
	struct sl_job_orders o;

	(void)state;
	hear(b, 1000, "name=0", "job id=1 name=a clients=1\n");
	hear(b, 1000, "name=1", "job id=2 name=b clients=1\n");
	decide(b, 1000);
	assert_true(order(b, 0, 1, &o) && !order(b, 0, 2, &o));
	assert_true(order(b, 1, 2, &o) && !order(b, 1, 1, &o));
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

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct brain *b = brain((struct brain_config){ 0 });
		char text[200];

		hear(b, 900, "name=0", "job id=1 name=a clients=1\n");
		brain_decide(b, 900 * MS);
		snprintf(text, sizeof(text), "%s", bad[i]);
		if (brain_report(b, text, 1000 * MS) != -EPROTO)
			fail_msg("taken: %s", bad[i]);
		if (strstr(bad[i], "name=0\n"))
			assert_false(b->node[0].up);
		brain_decide(b, 1000 * MS);
		/* It may report again. */
		assert_int_equal(hear(b, 1100, "name=0", "job id=1 name=a clients=1\n"), 0);
		assert_true(b->node[0].up);
		end(b);
	}
}

static void numbers_out_of_all_reason_do_no_harm(void **state)
{
	struct brain *b = brain((struct brain_config){ .grant = "fair-share" });

	(void)state;
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

	(void)state;
	decide(b, 0);
	decide(b, 1000);
	brain_node_gone(b, 5, 0);
	brain_node_gone(b, BRAIN_NODES + 5, 0);
	assert_int_equal(brain_capacity(b), 0);
	end(b);
}

/* ---- periods ---- */

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

	(void)state;
	work_in_periods(b, 0);
	assert_true(order(b, 0, 7, &o));
	assert_true(o.period_ns > 1900 * MS && o.period_ns < 2100 * MS);
	assert_int_equal(job(b, 7)->io.period_ns, o.period_ns);
	assert_true(job(b, 7)->confidence > 0.5);
	end(b);
}

static void what_the_user_has_declared_is_not_overruled(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	(void)state;
	work_in_periods(b, 60000 * MS);
	assert_int_equal(job(b, 7)->io.period_ns, 60000 * MS);
	end(b);
}

int main(void)
{
	const struct CMUnitTest brain[] = {
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
		cmocka_unit_test(who_came_first_is_served_first_under_fcfs),
		cmocka_unit_test(
			fair_share_divides_and_gives_nobody_more_than_its_processes_can_use),
		cmocka_unit_test(set_10_divides_by_the_periods),
		cmocka_unit_test(a_new_period_is_decided_by_at_once),
		cmocka_unit_test(there_is_no_grant_without_policy_or_capacity),
		cmocka_unit_test(the_capacity_is_what_the_nodes_that_are_up_have_together),
		cmocka_unit_test(a_grant_is_divided_as_the_job_s_io_is),
		cmocka_unit_test(a_policy_that_plans_ahead_is_refused),
		cmocka_unit_test(
			a_grant_is_no_more_than_what_the_nodes_can_give_that_serve_the_job),
		cmocka_unit_test(a_job_that_declares_no_size_has_that_of_its_processes),
		cmocka_unit_test(a_curve_is_kept_by_the_title_of_a_job),
		cmocka_unit_test(another_policy_decides_at_once_and_phases_are_kept),
		cmocka_unit_test(shares_are_as_in_the_example),
		cmocka_unit_test(a_job_that_did_nothing_yet_has_equal_shares_where_it_is),
		cmocka_unit_test(shares_are_the_whole_on_64_nodes_too),
		cmocka_unit_test(what_a_job_misses_of_its_max_it_may_make_up_for_within_bounds),
		cmocka_unit_test(a_lost_connection_counts_nothing_twice),
		cmocka_unit_test(a_node_with_another_life_counts_from_0),
		cmocka_unit_test(two_nodes_of_one_name_are_one_too_many),
		cmocka_unit_test(who_was_gone_for_longest_gives_way_to_a_new_node),
		cmocka_unit_test(a_new_controller_takes_nothing_old_for_new),
		cmocka_unit_test(a_bandwidth_is_that_of_the_nodes_it_was_reached_with),
		cmocka_unit_test(a_new_controller_leaves_jobs_where_they_are),
		cmocka_unit_test(the_jobs_of_a_node_that_is_gone_are_served_by_others),
		cmocka_unit_test(a_job_has_as_many_nodes_as_its_min_needs),
		cmocka_unit_test(nobody_is_sent_to_a_node_that_has_promised_all_it_has),
		cmocka_unit_test(a_job_can_be_pinned_to_nodes),
		cmocka_unit_test(what_was_declared_is_heard_from_where_the_job_is),
		cmocka_unit_test(a_job_that_no_node_knows_is_forgotten_after_a_minute),
		cmocka_unit_test(there_is_room_for_64_nodes_and_no_more),
		cmocka_unit_test(many_jobs_are_granted_no_more_than_there_is),
		cmocka_unit_test(orders_go_to_the_nodes_that_know_the_job),
		cmocka_unit_test(a_bad_report_is_refused_and_its_node_counts_as_gone),
		cmocka_unit_test(numbers_out_of_all_reason_do_no_harm),
		cmocka_unit_test(nothing_known_nothing_decided),
		cmocka_unit_test(the_period_of_a_job_is_found_and_its_nodes_are_told),
		cmocka_unit_test(what_the_user_has_declared_is_not_overruled),
	};

	return cmocka_run_group_tests(brain, NULL, NULL);
}
