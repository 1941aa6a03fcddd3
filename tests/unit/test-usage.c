/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts of usage: reading them, and who waited for whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/report/report.h"

#define HEAD_NOW "time,seconds,read,write,calls,held,waited,contended,first,last,job\n"
#define HEAD_UNSCHEDULED \
	"time,seconds,read,write,calls,held,waited,contended,first,last,unscheduled,job\n"
#define HEAD_WIRE                                                                     \
	"time,seconds,read,write,calls,held,waited,contended,first,last,unscheduled," \
	"operations,ops_held,cached,wire,dirty,job\n"
/* Of older accounts, and for what has nothing to do with who met whom. */
#define HEAD	    "time,seconds,read,write,calls,held,waited,job\n"
#define CLOSE(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static struct report read_all(const char *text, int64_t since_s)
{
	struct report r = { 0 };
	char err[REPORT_ERROR] = "";

	assert_int_equal(report_read(&r, text, strlen(text), since_s, err), 0);
	assert_int_equal(report_sum(&r), 0);
	return r;
}

static uint32_t at(const struct report *r, const char *name)
{
	for (uint32_t i = 0; i < r->jobs; i++)
		if (!strcmp(r->job[i].name, name))
			return i;
	fail_msg("no job %s", name);
	return 0;
}

static double waited_for(const struct report *r, const char *a, const char *b)
{
	return r->by[at(r, a) * r->named + at(r, b)];
}

/* The example of cli/report/sum.c. */
static void waiting_is_divided_by_bytes(void **state)
{
	struct report r = read_all(HEAD "1002,2.0,0,10000000,10,0,0.4,small\n"
					"1002,2.0,30000000,0,30,0,2.0,ckpt\n",
				   0);

	assert_string_equal(r.job[0].name, "ckpt"); /* the largest */
	CLOSE(waited_for(&r, "small", "ckpt"), 0.3);
	CLOSE(waited_for(&r, "small", "small"), 0.1);
	CLOSE(waited_for(&r, "ckpt", "small"), 0.5);
	CLOSE(r.job[at(&r, "ckpt")].saved_s, 2 * (30 / 27.5 - 1));
	CLOSE(r.job[at(&r, "small")].saved_s, -0.4);
	assert_int_equal(r.from_s, 1000);
	assert_int_equal(r.to_s, 1002);
	report_free(&r);
}

/* Four jobs in the same two seconds; c runs in the gaps of a, d after all others. */
static void jobs_that_did_not_meet_have_not_delayed_each_other(void **state)
{
	struct report r = read_all(HEAD_NOW "1002,2,0,100,1,0,0.4,0.3,0,1,a\n"
					    "1002,2,0,300,1,0,0.5,0.3,0,0.5,b\n"
					    "1002,2,0,500,1,0,0.1,0,0.6,0.7,c\n"
					    "1002,2,0,900,1,0,0.8,0,1,2,d\n",
				   0);

	CLOSE(waited_for(&r, "a", "d"), 0);
	CLOSE(waited_for(&r, "d", "a"), 0);
	CLOSE(waited_for(&r, "c", "a"), 0);
	CLOSE(waited_for(&r, "b", "c"), 0);
	CLOSE(waited_for(&r, "b", "a"), 0.3 * 100 / 400);
	CLOSE(waited_for(&r, "b", "b"), 0.3 * 300 / 400);
	CLOSE(r.job[at(&r, "d")].waited_s, 0.8);
	CLOSE(r.job[at(&r, "d")].saved_s, 0);
	report_free(&r);
}

static void what_went_past_the_scheduler_is_summed(void **state)
{
	struct report r = read_all(HEAD_UNSCHEDULED "1002,2,0,100,1,0,0.4,0.3,0,1,4096,a\n"
						    "1004,2,0,100,1,0,0.4,0.3,0,1,100,a\n"
						    "1004,2,0,100,1,0,0.4,0.3,0,1,0,b\n"
						    "1004,2,0,100,1,0,0.4,0.3,0,1,b\n",
				   0);

	assert_int_equal(r.job[at(&r, "a")].unscheduled, 4196);
	assert_int_equal(r.job[at(&r, "b")].unscheduled, 0);
	assert_int_equal(r.skipped_lines, 1);
	report_free(&r);
}

