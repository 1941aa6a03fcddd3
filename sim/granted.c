/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers of one I/O server at granted rates: the general path of the phase-level simulator.
 *
 * Between two events rates are constant, so a transfer's bytes are a straight line:
 *
 *	advance(t)  each transfer with a rate goes on by rate * (t - last time); those with nothing
 *	            left have ended
 *	settle(t)   the policy decides; the next end is the smallest t + left / rate
 *
 * Transfers that wait are not touched by advance(). A transfer whose rate went to 0 has been
 * interrupted; when it goes on, it holds its rate for restart_s seconds in which nothing moves
 * (what the PRIORITY variants of Gainaru et al. 2014, §3.1, are for). Interrupted in these seconds,
 * it has them all before it again.
 *
 * Example: capacity 10, restart 1 s. A (100 bytes) runs from 0 to 4 s, then B (20 bytes) goes
 * first until 6 s: A has 60 left, restarts until 7 s and ends at 13 s.
 *
 * The policy's array keeps the policy's order, without ended transfers, so it is nearly sorted at
 * the next decision. O(waiting + running) an event, as is a policy's decision.
 *
 * Detection (detect/period.h), if enabled: an application's detector gets each of its transfers
 * when it has ended, as the controller does with a job that waits, and each decision uses the
 * periods found by then. Until one is found, the period is unknown.
 *
 * Assertions check that a policy gives no application more than its cap, and all together not more
 * than the capacity, and that at every event requested bytes = moved bytes + remaining bytes.
 */
#include "sim/granted.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "detect/period.h"
#include "sim/event.h"

#define FAR_S 9e9
#define NEAR  1e-9 /* relative error of sums of rates that a policy may make */

struct gr_job {
	struct sl_io_job io; /* first: the policy's pointers are ours */
	double cap_bps;	     /* before that of the server */
	double rate_bps;     /* as granted last; io.rate_bps is scratch for policies */
	double restart_s;    /* before its next byte moves */
	double segment_s;    /* since when it runs or stalls */
	double segment_left_bytes;
	struct sl_plan_job plan;
	uint32_t id;
	bool there;
	struct sl_period *period; /* NULL: it is told */
	struct sl_sim_found found;
};

struct sl_granted {
	const struct sl_grant_ops *ops;
	void *state;
	struct gr_job *job;
	struct sl_io_job **want; /* in the order of the policy */
	struct sl_plan_job *plan;
	uint32_t *ended;
	uint32_t n, n_want, n_ended;
	bool changed; /* jobs came or left since the last plan */
	double capacity_bps, rate_bps, restart_s;
	double moving_bps, moves_s; /* without those that restart; when the first of these moves */
	double since_s, next_s;
	sl_time wake;
	const struct sl_phase_sink *sink;
	double asked_bytes, moved_bytes; /* of all time */
};

/* A period may be longer than a sl_time can say. */
static sl_time gr_ns(double s)
{
	return s < FAR_S ? (sl_time)llround(s * 1e9) : (sl_time)(FAR_S * 1e9);
}

static struct gr_job *gr_of(struct sl_io_job *io)
{
	return (struct gr_job *)io;
}

int sl_granted_create(struct sl_granted **out, const struct sl_spec *policy,
		      const struct sl_granted_app *apps, uint32_t n, double restart_s, bool detect,
		      const struct sl_phase_sink *sink)
{
	struct sl_policy_limits limits = { .lanes = n ? n : 1 };
	struct sl_granted *g = calloc(1, sizeof(*g));
	size_t room = (size_t)n + 1; /* a server may have no applications */

	*out = NULL;
	if (!g)
		return -ENOMEM;
	g->ops = (const struct sl_grant_ops *)policy->policy;
	g->n = n;
	g->restart_s = restart_s;
	g->sink = sink;
	g->next_s = g->moves_s = INFINITY;
	g->wake = SL_NEVER;
	g->job = calloc(room, sizeof(*g->job));
	g->want = (struct sl_io_job **)calloc(room, sizeof(*g->want));
	g->plan = calloc(room, sizeof(*g->plan));
	g->ended = calloc(room, sizeof(*g->ended));
	g->state = calloc(1, sl_policy_size(policy->policy, &limits) + 16);
	if (!g->job || !g->want || !g->plan || !g->ended || !g->state) {
		sl_granted_destroy(g);
		return -ENOMEM;
	}
	sl_policy_init(policy->policy, g->state, &limits, policy->values, 0);
	for (uint32_t i = 0; i < n; i++) {
		struct gr_job *j = &g->job[i];

		j->id = i;
		j->cap_bps = apps[i].cap_bps;
		j->io.job = apps[i].job;
		j->io.procs = apps[i].procs;
		j->io.released = j->io.io_end = gr_ns(apps[i].release_s);
		j->io.period_ns = detect ? 0 : gr_ns(apps[i].period_s);
		j->plan = (struct sl_plan_job){ .job = apps[i].job,
						.procs = apps[i].procs,
						.compute_s = apps[i].compute_s,
						.bytes = apps[i].bytes };
		if (detect && !(j->period = sl_period_new())) {
			sl_granted_destroy(g);
			return -ENOMEM;
		}
		if (detect)
			sl_period_add(j->period, j->io.released, 0);
	}
	*out = g;
	return 0;
}

