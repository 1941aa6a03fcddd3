/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers at granted rates, under policies that are made for the test. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/granted.h"

#define SECOND INT64_C(1000000000)

/* ---- policies: who asked last goes first; and each second another one's turn ---- */

struct seen {
	unsigned plans, jobs;
	sl_time last;
};

static size_t pl_size(const struct sl_policy_limits *limits)
{
	assert_true(limits->lanes >= 1);
	return sizeof(struct seen);
}

static void pl_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		    sl_time now)
{
	(void)limits, (void)values;
	((struct seen *)state)->last = now;
}

static sl_time last_first(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
			  sl_time now)
{
	uint32_t best = 0;

	(void)state, (void)now;
	for (uint32_t i = 0; i < n; i++) {
		jobs[i]->rate_bps = 0;
		if (jobs[i]->asked > jobs[best]->asked)
			best = i;
	}
	jobs[best]->rate_bps = fmin(jobs[best]->cap_bps, capacity_bps);
	return SL_NEVER;
}

static sl_time in_turn(void *state, struct sl_io_job **jobs, uint32_t n, double capacity_bps,
		       sl_time now)
{
	struct seen *s = state;

	assert_true(now >= s->last);
	s->last = now;
	for (uint32_t i = 0; i < n; i++)
		jobs[i]->rate_bps = (sl_time)(jobs[i]->job % 2) == now / SECOND % 2
					    ? fmin(jobs[i]->cap_bps, capacity_bps)
					    : 0;
	return (now / SECOND + 1) * SECOND;
}

static int count_plan(void *state, const struct sl_plan_job *jobs, uint32_t n, double capacity_bps,
		      sl_time now)
{
	struct seen *s = state;

	(void)jobs, (void)capacity_bps, (void)now;
	s->plans++;
	s->jobs = n;
	return s->plans == 3 ? -EDOM : 0;
}

static const struct sl_grant_ops lifo = {
	.base = { .name = "lifo", .state_size = pl_size, .init = pl_init },
	.decide = last_first,
};
static const struct sl_grant_ops turns = {
	.base = { .name = "turns", .state_size = pl_size, .init = pl_init },
	.decide = in_turn,
};
static const struct sl_grant_ops planned = {
	.base = { .name = "planned", .state_size = pl_size, .init = pl_init },
	.decide = last_first,
	.plan = count_plan,
};

/* ---- the rig: capacity 10 ---- */

struct rig {
	struct sl_granted *g;
	struct sl_phase_sink sink;
	double end_s[4];
	char told[400]; /* "0 T 0 4 10; 0 S 4 6 0; " */
};

static void told(void *arg, uint32_t app, enum sl_activity what, double from_s, double to_s,
		 double rate_bps)
{
	struct rig *r = arg;
	size_t used = strlen(r->told);

	snprintf(r->told + used, sizeof(r->told) - used, "%u %c %g %g %g; ", app,
		 what == SL_TRANSFERS ? 'T' : 'S', from_s, to_s, rate_bps);
}

static void open_rig(struct rig *r, const struct sl_grant_ops *ops, double restart_s, double cap)
{
	struct sl_granted_app apps[4];
	struct sl_spec spec = { .policy = &ops->base };

	memset(r, 0, sizeof(*r));
	r->sink = (struct sl_phase_sink){ .segment = told, .arg = r };
	for (uint32_t i = 0; i < 4; i++)
		apps[i] = (struct sl_granted_app){ .job = i, .procs = 1, .cap_bps = cap };
	assert_int_equal(sl_granted_create(&r->g, &spec, apps, 4, restart_s, false, &r->sink), 0);
	sl_granted_capacity(r->g, 10);
}

/* Everything up to a time, which becomes now; nothing is settled. */
static void run_to(struct rig *r, double s)
{
	double next;
	uint32_t i;

	while ((next = sl_granted_next_s(r->g)) < s) {
		sl_granted_advance(r->g, next);
		while ((i = sl_granted_end(r->g)) != SL_NO_TRANSFER)
			r->end_s[i] = next;
		assert_int_equal(sl_granted_settle(r->g, next), 0);
	}
	if (s < INFINITY)
		sl_granted_advance(r->g, s);
	while ((i = sl_granted_end(r->g)) != SL_NO_TRANSFER)
		r->end_s[i] = s;
}

static void start_at(struct rig *r, double s, uint32_t app, double bytes)
{
	run_to(r, s);
	sl_granted_start(r->g, app, 1, bytes, (struct sl_granted_past){ 0, 0, 0 }, s);
	assert_int_equal(sl_granted_settle(r->g, s), 0);
}

static void an_interrupted_transfer_goes_on_where_it_was(void **state)
{
	struct rig r;

	open_rig(&r, &lifo, 0, INFINITY);
	start_at(&r, 0, 0, 100);
	start_at(&r, 4, 1, 20);
	assert_true(sl_granted_left_bytes(r.g, 0, 4.5) == 60);
	assert_true(sl_granted_left_bytes(r.g, 1, 4.5) == 15);
	assert_true(sl_granted_rate_bps(r.g) == 10);
	run_to(&r, INFINITY);
	assert_true(r.end_s[1] == 6 && r.end_s[0] == 12);
	assert_true(sl_granted_moved_bytes(r.g) == 120);
	assert_string_equal(r.told, "0 T 0 4 10; 1 T 4 6 10; 0 S 4 6 0; 0 T 6 12 10; ");
	sl_granted_destroy(r.g);
}