static void what_the_page_cache_kept_is_told_apart(void **state)
{
	struct report r =
		read_all(HEAD_WIRE "1002,2,100,900,5,0,0,0,0,2,0,3,0,100,500,400,a\n"
				   "1004,2,0,0,0,0,0,0,0,2,0,0,0,0,400,0,a\n"
				   "1004,2,0,7,1,0,0,0,0,2,0,0,0,7,0,a\n", /* a column is missing */
			 0);

	assert_int_equal(r.job[at(&r, "a")].cached, 100);
	assert_int_equal(r.job[at(&r, "a")].wire, 900);
	assert_int_equal(r.job[at(&r, "a")].dirty, 400);
	assert_int_equal(r.skipped_lines, 1);
	report_free(&r);
}

static void time_held_by_its_own_max_is_nobodys_fault(void **state)
{
	struct report r = read_all(HEAD "1002,2,0,100,1,1.5,1.5,a\n1002,2,0,300,1,0,2,b\n", 0);

	CLOSE(waited_for(&r, "a", "b"), 0);
	CLOSE(r.job[at(&r, "a")].held_s, 1.5);
	report_free(&r);
}

/* Nor has the policy taken anything from one that has all that its max allows. */
static void a_job_at_its_own_max_has_not_lost(void **state)
{
	struct report r = read_all(HEAD "1002,2,0,100,1,2,2,a\n1002,2,0,900,1,0,2,b\n", 0);

	CLOSE(r.job[at(&r, "a")].saved_s, 0);
	CLOSE(r.job[at(&r, "b")].saved_s, 0);
	report_free(&r);
}

/* Also one that was not served at all. */
static void nobody_loses_more_than_it_waited(void **state)
{
	struct report r = read_all(HEAD "1002,2,0,0,0,0,0.5,a\n1002,2,0,10,1,0,1.5,b\n"
					"1002,2,0,900,1,0,2,c\n",
				   0);

	CLOSE(r.job[at(&r, "a")].saved_s, -0.5);
	CLOSE(r.job[at(&r, "b")].saved_s, -1.5);
	report_free(&r);
}

/*
 * Two spans that end in the same second: `sluice report` asks for one when it is called. Taken as
 * one, b would wait for what was moved while it was not there.
 */
static void spans_that_end_in_the_same_second_are_apart(void **state)
{
	struct report r = read_all(HEAD "1002,2,0,700,1,0,2,a\n1002,2,0,300,1,0,2,b\n"
					"1002,0.2,0,70,1,0,0.2,a\n1002,0.2,0,30,1,0,0.2,b\n"
					"1002,0.2,0,70,1,0,0.2,a\n"
					"1004,1.6,0,0,0,0,0,a\n",
				   0);

	CLOSE(waited_for(&r, "a", "b"), 0.6 + 0.06);
	CLOSE(waited_for(&r, "b", "a"), 1.4 + 0.14);
	CLOSE(r.job[at(&r, "a")].saved_s, 2.2 * (700. / 500 - 1));
	CLOSE(r.job[at(&r, "b")].saved_s, 2.2 * (300. / 500 - 1));
	CLOSE(r.job[at(&r, "a")].active_s, 4);
	CLOSE(r.job[at(&r, "b")].active_s, 2.2);
	report_free(&r);
}

static void a_job_that_had_all_it_wanted_has_neither_saved_nor_lost(void **state)
{
	struct report r = read_all(HEAD "1002,2,0,100,1,0,0,a\n1002,2,0,900,1,0,2,b\n", 0);

	CLOSE(r.job[at(&r, "a")].saved_s, 0);
	CLOSE(r.job[at(&r, "b")].saved_s, 0);
	report_free(&r);
}