void sl_granted_destroy(struct sl_granted *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; g->job && i < g->n; i++)
		sl_period_free(g->job[i].period);
	free(g->job);
	free((void *)g->want);
	free(g->plan);
	free(g->ended);
	free(g->state);
	free(g);
}

void sl_granted_capacity(struct sl_granted *g, double bps)
{
	g->capacity_bps = bps;
	for (uint32_t i = 0; i < g->n_want; i++)
		g->want[i]->cap_bps = fmin(gr_of(g->want[i])->cap_bps, bps);
}

/* ---- who did what ---- */

/* Ends the stretch that began at segment_s, with a rate or without. */
static void gr_segment(struct sl_granted *g, struct gr_job *j, double now_s)
{
	double took_s = now_s - j->segment_s;

	if (g->sink && took_s > 0)
		g->sink->segment(g->sink->arg, (uint32_t)j->io.job,
				 j->rate_bps > 0 ? SL_TRANSFERS : SL_STALLED, j->segment_s, now_s,
				 (j->segment_left_bytes - j->io.left_bytes) / took_s);
	j->segment_s = now_s;
	j->segment_left_bytes = j->io.left_bytes;
}

/* ---- the calls of an event ---- */

void sl_granted_join(struct sl_granted *g, uint32_t app)
{
	g->job[app].there = true;
	g->changed = true;
}

void sl_granted_leave(struct sl_granted *g, uint32_t app, double now_s)
{
	struct gr_job *j = &g->job[app];
	uint32_t i = 0;

	while (i < g->n_want && g->want[i] != &j->io)
		i++;
	if (i < g->n_want) {
		gr_segment(g, j, now_s);
		g->asked_bytes -= j->io.left_bytes;
		for (g->n_want--; i < g->n_want; i++)
			g->want[i] = g->want[i + 1];
	}
	j->there = false;
	g->changed = true;
	if (g->ops->forget)
		g->ops->forget(g->state, j->io.job);
}

void sl_granted_start(struct sl_granted *g, uint32_t app, double compute_s, double bytes,
		      struct sl_granted_past past, double now_s)
{
	struct gr_job *j = &g->job[app];

	j->io.asked = gr_ns(now_s);
	j->io.ended = past.ended;
	j->io.work_s = past.work_s;
	j->io.alone_s = past.alone_s;
	j->io.compute_s = compute_s;
	j->io.bytes = j->io.left_bytes = bytes;
	j->io.started = false;
	j->io.cap_bps = fmin(j->cap_bps, g->capacity_bps);
	j->rate_bps = 0;
	j->restart_s = 0;
	j->segment_s = now_s;
	j->segment_left_bytes = bytes;
	g->want[g->n_want++] = &j->io;
	g->asked_bytes += bytes;
}

/* ---- periods ---- */

static void gr_find(struct gr_job *j, double now_s, sl_time now)
{
	int64_t found;

	if (!j->period)
		return;
	if (!sl_period_get(j->period, now, &found, &j->found.confidence))
		return;
	j->io.period_ns = found;
	j->found.period_s = (double)found / 1e9;
	j->found.first_s = j->found.first_s > 0 ? j->found.first_s : now_s;
}

struct sl_sim_found sl_granted_found(const struct sl_granted *g, uint32_t app)
{
	return g->job[app].found;
}

/* ---- transfers ---- */

/* Seconds of the last dt in which bytes moved. */
static double gr_moving_s(const struct gr_job *j, double dt)
{
	return j->restart_s < dt ? dt - j->restart_s : 0;
}

