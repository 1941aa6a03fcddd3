/* SPDX-License-Identifier: Apache-2.0 */
/* See capacity.h. */
#include "detect/capacity.h"

#include <math.h>
#include <string.h>

#define TRIAL_GAIN    0.85
#define TRIAL_FIRST   0.6  /* of the first step: write-back that is under way is a queue for long */
#define TRIAL_DRAIN   4	   /* steps at most that go at it */
#define TRIAL_STEPS   2	   /* that are measured after these */
#define TRIAL_TAIL    6	   /* steps after it in which that still shows */
#define TRIAL_LEFT    0.75 /* of the threads that were blocked: fewer are, or it is latency */
#define PACE_GAIN     0.95
#define PROBE_GAIN    1.6
#define PROBE_AGAIN   2.0 /* of the estimate, after a probe that found more */
#define PROBE_FOUND   1.5 /* delivered in a probe that met no queue: there is more */
#define PROBE_MORE    1.1 /* delivered in a later one */
#define PROBE_STEPS   7
#define UNSURE	      0.75 /* the estimate of the trial is lowered by no more then */
#define MEASURE_GAIN  1.05 /* keeps a queue that the first probe has made */
#define QUEUED	      0.2  /* of the way from the queue of the trial to that before it */
#define EMPTY	      0.11 /* of that way */
#define BACKLOG_S     0.02 /* of the estimate: write-back of which so much is not done is a queue */
#define BACKLOG_LONG  0.04 /* the same over steps, whose counts are not exact */
#define BACKLOG_LEFT  0.85 /* after each step: sums of small errors do not count for ever */
#define BACKLOG_MOST  0.25 /* of what was delivered: more is another count than that of bytes sent */
#define QUEUED_LOOKS  3	   /* in succession: a probe has filled the queue */
#define BACKLOG_LOOKS 2	   /* the same: a call does not show in several */
#define QUEUED_STEPS  3	   /* in succession, that lower the estimate */
#define CREEP	      1.005 /* each step, while the queue is empty and jobs wait for us */
#define EASE	      0.96  /* each step, while it is not: or what is delivered, if that is less */
#define CEILING	      0.96  /* of the estimate at which the queue grew: no creeping above that */
#define MEASURED      1.02  /* of an estimate that was measured while there was a queue: the same */
#define CALM_STEPS    33    /* without a queue: the ceiling may be higher by now, */
#define CALM	      1.01  /* by so much */
#define AFTERMATH     2	    /* steps after a probe in which its queue is still there */
#define DRAIN_GAIN    0.90
#define DRAIN_LEAST   0.5
#define LOW	      0.90
#define LOW_STEPS     2
#define SLIGHT	      0.95
#define SENT	      0.97 /* delivered and sent are the same, but for noise */
#define MORE	      1.15 /* an estimate is raised by no more at a time, but by probes */
#define STALLED	      0.90
#define STALLED_STEPS 5
#define LEAST_PART    .5 /* an estimate is lowered by no more at a time */
#define SLIGHT_STEPS  3
#define WAITED	      0.3 /* threads */
#define CLEAR_STEPS   4
#define LONELY	      2
#define PART	      0.2 /* of what was delivered: a direction that counts */
#define FIRST_NS      INT64_C(2000000000)
#define LAST_NS	      INT64_C(60000000000)

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

static void probe_none(struct capacity *c)
{
	c->probing = c->probed = c->measuring = c->saturated = false;
	c->probes = c->queued_looks = c->backlog_looks = 0;
}

static void enter(struct capacity *c, enum capacity_state state, double gain, const char *why)
{
	c->state = state;
	c->gain = gain;
	c->steps = c->low = c->stalled = c->congested = c->unused = c->lonely = c->since_probe = 0;
	c->queued = c->calm = 0;
	c->room = c->backlog_bytes = 0;
	probe_none(c);
	c->why = why;
}

static void remember(struct capacity *c, const struct capacity_sample *s)
{
	uint32_t i = c->recent++ % CAPACITY_RECENT;

	c->recent_s[i] = s->moved_s != 0 ? fmax(s->moved_s, 0) : s->seconds;
	for (int op = 0; op < 2; op++)
		c->recent_bytes[i][op] = s->delivered_bytes[op];
}

