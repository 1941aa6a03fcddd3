/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the capacity, against a modelled file system: threads of several jobs, one call at a time
 * each; a bandwidth for each direction and a latency that no load changes; noise; others who use
 * it, too.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "detect/capacity.h"

#define MB     1e6
#define STEP_S ((double)CAPACITY_STEP_NS / 1e9)

struct rig {
	struct capacity c;
	double device_bps[2];
	double others; /* part of it that others use */
	double latency_s, call_bytes;
	uint32_t jobs, threads; /* threads: of all jobs */
	double demand_bps;	/* 0: as much as there is */
	double reads;		/* part of the bytes */
	double slack_s;		/* of the device's time, that it takes at once if it was not used */
	double slack_bytes;	/* of it, now */
	double noise;		/* of what is measured, ±; also of a fixed bias of a step */
	uint64_t seed;
	sl_time now;
	double moved, held_steps;
	double queued_s; /* that most threads were blocked */
};

static struct rig make(double write_bps)
{
	struct rig r = { .device_bps = { 2 * write_bps, write_bps },
			 .call_bytes = 1 << 20,
			 .jobs = 2,
			 .threads = 2,
			 .seed = 88172645463325252u };

	capacity_init(&r.c);
	return r;
}

static double noisy(struct rig *r, double value)
{
	r->seed ^= r->seed << 13, r->seed ^= r->seed >> 7, r->seed ^= r->seed << 17;
	return value * (1 + r->noise * (2 * (double)(r->seed % 10001) / 10000 - 1));
}

/* What the mix of reads and writes gets from the device in a second. */
static double device(const struct rig *r)
{
	return (1 - r->others) /
	       (r->reads / r->device_bps[SL_READ] + (1 - r->reads) / r->device_bps[SL_WRITE]);
}

#define LOOKS 24

/* A look's time: what was moved, and how many threads were blocked. */
static double part(struct rig *r, double *blocked, double *waited)
{
	double seconds = STEP_S / LOOKS, pace = capacity_pace_bps(&r->c), full = device(r);
	double call_s = r->latency_s + r->call_bytes / full;
	double most = full + r->slack_bytes / seconds;
	double fastest = r->latency_s > 0 ? fmin(most, r->threads * r->call_bytes / call_s) : most;
	double demand = r->demand_bps > 0 ? r->demand_bps : INFINITY, x;

	pace = pace > 0 ? pace : INFINITY;
	x = fmin(fmin(pace, fastest), demand);
	*blocked = fmin(x * call_s / r->call_bytes, r->threads);
	*waited = 0;
	if (x >= fastest)
		*blocked = r->threads; /* all wait for the file system */
	else if (x >= pace)
		*waited = r->threads - *blocked;
	r->slack_bytes = fmin(r->slack_bytes + (full - x) * seconds, r->slack_s * full);
	return x;
}

static double step(struct rig *r)
{
	struct capacity_sample s = { .seconds = STEP_S, .jobs = r->jobs };
	double x = 0;

	for (int i = 0; i < LOOKS; i++) {
		double blocked, waited;

		x += part(r, &blocked, &waited) / LOOKS;
		s.blocked += blocked / LOOKS;
		s.waited += waited / LOOKS;
		capacity_look(&r->c, noisy(r, blocked), 0);
	}
	s.blocked = noisy(r, s.blocked);
	s.waited = noisy(r, s.waited);
	s.jobs_blocked = s.blocked >= 0.5 * r->threads ? r->jobs : 0;
	s.delivered_bytes[SL_READ] = noisy(r, x * r->reads * STEP_S);
	s.delivered_bytes[SL_WRITE] = noisy(r, x * (1 - r->reads) * STEP_S);
	r->now += CAPACITY_STEP_NS;
	r->moved += x * STEP_S;
	r->queued_s += s.blocked >= 0.75 * r->threads ? STEP_S : 0;
	r->held_steps += r->c.state != CAPACITY_CLEAR;
	capacity_step(&r->c, &s, r->now);
	return x;
}

/* Steps, and what was moved in a second of them. */
static double run(struct rig *r, double seconds)
{
	double before = r->moved;
	int steps = (int)ceil(seconds / STEP_S);

	for (int i = 0; i < steps; i++)
		step(r);
	return (r->moved - before) / (steps * STEP_S);
}