/* Jobs that were served at other times, or by other nodes, have not delayed each other. */
static void spans_and_nodes_are_apart(void **state)
{
	static const char one[] = HEAD "1002,2,0,100,1,0,2,a\n1004,2,0,100,1,0,2,b\n";
	static const char two[] = HEAD "1002,2,0,100,1,0,2,b\n1003,2,0,0,1,0,2,b\n";
	struct report r = { 0 };
	char err[REPORT_ERROR];

	assert_int_equal(report_read(&r, one, strlen(one), 0, err), 0);
	assert_int_equal(report_read(&r, two, strlen(two), 0, err), 0);
	assert_int_equal(report_sum(&r), 0);
	CLOSE(waited_for(&r, "a", "b"), 0);
	CLOSE(waited_for(&r, "b", "a"), 0);
	assert_int_equal(r.job[0].bytes[1], 200);
	CLOSE(r.job[at(&r, "a")].active_s, 2);
	CLOSE(r.job[at(&r, "b")].active_s, 4);
	assert_string_equal(r.job[0].name, "b");
	report_free(&r);
}

static void what_is_older_is_left_out(void **state)
{
	struct report r = read_all(HEAD "1002,2,0,100,1,0,0,a\n1004,2,0,7,1,0,0,b,c\n", 1003);

	assert_int_equal(r.jobs, 1);
	assert_string_equal(r.job[0].name, "b,c"); /* a comma is no end of a name */
	report_free(&r);
}

static void lines_that_make_no_sense_are_counted(void **state)
{
	struct report r = read_all(HEAD "1002,2,0,100,1,0,0,a\n"
					"1002,2,0,-1,1,0,0,a\n"
					"1002,0,0,1,1,0,0,a\n"
					"1002,nan,0,1,1,0,0,a\n"
					"1002,0.0000000001,0,1,1,0,0,a\n"
					"4611686018427387903,2,0,1,1,0,0,a\n"
					"1002,2,0,1,1,0,0,\n"
					"1002,2,0,1,1,0,0,a b\n"
					"\n"
					"1002,2,0,100,1",
				   0);

	assert_int_equal(r.skipped_lines, 9);
	assert_int_equal(r.rows, 1);
	report_free(&r);
	r = read_all(HEAD_NOW "1002,2,0,100,1,0,0,0,0.5,1.5,a\n"
			      "1002,2,0,100,1,0,0,0,1.5,0.5,a\n"
			      "1002,2,0,100,1,0,0,0,-1,0.5,a\n"
			      "1002,2,0,100,1,0,0,a\n",
		     0);
	assert_int_equal(r.skipped_lines, 3);
	assert_int_equal(r.rows, 1);
	report_free(&r);
}

static void something_else_is_no_account(void **state)
{
	static const char *const texts[] = { "", "time",
					     "time,seconds,read,write,calls,held,waited,jobs\n" };
	char err[REPORT_ERROR];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct report r = { 0 };

		assert_int_equal(report_read(&r, texts[i], strlen(texts[i]), 0, err), -EINVAL);
		report_free(&r);
	}
}

static void an_empty_account_is_one(void **state)
{
	struct report r = read_all(HEAD, 0);

	assert_int_equal(r.jobs, 0);
	assert_int_equal(r.to_s, 0);
	report_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiting_is_divided_by_bytes),
		cmocka_unit_test(jobs_that_did_not_meet_have_not_delayed_each_other),
		cmocka_unit_test(what_went_past_the_scheduler_is_summed),
		cmocka_unit_test(what_the_page_cache_kept_is_told_apart),
		cmocka_unit_test(time_held_by_its_own_max_is_nobodys_fault),
		cmocka_unit_test(a_job_at_its_own_max_has_not_lost),
		cmocka_unit_test(nobody_loses_more_than_it_waited),
		cmocka_unit_test(spans_that_end_in_the_same_second_are_apart),
		cmocka_unit_test(a_job_that_had_all_it_wanted_has_neither_saved_nor_lost),
		cmocka_unit_test(spans_and_nodes_are_apart),
		cmocka_unit_test(what_is_older_is_left_out),
		cmocka_unit_test(lines_that_make_no_sense_are_counted),
		cmocka_unit_test(something_else_is_no_account),
		cmocka_unit_test(an_empty_account_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
