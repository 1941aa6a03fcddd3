/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of order=auto for one stream: the tree's word, and a bandit that corrects it.
 *
 * Seed: AGIOS (Boito et al. 2015), §4, takes the tree's word. It is wrong where the matrix that it
 * was learnt from has no such device, client or pattern. So, beyond the paper: the policy in use
 * ("best", at first the tree's) is measured in *spans* of 256 requests, and now and then another
 * one has a *trial* of a span. The reward is bytes by busy time: the time in which the stream has
 * something in flight, and the pauses in between, unless somebody else was served in them or they
 * are longer than 2 ms. A trial that was 5 % faster than `best` is repeated; if both together were
 * so, the other one takes over.
 *
 * What a trial can cost is bounded: it ends as soon as it has taken 5/4 of the time that `best`
 * takes for the same bytes, and an eighth of a span: at most 112 requests' time of its 320 (64
 * settle before the span) is lost. The default, to-agg, may be tried after 8 spans, those that the
 * tree has seen win in such a case after 32, the others after 128; trials are 32 spans apart at
 * least, and a policy that lost is tried again only after 128 spans, then 256, … So 4.7 % at most
 * are lost in the first 2368 requests, and less than 1.4 % later. Some streams lose more: processes
 * that had fallen into step, so that their requests merge, take long to do so again. If `best` is
 * slower after a trial than before, trials become rarer by half. to is not tried while `best`
 * merges three requests into a batch.
 *
 * With thousands of requests waiting trials are apart by 16 times as many, since all that waits is
 * taken out and added again twice.
 *
 * A policy may seem faster because it takes what is easy and leaves the rest for later. So the one
 * that took over is on probation for 16 spans: should it become slower than the other was, that
 * comes back.
 *
 * Example: the tree says aioli, and a span takes 10 ms. Span 8 is over: to-agg is tried, 12.4 ms;
 * it lost, next time at span 136. Span 40: to, 9 ms: 11 % faster; again, 9.2 ms: 9.9 % together.
 * From now on it is to, "measured: 9 % faster than aioli".
 *
 * Hysteresis: a pattern (spatiality, size, operation and the tree's word for it) must be seen twice
 * in a row to count as another one; then nothing that was measured holds, and the tree's word is
 * taken again.
 *
 * O(1) a batch, O(policies) a span.
 */
#include <string.h>

#include "policy/request/order/auto.h"

#define SPAN	   256U /* requests */
#define SETTLE	   64U
#define MIN_NS	   1000000 /* a shorter span says nothing */
#define PAUSE_NS   2000000
#define EARLY	   8U
#define FIRST	   32U	/* spans before the first trial */
#define LATE	   128U /* of what the tree has never seen win */
#define APART	   32U
#define AGAIN	   128U
#define MOST_WAIT  (1U << 20)
#define PROBATION  16U
#define MERGES	   3U /* requests in a batch: to, which merges none, is not worth a trial */
#define BETTER	   1.05
#define QUEUES	   16 /* between trials, in requests that wait */
#define HARMED	   0.95
#define MOST_HARM  8
#define TRIAL_MOST 1.25	 /* of the time that best takes for the same, */
#define SLACK	   0.125 /* and of its span */

static void span_begin(struct sl_auto *a, uint32_t settle)
{
	a->busy_ns = 0;
	a->bytes = 0;
	a->requests = 0;
	a->batches = 0;
	a->settle = settle;
}

/* Another policy: what is in flight was still the old one's. */
static bool run_arm(struct sl_auto *a, unsigned arm)
{
	bool changes = a->running != arm;

	a->running = (uint8_t)arm;
	span_begin(a, changes ? SETTLE : 0);
	return changes;
}

/* ---- the tree's word ---- */

/* When each of the others may be tried: those that the tree has seen win first, by how often. */
static void plan_trials(struct sl_auto *a, const double share[SL_AUTO_ARMS])
{
	for (unsigned i = 0; i < SL_AUTO_ARMS; i++) {
		unsigned before = 0;

		for (unsigned k = 0; k < SL_AUTO_ARMS; k++)
			before += k != a->best && k != i &&
				  (share[k] > share[i] || (k < i && share[k] >= share[i]));
		a->arm[i].due = (share[i] > 0 ? FIRST : LATE) + APART * before;
	}
	a->arm[SL_AUTO_TO_AGG].due = EARLY; /* what would run without auto */
}

bool sl_auto_advise(struct sl_auto *a, unsigned arm, const double share[SL_AUTO_ARMS],
		    uint32_t context)
{
	bool sure = !a->known || (context != a->context && context == a->doubt);

	a->doubt = context;
	if (!sure)
		return false;
	memset(a->arm, 0, sizeof(a->arm));
	a->known = 1;
	a->context = context;
	a->advised = a->best = (uint8_t)arm;
	a->measured = a->trials = a->trial_ended = a->harm = 0;
	a->spans = a->last_trial = a->probation = 0;
	plan_trials(a, share);
	return run_arm(a, arm);
}

/* Before the pattern is known; nothing is measured until then. */
bool sl_auto_guess(struct sl_auto *a, unsigned arm)
{
	return !a->known && run_arm(a, arm);
}

/* ---- spans and trials ---- */

static void elapse(struct sl_auto *a, sl_time ns)
{
	a->busy_ns += ns;
	a->trial_ns += ns;
}

void sl_auto_sent(struct sl_auto *a, bool alone, sl_time now)
{
	sl_time pause = now - a->mark;

	if (alone && pause > 0)
		elapse(a, pause < PAUSE_NS ? pause : PAUSE_NS);
	a->mark = now;
}

/* The one to try that has been due longest; -1: none is. */
static int next_trial(const struct sl_auto *a, uint32_t waiting)
{
	bool merges = a->requests >= MERGES * a->batches;
	int found = -1;

	if (a->last_trial && a->spans < a->last_trial + (APART << a->harm))
		return -1;
	if ((uint64_t)(a->spans - a->last_trial) * SPAN < (uint64_t)QUEUES * waiting)
		return -1; /* what waits is taken out and added again twice */
	for (int i = 0; i < SL_AUTO_ARMS; i++)
		if (i != a->best && a->arm[i].due <= a->spans && !(i == SL_AUTO_TO && merges) &&
		    (found < 0 || a->arm[i].due < a->arm[found].due))
			found = i;
	return found;
}

static bool end_trial(struct sl_auto *a)
{
	a->trials = 0;
	a->last_trial = a->spans;
	return run_arm(a, a->best);
}

static bool lost(struct sl_auto *a, unsigned arm)
{
	uint32_t *wait = &a->arm[arm].wait;

	*wait = !*wait ? AGAIN : *wait < MOST_WAIT ? 2 * *wait : MOST_WAIT;
	a->arm[arm].due = a->spans + *wait;
	a->trial_ended = 1;
	return end_trial(a);
}

/* The one in use has been so for another span. */
static bool best_span(struct sl_auto *a, double bps, uint32_t waiting)
{
	unsigned arm = a->best;
	bool first = a->arm[arm].bps <= 0;
	int try;

	/* Some streams take long to find back into step: then trials are not worth it. */
	if (a->trial_ended && bps < HARMED * a->arm[arm].bps && a->harm < MOST_HARM)
		a->harm++;
	a->trial_ended = 0;
	a->arm[arm].bps = first ? bps : (3 * a->arm[arm].bps + bps) / 4;
	a->span_bytes = first ? (double)a->bytes : (3 * a->span_bytes + (double)a->bytes) / 4;
	a->spans++;
	if (a->probation && a->arm[arm].bps < a->arm[a->beaten].bps) {
		a->best = a->beaten;
		a->measured = 0;
		a->probation = 0;
		return lost(a, arm);
	}
	a->probation -= a->probation > 0;
	try = next_trial(a, waiting);
	if (try < 0) {
		span_begin(a, 0);
		return false;
	}
	a->trials = 1;
	a->sum_bps = 0;
	a->trial_ns = 0;
	a->trial_bytes = 0;
	return run_arm(a, (unsigned)try);
}

static bool trial_span(struct sl_auto *a, double bps)
{
	double best = a->arm[a->best].bps, gain;

	a->sum_bps += bps;
	a->arm[a->running].bps = a->sum_bps / a->trials;
	gain = a->arm[a->running].bps / best;
	if (gain < BETTER)
		return lost(a, a->running);
	if (a->trials == 1) {
		a->trials = 2;
		span_begin(a, 0);
		return false;
	}
	a->measured = 1;
	a->percent = (uint32_t)(gain < 1000 ? (gain - 1) * 100 : 99900);
	a->beaten = a->best;
	a->arm[a->best].due = a->spans + AGAIN;
	a->best = a->running;
	a->probation = PROBATION;
	return end_trial(a);
}

/* A trial that is clearly slower than best has been long enough. */
static bool hopeless(const struct sl_auto *a)
{
	double usual_ns = ((double)a->trial_bytes * TRIAL_MOST + a->span_bytes * SLACK) /
			  a->arm[a->best].bps * 1e9;

	return a->trials && (double)a->trial_ns > usual_ns;
}

bool sl_auto_done(struct sl_auto *a, uint64_t bytes, uint32_t requests, uint32_t waiting,
		  bool correct, sl_time now)
{
	double bps;

	if (now > a->mark) {
		elapse(a, now - a->mark);
		a->mark = now;
	}
	a->trial_bytes += bytes;
	if (!correct || !a->known)
		return false;
	if (hopeless(a))
		return lost(a, a->running);
	if (a->settle) {
		a->settle = a->settle > requests ? a->settle - requests : 0;
		if (!a->settle)
			span_begin(a, 0);
		return false;
	}
	a->bytes += bytes;
	a->requests += requests;
	a->batches++;
	if (a->requests < SPAN || a->busy_ns < MIN_NS)
		return false;
	bps = (double)a->bytes * 1e9 / (double)a->busy_ns;
	return a->trials ? trial_span(a, bps) : best_span(a, bps, waiting);
}
