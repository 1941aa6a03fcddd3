/* SPDX-License-Identifier: Apache-2.0 */
/* See capacity.h. */
#include "detect/capacity.h"

#include <math.h>
#include <string.h>

#define TRIAL_GAIN   0.85
#define TRIAL_STEPS  3
#define TRIAL_LEFT   0.75 /* of the threads that were blocked: fewer are, or it is latency */
#define PACE_GAIN    0.97
#define PROBE_GAIN   1.25
#define PROBE_FOUND  1.10
#define DRAIN_GAIN   0.90
#define PROBE_STEPS  5
#define IDLE	     0.2 /* of the threads that were blocked: there is room, probe sooner */
#define IDLE_STEPS   2
#define LOW	     0.90
#define LOW_STEPS    2
#define SLIGHT	     0.95
#define LEAST_PART   .5 /* an estimate is lowered by no more at a time */
#define SLIGHT_STEPS 3
#define WAITED	     0.3 /* threads */
#define CLEAR_STEPS  4
#define LONELY	     2
#define PART	     0.2 /* of what was delivered: a direction that counts */
#define FIRST_NS     INT64_C(2000000000)
#define LAST_NS	     INT64_C(60000000000)

void capacity_init(struct capacity *c)
{
	*c = (struct capacity){ .gain = 1,
				.backoff_ns = FIRST_NS,
				.why = "nothing was congested yet" };
}

static double bounded(double bps)
{
	return fmin(fmax(bps, CAPACITY_LEAST), CAPACITY_MOST);
}

/* Time that was delivered, in parts of the estimate: 1 is all of it. */
static double delivered(const struct capacity *c, const struct capacity_sample *s)
{
	double sum = 0;

	for (int op = 0; op < 2; op++)
		if (c->estimate_bps[op] > 0)
			sum += s->delivered_bytes[op] / (c->estimate_bps[op] * s->seconds);
	return sum;
}

static void enter(struct capacity *c, enum capacity_state state, double gain, const char *why)
{
	c->state = state;
	c->gain = gain;
	c->steps = c->low = c->congested = c->unused = c->lonely = c->since_probe = 0;
	c->probing = false;
	c->why = why;
}

static void remember(struct capacity *c, const struct capacity_sample *s)
{
	for (int op = 0; op < 2; op++)
		c->recent_bps[c->recent % CAPACITY_RECENT][op] =
			s->delivered_bytes[op] / s->seconds;
	c->recent++;
}

static double most_recent(const struct capacity *c, int op)
{
	double most = 0;

	for (int i = 0; i < CAPACITY_RECENT; i++)
		most = fmax(most, c->recent_bps[i][op]);
	return most;
}

/* Change the estimates of the directions that were used. */
static void scale(struct capacity *c, const struct capacity_sample *s, double by)
{
	double all = s->delivered_bytes[0] + s->delivered_bytes[1];

	/* A stall in which nothing was delivered says nothing about the bandwidth. */
	for (int op = 0; all > 0 && op < 2; op++)
		if (s->delivered_bytes[op] >= PART * all)
			c->estimate_bps[op] = bounded(c->estimate_bps[op] * by);
}

/* ---- the states ---- */

/* What was delivered lately is what there is. False: nothing was. */
static bool estimate_recent(struct capacity *c, const struct capacity_sample *s)
{
	double most[2] = { most_recent(c, 0), most_recent(c, 1) };

	if (most[0] + most[1] <= 0)
		return false;
	/* A direction that was not used is as fast as before, or as the other. */
	for (int op = 0; op < 2; op++)
		if (most[op] >= PART * (most[0] + most[1]))
			c->estimate_bps[op] = bounded(most[op]);
		else if (c->estimate_bps[op] <= 0)
			c->estimate_bps[op] = bounded(most[!op]);
	/* Both at once: together they were all there is. */
	if (most[0] >= PART * most[1] && most[1] >= PART * most[0]) {
		double all = delivered(c, s);

		for (int op = 0; all > 1 && op < 2; op++)
			c->estimate_bps[op] = bounded(c->estimate_bps[op] * all);
	}
	return true;
}

/* Two jobs or more are blocked, and were in the step before. */
static bool is_congested(struct capacity *c, const struct capacity_sample *s)
{
	c->congested = s->jobs_blocked >= 2 ? c->congested + 1 : 0;
	return c->congested >= 2;
}

static void clear_step(struct capacity *c, const struct capacity_sample *s, sl_time now)
{
	if (!is_congested(c, s) || now < c->not_before || !estimate_recent(c, s))
		return;
	c->blocked_before = s->blocked;
	c->trial_blocked = 0;
	enter(c, CAPACITY_TRIAL, TRIAL_GAIN, "jobs are blocked in the file system: trying");
}

static void go_clear(struct capacity *c, const char *why)
{
	enter(c, CAPACITY_CLEAR, 1, why);
}