static bool within(double part, double a, double b)
{
	return fabs(a - b) <= part * b;
}

/* From now on it stays within 10 % of the truth, and gives 95 % of the device. */
static void stays(struct rig *r, double seconds, int op)
{
	double true_bps = device(r), before = r->moved;
	int steps = (int)ceil(seconds / STEP_S);

	for (int i = 0; i < steps; i++) {
		step(r);
		assert_int_equal(r->c.state, CAPACITY_PACED);
		if (!within(0.10 + r->noise, r->c.estimate_bps[op], true_bps)) {
			print_error("%f of %f after %d steps, seed %llu\n", r->c.estimate_bps[op],
				    true_bps, i, (unsigned long long)r->seed);
			fail();
		}
	}
	assert_true((r->moved - before) / (steps * STEP_S) > (0.95 - r->noise) * true_bps);
}

static void test_converges(void **state)
{
	static const double rates[] = { 5 * MB, 100 * MB, 3000 * MB, 90000 * MB };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct rig r = make(rates[i]);

		run(&r, 3);
		stays(&r, 60, SL_WRITE);
	}
}

static void test_reads(void **state)
{
	struct rig r = make(100 * MB);

	r.reads = 1;
	run(&r, 3);
	stays(&r, 20, SL_READ);
	assert_true(within(0.1, r.c.estimate_bps[SL_READ], 200 * MB));
	/* Then only writes: those are slower, and reads stay what they were. */
	r.reads = 0;
	run(&r, 3);
	stays(&r, 20, SL_WRITE);
	assert_true(within(0.1, r.c.estimate_bps[SL_READ], 200 * MB));
}

static void test_mixed(void **state)
{
	struct rig r = make(100 * MB);

	r.reads = 0.5;
	run(&r, 3);
	assert_int_equal(r.c.state, CAPACITY_PACED);
	assert_true(run(&r, 30) > 0.95 * device(&r));
}

/* Halved, doubled, doubled again: found within 3 s, over and over. */
static void test_bandwidth_changes(void **state)
{
	struct rig r = make(100 * MB);

	run(&r, 3);
	for (int i = 0; i < 5; i++) {
		r.device_bps[SL_WRITE] /= 2;
		run(&r, 3);
		stays(&r, 6, SL_WRITE);
		r.device_bps[SL_WRITE] *= 2;
		run(&r, 3);
		stays(&r, 6, SL_WRITE);
	}
}

/* A device that takes a tenth of a second more at once: found as well, and hardly ever queued. */
static void test_slack(void **state)
{
	struct rig r = make(100 * MB);

	r.slack_s = 0.1;
	run(&r, 3);
	r.queued_s = 0;
	stays(&r, 60, SL_WRITE);
	assert_true(r.queued_s < 1);
	r.device_bps[SL_WRITE] /= 2;
	run(&r, 3);
	stays(&r, 6, SL_WRITE);
	r.device_bps[SL_WRITE] *= 2;
	run(&r, 3);
	stays(&r, 6, SL_WRITE);
}

static void test_load_of_others(void **state)
{
	struct rig r = make(100 * MB);

	run(&r, 3);
	r.others = 0.5;
	run(&r, 3);
	stays(&r, 10, SL_WRITE);
	r.others = 0;
	run(&r, 4);
	stays(&r, 10, SL_WRITE);
}

static void test_a_job_alone_is_never_held(void **state)
{
	struct rig r = make(100 * MB);

	r.jobs = 1;
	assert_true(run(&r, 30) >= 100 * MB * 0.999);
	assert_true(r.held_steps == 0);
	/* After a second job has gone it is let go again. */
	r.jobs = 2;
	run(&r, 5);
	assert_int_equal(r.c.state, CAPACITY_PACED);
	r.jobs = 1;
	run(&r, 1);
	assert_int_equal(r.c.state, CAPACITY_CLEAR);
}

static void test_nothing_congested(void **state)
{
	struct rig r = make(100 * MB);

	r.demand_bps = 40 * MB;
	run(&r, 30);
	assert_true(r.held_steps == 0);
}

