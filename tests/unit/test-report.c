/* SPDX-License-Identifier: Apache-2.0 */
/* Reports and orders as text: what is written is what is read, and what is not taken. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/report.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static FILE *begin(char **text)
{
	static size_t size;

	return open_memstream(text, &size);
}

/* ---- there and back ---- */

static const struct sl_node_report nodes[] = {
	{ .name = "0" },
	{ .name = "io7.cluster", .life = 83120745, .socket = "/run/s", .capacity_bps = 500000000 },
	{ .name = "0123456789012345678901234567890",
	  .life = UINT64_MAX,
	  .socket = "/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/"
		    "0123456789/0123456789/0123456789/123456",
	  .capacity_bps = UINT64_MAX },
};

static const struct sl_job_report jobs[] = {
	{ .id = 1, .name = "a" },
	{ .id = 17,
	  .name = "climate=2,x",
	  .title = "climate",
	  .clients = 8,
	  .procs = 64,
	  .nodes = 4,
	  .max_bps = 100000000,
	  .weight = 1,
	  .moved = { 0, 1073741824 },
	  .queued_bytes = 4194304,
	  .waited_ns = 1500000,
	  .inside = 12,
	  .phase = 8,
	  .map = "0,1" },
	{ .id = UINT64_MAX,
	  .name = "012345678901234567890123456789012345678901234567890123456789012",
	  .clients = UINT32_MAX,
	  .procs = UINT32_MAX,
	  .nodes = UINT32_MAX,
	  .min_bps = UINT64_MAX,
	  .max_bps = UINT64_MAX,
	  .weight = UINT32_MAX,
	  .period_ns = INT64_MAX,
	  .moved = { UINT64_MAX, UINT64_MAX },
	  .queued_bytes = UINT64_MAX,
	  .inside = UINT32_MAX,
	  .idle_ns = INT64_MIN,
	  .phase = UINT32_MAX,
	  .map = "-" },
};

static void a_report_is_read_as_it_was_written(void **state)
{
	struct sl_report_line l;
	char *text, *at;
	FILE *f = begin(&text);

	for (size_t i = 0; i < COUNT(nodes); i++)
		sl_report_put_node(f, &nodes[i]);
	for (size_t i = 0; i < COUNT(jobs); i++)
		sl_report_put_job(f, &jobs[i]);
	fclose(f);
	at = text;
	for (size_t i = 0; i < COUNT(nodes); i++) {
		assert_int_equal(sl_report_next(&at, &l), SL_LINE_NODE);
		assert_memory_equal(&l.node, &nodes[i], sizeof(l.node));
	}
	for (size_t i = 0; i < COUNT(jobs); i++) {
		assert_int_equal(sl_report_next(&at, &l), SL_LINE_JOB);
		assert_memory_equal(&l.job, &jobs[i], sizeof(l.job));
	}
	assert_int_equal(sl_report_next(&at, &l), SL_LINE_END);
	assert_int_equal(sl_report_next(&at, &l), SL_LINE_END);
	free(text);
}

static void the_line_of_the_manual_is_what_is_written(void **state)
{
	char *text;
	FILE *f = begin(&text);

	sl_report_put_job(f, &jobs[1]);
	fclose(f);
	assert_string_equal(
		text,
		"job id=17 name=climate=2,x title=climate clients=8 procs=64 nodes=4 min=0 "
		"max=100000000 weight=1 period=0 read=0 written=1073741824 "
		"queued=4194304 waited=1500000 inside=12 idle=0 phase=8 map=0,1 uid=0 account= "
		"uweight=0 aweight=0 bucket=0 bucket_bps=0 ops=0 ops_held=0 limits=0 min_ops=0 "
		"ops_weight=0\n");
	free(text);
}