void sl_granted_advance(struct sl_granted *g, double now_s)
{
	double dt = now_s - g->since_s, grain_s = sl_event_grain_s(now_s);
	uint32_t kept = 0;

	g->since_s = now_s;
	for (uint32_t i = 0; i < g->n_want; i++) {
		struct gr_job *j = gr_of(g->want[i]);
		double bytes, moving_s;

		if (j->rate_bps > 0) {
			moving_s = gr_moving_s(j, dt);
			bytes = fmin(j->rate_bps * moving_s, j->io.left_bytes);
			j->restart_s = fmax(0, j->restart_s - dt);
			j->io.left_bytes -= bytes;
			g->moved_bytes += bytes;
			j->io.started |= moving_s > 0;
			if (j->io.left_bytes <= (grain_s - j->restart_s) * j->rate_bps) {
				g->moved_bytes += j->io.left_bytes;
				j->io.left_bytes = 0;
				gr_segment(g, j, now_s);
				j->io.io_end = gr_ns(now_s);
				if (j->period)
					sl_period_stretch(j->period, j->io.asked, j->io.io_end,
							  (uint64_t)j->io.bytes);
				g->ended[g->n_ended++] = j->id;
				continue;
			}
		}
		g->want[kept++] = g->want[i];
	}
	g->n_want = kept;
}

uint32_t sl_granted_end(struct sl_granted *g)
{
	return g->n_ended ? g->ended[--g->n_ended] : SL_NO_TRANSFER;
}

static int gr_plan(struct sl_granted *g, sl_time now)
{
	uint32_t n = 0;

	g->changed = false;
	for (uint32_t i = 0; i < g->n; i++) {
		if (!g->job[i].there)
			continue;
		g->plan[n] = g->job[i].plan;
		g->plan[n++].cap_bps = fmin(g->job[i].cap_bps, g->capacity_bps);
	}
	return n ? g->ops->plan(g->state, g->plan, n, g->capacity_bps, now) : 0;
}

/* The rate that the policy has left in io.rate_bps is this transfer's from now on. */
static void gr_take(struct sl_granted *g, struct gr_job *j, double now_s)
{
	double rate_bps = j->io.rate_bps;

	assert(rate_bps >= 0 && rate_bps <= j->io.cap_bps * (1 + NEAR));
	if ((rate_bps > 0) != (j->rate_bps > 0)) {
		gr_segment(g, j, now_s);
		/* It has moved before, or would have if it had not been interrupted. */
		if (rate_bps > 0 && j->io.started)
			j->restart_s = g->restart_s;
	}
	j->rate_bps = rate_bps;
}

int sl_granted_settle(struct sl_granted *g, double now_s)
{
	sl_time now = gr_ns(now_s);
	double left_bytes = 0;
	int rc;

	assert(!g->n_ended);
	/* Not before the time that the policy asked for: it may rely on that. */
	if (g->wake != SL_NEVER && g->wake > now && (double)g->wake * 1e-9 <= now_s)
		now = g->wake;
	if (g->changed && g->ops->plan && (rc = gr_plan(g, now)))
		return rc;
	g->next_s = g->moves_s = INFINITY;
	g->rate_bps = g->moving_bps = 0;
	g->wake = SL_NEVER;
	if (!g->n_want)
		return 0;
	for (uint32_t i = 0; i < g->n_want; i++)
		gr_find(gr_of(g->want[i]), now_s, now);
	g->wake = g->ops->decide(g->state, g->want, g->n_want, g->capacity_bps, now);
	assert(g->wake > now);
	if (g->wake != SL_NEVER)
		g->next_s = (double)g->wake * 1e-9;
	for (uint32_t i = 0; i < g->n_want; i++) {
		struct gr_job *j = gr_of(g->want[i]);

		gr_take(g, j, now_s);
		left_bytes += j->io.left_bytes;
		if (j->rate_bps > 0) {
			g->rate_bps += j->rate_bps;
			g->next_s = fmin(g->next_s,
					 now_s + j->restart_s + j->io.left_bytes / j->rate_bps);
			if (j->restart_s > sl_event_grain_s(now_s))
				g->moves_s = fmin(g->moves_s, now_s + j->restart_s);
			else
				g->moving_bps += j->rate_bps;
		}
	}
	assert(g->rate_bps <= g->capacity_bps * (1 + NEAR));
	assert(fabs(g->asked_bytes - g->moved_bytes - left_bytes) <= g->asked_bytes * NEAR);
	(void)left_bytes;
	return 0;
}

double sl_granted_next_s(const struct sl_granted *g)
{
	return g->next_s;
}

double sl_granted_rate_bps(const struct sl_granted *g)
{
	return g->rate_bps;
}

double sl_granted_moving_bps(const struct sl_granted *g)
{
	return g->moving_bps;
}

double sl_granted_moves_s(const struct sl_granted *g)
{
	return g->moves_s;
}

double sl_granted_moved_bytes(const struct sl_granted *g)
{
	return g->moved_bytes;
}

double sl_granted_left_bytes(const struct sl_granted *g, uint32_t app, double now_s)
{
	const struct gr_job *j = &g->job[app];

	return fmax(0, j->io.left_bytes - j->rate_bps * gr_moving_s(j, now_s - g->since_s));
}