/* Found, then little used: the estimate stays, and nobody is held. */
static void test_unused_never_lowers(void **state)
{
	struct rig r = make(100 * MB);
	double found;

	run(&r, 5);
	found = r.c.estimate_bps[SL_WRITE];
	r.demand_bps = 5 * MB;
	run(&r, 10);
	assert_true(r.c.estimate_bps[SL_WRITE] == found);
	assert_int_equal(r.c.state, CAPACITY_CLEAR);
	r.demand_bps = 0;
	run(&r, 3);
	stays(&r, 10, SL_WRITE);
}

/* Small calls on a large file system: blocked all the time, but there is bandwidth to spare. */
static void test_latency_is_no_congestion(void **state)
{
	struct rig r = make(10000 * MB);
	double free_bps;

	r.call_bytes = 4096;
	r.latency_s = 0.001;
	r.threads = 8;
	free_bps = r.threads * r.call_bytes / r.latency_s;
	assert_true(run(&r, 120) > 0.98 * free_bps);
	assert_int_equal(r.c.state, CAPACITY_CLEAR);
}

static void test_many_threads(void **state)
{
	for (uint32_t threads = 2; threads <= 256; threads *= 2) {
		struct rig r = make(500 * MB);

		r.threads = threads;
		run(&r, 3);
		stays(&r, 20, SL_WRITE);
	}
}

static void test_absurd_samples(void **state)
{
	struct capacity c;
	struct capacity_sample s = {
		.seconds = STEP_S, .jobs = 2, .jobs_blocked = 2, .blocked = 2
	};

	capacity_init(&c);
	for (int i = 0; i < 1000; i++) {
		s.delivered_bytes[SL_WRITE] = i % 7 == 0 ? 1e30 : i % 3 == 0 ? 0 : 1;
		s.waited = i % 2;
		s.blocked = i % 5;
		s.seconds = i % 11 == 0 ? 0 : STEP_S;
		capacity_step(&c, &s, i * CAPACITY_STEP_NS);
		for (int op = 0; op < 2; op++)
			assert_true(c.estimate_bps[op] == 0 ||
				    (c.estimate_bps[op] >= CAPACITY_LEAST &&
				     c.estimate_bps[op] <= CAPACITY_MOST));
		assert_true(capacity_pace_bps(&c) >= 0 && isfinite(capacity_pace_bps(&c)));
	}
}

/* A device that has used up its slack in a probe may pause in the step that measures: nothing is found then. */
static void test_pause(void **state)
{
	struct rig r = make(20 * MB);
	struct capacity_sample s = { .seconds = STEP_S, .jobs = 2, .waited = 2 };
	double estimate;

	run(&r, 5);
	assert_int_equal(r.c.state, CAPACITY_PACED);
	while (!r.c.probing)
		step(&r);
	estimate = r.c.estimate_bps[SL_WRITE];
	/* Two probes that move more and meet a queue, then a third of it. */
	for (int i = 0; i < 3; i++) {
		s.blocked = r.c.trial_blocked;
		s.delivered_bytes[SL_WRITE] = (i < 2 ? 1.5 : 0.3) * estimate * STEP_S;
		for (int k = 0; k < 5 && i == 1; k++)
			capacity_look(&r.c, r.c.blocked_before, 0);
		capacity_step(&r.c, &s, r.now += CAPACITY_STEP_NS);
		assert_true(i != 1 || r.c.measuring);
	}
	assert_true(r.c.estimate_bps[SL_WRITE] >= 0.99 * estimate);
}

/* Where few calls may be under way at once no queue shows; too little that is delivered for long does. */
static void test_stall(void **state)
{
	struct rig r = make(20 * MB);
	double estimate;

	run(&r, 5);
	assert_int_equal(r.c.state, CAPACITY_PACED);
	estimate = r.c.estimate_bps[SL_WRITE];
	for (int i = 0; i < 12; i++) {
		struct capacity_sample s = { .seconds = STEP_S,
					     .jobs = 2,
					     .waited = 2,
					     .blocked = r.c.trial_blocked,
					     .delivered_bytes[SL_WRITE] =
						     fmin(0.5 * estimate, capacity_pace_bps(&r.c)) *
						     STEP_S };

		capacity_step(&r.c, &s, r.now += CAPACITY_STEP_NS);
	}
	assert_true(within(0.1, r.c.estimate_bps[SL_WRITE], 0.5 * estimate));
	/* A machine without a CPU for the jobs: nobody is in the file system. */
	r = make(20 * MB);
	run(&r, 5);
	estimate = r.c.estimate_bps[SL_WRITE];
	for (int i = 0; i < 12; i++) {
		struct capacity_sample s = { .seconds = STEP_S,
					     .jobs = 2,
					     .waited = 2,
					     .blocked = 0.5 * r.c.trial_blocked,
					     .delivered_bytes[SL_WRITE] = 0.5 * estimate * STEP_S };

		capacity_step(&r.c, &s, r.now += CAPACITY_STEP_NS);
	}
	assert_true(r.c.estimate_bps[SL_WRITE] >= 0.95 * estimate);
}