static void orders_are_read_as_they_were_written(void **state)
{
	struct sl_job_orders some[] = {
		{ .id = 17,
		  .rate_bps = 250000000,
		  .share = 500000,
		  .ops_rate = 3000,
		  .ops_share = 1,
		  .to_count = 2,
		  .to = { "0", "1" } },
		{ .id = 18,
		  .rate_bps = UINT64_MAX,
		  .share = SL_SHARE_WHOLE,
		  .ops_rate = UINT64_MAX,
		  .ops_share = SL_SHARE_WHOLE,
		  .to_count = UINT32_MAX },
		{ .id = 19, .rate_bps = 0, .share = 0, .to_count = 0 }, /* its own I/O */
		{ .id = 20, .rate_bps = 1, .share = 1, .to_count = SL_MAP_MAX },
	};
	const struct sl_node_orders whole = { .epoch = UINT64_MAX,
					      .term = 3,
					      .order = 8,
					      .layer_bps = 500000000,
					      .draw_bps = 250000000,
					      .ops_draw = 5000 };
	struct sl_orders_line l;
	char *text, *at;
	FILE *f = begin(&text);

	for (int i = 0; i < SL_MAP_MAX; i++)
		snprintf(some[3].to[i], SL_NODE_NAME_MAX, "%d-0123456789012345678901234567",
			 i % 10);
	sl_orders_put_epoch(f, &whole);
	sl_report_put_node(f, &nodes[1]);
	for (size_t i = 0; i < COUNT(some); i++)
		sl_orders_put_job(f, &some[i]);
	fclose(f);
	at = text;
	assert_int_equal(sl_orders_next(&at, &l), SL_LINE_EPOCH);
	assert_memory_equal(&l.epoch, &whole, sizeof(whole));
	assert_int_equal(sl_orders_next(&at, &l), SL_LINE_NODE);
	assert_memory_equal(&l.node, &nodes[1], sizeof(l.node));
	for (size_t i = 0; i < COUNT(some); i++) {
		assert_int_equal(sl_orders_next(&at, &l), SL_LINE_JOB);
		assert_memory_equal(&l.job, &some[i], sizeof(l.job));
	}
	assert_int_equal(sl_orders_next(&at, &l), SL_LINE_END);
	free(text);
}

/* ---- either side may be the newer one ---- */

static void what_is_not_known_is_skipped(void **state)
{
	char text[] = "weather fine=1 and more\n"
		      "\n"
		      "job id=5 colour=blue name=a empty= clients=3\n"
		      "node name=x";
	char orders[] = "job id=5 mood=good\nepoch number=3 era=new\n";
	struct sl_report_line l;
	struct sl_orders_line o;
	char *at = text;

	assert_int_equal(sl_report_next(&at, &l), SL_LINE_OTHER);
	assert_int_equal(sl_report_next(&at, &l), SL_LINE_OTHER);
	assert_int_equal(sl_report_next(&at, &l), SL_LINE_JOB);
	assert_int_equal(l.job.id, 5);
	assert_string_equal(l.job.name, "a");
	assert_int_equal(l.job.clients, 3);
	assert_int_equal(sl_report_next(&at, &l), SL_LINE_NODE); /* without an end */
	assert_string_equal(l.node.name, "x");
	assert_int_equal(sl_report_next(&at, &l), SL_LINE_END);
	at = orders;
	assert_int_equal(sl_orders_next(&at, &o), SL_LINE_JOB);
	/* What an order does not say is left as it is. */
	assert_true(o.job.rate_bps == UINT64_MAX);
	assert_int_equal(o.job.share, SL_SHARE_WHOLE);
	assert_true(o.job.to_count == UINT32_MAX);
	assert_int_equal(sl_orders_next(&at, &o), SL_LINE_EPOCH);
	assert_int_equal(o.epoch.epoch, 3);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const char *const reports[] = {
		"job id=",
		"job id=-1",
		"job id=+1",
		"job id=1x",
		"job id= 1",
		"job id=18446744073709551616",
		"job clients=4294967296",
		"job idle=9223372036854775808",
		"job idle=-",
		"job period=--1",
		"job clients",
		"job name=0123456789012345678901234567890123456789012345678901234567890123",
		"node name=01234567890123456789012345678901",
		"node life=0x10",
	};
	static const char *const orders[] = {
		"epoch number=x",
		"job share=4294967296",
		"job to=01234567890123456789012345678901",
		"job to=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
		"node name=x,0123456789012345678901234567890",
	};
	struct sl_report_line l;
	struct sl_orders_line o;
	char text[300], *at;

	for (size_t i = 0; i < COUNT(reports); i++) {
		at = strcpy(text, reports[i]);
		if (sl_report_next(&at, &l) != -EPROTO)
			fail_msg("taken: %s", reports[i]);
	}
	for (size_t i = 0; i < COUNT(orders); i++) {
		at = strcpy(text, orders[i]);
		if (sl_orders_next(&at, &o) != -EPROTO)
			fail_msg("taken: %s", orders[i]);
	}
}

int main(void)
{
	const struct CMUnitTest report[] = {
		cmocka_unit_test(a_report_is_read_as_it_was_written),
		cmocka_unit_test(the_line_of_the_manual_is_what_is_written),
		cmocka_unit_test(orders_are_read_as_they_were_written),
		cmocka_unit_test(what_is_not_known_is_skipped),
		cmocka_unit_test(what_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(report, NULL, NULL);
}