/* The mean of some steps. */
static double lately(const struct capacity *c, int op)
{
	double bytes = 0, seconds = 0;

	for (int i = 0; i < CAPACITY_RECENT; i++) {
		bytes += c->recent_bytes[i][op];
		seconds += c->recent_s[i];
	}
	return seconds > 0 ? bytes / seconds : 0;
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

/* Take what was delivered in the congested steps for the capacity. False: nothing was delivered. */
static bool estimate_recent(struct capacity *c)
{
	double some[2] = { lately(c, 0), lately(c, 1) };

	if (some[0] + some[1] <= 0)
		return false;
	/* A direction that was not used is as fast as before, or as the other. */
	for (int op = 0; op < 2; op++)
		if (some[op] >= PART * (some[0] + some[1]))
			c->estimate_bps[op] = bounded(some[op]);
		else if (c->estimate_bps[op] <= 0)
			c->estimate_bps[op] = bounded(some[!op]);
	/* Both at once: together they were all there is. */
	if (some[0] >= PART * some[1] && some[1] >= PART * some[0]) {
		double all = some[0] / c->estimate_bps[0] + some[1] / c->estimate_bps[1];

		for (int op = 0; all > 1 && op < 2; op++)
			c->estimate_bps[op] = bounded(c->estimate_bps[op] * all);
	}
	return true;
}

/* Two jobs or more are blocked, and were in the steps before. */
static bool is_congested(struct capacity *c, const struct capacity_sample *s)
{
	c->congested = s->jobs_blocked >= 2 ? c->congested + 1 : 0;
	return c->congested > CAPACITY_RECENT;
}

static void clear_step(struct capacity *c, const struct capacity_sample *s, sl_time now)
{
	if (!is_congested(c, s) || now < c->not_before || !estimate_recent(c))
		return;
	c->blocked_before = s->blocked;
	c->trial_blocked = 0;
	enter(c, CAPACITY_TRIAL, TRIAL_FIRST, "jobs are blocked in the file system: trying");
	c->drains = TRIAL_DRAIN;
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
	if (c->drains) { /* what was under way before it */
		c->drains = s->blocked > TRIAL_LEFT * c->blocked_before ? c->drains - 1 : 0;
		c->gain = c->drains ? TRIAL_FIRST : TRIAL_GAIN;
		return;
	}
	c->trial_blocked += s->blocked / TRIAL_STEPS;
	c->unused += s->waited < WAITED;
	if (++c->steps < TRIAL_STEPS)
		return;
	if (c->unused < TRIAL_STEPS && c->trial_blocked <= TRIAL_LEFT * c->blocked_before) {
		c->backoff_ns = FIRST_NS;
		enter(c, CAPACITY_PACED, PACE_GAIN, "holding back drained the file system's queue");
		c->unsure = true;
		c->since_probe = PROBE_STEPS - AFTERMATH;
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

static bool has_backlog(const struct capacity *c, double bytes, double seconds)
{
	return bytes >= seconds * c->estimate_bps[SL_WRITE];
}

static void count_backlog(struct capacity *c, const struct capacity_sample *s)
{
	double more = s->backlog_bytes;

	if (more > BACKLOG_MOST * s->delivered_bytes[SL_WRITE])
		more = 0;
	c->backlog_bytes = fmax(c->backlog_bytes * BACKLOG_LEFT + more, 0);
}

/* The pace of a step in which that much write-back is done beside what is sent. */
static double drain_gain(const struct capacity *c, double backlog_bytes)
{
	double step_bytes = c->estimate_bps[SL_WRITE] * (double)CAPACITY_STEP_NS / 1e9;

	return fmax(fmin(1 - backlog_bytes / step_bytes, DRAIN_GAIN), DRAIN_LEAST);
}

static void drain(struct capacity *c)
{
	probe_none(c);
	c->since_probe = 0;
	c->gain = drain_gain(c, c->backlog_bytes);
}

static void probe(struct capacity *c, double gain)
{
	c->probing = c->probed = true;
	c->saturated = false;
	c->queued_looks = c->backlog_looks = 0;
	c->gain = gain;
}

static void found(struct capacity *c, const struct capacity_sample *s, double got)
{
	scale(c, s, fmax(got, LEAST_PART));
	c->room = c->measuring ? MEASURED : 0;
	c->why = c->unsure ? "measured while there was a queue" : "a probe found more";
}

/*
 * The step that ends was a probe, or began as one. The first that finds more may have found slack:
 * the second decides, and from then on each counts that meets no queue. One that meets a queue has had
 * slack as well: the next step, of the same rate, measures.
 */
static void probed(struct capacity *c, const struct capacity_sample *s, double got)
{
	if (c->measuring) {
		/* A device that has just moved more than it can may move nothing for a while. */
		if (got > 1 || c->unsure)
			found(c, s, fmax(got, c->unsure ? UNSURE : 1));
		c->unsure = false;
		drain(c);
	} else if (c->unsure && c->saturated) {
		c->measuring = true;
	} else if (!c->probes && c->probing && got >= PROBE_FOUND) {
		c->probes = 1;
		probe(c, PROBE_AGAIN);
	} else if (c->probes && got >= PROBE_MORE && !c->saturated) {
		found(c, s, fmin(got, c->gain));
		c->probes++;
		probe(c, PROBE_GAIN);
	} else if (c->probes && got >= PROBE_MORE) {
		c->measuring = true;
	} else {
		drain(c);
	}
}

bool capacity_look(struct capacity *c, double blocked, double backlog_bytes)
{
	if (c->state != CAPACITY_PACED || !c->probing)
		return false;
	c->queued_looks = queue(c, blocked) >= QUEUED ? c->queued_looks + 1 : 0;
	c->backlog_looks = has_backlog(c, backlog_bytes, BACKLOG_S) ? c->backlog_looks + 1 : 0;
	if (c->queued_looks < QUEUED_LOOKS && c->backlog_looks < BACKLOG_LOOKS)
		return false;
	c->saturated = true;
	if (c->probes)
		return false;
	c->probing = false;
	c->gain = c->unsure ? MEASURE_GAIN : drain_gain(c, backlog_bytes);
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

/*
 * Much less delivered than sent, step after step, while as many threads are in the file system as in the
 * trial: where few calls may be under way at once, no queue grows that could be seen. Without a CPU for
 * us these threads would not be there.
 */
static bool is_stalled(struct capacity *c, const struct capacity_sample *s, double got)
{
	if (got >= STALLED * fmin(c->gain, PACE_GAIN) ||
	    s->blocked < TRIAL_LEFT * c->trial_blocked) {
		c->stalled = 0;
		return false;
	}
	c->low_most = c->stalled ? fmax(c->low_most, got) : got;
	return ++c->stalled >= STALLED_STEPS;
}

/*
 * There is a queue. One that lasts keeps the file system busy, so what it has delivered is what it can do. Where it
 * has just delivered what was sent it is no queue, or the pace is what it can do: then a little less.
 */
static void ease(struct capacity *c, const struct capacity_sample *s, double got, double sent)
{
	bool measured = c->queued > 0 && (got > sent / SENT || got < sent * SENT);
	double by = measured ? fmin(fmax(got, LOW), MORE) : EASE;

	c->gain = DRAIN_GAIN;
	c->queued++;
	if (!measured && (c->queued > QUEUED_STEPS || got > sent / SENT))
		return; /* holding back does not shorten it; or does */
	scale(c, s, by);
	c->room = measured ? MEASURED : c->queued == 1 ? CEILING / by : CEILING;
	c->calm = 0;
}

static void lower(struct capacity *c, const struct capacity_sample *s, double got)
{
	c->low_most = c->low ? fmax(c->low_most, got) : got;
	if (++c->low < (c->low_most < LOW * PACE_GAIN ? LOW_STEPS : SLIGHT_STEPS)) {
		c->gain = DRAIN_GAIN;
		return;
	}
	scale(c, s, fmax(c->low_most, LEAST_PART));
	c->low = 0;
	c->room = 0;
	c->gain = PACE_GAIN;
	c->why = "less was delivered than sent";
}

/* There is none: creep up, to a little below where it began the last time. */
static void creep(struct capacity *c, const struct capacity_sample *s)
{
	if (++c->calm >= CALM_STEPS) {
		c->room *= CALM;
		c->calm = 0;
	}
	if (c->room > 0 && c->room < CREEP)
		return;
	scale(c, s, CREEP);
	c->room /= CREEP;
}

/* The estimate follows the queue: up while it is empty, down to what is delivered while it is not. */
static void follow(struct capacity *c, const struct capacity_sample *s, double got, bool waited)
{
	double full = queue(c, s->blocked), sent = c->gain;

	c->gain = PACE_GAIN;
	if (c->since_probe < AFTERMATH) {
		if (full >= QUEUED || has_backlog(c, c->backlog_bytes, BACKLOG_S))
			c->gain = drain_gain(c, c->backlog_bytes);
		return;
	}
	if (full >= QUEUED || has_backlog(c, c->backlog_bytes, BACKLOG_LONG)) {
		ease(c, s, got, sent);
		return;
	}
	c->queued = 0;
	/* What was under way when the trial began had not drained in it. */
	if (c->steps <= TRIAL_TAIL && s->blocked < c->trial_blocked)
		c->trial_blocked = (c->trial_blocked + s->blocked) / 2;
	if (full < EMPTY && waited && got >= SLIGHT * PACE_GAIN)
		creep(c, s);
}

static void paced_step(struct capacity *c, const struct capacity_sample *s)
{
	double got = delivered(c, s);
	bool waited = s->waited >= WAITED;

	c->steps++;
	count_backlog(c, s);
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
	if (!c->measuring && is_low(c, s, got)) {
		probe_none(c);
		lower(c, s, got);
		return;
	}
	c->low = 0;
	if (is_stalled(c, s, got)) {
		probe_none(c);
		scale(c, s, fmax(c->low_most, LEAST_PART));
		c->stalled = 0;
		c->room = 0;
		c->gain = PACE_GAIN;
		c->why = "less was delivered than sent";
		return;
	}
	if (c->probed) {
		probed(c, s, got);
		return;
	}
	follow(c, s, got, waited);
	if (++c->since_probe < PROBE_STEPS || !waited || queue(c, s->blocked) >= QUEUED)
		return;
	probe(c, PROBE_GAIN);
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
	if (is_congested(c, s) && estimate_recent(c))
		c->why = "moved while two jobs or more were blocked; observed only";
}

double capacity_pace_bps(const struct capacity *c)
{
	const double *last = c->recent_bytes[(c->recent + CAPACITY_RECENT - 1) % CAPACITY_RECENT];
	double bytes = last[0] + last[1], time = 0;

	if (c->state == CAPACITY_CLEAR)
		return 0;
	for (int op = 0; op < 2; op++)
		time += last[op] / c->estimate_bps[op];
	if (bytes <= 0 || time <= 0)
		return c->gain * fmax(c->estimate_bps[0], c->estimate_bps[1]);
	return c->gain * bytes / time;
}
