/* SPDX-License-Identifier: Apache-2.0 */
/* See capacity.h. */
#include "detect/capacity.h"

#include <math.h>
#include <string.h>

#define TRIAL_GAIN   0.85
#define TRIAL_STEPS  3
#define TRIAL_LEFT   0.75 /* of the threads that were blocked: fewer are, or it is latency */
#define PACE_GAIN    0.94
#define PROBE_GAIN   1.5
#define PROBE_FOUND  1.3 /* delivered in a probe that met no queue: there is more */
#define PROBE_STEPS  7
#define QUEUED	     0.2   /* of the way from the queue of the trial to that before it */
#define EMPTY	     0.11  /* of that way */
#define QUEUED_LOOKS 3	   /* in succession: a probe has filled the queue */
#define QUEUED_STEPS 3	   /* in succession, that lower the estimate */
#define CREEP	     1.005 /* each step, while the queue is empty and jobs wait for us */
#define EASE	     0.98  /* each step, while it is not: or what is delivered, if that is less */
#define SURE	     2	   /* probes in succession that found more */
#define DRAIN_GAIN   0.90
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
	c->queued = 0;
	c->probing = c->probed = false;
	c->probes = 0;
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

/* How full the queue of the file system is: 0 as in the trial, 1 as before it. */
static double queue(const struct capacity *c, double blocked)
{
	return (blocked - c->trial_blocked) /
	       fmax(c->blocked_before - c->trial_blocked, (1 - TRIAL_LEFT) * c->blocked_before);
}

/*
 * The step that ends was a probe, or began as one. The first that finds more may have found slack:
 * the second decides, and from then on each counts.
 */
static void probed(struct capacity *c, const struct capacity_sample *s, double got)
{
	bool sure = c->probes >= SURE;
	bool more = sure ? got > 1 : c->probing && got >= PROBE_FOUND;

	c->probes = more ? c->probes + 1 : 0;
	if (c->probes >= SURE) {
		scale(c, s, fmin(got, PROBE_GAIN));
		c->why = "a probe found more";
	}
	c->since_probe = 0;
	c->probing = c->probed = more;
	c->gain = more ? PROBE_GAIN : DRAIN_GAIN;
	c->queued_looks = 0;
}

bool capacity_look(struct capacity *c, double blocked)
{
	/* The estimate is far too low if two probes have found more: let the next one show how far.
	 */
	if (c->state != CAPACITY_PACED || !c->probing || c->probes >= SURE)
		return false;
	c->queued_looks = queue(c, blocked) >= QUEUED ? c->queued_looks + 1 : 0;
	if (c->queued_looks < QUEUED_LOOKS)
		return false;
	c->probing = false;
	c->gain = DRAIN_GAIN;
	return true;
}

/*
 * Too little delivered, though there is a queue in the file system. Without one it may be that we
 * let too little go, since the machine has no CPU for us.
 */
static bool is_low(const struct capacity *c, const struct capacity_sample *s, double got)
{
	return got < SLIGHT * fmin(c->gain, PACE_GAIN) && queue(c, s->blocked) >= QUEUED;
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

/* The estimate follows the queue: up while it is empty, down to what is delivered while it is not. */
static void follow(struct capacity *c, const struct capacity_sample *s, double got, bool waited)
{
	double full = queue(c, s->blocked);

	c->queued = full >= QUEUED ? c->queued + 1 : 0;
	/* If holding back does not shorten it, it is another one than in the trial. */
	if (c->queued && c->queued <= QUEUED_STEPS)
		scale(c, s, fmin(fmax(got, LOW), EASE));
	else if (full < EMPTY && waited && got >= SLIGHT * c->gain)
		scale(c, s, CREEP);
}

static void paced_step(struct capacity *c, const struct capacity_sample *s)
{
	double got = delivered(c, s);
	bool waited = s->waited >= WAITED;

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
		c->probing = c->probed = false;
		c->probes = 0;
		lower(c, s, got);
		return;
	}
	c->low = 0;
	if (c->probed) {
		probed(c, s, got);
		return;
	}
	follow(c, s, got, waited);
	c->gain = PACE_GAIN;
	if (++c->since_probe < PROBE_STEPS || !waited || queue(c, s->blocked) >= QUEUED)
		return;
	c->probing = c->probed = true;
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