/* Write-back blocks nobody until much of it is under way: what is not done ends a probe, and is a queue. */
static void test_backlog(void **state)
{
	struct rig r = make(100 * MB);
	double estimate, gain;

	run(&r, 5);
	for (int i = 0; i < 20 && !r.c.probing; i++)
		step(&r);
	assert_true(r.c.probing);
	estimate = r.c.estimate_bps[SL_WRITE];
	assert_false(capacity_look(&r.c, 0, 0.01 * estimate));
	assert_false(capacity_look(&r.c, 0, 0.03 * estimate));
	assert_true(capacity_look(&r.c, 0, 0.06 * estimate));
	/* What piled up, 20 % of a step, is done beside what is sent in the next one. */
	assert_true(within(0.01, r.c.gain, 0.8));

	for (int i = 0; i < 4; i++)
		step(&r);
	assert_int_equal(r.c.state, CAPACITY_PACED);
	estimate = r.c.estimate_bps[SL_WRITE];
	gain = r.c.gain;
	for (int i = 0; i < 2; i++) {
		struct capacity_sample s = { .seconds = STEP_S,
					     .jobs = 2,
					     .waited = 2,
					     .blocked = r.c.trial_blocked,
					     .delivered_bytes[SL_WRITE] = gain * estimate * STEP_S,
					     .backlog_bytes = 0.03 * estimate };

		estimate = r.c.estimate_bps[SL_WRITE];
		capacity_step(&r.c, &s, r.now += CAPACITY_STEP_NS);
	}
	assert_true(r.c.estimate_bps[SL_WRITE] < 0.97 * estimate);
	/* A count that has nothing to do with what was sent is none. */
	run(&r, 5);
	estimate = r.c.estimate_bps[SL_WRITE];
	for (int i = 0; i < 3; i++) {
		struct capacity_sample s = { .seconds = STEP_S,
					     .jobs = 2,
					     .waited = 2,
					     .blocked = r.c.trial_blocked,
					     .delivered_bytes[SL_WRITE] =
						     r.c.gain * estimate * STEP_S,
					     .backlog_bytes = estimate };

		capacity_step(&r.c, &s, r.now += CAPACITY_STEP_NS);
	}
	assert_true(r.c.estimate_bps[SL_WRITE] > 0.99 * estimate);
}

/* Any bandwidth, threads and noise of up to 4 %: close, and most of the device is used. */
static void test_noise(void **state)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct rig r = make(50 * MB + (double)(seed * 7919 % 1000) * MB);

		r.seed = seed * UINT64_C(0x9e3779b97f4a7c15);
		r.noise = 0.04;
		r.threads = (uint32_t)(2 + seed % 30);
		run(&r, 4);
		assert_true(run(&r, 30) > 0.92 * device(&r));
		assert_true(within(0.15, r.c.estimate_bps[SL_WRITE], device(&r)));
		r.device_bps[SL_WRITE] /= 2;
		run(&r, 4);
		assert_true(within(0.15, r.c.estimate_bps[SL_WRITE], device(&r)));
		r.device_bps[SL_WRITE] *= 2;
		run(&r, 4);
		assert_true(within(0.15, r.c.estimate_bps[SL_WRITE], device(&r)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_converges),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_bandwidth_changes),
		cmocka_unit_test(test_slack),
		cmocka_unit_test(test_load_of_others),
		cmocka_unit_test(test_a_job_alone_is_never_held),
		cmocka_unit_test(test_nothing_congested),
		cmocka_unit_test(test_unused_never_lowers),
		cmocka_unit_test(test_latency_is_no_congestion),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_absurd_samples),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_stall),
		cmocka_unit_test(test_backlog),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