static void going_on_costs_a_restart(void **state)
{
	struct rig r;

	open_rig(&r, &lifo, 1, INFINITY);
	start_at(&r, 0, 0, 100);
	start_at(&r, 4, 1, 20);
	run_to(&r, 6.5);
	assert_true(sl_granted_left_bytes(r.g, 0, 6.5) == 60);
	run_to(&r, INFINITY);
	assert_true(r.end_s[1] == 6 && r.end_s[0] == 13);
	assert_true(sl_granted_moved_bytes(r.g) == 120);
	sl_granted_destroy(r.g);
}

static void a_restart_that_is_interrupted_begins_again(void **state)
{
	struct rig r;

	open_rig(&r, &lifo, 1, INFINITY);
	start_at(&r, 0, 0, 100);
	start_at(&r, 4, 1, 20);
	/* 0 restarts at 6; at 6.5 the next one interrupts it, until 7.5. */
	start_at(&r, 6.5, 2, 10);
	run_to(&r, INFINITY);
	assert_true(r.end_s[2] == 7.5 && r.end_s[0] == 7.5 + 1 + 6);
	sl_granted_destroy(r.g);
}

static void a_transfer_that_had_not_begun_has_nothing_to_restart(void **state)
{
	struct rig r;

	open_rig(&r, &lifo, 1, INFINITY);
	start_at(&r, 0, 0, 100);
	start_at(&r, 4, 1, 20); /* goes on at 5, having moved nothing */
	sl_granted_start(r.g, 2, 1, 10, (struct sl_granted_past){ 0, 0, 0 }, 4 + 1e-3);
	assert_int_equal(sl_granted_settle(r.g, 4), 0);
	run_to(&r, INFINITY);
	assert_true(r.end_s[2] == 5 && r.end_s[1] == 7 && r.end_s[0] == 7 + 1 + 6);
	sl_granted_destroy(r.g);
}

static void the_policy_is_asked_when_it_wants_to_be(void **state)
{
	struct rig r;

	open_rig(&r, &turns, 0, 4);
	start_at(&r, 0.5, 0, 10);
	start_at(&r, 0.5, 1, 8);
	run_to(&r, 10);
	/* 0: 2 until 1, 4 until 3, 4 until 5. 1: 4 until 2, 4 until 4. */
	assert_true(fabs(r.end_s[0] - 5) < 1e-9 && fabs(r.end_s[1] - 4) < 1e-9);
	sl_granted_destroy(r.g);
}

static void who_leaves_gives_up_its_transfer(void **state)
{
	struct rig r;

	open_rig(&r, &lifo, 0, INFINITY);
	sl_granted_join(r.g, 0);
	sl_granted_join(r.g, 1);
	start_at(&r, 0, 0, 100);
	start_at(&r, 4, 1, 20);
	run_to(&r, 5);
	sl_granted_leave(r.g, 1, 5);
	assert_int_equal(sl_granted_settle(r.g, 5), 0);
	run_to(&r, INFINITY);
	assert_true(r.end_s[0] == 11 && r.end_s[1] == 0);
	assert_true(sl_granted_moved_bytes(r.g) == 110);
	sl_granted_destroy(r.g);
}

static void plans_are_made_when_jobs_come_and_go(void **state)
{
	struct rig r;

	open_rig(&r, &planned, 0, INFINITY);
	sl_granted_join(r.g, 0);
	sl_granted_join(r.g, 1);
	assert_int_equal(sl_granted_settle(r.g, 0), 0); /* first plan */
	assert_int_equal(sl_granted_settle(r.g, 1), 0);
	sl_granted_leave(r.g, 1, 2);
	assert_int_equal(sl_granted_settle(r.g, 2), 0); /* second plan */
	sl_granted_join(r.g, 2);
	assert_int_equal(sl_granted_settle(r.g, 3), -EDOM); /* third: it fails */
	sl_granted_destroy(r.g);
}

static void less_capacity_is_less_for_all(void **state)
{
	struct rig r;

	open_rig(&r, &lifo, 0, 6);
	start_at(&r, 0, 0, 60);
	assert_true(sl_granted_rate_bps(r.g) == 6);
	run_to(&r, 5);
	sl_granted_capacity(r.g, 3);
	assert_int_equal(sl_granted_settle(r.g, 5), 0);
	run_to(&r, INFINITY);
	assert_true(r.end_s[0] == 15);
	sl_granted_destroy(r.g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interrupted_transfer_goes_on_where_it_was),
		cmocka_unit_test(going_on_costs_a_restart),
		cmocka_unit_test(a_restart_that_is_interrupted_begins_again),
		cmocka_unit_test(a_transfer_that_had_not_begun_has_nothing_to_restart),
		cmocka_unit_test(the_policy_is_asked_when_it_wants_to_be),
		cmocka_unit_test(who_leaves_gives_up_its_transfer),
		cmocka_unit_test(plans_are_made_when_jobs_come_and_go),
		cmocka_unit_test(less_capacity_is_less_for_all),
	};

	return cmocka_run_group_tests_name("granted", tests, NULL, NULL);
}