static void trial_step(struct capacity *c, const struct capacity_sample *s, sl_time now)
{
	if (s->jobs < 2) {
		go_clear(c, "fewer than two jobs");
		return;
	}
	if (++c->steps == 1)
		return; /* what was under way before it */
	c->trial_blocked += s->blocked / (TRIAL_STEPS - 1);
	c->unused += s->waited < WAITED;
	if (c->steps < TRIAL_STEPS)
		return;
	if (c->unused < TRIAL_STEPS - 1 && c->trial_blocked <= TRIAL_LEFT * c->blocked_before) {
		c->backoff_ns = FIRST_NS;
		enter(c, CAPACITY_PACED, PACE_GAIN, "holding back drained the file system's queue");
		return;
	}
	c->not_before = now + c->backoff_ns;
	c->backoff_ns = c->backoff_ns * 2 < LAST_NS ? c->backoff_ns * 2 : LAST_NS;
	go_clear(c, "jobs wait for the file system's latency, not for its bandwidth");
}

/* The step that ends was a probe. */
static void probed(struct capacity *c, const struct capacity_sample *s, double got)
{
	c->since_probe = 0;
	if (got >= PROBE_FOUND) {
		scale(c, s, fmin(got, PROBE_GAIN));
		c->gain = PROBE_GAIN;
		c->why = "a probe found more";
		return;
	}
	/* The file system was the limit, so this is what it can do: go half of the way there. */
	if (s->blocked > TRIAL_LEFT * c->blocked_before || got > 1)
		scale(c, s, fmax((1 + got) / 2, LOW));
	c->probing = false;
	c->gain = DRAIN_GAIN;
}

/*
 * Too little delivered, though jobs want more: they are blocked as they were without us, or wait
 * for us though we would let more go.
 */
static bool is_low(const struct capacity *c, const struct capacity_sample *s, double got)
{
	bool blocked = s->jobs_blocked >= 2 && s->blocked > TRIAL_LEFT * c->blocked_before;

	return got < SLIGHT * fmin(c->gain, PACE_GAIN) && (blocked || s->waited >= WAITED);
}

static void lower(struct capacity *c, const struct capacity_sample *s, double got)
{
	c->low_most = c->low ? fmax(c->low_most, got) : got;
	if (++c->low < (c->low_most < LOW * PACE_GAIN ? LOW_STEPS : SLIGHT_STEPS))
		return;
	scale(c, s, fmax(c->low_most, LEAST_PART));
	c->low = 0;
	c->gain = PACE_GAIN;
	c->why = "less was delivered than sent";
}

static void paced_step(struct capacity *c, const struct capacity_sample *s)
{
	double got = delivered(c, s);
	bool waited = s->waited >= WAITED, idle;

	c->steps++;
	c->lonely = s->jobs < 2 ? c->lonely + 1 : 0;
	c->unused = !waited && s->blocked <= TRIAL_LEFT * c->blocked_before ? c->unused + 1 : 0;
	if (c->lonely >= LONELY) {
		go_clear(c, "fewer than two jobs");
		return;
	}
	if (c->unused >= CLEAR_STEPS) {
		go_clear(c, "jobs do not use what they have");
		return;
	}
	if (is_low(c, s, got)) {
		c->probing = false;
		lower(c, s, got);
		return;
	}
	c->low = 0;
	if (c->probing) {
		probed(c, s, got);
		return;
	}
	c->gain = PACE_GAIN;
	idle = s->blocked < IDLE * c->blocked_before;
	if (++c->since_probe < (idle ? IDLE_STEPS : PROBE_STEPS) || !waited)
		return;
	c->probing = true;
	c->gain = PROBE_GAIN;
}

void capacity_step(struct capacity *c, const struct capacity_sample *s, sl_time now)
{
	if (s->seconds <= 0)
		return;
	remember(c, s);
	switch (c->state) {
	case CAPACITY_CLEAR:
		clear_step(c, s, now);
		break;
	case CAPACITY_TRIAL:
		trial_step(c, s, now);
		break;
	case CAPACITY_PACED:
		paced_step(c, s);
		break;
	}
}

void capacity_observe(struct capacity *c, const struct capacity_sample *s)
{
	if (s->seconds <= 0)
		return;
	remember(c, s);
	if (c->state != CAPACITY_CLEAR)
		go_clear(c, "observed only");
	if (is_congested(c, s) && estimate_recent(c, s))
		c->why = "moved while two jobs or more were blocked; observed only";
}

double capacity_pace_bps(const struct capacity *c)
{
	const double *last = c->recent_bps[(c->recent + CAPACITY_RECENT - 1) % CAPACITY_RECENT];
	double bytes = last[0] + last[1], time = 0;

	if (c->state == CAPACITY_CLEAR)
		return 0;
	for (int op = 0; op < 2; op++)
		time += last[op] / c->estimate_bps[op];
	if (bytes <= 0 || time <= 0)
		return c->gain * fmax(c->estimate_bps[0], c->estimate_bps[1]);
	return c->gain * bytes / time;
}
